"""What floating point says of the p-value before exact arithmetic is asked, held against that arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.protocols import hpt_levels, hpt_speedup, hpt_steps
from speedproof.protocols.hpt_levels import Duel, HptRule, cost_duel, score_duel, within_benchmark
from speedproof.protocols.hpt_speedup import _Line

FloatArray = npt.NDArray[np.float64]
RULES: tuple[HptRule, HptRule] = ("paper", "exact")


def lines(rule: HptRule, literal: bool, draw: Callable[[int], FloatArray], seeds: int) -> list[_Line]:
    rng = np.random.default_rng(3)
    found = []
    for seed in range(seeds):
        make = (score_duel, cost_duel)[seed % 2]
        duels = []
        for _ in range(int(rng.integers(1, 9))):
            n, m = rng.integers(1, 7, 2).tolist()
            gain = rng.uniform(0.9, 1.5)
            duels.append(make(draw(n), gain * draw(m)) if seed % 2 else make(gain * draw(n), draw(m)))
        found.append(_Line(duels, rule, literal, [0.05]))
    return found


def cells(line: _Line) -> list[tuple[int, Fraction]]:
    """Every cell with the exact speedups inside of it, as the search itself would cut it."""
    return [(cell, inside) for cell in range(line._lower.size) for *_, inside in line._split(cell)]


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("digits", [0, None])
def test_bounds_hold_the_exact_pvalue(digits: int | None, rule: HptRule, literal: bool) -> None:
    """In every cell, whole numbers that tie everywhere and numbers that never do."""
    rng = np.random.default_rng(11)

    def draw(n: int) -> FloatArray:
        values = rng.lognormal(1.5, 0.25, n)
        return values if digits is None else np.maximum(np.round(values), 1.0)

    for line in lines(rule, literal, draw, 12):
        for cell, inside in cells(line):
            exact = hpt_speedup._pvalue_at(line.duels, inside, rule, literal)
            assert line._lower[cell] <= exact + 1e-12
            assert line._upper[cell] >= exact - 1e-12


@pytest.mark.parametrize("rule", RULES)
def test_bounds_meet_where_nothing_ties(rule: HptRule) -> None:
    """Between the points of change of values that never tie, floating point leaves nothing open."""
    rng = np.random.default_rng(12)
    for line in lines(rule, False, lambda n: rng.lognormal(1.5, 0.25, n), 12):
        np.testing.assert_array_equal(line._lower[1:-1:2], line._upper[1:-1:2])
        assert not (line._rows[1::2] == hpt_steps.OPEN).any()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("n", "m"), [(3, 4), (6, 6), (12, 13), (31, 30)])
@pytest.mark.parametrize("digits", [0, 1, None])
def test_states_of_one_benchmark_at_every_ratio(digits: int | None, n: int, m: int, rule: HptRule) -> None:
    """By definition, at each ratio of two runs and between each two of them."""
    rng = np.random.default_rng([n, m])
    for gain in (0.9, 1.0, 1.2, 1.6):
        a, b = gain * rng.lognormal(1.0, 0.2, n), rng.lognormal(1.0, 0.2, m)
        if digits is not None:
            a, b = np.round(a, digits) + 1.0, np.round(b, digits) + 1.0
        duel = score_duel(a, b)
        steps = hpt_steps.level1_steps(duel, rule)
        points = sorted(
            {Fraction(u, v) for u in duel.upper.values.tolist() for v in duel.lower.values.tolist()}
        )
        points = [point for point in points if point >= 1]
        chosen = points[:: max(len(points) // 40, 1)] + points[-1:]
        for at, following in zip(points, [*points[1:], None], strict=True):
            if at not in chosen:
                continue
            between = (at + following) / 2 if following else 2 * at
            found = state_of(steps, at)
            assert found == within_benchmark(duel, at, rule).state or (found, digits) == (
                hpt_steps.OPEN,
                None,
            )
            assert state_of(steps, between) == within_benchmark(duel, between, rule).state


def state_of(steps: hpt_steps.Steps, speedup: Fraction) -> int:
    """The state by the step function; where different ratios are one to doubles, it says so."""
    state = steps.start
    for k, point in enumerate(steps.points.tolist()):
        exact = steps.exact(k)
        if len(exact) == 1 and speedup in exact:
            return int(steps.at[k])
        if speedup in exact or abs(float(speedup) - point) <= 1e-14 * point:
            return hpt_steps.OPEN
        if point < float(speedup):
            state = int(steps.after[k])
    return state


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("n", "m"), [(3, 3), (5, 7), (11, 12), (30, 12), (32, 30)])
def test_limits_of_the_pairs_won(n: int, m: int, rule: HptRule) -> None:
    """Without ties the test rejects from exactly the counts on that it is said to reject from."""
    duel = score_duel(np.arange(n) + 1.5, np.arange(m) + 1.0)
    surely, possibly = (float(v[0]) for v in hpt_steps._limits(duel, rule, np.array([0])))
    assert possibly <= surely <= possibly + 3
    for won in range(n * m + 1):
        # A's first values below all of B's, one in between, the others above: so many pairs are won.
        above, inside = divmod(won, m)
        b = np.arange(1.0, m + 1.0)
        low, between = 0.1 + 0.01 * np.arange(n - above - (above < n)), [inside + 0.5][: above < n]
        a = np.concatenate([low, between, 99.0 + np.arange(above)])
        at = score_duel(a, b, level=duel.level)
        assert hpt_levels.pairs_won(at, Fraction(1))[0] == 2 * won
        state = hpt_levels.tested_state(at, Fraction(1), rule)[0]
        assert (state == 1) == (2 * won >= surely) == (2 * won >= possibly)
        assert (state == -1) == (2 * (n * m - won) >= surely)


def test_duels_of_all_small_samples() -> None:
    """Pairs won and groups of equal values, of every two samples of three of the numbers 1 to 3."""
    for a, b in product(product((1.0, 2.0, 3.0), repeat=3), repeat=2):
        duel: Duel = score_duel(a, b)
        for speedup in (Fraction(1), Fraction(3, 2), Fraction(2)):
            x, y = [Fraction(v) for v in a], [speedup * Fraction(v) for v in b]
            won, _, _ = hpt_levels.pairs_won(duel, speedup)
            assert won == sum(2 * (u > v) + (u == v) for u in x for v in y)
            pooled = sorted(x + y)
            sizes = tuple(pooled.count(v) for v in sorted(set(pooled)))
            assert hpt_levels.merged(duel, speedup) == (won, sizes)
