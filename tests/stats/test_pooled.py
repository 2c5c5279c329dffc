"""Pooled and merged samples, all ratios and crossings of lines: against sorting and counting in plain Python."""

import itertools
import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import stats as scipy_stats

from speedproof.arrays import ArrayPair
from speedproof.stats.crossings import crossing_pairs
from speedproof.stats.permutation import Spread, bounded, states_between
from speedproof.stats.rank_scores import ROUNDING, Pairs, Score, Search, pairs_of, scores_of
from speedproof.stats.ranks import merged_places, ranked


@pytest.mark.parametrize("shape", [(3,), (30,), (1, 7), (5, 1), (2, 3, 5), (3, 5000)])
def test_ranks_against_scipy(shape: tuple[int, ...]) -> None:
    """Without ties, with many, all equal, near zero and far from it, with zeros of both signs."""
    rng = np.random.default_rng(shape)
    for x in (
        *(rng.integers(0, high, shape) / 8 for high in (1, 2, 4, 1000)),
        rng.normal(size=shape),
        np.where(rng.random(shape) < 0.1, -0.0, rng.integers(0, 2, shape)),
        10.0 ** rng.uniform(-300, 300, shape) * rng.choice([-1.0, 1.0], shape),
        1.0 + 1e300 * (rng.random(shape) < 0.001) + rng.integers(0, 99, shape) * 2.0**-52,
    ):
        ranks, ascending = ranked(x)
        np.testing.assert_array_equal(ranks, scipy_stats.rankdata(x, axis=-1))
        np.testing.assert_array_equal(ascending, np.sort(x, axis=-1))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 7), (8, 3), (40, 40)])
@pytest.mark.parametrize("high", [1, 3, 1000])
def test_by_counting(n: int, m: int, high: int) -> None:
    """Of values that differ, of many that are equal, of all that are, and infinite ones."""
    rng = np.random.default_rng([n, m, high])
    x, y = (np.sort(rng.integers(0, high, (5, size)) / 8, axis=1) for size in (n, m))
    x[-1, -1] = y[-1, -1] = math.inf
    for x_first in (True, False):
        of_x, of_y = merged_places(x, y, x_first)
        for row in range(5):
            for value, count in zip(x[row], of_x[row], strict=True):
                assert count == sum(v < value or (v == value and not x_first) for v in y[row])
            for value, count in zip(y[row], of_y[row], strict=True):
                assert count == sum(v < value or (v == value and x_first) for v in x[row])


def only(pairs: Pairs) -> Score:
    ((rows, score),) = scores_of(pairs)
    assert rows.all()
    return score


def ordered(pairs: Pairs) -> ArrayPair:
    return np.sort(pairs.x), np.sort(pairs.y)[:, ::-1]


def constants(score: Score) -> ArrayPair:
    return score.inflation, score.effective


@pytest.mark.parametrize("unit", [(0.1, 0.1), (1e308, 1.0), (10.0, 1e308)])
def test_ratios_that_are_equal_but_for_rounding(unit: tuple[float, float]) -> None:
    """Multiples of a tenth: 0.3 / 0.1, 0.6 / 0.2 and 0.9 / 0.3 are three doubles, and one ratio."""
    rng = np.random.default_rng(4)
    x, y = 1.0 * rng.integers(1, 14, (40, 12)), 1.0 * rng.integers(1, 12, (40, 11))
    if unit[0] > 1.0:
        x, y = (rng.uniform(1.0, 1.1, (40, size)) for size in (12, 11))
    pairs = pairs_of(unit[0] * x, unit[1] * y, (0.0, 0.0), (1.0, 1.0))
    score = only(pairs)
    for alpha in (0.4, 0.2, 0.1, 0.05, 0.01):
        low, high = Search(pairs, score).bounds(alpha)
        expected = bounded(*ordered(pairs), constants(score), score.critical(alpha), ROUNDING)
        assert low.tolist() == expected[:, 2].tolist()
        assert high.tolist() == expected[:, 3].tolist()


