"""Counts, sizes and tables written out in plain Python: orders of two samples, runs needed, readings, levels."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from speedproof.stats import location
from speedproof.stats.betting import LOG_WEIGHTS
from speedproof.stats.forecast import blocks_for_proof, growth, smallest_provable
from speedproof.stats.location import hodges_lehmann, median_interval
from speedproof.stats.multiplicity import closed_test
from speedproof.stats.normality import _lilliefors_pvalue, critical_distance, lilliefors, shapiro_wilk
from speedproof.stats.pooled import gathered, pooled_order, sample_ends, tie_excess
from speedproof.stats.power import runs_needed_means, runs_needed_ranks
from speedproof.stats.proportions import clopper_pearson, prop_test, validity_2013, wilson
from speedproof.stats.resolution import Resolution, coarse_step, coarse_steps
from speedproof.stats.two_levels import _tail, _tied, places_of_step, separation, two_levels

FloatArray = npt.NDArray[np.float64]


def drawn(seed: int, shape: tuple[int, ...], kind: str) -> FloatArray:
    rng = np.random.default_rng(seed)
    if kind == "constant":
        return np.full(shape, 3.0)
    return rng.normal(size=shape) if kind == "smooth" else rng.integers(0, 4, shape) / 4


KINDS = ["smooth", "tied", "constant"]
SIZES = [(1, 1), (1, 3), (3, 1), (2, 2), (5, 4), (8, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [None, 0.0, 0.25, 0.3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_counts_at_every_place_of_two_samples(n: int, m: int, kind: str, tolerance: float | None) -> None:
    """Of one pair, of rows, of a table of them, and of rows that share a side."""
    for of_x, of_y in (((), ()), ((3,), (3,)), ((2, 2), (2, 2)), ((), (3,)), ((3,), (1,)), ((1,), (2,))):
        x, y = drawn(n, (*of_x, n), kind), drawn(m + 9, (*of_y, m), kind)
        leading = np.broadcast_shapes(of_x, of_y)
        tolerances = None if tolerance is None else np.full(leading, tolerance)
        found = pooled_order(x, y, tolerances)
        assert (found.n, found.m) == (n, m)
        assert found.ends.shape == (*leading, n + m)
        assert found.merged.shape == found.ties.shape == leading
        x_here, y_below, y_here, x_below = found.placements()
        sides = np.broadcast_to(x, (*leading, n)), np.broadcast_to(y, (*leading, m))
        for row in np.ndindex(leading):
            # Of equal values those of X come first.
            pool = sorted([(v, 0) for v in sides[0][row].tolist()] + [(v, 1) for v in sides[1][row].tolist()])
            steps = [b - a for (a, _), (b, _) in itertools.pairwise(pool)]
            ends = [step > (tolerance or 0.0) for step in steps] + [True]
            assert found.ends[row].tolist() == ends
            assert found.ties[row] == (not all(ends))
            assert found.merged[row] == any(0.0 < step <= (tolerance or 0.0) for step in steps)
            upto, counts = [0, 0], [0, 0]
            for place, (_, side) in enumerate(pool):
                upto[side] += 1
                before = list(counts)
                counts = list(upto) if ends[place] else counts
                assert [found.x_upto[row][place], found.y_upto[row][place]] == counts
                here = [now - then for now, then in zip(counts, before, strict=True)]
                assert [x_here[row][place], y_here[row][place]] == here
                assert y_below[row][place] == counts[1] - here[1] / 2
                assert x_below[row][place] == counts[0] - here[0] / 2


@pytest.mark.parametrize("shape", [(1,), (7,), (1, 7), (3, 1), (3, 7), (2, 3, 5)])
@pytest.mark.parametrize("kind", KINDS)
def test_ties_of_each_row(shape: tuple[int, ...], kind: str) -> None:
    """The sum of t^3 - t over the values that occur t times."""
    x = drawn(4, shape, kind)
    ends = sample_ends(x)
    assert ends.shape == shape
    excess = tie_excess(ends)
    assert excess.shape == shape[:-1]
    for row in np.ndindex(shape[:-1]):
        values = sorted(x[row].tolist())
        assert ends[row].tolist() == [*(a < b for a, b in itertools.pairwise(values)), True]
        assert excess[row] == sum(t**3 - t for t in Counter(values).values())


@pytest.mark.parametrize("shape", [(1,), (6,), (1, 6), (1, 1, 6), (2, 6), (2, 1)])
def test_values_in_an_order(shape: tuple[int, ...]) -> None:
    values = drawn(5, shape, "smooth")
    order = np.argsort(np.abs(values), axis=-1)
    found = gathered(values, order)
    assert found.shape == shape
    for row in np.ndindex(shape[:-1]):
        assert found[row].tolist() == [values[row][k] for k in order[row].tolist()]


def normal(p: float) -> float:
    return float(stats.norm.ppf(p))


def whole(total: float, n: int, m: int) -> tuple[float, float]:
    """In the ratio of the samples, no fewer than two of each."""
    if math.isinf(total):
        return math.inf, math.inf
    of_x, of_y = (max(math.ceil(total * part / (n + m)), 2) for part in (n, m))
    return of_x, of_y


def exact_moments(values: list[float]) -> tuple[Fraction, Fraction]:
    exact = [Fraction(v) for v in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    return mean, sum(((v - mean) ** 2 for v in exact), Fraction(0)) / (len(exact) - 1)


RISKS = [(0.05, 0.8), (0.01, 0.9), (0.2, 0.5), (0.125, 0.6), (1e-4, 0.95)]


@pytest.mark.parametrize(("alpha", "power"), RISKS)
@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 1), (2, 2), (2, 3), (5, 5), (9, 4), (4, 12)])
def test_runs_that_a_difference_of_means_needs(n: int, m: int, alpha: float, power: float) -> None:
    """Guenther's formula, in fractions but for the quantiles; large effects, where every term counts, too."""
    rng = np.random.default_rng([n, m])
    for shift in (0.0, 0.3, 2.0, 6.0):
        x, y = rng.normal(shift, 1.0, (4, n)), rng.normal(0.0, 2.0, (4, m))
        x[3] = y[3, 0]
        y[3] = y[3, 0]
        needed = runs_needed_means(x, y, alpha, power)
        for row in range(4):
            total = math.inf
            if min(n, m) > 1 and row < 3:
                (mean_x, var_x), (mean_y, var_y) = (exact_moments(s[row].tolist()) for s in (x, y))
                noise = var_x * Fraction(n + m, n) + var_y * Fraction(n + m, m)
                z = normal(1 - alpha)
                total = (z + normal(power)) ** 2 * float(noise / (mean_x - mean_y) ** 2) + z * z / 2
            assert (needed.x[row], needed.y[row]) == whole(total, n, m)
    default = runs_needed_means(x, y, alpha)
    assert default.x.tolist() == runs_needed_means(x, y, alpha, 0.8).x.tolist()


