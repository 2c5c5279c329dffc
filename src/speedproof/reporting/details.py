"""What a sheet leaves out: other protocols, corrections, numbers of the whole suite, and why a verdict is so."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from speedproof.conclude.multiplicity import CLAIMS, METHODS, Controlled
from speedproof.conclude.suite import LEAST_FOR_HPT, SuiteComparison
from speedproof.data.units import format_values
from speedproof.protocols.aggregates import RANDOM_SELECTION, GeometricMeans, Location, OverallGain
from speedproof.protocols.checks import ORDER_LEVEL
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.units import several, unit_of_all
from speedproof.reporting import words
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text, right
from speedproof.reporting.names import benchmark_column, enumerate_names
from speedproof.reporting.numbers import level, p_is, percent, pvalue
from speedproof.reporting.rows import Voice, times, version_columns

NO_SCORES = Text(
    "HPT is left out: there are zeros, or values that differ by more than a factor of 1e+100.", "warning"
)


def sections(result: SuiteComparison, *, details: bool, explain: bool) -> Iterator[Report]:
    """The sections that were asked for."""
    voice = Voice.of(result)
    if details:
        yield from _details(result, voice)
    if explain:
        yield from _explained(result, voice)


def _details(result: SuiteComparison, voice: Voice) -> Iterator[Report]:
    """The answers of every protocol, then those about the whole suite."""
    reports = [_protocol(result, protocol) for protocol in result.protocols]
    sure = level(1 - result.alpha)
    notes = [Text(f"Of two bounds of a change each holds with {sure} confidence by itself.", "dim")]
    if any(c.undermining for c in result.comparisons if c.test or c.quantity == "probability"):
        notes.append(Text("! An assumption was not met: the true risk may be larger.", "warning"))
    reports[-1] = replace(reports[-1], notes=tuple(notes))
    yield from reports
    if len(result.benchmarks) > 1:
        yield Report("The whole suite", tuple(_whole(result, voice)))
    lost = ((result.reference, result.only_reference), (result.candidate, result.only_candidate))
    left_out = [f"{name}: only in {version}" for version, names in lost for name in names]
    left_out += result.problems
    if left_out:
        yield Report("Left out", tuple(Text(f"  {line}") for line in left_out))


def _protocol(result: SuiteComparison, protocol: str) -> Report:
    comparisons = [c for c in result.comparisons if c.protocol == protocol]
    marked = sum(map(bool, map(words.marked, comparisons)))
    shown = Counter(c.verdict for c in comparisons if not words.marked(c))
    counts = [f"{shown[v]} {v.value}" for v in Verdict if shown[v]]
    counts += [f"{marked} not proven (!)"] if marked else []
    untested = sum(not c.test for c in comparisons)
    rest = f" ({untested} not tested: the protocol asks for more runs)" if untested else ""
    column, named = benchmark_column([c.benchmark for c in comparisons])
    timed = QUESTIONS[protocol].quantity == "speedup"
    titles = version_columns(result.reference, result.candidate) if timed else ()
    columns = (
        column,
        *titles,
        Column("change" if titles else "chance of a faster run"),
        *right("p", drop=1),
        *right(several(unit_of_all(c.repeated for c in comparisons)), drop=2),
    )
    rows = []
    for c in comparisons:
        p, n, m = pvalue(min(c.pvalue, c.pvalue_slower)), c.reference.n, c.candidate.n
        cells = (*(times(c) if titles else ()), _change(c), p, str(n) if n == m else f"{n}, {m}")
        rows.append(Row.of(named(c.benchmark), *cells, name=c.benchmark, kind=c.verdict.value))
    where, tests = QUESTIONS[protocol].where, {c.test for c in comparisons if c.test}
    by = f" ({tests.pop()})" if len(tests) == 1 else ""
    return Report(
        f"{where[0].upper()}{where[1:]}{by}",
        (Text(f"{', '.join(counts)}{rest}"),),
        (Table.of(columns, rows),),
    )


def _change(c: Comparison) -> Cell:
    flag = " !" if c.undermining or words.marked(c) else ""
    style, change = words.style(c), words.change(c)
    if c.quantity == "probability":
        return Cell(f"{words.wins(c)}{flag}", style)
    if not c.test:
        why = words.needs(c)
        return Cell(f"~ {why}" if why else "~ not tested", "dim", ("~ not tested",))
    if c.verdict not in words.CHANGED:
        mark = "=" if c.verdict is Verdict.EQUIVALENT else "~"
        return Cell(f"{mark} {words.range_of(c)}{flag}", "dim", (change,), speedup=c.certified)
    shown = words.interval(c.certified, *words.gain_and_loss(c))
    return Cell(f"{shown}{flag}", style, (f"{change}{flag}",), speedup=c.certified)


def _whole(result: SuiteComparison, voice: Voice) -> Iterator[Text]:
    total = len(result.benchmarks)
    if not voice.shaken:
        falsely = 2 * result.alpha * total
        yield Text(
            f"Each verdict has a risk of {percent(result.alpha)} in either direction; among {total} benchmarks "
            f"that did not change about {falsely:{'.0f' if falsely >= 1.5 else '.1g'}} would be called changed."
        )
        for method in dict.fromkeys(family.method for family in result.controlled):
            families = [family for family in result.controlled if family.method == method]
            promise, *_ = families[0].promise.split("; ")
            yield Text(f"{METHODS[method]}: {', '.join(map(_kept, families))}: {promise}.")
    yield from of_all(result.geometric_means, result.overall, voice)
    for which, gain_2009 in result.gain_2009:
        if math.isfinite(gain_2009.gain):
            yield Text(
                f"Gain of the 2009 protocol over {which} programs, weighted by their times: "
                f"{percent(gain_2009.gain)}, {percent(gain_2009.confidence)} confidence."
            )
    if result.hpt is not None:
        from speedproof.reporting.hpt import conclusion

        yield Text(conclusion(result.hpt, result.reference, result.candidate, shaken=voice.shaken))
    elif total >= LEAST_FOR_HPT:
        yield NO_SCORES
    yield from _accelerated(result)


def _kept(family: Controlled) -> str:
    """How many claims of a protocol hold together: ``"3 faster on a typical run"``."""
    kept = [f"{family.counts[v]} {v.value}" for v in CLAIMS if family.counts[v]]
    _, *left_out = family.promise.split("; ")
    but = f" ({left_out[0]})" if left_out else ""
    return f"{' and '.join(kept) or 'none'} {QUESTIONS[family.protocol].where}{but}"


def of_all(
    means: GeometricMeans | None, overall: Iterable[tuple[Location, OverallGain]], voice: Voice
) -> Iterator[Text]:
    """The speedup of the whole suite: the geometric mean, and of the total of each location."""
    better, worse = voice.better, voice.worse
    if means is not None:
        these, like = (words.interval(m, better, worse) for m in (means.these, means.like_these))
        held = f"{level(means.these.confidence)} confidence"
        if math.isinf(means.these.high):
            held = "no interval: some were measured once a side"
        yield Text(f"Geometric mean: {these} for these benchmarks, {held}.")
        if means.benchmarks > 3:
            yield Text(f"  For benchmarks like these, of which these are taken for a random sample: {like}.")
        if means.left_out:
            yield Text(f"  Without a ratio, left out: {enumerate_names(means.left_out, 20)}.", "warning")
    for location, gain in overall:
        if math.isfinite(gain.speedup) and gain.speedup > 0:
            ratio = words.direction(gain.speedup, better, worse)
            yield Text(f"Total of the {words.PLURALS[location]}, every benchmark run once: {ratio}.")


def _accelerated(result: SuiteComparison) -> Iterator[Text]:
    tested = {c.protocol for c in result.comparisons if c.test}
    shares = [(protocol, share) for protocol, share in result.accelerated if protocol in tested]
    lines = [
        f"{share.accelerated} of {share.benchmarks} {QUESTIONS[protocol].where}, {wilson}"
        + (f" ({article})" if article != wilson else "")
        for protocol, share in shares
        for wilson, article in [
            [f"{percent(e.low)} to {percent(e.high)}" for e in (share.wilson, share.proportion)]
        ]
    ]
    if lines:
        few = "" if all(share.valid for _, share in shares) else ", for which these are few"
        other = f" (the article's{few})" if any(line.endswith(")") for line in lines) else ""
        yield Text(f"Accelerated benchmarks, Wilson's interval{other}: {'; '.join(lines)}.")
        yield Text(f"  {RANDOM_SELECTION}", "dim")


def _explained(result: SuiteComparison, voice: Voice) -> Iterator[Report]:
    """Why each verdict came out as it did: every check, test, p-value and rule, in the protocol's order."""
    rule = (
        f"  A check fails where p <= {result.alpha:g}; those of run order, trend and steadiness where "
        f"p <= {ORDER_LEVEL:g}."
    )
    for name, answers in result.by_benchmark.items():
        tested = any(not math.isnan(check.pvalue) for c in answers for check in c.checks)
        why = (*_why(answers, voice), *((Text(rule, "dim"),) if tested else ()))
        yield Report(f"{name}: X is {result.reference}, Y is {result.candidate}", why, about=name)


