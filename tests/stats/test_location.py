"""The Hodges-Lehmann estimate and the interval of a median: their definitions, textbooks, published tables."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from speedproof.stats.location import hodges_lehmann, median_interval


def naive(values: np.typing.NDArray[np.float64]) -> float:
    """The median of all n (n + 1) / 2 Walsh averages."""
    i, j = np.triu_indices(values.size)
    return float(np.median(0.5 * (values[i] + values[j])))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 0.1, 0.3, 1e-9]), min_size=1, max_size=40))
def test_against_brute_force(values: list[float]) -> None:
    ordered = np.sort(np.array(values))
    assert hodges_lehmann(ordered) == pytest.approx(naive(ordered), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "kind", ["normal", "Cauchy", "few values", "one value", "far modes", "lopsided modes", "whole numbers"]
)
@pytest.mark.parametrize("n", [255, 256, 257, 1000, 1999])
def test_against_brute_force_where_the_interval_is_halved(kind: str, n: int) -> None:
    """More averages than are listed, with ties, outliers, and a gap where the median lies."""
    rng = np.random.default_rng([n, len(kind)])
    values = {
        "normal": rng.standard_normal(n),
        "Cauchy": 1e3 * rng.standard_cauchy(n),
        "few values": 0.1 * rng.integers(0, 3, n),
        "one value": np.full(n, 0.3),
        "far modes": np.arange(n) % 2 + 1e-9 * rng.standard_normal(n),
        "lopsided modes": (np.arange(n) % 7 < 2) + 1e-9 * rng.standard_normal(n),
        "whole numbers": np.round(10 * rng.standard_normal(n)),
    }[kind]
    ordered = np.sort(values)
    assert hodges_lehmann(ordered) == pytest.approx(naive(ordered), rel=1e-12, abs=1e-12)


def test_against_hollander_and_wolfe() -> None:
    """Nonparametric Statistical Methods, depression scale factors: the estimate of the paired differences is
    -0.46; R's wilcox.test prints the same."""
    before = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
    after = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
    assert hodges_lehmann(np.sort(after - before)) == pytest.approx(-0.46, abs=1e-9)


@pytest.mark.parametrize("values", [[-1, 0, 1], [-3, -1, 0, 0, 1, 2], [-7, -3, 0, 0, 0, 1, 5]])
def test_no_difference_is_no_difference_to_the_last_bit(values: list[float]) -> None:
    assert hodges_lehmann(np.array(values, dtype=np.float64)) == 0.0


@pytest.mark.parametrize(
    ("n", "rank"), [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18)]
)
def test_ranks_of_the_published_table(n: int, rank: int) -> None:
    """Ranks at 95 % of the tables for the sign test (Dixon and Mood, 1946)."""
    assert [*median_interval(np.arange(1.0, n + 1))] == [rank, n + 1 - rank]


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
    assert [*median_interval(values, risk)] == [rank, n + 1 - rank]
    assert median_interval(values, risk * (1 - 1e-9))[0] == (
        rank - 1 if rank > 1 else pytest.approx(math.nan, nan_ok=True)
    )
