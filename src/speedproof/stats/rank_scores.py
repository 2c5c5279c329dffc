"""The studentised rank test's scores of many pairs at once; of large pairs made where they are asked.

Of :mod:`speedproof.stats.superiority`, which see.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, ArrayPair, BoolArray, FloatArray, IntArray
from speedproof.stats.dependence import drifting
from speedproof.stats.permutation import (
    Null,
    Spread,
    least_pvalue,
    null_distribution,
    of_unlike,
    one_order,
    studentised,
)
from speedproof.stats.ranks import ascending, listed, merged_places
from speedproof.stats.ratio import scaled
from speedproof.stats.special import decreasing_roots

_LISTED = 1 << 9  # ratios that are listed near a bound,
_SHARE_LISTED = 1 / 64  # or as many as this share of the values, where that is more
_TOO_MANY = 64  # times as many
_LARGEST = math.log(1.7e308)
_FEW_DISTINCT = 0.5
_MOST = 1e9  # beyond any score but that of separation, which is infinite
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
        """The sizes of X and Y."""
        return self.x.shape[1], self.y.shape[1]

    def rows(self, which: slice | BoolArray) -> Pairs:
        """A selection of rows."""
        return Pairs(self.x[which], self.y[which], self.step[which], self.inflation[which], ())


def pairs_of(x: ArrayLike, y: ArrayLike, steps: ArrayLike, inflation: ArrayLike) -> Pairs:
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

    def rows(self, at: IntArray) -> Score:
        """The score of a selection of rows."""
        parts = (self.inflation, self.effective, self.least)
        return Score(self.null, self.independent, *(part[at] for part in parts))

    def _columns(self, extra: int) -> list[FloatArray]:
        parts = (self.inflation[:, 0], self.inflation[:, 1], self.effective)
        return [part.reshape(part.shape + (1,) * extra) for part in parts]

    def pvalue(self, score: FloatArray) -> FloatArray:
        """P[a score at least as large], at least that of one order."""
        return np.maximum(self.null.pvalue(score), self.least)

    def critical(self, alpha: float) -> FloatArray:
        """The least score that is rejected; NaN where none is."""
        return np.where(self.least <= alpha, self.null.critical(alpha), np.nan)


def scores_of(pairs: Pairs) -> list[tuple[BoolArray, Score]]:
    """Rows that share a null distribution: independent ones, those with inflated variances; none of one run."""
    n, m = pairs.sizes
    if min(n, m) < 2:
        return []
    dependent: BoolArray = np.asarray((pairs.inflation > 1.0).any(axis=1))
    parts = []
    for rows, independent in ((np.logical_not(dependent), True), (dependent, False)):
        if rows.any():
            inflation = pairs.inflation[rows]
            sizes = np.array([n, m]) / inflation
            least = np.full(inflation.shape[0], least_pvalue(n, m))
            if not independent:
                none = drifting(n, m, inflation.max(axis=1))
                orders = np.exp(-_log_orders(sizes[:, 0], sizes[:, 1]))
                least = np.where(none, 0.5, np.maximum(orders, of_unlike(sizes.min(axis=1))))
            null = null_distribution(n, m, independent)
            score = Score(null, independent, inflation, sizes.min(axis=1), least)
            parts.append((rows, score))
    return parts


_OUTLYING = 20  # of this many values one at either end is ignored as an outlier
BEYOND_DRIFT = one_order(3, 3)
"""The p-value of a difference that exceeds what drift explains."""


def beyond_drift(pairs: Pairs, stepped: bool = True) -> ArrayPair:
    """Between which ratios drift may explain the difference: beyond, the gap exceeds what order explains.

    Of a side whose neighbours correlate by r, order explains the share r of the spread: the range, as a factor, to
    the power of r, without one value in twenty at either end. 0 and infinity, so that nothing lies beyond, where
    the runs do not drift.
    """
    n, m = pairs.sizes
    low, high = np.zeros(len(pairs.x)), np.full(len(pairs.x), np.inf)
    factor = pairs.inflation.max(axis=1)
    rows = np.flatnonzero(drifting(n, m, factor))
    if not rows.size:
        return low, high
    half = 0.5 * pairs.step[rows] if stepped else np.zeros_like(pairs.step[rows])
    (x_min, x_max), (y_min, y_max) = (
        (np.maximum(side[:, out] - width, 0.0), side[:, -1 - out] + width)
        for side, out, width in (
            (ascending(pairs.x[rows]), n // _OUTLYING, half[:, 0]),
            (ascending(pairs.y[rows]), m // _OUTLYING, half[:, 1]),
        )
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        likeness = (factor[rows] - 1.0) / (factor[rows] + 1.0)
        drift = np.maximum(x_max / x_min, y_max / y_min) ** likeness
        ends = x_min / y_max / drift, x_max / y_min * drift
    defined = np.isfinite(drift)
    low[rows], high[rows] = np.where(defined, ends[0], 0.0), np.where(defined, ends[1], np.inf)
    return low, high


def _log_orders(n: FloatArray, m: FloatArray) -> FloatArray:
    """The logarithm of the number of orders of n and m values, which need not be whole."""
    log_factorial = np.vectorize(lambda k: math.lgamma(k + 1.0), otypes=[np.float64])
    return np.asarray(log_factorial(n + m) - log_factorial(n) - log_factorial(m))


class _Side:
    """Sorted samples, each distinct value once where values repeat: how many are below each place, its weights."""

    def __init__(self, samples: FloatArray) -> None:
        self.size = samples.shape[1]
        self.values = ascending(samples)
        self.upto: FloatArray | None = None
        self.weight: FloatArray | None = None
        ends = np.ones(samples.shape, dtype=np.bool_)
        np.not_equal(self.values[:, 1:], self.values[:, :-1], out=ends[:, :-1])
        most = int(ends.sum(axis=1).max())
        if most <= _FEW_DISTINCT * self.size:
            # Rows with fewer distinct values are filled up with their largest one, of no weight.
            row, at = np.nonzero(ends)
            place = np.arange(row.size) - np.searchsorted(row, row)
            values = np.repeat(self.values[:, -1:], most, axis=1)
            values[row, place] = self.values[row, at]
            upto = np.full((samples.shape[0], most + 1), float(self.size))
            upto[:, 0], upto[row, place + 1] = 0.0, at + 1.0
            self.values, self.upto, self.weight = values, upto, np.diff(upto, axis=1)

    def quantile(self, share: float) -> FloatArray:
        """A value of each sample with about that share of the others below."""
        at = int(share * (self.size - 1))
        if self.upto is None:
            return self.values[:, at]
        places = np.argmax(self.upto[:, 1:] > at, axis=1)
        return np.take_along_axis(self.values, places[:, None], axis=1)[:, 0]

    def counts(self, places: IntArray, row: int | None = None) -> FloatArray:
        """How many values are before places, in each row or in one."""
        if self.upto is None:
            return places.astype(np.float64)
        return self.upto[row][places] if row is not None else np.take_along_axis(self.upto, places, axis=1)

    def sums(self, counts: FloatArray) -> ArrayPair:
        """The sum and the sum of squares of a count for every value.

        Squares are taken around the mean, so that nothing cancels when nearly all pairs are won.
        """
        weighted = counts if self.weight is None else counts * self.weight
        total = weighted.sum(axis=1)
        centred = counts - (total / self.size)[:, None]
        around = centred if self.weight is None else centred * self.weight
        return total, np.einsum("ij,ij->i", around, centred) + total**2 / self.size


class Search:
    """Pairs of samples with too many ratios to sort: the test is made where it is asked."""

    def __init__(self, pairs: Pairs, score: Score) -> None:
        self.pairs, self.scorer = pairs, score
        self.x, self.y = _Side(pairs.x), _Side(pairs.y)
        self.listed = max(float(_LISTED), _SHARE_LISTED * sum(pairs.sizes))
        self.read = {sign: self._read(sign) for sign in (-1.0, 1.0)}

    def _read(self, sign: float) -> ArrayPair:
        """The values that the steps leave possible: the least x and greatest y (sign -1), or the reverse (+1)."""
        half = sign * 0.5 * self.pairs.step
        if not half.any() and min(self.x.values[:, 0].min(), self.y.values[:, 0].min()) > 0.0:
            return self.x.values, self.y.values
        return np.maximum(self.x.values + half[:, :1], 0.0), np.maximum(self.y.values - half[:, 1:], 0.0)

    def _places(self, gamma: FloatArray, sign: float) -> tuple[IntArray, IntArray]:
        """How many gamma y are below each x, and x below each y; ties count for X with a sign of +1 only."""
        x, y = self.read[sign]
        x, times_y = scaled(x, y, gamma[:, None])
        return merged_places(x, times_y, x_first=sign < 0.0)

    def _spread(self, places: tuple[IntArray, IntArray]) -> Spread:
        won, square_x = self.x.sums(self.y.counts(places[0]))
        _, square_y = self.y.sums(self.x.counts(places[1]))
        return Spread(won, square_x, square_y)

    def score(self, gamma: FloatArray, sign: float) -> FloatArray:
        """The score at gamma; ties count against X (sign -1) or for it (+1)."""
        return self.scorer.of(self._spread(self._places(gamma, sign)))

    @cached_property
    def _range(self) -> ArrayPair:
        """Logarithms of ratios between which the typical one probably lies, from quantiles."""
        ends = []
        for share in (0.45, 0.55):
            x, y = (side.quantile(at) for side, at in ((self.x, share), (self.y, 1.0 - share)))
            x, y = (np.log(np.where(quantile > 0.0, quantile, np.nan)) for quantile in (x, y))
            ends.append(x - y)
        defined = np.isfinite(ends[0]) & np.isfinite(ends[1])
        return np.where(defined, ends[0] - 1e-9, 0.0), np.where(defined, ends[1] + 1e-9, 1.0)

    @cached_property
    def _few(self) -> FloatArray:
        """The width of an interval of about as many ratios as are listed."""
        start, end = self._range
        ratios = self.x.values.shape[1] * self.y.values.shape[1]
        return np.asarray(self.listed * (end - start) / (0.1 * ratios))

    def bounds(self, alpha: float) -> ArrayPair:
        """The last gammas that are rejected as too small, and the first that are rejected as too large."""
        critical = min(self.scorer.null.critical(alpha), _MOST)  # infinite where only separation rejects
        return self._crossings(-1.0, critical), self._crossings(1.0, critical)

    def _crossings(self, sign: float, critical: float) -> FloatArray:
        """A bound of every pair: first a narrow interval, then a walk through the ratios in it."""
        places: dict[bytes, tuple[IntArray, IntArray]] = {}

        def at(gamma: FloatArray) -> tuple[IntArray, IntArray]:
            key = gamma.tobytes()
            if key not in places:
                for old in list(places)[:-1]:  # of the last two one is needed again, mostly both
                    del places[old]
                places[key] = self._places(gamma, sign)
            return places[key]

        def beyond(log_gamma: FloatArray) -> FloatArray:
            score = self.scorer.of(self._spread(at(_exp(log_gamma))))
            return np.clip(score + sign * critical, -_MOST, _MOST)

        start, end = decreasing_roots(beyond, *self._range, self._few)
        # Where every gamma is rejected as too small, or as too large, the bound is infinite, or 0.
        low = np.where(end < math.inf, _exp(start), math.inf)
        high = np.where(start > -math.inf, np.where(end < _LARGEST, _exp(end), math.inf), 0.0)
        bound = np.where(sign < 0.0, low, high)
        walked = (low > 0.0) & (low < high) & (high < math.inf)
        low, high = np.where(walked, low, 1.0), np.where(walked, high, 1.0)
        upto, downto = at(low), at(high)
        spread = self._spread(upto)
        too_many = np.zeros(walked.shape, dtype=np.bool_)
        walks = list[tuple[FloatArray, ...]]()
        for row in np.flatnonzero(walked).tolist():
            if np.maximum(upto[0][row] - downto[0][row], 0).sum() > _TOO_MANY * self.listed:  # some tie
                too_many[row] = True
                continue
            last = downto[0][row]
            crossed = listed(last, np.maximum(upto[0][row] - last, 0))[::-1]
            begin = Spread(*(sums[row] for sums in (spread.won, spread.square_x, spread.square_y)))
            walks.append(self._walk(row, sign, (low[row], high[row]), crossed, begin))
        walking = np.flatnonzero(walked & ~too_many)
        if walks:
            all_ends, *steps = zip(*walks, strict=True)
            sizes = [ends.size - 1 for ends in all_ends]
            scores = self.scorer.rows(np.repeat(walking, sizes)).of(Spread(*map(np.concatenate, steps)))
            rejected = np.split(-sign * scores >= critical, np.cumsum(sizes)[:-1])
            for row, ends, beyond_it in zip(walking.tolist(), all_ends, rejected, strict=True):
                kept = np.flatnonzero((ends[1:] > ends[:-1] * (1.0 + ROUNDING)) & ~beyond_it)
                if sign < 0:
                    bound[row] = ends[kept[0]] if kept.size else ends[-1]
                else:
                    bound[row] = ends[kept[-1] + 1] if kept.size else ends[0]
        if too_many.any():
            precise = decreasing_roots(beyond, np.where(too_many, start, 0.0), np.where(too_many, end, 1.0))
            bound = np.where(too_many, _exp(precise[0 if sign < 0.0 else 1]), bound)
        return bound

    def _walk(
        self,
        row: int,
        sign: float,
        between: tuple[float, float],
        crossed: tuple[IntArray, IntArray],
        begin: Spread,
    ) -> tuple[FloatArray, ...]:
        """The ratios of one pair between two gammas, and the sums at each step from the spread at the first."""
        x, y = (values[row] for values in self.read[sign])
        x, y = x[crossed[0]], y[crossed[1]]
        ratios = np.divide(x, y, out=np.ones_like(x), where=y > 0.0)
        order = np.argsort(ratios, kind="stable")
        i, j = crossed[0][order], crossed[1][order]
        weight_x, weight_y = _weight(self.x, row, i), _weight(self.y, row, j)
        # The i-th x had all of the y up to the j-th below it and loses the j-th, which gains the i-th x.
        of_x = self.y.counts(j, row) ** 2 - self.y.counts(j + 1, row) ** 2
        of_y = self.x.counts(i + 1, row) ** 2 - self.x.counts(i, row) ** 2
        lost = np.broadcast_to(weight_x * weight_y, ratios.shape)
        steps = (
            start + np.concatenate([[0.0], np.cumsum(change)])
            for start, change in (
                (begin.won, -lost),
                (begin.square_x, weight_x * of_x),
                (begin.square_y, weight_y * of_y),
            )
        )
        return np.concatenate([[between[0]], ratios[order], [between[1]]]), *steps


def _exp(logarithm: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.minimum(logarithm, _LARGEST)))


def _weight(side: _Side, row: int, places: IntArray) -> FloatArray | float:
    return 1.0 if side.weight is None else side.weight[row][places]
