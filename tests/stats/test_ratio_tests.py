"""Tests at a ratio other than 1: against SciPy, by counting, and against the bounds that invert them."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats as scipy_stats

from speedproof.stats.ratio_means import ratio_of_means, ratio_of_means_test
from speedproof.stats.ratio_medians import ratio_of_medians, ratio_of_medians_test

FloatArray = npt.NDArray[np.float64]
GAMMAS = (0.8, 1 / 1.02, 1.0, 1.02, 1.3)


def draw(seed: int, n: int, m: int, ratio: float = 1.0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return ratio * rng.lognormal(2.0, 0.1, n), rng.lognormal(2.0, 0.2, m)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize(("n", "m"), [(5, 9), (40, 33), (2, 60), (31, 2)])
def test_welch_against_scipy(gamma: float, n: int, m: int) -> None:
    """The test of X against gamma Y is Welch's on the scaled sample, where it does not contradict gamma = 1."""
    x, y = draw(n, n, m, 1.1)
    found = ratio_of_means_test(x, y, gamma, False)
    above, below = (
        [scipy_stats.ttest_ind(x, g * y, equal_var=False, alternative=side).pvalue for g in (gamma, 1.0)]
        for side in ("greater", "less")
    )
    keep_above = min if gamma < 1 else max
    keep_below = max if gamma < 1 else min
    assert float(found.above) == pytest.approx(keep_above(above), rel=1e-9, abs=1e-14)
    assert float(found.below) == pytest.approx(keep_below(below), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 1), (1, 3), (7, 1), (2, 2), (5, 9)])
