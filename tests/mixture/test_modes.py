"""Clear modes, how a sample moves among them in run order, and states of runs by several metrics."""

from itertools import permutations
from math import comb
from typing import Any

import numpy as np
import pytest
import studies.modes as study
from scipy import stats

import speedproof as sp
from speedproof.data.sample import Sample
from speedproof.mixture.analysis import analyse, independent
from speedproof.mixture.fitting import fit
from speedproof.mixture.model import MixtureModel
from speedproof.mixture.modes import count_stretches, mode_order, number_of_modes, stretches_sd
from speedproof.mixture.results import too_few
from speedproof.mixture.states import joint_states, states_of, step_of


def two_states(slow_share: float, scale: float = 1.0) -> MixtureModel:
    return MixtureModel([1 - slow_share, slow_share], [10.0 * scale, 14.0 * scale], [0.4, 0.4])


def test_stretches_against_all_orders() -> None:
    """The number expected by chance is the mean over every order of the labels."""
    modes = two_states(0.5).modes()
    values = [10.0, 10.0, 14.0, 10.0, 14.0]
    orders = set(permutations(values))
    counts = [mode_order(order, modes, permutations=1).stretches for order in orders]
    assert mode_order(values, modes, permutations=1).expected == pytest.approx(np.mean(counts))


def test_order_of_independent_runs_is_mixed_and_of_one_state_none() -> None:
    """At risk 1 % the false alarms pass a binomial test."""
    model, runs = two_states(0.4), 100
    modes = model.modes()
    kinds = [mode_order(model.rvs(60, s), modes, permutations=199, seed=s).kind for s in range(runs)]
    assert stats.binomtest(runs - kinds.count("mixed"), runs, 0.02, alternative="greater").pvalue > 1e-3
    assert mode_order([10.0, 10.1], MixtureModel([1.0], [10.0], [1.0]).modes()).kind == "one mode"
    assert mode_order([10.0], two_states(0.5).modes()).kind == "one mode"
    assert mode_order([10.0, 14.0], two_states(0.5).modes()).kind == "mixed"


@pytest.mark.parametrize(("count", "enough"), [(9, False), (10, True)])
def test_ten_processes_are_enough_for_a_mixture_of_their_medians(count: int, enough: bool) -> None:
    x = Sample(np.random.default_rng(1).normal(10, 1, 3 * count), processes=np.repeat(np.arange(count), 3))
    found, told = independent(x)
    assert found.n == (count if enough else 3 * count)
    assert (f"{count} processes, one value each" in told) is enough


@pytest.mark.parametrize(("n", "tested"), [(2, False), (3, True)])
def test_three_values_are_the_least_that_a_fit_is_tested_with(n: int, tested: bool) -> None:
    assert (analyse(Sample(np.array([1.0, 2.0, 4.0])[:n]), N=20).test is not None) is tested


def test_five_values_a_component_are_enough() -> None:
    assert [too_few(n, 1) for n in (1, 4)] == [False, False]
    assert [too_few(n, K) for n, K in ((9, 2), (10, 2), (14, 3), (15, 3))] == [True, False, True, False]


def test_a_fast_analysis_fits_fast_but_by_the_rules_of_varcore() -> None:
    """These are mclust's on all values: there only the samples of the bootstrap stop early."""
    x = np.random.default_rng(1).exponential(1.0, 3500)
    assert analyse(Sample(x), N=0, fast=True).loglik == fit(x, fast=True).loglik != fit(x).loglik
    theirs = [analyse(Sample(x[:60]), N=20, compatible=True, fast=fast) for fast in (True, False)]
    assert theirs[0].components == theirs[1].components
    assert [one.test.fast for one in theirs if one.test is not None] == [True, False]


@pytest.mark.parametrize("exponent", [-900, 960])
def test_an_analysis_is_the_same_in_another_unit(exponent: int) -> None:
    """Where densities and squares are no doubles: places and sizes are scaled, likelihoods as densities are."""
    x = two_states(0.4).rvs(60, seed=1)
    one, other = (analyse(Sample(values), N=20, others=True) for values in (x, np.ldexp(x, exponent)))
    assert (other.kind, other.order, other.test) == (one.kind, one.order, one.test)
    scaled = [[np.ldexp(of, exponent) for of in (c.mean, c.sd)] for c in one.components]
    np.testing.assert_allclose([[c.mean, c.sd] for c in other.components], scaled, rtol=1e-9)
    assert [c.weight for c in other.components] == pytest.approx([c.weight for c in one.components])
    assert [m.place for m in other.modes] == pytest.approx([np.ldexp(m.place, exponent) for m in one.modes])
    assert [m.share for m in other.modes] == [m.share for m in one.modes]
    assert [m.dip for m in other.modes] == pytest.approx([m.dip for m in one.modes])
    density = -60 * exponent * np.log(2.0)
    pairs: list[tuple[Any, Any]] = [(one, other), *zip(one.families, other.families, strict=True)]
    for of_one, of_other in pairs:
        assert of_other.loglik == pytest.approx(of_one.loglik + density, rel=1e-9)
        assert of_other.bic == pytest.approx(of_one.bic + 2 * density, rel=1e-9)
    assert [of.name for of in other.families] == [of.name for of in one.families]


