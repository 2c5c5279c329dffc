"""Certified bounds: agreement with the verdicts, brute force over gamma with the test itself, edges.

That a bound lies on the verdict's side of 1 holds by construction; what the roots are worth without it is in
test_bounds_inversion.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as scipy_stats

from speedproof.stats.bounds import probability_greater
from speedproof.stats.ranks import brunner_munzel, rank_sum
from speedproof.stats.ratio import Interval
from speedproof.stats.ratio_means import ratio_of_means
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.ttests import student, welch

ALPHAS = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.8])
BOUNDS: list[Callable[[Any, Any, float], Interval]] = [
    ratio_of_medians,
    lambda x, y, alpha: ratio_of_means(x, y, alpha, True),
    lambda x, y, alpha: ratio_of_means(x, y, alpha, False),
]
# Values on a coarse grid: ties inside and across samples, zeros, constants.
COUNTS = st.integers(1, 12).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(0, 6).map(float)))
TIMES = st.integers(2, 12).flatmap(
    lambda n: arrays(np.float64, n, elements=st.floats(1e-3, 1e3, allow_subnormal=False))
)


def known(ratio: float) -> float:
    """A ratio, 0 or infinite where a zero is in it."""
    return 0.0 if ratio < _ZERO**0.5 else ratio if ratio < _ZERO**-0.5 else math.inf


_ZERO = 1e-100


def brute_force_medians(x: Any, y: Any, alpha: float) -> tuple[float, float]:
    """Scan gamma between and at all ratios with the test itself (the variant of gamma = 1)."""
    exact = bool(rank_sum(x, y).exact)
    tail = null_distribution(x.size, y.size) if exact else np.empty(0)

    def pvalues(gamma: float) -> tuple[float, float]:
        greater = (x[:, None] > gamma * y).sum() + 0.5 * (x[:, None] == gamma * y).sum()
        if exact:
            return tail[int(greater) :].sum(), tail[: int(greater) + 1].sum()
        both = np.concatenate([x, gamma * y])
        _, runs = np.unique(both, return_counts=True)
        size = both.size
        variance = x.size * y.size / 12 * (size + 1 - (runs**3 - runs).sum() / (size * (size - 1)))
        sd = np.sqrt(variance) if variance > 0 else 1e-300
        z = (greater - x.size * y.size / 2) / sd
        return scipy_stats.norm.sf(z - 0.5 / sd), scipy_stats.norm.cdf(z + 0.5 / sd)

    # A zero stands far below all others: two have the ratio 1, one has a ratio that is 0 or infinite.
    x, y = np.maximum(x, _ZERO), np.maximum(y, _ZERO)
    ratios = np.unique(x[:, None] / y)
    # one gamma inside each gap between neighbouring ratios, where nothing ties across
    inner = np.concatenate([[ratios[0] / 2], np.sqrt(ratios[1:] * ratios[:-1]), [ratios[-1] * 2]])
    edges = np.concatenate([[0.0], ratios, [np.inf]])
    rejects = np.array([pvalues(g) for g in inner]) <= alpha
    low = edges[np.argmin(np.append(rejects[:, 0], False))]
    high = edges[::-1][np.argmin(np.append(rejects[::-1, 1], False))]
    return known(low), known(high)


@lru_cache
def null_distribution(n: int, m: int) -> Any:
    """Probabilities of W = 0 ... n m from all arrangements."""
    counts = np.zeros(n * m + 1)
    for places in itertools.combinations(range(n + m), n):
        counts[sum(places) - n * (n - 1) // 2] += 1
    return counts / counts.sum()


@given(x=COUNTS, y=COUNTS, alpha=ALPHAS)
def test_median_bounds_exceed_1_exactly_when_the_test_rejects(x: Any, y: Any, alpha: float) -> None:
    bounds, test = ratio_of_medians(x, y, alpha), rank_sum(x, y)
    assert (bounds.low > 1.0) == (test.pvalue <= alpha)
    assert (bounds.high < 1.0) == (test.pvalue_less <= alpha)


@given(x=TIMES, y=TIMES, alpha=ALPHAS, equal=st.booleans())
def test_mean_bounds_exceed_1_exactly_when_the_test_rejects(
    x: Any, y: Any, alpha: float, equal: bool
) -> None:
    bounds, test = ratio_of_means(x, y, alpha, equal), (student if equal else welch)(x, y)
    assert (bounds.low > 1.0) == (test.pvalue <= alpha)
    assert (bounds.high < 1.0) == (test.pvalue_less <= alpha)


@pytest.mark.parametrize("equal", [True, False])
def test_bounds_at_alpha_equal_to_the_pvalue(equal: bool) -> None:
    """The highest confidence: p <= alpha holds with equality, so the bound is just beyond 1."""
    rng = np.random.default_rng(8)
    for _ in range(50):
        x, y = rng.normal(10.2, 0.5, 9), rng.normal(10, 0.4, 11)
        test = student(x, y) if equal else welch(x, y)
        assert float(ratio_of_means(x, y, float(test.pvalue), equal).low) == pytest.approx(1.0, abs=1e-12)
        assert ratio_of_means(x, y, float(test.pvalue), equal).low > 1.0
        ranks = rank_sum(x, y)
        assert ratio_of_medians(x, y, float(ranks.pvalue)).low > 1.0
        if ranks.pvalue_less < 1.0:
            assert ratio_of_medians(x, y, float(ranks.pvalue_less)).high < 1.0


def test_median_bounds_of_a_tie_at_1() -> None:
    """When gamma = 1 itself is rejected only because of its ties, the bound is the float next to 1."""
    x = np.array([3.0, 3.0, 4.0, 4.0, 4.0, 4.0])
    y = np.array([3.0, 3.0, 3.0, 3.0, 4.0, 4.0])
    test = rank_sum(x, y)
    bounds = ratio_of_medians(x, y, float(test.pvalue))
    assert float(bounds.low) == np.nextafter(1.0, 2.0)
    assert float(ratio_of_medians(y, x, float(test.pvalue)).high) == np.nextafter(1.0, 0.0)


@given(
    x=st.integers(1, 5).flatmap(
        lambda n: arrays(np.float64, n, elements=st.integers(1, 40).map(float), unique=True)
    ),
    y=st.integers(1, 5).flatmap(
        lambda n: arrays(np.float64, n, elements=st.integers(41, 90).map(float), unique=True)
    ),
    alpha=ALPHAS,
)
def test_median_bounds_against_brute_force_exact(x: Any, y: Any, alpha: float) -> None:
    """Without ties at gamma = 1 the exact test is inverted: both bounds are what a scan of gamma finds."""
    assert bool(rank_sum(x, y).exact)
    bounds = ratio_of_medians(x, y, alpha)
    low, high = brute_force_medians(x, y, alpha)
    np.testing.assert_allclose([float(bounds.low), float(bounds.high)], [low, high], rtol=1e-15)


@given(x=COUNTS, y=COUNTS, alpha=ALPHAS)
def test_median_bounds_against_brute_force_ties(x: Any, y: Any, alpha: float) -> None:
    """With ties the scan holds too, but for the side of 1, which the verdict at gamma = 1 decides."""
    test = rank_sum(x, y)
    if x.size * y.size > 36 and bool(test.exact):
        return
    low, high = brute_force_medians(x, y, alpha)
    low = max(low, np.nextafter(1.0, 2.0)) if test.pvalue <= alpha else min(low, 1.0)
    high = min(high, np.nextafter(1.0, 0.0)) if test.pvalue_less <= alpha else max(high, 1.0)
    bounds = ratio_of_medians(x, y, alpha)
    np.testing.assert_allclose([float(bounds.low), float(bounds.high)], [low, high], rtol=1e-15)


def test_median_bounds_of_zeros() -> None:
    """No allocations at all against some: beyond every bound, and below 1 the other way round; zeros are equal."""
    x, y = np.array([5.0, 6.0, 7.0, 8.0, 9.0]), np.zeros(5)
    assert float(ratio_of_medians(x, y, 0.05).low) == np.inf
    assert float(ratio_of_medians(y, x, 0.05).high) == 0.0
    both = ratio_of_medians(y, y, 0.05)
    assert (float(both.low), float(both.high)) == (1.0, 1.0)


def test_bounds_of_negative_values_are_undefined() -> None:
    x, y = np.array([-1.0, -2.0, -4.0]), np.array([1.0, 2.0, 3.0])
    for bounds in (
        ratio_of_medians(x, y, 0.05),
        ratio_of_means(x, y, 0.05, True),
        ratio_of_means(x, y, 0.05, False),
    ):
        assert np.isnan(bounds.low)
        assert np.isnan(bounds.high)


@pytest.mark.parametrize("equal", [True, False])
def test_mean_bounds_of_undefined_tests(equal: bool) -> None:
    """Constants and single values: nothing is rejected, nothing is certified."""
    for x, y in (([5.0, 5.0, 5.0], [4.0, 4.0]), ([5.0], [4.0]), ([0.0, 0.0], [0.0, 0.0])):
        bounds = ratio_of_means(x, y, 0.05, equal)
        assert (float(bounds.low), float(bounds.high)) == (0.0, np.inf)


def test_exchanging_the_samples_inverts_the_bounds() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.lognormal(0.1, 0.2, (50, 12)), rng.lognormal(0, 0.3, (50, 15))
    for of in BOUNDS:
        np.testing.assert_allclose(of(x, y, 0.05).low, 1.0 / of(y, x, 0.05).high, rtol=1e-11)


@pytest.mark.slow
@given(x=COUNTS, y=COUNTS, alpha=st.sampled_from([0.01, 0.05, 0.2]))
def test_probability_bounds_hold_the_estimate_and_mirror(x: Any, y: Any, alpha: float) -> None:
    r, back = probability_greater(x, y, alpha), probability_greater(y, x, alpha)
    assert 0.0 <= r.low <= r.estimate <= r.high <= 1.0
    np.testing.assert_allclose([r.low, r.high], [1.0 - back.high, 1.0 - back.low], atol=1e-12)


@pytest.mark.slow
@given(x=COUNTS, y=COUNTS, alpha=st.sampled_from([0.01, 0.05, 0.2]))
def test_probability_above_one_half_implies_the_test_rejects(x: Any, y: Any, alpha: float) -> None:
    """The log odds p (1 - p) log(p / (1 - p)) never exceed p - 1/2: the bound is the stricter of the two."""
    bounds, test = probability_greater(x, y, alpha), brunner_munzel(x, y)
    assert not bounds.low > 0.5 + 1e-12 or test.pvalue <= alpha * (1 + 1e-9)
    assert not bounds.high < 0.5 - 1e-12 or test.pvalue_less <= alpha * (1 + 1e-9)


@pytest.mark.parametrize("spread", [1e-12, 1e-8, 1e-3, 3.0])
def test_median_bounds_against_sorted_ratios(spread: float) -> None:
    """The order statistic is exact in double precision however close, or far apart, the ratios lie."""
    rng = np.random.default_rng(9)
    x, y = np.exp(spread * rng.normal(size=(2, 20, 9)))
    ordered = np.sort((x[:, :, None] / y[:, None, :]).reshape(20, 81), axis=1)
    needed = int(np.argmax(np.cumsum(null_distribution(9, 9)[::-1])[::-1] <= 0.05))
    bounds, test = ratio_of_medians(x, y, 0.05), rank_sum(x, y)
    assert test.exact.all()
    np.testing.assert_array_equal(bounds.low, ordered[:, 81 - needed])
    np.testing.assert_array_equal(bounds.high, ordered[:, needed - 1])
