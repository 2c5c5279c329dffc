"""The half-line of speedups part by part: its breakpoints, its pieces, its states and the bounds in every cell."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise

import numpy as np
import pytest
from scipy import stats
from tests.protocols.test_hpt_bounds import FloatArray, lines

from speedproof.protocols import hpt_speedup
from speedproof.protocols.hpt_levels import HptRule, score_duel, within_benchmark
from speedproof.protocols.hpt_speedup import RSpeedup, _Line
from speedproof.protocols.hpt_steps import FREE, OPEN

Draw = Callable[[int], FloatArray]
RULES: tuple[HptRule, HptRule] = ("paper", "exact")


def whole(rng: np.random.Generator) -> Draw:
    return lambda n: np.maximum(np.round(rng.lognormal(1.5, 0.25, n)), 1.0)


def real(rng: np.random.Generator) -> Draw:
    return lambda n: 0.1 * rng.lognormal(0.0, 0.25, n)


def near(rng: np.random.Generator) -> Draw:
    """Medians that differ in their last digits, so that cancellation leaves few of their differences."""
    return lambda n: np.full(n, rng.choice([0.5, 1.0, 1.25])) + rng.integers(0, 30) * 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", [whole, real, near])
def test_breakpoints_are_all_and_in_order(kind: Callable[[np.random.Generator], Draw], rule: HptRule) -> None:
    """From 1 to the largest ratio of medians, exactly: 1, differences that cross, changes of a test."""
    for line in lines(rule, False, kind(np.random.default_rng(3)), 30):
        a, b = [duel.a for duel in line.duels], [duel.b for duel in line.duels]
        wanted = {Fraction(1)}
        for (x, u), (y, v) in combinations_with_replacement(list(zip(a, b, strict=True)), 2):
            wanted |= {(x + sign * y) / (u + sign * v) for sign in (-1, 1) if u + sign * v}
        for steps in line.steps:
            wanted |= {point for k in range(steps.points.size) for point in steps.exact(k)}
        end = max(x / u for x, u in zip(a, b, strict=True))
        found = [point for k in range(line._starts.size) for point in line._exact_points(k)]
        assert found == sorted(set(found))
        assert [p for p in found if p <= end] == sorted(p for p in wanted if 1 <= p <= end)


@pytest.mark.parametrize("kind", [whole, real, near])
def test_pieces_follow_each_other(kind: Callable[[np.random.Generator], Draw]) -> None:
    """From 1 on without a gap; a point by itself, between two points some speedup of there."""
    for line in lines("exact", False, kind(np.random.default_rng(4)), 20):
        pieces = [(cell, *piece) for cell in range(line._lower.size) for piece in line._split(cell)]
        assert set(pieces[0][1:]) == {Fraction(1)}
        for (_, _, before, _), (_, after, *_) in pairwise(pieces):
            assert before == after
        for cell, left, right, inside in pieces:
            if cell == line._lower.size - 1:
                assert left < inside == right
            else:
                assert left < inside < right or left == inside == right
        assert sum(left == right for _, left, right, _ in pieces) == sum(
            len(line._exact_points(k)) for k in range(line._starts.size)
        )


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", [whole, real])
def test_states_of_every_cell(kind: Callable[[np.random.Generator], Draw], rule: HptRule) -> None:
    """As by definition; open only where points that differ are judged together."""
    seen = set()
    for line in lines(rule, False, kind(np.random.default_rng(5)), 12):
        for cell in range(line._lower.size):
            pieces = line._split(cell)
            for duel, state in zip(line.duels, line._rows[cell].tolist(), strict=True):
                told = {within_benchmark(duel, inside, rule).state for *_, inside in pieces}
                expected = FREE if duel.level is None else told.pop() if len(told) == 1 else OPEN
                assert state == expected or (state == OPEN and len(pieces) > 1)
                seen.add(state)
    assert seen >= {-1, 0, 1, FREE}


def naive_bounds(
    line: _Line, speedup: float, states: list[int], tied: int, counted: int
) -> tuple[float, float]:
    """Of a cell in loops: a group of t sizes moves a rank sum by t^2 / 8 three times, and lessens the variance."""
    n, scores = len(states), [speedup * b for b in line.b.tolist()]
    d = [a - score for a, score in zip(line.a.tolist(), scores, strict=True)]
    apart = 1e-9 * max(*scores, *line.a.tolist())
    if OPEN in states or any(abs(x) <= apart for x, state in zip(d, states, strict=True) if state):
        return 0.0, 1.0
    for i, state in enumerate(states):
        if state == 0 or (not line.literal and state != FREE and state * d[i] < 0):
            d[i] = 0.0
    order = sorted(range(n), key=lambda i: abs(d[i]))
    sizes = [abs(d[i]) for i in order if d[i]]
    zeros = n - len(sizes)
    positive = sum(rank for rank, i in enumerate(order, start=1) if d[i] > 0)
    squares, group = 4.0 * tied, 1
    for one, other in pairwise([*sizes, math.inf]):
        if other - one <= apart:
            group += 1
        else:
            squares, group = squares + (group**2 if group > 1 else 0), 1
    found = []
    for side in (1, -1):
        total = positive + side * 3 / 8 * squares
        ranks = range(zeros + 1, n + 1)
        if line.rule == "paper":
            total = min(max(total + zeros * (zeros + 1) / 4, 0.0), n * (n + 1) / 2)
            sums = [sum(some) for k in range(n + 1) for some in combinations(range(1, n + 1), k)]
            found.append(np.mean([s >= math.floor(total) for s in sums]))
        elif len(ranks) < counted:
            sums = [sum(some) for k in range(len(ranks) + 1) for some in combinations(ranks, k)]
            found.append(np.mean([s >= total for s in sums]))
        else:
            variance = sum(rank * rank for rank in ranks)
            excess = total - sum(ranks) / 2 - 0.5
            least = max(variance - squares**1.5 / 12, 1.0)
            # The smaller deviation makes the p-value below one half smaller, that above it larger.
            variance = least if (excess > 0) == (side > 0) else variance
            found.append(stats.norm.sf(excess / math.sqrt(variance / 4)))
    return float(found[0]), float(found[1])


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize(("rule", "counted"), [("paper", 1000), ("exact", 1000), ("exact", 4)])
def test_bounds_in_loops(rule: HptRule, counted: int, literal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the states are; whole scores whose differences tie in size, and real ones."""
    monkeypatch.setattr(hpt_speedup, "COUNTS_BELOW", counted)
    rng = np.random.default_rng(6)
    seen = set()
    for line in [found for kind in (whole, real) for found in lines(rule, literal, kind(rng), 10)]:
        n = len(line.duels)
        speedups = rng.choice([1.0, 1.1, 1.5], 40) + rng.choice([0.0, 0.01], 40)
        states = rng.choice([-1, 0, 1, FREE, FREE, OPEN], (40, n), p=[0.2, 0.19, 0.2, 0.2, 0.2, 0.01]).astype(
            np.int8
        )
        for tied in (0, 2):
            lower, upper = line._bound_rows(speedups, states, tied)
            for i, (speedup, row) in enumerate(zip(speedups.tolist(), states.tolist(), strict=True)):
                expected = naive_bounds(line, speedup, row, tied, counted)
                assert (lower[i], upper[i]) == pytest.approx(expected, rel=1e-9, abs=1e-15)
                seen.add(expected == (0.0, 1.0))
    assert seen == {False, True}