def test_of_large_samples_some_values_are_tested() -> None:
    """Four thousand, drawn by the seed; all are fitted."""
    x = np.random.default_rng(2).normal(10.0, 1.0, 4001)
    found, again, other = (analyse(Sample(x), N=10, seed=seed, fast=True, K_max=2) for seed in (1, 1, 2))
    assert found.test is not None
    assert (found.n, found.test.drawn, found.test.size) == (4001, 4000, 3200)
    assert found.loglik == fit(x, fast=True, K_max=2).loglik
    assert found == again != other
    few = analyse(Sample(x[:4000]), N=10, fast=True, K_max=2).test
    assert few is not None
    assert (few.drawn, few.size) == (None, 3200)


def test_every_run_belongs_to_a_mode() -> None:
    """Peaks of three runs and of one beside two modes of ten and five: these hold all runs between them."""
    peaks = {117.8: 10, 119.6: 3, 234.8: 5, 236.9: 1, 242.5: 1}
    values = [at + 0.3 * z for at, n in peaks.items() for z in stats.norm.ppf((np.arange(n) + 0.5) / n)]
    modes = analyse(Sample(np.array(values), unit="s"), N=0).modes
    assert [round(mode.place) for mode in modes] == [118, 235]
    assert [mode.share for mode in modes] == [13 / 20, 7 / 20]


