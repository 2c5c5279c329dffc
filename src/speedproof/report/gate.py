"""The gate's answer: pass, fail or undecided, then was, now, change and limit, the worst first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from speedproof.data.suite import Suite
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.figures import verdict_of
from speedproof.protocols.gate import GateDecision, GateRow
from speedproof.protocols.gate_claims import Outcome, Policy
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.caveats import beside_medians, caveats, session_floor, two_speeds, undermining
from speedproof.report.model import Cell, Column, Report, Row, Style, Table, Text
from speedproof.report.model import Outcome as Meaning
from speedproof.report.names import common_prefix, enumerate_names, labels, shortened, spoken
from speedproof.report.numbers import factor, level, percent, plural, pvalue, share, values
from speedproof.report.words import asked_of, change, few, gain_and_loss, natural, needs, range_of

_STYLES: dict[Outcome, Style] = {Outcome.PASS: "good", Outcome.FAIL: "bad", Outcome.UNDECIDED: "warning"}
_MEANINGS: dict[Outcome, Meaning] = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.UNDECIDED: "undecided",
}
_ORDER = (Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS)
_KINDS = {Outcome.FAIL: "failed", Outcome.UNDECIDED: "undecided", Outcome.PASS: "passed"}
_OPPOSITES = {
    "regression": "{worse} by more than {margin}",
    "slowdown": "{worse}",
    "difference": "changed by more than {margin}",
}
_ASKED = {
    "not worse": "not {worse} by more than {margin}",
    "improvement": "{better}",
    "equivalence": "the same within {margin}",
}
_UNDECIDED = {
    "no-regression": "may be over {margin} {worse}",
    "proven-improvement": "may not be {better}",
    "equivalence": "may differ by over {margin}",
}
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini and Hochberg", "none": "no correction"}
_OF_SESSIONS = (Assumption.INTERLEAVED, Assumption.ONE_SESSION, Assumption.SEVERAL_SESSIONS)
_VOID = {
    Assumption.TWO_MEASUREMENTS: "both sides are one measurement",
    Assumption.PLANNED_SIZE: "measuring stopped on its result",
}
_LABEL = 24
_SHOWN = 12
_NAMED = 3


def report(result: GateDecision, *, everything: bool = False, undecided_fails: bool = False) -> Report:
    """A gate as a sheet."""
    title = f"Gate: {result.candidate} against {result.reference}"
    headline = [
        Text(
            _conclusion(result),
            _STYLES[result.outcome],
            f"({asked_of(result.rules.protocol)}, {_level(result)})",
        )
    ]
    headline += caveats(result.caveats)
    headline += session_floor([row.comparison for row in result.rows])
    headline += two_speeds(result.machine, *labels([result.reference, result.candidate], _LABEL))
    told = any(row.comparison.floor for row in result.rows)
    if result.sessions_apart and not told and not any(c.kind in _OF_SESSIONS for c in result.caveats):
        old, new = spoken([result.reference, result.candidate])
        headline.append(
            Text(
                f"{old} and {new} were measured in two sessions: what differs between sessions is in these "
                "numbers, too; 'speedproof run' measures both in one.",
                "warning",
            )
        )
    rows = _rows(result, everything=everything, undecided_fails=undecided_fails)
    return Report(
        title=title,
        headline=tuple(headline),
        tables=(_table(result, rows),) if rows else (),
        notes=tuple(_notes(result, rows)),
        hints=("--all: every benchmark",) if any(row.folded for row in rows) else (),
        command="gate",
        data=result,
        good={Outcome.PASS: True, Outcome.FAIL: False}.get(result.outcome, not undecided_fails),
    )


def as_comparisons(result: GateDecision, suite: Suite) -> list[SuiteComparison]:
    """The comparisons behind a gate whose samples are here, a metric each: what a page draws of the samples."""
    by_metric: dict[str, list[Comparison]] = {}
    here = {(key.benchmark, key.metric) for key in suite.keys}
    for row in result.rows:
        if (row.comparison.benchmark, row.comparison.metric) not in here:
            continue  # passed at an earlier look
        by_metric.setdefault(row.comparison.metric, []).append(row.comparison)
    return [
        SuiteComparison(
            reference=result.reference,
            candidate=result.candidate,
            metric=metric,
            alpha=result.rules.alpha,
            margin=None,
            nested="process",
            comparisons=tuple(found),
        )
        for metric, found in by_metric.items()
    ]


def _level(result: GateDecision) -> str:
    return level(1 - result.rules.alpha)


def _words(row: GateRow, margin: str = "") -> dict[str, str]:
    better, worse = gain_and_loss(row.comparison)
    return {"better": better, "worse": worse, "margin": margin or share(row.demand.margin)}


def _margin(result: GateDecision) -> str:
    """The one margin of all rows; where there are several, no number."""
    margins = {row.demand.margin for row in result.rows}
    return share(*margins) if len(margins) == 1 else "the margin"


def _conclusion(result: GateDecision) -> str:
    """The answer in a sentence, with the benchmarks that it hangs on."""
    total = len(result.rows)
    what = counted(result, total) if total != 1 else labels([result.rows[0].comparison.benchmark], _LABEL)[0]
    counts = {outcome: [row for row in result.rows if row.outcome is outcome] for outcome in _ORDER}
    parts = []
    if result.absent:
        missing = plural(len(dict.fromkeys(a.benchmark for a in result.absent)), "benchmark")
        parts.append(f"{missing} missing")
    failing = Counter(row.contradicted.name for row in counts[Outcome.FAIL])
    for name, count in failing.items():
        row = next(r for r in counts[Outcome.FAIL] if r.contradicted.name == name)
        told = _OPPOSITES[name].format(**_words(row, _margin(result)))
        some = what if total == 1 else f"{count} of {what}"
        parts.append(f"{some} {'is' if count == 1 else 'are'} {told}")
    if result.outcome is Outcome.PASS:
        asked = Counter(row.required.name for row in result.rows)
        words = _words(result.rows[0], _margin(result))
        told = " and ".join(
            f"{_ASKED[name].format(**words)}{f' ({n})' if len(asked) > 1 else ''}"
            for name, n in asked.items()
        )
        none = total > 1 and set(asked) == {"not worse"}
        subject = f"none of {what} is" if none else f"all {what} are" if total > 1 else f"{what} is"
        parts.append(f"{subject} {told.removeprefix('not ') if none else told}")
    if counts[Outcome.UNDECIDED]:
        count = len(counts[Outcome.UNDECIDED])
        told = _may_be(result, counts[Outcome.UNDECIDED])
        some = f"{count} of {what}" if total > 1 else what
        parts.append(f"{count} undecided" if failing else f"{some} {told}")
    return f"{result.outcome.value.upper()}: {', '.join(parts)}"


def _may_be(result: GateDecision, undecided: Sequence[GateRow]) -> str:
    """What cannot be ruled out of undecided benchmarks."""
    if len({limit(row) for row in undecided}) > 1:
        return "may miss their limits"
    return _UNDECIDED[undecided[0].demand.policy.value].format(**_words(undecided[0]))


def counted(result: GateDecision, count: int) -> str:
    """A number of rows: of benchmarks, or of their metrics where there are several."""
    several = len({row.comparison.metric for row in result.rows}) > 1
    return plural(count, "benchmark metric" if several else "benchmark")


def _columns(result: GateDecision, rows: Sequence[Row]) -> tuple[Column, ...]:
    shown = {row.name for row in rows if not row.folded}
    held = {
        "needed" if row.outcome is Outcome.UNDECIDED and few(row.comparison) else "proven"
        for row in result.rows
        if row.comparison.benchmark in shown
    }
    prefix = common_prefix([row.comparison.benchmark for row in result.rows])
    return (
        Column("", right=False),
        Column(f"{prefix}…" if prefix else "", names=True),
        Column("was", right=True),
        Column("now", right=True),
        Column("change"),
        Column(" or ".join(sorted(held, reverse=True)) or "proven", drop=-1),
        Column("limit"),
    )


def _table(result: GateDecision, rows: tuple[Row, ...]) -> Table:
    """The rows; without their limit where the headline tells the one that all of them have."""
    columns = _columns(result, rows)
    told = result.outcome is not Outcome.FAIL or any(row.outcome is Outcome.FAIL for row in result.rows)
    if told and len({limit(row) for row in result.rows}) == 1:
        return Table(columns[:-1], tuple(replace(row, cells=row.cells[:-1]) for row in rows))
    return Table(columns, rows)


def _rows(result: GateDecision, *, everything: bool, undecided_fails: bool) -> tuple[Row, ...]:
    prefix = common_prefix([row.comparison.benchmark for row in result.rows])
    several = len({row.comparison.metric for row in result.rows}) > 1
    ordered = sorted(result.rows, key=lambda row: (_ORDER.index(row.outcome), -_severity(row)))
    found = [
        _missing(a.benchmark, a.metric, a.reason, several, folded=not everything and i >= _SHOWN)
        for i, a in enumerate(result.absent)
    ]
    failing = any(row.outcome is not Outcome.PASS for row in ordered) or bool(found)
    open_rows = 0
    for row in ordered:
        name = row.comparison.benchmark[len(prefix) :] + (f" ({row.comparison.metric})" if several else "")
        # What stops a pipeline is shown; what passed only where there is nothing else to see.
        passed = row.outcome is Outcome.PASS and (failing or len(ordered) > _SHOWN)
        folded = not everything and (passed or open_rows >= _SHOWN)
        open_rows += not folded
        found.append(_row(result, row, name, folded=folded, undecided_fails=undecided_fails))
    return tuple(found)


def _severity(row: GateRow) -> float:
    """How far the proven loss exceeds the limit, in a logarithm; for what is not proven, the observed one."""
    c = row.comparison
    s = (
        c.certified.high
        if row.outcome is Outcome.FAIL and not math.isnan(c.certified.high)
        else c.speedup.value
    )
    limit = 1.0 if row.demand.policy is Policy.PROVEN_IMPROVEMENT else 1 / (1 + row.demand.margin)
    if not (s > 0 and math.isfinite(s)):
        return 0.0
    loss = math.log(limit) - math.log(s)
    return abs(math.log(s)) if row.demand.policy is Policy.EQUIVALENCE else loss


def _missing(name: str, metric: str, reason: str, several: bool, *, folded: bool) -> Row:
    shown = f"{name} ({metric})" if several else name
    return Row(
        (
            Cell("MISSING", "bad"),
            Cell(shown, "strong"),
            Cell(""),
            Cell("-"),
            Cell(reason, "dim", spans=True),
            Cell(""),
            Cell(""),
        ),
        name,
        "failed",
        f"{name} cannot be compared: {reason}",
        "missing",
        folded,
    )


def _row(result: GateDecision, row: GateRow, name: str, *, folded: bool, undecided_fails: bool) -> Row:
    c = row.comparison
    old, new = values([c.reference.median, c.candidate.median], c.reference.unit)
    if result.rules.protocol == "mean":
        old, new = values([c.reference.mean, c.candidate.mean], c.reference.unit)
    void = result.void(row) is not None
    mark = " !" if _undermined(result, row) else ""
    word = {Outcome.FAIL: "FAIL", Outcome.PASS: "pass", Outcome.UNDECIDED: "?"}[row.outcome]
    meaning = _MEANINGS[row.outcome]
    return Row(
        (
            Cell(f"{word}{mark}", _STYLES[row.outcome]),
            Cell(name, "strong"),
            Cell(old),
            Cell(new),
            Cell(
                _seen(c) if void else _observed(row),
                "" if row.outcome is Outcome.PASS else _STYLES[row.outcome],
                speedup=c.certified,
            ),
            Cell("") if mark else _proven(row),
            Cell(limit(row), "dim"),
        ),
        c.benchmark,
        "failed" if undecided_fails and meaning == "undecided" else meaning,
        sentence(result, row),
        _KINDS[row.outcome],
        folded,
    )


def _undermined(result: GateDecision, row: GateRow) -> bool:
    """Whether a row is marked, as one that nothing is called proven of."""
    return result.void(row) is not None or (
        bool(row.comparison.undermining) and row.outcome is not Outcome.UNDECIDED
    )


def _observed(row: GateRow) -> str:
    c = row.comparison
    # Equal within the margin may still be faster or slower, which is what compare says without one.
    direction = verdict_of(c.pvalue, c.pvalue_slower, None, c.alpha)
    if direction in (Verdict.FASTER, Verdict.SLOWER):
        return change(replace(c, verdict=direction))
    return _seen(c)


def _seen(c: Comparison) -> str:
    """The observed ratio, for what nothing is proven of."""
    told = natural(c)
    return "~" if told == "-" else f"~ {told}"


def _proven(row: GateRow) -> Cell:
    """The bound that the outcome rests on; of an undecided one the runs it needs, or what it proves alone."""
    c = row.comparison
    _, worse = gain_and_loss(c)
    low, high = c.certified.low, c.certified.high
    if row.outcome is Outcome.UNDECIDED:
        told = few(c)
        return Cell(told, "dim") if told else _alone(row)
    if math.isnan(low):
        return Cell("")
    if row.outcome is Outcome.FAIL:
        if row.demand.policy is Policy.EQUIVALENCE and low > 1:
            return _least(low)
        return _least(1 / high) if 0 < high < 1 else Cell("")
    if row.demand.policy is Policy.EQUIVALENCE:
        most = max(high, 1 / low) if low > 0 else math.inf
        return _most(factor(most, 1)) if math.isfinite(most) else Cell("")
    if low >= 1:
        return _least(low)
    return _most(factor(1 / low, 1, 3), f" {worse}") if low > 0 else Cell("")


def _least(bound: float) -> Cell:
    return Cell(f"at least {factor(bound, -1)}", shorter=(f"≥ {factor(bound, -1)}",))


def _most(bound: str, word: str = "") -> Cell:
    return Cell(f"at most {bound}{word}", shorter=(f"≤ {bound}{word}", f"≤ {bound}"))


def _alone(row: GateRow) -> Cell:
    """What is proven of an undecided benchmark by itself, before the correction."""
    c = row.comparison
    if verdict_of(c.pvalue, c.pvalue_slower, None, c.alpha) not in (Verdict.FASTER, Verdict.SLOWER):
        return Cell("")
    bound = max(c.certified.low, 1 / c.certified.high if c.certified.high > 0 else math.nan)
    if not 1 < bound < math.inf:
        return Cell("")
    told = factor(bound, -1)
    return Cell(f"alone at least {told}", "dim", (f"alone ≥ {told}", f"≥ {told}"))


def limit(row: GateRow) -> str:
    """What the benchmark is held to."""
    better, _ = gain_and_loss(row.comparison)
    if row.demand.policy is Policy.PROVEN_IMPROVEMENT:
        return better
    return f"{'±' if row.demand.policy is Policy.EQUIVALENCE else '+'}{share(row.demand.margin)}"


def sentence(result: GateDecision, row: GateRow) -> str:
    """One benchmark at the gate: what is proven, with hypothesis and p-value, or what would decide it."""
    words = _words(row)
    if (void := result.void(row)) is not None:
        return f"Not proven, because {_VOID[void.kind]}: {_seen(row.comparison)} as measured"
    if row.outcome is Outcome.UNDECIDED:
        why = row.remark or needs(row.comparison)
        return f"Undecided: {range_of(row.comparison)}{f'; {why}' if why else ''}"
    if row.outcome is Outcome.PASS:
        told, claim = _ASKED[row.required.name].format(**words), row.required
    else:
        told, claim = _OPPOSITES[row.contradicted.name].format(**words), row.contradicted
    p = "" if math.isnan(claim.adjusted) else f", p = {pvalue(claim.adjusted)}"
    corrected = ""
    if row.outcome is Outcome.FAIL and len(result.rows) > 1 and result.rules.multiplicity != "none":
        corrected = f" after {_CORRECTIONS[result.rules.multiplicity]}'s correction over {len(result.rows)}"
    shown = "Shown, if the assumptions were met" if row.comparison.undermining else "Proven"
    return f"{shown}: {told} ({claim.hypothesis}{p}{corrected}); {range_of(row.comparison)}"


def _notes(result: GateDecision, shown: Sequence[Row]) -> Iterator[Text]:
    told: dict[str, list[str]] = {}
    open_rows = {row.name for row in shown if not row.folded}
    if result.rules.protocol != "mean":
        yield from beside_medians(
            row.comparison for row in result.rows if row.comparison.benchmark in open_rows
        )
    for row in result.rows:
        if result.void(row) is not None:
            continue
        needed = row.comparison.needed
        why = row.remark or (needed.reason if needed and not few(row.comparison) else "")
        if row.outcome is Outcome.UNDECIDED and why:
            told.setdefault(why, []).append(row.comparison.benchmark)
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
    if result.rows:
        yield Text(_risks(result), "dim")


def _few_of(names: Sequence[str]) -> str:
    return enumerate_names([*shortened(names[:_NAMED], _LABEL), *names[_NAMED:]], _NAMED)


def _risks(result: GateDecision) -> str:
    marked = [_undermined(result, row) for row in result.rows]
    voids = [result.void(row) for row in result.rows]
    why = " and ".join(dict.fromkeys(_VOID[void.kind] for void in voids if void))
    because = f": {why}" if why else ""
    if all(marked):
        return f"! No risk of a false pass or a false fail can be stated{because}."
    return f"{_stated(result)}{f' Not so for rows marked !{because}.' if any(marked) else ''}"


def _stated(result: GateDecision) -> str:
    looks, total = result.rules.looks, len(result.rows)
    alpha = result.rules.alpha * looks
    over = f", over all {looks} looks" if looks > 1 else ""
    if total < 2:
        return f"Risk of a false pass and of a false fail: at most {percent(alpha)} each{over}."
    fail = {
        "holm": f"{percent(alpha)} over all {total} (Holm)",
        "bh": f"an expected share of {percent(alpha)} of those that fail (Benjamini and Hochberg)",
        "none": f"{percent(alpha)} for each benchmark, up to {percent(min(1.0, alpha * total))} over all {total}",
    }[result.rules.multiplicity]
    return f"Risk of a false pass: at most {percent(alpha)}; of a false fail: {fail}{over}."
