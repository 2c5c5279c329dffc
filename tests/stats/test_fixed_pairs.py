"""The signed-rank test of a number of blocks that was fixed beforehand, against SciPy's."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.fixed_pairs import FixedPairs, blocks_needed
from speedproof.stats.sequential import PairedSequence, SequentialResult


def closed(x: np.ndarray, y: np.ndarray, alpha: float = 0.05, resolution: float = 0.0) -> FixedPairs:
    pairs = FixedPairs(alpha=alpha)
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        pairs.add(a, b, resolution=resolution)
    pairs.close()
    return pairs


@pytest.mark.parametrize("n", [4, 5, 7, 10, 25])
def test_against_scipy(n: int) -> None:
    """The p-values are the exact test's, and the bounds are where it begins to reject."""
    rng = np.random.default_rng(n)
    for gain in (1.0, 1.02, 0.98, 1.2):
        x, y = gain * np.exp(rng.normal(0, 0.02, n)), np.exp(rng.normal(0, 0.02, n))
        d, found = np.log(x / y), closed(x, y).result()

        def p(shift: float, side: int, d: np.ndarray = d) -> float:
            return float(stats.wilcoxon(side * (d - shift), alternative="greater", method="exact").pvalue)

        assert found.pvalue_faster == pytest.approx(p(0, 1))
        assert found.pvalue_slower == pytest.approx(p(0, -1))
        assert (found.low >= 1, found.high <= 1) == (found.faster, found.slower)
        for bound, side in ((found.low, 1), (found.high, -1)):
            if n == 4:  # 1/16 is the smallest p-value
                assert bound == (0.0 if side == 1 else math.inf)
                continue
            outside, inside = math.log(bound) - side * 1e-9, math.log(bound) + side * 1e-9
            assert p(outside, side) <= 0.05
            assert p(inside, side) > 0.05 or bound == 1


@pytest.mark.slow
def test_risk_with_ties() -> None:
    """Whole numbers that tie: both programs are the same, and "faster" has its risk at most."""
    rng = np.random.default_rng(1)
    faster = lost = 0
    for _ in range(1000):
        x, y = rng.integers(98, 103, (2, 10)).astype(float)
        found = closed(x, y, resolution=1.0).result()
        faster += found.faster
        lost += found.low > 1
    assert max(faster, lost) <= stats.binom.ppf(0.999, 1000, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.5, 1.0])
def test_power_is_what_was_planned(effect: float) -> None:
    """Of sessions of the forecast size about 8 in 10 prove the change."""
    n = math.ceil(blocks_needed(effect, alpha=0.05))
    rng = np.random.default_rng(3)
    x = np.exp(0.01 * (effect + rng.normal(size=(600, n))))
    proven = sum(closed(row, np.ones(n)).result().faster for row in x)
    assert 0.7 < proven / 600 < 0.9


def naive_pvalue(d: list[float], tie: float = 1e-12) -> float:
    """All signs of the differences that are not zero, given their mid-ranks; zeros keep theirs."""
    size = [0.0 if abs(v) <= tie else abs(v) for v in d]
    doubled = [sum(2 * (u < v) + (u == v) for u in size) + 1 for v in size]
    ways = {0: 1}
    for rank in (r for r, v in zip(doubled, size, strict=True) if v):
        ways = {s: ways.get(s, 0) + ways.get(s - rank, 0) for s in {*ways, *(known + rank for known in ways)}}
    seen = sum(r for r, v, own in zip(doubled, d, size, strict=True) if own and v > 0)
    return sum(count for s, count in ways.items() if s >= seen) / sum(ways.values())


def naive_bound(d: list[float], alpha: float, tie: float = 1e-12) -> float:
    """From the average that the table without ties names, downwards to the first at which the test rejects."""
    n = len(d)
    if 0.5**n > alpha:
        return -math.inf
    averages = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(d, 2))
    ways = np.ones(1)
    for rank in range(1, n + 1):
        ways = np.append(ways, np.zeros(rank)) + np.append(np.zeros(rank), ways)
    least = min(s for s in range(ways.size) if ways[s:].sum() / 2**n <= alpha)
    for average in averages[len(averages) - least :: -1] if least <= len(averages) else []:
        if naive_pvalue([v - (average - 2 * tie) for v in d], tie) <= alpha:
            return average - 2 * tie
    return -math.inf


GRID = [
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.25] * 7,
    [0.5, 0.25, 0.25, 0.0, -0.25, 0.75, 1.0],
    [0.5, -0.5, 0.25, 0.25, 1.0, 1.0, 1.25, 0.5, 0.0],
    [0.5, 0.75, 1.0, 0.5, 1.75, 0.25],
    [-0.5, 0.75, 1.0, 0.5, 1.75, 2.25, 3.0, 2.5],
    [0.25, 0.5, 1.0, 2.0, 4.0],
    [2.0**-6, 0.5, 0.25, 1.0, 0.75, -0.5, -(2.0**-6)],
    [0.75], [0.5, 0.25], [], [0.25, 0.5, 1.0, 1.75],
]  # fmt: skip


