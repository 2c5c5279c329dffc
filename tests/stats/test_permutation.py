"""Permutation distributions, rank nulls and pooled samples: rational numbers, every order, plain counting."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import special, stats
from scipy import stats as scipy_stats

from speedproof.arrays import ArrayPair, FloatArray
from speedproof.stats.crossings import crossing_pairs
from speedproof.stats.permutation import (
    Null,
    Spread,
    Studentised,
    bounded,
    most_single,
    null_distribution,
    one_order,
    states_between,
    studentised,
    tied_pvalue,
    walked,
)
from speedproof.stats.rank_scores import ROUNDING, Pairs, Score, Search, pairs_of, scores_of
from speedproof.stats.ranks import merged_places, rank_sum, rank_sum_tails, ranked
from speedproof.stats.smirnov import kolmogorov_sf, ks_location
from speedproof.stats.superiority import typical_ratio

Sums = tuple[Fraction, Fraction, Fraction]
HALF = Fraction(1, 2)


def sums_of(x: Sequence[Fraction | int], y: Sequence[Fraction | int]) -> Sums:
    """The pairs won, and the sums of squares of what lies below each value, a tie counting one half."""
    below_x = [sum(((b < a) + HALF * (b == a) for b in y), Fraction(0)) for a in x]
    below_y = [sum(((a < b) + HALF * (a == b) for a in x), Fraction(0)) for b in y]
    none = Fraction(0)
    return sum(below_x, none), sum((v**2 for v in below_x), none), sum((v**2 for v in below_y), none)


def naive(sums: Sums, n: int, m: int, factors: tuple[Fraction, Fraction], tied: Fraction) -> list[float]:
    """The statistic, its error, its degrees of freedom and the largest statistic under the floor."""
    won, square_x, square_y = sums
    share_x = (square_x - won**2 / n) / (n - 1) / m**2 * factors[0] / n
    share_y = (square_y - (n * m - won) ** 2 / m) / (m - 1) / n**2 * factors[1] / m
    share = Fraction(57, 100)
    free_x, free_y = (max(share * (k / f - 1), Fraction(1)) for k, f in zip((n, m), factors, strict=True))
    total, effect = share_x + share_y, won / (n * m) - HALF
    df = total**2 / (share_x**2 / free_x + share_y**2 / free_y) if total else min(free_x, free_y)
    equal = (m * factors[0] + n * factors[1] + 1) / (12 * n * m) * (1 - tied)
    se, floor = math.sqrt(total), math.sqrt(Fraction(85, 100) * equal)
    apart = math.copysign(math.inf, effect) if effect else math.nan
    return [effect / se if se else apart, se, float(df), abs(effect) / floor if floor else math.inf]


def spread(of: list[Sums]) -> Spread:
    return Spread(*(np.array([float(one[k]) for one in of]) for k in range(3)))


@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 5), (4, 3), (5, 5), (3, 7)])
def test_the_statistic_in_rational_numbers(n: int, m: int) -> None:
    rng = np.random.default_rng([n, m])
    drawn = [(rng.integers(0, k, n).tolist(), rng.integers(0, k, m).tolist()) for k in (2, 3, 9, 40) * 4]
    found_sums = [sums_of(x, y) for x, y in [*drawn, ([9] * n, [1] * m), ([1] * n, [9] * m)]]
    for factors in [(Fraction(f), Fraction(g)) for f in (1, 1.5, 6) for g in (1, 1.5, 6)]:
        for tied in (Fraction(0), Fraction(1, 3), Fraction(1)):
            found = studentised(spread(found_sums), n, m, (float(factors[0]), float(factors[1])), float(tied))
            expected = np.array([naive(one, n, m, factors, tied) for one in found_sums]).T
            for one, other in zip((found.statistic, found.se, found.df, found.most), expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
    plain = studentised(spread(found_sums), n, m)
    usual = studentised(spread(found_sums), n, m, (1.0, 1.0), 0.0)
    np.testing.assert_array_equal([plain.statistic, plain.most], [usual.statistic, usual.most])


PATTERNS = [(1, 1, 1, 1), (1,) * 7, (4,), (2, 1, 3), (1, 2, 2, 1), (3, 3), (1, 5), (1, 1, 1, 4), (2, 2, 2, 2)]


def listed(groups: tuple[int, ...], n: int) -> list[Sums]:
    """The sums of every way to call n of the values x."""
    pool = [k for k, size in enumerate(groups) for _ in range(size)]
    ways = itertools.combinations(range(len(pool)), n)
    return [
        sums_of([pool[i] for i in way], [pool[i] for i in range(len(pool)) if i not in way]) for way in ways
    ]


def deviate(t: float, df: float, most: float, smaller: float) -> float:
    """Hill's deviate (Algorithm 395), stretched, and no larger than the floor leaves; 0 of equal values."""
    if math.isnan(t) or math.isinf(t):
        return 0.0 if math.isnan(t) else t
    a = df - 0.5
    b, y = 48 * a**2, a * math.log1p(t**2 / df)
    z = 1 + (y + 3) / b - (4 * y**3 + 33 * y**2 + 240 * y + 855) / (10 * b * (0.8 * y**2 + 100 + b))
    z *= math.sqrt(y)
    z /= math.sqrt(max(1 + 2 * 0.13 / smaller * (z * z - 5.0), 0.1))
    return math.copysign(min(z, most), t)


