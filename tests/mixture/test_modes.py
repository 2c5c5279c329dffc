"""Clear modes, and how a sample moves among them in run order."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

import speedproof as sp
from speedproof.mixture.analysis import analyse
from speedproof.mixture.model import MixtureModel
from speedproof.mixture.modes import _stretches, _stretches_sd, clear_modes, mode_order


def two_states(slow_share: float, scale: float = 1.0) -> MixtureModel:
    return MixtureModel([1 - slow_share, slow_share], [10.0 * scale, 14.0 * scale], [0.4, 0.4])


def test_stretches_against_all_orders() -> None:
    """The number expected by chance is the mean over every order of the labels."""
    modes = two_states(0.5).modes()
    values = [10.0, 10.0, 14.0, 10.0, 14.0]
    orders = set(permutations(values))
    counts = [mode_order(order, modes, permutations=1).stretches for order in orders]
    assert mode_order(values, modes, permutations=1).expected == pytest.approx(np.mean(counts))


def test_order_of_independent_runs_is_mixed() -> None:
    """At risk 1 % the false alarms pass a binomial test."""
    model, runs = two_states(0.4), 100
    modes = model.modes()
    kinds = [mode_order(model.rvs(60, s), modes, permutations=199, seed=s).kind for s in range(runs)]
    alarms = runs - kinds.count("mixed")
    assert stats.binomtest(alarms, runs, 0.02, alternative="greater").pvalue > 1e-3


def test_one_state_and_short_samples() -> None:
    assert mode_order([10.0, 10.1], MixtureModel([1.0], [10.0], [1.0]).modes()).kind == "one mode"
    assert mode_order([10.0], two_states(0.5).modes()).kind == "one mode"
    assert mode_order([10.0, 14.0], two_states(0.5).modes()).kind == "mixed"


def test_shallow_modes_are_no_states() -> None:
    assert clear_modes(MixtureModel([0.5, 0.5], [0.0, 2.1], [1.0, 1.0])).count == 1
    assert clear_modes(MixtureModel([0.5, 0.5], [0.0, 4.0], [1.0, 1.0])).count == 2


def test_many_stretches_against_permutations() -> None:
    """Mean and deviation of the number of stretches by formula and by shuffling."""
    rng = np.random.default_rng(8)
    label = rng.choice(4, 300, p=[0.5, 0.3, 0.15, 0.05])
    shuffled = [_stretches(rng.permutation(label)) for _ in range(4000)]
    assert np.std(shuffled) == pytest.approx(_stretches_sd(np.bincount(label)), rel=0.05)


def test_order_of_a_large_sample() -> None:
    m = MixtureModel([0.5, 0.5], [1.0, 2.0], [0.1, 0.1])
    x = np.repeat(m.rvs(500, 1), 10)
    assert mode_order(x, m.modes()).kind == "blocks"
    assert mode_order(np.random.default_rng(2).permutation(x), m.modes()).kind == "mixed"


def test_a_spike_is_not_where_a_mode_lies() -> None:
    """Five of forty runs that nearly agree make the peak of the density; the sample lies at its median."""
    (matmul,) = sp.read("examples/gcc/O2.json").select(["matmul"]).samples.values()
    found = analyse(matmul, N=0)
    assert min(c.weight for c in found.components) < 0.2
    (mode,) = found.modes
    assert mode.place == np.median(matmul.values)
