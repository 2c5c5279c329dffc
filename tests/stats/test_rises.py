"""A rise between two levels, against SciPy and what it was made of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from speedproof.stats.rises import fitted_rise


def ramp(n: int, begin: int, end: int) -> np.ndarray:
    """From 0 at one value to 1 at another."""
    return np.clip((np.arange(n) - begin) / (end - begin), 0.0, 1.0)


@pytest.mark.parametrize(("n", "begin", "end"), [(5, 1, 3), (30, 0, 30), (40, 10, 25), (160, 40, 120)])
def test_without_noise_the_rise_is_what_it_was_made_of(n: int, begin: int, end: int) -> None:
    """Also one that the values end in; an outlier moves it by what its neighbours differ."""
    for outlier, about in ((0.0, 0), (50.0, 1)):
        x = 3.0 - 2.0 * ramp(n, begin, end)
        x[n // 2] += outlier if n > 5 else 0.0
        found = fitted_rise(x, 0.05)
        last = min(end, n - 1)
        assert (found.begin, found.end) == pytest.approx((begin, last), abs=about)
        expected = 3.0, 3.0 - 2.0 * (last - begin) / (end - begin)
        assert found.levels == pytest.approx(expected, abs=0.03 * about + 1e-9)


def test_the_best_rise_against_scipy() -> None:
    """At its places SciPy finds the same levels, no others are nearer, but for what outliers are drawn by."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        x = rng.uniform(-0.5, 0.5, 40) + 2.0 * ramp(40, 10, 28)
        found = fitted_rise(x, 0.05)

        def left(at: tuple[int, int], x: np.ndarray = x) -> tuple[float, np.ndarray]:
            fit = least_squares(lambda p: p[0] + p[1] * ramp(40, *at) - x, [0.0, 1.0])
            return float(fit.cost), fit.x

        cost, (before, size) = left((found.begin, found.end))
        assert found.end < 39
        assert found.levels == pytest.approx((before, before + size), abs=0.03)
        assert all(left((a, b))[0] >= cost - 0.03 for a in range(8, 13) for b in range(26, 31))


@pytest.mark.parametrize("rho", [pytest.param(0.0, marks=pytest.mark.slow), 0.5])
def test_its_bounds_hold(rho: float) -> None:
    """Each errs in 5 % of series, give or take three standard errors and what a correlation's estimate costs."""
    rng, misses = np.random.default_rng(5), np.zeros(2)
    for _ in range(400):
        x = rng.standard_normal(100)
        for i in range(1, 100):
            x[i] = rho * x[i - 1] + (1 - rho * rho) ** 0.5 * x[i]
        found = fitted_rise(x + 12.0 * ramp(100, 30, 80), 0.05)
        misses += [found.low > 12.0, found.high < 12.0]
        assert found.high - found.low < 6.0  # bounds that say nothing never err
    assert (misses <= 400 * (0.083 if rho == 0.0 else 0.12)).all(), misses
