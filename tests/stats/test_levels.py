"""Levels with autoregressive noise: dense linear algebra, enumeration, counting and simulation."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import linalg, stats
from tests.stats.series import autoregressive

from speedproof.stats import levels as module
from speedproof.stats.change_points import change_pvalues, show_changes
from speedproof.stats.levels import cheap_steps, least_squares, levels, levels_pvalue, places_of_step
from speedproof.stats.normal_scores import normal_scores
from speedproof.stats.two_levels import MARGIN, separation, two_levels

Series = npt.NDArray[np.float64]
COEFFICIENTS = np.array([0.0, 0.3, 0.7])


def naive_cost(part: Series, rho: float) -> float:
    """The least generalised sum of squares of one level, by the inverse of the autoregression's correlations."""
    weight = np.linalg.inv(linalg.toeplitz(rho ** np.arange(part.size))) * (1 - rho**2)
    rest = part - weight.sum(axis=0) @ part / weight.sum()
    return float(rest @ weight @ rest)


def naive_least(x: Series, places: list[int], rho: float, steps: int) -> tuple[float, list[int]]:
    """Every way to choose so many of the places."""
    found = []
    for chosen in itertools.combinations(places, steps):
        parts = np.split(x, chosen)
        if min(part.size for part in parts) >= MARGIN:
            found.append((sum(naive_cost(part, rho) for part in parts), list(chosen)))
    return min(found, default=(math.inf, [0] * steps))


