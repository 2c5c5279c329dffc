"""Values that were rounded: the step is found, and the bounds hold the truth behind the readings."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.protocols.asking import stop_rules

from speedproof.protocols.sequential import SequentialComparison
from speedproof.stats.resolution import Resolution, coarse_step, coarse_steps
from speedproof.stats.sequential import PairedSequence


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


@pytest.mark.parametrize(
    ("value", "place"), [(0.5, 0.1), (0.503, 0.001), (17.0, 1.0), (1700.0, 1.0), (5e-07, 1e-7)]
)
def test_one_value_tells_its_last_decimal_place(value: float, place: float) -> None:
    assert watched([value] * 5) == pytest.approx(place)


def test_values_of_full_precision_have_no_step() -> None:
    assert watched(np.random.default_rng(1).random(1000).tolist()) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "tick", "noise", "speedup"),
    [
        (0.0503, 0.01, 0.03, 1.02),
        (0.5, 0.01, 0.005, 1.004),
        (0.048, 0.004, 0.03, 1.02),
        (3.3e-5, 1e-6, 0.01, 1.01),
    ],
)
def test_bounds_of_rounded_values_hold_the_truth(
    base: float, tick: float, noise: float, speedup: float
) -> None:
    """Coarse clocks that a program reads: the truth is lost on a side in at most 5 % of sessions (binomial)."""
    rng = np.random.default_rng(17)
    low = high = 0
    sessions = 40
    for _ in range(sessions):
        times = np.exp(noise * rng.standard_normal((100, 2))) * (speedup * base, base)
        race = SequentialComparison("b", ["X", "Y"], stop_rules(min_blocks=10**6), metric="printed")
        for x, y in (np.round(times / tick) * tick).tolist():
            race.add({"X": x, "Y": y})
        result = race.findings()[0].result
        low += result.low > speedup
        high += result.high < speedup
    for lost in (low, high):
        assert stats.binomtest(lost, sessions, 0.05, alternative="greater").pvalue > 1e-3


def test_equal_readings_prove_no_more_than_their_step() -> None:
    """200 times 0.50 s twice, read in hundredths: the truth is between 0.495/0.505 and its inverse."""
    sequence = PairedSequence()
    for _ in range(200):
        sequence.add(0.5, 0.5, resolution=0.01)
    result = sequence.result()
    assert result.low < 0.495 / 0.505 < 0.505 / 0.495 < result.high
    assert result.pvalue_faster == result.pvalue_slower == 1.0


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_care_for_the_step_only_widens_and_keeps_the_verdict(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.round(50 * np.exp(0.1 * rng.standard_normal((40, 2))) * (1.1, 1.0))
    careless, careful = PairedSequence(), PairedSequence()
    for x, y in times.tolist():
        careless.add(x, y)
        careful.add(x, y, resolution=1.0)
    a, b = careless.result(), careful.result()
    assert (b.pvalue_faster, b.pvalue_slower) == (a.pvalue_faster, a.pvalue_slower)
    assert b.low <= a.low + 1e-12
    assert b.high >= a.high - 1e-12
    assert (b.low >= 1.0) == (b.pvalue_faster <= 0.05)
    assert (b.high <= 1.0) == (b.pvalue_slower <= 0.05)


def test_bounds_of_skewed_ratios_pass_their_median() -> None:
    """Six blocks of ten are 2 % faster, the others 20 %: where values have no steps a session goes on for it."""
    rng = np.random.default_rng(5)
    ratios = np.where(rng.random(600) < 0.4, 0.2, 0.02) + 0.001 * rng.standard_normal(600)
    race, sequence = SequentialComparison("b", ["X", "Y"], stop_rules()), PairedSequence()
    for ratio, base in zip(ratios.tolist(), (1 + rng.random(600)).tolist(), strict=True):
        x = base * float(np.exp(ratio))
        race.add({"X": x, "Y": base})
        sequence.add(x, base)
    # The bound is beyond the median, and still below half of the centre: there is more to be had.
    result = race.findings()[0].result
    assert sequence.middle() < result.low < sequence.centre() ** 0.5
    assert race.open()


def decimals(value: float) -> float:
    """The last place of a value as Python writes it, at most 1."""
    return next(10.0**-k for k in range(20) if Fraction(repr(value)) * 10**k % 1 == 0)


def reading(own: list[float]) -> float:
    n, counts = len(own), Counter(own)
    if n < 2 or Fraction(sum(t * (t - 1) for t in counts.values()), n * (n - 1)) < Fraction(1, 4):
        return 0.0
    return decimals(own[0]) if len(counts) == 1 else min(b - a for a, b in itertools.pairwise(sorted(counts)))


def test_readings_of_two_sides_by_definition() -> None:
    """The step of each; of a constant side the smallest difference of both, of two such the finer place."""
    rng = np.random.default_rng(8)
    x = rng.choice([0.5, 0.75, 1.25, 2.0], (60, 5))
    y = rng.choice([0.5, 0.6, 1.0], (60, 4))
    x[:12], y[8:20] = 0.5, 1.25
    x[20:26], y[23:28] = rng.normal(size=(6, 5)), rng.normal(size=(5, 4))
    x[40], y[40] = 0.25, 0.25
    x[41], y[42] = np.arange(5), 3.0
    x[42] = np.arange(5)
    steps = coarse_steps(x, y)
    kinds = set()
    for row, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        own = [reading(a), reading(b)]
        assert [coarse_step(a), coarse_step(b)] == pytest.approx(own, abs=0)
        constant = [len(set(a)) == 1, len(set(b)) == 1]
        pool = sorted({*a, *b})
        both = min(map(decimals, pool)) if all(constant) else min(map(float, np.diff(pool)), default=0.0)
        expected = [both if c else step for c, step in zip(constant, own, strict=True)]
        assert steps[row].tolist() == expected
        kinds.add((*constant, own[0] > 0, own[1] > 0))
    assert len(kinds) >= 6
    assert coarse_steps(x[0], y[0]).shape == (1, 2)
    assert coarse_steps([1.0], [1.0, 1.0]).tolist() == [[0.0, 1.0]]
