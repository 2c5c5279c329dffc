"""How many runs find an effect: against the formula of a test whose power is known, and by simulation."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import speedproof as sp
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols.power import MOST_RUNS, plan_power


def normal(seed: int, n: int, level: float = 10.0, deviation: float = 0.5) -> np.ndarray:
    """Runs with exactly this mean and deviation."""
    x = np.random.default_rng(seed).normal(size=n)
    return np.asarray(level + deviation * (x - x.mean()) / x.std(ddof=1))


def planned(x: np.ndarray, y: np.ndarray, effect: float, protocol: str = "mean", **options: Any) -> Any:
    return plan_power(Pair(Key("f"), Sample(x, **options), Sample(y, **options)), effect, protocol)


def t_test_runs(effect: float, power: float, alpha: float = 0.05) -> int:
    """The runs of each side with which a one-sided t-test has a power, by the non-central t distribution."""
    for n in range(3, 10_000):
        shift = effect * np.sqrt(n / 2.0)
        if stats.nct.sf(stats.t.ppf(1.0 - alpha, 2 * n - 2), 2 * n - 2, shift) >= power:
            return n
    raise AssertionError


@pytest.mark.parametrize("effect", [0.02, 0.03])
def test_against_the_power_of_the_t_test(effect: float) -> None:
    """Of normal runs the number is that of the non-central t distribution, up to the error of 300 comparisons."""
    found = planned(normal(1, 200), normal(2, 200), effect)
    for size in found.sizes:
        exact = t_test_runs((10.0 - 10.0 / (1.0 + effect)) / 0.5, size.power)
        assert size.runs == pytest.approx(exact, rel=0.25)
        assert size.low < size.runs < size.high


def test_the_observed_difference_does_not_matter() -> None:
    """The pilot tells the spread; that its candidate is twice as fast changes the number by chance only."""
    x, y = normal(1, 50), normal(2, 50)
    equal, faster = (planned(x, side, 0.03).sizes[0].runs for side in (y, 0.5 * y))
    assert faster == pytest.approx(equal, rel=0.3)


def test_units_and_rates_change_nothing() -> None:
    """A number of runs has no unit; of rates it is that of the candidate's gain."""
    x, y = normal(1, 40), normal(2, 40)
    plain = planned(x, y, 0.03)
    assert planned(1e-6 * x, 1e-6 * y, 0.03).sizes[0].runs == pytest.approx(plain.sizes[0].runs, rel=0.02)
    rates = planned(x, y, 0.03, unit="B/s").sizes[0]
    assert rates.runs == pytest.approx(plain.sizes[0].runs, rel=0.3)


def test_processes_are_counted() -> None:
    """Of nested values the number is of processes, which vary more than their runs."""
    rng = np.random.default_rng(3)
    x, y = (np.exp(0.05 * rng.normal(size=(20, 1)) + 0.01 * rng.normal(size=(20, 8))) for _ in "ab")
    numbers = np.repeat(np.arange(20), 8)
    pair = Pair(Key("f"), *(Sample(v.ravel(), processes=numbers) for v in (x, y)))
    found = plan_power(pair, 0.03, "mean")
    assert (found.repeated, found.pilot) == ("process", (20, 20))
    alone = planned(x.mean(axis=1), y.mean(axis=1), 0.03)
    assert found.sizes[0].runs == pytest.approx(alone.sizes[0].runs, rel=0.1)


def test_a_quantile_takes_the_runs_that_its_limits_take() -> None:
    """At least 29 for P90, though the runs hardly vary."""
    found = planned(normal(1, 30, deviation=0.001), normal(2, 30, deviation=0.001), 0.05, "p90")
    assert min(size.runs for size in found.sizes) >= 29


def test_an_effect_too_small_for_any_number() -> None:
    found = planned(normal(1, 20, deviation=2.0), normal(2, 20, deviation=2.0), 1e-5)
    assert [(size.runs, size.low) for size in found.sizes] == [(None, MOST_RUNS)] * 2


def test_python() -> None:
    """One sample is enough; a suite has a plan a benchmark, and says what it cannot plan."""
    x = normal(1, 30)
    one = sp.plan(x, effect="3%", unit="ms", protocol="mean")
    assert one.runs == one.plans[0].sizes[0].runs
    assert "To find 3 % in 8 of 10 comparisons: about" in str(one)
    assert sp.plan(x, effect=0.03, unit="ms", protocol="mean") == one
    suite = sp.Suite.of_samples({"f": {"a": x, "b": x + 1.0}, "g": {"a": x[:3], "b": x[:3]}}, unit="ms")
    both = sp.plan(suite, effect=0.05, protocol="mean")
    assert [found.benchmark for found in both] == ["f"]
    assert both.problems == ("g: a pilot needs 5 runs (processes) of each version",)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"effect": 0.0}, "effect="),
        ({"effect": "x"}, "effect="),
        ({"effect": 0.02, "protocol": "best"}, "protocol='best'"),
        ({"effect": 0.02, "quantile": 0.2}, "quantile="),
    ],
)
def test_bad_requests(options: dict[str, Any], told: str) -> None:
    with pytest.raises(sp.SpeedproofError, match=told):
        sp.plan(normal(1, 10), **options)


@pytest.mark.parametrize("values", [[1.0] * 10, [1.0, 1.1, 1.2], [0.0] + [1.0, 1.1] * 5])
def test_pilots_that_tell_nothing(values: list[float]) -> None:
    """Constant, too few, or with zeros."""
    with pytest.raises(sp.SpeedproofError, match="benchmark: "):
        sp.plan(values, effect=0.02)


@pytest.mark.parametrize("protocol", ["median", "p90"])
def test_a_pilot_in_steps_has_an_interval(protocol: str) -> None:
    """Draws of it may be all equal: there is no density to estimate then, and yet a number."""
    old, new = np.full(10, 1.0), np.full(10, 1.05)
    old[:3], new[:3] = [1.001, 1.02, 1.03], [1.06, 1.051, 1.053]
    size = plan_power(Pair(Key("f"), Sample(old), Sample(new)), 0.05, protocol).sizes[0]
    assert 0.0 < size.low <= (size.runs or MOST_RUNS) <= size.high