def scored(of: list[Sums], n: int, m: int, tied: Fraction) -> FloatArray:
    """What orders the outcomes."""
    found = [naive(one, n, m, (Fraction(1), Fraction(1)), tied) for one in of]
    return np.array([deviate(t, df, most, min(n, m)) for t, _, df, most in found])


@pytest.mark.parametrize("groups", PATTERNS)
def test_tied_pvalues_are_shares_of_the_orders(groups: tuple[int, ...]) -> None:
    size = sum(groups)
    tied = Fraction(sum(t**3 - t for t in groups), size**3 - size)
    for n in range(2, size - 1):
        every = scored(listed(groups, n), n, size - n, tied)
        for t in {*every.tolist(), 0.0 if len(groups) == 1 else every.max()}:
            share = float(np.mean((every >= t - 1e-9) | (every == t)))
            for near in (t, t * (1 + 1e-12), t * (1 - 1e-12)):
                assert tied_pvalue(groups, n, near) == pytest.approx(share, rel=1e-12)
        assert tied_pvalue(groups, n, -1e9) == 1.0


@pytest.mark.parametrize(
    ("sizes", "enumerated"),
    [
        ((10, 10), (10, 10)), ((9, 10), (9, 10)), ((9, 12), None), ((10, 11), None), ((11, 11), None),
        ((8, 12), (8, 12)), ((8, 13), None), ((40, 8), None), ((7, 15), (7, 15)), ((7, 16), None),
        ((4, 12), (4, 12)), ((500, 4), (4, 12)), ((3, 3000), (3, 9)), ((6, 18), (6, 18)), ((6, 19), (6, 18)),
        ((10**6, 2), (2, 6)), ((600, 700), None), ((9, 10**5), None),
    ],
)  # fmt: skip
def test_which_sizes_are_enumerated(sizes: tuple[int, int], enumerated: tuple[int, int] | None) -> None:
    """At most 200,000 orders, the larger side cut to thrice the smaller one."""
    found = null_distribution(*sizes, True)
    assert (found.n, found.m) == sizes
    assert not null_distribution(*sizes, False).exact
    assert found.exact == (enumerated is not None)
    if enumerated:
        small, large = enumerated
        assert math.comb(small + large, small) <= 200_000
        assert sizes == enumerated or large == 3 * small
        other = null_distribution(small, large, True)
        assert found.scores is not None
        assert other.scores is not None
        np.testing.assert_array_equal(found.scores, other.scores)


