"""Arithmetic at the ends of the range of doubles: samples multiplied by a power of two, which loses nothing.

Squares overflow above 1e154 and sums above 1e308; squares below 1e-162 vanish. What does not depend on the unit
is computed in one where neither happens.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray

_USUAL = 1e60  # fourth powers stay within range
_FEW_DIGITS = 1e-290
MOST_APART = 1e100
"""How much larger one sample may be than another for densities of both in one unit to be doubles."""
_HALF = 4  # bits of headroom: the sum or the difference of two values


def exponent(*samples: npt.ArrayLike) -> int:
    """The power of two by which samples have to be multiplied to be of usual size; 0 when they are."""
    largest = max(float(np.abs(sample).max(initial=0.0)) for sample in samples)
    return 0 if largest == 0.0 or 1 / _USUAL < largest < _USUAL else -int(np.frexp(largest)[1])


def usual(x: npt.ArrayLike) -> FloatArray:
    """A sample of usual size: multiplied by a power of two, if it has to be."""
    x = np.asarray(x, dtype=np.float64)
    largest = np.abs(x).max(axis=-1, keepdims=True, initial=0.0)
    outside = (largest > 0.0) & ~((largest > 1 / _USUAL) & (largest < _USUAL))
    return np.ldexp(x, np.where(outside, -np.frexp(largest)[1], 0)) if outside.any() else x


def in_common_unit(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Pairs of samples, each in one unit in which products with factors near 1 stay within range.

    Multiplied by one power of two a pair, where the largest value is not of usual size.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    largest = np.maximum(np.abs(x).max(axis=-1, initial=0.0), np.abs(y).max(axis=-1, initial=0.0))
    outside = (largest > 0.0) & ~((largest > 1 / _USUAL) & (largest < _USUAL))
    if not outside.any():
        return x, y
    shift = np.where(outside, -np.frexp(largest)[1], 0)[..., None]
    return np.ldexp(x, shift), np.ldexp(y, shift)


def with_headroom(*samples: npt.ArrayLike) -> tuple[FloatArray, ...]:
    """Samples of which two values can be added or subtracted: divided by 16, if they have to be."""
    arrays = tuple(np.asarray(sample, dtype=np.float64) for sample in samples)
    if max(float(np.abs(a).max(initial=0.0)) for a in arrays) < 1e307:
        return arrays
    return tuple(np.ldexp(a, -_HALF) for a in arrays)


def mean(x: npt.ArrayLike) -> float:
    """The mean of a sample; it exists however large the values are."""
    values, shift = np.asarray(x, dtype=np.float64), exponent(x)
    return float(np.ldexp(np.ldexp(values, shift).mean(), -shift) if shift else values.mean())


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
    (above, of_x), (below, of_y) = _scaled(location, x), _scaled(location, y)
    if not (below > 0.0 and above >= 0.0):
        return math.nan
    with np.errstate(over="ignore"):
        return float(np.ldexp(np.divide(above, below), of_y - of_x))


def _scaled(location: Callable[[FloatArray], float], x: npt.ArrayLike) -> tuple[float, int]:
    """A location times a power of two, and the power: where doubles have few digits, in a unit where they do."""
    values = np.asarray(x, dtype=np.float64)
    value = location(values)
    if not 0.0 < value < _FEW_DIGITS:
        return value, 0
    shift = exponent([value])
    with np.errstate(over="ignore"):  # values far above a median
        return location(np.ldexp(values, shift)), shift
