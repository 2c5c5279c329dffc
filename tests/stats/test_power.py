"""Runs needed, evidence still to come, and numbers of builds: textbook values, theory and simulation."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from speedproof.stats.power import (
    fewest_that_can_reject,
    repetitions,
    runs_needed_means,
    runs_needed_ranks,
    variance_components,
)
from speedproof.stats.sequential import (
    LOG_WEIGHTS,
    blocks_for_proof,
    blocks_until,
    growth,
    log_factors,
    scale_of,
    smallest_provable,
)


@pytest.mark.parametrize(("d", "expected"), [(0.2, 310), (0.5, 50), (0.8, 20), (1.0, 13)])
def test_means_against_published_table(d: float, expected: int) -> None:
    """Cohen (1988), table 2.4.1: one-sided alpha = 0.05, power 0.8, equal sizes."""
    x = np.array([-1.0, 0.0, 1.0])
    needed = runs_needed_means(x + d, x, 0.05)
    assert abs(float(needed[0]) - expected) <= 1
    assert needed[0] == needed[1]


def test_ranks_against_noether() -> None:
    """Without ties and for a small shift of one shape both variances are Noether's, and so is the number."""
    grid = scipy_stats.logistic.ppf((np.arange(3000) + 0.5) / 3000)
    shifted = grid + 0.05
    p = (shifted[:, None] > grid).mean()
    z = scipy_stats.norm.isf(0.05) + scipy_stats.norm.isf(0.2)
    noether = z**2 / (12 * 0.25 * (p - 0.5) ** 2)
    needed = runs_needed_ranks(shifted, grid, 0.05)
    assert float(sum(needed)) == pytest.approx(noether, rel=2e-3)


def whole(total: float, n: int, m: int) -> tuple[float, float]:
    """The runs of either side, whole ones, at least two."""
    if total == math.inf:
        return math.inf, math.inf
    return max(math.ceil(total * (n / (n + m))), 2), max(math.ceil(total * (m / (n + m))), 2)


def naive_means(x: list[float], y: list[float], alpha: float, power: float) -> tuple[float, float]:
    """Guenther's (1981) formula with the shares of the sides."""
    n, m = len(x), len(y)
    d = sum(x) / n - sum(y) / m
    if d == 0 or min(n, m) < 2:
        return whole(math.inf, n, m)
    of_x, of_y = float(np.var(x, ddof=1)) * (n + m) / n, float(np.var(y, ddof=1)) * (n + m) / m
    z_alpha, z_power = scipy_stats.norm.isf(alpha), scipy_stats.norm.ppf(power)
    return whole((z_alpha + z_power) ** 2 * (of_x + of_y) / d**2 + z_alpha**2 / 2, n, m)


def naive_ranks(x: list[float], y: list[float], alpha: float, power: float) -> tuple[float, float]:
    """The formula of the docstring by all pairs; never fewer runs than have one order of probability alpha."""
    n, m = len(x), len(y)
    wins = np.array([[(a > b) + 0.5 * (a == b) for b in y] for a in x])
    p, total, q = float(wins.mean()), n + m, n / (n + m)
    if p == 0.5:
        return whole(math.inf, n, m)
    ties = sum(c**3 - c for c in np.unique([*x, *y], return_counts=True)[1].tolist())
    tested = math.sqrt((1 - ties / (total**3 - total)) / (12 * q * (1 - q)))
    own = tested
    if min(n, m) > 1:
        own = math.sqrt((wins.mean(axis=1).var(ddof=1) / n + wins.mean(axis=0).var(ddof=1) / m) * total)
        own = 0.0 if p in (0.0, 1.0) else own
    noise = scipy_stats.norm.isf(alpha) * tested + scipy_stats.norm.ppf(power) * own
    fewest = next(
        k
        for k in itertools.count(4)
        if alpha * math.comb(sum(of := [max(math.ceil(k * s), 2) for s in (q, 1 - q)]), of[0]) >= 1
    )
    return whole(max((noise / (p - 0.5)) ** 2, fewest), n, m)


