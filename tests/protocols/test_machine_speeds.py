"""Two speeds of a machine, in data made with and without them."""

import json

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

import speedproof as sp
from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols.caveats import common_speeds, machine_speeds, slower_processes, two_speeds_of
from speedproof.reporting.model import FORMATS, Reported
from speedproof.reporting.notes import two_speeds
from speedproof.reporting.text import render


def pairs(
    rng: np.random.Generator, count: int, *, factor: float = 2.0, speedup: float = 1.1, unit: str = "s"
) -> list[Pair]:
    """Benchmarks of 12 processes a side, each at one of two speeds by a throw of a coin."""
    found = []
    for i in range(count):
        sides = []
        for level in (1.0, 1.0 / speedup):
            slow = rng.permutation(np.arange(12) < rng.integers(3, 10))
            values = (
                10.0 ** (i % 5) * level * np.where(slow, factor, 1.0) * np.exp(0.02 * rng.standard_normal(12))
            )
            sides.append(Sample(values if unit == "s" else 1.0 / values, unit))
        found.append(Pair(Key(f"b{i}"), *sides))
    return found


@pytest.mark.parametrize("unit", ["s", "B/s"])
def test_two_speeds_are_found_with_the_speedup_between_equals(unit: str) -> None:
    """The factor and the speedup that the data were made with, whatever processes were slow."""
    found = machine_speeds(pairs(np.random.default_rng(1), 20, unit=unit))
    assert found is not None
    assert (found.benchmarks, found.of) == (20, 20)
    assert found.factor == pytest.approx(2.0, rel=0.01)
    assert found.speedup.value == pytest.approx(1.1, rel=0.01)


def test_bounds_are_those_of_student() -> None:
    """Of the logarithms, benchmark by benchmark: the bounds are for benchmarks like these."""
    rng = np.random.default_rng(4)
    rows = np.column_stack([np.full((9, 2), 0.7), rng.normal(0.1, 0.05, 9)])
    found = common_speeds(rows, 9, 0.1)
    assert found is not None
    expected = stats.ttest_1samp(rows[:, 2], 0.0).confidence_interval(0.8)
    assert np.log(found.speedup.ends) == pytest.approx(tuple(expected))
    assert found.speedup.confidence == pytest.approx(0.9)


@pytest.mark.parametrize("unit", ["s", "B/s"])
def test_which_processes_were_slower(unit: str) -> None:
    """Those that were made so by their medians, in run order, of times and of rates; of others nobody knows."""
    rng = np.random.default_rng(7)
    suite, slow = [], []
    for _ in range(4):
        states = [rng.permutation(np.arange(12) < n) for n in (5, 7)]
        times = [np.where(state, 2.0, 1.0) * np.exp(0.02 * rng.standard_normal(12)) for state in states]
        runs = [
            np.outer(t, [1.0, 1.0, 1.0]) * np.where(np.arange(36) % 6 == 5, 9.0, 1.0).reshape(12, 3)
            for t in times
        ]
        places = np.repeat(np.arange(12), 3)
        both = [Sample((t if unit == "s" else 1.0 / t).ravel(), unit, processes=places) for t in runs]
        suite.append(Pair(Key("b"), *both))
        slow.append(states)
    machine = machine_speeds(suite)
    assert machine is not None
    for pair, states in zip(suite, slow, strict=True):
        found = slower_processes((pair.reference, pair.candidate), machine)
        assert found is not None
        np.testing.assert_array_equal(found, states)
    (other,) = pairs(rng, 1, factor=3.0, unit=unit)
    few = Sample(np.where(np.arange(12) < 4, 2.0, 1.0) * np.exp(0.02 * rng.standard_normal(12)), unit)
    for unknown in ((other.reference, other.candidate), (suite[0].reference, few), (few, few)):
        assert slower_processes(unknown, machine) is None


