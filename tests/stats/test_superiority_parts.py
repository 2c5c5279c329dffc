"""The typical ratio's median, its chance, what few runs hold back: from all pairs in plain Python."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from tests.stats.test_permutation import naive, sums_of
from tests.stats.test_rank_search import counted

from speedproof.stats import superiority
from speedproof.stats.bounds import chance_bounds
from speedproof.stats.permutation import null_distribution
from speedproof.stats.rank_scores import beyond_drift, pairs_of, scores_of
from speedproof.stats.ratio import RatioTest, edges, monotone
from speedproof.stats.superiority import typical_ratio, typical_ratio_test

FloatArray = npt.NDArray[np.float64]


def median_of(ratios: list[float]) -> float:
    """Of two in the middle the geometric mean; nothing is known between 0 and infinity."""
    ordered = sorted(ratios)
    lower, upper = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return lower if lower == upper else math.sqrt(lower) * math.sqrt(upper)


@pytest.mark.slow
@pytest.mark.parametrize("searched", [False, True])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 2), (2, 3), (4, 4), (4, 5), (6, 3), (7, 7)])
def test_the_median_of_ratios(n: int, m: int, searched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ratio of two zeros is 1; where a value is negative there is none, no bound and no test."""
    if searched:
        monkeypatch.setattr(superiority, "_MOST_RATIOS", 0)
    rng = np.random.default_rng([n, m])
    for zeros_x, zeros_y in itertools.product({0, n // 2, (n + 1) // 2, n}, {0, m // 2, (m + 1) // 2, m}):
        x, y = rng.integers(1, 6, (3, n)) / 4, rng.integers(1, 6, (3, m)) / 4
        x[:, :zeros_x], y[:, :zeros_y] = 0.0, 0.0
        x[2], y[2] = rng.lognormal(size=n), rng.lognormal(size=m)
        found = typical_ratio(x, y, 0.4)
        for row in range(3):
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.nan_to_num(x[row][:, None] / y[row], nan=1.0, posinf=math.inf).ravel().tolist()
            assert found.estimate[row] == pytest.approx(median_of(ratios), rel=1e-12, nan_ok=True)
    for a, b in (([-1e-9, 1.0, 1.0], [1.0] * 4), ([1.0] * 3, [-1e-9, *[1.0] * 3])):
        found, test = typical_ratio(a, b, 0.4), typical_ratio_test(a, b, 1.3)
        assert np.isnan([found.estimate, found.low, found.high, test.above, test.below]).all()


@pytest.mark.slow
@pytest.mark.parametrize("factors", [(1.0, 1.0), (2.0, 1.5), (1.0, 3.0)])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 5), (4, 8), (9, 14), (11, 12)])
def test_the_chance_takes_the_quantile_of_the_test(n: int, m: int, factors: tuple[float, float]) -> None:
    rng = np.random.default_rng([n, m])
    draws = [(rng.integers(0, k, n).tolist(), rng.integers(0, k, m).tolist()) for k in (3, 6, 40) * 3]
    draws += [([9] * n, [0] * m), ([0] * n, [9] * m)]
    x, y = np.array([one for one, _ in draws]) + 1.0, np.array([one for _, one in draws]) + 1.0
    exactly = (Fraction(factors[0]), Fraction(factors[1]))
    smaller = min(n / factors[0], m / factors[1])
    null = null_distribution(n, m, factors == (1.0, 1.0))
    for alpha in (0.3, 0.5 ** min(n, m), 0.05, 0.01):
        found = typical_ratio(x, y, alpha, inflation=factors)
        for row, (a, b) in enumerate(draws):
            sums = sums_of(a, b)
            _, se, df, _ = naive(sums, n, m, exactly, Fraction(0))
            chance, enough = float(sums[0]) / (n * m), 0.5 ** min(n, m) <= alpha
            verdicts = [
                np.array([bool(p[row] <= alpha) and enough]) for p in (found.pvalue, found.pvalue_less)
            ]
            quantile = null.quantile(alpha, np.array([df]), smaller)
            expected = chance_bounds(
                np.array([chance]), np.array([se]), quantile, alpha ** (1 / smaller), verdicts[0], verdicts[1]
            )
            assert found.chance[row] == chance
            assert found.chance_low[row] == pytest.approx(expected.low[0], rel=1e-9)
            assert found.chance_high[row] == pytest.approx(expected.high[0], rel=1e-9)


