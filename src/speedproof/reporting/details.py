"""What a sheet leaves out: other protocols, corrections, numbers of the whole suite, and why a verdict is so."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from speedproof.data.units import format_values
from speedproof.protocols.aggregates import GeometricMeans
from speedproof.protocols.checks import ORDER_LEVEL
from speedproof.protocols.multiplicity import METHODS
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Comparison, State, Verdict
from speedproof.protocols.suite import LEAST_FOR_HPT, SuiteComparison
from speedproof.protocols.suites import RANDOM_SELECTION, Location, OverallGain
from speedproof.reporting import words
from speedproof.reporting.hpt import conclusion
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text, right
from speedproof.reporting.names import benchmark_column, enumerate_names, labels
from speedproof.reporting.numbers import factor, level, p_is, percent, pvalue, values
from speedproof.stats.scaling import MOST_APART

_PROMISES = {
    "holm": "the risk of even one false claim is at most {alpha}, however the benchmarks depend on each other",
    "benjamini-hochberg": "at most {alpha} of the claims are expected to be false, if the benchmarks are "
    "independent or positively dependent",
}
_NO_TEST = {
    State.UNDEFINED: "the samples have no spread",
    State.MORE_RUNS_X: "the protocol asks for more runs of X",
    State.MORE_RUNS_Y: "the protocol asks for more runs of Y",
    State.MORE_RUNS: "the protocol asks for more runs of both",
}
_LEAST_LEVEL = 0.5
_TITLE = 14


def sections(result: SuiteComparison, *, details: bool, explain: bool) -> Iterator[Report]:
    """What was asked for."""
    if details:
        yield from _details(result)
    if explain:
        yield from _explained(result)


def _details(result: SuiteComparison) -> Iterator[Report]:
    """The answers of every protocol, then those about the whole suite."""
    reports = [_protocol(result, protocol) for protocol in result.protocols]
    if any(c.undermining for c in result.comparisons if c.test or c.quantity == "probability"):
        told = "! An assumption was not met: the true risk may be larger."
        reports[-1] = replace(reports[-1], notes=(Text(told, "warning"),))
    yield from reports
    if len(result.benchmarks) > 1:
        yield Report("The whole suite", tuple(_whole(result)))
    lost = ((result.reference, result.only_reference), (result.candidate, result.only_candidate))
    left_out = [f"{name}: only in {version}" for version, names in lost for name in names]
    left_out += result.problems
    if left_out:
        yield Report("Left out", tuple(Text(f"  {told}") for told in left_out))


def _protocol(result: SuiteComparison, protocol: str) -> Report:
    found = [c for c in result.comparisons if c.protocol == protocol]
    told = ", ".join(f"{n} {v.value}" for v, n in words.counts_of(found).items() if n)
    untested = sum(not c.test for c in found)
    rest = f" ({untested} not tested: the protocol asks for more runs)" if untested else ""
    column, named = benchmark_column([c.benchmark for c in found])
    titles = labels([result.reference, result.candidate], _TITLE)
    measured = protocol != "single run"
    columns = (
        column,
        *right(*(titles if measured else ())),
        Column("change" if measured else "chance of a faster run"),
        *right("p", drop=1),
        *right("runs", drop=2),
    )
    rows = []
    for c in found:
        times = values(words.located(c), c.reference.unit)
        p, n, m = pvalue(min(c.pvalue, c.pvalue_slower)), c.reference.n, c.candidate.n
        cells = (*(times if measured else ()), _told(c), p, str(n) if n == m else f"{n}, {m}")
        rows.append(Row.of(named(c.benchmark), *cells, name=c.benchmark, kind=c.verdict.value))
    where = QUESTIONS[protocol].where
    return Report(f"{where[0].upper()}{where[1:]}", (Text(f"{told}{rest}"),), (Table.of(columns, rows),))


def _told(c: Comparison) -> Cell:
    flag = " !" if c.undermining else ""
    style = words.STYLES[c.verdict]
    if c.quantity == "probability":
        return Cell(f"{words.wins(c)}{flag}", style)
    if not c.test:
        why = words.needs(c)
        return Cell(f"~ {why}" if why else "~ not tested", "dim", ("~ not tested",))
    if c.verdict in words.CHANGED:
        found = words.effect(c)
        most = 2 if found.bound <= 1 + 1e-12 else 12
        low, high = c.certified.ends
        if c.verdict is Verdict.SLOWER:
            low, high = words.inverse(high), words.inverse(low)
        least = f" [{factor(low, -1, most)}, {factor(high, 1)}]" if not math.isnan(found.bound) else ""
        return Cell(
            f"{words.change(c)}{least}{flag}", style, (f"{words.change(c)}{flag}",), speedup=c.certified
        )
    mark = "=" if c.verdict is Verdict.EQUIVALENT else "~"
    return Cell(f"{mark} {words.range_of(c)}{flag}", "dim", (words.change(c),), speedup=c.certified)


def _whole(result: SuiteComparison) -> Iterator[Text]:
    better, worse = words.gain_and_loss(result.comparisons[0])
    total = len(result.benchmarks)
    if result.machine is None:
        falsely = 2 * result.alpha * total
        yield Text(
            f"Each verdict has a risk of {percent(result.alpha)} in either direction; among {total} benchmarks "
            f"that did not change about {falsely:{'.0f' if falsely >= 1.5 else '.1g'}} would be called changed."
        )
    for found in result.controlled if result.machine is None else ():
        kept = ", ".join(f"{found.count(v)} {v.value}" for v in Verdict if found.count(v)) or "none"
        promise = _PROMISES[found.method].format(alpha=percent(found.alpha))
        yield Text(f"{METHODS[found.method]}, {QUESTIONS[found.protocol].where}: {kept} ({promise}).")
    yield from of_all(result.geometric_means, result.overall, better, worse)
    times = {c.benchmark: c.reference.mean for c in result.comparisons}
    sum_of_times, largest = sum(times.values()), max(times, key=times.__getitem__)
    if result.overall and sum_of_times > 0 and times[largest] > sum_of_times / 2:
        part = percent(times[largest] / sum_of_times)
        yield Text(f"  {largest} alone makes up {part} of the total.", "warning")
    for which, gain_2009 in result.gain_2009:
        if math.isfinite(gain_2009.gain):
            yield Text(
                f"Gain of the 2009 protocol over {which} programs, weighted by their times: "
                f"{percent(gain_2009.gain)}, {percent(gain_2009.confidence)} confidence."
            )
    if result.hpt is not None:
        yield Text(
            conclusion(result.hpt, result.reference, result.candidate, shaken=result.machine is not None)
        )
    elif len(result.benchmarks) >= LEAST_FOR_HPT:
        sides = {c.benchmark: (c.reference, c.candidate) for c in result.comparisons}
        ends = {
            name: (min(x.minimum, y.minimum), max(x.maximum, y.maximum)) for name, (x, y) in sides.items()
        }
        if apart := [name for name, (least, most) in ends.items() if least <= most / MOST_APART]:
            why = "zeros, or values that differ by more than a factor of 1e+100"
            yield Text(f"HPT is left out: {enumerate_names(apart, 3)}: {why}.", "warning")
    yield from _accelerated(result)


def of_all(
    means: GeometricMeans | None, overall: Iterable[tuple[Location, OverallGain]], better: str, worse: str
) -> Iterator[Text]:
    """The speedup of the whole suite: the geometric mean, and of the total of each location."""
    if means is not None and means.benchmarks:
        confidence = level(means.these.confidence)
        yield Text(
            f"Geometric mean: {words.interval(means.these, better, worse)} for these benchmarks, {confidence} "
            "confidence."
        )
        if means.benchmarks > 3:
            yield Text(
                f"  For benchmarks like these, of which these are taken for a random sample: "
                f"{words.interval(means.like_these, better, worse)}."
            )
        for note in means.notes:
            yield Text(f"  {note}.", "dim")
        if means.left_out:
            yield Text(f"  Without a ratio, left out: {enumerate_names(means.left_out, 20)}.", "warning")
    for location, gain in overall:
        if math.isfinite(gain.speedup) and gain.speedup > 0:
            ratio_told = words.direction(gain.speedup, better, worse)
            yield Text(f"Total of the {_PLURALS[location]}, every benchmark run once: {ratio_told}.")


_PLURALS = {"min": "minima", "mean": "means", "median": "medians"}


def _accelerated(result: SuiteComparison) -> Iterator[Text]:
    tested = {c.protocol for c in result.comparisons if c.test}
    for protocol, found in (own for own in result.accelerated if own[0] in tested):
        wilson, article = (f"{percent(e.low)} to {percent(e.high)}" for e in (found.wilson, found.proportion))
        rule = "" if found.valid else ", too few for that rule"
        count = f"{found.accelerated} of {found.benchmarks}, {wilson} by Wilson's interval"
        where = QUESTIONS[protocol].where
        yield Text(f"Share of accelerated benchmarks {where}: {count}, {article} by the article's{rule}.")
    if tested.intersection(dict(result.accelerated)):
        yield Text(f"  {RANDOM_SELECTION}", "dim")


def _explained(result: SuiteComparison) -> Iterator[Report]:
    """Why each verdict came out as it did: every check, test, p-value and rule, in the protocol's order."""
    told = (
        f"  A check fails where p <= {result.alpha:g}; one of the order of runs, of which there are several, "
        f"where p <= {ORDER_LEVEL:g}."
    )
    for name, found in result.by_benchmark.items():
        tested = any(not math.isnan(check.pvalue) for c in found for check in c.checks)
        why = (*_why(found, shaken=result.machine is not None), *((Text(told, "dim"),) if tested else ()))
        yield Report(f"{name}: X is {result.reference}, Y is {result.candidate}", why, about=name)


