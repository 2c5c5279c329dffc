"""Arithmetic at the ends of the range of doubles: samples multiplied by a power of two, which loses nothing.

Squares overflow above 1e154 and sums above 1e308; squares below 1e-162 vanish. What does not depend on the unit
is computed in one where neither happens.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = [
    "MOST_APART",
    "exponent",
    "in_common_unit",
    "location_ratio",
    "mean",
    "median",
    "usual",
    "with_headroom",
]

FloatArray = npt.NDArray[np.float64]
_USUAL = 1e60  # fourth powers stay within range
_FEW_DIGITS = 1e-290
MOST_APART = 1e100
"""How much larger one sample may be than another for densities of both in one unit to be doubles."""
_HALF = 4  # bits of headroom: the sum or the difference of two values


def exponent(*samples: npt.ArrayLike) -> int:
    """The power of two by which samples have to be multiplied to be of usual size; 0 when they are.

    Parameters
    ----------
    *samples : array_like
        Finite.

    Examples
    --------
    >>> exponent([3.0, 1.0]), exponent([1e-320]), exponent([1.0, 1e300])
    (0, 1063, -997)
    """
    largest = max(float(np.abs(sample).max(initial=0.0)) for sample in samples)
    return 0 if largest == 0.0 or 1 / _USUAL < largest < _USUAL else -int(np.frexp(largest)[1])


def usual(x: npt.ArrayLike) -> FloatArray:
    """A sample of usual size: multiplied by a power of two, if it has to be.

    Parameters
    ----------
    x : array_like, shape (..., n)
        Samples along the last axis, finite; each is multiplied by itself.

    Returns
    -------
    ndarray
        The same values in another unit. What is 1e300 times smaller than the largest may become 0.

    Examples
    --------
    >>> usual([1.0, 3.0]).tolist(), usual([0.0, 2.0**-1070, 2.0**-1073]).tolist()
    ([1.0, 3.0], [0.0, 0.5, 0.0625])
    """
    x = np.asarray(x, dtype=np.float64)
    largest = np.abs(x).max(axis=-1, keepdims=True, initial=0.0)
    outside = (largest > 0.0) & ~((largest > 1 / _USUAL) & (largest < _USUAL))
    return np.ldexp(x, np.where(outside, -np.frexp(largest)[1], 0)) if outside.any() else x


def in_common_unit(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Pairs of samples, each in one unit in which products with factors near 1 stay within range.

    Parameters
    ----------
    x, y : array_like, shapes (..., n) and (..., m)
        Finite, each pair along the last axes.

    Returns
    -------
    tuple of ndarray
        Multiplied by one power of two a pair, where the largest value is not of usual size.

    Examples
    --------
    >>> x, y = in_common_unit([2.0**1000, 2.0**999], [2.0**998])
    >>> x.tolist(), y.tolist()
    ([0.5, 0.25], [0.125])
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    largest = np.maximum(np.abs(x).max(axis=-1, initial=0.0), np.abs(y).max(axis=-1, initial=0.0))
    outside = (largest > 0.0) & ~((largest > 1 / _USUAL) & (largest < _USUAL))
    if not outside.any():
        return x, y
    shift = np.where(outside, -np.frexp(largest)[1], 0)[..., None]
    return np.ldexp(x, shift), np.ldexp(y, shift)


def with_headroom(*samples: npt.ArrayLike) -> tuple[FloatArray, ...]:
    """Samples of which two values can be added or subtracted: divided by 16, if they have to be.

    Parameters
    ----------
    *samples : array_like
        Finite.

    Returns
    -------
    tuple of ndarray
        All divided alike. Only what is 1e600 times smaller than the largest value loses digits.

    Examples
    --------
    >>> x, y = with_headroom([1.6e308, 1e-300], [4.0])
    >>> x.tolist(), y.tolist()
    ([1e+307, 6.25e-302], [0.25])
    """
    arrays = tuple(np.asarray(sample, dtype=np.float64) for sample in samples)
    if max(float(np.abs(a).max(initial=0.0)) for a in arrays) < 1e307:
        return arrays
    return tuple(np.ldexp(a, -_HALF) for a in arrays)


def mean(x: npt.ArrayLike) -> float:
    """The mean of a sample; it exists however large the values are.

    Parameters
    ----------
    x : array_like, shape (n,)
        Finite.

    Examples
    --------
    >>> mean([1.5e308, 1.7e308]), mean([1.0, 2.0])
    (1.6e+308, 1.5)
    """
    shift = exponent(x)
    return float(np.ldexp(np.ldexp(np.asarray(x, dtype=np.float64), shift).mean(), -shift))


def median(x: npt.ArrayLike) -> float:
    """The median of a sample; it exists however large the values are.

    Parameters
    ----------
    x : array_like, shape (n,)
        Finite.

    Examples
    --------
    >>> median([1.5e308, 1.7e308]), median([5e-324, 5e-324, 1.0])
    (1.6e+308, 5e-324)
    """
    values = np.asarray(x, dtype=np.float64)
    (scaled,) = with_headroom(values)
    return float(np.median(values)) if scaled is values else float(np.ldexp(np.median(scaled), _HALF))


def location_ratio(location: Callable[[FloatArray], float], x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The ratio of the locations of two samples: an observed speedup.

    Parameters
    ----------
    location : callable
        :func:`mean` or :func:`median`.
    x, y : array_like, shapes (n,) and (m,)
        Finite.

    Returns
    -------
    float
        NaN where a ratio means nothing: the location of X is negative, that of Y not positive. Infinite beyond
        the largest double.

    Examples
    --------
    >>> location_ratio(mean, [3e-323, 3.5e-323], [1e-323]), location_ratio(mean, [1e300], [1e-300])
    (3.25, inf)
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
