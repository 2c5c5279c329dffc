"""Runs needed: textbook values, and the power that these runs have in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from speedproof.stats.hypotests import rank_sum, student, welch
from speedproof.stats.power import runs_needed_means, runs_needed_ranks


@pytest.mark.parametrize(("d", "expected"), [(0.2, 310), (0.5, 50), (0.8, 20), (1.0, 13)])
def test_means_against_published_table(d: float, expected: int) -> None:
    """Cohen (1988), table 2.4.1: one-sided alpha = 0.05, power 0.8, equal sizes."""
    x = np.array([-1.0, 0.0, 1.0])
    needed = runs_needed_means(x + d, x, 0.05)
    assert abs(float(needed.x) - expected) <= 1
    assert needed.x == needed.y


def test_means_have_the_power_in_simulation() -> None:
    """3000 repetitions with the runs asked for: power 0.8 within 0.03, also for unequal sizes and spreads."""
    rng = np.random.default_rng(1)
    for sd_y, n, m in ((1.0, 20, 20), (2.0, 20, 40)):
        x, y = rng.normal(size=n), rng.normal(size=m)
        x, y = 0.5 + (x - x.mean()) / x.std(ddof=1), sd_y * (y - y.mean()) / y.std(ddof=1)
        needed = runs_needed_means(x, y, 0.05)
        test = student if sd_y == 1.0 else welch
        draws = (rng.normal(0.5, 1.0, (3000, int(needed.x))), rng.normal(0.0, sd_y, (3000, int(needed.y))))
        assert (test(*draws).pvalue <= 0.05).mean() == pytest.approx(0.8, abs=0.03)


def test_ranks_have_the_power_in_simulation() -> None:
    """Normal samples 0.6 apart, as the estimate of P[X > Y] would find it."""
    rng = np.random.default_rng(2)
    grid = scipy_stats.norm.ppf((np.arange(400) + 0.5) / 400)
    needed = runs_needed_ranks(grid + 0.6, grid, 0.05)
    draws = (rng.normal(0.6, 1.0, (3000, int(needed.x))), rng.normal(0.0, 1.0, (3000, int(needed.y))))
    assert (rank_sum(*draws).pvalue <= 0.05).mean() == pytest.approx(0.8, abs=0.04)


def test_no_effect_needs_infinitely_many() -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert float(runs_needed_means(x, x, 0.05).x) == np.inf
    assert float(runs_needed_ranks(x, x, 0.05).y) == np.inf
    assert float(runs_needed_means([1.0], [2.0], 0.05).x) == np.inf


def test_more_is_needed_for_less_risk_and_for_the_larger_side() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.5, 2.0, 2.5, 2.0, 1.0, 1.8, 2.2, 2.1])
    assert runs_needed_means(x, y, 0.01).x > runs_needed_means(x, y, 0.05).x
    needed = runs_needed_ranks(x, y, 0.05)
    assert float(needed.y) == pytest.approx(2 * float(needed.x), abs=2)
