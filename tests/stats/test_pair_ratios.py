"""Order statistics of ratios against all ratios sorted."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from speedproof.stats import pair_ratios, ratio_medians
from speedproof.stats.pair_ratios import ratio_order_statistics
from speedproof.stats.ratio_medians import ratio_of_medians

values = st.lists(
    st.one_of(st.integers(0, 6).map(float), st.floats(1e-9, 1e12), st.floats(5e-324, 1.7e308)),
    min_size=1,
    max_size=25,
)


@pytest.mark.slow
@given(x=values, y=values, few=st.sampled_from([1, 7, 1 << 20]))
@example([475103003972.0], [1.0, 616972972993.5], 1)
@example([475103003967.0], [616972972994.0], 1)
@settings(max_examples=400, deadline=None)
def test_against_sorting_all_ratios(x: list[float], y: list[float], few: int) -> None:
    """Whatever the number of ratios that may be listed, each order statistic is that of the sorted ratios."""
    a, b = np.array(x), np.array(y)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        ratios = (a[:, None] / b).ravel()
    ratios = np.sort(np.where(np.isnan(ratios), 1.0, ratios))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_ratios, "_FEW", few)
        for k in range(0, ratios.size, max(1, ratios.size // 7)):
            assert ratio_order_statistics(a, b, (k,))[0] == pytest.approx(ratios[k], rel=1e-12, abs=1e-322)


@pytest.mark.parametrize("digits", [1, 3, 15])
def test_bounds_are_the_same_on_both_ways(digits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounded or not, the bounds without all ratios are those with all of them."""
    rng = np.random.default_rng(digits)
    x, y = rng.normal(10, 1, 400).round(digits), rng.normal(9.9, 1, 500).round(digits)
    pairs = [
        (x, y),
        (x[:3], y[:4]),
        (np.append(x[:9], 0.0), y[:12]),
        (x[:9], np.append(y[:9], [0.0] * 3)),
        (x[:1], y[:1]),
    ]

    def bounds() -> list[float]:
        found = [ratio_of_medians(a, b, alpha) for a, b in pairs for alpha in (0.05, 0.4, 1e-4, 1e-300)]
        return [float(end) for one in found for end in (one.low, one.high)]

    listed = bounds()
    monkeypatch.setattr(ratio_medians, "_MOST_RATIOS", 0)
    monkeypatch.setattr(pair_ratios, "_FEW", 1000)
    assert bounds() == pytest.approx(listed, rel=1e-12)
    assert {0.0, np.inf} < set(listed)


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
@pytest.mark.parametrize("few", [0, 1 << 11])
def test_the_median_of_all_ratios(
    x: list[float], y: list[float], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an even number the geometric mean of the middle two; NaN without any."""
    monkeypatch.setattr(pair_ratios, "_FEW", few)
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


@pytest.mark.parametrize("seed", range(6))
def test_any_ratio_next_to_any_other(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for in any order, with weights, whatever the interval that the last one left."""
    rng = np.random.default_rng(seed)
    x, y = rng.lognormal(0, 0.5, 30), rng.lognormal(0, 0.5, 25)
    x, y = (x.round(1) + 0.1, y.round(1) + 0.1) if seed % 2 else (x, y)
    ratios = all_ratios(x.tolist(), y.tolist())
    for few in (1, 8, 100):
        monkeypatch.setattr(pair_ratios, "_FEW", few)
        sides = (*np.unique(x, return_counts=True), *np.unique(y, return_counts=True))
        both = pair_ratios.Ratios(*sides)
        assert both.few == max(few, (sides[0].size + sides[2].size) // 2)
        for k in [0, len(ratios) - 1, *rng.integers(0, len(ratios), 40).tolist()]:
            assert both.order_statistic(k) == pytest.approx(ratios[k], rel=1e-12)
            around = both._around
            assert around is not None
            assert (
                sum(r < around.low for r in ratios)
                <= around.below
                <= min(k, sum(r <= around.low for r in ratios))
            )
            assert around.upto == sum(r <= around.high for r in ratios) > k
            for end, places in ((around.low, around.at_low), (around.high, around.at_high)):
                if around.below or end == around.high:
                    assert places.tolist() == [sum(a <= end * b for a in sides[0]) for b in sides[2]]
            assert (around.at_high - around.at_low).sum() <= both.few


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