@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("law", ["normal", "lognormal", "uniform"])
def test_samples_with_one_mode_rarely_show_two(law: str, n: int) -> None:
    """At most 5 %, by a binomial bound; the whole table is that of ``studies/modes.py``."""
    shown = study.shown(law, n, 40, seed=4)
    assert stats.binomtest(shown, 40, 0.05, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize("law", ["4 sd, 10 of 50", "a narrow fast mode"])
def test_true_modes_are_shown(law: str) -> None:
    assert stats.binomtest(study.shown(law, 50, 60, seed=4), 60, 0.95, alternative="less").pvalue > 1e-3


def test_a_third_mode_is_a_claim_too() -> None:
    """Two modes far apart, each of normal values: a third one is shown in 5 % at most, by a binomial bound."""
    more = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = np.concatenate([rng.normal(100, 1, 40), rng.normal(120, 1, 40)])
        count = number_of_modes(fit(x))
        assert count >= 2
        more += count > 2
    assert stats.binomtest(more, 60, 0.05, alternative="greater").pvalue > 1e-3


def test_many_stretches_against_permutations() -> None:
    """Mean and deviation of the number of stretches by formula and by shuffling."""
    rng = np.random.default_rng(8)
    label = rng.choice(4, 300, p=[0.5, 0.3, 0.15, 0.05])
    shuffled = [count_stretches(rng.permutation(label)) for _ in range(4000)]
    assert np.std(shuffled) == pytest.approx(stretches_sd(np.bincount(label)), rel=0.05)


def test_a_warm_up_is_a_state_that_is_left_at_once() -> None:
    """By chance all of its runs come first in one of comb(50, 5) orders; at the end they are a block."""
    modes, x = two_states(0.1).modes(), np.repeat([14.0, 10.0], [5, 45])
    first, last = mode_order(x, modes), mode_order(x[::-1], modes)
    assert first.kind == "warm-up"
    assert first.pvalue == pytest.approx(1 / comb(50, 5))
    assert last.kind == "blocks"
    assert mode_order(np.repeat([14.0, 10.0], [13, 37]), modes).kind == "blocks", "more than a quarter"


def test_a_spike_is_not_where_a_mode_lies() -> None:
    """Five of forty runs that nearly agree make the peak of the density; the sample lies at its median."""
    (matmul,) = sp.read("examples/gcc/O2.json").select(["matmul"]).samples.values()
    found = analyse(matmul, N=0)
    assert min(c.weight for c in found.components) < 0.2
    (mode,) = found.modes
    assert mode.place == np.median(matmul.values)


def runs(
    seed: int, n: int = 100, slow: float = 0.3, factor: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States, logarithms of times, and page faults."""
    rng = np.random.default_rng(seed)
    state = (rng.random(n) < slow).astype(int)
    return state, np.log(factor * (1.0 + state) * rng.lognormal(0.0, 0.02, n)), 110.0 + 2000.0 * state


def test_states_that_lie_apart_are_found() -> None:
    """Every run is in the state that it was drawn from."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        drawn = rng.choice(3, 200, p=[0.6, 0.3, 0.1])
        np.testing.assert_array_equal(
            states_of(np.array([0.0, 1.0, 3.0])[drawn] + rng.normal(0, 0.1, 200)), drawn
        )


@pytest.mark.parametrize("shape", ["norm", "logistic", "laplace", "uniform", "gumbel_r"])
def test_a_shape_is_no_state(shape: str) -> None:
    """Samples of one state are taken for one, where BIC gives some of these shapes two components and more."""
    found = [states_of(getattr(stats, shape).rvs(size=200, random_state=seed)).max() for seed in range(10)]
    assert np.mean(found) <= 0.2


def test_few_or_constant_runs_have_one_state() -> None:
    """A state holds five runs or more."""
    assert states_of(np.ones(30)).max() == 0
    assert states_of([1.0]).max() == states_of([1.0, 2.0, 9.0]).max() == 0
    assert states_of([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 9.0]).max() == 0


@pytest.mark.parametrize("factor", [1.0, 1.02, 1.3])
@pytest.mark.parametrize("slow", [0.0, 0.1])
def test_time_and_faults_together(factor: float, slow: float) -> None:
    """Counts that are constant in a state make no further states, nor does a version that is faster in each.

    A state is found though one of the versions is never in it.
    """
    a, b = runs(1, slow=0.3, factor=factor), runs(2, slow=slow)
    state, time, faults = (np.concatenate(parts) for parts in zip(a, b, strict=True))
    found = joint_states(
        np.column_stack((faults, time)), (1.0, 0.0), by_version=(False, True), versions=np.repeat([0, 1], 100)
    )
    np.testing.assert_array_equal(found, state)
    np.testing.assert_allclose([faults[found == k].mean() for k in (0, 1)], [110.0, 2110.0])


@pytest.mark.parametrize("n", [20, 60, 2000, 20_000])
def test_two_metrics_make_four_states_of_five_runs_or_more(n: int) -> None:
    """Of many runs some are climbed on, and all are told their state."""
    rng = np.random.default_rng(n)
    state = rng.permutation(np.arange(n) % 4)
    time, faults = state // 2 + rng.normal(10, 0.02, n), state % 2 + rng.normal(3, 0.02, n)
    found = joint_states(np.column_stack((time, faults)), (0.0, 0.0))
    assert len({*zip(found.tolist(), state.tolist(), strict=True)}) == 4 == found.max() + 1
    assert n > 20 or joint_states(np.column_stack((time, faults))[1:], (0.0, 0.0)).max() < 3


def test_time_tells_states_of_a_noisy_count() -> None:
    """Where they overlap it has them by the time of its runs; one that has nothing to do with time has none."""
    rng = np.random.default_rng(4)
    state = (rng.random(200) < 0.4).astype(int)
    count, time = 100.0 + 20.0 * state + rng.normal(0.0, 10.0, 200), 1.0 + state + rng.normal(0.0, 0.05, 200)
    found = joint_states(np.column_stack((count, time)), (0.0, 0.0), by_version=(False, True))
    np.testing.assert_array_equal(found, state)
    assert states_of(count).max() == 0
    state, time, _ = runs(3)
    count = np.random.default_rng(1).normal(50.0, 5.0, state.size)
    assert joint_states(np.column_stack((count, time)), (0.0, 0.0), by_version=(False, True)).max() == 0
    assert joint_states(np.column_stack((count, time)), (0.0, 0.0)).max() == 1


def test_steps() -> None:
    """Of values and zero together; one for whole numbers, which may all be multiples of more by chance."""
    assert step_of([110, 110, 2110]) == 10.0
    assert step_of([110, 110, 2110], whole=True) == 1.0
    assert step_of([409600, 413696, 413696]) == 4096.0
    assert step_of([1.25, 3.7, 4.1]) == 0.0
