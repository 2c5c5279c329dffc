"""Where monotone functions of one number change their signs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from speedproof.arrays import FloatArray

_WIDEST = 1500.0  # logarithms of doubles lie within
_NARROW = 1e-11
_MOST_STEPS = 200


def halved(upper: Callable[[float], bool], low: float, high: float) -> float:
    """The first double between two that lies in the upper part, by bisection down to neighbours."""
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if upper(middle) else (middle, high)
    return high


def decreasing_roots(
    function: Callable[[FloatArray], FloatArray],
    low: FloatArray,
    high: FloatArray,
    narrow: float | FloatArray = _NARROW,
) -> tuple[FloatArray, FloatArray]:
    """The ends of narrow intervals in which decreasing functions, possibly in steps, change their signs.

    They are widened where they hold no change, and narrowed to the width `narrow`, relative where their ends
    exceed 1, by the Illinois variant of false position, with a halving whenever two steps did not halve the
    interval. An end is infinite where the sign never changes within the logarithms of doubles.
    """
    width = high - low
    at_low, at_high = function(low), function(high)
    while (early := ~(at_low > 0.0) & (low > -_WIDEST)).any():
        high, at_high = np.where(early, low, high), np.where(early, at_low, at_high)
        width = np.where(early, 4.0 * width, width)
        low = np.where(early, low - width, low)
        at_low = np.where(early, function(low), at_low)
    while (late := (at_high > 0.0) & (high < _WIDEST)).any():
        low, at_low = np.where(late, high, low), np.where(late, at_high, at_low)
        width = np.where(late, 4.0 * width, width)
        high = np.where(late, high + width, high)
        at_high = np.where(late, function(high), at_high)
    known = (at_low > 0.0) & ~(at_high > 0.0)
    before, since = high - low, np.zeros(low.shape, dtype=np.int64)
    for _ in range(_MOST_STEPS):
        wide = known & (high - low > narrow * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high))))
        if not wide.any():
            break
        share = np.divide(at_low, at_low - at_high, out=np.full(low.shape, 0.5), where=wide)
        middle = low + (high - low) * share
        stuck = since == 2
        middle = np.where(stuck | (middle <= low) | (middle >= high), 0.5 * (low + high), middle)
        before, since = np.where(stuck, high - low, before), np.where(stuck, 0, since)
        value = function(middle)
        rises, falls = wide & (value > 0.0), wide & ~(value > 0.0)
        at_low, at_high = (
            np.where(rises, value, np.where(falls, 0.5 * at_low, at_low)),
            np.where(falls, value, np.where(rises, 0.5 * at_high, at_high)),
        )
        low, high = np.where(rises, middle, low), np.where(falls, middle, high)
        slow = high - low > 0.5 * before
        before, since = np.where(slow, before, high - low), np.where(slow, since + 1, 0)
    return np.where(at_low > 0.0, low, -np.inf), np.where(at_high > 0.0, np.inf, high)
