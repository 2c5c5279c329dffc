"""The signed-rank test of a number of blocks that was fixed beforehand, against SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.fixed_pairs import FixedPairs, blocks_needed


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


def test_nothing_is_said_before_the_end() -> None:
    pairs = FixedPairs(alpha=0.05)
    for _ in range(20):
        pairs.add(2.0, 1.0)
        found = pairs.result()
        assert (found.low, found.high, found.faster, found.slower) == (0.0, math.inf, False, False)
    pairs.close()
    assert pairs.result().faster
    assert pairs.result().low == pytest.approx(2.0)


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


@pytest.mark.parametrize("effect", [0.5, 1.0])
def test_power_is_what_was_planned(effect: float) -> None:
    """Of sessions of the forecast size about 8 in 10 prove the change."""
    n = math.ceil(blocks_needed(effect, alpha=0.05))
    rng = np.random.default_rng(3)
    x = np.exp(0.01 * (effect + rng.normal(size=(600, n))))
    proven = sum(closed(row, np.ones(n)).result().faster for row in x)
    assert 0.7 < proven / 600 < 0.9