@pytest.mark.parametrize(
    ("needed", "naive"), [(runs_needed_means, naive_means), (runs_needed_ranks, naive_ranks)]
)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (2, 2), (5, 3), (3, 9), (20, 20)])
def test_runs_needed_of_means_and_ranks(needed: Any, naive: Any, n: int, m: int) -> None:
    """Continuous values, few values, separated ones; several at once, and with the power that is asked."""
    rng = np.random.default_rng([n, m])
    x, y = rng.standard_normal((40, n)), 0.7 * rng.standard_normal((40, m)) - 0.4
    x[10:20], y[10:20] = np.round(x[10:20]), np.round(y[10:20])
    x[20:25] += 9.0
    x[25:30], y[25:28] = 3.0, 3.0
    for alpha, power in ((0.05, 0.8), (0.011, 0.8), (0.05, 0.93), (0.3, 0.55)):
        found = needed(x, y, alpha, power)
        expected = [naive(a, b, alpha, power) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        np.testing.assert_array_equal(np.stack(found, axis=1), expected)
    np.testing.assert_array_equal(needed(x, y, 0.05), needed(x, y, 0.05, 0.8))


@pytest.mark.parametrize(("k", "alpha"), [(2, 1 / 6), (3, 1 / 20), (4, 1 / 70), (5, 1 / 252)])
def test_a_risk_that_one_order_just_reaches(k: int, alpha: float) -> None:
    """C(2k, k) orders: at their inverse k runs a side may reject, below it k + 1: halves are rounded up."""
    assert alpha * math.comb(2 * k, k) == 1.0
    assert fewest_that_can_reject(0.5, alpha) == max(2 * k - 1, 4)
    assert fewest_that_can_reject(0.5, alpha * (1 - 1e-9)) == 2 * k + 1


def test_growth_and_what_is_missing() -> None:
    """Evidence comes in as fast as by the luckiest bet of constant scale; a forecast divides by that."""
    d = 0.01 + 0.02 * np.random.default_rng(3).standard_normal(30)
    factors = log_factors(d, np.full(30, scale_of(np.sort(d))), 0.0)
    assert growth(d, 0.0) == pytest.approx(max(factors.mean(axis=0)))
    assert growth(d + 0.5, -0.5) == pytest.approx(growth(d, 0.0))
    assert blocks_until(d, 4.0, 0.0) == pytest.approx(4.0 / growth(d, 0.0))
    assert blocks_until(d, 4.0, 0.005) == pytest.approx(4.0 / growth(d - 0.005, 0.0))
    assert blocks_until(d[:10], 4.0, 0.0) > 0
    assert math.isnan(blocks_until(d[:9], 4.0, 0.0))
    assert blocks_until(d[:9], 0.0, 0.0) == 0.0
    assert blocks_until(d, 0.4, 0.0) == pytest.approx(0.4 / growth(d, 0.0))
    assert blocks_until(d, 4.0, 1.0) == math.inf
    assert blocks_until(np.zeros(12), 4.0, 0.0) == math.inf  # ties bet nothing


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
    assert growth(both, found * (1 - 1.001e-3)) * blocks < missing_evidence(alpha)
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
    found = smallest_provable([size, size], missing_evidence(0.05) / (0.5 * sum(rates)), alpha=0.05)
    assert math.isfinite(found) is finite
    assert not finite or size < math.log(found) <= 700.0


def variance_and_cost(
    variances: tuple[float, ...], costs: tuple[float, ...], counts: tuple[int, ...]
) -> tuple[float, float]:
    """Of the grand mean of one unit of the highest level, written out."""
    variance = cost = 0.0
    units = 1
    for s, c, n in zip(variances, costs, (1, *counts), strict=True):
        units *= n
        variance += s / units
        cost += c * units
    return variance, cost


@pytest.mark.parametrize(("variances", "costs"), [
    ((1.0, 1.0), (10.0, 0.1)), ((1.0, 4.0), (30.0, 1.0)), ((4.0, 1.0), (1.0, 1.0)),
    ((0.5, 2.0, 9.0), (60.0, 2.0, 0.1)), ((2.0, 0.0), (5.0, 1.0)), ((1e-6, 3e-6, 1e-5), (20.0, 0.5, 0.01)),
])  # fmt: skip
def test_no_other_plan_is_cheaper_at_the_same_precision(
    variances: tuple[float, ...], costs: tuple[float, ...]
) -> None:
    """Variance times cost, which is the cost of a given precision, is the least of all plans of up to 60 each."""

    def price(counts: tuple[int, ...]) -> float:
        return math.prod(variance_and_cost(variances, costs, counts))

    best = min(price(c) for c in itertools.product(range(1, 61), repeat=len(variances) - 1))
    assert price(repetitions(variances, costs)) <= best * (1 + (0.02 if len(variances) > 2 else 1e-12))


def test_levels_that_add_nothing() -> None:
    found = [repetitions(variances, (1.0, 1.0)) for variances in ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0))]
    assert found == [(1,), (1000,), (1,)]


def test_components_by_the_analysis_of_variance() -> None:
    """Mean squares of a nested design, level by level; what would be negative is nothing."""
    rng = np.random.default_rng(7)
    for scale in (0.0, 1.0, 3.0):
        x = rng.standard_normal((4, 3, 5)) + scale * rng.standard_normal((4, 3, 1)) * (scale > 2.0)
        x += scale * rng.standard_normal((4, 1, 1))
        of_process, of_build = x.mean(axis=2), x.mean(axis=(1, 2))
        error = ((x - of_process[..., None]) ** 2).sum() / (4 * 3 * 4)
        process = 5 * ((of_process - of_build[:, None]) ** 2).sum() / (4 * 2)
        build = 15 * ((of_build - x.mean()) ** 2).sum() / 3
        expected = (max((build - process) / 15, 0.0), max((process - error) / 5, 0.0), error)
        assert variance_components(x) == pytest.approx(expected, rel=1e-12)
        assert min(expected) >= 0.0