def fewest(n: int, m: int, alpha: float) -> int:
    """Runs in all, in their ratio and from 4 on, of which one order has a probability up to alpha."""
    for total in itertools.count(4):
        of_x, of_y = (max(math.ceil(total * part / (n + m)), 2) for part in (n, m))
        if alpha * math.comb(of_x + of_y, of_x) >= 1:
            return total
    raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "power"), RISKS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 1), (3, 1), (2, 3), (5, 5), (9, 4), (4, 12)])
def test_runs_that_a_superiority_needs(n: int, m: int, kind: str, alpha: float, power: float) -> None:
    """Pair by pair: the share of wins, its variance under the null with ties, its own by the placements."""
    x, y = drawn(n, (5, n), kind), drawn(m + 9, (5, m), kind)
    x[1] += 0.5
    x[2] += 9.0
    x[3] -= 9.0
    needed = runs_needed_ranks(x, y, alpha, power)
    size = n + m
    for row in range(5):
        a, b = x[row].tolist(), y[row].tolist()
        won = [[(u > v) + 0.5 * (u == v) for v in b] for u in a]
        effect = abs(math.fsum(map(math.fsum, won)) / (n * m) - 0.5)
        total = math.inf
        if effect > 0:
            excess = sum(t**3 - t for t in Counter([*a, *b]).values())
            tested = math.sqrt((1 - excess / (size**3 - size)) * size**2 / (12 * n * m))
            own = tested
            if min(n, m) > 1:
                of_x = [math.fsum(line) / m for line in won]
                of_y = [math.fsum(line[k] for line in won) / n for k in range(m)]
                variance = np.var(of_x, ddof=1) / n + np.var(of_y, ddof=1) / m
                own = math.sqrt(float(variance) * size)
            total = ((normal(1 - alpha) * tested + normal(power) * own) / effect) ** 2
            total = max(total, fewest(n, m, alpha))
        assert (needed.x[row], needed.y[row]) == whole(total, n, m)
    assert runs_needed_ranks(x, y, alpha).x.tolist() == runs_needed_ranks(x, y, alpha, 0.8).x.tolist()


