"""Which metrics go with time: correlations, the orders that are drawn, one risk over all metrics."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.association import associations


def drawn(seed: int, n: int = 40, metrics: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A time in two states, counts of which the first goes with it, and the states."""
    rng = np.random.default_rng(seed)
    slow = rng.random(n) < 0.4
    counts = rng.poisson(3.0, (n, metrics)).astype(float)
    counts[:, 0] += 4.0 * slow
    return slow + rng.normal(10.0, 0.2, n), counts, slow.astype(int)


@pytest.mark.parametrize("seed", range(5))
def test_against_scipy(seed: int) -> None:
    """Spearman's correlation, and Kruskal and Wallis' statistic over n - 1: both with ties."""
    time, counts, states = drawn(seed)
    found = associations(time, counts, states=states, permutations=9)
    for k, column in enumerate(counts.T):
        assert found[0][k] == pytest.approx(stats.spearmanr(time, column)[0], abs=1e-12)
        h = stats.kruskal(column[states == 0], column[states == 1])[0]
        assert found[1][k] == pytest.approx(h / (len(time) - 1), abs=1e-12)


def step_down(observed: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Westfall and Young's adjusted p-values as their algorithm 2.8 is written, over all orders."""
    order = np.argsort(-observed)
    adjusted, before = np.empty(observed.size), 0.0
    for place, k in enumerate(order):
        before = max(before, float((drawn[:, order[place:]].max(axis=1) >= observed[k] - 1e-12).mean()))
        adjusted[k] = before
    return adjusted


def test_against_every_order() -> None:
    """P-values are those of all 120 orders of five runs, up to the error of drawing some of them."""
    time = np.array([1.0, 1.4, 1.1, 2.0, 2.3])
    counts = np.array([[0, 3, 1, 5, 5], [7, 1, 3, 2, 6], [2, 2, 2, 2, 9]]).T.astype(float)
    states = np.array([0, 0, 0, 1, 1])

    def statistics(order: list[int]) -> list[float]:
        shares = [stats.spearmanr(time[order], column)[0] ** 2 for column in counts.T]
        own = states[order]
        between = [stats.kruskal(c[own == 0], c[own == 1])[0] / 4 for c in counts.T]
        return [max(pair) for pair in zip(shares, between, strict=True)]

    every = np.array([statistics(list(order)) for order in permutations(range(5))])
    exact = step_down(every[0], every)
    draws = 20_000
    found = associations(time, counts, states=states, permutations=draws, seed=3)[2]
    assert np.abs(found - exact).max() < 5.0 * np.sqrt(0.25 / draws)


def test_against_every_shift() -> None:
    """Held against shifts in run order, the p-value is the share of all of them that reach as far."""
    rng = np.random.default_rng(5)
    time, count = np.cumsum(rng.normal(size=12)), np.cumsum(rng.normal(size=12))
    every = [stats.spearmanr(np.roll(time, k), count)[0] ** 2 for k in range(12)]
    exact = np.mean(np.array(every) >= every[0] - 1e-12)
    draws = 20_000
    found = associations(time, count[:, None], circular=True, permutations=draws, seed=1)
    assert found[2][0] == pytest.approx(exact, abs=5.0 * np.sqrt(0.25 / draws))


def test_what_differs_between_strata_counts_for_nothing() -> None:
    """A version that is slower, and has more of a count, changes no correlation within versions."""
    time, counts, states = drawn(1)
    strata = np.arange(40) % 2
    plain = associations(time, counts, states=states, strata=strata)
    apart = associations(time + 7.0 * strata, counts + 100.0 * strata[:, None], states=states, strata=strata)
    np.testing.assert_allclose(apart[0], plain[0], atol=1e-12)
    np.testing.assert_array_equal(apart[2], plain[2])
    assert (associations(7.0 * strata + time, counts + 100.0 * strata[:, None])[0][1:] > 0.5).all()


def test_constant_metrics_have_no_answer() -> None:
    """Neither have counts that vary between strata only; the others are as without them; nor a constant time."""
    time, counts, states = drawn(4)
    strata = np.repeat([0, 1], 20)
    wide = np.column_stack((np.full(40, 7.0), counts, 5.0 * strata))
    found = associations(time, wide, states=states, strata=strata)
    assert np.isnan(np.array(found)[:, [0, -1]]).all()
    plain = associations(time, counts, states=states, strata=strata)
    np.testing.assert_array_equal(found[2][1:-1], plain[2])
    assert np.isnan(associations(np.ones(40), counts)[2]).all()
    assert associations([1.0, 2.0, 3.0], np.empty((3, 0)))[2].size == 0
