"""Every statistic and p-value of the R reference pairs, within what double precision allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from speedproof.stats.normality import shapiro_wilk
from speedproof.stats.ranks import rank_sum
from speedproof.stats.smirnov import ks_location
from speedproof.stats.special import t_ppf
from speedproof.stats.ttests import student, variance_ratio, welch

Oracle = Callable[[str], Any]
FILES = ("pairs", "pairs_edges")


def cases(oracle: Oracle, name: str) -> Iterator[tuple[dict[str, Any], Any, Any, float]]:
    """Record, X, Y and the absolute tolerance of its README: 1e-8, 1e-6 for a spread below 1e-6."""
    for case in oracle(name)["cases"]:
        x, y = np.array(case["x"], dtype=float), np.array(case["y"], dtype=float)
        relative = min(np.ptp(v) / abs(np.median(v)) for v in (x, y))
        yield case, x, y, 1e-8 if relative >= 1e-6 else 1e-6


def agree(got: Any, expected: float | None, tolerance: float, where: str) -> None:
    expected = np.nan if expected is None else expected
    if np.isfinite(expected):
        tolerance *= max(1.0, abs(expected))
    np.testing.assert_allclose(float(got), expected, rtol=0, atol=tolerance, err_msg=where)


def standard_error(x: Any, y: Any, field: str) -> float:
    """Of the difference of the means, by the textbook's formula."""
    n, m = x.size, y.size
    if field == "t_welch":
        return float(np.sqrt(x.var(ddof=1) / n + y.var(ddof=1) / m))
    pooled = ((n - 1) * x.var(ddof=1) + (m - 1) * y.var(ddof=1)) / (n + m - 2)
    return float(np.sqrt(pooled * (1 / n + 1 / m)))


@pytest.mark.parametrize("name", FILES)
def test_shapiro_wilk_against_r(oracle: Oracle, name: str) -> None:
    for case, x, y, tolerance in cases(oracle, name):
        for side, sample in (("shapiro_x", x), ("shapiro_y", y)):
            record = case[side].get("centred", case[side])
            if sample.size > 5000:
                assert record["W"] is None  # R refuses; test_shapiro_wilk_beyond_5000 has this one
                continue
            result = shapiro_wilk(sample)
            agree(result.statistic, record["W"], tolerance, f"{case['id']} {side}")
            agree(result.pvalue, record["p"], tolerance, f"{case['id']} {side}")


@pytest.mark.parametrize("name", FILES)
def test_variance_ratio_against_r(oracle: Oracle, name: str) -> None:
    for case, x, y, tolerance in cases(oracle, name):
        result, record = variance_ratio(x, y), case["var_test"]
        agree(result.statistic, record["F"], tolerance, case["id"])
        agree(result.pvalue, record["p"], tolerance, case["id"])
        assert result.df == (record["df1"], record["df2"])


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("field", "test"), [("t_student", student), ("t_welch", welch)])
def test_t_against_r(oracle: Oracle, name: str, field: str, test: Callable[..., Any]) -> None:
    for case, x, y, tolerance in cases(oracle, name):
        result, record = test(x, y), case[field]
        agree(result.statistic, record["t"], tolerance, case["id"])
        agree(result.df, record["df"], tolerance, case["id"])
        agree(result.pvalue, record["p"], tolerance, case["id"])
        if "lower" in record:  # R's one-sided bound of the difference of means
            difference, error = x.mean() - y.mean(), standard_error(x, y, field)
            for confidence, lower in record["lower"].items():
                bound = difference - float(t_ppf(float(confidence), result.df)) * error
                agree(bound, lower, tolerance, case["id"])


@pytest.mark.parametrize("name", FILES)
def test_rank_sum_against_r(oracle: Oracle, name: str) -> None:
    for case, x, y, _ in cases(oracle, name):
        result, record = rank_sum(x, y), case["wilcoxon"]
        assert float(result.statistic) == record["W"], case["id"]
        agree(result.pvalue, record["p"], 1e-10, case["id"])
        agree(result.superiority, record["x_greater_than_y"], 1e-14, case["id"])
        assert bool(result.exact) == (record["method"] == "exact"), case["id"]
        assert bool(result.ties) == record["ties"], case["id"]
        # the other direction is the same test of the exchanged samples
        agree(result.pvalue_less, float(rank_sum(y, x).pvalue), 1e-13, case["id"])


@pytest.mark.parametrize("name", FILES)
def test_kolmogorov_smirnov_against_r(oracle: Oracle, name: str) -> None:
    merged = 0
    for case, x, y, _ in cases(oracle, name):
        legacy, new, record = ks_location(x, y), ks_location(x, y, rule="r422"), case["ks"]
        assert bool(legacy.merged) == record["near_ties"], case["id"]
        merged += record["near_ties"]
        values = record["snapped"] if record["near_ties"] else record
        agree(legacy.statistic, values["D"], 1e-10, case["id"])
        assert bool(legacy.ties) == values["ties"], case["id"]
        assert bool(legacy.exact) == (values["legacy_method"] == "exact"), case["id"]
        assert bool(new.exact) == (record["nm"] < 10000), case["id"]
        # R sums the limiting series to 5e-5 only; the full sum is recorded next to it
        agree(legacy.pvalue, values["p_legacy"], 1e-10 if legacy.exact else 5e-5, case["id"])
        agree(new.pvalue, values["p_r422"], 1e-10 if new.exact else 5e-5, case["id"])
        if not record["near_ties"] and not legacy.exact:
            agree(legacy.pvalue, record["p_asymptotic_full"], 1e-10, case["id"])
    assert merged > 0 or name != "pairs"
