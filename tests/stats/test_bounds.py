"""Certified bounds: agreement with the verdicts, brute force over gamma with the test itself, edges.

That a bound lies on the verdict's side of 1 holds by construction; what the roots are worth without it is in
test_bounds_inversion.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from speedproof.stats.bounds import probability_greater
from speedproof.stats.ranks import brunner_munzel, rank_sum
from speedproof.stats.ratio_means import ratio_of_means
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.ttests import student, welch

ALPHAS = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.8])
# Values on a coarse grid: ties inside and across samples, zeros, constants.
COUNTS = st.integers(1, 12).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(0, 6).map(float)))
TIMES = st.integers(2, 12).flatmap(
    lambda n: arrays(np.float64, n, elements=st.floats(1e-3, 1e3, allow_subnormal=False))
)


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


def test_median_bounds_of_zeros() -> None:
    """No allocations at all against some: beyond every bound, and below 1 the other way round; zeros are equal."""
    x, y = np.array([5.0, 6.0, 7.0, 8.0, 9.0]), np.zeros(5)
    assert float(ratio_of_medians(x, y, 0.05).low) == np.inf
    assert float(ratio_of_medians(y, x, 0.05).high) == 0.0
    both = ratio_of_medians(y, y, 0.05)
    assert (float(both.low), float(both.high)) == (1.0, 1.0)


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
