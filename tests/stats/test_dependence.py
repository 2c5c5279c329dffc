"""Run order: Hurst factor against R, rank tests against SciPy and against all permutations."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from speedproof.stats.dependence import drift, hurst_factor, lag1


def test_hurst_against_r(oracle: Any) -> None:
    for case in oracle("protocol2009")["cases"]:
        for side in ("t1", "t2"):
            np.testing.assert_allclose(
                hurst_factor(case[side]), case[f"hurst_{side}"], atol=1e-10, err_msg=case["id"]
            )


def test_hurst_of_noise_and_of_a_trend() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(200, 500))
    assert 0.4 < float(np.median(hurst_factor(noise))) < 0.65
    assert float(hurst_factor(np.arange(500.0))) > 0.9


def test_lag1_statistics_against_definitions() -> None:
    x = np.random.default_rng(2).normal(size=40).round(1)
    result = lag1(x)
    d, r = x - x.mean(), scipy_stats.rankdata(x)
    assert float(result.lag1) == pytest.approx((d[1:] * d[:-1]).sum() / (d**2).sum(), rel=1e-12)
    assert float(result.statistic) == pytest.approx(
        (np.diff(r) ** 2).sum() / ((r - r.mean()) ** 2).sum(), rel=1e-12
    )


@pytest.mark.parametrize("n", [6, 8])
def test_lag1_pvalue_against_all_permutations(n: int) -> None:
    """The beta approximation is within 0.035 of the exact two-sided p-value even for a handful of runs."""
    ratios = lag1(np.array(list(itertools.permutations(np.arange(float(n)))))).statistic
    for ratio in np.unique(ratios.round(10)):
        exact = 2.0 * min((ratios <= ratio + 1e-9).mean(), (ratios >= ratio - 1e-9).mean())
        row = int(np.argmin(np.abs(ratios - ratio)))
        order = next(itertools.islice(itertools.permutations(np.arange(float(n))), row, None))
        assert float(lag1(order).pvalue) == pytest.approx(min(exact, 1.0), abs=0.035 if n == 8 else 0.08)


def test_independence_tests_keep_their_size() -> None:
    """At alpha = 0.05 the rejections among 4000 independent samples stay inside a 1e-4 binomial band."""
    x = np.random.default_rng(3).lognormal(size=(4000, 31))
    low, high = scipy_stats.binom.ppf([5e-5, 1 - 5e-5], 4000, 0.05)
    assert low <= (lag1(x).pvalue <= 0.05).sum() <= high
    assert low <= (drift(x).pvalue <= 0.05).sum() <= high


def test_independence_tests_find_dependence() -> None:
    rng = np.random.default_rng(4)
    walk = rng.normal(size=(200, 60))
    for k in range(1, 60):
        walk[:, k] += 0.7 * walk[:, k - 1]
    assert (lag1(walk).pvalue <= 0.05).mean() > 0.95
    trend = rng.normal(size=(200, 60)) + np.linspace(0, 2, 60)
    assert (drift(trend).pvalue <= 0.05).mean() > 0.95
    alternating = np.tile([1.0, 2.0], 15) + 0.01 * rng.normal(size=30)
    assert float(lag1(alternating).statistic) > 3.0
    assert float(lag1(alternating).pvalue) < 1e-3


@pytest.mark.parametrize("digits", [1, 9])
def test_drift_against_scipy(digits: int) -> None:
    x = np.random.default_rng(5).normal(size=(20, 25)).round(digits)
    result = drift(x)
    for row in range(20):
        expected = scipy_stats.spearmanr(np.arange(25), x[row])
        assert float(result.correlation[row]) == pytest.approx(expected.statistic, abs=1e-12)
        assert float(result.pvalue[row]) == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("order", [(0, 1, 3, 2), (3, 0, 1, 2), (1, 0, 0, 2)])
def test_drift_of_the_fewest_runs(order: tuple[int, ...]) -> None:
    """Four runs are the first that have a trend, SciPy's."""
    found, expected = drift(np.array(order) + 1.5), scipy_stats.spearmanr(np.arange(4), order)
    assert float(found.correlation) == pytest.approx(expected.statistic, abs=1e-12)
    assert float(found.pvalue) == pytest.approx(expected.pvalue, rel=1e-9)
    assert np.isnan(drift(order[:3]).correlation)


def test_edges_of_run_order() -> None:
    for few in ([1.0], [1.0, 2.0, 3.0], [4.0] * 20):
        assert np.isnan(lag1(few).pvalue)
        assert np.isnan(drift(few).pvalue)
    assert np.isnan(hurst_factor([4.0] * 20))
    assert np.isnan(hurst_factor([1.0, 2.0]))
    assert float(drift(np.arange(9.0)).pvalue) == 0.0
    assert lag1(np.ones((2, 3, 10))).lag1.shape == (2, 3)
