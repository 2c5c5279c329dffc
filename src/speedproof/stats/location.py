"""Locations without assumptions: the Hodges-Lehmann estimate, the interval of a median, symmetry about a centre.

Of n values there are n (n + 1) / 2 Walsh averages ``(d_i + d_j) / 2`` with ``i <= j``; their median is where the
signed-rank statistic of the shifted values is balanced. With the values sorted, the number of averages up to
a point takes n binary searches, so an interval is halved until the few averages inside can be listed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np

from speedproof.arrays import ArrayLike, ArrayPair, FloatArray, IntArray
from speedproof.stats.estimate import TestResult
from speedproof.stats.ranks import listed
from speedproof.stats.scaling import middle
from speedproof.stats.special import ndtri

_FEW = 1 << 15
# Halving a double's interval more often than it has bits changes nothing.
_HALVINGS = 64
_EXACT = 1000
_RESAMPLES = 999
_SIGNS = 1 << 22  # values of resamples that are in memory at a time


def hodges_lehmann(ordered: FloatArray) -> float:
    """The median of all means of two values, each value with itself included.

    J. L. Hodges, E. L. Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics 34,
    1963.
    """
    n = ordered.size
    pairs = n * (n + 1) // 2
    lower, upper = (pairs - 1) // 2, pairs // 2
    # More than half of all means have both parts up to the upper quartile, and as many from the lower one on.
    low, high = 2.0 * float(ordered[n // 4]), 2.0 * float(ordered[n - 1 - n // 4])
    below, upto = _partners(ordered, low, "left"), _partners(ordered, high, "right")
    for _ in range(_HALVINGS):
        if (upto - below).sum() <= _FEW:
            break
        middle = 0.5 * (low + high)
        at = _partners(ordered, middle, "right")
        count = int(at.sum())
        if count <= lower:
            low, below = middle, at
        elif count > upper:
            high, upto = middle, at
        else:
            # The two middle means lie on either side: the last one up to here and the first one beyond.
            of = np.arange(n)
            left, right = at > 0, at < n - of
            down = float((ordered[of[left]] + ordered[(of + at)[left] - 1]).max())
            up = float((ordered[of[right]] + ordered[(of + at)[right]]).min())
            return 0.25 * (down + up)
    else:
        # More equal means than can be listed: the interval is down to rounding.
        return 0.25 * (low + high)
    partners, first = listed(below, upto - below)
    sums = ordered[first] + ordered[first + partners]
    before = int(below.sum())
    middles = np.partition(sums, (lower - before, upper - before))
    return 0.25 * float(middles[lower - before] + middles[upper - before])


def _partners(ordered: FloatArray, limit: float, side: Literal["left", "right"]) -> IntArray:
    """For each value how many of those from itself on make a sum up to the limit with it."""
    upto = np.searchsorted(ordered, limit - ordered, side=side)
    return np.asarray(np.maximum(upto - np.arange(ordered.size), 0))


def median_interval(x: ArrayLike, alpha: float = 0.05) -> ArrayPair:
    """Bounds of the median of the distribution that independent values come from, or of each of several by rows.

    The r-th smallest and the r-th largest value, r the largest with 2 P[Binomial(n, 1/2) < r] <= alpha (W. J.
    Conover, "Practical Nonparametric Statistics", section 3.2, 1999); NaN where there is none, as for n < 6 at 5
    %.
    """
    values = np.sort(np.asarray(x, dtype=np.float64))
    rank = _binomial_rank(values.shape[-1], alpha)
    none = np.full(values.shape[:-1], math.nan)
    return (np.asarray(values[..., rank - 1]), np.asarray(values[..., -rank])) if rank else (none, none)


@lru_cache(maxsize=256)
def _binomial_rank(n: int, alpha: float) -> int:
    if n > _EXACT:  # the normal approximation with continuity correction, rounded outwards
        return max(0, math.floor((n - math.sqrt(n) * -float(ndtri(alpha / 2))) / 2.0))
    below, rank = 1, 0  # the number of subsets of fewer than rank + 1 values, exactly
    while 2 * below <= alpha * 2**n:
        rank += 1
        below += math.comb(n, rank)
    return rank


def symmetry(values: ArrayLike) -> TestResult:
    """Test symmetry about an unknown centre, which the signed-rank test and its sequential twin assume.

    With a symmetric distribution the mean and the median are the same number; they are compared, in units of the
    mean absolute deviation from the median (W. Miao, Y. R. Gel, J. L. Gastwirth, "A new test of symmetry about an
    unknown median", 2006): positive when the long tail is above, 0 for constant values. What chance makes of it is
    found by giving the deviations from the centre random signs, which is what symmetry means: no shape is assumed.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    observed = float(_skew(x))
    deviations = np.abs(x - hodges_lehmann(x))
    rng = np.random.default_rng(0)
    rows = max(_SIGNS // x.size, 1)
    as_large, left = 0, _RESAMPLES
    while left:
        signs: FloatArray = rng.integers(0, 2, (min(rows, left), x.size)).astype(np.float64) * 2.0 - 1.0
        # What rounding makes of equal values is as large, too.
        as_large += int((np.abs(_skew(signs * deviations)) >= abs(observed) - 1e-9).sum())
        left -= signs.shape[0]
    return TestResult(np.asarray(observed), np.asarray((1 + as_large) / (1 + _RESAMPLES)))


def _skew(x: FloatArray) -> FloatArray:
    median = middle(x)[..., None]
    spread = np.abs(x - median).mean(axis=-1)
    gap = x.mean(axis=-1) - median[..., 0]
    return np.asarray(np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0), dtype=np.float64)
