"""Two levels of short series against counting, simulation and the step that nobody may overlook."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats import two_levels as module
from speedproof.stats.change_points import change_pvalues, find_changes
from speedproof.stats.two_levels import separation, two_levels


@pytest.mark.parametrize(("n", "low"), [(8, 3), (8, 4), (9, 4), (10, 3)])
def test_orders_that_part_the_groups_against_counting(n: int, low: int) -> None:
    """Of all ways to order two far groups 2 in C(n, k) lie on two levels, and the p-value says at least that."""
    rng = np.random.default_rng([n, low])
    values = np.concatenate([rng.normal(0, 1, low), rng.normal(1000, 1, n - low)])
    orders = []
    for places in itertools.combinations(range(n), low):
        order = np.empty(n)
        order[list(places)] = values[:low]
        order[[i for i in range(n) if i not in places]] = values[low:]
        orders.append(order)
    found = two_levels(np.array(orders))
    assert (found.statistic > 0).sum() == 2
    assert found.pvalue.min() == pytest.approx(2 / math.comb(n, low))


@pytest.mark.parametrize("n", [8, 12, 20])
@pytest.mark.parametrize("rho", [0.0, 0.6])
@pytest.mark.parametrize(
    "kind", ["normal", "log-normal", "bimodal", "rounded to .5", "log-normal, rounded to 1"]
)
def test_false_alarms_of_few_commits_keep_the_risk(n: int, rho: float, kind: str) -> None:
    """Short series without a change alarm in at most 5 % (4 standard errors)."""
    rng, runs = np.random.default_rng([n, int(10 * rho), len(kind)]), 2000
    x = rng.standard_normal((runs, n))
    x[:, 1:] *= np.sqrt(1 - rho**2)
    for t in range(1, n):
        x[:, t] += rho * x[:, t - 1]
    if kind.startswith("log-normal"):
        x = np.exp(x)
    elif kind == "bimodal":
        x = (rng.random((runs, n)) < 0.3) * 2.1 + 0.2 * x
    if "rounded to" in kind:
        x = np.round(x / float(kind.split()[-1]))
    assert float((change_pvalues(x) <= 0.05).mean()) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize(("n", "at"), [(8, 4), (8, 5), (12, 6), (12, 9), (30, 27)])
@pytest.mark.parametrize("factor", [1.1, 1.5, 1 / 1.5])
def test_a_large_step_shows_in_few_commits(n: int, at: int, factor: float) -> None:
    """A step of ten deviations and more is found, at its commit, whatever the unit."""
    noise = 1 + 0.01 * np.random.default_rng([n, at]).standard_normal(n)
    series = noise * np.where(np.arange(n) < at, 1.0, factor)
    for x in (series, 1e-9 * series, np.log(series)):
        (change,) = find_changes(x, 0.05)
        assert (change.split, change.low, change.high) == (at, at, at)


@pytest.mark.parametrize("n", [8, 11, 13, 15, 20])
def test_a_few_equal_values_do_not_hide_a_large_step(n: int) -> None:
    """A step of 100 deviations shows among values of which one in four at most is equal to another."""
    x = np.random.default_rng(n).standard_normal(n) + 100.0 * (np.arange(n) >= n // 2)
    for pairs in range(1, n // 8 + 1):
        x[pairs - 1] = x[n // 2 - pairs]
        assert change_pvalues(x[None])[0] <= 0.05
        (change,) = find_changes(x, 0.05)
        assert change.split == n // 2


@pytest.mark.parametrize("x", [[1.0] * 12, [1.0, 2.0] * 6, [1.0] * 11 + [9.0], list(range(7))])
def test_what_is_not_two_levels_shows_nothing(x: list[float]) -> None:
    """Constants, swinging values, a last outlier and fewer than eight values have a p-value of 1."""
    assert two_levels(np.array([x], dtype=np.float64)).pvalue[0] == 1.0


@pytest.mark.parametrize(("share", "n", "k"), [(0.5, 9, 3), (0.2, 12, 3), (0.3, 10, 4)])
def test_equal_values_against_a_simulated_chain(share: float, n: int, k: int) -> None:
    """Above and below a border an autoregression of .6 changes once, k or more from the ends, no more often."""
    rng, runs = np.random.default_rng([n, k]), 40_000
    x = rng.standard_normal((runs, n))
    x[:, 1:] *= 0.8
    for t in range(1, n):
        x[:, t] += 0.6 * x[:, t - 1]
    above = x > stats.norm.isf(share)
    first = above.argmax(axis=1) * ~above[:, 0] + (~above).argmax(axis=1) * above[:, 0]
    once = ((above[:, 1:] != above[:, :-1]).sum(axis=1) == 1) & (first >= k) & (first <= n - k)
    expected = module._of_chain(n, k)
    assert once.mean() <= expected + 4 * math.sqrt(expected / runs)
    at = float(module._stays()[np.argmin(np.abs(module._SHARES - share))])
    both = stats.multivariate_normal(cov=[[1, 0.6], [0.6, 1]]).cdf([stats.norm.ppf(share)] * 2)
    assert at == pytest.approx(both / share, abs=1e-4)


def naive_levels(x: list[float]) -> tuple[float, int]:
    """Two groups of least variance by value, each of three or more; their distance if one follows the other."""
    n, ordered = len(x), sorted(x)

    def squares(part: list[float]) -> float:
        return sum((v - sum(part) / len(part)) ** 2 for v in part)

    low = min(range(3, n - 2), key=lambda k: squares(ordered[:k]) + squares(ordered[k:]))
    first = [v <= ordered[low - 1] for v in x]
    changes = [k for k in range(1, n) if first[k] != first[k - 1]]
    if len(changes) != 1 or not 3 <= changes[0] <= n - 3:
        return 0.0, changes[0] if changes else n
    one, two = x[: changes[0]], x[changes[0] :]
    gap = abs(sum(one) / len(one) - sum(two) / len(two))
    return gap / math.sqrt((squares(one) + squares(two)) / (n - 2)), changes[0]


@pytest.mark.parametrize("n", [8, 9, 12, 25])
@pytest.mark.parametrize("digits", [None, 0])
def test_two_levels(n: int, digits: int | None) -> None:
    rng = np.random.default_rng(n)
    steps = rng.integers(2, n - 1, 40)
    x = rng.standard_normal((40, n)) + np.where(np.arange(n) >= steps[:, None], 4.0, 0.0) * rng.choice(
        [-1, 1], (40, 1)
    )
    x = x if digits is None else np.round(x)
    distance, split, coarse = separation(x)
    assert (distance > 0).sum() > 5
    for row, series in enumerate(x.tolist()):
        expected, at = naive_levels(series)
        assert distance[row] == pytest.approx(expected, rel=1e-9)
        assert distance[row] == 0.0 or split[row] == at
        assert coarse[row] == (len(set(series)) < n / 2)
    whole = two_levels(x)
    assert whole.statistic.tolist() == distance.tolist()
    assert ((whole.pvalue < 1.0) <= (distance > 0.0)).all()


@pytest.mark.parametrize("n", [1, 2, 7])
def test_fewer_than_eight_values_have_no_levels(n: int) -> None:
    found = two_levels(np.arange(3.0 * n).reshape(3, n))
    assert (found.statistic.tolist(), found.splits.tolist()) == ([0.0] * 3, [n] * 3)
    assert found.pvalue.tolist() == [1.0] * 3
