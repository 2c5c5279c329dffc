"""Alarms while values come in: a cumulative sum of ranks for small changes, how far values lie for large ones.

A jump is in the newest values: all of them beyond those before, and farther than dependent noise would go.

The ranks of a few new values say little, however far they lie; how far they lie says more, but outliers lie far,
too. Both are asked: two to five new values, all larger or all smaller than each of the level's last hundred, with
a mean whose distance from theirs, in deviations of an autoregression, has a small enough p-value of Student's
distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.change_points import place_of_step
from speedproof.stats.cusum import Alarm, first_alarms, run_limit
from speedproof.stats.scaling import in_common_unit
from speedproof.stats.special import t_sf

_FIRST = 10  # values of a level before it can be left
_NEW, _NEWEST = (2, 3, 4, 5), (1, 2)
_BEFORE = 100
_MOST_DEPENDENT = 0.9
_AT_ONCE = 4096  # p-values
# By simulation (studies/history_alarms.py): of the p-value, for looks at all lengths and dependent values; of the
# chance of such ranks and its power of the mean, for outliers; of that of the newest values
_STRICTER, _RANKS, _POWER, _RANKS_OF_NEWEST = 2.0, 8700.0, 1.8, 4.0


def first_jumps(x: FloatArray, mean: float) -> list[Alarm | None]:
    """Of each of several series of equal length, shape (rows, n), the first jump of values that come in.

    False ones are as rare as one in so many values. Nothing depends on later values: shorter series may be filled
    up.
    """
    of_sizes = [jumps(x, mean, new, _RANKS / mean**_POWER) for new in _NEW]
    row, shown, pvalue, since = (np.concatenate(column) for column in zip(*of_sizes, strict=True))
    first: list[Alarm | None] = [None] * len(x)
    for i in np.lexsort((since, pvalue, shown, row))[::-1].tolist():
        r, k = int(row[i]), int(since[i])
        first[r] = Alarm(int(shown[i]), k, bool(x[r, k] > x[r, k - 1]))
    return first


def newest_jump(x: FloatArray, mean: float) -> int | None:
    """Where the newest one or two values jump, how many are before; false ones once in so many values."""
    newest = []
    for new in _NEWEST:
        fewest, since = _fewest_before(new, _RANKS_OF_NEWEST / mean), x.size - new
        if fewest is None or since < fewest:
            continue
        before, after = x[max(0, since - _BEFORE) : since], x[since:]
        if after.min() > before.max() or after.max() < before.min():
            pvalue = float(_pvalues(x[None], np.zeros(1, np.int64), np.array([since]), new)[0])
            newest += [(pvalue, since)] if pvalue * mean * _STRICTER <= 1.0 else []
    return min(newest)[1] if newest else None


def jumps(
    x: FloatArray, mean: float, new: int, most: float
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Every jump of so many values, its ranks of such a chance at most: row, last value, p-value, first value."""
    fewest = _fewest_before(new, most)  # the chance falls with what is before
    if fewest is None or fewest > x.shape[1] - new:
        none = np.zeros(0, np.int64)
        return none, none, np.zeros(0), none
    before, after = slice(fewest - 1, x.shape[1] - new), slice(fewest + new - 1, None)
    beyond = (-_largest(-x, new)[:, after] > _largest(x, _BEFORE)[:, before]) | (
        _largest(x, new)[:, after] < -_largest(-x, _BEFORE)[:, before]
    )
    row, at = np.nonzero(beyond)
    since = at + fewest
    pvalue = np.ones(row.size)
    for k in range(0, row.size, _AT_ONCE):
        part = slice(k, k + _AT_ONCE)
        pvalue[part] = _pvalues(x, row[part], since[part], new)
    small = pvalue * mean * _STRICTER <= 1.0
    return row[small], since[small] + new - 1, pvalue[small], since[small]


def _largest(x: FloatArray, width: int) -> FloatArray:
    """Of every value the largest among it and those before it, so many together; a row a series."""
    largest, wide = x.copy(), 1
    while wide < width:
        more = min(wide, width - wide)
        largest[:, more:] = np.maximum(largest[:, more:], largest[:, :-more])
        wide += more
    return largest


