"""The studentised rank test of many pairs at once, at gamma = 1 and between each two neighbouring ratios x / y.

Of :mod:`speedproof.stats.superiority`, which see.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray
from speedproof.stats.dependence import drifting
from speedproof.stats.permutation import Null, Spread, null_distribution, one_order, studentised
from speedproof.stats.ratio import edges

ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
"""Ratios that differ by less, relatively, may be equal."""


class Pairs(Struct, frozen=True, eq=False):
    """Samples of equal sizes, flattened to rows, with what the test needs of each row."""

    x: FloatArray
    y: FloatArray
    step: FloatArray
    inflation: FloatArray
    shape: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, int]:
        """Of X and of Y."""
        return self.x.shape[1], self.y.shape[1]

    def rows(self, which: slice | BoolArray) -> Pairs:
        """Some of them."""
        return Pairs(self.x[which], self.y[which], self.step[which], self.inflation[which], ())


def pairs_of(x: npt.ArrayLike, y: npt.ArrayLike, steps: npt.ArrayLike, inflation: npt.ArrayLike) -> Pairs:
    """Samples along the last axis, in rows."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    step, factors = np.asarray(steps, dtype=np.float64), np.asarray(inflation, dtype=np.float64)
    shape = np.broadcast_shapes(x.shape[:-1], y.shape[:-1], step.shape[:-1], factors.shape[:-1])

    def rows(a: FloatArray) -> FloatArray:
        return np.broadcast_to(a, (*shape, a.shape[-1])).reshape(-1, a.shape[-1])

    return Pairs(rows(x), rows(y), rows(step), rows(factors), shape)


class Score(Struct, frozen=True, eq=False):
    """The null distribution of some rows, and how their outcomes are ordered by it."""

    null: Null
    independent: bool
    inflation: FloatArray
    effective: FloatArray
    least: FloatArray

    def of(self, spread: Spread) -> FloatArray:
        """The score of states, shape (rows, ...).

        Between two ratios no x equals a gamma y, and which of two equal values of one side is the larger one does
        not matter: any order of them leaves the same sums, so the distribution without ties is theirs.
        """
        columns = self._columns(np.ndim(spread.won) - 1)
        n, m = self.null.n, self.null.m
        return self.null.score(studentised(spread, n, m, (columns[0], columns[1])), columns[2])

    def row(self, at: int) -> Score:
        """That of one row."""
        parts = (self.inflation, self.effective, self.least)
        return Score(self.null, self.independent, *(part[at : at + 1] for part in parts))

    def _columns(self, extra: int) -> list[FloatArray]:
        parts = (self.inflation[:, 0], self.inflation[:, 1], self.effective)
        return [part.reshape(part.shape + (1,) * extra) for part in parts]

    def pvalue(self, score: FloatArray) -> FloatArray:
        """P[a score at least as large], at least that of one order."""
        return np.maximum(self.null.pvalue(score), self.least)

    def rejects(self, score: FloatArray, alpha: float) -> BoolArray:
        """Whether the p-value of a score, shape (rows, ...), is at most alpha."""
        critical = self.null.critical(alpha)
        possible = (self.least <= alpha).reshape(self.least.shape + (1,) * (score.ndim - 1))
        return np.asarray((score >= critical) & possible)


def scores_of(pairs: Pairs) -> list[tuple[BoolArray, Score]]:
    """Rows that share a null distribution: independent ones, those with inflated variances; none of one run."""
    n, m = pairs.sizes
    if min(n, m) < 2:
        return []
    dependent: BoolArray = np.asarray((pairs.inflation > 1.0).any(axis=1))
    found = []
    for rows, independent in ((np.logical_not(dependent), True), (dependent, False)):
        if rows.any():
            inflation = pairs.inflation[rows]
            sizes = np.array([n, m]) / inflation
            least = np.full(inflation.shape[0], one_order(n, m))
            if not independent:
                none = drifting(n, m, inflation.max(axis=1))
                least = np.where(none, 0.5, np.exp(-_log_orders(sizes[:, 0], sizes[:, 1])))
            null = null_distribution(n, m, independent)
            score = Score(null, independent, inflation, sizes.min(axis=1), least)
            found.append((rows, score))
    return found


BEYOND_DRIFT = one_order(3, 3)
"""The p-value of a difference that exceeds the drift of both sides."""


