"""What speaks against runs, each check by its definition and at its limits."""

from __future__ import annotations

import itertools
import math
import statistics
from typing import Any

import numpy as np
import pytest
from tests.protocols.asking import compare_medians

from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.protocols.checks import (
    coarse_values,
    of_order,
    of_runs,
    order_tests,
    same_values,
    steadiness,
    undermining,
)
from speedproof.stats.dependence import drift, drift_within, lag1

ORDER = frozenset({Trait.ORDER_KNOWN})


def told(kind: Assumption, sample: Sample, used: Sample | None = None, nested: bool = False) -> list[Any]:
    checks = of_runs(sample, sample if used is None else used, "X", other_nested=nested)
    return [(c.held, c.statistic, c.message) for c in checks if c.kind is kind]


@pytest.mark.parametrize(
    ("values", "count", "what"),
    [
        ([0.0, 1.0, 0.0, 2.0], 2, "0"),
        ([0.0], 1, "0"),
        ([-0.5, 0.0, 0.0, 1.0], 1, "negative"),
        ([-0.5, -2.0, 0.0], 2, "negative"),
    ],
)
@pytest.mark.parametrize("unit", ["s", "B"])
def test_values_that_are_no_ratios_are_counted(values: list[float], count: int, what: str, unit: str) -> None:
    unit = "B" if what == "negative" else unit  # a time is never negative
    expected = f"{count} of {len(values)} values are {what}: ratios mean little or nothing"
    expected += "; the clock is too coarse for what was timed" if unit == "s" else ""
    positive = [value + 2.1 for value in values]
    assert told(Assumption.POSITIVE_VALUES, Sample(np.array(values, np.float64), unit)) == [
        (False, float(count), expected)
    ]
    assert told(Assumption.POSITIVE_VALUES, Sample(np.array(positive, np.float64), unit)) == []


@pytest.mark.parametrize(("n", "kept", "found"), [(1, 1, True), (2, 2, False), (4, 1, True), (4, 2, False)])
def test_one_unit_may_be_an_outlier(n: int, kept: int, found: bool) -> None:
    sample = Sample(np.arange(float(n)) + 1)
    used = Sample(np.arange(float(kept)) + 1, processes=np.arange(kept) if kept < n else None)
    what = "one process" if kept < n else "one run"
    message = f"{what} may be an outlier, and nothing is known of its spread: measure more"
    assert told(Assumption.SEVERAL_RUNS, sample, used) == ([(False, 1.0, message)] if found else [])


def test_one_measurement_given_twice() -> None:
    """Equal, in order, and more than one value."""
    for x, y, same in (
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0, 2.0], [2.0, 1.0], False),
        ([1.0, 2.0], [1.0, 2.0, 3.0], False),
        ([1.0, 2.0, 3.0], [1.0, 2.0], False),
        ([1.0, 2.0], [1.0, 3.0], False),
        ([1.0], [1.0], False),
        ([2.0, 2.0], [2.0, 2.0], False),
    ):
        kinds = [check.kind for check in same_values(Sample(np.array(x)), Sample(np.array(y)))]
        assert kinds == ([Assumption.TWO_MEASUREMENTS] if same else [])


def naive_step(x: list[float], y: list[float]) -> float | None:
    """The least step of values that tie, where it exceeds what either side scatters and a hundredth of them."""
    pooled = sorted(x + y)
    distinct = sorted(set(pooled))
    if len(distinct) == len(pooled) or len(pooled) < 3 or statistics.median(map(abs, pooled)) == 0:
        return None
    if len(distinct) > 2:
        step = min(b - a for a, b in itertools.pairwise(distinct))
    else:  # the last decimal place of whole numbers and of tenths
        step = max(1.0 if v % 1 == 0 else 0.1 for v in distinct)
    spread = max(statistics.pstdev(x), statistics.pstdev(y))
    return step if step > spread and step > 0.01 * statistics.median(map(abs, pooled)) else None


def test_values_in_coarse_steps() -> None:
    """Of all small samples of a few numbers, of pairs together and of each alone."""
    grid = (1.0, 2.0, 3.0, 2.5, 101.0)
    sides = [list(some) for n in (1, 2, 3) for some in itertools.combinations_with_replacement(grid, n)]
    both = [(x, y) for x in sides for y in sides][::3]
    both += [
        ([10.0, 12.0], [10.0, 11.0]),
        ([10.0, 11.0], [10.0, 12.0]),
        ([1.0, 1.0], [1.0]),
        ([0.0, 0.0], [0.0, 1.0]),
    ]
    pairs = [Pair(Key(str(i)), *(Sample(np.array(v), "B") for v in xy)) for i, xy in enumerate(both)]
    seen = set()
    for (x, y), pair, found in zip(both, pairs, coarse_values(pairs), strict=True):
        step = naive_step(x, y)
        assert [c.statistic for c in found] == ([] if step is None else [pytest.approx(step)])
        assert len(coarse_values([pair])[0]) == len(found)
        seen.add(step is None)
    assert seen == {True, False}