@lru_cache(maxsize=256)
def _fewest_before(new: int, most: float) -> int | None:
    """How many values before make the chance that the new ones lie beyond them small enough, if any do."""
    counts = range(_FIRST, _BEFORE + 1)
    chances = (2.0 * math.prod(k / (before + k) for k in range(1, new + 1)) for before in counts)
    return next((before for before, chance in zip(counts, chances, strict=True) if chance <= most), None)


def _pvalues(x: FloatArray, row: IntArray, since: IntArray, new: int) -> FloatArray:
    """Of so many values of a row from a place on, all beyond up to a hundred before it: of their mean."""
    places = since[:, None] + np.arange(-_BEFORE, 0)
    there = places >= 0
    before = np.where(there, x[row[:, None], np.maximum(places, 0)], 0.0)
    before, after = in_common_unit(before, x[row[:, None], since[:, None] + np.arange(new)])
    count = there.sum(axis=1).astype(np.float64)
    level = before.sum(axis=1) / count
    rest = np.where(there, before - level[:, None], 0.0)
    power, lagged = (rest * rest).sum(axis=1), (rest[:, 1:] * rest[:, :-1]).sum(axis=1)
    raw = np.divide(lagged, power, out=np.zeros_like(power), where=power > 0.0)
    rho = np.clip(raw + (1.0 + 3.0 * np.maximum(raw, 0.0)) / count, 0.0, _MOST_DEPENDENT)
    of_level, of_new = _of_mean(rho, count), _of_mean(rho, np.full(count.size, float(new)))
    variance = power / (count * np.maximum(1.0 - of_level, 0.1))
    spread = np.sqrt(variance * (of_level + of_new))
    apart = np.abs(after.mean(axis=1) - level)
    distance = np.divide(apart, spread, out=np.full(count.size, np.inf), where=spread > 0.0)
    degrees = np.maximum(count * (1.0 - rho) / (1.0 + rho) - 1.0, 2.0)
    return np.asarray(2.0 * t_sf(distance, degrees))


def _of_mean(rho: FloatArray, count: FloatArray) -> FloatArray:
    """Variance of the mean of so many values of an autoregression of variance 1."""
    powers = rho * (1.0 - rho**count) / (1.0 - rho)
    return np.asarray((1.0 + 2.0 * rho / (1.0 - rho)) / count - 2.0 * powers / (count**2 * (1.0 - rho)))


_ROWS = 256  # series at a time


def alarms(x: npt.ArrayLike, mean: float) -> tuple[Alarm, ...]:
    """All alarms that a series raises as its values come in, false ones as rare as one in so many values.

    Each new level is watched from its first value on.
    """
    return all_alarms([np.asarray(x, dtype=np.float64)], mean)[0]


def all_alarms(series: Sequence[FloatArray], mean: float) -> list[tuple[Alarm, ...]]:
    """The same of several series."""
    alarms: list[tuple[Alarm, ...]] = [()] * len(series)
    limit, starts = run_limit(2.0 * mean), dict.fromkeys(range(len(series)), 0)
    while starts:
        waiting = sorted(starts, key=lambda i: series[i].size - starts[i])
        again: dict[int, int] = {}
        for part in (waiting[k : k + _ROWS] for k in range(0, len(waiting), _ROWS)):
            levels = [series[i][starts[i] :] for i in part]
            values = np.zeros((len(part), levels[-1].size))
            for row, level in zip(values, levels, strict=True):
                row[: level.size] = level
            first = zip(first_jumps(values, 2.0 * mean), first_alarms(values, limit), strict=True)
            for i, level, both in zip(part, levels, first, strict=True):
                raised = [alarm for alarm in both if alarm is not None and alarm.raised < level.size]
                if not raised:
                    continue
                alarm = min(raised, key=lambda alarm: alarm.raised)
                upto = level[: alarm.raised + 1]
                old, new = upto[: alarm.since], upto[alarm.since :]
                again[i] = starts[i] + place_of_step(upto, 1, upto.size - 1, old, new)
                alarms[i] = (*alarms[i], replace(alarm, raised=starts[i] + alarm.raised, since=again[i]))
        starts = again
    return alarms
