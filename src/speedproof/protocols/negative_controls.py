"""Negative controls: what cannot differ, and what is left of a session's findings when it does.

A second build of the reference, or a benchmark that the change cannot touch, differs by what is not the change.
What is claimed of the others may be off by as much, so a claim stands only if the observed speedup is farther from
the edge of the claim than that: from 1 for "faster" and "slower", from the margin for "equivalent" and a policy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from speedproof.data.notes import Assumption, Note
from speedproof.data.session_file import control_name
from speedproof.protocols.claims import Outcome, SessionQuestion, StopRules
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import WITHHELD, CandidateResult

_BUILT_AGAIN = "the difference of two builds of the reference"
_UNTOUCHED = "the difference where the change can have done nothing"


def is_control(f: CandidateResult, question: SessionQuestion) -> bool:
    """Whether a finding is of what cannot differ."""
    again = question.control and f.candidate == control_name(f.reference)
    return again or f.benchmark in question.unaffected


def differs(f: CandidateResult) -> bool:
    """Whether a difference is proven, be it within a margin."""
    return f.verdict in (Verdict.FASTER, Verdict.SLOWER) or (
        f.verdict is Verdict.EQUIVALENT and not f.result.low <= 1 <= f.result.high
    )


def withheld(findings: Sequence[CandidateResult], question: SessionQuestion) -> tuple[CandidateResult, ...]:
    """Findings without the claims that the negative controls put in doubt; no policy judges these themselves."""
    apart = [f for f in findings if is_control(f, question)]
    moved = [(f, abs(math.log(f.estimate))) for f in apart if differs(f)]
    kept = []
    for f in findings:
        if f in apart:
            kept.append(replace(f, outcome=None, required=None, contradicted=None))
            continue
        # A second build tells of its own benchmark, an untouched benchmark of its candidate in all of them.
        builds = [size for c, size in moved if c.benchmark == f.benchmark]
        others = [
            size for c, size in moved if c.benchmark in question.unaffected and c.candidate == f.candidate
        ]
        for sizes, what in ((builds, _BUILT_AGAIN), (others, _UNTOUCHED)):
            if sizes:
                f = _beyond(f, max(sizes), question.rules_of(f.benchmark), what)
        kept.append(f)
    return tuple(kept)


def _beyond(f: CandidateResult, floor: float, rules: StopRules, what: str) -> CandidateResult:
    """A finding without the claims that are no farther from their edge than the floor."""
    verdict, kept = f.verdict, True
    within = rules.within if rules.within and verdict is Verdict.EQUIVALENT else 0.0
    edges = (1 / (1 + within), 1 + within)
    if verdict is not Verdict.UNDECIDED and _distance(f, *edges) <= floor:
        verdict = Verdict.UNDECIDED
    decided = f.outcome in (Outcome.PASS, Outcome.FAIL)
    if rules.demand is not None and decided and _distance(f, *rules.demand.edges) <= floor:
        kept = False
    if kept and (f.outcome or verdict is f.verdict):
        return replace(f, verdict=verdict)
    size = "distance from the margin" if f.outcome or within else "difference"
    why = f"its {size} is no larger than {what}: the verdict is withheld"
    warning = Note(Assumption.NOISE_FLOOR, why, (f.candidate,))
    f = replace(f, verdict=verdict, reason=WITHHELD, warnings=(*f.warnings, warning))
    if kept:
        return f
    required, contradicted = (c and replace(c, proven=False) for c in (f.required, f.contradicted))
    return replace(f, outcome=Outcome.UNDECIDED, required=required, contradicted=contradicted)


def _distance(f: CandidateResult, *edges: float) -> float:
    return min(abs(math.log(f.estimate / edge)) for edge in edges)