@pytest.mark.parametrize("inflation", [(1.0, 1.0), (1.5, 1.2)])
@pytest.mark.parametrize(("n", "m"), [(7, 5), (5, 4), (9, 12), (13, 11)])
def test_pvalues_of_large_samples_are_of_all_pairs(
    n: int, m: int, inflation: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the margin alone, where ratios that equal it but for rounding speak for neither side, and of steps."""
    rng = np.random.default_rng([n, m])
    x, y = 0.1 * rng.integers(1, 14, (12, n)), 0.1 * rng.integers(1, 12, (12, m))
    x[::3], y[::3] = rng.lognormal(size=(4, n)), rng.lognormal(size=(4, m))
    steps = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.2], [0.1, 0.1]] * 3)
    at_one = typical_ratio_test(x, y, 1.0, inflation=inflation)
    monkeypatch.setattr(superiority, "_MOST_RATIOS", 0)
    for read, gamma in itertools.product(
        (np.zeros((12, 2)), steps), (0.3, 0.5, 2 / 3, 0.9, 1.1, 1.25, 1.5, 3.0)
    ):
        pairs = pairs_of(x, y, read, inflation)
        ((_, score),) = scores_of(pairs)
        scores = [score.of(counted(pairs, edges(gamma)[k], sign)) for k, sign in ((1, -1.0), (0, 1.0))]
        ends = beyond_drift(pairs)  # of 5 + 4 runs that tell no more than 3 a gap is proof
        own = RatioTest(
            np.where(gamma < ends[0], 0.05, score.pvalue(scores[0])),
            np.where(gamma > ends[1], 0.05, score.pvalue(-scores[1])),
        )
        expected = monotone(gamma, own, at_one, np.ones(12, dtype=np.bool_))
        found = typical_ratio_test(x, y, gamma, steps=read, inflation=inflation, at_one=at_one)
        np.testing.assert_allclose(found.above, expected.above, rtol=1e-9)
        np.testing.assert_allclose(found.below, expected.below, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.04, 0.05, 0.3])
def test_bounds_of_runs_that_may_drift(alpha: float) -> None:
    """Where the gap exceeds the range of either side, at the p-value of three runs a side; else nowhere."""
    rng = np.random.default_rng(2)
    x, y = rng.uniform(1.0, 1.1, (6, 9)), rng.uniform(1.0, 1.1, (6, 10))
    x[0] *= 2.0
    y[1] *= 2.0
    x[2] *= 1.15
    steps = np.array([0.02, 0.04])
    found = typical_ratio(x, y, alpha, steps=steps, inflation=(9.0, 9.0))
    low, high = beyond_drift(pairs_of(x, y, steps, (9.0, 9.0)))
    proven = alpha >= 0.05
    assert (low > 1.0).tolist() == [True, *[False] * 5]
    assert (high < 1.0).tolist() == [False, True, *[False] * 4]
    np.testing.assert_allclose(found.low, np.minimum(low, np.where(low > 1.0, low, 1.0)) * proven)
    np.testing.assert_allclose(
        found.high, np.maximum(high, np.where(high < 1.0, high, 1.0)) if proven else np.inf
    )
    assert [p == 0.05 for p in found.pvalue.tolist()] == [True, *[False] * 5]
    assert [p == 0.05 for p in found.pvalue_less.tolist()] == [False, True, *[False] * 4]
    assert min([*found.pvalue[1:], *np.delete(found.pvalue_less, 1)]) >= 0.5
    for gamma in (0.7, 0.9, 1.2):
        test = typical_ratio_test(x, y, gamma, steps=steps, inflation=(9.0, 9.0))
        for told, known in ((test.above, gamma < low), (test.below, gamma > high)):
            assert ((told == 0.05) == known).all()
            assert ((told >= 0.5) == ~known).all()
