"""The ratio of two quantiles: held against the binomial distribution of SciPy, a naive twin, and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedproof.stats.quantile_ratio import (
    Quantiles,
    least_pvalue,
    least_runs,
    runs_needed_quantiles,
    shift_function,
)

stats = pytest.importorskip("scipy.stats")


def naive_limit(values: np.ndarray, q: float, z: float) -> float:
    """The logarithm of what lies above the quantile with the normal deviate z, by SciPy's binomial."""
    ascending = np.log(np.sort(values))
    k = np.arange(1, values.size + 1)
    deviates = stats.norm.isf(stats.binom.sf(k - 1, values.size, q))
    if z < deviates[0]:
        return -math.inf
    if z > deviates[-1]:
        return math.inf
    return float(np.interp(z, deviates, ascending))


def naive_low(x: np.ndarray, y: np.ndarray, q: float, alpha: float) -> float:
    """MOVER, written out."""
    z = stats.norm.isf(alpha)
    a, b = naive_limit(x, q, 0.0), naive_limit(y, q, 0.0)
    return math.exp(a - b - math.hypot(a - naive_limit(x, q, -z), naive_limit(y, q, z) - b))


@pytest.mark.parametrize(("n", "m", "q"), [(40, 60, 0.9), (100, 80, 0.95), (320, 300, 0.99), (30, 30, 0.5)])
def test_bounds_of_a_naive_twin(n: int, m: int, q: float) -> None:
    rng = np.random.default_rng([n, m])
    x, y = rng.lognormal(0.1, 0.3, (5, n)), rng.lognormal(0.0, 0.2, (5, m))
    for alpha in (0.05, 0.2):
        bounds = Quantiles.of(x, y, q).bounds(alpha)
        for i in range(5):
            assert bounds.low[i] == pytest.approx(naive_low(x[i], y[i], q, alpha), rel=1e-9)
            assert bounds.high[i] == pytest.approx(1 / naive_low(y[i], x[i], q, alpha), rel=1e-9)


def test_shift_function_of_a_naive_twin() -> None:
    """Nine deciles share the risk of each side; few values bound the middle alone."""
    rng = np.random.default_rng(9)
    x, y = rng.lognormal(0.1, 0.3, 60), rng.lognormal(0.0, 0.2, 70)
    rows = shift_function(x, y, 0.05)
    for k, (ratio, low, high) in enumerate(rows, 1):
        assert low == pytest.approx(naive_low(x, y, k / 10, 0.05 / 9), rel=1e-9)
        assert high == pytest.approx(1 / naive_low(y, x, k / 10, 0.05 / 9), rel=1e-9)
        assert low <= ratio <= high
    few = shift_function(x[:20], y[:20], 0.05)
    assert (few[[0, 8], 1] == 0).all()
    assert np.isinf(few[[0, 8], 2]).all()
    assert 0 < few[4, 1] < few[4, 2] < math.inf


@given(st.integers(0, 10_000), st.sampled_from([0.5, 0.9, 0.95]), st.sampled_from([0.01, 0.05, 0.3]))
def test_verdict_and_bound_agree(seed: int, q: float, alpha: float) -> None:
    """A p-value is at most alpha exactly where the bound of risk alpha clears gamma."""
    rng = np.random.default_rng(seed)
    x, y = rng.lognormal(0.0, 0.3, (2, 90)), rng.lognormal(0.0, 0.3, (2, 100))
    pair = Quantiles.of(x, y, q)
    bounds = pair.bounds(alpha)
    for gamma in (0.8, 1.0, 1.1):
        test = pair.test(gamma)
        assert ((test.above <= alpha) == (bounds.low > gamma)).all()
        assert ((test.below <= alpha) == (bounds.high < gamma)).all()
        assert np.allclose(np.maximum(test.above, test.below) >= 0.5, True)


def test_the_least_numbers_of_runs() -> None:
    """S. S. Wilks, Annals of Mathematical Statistics 12, 1941: 1 - q^n reaches 95 %."""
    for q, least in ((0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995), (0.1, 29)):
        assert least_runs(q, 0.05) == least
        assert max(q, 1 - q) ** least <= 0.05 < max(q, 1 - q) ** (least - 1)
    x = np.arange(1.0, 30.0)
    for n, proves in ((28, False), (29, True)):
        pair = Quantiles.of(1000.0 + x[None, :n], x[None, :n], 0.9)
        assert (pair.bounds(0.05).low[0] > 1.0) is np.bool_(proves)
        assert pair.test().above[0] == pytest.approx(least_pvalue(0.9, n, n), rel=1e-9)


@pytest.mark.parametrize(
    ("n", "q", "deviation", "found"), [(100, 0.9, 0.3, 0.64), (300, 0.95, 0.3, 0.9), (1000, 0.99, 0.3, 0.9)]
)
def test_risk_and_power(n: int, q: float, deviation: float, found: float) -> None:
    """Of 600 log-normal pairs: false within the binomial reach of 5 %, a true 1.2x found as often as wanted."""
    rng = np.random.default_rng(n)
    x, y = rng.lognormal(0.0, deviation, (600, n)), rng.lognormal(0.0, deviation, (600, n))
    equal, faster = Quantiles.of(x, y, q).test(), Quantiles.of(1.2 * x, y, q).test()
    most = stats.binom.ppf(0.999, 600, 0.05)
    assert (equal.above <= 0.05).sum() <= most
    assert (equal.below <= 0.05).sum() <= most
    assert (faster.above <= 0.05).mean() >= found


def test_the_estimate_lies_above_the_quantile_as_often_as_below() -> None:
    rng = np.random.default_rng(5)
    x = rng.exponential(1.0, (2000, 50))
    above = (np.exp(Quantiles.of(x, x, 0.9).of_x) > -math.log(0.1)).sum()
    assert stats.binom.ppf(0.001, 2000, 0.5) <= above <= stats.binom.ppf(0.999, 2000, 0.5)


def test_what_means_no_ratio() -> None:
    """Negative values and two quantiles of 0 have none; of 0 below it is infinite; one run has no limit."""
    rows = np.ones((1, 40))
    for x, y in ((-rows, rows), (0 * rows, 0 * rows)):
        test = Quantiles.of(x, y, 0.9).test()
        assert np.isnan(test.above).all()
        assert np.isnan(test.below).all()
    assert Quantiles.of(rows, 0 * rows, 0.9).ratio == np.inf
    one = Quantiles.of(rows[:, :1], 2 * rows[:, :1], 0.9)
    assert one.ratio == 0.5
    assert (one.bounds(0.05).low.tolist(), one.bounds(0.05).high.tolist()) == ([0.0], [np.inf])
    with pytest.raises(ValueError, match="between 0 and 1"):
        Quantiles.of(rows, rows, 1.0)


def test_as_many_runs_as_needed_find_it() -> None:
    """The forecast of 400 runs, drawn anew, finds the difference about as often as it says."""
    rng = np.random.default_rng(7)
    x, y = 1.1 * rng.lognormal(0.0, 0.3, (200, 400)), rng.lognormal(0.0, 0.3, (200, 400))
    needed = runs_needed_quantiles(x, y, 0.05, q=0.9)
    runs = int(np.median(needed.x))
    again = Quantiles.of(1.1 * rng.lognormal(0, 0.3, (400, runs)), rng.lognormal(0, 0.3, (400, runs)), 0.9)
    assert 0.65 <= (again.test().above <= 0.05).mean() <= 0.95
