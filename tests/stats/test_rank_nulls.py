"""The conditional rank-sum test: every split listed, SciPy, theorems."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.rank_nulls import (
    EXACT_BELOW,
    rank_sum_normal,
    rank_sum_sd,
    rank_sum_tail,
    rank_sum_tails,
)
from speedproof.stats.ranks import rank_sum


def conditional_rank_sum(x: Any, y: Any) -> tuple[float, float, float]:
    """Pairs won and both p-values, by the module's tails given the ties."""
    n, m = len(x), len(y)
    _, code, count = np.unique(np.concatenate((x, y)), return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(count) - count + 1)[code]
    twice = int(doubled[:n].sum()) - n * (n + 1)
    if max(n, m) < EXACT_BELOW:
        tails = rank_sum_tails(tuple(count.tolist()), n)
        return twice / 2, float(tails.at_least[twice]), float(tails.at_most[twice])
    sd, centred = rank_sum_sd(n, m, np.array(float((count**3 - count).sum()))), np.array((twice - n * m) / 2)
    return twice / 2, float(rank_sum_normal(centred, sd)), float(rank_sum_normal(-centred, sd))


def brute_force(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Pairs won and both p-values by listing every split of the pooled values."""
    pooled = np.concatenate((x, y))
    ranks = stats.rankdata(pooled)
    sums = np.array([ranks[list(s)].sum() for s in itertools.combinations(range(pooled.size), x.size)])
    observed = ranks[: x.size].sum()
    won = float((x[:, None] > y).sum() + 0.5 * (x[:, None] == y).sum())
    return won, float(np.mean(sums >= observed - 1e-9)), float(np.mean(sums <= observed + 1e-9))


@pytest.mark.parametrize("seed", range(40))
def test_against_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 7, 2)
    x, y = rng.integers(0, rng.integers(2, 9), n).astype(float), rng.integers(0, 6, m).astype(float)
    assert conditional_rank_sum(x, y) == pytest.approx(brute_force(x, y), abs=1e-14)


@pytest.mark.parametrize(
    ("n", "m", "digits"),
    [(1, 1, 9), (3, 8, 9), (12, 12, 9), (29, 17, 9), (29, 29, 9), (30, 5, 0), (40, 60, 0)],
)
def test_against_scipy(n: int, m: int, digits: int) -> None:
    """Exact without ties below thirty of a side, normal from there on, with ties."""
    rng = np.random.default_rng(n * 100 + m)
    x, y = rng.normal(5, 4, n).round(digits), rng.normal(4, 4, m).round(digits)
    method = "exact" if digits else "asymptotic"
    _, *found = conditional_rank_sum(x, y)
    for pvalue, side in zip(found, ("greater", "less"), strict=True):
        expected = stats.mannwhitneyu(x, y, alternative=side, method=method).pvalue
        assert pvalue == pytest.approx(expected, rel=1e-10)


def test_normal_meets_exact_where_they_change_over() -> None:
    """At 29 runs a side the normal p-value is within 0.001 of the exact one where decisions are made."""
    tail = rank_sum_tails((1,) * 58, 29).at_least
    near = [u for u in range(29 * 29) if tail[2 * u] < 0.1]
    assert near
    normal = rank_sum_normal(np.array(near) - 29 * 29 / 2, rank_sum_sd(29, 29, np.array(0.0)))
    assert np.abs(normal - tail[2 * np.array(near)]).max() < 1e-3


def test_all_equal_is_no_evidence() -> None:
    for n, m in ((5, 5), (40, 40)):
        assert conditional_rank_sum(np.ones(n), np.ones(m)) == (n * m / 2, 1.0, 1.0)


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
