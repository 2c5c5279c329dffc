"""The order-statistic interval of a median, against the binomial distribution and a published table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.location import median_interval


@pytest.mark.parametrize(
    ("n", "rank"), [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18)]
)
def test_ranks_of_the_published_table(n: int, rank: int) -> None:
    """Ranks at 95 % of the tables for the sign test (Dixon and Mood, 1946)."""
    assert median_interval(np.arange(1.0, n + 1)) == (rank, n + 1 - rank)


@pytest.mark.parametrize("n", [5, 7, 33, 100, 999, 1000, 1001, 5000])
def test_ranks_against_the_binomial_distribution(n: int) -> None:
    """The largest rank whose risk is at most alpha; of many values the approximation is one rank off at most."""
    exact = int(stats.binom.ppf(0.025, n, 0.5))
    while 2 * stats.binom.cdf(exact - 1, n, 0.5) > 0.05:
        exact -= 1
    low, _ = median_interval(np.arange(1.0, n + 1))
    assert math.isnan(low) if exact == 0 else abs(low - exact) <= (n > 1000)


@pytest.mark.parametrize(("n", "rank"), [(6, 1), (9, 2), (20, 5)])
def test_a_risk_that_is_met_exactly_is_kept(n: int, rank: int) -> None:
    """The sign test's risk is a fraction of 2^n; at that very risk the rank holds, below it the next one does."""
    risk = 2 * sum(math.comb(n, k) for k in range(rank)) / 2**n
    values = np.arange(1.0, n + 1)
    assert median_interval(values, risk) == (rank, n + 1 - rank)
    assert median_interval(values, risk * (1 - 1e-9))[0] == (
        rank - 1 if rank > 1 else pytest.approx(math.nan, nan_ok=True)
    )
