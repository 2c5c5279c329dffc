"""Comparisons to text: the conclusion first, then a table, then what to mind."""

from __future__ import annotations

import math
from collections.abc import Iterator

from speedproof.data.units import format_values
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.multiplicity import Controlled
from speedproof.protocols.results import Check, Comparison, State, Summary, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.protocols.suites import RANDOM_SELECTION
from speedproof.report.blocks import Block, Cell, Column, Fitted, Table, Text
from speedproof.report.conclusions import SHORT, WHERE, conclusion
from speedproof.report.hpt import hpt_conclusion
from speedproof.report.wording import (
    MARKS,
    STYLES,
    bounds,
    chance,
    level,
    lower,
    percent,
    plural,
    pvalue,
    ratio,
    upper,
)

__all__ = ["LEGEND", "explain", "suite_blocks", "table_blocks"]

LEGEND = (
    "+ faster  - slower  = equivalent  ? undecided  ! true risk unknown; in brackets the certified bounds"
)
_LEAST_LEVEL = 0.5
_NO_TEST = {State.UNDEFINED: "the samples have no spread"}
_APPROXIMATE = (Assumption.NORMALITY, Assumption.SHIFT)
"""Where they fail and a test was made all the same, its risk is approximate."""
_METHODS = {"holm": "Holm's correction", "benjamini-hochberg": "that of Benjamini and Hochberg"}
_WIDEST_LABEL = 16
_MOST_NAMED = 12


def suite_blocks(result: SuiteComparison, *, rigorous: bool = False) -> Iterator[Block]:
    """A whole comparison of two versions.

    Parameters
    ----------
    result : SuiteComparison
        Of one metric.
    rigorous : bool
        Add the article's remark for every benchmark whose confidence level may not be the stated one.

    Yields
    ------
    Text or Table
        The conclusion, the table, the suite, the remarks.
    """
    names = result.benchmarks
    title = f"{result.candidate} against {result.reference}: {result.metric}"
    yield Text(title, "strong")
    if not names:
        yield Text("No benchmark has measurements of both versions.", "bad")
        yield from _leftovers(result)
        return
    if len(names) == 1:
        for comparison in result.comparisons:
            yield Text(conclusion(comparison, result.margin), STYLES[comparison.verdict])
    else:
        yield from _counts(result)
    yield Text("")
    yield _table(result)
    yield Text(LEGEND, "dim")
    yield from _suite(result)
    yield from _remarks(result, rigorous)
    yield from _leftovers(result)


def table_blocks(result: SuiteComparison) -> Iterator[Block]:
    """The table of a comparison alone, for where something else has said what is proven.

    Parameters
    ----------
    result : SuiteComparison
        Of one metric.

    Yields
    ------
    Text or Table
        The title, the table, its legend; without a pair of samples, why there is none.
    """
    if not result.benchmarks:
        yield from suite_blocks(result)
        return
    yield Text(f"{result.candidate} against {result.reference}: {result.metric}", "strong")
    yield _table(result)
    yield Text(LEGEND, "dim")


def _counts(result: SuiteComparison) -> Iterator[Block]:
    total = len(result.benchmarks)
    within = "" if result.margin is None else f" within {percent(result.margin)}"
    for protocol in result.protocols:
        parts = [
            f"{n} {verdict.value}{within if verdict is Verdict.EQUIVALENT else ''}"
            for verdict in Verdict
            if (n := result.count(protocol, verdict)) or verdict is not Verdict.EQUIVALENT
        ]
        untested = sum(c.protocol == protocol and not c.test for c in result.comparisons)
        rest = f" ({untested} of them not tested: the protocol asks for more runs)" if untested else ""
        where = WHERE[protocol]
        yield Text(
            f"{where[0].upper()}{where[1:]}, of {plural(total, 'benchmark')}: {', '.join(parts)}{rest}."
        )
    yield Text(
        f"Each verdict carries a risk of {percent(result.alpha)} a side, {percent(2 * result.alpha)} "
        f"for both, if its assumptions hold; among {total} null comparisons about "
        f"{_expected(2 * result.alpha * total)} would be wrong.",
        "dim",
    )
    if doubted := len({c.benchmark for c in result.comparisons if c.doubts}):
        yield Text(
            f"In {plural(doubted, 'benchmark')} of {total}, marked !, the runs are not what the tests assume: the "
            "true risk is unknown and may be far larger.",
            "doubt",
        )