def _why(answers: Sequence[Comparison], voice: Voice) -> Iterator[Text]:
    seen: set[tuple[str, str]] = set()
    for c in answers:
        better, _ = words.gain_and_loss(c)
        better += "" if better == "faster" else f" ({'higher' if c.candidate.higher_is_better else 'lower'})"
        yield Text(f"{c.protocol}: is Y {better} {QUESTIONS[c.protocol].where}?", "strong")
        repeated = [check for check in c.checks if check.held and (check.name, check.message) in seen]
        for check in c.checks:
            if check in repeated:
                continue  # the same check of the same sample, already said
            seen.add((check.name, check.message))
            p = "" if math.isnan(check.pvalue) else f" ({p_is(check.pvalue)})"
            mark = "ok" if check.held else "FAILS"
            yield Text(f"  {mark:5} {check.name}{p}: {check.advice}", "" if check.held else "warning")
        if repeated:
            yield Text(f"  ok    as above: {', '.join(check.name for check in repeated)}")
        if not c.test:
            yield Text(f"  Not tested: {words.needs(c) or c.state.value}.")
        else:
            yield Text(
                f"  {c.test}: {p_is(c.pvalue)} for faster, {pvalue(c.pvalue_slower)} for slower; "
                f"significant where p <= {c.alpha:g}"
            )
        if c.difference is not None and c.test:
            d = c.difference
            shown, low, high = format_values([d.value, d.low, d.high], c.reference.unit)
            sure = f"each with {percent(d.confidence)} confidence"
            yield Text(f"  Difference of the means: {shown}; at least {low}, at most {high}, {sure}.")
        sentence = voice.sentence(c)
        # Another test than the headline's, so another bound of the same chance
        if c.quantity == "probability":
            sentence = f"By this test {sentence[0].lower()}{sentence[1:]}"
        yield Text(f"  {sentence}.", words.style(c))
