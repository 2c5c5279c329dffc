"""Certified bounds: SciPy's p-values at them, a plainly written bound, and the verdicts that hold them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as scipy_stats

from speedproof.arrays import FloatArray
from speedproof.stats.ranks import rank_sum
from speedproof.stats.ratio import ratio_of_means, student, welch
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.special import decreasing_roots

ALPHAS = (1e-3, 0.05, 0.45)


@pytest.mark.parametrize("gain", [0.7, 1.0, 1.3])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 9), (3, 5), (7, 7), (31, 12), (60, 55)])
def test_bounds_of_means_are_where_welchs_test_has_the_risk(n: int, m: int, gain: float) -> None:
    """At no gamma is it as small where there is no bound; those at 1 are held there by the verdict."""
    rng = np.random.default_rng([n, m])
    x, y = gain * rng.lognormal(0.0, 0.1, (40, n)), rng.lognormal(0.0, 0.15, (40, m))

    def pvalues(gamma: FloatArray, side: str) -> FloatArray:
        found = scipy_stats.ttest_ind(x, gamma[:, None] * y, axis=1, equal_var=False, alternative=side)
        return np.asarray(found.pvalue)

    for alpha in ALPHAS:
        found = ratio_of_means(x, y, alpha, False)
        for bound, side, none in ((found.low, "greater", 0.0), (found.high, "less", np.inf)):
            at = pvalues(np.clip(bound, 1e-9, 1e9), side)
            free = (bound != none) & (np.abs(bound - 1.0) > 1e-9)
            assert at[free] == pytest.approx(np.full(free.sum(), alpha), rel=1e-6)
            assert (at[bound == none] > alpha).all()


COUNTS = st.integers(1, 12).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(0, 6).map(float)))
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
