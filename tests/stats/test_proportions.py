"""Proportions and adjusted p-values: R, SciPy, the closed test by enumeration, published numbers."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from speedproof.arrays import FloatArray
from speedproof.errors import UsageError
from speedproof.stats.estimate import Estimate, alpha_at
from speedproof.stats.multiplicity import (
    benchmarks_needed,
    benjamini_hochberg,
    clopper_pearson,
    holm,
    prop_test,
    validity_2013,
    wilson,
)


def test_intervals_against_r(oracle: Any) -> None:
    cases = list(oracle("proportions")["cases"])
    for suite in oracle("suites")["suites"]:
        cases += [suite[f"accelerated_{location}"] for location in ("mean", "median")]
    for case in cases:
        a, b, confidence = case["a"], case["b"], case["confidence"]
        for interval, field in ((prop_test, "prop_test"), (wilson, "prop_test_uncorrected")):
            e = interval(a, b, alpha_at(confidence))
            np.testing.assert_allclose([e.low, e.high], case[field], rtol=0, atol=1e-10, err_msg=field)
            assert e.value == a / b
            assert e.confidence == pytest.approx(confidence)
        assert validity_2013(a, b) == pytest.approx(case["validity_value"], abs=1e-10)
        assert (validity_2013(a, b) > 5) == case["valid_2013"]
        assert benchmarks_needed(a, b, case["precision"], alpha_at(confidence)) == case["benchmarks_needed"]


@pytest.mark.parametrize(
    ("a", "b", "confidence", "digits", "low", "high"),
    [
        (17, 30, 0.9, 7, 0.4027157, 0.7184049),  # section 4
        (34, 34, 0.9, 3, 0.901, 1.0),  # section 6.1
        (31, 45, 0.95, 3, 0.532, 0.814),  # section 6.2
        (41, 54, 0.95, 3, 0.621, 0.861),  # section 6.3
        (17, 30, 0.5, 4, 0.4884, 0.6424),  # printed [49.84 %, 64.23 %]: a misprint, and cut
    ],
)
def test_published_interval(a: int, b: int, confidence: float, digits: int, low: float, high: float) -> None:
    """The intervals of the Speedup-Test article (2013)."""
    e = prop_test(a, b, alpha_at(confidence))
    assert (round(e.low, digits), round(e.high, digits)) == (low, high)


@pytest.mark.parametrize(("a", "b", "needed"), [(17, 30, 378), (31, 45, 330), (41, 54, 281)])
def test_published_numbers_of_benchmarks(a: int, b: int, needed: int) -> None:
    """The article's counts for a precision of 5 % at confidence 0.95."""
    assert benchmarks_needed(a, b, 0.05, 0.05) == needed


def test_impossible_requests_are_refused() -> None:
    for a, b in ((-1, 5), (6, 5), (0, 0)):
        with pytest.raises(UsageError, match="0 <= a <= b"):
            prop_test(a, b, 0.05)
    for share in (-0.5, 0.0, 1.0, 5.0, math.nan):
        with pytest.raises(UsageError, match=r"such as 0\.05"):
            benchmarks_needed(1, 2, share, 0.05)


def test_the_ends_of_an_estimate_are_in_order() -> None:
    """Also where the bounds contradict each other."""
    for low, high in ((0.5, 2.0), (2.0, 0.5), (1.0, 1.0)):
        assert Estimate(1.0, low, high, 0.95).ends == (min(low, high), max(low, high))


def test_proportions_of_all_small_counts() -> None:
    """Intervals are inside of 0 and 1, hold the share, and end there exactly where nothing or all counts."""
    for b in range(1, 12):
        for a in range(b + 1):
            for alpha in (0.5, 0.01):
                for interval, method in (
                    (clopper_pearson, "exact"), (wilson, "wilson"), (prop_test, "wilsoncc"),
                ):  # fmt: skip
                    found = interval(a, b, alpha)
                    if b < 6:
                        limits = stats.binomtest(a, b).proportion_ci(1 - alpha, method=method)
                        if not (method == "wilsoncc" and a * 2 == b):
                            assert found.low == pytest.approx(limits.low, abs=1e-9)
                            assert found.high == pytest.approx(limits.high, abs=1e-9)
                    assert found.confidence == 1 - alpha
                    assert 0.0 <= found.low <= found.value == a / b <= found.high <= 1.0
                    assert found.low > 0.0 if a > 0 and method != "wilsoncc" else found.low == 0.0 or a > 0
                    assert found.high < 1.0 if a < b and method != "wilsoncc" else found.high == 1.0 or a < b


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
