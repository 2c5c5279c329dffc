"""Comparisons to text: the conclusion first, then a table, then what to mind."""

from __future__ import annotations

import math
from collections.abc import Iterator

from speedproof.data.units import format_values
from speedproof.protocols.comparison import Check, Comparison, State, Summary, Verdict
from speedproof.protocols.suite_comparison import SuiteComparison
from speedproof.protocols.suites import RANDOM_SELECTION
from speedproof.protocols.verdict_control import Controlled
from speedproof.report.blocks import Block, Cell, Column, Fitted, Table, Text
from speedproof.report.hpt import hpt_conclusion
from speedproof.report.wording import (
    MARKS,
    STYLES,
    bounds,
    chance,
    lower,
    percent,
    plural,
    pvalue,
    ratio,
    upper,
)

__all__ = ["LEGEND", "comparatives", "conclusion", "explain", "suite_blocks"]

_WHERE = {
    "mean": "in mean",
    "median": "in median",
    "single run": "on a single run",
    "touati2009": "by the 2009 protocol",
}
LEGEND = "+ faster  - slower  = equivalent  ? undecided; in brackets the certified bounds"
_METHODS = {"holm": "Holm's correction", "benjamini-hochberg": "that of Benjamini and Hochberg"}
_WIDEST_LABEL = 16
_MOST_NAMED = 12
_SHORT = {
    "normality": "normality",
    "equal variances": "",  # no fault: Welch's test takes over
    "location shift": "shift",
    "ties": "ties",
    "nesting": "pooled",
    "independence": "dependence",
    "several processes": "one process",
    "untouched values": "trimmed",
    "run order": "order",
    "drift": "drift",
}


def conclusion(result: Comparison) -> str:
    """One comparison in one plain sentence.

    Parameters
    ----------
    result : Comparison
        Of any protocol.

    Returns
    -------
    str
        Without a full stop's worth of jargon: what is proven, by how much, at which confidence.
    """
    new, old = result.candidate.label or "the candidate", result.reference.label or "the reference"
    confidence = percent(1 - result.alpha)
    where = _WHERE.get(result.protocol, f"by {result.protocol}")
    faster, slower = comparatives(result)
    word = slower if result.verdict is Verdict.SLOWER else faster
    s = result.speedup
    if result.protocol == "single run":
        chances = f"a run of {new} beats a run of {old} in {percent(s.value)} of the cases"
        low, high = math.floor(1000 * s.low) / 1000, math.ceil(1000 * s.high) / 1000
        limits = f"between {percent(low)} and {percent(high)}, each bound with confidence {confidence}"
        if result.verdict is Verdict.UNDECIDED:
            return f"On a single run it is undecided: {chances} ({limits})."
        return f"On a single run {new} is {word}: {chances} ({limits})."
    if result.verdict is Verdict.FASTER:
        least = "more than 1" if s.low <= math.nextafter(1, 2) else f"at least {lower(s.low)}"
        return (
            f"{new} is {word} than {old} {where} by a factor of {ratio(s.value)}, certified to be {least} "
            f"with confidence {confidence}."
        )
    if result.verdict is Verdict.SLOWER:
        most = "less than 1" if s.high >= math.nextafter(1, 0) else f"at most {upper(s.high)}"
        return (
            f"{new} is {word} than {old} {where}: its speedup is {ratio(s.value)}, certified to be {most} "
            f"with confidence {confidence}."
        )
    if result.verdict is Verdict.EQUIVALENT:
        return (
            f"{new} and {old} are equivalent {where} within the margin: the speedup {ratio(s.value)} lies between "
            f"{lower(s.low)} and {upper(s.high)}, each bound with confidence {confidence}."
        )
    text = f"It is undecided whether {new} is {word} than {old} {where}: observed speedup {bounds(s)}."
    return f"{text} {_needs(result)}".rstrip()


def comparatives(result: Comparison) -> tuple[str, str]:
    """How to call a gain and a loss: only times and rates are fast or slow."""
    unit = result.reference.unit
    return ("faster", "slower") if unit == "s" or unit.endswith("/s") or not unit else ("better", "worse")


def _needs(result: Comparison) -> str:
    needed = result.needed
    if needed is None:
        return ""
    wants = [
        f"{plural(runs, 'run')} of {side.label or name}"
        for runs, side, name in (
            (needed.reference, result.reference, "X"),
            (needed.candidate, result.candidate, "Y"),
        )
        if runs is not None
    ]
    if not wants:
        return f"{needed.reason[0].upper()}{needed.reason[1:]}."
    return f"About {' and '.join(wants)} would be needed: {needed.reason}."


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
            yield Text(conclusion(comparison), STYLES[comparison.verdict])
    else:
        yield from _counts(result)
    yield Text("")
    yield _table(result)
    yield Text(LEGEND, "dim")
    yield from _suite(result)
    yield from _remarks(result, rigorous)
    yield from _leftovers(result)


