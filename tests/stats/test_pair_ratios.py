"""Order statistics of ratios against all ratios sorted."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from speedproof.stats import pair_ratios
from speedproof.stats.pair_ratios import ratio_order_statistics
from speedproof.stats.ratio_medians import ratio_of_medians


def test_a_hundred_thousand_values_a_side() -> None:
    """Ten thousand million ratios take neither the memory nor the time to make them."""
    rng = np.random.default_rng(1)
    x, y = rng.lognormal(0.0, 0.1, 100_000), rng.lognormal(-0.01, 0.1, 100_000)
    found = ratio_of_medians(x, y, 0.05)
    # The shift is known: log-normal samples that differ by the factor exp(0.01).
    assert 1.0 < float(found.low) < np.exp(0.01) * 1.002
    assert np.exp(0.01) * 0.998 < float(found.high) < 1.02


SIDES = [
    ([1.0, 2.0, 3.0], [2.0, 5.0]), ([0.0, 0.0, 1.0], [3.0]), ([1.0, 4.0], [0.0, 0.0, 2.0]), ([3.0], [0.0]),
    ([0.0], [3.0]), ([], [1.0]), ([1.0, 1.0, 2.0], [1.0, 2.0, 2.0]), ([0.0, 1.0, 5.0, 5.0], [1.0, 2.5]),
    ([1.0, 2.0, 4.0, 8.0], [1.0]), ([0.5], [0.5]), ([1.0, 3.0, 5.0], [0.0, 1.0, 2.0]),
]  # fmt: skip


def all_ratios(x: list[float], y: list[float]) -> list[float]:
    """In ascending order, of samples of which one has no zeros."""
    return sorted(a / b if b else math.inf for a in x for b in y)


@pytest.mark.parametrize(("x", "y"), SIDES)
def test_the_median_of_all_ratios(x: list[float], y: list[float]) -> None:
    """Of an even number the geometric mean of the middle two; NaN without any."""
    ratios = all_ratios(x, y)
    found = pair_ratios.median_ratio(np.array(x), np.array(y))
    if not ratios:
        assert math.isnan(found)
        return
    middle = ratios[(len(ratios) - 1) // 2], ratios[len(ratios) // 2]
    assert found == (
        middle[0] if middle[0] == middle[1] else pytest.approx(math.sqrt(middle[0]) * math.sqrt(middle[1]))
    )
    every = ratio_order_statistics(np.array(x), np.array(y), range(len(ratios)))
    assert every == pytest.approx(ratios)
    assert all(value >= 0.0 for value in every)


def test_ratios_between_two_numbers() -> None:
    """Their places, of y first, and how many are beyond; none where the second is not above the first."""
    x, y = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 2.0, 4.0])
    weights = np.array([2, 1, 3, 1]), np.array([1, 4, 2])
    both = pair_ratios.Ratios(x, weights[0], y, weights[1])
    for low, high in itertools.product(
        (0.0, 0.25, 0.3, 0.5, 1.0, 2.0, 6.0), (0.25, 0.75, 1.0, 2.5, 5.0, 9.0)
    ):
        of_x, of_y, beyond = both.between(low, high)
        expected = [(i, j) for j in range(3) for i in range(4) if low * y[j] < x[i] <= high * y[j]]
        assert list(zip(of_x.tolist(), of_y.tolist(), strict=True)) == expected
        above = [(i, j) for j in range(3) for i in range(4) if x[i] > high * y[j]]
        assert beyond == sum(int(weights[0][i] * weights[1][j]) for i, j in above)


@pytest.mark.parametrize("digits", [0, 1, 15])
def test_order_statistics_of_more_ratios_than_are_listed(digits: int) -> None:
    """Searched without making all ratios: each is that of the sorted ones, with ties and zeros."""
    rng = np.random.default_rng(digits)
    x, y = rng.lognormal(0.5, 0.5, 90).round(digits), rng.lognormal(0.0, 0.9, 70).round(digits) + 0.1
    ratios = all_ratios(x.tolist(), y.tolist())
    places = [0, len(ratios) - 1, *rng.integers(0, len(ratios), 40).tolist()]
    assert ratio_order_statistics(x, y, places) == pytest.approx([ratios[k] for k in places], rel=1e-12)
    middle = ratios[len(ratios) // 2 - 1], ratios[len(ratios) // 2]
    assert pair_ratios.median_ratio(x, y) == pytest.approx(math.sqrt(middle[0] * middle[1]), rel=1e-12)
