"""The first level of Hierarchical Performance Testing as a step function of the speedup."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray, IntArray, StateArray
from speedproof.protocols.hpt_levels import Duel, HptRule, tested_state
from speedproof.stats.ranks import rank_sum_tails
from speedproof.stats.ratio_medians import Ratios
from speedproof.stats.scaling import unbounded
from speedproof.stats.special import normal_quantile

FREE = 2  # too few runs for a test: the medians decide
OPEN = 3  # left to exact arithmetic
LISTED = 1 << 16  # ratios of runs that are all listed, however far from a change
_TOGETHER = 2e-15  # ratios nearer than this, relatively, may be one: four times the error of a quotient
_EDGE = 1e-13


class Steps(Struct, frozen=True, eq=False):
    """What the rank-sum test says of one benchmark, at every speedup from 1 on."""

    duel: Duel  # the benchmark
    start: int  # state just above 1: 1, -1, 0, or ``FREE`` at every speedup
    points: FloatArray  # where the state changes, ascending: speedups to the power of the duel
    # State at each point and from there to the next; ``OPEN`` where floating point cannot tell
    at: StateArray
    after: StateArray
    # The ratios that meet at each point: their places in the table of ``upper`` over ``lower``
    members: tuple[IntArray, ...]

    def exact(self, point: int) -> set[Fraction]:
        """The different exact ratios of runs that meet at a point, to the power of the duel."""
        return {_ratio(self.duel, at) for at in self.members[point].tolist()}


def _ratio(duel: Duel, place: int) -> Fraction:
    up, low = divmod(int(place), duel.lower.values.size)
    return Fraction(int(duel.upper.values[up]), int(duel.lower.values[low])) ** duel.power


class _Window(NamedTuple):
    """A part of the line of speedups in which the test of one benchmark may change its answer."""

    duel: Duel
    least: float
    most: float
    # The ratios of its runs there, ascending; their places and weights; how many pairs are beyond
    values: FloatArray
    places: IntArray
    weights: IntArray
    beyond: int


def level1_steps(duels: Sequence[Duel], rule: HptRule) -> list[Steps]:
    """Follow the rank-sum test of every benchmark from a speedup of 1 upwards.

    The points are those among all ratios of two runs at which the state really changes. Where these are too many
    to be listed, only those are around which the test can change its answer at all.
    """
    parts: list[list[Steps]] = [[] for _ in duels]
    owners: list[int] = []
    windows: list[_Window] = []
    listed = 0
    for at, duel in enumerate(duels):
        for low, high in [] if duel.level is None else _windows(duel, rule):
            owners.append(at)
            windows.append(_Window(duel, low, high, *_ratios(duel, low, high)))
            listed += windows[-1].values.size
        if windows and (duel is duels[-1] or listed > LISTED):
            for owner, part in zip(owners, _steps_in(windows, rule), strict=True):
                parts[owner].append(part)
            owners, windows, listed = [], [], 0
    # Without a window the test has decided before 1, for B.
    return [
        _joined(duel, FREE if duel.level is None else steps[0].start if steps else -1, steps)
        for duel, steps in zip(duels, parts, strict=True)
    ]


def _joined(duel: Duel, start: int, parts: list[Steps]) -> Steps:
    if len(parts) == 1:
        return parts[0]
    points = np.concatenate([np.empty(0), *(part.points for part in parts)])
    at, after = (
        np.concatenate([np.empty(0, np.int8), *(getattr(part, name) for part in parts)])
        for name in ("at", "after")
    )
    return Steps(duel, start, points, at, after, tuple(m for part in parts for m in part.members))


def _windows(duel: Duel, rule: HptRule) -> list[tuple[float, float]]:
    """Where, from 1 on, the test can change from A to none, and from none to B; of few runs everywhere.

    Elsewhere the number of pairs won decides, however many runs tie: it falls as the speedup grows.
    """
    upper, lower = duel.upper, duel.lower
    if upper.values.size * lower.values.size <= LISTED or duel.exact(rule):
        return [(1.0, math.inf)]
    pairs = upper.n * lower.n
    most = upper.n * int(lower.counts.max())  # pairs that tie
    surely, possibly = (limit / 2 for limit in _limits(duel, rule, np.array([0, most])))
    sure, open_ = float(surely.max()), float(possibly.min())
    ratios = Ratios(upper.rounded, upper.counts, lower.rounded, lower.counts)
    intervals = []
    for left, right in ((sure, open_), (pairs - open_, pairs - sure)):  # pairs won at the ends
        low, high = (
            ratios.order_statistic(min(max(int(pairs - won) + step, 0), pairs - 1))
            for won, step in ((left, -2), (right, 2))
        )
        low, high = low * (1 - _EDGE), high * (1 + _EDGE)
        if high >= 1:
            intervals.append((max(low, 1.0), high))
    if len(intervals) == 2 and intervals[0][1] >= intervals[1][0]:
        return [(intervals[0][0], intervals[1][1])]
    return intervals


def _steps_in(windows: Sequence[_Window], rule: HptRule) -> list[Steps]:
    """The steps in some windows, all in one pass."""
    sizes = [window.values.size for window in windows]
    values, places, weights = (
        np.concatenate([getattr(window, name) for window in windows])
        for name in ("values", "places", "weights")
    )
    # Where the ratios of each window begin; those nearer than their error are one cluster.
    bounds = np.cumsum([0, *sizes])
    first = np.ones(values.size + 1, dtype=np.bool_)
    np.greater(values[1:] - values[:-1], _TOGETHER * values[1:], out=first[1:-1])
    first[bounds] = True
    edges = np.flatnonzero(first)
    starts, ends = edges[:-1], edges[1:]
    of_window = np.searchsorted(edges, bounds)  # the first cluster of each
    owners = np.repeat(np.arange(len(windows)), np.diff(of_window))
    upto = np.zeros(values.size + 1, dtype=np.int64)
    np.cumsum(weights, out=upto[1:])
    met = upto[ends] - upto[starts]
    clean = _clean(windows, owners, places, starts, ends)
    above = np.array([window.beyond for window in windows]) + upto[bounds[1:]]
    after = 2 * (above[owners] - upto[ends])
    # Cells in ascending order, window by window: below the first cluster, at it, after it, at the second, ...
    # For each twice the pairs won, at least and at most: different ratios that are judged together make the two
    # differ.
    begins = 2 * of_window + np.arange(len(windows) + 1)
    here = 2 * np.arange(starts.size) + owners + 1
    least, most, crossed = np.zeros((3, int(begins[-1])), dtype=np.int64)
    least[begins[:-1]] = most[begins[:-1]] = 2 * (above - upto[bounds[:-1]])
    least[here + 1] = most[here + 1] = after
    least[here], most[here] = np.where(clean, after + met, [after, after + 2 * met])
    crossed[here] = met
    states = _bounded_states([window.duel for window in windows], rule, begins, least, most, crossed)
    firsts, lasts = values[starts], values[ends - 1]
    cells = np.flatnonzero(states == OPEN)
    of_cells = begins.searchsorted(cells, "right") - 1
    for cell, owner in zip(cells.tolist(), of_cells.tolist(), strict=True):
        duel, (k, inside) = windows[owner].duel, divmod(cell - owner, 2)
        if not inside:
            left = float(lasts[k - 1]) if k > of_window[owner] else windows[owner].least
            right = float(firsts[k]) if k < of_window[owner + 1] else 2 * left
            states[cell] = tested_state(duel, Fraction((left + right) / 2) ** duel.power, rule)[0]
        elif clean[k]:
            states[cell] = tested_state(duel, _ratio(duel, places[starts[k]]), rule)[0]
    moves = np.flatnonzero((states[here] != states[here - 1]) | (states[here] != states[here + 1]))
    cuts = np.searchsorted(moves, of_window).tolist()
    at, later, points = states[here[moves]], states[here[moves] + 1], firsts[moves]
    members = [places[starts[k] : ends[k]] for k in moves.tolist()]
    return [
        Steps(
            window.duel,
            int(states[start]),
            points[i:j] ** window.duel.power,
            at[i:j],
            later[i:j],
            tuple(members[i:j]),
        )
        for window, start, (i, j) in zip(windows, begins[:-1].tolist(), pairwise(cuts), strict=True)
    ]


def _ratios(duel: Duel, least: float, most: float) -> tuple[FloatArray, IntArray, IntArray, int]:
    """The ratios of different runs in a window, ascending; their places and weights; how many pairs are beyond."""
    upper, lower = duel.upper, duel.lower
    if math.isinf(most):
        every = unbounded(np.divide, upper.rounded[:, None], lower.rounded).ravel()
        places = np.flatnonzero(every > least * (1 - _TOGETHER))
        values, weights, beyond = every[places], (upper.counts[:, None] * lower.counts).ravel()[places], 0
    else:
        ratios = Ratios(upper.rounded, upper.counts, lower.rounded, lower.counts)
        up, low, beyond = ratios.between(least * (1 - _TOGETHER), most)
        values, places = ratios.xs[up] / ratios.ys[low], up * lower.values.size + low
        weights = upper.counts[up] * lower.counts[low]
    order = values.argsort(kind="stable")
    return values[order], places[order], weights[order], beyond


def _clean(
    windows: Sequence[_Window], owners: IntArray, places: IntArray, starts: IntArray, ends: IntArray
) -> BoolArray:
    """Whether the ratios of each cluster are one and the same number."""
    clean = np.ones(starts.size, dtype=bool)
    for k in np.flatnonzero(ends - starts > 1).tolist():
        duel = windows[owners[k]].duel
        clean[k] = len({_ratio(duel, at) for at in places[starts[k] : ends[k]].tolist()}) == 1
    return clean


def _bounded_states(
    duels: Sequence[Duel], rule: HptRule, begins: IntArray, least: IntArray, most: IntArray, crossed: IntArray
) -> StateArray:
    """State of every cell as far as bounds decide it, ``OPEN`` elsewhere; ``begins`` are each duel's cells.

    ``least`` and ``most`` bound twice the number of pairs won, ``crossed`` the pairs that tie across sides.
    """
    limits = [
        _limits(duel, rule, crossed[first:last])
        for duel, (first, last) in zip(duels, pairwise(begins.tolist()), strict=True)
    ]
    surely, possibly = (np.concatenate(column) for column in zip(*limits, strict=True))
    twice_all = np.repeat([2 * duel.upper.n * duel.lower.n for duel in duels], np.diff(begins))
    states = np.full(least.size, OPEN, dtype=np.int8)
    states[(most < possibly) & (twice_all - least < possibly)] = 0
    states[least >= surely] = 1
    states[twice_all - most >= surely] = -1
    return states


def _limits(
    duel: Duel, rule: HptRule, crossed: IntArray
) -> tuple[FloatArray | IntArray, FloatArray | IntArray]:
    """Twice the pairs won from which a side is surely better, and below which it is surely not."""
    assert duel.level is not None
    n, m = duel.upper.n, duel.lower.n
    if duel.exact(rule):
        least = _least_won(n, m, duel.level)
        if rule == "paper":
            # A half pair is cut off, so only an even limit can be met.
            limit = np.full(crossed.size, float(least + least % 2))
            return limit, limit
        # Breaking ties at random turns the conditional distribution into the one without ties, and moves
        # twice the pairs won by at most t^2 / 4 in a group of t; joining two groups of p and q values adds at
        # most p q to that.
        groups = duel.upper.lists[1] + duel.lower.lists[1]
        slack = crossed + sum(count * count // 4 for count in groups)
        return least + slack, least - slack
    z = -normal_quantile(duel.level)
    total = n + m
    margin = 1e-9 * n * m
    if rule == "paper":
        limit = np.full(crossed.size, n * m + 2 * z * (n * m * (total + 1) / 12) ** 0.5)
        return limit + margin, limit - margin
    # p values of one side that equal q of the other add 3 p q (p + q) to the sum of t^3 - t.
    within = duel.upper.ties + duel.lower.ties
    most_ties = np.minimum(within + 3.0 * crossed * (crossed + 1), float(total**3 - total))
    widest, narrowest = (
        np.sqrt(np.maximum(n * m / 12 * (total + 1 - ties / (total * (total - 1))), 0.0))
        for ties in (np.full(crossed.size, within), most_ties)
    )
    return n * m + 1 + 2 * z * widest + margin, n * m + 1 + 2 * z * narrowest - margin


@lru_cache(1024)
def _least_won(n: int, m: int, level: float) -> int:
    """Twice the pairs won at which the test without ties rejects; one past the end when it never does."""
    return int(np.count_nonzero(rank_sum_tails((1,) * (n + m), n)[0] > level))
