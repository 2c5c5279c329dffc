"""States across versions and in run order: planted changes are found, and nothing where nothing changed."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from speedproof.mixture.changes import _stretches, _stretches_sd, compare_modes, state_order, states
from speedproof.mixture.fit import fit
from speedproof.mixture.model import MixtureModel


def two_states(slow_share: float, scale: float = 1.0) -> MixtureModel:
    return MixtureModel([1 - slow_share, slow_share], [10.0 * scale, 14.0 * scale], [0.4, 0.4])


def changes(reference: MixtureModel, candidate: MixtureModel, seed: int) -> Any:
    x, y = reference.rvs(150, 2 * seed), candidate.rvs(150, 2 * seed + 1)
    return compare_modes(x, y, (fit(x).model, fit(y).model), seed=seed)


def test_other_weights() -> None:
    found = changes(two_states(0.2), two_states(0.6), 1)
    assert not found.moved
    assert found.reweighted
    slow = found.matched[1]
    assert slow.share_change.low <= 0.4 <= slow.share_change.high
    assert found.conclusion.startswith("same states, other weights")


def test_moved_states() -> None:
    found = changes(two_states(0.4), two_states(0.4, 0.8), 2)
    assert found.moved
    assert not found.reweighted
    assert found.matched[0].ratio.low <= 1.25 <= found.matched[0].ratio.high
    assert found.conclusion.startswith("states moved: runs")


def test_both() -> None:
    assert "and runs fall" in changes(two_states(0.2), two_states(0.6, 0.8), 3).conclusion


def test_vanished_and_appeared() -> None:
    gone = changes(two_states(0.3), MixtureModel([1.0], [10.0], [0.4]), 4)
    assert gone.vanished == pytest.approx([14.0], abs=0.3)
    assert gone.matched[0].reference == pytest.approx(10.0, abs=0.3)
    assert gone.conclusion == "the states differ: 1 state vanished"
    new = changes(MixtureModel([1.0], [14.0], [0.4]), two_states(0.3), 5)
    assert new.appeared == pytest.approx([10.0], abs=0.3)
    assert "1 state appeared" in new.conclusion


def test_false_alarms_stay_below_the_risk() -> None:
    """Two samples of one mixture: some interval misses in at most 5 % of the runs, by a binomial test."""
    runs, model = 60, two_states(0.3)
    found = [changes(model, model, seed) for seed in range(10, 10 + runs)]
    alarms = sum(f.moved or f.reweighted for f in found)
    assert stats.binomtest(int(alarms), runs, 0.05, alternative="greater").pvalue > 1e-3


def test_stretches_against_all_orders() -> None:
    """The number expected by chance is the mean over every order of the labels."""
    model = two_states(0.5)
    values = [10.0, 10.0, 14.0, 10.0, 14.0]
    orders = set(permutations(values))
    counts = [state_order(order, model, permutations=1).stretches for order in orders]
    assert state_order(values, model, permutations=1).expected == pytest.approx(np.mean(counts))


def test_order_of_independent_runs_is_mixed() -> None:
    """At risk 1 % the false alarms pass a binomial test."""
    model, runs = two_states(0.4), 100
    kinds = [state_order(model.rvs(60, s), model, permutations=199, seed=s).kind for s in range(runs)]
    alarms = runs - kinds.count("mixed")
    assert stats.binomtest(alarms, runs, 0.02, alternative="greater").pvalue > 1e-3


def test_one_state_and_short_samples() -> None:
    assert state_order([10.0, 10.1], MixtureModel([1.0], [10.0], [1.0])).kind == "one state"
    assert state_order([10.0], two_states(0.5)).kind == "one state"
    assert state_order([10.0, 14.0], two_states(0.5)).kind == "mixed"


def test_shallow_modes_are_no_states() -> None:
    assert states(MixtureModel([0.5, 0.5], [0.0, 2.1], [1.0, 1.0])).count == 1
    assert states(MixtureModel([0.5, 0.5], [0.0, 4.0], [1.0, 1.0])).count == 2


def test_many_stretches_against_permutations() -> None:
    """Mean and deviation of the number of stretches by formula and by shuffling."""
    rng = np.random.default_rng(8)
    label = rng.choice(4, 300, p=[0.5, 0.3, 0.15, 0.05])
    shuffled = [_stretches(rng.permutation(label)) for _ in range(4000)]
    assert np.std(shuffled) == pytest.approx(_stretches_sd(np.bincount(label)), rel=0.05)


def test_order_of_a_large_sample() -> None:
    m = MixtureModel([0.5, 0.5], [1.0, 2.0], [0.1, 0.1])
    x = np.repeat(m.rvs(500, 1), 10)
    assert state_order(x, m).kind == "blocks"
    assert state_order(np.random.default_rng(2).permutation(x), m).kind == "mixed"
