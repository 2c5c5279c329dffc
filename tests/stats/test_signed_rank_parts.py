"""The parts of the signed-rank test and the distribution of the rank sum by listing; where methods change."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.rank_nulls import rank_sum_normal, rank_sum_sd, rank_sum_tail, rank_sum_tails
from speedproof.stats.ranks import rank_sum
from speedproof.stats.signed_rank import (
    TABLE_BELOW,
    signed_rank,
    squares_of_runs,
    table_pvalue,
    tails_above,
    upper_tail,
)


@pytest.mark.parametrize("columns", [0, 1, 2, 5, 9])
def test_squares_of_groups(columns: int) -> None:
    """Of every pattern of marks: the sizes of the groups that they join, but for those of one."""
    marks = np.array([*itertools.product((False, True), repeat=columns)], dtype=np.bool_).reshape(
        2**columns, columns
    )
    expected = []
    for row in marks.tolist():
        sizes = [len(list(group)) + 1 for joined, group in itertools.groupby(row) if joined]
        expected.append(sum(size * size for size in sizes))
    assert squares_of_runs(marks).tolist() == expected


def shares(ranks: list[int], top: int) -> list[float]:
    """P[S >= s] for s = 0 ... top over all ways to keep some of the ranks."""
    sums = [sum(itertools.compress(ranks, kept)) for kept in itertools.product((0, 1), repeat=len(ranks))]
    return [sum(s >= at for s in sums) / len(sums) for at in range(top + 1)]


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_tails_of_the_ranks_above_some_zeros(n: int) -> None:
    for zeros in ([*range(n + 1)], [n], [0], [0, n], [n // 2]):
        found = dict(tails_above(zeros, n))
        assert sorted(found) == sorted({*zeros})
        for z, tail in found.items():
            ranks = [*range(z + 1, n + 1)]
            assert tail.tolist() == [*shares(ranks, sum(ranks)), 0.0]
            assert math.ldexp(tail[-2], n - z) == 1.0


@pytest.mark.parametrize(
    "ranks", [(), (1,), (2,), (6, 6), (2, 4, 6), (3, 6, 9, 9), (1, 3, 4, 4, 10), (5, 5, 10, 20), (2, 3)]
)
def test_tails_of_doubled_ranks(ranks: tuple[int, ...]) -> None:
    """At every sum up to the largest, also between the multiples of a common divisor."""
    assert upper_tail(ranks).tolist() == shares([*ranks], sum(ranks))
    assert not upper_tail(ranks).flags.writeable


@pytest.mark.parametrize("n", [20, 54, 60, 200, 400])
def test_no_tail_exceeds_one(n: int) -> None:
    """Counts beyond 2^53 are rounded."""
    for tail in (
        upper_tail((2,) * n),
        upper_tail(tuple(range(1, n))),
        *(t for _, t in tails_above([0, 3], n)),
    ):
        assert tail[0] == pytest.approx(1.0, rel=1e-12)
        assert tail.max() <= 1.0
        assert (np.diff(tail) <= 0.0).all()


@pytest.mark.parametrize(("n", "m"), [(49, 49), (29, 29), (30, 45), (7, 49), (1, 3)])
def test_no_tail_of_the_rank_sum_exceeds_one(n: int, m: int) -> None:
    """And each is the other's mirror image."""
    tails, tail = rank_sum_tails((1,) * (n + m), n), rank_sum_tail(n, m)
    for one in (tails.at_least, tails.at_most, tail):
        assert one.max() == pytest.approx(1.0, rel=1e-12)
        assert one.max() <= 1.0
        assert not one.flags.writeable
    assert tail.size == n * m + 2
    assert tail[-1] == 0.0
    np.testing.assert_allclose(tails.at_least[::2], tail[:-1], rtol=1e-9)
    np.testing.assert_allclose(tails.at_most[::2], tail[:-1][::-1], rtol=1e-9)


@pytest.mark.parametrize(
    "sizes", [(1,), (3,), (1, 1), (2, 1), (4, 1, 1), (1, 5), (2, 2, 2), (1, 2, 1, 3), (3, 4)]
)
def test_every_split_of_ties(sizes: tuple[int, ...]) -> None:
    pool = [k for k, size in enumerate(sizes) for _ in range(size)]
    for n in range(1, len(pool)):
        twice = []
        for chosen in itertools.combinations(range(len(pool)), n):
            rest = [pool[i] for i in range(len(pool)) if i not in chosen]
            twice.append(sum(2 * (pool[i] > b) + (pool[i] == b) for i in chosen for b in rest))
        found = rank_sum_tails(sizes, n)
        top = 2 * n * (len(pool) - n)
        for k in range(top + 1):
            assert found.at_least[k] == pytest.approx(sum(t >= k for t in twice) / len(twice), rel=1e-15)
            assert found.at_most[k] == pytest.approx(sum(t <= k for t in twice) / len(twice), rel=1e-15)
        assert found.at_least.size == found.at_most.size == top + 1