@pytest.fixture(params=[True, False])
def compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPILED", module.COMPILED if request.param else None)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("n", [6, 9, 14, 17])
def test_least_squares_against_every_way(n: int) -> None:
    """With places everywhere and at some; where no more levels fit the sum is infinite."""
    x = np.random.default_rng(n).standard_normal((2, n)) + 3.0 * (np.arange(n) >= n // 2)
    for places in (list(range(1, n)), list(range(2, n - 1, 3))):
        sums, splits = least_squares(x, np.array([places, places]), COEFFICIENTS, 3)
        for row, (g, rho), steps in itertools.product((0, 1), enumerate(COEFFICIENTS), range(4)):
            least, chosen = naive_least(x[row], places, float(rho), steps)
            assert sums[row, g, steps] == pytest.approx(least, rel=1e-9)
            if least < math.inf:
                assert splits[row, g, steps, :steps].tolist() == chosen


@pytest.mark.parametrize("n", [40, 65, 66, 90])
@pytest.mark.parametrize("enough", [0.001, 0.01, 0.2])
def test_small_enough_pvalues(n: int, enough: float) -> None:
    """They are at least the exact ones, and small enough where those are; all others are exact."""
    rng = np.random.default_rng(n)
    x = rng.standard_normal((60, n)) + rng.uniform(0.0, 4.0, (60, 1)) * (np.arange(n) >= n // 2)
    x[:10] = 1.0 * (abs(np.arange(n) - n // 2) <= 1)  # two steps, three values between them
    x[20:30, : n // 4] += 2.0
    exact, quick = levels(x), levels(x, enough=enough)
    assert (quick.pvalue >= exact.pvalue).all()
    assert ((quick.pvalue <= enough) == (exact.pvalue <= enough)).all()
    left = quick.pvalue > enough
    assert 0 < left.sum() < 60
    assert quick.pvalue[left].tolist() == exact.pvalue[left].tolist()
    assert quick.splits[left].tolist() == exact.splits[left].tolist()
    for at in (enough, *(known := change_pvalues(x)).tolist()):
        assert (show_changes(x, at) == (known <= at)).all()


def test_the_likelihood_against_a_dense_covariance() -> None:
    """Logarithms of normal densities, noise independent at borders: levels of their own, or one for all."""
    n, ends = 20, [0, 7, 20]
    x = normal_scores(np.random.default_rng(1).standard_normal((1, n)))
    sums, splits = least_squares(x, np.array([[7]]), COEFFICIENTS, 1)
    assert splits[0, 1, 1].tolist() == [7]
    ours = module.log_likelihoods(x, sums, COEFFICIENTS)[0]
    same = module.squares_of_one_level(x, np.array([[[0, 0], [7, 0], [7, 12]]]), COEFFICIENTS)
    one_level = module.log_likelihoods(x, same, COEFFICIENTS)[0]
    for g, rho in enumerate(COEFFICIENTS.tolist()):

        def best(borders: list[int], levels: npt.NDArray[np.float64], rho: float = rho) -> float:
            sizes = np.diff(borders)
            blocks = [linalg.toeplitz(rho ** np.arange(size)) / (1 - rho**2) for size in sizes]
            whole = linalg.block_diag(*blocks)
            weighed = np.linalg.solve(whole, levels)
            rest = x[0] - levels @ np.linalg.solve(levels.T @ weighed, weighed.T @ x[0])
            variance = float(rest @ np.linalg.solve(whole, rest)) / n
            density = stats.multivariate_normal(np.zeros(n), variance * whole).logpdf(rest)
            return float(density) + 0.5 * n * (1 + math.log(2 * math.pi))

        one = np.ones((n, 1))
        both = np.repeat(np.eye(2), [7, 13], axis=0)
        assert ours[g].tolist() == pytest.approx([best([0, n], one), best(ends, both)], abs=1e-9)
        for way, borders in enumerate(([0, n], ends, [0, 7, 12, n])):
            assert one_level[g, way] == pytest.approx(best(borders, one), abs=1e-9)


@pytest.mark.parametrize("n", [12, 13, 32])
def test_rises_against_generalised_least_squares(n: int) -> None:
    """By the inverse of the autoregression's correlations; what one level leaves is given."""
    x = np.random.default_rng(n).standard_normal((2, n))
    level = np.array([[naive_cost(row, rho) for rho in COEFFICIENTS] for row in x])
    ours = module.squares_of_rises(x, level, COEFFICIENTS)
    for row, (g, rho) in itertools.product((0, 1), enumerate(COEFFICIENTS)):
        weight = np.linalg.inv(linalg.toeplitz(rho ** np.arange(n))) * (1 - rho**2)
        for k, (begin, end) in enumerate([(0, n), (0, n / 2), (n / 4, 3 * n / 4), (n / 2, n)]):
            rise = np.interp(np.arange(n) + 0.5, [begin, end], [0.0, 1.0])
            design = np.stack([np.ones(n), rise], axis=1)
            slope = np.linalg.solve(design.T @ weight @ design, design.T @ weight @ x[row])
            rest = x[row] - design @ slope
            assert ours[row, g, k] == pytest.approx(rest @ weight @ rest, abs=1e-9)


def naive_places(x: Series, most: int) -> list[int]:
    """The places of the largest contrasts of 3, 6, 12 ... values on each side; those beside larger ones last."""
    n = x.size
    inside = list(range(MARGIN, n - MARGIN + 1))
    best = dict.fromkeys(inside, 0.0)
    width = MARGIN
    while width <= n // 2:
        here = {}
        for k in inside:
            before, after = x[max(0, k - width) : k], x[k : k + width]
            scale = math.sqrt(before.size * after.size / (before.size + after.size))
            here[k] = abs(after.mean() - before.mean()) * scale
        for k in inside:
            beside = [here[j] for j in (k - 1, k + 1) if j in here]
            best[k] = max(best[k], here[k] * (1.0 if all(here[k] > other for other in beside) else 1e-3))
        width *= 2
    return sorted(sorted(inside, key=lambda k: -best[k])[:most])


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("n", "most"), [(20, 25), (90, 25), (131, 25), (90, 60)])
def test_where_steps_may_be(n: int, most: int) -> None:
    """Everywhere while that is few; else at the largest local contrasts, then beside them."""
    x = np.random.default_rng(n).standard_normal((3, n))
    found = module.step_places(x, most)
    if n == 20:
        assert found.tolist() == [list(range(3, 18))] * 3
    else:
        assert found.tolist() == [naive_places(row, most) for row in x]


def test_pvalues_from_the_table() -> None:
    """At the sizes of the table its levels; between them monotone, and beyond."""
    table = json.loads(Path(module.__file__).with_name("levels_null.json").read_text(encoding="utf-8"))
    for n, row in zip(table["sizes"], table["quantiles"], strict=True):
        assert levels_pvalue(row, n).tolist() == pytest.approx(table["levels"])
    for n in (12, 33, 77, 1234, 9000):
        p = levels_pvalue(np.linspace(-5, 300, 500), n)
        assert (np.diff(p) <= 0).all()
        assert p[0] == 1.0
        assert 0 <= p[-1] < 1e-20


def test_how_many_steps_are_cheap() -> None:
    """None in fewer than twelve values, which are not tested; one in fewer than thirty, five from 65 on."""
    sizes = (0, 11, 12, 29, 30, 51, 52, 64, 65, 5000)
    assert [cheap_steps(n) for n in sizes] == [0, 0, 1, 1, 2, 2, 4, 4, 5, 5]
    few = levels(np.arange(22.0).reshape(2, 11))
    assert (few.pvalue.tolist(), few.splits.tolist()) == ([1.0, 1.0], [[11], [11]])
    assert levels(np.ones((0, 50))).pvalue.size == 0


@pytest.mark.parametrize("n", [6, 8, 11])
@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_where_a_step_may_be(n: int, rho: float) -> None:
    """Where the squares that are left exceed the least by few of their means, on n - 2 degrees of freedom."""
    rng = np.random.default_rng(n)
    for _ in range(40):
        x = rng.normal(size=n) + 1.5 * (np.arange(n) >= n // 2)
        left = {k: naive_cost(x[:k], rho) + naive_cost(x[k:], rho) for k in range(1, n)}
        split = min(left, key=left.__getitem__)
        for alpha in (0.01, 0.05, 0.3, 0.6, 0.9):
            limit = -2 * math.log(1 - math.sqrt(1 - alpha))
            kept = [k for k, own in left.items() if (own - left[split]) / (left[split] / (n - 2)) <= limit]
            assert places_of_step(x, split, rho, alpha) == (min(kept), max(kept))


def test_pvalues_are_no_less_than_the_chance_of_so_few_runs() -> None:
    """Of all ways to place three of thirty values, so many make three runs."""
    ways = [np.isin(np.arange(30), places) for places in itertools.combinations(range(30), 3)]
    share = np.mean([np.count_nonzero(way[1:] != way[:-1]) == 2 for way in ways])
    x = np.random.default_rng(1).normal(size=30) + np.repeat([0.0, 20.0, 10.0], [15, 3, 12])
    assert levels(x[None]).pvalue[0] == pytest.approx(share)


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


@pytest.mark.parametrize(("n", "runs"), [(8, 2000), (12, 2000), (20, 2000), (45, 600)])
@pytest.mark.parametrize("rho", [0.0, 0.6])
@pytest.mark.parametrize(
    "kind", ["normal", "log-normal", "bimodal", "rounded to .5", "log-normal, rounded to 1"]
)
def test_false_alarms_keep_the_risk(n: int, runs: int, rho: float, kind: str) -> None:
    """Series without a change alarm in at most 5 % (4 standard errors), also between the sizes of the tables."""
    rng = np.random.default_rng([n, int(10 * rho), len(kind)])
    x = autoregressive(rng, runs, n, rho)
    if kind.startswith("log-normal"):
        x = np.exp(x)
    elif kind == "bimodal":
        x = (rng.random((runs, n)) < 0.3) * 2.1 + 0.2 * x
    if "rounded to" in kind:
        x = np.round(x / float(kind.split()[-1]))
    assert float((change_pvalues(x) <= 0.05).mean()) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("x", [[1.0] * 12, [1.0, 2.0] * 6, [1.0] * 11 + [9.0], list(range(7))])
def test_what_is_not_two_levels_shows_nothing(x: list[float]) -> None:
    """Constants, swinging values, a last outlier and fewer than eight values have a p-value of 1."""
    assert two_levels(np.array([x], dtype=np.float64)).pvalue[0] == 1.0


@pytest.mark.parametrize(("n", "k"), [(9, 3), (12, 3), (10, 4)])
def test_equal_values_against_a_chain(n: int, k: int) -> None:
    """Above and below a border an autoregression of .6 is a chain that changes once, k or more from the ends."""

    def chain(s: float) -> float:
        both = stats.multivariate_normal(cov=[[1, 0.6], [0.6, 1]]).cdf([stats.norm.ppf(s)] * 2)
        stay, other = both / s, 1 - (s - both) / (1 - s)
        ways = sum(stay ** (at - 1) * (1 - stay) * other ** (n - at - 1) for at in range(k, n - k + 1))
        return float(2 * s * ways)

    [found] = two_levels(np.repeat([[1.0, 2.0]], [k, n - k], axis=1)).pvalue.tolist()
    assert found == pytest.approx(max(map(chain, np.linspace(0.02, 0.5, 49).tolist())), rel=1e-3)


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
    distance, splits, _ = separation(x)
    assert (distance > 0).sum() > 5
    for row, series in enumerate(x.tolist()):
        if 2 * len(set(series)) >= n:
            expected, turns = naive_levels(series)
            assert distance[row] == pytest.approx(expected, rel=1e-9)
            assert [split for split in splits[row].tolist() if split] == turns
    whole = two_levels(x)
    assert whole.statistic.tolist() == distance.tolist()
    assert ((whole.pvalue < 1.0) <= (distance > 0.0)).all()