def missing_evidence(alpha: float) -> float:
    """Of a proof at a risk; the luckiest bet has 42 % of the initial wealth at most."""
    return -math.log(alpha) - math.log(0.42)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("blocks", [7, 12, 40, 2000])
@pytest.mark.parametrize("unit", [1e-9, 0.01, 5.0])
def test_the_smallest_provable_speedup_is_just_provable(blocks: int, alpha: float, unit: float) -> None:
    """Evidence comes in fast enough at it, and not a thousandth below; the noise has no direction."""
    d = unit * np.random.default_rng(blocks).normal(0.3, 1.0, 40)
    both = np.concatenate([d, -d])
    found = math.log(smallest_provable(d, blocks, alpha=alpha))
    assert growth(both, found * (1 + 1e-9)) * blocks >= missing_evidence(alpha) * (1 - 1e-9)
    lower = found * (1 - 1.001e-3)
    assert growth(both, lower) * blocks < missing_evidence(alpha)
    assert smallest_provable(-d, blocks, alpha=alpha) == math.exp(found)
    faster = d + unit
    rate = growth(faster, 0.0)
    assert blocks_for_proof(faster, alpha) == pytest.approx(missing_evidence(alpha) / rate, rel=1e-12)


def test_how_few_blocks_prove_anything_without_noise() -> None:
    """A fair coin that always falls alike doubles the wealth of who bets all: blocks * log 2 is what there is."""
    for alpha in (0.05, 0.2, 0.3, 0.01):
        blocks = missing_evidence(alpha) / math.log(2)
        assert smallest_provable([0.0, 0.0], blocks * (1 + 1e-12), alpha=alpha) == 1.0
        assert smallest_provable([0.0, 0.0], blocks * (1 - 1e-12), alpha=alpha) == math.inf
    assert math.isinf(smallest_provable([0.1, 0.2], 3, alpha=0.05))
    exact = 0
    for alpha in np.linspace(0.01, 0.4, 40).tolist():
        missing = -math.log(alpha) - float(LOG_WEIGHTS.max())
        blocks = missing / math.log(2)
        if blocks * math.log(2) == missing:  # just enough
            assert smallest_provable([0.0, 0.0], blocks, alpha=alpha) == 1.0
            exact += 1
    assert exact > 0


@pytest.mark.parametrize(("size", "finite"), [(350.0, True), (350.5, False)])
def test_speedups_beyond_doubles_are_not_provable(size: float, finite: bool) -> None:
    """Its logarithm is looked for up to 700: at twice the only difference all blocks win, at once half of them."""
    both = np.array([size, -size])
    rates = growth(both, size), growth(both, 2 * size)
    blocks = missing_evidence(0.05) / (0.5 * sum(rates))
    found = smallest_provable([size, size], blocks, alpha=0.05)
    assert math.isfinite(found) is finite
    assert not finite or size < math.log(found) <= 700.0


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_the_closed_test_looks_at_every_set(alpha: float) -> None:
    """A hypothesis falls when each set that holds it has a mean of at least 1 / alpha; ties, huge values."""
    rng = np.random.default_rng(7)
    seen = Counter[bool]()
    for _ in range(60):
        n = int(rng.integers(1, 6))
        logs = rng.choice([-5.0, 0.0, 1.5, 2.5, 3.2, 4.0, 1000.0], n) + rng.choice([0.0, 0.01], n)
        values = [math.exp(min(v, 700.0)) for v in logs.tolist()]
        expected = [
            all(
                math.fsum(values[k] for k in some) / size >= (1 + 1e-9) / alpha
                for size in range(1, n + 1)
                for some in itertools.combinations(range(n), size)
                if i in some
            )
            for i in range(n)
        ]
        assert closed_test(logs, alpha=alpha).tolist() == expected
        seen.update(expected)
    assert min(seen[True], seen[False]) > 20
    for factor, falls in ((1.5, True), (1 + 2e-9, True), (1 + 1e-10, False), (0.5, False)):
        assert closed_test([math.log(factor / alpha)], alpha=alpha).tolist() == [falls]
    risks = np.linspace(0.01, 0.5, 50)
    enough = (1 + 1e-9) / risks
    met = np.exp(np.log(enough)) == enough
    assert met.any()
    assert all(closed_test([math.log(e)], alpha=a)[0] for a, e in zip(risks[met], enough[met], strict=True))