def test_the_normal_distribution_of_the_rank_sum() -> None:
    """With SciPy's tail; no variance is left where all values are equal, and then the p-value is 1."""
    for n, m in ((1, 1), (2, 5), (9, 4)):
        size = n + m
        excess = np.array([0.0, 6.0, float(size**3 - size)])
        variance = n * m / 12 * ((size + 1) - excess / (size * (size - 1)))
        sd = rank_sum_sd(n, m, excess)
        np.testing.assert_allclose(sd, np.sqrt(np.maximum(variance, 0.0)), rtol=1e-13, atol=1e-7)
        assert rank_sum_normal(np.zeros(1), np.zeros(1)).tolist() == [1.0]
        for centred in (-2.0, 0.0, 0.5, 1.5):
            told = rank_sum_normal(np.full(1, centred), sd[:1])
            assert told[0] == pytest.approx(stats.norm.sf((centred - 0.5) / sd[0]), rel=1e-12)
    assert rank_sum_sd(3, 3, np.array([210.1])).tolist() == [0.0]  # what rounding may leave below zero


@pytest.mark.parametrize(("n", "m", "exact"), [(49, 49, True), (50, 3, False), (3, 50, False), (49, 2, True)])
def test_up_to_which_size_ranks_are_counted(n: int, m: int, exact: bool) -> None:
    """Below fifty of both sides, as in R; with ties nowhere. The fields of equal values."""
    rng = np.random.default_rng([n, m])
    x, y = rng.random((2, n)), rng.random((2, m))
    x[1, 0] = y[1, 0]
    found = rank_sum(x, y)
    assert found.exact.tolist() == [exact, False]
    assert found.ties.tolist() == [False, True]
    for row in range(2):
        method = "exact" if found.exact[row] else "asymptotic"
        for p, side in ((found.pvalue, "greater"), (found.pvalue_less, "less")):
            expected = stats.mannwhitneyu(x[row], y[row], alternative=side, method=method)
            assert p[row] == pytest.approx(expected.pvalue, rel=1e-10)
            assert found.statistic[row] == expected.statistic
            assert found.superiority[row] == expected.statistic / (n * m)


@pytest.mark.parametrize("n", [1, 2, 5, TABLE_BELOW - 1, TABLE_BELOW, 40])
def test_what_the_tables_say_of_a_sum(n: int) -> None:
    """Below 25 every sum's share of all signs, halves rounded down; from there the normal distribution's tail."""
    total = n * (n + 1) // 2
    counts = np.array([1.0])
    for rank in range(1, n + 1):
        counts = np.convolve(counts, [1.0, *[0.0] * (rank - 1), 1.0])
    tail = np.cumsum(counts[::-1])[::-1] / 2.0**n
    for half in {0, 1, total - 1, total, total + 1, 2 * total - 1, 2 * total}:
        if n < 25:
            expected = tail[half // 2]
        else:
            expected = stats.norm.sf((half / 2 - total / 2) / math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
        assert table_pvalue(half / 2, n) == pytest.approx(expected, rel=1e-12)


def test_where_the_methods_change() -> None:
    """The table's at 25 differences; the conditional one's at 1000 that are not zero: of one size, a sign test."""
    d = np.random.default_rng(3).choice([-1.0, 0.0, 1.0], 1600, p=[0.32, 0.35, 0.33])
    assert signed_rank(d[:24], rule="table").method == "exact table"
    assert signed_rank(d[:25], rule="table").method == "normal"
    moving = np.flatnonzero(d != 0.0)
    for count in (999, 1000):
        part = d[: moving[count - 1] + 1]
        found, ups, zeros = signed_rank(part), int((part > 0).sum()), int((part == 0).sum())
        ranks = stats.rankdata(np.abs(part))
        if count == 999:
            assert found.method == "exact, conditional on ties and zeros"
            expected = [stats.binom.sf(k - 1, count, 0.5) for k in (ups, count - ups)]
        else:
            assert found.method == "normal, conditional on ties and zeros"
            each = ranks.max()
            sd = each * math.sqrt(count) / 2
            expected = [stats.norm.sf((each * (k - count / 2) - 0.5) / sd) for k in (ups, count - ups)]
        assert [found.pvalue_positive, found.pvalue_negative] == pytest.approx(expected, rel=1e-9)
        assert found.positive == ups * ranks.max() + zeros * ranks.min() / 2
        assert found.ranks.tolist() == ranks.tolist()
    for rule in ("table", "conditional"):
        plus, minus = signed_rank([3.0, -1, 2, 0, 5], rule=rule), signed_rank([-3.0, 1, -2, 0, -5], rule=rule)
        assert (plus.positive, plus.negative) == (minus.negative, minus.positive) == (12.5, 2.5)
        assert plus.pvalue_positive == minus.pvalue_negative < minus.pvalue_positive == plus.pvalue_negative
    assert signed_rank(d[:40]).method == signed_rank(d[:40], rule="conditional").method
