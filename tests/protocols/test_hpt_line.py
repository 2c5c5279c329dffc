"""The r-speedup against a brute-force twin in rational numbers, however its half-line is cut up and narrowed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from speedproof.protocols import hpt_speedup
from speedproof.protocols.hpt_levels import Duel, HptRule, cost_duel, decimal, score_duel, within_benchmark
from speedproof.protocols.hpt_speedup import _Line, r_speedup
from speedproof.protocols.hpt_steps import FREE, OPEN

RULES: tuple[HptRule, HptRule] = ("paper", "exact")
Piece = tuple[Fraction, Fraction, float]
Kind = Callable[[np.random.Generator], list[Duel]]


def every_piece(duels: list[Duel], rule: HptRule, literal: bool) -> list[Piece]:
    """From 1 on every point at which anything can change, and what lies between: both ends and the p-value."""
    points = {Fraction(1)}
    for x in duels:
        points |= {Fraction(u, v) for u in x.upper.values.tolist() for v in x.lower.values.tolist()}
        for y in duels:
            points |= {(x.a + s * y.a) / (x.b + s * y.b) for s in (-1, 1) if x.b + s * y.b}
    line = sorted(p for p in points if p >= 1)
    cells = [(line[0], line[0], line[0])]
    for left, right in pairwise([*line, 2 * line[-1]]):
        cells += [(left, right, (left + right) / 2), (right, right, right)]
    return [
        (left, right, hpt_speedup._pvalue_at(duels, inside, rule, literal)) for left, right, inside in cells
    ]


def told(pieces: list[Piece], confidence: float) -> tuple[str, bool, str, bool]:
    """The first piece that fails and the last that passes, by definition."""
    passed = [pvalue <= float(1 - decimal(confidence)) for *_, pvalue in pieces]
    if not passed[0]:
        return "", False, "", False
    first, last = pieces[passed.index(False)], pieces[len(passed) - 1 - passed[::-1].index(True)]
    return str(first[0]), first[0] < first[1], str(last[1]), last[0] == last[1]


def tied(rng: np.random.Generator) -> list[Duel]:
    """Small whole numbers: ties within runs, across versions and between benchmarks."""
    return [
        score_duel(rng.integers(4, 11, rng.integers(1, 5)), rng.integers(3, 7, rng.integers(1, 5)))
        for _ in range(rng.integers(2, 7))
    ]


def single(rng: np.random.Generator) -> list[Duel]:
    """One run a side, some benchmarks alike, a few lost."""
    pairs = rng.integers((9, 8), (16, 11), (int(rng.integers(3, 9)), 2))
    return [score_duel([a], [b]) for a, b in [*pairs.tolist(), *pairs[:2].tolist()]]


def beside_one(rng: np.random.Generator) -> list[Duel]:
    """The points are as near to 1, and to each other, as digits go."""
    runs = rng.choice([1, 3, 4], (4, 2)).tolist()
    return [
        score_duel(*(1.0 + rng.integers(low, 9, n) * 1e-12 for n, low in zip(own, (2, -2), strict=True)))
        for own in runs
    ]


def wide(rng: np.random.Generator) -> list[Duel]:
    """Scores of all sizes, speedups of up to 1e40."""
    size = 10.0 ** rng.integers(-60, 60, 4)
    gain = 10.0 ** rng.integers(0, 40, 4)
    return [
        cost_duel(rng.lognormal(0, 0.1, 3) * s, rng.lognormal(0, 0.1, 2) * s * g)
        for s, g in zip(size.tolist(), gain.tolist(), strict=True)
    ]


def crowded(rng: np.random.Generator) -> list[Duel]:
    """Differences that all tie in size around one speedup, won and lost."""
    b = rng.permutation(np.arange(20, 29))
    c = np.where(rng.random(b.size) < 0.7, 9, -9) + 0.1 * rng.integers(-4, 5, b.size)
    return [score_duel([x], [y]) for x, y in zip((1.5 * b + c).tolist(), b.tolist(), strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("kind", "seeds"), [(tied, 5), (single, 3), (beside_one, 3), (wide, 1), (crowded, 1)]
)
def test_r_speedups_however_the_line_is_cut(
    kind: Kind, seeds: int, rule: HptRule, literal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breakpoints judged one by one or many together, all of them or those that a search leaves; risks that are
    p-values themselves, and between two of them."""
    for seed in range(seeds):
        duels = kind(np.random.default_rng([seed, 17]))
        pieces = every_piece(duels, rule, literal)
        different = sorted({pvalue for *_, pvalue in pieces if pvalue < 1})
        between = [(p + q) / 2 for p, q in pairwise([0.0, *different, 1.0])]
        confidences = [1 - p for p in [*different, *between]]
        confidences = sorted({r for r in confidences if 0 < r < 1})[:: 1 + len(confidences) // 9]
        expected = [told(pieces, r) for r in confidences]
        for listed, together in ((1 << 30, 1e-11), (0, 1e-11), (0, 1e-3), (1 << 30, 0.02)):
            monkeypatch.setattr(hpt_speedup, "LISTED", listed)
            monkeypatch.setattr(hpt_speedup, "_TOGETHER", together)
            monkeypatch.setattr(hpt_speedup, "_NEAR", 1e-9 if together < 1e-9 else 11 * together)
            found = r_speedup(duels, confidences, rule, literal=literal)
            assert [
                (s.certified_exact, s.certified_attained, s.supremum_exact, s.supremum_attained)
                for s in found
            ] == expected


def test_what_a_search_leaves_of_a_long_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part in which all breakpoints are listed; before it every risk is kept, and after it none."""
    monkeypatch.setattr(hpt_speedup, "_SAMPLED", 20)
    left = whole = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        b = rng.lognormal(1, 0.3, 14)
        duels = [score_duel([x], [y]) for x, y in zip(b * rng.normal(1.3, 0.2, 14), b, strict=True)]
        duels += duels[: seed % 3]
        monkeypatch.setattr(hpt_speedup, "LISTED", 1 << 30)
        line = _Line(duels, "exact", False, [0.05, 0.2])
        everything = [point for k in range(line._starts.size) for point in line._exact_points(k)]
        monkeypatch.setattr(hpt_speedup, "LISTED", 0)
        found = _Line(duels, "exact", False, [0.05, 0.2])
        points = [point for k in range(found._starts.size) for point in found._exact_points(k)]
        low, high = points[0], points[-1]
        assert low == found._low
        assert points[1:] == [point for point in everything if low < point <= found._high]
        for piece, passes in (
            [((x + y) / 2, True) for x, y in pairwise(everything) if y <= low]
            + [(x, True) for x in everything if x <= low]
            + [((x + y) / 2, False) for x, y in pairwise(everything) if x > high]
            + [(x, False) for x in everything if x > high]
        ):
            pvalue = hpt_speedup._pvalue_at(duels, piece, "exact", False)
            assert pvalue <= 0.05 if passes else pvalue > 0.2
        left, whole = left + len(points), whole + len(everything)
    assert left < whole / 2


@pytest.mark.parametrize("seed", range(8))
def test_breakpoints_where_digits_cancel(seed: int) -> None:
    """Medians alike to the last digits: their differences meet wherever these digits say, exactly and in order."""
    rng = np.random.default_rng(seed)
    digits = rng.integers((-40, -20), (40, 20), (7, 2)) * 10.0 ** rng.integers(-14, -9)
    duels = [score_duel([3.0 + of_a], [1.0 + of_b]) for of_a, of_b in digits.tolist()]
    line = _Line(duels, "exact", False, [0.05])
    wanted = {Fraction(1)}
    for x in duels:
        for y in duels:
            wanted |= {(x.a + s * y.a) / (x.b + s * y.b) for s in (-1, 1) if x.b + s * y.b}
    found = [point for k in range(line._starts.size) for point in line._exact_points(k)]
    assert found == sorted(set(found))
    end = max(duel.a / duel.b for duel in duels)
    assert [p for p in found if p <= end] == sorted(p for p in wanted if 1 <= p <= end)


def test_wide_clusters_are_left_to_exact_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times as wide as what is judged together, as bounds at one of their ends say nothing of the other."""
    monkeypatch.setattr(hpt_speedup, "_TOGETHER", 0.004)
    monkeypatch.setattr(hpt_speedup, "_NEAR", 0.044)
    seen = set()
    for seed in range(6):
        line = _Line(crowded(np.random.default_rng(seed)), "exact", False, [0.05])
        ends = zip(line._values[line._starts].tolist(), line._values[line._ends - 1].tolist(), strict=True)
        for cluster, (low, high) in enumerate(ends):
            wide = high - low > 0.04 * high
            assert (line._rows[2 * cluster] == OPEN).all() == wide
            if wide:
                assert (line._lower[2 * cluster], line._upper[2 * cluster]) == (0.0, 1.0)
            seen.add(wide)
        assert not (line._rows[1::2] == OPEN).any()
    assert seen == {False, True}


def test_a_state_is_open_among_points_that_differ() -> None:
    """Beside 1, too: whatever the test says at any of them and between them is one state, or it is open."""
    several = 0
    for seed in range(8):
        line = _Line(beside_one(np.random.default_rng(seed)), "exact", False, [0.05])
        for cell, states in enumerate(line._rows.tolist()):
            pieces = line._split(cell)
            for duel, state in zip(line.duels, states, strict=True):
                told = {within_benchmark(duel, inside, "exact").state for *_, inside in pieces}
                if duel.level is None:
                    assert state == FREE or len(pieces) > 1
                else:
                    assert state == OPEN or {state} == told
                    several += cell == 0 and len(told) > 1
    assert several