def _expected(count: float) -> str:
    return f"{count:.0f}" if count >= 1.5 else f"{count:.1g}"


def _table(result: SuiteComparison) -> Fitted:
    by_name: dict[str, list[Comparison]] = {}
    for comparison in result.comparisons:
        by_name.setdefault(comparison.benchmark, []).append(comparison)
    rows = [_row(name, found) for name, found in by_name.items()]
    titles = {
        "mean": "speedup of mean",
        "typical": "typical speedup",
        "median": "speedup of median",
        "single run": "P[faster run]",
        "touati2009": "2009 protocol",
    }
    x, y = _short(result.reference, "reference"), _short(result.candidate, "candidate")
    columns = {
        "benchmark": Column("benchmark", wraps=True),
        "runs": Column("processes" if all(c.nested for c in result.comparisons) else "runs", right=True),
        "x": Column(x, right=True),
        "y": Column(y, right=True),
        "x spread": Column(x, right=True),
        "y spread": Column(y, right=True),
        **{protocol: Column(titles[protocol]) for protocol in result.protocols},
        "mind": Column("mind", wraps=True),
    }

    def variant(*without: str) -> Table:
        names = [name for name in columns if name not in without]
        return Table(
            tuple(columns[name] for name in names), tuple(tuple(row[name] for name in names) for row in rows)
        )

    return Fitted(
        (
            variant("x", "y"),
            variant("x spread", "y spread"),
            variant("x", "y", "x spread", "y spread"),
            variant("x", "y", "x spread", "y spread", "runs", "mind"),
            variant("x", "y", "x spread", "y spread", "runs", "mind", "single run"),
        )
    )


def _short(label: str, role: str) -> str:
    """A version's name as a column's title; its role where the name would widen the table."""
    return label if len(label) <= _WIDEST_LABEL else role


def _row(name: str, found: list[Comparison]) -> dict[str, Cell]:
    x, y = found[0].reference, found[0].candidate
    location = "median" if found[0].protocol == "median" else "mean"
    of_x, of_y = format_values([getattr(x, location), getattr(y, location)], x.unit)
    return {
        "benchmark": Cell(name, "strong"),
        "runs": Cell(str(x.n) if x.n == y.n else f"{x.n}, {y.n}"),
        "x": Cell(of_x),
        "y": Cell(of_y),
        "x spread": Cell(f"{of_x} {_spread(x)}"),
        "y spread": Cell(f"{of_y} {_spread(y)}"),
        **{c.protocol: Cell(_verdict(c), STYLES[c.verdict]) for c in found},
        "mind": Cell(", ".join(_minded(found)), "dim"),
    }


def _verdict(comparison: Comparison) -> str:
    shown = chance if comparison.quantity == "probability" else bounds
    return f"{MARKS[comparison.verdict]}{'!' if comparison.doubts else ' '}{shown(comparison.certified)}"


def _spread(side: Summary) -> str:
    if math.isnan(side.deviation) or not side.mean > 0:
        return "±    - "
    return f"± {100 * side.deviation / side.mean:3.{0 if side.deviation >= 0.1 * side.mean else 1}f} %"


def _minded(found: list[Comparison]) -> list[str]:
    """The checks that did not hold, in a word each."""
    words = dict.fromkeys(
        SHORT.get(check.kind, check.kind.title)
        for comparison in found
        for check in comparison.failed_checks
        if SHORT.get(check.kind, check.kind.title)
    )
    few = any(c.state in (State.MORE_RUNS_X, State.MORE_RUNS_Y, State.MORE_RUNS) for c in found)
    return [*(["few runs"] if few else []), *words]


