"""The first level of Hierarchical Performance Testing as a step function of the speedup."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from speedproof.protocols.hpt_levels import Duel, HptRule, tested_state
from speedproof.stats.conditional_rank_sum import rank_sum_tails
from speedproof.stats.special import normal_quantile

__all__ = ["FREE", "OPEN", "Steps", "level1_steps"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
StateArray = npt.NDArray[np.int8]

FREE = 2  # too few runs for a test: the medians decide
OPEN = 3  # left to exact arithmetic
_TOGETHER = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """What the rank-sum test says of one benchmark, at every speedup from 1 on.

    Attributes
    ----------
    duel : Duel
        The benchmark.
    start : int
        State just above 1: 1, -1, 0, or ``FREE`` at every speedup.
    points : ndarray of float64, shape (p,)
        Where the state changes, ascending.
    at, after : ndarray of int8, shape (p,)
        State at each point and from there to the next; ``OPEN`` where floating point cannot tell.
    members : tuple of ndarray, length p
        The ratios that meet at each point: their places in the table of ``upper`` over ``lower``.
    """

    duel: Duel
    start: int
    points: FloatArray
    at: StateArray
    after: StateArray
    members: tuple[IntArray, ...]

    def exact(self, point: int) -> set[Fraction]:
        """The different exact ratios of runs that meet at a point."""
        return {_ratio(self.duel, at) for at in self.members[point].tolist()}


def _ratio(duel: Duel, place: int) -> Fraction:
    up, low = divmod(int(place), len(duel.lower))
    return Fraction(duel.upper[up], duel.lower[low])


def level1_steps(duel: Duel, rule: HptRule) -> Steps:
    """Follow the rank-sum test of one benchmark from a speedup of 1 upwards.

    Parameters
    ----------
    duel : Duel
        The benchmark.
    rule : {"exact", "paper"}
        The null distribution.

    Returns
    -------
    Steps
        With the points at which the state really changes, among all ratios of two runs.
    """
    empty = np.empty(0)
    if duel.level is None:
        return Steps(duel, FREE, empty, empty.astype(np.int8), empty.astype(np.int8), ())
    values, places, starts, ends = _ratios(duel)
    met = ends - starts
    clean = _clean(duel, places, starts, ends)
    after = 2 * (values.size - ends)
    # Cells in ascending order: below the first cluster, at it, after it, at the second, ... For each twice
    # the pairs won, at least and at most: different ratios that are judged together make the two differ.
    least = np.append(2 * values.size, np.column_stack((np.where(clean, after + met, after), after)))
    most = np.append(2 * values.size, np.column_stack((np.where(clean, after + met, after + 2 * met), after)))
    crossed = np.append(0, np.column_stack((met, np.zeros_like(met))))
    states = _bounded_states(duel, rule, least, most, crossed)
    firsts, lasts = values[starts], values[ends - 1]
    for cell in np.flatnonzero(states == OPEN).tolist():
        k, inside = divmod(cell, 2)
        if not inside:
            left = float(lasts[k - 1]) if k else 1.0
            right = float(firsts[k]) if k < firsts.size else 2 * left
            states[cell] = tested_state(duel, Fraction((left + right) / 2), rule)[0]
        elif clean[k]:
            states[cell] = tested_state(duel, _ratio(duel, places[starts[k]]), rule)[0]
    moves = (states[1::2] != states[:-1:2]) | (states[1::2] != states[2::2])
    return Steps(
        duel,
        int(states[0]),
        firsts[moves],
        states[1::2][moves],
        states[2::2][moves],
        tuple(places[starts[k] : ends[k]] for k in np.flatnonzero(moves)),
    )


def _ratios(duel: Duel) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """All ratios of runs from 1 on, ascending; their places; and where each cluster starts and ends."""
    table = np.divide.outer(np.array(duel.upper, float), np.array(duel.lower, float)).ravel()
    places = np.flatnonzero(table >= 1 - _TOGETHER)
    places = places[np.argsort(table[places], kind="stable")]
    values = table[places]
    apart = np.flatnonzero(np.diff(values) > _TOGETHER * values[1:]) + 1
    starts = np.concatenate(([0], apart)) if values.size else apart
    return values, places, starts, np.append(starts[1:], values.size)[: starts.size]


def _clean(duel: Duel, places: IntArray, starts: IntArray, ends: IntArray) -> npt.NDArray[np.bool_]:
    """Whether the ratios of each cluster are one and the same number."""
    clean = np.ones(starts.size, dtype=bool)
    width = len(duel.lower)
    for k in np.flatnonzero(ends - starts > 1).tolist():
        met = [
            (duel.upper[at // width], duel.lower[at % width]) for at in places[starts[k] : ends[k]].tolist()
        ]
        top, bottom = met[0]
        clean[k] = all(top * low == up * bottom for up, low in met)
    return clean


def _bounded_states(
    duel: Duel, rule: HptRule, least: IntArray, most: IntArray, crossed: IntArray
) -> StateArray:
    """State of every cell as far as bounds decide it, ``OPEN`` elsewhere.

    ``least`` and ``most`` bound twice the number of pairs won, ``crossed`` the pairs that tie across sides.
    """
    surely, possibly = _limits(duel, rule, crossed)
    twice_all = 2 * len(duel.upper) * len(duel.lower)
    states = np.full(least.size, OPEN, dtype=np.int8)
    states[(most < possibly) & (twice_all - least < possibly)] = 0
    states[least >= surely] = 1
    states[twice_all - most >= surely] = -1
    return states


def _limits(duel: Duel, rule: HptRule, crossed: IntArray) -> tuple[FloatArray, FloatArray]:
    """Twice the pairs won from which a side is surely better, and below which it is surely not."""
    assert duel.level is not None
    n, m = len(duel.upper), len(duel.lower)
    groups = [*Counter(duel.upper).values(), *Counter(duel.lower).values()]
    if duel.exact(rule):
        tail = rank_sum_tails((1,) * (n + m), n).at_least
        # The tail descends; the first index at or below the level, one past the end when there is none.
        limit = np.full(crossed.size, float(np.count_nonzero(tail > duel.level)))
        if rule == "paper":
            # A half pair is cut off, so only an even limit can be met.
            limit += limit % 2
            return limit, limit
        # Breaking ties at random turns the conditional distribution into the one without ties, and moves
        # twice the pairs won by at most t^2 / 4 in a group of t; joining two groups of p and q values adds at
        # most p q to that.
        slack = sum(size**2 // 4 for size in groups) + crossed
        return limit + slack, limit - slack
    z = -normal_quantile(duel.level)
    total = n + m
    margin = 1e-9 * n * m
    if rule == "paper":
        limit = np.full(crossed.size, n * m + 2 * z * (n * m * (total + 1) / 12) ** 0.5)
        return limit + margin, limit - margin
    # p values of one side that equal q of the other add 3 p q (p + q) to the sum of t^3 - t.
    within = sum(size**3 - size for size in groups)
    most_ties = np.minimum(within + 3 * crossed * (crossed + 1), total**3 - total)
    widest, narrowest = (
        np.sqrt(np.maximum(n * m / 12 * (total + 1 - ties / (total * (total - 1))), 0.0))
        for ties in (np.full(crossed.size, within), most_ties)
    )
    return n * m + 1 + 2 * z * widest + margin, n * m + 1 + 2 * z * narrowest - margin