def _counts(result: SuiteComparison) -> Iterator[Block]:
    total = len(result.benchmarks)
    for protocol in result.protocols:
        counts = {v: result.count(protocol, v) for v in Verdict}
        parts = [
            f"{n} {verdict.value}" for verdict, n in counts.items() if n or verdict is not Verdict.EQUIVALENT
        ]
        yield Text(f"{_WHERE[protocol].capitalize()}, of {plural(total, 'benchmark')}: {', '.join(parts)}.")
    yield Text(
        f"Each verdict carries a risk of {percent(result.alpha)} a side, {percent(2 * result.alpha)} "
        f"for both; among {total} null comparisons about {_expected(2 * result.alpha * total)} would be wrong.",
        "dim",
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
        "median": "speedup of median",
        "single run": "P[faster run]",
        "touati2009": "2009 protocol",
    }
    x, y = _short(result.reference, "reference"), _short(result.candidate, "candidate")
    columns = {
        "benchmark": Column("benchmark"),
        "runs": Column("runs", right=True),
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
        **{c.protocol: Cell(f"{MARKS[c.verdict]} {_bounds(c)}", STYLES[c.verdict]) for c in found},
        "mind": Cell(", ".join(_minded(found)), "dim"),
    }


def _bounds(comparison: Comparison) -> str:
    return chance(comparison.speedup) if comparison.protocol == "single run" else bounds(comparison.speedup)


def _spread(side: Summary) -> str:
    if math.isnan(side.deviation) or not side.mean > 0:
        return "±    - "
    return f"± {100 * side.deviation / side.mean:3.{0 if side.deviation >= 0.1 * side.mean else 1}f} %"


def _minded(found: list[Comparison]) -> list[str]:
    """The checks that did not hold, in a word each."""
    words = dict.fromkeys(
        _SHORT.get(kind, kind)
        for comparison in found
        for check in comparison.failed_checks
        if _SHORT.get(kind := check.name.partition(" of ")[0], kind)
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
                f"Overall speedup of the total of the {location}s: {ratio(gain.speedup)} "
                f"(gain {percent(gain.gain)}), all benchmarks weighing the same."
            )
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
        named = zip(
            ("article", "Wilson", "Clopper-Pearson"),
            (found.proportion, found.wilson, found.clopper_pearson),
            strict=True,
        )
        intervals = ", ".join(f"{percent(e.low)} to {percent(e.high)} ({name})" for name, e in named)
        limit = "a = {0:g} is below 10" if protocol == "touati2009" else "a - a²/b = {0:.3g} is not above 5"
        doubt = "" if found.valid else f"; the article's is not valid: {limit.format(found.validity)}"
        yield Text(
            f"Accelerated {_WHERE[protocol]}: {found.accelerated} of {found.benchmarks}, that is "
            f"{percent(found.proportion.value)}; with confidence {percent(found.proportion.confidence)} "
            f"{intervals}{doubt}."
        )
    if result.accelerated:
        yield Text(RANDOM_SELECTION, "dim")


def _geometric_means(result: SuiteComparison) -> Iterator[Block]:
    found = result.geometric_means
    if found is None or not found.benchmarks:
        return
    these, like = found.these, found.like_these
    confidence = percent(these.confidence)
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
            f"{_WHERE[c.protocol]} "
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
            kind = check.name.partition(" of ")[0]
            if kind == "nesting" and check.held:
                nested.setdefault(comparison.benchmark)
            if not check.held and _SHORT.get(kind, kind):
                failed.setdefault(f"{kind}: {check.message}", (check, {}))[1].setdefault(comparison.benchmark)
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
            kind = _SHORT.get(check.name.partition(" of ")[0], check.name)
            message = check.message if kind != "ties" else check.message.partition(": ")[2]
            yield Text(f"  {kind} ({plural(len(names), 'benchmark')}): {message}.", "dim")
    if rigorous:
        doubtful = dict.fromkeys(
            c.benchmark
            for c in result.comparisons
            if any("correct confidence level" in check.message for check in c.failed_checks)
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
    for check in result.checks:
        p = "" if math.isnan(check.pvalue) else f" (p = {pvalue(check.pvalue)}, rule: p > {result.alpha:g})"
        yield Text(f"  {'holds' if check.held else 'FAILS'}  {check.name}{p}: {check.message}")
    if result.test:
        yield Text(
            f"  {result.test}: p = {pvalue(result.pvalue)} for faster, {pvalue(result.pvalue_slower)} for slower; "
            f"rule: p <= {result.alpha:g}"
        )
    else:
        yield Text(f"  no test was made: {result.state.value}")
    highest = result.highest_confidence
    if highest is not None and not math.isnan(highest.value):
        yield Text(
            f"  highest confidence at which the whole protocol says faster: {percent(highest.value, 6)}"
            + (
                ""
                if highest.upward_closed
                else " (not at every lower confidence: see the JSON for all levels)"
            )
        )
    yield Text(f"  {conclusion(result)}", STYLES[result.verdict])