@pytest.mark.parametrize(
    ("m", "shift", "factor"), [(150_000, 0.002, 1.0), (140_000, 0.0, 50.0), (200_000, 2.0, 1.0)]
)
def test_bounds_of_many_values_are_where_the_test_rejects(m: int, shift: float, factor: float) -> None:
    """On the one side of either bound the score is beyond the critical one, on the other it is not."""
    rng = np.random.default_rng(m)
    x, y = rng.lognormal(shift, 0.1, (1, 150_000)), rng.lognormal(0.0, 0.2, (1, m))
    pairs = pairs_of(x, y, (0.0, 0.0), (factor, factor))
    search = Search(pairs, only(pairs))
    critical = only(pairs).null.critical(0.01)
    low, high = search.bounds(0.01)
    assert search.score(low * (1 - 1e-12), -1.0) >= critical > search.score(low * (1 + 1e-12), -1.0)
    assert -search.score(high * (1 + 1e-12), 1.0) >= critical > -search.score(high * (1 - 1e-12), 1.0)


def brute_states(x: list[Fraction], y: list[Fraction]) -> list[tuple[Fraction, float, tuple[int, int, int]]]:
    """Between each two neighbouring distinct ratios: where it starts, where it ends, and the three sums."""
    ends: list[Fraction] = sorted({a / b for a in x for b in y})
    found = []
    for start, end in itertools.pairwise([Fraction(0), *ends, 2 * ends[-1] + 2]):
        gamma = (start + end) / 2
        wins = [[a > gamma * b for b in y] for a in x]
        rows, columns = [sum(row) for row in wins], [len(x) - sum(c) for c in zip(*wins, strict=True)]
        sums = (sum(rows), sum(k * k for k in rows), sum(k * k for k in columns))
        found.append((start, float(end) if end in ends else math.inf, sums))
    return found


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 5), (6, 4), (7, 7)])
def test_states_are_those_between_distinct_ratios(n: int, m: int) -> None:
    """Ratios of whole tenths tie in rational numbers and differ in doubles: between them lies no gamma."""
    rng = np.random.default_rng([n, m])
    for most in (3, 12, 400):
        of_x, of_y = rng.integers(1, most, n).tolist(), rng.integers(1, most, m).tolist()
        pairs = pairs_of([k / 10 for k in of_x], [k / 10 for k in of_y], (0.0, 0.0), (1.0, 1.0))
        ((_, score),) = scores_of(pairs)
        ends, states, real = states_between(*ordered(pairs), constants(score), ROUNDING)
        found = [
            (float(ends[0, k]), float(ends[0, k + 1]), float(states[0, k]))
            for k in np.flatnonzero(real[0]).tolist()
        ]
        expected = brute_states([Fraction(k) for k in of_x], [Fraction(k) for k in of_y])
        sums = Spread(*(np.array([[float(own[k]) for *_, own in expected]]) for k in range(3)))
        scores = score.of(sums)[0].tolist()
        assert len(found) == len(expected)
        for (start, end, value), (first, last, _), wanted in zip(found, expected, scores, strict=True):
            assert start == pytest.approx(float(first), rel=1e-15)
            assert end == pytest.approx(last, rel=1e-15)
            assert value == wanted
        assert ends.shape == (1, n * m + 2)


def lines(seed: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    n, most = int(rng.integers(1, 14)), int(rng.choice([3, 9, 1000]))
    return rng.integers(1, most, n).tolist(), rng.integers(1, most, n).tolist()


@pytest.mark.parametrize("seed", range(40))
def test_pairs_that_cross_are_all_listed(seed: int) -> None:
    """Those in between for certain, and none whose crossing is elsewhere."""
    a, b = lines(seed)
    low, high = 1.03, 1.9
    listed = crossing_pairs(np.array(a) * 1.0, np.array(b) * 1.0, low, high)
    found = set(zip(*(part.tolist() for part in listed), strict=True))
    for i, j in combinations_with_replacement(range(len(a)), 2):
        for sign in (-1, 1):
            bottom = b[i] + sign * b[j]
            place = Fraction(a[i] + sign * a[j], bottom) if bottom else Fraction(0)
            if (a[i], b[i]) != (a[j], b[j]):
                assert ((i, j, sign) in found) == (low < place < high)
            elif sign == 1:
                assert (i != j and (i, j, -1) in found) or ((i, j, sign) in found) == (low < place < high)


def test_lines_too_near_to_tell_are_listed_for_both_signs() -> None:
    i, j, sign = crossing_pairs(np.array([3.0, 3.0 + 4e-16, 2.0]), np.array([1.0, 1.0, 5.0]), 1.1, 1.2)
    assert list(zip(i.tolist(), j.tolist(), sign.tolist(), strict=True)) == [(0, 1, -1)]
