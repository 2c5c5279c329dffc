"""Two levels of short series against counting, simulation and the step that nobody may overlook."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from speedproof.stats import two_levels as module
from speedproof.stats.change_points import change_pvalues, find_changes
from speedproof.stats.two_levels import separation, two_levels


@pytest.mark.parametrize(("n", "low"), [(8, 3), (8, 4), (9, 4), (10, 3)])
def test_orders_that_part_the_groups_against_counting(n: int, low: int) -> None:
    """Of all ways to order two far groups 2 in C(n, k) lie on two levels, and the p-value says at least that.

    No more of all ways have a p-value than it says.
    """
    rng = np.random.default_rng([n, low])
    values = np.concatenate([rng.normal(0, 1, low), rng.normal(1000, 1, n - low)])
    orders = []
    for places in itertools.combinations(range(n), low):
        order = np.empty(n)
        order[list(places)] = values[:low]
        order[[i for i in range(n) if i not in places]] = values[low:]
        orders.append(order)
    found = two_levels(np.array(orders))
    assert found.pvalue.min() == pytest.approx(2 / math.comb(n, low))
    assert (found.pvalue == found.pvalue.min()).sum() == 2
    ordered = np.sort(found.pvalue)
    share = np.searchsorted(ordered, ordered * (1 + 1e-9), side="right") / ordered.size
    assert (share <= ordered * (1 + 1e-9)).all()


def test_the_tail_beyond_the_table_is_a_power_law() -> None:
    """Through the last level and the last but two, whatever the distance; between two sizes of the worse."""
    table = json.loads(Path(module.__file__).with_name("two_levels_null.json").read_text(encoding="utf-8"))
    levels, rows = table["levels"], dict(zip(table["sizes"], table["quantiles"], strict=True))
    noise = np.random.default_rng(4).normal(size=60)
    for n, around in ((50, (50,)), (60, (50, 100))):
        quantiles = [max(rows[size][k] for size in around) for k in range(len(levels))]
        slope = math.log(levels[-1] / levels[-3]) / math.log(quantiles[-1] / quantiles[-3])
        for step in (12.0, 20.0, 60.0):
            found = two_levels((noise[:n] + step * (np.arange(n) >= 25))[None])
            distance = float(found.statistic[0])
            assert distance > quantiles[-1]
            assert found.pvalue[0] == pytest.approx(levels[-1] * (distance / quantiles[-1]) ** slope)


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


def naive_levels(x: list[float]) -> tuple[float, list[int]]:
    """Two groups of least variance by value, each of three or more; their distance if they take turns."""
    n, ordered = len(x), sorted(x)
    drawn = [min(max(v, ordered[2]), ordered[-3]) for v in ordered]

    def squares(part: list[float]) -> float:
        return sum((v - sum(part) / len(part)) ** 2 for v in part)

    low = min(range(3, n - 2), key=lambda k: squares(drawn[:k]) + squares(drawn[k:]))
    first = [v <= ordered[low - 1] for v in x]
    neighbours = [first[min(max(k, 1), n - 2) - 1 :][:3] for k in range(n)]
    mostly = [sum(three) >= 2 for three in neighbours]
    turns = [k for k in range(1, n) if mostly[k] != mostly[k - 1]]
    if any(first[k] != mostly[k] and x[k] not in [*ordered[:2], *ordered[-2:]] for k in range(n)):
        return 0.0, []
    ends, lower, upper = [0, *turns, n], ordered[: sum(first)], ordered[sum(first) :]
    if (
        not 1 <= len(turns) <= max(1, min(5, n // 10))
        or min(np.diff(ends)) < 3
        or min(len(lower), len(upper)) < 3
    ):
        return 0.0, []
    few, many = min(2, len(lower) // 4), min(2, len(upper) // 4)
    lower = [max(v, lower[few]) for v in lower]
    upper = [min(v, upper[-1 - many]) for v in upper]
    deviation = max(np.std(lower, ddof=1), np.std(upper, ddof=1))
    distance = float(np.mean(upper) - np.mean(lower)) / float(deviation) if deviation else math.inf
    runs, k = 1 + sum(a != b for a, b in itertools.pairwise(first)), sum(first)
    likely = sum(of_runs(n, k, fewer) for fewer in range(2, runs + 1)) * math.comb(n, 3) / 2
    return distance / math.sqrt(max(1.0, likely)), turns


def of_runs(n: int, k: int, runs: int) -> float:
    """The chance of so many runs: the hypergeometric ways of parting k and n - k values into them."""

    def ways(first: int, second: int) -> int:
        return math.comb(first - 1, (runs + 1) // 2 - 1) * math.comb(second - 1, runs // 2 - 1)

    return (ways(k, n - k) + ways(n - k, k)) / math.comb(n, k)


@pytest.mark.parametrize("n", [8, 9, 12, 25, 40])
@pytest.mark.parametrize("digits", [None, 1])
def test_two_levels(n: int, digits: int | None) -> None:
    rng, time = np.random.default_rng(n), np.arange(n)
    steps, more = np.sort(rng.integers(2, n - 1, (2, 60, 1)), axis=0)
    shape = (time >= steps) & ((time < more) | (rng.random((60, 1)) < 0.5))
    x = rng.standard_normal((60, n)) + np.where(shape, 5.0, 0.0) * rng.choice([-1, 1], (60, 1))
    x[::3, rng.integers(n)] += 30.0
    x = x if digits is None else np.round(x, digits)
    distance, splits, _ = separation(x, np.sort(x, axis=1))
    assert (distance > 0).sum() > 5
    for row, series in enumerate(x.tolist()):
        if 2 * len(set(series)) >= n:
            expected, turns = naive_levels(series)
            assert distance[row] == pytest.approx(expected, rel=1e-9)
            assert [split for split in splits[row].tolist() if split] == turns
    whole = two_levels(x)
    assert whole.statistic.tolist() == distance.tolist()
    assert ((whole.pvalue < 1.0) <= (distance > 0.0)).all()
