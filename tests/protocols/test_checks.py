"""What speaks against runs, what is said of how they were measured, and two speeds of a machine."""

import itertools
import json
import math
import statistics
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

import speedproof as sp
from speedproof.data.notes import Assumption, Note
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.protocols.caveats import (
    caveats_of,
    common_speeds,
    few_runs,
    machine_speeds,
    slower_processes,
    two_speeds_of,
)
from speedproof.protocols.checks import coarse_values, of_runs, same_values
from speedproof.protocols.results import Comparison
from speedproof.reporting.model import FORMATS, Reported
from speedproof.reporting.notes import two_speeds
from speedproof.reporting.text import render


def told(kind: Assumption, sample: Sample, used: Sample | None = None, nested: bool = False) -> list[Any]:
    checks = of_runs(sample, sample if used is None else used, "X", other_nested=nested)
    return [(c.held, c.statistic, c.message) for c in checks if c.kind is kind]


@pytest.mark.parametrize(("values", "count", "unit"), [
    ([0.0, 1.0, 0.0, 2.0], 2, "s"), ([0.0], 1, "B"), ([-0.5, 0.0, 0.0, 1.0], 3, "B"), ([-0.5, 2.0], 1, "B"),
])  # fmt: skip
def test_values_that_are_no_ratios_are_counted(values: list[float], count: int, unit: str) -> None:
    expected = f"{count} of {len(values)} values are not above 0: ratios mean little or nothing"
    positive = [value + 2.1 for value in values]
    assert told(Assumption.POSITIVE_VALUES, Sample(np.array(values, np.float64), unit)) == [
        (False, float(count), expected)
    ]
    assert told(Assumption.POSITIVE_VALUES, Sample(np.array(positive, np.float64), unit)) == []
    # Times of 0 alone are no measurement, so that no gate passes them; counts of 0 are.
    nothing = told(Assumption.SOME_TIME, Sample(np.array(values, np.float64), unit))
    assert nothing == []
    assert len(told(Assumption.SOME_TIME, Sample(np.zeros(3), "s"))) == 1
    plain = Sample(np.zeros(3), "")
    for metric, times in (("time", 1), ("errors", 0)):
        checks = of_runs(plain, plain, "X", other_nested=False, metric=metric)
        assert sum(c.kind is Assumption.SOME_TIME for c in checks) == times


@pytest.mark.parametrize(("n", "kept", "found"), [(1, 1, True), (2, 2, False), (4, 1, True), (4, 2, False)])
def test_one_unit_may_be_an_outlier(n: int, kept: int, found: bool) -> None:
    sample = Sample(np.arange(float(n)) + 1)
    used = Sample(np.arange(float(kept)) + 1, processes=np.arange(kept) if kept < n else None)
    what = "one process" if kept < n else "one run"
    message = f"{what} may be an outlier, and nothing is known of its spread"
    assert told(Assumption.SEVERAL_RUNS, sample, used) == ([(False, 1.0, message)] if found else [])


def test_one_measurement_given_twice() -> None:
    """Equal, in order, and more than one value, or at one place of one file."""
    for x, y, same in (
        ([1.0, 2.0], [1.0, 2.0], True), ([1.0, 2.0], [2.0, 1.0], False), ([1.0, 2.0], [1.0, 2.0, 3.0], False),
        ([1.0, 2.0, 3.0], [1.0, 2.0], False), ([1.0, 2.0], [1.0, 3.0], False), ([1.0], [1.0], False),
        ([2.0, 2.0], [2.0, 2.0], False),
    ):  # fmt: skip
        for sources in (("", ""), ("a.txt", "b.txt"), ("a.txt", "a.txt")):
            sides = (Sample(np.array(v), source=s) for v, s in zip((x, y), sources, strict=True))
            kinds = [check.kind for check in same_values(*sides)]
            at_one_place = x == y and sources == ("a.txt", "a.txt")
            assert kinds == ([Assumption.TWO_MEASUREMENTS] if same or at_one_place else [])


