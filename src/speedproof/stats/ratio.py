"""A ratio of two locations: what its p-value at a ratio gamma and the inversion of that have in common.

`ratio_means`, `ratio_medians`, `superiority` and `paired_ratio` each hold both, of one kind of ratio.
``above`` is the p-value against H1: X / Y lies above gamma; ``low`` of risk alpha is where it passes alpha, and
so for ``below`` and ``high``. A hypothesis "at most gamma" contains every smaller ratio, so p-values and bounds
agree with the verdict at gamma = 1: what is proven above 1 is proven above every smaller gamma. A bound that
holds with nothing to spare, "more than 1", is the float next to 1.

The edge of a margin. Readings and margins are decimal fractions, of which doubles are roundings: 200 / 201 is
1 / 1.005, but not in doubles. A ratio that may equal gamma but for such rounding, within 16 units of the last
place, counts as equal, and what equals gamma speaks for neither side. So an edge belongs to neither side of its
margin: "above" and "below" are proven of what is strictly so, and a speedup exactly at the edge is proven
neither within the margin nor beyond it. At gamma = 1 nothing is multiplied, and values are compared as they are.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray

_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
_LEAST = 5e-324  # the smallest double above 0


class Interval(Struct, frozen=True):
    """Two one-sided bounds, each at confidence 1 - alpha (both together: at least 1 - 2 alpha)."""

    # Shape of the leading axes. 0 and infinity where there is no bound, NaN where the quantity itself is not
    # defined.
    low: FloatArray
    high: FloatArray


class RatioTest(Struct, frozen=True):
    """Two one-sided p-values for a ratio against gamma."""

    # Against H1: X / Y > gamma. NaN where the test or the ratio is not defined. Shape of the leading axes.
    above: FloatArray
    below: FloatArray  # against H1: X / Y < gamma


class LogErrors(Struct, frozen=True):
    """How uncertain the logarithms of ratios are; shape (rows,)."""

    error: FloatArray  # standard error; NaN where there is a single run or no finite ratio
    df: FloatArray  # its degrees of freedom; infinite where nothing random makes it
    bias: FloatArray  # by how much the logarithm is too large on average


def edges(gamma: float) -> tuple[float, float]:
    """What a ratio has to lie below, and above, to differ from gamma by more than rounding."""
    if not 0 < gamma < math.inf:
        raise ValueError(f"a ratio is tested against a positive gamma, not {gamma:g}")
    if gamma == 1.0:
        return 1.0, 1.0
    below, above = gamma * (1.0 - _ROUNDING), gamma * (1.0 + _ROUNDING)
    return (below, min(above, 1.0)) if gamma < 1.0 else (max(below, 1.0), above)


def scaled(x: FloatArray, y: FloatArray, gamma: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """X and gamma Y as they compare: the ratio of two zeros is 1, as of other equal values."""
    gamma = np.asarray(gamma)
    with np.errstate(over="ignore", under="ignore"):
        times_y = gamma * y
    if x.all():
        return x, times_y
    times_y = np.where(y > 0.0, np.maximum(times_y, 2.0 * _LEAST), times_y)  # nothing positive equals 0
    return np.where((x == 0.0) & (gamma < 1.0), _LEAST, x), np.where(
        (y == 0.0) & (gamma > 1.0), _LEAST, times_y
    )


def hold(
    low: FloatArray, high: FloatArray, faster: BoolArray, slower: BoolArray, equal: float = 1.0
) -> Interval:
    """Bounds held on the side of `equal` that the verdicts say, where rounding or a tie there would not."""
    low = np.where(faster, np.maximum(low, np.nextafter(equal, np.inf)), np.minimum(low, equal))
    high = np.where(slower, np.minimum(high, np.nextafter(equal, 0.0)), np.maximum(high, equal))
    return Interval(low, high)


def monotone(gamma: float, shifted: RatioTest, at_one: RatioTest, defined: BoolArray) -> RatioTest:
    """Let no p-value contradict the verdict: what is proven above 1 is proven above every smaller gamma."""
    if gamma == 1.0:
        above, below = at_one.above, at_one.below
    elif gamma < 1.0:
        above = np.fmin(shifted.above, at_one.above)
        below = np.fmax(shifted.below, at_one.below)
    else:
        above = np.fmax(shifted.above, at_one.above)
        below = np.fmin(shifted.below, at_one.below)
    return RatioTest(np.where(defined, above, np.nan), np.where(defined, below, np.nan))
