"""The r-speedup of Hierarchical Performance Testing, exactly.

The confidence that A is more than g times as fast as B is a step function of g. It can change only where

- two runs of a benchmark tie, at ``a_k / b_l``, and the rank-sum test changes its answer there,
- the medians of a benchmark tie, at ``a_i / b_i``,
- the differences of two benchmarks tie in size, at ``(a_i - a_j) / (b_i - b_j)`` or ``(a_i + a_j) / (b_i + b_j)``.

These are a few hundred values of g for a small suite and ten thousands for a large one. All of them, and the
gaps between them, are first judged in floating point with rigorous bounds of the p-value; whatever the bounds
leave open is decided in rational numbers by :mod:`speedproof.protocols.hpt_levels`. The answer is therefore
that of exact arithmetic, in a small part of its time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import erfc, floor, lcm, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray, IntArray, StateArray
from speedproof.protocols.hpt_levels import Duel, HptRule, across_benchmarks, decimal, within_benchmark
from speedproof.protocols.hpt_steps import FREE, OPEN, level1_steps
from speedproof.stats.signed_rank import COUNTS_BELOW, squares_of_runs, table_pvalue, tails_above

# Breakpoints nearer than this, relatively, are judged together; their floating-point error is far below it.
_TOGETHER = 1e-11
_ERROR = 1e-12
# Differences of medians nearer than this, relative to the scores, may tie or vanish.
_NEAR = 1e-9
_ROWS = 4096
LISTED = 1 << 21  # states of benchmarks that are all looked at, however far from the speedup sought
_SAMPLED = 130


class RSpeedup(Struct, frozen=True):
    """The speedup of the winner at one confidence."""

    confidence: float  # r
    # Infimum of the speedups that fail: the confidence is at least r at every speedup from 1 up to here. None
    # when even a speedup of 1 fails
    certified: float | None = None
    certified_attained: bool = False  # whether ``certified`` itself passes
    # The same as a fraction of whole numbers, such as ``"44/25"``; empty when there is none
    certified_exact: str = ""
    hundredth: float | None = None  # the largest number of two decimals up to which everything passes
    # The article's definition: the largest speedup that passes, though a smaller one may fail
    supremum: float | None = None
    supremum_attained: bool = False  # whether ``supremum`` itself passes
    supremum_exact: str = ""  # the same as a fraction of whole numbers

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:g} % confidence"
        if self.certified is None or self.hundredth is None:
            return f"no speedup of the winner holds with {sure}"
        least = f"at least {self.hundredth:.2f}x" if self.hundredth > 1 else "less than 1.01x"
        return f"the winner is {least} faster, {sure}"

    def __repr__(self) -> str:
        return f"<RSpeedup: {self}>"


def confidence_at(duels: Sequence[Duel], speedup: Fraction, rule: HptRule, *, literal: bool) -> float:
    """Confidence that A is more than ``speedup`` times as fast as B."""
    return 1 - _pvalue_at(duels, speedup, rule, literal)


def _pvalue_at(duels: Sequence[Duel], speedup: Fraction, rule: HptRule, literal: bool) -> float:
    differences = [within_benchmark(duel, speedup, rule, literal=literal).d for duel in duels]
    return across_benchmarks(differences, rule).pvalue_positive


def r_speedup(
    duels: Sequence[Duel], confidences: Sequence[float], rule: HptRule, *, literal: bool
) -> tuple[RSpeedup, ...]:
    """Find the r-speedups of A over B."""
    at_one = _pvalue_at(duels, Fraction(1), rule, literal)
    alphas = [float(1 - decimal(r)) for r in confidences]
    if all(at_one > alpha for alpha in alphas):
        return tuple(RSpeedup(r) for r in confidences)
    line = _Line(duels, rule, literal, [alpha for alpha in alphas if at_one <= alpha])
    return tuple(
        RSpeedup(r) if at_one > alpha else line.solve(r, alpha)
        for r, alpha in zip(confidences, alphas, strict=True)
    )


class _Line:
    """The half-line of speedups from 1 on, cut at the breakpoints.

    Cell 2 k is the k-th cluster of breakpoints, the first of them holding 1 itself; cell 2 k + 1 is the gap
    after it.
    """

    def __init__(self, duels: Sequence[Duel], rule: HptRule, literal: bool, alphas: Sequence[float]) -> None:
        self.duels, self.rule, self.literal = duels, rule, literal
        self.a = np.array([float(duel.a) for duel in duels])
        self.b = np.array([float(duel.b) for duel in duels])
        self.steps = [level1_steps(duel, rule) for duel in duels]
        unit = lcm(*(median.denominator for duel in duels for median in (duel.a, duel.b)))
        self._whole_a = [int(duel.a * unit) for duel in duels]
        self._whole_b = [int(duel.b * unit) for duel in duels]
        self._find_breakpoints()
        self._narrow(min(alphas), max(alphas))
        self._bound()
        self._known: dict[Fraction, float] = {}

    def _find_breakpoints(self) -> None:
        a, b, n = self.a, self.b, len(self.duels)
        # Beyond the largest ratio of medians no difference is positive, and the p-value stays 1.
        end = float((a / b).max()) * (1 + _TOGETHER)
        i, j = np.triu_indices(n)  # a benchmark's own medians are its sum with itself
        parts: list[tuple[FloatArray, int, IntArray, IntArray]] = [
            (np.ones(1), 0, np.zeros(1, int), np.zeros(1, int))
        ]
        for sign in (-1, 1):
            top, bottom = a[i] + sign * a[j], b[i] + sign * b[j]
            usable = bottom != 0
            g = np.divide(top, bottom, out=np.zeros_like(top), where=usable)
            with np.errstate(divide="ignore", invalid="ignore"):
                error = 4e-16 * (a[i] + a[j] + np.abs(g) * (b[i] + b[j])) / np.abs(bottom)
            # What cancellation has spoilt is worked out exactly, unless it is far outside.
            spoilt = (error > _ERROR) & (g + error >= 1) & (g - error <= end)
            for k in np.flatnonzero(spoilt | ~usable):
                g[k] = float(self._crossing(int(i[k]), int(j[k]), sign))
            inside = (g >= 1 - _TOGETHER / 2) & (g <= end)
            parts.append((g[inside], sign, i[inside], j[inside]))
        for at, steps in enumerate(self.steps):
            places = np.arange(steps.points.size)
            parts.append((steps.points, 2, np.full_like(places, at), places))
        joined, first, second = (np.concatenate([part[k] for part in parts]) for k in (0, 2, 3))
        kinds = np.repeat([part[1] for part in parts], [part[0].size for part in parts])
        order = np.argsort(joined, kind="stable")
        self._values, self._kinds = joined[order], kinds[order]
        self._first, self._second = first[order], second[order]
        wide = np.diff(self._values) > _TOGETHER * self._values[1:]
        self._starts = np.concatenate(([0], np.flatnonzero(wide) + 1))
        self._ends = np.concatenate((self._starts[1:], [self._values.size]))

    def _crossing(self, i: int, j: int, sign: int) -> Fraction:
        """Where two differences tie in size; 0, which is no speedup, where they never do."""
        x, y = self.duels[i], self.duels[j]
        bottom = x.b + sign * y.b
        return (x.a + sign * y.a) / bottom if bottom else Fraction(0)

    def _meeting(self, cluster: int) -> set[Fraction]:
        """The different breakpoints of a cluster, exactly."""
        found: set[Fraction] = set()
        for k in range(self._starts[cluster], self._ends[cluster]):
            kind, i, j = int(self._kinds[k]), int(self._first[k]), int(self._second[k])
            if kind == 0:
                found.add(Fraction(1))
            elif kind == 2:
                found.update(self.steps[i].exact(j))
            else:
                found.add(self._crossing(i, j, kind))
        return found

    def _exact_points(self, cluster: int) -> list[Fraction]:
        return sorted(point for point in self._meeting(cluster) if point >= 1)

    def _narrow(self, least: float, most: float) -> None:
        """Leave out the clusters at which every risk is surely kept, or surely exceeded.

        Where no state ever rises, each difference of medians, ties and conflicts counting as zero, falls as the
        speedup grows. Then so do the sum of Walsh's signs, which is the rank sum but for ties, and the
        confidence. With e pairs of benchmarks tied, the squares of the sizes of the groups sum to 4 e at most.
        """
        clusters = self._starts.size
        if (
            self.literal
            or clusters * len(self.duels) <= LISTED
            or not all(steps.falls for steps in self.steps)
        ):
            return
        lines = Counter((duel.a, duel.b) for duel in self.duels)
        tied = int((self._ends - self._starts).max()) + sum(t * (t - 1) // 2 for t in lines.values())
        first, last, left = 0, clusters - 1, 0
        while last - first != left:
            left = last - first
            at = np.linspace(first, last, _SAMPLED).astype(int)[:-1]
            gaps = (self._values[self._ends[at] - 1] + self._values[self._ends[at]]) / 2
            states = np.column_stack([steps.state_at(gaps) for steps in self.steps])
            lower, upper = self._bound_rows(gaps, states, tied)
            first = int(at[upper <= least].max(initial=first))
            last = int(at[lower > most].min(initial=last))
        kept = slice(first, last + 1)
        self._starts, self._ends = self._starts[kept], self._ends[kept]

    def _bound(self) -> None:
        """Bounds of the p-value in every cell."""
        clusters = self._starts.size
        low, high = self._values[self._starts], self._values[self._ends - 1]
        speedups = np.empty(2 * clusters)
        speedups[::2] = low
        speedups[1:-1:2] = (high[:-1] + low[1:]) / 2
        speedups[-1] = 2 * high[-1]
        self._rows, self._middles = self._states(clusters), speedups
        self._lower, self._upper = self._bound_rows(speedups, self._rows)
        self._bound_unsure(np.flatnonzero((self._rows == OPEN).sum(axis=1) == 1))
        wide = 2 * np.flatnonzero(high - low > 10 * _TOGETHER * high)
        self._lower[wide], self._upper[wide], self._rows[wide] = 0.0, 1.0, OPEN

    def _bound_unsure(self, cells: IntArray) -> None:
        """Cells where the state of one benchmark is open: whatever it is."""
        if cells.size == 0:
            return
        states = self._rows[cells]
        lower, upper = zip(
            *(
                self._bound_rows(self._middles[cells], np.where(states == OPEN, np.int8(state), states))
                for state in (-1, 0, 1)
            ),
            strict=True,
        )
        self._lower[cells], self._upper[cells] = np.min(lower, axis=0), np.max(upper, axis=0)

    def _states(self, clusters: int) -> StateArray:
        """State of every benchmark in every cell."""
        states = np.empty((2 * clusters, len(self.duels)), dtype=np.int8)
        points = np.flatnonzero(self._kinds == 2)
        homes = np.searchsorted(self._starts, points, "right") - 1
        homes[points >= self._ends[-1]] = clusters
        crowded = {
            int(home)
            for home in np.unique(homes[(homes >= 0) & (homes < clusters)])
            if self._ends[home] - self._starts[home] > 1 and len(self._meeting(int(home))) > 1
        }
        for at, steps in enumerate(self.steps):
            states[:, at] = steps.start
            mine = homes[self._first[points] == at].tolist()
            for home, here, after in zip(mine, steps.at.tolist(), steps.after.tolist(), strict=True):
                # Among different breakpoints judged together the state may be any.
                if 0 <= home < clusters:
                    states[2 * home, at] = OPEN if home in crowded else here
                states[max(2 * home + 1, 0) :, at] = after
        return states

    def _bound_rows(
        self, speedups: FloatArray, states: StateArray, tied: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds of the p-value at speedups, were another so many pairs of benchmarks tied."""
        parts = [
            self._rank_sums(speedups[at : at + _ROWS], states[at : at + _ROWS])
            for at in range(0, speedups.size, _ROWS)
        ]
        positive, squares, zeros, undermined = (np.concatenate(column) for column in zip(*parts, strict=True))
        squares += 4 * tied
        # A group of t ties moves a rank sum by at most t^2 / 8: the sum at hand from its middle, each sum of
        # the null distribution, and the sum at hand once more if the group only seemed to tie.
        slack = 3 / 8 * squares
        lower = self._pvalues(positive + slack, zeros, squares, -1)
        upper = self._pvalues(positive - slack, zeros, squares, 1)
        lower[undermined], upper[undermined] = 0.0, 1.0
        return lower, upper

    def _rank_sums(
        self, speedups: FloatArray, states: StateArray
    ) -> tuple[FloatArray, FloatArray, IntArray, BoolArray]:
        """Positive rank sums, the squares of what may tie, the zeros, and whether a row is unsure."""
        n = len(self.duels)
        scores = speedups[:, None] * self.b
        d = self.a - scores
        near = _NEAR * np.maximum(scores.max(axis=1), self.a.max())[:, None]
        kept = states != 0
        undermined = ((np.abs(d) <= near) & kept).any(axis=1) | (states == OPEN).any(axis=1)
        if not self.literal:
            kept &= (states == FREE) | (np.sign(d) == states)
        d[~kept] = 0.0
        order = np.argsort(np.abs(d), axis=1)
        d = np.take_along_axis(d, order, axis=1)
        zeros = (d == 0).sum(axis=1)
        positive = np.where(d > 0, np.arange(1, n + 1), 0).sum(axis=1).astype(np.float64)
        size = np.abs(d)
        squares = squares_of_runs((np.diff(size, axis=1) <= near) & (size[:, :-1] > 0))
        return positive, squares, zeros, undermined

    def _pvalues(
        self, positive: FloatArray, zeros: IntArray, squares: FloatArray, side: Literal[-1, 1]
    ) -> FloatArray:
        """P-values of positive rank sums (zeros' halves not counted in) when nothing but zeros ties.

        Of the normal distribution the side that ties may move them to, at most so far as ``squares`` allow.
        """
        n = len(self.duels)
        if self.rule == "paper":
            fourfold = np.clip(4 * positive + zeros * (zeros + 1), 0, 2 * n * (n + 1)).astype(int)
            different, place = np.unique(fourfold, return_inverse=True)
            return np.array([table_pvalue(k / 4, n) for k in different.tolist()])[place]
        pvalues = np.empty(positive.size)
        many = n - zeros >= COUNTS_BELOW
        for z, tail in tails_above(np.unique(zeros[~many]).tolist(), n):
            rows = zeros == z
            pvalues[rows] = tail[np.clip(np.ceil(positive[rows]), 0, tail.size - 1).astype(int)]
        for at in np.flatnonzero(many).tolist():
            ranks = np.arange(int(zeros[at]) + 1, n + 1)
            whole = float(np.square(ranks).sum())
            excess = float(positive[at]) - ranks.sum() / 2 - 0.5
            # A group of t ties lessens the sum of squares by (t^3 - t) / 12.
            least = max(whole - float(squares[at]) ** 1.5 / 12, 1.0)
            smaller = least if (excess > 0) == (side < 0) else whole
            pvalues[at] = 0.5 * erfc(excess / (sqrt(smaller) / 2) / sqrt(2))
        return pvalues

    def _exact(self, cell: int, speedup: Fraction, alpha: float) -> bool:
        if speedup not in self._known:
            states = [
                within_benchmark(duel, speedup, self.rule).state if state == OPEN else state
                for duel, state in zip(self.duels, self._rows[cell].tolist(), strict=True)
            ]
            differences = self._differences(states, speedup)
            self._known[speedup] = across_benchmarks(differences, self.rule).pvalue_positive
        return self._known[speedup] <= alpha

    def _differences(self, states: list[int], speedup: Fraction) -> list[int]:
        """Differences of medians in a common unit, ties and conflicts of the first level set to zero."""
        differences = []
        for state, a, b in zip(states, self._whole_a, self._whole_b, strict=True):
            d = a * speedup.denominator - b * speedup.numerator
            conflict = state != FREE and d * state < 0
            differences.append(0 if state == 0 or (conflict and not self.literal) else d)
        return differences

    def _split(self, cell: int) -> list[tuple[Fraction, Fraction, Fraction]]:
        """A cell in exact pieces: from, to (equal for a point) and a speedup inside."""
        if cell % 2:
            left = self._exact_points(cell // 2)[-1]
            if cell == self._lower.size - 1:
                return [(left, 2 * left, 2 * left)]
            right = self._exact_points(cell // 2 + 1)[0]
            inside = Fraction(float(self._middles[cell]))
            return [(left, right, inside)]
        points = self._exact_points(cell // 2)
        pieces = [(points[0], points[0], points[0])]
        for left, right in pairwise(points):
            pieces += [(left, right, (left + right) / 2), (right, right, right)]
        return pieces

    def _judged(self, cells: range, alpha: float, *, wanted: bool) -> tuple[Fraction, Fraction]:
        """The two ends of the first piece that passes (or fails), in the order of the cells."""
        for cell in cells:
            passes, fails = self._upper[cell] <= alpha, self._lower[cell] > alpha
            if fails if wanted else passes:
                continue
            for left, right, inside in self._split(cell)[:: cells.step]:
                if passes or fails or self._exact(cell, inside, alpha) is wanted:
                    return left, right
        raise AssertionError("a speedup of 1 passes and one beyond all ratios fails")

    def solve(self, confidence: float, alpha: float) -> RSpeedup:
        """Find the first speedup that fails and the last that passes."""
        cells = self._lower.size
        certified, right = self._judged(range(cells), alpha, wanted=False)
        attained = certified < right
        hundredth = floor(certified * 100)
        if hundredth == certified * 100 and not attained:
            hundredth -= 1
        left, supremum = self._judged(range(cells - 1, -1, -1), alpha, wanted=True)
        return RSpeedup(
            confidence=confidence,
            certified=float(certified),
            certified_attained=attained,
            certified_exact=str(certified),
            hundredth=hundredth / 100,
            supremum=float(supremum),
            supremum_attained=left == supremum,
            supremum_exact=str(supremum),
        )