@pytest.mark.parametrize("smaller", [None, 1.0, 1.5, 4.0, 30.0])
def test_approximated_scores_and_quantiles(smaller: float | None) -> None:
    null = Null(11, 14)
    size = 11.0 if smaller is None else smaller
    t = np.array([0.3, -0.3, 1.7, -4.0, 25.0, -1e200, np.inf, -np.inf, np.nan, 0.0])
    for df, most in itertools.product((1.0, 7.5, 90.0), (0.5, 3.0, 1e300)):
        found = Studentised(t, np.ones(10), np.full(10, df), np.full(10, most))
        limited = np.where(np.isinf(t), t, np.clip(t, -1e150, 1e150)).tolist()
        expected = [deviate(v, df, most, size) for v in limited]
        assert null.score(found, smaller).tolist() == pytest.approx(expected, rel=1e-12)
    for alpha in (0.9, 0.5, 0.3, 0.05, 1e-3, 1e-6):
        z, k = float(stats.norm.isf(alpha)), 0.13 / size
        square = z * z * (1 - 2 * k * 5.0) / max(1 - 2 * k * z * z, 0.1)
        quantile = math.copysign(math.sqrt(max(square, 0.0)), z)
        free = np.array([2.0, 9.0, 200.0])
        expected_t = special.stdtrit(free, special.ndtr(quantile))
        np.testing.assert_allclose(null.quantile(alpha, free, smaller), expected_t, rtol=1e-9, atol=1e-15)
        assert null.critical(alpha) == pytest.approx(z, rel=1e-9, abs=1e-15)
    of_few = [Null(9, n).quantile(0.05, np.array([2.0]))[0] for n in (2, 3, 4)]
    assert np.isfinite(of_few).tolist() == [False, False, True]
    scores = np.array([-3.0, 0.0, 2.0, 9.0, np.inf])
    least = 0.8 * 0.5**11
    expected = [*stats.norm.sf(scores[:3]), least, least]
    assert null.pvalue(scores).tolist() == pytest.approx(expected, rel=1e-12)


def test_the_probability_of_one_order() -> None:
    """1 over the orders, while that is a double; below there is none, and so many runs are compared."""
    for n, m in ((1, 1), (3, 3), (4, 9), (499, 499), (499, 501), (2, 100_000)):
        assert one_order(n, m) == one_order(m, n) == 1 / math.comb(n + m, n)
    for n, m in ((500, 500), (4000, 600), (100, 100_000), (499, 10**6)):
        assert one_order(n, m) == one_order(m, n) == 0.0
    x, y = np.linspace(3.0, 4.0, 100_000), np.linspace(1.0, 2.0, 600)
    least = 0.8 * 0.5**600
    assert (float(typical_ratio(x, y, 0.05).pvalue), float(typical_ratio(y, x, 0.05).pvalue)) == (least, 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_rank_sum_given_the_ties_against_all_splits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 7, 2)
    pool = np.concatenate((rng.integers(0, rng.integers(2, 9), n), rng.integers(0, 6, m)))
    twice = np.array([2 * sum(split) for split in itertools.combinations(stats.rankdata(pool), n)]) - n * (
        n + 1
    )
    tails = rank_sum_tails(tuple(np.unique(pool, return_counts=True)[1].tolist()), int(n))
    for seen in {*twice.tolist()}:
        expected = np.mean(twice >= seen), np.mean(twice <= seen)
        assert (tails[0][int(seen)], tails[1][int(seen)]) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(("n", "m", "exact"), [(49, 49, True), (50, 3, False), (3, 50, False), (49, 2, True)])
def test_up_to_which_size_ranks_are_counted(n: int, m: int, exact: bool) -> None:
    """Below fifty of both sides, as in R; with ties nowhere. The fields of equal values."""
    rng = np.random.default_rng([n, m])
    x, y = rng.random((2, n)), rng.random((2, m))
    x[1, 0] = y[1, 0]
    found = rank_sum(x, y)
    assert (found.exact.tolist(), found.ties.tolist()) == ([exact, False], [False, True])
    for row in range(2):
        method = "exact" if found.exact[row] else "asymptotic"
        for p, side in ((found.pvalue, "greater"), (found.pvalue_less, "less")):
            expected = stats.mannwhitneyu(x[row], y[row], alternative=side, method=method)
            assert p[row] == pytest.approx(expected.pvalue, rel=1e-10)
            assert found.statistic[row] == expected.statistic


