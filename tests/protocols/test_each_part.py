"""Parts that protocols share, in loops: risks of a figure, summaries, units of pairs, forecasts."""

from __future__ import annotations

import itertools
import math
import statistics
from bisect import bisect_left
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import astuple

from speedproof.data.notes import Assumption, Note
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.protocols.confidence import highest_confidences
from speedproof.protocols.figures import Decision, forecasts, highest_of, no_spread_of
from speedproof.protocols.findings import RowFinding, article_mean, article_median
from speedproof.protocols.mean import decide_mean, mean_tests
from speedproof.protocols.median import decide_median, median_tests
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import QUESTIONS, answers
from speedproof.protocols.results import Comparison, Needed, State, Step, Verdict
from speedproof.protocols.summaries import outermost, repeated_in, summarise, summarise_all
from speedproof.stats.estimate import Estimate
from speedproof.stats.power import RunsNeeded
from speedproof.stats.ratio_means import ratio_of_means
from speedproof.stats.ratio_medians import ratio_of_medians

FloatArray = npt.NDArray[np.float64]
KEY = Key("b")


def joined(ends: list[float], told: list[bool]) -> list[tuple[float, float, bool, bool]]:
    """The neighbours that say so as one: gaps and ends take turns, and a gap holds none of its ends."""
    found = []
    k = 0
    while k < len(told):
        first = k
        while k < len(told) and told[k]:
            k += 1
        if k > first:
            low = ends[first // 2] if first % 2 == 0 else ends[first // 2 + 1]
            found.append((low, ends[(k - 1) // 2 + 1], first % 2 == 1, (k - 1) % 2 == 1))
        k += 1
    return found


@pytest.mark.parametrize("seed", range(30))
def test_any_set_of_risks(seed: int) -> None:
    """Of some figures together: at any of their p-values and between any two of them, not below 0 or from 1."""
    rng = np.random.default_rng(seed)
    rows = np.round(rng.random((4, 5)), 1)
    rows[rng.random(rows.shape) < 0.2] = math.nan
    rows[0, 0], rows[1, 1] = 0.0, 1.0
    if seed % 2:
        rows[3] = math.nan
    points = [sorted({p for p in row if 0 < p < 1}) for row in rows.tolist()]
    told = [(rng.random(2 * len(own) + 1) < 0.6).tolist() for own in points]

    def says(i: int, alpha: float) -> bool:
        if not 0 <= alpha < 1:
            return not told[i][-1 if alpha >= 1 else 0]
        return bool(told[i][2 * bisect_left(points[i], alpha) + (alpha in points[i])])

    def significant(alphas: FloatArray) -> npt.NDArray[np.bool_]:
        return np.array([[says(i, alpha) for alpha in row] for i, row in enumerate(alphas.tolist())])

    for own, answer, found in zip(points, told, highest_confidences(rows, significant), strict=True):
        expected = joined([0.0, *own, 1.0], answer)
        assert list(found.intervals) == expected
        assert found.value == pytest.approx(1 - expected[0][0] if expected else math.nan, nan_ok=True)


def by_fractions(values: list[float]) -> tuple[float, ...]:
    """Mean, median, minimum, maximum, deviation and median absolute deviation, of fractions."""
    exact = [Fraction(v) for v in values]
    mean, middle = sum(exact) / len(exact), statistics.median(exact)
    unit = max(map(abs, exact)) or Fraction(1)
    squares = sum(((v - mean) / unit) ** 2 for v in exact)
    deviation = math.sqrt(squares / (len(exact) - 1)) * float(unit) if len(exact) > 1 else math.nan
    away = statistics.median(abs(v - middle) for v in exact)
    return float(mean), float(middle), min(values), max(values), deviation, float(away)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_summaries_of_values_of_any_size(n: int) -> None:
    """Beside each other: zeros, values of every size, and those far smaller than the largest of their sample."""
    rng = np.random.default_rng(n)
    sizes = (5e-324, 1e-300, 1e-200, 1e-60, 0.3, 1.0, 7.0, 1e60, 1e200, 1e306)
    rows = [(size * rng.integers(1, 9, n)).tolist() for size in sizes]
    rows += [[0.0] * n, (-1e250 * rng.random(n)).tolist(), [1.5e-323] * (n - 1) + [8.0]]
    samples = [Sample(np.array(row), "B", label=str(i)) for i, row in enumerate(rows)]
    for row, sample, found in zip(rows, samples, summarise_all(samples, samples), strict=True):
        numbers = (found.mean, found.median, found.minimum, found.maximum, found.deviation, found.mad)
        assert numbers == pytest.approx(by_fractions(row), rel=1e-12, abs=0.0, nan_ok=True)
        assert (found.label, found.n, found.observations, found.unit) == (sample.label, n, n, "B")
        assert repr(found) == repr(summarise(sample))
    assert summarise_all([], []) == []


def test_what_was_repeated() -> None:
    """Runs where every value counts, sessions where each gave one, else processes; on two sides the outer one."""
    values, halves = np.arange(8.0), np.arange(8) // 4
    plain, two = Sample(values), Sample(values, sessions=halves)
    quarters = Sample(values, processes=np.arange(8) // 2, sessions=halves)
    cases = [
        (plain, 8, "run"),
        (plain, 1, "process"),
        (two, 8, "run"),
        (two, 2, "session"),
        (two, 1, "process"),
    ]
    cases += [(quarters, 4, "process"), (quarters, 2, "session"), (Sample(values[:1]), 1, "run")]
    for sample, units, expected in cases:
        assert repeated_in(sample, units) == expected
    kinds = ("run", "process", "build", "session")
    for one, other in itertools.product(range(4), repeat=2):
        assert outermost((kinds[one], kinds[other])) == kinds[max(one, other)]


def test_pairs_of_two_directions_are_refused() -> None:
    """Whichever side it is; the same unit may be good either way."""
    sides = [Sample(np.ones(2), "u", direction) for direction in (Direction.LOWER, Direction.HIGHER)]
    other = Sample(np.ones(2), "v", Direction.LOWER)
    for x, y in ((sides[0], sides[1]), (sides[1], sides[0]), (sides[0], other), (other, sides[0])):
        with pytest.raises(ValueError, match="two units or directions"):
            PreparedPairs([Pair(KEY, x, x), Pair(KEY, x, y)])
    for side in sides:
        assert len(PreparedPairs([Pair(KEY, side, side)]).pairs) == 1


def test_one_side_that_is_nested_is_reduced() -> None:
    """Values of processes, or of exactly four sessions of either side; the other side has one a process."""
    values = (np.arange(12.0) + 1) ** 2
    nested, flat = Sample(values, processes=np.arange(12) // 3), Sample(values + 0.5)
    four = Sample(values, sessions=np.arange(12) // 3)
    ones = Sample(values[:4] + 0.25, sessions=np.arange(4))
    for x, y, sizes in (
        (nested, flat, (4, 12)), (flat, nested, (12, 4)), (four, four, (4, 4)), (four, ones, (4, 4)),
        (ones, four, (4, 4)), (flat, flat, (12, 12)),
    ):  # fmt: skip
        prepared, pooled = (PreparedPairs([Pair(KEY, x, y)], Rules(nested=n)) for n in ("process", "pool"))
        mean, median = prepared.sides("mean")[0], prepared.sides("median")[0]
        assert [(side.x.n, side.y.n) for side in (mean, median)] == [sizes] * 2
        for sample, of_means, of_medians in ((x, mean.x, median.x), (y, mean.y, median.y)):
            triples = sample.values.reshape(of_means.n, -1)
            assert of_means.values.tolist() == triples.mean(axis=1).tolist()
            assert of_medians.values.tolist() == np.median(triples, axis=1).tolist()
        assert (pooled.sides("mean")[0].x.n, pooled.sides("mean")[0].y.n) == (x.n, y.n)


@pytest.mark.parametrize("direction", [Direction.LOWER, Direction.HIGHER])
@pytest.mark.parametrize("place", range(4))
def test_values_whose_sum_is_beyond_doubles(place: int, direction: Direction) -> None:
    """One value of 1.5e308, or as far below 0, of either side: both are taken in one smaller unit."""
    rng = np.random.default_rng(place)
    x, y = 1e300 * rng.random(9), 1e300 * rng.random(9)
    (x, y)[place % 2][4] = 1.5e308 * (1 if place < 2 else -1)
    (side,) = PreparedPairs([Pair(KEY, Sample(x, "B", direction), Sample(y, "B", direction))]).sides("mean")
    slow, fast = (y, x) if direction is Direction.HIGHER else (x, y)
    assert (side.slow.tolist(), side.fast.tolist()) == ((slow / 16).tolist(), (fast / 16).tolist())
    assert (side.x.values.tolist(), side.y.values.tolist()) == (x.tolist(), y.tolist())
    usual = Sample(np.minimum(np.abs(x), 9e306), "B", direction)
    (side,) = PreparedPairs([Pair(KEY, usual, usual)]).sides("mean")
    assert side.slow is usual.values


def side_of(n: int, m: int) -> Any:
    return SimpleNamespace(x=SimpleNamespace(n=n, unit="s"), y=SimpleNamespace(n=m), turned=False)


def test_what_a_forecast_asks_for() -> None:
    """Both ends of the margin with a power of 0.9, strictly inside, and where the reference needs fewer runs."""
    slow, fast = np.arange(6.0) + 1, np.arange(5.0) + 1
    asked: list[tuple[float, float, float]] = []

    def told(speedup: float, plain: tuple[float, float], ends: tuple[float, float]) -> tuple[Any, Any, str]:
        def runs_needed(x: Any, y: Any, alpha: float, power: float = 0.8) -> RunsNeeded:
            asked.append((float(np.asarray(y)[0, 0] / fast[0]), alpha, power))
            own = plain if len(asked) == 1 else ends
            return RunsNeeded(np.array([own[0]]), np.array([own[1]]))

        asked.clear()
        rules = Rules(0.1, margin=0.25)
        found = forecasts([side_of(6, 5)], slow[None], fast[None], rules, [0], runs_needed, [speedup])[0]
        return found.reference, found.candidate, found.reason

    for speedup in (0.8, 1.25, 0.7, 1.3):
        assert told(speedup, (300.0, 310.0), (20.0, 30.0))[:2] == (300, 310)
    for speedup in (0.80001, 1.24999):
        assert told(speedup, (300.0, 310.0), (20.0, 30.0))[:2] == (20, 30)
    assert asked == [(1.0, 0.1, 0.8), (0.8, 0.1, 0.9), (1.25, 0.1, 0.9)]
    assert told(1.0, (100.0, 310.0), (100.0, 30.0))[:2] == (100, 310)
    assert told(1.0, (100.0, 310.0), (101.0, 30.0))[:2] == (100, 310)
    assert told(1.0, (100.0, 31.0), (99.0, 600.0))[:2] == (99, 600)


def test_a_forecast_of_values_that_do_not_spread() -> None:
    """Only where neither side does, whatever the range of the other is."""
    flat, one, two = np.ones(4), np.array([1.0, 2.0, 1.0, 2.0]), np.arange(4.0)

    def needed(x: FloatArray, y: FloatArray, alpha: float, power: float = 0.8) -> RunsNeeded:
        return RunsNeeded(np.full(len(x), 50.0), np.full(len(x), 60.0))

    for x, y in itertools.product((flat, one, two), repeat=2):
        rows = np.stack([two, x]), np.stack([two, y])
        told = forecasts([side_of(4, 4)] * 2, *rows, Rules(), [1], needed)
        assert (told[1].reason == no_spread_of("s")) == (x is y is flat)
        assert told[1].reference == (None if x is y is flat else 50)
        assert forecasts([side_of(4, 4)] * 2, *rows, Rules(), [], needed) == {}


@pytest.mark.parametrize("name", QUESTIONS)
def test_one_pair_alike_in_its_order(name: str) -> None:
    """A pair by itself has as many rows as one: what is alike is no drift of a series of one run."""
    noise = np.random.default_rng(2).standard_normal(41)
    walk = 20.0 + noise[1:] + 0.8 * noise[:-1]
    order = frozenset({Trait.ORDER_KNOWN})
    pair = Pair(KEY, Sample(walk, traits=order), Sample(walk[::-1] + 0.01, traits=order))
    (found,) = answers(name, PreparedPairs([pair]))
    assert not any("the runs drift" in check.message for check in found.checks)
    kinds = [check.kind for check in found.checks]
    assert (Assumption.EFFECTIVE_RUNS in kinds) == (name == "typical")


def made(n: int, m: int, seed: int, ratio: float, skewed: bool) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng([n, m, seed])
    y = 10 + (rng.exponential(1.0, m) ** 3 if skewed else rng.normal(0.0, 0.4, m))
    return ratio * rng.normal(10.0, 0.3, n), y


@pytest.mark.parametrize("alpha", [None, 0.05, 0.3, 0.001])
@pytest.mark.parametrize(("n", "m"), [(8, 9), (30, 31), (31, 30), (40, 35)])
def test_rows_of_the_speedup_test(n: int, m: int, alpha: float | None) -> None:
    """Figures 1 and 2 at the level asked for; without one at the highest, if that is one half or more."""
    at = 0.05 if alpha is None else alpha
    seen = set()
    for seed, (ratio, skewed) in enumerate(itertools.product((0.9, 1.0, 1.02, 1.2), (False, True))):
        x, y = made(n, m, seed, ratio, skewed)
        means, medians = mean_tests(x, y), median_tests(x, y)
        for welch in (False, True):
            found = article_mean(x, y, alpha, always_welch=welch)
            decided = decide_mean(means, at, always_welch=welch)
            bounds = ratio_of_means(x, y, at, decided.equal_variances)
            told = Estimate(x.mean() / y.mean(), float(bounds.low), float(bounds.high), 1 - at)
            check_row(found, decided, told, alpha, at)
            (highest,) = highest_of(partial(decide_mean, means, always_welch=welch), means.pvalues)
            level = at if alpha is not None else highest.intervals[0][0] if highest.value >= 0.5 else 0.5
            normal = decide_mean(means, level, always_welch=welch)
            remarks = [
                f"mean: more than 30 runs needed for sample {k}"
                if size <= 30
                else f"mean: sample {k} not normal, confidence may be inaccurate"
                for k, size, held in ((1, n, normal.normal_x), (2, m, normal.normal_y))
                if not held
            ]
            check_level("mean", found, alpha, highest.value, remarks)
            seen.add(len(remarks))
        found = article_median(x, y, alpha, "legacy")
        by_ranks = decide_median(medians, at)
        bounds = ratio_of_medians(x, y, at)
        told = Estimate(float(np.median(x) / np.median(y)), float(bounds.low), float(bounds.high), 1 - at)
        check_row(found, by_ranks, told, alpha, at)
        (highest,) = highest_of(partial(decide_median, medians), medians.pvalues)
        level = at if alpha is not None else highest.intervals[0][0] if highest.value >= 0.5 else 0.5
        shift = decide_median(medians, level)
        lacks = [k for k, lacking in ((1, shift.lacking_x), (2, shift.lacking_y)) if lacking]
        remarks = [f"median: more than 30 runs needed for sample {k}" for k in lacks]
        if not lacks and not shift.location_model:
            remarks = ["median: no location shift, confidence may be inaccurate"]
        check_level("median", found, alpha, highest.value, remarks)
    assert len(seen) > 1


def check_row(found: RowFinding, decided: Decision, told: Estimate, alpha: float | None, at: float) -> None:
    if math.isnan(float(decided.pvalue)):
        assert found.bounds is None
    else:
        assert found.bounds is not None
        assert astuple(found.bounds) == pytest.approx(astuple(told))
    assert found.slower is bool(decided.pvalue_slower <= at)
    if alpha is not None:
        assert found.significant is bool(decided.pvalue <= alpha)


def check_level(
    name: str, found: RowFinding, alpha: float | None, highest: float, remarks: list[str]
) -> None:
    if alpha is not None:
        assert found.confidence == pytest.approx(1 - alpha)
    elif highest >= 0.5:
        assert (found.significant, found.confidence) == (True, highest)
    else:
        assert (found.significant, math.isnan(found.confidence)) == (False, True)
        remarks = [*remarks, f"{name}: no confidence level of 0.5 or more"]
    assert list(found.remarks) == remarks


def test_a_row_at_its_pvalue_and_at_one_half() -> None:
    """Significant at alpha = p, and not at less; a highest level of exactly one half is told."""
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1.5, 2.5, 3.5, 4.5, 0.5])
    for swapped in (False, True):
        a, b = (y, x) if swapped else (x, y)
        found = decide_median(median_tests(a, b), 0.05)
        for p, side in ((float(found.pvalue), "significant"), (float(found.pvalue_slower), "slower")):
            if not p < 1:
                continue
            at, below = (article_median(a, b, alpha, "legacy") for alpha in (p, p * (1 - 1e-9)))
            assert (getattr(at, side), getattr(below, side)) == (True, False)
    symmetric = np.array([1.0, 2.0, 3.0, 4.0])
    half = article_mean(symmetric, symmetric[::-1] + 0.0, None, always_welch=False)
    assert (half.significant, half.confidence) == (True, 0.5)


def test_words_of_checks_and_steps() -> None:
    check = Note(Assumption.NORMALITY, "what it means", ("X",))
    assert (check.held, check.name, str(check)) == (False, "normality of X", "normality of X: what it means")
    assert (math.isnan(check.statistic), math.isnan(check.pvalue)) == (True, True)
    assert Note(Assumption.SHIFT, statistic=1.0, pvalue=0.5, held=True).name == "location shift"
    assert str(Step("ties", 0.1, math.nan, "holds")) == "ties: holds"
    assert (
        str(Step("normality of X", 0.9, 0.01234, "does not hold"))
        == "normality of X (p = 0.0123): does not hold"
    )
    assert not Needed(1, None, "").least


def test_what_a_comparison_tells_of_its_parts() -> None:
    """Steps are the checks that its figure decides by, at last the question; no bounds where no shift is."""
    side = summarise(Sample(np.array([1.0, 2.0, 4.0])))
    kinds = [Assumption.NORMALITY, Assumption.RUN_ORDER, Assumption.SHIFT, Assumption.FACTOR]
    for flags in itertools.product((True, False), repeat=4):
        checks = tuple(
            Note(kind, "", (), (), 0.5, 0.2, held) for kind, held in zip(kinds, flags, strict=True)
        )
        for test, state in (("a test", State.NOT_SIGNIFICANT), ("", State.MORE_RUNS)):
            found = Comparison(
                "b", "time", "median", "", 0.05, side, side, state, test, 0.2, 0.01, Estimate(2.0, 1.5, 3.0, 0.95),
                Verdict.SLOWER, checks,
            )  # fmt: skip
            held = {True: "holds", False: "does not hold"}
            steps = [("normality", held[flags[0]]), ("location shift", held[flags[2]])]
            last = ("a test", "slower") if test else ("no test", "need more runs for X and Y")
            assert [(step.name, step.outcome) for step in found.steps] == [*steps, last]
            assert [step.pvalue for step in found.steps] == [0.2, 0.2, 0.2]
            assert [c.kind for c in found.failed_checks] == [
                k for k, flag in zip(kinds, flags, strict=True) if not flag
            ]
            assert [c.kind for c in found.undermining] == [Assumption.RUN_ORDER] * (not flags[1])
            assert math.isnan(found.certified.low) is math.isnan(found.certified.high) is not flags[2]
            assert found.certified.value == 2.0
            end = ", p = 0.01 (a test)>" if test else " (no test: need more runs for X and Y)>"
            assert repr(found).startswith("<b, median: slower, speedup ")
            assert repr(found).endswith(end)
