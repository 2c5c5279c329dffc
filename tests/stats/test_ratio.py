"""What all ratio tests share: the edges of a margin, bounds held by verdicts, p-values held by those at 1."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from speedproof.stats.ratio import RatioTest, edges, hold, monotone

ROUNDING = Fraction(16, 2**52)


@pytest.mark.parametrize("gamma", [1e-300, 0.5, 0.98, 1 / 1.02, 1.02, 2.0, 7e200])
def test_edges_are_sixteen_units_of_the_last_place_away(gamma: float) -> None:
    """To the rounding of one product; but what equals gamma is never on the other side of 1."""
    below, above = edges(gamma)
    assert abs(Fraction(below) / (Fraction(gamma) * (1 - ROUNDING)) - 1) <= Fraction(1, 2**52)
    assert abs(Fraction(above) / (Fraction(gamma) * (1 + ROUNDING)) - 1) <= Fraction(1, 2**52)


def test_edges_next_to_one() -> None:
    assert edges(1.0) == (1.0, 1.0)
    for units in (1, 8, 15, 17):
        low, high = 1 - units * 2.0**-53, 1 + units * 2.0**-52
        assert edges(low) == (low * (1 - float(ROUNDING)), 1.0)
        assert edges(high) == (
            1.0 if units < 17 else high * (1 - float(ROUNDING)),
            high * (1 + float(ROUNDING)),
        )
    assert edges(1 - 64 * 2.0**-53)[1] < 1.0 < edges(1 + 64 * 2.0**-52)[0]


@pytest.mark.parametrize("gamma", [0.0, -0.5, math.inf, -math.inf, math.nan])
def test_a_gamma_is_positive_and_finite(gamma: float) -> None:
    with pytest.raises(ValueError, match=f"^a ratio is tested against a positive gamma, not {gamma:g}$"):
        edges(gamma)


@pytest.mark.parametrize("equal", [1.0, 0.5])
def test_bounds_are_held_on_the_side_of_the_verdict(equal: float) -> None:
    """By one float, and only where they are not there by themselves."""
    beyond, within = math.nextafter(equal, 2.0), math.nextafter(equal, 0.0)
    values = [0.2, within, equal, beyond, 3.0]
    for (low, high), faster, slower in itertools.product(
        itertools.product(values, repeat=2), (True, False), (True, False)
    ):
        told = (np.array([low]), np.array([high]), np.array([faster]), np.array([slower]))
        found = hold(*told) if equal == 1.0 else hold(*told, equal)
        assert found.low[0] == (max(low, beyond) if faster else min(low, equal))
        assert found.high[0] == (min(high, within) if slower else max(high, equal))


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_no_pvalue_contradicts_the_verdict(gamma: float) -> None:
    """For "more" the smaller one below 1, the larger one above; for "less" the reverse. NaN gives way."""
    levels = [0.1, 0.4, math.nan]
    rows = list(itertools.product(levels, repeat=4))
    shifted = RatioTest(*(np.array([row[k] for row in rows]) for k in (0, 1)))
    at_one = RatioTest(*(np.array([row[k] for row in rows]) for k in (2, 3)))
    found = monotone(gamma, shifted, at_one, np.ones(len(rows), dtype=np.bool_))

    def of(pair: list[float], which: str) -> float:
        told = [p for p in pair if not math.isnan(p)]
        return (min(told) if which == "least" else max(told)) if told else math.nan

    for k, (above, below, one_above, one_below) in enumerate(rows):
        if gamma == 1.0:
            expected = [one_above, one_below]
        else:
            first, second = ("least", "most") if gamma < 1.0 else ("most", "least")
            expected = [of([above, one_above], first), of([below, one_below], second)]
        np.testing.assert_array_equal([found.above[k], found.below[k]], expected)
    none = monotone(gamma, shifted, at_one, np.zeros(len(rows), dtype=np.bool_))
    assert np.isnan([none.above, none.below]).all()
