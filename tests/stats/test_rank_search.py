"""The search of large pairs finds what sorting all ratios finds; states against rational numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from speedproof.stats.permutation import Spread
from speedproof.stats.rank_scores import Pairs, Score, Search, pairs_of, scores_of
from speedproof.stats.superiority import both_states


def only(pairs: Pairs) -> Score:
    ((rows, score),) = scores_of(pairs)
    assert rows.all()
    return score


def test_ratios_that_are_equal_but_for_rounding() -> None:
    """Multiples of a tenth: 0.3 / 0.1, 0.6 / 0.2 and 0.9 / 0.3 are three doubles, and one ratio."""
    rng = np.random.default_rng(4)
    x, y = 0.1 * rng.integers(1, 14, (40, 12)), 0.1 * rng.integers(1, 12, (40, 11))
    pairs = pairs_of(x, y, (0.0, 0.0), (1.0, 1.0))
    score = only(pairs)
    below, above = both_states(pairs, score)
    for alpha in (0.4, 0.2, 0.1, 0.05, 0.01):
        low, high = Search(pairs, score).bounds(alpha)
        assert low.tolist() == below.low(score.rejects(below.scores, alpha)).tolist()
        assert high.tolist() == above.high(score.rejects(-above.scores, alpha)).tolist()


def test_ratios_next_to_the_largest_double() -> None:
    rng = np.random.default_rng(7)
    x, y = 1.3e308 * rng.uniform(1.0, 1.1, (4, 12)), rng.uniform(0.95, 1.05, (4, 13))
    for unit_x, unit_y in ((1.0, 1.0), (1e-307, 1e308)):
        pairs = pairs_of(x * unit_x, y * unit_y, (0.0, 0.0), (1.0, 1.0))
        score = only(pairs)
        below, above = both_states(pairs, score)
        low, high = Search(pairs, score).bounds(0.05)
        assert low.tolist() == below.low(score.rejects(below.scores, 0.05)).tolist()
        assert high.tolist() == above.high(score.rejects(-above.scores, 0.05)).tolist()


@pytest.mark.parametrize(
    ("n", "m", "shift"), [(1000, 900, 0.05), (900, 1000, -0.05), (9000, 90, 0.0), (90, 9000, 0.0)]
)
def test_a_bound_is_one_of_the_ratios(n: int, m: int, shift: float) -> None:
    """However wide the interval was at the beginning, and whatever the sizes: bisecting would only come near."""
    rng = np.random.default_rng([n, m])
    x, y = rng.lognormal(shift, 0.1, (1, n)), rng.lognormal(0.0, 0.1, (1, m))
    pairs = pairs_of(x, y, (0.0, 0.0), (1.0, 1.0))
    search = Search(pairs, only(pairs))
    for alpha in (0.05, 0.001):
        for bound in search.bounds(alpha):
            assert (x[0][:, None] / y[0] == bound).any()


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
        low, high = both_states(pairs, score)
        assert low is high
        found = [
            (float(low.edges[0, k]), float(low.edges[0, k + 1]), float(low.scores[0, k]))
            for k in np.flatnonzero(low.real[0]).tolist()
        ]
        expected = brute_states([Fraction(k) for k in of_x], [Fraction(k) for k in of_y])
        sums = Spread(*(np.array([[float(own[k]) for *_, own in expected]]) for k in range(3)))
        scores = score.of(sums)[0].tolist()
        assert len(found) == len(expected)
        for (start, end, value), (first, last, _), wanted in zip(found, expected, scores, strict=True):
            assert start == pytest.approx(float(first), rel=1e-15)
            assert end == pytest.approx(last, rel=1e-15)
            assert value == wanted
        assert low.edges.shape == (1, n * m + 2)


def test_more_ratios_in_one_place_than_are_listed() -> None:
    """160,000 ratios within a tenth of a billionth of 1: so are the bounds."""
    rng = np.random.default_rng(8)
    x, y = (1.0 + 1e-13 * rng.permutation(400)[None] for _ in range(2))
    pairs = pairs_of(x, y, (0.0, 0.0), (1.0, 1.0))
    for bound in Search(pairs, only(pairs)).bounds(0.05):
        assert bound == pytest.approx(np.ones(1), abs=1e-9)
