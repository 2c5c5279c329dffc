"""Proportions against R's prop.test, SciPy's binomtest and the numbers that were published."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from speedproof.errors import UsageError
from speedproof.stats.estimate import alpha_at
from speedproof.stats.multiplicity import benchmarks_needed, clopper_pearson, prop_test, validity_2013, wilson


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
