"""The roots behind the certified bounds, before the verdicts hold them on their side of 1 or of 1/2.

The bounds agree with the verdicts by construction, so that agreement proves nothing of the roots. Here the
roots stand alone: the test itself, made anew a billionth below and above each root, must change its mind there,
and holding the bounds must not move them but where the documentation says so. Roots with noise fail.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as scipy_stats

from speedproof.arrays import FloatArray
from speedproof.stats import ratio, ratio_medians, superiority
from speedproof.stats.ranks import rank_sum
from speedproof.stats.ratio import Interval, ratio_of_means, student, welch
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.special import decreasing_roots
from speedproof.stats.superiority import probability_greater

Array = np.ndarray[Any, np.dtype[np.float64]]
Bounds = Callable[[Any, Any, float], Any]
Test = Callable[[Any, Any, Any], tuple[Any, Any]]

TOLERANCE = 1e-9
ALPHAS = (1e-3, 0.05, 0.45)
SIZES = ((2, 2), (2, 9), (3, 5), (7, 7), (31, 12), (60, 55))


def mean_pooled(x: Any, y: Any, alpha: float) -> Interval:
    return ratio_of_means(x, y, alpha, True)


def mean_separate(x: Any, y: Any, alpha: float) -> Interval:
    return ratio_of_means(x, y, alpha, False)


def at_pooled(x: Any, y: Any, gamma: Any) -> tuple[Any, Any]:
    """Both p-values of mean X - gamma mean Y under one variance: Fieller's statistic, SciPy's tails."""
    n, m = x.shape[-1], y.shape[-1]
    df = n + m - 2
    variance = ((n - 1) * x.var(axis=-1, ddof=1) + (m - 1) * y.var(axis=-1, ddof=1)) / df
    t = (x.mean(axis=-1) - gamma * y.mean(axis=-1)) / np.sqrt(variance * (1 / n + gamma**2 / m))
    return scipy_stats.t.sf(t, df), scipy_stats.t.cdf(t, df)


def at_separate(x: Any, y: Any, gamma: Any) -> tuple[Any, Any]:
    test = welch(x, np.asarray(gamma)[..., None] * y)
    return test.pvalue, test.pvalue_less


def at_ranks(x: Any, y: Any, gamma: Any) -> tuple[Any, Any]:
    test = rank_sum(x, np.asarray(gamma)[..., None] * y)
    return test.pvalue, test.pvalue_less


RATIOS = [(mean_pooled, at_pooled), (mean_separate, at_separate), (ratio_of_medians, at_ranks)]
RATIO_NAMES = ["pooled", "welch", "median"]


def free(low: Array, high: Array, *_: object, **__: object) -> Interval:
    """What stands in for the step that holds the bounds at the verdicts."""
    return Interval(low, high)


def roots(of: Bounds, x: Any, y: Any, alpha: float) -> Any:
    """The bounds as they are before they are held."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (superiority, ratio, ratio_medians):
            patch.setattr(module, "hold", free)
        return of(x, y, alpha)


def pairs(n: int, m: int, rows: int = 40) -> tuple[Array, Array]:
    """Samples a little apart, either way; in X and in Y values repeat, but X and Y share none."""
    rng = np.random.default_rng([n, m])
    x = rng.lognormal(rng.normal(0.0, 0.2, (rows, 1)), 0.1, (rows, n))
    y = rng.lognormal(0.0, 0.15, (rows, m))
    half = rows // 2 if min(n, m) > 2 else 0  # two values that repeat have no spread
    x[:half] = x[:half].round(2)
    y[:half] = y[:half].round(2) + 0.003
    return x, y


@pytest.mark.slow
@pytest.mark.parametrize(("of", "test"), RATIOS, ids=RATIO_NAMES)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_roots_against_the_test_itself(of: Bounds, test: Test, n: int, m: int) -> None:
    """A billionth below the lower root the test of X > gamma Y rejects, a billionth above it does not."""
    x, y = pairs(n, m)
    for alpha in ALPHAS:
        found = roots(of, x, y, alpha)
        for gamma, side, inner in ((found.low, 0, -1.0), (found.high, 1, 1.0)):
            at = (gamma > 0.0) & np.isfinite(gamma)
            rejects = test(x[at], y[at], gamma[at] * (1 + inner * TOLERANCE))[side]
            accepts = test(x[at], y[at], gamma[at] * (1 - inner * TOLERANCE))[side]
            assert (rejects <= alpha).all()
            assert (accepts > alpha).all()


COUNTS = st.integers(1, 12).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(0, 6).map(float)))