def test_proportions_of_all_small_counts() -> None:
    """Intervals are inside of 0 and 1, hold the share, and end there exactly where nothing or all counts."""
    for b in range(1, 12):
        for a in range(b + 1):
            for alpha in (0.5, 0.01):
                for interval, method in (
                    (clopper_pearson, "exact"), (wilson, "wilson"), (prop_test, "wilsoncc"),
                ):  # fmt: skip
                    found = interval(a, b, alpha)
                    if b < 6:
                        limits = stats.binomtest(a, b).proportion_ci(1 - alpha, method=method)
                        if not (method == "wilsoncc" and a * 2 == b):
                            assert found.low == pytest.approx(limits.low, abs=1e-9)
                            assert found.high == pytest.approx(limits.high, abs=1e-9)
                    assert found.confidence == 1 - alpha
                    assert 0.0 <= found.low <= found.value == a / b <= found.high <= 1.0
                    assert found.low > 0.0 if a > 0 and method != "wilsoncc" else found.low == 0.0 or a > 0
                    assert found.high < 1.0 if a < b and method != "wilsoncc" else found.high == 1.0 or a < b


def test_a_half_is_not_corrected_for_and_the_papers_condition() -> None:
    for b in range(1, 30):
        for a in range(b + 1):
            assert validity_2013(a, b) == pytest.approx(float(a - Fraction(a * a, b)), abs=1e-12)
        if b % 2 == 0:
            assert prop_test(b // 2, b, 0.1) == wilson(b // 2, b, 0.1)


def decimals(value: float) -> float:
    """The last place of a value as Python writes it, at most 1."""
    return next(10.0**-k for k in range(20) if Fraction(repr(value)) * 10**k % 1 == 0)


def reading(own: list[float]) -> float:
    n, counts = len(own), Counter(own)
    if n < 2 or Fraction(sum(t * (t - 1) for t in counts.values()), n * (n - 1)) < Fraction(1, 4):
        return 0.0
    return decimals(own[0]) if len(counts) == 1 else min(b - a for a, b in itertools.pairwise(sorted(counts)))


def test_readings_of_two_sides_by_definition() -> None:
    """The step of each; of a constant side the smallest difference of both, of two such the finer place."""
    rng = np.random.default_rng(8)
    x = rng.choice([0.5, 0.75, 1.25, 2.0], (60, 5))
    y = rng.choice([0.5, 0.6, 1.0], (60, 4))
    x[:12], y[8:20] = 0.5, 1.25
    x[20:26], y[23:28] = rng.normal(size=(6, 5)), rng.normal(size=(5, 4))
    x[40], y[40] = 0.25, 0.25
    x[41], y[42] = np.arange(5), 3.0
    x[42] = np.arange(5)
    steps = coarse_steps(x, y)
    kinds = set()
    for row, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        own = [reading(a), reading(b)]
        assert [coarse_step(a), coarse_step(b)] == pytest.approx(own, abs=0)
        constant = [len(set(a)) == 1, len(set(b)) == 1]
        pool = sorted({*a, *b})
        both = min(map(decimals, pool)) if all(constant) else min(map(float, np.diff(pool)), default=0.0)
        expected = [both if c else step for c, step in zip(constant, own, strict=True)]
        assert steps[row].tolist() == expected
        kinds.add((*constant, own[0] > 0, own[1] > 0))
    assert len(kinds) >= 6
    assert coarse_steps(x[0], y[0]).shape == (1, 2)
    assert coarse_steps([1.0], [1.0, 1.0]).tolist() == [[0.0, 1.0]]


def test_readings_one_by_one() -> None:
    """The smallest difference so far once any tie was seen; of one value its last place."""
    rng = np.random.default_rng(6)
    for size in range(1, 9):
        for _ in range(12):
            seen, own = Resolution(), list[float]()
            for value in rng.choice([0.5, 0.75, 1.25, 2.0, 17.0, 40.0, 1e3], size).tolist():
                seen.add(value)
                own.append(value)
                distinct = sorted(set(own))
                tied = len(distinct) < len(own)
                gap = min((b - a for a, b in itertools.pairwise(distinct)), default=0.0) if tied else 0.0
                assert seen.seen == gap
                assert seen.step == (decimals(value) if tied and len(distinct) == 1 else gap)


TABLE: dict[str, Any] = json.loads(
    resources.files("speedproof.stats").joinpath("two_levels_null.json").read_text(encoding="utf-8")
)


def rows() -> Iterator[tuple[int, int]]:
    """Lengths of series with the row of the table that they are judged by: the next shorter one."""
    for n in (8, 9, 10, 11, 13, 19, 20, 21, 33, 99, 100, 101, 5000):
        yield n, max(k for k, size in enumerate(TABLE["sizes"]) if size <= n)


def test_the_table_of_two_levels() -> None:
    """Its levels at its quantiles; between and beyond them log p is linear in log distance, and 1 below."""
    levels = TABLE["levels"]
    for n, row in rows():
        quantiles = TABLE["quantiles"][row]
        assert _tied(n) == TABLE["tied"][row]
        known = [(a, p) for a, p in zip(quantiles, levels, strict=True) if quantiles.count(a) == 1]
        assert len(known) >= 4
        assert _tail(np.array([a for a, _ in known]), n) == pytest.approx([p for _, p in known], rel=1e-12)
        for (a, p), (b, q) in itertools.pairwise(known):
            assert _tail(np.array([math.sqrt(a * b)]), n) == pytest.approx(math.sqrt(p * q), rel=1e-12)
        assert _tail(np.array([0.999 * quantiles[0], 0.0]), n).tolist() == [1.0, 1.0]
        slope = math.log(levels[-1] / levels[-3]) / math.log(quantiles[-1] / quantiles[-3])
        for factor in (1.001, 1.5, 7.0):
            expected = levels[-1] * factor**slope
            assert _tail(np.array([factor * quantiles[-1]]), n) == pytest.approx(expected, rel=1e-11)
        assert _tail(np.array([math.inf]), n).tolist() == [0.0]


@pytest.mark.parametrize("n", [8, 9, 12, 20, 31])
def test_the_pvalue_of_two_levels_is_the_largest_of_its_three(n: int) -> None:
    """Of the orders, of dependence, and of coarse readings; also of levels without any spread."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=(30, n)) + rng.uniform(1.5, 9.0, (30, 1)) * (
        np.arange(n) >= rng.integers(3, n - 2, (30, 1))
    )
    x[10:20] = np.round(x[10:20])
    x[28], x[29] = np.where(np.arange(n) < 4, 1.0, 2.0), np.where(np.arange(n) < n - 3, 2.0, 1.0)
    found = two_levels(x)
    distance, split, coarse = separation(x)
    assert found.distance.tolist() == distance.tolist()
    assert found.split.tolist() == split.tolist()
    assert (found.distance[28:] > 1e15).all()  # infinite but for the rounding of a mean
    assert found.split[28:].tolist() == [4, n - 3]
    assert coarse[28:].all()
    for row in range(30):
        if distance[row] == 0.0:
            assert found.pvalue[row] == 1.0
            continue
        parts = [2 / math.comb(n, int(split[row])), float(_tail(distance[row : row + 1], n)[0])]
        parts += [_tied(n)] if coarse[row] else []
        assert found.pvalue[row] == pytest.approx(max(parts), rel=1e-12)
    assert (distance > 0).sum() > 8
    assert {bool(c) for c in coarse[distance > 0]} == {False, True}


@pytest.mark.parametrize("n", [1, 2, 7])
def test_fewer_than_eight_values_have_no_levels(n: int) -> None:
    found = two_levels(np.arange(3.0 * n).reshape(3, n))
    assert found.distance.tolist() == [0.0] * 3
    assert found.split.tolist() == [n] * 3
    assert found.pvalue.tolist() == [1.0] * 3


@pytest.mark.parametrize("n", [6, 8, 11])
def test_where_a_step_may_be(n: int) -> None:
    """Where the squares that are left exceed the least by few of their means, on n - 2 degrees of freedom."""
    rng = np.random.default_rng(n)
    for _ in range(40):
        x = rng.normal(size=n) + 1.5 * (np.arange(n) >= n // 2)
        left = {k: float(k * np.var(x[:k]) + (n - k) * np.var(x[k:])) for k in range(1, n)}
        split = min(left, key=left.__getitem__)
        for alpha in (0.01, 0.05, 0.3, 0.6, 0.9):
            limit = -2 * math.log(1 - math.sqrt(1 - alpha))
            kept = [k for k, own in left.items() if (own - left[split]) / (left[split] / (n - 2)) <= limit]
            assert places_of_step(x, split, alpha) == (min(kept), max(kept))


def test_where_a_step_may_be_holds_its_split() -> None:
    """Without any noise it is the only place."""
    x = np.repeat([1.0, 5.0], [4, 6])
    assert places_of_step(x, 4, 0.05) == (4, 4)
    noisy = x + 2.0 * np.random.default_rng(1).normal(size=10)
    assert places_of_step(noisy, 4, 1e-9) == (1, 9)
    for unit in (2.0**-700, 2.0**700):
        assert places_of_step(unit * x, 4, 0.05) == (4, 4)
        assert places_of_step(unit * noisy, 4, 0.3) == places_of_step(noisy, 4, 0.3) != (1, 9)


@pytest.mark.parametrize("test", [shapiro_wilk, lilliefors])
def test_normality_is_undefined_for_few_values_of_any_shape(test: Any) -> None:
    for n in range(1, 4):
        for leading in ((), (2,), (2, 3)):
            found = test(np.arange(float(math.prod(leading) * n)).reshape(*leading, n))
            defined = test is shapiro_wilk and n == 3
            for part in (found.statistic, found.pvalue):
                assert np.shape(part) == leading
                assert np.isnan(part).all() != defined


@pytest.mark.parametrize("test", [shapiro_wilk, lilliefors])
@pytest.mark.parametrize("n", [4, 5, 12, 51])
def test_normality_does_not_depend_on_a_common_offset(test: Any, n: int) -> None:
    """Of eighths, which are doubles with it, too; a row of one value is constant, of one other it is not."""
    rng = np.random.default_rng(n)
    x = rng.integers(0, 40, (3, n)) / 8
    near, far = test(x), test(2.0**44 + x)
    assert far.statistic == pytest.approx(near.statistic, rel=1e-12)
    assert far.pvalue == pytest.approx(near.pvalue, rel=1e-9)
    rows = np.full((3, n), 5.0)
    rows[1, 0], rows[2, -1] = 1.0, 9.0
    assert np.isnan(test(rows).statistic).tolist() == [True, False, False]
    assert np.isnan(test(rows).pvalue).tolist() == [True, False, False]


def test_two_equal_values_of_three_are_the_least_normal() -> None:
    """W is three quarters there, its least, and the p-value 0, never below."""
    rng = np.random.default_rng(3)
    pairs = rng.lognormal(0.0, 3.0, (400, 2))
    found = shapiro_wilk(np.stack([pairs[:, 0], pairs[:, 0], pairs[:, 1]], axis=1))
    assert found.statistic == pytest.approx(np.full(400, 0.75), abs=1e-12)
    assert (found.pvalue >= 0.0).all()
    assert (found.pvalue < 1e-6).all()


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 10, 11, 12, 13, 40, 700, 5000])
def test_shapiro_and_wilk_against_scipy(n: int) -> None:
    """Royston's algorithm in another implementation, whose quantiles have seven digits; row by row as alone."""
    rng = np.random.default_rng(n)
    x = np.stack([rng.normal(size=n), rng.exponential(size=n), rng.uniform(size=n), 1e4 + rng.normal(size=n)])
    found = shapiro_wilk(x)
    for row, own in enumerate(x):
        expected = stats.shapiro(own)
        assert found.statistic[row] == pytest.approx(expected.statistic, abs=2e-7)
        assert found.pvalue[row] == pytest.approx(expected.pvalue, rel=2e-4, abs=1e-9)
        assert float(shapiro_wilk(own).pvalue) == pytest.approx(found.pvalue[row], rel=1e-9)


def neighbours(value: float) -> list[float]:
    return [float(np.nextafter(value, 0.0)), value, float(np.nextafter(value, 9.0))]


@pytest.mark.parametrize("n", [4, 5, 20, 99, 100, 101, 250])
def test_pvalues_of_lilliefors_formula_by_formula(n: int) -> None:
    """Dallal and Wilkinson (1986) up to 0.1, Stephens' (1974) pieces above, each up to its limit."""
    scale = math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n)
    limits = [near for k in (0.302, 0.5) for near in neighbours(k / scale)]
    assert {0.302, 0.5} & {scale * d for d in limits}
    at = np.concatenate([np.linspace(0.2, 1.4, 500) / scale, limits])
    found = _lilliefors_pvalue(at, n)
    for d, p in zip(at.tolist(), found.tolist(), strict=True):
        own, size = (d, n) if n <= 100 else (d * (n / 100) ** 0.49, 100)
        small = math.exp(
            -7.01256 * own**2 * (size + 2.78019) + 2.99587 * own * math.sqrt(size + 2.78019)
            - 0.122119 + 0.974598 / math.sqrt(size) + 1.67997 / size
        )  # fmt: skip
        k = scale * d
        if k <= 0.302:
            large = 1.0
        elif k <= 0.5:
            large = 2.76773 - 19.828315 * k + 80.709644 * k**2 - 138.55152 * k**3 + 81.218052 * k**4
        else:
            large = -4.901232 + 40.662806 * k - 97.490286 * k**2 + 94.029866 * k**3 - 32.355711 * k**4
        assert p == pytest.approx(small if small <= 0.1 else min(max(large, 0.0), 1.0), rel=1e-9)
    for alpha in (0.05, 0.01):
        critical = critical_distance(n, alpha)
        tail = _lilliefors_pvalue(np.array([critical, np.nextafter(critical, 0.0)]), n)
        assert tail[0] <= alpha < tail[1]


