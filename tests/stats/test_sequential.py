"""The sequential comparison: exact martingale identities and a brute-force twin."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from studies.sequential import sequence_of as sequence_of_blocks

from speedproof.errors import DataError, UsageError
from speedproof.stats.sequential import (
    LOG_WEIGHTS,
    PairedSequence,
    SequentialResult,
    bet,
    growth,
    log_factors,
    mix,
    smallest_provable,
)

BETS = (
    (math.inf, 0.5, 0.15), (0.03, math.tanh(0.09), 0.03), (0.15, math.tanh(0.45), 0.09),
    (0.5, math.tanh(0.75), 0.2), (0.9, math.tanh(0.63), 0.42), (1.5, math.tanh(3.0), 0.11),
)  # fmt: skip


def naive_wealth(differences: list[float], shift: float) -> list[float]:
    """The e-value against "at most exp(shift)" after each block, straight from the definition."""
    wealths = [weight for _, _, weight in BETS]
    path = []
    for i, d in enumerate(differences):
        past = differences[:i]
        center = float(np.median(past)) if past else 0.0
        scale = 1.4826 * float(np.median([abs(p - center) for p in past])) if i > 1 else 0.0
        size = abs(d - shift)
        if size > 1e-12:
            r = size / scale if scale > 1e-12 else 1.0
            sign = 1 if d > shift else -1
            for k, (slope, most, _) in enumerate(BETS):
                wealths[k] *= 1 + sign * min(math.tanh(slope * r), most)
        path.append(sum(wealths))
    return path


def sequence_of(differences: list[float], alpha: float = 0.05) -> PairedSequence:
    return sequence_of_blocks(np.exp(differences), np.ones(len(differences)), alpha)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "center", "blocks"), [(0.05, 0.3, 8), (0.2, 0.0, 7), (0.5, -0.1, 6)])
def test_against_theory_false_claims_over_all_signs(alpha: float, center: float, blocks: int) -> None:
    """Ville's inequality, checked without sampling: of all 2^n equally likely sessions with true speedup
    exp(center), at most a share ``alpha`` ever has a bound on the wrong side."""
    rng = np.random.default_rng(3)
    sizes = rng.exponential(size=blocks) * 0.05
    above = below = 0
    for signs in itertools.product((-1, 1), repeat=sizes.size):
        result = sequence_of(
            [center + s * size for s, size in zip(signs, sizes, strict=True)], alpha
        ).result()
        above += result.low > math.exp(center) * (1 + 1e-12)
        below += result.high < math.exp(center) * (1 - 1e-12)
    assert above == below
    assert 0 < above <= alpha * 2**sizes.size


def test_no_blocks_prove_nothing() -> None:
    sequence = PairedSequence()
    result = sequence.result()
    assert (result.blocks, result.low, result.high) == (0, 0.0, math.inf)
    assert (result.pvalue_faster, result.pvalue_slower) == (1.0, 1.0)
    assert not result.faster
    assert not result.slower
    assert np.isnan([sequence.estimate(), sequence.middle(), sequence.centre()]).all()
    assert math.isnan(sequence.blocks_to_go(side=1))
    assert math.isinf(result.precision)


def test_from_few_blocks_nothing_is_forecast() -> None:
    """Below ten blocks it is too early; that something is proven already needs no forecast."""
    blocks = [0.001, -0.002, 0.004] * 4
    assert math.isnan(sequence_of(blocks[:9]).blocks_to_go(side=1))
    assert math.isfinite(sequence_of(blocks).blocks_to_go(side=1))
    assert math.isinf(sequence_of(blocks).blocks_to_go(gamma=1.5, side=1))
    proven = sequence_of([0.5] * 9)
    assert proven.result().faster
    assert proven.blocks_to_go(side=1) == 0.0
    with pytest.raises(DataError, match="at least two blocks"):
        smallest_provable([0.1], 10, alpha=0.05)


BLOCKS = {
    "few": [0.1, 0.2], "faster": [0.10, 0.11, 0.09, 0.12, 0.10, 0.13, 0.08],
    "slower": [-0.3, -0.1, -0.2, -0.25, -0.15, -0.2, -0.22, -0.18], "same": [0.0] * 9,
    "one ratio": [0.7] * 12, "far": [30.0, 31.0, 29.0, 28.0, 33.0, 30.5],
    "scattered": (0.02 + 0.1 * np.random.default_rng(1).standard_normal(41)).tolist(),
    "spiked": (0.02 * np.random.default_rng(2).standard_t(2, 30) - 0.01).tolist(),
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_bounds_by_the_definition(name: str, alpha: float) -> None:
    """Rejected where they are, not so a hundredth of a step further.

    A step is what one block of n moves a bound by: the distance of the means of both halves, over 2 n.
    """
    sequence = sequence_of(BLOCKS[name], alpha)
    n, ordered = sequence.blocks, np.sort(sequence.differences)
    tolerance = max(0.01 * float(ordered[n - n // 2 :].sum() - ordered[: n // 2].sum()) / n**2, 1e-10)
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


@pytest.mark.parametrize("shift", [0.02, 0.0, -0.01])
def test_what_is_kept_of_blocks(shift: float) -> None:
    """A result is of the blocks so far, whether or not one looked before."""
    rng = np.random.default_rng(3)
    x, y = np.exp(0.03 * rng.standard_normal((2, 230)))
    x = np.round(x * math.exp(shift), 2)
    y[::3] = np.round(y[::3], 2)
    sequence = PairedSequence(alpha=0.2)
    for n, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True), 1):
        sequence.add(a, b)
        if n % 50 == 0:
            assert sequence.result() == sequence_of_blocks(x[:n], y[:n], 0.2).result()
    differences = np.where(x == y, 0.0, np.log(x) - np.log(y))
    result = sequence.result()
    assert (result.blocks, result.ties, result.alpha) == (230, (x == y).sum(), 0.2)
    assert sequence.differences == pytest.approx(differences, abs=1e-15)
    assert sequence.middle() == pytest.approx(math.exp(float(np.median(differences))))
    walsh = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(differences.tolist(), 2)]
    assert sequence.centre() == pytest.approx(math.exp(float(np.median(walsh))))
    assert sequence.attainable(1) == sequence.attainable(-1) == pytest.approx(sequence.middle())


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.9, 1.1), (1.0, 1.0), (1.1, 1.0), (0.0, 1.0), (1.0, math.inf), (0.8, 1.1), (0.9, 1.25)],
)
def test_what_bounds_say(low: float, high: float) -> None:
    for p, q in ((0.05, 0.0501), (0.0501, 0.05), (0.01, 0.02)):
        found = SequentialResult(9, 0, 0.05, low, high, p, q)
        against = low > high
        assert found.contradictory is against
        assert (found.faster, found.slower) == (p <= 0.05 and not against, q <= 0.05 and not against)
        for margin in (0.05, 0.1, 0.11, 0.12, 0.25, 1e9):
            inside = 1 / (1 + margin) < low and high < 1 + margin
            assert found.equivalent(margin) is (inside and not against)
        none = low == 0.0 or high == math.inf or against
        assert found.precision == pytest.approx(math.inf if none else math.sqrt(high / low) - 1)


@pytest.mark.parametrize("step", [0.0, 0.1])
def test_evidence_of_values_read_in_steps(step: float) -> None:
    """Bets by the scale of the readings on what they may have been at worst; at 1 on the readings themselves.

    The step known last is that of all blocks.
    """
    rng = np.random.default_rng(5)
    x, y = 2.1 + 0.2 * rng.standard_normal(60), 2.0 + 0.2 * rng.standard_normal(60)
    sequence = PairedSequence(alpha=0.1)
    for k, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        sequence.add(a, b, resolution=step if k == 59 else 7.0 * step)
    read = np.log(x) - np.log(y)
    scales = np.array([1.4826 * stats.median_abs_deviation(read[:k]) if k > 1 else 0.0 for k in range(60)])
    for gamma, side in itertools.product((0.8, 1.0, 1.1), (1, -1)):
        half = 0.0 if gamma == 1.0 else 0.5 * step * side
        worst = side * (np.log(x - half) - np.log(y + half) - math.log(gamma))
        one_by_one = LOG_WEIGHTS.tolist()
        for d, scale in zip(worst.tolist(), scales.tolist(), strict=True):
            bet(one_by_one, d, scale)
        evidence = mix((log_factors(worst, scales, 0.0).sum(axis=0) + np.log([b[2] for b in BETS])).tolist())
        assert evidence == pytest.approx(mix(one_by_one), abs=1e-9)
        assert sequence.log_evidence(gamma, side=side) == pytest.approx(evidence, abs=1e-9)
        missing, rate = math.log(10) + 1e-9 - evidence, growth(worst, 0.0)
        expected = missing / rate if rate > 0 else math.inf
        found = sequence.blocks_to_go(gamma=gamma, side=side)
        assert found == (pytest.approx(expected) if missing > 0 else 0.0)
    assert sequence.blocks_to_go(side=1) == sequence.blocks_to_go(gamma=1.0, side=1)


def test_blocks_that_are_none() -> None:
    """Values are positive and finite; a risk lies between 0 and 1."""
    for alpha in (-0.1, 0.0, 1.0, 1.1, math.nan):
        with pytest.raises(UsageError, match="the risk must lie between 0 and 1"):
            PairedSequence(alpha=alpha)
    assert sequence_of_blocks([2.0], [1.0], 0.3).result().alpha == 0.3
    assert PairedSequence().result().alpha == 0.05
    for bad in (0.0, -1.0, math.inf, math.nan):
        sequence = sequence_of_blocks([1.0, 2.0], [1.0, 1.0])
        with pytest.raises(DataError, match="block 3: the reference is"):
            sequence.add(bad, 1.0)
        with pytest.raises(DataError, match="block 3: the candidate is"):
            sequence.add(1.0, bad)
        assert sequence.differences.tolist() == [0.0, math.log(2.0)]


def test_sums_of_wealths_beyond_doubles() -> None:
    for logs in ([0.0, 2000.0], [-2000.0, 0.0, math.log(2.0)], [-5000.0] * 4, [900.0, 901.0, -900.0]):
        assert mix(logs) == pytest.approx(float(np.logaddexp.reduce(logs)))


@pytest.mark.parametrize("gamma", [1.0, 1 / 1.01])
@pytest.mark.parametrize("blocks", [0, 3, 40])
def test_no_block_proves_before_it_can(gamma: float, blocks: int) -> None:
    """However large its difference is, which then proves it as soon as it may."""
    draw = np.random.default_rng(blocks).standard_normal(blocks)
    for side, risk in ((1, 0.05), (-1, 0.01)):
        sequence = PairedSequence()
        for difference in draw.tolist():
            sequence.add(math.exp(0.05 * difference), 1.0)
        least = sequence.blocks_before(gamma**side, side=side, risk=risk)
        assert 1 < least < 100
        for block in range(least):
            # Nobody knows a scale after one block; then any difference has the largest stake.
            assert sequence.log_evidence(gamma**side, side=side) < -math.log(risk)
            sequence.add(math.exp(side * 5.0 * (1.0 + 0.1 * block)), 1.0)
        reached = sequence.log_evidence(gamma**side, side=side) >= -math.log(risk)
        assert reached or blocks < 40
        assert not reached or sequence.blocks_before(gamma**side, side=side, risk=risk) == 1
