"""What a negative control is said to show."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import pytest
from tests.protocols.asking import stop_rules

from speedproof.data.notes import Assumption
from speedproof.protocols.claims import Demand, Outcome
from speedproof.protocols.negative_controls import differs, withheld
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import CandidateResult
from speedproof.protocols.stopping import SessionQuestion
from speedproof.stats.sequential import SequentialResult


@pytest.mark.parametrize(
    ("verdict", "low", "high", "differ"),
    [
        (Verdict.FASTER, 0.9, 1.1, True),
        (Verdict.SLOWER, 0.9, 1.1, True),
        (Verdict.UNDECIDED, 1.1, 1.2, False),
        (Verdict.EQUIVALENT, 0.99, 1.01, False),
        (Verdict.EQUIVALENT, 1.0, 1.01, False),
        (Verdict.EQUIVALENT, 0.99, 1.0, False),
        (Verdict.EQUIVALENT, 1.001, 1.01, True),
        (Verdict.EQUIVALENT, 0.98, 0.999, True),
    ],
)
def test_a_proven_difference(verdict: Verdict, low: float, high: float, differ: bool) -> None:
    """Within a margin it is one where the bounds leave out 1."""
    found: Any = SimpleNamespace(verdict=verdict, result=SimpleNamespace(low=low, high=high))
    assert differs(found) == differ


def sequential(estimate: float, verdict: Verdict, **fields: Any) -> CandidateResult:
    nothing = SequentialResult(20, 0, 0.05, 0.0, math.inf, 0.0, 0.0, 1.0, 1.0)
    given = {"benchmark": "sort", "reference": "old", "candidate": "new", **fields}
    return CandidateResult(
        verdict=verdict, result=nothing, estimate=estimate, reason="", blocks_to_go=0.0, **given
    )


@pytest.mark.parametrize("untouched", [False, True])
@pytest.mark.parametrize("outcome", [None, *Outcome])
@pytest.mark.parametrize("verdict", Verdict)
def test_a_claim_stands_beyond_what_cannot_differ(
    verdict: Verdict, outcome: Outcome | None, untouched: bool
) -> None:
    """It has to be farther from its edge, 1, the margin's or the gate's, than the control is from 1."""
    rules = stop_rules(margin=0.05, demand=Demand(margin=0.02) if outcome else None)
    what = {"benchmark": "idle"} if untouched else {"candidate": "old (again)"}
    for size, estimate in itertools.product((0.97, 1.03), (0.8, 0.975, 0.995, 1.005, 1.025, 1.3)):
        control = sequential(size, Verdict.FASTER if size > 1 else Verdict.SLOWER, **what)
        question = SessionQuestion(rules, control=True, unaffected=["idle"])
        found, alone = withheld([sequential(estimate, verdict, outcome=outcome), control], question)
        assert alone == control
        floor = abs(math.log(size))
        within = 0.05 if verdict is Verdict.EQUIVALENT else 0.0
        near = min(abs(math.log(estimate * (1 + within))), abs(math.log(estimate / (1 + within)))) <= floor
        near_gate = outcome in (Outcome.PASS, Outcome.FAIL) and abs(math.log(estimate * 1.02)) <= floor
        assert found.verdict is (Verdict.UNDECIDED if near else verdict)
        assert found.outcome == (Outcome.UNDECIDED if near_gate else outcome)
        lost = near_gate if outcome else near and verdict is not Verdict.UNDECIDED
        assert found.reason == ("withheld" if lost else "")
        assert len(found.warnings) == lost
        for warning in found.warnings:
            assert warning.kind is Assumption.NOISE_FLOOR
            start = "its distance from the margin is" if outcome or within else "its difference is"
            where = (
                "where the change can have done nothing" if untouched else "of two builds of the reference"
            )
            assert warning.message.startswith(start)
            assert where in warning.message


@pytest.mark.parametrize("sizes", [(1.01, 1.04), (1.04, 1.01), (0.99, 0.96)])
def test_the_largest_difference_of_a_candidates_own_controls_counts(sizes: tuple[float, float]) -> None:
    """What another candidate does to a benchmark that no change can touch is its own affair."""
    question = SessionQuestion(stop_rules(), unaffected=["idle", "still"])
    moved = Verdict.FASTER if sizes[0] > 1 else Verdict.SLOWER
    controls = [sequential(v, moved, benchmark=b) for v, b in zip(sizes, question.unaffected, strict=True)]
    own, other = (sequential(1.02, Verdict.FASTER, candidate=name) for name in ("new", "newer"))
    found = withheld([own, other, *controls], question)
    assert [f.verdict for f in found[:2]] == [Verdict.UNDECIDED, Verdict.FASTER]
    assert withheld([*controls, own, other], question) == (*found[2:], *found[:2])