def _suite(result: SuiteComparison) -> Iterator[Block]:
    if len(result.benchmarks) < 2:
        return
    yield Text("")
    for location, gain in result.overall:
        if math.isfinite(gain.speedup):
            yield Text(
                f"Total of the {location}s if every benchmark runs once: speedup {ratio(gain.speedup)}, "
                f"gain {percent(gain.gain)}."
            )
    yield from _dominant(result)
    for which, gain_2009 in result.gain_2009:
        if math.isfinite(gain_2009.gain):
            yield Text(
                f"Gain of the 2009 protocol over {which} programs, weighted by their times: "
                f"{percent(gain_2009.gain)} with confidence {percent(gain_2009.confidence)}."
            )
    yield from _geometric_means(result)
    if result.hpt is not None:
        yield Text(hpt_conclusion(result.hpt, result.reference, result.candidate))
    yield from _controlled(result)
    for protocol, found in result.accelerated:
        if not any(c.protocol == protocol and c.test for c in result.comparisons):
            continue  # nothing was tested, so nothing is known of the share
        named = zip(
            ("article", "Wilson", "Clopper-Pearson"),
            (found.proportion, found.wilson, found.clopper_pearson),
            strict=True,
        )
        intervals = ", ".join(f"{percent(e.low)} to {percent(e.high)} ({name})" for name, e in named)
        limit = "a = {0:g} is below 10" if protocol == "touati2009" else "a - a²/b = {0:.3g} is not above 5"
        doubt = "" if found.valid else f"; the article's is not valid: {limit.format(found.validity)}"
        yield Text(
            f"Accelerated {WHERE[protocol]}: {found.accelerated} of {found.benchmarks}, that is "
            f"{percent(found.proportion.value)}; with confidence {level(found.proportion.confidence)} "
            f"{intervals}{doubt}."
        )
    if result.accelerated:
        yield Text(RANDOM_SELECTION, "dim")


def _dominant(result: SuiteComparison) -> Iterator[Block]:
    """Name the benchmark that decides the totals by itself, if there is one."""
    means = {c.benchmark: c.reference.mean for c in result.comparisons}
    total = sum(means.values())
    name, largest = max(means.items(), key=lambda item: item[1])
    if result.overall and total > 0 and largest > total / 2:
        yield Text(f"  {name} alone makes up {percent(largest / total)} of the reference's total.", "doubt")


def _geometric_means(result: SuiteComparison) -> Iterator[Block]:
    found = result.geometric_means
    if found is None or not found.benchmarks:
        return
    these, like = found.these, found.like_these
    confidence = level(these.confidence)
    yield Text(
        f"Geometric mean of the speedups in mean: {ratio(these.value)}; for these benchmarks between "
        f"{lower(these.low)} and {upper(these.high)}, for benchmarks like these between {lower(like.low)} and "
        f"{upper(like.high)}, each interval with confidence {confidence}."
    )
    for note in found.notes:
        yield Text(f"  {note}", "dim")
    if found.left_out:
        yield Text(f"  left out, without a ratio: {', '.join(found.left_out)}", "doubt")


def _controlled(result: SuiteComparison) -> Iterator[Block]:
    """How many verdicts survive control, one line a method."""
    by_method: dict[str, list[Controlled]] = {}
    for controlled in result.controlled:
        by_method.setdefault(controlled.method, []).append(controlled)
    for method, families in by_method.items():
        counts = "; ".join(
            f"{WHERE[c.protocol]} "
            + ", ".join(
                f"{c.count(v)} {v.value}"
                for v in Verdict
                if v is not Verdict.EQUIVALENT or c.margin is not None
            )
            for c in families
        )
        yield Text(f"After {_METHODS[method]}: {counts} ({families[0].promise}).")


