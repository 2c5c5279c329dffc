"""Noise in words, plans, and how many runs would decide: formulas of variance components, and simulation."""

import json
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import signal, stats
from tests.protocols.asking import plan_runs

import speedproof as sp
from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.errors import DataError
from speedproof.options import HEADLINE
from speedproof.protocols import planning
from speedproof.protocols.figures import forecasts
from speedproof.protocols.pair import Batch, Rules
from speedproof.protocols.planning import MOST_RUNS, calibrate, plan_power
from speedproof.stats.power import variance_components
from speedproof.stats.sequential import blocks_needed


@pytest.mark.parametrize(("cost", "runs"), [(0.01, 1), (1.0, 2), (2.0, 3), (4.0, 4)])
def test_a_plan_of_few_runs(cost: float, runs: int) -> None:
    """A median of one or two runs is their mean; of three on its variance is that of normal values."""
    rng = np.random.default_rng(2)
    pilot = [
        np.exp(0.02 * rng.standard_normal((40, 1)) + 0.03 * rng.standard_normal((40, 8))) for _ in range(3)
    ]
    plan = plan_runs(pilot, cost, 1.0)
    assert plan.runs_per_build == runs
    parts = np.mean([variance_components(np.log(v)) for v in pilot], axis=0)
    spread = math.sqrt(2 * (parts[0] + (math.pi / 2 if runs >= 3 else 1.0) * parts[1] / runs))
    for size in plan.sizes:
        needed = blocks_needed(math.log(size.speedup) / spread, alpha=0.05)
        assert size.builds == max(math.ceil(needed), 10)
        assert (size.building, size.measuring) == (3 * size.builds * cost, 3 * size.builds * runs)


@pytest.mark.parametrize("cost", [0.5, 30.0, 3000.0])
def test_builds_that_do_not_vary(cost: float) -> None:
    """A pilot of equal builds tells only that the variance they add is small beside its estimate's deviation."""
    pilot = [np.exp([[0.0, 0.01, 0.03, 0.02]] * 3)] * 2
    within, degrees = np.log(pilot[0][0]).var(ddof=1), 2 * (3 - 1)
    possible = within / 4 * math.sqrt(2 / degrees)
    exact = math.sqrt(within / possible * cost)
    plan = plan_runs(pilot, cost, 1.0)
    assert plan.between == 0.0
    assert plan.runs_per_build in (math.floor(exact), math.ceil(exact))
    needed = blocks_needed(
        math.log(1.05) / math.sqrt(2 * (possible + math.pi / 2 * within / plan.runs_per_build)), alpha=0.05
    )
    assert plan.sizes[0].builds == max(math.ceil(needed), 10)


def test_plans_of_ten_to_a_million_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = [np.exp([[0.0, 0.1], [0.2, 0.4]])] * 2
    most = 2.0**20
    for needed, builds in ((1.0, 10), (10.0, 10), (10.1, 11), (most, 1 << 20), (most + 1, 0), (math.inf, 0)):
        monkeypatch.setattr(planning, "blocks_needed", lambda *_, at=needed, **__: at)
        assert {size.builds for size in plan_runs(pilot, 1.0, 1.0).sizes} == {builds}


@pytest.mark.parametrize("short", [(1, 4), (4, 1)])
@pytest.mark.parametrize("side", [0, 1])
def test_a_plan_needs_two_of_everything(short: tuple[int, int], side: int) -> None:
    pilot = [np.ones((4, 4)), np.ones((4, 4))]
    pilot[side] = np.ones(short)
    with pytest.raises(DataError, match="two builds of each version and two runs of each"):
        plan_runs(pilot, 1.0, 1.0)


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


@pytest.mark.parametrize(("protocol", "times"), [("mean", 1.0), ("single run", math.pi / 3)])
@pytest.mark.parametrize("effect", [0.02, 0.03])
def test_against_the_power_of_the_t_test(effect: float, protocol: str, times: float) -> None:
    """Of normal runs the number is that of the non-central t distribution, up to the error of 300 comparisons.

    A rank test needs pi / 3 as many: the asymptotic relative efficiency of Wilcoxon's.
    """
    for size in planned(normal(1, 200), normal(2, 200), effect, protocol).sizes:
        exact = times * t_test_runs((10.0 - 10.0 / (1.0 + effect)) / 0.5, size.power)
        assert size.runs == pytest.approx(exact, rel=0.25)


