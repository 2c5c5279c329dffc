"""The gate's answer: pass, fail or undecided, then was, now, change and limit, the worst first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

from msgspec.structs import replace

from speedproof.conclude.claims import STATEMENTS, Outcome
from speedproof.conclude.gate import Absent, GateDecision, GateRow
from speedproof.data.notes import Assumption
from speedproof.data.session_file import control_name
from speedproof.protocols.figures import verdict_of
from speedproof.protocols.results import SEQUENTIAL, Comparison, Verdict
from speedproof.reporting import words
from speedproof.reporting.model import (
    Cell,
    Column,
    Later,
    Meaning,
    Report,
    Row,
    Style,
    Table,
    Text,
    hint_of_all,
)
from speedproof.reporting.names import benchmark_column, enumerate_names, spoken
from speedproof.reporting.notes import doubts, held_against, unseen
from speedproof.reporting.numbers import factor, p_is, percent, plural, share
from speedproof.reporting.rows import times, version_columns

# How each outcome of a row is called and coloured, and what it means to a pipeline; the worst first.
_ROWS: dict[Outcome, tuple[str, Style, Meaning]] = {
    Outcome.FAIL: ("FAIL", "bad", "failed"),
    Outcome.UNDECIDED: ("?", "warning", "undecided"),
    Outcome.PASS: ("pass", "good", "passed"),
}
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini and Hochberg", "none": "no correction"}
_NAMED, _ROOM, _SHOWN, _CONTROLS = 3, 60, 12, 5


class _Line:
    """A benchmark with what its row and its sentences are made of."""

    def __init__(self, result: GateDecision, row: GateRow, of: Comparison) -> None:
        self.result, self.row, self.of = result, row, of
        better, worse = words.gain_and_loss(self.of)
        self.words = {"better": better, "worse": worse, "margin": share(row.demand.margin)}
        # Whether the mean alone contradicts the policy, or is proven to go the other way.
        self.by_mean = f" {words.AVERAGE}" if row.mean else ""
        self.other_way = ""
        if row.average is not None:
            average = words.direction(row.average.value, better, worse)
            self.other_way = f"{words.AVERAGE} {average}{words.slow_runs(self.of)}"

    def says(self, claim: str, margin: str = "") -> str:
        """A claim in words; of a margin that all rows have, or its own."""
        return STATEMENTS[claim].text.format(**self.words | ({"margin": margin} if margin else {}))

    @cached_property
    def limit(self) -> str:
        """The limit of the benchmark."""
        return self.row.demand.terms.limit.format(**self.words)

    @property
    def alone(self) -> Verdict:
        """The verdict on this benchmark by itself; one within the margin may still be faster or slower."""
        c = self.of
        plain = verdict_of(c.pvalue, c.pvalue_slower, None, c.alpha)
        return plain if c.verdict is Verdict.EQUIVALENT else c.verdict

    @property
    def seen(self) -> Comparison:
        """The comparison with its verdict as far as it is shown."""
        return replace(self.of, verdict=self.alone if self.alone in words.CHANGED else Verdict.UNDECIDED)

    @property
    def change(self) -> str:
        """The ratio with its direction."""
        return f"{words.natural(self.of)}{self.by_mean}" if self.by_mean else words.change(self.seen)

    @property
    def range(self) -> str:
        """The interval of the speedup, and a contradiction by the mean."""
        return ", ".join(filter(None, (words.range_of(self.of), self.other_way)))

    @property
    def severity(self) -> float:
        """How far the proven loss exceeds the limit, in a logarithm; for what is not proven, the observed one."""
        c, edges = self.of, self.row.demand.edges
        proven = self.row.outcome is Outcome.FAIL and not math.isnan(c.certified.high)
        s = c.certified.high if proven else c.speedup.value
        if not 0 < s < math.inf:
            return 0.0
        return abs(math.log(s)) if len(edges) > 1 else math.log(edges[0]) - math.log(s)

    @property
    def proof(self) -> Cell | None:
        """The bound that the outcome rests on; of an undecided one the runs it needs."""
        low, high = self.of.certified.low, self.of.certified.high
        equivalence = len(self.row.demand.edges) > 1
        if self.row.outcome is Outcome.UNDECIDED:
            runs = words.few(self.of)
            return Cell(f"needs {runs}", "dim", (f"needs {runs.rpartition(' ')[0]}",)) if runs else None
        if self.row.outcome is Outcome.FAIL:
            bound = low if equivalence and low > 1 else 1 / high if 0 < high < 1 else math.nan
            return None if math.isnan(bound) else _least(bound)
        if equivalence:
            most = max(high, 1 / low) if low > 0 else math.inf
            return _most(factor(most, 1)) if math.isfinite(most) else None
        if low >= 1:
            return _least(low) if low < math.inf else None
        return _most(factor(1 / low, 1, 3), f" {self.words['worse']}") if low > 0 else None

    def shown(self, named: Callable[[Comparison], Cell], name: str, *, limits: bool, folded: bool) -> Row:
        """The row."""
        outcome, style, meaning = _ROWS[self.row.outcome]

        def cells() -> Iterator[Cell]:
            yield from (Cell(outcome, style), named(self.of), *times(self.of))
            style_of_change: Style = "" if self.row.outcome is Outcome.PASS else style
            yield Cell(self.change, style_of_change, speedup=self.of.certified)
            yield self.proof or Cell("-", "dim")
            if limits:
                yield Cell(self.limit, "dim")
            remark = self.other_way or words.slow_runs(self.of).removeprefix(": ")
            if any(check.kind is Assumption.POSITIVE_VALUES for check in self.of.failed_checks):
                remark = remark or Assumption.POSITIVE_VALUES.violated
            medians = words.by_medians(self.seen)
            yield Cell(
                remark or (f"medians {medians}" if medians else ""),
                "warning" if remark else "dim",
                ("",) if not remark and self.row.outcome is Outcome.UNDECIDED else (),
                spans=True,
            )

        said = partial(sentence, self.result, self.row, self.of)
        return Row(Later(cells), name, meaning, said, kind=meaning, folded=folded)


def report(result: GateDecision, *, everything: bool = False, undecided_fails: bool = False) -> Report:
    """A gate as a sheet."""
    lines = [_Line(result, *judged) for judged in result.judged]
    asked = words.asked(result.rules.protocol, result.rules.alpha)
    made = _table(result, lines, everything=everything, undecided_fails=undecided_fails)
    old, new = spoken([result.versions[0], enumerate_names(result.versions[1:], 3)])
    return Report(
        f"Gate: {new} against {old}",
        (
            Text(_conclusion(result, lines), _ROWS[result.outcome][1], asked),
            *unseen(result.results, result.versions),
            *held_against([line.of for line in lines]),
        ),
        (made,) if made.rows else (),
        tuple(_notes(result, lines)),
        hint_of_all("benchmark", made),
        good={Outcome.PASS: True, Outcome.FAIL: False}.get(result.outcome, not undecided_fails),
    )


def _conclusion(result: GateDecision, lines: Sequence[_Line]) -> str:
    """The answer in a sentence, with the benchmarks that it hangs on."""
    total, margins = len(lines), {line.words["margin"] for line in lines}
    margin = margins.pop() if len(margins) == 1 else "the margin"
    what = _counted(lines) if total != 1 else spoken([result.versions[0], lines[0].of.candidate.label])[1]
    fails, undecided = (
        [line for line in lines if line.row.outcome is outcome]
        for outcome in (Outcome.FAIL, Outcome.UNDECIDED)
    )
    parts = []
    for outcome, lacks in ((Outcome.FAIL, "missing"), (Outcome.UNDECIDED, "not measured")):
        if names := {absent.benchmark for absent in result.absent if absent.outcome is outcome}:
            parts.append(f"{plural(len(names), 'benchmark')} {lacks}")
    denials: dict[tuple[str, str], list[_Line]] = {}
    for line in fails:
        denials.setdefault((line.row.contradicted.name, line.by_mean), []).append(line)
    for (claim, average), alike in denials.items():
        some = what if total == 1 else f"{len(alike)} of {what}"
        parts.append(f"{some} {'is' if len(alike) == 1 else 'are'} {alike[0].says(claim, margin)}{average}")
    if result.outcome is Outcome.PASS:
        asked = Counter(line.row.required.name for line in lines)
        says = " and ".join(
            lines[0].says(name, margin) + (f" ({n})" if len(asked) > 1 else "") for name, n in asked.items()
        )
        none = total > 1 and set(asked) == {"not worse"}
        subject = f"none of {what} is" if none else f"all {what} are" if total > 1 else f"{what} is"
        parts.append(f"{subject} {says.removeprefix('not ') if none else says}")
    if undecided:
        may = "may miss their limits"
        if len({line.limit for line in undecided}) == 1:
            may = undecided[0].row.demand.terms.may.format(**undecided[0].words)
        some = f"{len(undecided)} of {what}" if total > 1 else what
        parts.append(f"{len(undecided)} undecided" if fails else f"{some} {may}")
    metrics = {line.of.metric for line in lines}
    about = words.metric_first(*metrics) if len(metrics) == 1 else ""
    return f"{result.outcome.value.upper()}: {about}{', '.join(parts)}"


def _counted(lines: Sequence[_Line]) -> str:
    """How many rows there are: benchmarks, their metrics, or candidates where there are several."""
    old, new = {line.of.reference.label for line in lines}, {line.of.candidate.label for line in lines}
    if len(new) > 1 == len(old):
        return plural(len(lines), "comparison")
    return plural(len(lines), "benchmark metric" if _several_metrics(lines) else "benchmark")


def _several_metrics(lines: Sequence[_Line]) -> bool:
    """Whether a row is one of several metrics of its benchmark."""
    return len({line.of.metric for line in lines}) > 1


def _namer(result: GateDecision, lines: Sequence[_Line]) -> Callable[[Comparison | Absent], str]:
    """How rows are called: by what tells them apart, benchmark, candidate, metric."""
    candidates = {line.of.candidate.label for line in lines} | {one.candidate for one in result.absent}
    benchmarks = {line.of.benchmark for line in lines} | {one.benchmark for one in result.absent}
    several = result.rules.looks == 1 and len(candidates - {""}) > 1
    metrics = _several_metrics(lines)

    def called(of: Comparison | Absent) -> str:
        candidate = of.candidate if isinstance(of, Absent) else of.candidate.label
        name = of.benchmark
        if several and candidate:
            name = f"{name} ({candidate})" if len(benchmarks) > 1 else candidate
        return f"{name} ({of.metric})" if metrics else name

    return called


def _notes(result: GateDecision, lines: Sequence[_Line]) -> Iterator[Text]:
    called, rules = _namer(result, lines), result.rules
    _, named = benchmark_column([called(line.of) for line in lines])
    again = control_name(result.versions[0])
    controls = [
        f"{again if c.candidate.label == again else c.benchmark} ({words.span(c.certified)})"
        for of in result.results
        for c in of.comparisons
        if c.benchmark in of.controls
    ]
    if controls:
        yield Text(f"Not judged: {enumerate_names(controls, _CONTROLS)}.", "dim")
    reasons: dict[str, list[str]] = {}
    for line in lines:
        needed = line.of.needed
        if line.row.outcome is Outcome.UNDECIDED and needed and needed.reference is needed.candidate is None:
            reasons.setdefault(needed.reason, []).append(named(called(line.of)).text)
    for reason, names in reasons.items():
        if reason:
            yield Text(f"{enumerate_names(names, _NAMED, _ROOM)}: {reason}.", "dim")
    if added := dict.fromkeys(name for of in result.results for name in of.only_candidate):
        yield Text(f"New, not judged: {enumerate_names(added, _NAMED, _ROOM)}.", "dim")
    if result.ignored:
        yield Text(f"Ignored by the settings: {enumerate_names(result.ignored, _NAMED, _ROOM)}.", "dim")
    if rules.looks > 1:
        is_open = result.outcome is Outcome.UNDECIDED
        again = ": measure what is open again, with more runs" if rules.look < rules.looks else ""
        then = again if is_open else " decided"
        yield Text(f"Look {rules.look} of {rules.looks}{then}.", "dim")
    yield from doubts([line.of for line in lines])
    if lines or rules.anytime:
        yield Text(_risks(result, lines), "dim")


def _risks(result: GateDecision, lines: Sequence[_Line]) -> str:
    rules = result.rules
    total, alpha = len(lines), rules.alpha * rules.looks
    over = f", over all {rules.looks} looks" if rules.looks > 1 else ""
    # What holds at any time does so in Holm's steps, too.
    looked = rules.multiplicity != "bh" and all(line.of.test == SEQUENTIAL for line in lines)
    if rules.anytime or (looked and rules.looks == 1):
        over = ", however often one looks"
    if rules.anytime:
        all_of = f" over all {rules.family}" if rules.family > 1 else ""
        fail = f"{percent(alpha)}{all_of}"
    elif total < 2:
        return f"Risk of a false pass and of a false fail: at most {percent(alpha)} each{over}."
    elif rules.multiplicity == "holm":
        fail = f"{percent(alpha)} over all {total} (Holm)"
    elif rules.multiplicity == "bh":
        fail = f"an expected share of {percent(alpha)} of those that fail (Benjamini and Hochberg)"
    else:
        fail = (
            f"{percent(alpha)} for each benchmark, up to {percent(min(1.0, alpha * total))} over all {total}"
        )
    return f"Risk of a false pass: at most {percent(alpha)}; of a false fail: {fail}{over}."


def _table(result: GateDecision, lines: Sequence[_Line], *, everything: bool, undecided_fails: bool) -> Table:
    """The rows, failures first, the worst of them at the top.

    Without their limit where the headline tells the one that all of them have.
    """
    called = _namer(result, lines)
    prefixed, named = benchmark_column([called(line.of) for line in lines])
    order = [*_ROWS]
    ordered = sorted(lines, key=lambda line: (order.index(line.row.outcome), -line.severity))
    outcomes = {line.row.outcome for line in lines}
    failing = bool(result.absent or outcomes - {Outcome.PASS})
    one_limit = Outcome.FAIL in outcomes or result.outcome is not Outcome.FAIL
    limits = len({line.limit for line in lines}) > one_limit
    rows, shown = [], 0
    for i, absent in enumerate(result.absent):
        folded = not everything and i >= _SHOWN
        rows.append(_missing(absent, called(absent), limits=limits, folded=folded))
    for line in ordered:
        # What stops a pipeline is shown; what passed only where there is nothing else to see.
        passed = line.row.outcome is Outcome.PASS and (failing or len(lines) > _SHOWN)
        folded = not everything and (passed or shown >= _SHOWN)
        shown += not folded
        rows.append(line.shown(lambda of: named(called(of)), called(line.of), limits=limits, folded=folded))
    if undecided_fails:
        rows = [replace(row, outcome="failed") if row.outcome == "undecided" else row for row in rows]
    judged = {line.of.candidate.label for line in lines}
    columns = (
        Column(""),
        prefixed,
        *version_columns(result.versions[0], judged.pop() if len(judged) == 1 else "now"),
        Column("change"),
        Column("proven", drop=-1),
        *([Column("limit", drop=-2)] if limits else []),
        Column(""),
    )
    return Table.of(columns, rows)


def _missing(absent: Absent, name: str, *, limits: bool, folded: bool) -> Row:
    outcome, style, meaning = _ROWS[absent.outcome]
    missing = absent.outcome is Outcome.FAIL
    shorter = absent.reason.partition(";")[0], "nothing to compare"
    reason = Cell(absent.reason, "dim", shorter, spans=True)
    return Row.of(
        *(Cell("MISSING" if missing else outcome, style), Cell(name, "strong"), "", "-", reason),
        *[""] * (2 + limits),
        name=absent.benchmark,
        outcome=meaning,
        message=f"{absent.benchmark} cannot be compared: {absent.reason}",
        kind="missing" if missing else meaning,
        folded=folded,
    )


def sentence(result: GateDecision, row: GateRow, c: Comparison) -> str:
    """One benchmark at the gate: what is proven, with hypothesis and p-value, or what would decide it."""
    line = _Line(result, row, c)
    if row.outcome is Outcome.UNDECIDED:
        why = words.needs(c)
        return f"Undecided: {line.range}{f'; {why}' if why else ''}"
    passed, rules = row.outcome is Outcome.PASS, result.rules
    claim = row.required if passed else row.contradicted
    p = "" if math.isnan(claim.adjusted) else f", {p_is(claim.adjusted)}"
    how, over = _CORRECTIONS[rules.multiplicity], len(result.rows)
    if rules.anytime:
        how, over = "Bonferroni", rules.family
    corrected = not passed and over > 1 and (rules.anytime or rules.multiplicity != "none")
    after = f" after {how}'s correction over {over}" if corrected else ""
    average = f"{line.by_mean}{words.slow_runs(c)}" if line.by_mean else ""
    says = f"{line.says(claim.name)}{average} ({claim.hypothesis}{p}{after})"
    return f"Proven: {says}; {line.range}"


def _least(bound: float) -> Cell:
    least = factor(bound, -1)
    return Cell(f"at least {least}", shorter=(f"≥ {least}",))


def _most(bound: str, word: str = "") -> Cell:
    return Cell(f"at most {bound}{word}", shorter=(f"≤ {bound}{word}",))
