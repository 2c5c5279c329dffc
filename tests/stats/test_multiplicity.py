"""Adjusted p-values: R, SciPy, the closed test by enumeration, error rates by simulation."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from speedproof.arrays import FloatArray
from speedproof.stats.multiplicity import benjamini_hochberg, holm

# R 4.2.2: p.adjust(p, "holm") and p.adjust(p, "BH"), NA for NaN.
P = [0.0004, 0.021, np.nan, 0.021, 0.3, 0.011, 1, 0, 0.049, 0.0502, 0.87]
R_HOLM = [0.0036000000000000003, 0.14700000000000002, np.nan, 0.14700000000000002, 0.89999999999999991,
          0.087999999999999995, 1, 0, 0.245, 0.245, 1]  # fmt: skip
R_BH = [0.002, 0.042000000000000003, np.nan, 0.042000000000000003, 0.375, 0.036666666666666667, 1, 0,
        0.071714285714285717, 0.071714285714285717, 0.96666666666666667]  # fmt: skip


def test_against_r() -> None:
    np.testing.assert_allclose(holm(P), R_HOLM, rtol=1e-15)
    np.testing.assert_allclose(benjamini_hochberg(P), R_BH, rtol=1e-15)


@pytest.mark.parametrize("seed", range(10))
def test_holm_is_the_closed_test_with_bonferroni(seed: int) -> None:
    """Theorem: the adjusted p-value is the largest Bonferroni p-value of all sets that hold the hypothesis."""
    p = np.random.default_rng(seed).beta(0.3, 1, 7).round(3)
    closed = [
        max(
            min(1.0, size * p[list(s)].min())
            for size in range(1, 8)
            for s in itertools.combinations(range(7), size)
            if i in s
        )
        for i in range(7)
    ]
    np.testing.assert_allclose(holm(p), closed, rtol=1e-14)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize("p", [[], [np.nan], [np.nan, 0.2]])
def test_tests_not_carried_out_do_not_count(adjust: object, p: list[float]) -> None:
    assert callable(adjust)
    np.testing.assert_array_equal(adjust(p), p)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize("seed", range(10))
def test_the_significant_ones_of_a_family_decide(adjust: Callable[..., FloatArray], seed: int) -> None:
    """Their decisions at a risk are those that all p-values together give, ties, zeros and ones among them."""
    rng = np.random.default_rng(seed)
    p = np.concatenate([rng.random(rng.integers(0, 30)), rng.random(20) ** 6, [0.0, 1.0, 0.01, 0.01]])
    np.testing.assert_array_equal(adjust(p[p <= 0.05], p.size) <= 0.05, adjust(p)[p <= 0.05] <= 0.05)


@pytest.mark.parametrize("p", [[1.1], [-0.1, 0.5]])
def test_not_a_p_value(p: list[float]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm(p)