def shown(protocol: str, x: FloatArray, y: FloatArray) -> bool:
    """Whether y is faster by SciPy's tests, after figure 1 or 2 of the Speedup-Test: small samples must fit it."""
    if protocol == "mean":
        fits = len(x) > 30 or min(stats.shapiro(side).pvalue for side in (x, y)) > 0.05
        return bool(fits and stats.ttest_ind(x, y, alternative="greater").pvalue <= 0.05)
    fits = len(x) > 30 or stats.ks_2samp(x - np.median(x), y - np.median(y), method="asymp").pvalue > 0.05
    return bool(fits and stats.mannwhitneyu(x, y, alternative="greater").pvalue <= 0.05)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("effect", [pytest.param(0.1, marks=pytest.mark.slow), 0.3])
@pytest.mark.parametrize("protocol", ["mean", "median"])
def test_large_effects_have_the_power(protocol: str, effect: float, seed: int) -> None:
    """Of normal runs, by SciPy's tests of 300 pairs (error 0.05): neither too few runs nor a third too many."""
    rng, old = np.random.default_rng(seed), normal(seed, 400, 100.0, 10.0)
    plan = planned(old, old, effect, protocol)

    def power(n: int) -> float:
        pairs = rng.normal(100.0, 10.0, (300, 2, n)) / np.array([[1.0], [1.0 + effect]])
        return float(np.mean([shown(protocol, x, y) for x, y in pairs]))

    often, oftener = plan.sizes
    assert power(often.runs) >= 0.7
    assert power(oftener.runs) >= 0.8
    fewer = often.runs * 2 // 3
    assert fewer < 4 or power(fewer) < 0.85


def test_a_quantile_takes_the_runs_that_its_limits_take() -> None:
    """At least 29 for P90, though the runs hardly vary; four to prove what a typical run takes."""
    for protocol, least in (("p90", 29), ("typical", 4)):
        found = planned(normal(1, 30, deviation=0.001), normal(2, 30, deviation=0.001), 0.05, protocol)
        assert min(size.low for size in found.sizes) >= least


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
    alone = sp.Suite.of_samples({"benchmark": {"a": x}}, unit="ms")
    assert sp.plan(alone, effect=0.03, protocol="mean").plans == one.plans
    assert json.loads(one.to_json())["results"][0]["sizes"][0]["runs"] == one.runs
    sides = {"a": x, "b": x + 1.0}
    suite = sp.Suite.of_samples({"f": sides, "g": {"a": x[:3], "b": x[:3]}, "h": sides}, unit="ms")
    both = sp.plan(suite, effect=0.05, protocol="mean")
    assert [found.benchmark for found in both] == ["f", "h"]
    assert both.problems == ("g: a pilot needs 5 runs (processes) of each version",)
    with pytest.raises(sp.SpeedproofError, match="there are 2 plans: "):
        _ = both.runs


@pytest.mark.parametrize(("values", "options", "told"), [
    ([1.0, 1.1] * 5, {"effect": 0.0}, "effect="), ([1.0, 1.1] * 5, {"effect": "x"}, "effect="),
    ([1.0, 1.1] * 5, {"protocol": "best"}, "protocol='best'"), ([1.0, 1.1] * 5, {"quantile": 0.2}, "quantile="),
    ([1.0] * 10, {}, "benchmark: "), ([1.0, 1.1, 1.2], {}, "benchmark: "),
    ([0.0] + [1.0, 1.1] * 5, {}, "benchmark: "),
])  # fmt: skip
def test_bad_requests_and_pilots(values: list[float], options: dict[str, Any], told: str) -> None:
    """What is constant, too short or holds zeros tells nothing."""
    with pytest.raises(sp.SpeedproofError, match=told):
        sp.plan(values, **{"effect": 0.02, **options})


@pytest.mark.parametrize("protocol", ["mean", "median", "p90"])
def test_a_pilot_in_steps_has_an_interval(protocol: str) -> None:
    """Draws of it may be all equal: they tell nothing then, and yet there is a number."""
    old, new = np.full(10, 1.0), np.full(10, 1.05)
    old[:2], new[:1] = [1.001, 1.02], [1.06]
    size = plan_power(Pair(Key("f"), Sample(old), Sample(new)), 0.05, protocol).sizes[0]
    assert 0.0 < size.low <= (size.runs or MOST_RUNS) <= size.high


@pytest.mark.parametrize("protocol", ["mean", "median"])
def test_how_well_the_number_is_known(protocol: str) -> None:
    """As fresh pilots tell it: by their variance, by Noether's formula; and a share's quantile."""
    x, y = normal(1, 400), normal(2, 400)

    def runs(a: FloatArray, b: FloatArray) -> float:
        if protocol == "mean":
            return float((np.var(a) + np.var(b)) / np.mean(a) ** 2)
        b = b * np.median(a) / np.median(b) / 1.02
        return float((stats.mannwhitneyu(a, b).statistic / 400**2 - 0.5) ** -2)

    pilot = np.std(
        [math.log(runs(*rng.normal(10.0, 0.5, (2, 400)))) for rng in map(np.random.default_rng, range(300))]
    )
    for size in planned(x, y, 0.02, protocol).sizes:
        z = stats.norm.ppf(size.power)
        share = math.sqrt(size.power * (1 - size.power) / 200) / stats.norm.pdf(z)
        expected = stats.norm.ppf(0.975) * math.hypot(pilot, 2 * share / (z + stats.norm.ppf(0.95)))
        assert math.log(size.high / size.low) == pytest.approx(2 * expected, rel=0.25)


