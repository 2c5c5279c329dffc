"""Order statistics of all n m ratios x_i / y_j without making them all.

Sorting the ratios of two samples of 100,000 values would take 80 GB. With both samples sorted, the number of
ratios up to gamma is a sum of m binary searches, so an interval of gamma that holds the order statistic is
narrowed, by interpolating the counts at its ends, until few enough are left inside to sort.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.ranks import ascending, distinct, listed, merged_places

_FEW = 1 << 11
_OFTEN = 4  # times that a value occurs; where none occurs more often each stands alone, and needs no weight
_SOME = 1 << 8  # values of a side whose ratios tell about where one lies
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


def median_ratio(x: FloatArray, y: FloatArray) -> float:
    """The median of the ratios, of two in the middle their geometric mean."""
    count = x.size * y.size
    lower, upper = ratio_order_statistics(x, y, ((count - 1) // 2, count // 2))
    return lower if lower == upper else math.sqrt(lower) * math.sqrt(upper)


class _Interval(NamedTuple):
    """Two numbers, each with the places of y up to it and how many ratios these are."""

    low: float
    at_low: IntArray
    below: int
    high: float
    at_high: IntArray
    upto: int


class Ratios:
    """The ratios of ascending positive values, few of them equal, with their weights."""

    def __init__(self, xs: FloatArray, weight_x: IntArray, ys: FloatArray, weight_y: IntArray) -> None:
        self.xs, self.ys, self.weight_x, self.weight_y = xs, ys, weight_x, weight_y
        self.upto_x = np.concatenate([[0], np.cumsum(weight_x)])
        self.upto_y = np.concatenate([[0], np.cumsum(weight_y)])
        self.weighted = self.upto_x[-1] > xs.size or self.upto_y[-1] > ys.size
        self.few = max(_FEW, (xs.size + ys.size) // 2)
        self._around: _Interval | None = None
        self._last: tuple[int, IntArray, FloatArray] | None = None  # ratios that were sorted

    def places(self, gamma: float) -> IntArray:
        """For each y how many distinct x have x <= gamma y."""
        with np.errstate(over="ignore", under="ignore"):
            times_y = gamma * self.ys
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
        if self._last is not None and self._last[0] <= k < self._last[1][-1]:
            return float(self._last[2][np.searchsorted(self._last[1], k, side="right")])
        around = self._around  # next to one that was asked for before
        if around is None or not around.below <= k < around.upto:
            around = self._near(k)
        low, at_low, below, high, at_high, upto = around
        # By interpolation, on the other side of k by twice the last miss, so that both ends come near; by halving
        # after two steps that did not.
        aim, before = k + 0.5, [math.inf, math.inf]
        while (inside := int((at_high - at_low).sum()) if self.weighted else upto - below) > self.few:
            halving = 2 * inside > before[-2]
            middle = _between(low, high, 0.5 if halving else (aim - below) / (upto - below))
            before.append(inside)
            if low < middle < high:
                at = self.places(middle)
                reached = self.count(at)
                if reached > k:
                    high, at_high, upto = middle, at, reached
                else:
                    low, at_low, below = middle, at, reached
                aim = k + 0.5 + math.copysign(2.0 * abs(reached - aim), k + 0.5 - reached)
            elif halving:
                break
        self._around = _Interval(low, at_low, below, high, at_high, upto)
        return self._among(k, math.nextafter(low * (1.0 - _SLACK), 0.0), high * (1.0 + _SLACK))

    def _near(self, k: int) -> _Interval:
        """An interval that holds the k-th smallest ratio, between two of those of some values of each side."""
        interval = self._everything()
        guesses, share, step = self._some(), (k + 0.5) / interval.upto, 0.0
        while 0.0 < share < 1.0 and int((interval.at_high - interval.at_low).sum()) > self.few:
            guess = float(guesses[int(share * guesses.size)])
            if not interval.low < guess < interval.high:
                break
            at = self.places(guess)
            reached = self.count(at)
            if reached > k:
                interval = interval._replace(high=guess, at_high=at, upto=reached)
            else:
                interval = interval._replace(low=guess, at_low=at, below=reached)
            off = (k + 0.5 - reached) / float(self.upto_x[-1] * self.upto_y[-1])
            if off * step < 0.0:
                break
            step = math.copysign(4.0 * max(abs(off), abs(step)), off)
            share += step
        return interval

    def _some(self) -> FloatArray:
        """Ratios in ascending order that stand for all."""
        shares = np.arange(min(_SOME, math.isqrt(self.xs.size), math.isqrt(self.ys.size))) + 0.5
        shares /= shares.size
        x, y = (
            values[np.searchsorted(upto, shares * upto[-1], side="right") - 1]
            for values, upto in ((self.xs, self.upto_x), (self.ys, self.upto_y))
        )
        with np.errstate(over="ignore", under="ignore"):
            return np.sort((x[:, None] / y).ravel())

    def _everything(self) -> _Interval:
        """An interval up to whose low end there is no ratio, and up to whose high end there are all."""
        with np.errstate(over="ignore", under="ignore"):
            least, most = float(self.xs[0] / self.ys[-1]), float(self.xs[-1] / self.ys[0])
        # Ratios beyond all doubles lie beyond the ends, which are known to hold none and all.
        low, high = (min(max(end, 5e-324), float(_FLOATS.max)) for end in (least, most))
        none, every = np.zeros_like(self.weight_y), np.full_like(self.weight_y, self.xs.size)
        return _Interval(low, none, 0, high, every, int(self.upto_x[-1] * self.upto_y[-1]))

    def _among(self, k: int, low: float, high: float) -> float:
        """The k-th smallest ratio, of which is known that it lies between."""
        first = self.places(low)
        lengths = np.maximum(self.places(high), first) - first
        of_x, of_y = listed(first, lengths)
        with np.errstate(over="ignore", under="ignore"):
            ratios = self.xs[of_x] / self.ys[of_y]
        order = np.argsort(ratios)
        below = self.count(first)
        reached = below + np.cumsum((self.weight_x[of_x] * self.weight_y[of_y])[order])
        self._last = below, reached, ratios[order]
        return float(self._last[2][np.searchsorted(reached, k, side="right")])


def _between(low: float, high: float, share: float) -> float:
    """The number at a share of the way from one to another, on the scale of logarithms."""
    with np.errstate(over="ignore"):
        return float(np.exp2((1.0 - share) * math.log2(low) + share * math.log2(high)))
