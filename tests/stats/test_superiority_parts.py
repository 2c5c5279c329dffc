"""The typical ratio's median, its chance, what few runs hold back: from all pairs in plain Python."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats
from tests.stats.test_permutation import naive, sums_of
from tests.stats.test_rank_search import counted

from speedproof.stats import superiority
from speedproof.stats.bounds import chance_bounds
from speedproof.stats.few_runs import _means, held_back, held_bounds, too_few
from speedproof.stats.permutation import null_distribution
from speedproof.stats.rank_states import beyond_drift, pairs_of, scores_of
from speedproof.stats.ratio import RatioTest, edges, monotone
from speedproof.stats.superiority import typical_ratio, typical_ratio_test

FloatArray = npt.NDArray[np.float64]


def median_of(ratios: list[float]) -> float:
    """Of two in the middle the geometric mean; nothing is known between 0 and infinity."""
    ordered = sorted(ratios)
    lower, upper = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return lower if lower == upper else math.sqrt(lower) * math.sqrt(upper)


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
        own = RatioTest(score.pvalue(scores[0]), score.pvalue(-scores[1]))
        own = held_back(gamma, own, pairs) if too_few(n, m) else own
        expected = monotone(gamma, own, at_one, np.ones(12, dtype=np.bool_))
        found = typical_ratio_test(x, y, gamma, steps=read, inflation=inflation, at_one=at_one)
        np.testing.assert_allclose(found.above, expected.above, rtol=1e-9)
        np.testing.assert_allclose(found.below, expected.below, rtol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(1, 5), (5, 1), (1, 1), (2, 4), (3, 2)])
def test_the_means_of_few(n: int, m: int) -> None:
    """Welch and Satterthwaite's degrees of freedom; a single run has no spread of its own, and one degree."""
    rng = np.random.default_rng([n, m])
    x, y = rng.normal(size=(4, n)), rng.normal(size=(4, m))
    x[3], y[3] = 2.0, 1.0
    found = _means(x, y)
    for row in range(4):
        parts = [float(np.var(side[row], ddof=1)) / k if k > 1 else 0.0 for side, k in ((x, n), (y, m))]
        total = sum(parts)
        shares = [parts[0] / total, parts[1] / total] if total else [0.0, 1.0]
        df = 1 / (shares[0] ** 2 / max(n - 1, 1) + shares[1] ** 2 / max(m - 1, 1))
        assert found.difference[row] == pytest.approx(float(x[row].mean() - y[row].mean()), rel=1e-12)
        assert found.error[row] == pytest.approx(math.sqrt(total), rel=1e-12)
        assert total == 0.0 or found.df[row] == pytest.approx(df, rel=1e-12)


def welch(x: FloatArray, y: FloatArray, difference: float) -> tuple[float, float, float, float, float]:
    """Three quarters of both p-values, and of which normal interval: the difference, its error, its degrees."""
    parts = [float(np.var(side, ddof=1)) / side.size for side in (x, y)]
    error = math.sqrt(sum(parts))
    df = sum(parts) ** 2 / (parts[0] ** 2 / (x.size - 1) + parts[1] ** 2 / (y.size - 1))
    off = float(x.mean() - y.mean())
    t = (off - difference) / error
    return 0.75 * float(stats.t.sf(t, df)), 0.75 * float(stats.t.cdf(t, df)), off, error, df


@pytest.mark.parametrize(("n", "m"), [(2, 5), (3, 6), (4, 5), (6, 4), (6, 6), (7, 3)])
def test_what_few_runs_hold_back(n: int, m: int) -> None:
    """Of p-values and bounds of the ranks, whatever they are: the weaker of both tests, but for separation."""
    rng = np.random.default_rng([n, m])
    shift = np.array([0.3, -0.3, 1.5, -1.5, 0.0, 0.2, 0.9, -0.9])
    x, y = rng.lognormal(shift[:, None], 0.15, (8, n)), rng.lognormal(0.0, 0.2, (8, m))
    x[4, 0], y[5, 0] = 0.0, -0.1
    steps = np.array(
        [[0.0, 0.0], [0.0, 0.0], [0.2, 0.0], [0.0, 0.3], [0.1, 0.1], [0.1, 0.1], [0.1, 0.2], [0.4, 0.1]]
    )
    pairs = pairs_of(x, y, steps, (1.0, 1.0))
    separable = min(n, m) >= 4
    for gamma, level in itertools.product((0.5, 0.9, 1.0, 1.2, 2.5), (1e-9, 0.2, 0.9)):
        ranks = RatioTest(np.full(8, level), np.full(8, level / 2))
        found = held_back(gamma, ranks, pairs)
        for row, (a, b, (of_x, of_y)) in enumerate(zip(x, y, (steps / 2).tolist(), strict=True)):
            if gamma == 1.0:
                positive = a.min() > 0 < b.min()
                told = welch(np.log(a), np.log(b), 0.0) if positive else welch(a, b, 0.0)
                above, below = told[:2]
                apart = separable and a.min() > b.max(), separable and a.max() < b.min()
            else:
                low, high = (a - of_x, b + of_y), (a + of_x, b - of_y)
                known = [min(one.min() for one in sides) > 0 for sides in (low, high)]
                above = welch(np.log(low[0]), np.log(low[1]), math.log(gamma))[0] if known[0] else 1.0
                below = welch(np.log(high[0]), np.log(high[1]), math.log(gamma))[1] if known[1] else 1.0
                least = max(low[0].min(), 0.0) / low[1].max()
                most = high[0].max() / high[1].min() if high[1].min() > 0 else math.inf
                apart = separable and least > edges(gamma)[1], separable and most < edges(gamma)[0]
            assert found.above[row] == pytest.approx(level if apart[0] else max(level, above), rel=1e-9)
            assert found.below[row] == pytest.approx(
                level / 2 if apart[1] else max(level / 2, below), rel=1e-9
            )
    for alpha, (lows, highs) in itertools.product(
        (0.8, 0.75, 0.7, 0.2, 0.03), ((0.2, 9.0), (1.0, 1.0), (4.0, 0.2))
    ):
        ends = held_bounds(np.full(8, lows), np.full(8, highs), pairs, alpha)
        for row, (a, b, (of_x, of_y)) in enumerate(zip(x, y, (steps / 2).tolist(), strict=True)):
            expected = [lows, highs]
            if alpha < 0.75:
                (of_low, below), (of_high, above) = (a - of_x, b + of_y), (a + of_x, b - of_y)
                from_low, from_high, apart_low, apart_high = 0.0, math.inf, 0.0, math.inf
                if of_low.min() > 0 < below.min():
                    *_, off, error, df = welch(np.log(of_low), np.log(below), 0.0)
                    from_low = math.exp(off - special.stdtrit(df, 1 - alpha / 0.75) * error)
                if above.min() > 0 < of_high.min():
                    *_, off, error, df = welch(np.log(of_high), np.log(above), 0.0)
                    from_high = math.exp(off + special.stdtrit(df, 1 - alpha / 0.75) * error)
                if separable:
                    apart_low = max(of_low.min(), 0.0) / below.max()
                    apart_high = of_high.max() / above.min() if above.min() > 0 else math.inf
                expected = [min(lows, max(apart_low, from_low)), max(highs, min(apart_high, from_high))]
            assert [ends[0][row], ends[1][row]] == pytest.approx(expected, rel=1e-9)


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
