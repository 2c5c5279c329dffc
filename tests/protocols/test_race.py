"""A race of several candidates: all sets of hypotheses after every block, in plain Python."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.protocols.asking import stop_rules

from speedproof.data.notes import Assumption
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import PROVEN, SequentialComparison


@pytest.mark.parametrize(("level", "agreed"), [(0.05, True), (0.004, False)])
def test_skewed_blocks_are_told_alike_of_either_side(level: float, agreed: bool) -> None:
    """Exchanged sides give the same words: a gain told of one is a loss told of the other."""
    rng = np.random.default_rng(12)
    skewed = rng.exponential(0.02, 60)
    ratios = np.exp(skewed - np.median(skewed) + (level if agreed else -level))
    told = []
    for x, y in ((ratios, np.ones(60)), (np.ones(60), ratios)):
        race = SequentialComparison("sort", ("X", "Y"), stop_rules(max_blocks=60))
        for one, other in zip(x.tolist(), y.tolist(), strict=True):
            race.add({"X": one, "Y": other})
        told.append([check.message for check in race.warnings("Y") if "skewed (p" in check.message])
    assert told[0] == told[1] != []
    assert ("agree on who is faster" in told[0][0]) is agreed


@pytest.mark.parametrize(("step", "changed"), [(0.0, False), (0.01, True), (-0.01, True)])
def test_a_speedup_that_drifts(step: float, changed: bool) -> None:
    """By SciPy's rank correlation of ratios and order, at 1 %; of no blocks nothing is said."""
    race = SequentialComparison("b", ["X", "Y"], stop_rules())
    assert race.warnings("Y") == ()
    noise = 0.02 * np.random.default_rng(5).standard_normal(12)
    differences = step * np.arange(12) + noise
    for d in differences.tolist():
        race.add({"X": math.exp(d), "Y": 1.0})
    expected = stats.spearmanr(np.arange(12), differences).pvalue
    assert bool(expected <= 0.01) is changed
    told = [check for check in race.warnings("Y") if check.kind is Assumption.STEADY_SPEEDUP]
    assert [check.pvalue for check in told] == pytest.approx([expected] * changed)


def test_a_verdict_is_of_all_blocks() -> None:
    """Faster by the first 20 pairs, and 20 alike the other way: nothing is proven, and measuring goes on."""
    race = SequentialComparison("b", ["X", "Y"], stop_rules(alpha=0.1, min_blocks=30))
    for k in range(40):
        race.add({"X": (1.1 if k < 20 else 0.9) + 0.001 * (k % 5), "Y": 1.0 + 0.001 * (k % 3)})
        (found,) = race.findings()
        if k == 19:
            assert (found.verdict, found.result.alpha) == (Verdict.FASTER, 0.1)
            assert found.result.low > 1.05
    assert (found.verdict, found.reason, race.open()) == (Verdict.UNDECIDED, "", ("Y",))
    assert found.result.low < 1 < found.result.high


def test_a_candidate_that_left_keeps_its_verdict() -> None:
    """Decided beside one that was as fast then: what that one does later changes nothing for the first."""
    race = SequentialComparison("b", ["X", "A", "B"], stop_rules(stop_at_proof=True, min_blocks=8))
    for k in range(12):
        times = {"X": 2.0 + 0.01 * (k % 5), "A": 1.0, "B": 1.9 if k < 6 else 2.1}
        race.add({name: times[name] for name in race.runners})
    a, b = race.findings()
    assert (a.verdict, a.reason, a.result.blocks) == (Verdict.FASTER, PROVEN, 8)
    assert (b.verdict, b.result.blocks) == (Verdict.UNDECIDED, 12)
