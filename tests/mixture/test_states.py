"""The states of runs, by one metric and by several at once."""

import numpy as np
import pytest
from scipy import stats

from speedproof.mixture.states import joint_states, states_of, step_of


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


def test_time_tells_states_of_a_noisy_count() -> None:
    """A count whose states overlap has them where the time of its runs tells them apart, and alone has none."""
    rng = np.random.default_rng(4)
    state = (rng.random(200) < 0.4).astype(int)
    count, time = 100.0 + 20.0 * state + rng.normal(0.0, 10.0, 200), 1.0 + state + rng.normal(0.0, 0.05, 200)
    found = joint_states(np.column_stack((count, time)), (0.0, 0.0), by_version=(False, True))
    np.testing.assert_array_equal(found, state)
    assert states_of(count).max() == 0


def test_states_of_time_alone_are_no_states_of_a_count() -> None:
    """Else a count that has nothing to do with time would be held responsible for its states."""
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
