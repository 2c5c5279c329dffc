"""The ratio of two medians, by the rank-sum test: the p-value at gamma and its inversion.

It rests on order statistics of all n m ratios x_i / y_j. Sorting those of two samples of 100,000 values would
take 80 GB. With both samples sorted, the number of ratios up to gamma is a sum of m binary searches, so an
interval of gamma that holds the order statistic is narrowed, by interpolating the counts at its ends, until few
enough are left inside to sort.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from speedproof.arrays import ArrayLike, ArrayPair, BoolArray, FloatArray, IntArray
from speedproof.stats import ranks
from speedproof.stats.estimate import OneSided
from speedproof.stats.ranks import (
    RankSum,
    ascending,
    distinct,
    listed,
    merged_places,
    rank_sum,
    rank_sum_normal,
    rank_sum_sd,
    rank_sum_tail,
    sample_ends,
    tie_excess,
)
from speedproof.stats.ratio import Interval, edges, hold, monotone, scaled
from speedproof.stats.scaling import in_common_unit, unbounded
from speedproof.stats.special import normal_quantile

_MOST_COMPILED = 1 << 18  # ratios of one pair, for all of which there is room


def ratio_of_medians(x: ArrayLike, y: ArrayLike, alpha: float, *, at_one: RankSum | None = None) -> Interval:
    """Bounds of the factor between X and Y by the inverted rank-sum test; NaN where a value is negative.

    The rank-sum test of X against gamma Y counts the ratios x_i / y_j above gamma: each bound is an order
    statistic of the n m ratios, the last gamma that is rejected as too small or the first as too large; 0 and
    infinity where there is none. The variant of the test (exact, or normal with continuity and tie correction) is
    the one of gamma = 1. There ties across the samples count; at nearly every other gamma they are gone. So the
    verdict decides on which side of 1 the bound lies, the test without ties across how far. The ratio of two zeros
    is 1.
    """
    x, y = map(ascending, in_common_unit(x, y))  # once for all that follows
    test = rank_sum(x, y) if at_one is None else at_one
    low, high = extreme_ratios(x, y, _needed_ratios(x, y, alpha, test.exact))
    interval = hold(low, high, test.pvalue <= alpha, test.pvalue_less <= alpha)
    negative = (x < 0.0).any(axis=-1) | (y < 0.0).any(axis=-1)
    return Interval(np.where(negative, np.nan, interval.low), np.where(negative, np.nan, interval.high))


def ratio_of_medians_test(
    x: ArrayLike, y: ArrayLike, gamma: float, *, at_one: RankSum | None = None
) -> OneSided:
    """Test the factor between X and Y against gamma: the p-values that the bounds of `ratio_of_medians` invert.

    At a gamma other than 1 a value that may equal gamma times one of the other sample speaks for neither side,
    which can only make a p-value larger.
    """
    below_edge, above_edge = edges(gamma)
    x, y = in_common_unit(x, y)
    test = rank_sum(x, y) if at_one is None else at_one
    defined = np.asarray((x >= 0.0).all(axis=-1) & (y >= 0.0).all(axis=-1))
    shifted: OneSided = test
    if gamma != 1.0:
        n, m = x.shape[-1], y.shape[-1]
        greater = _pairs_greater(*scaled(x, y, above_edge))
        less = _pairs_greater(*scaled(x, y, below_edge)[::-1])
        sd = _without_ties_across(x, y)
        above, below = (rank_sum_normal(count - 0.5 * n * m, sd) for count in (greater, less))
        if test.exact.any():
            tail = rank_sum_tail(n, m)
            above = np.where(test.exact, tail[np.where(test.exact, greater, 0)], above)
            below = np.where(test.exact, tail[np.where(test.exact, less, 0)], below)
        shifted = OneSided(above, below)
    return monotone(gamma, shifted, test, defined)


def _pairs_greater(x: FloatArray, y: FloatArray) -> IntArray:
    """How many pairs have x > y, in n log n."""
    leading = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = (np.broadcast_to(ascending(v), (*leading, v.shape[-1])) for v in (x, y))
    below, _ = merged_places(x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), x_first=True)
    return np.asarray(below.sum(axis=-1).reshape(leading))


def _without_ties_across(x: FloatArray, y: FloatArray) -> FloatArray:
    """Standard deviation of the rank sum when no values tie across the samples."""
    excess = tie_excess(sample_ends(x)) + tie_excess(sample_ends(y))
    return rank_sum_sd(x.shape[-1], y.shape[-1], excess)


def extreme_ratios(x: FloatArray, y: FloatArray, rank: IntArray) -> ArrayPair:
    """The rank-th largest and the rank-th smallest of the ratios x_i / y_j."""
    n, m = x.shape[-1], y.shape[-1]
    x = np.broadcast_to(x, (*rank.shape, n)).reshape(-1, n)
    y = np.broadcast_to(y, (*rank.shape, m)).reshape(-1, m)
    at = np.stack([n * m - rank.ravel(), rank.ravel() - 1], axis=-1)
    places, statistics = np.clip(at, 0, n * m - 1), np.empty(at.shape)
    left = np.ones(len(at), dtype=np.bool_)
    if ranks.COMPILED is not None and n * m <= _MOST_COMPILED:
        left = np.minimum(x.min(axis=1), y.min(axis=1)) <= 0.0
        rest = ~left
        some: FloatArray = np.empty((int(rest.sum()), 2))
        sides = (np.sort(side[rest], axis=1) for side in (x, y))  # row after row
        ranks.COMPILED.ratios(next(sides), n, next(sides), m, places[rest], some)
        statistics[rest] = some
    for i in np.flatnonzero(left).tolist():
        statistics[i] = ratio_order_statistics(x[i], y[i], places[i].tolist())
    statistics = np.where(at < 0, 0.0, np.where(at >= n * m, np.inf, statistics))
    return statistics[:, 0].reshape(rank.shape), statistics[:, 1].reshape(rank.shape)


def _needed_ratios(x: FloatArray, y: FloatArray, alpha: float, exact: BoolArray) -> IntArray:
    """How many ratios must exceed gamma for rejection at risk alpha, when none of them equals gamma."""
    n, m = x.shape[-1], y.shape[-1]
    needed = np.zeros(exact.shape, dtype=np.int64)
    if exact.any():
        needed[exact] = np.argmax(rank_sum_tail(n, m) <= alpha)
    rest = ~exact
    if rest.any():
        sd, half = np.broadcast_to(_without_ties_across(x, y), exact.shape)[rest], 0.5 * n * m
        # The quantile rounds: the p-value itself decides among the three counts around it.
        count = np.ceil(0.5 - normal_quantile(alpha) * sd + half) - 1.0
        for _ in range(2):
            count = count + (rank_sum_normal(count - half, sd) > alpha)
        needed[rest] = np.clip(count, 0, n * m + 1).astype(np.int64)
    return needed


_FEW = 1 << 11
_OFTEN = 4  # times that a value occurs; where none occurs more often each stands alone, and needs no weight
_FLOATS = np.finfo(np.float64)
# Products gamma * y are rounded; ratios this close to the ends of the interval are kept inside it.
_SLACK = 8 * float(_FLOATS.eps)


def ratio_order_statistics(x: FloatArray, y: FloatArray, ranks: Sequence[int]) -> list[float]:
    """The k-th smallest of the ratios x_i / y_j for some k, counted from 0; infinite above 0, 1 of two zeros."""
    xs, ys = (ascending(side if (side > 0.0).all() else side[side > 0.0]) for side in (x, y))
    positive_x, positive_y = xs.size, ys.size
    zeros = (x.size - positive_x) * positive_y
    often = any((side[_OFTEN:] == side[:-_OFTEN]).any() for side in (xs, ys))
    (xs, weight_x), (ys, weight_y) = (
        distinct(side) if often else (side, np.ones(side.size, dtype=np.int64)) for side in (xs, ys)
    )
    ratios = Ratios(xs, weight_x, ys, weight_y)
    ones = (x.size - positive_x) * (y.size - positive_y)
    below_1 = ratios.count(np.searchsorted(xs, ys)) if ones else 0
    statistics = []
    for rank in ranks:
        k = rank - zeros
        if below_1 <= k < below_1 + ones:
            statistics.append(1.0)
            continue
        k -= ones if k >= below_1 else 0
        if k < 0:
            statistics.append(0.0)
        elif k >= positive_x * positive_y:
            statistics.append(math.inf)
        else:
            statistics.append(ratios.order_statistic(k))
    return statistics


class _End(NamedTuple):
    """Of an interval of ratios: a number, for each y how many x lie up to it, and how many ratios these are."""

    gamma: float
    places: IntArray
    upto: int


class Ratios:
    """The ratios of ascending positive values, few of them equal, with their weights."""

    def __init__(self, xs: FloatArray, weight_x: IntArray, ys: FloatArray, weight_y: IntArray) -> None:
        self.xs, self.ys, self.weight_x, self.weight_y = xs, ys, weight_x, weight_y
        self.upto_x = np.concatenate([[0], np.cumsum(weight_x)])
        self.upto_y = np.concatenate([[0], np.cumsum(weight_y)])
        self.weighted = self.upto_x[-1] > xs.size or self.upto_y[-1] > ys.size
        self.few = max(_FEW, (xs.size + ys.size) // 2)
        self._around: tuple[_End, _End] | None = None

    def places(self, gamma: float) -> IntArray:
        """For each y how many distinct x have x <= gamma y."""
        times_y = unbounded(np.multiply, gamma, self.ys)
        _, (places,) = merged_places(self.xs[None], times_y[None], x_first=True)
        return np.asarray(places)

    def count(self, places: IntArray) -> int:
        """How many ratios these are."""
        return int(self.upto_x[places] @ self.weight_y if self.weighted else places.sum())

    def between(self, low: float, high: float) -> tuple[IntArray, IntArray, int]:
        """The places of x and of y of the ratios above one number up to another, and how many are beyond."""
        first, last = self.places(low), self.places(high)
        beyond = int(self.upto_x[-1] * self.upto_y[-1]) - self.count(last)
        return (*listed(first, np.maximum(last, first) - first), beyond)

    def order_statistic(self, k: int) -> float:
        """The k-th smallest ratio."""
        around = self._around  # next to one that was asked for before
        if around is None or not around[0].upto <= k < around[1].upto:
            around = self._everything()
        low, high = around
        # By interpolation, on the other side of k by twice the last miss, so that both ends come near; by halving
        # after two steps that did not.
        aim, before = k + 0.5, [math.inf, math.inf]
        while (inside := self._distinct(low, high) if self.weighted else high.upto - low.upto) > self.few:
            halving = 2 * inside > before[-2]
            share = 0.5 if halving else (aim - low.upto) / (high.upto - low.upto)
            middle = _between(low.gamma, high.gamma, share)
            before.append(inside)
            if low.gamma < middle < high.gamma:
                end = self._end(middle)
                low, high = (low, end) if end.upto > k else (end, high)
                aim = k + 0.5 + math.copysign(2.0 * abs(end.upto - aim), k + 0.5 - end.upto)
            elif halving:
                break
        self._around = low, high
        return self._among(k, math.nextafter(low.gamma * (1.0 - _SLACK), 0.0), high.gamma * (1.0 + _SLACK))

    def _end(self, gamma: float) -> _End:
        places = self.places(gamma)
        return _End(gamma, places, self.count(places))

    @staticmethod
    def _distinct(low: _End, high: _End) -> int:
        """How many ratios of distinct values lie between."""
        return int((high.places - low.places).sum())

    def _everything(self) -> tuple[_End, _End]:
        """An interval up to whose low end there is no ratio, and up to whose high end there are all."""
        least, most = self.xs.item(0) / self.ys.item(-1), self.xs.item(-1) / self.ys.item(0)
        # Ratios beyond all doubles lie beyond the ends, which are known to hold none and all.
        low, high = (min(max(end, 5e-324), float(_FLOATS.max)) for end in (least, most))
        none, every = np.zeros_like(self.weight_y), np.full_like(self.weight_y, self.xs.size)
        return _End(low, none, 0), _End(high, every, int(self.upto_x[-1] * self.upto_y[-1]))

    def _among(self, k: int, low: float, high: float) -> float:
        """The k-th smallest ratio, of which is known that it lies between."""
        first = self.places(low)
        lengths = np.maximum(self.places(high), first) - first
        of_x, of_y = listed(first, lengths)
        ratios = unbounded(np.divide, self.xs[of_x], self.ys[of_y])
        order = np.argsort(ratios)
        reached = self.count(first) + np.cumsum((self.weight_x[of_x] * self.weight_y[of_y])[order])
        return float(ratios[order[np.searchsorted(reached, k, side="right")]])


def _between(low: float, high: float, share: float) -> float:
    """The number at a share of the way from one to another, on the scale of logarithms."""
    return float(unbounded(np.exp2, (1.0 - share) * math.log2(low) + share * math.log2(high)))