class NaiveSuperiority:
    """The bound of P[X > Y] as its definition reads: means over all pairs, SciPy's distributions."""

    def __init__(self, x: Any, y: Any) -> None:
        wins = np.array([[(a > b) + 0.5 * (a == b) for b in y] for a in x])
        n, m = wins.shape
        p = wins.mean()
        of_x, of_y = wins.mean(axis=1).var(ddof=1) / n, wins.mean(axis=0).var(ddof=1) / m
        self.df = (of_x + of_y) ** 2 / (of_x**2 / (n - 1) + of_y**2 / (m - 1))
        self.odds, self.se = np.log(p / (1 - p)), np.sqrt(of_x + of_y) / (p * (1 - p))
        self.fewer = min(n, m)

    def low(self, alpha: float) -> float:
        odds = self.odds - scipy_stats.t.ppf(1 - alpha, self.df) * self.se
        return float(min(1 / (1 + np.exp(-odds)), alpha ** (1 / self.fewer)))

    def pvalue(self) -> float:
        """The smallest alpha whose bound exceeds one half."""
        low, high = 0.0, 1.0
        for _ in range(48):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.low(middle) > 0.5 else (middle, high)
        return high


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 4), (5, 5), (5, 30), (12, 9), (31, 31)])
def test_probability_pvalue_against_bisection_of_alpha(n: int, m: int) -> None:
    """The p-value is where a plainly written bound passes one half; the roots are that bound."""
    rng = np.random.default_rng([n, m])
    seen = 0
    for _ in range(12):
        x, y = rng.normal(0.6, 1.0, n).round(1), rng.normal(0.0, 1.5, m).round(1)
        r = probability_greater(x, y, 0.05)
        if not 0.0 < r.estimate < 1.0:
            continue
        here, there = NaiveSuperiority(x, y), NaiveSuperiority(y, x)
        assert float(r.pvalue) == pytest.approx(here.pvalue(), rel=1e-9)
        assert float(r.pvalue_less) == pytest.approx(there.pvalue(), rel=1e-9)
        for alpha in ALPHAS:
            free_of_verdict = roots(probability_greater, x, y, alpha)
            assert float(free_of_verdict.low) == pytest.approx(here.low(alpha), rel=1e-9)
            assert float(free_of_verdict.high) == pytest.approx(1 - there.low(alpha), rel=1e-9)
        seen += 1
    assert seen >= 4


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 10, 31])
def test_probability_pvalue_of_separated_samples(n: int) -> None:
    """n pairs all won: 2^-n, the sign test's p-value, and the bound exceeds 1/2 from there on, itself included."""
    x, y = np.arange(n) + 100.0, np.arange(n + 2.0)
    r = probability_greater(x, y, 0.5**n)
    assert float(r.pvalue) == scipy_stats.binomtest(n, n, alternative="greater").pvalue
    assert 0.5 < r.low <= 0.5 + 1e-15
    assert float(probability_greater(x, y, float(np.nextafter(0.5**n, 0.0))).low) <= 0.5
    assert float(r.pvalue_less) == 1.0


def test_probability_pvalue_without_spread() -> None:
    """One value among others tells nothing of the spread; equal values nothing of a difference."""
    single = probability_greater([2.0], [1.0, 3.0, 4.0], 0.05)
    assert np.isnan(single.pvalue)
    assert np.isnan(single.pvalue_less)
    assert (float(single.low), float(single.high)) == (0.0, 1.0)
    equal = probability_greater([2.0, 2.0], [2.0, 2.0, 2.0], 0.05)
    assert (float(equal.pvalue), float(equal.pvalue_less)) == (1.0, 1.0)
    assert probability_greater(np.ones((3, 0, 2)), np.ones((3, 0, 4)), 0.05).pvalue.shape == (3, 0)


RISKS = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.8])
# Values on a coarse grid: ties inside and across samples, zeros, constants.
TIMES = st.integers(2, 12).flatmap(
    lambda n: arrays(np.float64, n, elements=st.floats(1e-3, 1e3, allow_subnormal=False))
)


@given(counts=st.tuples(COUNTS, COUNTS), times=st.tuples(TIMES, TIMES), alpha=RISKS, equal=st.booleans())
def test_bounds_exceed_1_exactly_when_the_test_rejects(
    counts: Any, times: Any, alpha: float, equal: bool
) -> None:
    (x, y), (u, v) = counts, times
    means = ratio_of_means(u, v, alpha, equal), (student if equal else welch)(u, v)
    for bounds, test in ((ratio_of_medians(x, y, alpha), rank_sum(x, y)), means):
        assert (bounds.low > 1.0) == (test.pvalue <= alpha)
        assert (bounds.high < 1.0) == (test.pvalue_less <= alpha)


ROOTS = np.array([-40.0, -1.5, 0.0, 1e-7, 0.3, 2.0, 55.0])
SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "line": lambda d: -d, "cube": lambda d: -(d**3), "step": lambda d: np.where(d < 0.0, 1.0, -1e-12),
    "step the other way": lambda d: np.where(d < 0.0, 1e-12, -1.0),
    "stairs": lambda d: -np.floor(d / 1e-3) - 0.5, "even step": lambda d: np.where(d < 0.0, 1.0, -1.0),
    "ramp": lambda d: np.maximum(-d, 0.0), "bend": lambda d: np.where(d < 0.0, -1e-6 * d, -1e6 * d),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-60.0, 60.0), (3.0, 3.001), (-2.0, -1.999)])
def test_the_interval_holds_the_root_and_is_narrow(name: str, low: float, high: float) -> None:
    """Wherever the search begins: to the left of the root, to its right, or around it."""
    shape = SHAPES[name]
    first, last = decreasing_roots(
        lambda at: shape(at - ROOTS), np.full(ROOTS.size, low), np.full(ROOTS.size, high), 1e-9
    )
    assert (shape(first - ROOTS) > 0.0).all()
    assert (shape(last - ROOTS) <= 0.0).all()
    assert (first <= ROOTS).all()
    assert (last >= ROOTS).all()
    assert (last - first <= 1e-9 * np.maximum(1.0, np.abs(ROOTS))).all()


def test_a_sign_that_never_changes() -> None:
    """Above zero everywhere, below it everywhere, and one that changes beside them."""
    always = np.array([1.0, -1.0, np.nan])
    first, last = decreasing_roots(
        lambda at: np.where(np.isnan(always), 5.0 - at, always), np.zeros(3), np.ones(3), 1e-6
    )
    assert (last[0], first[1]) == (math.inf, -math.inf)
    assert (first[2], last[2]) == pytest.approx((5.0, 5.0), abs=1e-5)
