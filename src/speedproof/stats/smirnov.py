"""The two-sample Kolmogorov-Smirnov test of a pure shift of location."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from speedproof.stats.ranks import pooled_order
from speedproof.stats.scaling import middle, with_headroom

_EXACT_BELOW = 10000  # of n m, as in R
_NEAR = 8.0 * np.finfo(np.float64).eps


class KSResult(Struct, frozen=True):
    """The Kolmogorov-Smirnov test after centring at the medians."""

    # D, the largest distance of the two empirical distribution functions; shape of the leading axes
    statistic: FloatArray
    pvalue: FloatArray  # two-sided
    exact: BoolArray  # whether the p-value is exact rather than that of the limiting distribution
    # Whether values coincide in the pooled centred sample. Two samples of odd size always tie, at 0.
    ties: BoolArray
    merged: BoolArray  # whether values were merged that differ by the rounding of the centring only


def ks_location(x: ArrayLike, y: ArrayLike, rule: Literal["legacy", "r422"] = "legacy") -> KSResult:
    """Test whether two distributions differ by more than their location: X - med X against Y - med Y.

    Centring decimal values leaves differences of rounding noise between values that would be equal in exact
    arithmetic, and D can double by them. Neighbours closer than 8 ulp of the largest value are therefore
    merged, unless every value is a whole number (no noise then) or the noise reaches a thousandth of the
    range.
    """
    x, y = with_headroom(x, y)
    n, m = x.shape[-1], y.shape[-1]
    u, v = x - middle(x)[..., None], y - middle(y)[..., None]
    order = pooled_order(u, v, _tolerance(x, y, u, v))
    # D n m is a whole number: comparisons with it are exact
    distance = np.abs(m * order.x_upto - n * order.y_upto).max(axis=-1)
    ties = order.ties
    exact = np.full(distance.shape, n * m < _EXACT_BELOW)
    if rule == "legacy":
        exact &= ~ties
    pvalue = kolmogorov_sf(math.sqrt(n * m / (n + m)) / (n * m) * distance)
    if exact.any():
        pvalue = np.asarray(pvalue)
        free = ~ties
        if free.any():
            levels, which = np.unique(distance[free], return_inverse=True)
            pvalue[free] = _exact(n, m, levels, None)[which.reshape(-1)]
        tied = exact & ties
        if tied.any():
            pvalue[tied] = _exact(n, m, distance[tied], order.ends[tied])
    return KSResult(distance / (n * m), pvalue, exact, ties, order.merged)


def _tolerance(x: FloatArray, y: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
    """How close centred values must be to count as equal, shape (...)."""
    largest = np.maximum(np.abs(x).max(axis=-1), np.abs(y).max(axis=-1))
    spread = np.maximum(u.max(axis=-1), v.max(axis=-1)) - np.minimum(u.min(axis=-1), v.min(axis=-1))
    whole = (x == np.rint(x)).all(axis=-1) & (y == np.rint(y)).all(axis=-1)
    noise = _NEAR * largest
    return np.where(whole | (noise >= 1e-3 * spread), 0.0, noise)


def kolmogorov_sf(x: ArrayLike) -> FloatArray:
    """Upper tail of Kolmogorov's limiting distribution, its series summed to double precision."""
    x = np.asarray(x, dtype=np.float64)
    # Each of the two expansions of the theta function where it converges within four terms.
    small = np.clip(x, 1e-2, 1.0)
    square = -(math.pi**2) / (8.0 * small * small)
    large = -2.0 * x * x
    lower = sum(np.exp(k * k * square) for k in (1, 3, 5)) * (math.sqrt(2.0 * math.pi) / small)
    upper = 2.0 * sum((-1) ** (k - 1) * np.exp(k * k * large) for k in (1, 2, 3, 4))
    return np.asarray(np.where(x < 1.0, 1.0 - lower, upper))


@lru_cache(maxsize=64)
def _completions(n: int, m: int) -> FloatArray:
    """Lattice paths from (i, k - i) to (n, m), entry [k, i]: how often a start of k observations goes on."""
    paths = np.zeros((n + m + 1, n + 2))
    paths[n + m, n] = 1.0
    for k in range(n + m - 1, -1, -1):
        paths[k, : n + 1] = paths[k + 1, : n + 1] + paths[k + 1, 1:]
        paths[k, : max(k - m, 0)] = 0.0
    paths.flags.writeable = False
    return paths[:, : n + 1]


def _exact(n: int, m: int, distance: IntArray, ends: BoolArray | None) -> FloatArray:
    """P[D n m >= distance] when X and Y are drawn from one pool whose values end at `ends` (None: no ties).

    An order of the pool is a lattice path: i observations of X after k positions. Paths are counted along the
    diagonals; where they first reach the distance, at the end of a value, they are taken out, times their
    completions. Summing what leaves, not what stays, keeps small p-values accurate.
    """
    if n > m:  # the state has n + 1 entries
        n, m = m, n
    completions = _completions(n, m)
    step, i = np.arange(n + m + 1)[:, None], np.arange(n + 1)
    gap = np.abs((n + m) * i - n * step)  # |m i - n j| with j = step - i
    paths = np.zeros((distance.shape[0], n + 1))
    paths[:, 0] = 1.0
    leaving = np.zeros(distance.shape[0])
    for k in range(1, n + m + 1):
        paths[:, 1:] += paths[:, :-1]
        out = gap[k] >= distance[:, None]
        if ends is not None:
            out &= ends[:, k - 1, None]
        gone = paths * out
        leaving += gone @ completions[k]
        paths -= gone
    return np.asarray(np.minimum(leaving / completions[0, 0], 1.0))