def test_the_limiting_tail() -> None:
    """To the last digits on either side of where the two expansions meet, and at both ends."""
    x = np.concatenate([np.linspace(0.15, 3.0, 400), 1.0 + np.linspace(-1e-6, 1e-6, 5), [5.0, 10.0, 18.0]])
    np.testing.assert_allclose(kolmogorov_sf(x), special.kolmogorov(x), rtol=2e-14)
    assert kolmogorov_sf([-3.0, 0.0, 1e-9, 0.02]).tolist() == [1.0] * 4
    assert kolmogorov_sf([40.0, 1e9]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("n", "m", "exact"), [(99, 101, True), (100, 100, False), (101, 100, False), (3, 3333, True)]
)
def test_up_to_which_product_paths_are_counted(n: int, m: int, exact: bool) -> None:
    rng = np.random.default_rng([n, m])
    x, y = rng.normal(0.0, 1.0, n), rng.normal(0.0, 2.0, m)
    found, legacy = ks_location(x, y, rule="r422"), ks_location(x, y)
    assert bool(found.exact) == exact
    assert bool(legacy.exact) == (exact and not legacy.ties)
    assert bool(legacy.ties) == (n % 2 == m % 2 == 1)
    d = float(stats.ks_2samp(x - np.median(x), y - np.median(y)).statistic)
    assert float(found.statistic) == pytest.approx(d, rel=1e-12)
    limit = special.kolmogorov(math.sqrt(n * m / (n + m)) * d)
    assert float(found.pvalue) == pytest.approx(limit, rel=0.3 if exact else 1e-9)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (4, 5), (6, 3)])
def test_a_walk_through_all_ratios(n: int, m: int) -> None:
    """The scores of a walk are those of X against gamma Y, gamma between each two ratios."""
    rng = np.random.default_rng([n, m])
    x, y = np.sort(rng.permutation(900)[:n] + 2), np.sort(rng.permutation(1000)[:m] + 1)[::-1]
    ratios = np.array([[Fraction(int(a), int(b)) for b in y] for a in x], dtype=object).ravel()
    order = np.argsort(ratios, kind="stable")
    inflation = np.array([[1.0, 1.0], [1.5, 3.0]])
    effective = np.array([n, m]) / inflation
    found = walked(np.stack([order, order]), n, m, inflation, effective.min(axis=1))
    gammas = [
        Fraction(0), *(Fraction(a + b, 2) for a, b in itertools.pairwise(ratios[order])), Fraction(10**6),
    ]  # fmt: skip
    for k, gamma in enumerate(gammas):
        if k in (0, n * m) or ratios[order[k - 1]] < ratios[order[k]]:
            states = spread([sums_of([int(a) for a in x], [gamma * int(b) for b in y])])
            for row, factors in enumerate(inflation):
                statistic = studentised(states, n, m, tuple(factors))
                score = Null(n, m).score(statistic, effective[row].min())
                assert found[row, k] == pytest.approx(float(score[0]), rel=1e-12), k


@pytest.mark.parametrize(("n", "m"), [(4, 4), (4, 9), (6, 12)])
def test_of_few_ties_nothing_is_known_from_some_number_on(n: int, m: int) -> None:
    """A quick look at how many values equal no other never hides a p-value."""
    for single in range(n + m - 1):
        groups = (*[1] * single, n + m - single)
        assert single < most_single(min(n, m)) or math.isnan(tied_pvalue(groups, n, 1.0))
    least = most_single(3)
    assert math.comb(least - 1, 3) <= 5000 < math.comb(least, 3)