@pytest.mark.parametrize("n", [7, 8, 20])
def test_neighbours_and_trends_are_those_of_their_tests(n: int) -> None:
    """Of eight runs or more in a known order."""
    rng = np.random.default_rng(n)
    values = [rng.standard_normal(n) + 9.0 for _ in range(3)]
    samples = [
        Sample(v, traits=t) for v, t in zip(values, (ORDER, frozenset(), ORDER | {Trait.SORTED}), strict=True)
    ]
    samples.append(Sample(values[2], traits=ORDER))
    found, ranks = order_tests(samples, samples)
    for i, v in ((0, values[0]), (3, values[2])):
        if n < 8:
            assert (found[i], ranks[i]) == (None, None)
            continue
        serial, trend = lag1(v), drift(v)
        expected = [(serial.statistic, serial.pvalue), (trend.correlation, trend.pvalue)]
        told_of = found[i]
        assert told_of is not None
        for tested, other in zip(told_of, expected, strict=True):
            assert tested == pytest.approx(tuple(map(float, other)))
    assert found[1:3] == [None, None]
    processes = np.arange(n) // 4
    nested = [Sample(v, processes=processes, traits=ORDER) for v in values[:2]]
    steady = steadiness([*nested, samples[0]])
    assert steady[2] is None
    for one, v in zip(steady[:2], values[:2], strict=True):
        within = drift_within(v[None], processes)
        expected_within = float(within.correlation[0]), float(within.pvalue[0])
        assert one == pytest.approx(expected_within, nan_ok=True)


@pytest.mark.parametrize("traits", [ORDER, ORDER | {Trait.RANDOM_ORDER}])
def test_what_is_said_of_an_order(traits: frozenset[Trait]) -> None:
    """At one per cent the assumption does not hold; above a ratio of two neighbours are opposed."""
    sample = Sample(np.arange(9.0) + 1.0, traits=traits)
    above = float(np.nextafter(0.01, 1.0))
    for ratio, alike in ((1.9, "are alike"), (2.0, "alternate"), (2.1, "alternate")):
        serial, trend, within = of_order(sample, "X", ((ratio, 0.01), (0.4, 0.01)), (0.3, 0.01))
        assert [c.held for c in (serial, trend, within)] == [False] * 3
        assert [c.statistic for c in (serial, trend, within)] == [ratio, 0.4, 0.3]
        assert alike in serial.message
        assert ("took turns in random order" in trend.message) is (Trait.RANDOM_ORDER in traits)
        held = of_order(sample, "X", ((ratio, above), (0.4, above)), (0.3, above))
        assert [(c.held, c.pvalue) for c in held] == [(True, above)] * 3
    assert of_order(sample, "X", None, None) == of_order(sample, "X", None, (math.nan, math.nan)) == []
    kinds = [c.kind for c in undermining(sample, sample, "X", [])]
    assert kinds == [Assumption.RUN_ORDER, Assumption.DRIFT]


def test_how_values_are_nested_is_told() -> None:
    """One process; unknown ones beside known ones; how many values each gave, and whether one of each was used."""
    values = np.arange(6.0) + 1.0

    def nesting(sample: Sample, used: int, other: bool = False) -> list[Any]:
        checks = of_runs(sample, Sample(values[:used]), "X", other_nested=other)
        kinds = (Assumption.NESTING, Assumption.SEVERAL_PROCESSES)
        return [(c.kind, c.held, c.message.partition(":")[0]) for c in checks if c.kind in kinds]

    plain, alone = Sample(values), Sample(values, traits=frozenset({Trait.ONE_PROCESS}))
    single = Sample(values[:1], traits=frozenset({Trait.ONE_PROCESS}))
    even, odd, one = (
        Sample(values, processes=np.array(p)) for p in ([0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2], [0] * 6)
    )
    asked = Assumption.NESTING
    assert nesting(alone, 6) == [(Assumption.SEVERAL_PROCESSES, False, "all values come from one process")]
    assert nesting(single, 1) == nesting(plain, 6) == nesting(Sample(values[:1]), 1, True) == []
    unknown = "the other side's values are nested in processes, of these the processes are unknown"
    assert nesting(plain, 6, True) == [(asked, False, unknown)]
    assert nesting(Sample(values, processes=np.arange(6)), 6, True) == []
    assert nesting(even, 3) == [(asked, True, "6 values in 3 processes (2 each)")]
    assert nesting(odd, 3) == [(asked, True, "6 values in 3 processes (1 to 3 each)")]
    assert nesting(even, 6) == [(asked, False, "6 values in 3 processes (2 each)")]
    assert nesting(one, 1) == [(asked, True, "6 values in 1 process (6 each)")]
    names = tuple("abcd")
    sessions = Sample(values, sessions=np.array([0, 0, 1, 2, 3, 3]), session_names=names)
    assert nesting(sessions, 4) == [(asked, True, "6 values in 4 sessions")]
    few = Sample(values, sessions=np.array([0, 0, 1, 1, 2, 2]), session_names=names[:3])
    assert nesting(few, 3) == [(asked, True, "6 values in 1 process (6 each)")]


def test_a_trend_is_explained_by_the_order_of_its_own_side() -> None:
    """Of runs in random order it is said of the blocks; the other side has an order of its own."""
    values = 10.0 + np.arange(20.0)
    plain = Sample(values, traits=frozenset({Trait.ORDER_KNOWN}))
    blocks = Sample(values, traits=frozenset({Trait.ORDER_KNOWN, Trait.RANDOM_ORDER}))
    for kind in (Assumption.DRIFT, Assumption.RUN_ORDER):
        one, other = (
            {c.versions[0]: c.message for c in compare_medians(*sides).checks if c.kind is kind}
            for sides in ((plain, blocks), (blocks, plain))
        )
        assert (one["X"], one["Y"]) == (other["Y"], other["X"])
        assert one["X"] != one["Y"]
