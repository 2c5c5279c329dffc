"""Brunner and Munzel's test in rational numbers, and the bounds of a chance far out."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.bounds import chance_bounds
from speedproof.stats.ranks import brunner_munzel, tied_share

HALF = Fraction(1, 2)


def naive(x: list[int], y: list[int]) -> tuple[float, float, float]:
    """The chance, the squared error and the degrees of freedom, in rational numbers; NaN for none."""
    n, m = len(x), len(y)
    of_x = [Fraction(sum((b < a) + HALF * (b == a) for b in y)) / m for a in x]
    of_y = [Fraction(sum((a < b) + HALF * (a == b) for a in x)) / n for b in y]
    chance = sum(of_x) / n
    if min(n, m) < 2:
        return float(chance), math.nan, math.nan
    parts = statistics.variance(of_x) / n, statistics.variance(of_y) / m
    total = sum(parts)
    df = total**2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1)) if total else math.nan
    return float(chance), float(total), float(df)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (3, 1), (2, 2), (2, 5), (4, 3), (6, 6)])
def test_brunner_munzel_in_rational_numbers(n: int, m: int) -> None:
    rng = np.random.default_rng([n, m])
    drawn = [(rng.integers(0, k, n).tolist(), rng.integers(0, k, m).tolist()) for k in (1, 2, 3, 5, 20) * 6]
    drawn += [([9] * n, [1] * m), ([1] * n, [9] * m)]
    found = brunner_munzel([x for x, _ in drawn], [y for _, y in drawn])
    for row, (x, y) in enumerate(drawn):
        chance, square, df = naive(x, y)
        ties = sum(a == b for a in x for b in y)
        assert tied_share(np.array(x, float), np.array(y, float)) == ties / (n * m)
        apart = chance in (0.0, 1.0)
        assert found.estimate[row] == pytest.approx(chance, rel=1e-15)
        assert found.se[row] == pytest.approx(math.sqrt(square), rel=1e-12, abs=1e-9, nan_ok=True)
        if not apart:
            assert found.df[row] == pytest.approx(df, rel=1e-12, nan_ok=True)
        if apart:
            worst = 0.5 ** min(n, m)
            expected = [worst, 1.0] if chance == 1.0 else [1.0, worst]
        elif min(n, m) < 2:
            expected = [math.nan, math.nan]
        elif not square:
            expected = [1.0, 1.0]
        else:
            t = (chance - 0.5) / math.sqrt(square)
            expected = [float(stats.t.sf(t, df)), float(stats.t.cdf(t, df))]
        assert [found.pvalue[row], found.pvalue_less[row]] == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_bounds_of_a_chance_alone() -> None:
    """Far out the odds overflow to certainty without a warning; without a standard error nothing is known."""
    false, true = np.zeros(1, dtype=np.bool_), np.ones(1, dtype=np.bool_)
    for chance, se, quantile, separation, expected in (
        (0.6, 0.1, 1.7, 0.9, None),
        (0.6, 5.0, 1e4, 0.9, [0.0, 1.0]),
        (0.6, 0.0, 1.7, 0.9, [0.0, 1.0]),
        (0.6, math.nan, 1.7, 0.9, [0.0, 1.0]),
        (0.999, 1e-9, 1.7, 0.7, [0.5, 0.999]),
        (0.001, 1e-9, 1.7, 0.7, [0.001, 0.5]),
        (1.0, 0.0, 1.7, 0.7, [0.5, 1.0]),
        (0.0, 0.0, 1.7, 0.7, [0.0, 0.5]),
    ):
        found = chance_bounds(
            np.array([chance]), np.array([se]), np.array([quantile]), separation, false, false
        )
        if expected is None:
            odds, width = math.log(1.5), 1.7 * 0.1 / 0.24
            expected = [1 / (1 + math.exp(width - odds)), 1 / (1 + math.exp(-width - odds))]
        assert [found.low[0], found.high[0]] == pytest.approx(expected, rel=1e-5, abs=1e-12)
    held = chance_bounds(np.ones(1), np.zeros(1), np.ones(1), 0.8, true, false)
    assert (held.low[0], held.high[0]) == (0.8, 1.0)
    held = chance_bounds(np.zeros(1), np.zeros(1), np.ones(1), 0.8, false, true)
    assert (held.low[0], held.high[0]) == (0.0, pytest.approx(0.2))
