"""The end of a session with ``--gate``: the gate's own sheet, of what the session proved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from speedproof.protocols.gate import Absent, GateDecision, GateRow
from speedproof.protocols.gate_claims import Demand, GateRules, Hypothesis, Outcome, claim
from speedproof.protocols.negative_controls import WITHHELD
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.sequential import CandidateResult
from speedproof.protocols.stopping import Gate, StopRules, outcome_of
from speedproof.reporting import gate as sheet
from speedproof.reporting.model import Report, Text
from speedproof.reporting.names import enumerate_names
from speedproof.reporting.numbers import percent


def report(
    found: Sequence[tuple[CandidateResult, Comparison]],
    rules: StopRules,
    held_to: Gate,
    absent: Mapping[str, Sequence[str]],
) -> Report:
    """The findings, held to a gate; ``absent`` are by benchmark the candidates that lack it."""
    lacking = [(name, version) for name, versions in absent.items() for version in versions]
    held = [(f.benchmark, f.candidate) for f, _ in found] + lacking
    benchmarks, candidates = (list(dict.fromkeys(names)) for names in zip(*held, strict=True))

    def told(name: str, candidate: str) -> str:
        if len(candidates) == 1:
            return name
        return candidate if len(benchmarks) == 1 else f"{name} ({candidate})"

    rows = tuple(
        _row(f, replace(c, benchmark=told(f.benchmark, f.candidate)), held_to.margin) for f, c in found
    )
    metric = found[0][0].metric if found else "time"
    decision = GateDecision(
        reference=found[0][0].reference if found else "the reference",
        candidate=enumerate_names(candidates, 3),
        rules=GateRules(alpha=rules.alpha, multiplicity="none"),
        outcome=Outcome(outcome_of({row.outcome for row in rows}, lacking)),
        rows=rows,
        absent=tuple(Absent(told(*one), metric, "only the reference has it") for one in lacking),
        added=(),
        ignored=(),
        sessions_apart=False,
    )
    made = sheet.report(decision)
    count = f" over all {held_to.family}" if held_to.family > 1 else ""
    alpha = percent(rules.alpha)
    text = f"Risk of a false pass: at most {alpha}; of a false fail: {alpha}{count}, however often one looks."
    return replace(made, notes=(*made.notes[:-1], Text(text, "dim")), hints=())


def _row(f: CandidateResult, c: Comparison, margin: float) -> GateRow:
    outcome = Outcome(f.gate or "undecided")
    told = f.reason in ("", WITHHELD) or (c.needed is not None and c.needed.reference is not None)
    remark = f.reason if outcome is Outcome.UNDECIDED and not told else ""
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
