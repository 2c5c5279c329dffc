"""The part of a sample that a chart shows, so that a few values far out do not squeeze all others."""

from __future__ import annotations

import numpy as np

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.stats.scaling import with_headroom

Window = tuple[float, float]
"""The smallest and the largest value that a chart draws."""

_FEWEST = 8
_FEW = 0.02
_SQUEEZED = 6.0
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