def _why(found: Sequence[Comparison], *, shaken: bool) -> Iterator[Text]:
    told: set[tuple[str, str]] = set()
    for c in found:
        yield Text(f"{c.protocol}: {c.question}", "strong")
        for check in c.checks:
            if (check.name, check.message) in told:
                continue  # the same check of the same sample, already said
            told.add((check.name, check.message))
            p = "" if math.isnan(check.pvalue) else f" ({p_is(check.pvalue)})"
            mark = "ok" if check.held else "FAILS"
            yield Text(f"  {mark:5} {check.name}{p}: {check.message}", "" if check.held else "warning")
        if c.test:
            yield Text(
                f"  {c.test}: {p_is(c.pvalue)} for faster, {pvalue(c.pvalue_slower)} for slower; "
                f"significant where p <= {c.alpha:g}"
            )
            if c.difference is not None:
                d = c.difference
                shown, low, high = format_values([d.value, d.low, d.high], c.reference.unit)
                yield Text(
                    f"  Difference of the means: {shown}; at least {low}, at most {high}, "
                    f"each with {percent(d.confidence)} confidence."
                )
        else:
            yield Text(f"  Not tested: {_NO_TEST.get(c.state, c.state.value)}.")
        highest = c.highest_confidence
        if highest is not None and highest.value >= _LEAST_LEVEL:
            gaps = "" if highest.upward_closed else " (not at every lower one: the JSON has all)"
            yield Text(f"  Significant up to {level(highest.value)} confidence{gaps}.")
        told_proof = words.proof(c, shaken=shaken)
        # Another test than the headline's, so another bound of the same chance.
        told_verdict = words.verdict(c)
        if c.quantity == "probability":
            told_verdict = f"By this test {told_verdict[0].lower()}{told_verdict[1:]}"
        yield Text(f"  {told_verdict}{'; ' + told_proof if told_proof else ''}.", words.STYLES[c.verdict])
