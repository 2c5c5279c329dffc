"""Values that were rounded, or are at the ends of the range: steps are found, and bounds hold the truth."""

import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedproof.arrays import FloatArray
from speedproof.stats.axes import window
from speedproof.stats.scaling import (
    Resolution,
    coarse_step,
    coarse_steps,
    location_ratio,
    location_ratios,
    mean,
    median,
)
from speedproof.stats.sequential import PairedSequence
from speedproof.stats.superiority import typical_ratio, typical_ratio_test


def watched(values: list[float]) -> float:
    seen = Resolution()
    for value in values:
        seen.add(value)
    return seen.step


@given(st.lists(st.integers(1, 60), min_size=2, max_size=40), st.sampled_from([1.0, 0.25, 4.0]))
def test_step_is_the_smallest_gap_or_nothing(counts: list[int], tick: float) -> None:
    """Against all pairs; never below the true tick when values tie."""
    values = [tick * count for count in counts]
    gaps = [abs(a - b) for a in values for b in values if a != b]
    step = watched(values)
    if len(set(values)) == len(values):
        assert step == 0.0
    elif gaps:
        assert step == min(gaps) >= tick


@pytest.mark.parametrize(("value", "step"), [(0.5, np.inf), (5e-07, np.inf), (17.0, 1.0), (1700.0, 1.0)])
def test_one_value_tells_no_step_unless_it_is_a_count(value: float, step: float) -> None:
    assert watched([value] * 5) == step
    assert watched((value * np.random.default_rng(1).random(1000)).tolist()) == 0.0


@given(st.floats(0.05, 0.5), st.floats(1.0, 1.5), st.sampled_from([0.01, 0.004, 0.001]))
def test_two_versions_stuck_on_their_ticks(time: float, speedup: float, tick: float) -> None:
    """Of two readings that never change the speedup is between those of all times that give them."""
    x, y = (round(round(t / tick) * tick, 6) for t in (time, time / speedup))
    sequence, seen = PairedSequence(), Resolution()
    for _ in range(12):
        seen.add(x, "x")
        seen.add(y, "y")
        sequence.add(x, y, resolution=seen.step)
    result = sequence.result()
    assert (result.low, result.high) == (0.0, np.inf) if x == y else result.faster
    assert result.low <= (x - tick / 2) / (y + tick / 2) * (1 + 1e-6) or result.low == 1.0
    assert (x + tick / 2) / (y - tick / 2) <= result.high * (1 + 1e-6)


@pytest.mark.parametrize(("power", "parted"), [(-99, True), (-101, False)])
def test_an_axis_that_shows_only_a_speck(power: int, parted: bool) -> None:
    """Values whose spread is less than 1e-100 of the range are not parted from one that is far out."""
    x = np.append(10.0**power * np.arange(1.0, 11.0), 1.0)
    assert window(x) == (x[0], x[9] if parted else 1.0)


def decimals(value: float) -> float:
    """The last place of a value as Python writes it, at most 1."""
    return next(10.0**-k for k in range(20) if Fraction(repr(value)) * 10**k % 1 == 0)


def reading(own: list[float]) -> float:
    n, counts = len(own), Counter(own)
    if n < 2 or Fraction(sum(t * (t - 1) for t in counts.values()), n * (n - 1)) < Fraction(1, 4):
        return 0.0
    return decimals(own[0]) if len(counts) == 1 else min(b - a for a, b in itertools.pairwise(sorted(counts)))


def test_readings_of_two_sides_by_definition() -> None:
    """Of a constant side the smallest difference of both, of two whole numbers 1."""
    rng = np.random.default_rng(8)
    x = rng.choice([0.5, 0.75, 1.25, 2.0], (60, 5))
    y = rng.choice([0.5, 0.6, 1.0], (60, 4))
    x[:12], y[8:20] = 0.5, 1.25
    x[20:26], y[23:28] = rng.normal(size=(6, 5)), rng.normal(size=(5, 4))
    x[40], y[40], x[43], y[43], x[44], y[44] = 0.25, 0.25, 1700.0, 120.0, 17.0, 17.0
    x[41], y[42] = np.arange(5), 3.0
    x[42] = np.arange(5)
    steps = coarse_steps(x, y)
    kinds = set()
    for row, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        own = [reading(a), reading(b)]
        assert [coarse_step(a), coarse_step(b)] == pytest.approx(own, abs=0)
        constant = [len(set(a)) == 1, len(set(b)) == 1]
        pool = sorted({*a, *b})
        both = min(map(float, np.diff(pool)), default=np.inf)
        if all(constant) and all(v == int(v) for v in pool):
            both = 1.0
        expected = [both if c else step for c, step in zip(constant, own, strict=True)]
        assert steps[row].tolist() == expected
        kinds.add((*constant, own[0] > 0, own[1] > 0))
    assert len(kinds) >= 6
    assert coarse_steps(x[0], y[0]).shape == (1, 2)
    assert coarse_steps([1.0], [1.0, 1.0]).tolist() == [[0.0, 1.0]]


SIZES = [(2, 7), (4, 4), (6, 9), (7, 5), (25, 20)]
GAMMAS = (1.001, 1.1, 1.3)


def drawn(n: int, m: int, rows: int, step: float, low: float = 0.3) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng([n, m])
    x = low + 1.3 * rng.lognormal(0.0, 0.3, (rows, n))
    y = low + rng.lognormal(0.0, 0.2, (rows, m))
    return (np.round(x / step) * step, np.round(y / step) * step) if step else (x, y)