def beyond_drift(pairs: Pairs, stepped: bool = True) -> tuple[FloatArray, FloatArray]:
    """Between which ratios drift may explain the difference: beyond, the gap exceeds the range of either side.

    0 and infinity, so that nothing lies beyond, where the runs do not drift.
    """
    n, m = pairs.sizes
    half = 0.5 * pairs.step if stepped else np.zeros_like(pairs.step)
    (x_min, x_max), (y_min, y_max) = (
        (np.maximum(side.min(axis=1) - own, 0.0), side.max(axis=1) + own)
        for side, own in ((pairs.x, half[:, 0]), (pairs.y, half[:, 1]))
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        drift = np.maximum(x_max / x_min, y_max / y_min)
        low, high = x_min / y_max / drift, x_max / y_min * drift
    known = drifting(n, m, pairs.inflation.max(axis=1)) & np.isfinite(drift)
    return np.where(known, low, 0.0), np.where(known, high, np.inf)


def _log_orders(n: FloatArray, m: FloatArray) -> FloatArray:
    """The logarithm of the number of orders of n and m values, which need not be whole."""
    log_factorial = np.vectorize(lambda k: math.lgamma(k + 1.0), otypes=[np.float64])
    return np.asarray(log_factorial(n + m) - log_factorial(n) - log_factorial(m))


class States(Struct, frozen=True, eq=False):
    """What the test says between each two neighbouring ratios."""

    edges: FloatArray  # 0, the ratios in ascending order, infinity: state k lies between edges k and k + 1
    scores: FloatArray  # of each state
    real: BoolArray  # whether gamma can lie there: between equal ratios, or such that may be equal, it cannot

    def low(self, rejected: BoolArray) -> FloatArray:
        """The end of the rejected states that start at gamma = 0."""
        first = np.argmax(self.real & ~rejected, axis=1)
        return np.take_along_axis(self.edges, first[:, None], axis=1)[:, 0]

    def high(self, rejected: BoolArray) -> FloatArray:
        """The start of the rejected states that end at infinity."""
        count = self.scores.shape[1]
        last = count - 1 - np.argmax((self.real & ~rejected)[:, ::-1], axis=1)
        return np.take_along_axis(self.edges, last[:, None] + 1, axis=1)[:, 0]

    def least_upto(self, gamma: float) -> FloatArray:
        """The least score of a state that begins at gamma or below."""
        inside = self.real & (self.edges[:, :-1] <= edges(gamma)[1])
        return np.asarray(np.where(inside, self.scores, np.inf).min(axis=1))

    def greatest_from(self, gamma: float) -> FloatArray:
        """The greatest score of a state that ends at gamma or above."""
        inside = self.real & (self.edges[:, 1:] >= edges(gamma)[0])
        return np.asarray(np.where(inside, self.scores, -np.inf).max(axis=1))


def _states(ratios: FloatArray, n: int, m: int, score: Score) -> States:
    """Walk through the ratios of ascending x (rows) to descending y (columns), shape (rows, n, m)."""
    count = ratios.shape[0]
    flat = ratios.reshape(count, n * m)
    order = np.argsort(flat, axis=1)
    edges = np.zeros((count, n * m + 2))
    edges[:, 1:-1] = np.take_along_axis(flat, order, axis=1)
    edges[:, -1] = np.inf
    # Before the i-th x falls below the j-th y, m - j of the y were below it and i of the x below that y.
    won, square_x, square_y = (np.empty((count, n * m + 1)) for _ in range(3))
    won[:] = n * m - np.arange(n * m + 1.0)
    square_x[:, 0], square_y[:, 0] = n * m * m, 0.0
    np.cumsum(1.0 - 2.0 * (m - order % m), axis=1, out=square_x[:, 1:])
    square_x[:, 1:] += n * m * m
    np.cumsum(1.0 + 2.0 * (order // m), axis=1, out=square_y[:, 1:])
    real = np.empty((count, n * m + 1), dtype=np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):
        real[:] = edges[:, 1:] > edges[:, :-1] * (1.0 + ROUNDING)
    real[:, [0, -1]] = True  # below every ratio and above, where these are 0 or infinite, too
    return States(edges, score.of(Spread(won, square_x, square_y)), real)


def _ratios(pairs: Pairs, sign: float) -> FloatArray:
    """The least (sign -1) or greatest (+1) ratios that the steps leave possible; that of two zeros is 1."""
    x = np.sort(pairs.x, axis=1) + sign * 0.5 * pairs.step[:, :1]
    y = np.sort(pairs.y, axis=1)[:, ::-1] - sign * 0.5 * pairs.step[:, 1:]
    x, y = np.maximum(x, 0.0), np.maximum(y, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = x[:, :, None] / y[:, None, :]
    return ratios if x.all() else np.where(np.isnan(ratios), 1.0, ratios)


def both_states(pairs: Pairs, score: Score) -> tuple[States, States]:
    """States for the lower bound and for the upper one, mostly the same."""
    n, m = pairs.sizes
    low = _states(_ratios(pairs, -1.0), n, m, score)
    return low, _states(_ratios(pairs, 1.0), n, m, score) if pairs.step.any() else low