@pytest.mark.parametrize("rule", RULES)
def test_an_open_state_is_bounded_by_what_it_may_be(rule: HptRule) -> None:
    rng = np.random.default_rng(7)
    for line in lines(rule, False, whole(rng), 12):
        rows, middles = line._rows.copy(), line._middles
        cells = np.flatnonzero((rows == OPEN).sum(axis=1) == 0)[::3]
        at = rng.integers(0, len(line.duels), cells.size)
        line._rows[cells, at] = OPEN
        line._bound_unsure(cells)
        for cell, i in zip(cells.tolist(), at.tolist(), strict=True):
            told = []
            for state in (-1, 0, 1):
                rows[cell, i] = state
                told.append(line._bound_rows(middles[[cell]], rows[[cell]]))
            assert line._lower[cell] == min(float(low[0]) for low, _ in told)
            assert line._upper[cell] == max(float(high[0]) for _, high in told)


def test_what_is_certified_in_words() -> None:
    for hundredth, told in ((1.0, "less than 1.01x"), (1.01, "at least 1.01x"), (2.5, "at least 2.50x")):
        assert (
            str(RSpeedup(0.95, 1.5, hundredth=hundredth)) == f"the winner is {told} faster, 95 % confidence"
        )
    for found in (RSpeedup(0.95, None, hundredth=1.5), RSpeedup(0.95, 1.5)):
        assert str(found) == "no speedup of the winner holds with 95 % confidence"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("certified", "hundredth"), [("5/4", 1.24), ("63/50", 1.25), ("1251/1000", 1.25)])
def test_two_decimals_below_a_breakpoint_that_fails(rule: HptRule, certified: str, hundredth: float) -> None:
    """One run a side: the speedup is the ratio itself, at which the difference vanishes and nothing is proven."""
    ratio = Fraction(certified)
    duels = [score_duel([float(ratio * k)], [float(k)]) for k in (1000, 2000, 3000, 4000, 5000)]
    (found,) = hpt_speedup.r_speedup(duels, [0.9], rule, literal=False)
    assert (found.certified_exact, found.certified_attained, found.hundredth) == (certified, False, hundredth)
    assert (found.supremum_exact, found.supremum_attained) == (certified, False)


def test_a_risk_that_is_just_kept() -> None:
    """Four benchmarks won have the p-value 1/16: enough at a confidence of 15/16, and at none above."""
    duels = [score_duel([1.5 * k], [float(k)]) for k in range(1, 5)]
    kept, lost = hpt_speedup.r_speedup(duels, [0.9375, 0.94], "exact", literal=False)
    assert (kept.certified_exact, lost.certified) == ("3/2", None)
    assert hpt_speedup.confidence_at(duels, Fraction(1), "exact", literal=False) == 0.9375
