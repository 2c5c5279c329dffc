"""The r-speedup of Hierarchical Performance Testing, exactly.

The confidence that A is more than g times as fast as B is a step function of g. It can change only where

- two runs of a benchmark tie, at ``a_k / b_l``, and the rank-sum test changes its answer there,
- the medians of a benchmark tie, at ``a_i / b_i``,
- the differences of two benchmarks tie in size, at ``(a_i - a_j) / (b_i - b_j)`` or ``(a_i + a_j) / (b_i + b_j)``.

Where ratios count, not scores that are given, all this is so of g^2 and of the squares of the runs' ratios
(:class:`speedproof.protocols.hpt_levels.Duel`): the line below is that of g^2.

These are a few hundred values of g for a small suite and millions for a large one, where a search first leaves
the part outside of which every risk is surely kept or surely exceeded. All values of g in it, and the gaps between
them, are judged in floating point with rigorous bounds of the p-value; whatever the bounds leave open is decided
in rational numbers by :mod:`speedproof.protocols.hpt_levels`. The answer is therefore that of exact arithmetic, in
a small part of its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import erfc, floor, isqrt, lcm, sqrt

import numpy as np

from speedproof.arrays import BoolArray, FloatArray, IntArray, StateArray
from speedproof.protocols.hpt_levels import (
    Duel,
    HptRule,
    across_benchmarks,
    decimal,
    ranked_quotients,
    within_benchmark,
)
from speedproof.protocols.hpt_steps import FREE, OPEN, Steps, level1_steps
from speedproof.protocols.results import RSpeedup
from speedproof.stats.crossings import crossing_limit, crossing_pairs
from speedproof.stats.signed_rank import (
    COUNTS_BELOW,
    least_sums,
    signs_of_ranks,
    squares_of_runs,
    table_pvalue,
    tail_bounds,
)

# Breakpoints nearer than this, relatively, are judged together; their floating-point error is far below it.
_TOGETHER = 1e-11
_ERROR = 1e-12
# Differences of medians nearer than this, relative to the scores, may tie or vanish.
_NEAR = 1e-9
_CHUNK = 1 << 18  # states judged at a time
LISTED = 1 << 21  # states of benchmarks at ties of two that are all judged, near the speedup sought or not
_FEW, _SAMPLED = 12, 130  # places at which a part is cut: few narrow it at the least cost, if they do


def confidence_at(duels: Sequence[Duel], factor: Fraction, rule: HptRule, *, literal: bool) -> float:
    """Confidence that A is faster than B by more than the speedup of which this is the power."""
    return 1 - _pvalue_at(duels, factor, rule, literal)


def _pvalue_at(duels: Sequence[Duel], factor: Fraction, rule: HptRule, literal: bool) -> float:
    differences = [within_benchmark(duel, factor, rule, literal=literal).d for duel in duels]
    return across_benchmarks(differences, rule).pvalue_positive


def r_speedup(
    duels: Sequence[Duel],
    confidences: Sequence[float],
    rule: HptRule,
    *,
    literal: bool,
    at_one: float | None = None,
) -> tuple[RSpeedup, ...]:
    """Find the r-speedups of A over B, whose p-value at a speedup of 1 may be known."""
    at_one = _pvalue_at(duels, Fraction(1), rule, literal) if at_one is None else at_one
    alphas = [float(1 - decimal(r)) for r in confidences]
    if all(at_one > alpha for alpha in alphas):
        return tuple(RSpeedup(r) for r in confidences)
    within = [alpha for alpha in alphas if at_one <= alpha]
    steps = level1_steps(duels, rule)
    # A long line is searched for each risk by itself: between two of them lie thousands of breakpoints.
    if not literal and len(duels) ** 3 > LISTED:
        lines = {alpha: _Line(duels, rule, literal, within, steps, alpha) for alpha in within}
    else:
        lines = dict.fromkeys(within, _Line(duels, rule, literal, within, steps))
    return tuple(
        RSpeedup(r) if at_one > alpha else lines[alpha].solve(r, alpha)
        for r, alpha in zip(confidences, alphas, strict=True)
    )


def _filled(
    starts: StateArray, states: StateArray, owners: IntArray, rows: IntArray, count: int
) -> StateArray:
    """So many rows of the states of every benchmark: that of its start, and its others from the rows given on."""
    before = np.concatenate((states[:1], states[:-1]))
    first = np.flatnonzero(owners[1:] != owners[:-1]) + 1
    before[first], before[:1] = starts[owners[first]], starts[owners[:1]]
    filled = np.zeros((count + 1, starts.size), dtype=np.int8)
    filled[0] = starts
    np.add.at(filled, (np.minimum(rows, count), owners), states - before)
    return np.cumsum(filled, axis=0, dtype=np.int8)[:-1]


class _Line:
    """The half-line of speedups from 1 on, cut at the breakpoints.

    Cell 2 k is the k-th cluster of breakpoints, the first of them holding 1 itself; cell 2 k + 1 is the gap
    after it.
    """

    def __init__(
        self,
        duels: Sequence[Duel],
        rule: HptRule,
        literal: bool,
        alphas: Sequence[float],
        steps: Sequence[Steps],
        sought: float | None = None,
    ) -> None:
        self.duels, self.rule, self.literal = duels, rule, literal
        self.alphas = tuple(sorted(alphas))  # which bounds of p-values tell apart
        self.a = np.array([float(duel.a) for duel in duels])
        self.b = np.array([float(duel.b) for duel in duels])
        # Both medians as whole numbers over one denominator.
        self._whole = [
            (*(side.numerator * (unit // side.denominator) for side in (duel.a, duel.b)), unit)
            for duel in duels
            for unit in [lcm(duel.a.denominator, duel.b.denominator)]
        ]
        self.steps = steps
        sizes = [step.points.size for step in steps]
        # Of all changes of states the benchmarks and the places among their own.
        self._owners = np.arange(len(steps)).repeat(sizes)
        self._nth = np.concatenate([*map(np.arange, sizes)])
        self._points, self._at, self._after = (
            np.concatenate([getattr(step, name) for step in steps]) for name in ("points", "at", "after")
        )
        self._begins = np.array([step.start for step in steps], dtype=np.int8)
        # Beyond the largest ratio of medians no difference is positive: sizes do not matter, states may.
        self._low, self._high = 1.0, float((self.a / self.b).max()) * (1 + _TOGETHER)
        self._last = np.inf  # where the line is cut off
        if sought is not None:
            self._bracket(sought)
            pairs = self._crossing_pairs()
        else:
            i, j = np.triu_indices(len(duels))  # one's own medians are a sum, too
            pairs = [(i[i < j], j[i < j], -1), (i, j, 1)]
        self._find_breakpoints(pairs)
        self._bound()
        self._known: dict[Fraction, float] = {}
        self._counted: IntArray | None = None  # the ranks of which sums were counted last

    def _bracket(self, risk: float) -> None:
        """Leave out the speedups at which a risk is surely kept, or surely exceeded.

        Were no state ever to rise, each difference of medians, ties and conflicts counting as zero, would fall as
        the speedup grows. Then so would the sum of Walsh's signs, which is the rank sum but for ties, and the
        confidence; states that do rise are bounded by such as do not. With e pairs of benchmarks tied, the squares
        of the sizes of the groups sum to 4 e at most.
        """
        places = _FEW
        while self._high - self._low > _SAMPLED * _TOGETHER * self._high:
            grid = np.linspace(self._low, self._high, places)
            tied, orders = crossing_limit(self.a, self.b, grid)
            if (tied - tied.min()).sum() <= _SAMPLED:
                return
            inside = grid[1:-1]
            lower, upper = self._bound_rows(
                np.tile(inside, 2),
                self._falling_states(inside),
                np.concatenate((tied[:-1], tied[1:])),
                orders[1:-1],
            )
            kept, lost = upper[: inside.size] <= risk, lower[inside.size :] > risk
            first = int(np.append(kept, False).argmin())
            last = places - 1 - int(np.append(lost[::-1], False).argmin())
            if last - first == places - 1:
                if places == _SAMPLED:
                    return
                places = _SAMPLED  # fewer pairs tie in a narrower cell
                continue
            self._low, self._high = float(grid[first]), float(grid[last])
            self._last = self._high if last < places - 1 else self._last

    @cached_property
    def _extremes(self) -> list[tuple[StateArray, StateArray]]:
        """The least of the states up to each, and the most of those from each on: first at the starts."""
        # One line of states for all: the start of a benchmark, then two at every change, at it and after it.
        after = 2 * np.arange(self._owners.size) + self._owners + 2
        begins = np.ones(self._begins.size + 2 * self._owners.size, dtype=np.bool_)
        begins[after] = begins[after - 1] = False
        starts, states = np.flatnonzero(begins), np.empty(begins.size, dtype=np.int32)
        states[starts], states[after - 1], states[after] = self._begins, self._at, self._after
        # What belongs to a later benchmark is less than all before it, so that each begins anew.
        shift = 8 * np.cumsum(begins, dtype=np.int32)
        least = np.minimum.accumulate(np.where(states == OPEN, -1, states) - shift) + shift
        most = np.maximum.accumulate((np.where(states == OPEN, 1, states) - shift)[::-1])[::-1] + shift
        return [(side[starts].astype(np.int8), side[after].astype(np.int8)) for side in (least, most)]

    def _falling_states(self, grid: FloatArray) -> StateArray:
        """At each speedup the least of the states up to there; then at each the most of those from there on."""
        sides = []
        for (begins, after), side in zip(self._extremes, (1, -1), strict=True):
            rows = np.searchsorted(grid * (1 + side * _TOGETHER), self._points)
            sides.append(_filled(begins, after, self._owners, rows, grid.size))
        return np.concatenate(sides)

    def _crossing_pairs(self) -> list[tuple[IntArray, IntArray, int]]:
        """Pairs of benchmarks whose differences may tie in size in what is left of the line; each line once."""
        places = {(duel.a, duel.b): at for at, duel in enumerate(self.duels)}
        different = np.fromiter(places.values(), dtype=np.int64)
        low, high = self._low * (1 - 2 * _TOGETHER), self._high * (1 + 2 * _TOGETHER)
        i, j, signs = crossing_pairs(self.a[different], self.b[different], low, high)
        return [(different[i[signs == s]], different[j[signs == s]], s) for s in (-1, 1)]

    def _find_breakpoints(self, pairs: Sequence[tuple[IntArray, IntArray, int]]) -> None:
        a, b, least, end = self.a, self.b, self._low, self._high
        parts: list[tuple[FloatArray, int, IntArray, IntArray]] = [
            (np.full(1, least), 0, np.zeros(1, int), np.zeros(1, int))
        ]
        for i, j, sign in pairs:
            top, bottom = a[i] + sign * a[j], b[i] + sign * b[j]
            usable = bottom != 0
            g = np.divide(top, bottom, out=np.zeros_like(top), where=usable)
            # What cancellation has spoilt is worked out exactly, unless it is far outside.
            error = 4e-16 * (a[i] + a[j] + np.abs(g) * (b[i] + b[j]))
            error = np.divide(error, np.abs(bottom), out=np.full_like(top, np.inf), where=usable)
            for k in np.flatnonzero((error > _ERROR) & (g + error >= least) & (g - error <= end)).tolist():
                above, below = self._crossing(int(i[k]), int(j[k]), sign)
                g[k] = above / below if below else 0.0
            inside = (g >= least * (1 - _TOGETHER / 2)) & (g <= end * (1 + _TOGETHER / 2))
            parts.append((g[inside], sign, i[inside], j[inside]))
        parts.append((self._points, 2, self._owners, self._nth))
        joined, first, second = (np.concatenate([part[k] for part in parts]) for k in (0, 2, 3))
        kinds = np.array([part[1] for part in parts]).repeat([part[0].size for part in parts])
        order = np.argsort(joined, kind="stable")
        self._values, self._kinds = joined[order], kinds[order]
        self._first, self._second = first[order], second[order]
        self._changes = np.argsort(order)[order.size - self._nth.size :]
        edges = np.ones(order.size + 1, dtype=np.bool_)
        edges[1:-1] = self._values[1:] - self._values[:-1] > _TOGETHER * self._values[1:]
        bounds = np.flatnonzero(edges)
        starts, ends = bounds[:-1], bounds[1:]
        kept = (self._values[ends - 1] >= least) & (self._values[starts] <= self._last)
        self._starts, self._ends = starts[kept], ends[kept]

    def _crossing(self, i: int, j: int, sign: int) -> tuple[int, int]:
        """Where two differences tie in size, as a quotient; its denominator is 0 where they never do."""
        (a, b, unit), (c, d, other) = self._whole[i], self._whole[j]
        return a * other + sign * c * unit, b * other + sign * d * unit

    def _meeting(self, cluster: int) -> set[Fraction]:
        """The different breakpoints of a cluster, exactly."""
        breakpoints: set[Fraction] = set()
        for k in range(self._starts[cluster], self._ends[cluster]):
            kind, i, j = int(self._kinds[k]), int(self._first[k]), int(self._second[k])
            if kind == 0:
                breakpoints.add(Fraction(self._low))
            elif kind == 2:
                breakpoints.update(self.steps[i].exact(j))
            else:
                breakpoints.add(Fraction(*self._crossing(i, j, kind)))
        return breakpoints

    def _exact_points(self, cluster: int) -> list[Fraction]:
        return sorted(point for point in self._meeting(cluster) if point >= self._low)

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
        wide = 2 * np.flatnonzero(high - low > 10 * _TOGETHER * high)
        self._lower[wide], self._upper[wide], self._rows[wide] = 0.0, 1.0, OPEN

    def _states(self, clusters: int) -> StateArray:
        """State of every benchmark in every cell."""
        homes = np.searchsorted(self._starts, self._changes, "right") - 1
        homes[self._changes >= self._ends[-1]] = clusters
        inside = np.flatnonzero((homes >= 0) & (homes < clusters))
        several = homes[inside][(self._ends - self._starts)[homes[inside]] > 1]
        crowded = [home for home in set(several.tolist()) if len(self._meeting(home)) > 1]
        states = _filled(self._begins, self._after, self._owners, np.maximum(2 * homes + 1, 0), 2 * clusters)
        here = self._at[inside]
        # Among different breakpoints judged together the state may be any.
        here[np.isin(homes[inside], crowded)] = OPEN
        states[2 * homes[inside], self._owners[inside]] = here
        return states

    def _bound_rows(
        self,
        speedups: FloatArray,
        states: StateArray,
        tied: int | IntArray = 0,
        orders: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds of the p-value at speedups, were another so many pairs of benchmarks tied.

        Of these, again and again, the orders of all differences by size may be known.
        """
        rows = 1 + _CHUNK // self.a.size
        chunks = [np.arange(at, min(at + rows, speedups.size)) for at in range(0, speedups.size, rows)]
        parts = [
            self._rank_sums(speedups[k], states[k], None if orders is None else orders[k % len(orders)])
            for k in chunks
        ]
        positive, squares, mixed, zeros, undermined = (
            np.concatenate(part) for part in zip(*parts, strict=True)
        )
        # A group of t ties moves a rank sum by at most t^2 / 8. If signs differ in it, that is so of the sum at
        # hand from its middle, and once more if the group only seemed to tie.
        slack = mixed / 4 + tied
        lower, upper = self._pvalues(positive, slack, zeros, squares + 4 * tied)
        lower[undermined], upper[undermined] = 0.0, 1.0
        return lower, upper

    def _rank_sums(
        self, speedups: FloatArray, states: StateArray, order: IntArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray, IntArray, BoolArray]:
        """Positive rank sums, the squares of what may tie, and with other signs; zeros; whether a row is unsure.

        The order of all differences by size may be known.
        """
        n = len(self.duels)
        scores = speedups[:, None] * self.b
        d = self.a - scores
        near = _NEAR * np.maximum(scores.max(axis=1), self.a.max())[:, None]
        kept = states != 0
        undermined = ((np.abs(d) <= near) & kept).any(axis=1) | (states == OPEN).any(axis=1)
        if not self.literal:
            kept &= (states == FREE) | (np.sign(d) == states)
        order = np.argsort(np.abs(d), axis=1) if order is None else order
        row = np.arange(order.shape[0])[:, None]
        d[~kept] = 0.0
        d = d[row, order]
        d = d[row, np.argsort(d != 0, axis=1, kind="stable")]  # zeros first
        zeros = (d == 0).sum(axis=1)
        positive = np.where(d > 0, np.arange(1, n + 1), 0).sum(axis=1).astype(np.float64)
        size = np.abs(d)
        alike = (np.diff(size, axis=1) <= near) & (size[:, :-1] > 0)
        mixed = squares_of_runs(alike, np.diff(d > 0, axis=1))
        return positive, squares_of_runs(alike), mixed, zeros, undermined

    def _pvalues(
        self, positive: FloatArray, slack: FloatArray, zeros: IntArray, squares: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Least and most p-value of positive rank sums (zeros' halves not counted in) that are off by a slack.

        Nothing but zeros ties. Ties move the exact and the normal distribution, as far as ``squares`` allow; the
        exact one is asked at the risks alone, which bound what lies between them.
        """
        n = len(self.duels)
        sums = np.stack((positive + slack, positive - slack))
        if self.rule == "paper":
            fourfold = np.clip(4 * sums + zeros * (zeros + 1), 0, 2 * n * (n + 1)).astype(int)
            different, place = np.unique(fourfold, return_inverse=True)
            lower, upper = np.array([table_pvalue(k / 4, n) for k in different.tolist()])[
                place.reshape(sums.shape)
            ]
            return lower, upper
        pvalues = np.empty(sums.shape)
        moving = n - zeros
        many = moving >= COUNTS_BELOW
        if not many.all():
            # Counts beyond 2^53 are rounded, and so are sums of n (n + 1) of them: what is that near to a risk
            # is left open.
            risks = np.outer((1 + n * n * 2.0**-52, 1 - n * n * 2.0**-52), self.alphas)
            enough = least_sums(n, min(n, COUNTS_BELOW - 1), tuple(risks.ravel().tolist()))
            enough = enough.reshape(2, len(self.alphas), -1)[:, :, moving[~many]]
            # A group of t ties moves each sum of the distribution by at most t^2 / 8.
            counted = sums[:, None, ~many] + np.array([1.0, -1.0])[:, None, None] * squares[~many] / 8
            kept = (np.ceil(counted) >= enough).sum(axis=1)
            # As many risks as are kept, the largest of them first.
            above, upto = np.array([*self.alphas[::-1], 0.0]), np.array([1.0, *self.alphas[::-1]])
            pvalues[0, ~many], pvalues[1, ~many] = np.nextafter(above[kept[0]], 1.0), upto[kept[1]]
        ranks, below = n * (n + 1), zeros * (zeros + 1)
        whole = (ranks * (2 * n + 1) - below * (2 * zeros + 1)) / 6  # squares of the ranks above the zeros
        # A group of t ties lessens the sum of squares by (t^3 - t) / 12.
        least = np.maximum(whole - squares**1.5 / 12, 1.0)
        for at in np.flatnonzero(many).tolist():
            for side, most_ties in ((0, False), (1, True)):
                excess = float(sums[side, at] - (ranks - below[at]) / 4 - 0.5)
                # The smaller deviation makes a p-value below one half smaller.
                square = least[at] if (excess > 0) != most_ties else whole[at]
                pvalues[side, at] = 0.5 * erfc(excess / (sqrt(square) / 2) / sqrt(2))
        return pvalues[0], pvalues[1]

    def _exact(self, cell: int, speedup: Fraction, alpha: float) -> bool:
        if speedup not in self._known:
            states = [
                within_benchmark(duel, speedup, self.rule).state if state == OPEN else state
                for duel, state in zip(self.duels, self._rows[cell].tolist(), strict=True)
            ]
            self._known[speedup] = self._pvalue(*ranked_quotients(*self._differences(states, speedup)))
        return self._known[speedup] <= alpha

    def _pvalue(self, doubled: IntArray, signs: IntArray) -> float:
        """The p-value of doubled ranks, or one that lies as it does beside every risk."""
        moving = np.sort(np.where(signs == 0, 0, doubled))
        if self.rule == "exact" and np.count_nonzero(moving) < COUNTS_BELOW:
            if self._counted is not None:
                least, most = tail_bounds(moving, int(doubled[signs > 0].sum()), self._counted)
                if all(most < alpha * (1 - _ERROR) or least > alpha * (1 + _ERROR) for alpha in self.alphas):
                    return most
            self._counted = moving
        return signs_of_ranks(
            doubled, signs, "conditional" if self.rule == "exact" else "table"
        ).pvalue_positive

    def _differences(self, states: list[int], speedup: Fraction) -> tuple[list[int], list[int]]:
        """Differences of medians times the speedup's denominator; what the first level sets to zero is 0."""
        tops = []
        for state, (a, b, _) in zip(states, self._whole, strict=True):
            d = a * speedup.denominator - b * speedup.numerator
            conflict = state != FREE and d * state < 0
            tops.append(0 if state == 0 or (conflict and not self.literal) else d)
        return tops, [unit for *_, unit in self._whole]

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
        passes, fails = self._upper <= alpha, self._lower > alpha
        for cell in np.flatnonzero(~(fails if wanted else passes))[:: cells.step].tolist():
            for left, right, inside in self._split(cell)[:: cells.step]:
                if passes[cell] or fails[cell] or self._exact(cell, inside, alpha) is wanted:
                    return left, right
        raise AssertionError("a speedup of 1 passes and one beyond all ratios fails")

    def solve(self, confidence: float, alpha: float) -> RSpeedup:
        """Find the first speedup that fails and the last that passes."""
        cells = self._lower.size
        certified, right = self._judged(range(cells), alpha, wanted=False)
        attained = certified < right
        power = self.duels[0].power
        hundredths = certified * 100**power
        hundredth = floor(hundredths) if power == 1 else isqrt(floor(hundredths))
        if hundredth**power == hundredths and not attained:
            hundredth -= 1
        left, supremum = self._judged(range(cells - 1, -1, -1), alpha, wanted=True)
        return RSpeedup(
            confidence=confidence,
            certified=float(certified) ** (1 / power),
            certified_attained=attained,
            certified_exact=_exactly(certified, power),
            hundredth=hundredth / 100,
            supremum=float(supremum) ** (1 / power),
            supremum_attained=left == supremum,
            supremum_exact=_exactly(supremum, power),
        )


def _exactly(factor: Fraction, power: int) -> str:
    """A speedup of which this is the power: a fraction, or the root of one."""
    root = factor if power == 1 else Fraction(isqrt(factor.numerator), isqrt(factor.denominator))
    return str(root) if root**power == factor else f"sqrt({factor})"
