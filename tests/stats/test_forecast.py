"""How fast evidence comes in, and what a number of blocks can prove: the definition, either side of each limit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from speedproof.stats.betting import (
    LOG_WEIGHTS,
    blocks_for_proof,
    blocks_until,
    growth,
    log_factors,
    scale_of,
    smallest_provable,
)


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
