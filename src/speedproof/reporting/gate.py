"""The gate's answer: pass, fail or undecided, then was, now, change and limit, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from speedproof.data.suite import Suite
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.gate import GateDecision, GateRow
from speedproof.protocols.gate_claims import Outcome
from speedproof.protocols.results import Comparison
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting import gate_rows
from speedproof.reporting.caveats import beside_medians, caveats, session_floor, two_speeds, undermining
from speedproof.reporting.model import Report, Table, Text, hint_of_all
from speedproof.reporting.names import enumerate_names, labels, shortened, spoken
from speedproof.reporting.numbers import level, percent, plural, share
from speedproof.reporting.words import asked_of, few

_UNDECIDED = {
    "no-regression": "may be over {margin} {worse}",
    "proven-improvement": "may not be {better}",
    "equivalence": "may differ by over {margin}",
}
_OF_SESSIONS = (Assumption.INTERLEAVED, Assumption.ONE_SESSION, Assumption.SEVERAL_SESSIONS)
_NAMED = 3
_SIDES = ("reference", "candidate")


def report(result: GateDecision, *, everything: bool = False, undecided_fails: bool = False) -> Report:
    """A gate as a sheet."""
    old, new = spoken([result.reference, result.candidate])
    comparisons = [row.comparison for row in result.rows]
    asked = f"({asked_of(result.rules.protocol)}, {level(1 - result.rules.alpha)})"
    headline = [
        Text(_conclusion(result), gate_rows.STYLES[result.outcome], asked),
        *caveats(result.caveats),
        *session_floor(comparisons),
        *two_speeds(result.machine, *labels([result.reference, result.candidate], gate_rows.LABEL)),
    ]
    told = any(c.floor for c in comparisons) or any(c.kind in _OF_SESSIONS for c in result.caveats)
    if result.sessions_apart and not told:
        apart = (
            f"{old} and {new} were measured in two sessions: what differs between sessions is in these "
            "numbers, too; 'speedproof run' measures both in one."
        )
        headline.append(Text(apart, "warning"))
    made = gate_rows.table(result, everything=everything, undecided_fails=undecided_fails)
    return Report(
        f"Gate: {result.candidate} against {result.reference}",
        tuple(headline),
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


def _margin(result: GateDecision) -> str:
    """The one margin of all rows; where there are several, no number."""
    margins = {row.demand.margin for row in result.rows}
    return share(*margins) if len(margins) == 1 else "the margin"


def _conclusion(result: GateDecision) -> str:
    """The answer in a sentence, with the benchmarks that it hangs on."""
    total = len(result.rows)
    what = (
        counted(result, total)
        if total != 1
        else labels([result.rows[0].comparison.benchmark], gate_rows.LABEL)[0]
    )
    fails, undecided, _ = (
        [row for row in result.rows if row.outcome is outcome] for outcome in gate_rows.ORDER
    )
    parts = []
    if result.absent:
        missing = plural(len({a.benchmark for a in result.absent}), "benchmark")
        parts.append(f"{missing} missing")
    failing = {row.contradicted.name: row for row in reversed(fails)}
    for name, count in Counter(row.contradicted.name for row in fails).items():
        told = gate_rows.OPPOSITES[name].format(**gate_rows.words_of(failing[name], _margin(result)))
        some = what if total == 1 else f"{count} of {what}"
        parts.append(f"{some} {'is' if count == 1 else 'are'} {told}")
    if result.outcome is Outcome.PASS:
        asked = Counter(row.required.name for row in result.rows)
        words = gate_rows.words_of(result.rows[0], _margin(result))
        several = len(asked) > 1
        parts_asked = (
            gate_rows.ASKED[name].format(**words) + several * f" ({n})" for name, n in asked.items()
        )
        told = " and ".join(parts_asked)
        none = total > 1 and set(asked) == {"not worse"}
        subject = f"none of {what} is" if none else f"all {what} are" if total > 1 else f"{what} is"
        parts.append(f"{subject} {told.removeprefix('not ') if none else told}")
    if undecided:
        some = f"{len(undecided)} of {what}" if total > 1 else what
        parts.append(f"{len(undecided)} undecided" if failing else f"{some} {_may_be(undecided)}")
    return f"{result.outcome.value.upper()}: {', '.join(parts)}"


def _may_be(undecided: Sequence[GateRow]) -> str:
    """What cannot be ruled out of undecided benchmarks."""
    if len({gate_rows.limit(row) for row in undecided}) > 1:
        return "may miss their limits"
    return _UNDECIDED[undecided[0].demand.policy.value].format(**gate_rows.words_of(undecided[0]))


def counted(result: GateDecision, count: int) -> str:
    """A number of rows: of benchmarks, of their metrics or of candidates where there are several."""
    old, new = ({getattr(row.comparison, side).label for row in result.rows} for side in _SIDES)
    if len(new) > 1 == len(old):
        return plural(count, "comparison")
    return plural(count, "benchmark metric" if gate_rows.several_metrics(result) else "benchmark")


def _notes(result: GateDecision, shown: Table) -> Iterator[Text]:
    told: dict[str, list[str]] = {}
    if result.rules.protocol != "mean":
        open_rows = {row.name for row in shown.rows if not row.folded}
        yield from beside_medians(
            row.comparison for row in result.rows if row.comparison.benchmark in open_rows
        )
    for row in result.rows:
        if result.void(row) is not None:
            continue
        needed = row.comparison.needed
        why = row.remark or (needed.reason if needed and not few(row.comparison) else "")
        if row.outcome is Outcome.UNDECIDED and why:
            told.setdefault(why, []).append(gate_rows.qualified(result, row.comparison))
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
    return enumerate_names([*shortened(names[:_NAMED], gate_rows.LABEL), *names[_NAMED:]], _NAMED)


def _risks(result: GateDecision) -> str:
    marked = [gate_rows.undermined(result, row) for row in result.rows]
    voids = [result.void(row) for row in result.rows]
    reasons = [gate_rows.VOID[void.kind] for void in voids if void]
    reasons += ["the machine ran at two speeds"] if result.machine else []
    why = " and ".join(dict.fromkeys(reasons))
    because = f": {why}" if why else ""
    if all(marked):
        return f"! No risk of a false pass or a false fail can be stated{because}."
    return f"{_stated(result)}{f' Not so for rows marked !{because}.' if any(marked) else ''}"


def _stated(result: GateDecision) -> str:
    looks, total = result.rules.looks, len(result.rows)
    alpha = result.rules.alpha * looks
    over = f", over all {looks} looks" if looks > 1 else ""
    if any(caveat.kind is Assumption.SEVERAL_RUNS for caveat in result.caveats):
        over += ", if as assumed above"
    if total < 2:
        return f"Risk of a false pass and of a false fail: at most {percent(alpha)} each{over}."
    fail = {
        "holm": f"{percent(alpha)} over all {total} (Holm)",
        "bh": f"an expected share of {percent(alpha)} of those that fail (Benjamini and Hochberg)",
        "none": f"{percent(alpha)} for each benchmark, up to {percent(min(1.0, alpha * total))} over all {total}",
    }[result.rules.multiplicity]
    return f"Risk of a false pass: at most {percent(alpha)}; of a false fail: {fail}{over}."
