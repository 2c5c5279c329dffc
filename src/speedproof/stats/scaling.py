"""Arithmetic at the ends of the range of doubles, and the step in which values were read.

Samples are multiplied by a power of two, which loses nothing. Squares overflow above 1e154 and sums above 1e308;
squares below 1e-162 vanish. What does not depend on the unit is computed in one where neither happens. The step is
a clock's tick, or the digits that a program prints.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from speedproof.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from speedproof.stats.ranks import distinct, sample_ends

MOST_APART = 1e100
"""How much larger one sample may be than another for densities of both in one unit to be doubles."""
NORMAL_DEVIATION = 1.4826
"""The deviation of normal values in median absolute deviations: 1 over the normal quantile of .75."""
_USUAL = (1e-60, 1e60)
_HALF = 4  # bits of headroom: the sum or the difference of two values


def shifts(largest: ArrayLike) -> IntArray:
    """The power of two that makes values of usual size; 0 for those whose fourth powers stay within range."""
    largest = np.asarray(largest)
    usual_size = (largest > _USUAL[0]) & (largest < _USUAL[1])
    return np.where(usual_size, 0, -np.frexp(largest)[1])  # of 0, too, it is 0


def exponent(*samples: ArrayLike) -> int:
    """The power of two by which samples have to be multiplied to be of usual size; 0 when they are."""
    largest = max(float(np.abs(sample).max(initial=0.0)) for sample in samples)
    return 0 if _USUAL[0] < largest < _USUAL[1] else int(shifts(largest))


def in_common_unit(*samples: ArrayLike) -> tuple[FloatArray, ...]:
    """Rows of samples times one power of two, where the largest value of a row is not of usual size.

    In that unit products with factors near 1 stay within range.
    """
    arrays = tuple(np.asarray(sample, dtype=np.float64) for sample in samples)
    largest = functools.reduce(np.maximum, (np.abs(a).max(axis=-1, initial=0.0) for a in arrays))
    if ((largest > _USUAL[0]) & (largest < _USUAL[1])).all():
        return arrays
    return tuple(np.ldexp(a, shifts(largest)[..., None]) for a in arrays)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def unbounded(operation: Callable[..., Any], *values: ArrayLike) -> FloatArray:
    """The result of an operation, which may be infinite or undefined."""
    return np.asarray(operation(*values))


def usual(x: ArrayLike) -> FloatArray:
    """A sample scaled by a power of two to a usual magnitude, if needed."""
    return in_common_unit(x)[0]


def with_headroom(*samples: ArrayLike) -> tuple[FloatArray, ...]:
    """Samples divided by 16, if sums or differences of two values might overflow."""
    arrays = tuple(np.asarray(sample, dtype=np.float64) for sample in samples)
    if max(float(np.abs(a).max(initial=0.0)) for a in arrays) < 1e307:
        return arrays
    return tuple(np.ldexp(a, -_HALF) for a in arrays)


def mean(x: ArrayLike) -> float:
    """The mean of a sample; it exists however large the values are."""
    shift = exponent(x)
    return float(np.ldexp(np.ldexp(np.asarray(x, dtype=np.float64), shift).mean(), -shift))


def median(x: ArrayLike) -> float:
    """The median of a sample; it exists however large the values are."""
    values = np.asarray(x, dtype=np.float64)
    (scaled,) = with_headroom(values)
    return float(middle(values) if scaled is values else np.ldexp(middle(scaled), _HALF))


_FEW = 1 << 8  # values, of which it is quicker to sort all
_ONE_THREAD = 1 << 13  # values of a product for which BLAS wakes no other threads


def inner(x: FloatArray, weights: FloatArray) -> FloatArray:
    """The sum of products along the last axis; of many values in parts, as threads cost more than they save."""
    cuts = range(_ONE_THREAD, x.shape[-1], _ONE_THREAD)
    if not cuts:
        return np.asarray(x @ weights)
    parts = (slice(end - _ONE_THREAD, end) for end in (*cuts, cuts[-1] + _ONE_THREAD))
    return np.asarray(sum(x[..., part] @ weights[part] for part in parts))


def middle(x: FloatArray) -> FloatArray:
    """The median of usual values along the last axis, without the modules that `np.median` imports."""
    n = x.shape[-1]
    places = (n - 1) // 2, n // 2
    ordered = np.sort(x, axis=-1) if n <= _FEW else np.partition(x, places, axis=-1)
    return np.asarray(ordered[..., places[0] : places[1] + 1].mean(axis=-1))


def location_ratio(location: Callable[[FloatArray], float], x: ArrayLike, y: ArrayLike) -> float:
    """The ratio of the locations of two samples: an observed speedup.

    NaN where a ratio means nothing: the location of X is negative, that of Y not positive. Infinite beyond
    the largest double.
    """
    values = [np.asarray(sample, dtype=np.float64) for sample in (x, y)]
    shifts = [exponent(location(v)) for v in values]  # very small doubles have few digits
    above, below = (location(unbounded(np.ldexp, v, shift)) for v, shift in zip(values, shifts, strict=True))
    if not (below > 0.0 and above >= 0.0):
        return math.nan
    return float(unbounded(np.ldexp, np.divide(above, below), shifts[1] - shifts[0]))


def location_ratios(
    location: Callable[[FloatArray], float],
    x: FloatArray,
    y: FloatArray,
    odd: Callable[[FloatArray, FloatArray], float] | None = None,
) -> list[float]:
    """The same for rows of samples; ``odd`` says what is observed of a row with a zero or negative location."""
    usual = np.maximum(np.abs(x).max(axis=-1), np.abs(y).max(axis=-1)) < _USUAL[1]
    some = (x, y) if usual.all() else (np.where(usual[:, None], v, np.nan) for v in (x, y))
    above, below = (middle(v) if location is median else v.mean(axis=-1) for v in some)
    usual = np.minimum(above, below) > _USUAL[0]
    ratios = np.divide(above, below, out=np.full_like(above, np.nan), where=usual)
    for i in np.flatnonzero(~usual).tolist():
        ratios[i] = odd(x[i], y[i]) if odd else location_ratio(location, x[i], y[i])
    return [float(ratio) for ratio in ratios]


_COARSE = 0.25


def last_place(value: float) -> float:
    """The last decimal place of a value as it was written, at most 1."""
    place = Decimal(repr(value)).normalize().as_tuple().exponent
    return min(10.0 ** int(place), 1.0)


def coarse_step(values: ArrayLike) -> float:
    """The step in which values were read, where it is coarse: a quarter of all pairs of runs or more tie; else 0.

    The smallest difference between two of them, the last decimal place where all are equal. Where fewer tie,
    normal values spread by more than a step, and rounding moves their median by less than 1e-8 steps.
    """
    different, counts = distinct(np.asarray(values, dtype=np.float64).ravel())
    n = float(counts.sum())
    if n < 2 or (counts * (counts - 1.0)).sum() < _COARSE * n * (n - 1.0):
        return 0.0
    return last_place(float(different[0])) if different.size == 1 else float(np.diff(different).min())


def coarse_steps(x: ArrayLike, y: ArrayLike) -> FloatArray:
    """Row by row `coarse_step` of X and Y, read alike: what one does not show of its step, the other may."""
    sides = np.atleast_2d(np.asarray(x, dtype=np.float64)), np.atleast_2d(np.asarray(y, dtype=np.float64))
    steps = np.zeros((len(sides[0]), 2))
    tied = [_many_tie(sample_ends(side)) for side in sides]
    for row in np.flatnonzero(tied[0] | tied[1]).tolist():
        steps[row] = _coarse_steps(sides[0][row], sides[1][row])
    return steps


def _many_tie(ends: BoolArray) -> BoolArray:
    """Whether so many pairs of a row tie that its step may be coarse; all of one value do."""
    tied: BoolArray = np.logical_not(ends.all(axis=1))
    if tied.any():
        ends = ends[tied]
        runs = np.diff(np.flatnonzero(ends), prepend=-1).astype(np.float64)
        first = np.append(0, np.cumsum(np.count_nonzero(ends, axis=1))[:-1])
        n = ends.shape[1]
        tied[tied] = np.add.reduceat(runs * (runs - 1.0), first) >= _COARSE * n * (n - 1.0)
    return tied


def _coarse_steps(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Of a side that never varies the smallest difference of both; of two such what two constants show."""
    steps = coarse_step(x), coarse_step(y)
    constant = [step > 0.0 and np.ptp(side) == 0.0 for step, side in zip(steps, (x, y), strict=True)]
    if not any(constant):
        return steps
    pooled, _ = distinct(np.concatenate([x, y]))
    neither = np.ptp(x) == np.ptp(y) == 0.0
    least = step_of_constants(pooled.tolist()) if neither else float(np.diff(pooled).min())
    return least if constant[0] else steps[0], least if constant[1] else steps[1]