@pytest.mark.parametrize("n", [4, 5, 9, 30])
def test_lilliefors_distance_of_rows(n: int) -> None:
    """Over both sides of each step; a constant row has none, however many others there are."""
    rng = np.random.default_rng(n)
    x = rng.exponential(size=(2, 3, n))
    x[1, 1] = 5.0
    found = lilliefors(x)
    for row in np.ndindex(2, 3):
        if row == (1, 1):
            assert math.isnan(found.statistic[row])
            continue
        own = sorted(x[row].tolist())
        fitted = stats.norm.cdf(own, np.mean(own), np.std(own, ddof=1)).tolist()
        distance = max(max((k + 1) / n - f, f - k / n) for k, f in enumerate(fitted))
        assert found.statistic[row] == pytest.approx(distance, abs=1e-12)
        assert found.pvalue[row] == pytest.approx(float(_lilliefors_pvalue(np.array(distance), n)), rel=1e-9)


@pytest.mark.parametrize("few", [None, 3, 0])
@pytest.mark.parametrize("n", range(1, 14))
def test_hodges_and_lehmann_of_small_samples(
    monkeypatch: pytest.MonkeyPatch, n: int, few: int | None
) -> None:
    """Of eighths, whose means are doubles, to the bit where they are listed."""
    rng = np.random.default_rng(n)
    if few is not None:
        monkeypatch.setattr(location, "_FEW", few)
    for spread in (2, 5, 1000):
        x = np.sort(rng.integers(-spread, spread, n) / 8)
        means = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(x.tolist(), 2))
        middle = len(means) // 2
        expected = means[middle] if len(means) % 2 else (means[middle - 1] + means[middle]) / 2
        assert hodges_lehmann(x) == (expected if few is None else pytest.approx(expected, abs=1e-12))


def test_ranks_of_a_median_of_many_values() -> None:
    """Of more than a thousand by the normal distribution, rounded outwards; up to it by the binomial one."""

    def by_normal(n: int, alpha: float) -> int:
        return math.floor((n - math.sqrt(n) * float(stats.norm.isf(alpha / 2))) / 2)

    def exact(n: int, alpha: float) -> int:
        return int(np.searchsorted(2 * stats.binom.cdf(np.arange(n), n, 0.5), alpha, side="right"))

    tried = np.linspace(0.003, 0.5, 300).tolist()
    apart = [[a for a in tried if by_normal(n, a) != exact(n, a)][:3] for n in (1000, 1001)]
    assert all(apart)
    risks = [0.05, *itertools.chain(*apart)]
    for n, rank in ((1000, exact), (1001, by_normal), (4000, by_normal)):
        values = np.arange(1.0, n + 1)
        assert [median_interval(values, a) for a in risks] == [
            (rank(n, a), n + 1 - rank(n, a)) for a in risks
        ]
        assert median_interval(values) == median_interval(values, 0.05)
    assert np.isnan(median_interval(np.arange(1001.0), 1e-300)).all()