def test_one_far_run_is_no_matter_to_a_median() -> None:
    """What is known of it is not told by the spread of all, which one run of a thousand times makes unknown."""
    x, y = normal(1, 30), normal(2, 30)
    x[0] = y[0] = 10_000.0
    size = planned(x, y, 0.1, "median").sizes[0]
    assert size.high < 4 * size.low


def test_dependent_runs_take_more_by_theory() -> None:
    """Of an AR(1) series (1 + r) / (1 - r) runs tell as much as an independent one; of those that drift none."""
    x, y = (
        1.0
        + 0.02 * math.sqrt(0.75) * signal.lfilter([1], [1, -0.5], np.random.default_rng(i).normal(size=2000))
        for i in (1, 2)
    )
    plain, alike = (
        planned(x, y, 0.01, HEADLINE, traits=frozenset(traits)).sizes for traits in ((), (Trait.ORDER_KNOWN,))
    )
    for one, more in zip(plain, alike, strict=True):
        assert (more.runs / one.runs, more.high / one.high) == pytest.approx((3.0, 3.0), rel=0.15)
    with pytest.raises(DataError, match="f: the runs drift"):
        planned(np.sort(x), np.sort(y), 0.01, HEADLINE, traits=frozenset({Trait.ORDER_KNOWN}))


def fake_sides(slow: FloatArray, fast: FloatArray) -> Batch:
    of_x, of_y = SimpleNamespace(n=slow.shape[1], unit="s"), SimpleNamespace(n=fast.shape[1])
    rows = zip(slow, fast, strict=True)
    sides: list[Any] = [SimpleNamespace(x=of_x, y=of_y, slow=x, fast=y, turned=False) for x, y in rows]
    return Batch(sides)


def test_a_forecast_of_equivalence_is_the_larger_of_two_tests() -> None:
    """Where the observed speedup is inside, and only if it is less than the difference takes."""
    slow, fast = np.arange(6.0) + 1, np.arange(5.0) + 1

    def runs_needed(x: Any, y: Any, alpha: float, power: float = 0.8) -> tuple[Any, Any]:
        times = float(np.asarray(y)[0, 0] / fast[0])
        if power == 0.8:
            return np.array([300.0]), np.array([310.0])
        return np.array([100 * times]), np.array([50 / times])

    given, rules = (fake_sides(slow[None], fast[None]), slow[None], fast[None]), Rules(margin=0.25)
    for speedup, expected in ((1.0, (125, 63)), (1.24, (125, 63)), (1.26, (300, 310)), (0.79, (300, 310))):
        found = forecasts(*given, rules, [0], runs_needed, [speedup])[0]
        assert (found.reference, found.candidate) == expected
        assert ("prove equivalence" in found.reason) == (expected[0] == 125)
    few = forecasts(*given, rules, [0], runs_needed, inflation=np.array([1e-3]))[0]
    assert (few.reference, few.candidate) == (7, 6)  # always more than there are


def test_noise_that_was_put_in_is_found() -> None:
    rng = np.random.default_rng(4)
    times = 0.1 * np.exp(0.02 * rng.standard_normal((2000, 2)))
    c = calibrate([(a, b) for a, b in times.tolist()], times.ravel().tolist(), 2000 * 0.21, (21.0, 210.0))
    assert c.median == pytest.approx(0.1, rel=0.01)
    assert c.noise == pytest.approx(0.02, rel=0.1)
    assert c.block_noise == pytest.approx(0.02 * math.sqrt(2), rel=0.1)
    assert abs(c.autocorrelation) < 0.06
    (_, few, large), (_, many, small) = c.provable
    assert (few, many) == pytest.approx((100, 1000))
    # Evidence grows with the square of the effect: ten times the blocks, a third of the speedup.
    assert (large - 1) / (small - 1) == pytest.approx(math.sqrt(10), rel=0.25)


def test_constant_times_and_too_few() -> None:
    c = calibrate([(1.0, 1.0)] * 4, [1.0] * 8, 8.0)
    assert (c.noise, c.block_noise) == (0.0, 0.0)
    assert math.isnan(c.autocorrelation)
    with pytest.raises(DataError, match="3 blocks are too few"):
        calibrate([(1.0, 1.0)] * 3, [1.0] * 6, 1.0)
