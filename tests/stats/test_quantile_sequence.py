"""Bets on quantiles: against brute force over all places, and sessions that stop when they like."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from speedproof.arrays import FloatArray
from speedproof.stats.quantile_sequence import QuantileSequence

Draw = Callable[[np.random.Generator, int], FloatArray]


def of(x: FloatArray, y: FloatArray, q: float, alpha: float = 0.05) -> QuantileSequence:
    """All blocks."""
    sequence = QuantileSequence(q, alpha=alpha)
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        sequence.add(a, b)
    return sequence


def evidence(k: int, n: int, p: float) -> float:
    """E(k, n) as its definition has it, term by term: beta weights worth 15 runs at 48 odds above those of p."""
    prior, total, found = stats.beta(15 * p, 15 * (1 - p)), 0.0, 0.0
    for apart in np.geomspace(0.01, 8.0, 48):
        odds = p / (1 - p) * math.exp(apart)
        t = odds / (1 + odds)
        weight = float(prior.pdf(t)) * t * (1 - t) * apart  # of steps that grow with the distance
        total += weight
        found += weight * (t / p) ** k * ((1 - t) / (1 - p)) ** (n - k)
    return found / total


@pytest.mark.parametrize("p", [0.01, 0.1, 0.9])
def test_a_count_is_a_supermartingale_under_its_null(p: float) -> None:
    """The mean of E over one more run is what it was at p, and less below."""
    n = 12
    for k in range(n + 1):
        before, hit, miss = evidence(k, n, p), evidence(k + 1, n + 1, p), evidence(k, n + 1, p)
        assert p * hit + (1 - p) * miss == pytest.approx(before, rel=1e-9)
        assert 0.5 * p * hit + (1 - 0.5 * p) * miss < before


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("q", "gamma"), [(0.5, 1.0), (0.9, 1.0), (0.9, 1.1)])
def test_against_the_least_product(seed: int, q: float, gamma: float) -> None:
    """At every place between the values, counted one by one."""
    rng = np.random.default_rng(seed)
    x, y = rng.lognormal(0.3, 0.3, 15).round(1), rng.lognormal(0.0, 0.3, 15).round(1)
    for side, (slow, fast, g) in {1: (x, y, gamma), -1: (y, x, 1 / gamma)}.items():
        places = np.unique(np.concatenate([slow, fast * g]))
        places = np.concatenate([[0.0], places, 0.5 * (places[1:] + places[:-1]), [99.0]])
        naive = min(
            evidence(int(sum(slow > c)), 15, 1 - q) * evidence(int(sum(fast * g < c * (1 - 1e-12))), 15, q)
            for c in places
        )
        assert of(x, y, q).log_evidence(gamma, side=side) == pytest.approx(math.log(naive), abs=1e-9)


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_bounds_are_the_ratios_that_are_rejected(q: float) -> None:
    """Evidence falls as the ratio grows; the bound is where it falls below a proof."""
    rng = np.random.default_rng(3)
    x, y = rng.lognormal(0.4, 0.2, 400), rng.lognormal(0.0, 0.2, 400)
    sequence = of(x, y, q)
    result = sequence.result()
    assert result.low <= sequence.estimate() <= result.high
    assert (result.low > 1.0) == result.faster
    for bound, side in ((result.low, 1), (result.high, -1)):
        if 0.0 < bound < math.inf:
            assert sequence.rejects(bound * (1 - side * 1e-9), side=side)
            assert not sequence.rejects(bound * (1 + side * 1e-9), side=side)
    ratios = np.exp(np.linspace(-1.0, 1.5, 60))
    assert np.all(np.diff([sequence.log_evidence(g, side=1) for g in ratios]) <= 0.0)


def test_nothing_is_proven_of_equal_or_no_values() -> None:
    """Ties count on neither side."""
    ones = np.ones(100)
    result = of(ones, ones, 0.9).result()
    assert not result.faster
    assert not result.slower
    assert result.low <= 1.0 <= result.high
    assert QuantileSequence(0.9).result().high == math.inf


def _with_slow_runs(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.lognormal(0.0, 0.1, n) * np.where(rng.random(n) < 0.12, 3.0, 1.0)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.lognormal(0.0, 0.3, n),
        lambda rng, n: rng.exponential(1.0, n) + 0.1,
        lambda rng, n: np.maximum(rng.lognormal(1.0, 0.3, n).round(), 1.0),
        _with_slow_runs,
    ],
    ids=["log-normal", "exponential", "ticks", "slow runs"],
)
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_the_risk_of_sessions_that_stop_when_they_like(draw: Draw, shared: float) -> None:
    """Looked at after every fourth of 200 blocks, 5 % of equal versions at most are ever said to be faster."""
    rng, draws, n = np.random.default_rng(5), 150, 200
    wrong = 0
    for _ in range(draws):
        load = rng.lognormal(0.0, shared, n)  # of a block, which slows both down
        x, y = draw(rng, n) * load, draw(rng, n) * load
        sequence = QuantileSequence(0.9)
        for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
            sequence.add(a, b)
            if i % 4 == 3 and sequence.rejects(1.0, side=1):
                wrong += 1
                break
    assert wrong <= stats.binom.ppf(0.999, draws, 0.05)


def test_a_difference_is_found() -> None:
    """P90 of 1.2 of log-normal runs (.3): half of sessions take 180 blocks; of 250 most are enough."""
    rng, draws = np.random.default_rng(6), 40
    found = 0
    for _ in range(draws):
        x, y = 1.2 * rng.lognormal(0.0, 0.3, 250), rng.lognormal(0.0, 0.3, 250)
        found += of(x, y, 0.9).result().faster
    assert found >= stats.binom.ppf(0.001, draws, 0.6)
