"""The gate's answer: pass, fail or undecided, then was, now, change and limit, the worst first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from speedproof.data.notes import Assumption
from speedproof.data.suite import Key, Suite
from speedproof.options import Policy
from speedproof.protocols.claims import Outcome
from speedproof.protocols.figures import verdict_of
from speedproof.protocols.gate import Absent, GateDecision, GateRow
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting import words
from speedproof.reporting.model import Cell, Column, Report, Row, Style, Table, Text, hint_of_all, right
from speedproof.reporting.model import Outcome as Meaning
from speedproof.reporting.names import benchmark_column, enumerate_names, labels, shortened
from speedproof.reporting.notes import beside_medians, caveats, held_against, two_speeds, undermining
from speedproof.reporting.numbers import factor, level, p_is, percent, plural, share, values

# How each outcome of a row is called and coloured, and what it means to a pipeline; the worst first.
_ROWS: dict[Outcome, tuple[str, Style, Meaning]] = {
    Outcome.FAIL: ("FAIL", "bad", "failed"),
    Outcome.UNDECIDED: ("?", "warning", "undecided"),
    Outcome.PASS: ("pass", "good", "passed"),
}
# What each claim says of a benchmark.
_SAID = {
    "regression": "{worse} by more than {margin}",
    "slowdown": "{worse}",
    "difference": "changed by more than {margin}",
    "not worse": "not {worse} by more than {margin}",
    "improvement": "{better}",
    "equivalence": "the same within {margin}",
}
_MAY = {
    Policy.NO_REGRESSION: "may be over {margin} {worse}",
    Policy.PROVEN_IMPROVEMENT: "may not be {better}",
    Policy.EQUIVALENCE: "may differ by over {margin}",
}
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini and Hochberg", "none": "no correction"}
_VOID = {
    Assumption.TWO_MEASUREMENTS: "both sides are one measurement",
    Assumption.PLANNED_SIZE: "measuring stopped on its result",
}
_NOTHING = Cell("-", "dim")
_LABEL, _NAMED, _SHOWN = 24, 3, 12


def report(result: GateDecision, *, everything: bool = False, undecided_fails: bool = False) -> Report:
    """A gate as a sheet."""
    comparisons = [row.comparison for row in result.rows]
    asked = f"({words.asked_of(result.rules.protocol)}, {level(1 - result.rules.alpha)})"
    headline = (
        Text(_conclusion(result), _ROWS[result.outcome][1], asked),
        *caveats(result.caveats),
        *held_against(comparisons),
        *two_speeds(result.machine, *labels([result.reference, result.candidate], _LABEL)),
    )
    made = _table(result, everything=everything, undecided_fails=undecided_fails)
    return Report(
        f"Gate: {result.candidate} against {result.reference}",
        headline,
        (made,) if made.rows else (),
        tuple(_notes(result, made)),
        hint_of_all("benchmark", made),
        command="gate",
        data=result,
        good={Outcome.PASS: True, Outcome.FAIL: False}.get(result.outcome, not undecided_fails),
    )


def as_comparisons(result: GateDecision, suite: Suite) -> list[SuiteComparison]:
    """The comparisons behind a gate whose samples are here, a metric each: what a page draws of the samples."""
    by_metric: dict[str, list[Comparison]] = {}
    here = set(suite.keys)
    for row in result.rows:
        if Key(row.comparison.benchmark, row.comparison.metric) in here:  # else it passed at an earlier look
            by_metric.setdefault(row.comparison.metric, []).append(row.comparison)
    versions, alpha = (result.reference, result.candidate), result.rules.alpha
    return [
        SuiteComparison(*versions, metric, alpha, None, "process", tuple(found))
        for metric, found in by_metric.items()
    ]


def _margin(result: GateDecision) -> str:
    """The one margin of all rows; where there are several, no number."""
    margins = {row.demand.margin for row in result.rows}
    return share(*margins) if len(margins) == 1 else "the margin"


def _conclusion(result: GateDecision) -> str:
    """The answer in a sentence, with the benchmarks that it hangs on."""
    total, margin = len(result.rows), _margin(result)
    what = _counted(result) if total != 1 else labels([result.rows[0].comparison.benchmark], _LABEL)[0]
    fails, undecided = (
        [row for row in result.rows if row.outcome is outcome]
        for outcome in (Outcome.FAIL, Outcome.UNDECIDED)
    )
    parts = []
    absences = ((Outcome.FAIL, "missing"), (Outcome.UNDECIDED, "not measured"))
    for outcome, lacks in absences:
        if names := {absent.benchmark for absent in result.absent if absent.outcome is outcome}:
            parts.append(f"{plural(len(names), 'benchmark')} {lacks}")
    first = {_denial(result, row): row for row in reversed(fails)}
    for denial, count in Counter(_denial(result, row) for row in fails).items():
        name, average = denial
        some = what if total == 1 else f"{count} of {what}"
        parts.append(f"{some} {'is' if count == 1 else 'are'} {_said(name, first[denial], margin)}{average}")
    if result.outcome is Outcome.PASS:
        asked = Counter(row.required.name for row in result.rows)
        told = " and ".join(
            _said(name, result.rows[0], margin) + (f" ({n})" if len(asked) > 1 else "")
            for name, n in asked.items()
        )
        none = total > 1 and set(asked) == {"not worse"}
        subject = f"none of {what} is" if none else f"all {what} are" if total > 1 else f"{what} is"
        parts.append(f"{subject} {told.removeprefix('not ') if none else told}")
    if undecided:
        may = "may miss their limits"
        if len({_limit(row) for row in undecided}) == 1:
            may = _MAY[undecided[0].demand.policy].format(**_words_of(undecided[0]))
        some = f"{len(undecided)} of {what}" if total > 1 else what
        parts.append(f"{len(undecided)} undecided" if fails else f"{some} {may}")
    return f"{result.outcome.value.upper()}: {', '.join(parts)}"


def _denial(result: GateDecision, row: GateRow) -> tuple[str, str]:
    """What contradicts the policy, and whether that is the mean alone."""
    by_mean = row.comparison.protocol != result.rules.protocol
    return row.contradicted.name, f" {words.AVERAGE}" if by_mean else ""


def _said(name: str, row: GateRow, margin: str = "") -> str:
    """A claim in words, by what the gains and losses of a row are called."""
    return _SAID[name].format(**_words_of(row, margin))


def _words_of(row: GateRow, margin: str = "") -> dict[str, str]:
    """What its gains, its losses and its margin are called."""
    better, worse = words.gain_and_loss(row.comparison)
    return {"better": better, "worse": worse, "margin": margin or share(row.demand.margin)}


def _counted(result: GateDecision) -> str:
    """How many rows there are: benchmarks, their metrics, or candidates where there are several."""
    total = len(result.rows)
    old, new = (
        {getattr(row.comparison, side).label for row in result.rows} for side in ("reference", "candidate")
    )
    if len(new) > 1 == len(old):
        return plural(total, "comparison")
    return plural(total, "benchmark metric" if _several_metrics(result) else "benchmark")


def _several_metrics(result: GateDecision) -> bool:
    """Whether a row is one of several metrics of its benchmark."""
    return len({row.comparison.metric for row in result.rows}) > 1


def _qualified(of: Comparison | Absent, several: bool) -> str:
    """A benchmark, with its metric where there are several."""
    return f"{of.benchmark} ({of.metric})" if several else of.benchmark


def _notes(result: GateDecision, shown: Table) -> Iterator[Text]:
    told: dict[str, list[str]] = {}
    several = _several_metrics(result)
    if result.rules.protocol != "mean":
        open_rows = {row.name for row in shown.rows if not row.folded}
        yield from beside_medians(
            row.comparison for row in result.rows if row.comparison.benchmark in open_rows
        )
    for row in result.rows:
        if result.void(row) is not None:
            continue
        needed = row.comparison.needed
        why = needed.reason if needed and not words.few(row.comparison) else ""
        if row.outcome is Outcome.UNDECIDED and why:
            told.setdefault(why, []).append(_qualified(row.comparison, several))
    for reason, names in told.items():
        yield Text(f"{_few_of(names)}: {reason}.", "dim")
    judged = [row.comparison for row in result.rows if row.outcome is not Outcome.UNDECIDED]
    yield from undermining(judged, undecided=True)
    if result.added:
        yield Text(f"New, not judged: {_few_of(result.added)}.", "dim")
    if result.ignored:
        yield Text(f"Ignored by the settings: {_few_of(result.ignored)}.", "dim")
    rules = result.rules
    if rules.looks > 1 and result.outcome is Outcome.UNDECIDED and rules.look < rules.looks:
        yield Text(f"Look {rules.look} of {rules.looks}: measure what is open again, with more runs.", "dim")
    if result.rows or rules.anytime:
        yield Text(_risks(result), "dim")


def _few_of(names: Sequence[str]) -> str:
    return enumerate_names([*shortened(names[:_NAMED], _LABEL), *names[_NAMED:]], _NAMED)


def _risks(result: GateDecision) -> str:
    if result.rules.anytime:
        risk, family = percent(result.rules.alpha), result.rules.family
        all_of = f" over all {family}" if family > 1 else ""
        return (
            f"Risk of a false pass: at most {risk}; of a false fail: {risk}{all_of}, however often one looks."
        )
    marked = [_undermined(result, row) for row in result.rows]
    voids = [result.void(row) for row in result.rows]
    reasons = [_VOID[void.kind] for void in voids if void]
    reasons += ["the machine ran at two speeds"] if result.machine else []
    because = f": {' and '.join(dict.fromkeys(reasons))}" if reasons else ""
    if all(marked):
        return f"! No risk of a false pass or a false fail can be stated{because}."
    rest = f" Not so for rows marked !{because}." if any(marked) else ""
    looks, total = result.rules.looks, len(result.rows)
    alpha = result.rules.alpha * looks
    over = f", over all {looks} looks" if looks > 1 else ""
    if any(caveat.kind is Assumption.SEVERAL_RUNS for caveat in result.caveats):
        over += ", if as assumed above"
    if total < 2:
        return f"Risk of a false pass and of a false fail: at most {percent(alpha)} each{over}.{rest}"
    fail = {
        "holm": f"{percent(alpha)} over all {total} (Holm)",
        "bh": f"an expected share of {percent(alpha)} of those that fail (Benjamini and Hochberg)",
        "none": f"{percent(alpha)} for each benchmark, up to {percent(min(1.0, alpha * total))} over all {total}",
    }[result.rules.multiplicity]
    return f"Risk of a false pass: at most {percent(alpha)}; of a false fail: {fail}{over}.{rest}"


def _table(result: GateDecision, *, everything: bool, undecided_fails: bool) -> Table:
    """What stands in the way first, the worst of it at the top.

    Without their limit where the headline tells the one that all of them have.
    """
    prefixed, named = benchmark_column([row.comparison.benchmark for row in result.rows])
    ordered = sorted(result.rows, key=lambda row: ([*_ROWS].index(row.outcome), -_severity(row)))
    failing = bool(result.absent) or any(row.outcome is not Outcome.PASS for row in ordered)
    told = any(row.outcome is Outcome.FAIL for row in ordered) or result.outcome is not Outcome.FAIL
    limits = len({_limit(row) for row in ordered}) > told
    rows, shown = [], 0
    held: set[str] = set()
    several = _several_metrics(result)
    for i, absent in enumerate(result.absent):
        name = _qualified(absent, several)
        rows.append(_missing(absent, name, folded=not everything and i >= _SHOWN))
    for row in ordered:
        # What stops a pipeline is shown; what passed only where there is nothing else to see.
        passed = row.outcome is Outcome.PASS and (failing or len(ordered) > _SHOWN)
        folded = not everything and (passed or shown >= _SHOWN)
        shown += not folded
        if not folded or not held:
            held.add("needed" if row.outcome is Outcome.UNDECIDED and words.few(row.comparison) else "proven")
        made = _row(result, row, named(_qualified(row.comparison, several)), limits=limits)
        rows.append(replace(made, folded=folded))
    if undecided_fails:
        rows = [replace(row, outcome="failed") if row.outcome == "undecided" else row for row in rows]
    columns = (
        Column(""),
        prefixed,
        *right("was", "now"),
        Column("change"),
        Column(" or ".join(sorted(held, reverse=True)), brief="proof" if len(held) > 1 else "", drop=-1),
        Column("limit" if limits else ""),
        Column(""),
    )
    return Table.of(columns, rows)


def _severity(row: GateRow) -> float:
    """How far the proven loss exceeds the limit, in a logarithm; for what is not proven, the observed one."""
    c, policy = row.comparison, row.demand.policy
    proven = row.outcome is Outcome.FAIL and not math.isnan(c.certified.high)
    s = c.certified.high if proven else c.speedup.value
    if not 0 < s < math.inf:
        return 0.0
    limit = 1.0 if policy is Policy.PROVEN_IMPROVEMENT else 1 / (1 + row.demand.margin)
    return abs(math.log(s)) if policy is Policy.EQUIVALENCE else math.log(limit) - math.log(s)


def _missing(absent: Absent, name: str, *, folded: bool) -> Row:
    called, style, kind = _ROWS[absent.outcome]
    missing = absent.outcome is Outcome.FAIL
    return Row.of(
        Cell("MISSING" if missing else called, style),
        Cell(name, "strong"),
        "",
        "-",
        Cell(absent.reason, "dim", ("nothing to compare",), spans=True),
        "",
        "",
        "",
        name=absent.benchmark,
        outcome=kind,
        message=f"{absent.benchmark} cannot be compared: {absent.reason}",
        kind="missing" if missing else kind,
        folded=folded,
    )


def _row(result: GateDecision, row: GateRow, name: Cell, *, limits: bool) -> Row:
    c = row.comparison
    old, new = values(words.located(c), c.reference.unit)
    mark = " !" if _undermined(result, row) else ""
    called, style, kind = _ROWS[row.outcome]
    told = _seen(c) if result.void(row) is not None else _observed(row)
    if average := _denial(result, row)[1]:
        told = f"{words.natural(c)}{average}"
    remark = _other_way(row) or words.slow_runs(c).removeprefix(": ")
    return Row.of(
        Cell(f"{called}{mark}", style),
        name,
        old,
        new,
        Cell(told, style if row.outcome is not Outcome.PASS else "", speedup=c.certified),
        (None if mark else _proven(row)) or _NOTHING,
        Cell(_limit(row), "dim") if limits else "",
        Cell(remark, "warning", spans=True),
        name=c.benchmark,
        outcome=kind,
        message=sentence(result, row),
        kind=kind,
    )


def sentence(result: GateDecision, row: GateRow) -> str:
    """One benchmark at the gate: what is proven, with hypothesis and p-value, or what would decide it."""
    if (void := result.void(row)) is not None:
        return f"Not proven, because {_VOID[void.kind]}: {_seen(row.comparison)} as measured"
    if row.outcome is Outcome.UNDECIDED:
        why = words.needs(row.comparison)
        return f"Undecided: {_range_of(row)}{f'; {why}' if why else ''}"
    passed = row.outcome is Outcome.PASS
    claim = row.required if passed else row.contradicted
    told = _said(claim.name, row)
    if average := _denial(result, row)[1]:
        told += f"{average}{words.slow_runs(row.comparison)}"
    p = "" if math.isnan(claim.adjusted) else f", {p_is(claim.adjusted)}"
    corrected = ""
    rules, total = result.rules, len(result.rows)
    how, over = ("Bonferroni", rules.family) if rules.anytime else (_CORRECTIONS[rules.multiplicity], total)
    if not passed and over > 1 and (rules.anytime or rules.multiplicity != "none"):
        corrected = f" after {how}'s correction over {over}"
    shown = "Shown, if the assumptions were met" if _undermined(result, row) else "Proven"
    return f"{shown}: {told} ({claim.hypothesis}{p}{corrected}); {_range_of(row)}"


def _range_of(row: GateRow) -> str:
    """Where the speedup lies, and what the mean says against it."""
    return ", ".join(filter(None, (words.range_of(row.comparison), _other_way(row))))


def _other_way(row: GateRow) -> str:
    """What the mean says, where it is proven to go the other way than the typical run or withholds a pass."""
    if row.average is None:
        return ""
    told = words.direction(row.average.value, *words.gain_and_loss(row.comparison))
    return f"{words.AVERAGE} {told}{words.slow_runs(row.comparison)}"


def _undermined(result: GateDecision, row: GateRow) -> bool:
    """Whether a row is marked, as one that nothing is called proven of."""
    marked = bool(row.comparison.undermining) or result.machine is not None
    return result.void(row) is not None or (marked and row.outcome is not Outcome.UNDECIDED)


def _observed(row: GateRow) -> str:
    c = row.comparison
    direction = _alone(c)
    return words.change(replace(c, verdict=direction)) if direction in words.CHANGED else _seen(c)


def _seen(c: Comparison) -> str:
    """The observed ratio, for what nothing is proven of."""
    told = words.natural(c)
    return "~" if told == "-" else f"~ {told}"


def _proven(row: GateRow) -> Cell | None:
    """The bound that the outcome rests on; of an undecided one the runs it needs, or what it proves alone."""
    c = row.comparison
    low, high = c.certified.low, c.certified.high
    if row.outcome is Outcome.UNDECIDED:
        told = words.few(c)
        bound = max(low, 1 / high if high > 0 else math.nan)
        if not told and _alone(c) in words.CHANGED and 1 + 1e-9 < bound < math.inf:
            told = f"alone at least {factor(bound, -1)}"
            return Cell(told, "dim", (f"alone ≥ {factor(bound, -1)}", f"≥ {factor(bound, -1)}"))
        return Cell(told, "dim") if told else None
    equivalence = row.demand.policy is Policy.EQUIVALENCE
    if row.outcome is Outcome.FAIL:
        if equivalence and low > 1:
            return _least(low)
        return _least(1 / high) if 0 < high < 1 else None
    if equivalence:
        most = max(high, 1 / low) if low > 0 else math.inf
        return _most(factor(most, 1)) if math.isfinite(most) else None
    if low >= 1:
        return _least(low) if low < math.inf else None
    return _most(factor(1 / low, 1, 3), f" {words.gain_and_loss(c)[1]}") if low > 0 else None


def _least(bound: float) -> Cell:
    told = factor(bound if bound > words.ONE else 1.0, -1)
    return Cell(f"at least {told}", shorter=(f"≥ {told}",))


def _most(bound: str, word: str = "") -> Cell:
    return Cell(f"at most {bound}{word}", shorter=(f"≤ {bound}{word}", f"≤ {bound}"))


def _alone(c: Comparison) -> Verdict:
    """What is proven of a benchmark by itself; equal within the margin, it may still be faster or slower."""
    return (
        verdict_of(c.pvalue, c.pvalue_slower, None, c.alpha) if c.verdict is Verdict.EQUIVALENT else c.verdict
    )


def _limit(row: GateRow) -> str:
    """What the benchmark is held to."""
    better, _ = words.gain_and_loss(row.comparison)
    if row.demand.policy is Policy.PROVEN_IMPROVEMENT:
        return better
    return f"{'±' if row.demand.policy is Policy.EQUIVALENCE else '+'}{share(row.demand.margin)}"
