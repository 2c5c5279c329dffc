"""Arithmetic at the ends of the range of doubles: samples multiplied by a power of two, which loses nothing.

Squares overflow above 1e154 and sums above 1e308; squares below 1e-162 vanish. What does not depend on the unit
is computed in one where neither happens.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray, IntArray

MOST_APART = 1e100
"""How much larger one sample may be than another for densities of both in one unit to be doubles."""
_USUAL = (1e-60, 1e60)
_HALF = 4  # bits of headroom: the sum or the difference of two values


def _shift(largest: npt.ArrayLike) -> IntArray:
    """The power of two that makes values of usual size; 0 for those whose fourth powers stay within range."""
    largest = np.asarray(largest)
    usual_size = (largest > _USUAL[0]) & (largest < _USUAL[1])
    return np.where(usual_size, 0, -np.frexp(largest)[1])  # of 0, too, it is 0


def exponent(*samples: npt.ArrayLike) -> int:
    """The power of two by which samples have to be multiplied to be of usual size; 0 when they are."""
    largest = max(float(np.abs(sample).max(initial=0.0)) for sample in samples)
    return 0 if _USUAL[0] < largest < _USUAL[1] else int(_shift(largest))


def in_common_unit(*samples: npt.ArrayLike) -> tuple[FloatArray, ...]:
    """Rows of samples times one power of two, where the largest value of a row is not of usual size.

    In that unit products with factors near 1 stay within range.
    """
    arrays = tuple(np.asarray(sample, dtype=np.float64) for sample in samples)
    shift = _shift(functools.reduce(np.maximum, (np.abs(a).max(axis=-1, initial=0.0) for a in arrays)))
    return tuple(np.ldexp(a, shift[..., None]) for a in arrays) if shift.any() else arrays


def usual(x: npt.ArrayLike) -> FloatArray:
    """A sample of usual size: multiplied by a power of two, if it has to be."""
    return in_common_unit(x)[0]


def with_headroom(*samples: npt.ArrayLike) -> tuple[FloatArray, ...]:
    """Samples of which two values can be added or subtracted: divided by 16, if they have to be."""
    arrays = tuple(np.asarray(sample, dtype=np.float64) for sample in samples)
    if max(float(np.abs(a).max(initial=0.0)) for a in arrays) < 1e307:
        return arrays
    return tuple(np.ldexp(a, -_HALF) for a in arrays)


def mean(x: npt.ArrayLike) -> float:
    """The mean of a sample; it exists however large the values are."""
    shift = exponent(x)
    return float(np.ldexp(np.ldexp(np.asarray(x, dtype=np.float64), shift).mean(), -shift))


def median(x: npt.ArrayLike) -> float:
    """The median of a sample; it exists however large the values are."""
    values = np.asarray(x, dtype=np.float64)
    (scaled,) = with_headroom(values)
    return float(middle(values) if scaled is values else np.ldexp(middle(scaled), _HALF))


def middle(x: FloatArray) -> FloatArray:
    """The median of usual values along the last axis, without the modules that `np.median` imports."""
    n = x.shape[-1]
    places = (n - 1) // 2, n // 2
    return np.asarray(np.partition(x, places, axis=-1)[..., places[0] : places[1] + 1].mean(axis=-1))


def location_ratio(location: Callable[[FloatArray], float], x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The ratio of the locations of two samples: an observed speedup.

    NaN where a ratio means nothing: the location of X is negative, that of Y not positive. Infinite beyond
    the largest double.
    """
    values = [np.asarray(sample, dtype=np.float64) for sample in (x, y)]
    with np.errstate(over="ignore"):  # values far above a median
        shifts = [exponent(location(v)) for v in values]  # very small doubles have few digits
        above, below = (location(np.ldexp(v, shift)) for v, shift in zip(values, shifts, strict=True))
        if not (below > 0.0 and above >= 0.0):
            return math.nan
        return float(np.ldexp(np.divide(above, below), shifts[1] - shifts[0]))


def location_ratios(
    location: Callable[[FloatArray], float],
    x: FloatArray,
    y: FloatArray,
    odd: Callable[[FloatArray, FloatArray], float] | None = None,
) -> list[float]:
    """The same for rows of samples; ``odd`` says what is observed of a row with a zero or negative location."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        above, below = (middle(v) if location is median else v.mean(axis=-1) for v in (x, y))
        ratios = above / below
        largest = np.maximum(np.abs(x).max(axis=-1), np.abs(y).max(axis=-1))
    least = np.minimum(above, below)
    for i in np.flatnonzero(~((least > _USUAL[0]) & (largest < _USUAL[1]))).tolist():
        ratios[i] = odd(x[i], y[i]) if odd else location_ratio(location, x[i], y[i])
    return [float(ratio) for ratio in ratios]