@pytest.mark.parametrize(("factors", "tools", "told"), [
    ((1000.0,), "raw raw", [1000.0]), ((0.001, 0.0013), "csv hyperfine", [1000.0]),
    ((1e-6,), "lists raw", [1e6]), ((1000.0, 3.0), "raw raw", []), ((1000.0, 0.001), "raw raw", []),
    ((400.0,), "raw raw", []), ((1000.0,), "pyperf hyperfine", []), ((0.0,), "raw raw", []),
])  # fmt: skip
def test_units_that_may_differ(factors: tuple[float, ...], tools: str, told: list[float]) -> None:
    """Of numbers that somebody wrote down all are a power of 1,000 apart, within a factor of 2."""
    x, y = tools.split()
    pairs = [
        Pair(Key(f"b{i}", "time"), Sample(np.array([1.0, 1.1]), tool=x), Sample(np.array([f, f]), tool=y))
        for i, f in enumerate(factors)
    ]
    seen = [c.statistic for c in caveats_of(pairs, ("old", "new")) if c.kind is Assumption.ONE_UNIT]
    assert seen == pytest.approx(told)


def naive_step(x: list[float], y: list[float]) -> float | None:
    """The least step of values that tie, where it exceeds what either side scatters and a hundredth of them."""
    pooled = sorted(x + y)
    if len(pooled) < 3 or statistics.median(map(abs, pooled)) == 0:
        return None
    gaps = [b - a for a, b in itertools.pairwise(sorted(set(pooled)))]
    constant = [len({*side}) == 1 for side in (x, y)]
    shared = 1.0 if all(constant) and all(v % 1 == 0 for v in pooled) else min(gaps, default=math.inf)
    steps = []
    for side, alike in zip((x, y), constant, strict=True):
        ties = [a == b for a, b in itertools.combinations(side, 2)]
        if ties and sum(ties) >= len(ties) / 4:
            steps.append(shared if alike else min(b - a for a, b in itertools.pairwise(sorted({*side}))))
    step, spread = max(steps, default=0.0), max(statistics.pstdev(x), statistics.pstdev(y))
    coarse = step > spread and step > 0.01 * statistics.median(map(abs, pooled))
    return step if coarse and step < math.inf else None


@pytest.mark.parametrize("power", [0, -900, 900])
def test_values_in_coarse_steps(power: int) -> None:
    """Of all small samples of a few numbers of any size, of pairs together and of each alone."""
    grid = (1.0, 2.0, 3.0, 2.5, 101.0)
    sides = [list(some) for n in (1, 2, 3) for some in itertools.combinations_with_replacement(grid, n)]
    both = [(x, y) for x in sides for y in sides][::3]
    both += [
        ([10.0, 12.0], [10.0, 11.0]), ([10.0, 11.0], [10.0, 12.0]), ([1.0, 1.0], [1.0]),
        ([0.0, 0.0], [0.0, 1.0]),
    ]  # fmt: skip
    if power:  # whole numbers are counts, which no power of two keeps
        both = [(x, y) for x, y in both if len({*x}) > 1 or len({*y}) > 1]
    pairs = [Pair(Key(str(i)), *(Sample(np.ldexp(v, power), "B") for v in xy)) for i, xy in enumerate(both)]
    seen = set()
    for (x, y), pair, found in zip(both, pairs, coarse_values(pairs), strict=True):
        step = naive_step(x, y)
        assert [c.statistic for c in found] == (
            [] if step is None else [pytest.approx(math.ldexp(step, power))]
        )
        assert len(coarse_values([pair])[0]) == len(found)
        seen.add(step is None)
    assert seen == {True, False}
    for one, other in ((1.2, 2.0), (2.0, 1.2), (1.0, 2.0)):  # counts are exact where all are whole
        counts = Pair(Key("b"), *(Sample(np.full(3, value), "allocs/op") for value in (one, other)))
        assert bool(coarse_values([counts])[0]) is (1.2 in (one, other))


def test_how_values_are_nested_is_told() -> None:
    """One process; unknown ones beside known ones; how many values each gave, and whether one of each was used."""
    values = np.arange(6.0) + 1.0

    def nesting(sample: Sample, used: int, other: bool = False) -> list[Any]:
        checks = of_runs(sample, Sample(values[:used]), "X", other_nested=other)
        kinds = (Assumption.NESTING, Assumption.SEVERAL_PROCESSES)
        return [(c.kind, c.held, c.message) for c in checks if c.kind in kinds]

    plain, alone = Sample(values), Sample(values, traits=frozenset({Trait.ONE_PROCESS}))
    assert len(told(Assumption.SEVERAL_PROCESSES, alone)) == 1
    single = Sample(values[:1], traits=frozenset({Trait.ONE_PROCESS}))
    even, odd, one = (
        Sample(values, processes=np.array(p)) for p in ([0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2], [0] * 6)
    )
    asked = Assumption.NESTING
    ((kind, held, _),) = nesting(alone, 6)
    assert (kind, held) == (Assumption.SEVERAL_PROCESSES, False)
    assert nesting(single, 1) == nesting(plain, 6) == nesting(Sample(values[:1]), 1, True) == []
    ((kind, held, message),) = nesting(plain, 6, True)
    assert (kind, held, "of these the processes are unknown" in message) == (asked, False, True)
    assert nesting(Sample(values, processes=np.arange(6)), 6, True) == []
    process, session = (f"6 nested values: one a {unit} was used" for unit in ("process", "session"))
    assert nesting(even, 3) == nesting(odd, 3) == nesting(one, 1) == [(asked, True, process)]
    assert nesting(even, 6) == [(asked, False, "6 nested values: pooled as if independent")]
    names = tuple("abcd")
    sessions = Sample(values, sessions=np.array([0, 0, 1, 2, 3, 3]), session_names=names)
    assert nesting(sessions, 4) == [(asked, True, session)]
    few = Sample(values, sessions=np.array([0, 0, 1, 1, 2, 2]), session_names=names[:3])
    assert nesting(few, 3) == [(asked, True, session)]