def test_few_runs_of_one_variance(n: int, m: int) -> None:
    """Down to one degree of freedom: Fieller's statistic, and its bounds where that is the quantile."""
    for seed in range(8):
        x, y = draw(seed, n, m, 1.2)
        df = n + m - 2
        pooled = (((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum()) / df

        def statistic(gamma: float, x: FloatArray = x, y: FloatArray = y, pooled: float = pooled) -> float:
            return float((x.mean() - gamma * y.mean()) / np.sqrt(pooled * (1 / n + gamma**2 / m)))

        for gamma in (1.0, 0.5, 1.3):
            found = ratio_of_means_test(x, y, gamma, True)
            tails = [scipy_stats.t.sf(statistic(g), df) for g in (gamma, 1.0)]
            keep = min if gamma < 1 else max
            assert float(found.above) == pytest.approx(keep(tails), rel=1e-9)
            keep = max if gamma < 1 else min
            assert float(found.below) == pytest.approx(keep(1 - t for t in tails), rel=1e-9)
        for alpha in (0.05, 0.3, 0.5):
            bounds, quantile = ratio_of_means(x, y, alpha, True), scipy_stats.t.isf(alpha, df)
            assert bounds.low >= 0
            if bounds.low > 0:
                assert statistic(float(bounds.low)) == pytest.approx(quantile, rel=1e-9, abs=1e-9)
            if bounds.high < np.inf:
                assert statistic(float(bounds.high)) == pytest.approx(-quantile, rel=1e-9, abs=1e-9)
            assert (bounds.low > 0) == (x.mean() > quantile * np.sqrt(pooled / n))
            assert (bounds.high < np.inf) == (y.mean() > quantile * np.sqrt(pooled / m))


@pytest.mark.parametrize("unlike", ["x", "y", "both"])
@pytest.mark.parametrize("pooled", [True, False])
def test_negative_means_have_no_ratio(unlike: str, pooled: bool) -> None:
    """Row by row; a mean of zero has a ratio, two of them a ratio without bounds, two constants no test."""
    x, y = np.array([[3.0, 4.0, 6.0]] * 5), np.array([[2.0, 5.0, 4.0, 4.0]] * 5)
    x[1] *= -0.1 if unlike != "y" else 1
    y[1] *= -0.1 if unlike != "x" else 1
    x[2] = x[3] = [-1.0, 0.0, 1.0]
    y[3] = [-2.0, 0.0, 0.0, 2.0]
    x[4], y[4] = 3.0, 2.0
    for a, b in ((x, y), (y, x)):
        bounds, test = ratio_of_means(a, b, 0.05, pooled), ratio_of_means_test(a, b, 1.1, pooled)
        for part in (bounds.low, bounds.high):
            assert np.isnan(part).tolist() == [False, True, False, False, False]
        for part in (test.above, test.below):
            assert np.isnan(part).tolist() == [False, True, False, False, True]
        assert 0.0 < bounds.low[0] < bounds.high[0] < np.inf
        for row in (3, 4):
            assert (bounds.low[row], bounds.high[row]) == (0.0, np.inf)
    there, back = ratio_of_means(x, y, 0.05, pooled), ratio_of_means(y, x, 0.05, pooled)
    assert there.low[2] == 0.0 < there.high[2] < 1.0
    assert back.high[2] == np.inf > back.low[2] > 1.0
    for constants in (([3.0, 3.0], [2.0, 2.0]), ([3.0], [2.0]), ([0.0, 0.0], [0.0, 0.0])):
        alone = ratio_of_means(*constants, 0.05, pooled)
        assert (float(alone.low), float(alone.high)) == (0.0, np.inf)


def test_what_is_not_defined_is_nan() -> None:
    """Constant samples and single values have no t test; negative values have no ratio; gamma is positive."""
    assert np.isnan(ratio_of_means_test([5.0, 5.0], [5.0, 5.0], 0.98, False).above)
    assert np.isnan(ratio_of_means_test([5.0], [5.0], 0.98, True).above)
    assert np.isnan(ratio_of_means_test([-5.0, -6.0], [5.0, 6.0], 0.98, True).above)
    assert np.isnan(ratio_of_medians_test([-1.0, 5.0], [5.0, 6.0], 0.98).above)
    for sides in (([-1.0, 5.0], [5.0, 6.0]), ([5.0, 6.0], [-1.0, 5.0])):
        for gamma in (0.98, 1.0, 1.1):
            found = ratio_of_medians_test(*sides, gamma)
            assert np.isnan([found.above, found.below]).all()
        bounds = ratio_of_medians(*sides, 0.3)
        assert np.isnan([bounds.low, bounds.high]).all()
    for gamma in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="positive gamma"):
            ratio_of_medians_test([1.0], [1.0], gamma)
        with pytest.raises(ValueError, match="positive gamma"):
            ratio_of_means_test([1.0, 2.0], [1.0, 2.0], gamma, True)


@pytest.mark.slow
def test_what_equals_the_edge_proves_nothing() -> None:
    """Of 800 pairs of decimal constants exactly at a margin, none is proven beyond it and none within."""
    rng = np.random.default_rng(21)
    for _ in range(400):
        permille, y = int(rng.integers(1, 400)), int(rng.integers(1, 2000))
        digits = 10 ** int(rng.integers(0, 7))
        # y (1 + margin) and y, both decimal fractions of the same number of digits
        x = Fraction(y) * (1000 + permille) / 1000 / digits
        margin = permille / 1000
        a, b = np.full(12, float(x)), np.full(12, float(Fraction(y, digits)))
        for test in (ratio_of_medians_test(a, b, 1 + margin), ratio_of_medians_test(b, a, 1 / (1 + margin))):
            assert min(float(test.above), float(test.below)) > 0.99
        beyond = ratio_of_medians_test(a * (1 + 1e-12), b, 1 + margin)
        assert float(beyond.above) < 1e-5


def test_memory_grows_with_the_sum_of_sizes() -> None:
    """Forty thousand runs a side take megabytes, not the gigabytes of all pairs."""
    rng = np.random.default_rng(6)
    x, y = rng.normal(10, 1, 40_000), rng.normal(10, 1, 40_000)
    tracemalloc.start()
    ratio_of_medians_test(x, y, 1.02)
    ratio_of_medians(x, y, 0.05)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


@pytest.mark.parametrize("alpha", [0.5, 0.2, 0.01, 1e-4, 1e-6])
@pytest.mark.parametrize(("n", "m"), [(9, 4), (5, 9), (12, 12)])
def test_a_bound_of_means_has_the_risk_as_its_p_value(n: int, m: int, alpha: float) -> None:
    """By Welch's test, far out, too; at a risk of one half both bounds are the ratio of the means."""
    x, y = (np.random.default_rng([n, m]).lognormal(0.0, 0.3, (20, size)) for size in (n, m))
    found = ratio_of_means(x, y, alpha, False)
    if alpha == 0.5:
        ratio = x.mean(axis=1) / y.mean(axis=1)
        np.testing.assert_allclose([found.low, found.high], [ratio, ratio], rtol=1e-12)
    for a, b, low, high in zip(x, y, found.low, found.high, strict=True):
        for bound, side in ((low, "greater"), (high, "less")):
            if 0.0 < bound < np.inf:
                test = scipy_stats.ttest_ind(a, bound * b, equal_var=False, alternative=side)
                assert test.pvalue == pytest.approx(alpha, rel=1e-9)
