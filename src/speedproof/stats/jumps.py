"""A jump in the newest values: all of them beyond those before, and farther than dependent noise would go.

The ranks of a few new values say little, however far they lie; how far they lie says more, but outliers lie far,
too. Both are asked: two to five new values, all larger or all smaller than each of the level's last hundred, with
a mean whose distance from theirs, in deviations of an autoregression, has a small enough p-value of Student's
distribution.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.cusum import Alarm
from speedproof.stats.scaling import usual
from speedproof.stats.special import t_sf

_FIRST = 10  # values of a level before it can be left
_NEW, _NEWEST = (2, 3, 4, 5), (1, 2)
_BEFORE = 100
_MOST_DEPENDENT = 0.9
# By simulation (studies/history_alarms.py): of the p-value, for looks at all lengths and dependent values; of the
# chance of such ranks and its power of the mean, for outliers; of that of the newest values
_STRICTER, _RANKS, _POWER, _RANKS_OF_NEWEST = 2.0, 8700.0, 1.8, 4.0


def first_jump(x: FloatArray, mean: float) -> Alarm | None:
    """The first jump of values that come in, where false ones are as rare as one in so many values."""
    found = [jump for new in _NEW for jump in jumps(x, mean, new, _RANKS / mean**_POWER)[:1]]
    if not found:
        return None
    shown, _, since = min(found)
    return Alarm(shown, since, bool(x[since] > x[since - 1]))


def newest_jump(x: FloatArray, mean: float) -> int | None:
    """Where the newest one or two values jump, how many are before; false ones once in so many values."""
    part = x[-_BEFORE - max(_NEWEST) :]
    found = [
        (pvalue, since)
        for new in _NEWEST
        for shown, pvalue, since in jumps(part, mean, new, _RANKS_OF_NEWEST / mean)
        if shown == part.size - 1
    ]
    return x.size - part.size + min(found)[1] if found else None


def jumps(x: FloatArray, mean: float, new: int, most: float) -> list[tuple[int, float, int]]:
    """Every jump of so many values, its ranks of such a chance at most: its last value, p-value, first value."""
    fewest = _fewest_before(new, most)  # the chance falls with what is before
    if fewest is None or fewest > x.size - new:
        return []
    ends = np.arange(fewest, x.size - new + 1)
    pvalues = _pvalues(usual(x), ends, new)
    small = pvalues * mean * _STRICTER <= 1.0
    return [
        (end + new - 1, pvalue, end)
        for end, pvalue in zip(ends[small].tolist(), pvalues[small].tolist(), strict=True)
    ]


@lru_cache(maxsize=256)
def _fewest_before(new: int, most: float) -> int | None:
    """How many values before make the chance that the new ones lie beyond them small enough, if any do."""
    counts = range(_FIRST, _BEFORE + 1)
    chances = (2.0 * math.prod(k / (before + k) for k in range(1, new + 1)) for before in counts)
    return next((before for before, chance in zip(counts, chances, strict=True) if chance <= most), None)


def _sums(v: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(v)])


def _pvalues(x: FloatArray, ends: IntArray, new: int) -> FloatArray:
    """Of so many values from each place on, against up to a hundred before it; 1 where one is not beyond."""
    starts = np.maximum(ends - _BEFORE, 0)
    count = (ends - starts).astype(np.float64)
    centred = x - np.median(x)
    plain, squares = _sums(centred), _sums(centred * centred)
    products = np.concatenate([[0.0], _sums(centred[1:] * centred[:-1])])
    level = (plain[ends] - plain[starts]) / count
    power = np.maximum(squares[ends] - squares[starts] - count * level**2, 0.0)
    pairs = products[ends] - products[starts + 1]
    ends_of_sum = 2.0 * (plain[ends] - plain[starts]) - centred[starts] - centred[ends - 1]
    lagged = pairs - level * ends_of_sum + (count - 1.0) * level**2
    raw = np.divide(lagged, power, out=np.zeros_like(power), where=power > 0.0)
    rho = np.clip(raw + (1.0 + 3.0 * np.maximum(raw, 0.0)) / count, 0.0, _MOST_DEPENDENT)
    of_level, of_new = _of_mean(rho, count), _of_mean(rho, np.full(ends.size, float(new)))
    variance = power / (count * np.maximum(1.0 - of_level, 0.1))
    after = (plain[ends + new] - plain[ends]) / new
    windows = np.lib.stride_tricks.sliding_window_view(centred, new)[ends]
    longest = np.concatenate([np.full(_BEFORE, np.nan), centred])
    before = np.lib.stride_tricks.sliding_window_view(longest, _BEFORE)[ends]
    beyond = (windows.min(axis=1) > np.nanmax(before, axis=1)) | (
        windows.max(axis=1) < np.nanmin(before, axis=1)
    )
    spread = np.sqrt(variance * (of_level + of_new))
    distance = np.divide(np.abs(after - level), spread, out=np.full(ends.size, np.inf), where=spread > 0.0)
    degrees = np.maximum(count * (1.0 - rho) / (1.0 + rho) - 1.0, 2.0)
    pvalues: FloatArray = np.where(beyond, 2.0 * t_sf(distance, degrees), 1.0)
    return pvalues


def _of_mean(rho: FloatArray, count: FloatArray) -> FloatArray:
    """Variance of the mean of so many values of an autoregression of variance 1."""
    powers = rho * (1.0 - rho**count) / (1.0 - rho)
    return np.asarray((1.0 + 2.0 * rho / (1.0 - rho)) / count - 2.0 * powers / (count**2 * (1.0 - rho)))