BOTH = ("old", "new")


def sessions(levels: list[float], **fields: Any) -> Sample:
    """Three values in each session, whose medians are the levels."""
    values = np.concatenate([level * np.array([0.99, 1.0, 1.02]) for level in levels])
    names = tuple(f"{fields.get('span')}{k}" for k in range(len(levels)))
    return Sample(values, sessions=np.repeat(np.arange(len(levels)), 3), session_names=names, **fields)


def number(note: Note) -> str:
    return "" if math.isnan(note.statistic) else f"{100 * note.statistic:.2g} %"


def caveats_told(
    *pairs: tuple[Sample, Sample],
) -> list[tuple[Assumption, tuple[str, ...], tuple[str, ...], str]]:
    named = [Pair(Key(f"b{k}"), *sides) for k, sides in enumerate(pairs)]
    return [(c.kind, c.versions, c.benchmarks, c.message or number(c)) for c in caveats_of(named, BOTH)]


def one(level: float, **fields: Any) -> Sample:
    return Sample(level + 0.1 * np.arange(6.0), **fields)


def test_how_much_few_sessions_differ() -> None:
    """The median over the sides of several sessions, by the largest and smallest median of a session."""
    several, single = sessions([2.0, 2.2, 2.1], tool="x"), one(1.0, tool="x")
    spread = Assumption.SEVERAL_SESSIONS, BOTH
    assert caveats_told((several, single)) == caveats_told((single, several)) == [(*spread, (), "10 %")]
    other = sessions([1.0, 1.3], tool="x")
    assert caveats_told((several, other)) == [(*spread, (), "20 %")]
    assert caveats_told((one(3.0), one(4.0)), (several, other))[0][2] == ("b1",)
    skewed = Sample(np.array([1.0, 1.0, 9.0, 1.5, 1.5, 2.0]), sessions=np.arange(6) // 3, tool="x")
    assert caveats_told((skewed, single))[0][3] == "50 %"
    zero = Sample(np.array([0.0, 0.0, 1.0, 1.0]), sessions=np.array([0, 0, 1, 1]), tool="x")
    assert caveats_told((zero, single))[0][3] == "0 %"
    negative = Sample(np.array([-2.0, -1.0]), "B", sessions=np.array([0, 1]), tool="x")
    assert caveats_told((negative, Sample(np.arange(3.0), "B")))[0][3] == "1e+02 %"
    four, three = sessions([1.0, 1.1, 1.2, 1.3], tool="x"), sessions([1.0, 1.1, 1.2], tool="x")
    more = sessions([1.5, 1.1, 1.2, 1.3, 1.4], tool="x")
    assert caveats_told((four, more)) == caveats_told((more, four)) == []
    for sides in ((three, more), (more, three)):
        assert [row[0] for row in caveats_told(sides)] == [Assumption.SEVERAL_SESSIONS]
    mixed = [
        sessions(v, span=None, tool="x", traits=frozenset({Trait.RANDOM_ORDER}))
        for v in ([1.0, 2.0], [3.0, 5.0])
    ]
    assert caveats_told((mixed[0], mixed[1])) == [(*spread, (), "83 %")]


def decided(n: int, m: int, **fields: Any) -> Any:
    usual: dict[str, Any] = {"quantiles": None, "difference": None, "paired": False}
    usual |= {"repeated": "run", "alpha": 0.05, "benchmark": "b"}
    made = SimpleNamespace(
        reference=SimpleNamespace(n=n), candidate=SimpleNamespace(n=m), **{**usual, **fields}
    )
    made.by_few_runs = vars(Comparison)["by_few_runs"].fget(made)
    return made


def few(*rows: Any, of: int = 0) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
    found = few_runs(rows, BOTH, of or len(rows))
    return [
        (c.versions, c.benchmarks, f"{c.message}, {100 * c.statistic:g} %".removesuffix(", nan %"))
        for c in found
    ]


def test_fewer_than_four_runs_that_prove_something() -> None:
    """One side's or both sides', with the risk of k runs that scatter widely, where it is more than stated."""
    assert few(decided(4, 4)) == few(decided(3, 9, difference=0.1)) == few(decided(3, 9, paired=True)) == []
    assert few(decided(3, 4)) == [(("old",), (), "runs, 12.5 %")]
    assert few(decided(4, 3)) == [(("new",), (), "runs, 12.5 %")]
    assert few(decided(3, 3)) == [(BOTH, (), "runs, 12.5 %")]
    assert few(decided(2, 3)) == [(BOTH, (), "runs, 25 %")]
    assert few(decided(3, 3, alpha=0.124)) == [(BOTH, (), "runs, 12.5 %")]
    assert few(decided(3, 3, alpha=0.125)) == []
    for unit, plural in (("process", "processes"), ("session", "sessions")):
        assert few(decided(9, 2, repeated=unit)) == [(("new",), (), f"{plural}, 25 %")]
        assert few(decided(3, 3, repeated=unit)) == [(BOTH, (), f"{plural}, 12.5 %")]
    rows = (
        decided(9, 9), decided(3, 9, benchmark="c"), decided(3, 19, benchmark="d"),
        decided(9, 3, benchmark="e"),
    )  # fmt: skip
    assert few(*rows) == [(("old",), ("c", "d"), "runs, 12.5 %"), (("new",), ("e",), "runs, 12.5 %")]
    assert few(decided(5, 6), decided(3, 9), of=2) == [(("old",), ("b",), "runs, 12.5 %")]


def test_of_one_process_twice_the_same_and_stopped() -> None:
    """Each side that is one process; a benchmark that holds the same values twice has no other caveat."""
    process = one(1.0, processes=np.zeros(6, dtype=np.int64))
    marked = one(2.0, traits=frozenset({Trait.ONE_PROCESS}))
    free, two = one(3.0), one(4.0, processes=np.repeat([0, 1], 3))
    run = Sample(
        np.array([1.0]), processes=np.zeros(1, dtype=np.int64), traits=frozenset({Trait.ONE_PROCESS})
    )
    several = Assumption.SEVERAL_PROCESSES
    assert caveats_told((process, free)) == [(several, ("old",), (), "")]
    both = Sample(np.array([1.0, 2.0]), processes=np.zeros(2, dtype=np.int64))
    assert caveats_told((free, both)) == caveats_told((run, both)) == [(several, ("new",), (), "")]
    assert caveats_told((two, marked)) == [(several, ("new",), (), "")]
    assert caveats_told((process, marked), (free, run)) == [(several, BOTH, ("b0",), "")]
    assert caveats_told((run, two), (process, process), (free, free)) == [
        (Assumption.TWO_MEASUREMENTS, BOTH, ("b1", "b2"), "")
    ]
    assert caveats_told((process, process)) == [(Assumption.TWO_MEASUREMENTS, BOTH, (), "")]
    stopped = frozenset({Trait.STOPPED_ON_RESULT})
    a, b, c = (one(level, traits=marks, source=f"{name}.jsonl line {line}") for level, name, line, marks in (
        (1.0, "r", 7, stopped), (2.0, "r", 12, frozenset()), (3.0, "s", 3, stopped),
    ))  # fmt: skip
    planned = Assumption.PLANNED_SIZE, BOTH
    assert caveats_told((a, b)) == caveats_told((b, a)) == [(*planned, (), "r.jsonl")]
    assert caveats_told((a, c)) == [(*planned, (), "FILE")]
    assert caveats_told((free, two), (b, free), (b, a)) == [(*planned, ("b2",), "r.jsonl")]


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
    rng = np.random.default_rng(2)
    for _ in range(100):
        sides = [[Sample(10 + getattr(rng, draw)(size=size)) for size in (6, 20)] for _ in range(6)]
        assert machine_speeds([Pair(Key(str(i)), *two) for i, two in enumerate(sides)]) is None


def test_benchmarks_with_modes_of_their_own_are_not_the_machine() -> None:
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