@pytest.mark.parametrize("alpha", [0.5, 0.2, 0.05, 1 / 32, 0.02])
@pytest.mark.parametrize("d", GRID)
def test_ties_written_out(d: list[float], alpha: float) -> None:
    """p-values over all signs, and bounds by walking down the averages; at equality with the risk, too."""
    for sign in (1, -1):
        pairs = FixedPairs(alpha=alpha)
        for v in (sign * value for value in d):
            pairs.add(math.exp(max(v, 0.0)), math.exp(max(-v, 0.0)))
        pairs.close()
        found, own = pairs.result(), pairs.differences.tolist()
        assert own == pytest.approx([sign * value for value in d], abs=1e-15)
        log = [-math.inf, math.inf]
        for at, side in enumerate((1, -1)):
            p = naive_pvalue([side * v for v in own])
            assert (found.pvalue_faster, found.pvalue_slower)[at] == pytest.approx(p)
            evidence = (found.log_evidence_faster, found.log_evidence_slower)[at]
            assert evidence == (-math.log(alpha) * (1 + 1e-9) if p <= alpha else -math.inf)
            bound = naive_bound([side * v for v in own], alpha)
            log[at] = side * (max(bound, 0.0) if p <= alpha else min(bound, 0.0))
        assert found.low == pytest.approx(math.exp(log[0]), rel=1e-11)
        assert found.high == pytest.approx(math.exp(log[1]), rel=1e-11)
        assert (found.blocks, found.alpha) == (len(d), alpha)


@pytest.mark.parametrize("n", [400, 1000, 1001])
@pytest.mark.parametrize("alpha", [0.05, 0.7])
def test_bounds_of_many_blocks(n: int, alpha: float) -> None:
    """The greatest of all averages at which SciPy's test rejects: at the next one it does not."""
    d = np.random.default_rng(n).normal(0.01, 0.02, n)
    pairs = closed(np.exp(d), np.ones(n), alpha)
    found = pairs.result()
    i, j = np.triu_indices(n)
    d = pairs.differences
    averages = np.sort(0.5 * (d[i] + d[j]))
    for side, bound in ((1, found.low), (-1, found.high)):
        at = int(np.argmin(np.abs(averages - math.log(bound))))
        assert averages[at] == pytest.approx(math.log(bound), abs=1e-11)
        inside = 0.5 * (averages[at] + averages[at + side])
        outside = 0.5 * (averages[at] + averages[at - side])
        method = "exact" if n < 1000 else "approx"
        p = [
            stats.wilcoxon(side * (d - c), alternative="greater", method=method, correction=True).pvalue
            for c in (outside, inside)
        ]
        if (alpha < 0.5) or 1.0 not in (found.low, found.high):
            assert p[0] <= alpha < p[1]


def test_before_all_blocks_are_there() -> None:
    """Nothing is proven, tested or forecast; the blocks are counted."""
    pairs = FixedPairs(alpha=0.1)
    for a, b in ((2.0, 1.0), (1.0, 1.0), (3.0, 1.0)) * 4:
        pairs.add(a, b)
    expected = SequentialResult(12, 4, 0.1, 0.0, math.inf, -math.inf, -math.inf, 1.0, 1.0)
    assert pairs.result() == expected
    assert pairs.log_evidence(1.0, side=1) == pairs.log_evidence(0.5, side=-1) == -math.inf
    assert math.isnan(pairs.blocks_to_go(side=1))


@pytest.mark.parametrize("n", [9, 10, 13])
def test_what_a_larger_session_takes(n: int) -> None:
    """From ten blocks on; by the scale of all but the last, infinite where none scatter or against the effect."""
    rng = np.random.default_rng(n)
    d = 0.02 + 0.05 * rng.standard_normal(n)
    pairs = closed(np.exp(d), np.ones(n))
    middle = np.median([(a + b) / 2 for a, b in itertools.combinations_with_replacement(d.tolist(), 2)])
    scale = 1.4826 * stats.median_abs_deviation(d[:-1])
    for gamma, side in itertools.product((0.9, 1.0, 1.01, 1.2), (1, -1)):
        found = pairs.blocks_to_go(gamma=gamma, side=side)
        effect = side * (middle - math.log(gamma))
        if n < 10:
            assert math.isnan(found)
        elif effect <= 0:
            assert found == math.inf
        else:
            whole = ((1.6448536 + 0.8416212) / (effect / scale)) ** 2 + 1.6448536**2 / 2
            assert found == pytest.approx(max(whole * math.pi / 3 - n, math.log2(20) - n, 1.0), rel=1e-6)
    still = closed(np.full(n, 2.0), np.ones(n)).blocks_to_go(side=1)
    assert math.isnan(still) if n < 10 else still == math.inf


@pytest.mark.parametrize(("x", "y", "low"), [(1e308, 1e-308, math.exp(700)), (1e300, 1.0, 1e300)])
def test_ratios_beyond_doubles(x: float, y: float, low: float) -> None:
    """What is proven is then the largest there is, as of any sequence."""
    for kind in (FixedPairs, PairedSequence):
        pairs = kind(alpha=0.05)
        for _ in range(8):
            pairs.add(x, y)
        if isinstance(pairs, FixedPairs):
            pairs.close()
        assert pairs.result().low == pytest.approx(low, rel=1e-9)
        assert pairs.result().high == (math.inf if low == math.exp(700) else pytest.approx(low, rel=1e-9))


def test_blocks_needed_by_the_normal_formula() -> None:
    """Guenther's (1981) correction, for ranks pi / 3 as many; 2^-n has to reach the risk."""
    for effect, alpha, power in itertools.product((0.2, 0.5, 1.0, 9.0), (0.05, 0.001), (0.8, 0.95)):
        z = stats.norm.ppf([1 - alpha, power])
        plain = (z.sum() / effect) ** 2 + z[0] ** 2 / 2
        expected = max(plain * math.pi / 3, math.log2(1 / alpha))
        assert blocks_needed(effect, alpha=alpha, power=power) == pytest.approx(expected, rel=1e-9)
    assert blocks_needed(0.3, alpha=0.05) == blocks_needed(0.3, alpha=0.05, power=0.8)
    assert blocks_needed(0.0, alpha=0.05) == blocks_needed(-1.0, alpha=0.05) == math.inf