@pytest.mark.parametrize("draw", ["normal", "lognormal", "exponential"])
def test_noise_has_no_two_speeds(draw: str) -> None:
    """Of 100 suites without two speeds none is said to have them."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        sides = [[Sample(10 + getattr(rng, draw)(size=size)) for size in (6, 20)] for _ in range(6)]
        assert machine_speeds([Pair(Key(str(i)), *two) for i, two in enumerate(sides)]) is None


def test_benchmarks_with_modes_of_their_own_are_not_the_machine() -> None:
    """Factors that differ from benchmark to benchmark belong to the programs."""
    rng = np.random.default_rng(3)
    mixed = [pair for factor in (1.2, 1.5, 2.0, 3.0) for pair in pairs(rng, 3, factor=factor)]
    assert machine_speeds(mixed) is None


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_confidence_in_what_the_machine_may_have_done_says_so(factor: float) -> None:
    """What HPT says of a suite is proven where the comparison of the same suite says so, and only there."""
    made = pairs(np.random.default_rng(8), 20, factor=factor, speedup=1.5)
    samples = {(p.key, v): s for p in made for v, s in zip("xy", (p.reference, p.candidate), strict=True)}
    suite = sp.Suite(("x", "y"), samples)
    steady = factor == 1
    for result in (sp.hpt(suite), sp.compare_suite(suite)):
        (report,) = result.reports()
        told = " ".join(render(report).split())
        assert ("ran at one of two speeds" in told) == ("not proven" in told) != steady
    (alone,) = sp.compare_suite(suite.select("b0")).reports()
    told = " ".join(render(alone).split())
    assert ("in 20 of 20 benchmarks" in told) == ("shown, not proven" in told) != steady
    for details in (False, True):
        (report,) = sp.hpt(suite).reports(details=details)
        told = " ".join(render(report).split())
        assert ("were the machine steady: shown, not proven" in told) != steady
        assert "y outperforms x with confidence 99" in told
    assert ("were the machine steady" in repr(sp.hpt(suite))) != steady


@pytest.mark.parametrize(("factor", "runs"), [(1.0, 12), (2.0, 12), (1.0, 3)])
def test_what_is_not_proven_says_so_in_every_output(factor: float, runs: int) -> None:
    """A row that is 1.5x slower at two speeds or of three runs; on a steady machine, of 12, it is a failure."""
    made = pairs(np.random.default_rng(8), 20, factor=factor, speedup=1.5)
    sides = {(p.key, v): s for p in made for v, s in zip("yx", (p.reference, p.candidate), strict=True)}
    samples = {
        at: replace(s, values=np.repeat(s.values[:runs], 2), processes=np.repeat(np.arange(runs), 2))
        for at, s in sides.items()
    }
    result, steady = sp.compare_suite(sp.Suite(("x", "y"), samples)), factor == 1.0 and runs == 12
    written = json.loads(result.to_json())["results"][0]["comparisons"]
    proven = [c["proven"] for c in written if c["protocol"] == "typical" and c["verdict"] == "slower"]
    frame = result.to_frame("pyarrow").to_pylist()
    said = [not r["undermining"] for r in frame if (r["protocol"], r["verdict"]) == ("typical", "slower")]
    alone = next(r for r in result if r.verdict == "slower")
    assert set(proven) == set(said) == {steady}
    kinds = {w.kind for w in alone.warnings}
    assert bool(kinds & {Assumption.ONE_SPEED, Assumption.SEVERAL_RUNS}) != steady
    junit = FORMATS["junit"].write(Reported((*result.reports(), *alone.reports())), "")
    assert ("<failure" in junit) == steady
    assert ("All checks" in render(next(iter(alone.reports())))) == steady


@pytest.mark.parametrize("turned", [False, True])
def test_two_speeds_of_one_version_are_named_as_its_own(turned: bool) -> None:
    """The factor that one side was made with; no speedup, as nobody knows the speed of the other side."""
    rng = np.random.default_rng(6)
    found = []
    for i, pair in enumerate(pairs(rng, 10)):
        steady = Sample(10.0 ** (i % 5) * np.exp(0.02 * rng.standard_normal(12)))
        sides = (steady, pair.reference) if turned else (pair.reference, steady)
        found.append(Pair(pair.key, *sides))
    speeds = machine_speeds(found)
    assert speeds is not None
    assert (speeds.sides, speeds.benchmarks, speeds.of) == ("candidate" if turned else "reference", 10, 10)
    assert speeds.factor == pytest.approx(2.0, rel=0.01)
    assert np.isnan(speeds.speedup.value)
    assert machine_speeds(found[:9]) is None
    (told,) = two_speeds(speeds, "old", "new")
    assert told.text.startswith(
        f"{'new' if turned else 'old'} ran at one of two speeds (factor 2.0) in 10 of 10 "
    )


def test_exactly_six_deviations_are_not_far_apart() -> None:
    """Logarithms 9, 11 and 15, 16, 16, 17: six apart, and squares of 4 within on four degrees of freedom."""
    logs = np.array([15.0, 9.0, 16.0, 17.0, 11.0, 16.0])
    assert np.log(np.exp(logs)).tolist() == logs.tolist()
    for more, apart in ((0.0, False), (1e-9, True)):
        far = Sample(np.exp(logs + more * (logs > 12)))
        assert np.isfinite(two_speeds_of([Pair(Key("b"), far, far)])).all() == apart
