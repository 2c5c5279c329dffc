"""Order statistics of all n m ratios x_i / y_j without making them all.

Sorting the ratios of two samples of 100,000 values would take 80 GB. With both samples sorted, the number of
ratios up to gamma is a sum of m binary searches, so the order statistic is found by halving an interval of
gamma until few enough ratios are left inside to sort.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["ratio_order_statistic"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_FEW = 1 << 20
_HALVINGS = 90
_FLOATS = np.finfo(np.float64)
# Products gamma * y are rounded; ratios this close to the ends of the interval are kept inside it.
_SLACK = 8 * float(_FLOATS.eps)


def ratio_order_statistic(x: FloatArray, y: FloatArray, k: int) -> float:
    """The k-th smallest of the ratios x_i / y_j, counted from 0, pairs 0 / 0 left out.

    Parameters
    ----------
    x, y : ndarray, shapes (n,) and (m,)
        No negative values.
    k : int
        0 <= k < the number of ratios that are not 0 / 0.

    Returns
    -------
    float
        Infinity when that ratio has y_j = 0.

    Examples
    --------
    >>> ratio_order_statistic(np.array([4.0, 5.0, 6.0]), np.array([1.0, 2.0, 3.0]), 0)
    1.3333333333333333
    """
    xs, ys = np.sort(x[x > 0.0]), np.sort(y[y > 0.0])
    zeros = (x.size - xs.size) * ys.size
    if k < zeros:
        return 0.0
    k -= zeros
    if k >= xs.size * ys.size:
        return float("inf")
    with np.errstate(over="ignore", under="ignore"):
        low = max(float(xs[0] / ys[-1]), _FLOATS.tiny)
        high = min(float(xs[-1] / ys[0]), _FLOATS.max)
    for _ in range(_HALVINGS):
        below, upto = _inside(xs, ys, low, high)
        if (upto - below).sum() <= _FEW:
            break
        middle = np.sqrt(low) * np.sqrt(high)
        if np.searchsorted(xs, middle * ys, side="right").sum() > k:
            high = middle
        else:
            low = middle
    else:
        # More ties than ratios can be listed: the interval is down to rounding, and all of them are one value.
        j = int(np.argmax(upto - below))
        return float(xs[below[j]] / ys[j])
    lengths = upto - below
    of_y = np.repeat(np.arange(ys.size), lengths)
    of_x = (
        np.arange(lengths.sum())
        - np.repeat(np.cumsum(lengths) - lengths, lengths)
        + np.repeat(below, lengths)
    )
    at = int(np.clip(k - below.sum(), 0, of_x.size - 1))
    return float(np.partition(xs[of_x] / ys[of_y], at)[at])


def _inside(xs: FloatArray, ys: FloatArray, low: float, high: float) -> tuple[IntArray, IntArray]:
    """For each y the range of x with x / y between low and high, widened by the rounding of products."""
    with np.errstate(over="ignore", under="ignore"):
        below = np.searchsorted(xs, low * (1.0 - _SLACK) * ys, side="left")
        upto = np.searchsorted(xs, high * (1.0 + _SLACK) * ys, side="right")
    return below, upto