def step_of_constants(ascending: Sequence[float]) -> float:
    """The step of versions that have one value each, all of them different: no limit for one alone.

    The smallest difference; of whole numbers, which are counts, 1.
    """
    if any(value % 1.0 for value in ascending):
        return min((b - a for a, b in itertools.pairwise(ascending)), default=math.inf)
    return 1.0


class Resolution:
    """Estimates the measurement step from tied values.

    Values of full precision never tie. Where some do, the smallest difference that was ever seen is taken for the
    step; it may be larger than the true one, never smaller, and has no limit before two values differ. Counts show
    it themselves: while no version has two different values, whole numbers are in steps of 1.
    Until the first tie nothing is known, and values count as exact.
    """

    def __init__(self) -> None:
        self._distinct: list[float] = []
        self._first: dict[Hashable, float] = {}
        self._gap = float("inf")
        self._ties = self._varies = False

    def add(self, value: float, version: Hashable = "") -> None:
        """Add a value of a version."""
        self._varies = self._varies or self._first.setdefault(version, value) != value
        at = bisect.bisect_left(self._distinct, value)
        if at < len(self._distinct) and self._distinct[at] == value:
            self._ties = True
            return
        neighbours = self._distinct[max(at - 1, 0) : at + 1]
        self._gap = min([self._gap, *(abs(value - other) for other in neighbours)])
        self._distinct.insert(at, value)

    @property
    def step(self) -> float:
        """The step so far, in the unit of the values; 0 without ties."""
        if not self._ties:
            return 0.0
        return self._gap if self._varies else step_of_constants(self._distinct)