def worst(x: FloatArray, y: FloatArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least that X and the most that Y may have been."""
    return np.maximum(x - steps[:, :1] / 2, 0.0), y + steps[:, 1:] / 2


@pytest.mark.parametrize("step", [0.0, 0.01, 0.25, 1.0])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_pvalues_and_bounds_are_of_the_worst_values(n: int, m: int, step: float) -> None:
    """Beyond 1 for "more", below it for "less"; no less than what the verdicts about either say."""
    x, y = drawn(n, m, 4, min(step, 0.05))
    steps = np.tile([step, step / 2], (4, 1))
    low, high = worst(x, y, steps), worst(y, x, steps[:, ::-1])[::-1]
    at_one, of_low, of_high = (typical_ratio_test(*pair, 1.0) for pair in ((x, y), low, high))
    for gamma in GAMMAS:
        above = typical_ratio_test(x, y, gamma, steps=steps).pvalue
        expected = np.maximum(typical_ratio_test(*low, gamma).pvalue, at_one.pvalue)
        told = ~np.isnan(expected)  # half of a side at zero means no ratio
        assert np.maximum(above, of_low.pvalue)[told] == pytest.approx(expected[told], rel=1e-9)
        below = typical_ratio_test(x, y, 1 / gamma, steps=steps).pvalue_less
        expected = np.maximum(typical_ratio_test(*high, 1 / gamma).pvalue_less, at_one.pvalue_less)
        told = ~np.isnan(expected)
        assert np.maximum(below, of_high.pvalue_less)[told] == pytest.approx(expected[told], rel=1e-9)
    for alpha in (0.05, 0.3) if step <= 0.25 else ():
        found = typical_ratio(x, y, alpha, steps=steps)
        held_at_one(found, typical_ratio(*low, alpha).low, typical_ratio(*high, alpha).high, alpha)


def held_at_one(found: Any, least: FloatArray, most: FloatArray, alpha: float) -> None:
    """The bounds are these, but not beyond 1 on the side that is proven."""
    low = np.where(found.pvalue <= alpha, np.maximum(least, 1.0), least)
    high = np.where(found.pvalue_less <= alpha, np.minimum(most, 1.0), most)
    assert low == pytest.approx(found.low, rel=1e-9)
    assert high == pytest.approx(found.high, rel=1e-9)


LARGEST = float(np.finfo(np.float64).max)


def random_sample(rng: np.random.Generator) -> np.ndarray:
    """Values of one size, of all sizes, or of a few sizes, with ties and zeros."""
    sizes = rng.choice(
        [0.0, 5e-324, 1e-320, 1e-308, 1e-160, 1e-100, 1.0, 1e100, 1e154, 1e300, LARGEST / 1.2], 3
    )
    return rng.choice(sizes, rng.integers(1, 12)) * (1 + 0.1 * rng.random() * rng.integers(0, 2))


def test_locations_against_rational_numbers() -> None:
    """Mean and median to rounding; subnormal ones to the smallest step there is."""
    rng = np.random.default_rng(1)
    for _ in range(600):
        x = random_sample(rng)
        exact = sorted(map(Fraction, x.tolist()))
        middle = (exact[(x.size - 1) // 2] + exact[x.size // 2]) / 2
        assert median(x) == pytest.approx(float(middle), rel=1e-15, abs=1e-322)
        assert mean(x) == pytest.approx(float(sum(exact) / x.size), rel=1e-14, abs=2e-323)


@pytest.mark.slow
def test_ratios_against_rational_numbers() -> None:
    """To rounding, also where the locations have a few bits only; infinite beyond the largest double."""
    rng = np.random.default_rng(5)
    seen = {"inf": 0, "subnormal": 0}
    for _ in range(2000):
        power = int(rng.integers(-1074, 1000))
        other = power + int(rng.integers(0, 13)) if rng.random() < 0.5 else int(rng.integers(-1074, 1013))
        x, y = (np.ldexp(rng.integers(1, 1024, rng.integers(1, 9)), p) for p in (power, other))
        first, second = (sorted(map(Fraction, s.tolist())) for s in (x, y))
        of_means = (sum(first) / x.size) / (sum(second) / y.size)
        of_medians = (first[(x.size - 1) // 2] + first[x.size // 2]) / (
            second[(y.size - 1) // 2] + second[y.size // 2]
        )
        for location, expected in ((mean, of_means), (median, of_medians)):
            found = location_ratio(location, x, y)
            if expected > Fraction(LARGEST):
                assert found == np.inf
                seen["inf"] += 1
            else:
                assert found == pytest.approx(float(expected), rel=1e-13, abs=5e-324)
                seen["subnormal"] += bool(max(x.max(), y.max()) < 1e-307)
    assert min(seen.values()) > 5
    assert np.isnan(location_ratio(mean, [1.0], [0.0]))
    assert np.isnan(location_ratio(median, [-1.0], [2.0]))


@pytest.mark.parametrize("location", [mean, median])
def test_ratios_of_rows_are_those_of_samples(location: Callable[[FloatArray], float]) -> None:
    """To the bit: rows of usual, very large and very small values, with negative locations among them."""
    rng = np.random.default_rng(6)
    powers = rng.choice([0, -30, 60, 300, 1000, -1000], (2, 200, 1))
    x, y = np.ldexp(rng.normal(rng.choice([0, 5], (200, 1)), 1, (2, 200, 7)), powers)
    with np.errstate(over="ignore"):
        one_by_one = [location_ratio(location, *rows) for rows in zip(x, y, strict=True)]
    assert np.isnan(one_by_one).any()
    np.testing.assert_array_equal(location_ratios(location, x, y), one_by_one)
