"""The end of a session with ``--gate``: the gate's own sheet, of what the session proved."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from speedproof.protocols.gate import Absent, GateDecision, GateRow
from speedproof.protocols.gate_claims import Demand, GateRules, Hypothesis, Outcome, claim
from speedproof.protocols.negative_controls import WITHHELD
from speedproof.protocols.results import Comparison, Needed, Verdict
from speedproof.protocols.sequential import CandidateResult
from speedproof.protocols.stopping import Gate
from speedproof.protocols.suite import SuiteComparison
from speedproof.protocols.summaries import Summary
from speedproof.reporting import gate as sheet
from speedproof.reporting.model import Report, Text
from speedproof.reporting.numbers import percent
from speedproof.stats.estimate import Estimate


def report(
    findings: Sequence[CandidateResult], suite: SuiteComparison, held_to: Gate, absent: Sequence[str]
) -> Report:
    """The findings of one candidate, held to a gate."""
    by_name = {c.benchmark: c for c in suite.comparisons}
    rows = tuple(_row(f, by_name.get(f.benchmark) or _unmeasured(f, suite), held_to.margin) for f in findings)
    outcomes = {row.outcome for row in rows}
    decision = GateDecision(
        reference=suite.reference,
        candidate=suite.candidate,
        rules=GateRules(alpha=suite.alpha, multiplicity="none"),
        outcome=outcome_of(outcomes, absent),
        rows=rows,
        absent=tuple(Absent(name, suite.metric, "only the reference has it") for name in absent),
        added=(),
        ignored=(),
        sessions_apart=False,
    )
    made = sheet.report(decision)
    count = f" over all {held_to.family}" if held_to.family > 1 else ""
    risk = percent(suite.alpha)
    told = f"Risk of a false pass: at most {risk}; of a false fail: {risk}{count}, however often one looks."
    return replace(made, notes=(*made.notes[:-1], Text(told, "dim")), hints=())


def _unmeasured(f: CandidateResult, suite: SuiteComparison) -> Comparison:
    """A benchmark whose turn never came: a session that was ended early proves nothing of it."""
    nan, known = math.nan, suite.comparisons[0]
    old, new = (Summary(side, 0, 0, nan, nan, nan, nan, nan, nan, "") for side in (f.reference, f.candidate))
    needed = Needed(None, None, "not measured")
    nothing = Estimate(nan, 0.0, math.inf, known.speedup.confidence)
    return replace(
        known, benchmark=f.benchmark, reference=old, candidate=new, speedup=nothing, verdict=f.verdict,
        needed=needed,
    )  # fmt: skip


def outcome_of(outcomes: set[Outcome], absent: Sequence[str]) -> Outcome:
    """Of the whole: what a candidate lacks must not look like what passes."""
    if absent or Outcome.FAIL in outcomes:
        return Outcome.FAIL
    return Outcome.PASS if outcomes == {Outcome.PASS} else Outcome.UNDECIDED


def _row(f: CandidateResult, c: Comparison, margin: float) -> GateRow:
    outcome = Outcome(f.gate or "undecided")
    remark = ""
    if (
        outcome is Outcome.UNDECIDED
        and f.reason not in ("", WITHHELD)
        and not (c.needed and c.needed.reference)
    ):
        remark = f.reason
    alpha = c.alpha
    proven = {Verdict.FASTER: (0.0, 1.0), Verdict.SLOWER: (1.0, 0.0)}.get(f.verdict, (1.0, 1.0))
    return GateRow(
        comparison=replace(c, pvalue=proven[0], pvalue_slower=proven[1]),
        demand=Demand(margin=margin),
        outcome=outcome,
        required=_claim("not_worse", margin, alpha, outcome is Outcome.PASS),
        contradicted=_claim("regression", margin, alpha, outcome is Outcome.FAIL),
        claims=(),
        remark=remark,
    )


def _claim(name: str, margin: float, alpha: float, proven: bool) -> Hypothesis:
    """A claim without a p-value: evidence is weighed, and looked at whenever one likes."""
    return replace(claim(name, margin, math.nan, math.nan, alpha), proven=proven)
