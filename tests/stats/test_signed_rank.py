"""The signed-rank test: all sign changes counted, SciPy, published critical values."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.signed_rank import (
    TABLE_BELOW,
    least_sums,
    signed_rank,
    squares_of_runs,
    table_pvalue,
    upper_tail,
)


def brute_force(d: np.ndarray) -> tuple[float, float, float]:
    """Positive rank sum and both p-values by listing every change of signs."""
    ranks = stats.rankdata(np.abs(d))
    fixed = ranks[d == 0].sum() / 2
    moving = ranks[d != 0]
    observed = ranks[d > 0].sum() + fixed
    sums = np.array(
        [fixed + sum(itertools.compress(moving, s)) for s in itertools.product((0, 1), repeat=moving.size)]
    )
    return observed, float(np.mean(sums >= observed - 1e-9)), float(np.mean(sums <= observed + 1e-9))


@pytest.mark.parametrize("seed", range(40))
def test_against_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = rng.integers(-4, 7, rng.integers(1, 12)).astype(float)
    test = signed_rank(d)
    observed, greater, less = brute_force(d)
    assert test.positive == observed
    assert test.positive + test.negative == d.size * (d.size + 1) / 2
    assert test.pvalue_positive == pytest.approx(greater, abs=1e-15)
    assert test.pvalue_negative == pytest.approx(less, abs=1e-15)
    np.testing.assert_array_equal(test.ranks, stats.rankdata(np.abs(d)))


@pytest.mark.parametrize("n", [1, 2, 7, 24, 40, 60])
@pytest.mark.parametrize("rule", ["conditional", "table"])
def test_against_scipy_without_ties_and_zeros(n: int, rule: str) -> None:
    d = np.random.default_rng(n).normal(0.4, 1, n)
    if rule == "table" and n >= 25:
        expected = [
            stats.wilcoxon(d, alternative=a, method="asymptotic", correction=False).pvalue
            for a in ("greater", "less")
        ]
    else:
        expected = [stats.wilcoxon(d, alternative=a, method="exact").pvalue for a in ("greater", "less")]
    test = signed_rank(d, rule="conditional" if rule == "conditional" else "table")
    assert [test.pvalue_positive, test.pvalue_negative] == pytest.approx(expected, rel=1e-12)


# One-sided 5 % critical values of the smaller rank sum, as printed in every table of Wilcoxon's test.
PUBLISHED = {
    5: 0, 6: 2, 7: 3, 8: 5, 9: 8, 10: 10, 11: 13, 12: 17, 13: 21, 14: 25,
    15: 30, 16: 35, 17: 41, 18: 47, 19: 53, 20: 60, 21: 67, 22: 75, 23: 83, 24: 91,
}  # fmt: skip


@pytest.mark.parametrize(("n", "critical"), PUBLISHED.items())
def test_against_published_critical_values(n: int, critical: int) -> None:
    most = n * (n + 1) / 2
    assert table_pvalue(most - critical, n) <= 0.05 < table_pvalue(most - critical - 1, n)


def test_half_integers_are_read_against_significance() -> None:
    """Tables list whole rank sums; a half is rounded away from the claim on either side."""
    d = [1, 1, -1, 2]
    test = signed_rank(d, rule="table")
    assert (test.positive, test.negative) == (8.0, 2.0)
    zero = signed_rank([0, 1, 2], rule="table")
    assert (zero.positive, zero.negative) == (5.5, 0.5)
    assert zero.pvalue_positive == table_pvalue(5.0, 3) == 2 / 8
    assert zero.pvalue_negative == table_pvalue(0.0, 3) == 1.0


@pytest.mark.parametrize("d", [[], [0.0], [0.0] * 30])
def test_nothing_differs(d: list[float]) -> None:
    test = signed_rank(d)
    assert (test.pvalue_positive, test.pvalue_negative) == (1.0, 1.0)


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        signed_rank([1.0, float("nan")])


def shares(ranks: list[int], top: int) -> list[float]:
    """P[S >= s] for s = 0 ... top over all ways to keep some of the ranks."""
    sums = [sum(itertools.compress(ranks, kept)) for kept in itertools.product((0, 1), repeat=len(ranks))]
    return [sum(s >= at for s in sums) / len(sums) for at in range(top + 1)]


@pytest.mark.parametrize("alphas", [(0.01, 0.05), (1 / 64, 0.25, 0.5), (0.3, 0.75, 0.9)])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_least_sums_of_the_ranks_above_some_zeros(n: int, alphas: tuple[float, ...]) -> None:
    """Each, and no sum below it, has a share of all signs that keeps the risk."""
    for most in {0, n // 2, n}:
        found = least_sums(n, most, alphas)
        for moving in range(most + 1):
            ranks = [*range(n - moving + 1, n + 1)]
            tail = [*shares(ranks, sum(ranks)), 0.0]
            assert found[:, moving].tolist() == [sum(p > alpha for p in tail) for alpha in alphas]


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
    for tail in (upper_tail((2,) * n), upper_tail(tuple(range(1, n)))):
        assert tail[0] == pytest.approx(1.0, rel=1e-12)
        assert tail.max() <= 1.0
        assert (np.diff(tail) <= 0.0).all()


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
