"""Run order: Hurst factor against R, rank tests against SciPy and against all permutations."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import fft, optimize, signal, stats

from speedproof.arrays import FloatArray
from speedproof.stats.dependence import (
    drift,
    drift_within,
    drifting,
    hurst_factor,
    lag1,
    variance_inflation,
    walk_inflation,
)
from speedproof.stats.ranks import midranks


def test_hurst_against_r(oracle: Any) -> None:
    for case in oracle("protocol2009")["cases"]:
        for side in ("t1", "t2"):
            np.testing.assert_allclose(
                hurst_factor(case[side]), case[f"hurst_{side}"], atol=1e-10, err_msg=case["id"]
            )


def test_edges_of_run_order() -> None:
    for few in ([1.0], [1.0, 2.0, 3.0], [4.0] * 20):
        assert np.isnan(lag1(few).pvalue)
        assert np.isnan(drift(few).pvalue)
    assert np.isnan(hurst_factor([4.0] * 20))
    assert np.isnan(hurst_factor([1.0, 2.0]))
    assert float(drift(np.arange(9.0)).pvalue) == 0.0
    assert lag1(np.ones((2, 3, 10))).statistic.shape == (2, 3)


@pytest.mark.parametrize("n", [4, 5, 9, 30])
def test_lag1_pvalue_is_of_the_beta_distribution_with_the_moments(n: int) -> None:
    """Bartels (1982): mean 2 and variance 4 (n - 2) (5 n^2 - 2 n - 9) / (5 n (n + 1) (n - 1)^2), both tails."""
    x = np.random.default_rng(n).normal(size=(12, n)).cumsum(axis=1)
    x[6:] *= np.resize([1.0, -1.0], n)
    found = lag1(x)
    variance = 4 * (n - 2) * (5 * n**2 - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
    beta = stats.beta(2 / variance - 0.5, 2 / variance - 0.5)
    assert beta.var() * 16 == pytest.approx(variance)
    expected = 2 * np.minimum(beta.cdf(found.statistic / 4), beta.sf(found.statistic / 4))
    np.testing.assert_allclose(found.pvalue, expected, rtol=1e-9)


@pytest.mark.parametrize("n", [4, 5, 8, 31])
@pytest.mark.parametrize("high", [2, 3, 50])
def test_lag1_and_drift_of_tied_values(n: int, high: int) -> None:
    """Von Neumann's ratio and Spearman's test, with ties and ranks that are given, too."""
    x = np.random.default_rng([n, high]).integers(0, high, (12, n)) / 4 + 1.0
    found = lag1(x), drift(x)
    np.testing.assert_array_equal(found[0].pvalue, lag1(x, midranks(x)).pvalue)
    np.testing.assert_array_equal(found[1].pvalue, drift(x, midranks(x)).pvalue)
    for row, values in enumerate(x.tolist()):
        if len(set(values)) == 1:
            assert np.isnan([part[row] for part in (found[0].statistic, found[1].pvalue)]).all()
            continue
        ranks = stats.rankdata(values).tolist()
        squares = sum((r - (n + 1) / 2) ** 2 for r in ranks)
        steps = sum((a - b) ** 2 for a, b in itertools.pairwise(ranks))
        assert found[0].statistic[row] == pytest.approx(steps / squares, rel=1e-12)
        expected = stats.spearmanr(range(n), values)
        assert found[1].statistic[row] == pytest.approx(expected.statistic, rel=1e-12, abs=1e-15)
        assert found[1].pvalue[row] == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("n", [4, 7, 20, 33, 100, 177, 1000, 600_000, 700_010, 1_000_003])
def test_values_in_order_have_the_whole_correlation(n: int) -> None:
    """Rounding must not carry it beyond 1; of a million the sums of their ranks are beyond 2^53, and not exact."""
    ranks = np.arange(1.0, n + 1)
    for sign in (1.0, -1.0):
        found = drift(sign * ranks, ranks if sign > 0 else ranks[::-1])
        assert abs(float(found.statistic)) <= 1.0
        assert float(found.statistic) == pytest.approx(sign, rel=1e-12 if n > 1000 else 0.0)
        assert float(found.pvalue) == pytest.approx(0.0, abs=1e-100 if n > 1000 else 0.0)


def naive_inflation(x: FloatArray, y: FloatArray) -> float:
    n, m = x.size, y.size
    if min(n, m) < 8:
        return 1.0
    total = 0.0
    for own in (x, y):
        ranks = stats.rankdata(own)
        centred = ranks - ranks.mean()
        if (squares := float(centred @ centred)) > 0:
            r = float(centred[1:] @ centred[:-1]) / squares
            total += own.size * (r + (1 + 4 * r) / own.size)
    r = total / (n + m)
    stands_out = 0.5 * max(1.0, (40 / (n + m)) ** (4 / 3)) / math.sqrt(n + m)
    r = min(r, 0.999) if r > stands_out else 0.0
    return min((1 + r) / (1 - r), min(n, m) / 2)


@pytest.mark.parametrize(("n", "m"), [(7, 30), (8, 8), (9, 12), (20, 20), (21, 60), (60, 8)])
@pytest.mark.parametrize("rho", [0.0, 0.4, 0.9, 1.0])
def test_variance_inflation(n: int, m: int, rho: float) -> None:
    rng = np.random.default_rng([n, m, int(10 * rho)])
    x, y = (signal.lfilter([1.0], [1.0, -rho], rng.standard_normal((60, k))) for k in (n, m))
    x[0], y[1] = np.round(x[0]), 5.0
    x[2], y[2] = np.arange(n), np.arange(m)
    found = variance_inflation(x, y)
    assert found.tolist() == pytest.approx([naive_inflation(*pair) for pair in zip(x, y, strict=True)])
    assert variance_inflation(x[3], y[3]) == pytest.approx(found[3])  # one pair without a row
    assert variance_inflation(x, y, (midranks(x), midranks(y))).tolist() == found.tolist()


@pytest.mark.parametrize(("n", "m"), [(60, 60), (52, 120), (300, 90)])
def test_walk_inflation_is_that_of_the_likeliest_walk(n: int, m: int) -> None:
    """By SciPy's cosine transform and ranks, and a search of the likelihood without its scale."""
    rng = np.random.default_rng([n, m])
    walks = 1.0 + np.cumsum(rng.normal(0, 0.15, (20, n + m)), axis=1) + rng.normal(size=(20, n + m))
    x, y = walks[:, :n], walks[:, n:]
    found = walk_inflation(x, y)
    assert found.tolist() == [float(walk_inflation(*pair)) for pair in zip(x, y, strict=True)]
    assert (
        found.tolist() == walk_inflation(np.exp(x), np.exp(y)).tolist() == pytest.approx(walk_inflation(y, x))
    )
    assert (found > 1.0).sum() >= 5
    for factor, *sides in zip(found, x, y, strict=True):
        power, share, first, share_first = [], [], 0.0, 0.0
        for own, other in zip(sides, (m, n), strict=True):
            ranks = stats.rankdata(own)
            kept = min(25, own.size // 4) + 1
            power.append((fft.dct(ranks, norm="ortho")[1:kept] / ranks.std()) ** 2)
            share.append(own.size / other / (np.pi * np.arange(1, kept)) ** 2)
            first, share_first = first + power[-1][0], share_first + share[-1][0]
        powers, shares = np.concatenate(power), np.concatenate(share)

        def minus(walk: float, powers: FloatArray = powers, shares: FloatArray = shares) -> float:
            expected = 1 + walk * shares
            return float(
                0.5 * np.sum(np.log(expected)) + 0.5 * powers.size * np.log(np.mean(powers / expected))
            )

        best = optimize.minimize_scalar(lambda log: minus(np.exp(log)), bounds=(-3, 12), method="bounded")
        gain = minus(0.0) - best.fun
        if abs(gain - 2.0) < 0.1:
            continue
        assert (factor > 1.0) == (gain > 2.0)
        walk = np.exp(best.x)
        level = np.mean(powers / (1 + walk * shares))
        walk = max(walk, (first / level - 2) / share_first)
        # The search of the module is in steps of a third.
        if gain > 2.0:
            assert factor == pytest.approx(min(level * (1 + walk / 2), min(n, m) / 2), rel=0.35)


def test_what_may_be_a_random_walk() -> None:
    """An effective size below 4, below 3 up to 15 runs, a fifth of the smaller size between."""
    for n, m in itertools.product((8, 12, 15, 16, 18, 20, 21, 40), repeat=2):
        smaller = min(n, m)
        least = 3.0 if smaller <= 15 else 4.0 if smaller >= 20 else smaller / 5
        sizes = least * np.array([0.5, 0.999, 1.001, 2.0])
        assert drifting(n, m, smaller / sizes).tolist() == [True, True, False, False]
    assert drifting(2, 30, [1.0, 1.01]).tolist() == [False, True]  # no dependence, no walk
    assert not any(drifting(n, 99, n / least) for n, least in ((12, 3.0), (18, 3.6), (20, 4.0), (64, 4.0)))


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("sizes", [(4, 4, 4, 4, 4), (1, 2, 3, 4, 5, 6, 2), (9, 3, 3, 1, 4, 4), (2, 2, 2, 2)])
def test_drift_within_processes(sizes: tuple[int, ...], shuffled: bool) -> None:
    """Slopes by least squares, a t test of their mean, the mean of the correlations."""
    rng = np.random.default_rng(len(sizes))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    x = np.concatenate([0.3 * np.arange(k) + rng.standard_normal(k) for k in sizes])
    parts = [x[labels == k] for k in range(len(sizes)) if sizes[k] > 1]
    order = interleaved(rng, labels) if shuffled else np.arange(labels.size)
    found = drift_within(x[order], labels[order])
    if len(parts) < 5:
        assert np.isnan([float(found.statistic), float(found.pvalue)]).all()
        return
    slopes = [float(np.polyfit(np.arange(part.size), part, 1)[0]) for part in parts]
    assert float(found.pvalue) == pytest.approx(stats.ttest_1samp(slopes, 0.0).pvalue, rel=1e-9)
    correlations = [np.corrcoef(np.arange(part.size), part)[0, 1] for part in parts]
    assert float(found.statistic) == pytest.approx(np.mean(correlations), rel=1e-9)
    small = np.where(labels == labels[-1], 1e-200 * x, x)  # a process of far smaller values counts as much
    assert float(drift_within(small[order], labels[order]).statistic) == pytest.approx(np.mean(correlations))
    one, many = drift_within(x[order], labels[order]), drift_within(np.stack([x[order]] * 3), labels[order])
    assert many.pvalue.tolist() == pytest.approx([float(one.pvalue)] * 3)
    same = drift_within([np.ones(labels.size), np.concatenate([*map(np.arange, sizes)])], labels)
    assert same.pvalue.tolist() == pytest.approx([math.nan, 0.0], nan_ok=True)


def interleaved(rng: np.random.Generator, labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """An order that mixes the processes and keeps that of each."""
    mixed = rng.permutation(labels)
    places = {k: iter(np.flatnonzero(labels == k).tolist()) for k in set(labels.tolist())}
    return np.array([next(places[k]) for k in mixed.tolist()])
