"""The gate's answer: pass, fail or undecided, then was, now, change and limit, the worst first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from speedproof.data.suite import Suite
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.gate import GateDecision, GateRow
from speedproof.protocols.gate_claims import Outcome
from speedproof.protocols.results import Comparison
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting.caveats import beside_medians, caveats, session_floor, two_speeds, undermining
from speedproof.reporting.gate_rows import (
    LABEL,
    ORDER,
    STYLES,
    limit,
    rows,
    seen,
    table,
    undermined,
    words_of,
)
from speedproof.reporting.model import Report, Row, Text, grouped
from speedproof.reporting.names import enumerate_names, labels, shortened, spoken
from speedproof.reporting.numbers import level, percent, plural, pvalue, share
from speedproof.reporting.words import asked_of, few, needs, range_of

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
_NAMED = 3


def report(result: GateDecision, *, everything: bool = False, undecided_fails: bool = False) -> Report:
    """A gate as a sheet."""
    title = f"Gate: {result.candidate} against {result.reference}"
    headline = [
        Text(
            _conclusion(result),
            STYLES[result.outcome],
            f"({asked_of(result.rules.protocol)}, {_level(result)})",
        )
    ]
    headline += caveats(result.caveats)
    headline += session_floor([row.comparison for row in result.rows])
    headline += two_speeds(result.machine, *labels([result.reference, result.candidate], LABEL))
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
    shown = rows(result, sentence, everything=everything, undecided_fails=undecided_fails)
    return Report(
        title=title,
        headline=tuple(headline),
        tables=(table(result, shown),) if shown else (),
        notes=tuple(_notes(result, shown)),
        hints=("--all: every benchmark",) if any(hidden for _, hidden, _ in grouped(shown)) else (),
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


def _margin(result: GateDecision) -> str:
    """The one margin of all rows; where there are several, no number."""
    margins = {row.demand.margin for row in result.rows}
    return share(*margins) if len(margins) == 1 else "the margin"


def _conclusion(result: GateDecision) -> str:
    """The answer in a sentence, with the benchmarks that it hangs on."""
    total = len(result.rows)
    what = counted(result, total) if total != 1 else labels([result.rows[0].comparison.benchmark], LABEL)[0]
    counts = {outcome: [row for row in result.rows if row.outcome is outcome] for outcome in ORDER}
    parts = []
    if result.absent:
        missing = plural(len(dict.fromkeys(a.benchmark for a in result.absent)), "benchmark")
        parts.append(f"{missing} missing")
    failing = Counter(row.contradicted.name for row in counts[Outcome.FAIL])
    for name, count in failing.items():
        row = next(r for r in counts[Outcome.FAIL] if r.contradicted.name == name)
        told = _OPPOSITES[name].format(**words_of(row, _margin(result)))
        some = what if total == 1 else f"{count} of {what}"
        parts.append(f"{some} {'is' if count == 1 else 'are'} {told}")
    if result.outcome is Outcome.PASS:
        asked = Counter(row.required.name for row in result.rows)
        words = words_of(result.rows[0], _margin(result))
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
    return _UNDECIDED[undecided[0].demand.policy.value].format(**words_of(undecided[0]))


def counted(result: GateDecision, count: int) -> str:
    """A number of rows: of benchmarks, or of their metrics where there are several."""
    several = len({row.comparison.metric for row in result.rows}) > 1
    return plural(count, "benchmark metric" if several else "benchmark")


def sentence(result: GateDecision, row: GateRow) -> str:
    """One benchmark at the gate: what is proven, with hypothesis and p-value, or what would decide it."""
    words = words_of(row)
    if (void := result.void(row)) is not None:
        return f"Not proven, because {_VOID[void.kind]}: {seen(row.comparison)} as measured"
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
    shown = "Shown, if the assumptions were met" if undermined(result, row) else "Proven"
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
            told.setdefault(why, []).append(_name(result, row))
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


def _name(result: GateDecision, row: GateRow) -> str:
    """A benchmark, with its metric where there are several."""
    c = row.comparison
    return (
        f"{c.benchmark} ({c.metric})" if len({r.comparison.metric for r in result.rows}) > 1 else c.benchmark
    )


def _few_of(names: Sequence[str]) -> str:
    return enumerate_names([*shortened(names[:_NAMED], LABEL), *names[_NAMED:]], _NAMED)


def _risks(result: GateDecision) -> str:
    marked = [undermined(result, row) for row in result.rows]
    voids = [result.void(row) for row in result.rows]
    reasons = [_VOID[void.kind] for void in voids if void]
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
    if total < 2:
        return f"Risk of a false pass and of a false fail: at most {percent(alpha)} each{over}."
    fail = {
        "holm": f"{percent(alpha)} over all {total} (Holm)",
        "bh": f"an expected share of {percent(alpha)} of those that fail (Benjamini and Hochberg)",
        "none": f"{percent(alpha)} for each benchmark, up to {percent(min(1.0, alpha * total))} over all {total}",
    }[result.rules.multiplicity]
    return f"Risk of a false pass: at most {percent(alpha)}; of a false fail: {fail}{over}."
