"""The conditional rank-sum test: every split listed, SciPy, theorems."""

import itertools
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class ConditionalRankSum:
    pairs_won: float
    pvalue_greater: float
    pvalue_less: float
    method: str


def conditional_rank_sum(x: Any, y: Any) -> ConditionalRankSum:
    """The test that HPT's first level makes of two samples."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.size == 0 or b.size == 0 or np.isnan(a).any() or np.isnan(b).any():
        raise ValueError("both samples need at least one value, and no NaN")
    n, m = a.size, b.size
    _, code, count = np.unique(np.concatenate((a, b)), return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(count) - count + 1)[code]
    twice_u = int(doubled[:n].sum()) - n * (n + 1)
    if max(n, m) < EXACT_BELOW:
        tails = rank_sum_tails(tuple(count.tolist()), n)
        greater, less = float(tails.at_least[twice_u]), float(tails.at_most[twice_u])
        method = "exact, conditional on ties"
    else:
        ties = int((count**3 - count).sum())
        sd, centred = rank_sum_sd(n, m, np.array(float(ties))), np.array((twice_u - n * m) / 2)
        greater, less = float(rank_sum_normal(centred, sd)), float(rank_sum_normal(-centred, sd))
        method = "normal, corrected for ties and continuity"
    return ConditionalRankSum(twice_u / 2, greater, less, method)


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
    test = conditional_rank_sum(x, y)
    won, greater, less = brute_force(x, y)
    assert test.pairs_won == won
    assert test.pvalue_greater == pytest.approx(greater, abs=1e-14)
    assert test.pvalue_less == pytest.approx(less, abs=1e-14)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 8), (12, 12), (29, 17), (29, 29)])
def test_against_scipy_without_ties(n: int, m: int) -> None:
    rng = np.random.default_rng(n * 100 + m)
    x, y = rng.normal(0.5, 1, n), rng.normal(0, 1, m)
    test = conditional_rank_sum(x, y)
    for found, side in ((test.pvalue_greater, "greater"), (test.pvalue_less, "less")):
        assert found == pytest.approx(
            stats.mannwhitneyu(x, y, alternative=side, method="exact").pvalue, rel=1e-11
        )


@pytest.mark.parametrize(("n", "m"), [(30, 5), (40, 60)])
def test_against_scipy_normal_with_ties(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.integers(1, 20, n).astype(float), rng.integers(0, 19, m).astype(float)
    test = conditional_rank_sum(x, y)
    assert test.method.startswith("normal")
    for found, side in ((test.pvalue_greater, "greater"), (test.pvalue_less, "less")):
        expected = stats.mannwhitneyu(x, y, alternative=side, method="asymptotic", use_continuity=True)
        assert found == pytest.approx(expected.pvalue, rel=1e-10)


def test_normal_meets_exact_where_they_change_over() -> None:
    """At 29 runs a side the normal p-value is within 0.001 of the exact one where decisions are made."""
    tail = rank_sum_tails((1,) * 58, 29).at_least
    near = [u for u in range(29 * 29) if tail[2 * u] < 0.1]
    assert near
    normal = rank_sum_normal(np.array(near) - 29 * 29 / 2, rank_sum_sd(29, 29, np.array(0.0)))
    assert np.abs(normal - tail[2 * np.array(near)]).max() < 1e-3


@pytest.mark.parametrize("sizes", [(3, 3), (1, 4, 1), (2, 2, 2)])
def test_p_values_are_uniform_or_larger_under_the_null(sizes: tuple[int, ...]) -> None:
    """Theorem: over all splits, p <= a has probability at most a, for every a."""
    pooled = np.repeat(np.arange(len(sizes)), sizes).astype(float)
    p = []
    for chosen in itertools.combinations(range(6), 3):
        side = np.isin(np.arange(6), chosen)
        p.append(conditional_rank_sum(pooled[side], pooled[~side]).pvalue_greater)
    for a in set(p):
        assert np.mean(np.array(p) <= a) <= a + 1e-12


def test_all_equal_is_no_evidence() -> None:
    for n, m in ((5, 5), (40, 40)):
        test = conditional_rank_sum(np.ones(n), np.ones(m))
        assert (test.pvalue_greater, test.pvalue_less, test.pairs_won) == (1.0, 1.0, n * m / 2)


def test_only_order_matters() -> None:
    x, y = np.array([1.0, 2.0, 2.0, 7.0]), np.array([0.5, 2.0, 3.0])
    assert conditional_rank_sum(x, y) == conditional_rank_sum(np.exp(x) * 1e-300, np.exp(y) * 1e-300)


@pytest.mark.parametrize(("x", "y"), [([], [1.0]), ([1.0], []), ([1.0, float("nan")], [1.0])])
def test_nothing_to_test_is_refused(x: list[float], y: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one value"):
        conditional_rank_sum(x, y)


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