@pytest.mark.parametrize("shape", [(3,), (30,), (1, 7), (5, 1), (2, 3, 5), (3, 5000)])
def test_ranks_against_scipy(shape: tuple[int, ...]) -> None:
    """Without ties, with many, all equal, near zero and far from it, with zeros of both signs."""
    rng = np.random.default_rng(shape)
    for x in (
        *(rng.integers(0, high, shape) / 8 for high in (1, 2, 4, 1000)),
        rng.normal(size=shape),
        np.where(rng.random(shape) < 0.1, -0.0, rng.integers(0, 2, shape)),
        10.0 ** rng.uniform(-300, 300, shape) * rng.choice([-1.0, 1.0], shape),
        1.0 + 1e300 * (rng.random(shape) < 0.001) + rng.integers(0, 99, shape) * 2.0**-52,
    ):
        ranks, ascending = ranked(x)
        np.testing.assert_array_equal(ranks, scipy_stats.rankdata(x, axis=-1))
        np.testing.assert_array_equal(ascending, np.sort(x, axis=-1))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 7), (8, 3), (40, 40)])
@pytest.mark.parametrize("high", [1, 3, 1000])
def test_by_counting(n: int, m: int, high: int) -> None:
    """Of values that differ, of many that are equal, of all that are, and infinite ones."""
    rng = np.random.default_rng([n, m, high])
    x, y = (np.sort(rng.integers(0, high, (5, size)) / 8, axis=1) for size in (n, m))
    x[-1, -1] = y[-1, -1] = math.inf
    for x_first in (True, False):
        of_x, of_y = merged_places(x, y, x_first)
        for row in range(5):
            for value, count in zip(x[row], of_x[row], strict=True):
                assert count == sum(v < value or (v == value and not x_first) for v in y[row])
            for value, count in zip(y[row], of_y[row], strict=True):
                assert count == sum(v < value or (v == value and x_first) for v in x[row])


def only(pairs: Pairs) -> Score:
    ((rows, score),) = scores_of(pairs)
    assert rows.all()
    return score


def ordered(pairs: Pairs) -> ArrayPair:
    return np.sort(pairs.x), np.sort(pairs.y)[:, ::-1]


def constants(score: Score) -> ArrayPair:
    return score.inflation, score.effective


@pytest.mark.parametrize("unit", [(0.1, 0.1), (1e308, 1.0), (10.0, 1e308)])
def test_ratios_that_are_equal_but_for_rounding(unit: tuple[float, float]) -> None:
    """Multiples of a tenth: 0.3 / 0.1, 0.6 / 0.2 and 0.9 / 0.3 are three doubles, and one ratio."""
    rng = np.random.default_rng(4)
    x, y = 1.0 * rng.integers(1, 14, (40, 12)), 1.0 * rng.integers(1, 12, (40, 11))
    if unit[0] > 1.0:
        x, y = (rng.uniform(1.0, 1.1, (40, size)) for size in (12, 11))
    pairs = pairs_of(unit[0] * x, unit[1] * y, (0.0, 0.0), (1.0, 1.0))
    score = only(pairs)
    for alpha in (0.4, 0.2, 0.1, 0.05, 0.01):
        low, high = Search(pairs, score).bounds(alpha)
        expected = bounded(*ordered(pairs), constants(score), score.critical(alpha), ROUNDING)
        assert low.tolist() == expected[:, 2].tolist()
        assert high.tolist() == expected[:, 3].tolist()


@pytest.mark.parametrize(
    ("m", "shift", "factor"), [(150_000, 0.002, 1.0), (140_000, 0.0, 50.0), (200_000, 2.0, 1.0)]
)
def test_bounds_of_many_values_are_where_the_test_rejects(m: int, shift: float, factor: float) -> None:
    """On the one side of either bound the score is beyond the critical one, on the other it is not."""
    rng = np.random.default_rng(m)
    x, y = rng.lognormal(shift, 0.1, (1, 150_000)), rng.lognormal(0.0, 0.2, (1, m))
    pairs = pairs_of(x, y, (0.0, 0.0), (factor, factor))
    search = Search(pairs, only(pairs))
    critical = only(pairs).null.critical(0.01)
    low, high = search.bounds(0.01)
    assert search.score(low * (1 - 1e-12), -1.0) >= critical > search.score(low * (1 + 1e-12), -1.0)
    assert -search.score(high * (1 + 1e-12), 1.0) >= critical > -search.score(high * (1 - 1e-12), 1.0)


