"""Zeros: the ratio of two of them is 1, that of a value to zero infinite. Every test of a ratio takes them so."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from speedproof.arrays import FloatArray
from speedproof.stats.pair_ratios import median_ratio, ratio_order_statistics
from speedproof.stats.paired_ratio import paired_ratio, paired_ratio_test
from speedproof.stats.ratio import scaled
from speedproof.stats.ratio_medians import ratio_of_medians, ratio_of_medians_test
from speedproof.stats.superiority import typical_ratio, typical_ratio_test

GAMMAS = (0.3, 0.98, 1.02, 2.5)


def ratio(a: float, b: float) -> float:
    return 1.0 if a == b == 0.0 else math.inf if b == 0.0 else a / b


def samples() -> list[tuple[FloatArray, FloatArray]]:
    """Few distinct values with zeros, and many; none, some and all of either side are zeros."""
    rng = np.random.default_rng(3)
    found = []
    for case in range(60):
        n, m = rng.integers(2, 13, 2)
        x, y = rng.integers(0, 4, n) * (1.0, 0.37)[case % 2], rng.integers(0, 4, m) * 1.0
        if case % 3 == 0:
            x, y = x * rng.lognormal(0.0, 0.3, n), y * rng.lognormal(0.0, 0.3, m)
        found.append((x * (case % 5 > 0), y * (case % 7 > 0)))
    return found


def test_order_statistics_and_medians_are_those_of_all_ratios() -> None:
    """Sorted by hand, with two zeros at 1 among the others."""
    for x, y in samples():
        ratios = sorted(ratio(a, b) for a in x for b in y)
        assert ratio_order_statistics(x, y, range(len(ratios))) == pytest.approx(ratios, rel=1e-12)
        lower, upper = ratios[(len(ratios) - 1) // 2], ratios[len(ratios) // 2]
        middle = lower if lower == upper else math.sqrt(lower) * math.sqrt(upper)
        assert median_ratio(x, y) == pytest.approx(middle, nan_ok=True)
        assert typical_ratio(x, y, 0.05).estimate == pytest.approx(middle, nan_ok=True)


@pytest.mark.parametrize("n", [4, 6, 10, 400])
def test_against_zero_every_margin_is_decided(n: int) -> None:
    """0 against 1 lies below every gamma, 1 against 0 above, 0 against 0 at 1: as surely as there can be."""
    zero, one = np.zeros(n), np.ones(n)
    least = typical_ratio_test(2.0 * one, one, 1.0).above
    for x, y, expected in (
        (zero, one, 0.0),
        (one, zero, math.inf),
        (zero, zero, 1.0),
        (3.0 * one, 3.0 * one, 1.0),
    ):
        found = typical_ratio(x, y, 0.05)
        assert (float(found.estimate), float(found.low), float(found.high)) == (expected,) * 3
        bounds = ratio_of_medians(x, y, 0.05)
        assert (float(bounds.low), float(bounds.high)) == (expected,) * 2
        for gamma in GAMMAS:
            for test in (typical_ratio_test(x, y, gamma), ratio_of_medians_test(x, y, gamma)):
                assert (bool(test.above <= 0.05), bool(test.below <= 0.05)) == (
                    gamma < expected,
                    gamma > expected,
                )
            typical = typical_ratio_test(x, y, gamma)
            assert min(typical.above, typical.below) == pytest.approx(least)
        if n < 400:
            steps = np.zeros((1, 2))
            paired = paired_ratio(x[None], y[None], 0.1, steps=steps)
            assert [paired.estimate[0], paired.low[0], paired.high[0]] == [expected] * 3
            for gamma in GAMMAS:
                at = paired_ratio_test(x[None], y[None], gamma, steps=steps)
                assert (at.above[0] <= 0.1, at.below[0] <= 0.1) == (gamma < expected, gamma > expected)


def test_pairs_of_sessions_with_zeros() -> None:
    """A ratio of two sessions may be 0, infinite or 1; what an average of 0 and infinity is nobody knows."""
    steps = np.zeros((1, 2))
    x, y = np.array([[0.0, 0.0, 1.0, 2.0, 3.0, 0.0]]), np.array([[0.0, 1.0, 0.0, 1.0, 1.0, 2.0]])
    logs = np.array([0.0, -math.inf, math.inf, math.log(2.0), math.log(3.0), -math.inf])
    i, j = np.triu_indices(6)
    with np.errstate(invalid="ignore"):
        averages = 0.5 * (logs[i] + logs[j])
    signs, at_one = (
        [sum(ranks) for ranks in itertools.product(*((0, k) for k in range(1, 7)))],
        paired_ratio_test(x, y, 1.0, steps=steps),
    )
    for gamma in GAMMAS:
        found = paired_ratio_test(x, y, gamma, steps=steps)
        above, below = (
            np.mean([s >= count for s in signs])
            for count in ((averages > math.log(gamma)).sum(), (averages < math.log(gamma)).sum())
        )
        up, down = (min, max) if gamma < 1.0 else (max, min)  # as what holds at 1 demands
        assert found.above[0] == pytest.approx(up(above, at_one.above[0]))
        assert found.below[0] == pytest.approx(down(below, at_one.below[0]))
    bounds = paired_ratio(x, y, 0.3, steps=steps)
    assert math.isnan(bounds.estimate[0])
    assert bounds.low[0] == 0.0


def test_zeros_of_which_a_reading_leaves_half_a_step() -> None:
    """0 of a clock may be half a tick: nothing is known of two of them, and 1 may be the same."""
    zero, one, far = np.zeros(10), np.ones(10), np.full(10, 5.0)
    for steps in ((1.0, 1.0), (0.4, 0.4)):
        found = typical_ratio(zero, zero, 0.05, steps=steps)
        assert (float(found.low), float(found.high)) == (0.0, math.inf)
    assert float(typical_ratio(zero, one, 0.05, steps=(1.0, 1.0)).high) == np.nextafter(1.0, 0.0)
    assert float(typical_ratio(zero, far, 0.05, steps=(1.0, 1.0)).high) == pytest.approx(0.5 / 4.5)
    assert float(typical_ratio(far, zero, 0.05, steps=(1.0, 1.0)).low) == pytest.approx(4.5 / 0.5)


def test_scaled_values_compare_as_their_ratios() -> None:
    """X against gamma Y, row by row; without zeros on both sides nothing but the product is made."""
    x, y = np.array([0.0, 0.0, 2.0, 1.0]), np.array([0.0, 3.0, 0.0, 1.0])
    for gamma in GAMMAS:
        a, b = scaled(x, y, gamma)
        for i, j in itertools.product(range(4), repeat=2):
            assert (a[i] > b[j], a[i] < b[j]) == (ratio(x[i], y[j]) > gamma, ratio(x[i], y[j]) < gamma)
    rows = scaled(np.zeros((2, 1)), np.zeros((2, 1)), np.array([[0.5], [2.0]]))
    assert [(rows[0] > rows[1]).tolist(), (rows[0] < rows[1]).tolist()] == [
        [[True], [False]],
        [[False], [True]],
    ]
    at_one = scaled(x, y, 1.0)
    assert (at_one[0].tolist(), at_one[1].tolist()) == (x.tolist(), y.tolist())
    assert scaled(y + 1.0, x, 2.0)[1].tolist() == (2.0 * x).tolist()
