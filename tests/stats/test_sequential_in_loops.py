"""The bounds of a running comparison: what a search for one finds, when one is tried, what is kept of blocks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from tests.stats.test_sequential import BETS, naive_wealth, sequence_of

from speedproof.errors import DataError, UsageError
from speedproof.stats.forecast import growth
from speedproof.stats.sequential import PairedSequence, SequentialResult, bounds_of

BLOCKS = {
    "few": [0.1, 0.2],
    "faster": [0.10, 0.11, 0.09, 0.12, 0.10, 0.13, 0.08],
    "slower": [-0.3, -0.1, -0.2, -0.25, -0.15, -0.2, -0.22, -0.18],
    "same": [0.0] * 9,
    "one ratio": [0.7] * 12,
    "far": [30.0, 31.0, 29.0, 28.0, 33.0, 30.5],
    "scattered": (0.02 + 0.1 * np.random.default_rng(1).standard_normal(41)).tolist(),
    "spiked": (0.02 * np.random.default_rng(2).standard_t(2, 30) - 0.01).tolist(),
}


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_bounds_by_the_definition(name: str, alpha: float) -> None:
    """Rejected where they are, not so a hundredth of a step further.

    A step is what one block of n moves a bound by: the distance of the means of both halves, over 2 n.
    """
    sequence = sequence_of(BLOCKS[name], alpha)
    n, ordered = sequence.blocks, np.sort(sequence.differences)
    spread = float(ordered[n - n // 2 :].sum() - ordered[: n // 2].sum())
    tolerance = max(0.01 * spread / n**2, 1e-10)
    threshold = math.log(1 / alpha) + 1e-9
    result = sequence.result()
    for side, bound in ((1, result.low), (-1, result.high)):
        mirrored = (side * sequence.differences).tolist()

        def rejected(shift: float, mirrored: list[float] = mirrored) -> bool:
            return math.log(naive_wealth(mirrored, shift)[-1]) >= threshold

        if not rejected(-600.0):
            assert bound == (0.0 if side == 1 else math.inf)
            continue
        end = side * math.log(bound)
        assert rejected(end - 1e-13)
        assert end + tolerance >= max(mirrored) or not rejected(end + 3.0 * tolerance * max(1.0, abs(end)))
        assert (end >= 0.0) == rejected(0.0) == sequence.rejects(1.0, side=side)
        assert sequence.evidence(side) == pytest.approx(math.log(naive_wealth(mirrored, 0.0)[-1]), abs=1e-9)


def test_what_is_beyond_1_by_the_readings_is_so() -> None:
    """Whatever their steps leave of it: the bound of the proven side is 1 at least, the other below."""
    sequence = PairedSequence()
    for _ in range(12):
        sequence.add(1.02, 1.01, resolution=0.02)
    result = sequence.result()
    assert result.faster
    assert result.low == 1.0
    assert sequence.attainable(1) < 1.0


@pytest.mark.parametrize("shift", [0.02, 0.0, -0.01])
def test_what_is_kept_of_blocks(shift: float) -> None:
    """A result is of the blocks so far, whether or not one looked before."""
    rng = np.random.default_rng(3)
    sequence, differences, pairs = PairedSequence(alpha=0.2), list[float](), list[tuple[float, float]]()
    for n in range(1, 231):
        x, y = math.exp(shift + 0.03 * rng.standard_normal()), math.exp(0.03 * rng.standard_normal())
        x, y = (round(x, 2), round(y, 2)) if n % 3 else (x, y)
        pairs.append((x, y))
        sequence.add(x, y)
        differences.append(math.log(x) - math.log(y) if x != y else 0.0)
        if n % 50 == 0:
            assert sequence.result() == PairedSequence.of(*zip(*pairs, strict=True), alpha=0.2).result()
    result = sequence.result()
    ties = sum(d == 0 for d in differences)
    evidence = [sequence.log_evidence(1.0, side=side) for side in (1, -1)]
    pvalues = [min(1.0, math.exp(1e-9 - log)) for log in evidence]  # what rounding may have added
    assert (result.blocks, result.ties, result.alpha) == (230, ties, 0.2)
    assert [result.log_evidence_faster, result.log_evidence_slower] == pytest.approx(evidence, abs=1e-9)
    assert [result.pvalue_faster, result.pvalue_slower] == pytest.approx(pvalues, rel=1e-8)
    assert sequence.differences.tolist() == differences
    assert sequence.middle() == pytest.approx(math.exp(float(np.median(differences))))
    walsh = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(differences, 2)]
    assert sequence.centre() == pytest.approx(math.exp(float(np.median(walsh))))
    assert sequence.attainable(1) == sequence.attainable(-1) == pytest.approx(sequence.middle())


def test_what_is_held_back_and_what_is_no_double() -> None:
    """Of every rejection a billionth; a speedup of exp(700) or more is infinite as an upper bound only."""
    for alpha in (0.5, 0.05):
        assert PairedSequence(alpha=alpha)._threshold == pytest.approx(
            -math.log(alpha) + 1e-9, rel=0, abs=1e-13
        )
    for logarithm in (699.5, 700.0, 700.5, 1400.0):
        low, high = bounds_of(logarithm, logarithm)
        assert low == math.exp(min(logarithm, 700.0))
        assert high == (math.inf if logarithm >= 700 else low)
    assert bounds_of(-math.inf, math.inf) == (0.0, math.inf)


def test_values_smaller_than_their_step() -> None:
    """They may have been 0: no ratio at all on that side."""
    sequence = PairedSequence()
    for a, b in ((1.0, 4.0), (3.0, 1.0), (1.0, 1.0)):
        sequence.add(a, b, resolution=2.0)
    least, most = sequence._rows[3, :3].tolist(), sequence._rows[4, :3].tolist()
    assert least == pytest.approx([-700.0, 0.0, -700.0])
    assert most == pytest.approx([math.log(2 / 3), 700.0, 700.0])
    assert sequence.attainable(1) == math.exp(-700)
    assert sequence.attainable(-1) == math.exp(700)
    for a, b in ((1e300, 1e-300),) * 3:
        sequence.add(a, b)
    assert sequence.middle() == pytest.approx(
        math.exp(0.5 * (math.log(3) + math.log(1e300) - math.log(1e-300))), rel=1e-9
    )


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.9, 1.1), (1.0, 1.0), (1.1, 1.0), (0.0, 1.0), (1.0, math.inf), (0.8, 1.1), (0.9, 1.25)],
)
def test_what_bounds_say(low: float, high: float) -> None:
    for p, q in ((0.05, 0.0501), (0.0501, 0.05), (0.01, 0.02)):
        found = SequentialResult(9, 0, 0.05, low, high, 0.0, 0.0, p, q)
        against = low > high
        assert found.contradictory is against
        assert (found.faster, found.slower) == (p <= 0.05 and not against, q <= 0.05 and not against)
        for margin in (0.05, 0.1, 0.11, 0.12, 0.25, 1e9):
            inside = 1 / (1 + margin) < low and high < 1 + margin
            assert found.equivalent(margin) is (inside and not against)
        none = low == 0.0 or high == math.inf or against
        expected = math.inf if none else math.sqrt(high / low) - 1
        assert found.precision == pytest.approx(expected)


@pytest.mark.parametrize("step", [0.0, 0.1])
def test_evidence_of_values_read_in_steps(step: float) -> None:
    """Bets by the scale of the readings on what they may have been at worst; at 1 on the readings themselves."""
    rng = np.random.default_rng(5)
    x, y = 2.1 + 0.2 * rng.standard_normal(24), 2.0 + 0.2 * rng.standard_normal(24)
    sequence = PairedSequence(alpha=0.1)
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        sequence.add(a, b, resolution=step)
    read = np.log(x) - np.log(y)
    scales = [1.4826 * stats.median_abs_deviation(read[:k]) if k > 1 else 0.0 for k in range(24)]
    for gamma, side in itertools.product((0.8, 1.0, 1.1), (1, -1)):
        half = 0.0 if gamma == 1.0 else 0.5 * step * side
        worst = side * (np.log(x - half) - np.log(y + half) - math.log(gamma))
        wealths = [share for *_, share in BETS]
        for d, scale in zip(worst.tolist(), scales, strict=True):
            size = abs(d) / scale if scale > 0 else 1.0
            for k, (slope, most, _) in enumerate(BETS):
                wealths[k] *= 1 + math.copysign(min(math.tanh(slope * size), most), d)
        evidence = math.log(sum(wealths))
        assert sequence.log_evidence(gamma, side=side) == pytest.approx(evidence, abs=1e-9)
        missing = math.log(10) + 1e-9 - evidence
        rate = growth(worst, 0.0)
        found = sequence.blocks_to_go(gamma=gamma, side=side)
        assert found == (
            pytest.approx(missing / rate) if rate > 0 and missing > 0 else math.inf if missing > 0 else 0.0
        )
    assert sequence.blocks_to_go(side=1) == sequence.blocks_to_go(gamma=1.0, side=1)


def test_blocks_that_are_none() -> None:
    """One value of each version, positive and finite; a risk between 0 and 1."""
    for alpha in (-0.1, 0.0, 1.0, 1.1, math.nan):
        with pytest.raises(UsageError, match="the risk must lie between 0 and 1"):
            PairedSequence(alpha=alpha)
    for x, y in (([[1.0, 2.0]], [[1.0, 2.0]]), ([[1.0]], [1.0]), ([1.0, 2.0, 3.0], [1.0, 2.0])):
        with pytest.raises(DataError, match=f"the reference has {np.size(x)}, the candidate {np.size(y)}"):
            PairedSequence.of(x, y)
    assert PairedSequence.of([], []).blocks == 0
    assert PairedSequence.of([2.0], [1.0], alpha=0.3).result().alpha == 0.3
    assert PairedSequence.of([2.0], [1.0]).result().alpha == PairedSequence().result().alpha == 0.05
    for bad in (0.0, -1.0, math.inf, math.nan):
        sequence = PairedSequence.of([1.0, 2.0], [1.0, 1.0])
        with pytest.raises(DataError, match="block 3: the reference is"):
            sequence.add(bad, 1.0)
        with pytest.raises(DataError, match="block 3: the candidate is"):
            sequence.add(1.0, bad)
        assert sequence.differences.tolist() == [0.0, math.log(2.0)]