def brute_states(x: list[Fraction], y: list[Fraction]) -> list[tuple[Fraction, float, tuple[int, int, int]]]:
    """Between each two neighbouring distinct ratios: where it starts, where it ends, and the three sums."""
    ends: list[Fraction] = sorted({a / b for a in x for b in y})
    found = []
    for start, end in itertools.pairwise([Fraction(0), *ends, 2 * ends[-1] + 2]):
        gamma = (start + end) / 2
        wins = [[a > gamma * b for b in y] for a in x]
        rows, columns = [sum(row) for row in wins], [len(x) - sum(c) for c in zip(*wins, strict=True)]
        sums = (sum(rows), sum(k * k for k in rows), sum(k * k for k in columns))
        found.append((start, float(end) if end in ends else math.inf, sums))
    return found


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 5), (6, 4), (7, 7)])
def test_states_are_those_between_distinct_ratios(n: int, m: int) -> None:
    """Ratios of whole tenths tie in rational numbers and differ in doubles: between them lies no gamma."""
    rng = np.random.default_rng([n, m])
    for most in (3, 12, 400):
        of_x, of_y = rng.integers(1, most, n).tolist(), rng.integers(1, most, m).tolist()
        pairs = pairs_of([k / 10 for k in of_x], [k / 10 for k in of_y], (0.0, 0.0), (1.0, 1.0))
        ((_, score),) = scores_of(pairs)
        ends, states, real = states_between(*ordered(pairs), constants(score), ROUNDING)
        found = [
            (float(ends[0, k]), float(ends[0, k + 1]), float(states[0, k]))
            for k in np.flatnonzero(real[0]).tolist()
        ]
        expected = brute_states([Fraction(k) for k in of_x], [Fraction(k) for k in of_y])
        sums = Spread(*(np.array([[float(own[k]) for *_, own in expected]]) for k in range(3)))
        scores = score.of(sums)[0].tolist()
        assert len(found) == len(expected)
        for (start, end, value), (first, last, _), wanted in zip(found, expected, scores, strict=True):
            assert start == pytest.approx(float(first), rel=1e-15)
            assert end == pytest.approx(last, rel=1e-15)
            assert value == wanted
        assert ends.shape == (1, n * m + 2)


def lines(seed: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    n, most = int(rng.integers(1, 14)), int(rng.choice([3, 9, 1000]))
    return rng.integers(1, most, n).tolist(), rng.integers(1, most, n).tolist()


@pytest.mark.parametrize("seed", range(40))
def test_pairs_that_cross_are_all_listed(seed: int) -> None:
    """Those in between for certain, and none whose crossing is elsewhere."""
    a, b = lines(seed)
    low, high = 1.03, 1.9
    listed = crossing_pairs(np.array(a) * 1.0, np.array(b) * 1.0, low, high)
    found = set(zip(*(part.tolist() for part in listed), strict=True))
    for i, j in combinations_with_replacement(range(len(a)), 2):
        for sign in (-1, 1):
            bottom = b[i] + sign * b[j]
            place = Fraction(a[i] + sign * a[j], bottom) if bottom else Fraction(0)
            if (a[i], b[i]) != (a[j], b[j]):
                assert ((i, j, sign) in found) == (low < place < high)
            elif sign == 1:
                assert (i != j and (i, j, -1) in found) or ((i, j, sign) in found) == (low < place < high)


def test_lines_too_near_to_tell_are_listed_for_both_signs() -> None:
    i, j, sign = crossing_pairs(np.array([3.0, 3.0 + 4e-16, 2.0]), np.array([1.0, 1.0, 5.0]), 1.1, 1.2)
    assert list(zip(i.tolist(), j.tolist(), sign.tolist(), strict=True)) == [(0, 1, -1)]
