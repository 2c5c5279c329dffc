"""The states between neighbouring ratios, what they need of each pair, and where drift ends: by counting."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.stats.dependence import drifting
from speedproof.stats.permutation import Null, Spread, null_distribution, one_order, studentised
from speedproof.stats.rank_scores import (
    BEYOND_DRIFT,
    ROUNDING,
    Pairs,
    Score,
    beyond_drift,
    pairs_of,
    scores_of,
)
from speedproof.stats.superiority import States, both_states

FloatArray = npt.NDArray[np.float64]


def test_pairs_in_rows() -> None:
    """Leading axes broadcast, of the samples, the steps and the factors; rows are in their order."""
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 1, 1, 4)), rng.random((3, 1, 5))
    steps, factors = rng.random((2, 2)), rng.random((2, 1, 1, 2))
    found = pairs_of(x, y, steps, factors)
    assert (found.shape, found.sizes) == ((2, 3, 2), (4, 5))
    for row, (i, j, k) in enumerate(np.ndindex(2, 3, 2)):
        assert found.x[row].tolist() == x[i, 0, 0].tolist()
        assert found.y[row].tolist() == y[j, 0].tolist()
        assert found.step[row].tolist() == steps[k].tolist()
        assert found.inflation[row].tolist() == factors[i, 0, 0].tolist()
    some = found.rows(slice(2, 5))
    assert [part.tolist() for part in (some.x, some.y, some.step, some.inflation)] == [
        part[2:5].tolist() for part in (found.x, found.y, found.step, found.inflation)
    ]
    for own in range(4):  # whichever of them has rows
        parts = [np.ones((3, k) if at == own else k) for at, k in enumerate((4, 5, 2, 2))]
        many = pairs_of(*parts)
        assert (many.shape, many.x.shape, many.y.shape) == ((3,), (3, 4), (3, 5))
        assert many.step.shape == many.inflation.shape == (3, 2)
    single = pairs_of([1, 2], [3, 4, 5], (0, 0), (1, 1))
    assert (single.shape, single.x.shape, single.y.shape) == ((), (1, 2), (1, 3))


@pytest.mark.parametrize(("n", "m"), [(1, 5), (2, 2), (5, 4), (9, 30), (30, 12)])
def test_rows_that_share_a_distribution(n: int, m: int) -> None:
    """Independent ones; those of which either side is dependent, whose least p-value is of the effective sizes."""
    rng = np.random.default_rng([n, m])
    factors = np.array([[1.0, 1.0], [1.5, 1.0], [1.0, 2.0], [1.0, 1.0], [3.0, 6.0], [1.1, 1.2]])
    pairs = pairs_of(rng.random((6, n)), rng.random((6, m)), (0.0, 0.0), factors)
    found = scores_of(pairs)
    if min(n, m) < 2:
        assert found == []
        return
    (independent, plain), (dependent, inflated) = found
    assert independent.tolist() == [True, False, False, True, False, False]
    assert dependent.tolist() == [not own for own in independent]
    assert (plain.independent, inflated.independent) == (True, False)
    assert plain.null is null_distribution(n, m, True)
    assert inflated.null is null_distribution(n, m, False)
    assert plain.least.tolist() == [one_order(n, m)] * 2
    assert plain.effective.tolist() == [min(n, m)] * 2
    for k, (f, g) in enumerate(factors[dependent].tolist()):
        orders = math.lgamma(n / f + m / g + 1) - math.lgamma(n / f + 1) - math.lgamma(m / g + 1)
        least = 0.5 if drifting(n, m, max(f, g)) else math.exp(-orders)
        assert inflated.least[k] == pytest.approx(least, rel=1e-12)
        assert inflated.effective[k] == min(n / f, m / g)
        assert inflated.inflation[k].tolist() == [f, g]
        one = inflated.row(k)
        assert (one.null, one.independent) == (inflated.null, False)
        for name in ("inflation", "effective", "least"):
            assert getattr(one, name).tolist() == [getattr(inflated, name)[k].tolist()]
    assert [rows.tolist() for rows, _ in scores_of(pairs.rows(independent))] == [[True, True]]
    assert [rows.tolist() for rows, _ in scores_of(pairs.rows(dependent))] == [[True] * 4]


def test_scores_of_many_states_are_those_of_each() -> None:
    """Rows have factors of their own; what a risk rejects, and a p-value is no less than that of one order."""
    rng = np.random.default_rng(3)
    factors = np.array([[1.5, 1.0], [1.0, 2.5], [4.0, 9.0]])
    ((_, score),) = scores_of(pairs_of(rng.random((3, 9)), rng.random((3, 12)), (0.0, 0.0), factors))
    won = rng.integers(30, 80, (3, 5)).astype(float)
    square_x, square_y = won**2 / 9 * 1.3, (108 - won) ** 2 / 12 * 1.2
    found = score.of(Spread(won, square_x, square_y))
    for i, j in np.ndindex(3, 5):
        part = Spread(*(np.array(sums[i, j]) for sums in (won, square_x, square_y)))
        alone = studentised(part, 9, 12, (factors[i, 0], factors[i, 1]))
        assert found[i, j] == pytest.approx(float(score.null.score(alone, score.effective[i])), rel=1e-12)
    least = np.array([0.2, 0.05, 1e-9])
    held = Score(Null(9, 12), False, factors, score.effective, least)
    high = held.null.critical(0.05)
    assert held.pvalue(np.full(3, 9.0)).tolist() == [
        0.2,
        0.05,
        pytest.approx(float(held.null.pvalue(np.array(9.0)))),
    ]
    for scores, expected in ((high, [False, True, True]), (high - 1e-9, [False] * 3)):
        assert held.rejects(np.full(3, scores), 0.05).tolist() == expected
        assert held.rejects(np.full((3, 2), scores), 0.05).tolist() == [[own] * 2 for own in expected]


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


def test_ends_of_what_is_rejected() -> None:
    """By the definition, over all ways to reject some of five states of which some cannot be."""
    edges = np.array([0.0, 0.5, 0.8, 1.0, 1.25, math.inf])
    scores = np.array([9.0, 4.0, 5.0, -1.0, -7.0])
    for real in itertools.product((True, False), repeat=4):
        told = np.array([*real, True])
        states = States(edges[None], scores[None], told[None])
        for rejected in itertools.product((True, False), repeat=5):
            kept = [k for k in range(5) if told[k] and not rejected[k]]
            if kept:
                assert states.low(np.array([rejected])).tolist() == [edges[kept[0]]]
                assert states.high(np.array([rejected])).tolist() == [edges[kept[-1] + 1]]
        for gamma in (0.2, 0.5, 0.5 * (1 + ROUNDING), 0.5 * (1 - 2 * ROUNDING), 0.9, 1.0, 1.25, 3.0):
            near = ROUNDING * gamma * (gamma != 1.0) * 1.01
            below = [scores[k] for k in range(5) if told[k] and edges[k] <= gamma + near]
            above = [scores[k] for k in range(5) if told[k] and edges[k + 1] >= gamma - near]
            assert states.least_upto(gamma).tolist() == [min(below, default=math.inf)]
            assert states.greatest_from(gamma).tolist() == [max(above, default=-math.inf)]


def worst(pairs: Pairs, row: int, sign: float) -> list[float]:
    """The sorted ratios of the least x and greatest y (-1), or the reverse; that of two zeros is 1."""
    half_x, half_y = sign * pairs.step[row] / 2
    x = [max(v + half_x, 0.0) for v in pairs.x[row].tolist()]
    y = [max(v - half_y, 0.0) for v in pairs.y[row].tolist()]
    return sorted(a / b if b else math.inf if a else 1.0 for a in x for b in y)


def test_ratios_of_the_worst_values() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.integers(1, 9, (6, 4)) / 2, rng.integers(1, 9, (6, 3)) / 2
    none, plain = np.zeros((6, 2)), (1.0, 1.0)
    zeros = x.copy(), y.copy()
    zeros[0][2, 0], zeros[1][2, 1] = 0.0, 0.0
    steps = np.array([[0.0, 0.0], [0.25, 0.0], [0.0, 0.5], [0.5, 1.0], [9.0, 0.0], [0.0, 9.0]])
    for of_x, of_y, of_steps, same in (
        (x, y, none, True), (x, y, steps, False), (*zeros, none, True), (zeros[0], y, none, True),
        (x, zeros[1], none, True), (*zeros, steps, False),
    ):  # fmt: skip
        pairs = pairs_of(of_x, of_y, of_steps, plain)
        ((_, score),) = scores_of(pairs)
        low, high = both_states(pairs, score)
        assert (low is high) == same
        for row in range(6):
            assert low.edges[row, 1:-1].tolist() == worst(pairs, row, -1.0)
            assert high.edges[row, 1:-1].tolist() == worst(pairs, row, 1.0)
            assert low.edges[row, [0, -1]].tolist() == high.edges[row, [0, -1]].tolist() == [0.0, math.inf]


@pytest.mark.parametrize("stepped", [False, True])
def test_between_which_ratios_drift_explains(stepped: bool) -> None:
    """The least x over the greatest y, divided by what order explains of the larger range; and the reverse."""
    rng = np.random.default_rng(6)
    x, y = rng.lognormal(0.5, 0.2, (6, 9)), rng.lognormal(0.0, 0.1, (6, 12))
    steps = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.2], [0.1, 0.2], [9.0, 0.0], [0.0, 0.0]])
    factors = np.array([[9.0, 1.0], [1.0, 9.0], [5.0, 5.0], [9.0, 9.0], [9.0, 9.0], [1.2, 1.0]])
    low, high = beyond_drift(pairs_of(x, y, steps, factors), stepped)
    for row in range(6):
        half = steps[row] / 2 * stepped
        (x_min, x_max), (y_min, y_max) = (
            (max(side.min() - own, 0.0), side.max() + own)
            for side, own in ((x[row], half[0]), (y[row], half[1]))
        )
        known = drifting(9, 12, factors[row].max()) and x_min > 0.0
        r = (factors[row].max() - 1) / (factors[row].max() + 1)  # as the factor is (1 + r) / (1 - r)
        drift = max(x_max / x_min, y_max / y_min) ** r if known else 1.0
        assert low[row] == pytest.approx(x_min / y_max / drift if known else 0.0)
        assert high[row] == pytest.approx(x_max / y_min * drift if known else math.inf)
    both = pairs_of(x, y, steps, factors)
    np.testing.assert_array_equal(beyond_drift(both), beyond_drift(both, True))
    assert (BEYOND_DRIFT, ROUNDING) == (1 / 20, 16 * 2.0**-52)
