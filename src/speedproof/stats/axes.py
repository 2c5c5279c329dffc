"""Axes of charts: the part of the values that they show, and round numbers along it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.stats.scaling import with_headroom

Window = tuple[float, float]
"""The smallest and the largest value that a chart draws."""

_FEWEST = 8
_FEW = 0.02
_SQUEEZED = 6.0
_WIDE = 4.0
_FINE = 15.0
_LINEAR = 7
_SPECK = 1e-100  # of the whole range: no axis can show it, in whatever unit


def window(values: ArrayLike) -> Window:
    """The range to draw: all values, unless a few lie so far out that the others would fill less than a sixth.

    Parameters
    ----------
    values : array_like, shape (n,)
        The sample.

    Returns
    -------
    (float, float)
        From the smallest to the largest value drawn. At either end at most 2 % of the values may be left out
        (but two of twenty or more, one of eight), and only those that lie farther out than the others spread.
        Charts say how many.

    Examples
    --------
    >>> window([*range(1, 11), 500.0]), window([*range(1, 11), 20.0]), window([1.0, 2.0, 500.0])
    ((1.0, 10.0), (1.0, 20.0), (1.0, 500.0))
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    low, high = 0, x.size - 1
    if x.size >= _FEWEST:
        (u,) = with_headroom(x)
        most = max(2 if x.size >= 20 else 1, int(_FEW * x.size))
        high -= _left_out(-u[::-1], -float(u[most]), most)
        low = _left_out(u, float(u[high]), most)
    return float(x[low]), float(x[high])


def _left_out(x: FloatArray, other: float, most: int) -> int:
    """How many of the smallest of sorted values go, at most so many, when `other` is the largest drawn."""
    for count in range(most, 0, -1):
        spread = other - x[count]
        if _SPECK * (other - x[0]) < spread < min((other - x[0]) / _SQUEEZED, x[count] - x[count - 1]):
            return count
    return 0


def ratio_range(*columns: Sequence[float]) -> Window:
    """From a ratio below 1 to one above it: those of every column but a few far out."""
    drawn = [1 / 1.001, 1.001]
    for column in columns:
        logs = {ratio: math.log(ratio) for ratio in column if 0 < ratio < math.inf}
        if logs:
            first, last = window([logs[ratio] for ratio in column if ratio in logs])
            drawn += [ratio for ratio, log in logs.items() if first <= log <= last]
    return min(drawn), max(drawn)


def ratio_ticks(low: float, high: float) -> tuple[float, ...]:
    """Round ratios between two ends about 1, which is one of them."""
    if high / low <= _WIDE:
        return _multiples(low, high, 8)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    mantissas: tuple[float, ...] = (1, 2, 5) if len(decades) <= 4 else (1,)
    if high / low <= _FINE:
        mantissas = (1, 1.5, 2, 3, 5, 7)
    every = max(1, math.ceil(len(decades) / 8))
    # Counted from 1 = 10^0, which always gets its tick.
    ticks = (float(f"{m}e{d}") for d in decades if d % every == 0 for m in mantissas)
    return tuple(t for t in ticks if low <= t <= high)


def _multiples(low: float, high: float, most: int) -> tuple[float, ...]:
    """Multiples of 1, 2 or 5 times a power of ten that cut a span into at most so many parts."""
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(m * power for m in (1, 2, 5, 10) if m * power * most >= span * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(float(f"{i * step:.12g}") for i in range(first, last + 1))


def linear_ticks(low: float, high: float) -> tuple[float, ...]:
    """Round numbers from low to high."""
    if not (high - low) / _LINEAR > 1e-13 * max(abs(low), abs(high)):
        return (low,)
    return _multiples(low, high, _LINEAR) or (low,)