def _remarks(result: SuiteComparison, rigorous: bool) -> Iterator[Block]:
    failed: dict[str, tuple[Check, dict[str, None]]] = {}
    nested: dict[str, None] = {}
    for comparison in result.comparisons:
        for check in comparison.checks:
            kind = check.kind
            if kind is Assumption.NESTING and check.held:
                nested.setdefault(comparison.benchmark)
            if not check.held and SHORT.get(kind, kind.title):
                failed.setdefault(f"{kind.value}: {check.message}", (check, {}))[1].setdefault(
                    comparison.benchmark
                )
    if nested:
        yield Text("")
        yield Text(
            f"Nested values: in {plural(len(nested), 'benchmark')} several values come from one process and are "
            "not independent; one value a process was used (--nested pool overrides)."
        )
    if failed:
        yield Text("")
        yield Text("What to mind:")
        for check, names in failed.values():
            word = SHORT.get(check.kind, check.kind.title)
            message = check.message if check.kind is not Assumption.TIES else check.message.partition(": ")[2]
            yield Text(f"  {word} ({plural(len(names), 'benchmark')}): {message}.", "dim")
    if rigorous:
        doubtful = dict.fromkeys(
            c.benchmark
            for c in result.comparisons
            if c.test and any(check.kind in _APPROXIMATE for check in c.failed_checks)
        )
        if doubtful:
            yield Text("")
        for name in doubtful:
            yield Text(f"  {name}: 1 - alpha may not be the correct confidence level", "doubt")
    yield from _undecided(result)


def _undecided(result: SuiteComparison) -> Iterator[Block]:
    """What would decide the undecided ones, told once for all that the same rule asks for more runs."""
    undecided = [c for c in result.comparisons if c.verdict is Verdict.UNDECIDED and c.needed is not None]
    if not undecided or len(result.benchmarks) == 1:
        return
    yield Text("")
    yield Text("What would decide the undecided:")
    by_rule: dict[tuple[str, str], list[str]] = {}
    for c in undecided:
        assert c.needed is not None
        numbers = [n for n in (c.needed.reference, c.needed.candidate) if n is not None]
        by_power = bool(numbers) and c.test != ""
        detail = f"{c.benchmark} {' and '.join(map(str, numbers))}" if by_power else c.benchmark
        by_rule.setdefault((c.protocol, c.needed.reason), []).append(detail)
    for (protocol, reason), details in by_rule.items():
        shown = ", ".join(details[:_MOST_NAMED])
        more = f", and {len(details) - _MOST_NAMED} more" if len(details) > _MOST_NAMED else ""
        yield Text(f"  {protocol}: {reason}: {shown}{more}", "dim")


def _leftovers(result: SuiteComparison) -> Iterator[Block]:
    for version, other, names in (
        (result.reference, result.candidate, result.only_reference),
        (result.candidate, result.reference, result.only_candidate),
    ):
        if names:
            count = plural(len(names), "benchmark")
            yield Text(
                f"Left out, {count} that only {version} has and {other} lacks: {', '.join(names)}", "doubt"
            )
    for problem in result.problems:
        yield Text(f"Left out: {problem}", "doubt")


def explain(result: Comparison) -> Iterator[Block]:
    """Why a verdict came out as it did: every check, test, p-value and rule.

    Parameters
    ----------
    result : Comparison
        Of any protocol.

    Yields
    ------
    Text
        In the order in which the protocol looked.
    """
    yield Text(f"{result.benchmark}, {result.protocol}: {result.question}", "strong")
    yield Text(
        f"  X is {result.reference.label or 'the reference'}, Y is {result.candidate.label or 'the candidate'}"
    )
    for check in result.checks:
        p = "" if math.isnan(check.pvalue) else f" (p = {pvalue(check.pvalue)})"
        yield Text(f"  {'holds' if check.held else 'FAILS'}  {check.name}{p}: {check.message}")
    if result.test:
        yield Text(
            f"  {result.test}: p = {pvalue(result.pvalue)} for faster, {pvalue(result.pvalue_slower)} for slower; "
            f"rule: p <= {result.alpha:g}"
        )
    else:
        yield Text(f"  no test was made: {_NO_TEST.get(result.state, result.state.value)}")
    highest = result.highest_confidence
    if highest is not None and highest.value >= _LEAST_LEVEL:
        yield Text(
            f"  highest confidence at which the whole protocol says faster: {level(highest.value)}"
            + (
                ""
                if highest.upward_closed
                else " (not at every lower confidence: see the JSON for all levels)"
            )
        )
    yield Text(f"  {conclusion(result)}", STYLES[result.verdict])
