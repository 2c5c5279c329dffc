"""States of two versions: simulated states are found again, outliers are no states."""

from __future__ import annotations

import numpy as np
import pytest

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols.states import compare_states


def pair(x: np.ndarray, y: np.ndarray) -> Pair:
    return Pair(Key("b"), Sample(x), Sample(y))


def bimodal(rng: np.random.Generator, slow_share: float, shift: float = 0.0) -> np.ndarray:
    slow = rng.random(200) < slow_share
    return rng.normal(10, 0.1, 200) + 2 * slow + shift


def test_weights_against_places() -> None:
    """Other weights of the same states and moved states are told apart."""
    rng = np.random.default_rng(1)
    weights = compare_states(pair(bimodal(rng, 0.5), bimodal(rng, 0.15)))
    assert weights is not None
    assert weights.changes.conclusion.startswith("same states, other weights")
    moved = compare_states(pair(bimodal(rng, 0.4), bimodal(rng, 0.4, -1.0)))
    assert moved is not None
    assert moved.changes.conclusion.startswith("states moved: runs")
    assert moved.reference_states == pytest.approx((10, 12), abs=0.05)


def test_metrics_against_all_pairs() -> None:
    """E|X-Y| and P[Y<X] are those of the n m pairs."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(10, 1, 50), rng.normal(9, 1, 60)
    found = compare_states(pair(x, y))
    assert found is not None
    assert found.gap == pytest.approx(np.abs(x[:, None] - y).mean(), rel=1e-12)
    assert found.candidate_lower == pytest.approx((y < x[:, None]).mean(), rel=1e-12)


def test_an_outlier_is_no_state() -> None:
    """One run far out on either side neither moves, appears nor vanishes."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(10, 0.1, 40), rng.normal(10, 0.1, 40)
    x[7], y[3] = 35.0, 80.0
    for found in (compare_states(pair(x, y)), compare_states(pair(x, np.delete(y, 3)))):
        assert found is not None
        assert found.changes.conclusion == "no change of the states is shown"


@pytest.mark.parametrize("x", [np.full(40, 3.0), np.arange(1.0, 6.0)])
def test_samples_that_no_mixture_says_anything_of(x: np.ndarray) -> None:
    """Constants and a handful of values give nothing rather than a crash."""
    assert compare_states(pair(x, np.linspace(1, 2, 40))) is None
