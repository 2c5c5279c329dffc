"""Alarms while values come in: a cumulative sum of ranks for small changes, how far values lie for large ones.

Each new value is ranked among those so far; without a change these sequential ranks are independent and uniform
whatever the distribution of the values. Their normal scores, freed from the dependence of neighbours, run into
Page's cumulative sum for both directions, whose mean time to an alarm is the solution of an integral equation.
False alarms are as rare as stated.

A jump is in the newest values: all of them beyond those before, and farther than dependent noise would go.

The ranks of a few new values say little, however far they lie; how far they lie says more, but outliers lie far,
too. Both are asked: two to five new values, all larger or all smaller than each of the level's last hundred, with
a mean whose distance from theirs, in deviations of an autoregression, has a small enough p-value of Student's
distribution. A level of four to nine values is left in the same way, with those of the level before, moved to its
mean, for the noise that they show, and a stricter limit.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.change_points import place_of_step
from speedproof.stats.normal_scores import COMPILED
from speedproof.stats.scaling import in_common_unit
from speedproof.stats.special import halved, ndtr, ndtri, t_sf

_SLACK = 0.5  # best for a change by one deviation
_FIRST = 10  # values that only serve for ranking, and of a level before it can be left
_NODES = 80
_SHARED = 512  # values of a series, of many of which scores are looked up
_MOST_DEPENDENT = 0.9
_ROWS = 256  # series at a time
_NEW, _NEWEST = (2, 3, 4, 5), (1, 2)
_OWN = 4  # values without which a level is not left
_BEFORE = 100
_AT_ONCE = 4096  # p-values
# By simulation (studies/history_alarms.py): of the p-value of so many new values, for looks at all lengths and
# dependent values, of which more stray together; of the chance of such ranks and its power of the mean, for
# outliers; of that of the newest values; of the p-value where few values show the level
_STRICTER = {1: 2.5, 2: 2.5, 3: 4.0, 4: 10.0, 5: 25.0}
_RANKS, _POWER, _RANKS_OF_NEWEST, _OF_EARLY = 8000.0, 1.8, 4.0, 40.0


class Alarm(Struct, frozen=True):
    """An alarm: the value that raised it, the first one of the new level by the best estimate, its direction."""

    raised: int
    since: int
    up: bool


@lru_cache(maxsize=256)
def mean_run(limit: float, slack: float = _SLACK) -> float:
    """Mean number of standard normal values until a two-sided cumulative sum exceeds its limit.

    E. S. Page, "Continuous inspection schemes", Biometrika 41, 1954; the integral equation: A. L. Goel, S. M. Wu,
    "Determination of A.R.L. and a contour nomogram for cusum charts to control normal mean", Technometrics 13,
    1971.
    """
    nodes, weights = _nodes()
    y = np.concatenate([[0.0], (nodes + 1.0) * limit / 2.0])
    w = np.concatenate([[0.0], weights * limit / 2.0])
    density = np.exp(-0.5 * np.square(y + slack - y[:, None])) / math.sqrt(2.0 * math.pi) * w
    density[:, 0] += ndtr(slack - y)
    return float(np.linalg.solve(np.eye(y.size) - density, np.ones(y.size))[0]) / 2.0


@lru_cache(maxsize=1)
def _nodes() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


@lru_cache(maxsize=256)
def run_limit(mean: float) -> float:
    """The limit of the sum at which false alarms are as rare as stated."""
    high = 4.0
    while mean_run(high) < mean:
        high *= 1.5
    return halved(lambda limit: mean_run(limit) >= mean, 0.0, high)


def first_alarms(values: FloatArray, limit: float) -> list[Alarm | None]:
    """The first alarm of each of several series of equal length, shape (rows, n), as their values come in.

    Nothing depends on later values: shorter series may be filled up.
    """
    scores = _sequential_scores(values)
    if COMPILED is not None and scores.size:
        walks = np.empty((len(values), 3), dtype=np.int64)
        COMPILED.walks(scores, values.shape[1], _FIRST, _SLACK, _MOST_DEPENDENT, limit, walks)
        return [Alarm(at, since, bool(up)) if at >= 0 else None for at, since, up in walks.tolist()]
    before = np.zeros_like(scores)
    before[:, 1:] = scores[:, :-1]
    # The likeness of neighbours so far, raised by the bias of its estimate.
    products, squares = (np.cumsum(before * v, axis=1) - before * v for v in (scores, before))
    likeness = np.divide(products, squares, out=np.zeros_like(products), where=squares > 0.0)
    rho = np.clip(likeness + 2.0 / np.arange(1, scores.shape[1] + 1), 0.0, _MOST_DEPENDENT)
    fresh = ((scores - rho * before) / np.sqrt(1.0 - rho * rho))[:, _FIRST:]
    alarms: list[Alarm | None] = [None] * len(values)
    for up in (True, False):
        walk = np.cumsum((fresh if up else -fresh) - _SLACK, axis=1)
        sums = walk - np.minimum.accumulate(np.minimum(walk, 0.0), axis=1)
        above = sums > limit
        for row in np.flatnonzero(above.any(axis=1)).tolist():
            at, known = int(above[row].argmax()), alarms[row]
            if known is None or _FIRST + at < known.raised:
                zeros = np.flatnonzero(sums[row, :at] == 0.0)
                alarms[row] = Alarm(_FIRST + at, _FIRST + (int(zeros[-1]) + 1 if zeros.size else 0), up)
    return alarms


def _sequential_scores(values: FloatArray) -> FloatArray:
    """Of every value of a row its normal score among those so far."""
    (rows, n), places = values.shape, _places(values)
    if n < _SHARED and rows * n * 4 > _SHARED**2:
        return np.asarray(_all_scores().take(places + np.arange(n) ** 2))
    return ndtri((places + 1) / (2.0 * np.arange(1, n + 1)))


@lru_cache(maxsize=1)
def _all_scores() -> FloatArray:
    """Those of the first, the second, ... value, place by place: many rows share them."""
    before = np.repeat(np.arange(_SHARED), 2 * np.arange(_SHARED) + 1)
    return ndtri((np.arange(_SHARED**2) - before * before + 1) / (2.0 * (before + 1)))


def _places(values: FloatArray) -> IntArray:
    """Of every value of a row among those before it: how many are less, and how many not larger, added up."""
    places = np.empty(values.shape, dtype=np.int64)
    if COMPILED is not None and values.size:
        COMPILED.places(np.ascontiguousarray(values), values.shape[1], places)
        return places
    for row, own in enumerate(values.tolist()):
        known: list[float] = []
        for n, value in enumerate(own):
            left = bisect_left(known, value)
            places[row, n] = left + bisect_right(known, value, left)
            known.insert(left, value)
    return places


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


def early_jump(old: FloatArray, level: FloatArray, mean: float, fewest: Mapping[int, int]) -> Alarm | None:
    """The first jump of the first values of a level, which are too few alone: the one before tells their noise.

    ``fewest`` are the values of both before so many new ones.
    """
    for n in range(_NEW[0] + _OWN, min(level.size, _FIRST - 1 + _NEW[-1]) + 1):
        for new, least in fewest.items():
            since = n - new
            if not _OWN <= since < _FIRST or old.size + since < least:
                continue
            moved = old + (level[:since].mean() - old.mean())
            before, after = np.concatenate([moved, level[:since]])[-_BEFORE:], level[since:n]
            if after.min() > before.max() or after.max() < before.min():
                x, at = np.concatenate([before, after])[None], np.array([before.size])
                pvalue = float(_pvalues(x, np.zeros(1, np.int64), at, new, since)[0])
                if pvalue * mean * _OF_EARLY <= 1.0:
                    return Alarm(n - 1, since, bool(after[0] > before[-1]))
    return None


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
            newest += [(pvalue, since)] if pvalue * mean * _STRICTER[new] <= 1.0 else []
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
    small = pvalue * mean * _STRICTER[new] <= 1.0
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


def _pvalues(x: FloatArray, row: IntArray, since: IntArray, new: int, own: int | None = None) -> FloatArray:
    """Of so many values of a row from a place on, all beyond up to a hundred before it: of their mean.

    Of these only the last may be of the same level, ``own`` in number, with the others moved to it.
    """
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
    if own is not None:
        of_level = _of_mean(rho, np.full(count.size, float(own)))
    spread = np.sqrt(variance * (of_level + of_new))
    apart = np.abs(after.mean(axis=1) - level)
    distance = np.divide(apart, spread, out=np.full(count.size, np.inf), where=spread > 0.0)
    degrees = np.maximum(count * (1.0 - rho) / (1.0 + rho) - 1.0, 2.0)
    return np.asarray(2.0 * t_sf(distance, degrees))


def _of_mean(rho: FloatArray, count: FloatArray) -> FloatArray:
    """Variance of the mean of so many values of an autoregression of variance 1."""
    powers = rho * (1.0 - rho**count) / (1.0 - rho)
    return np.asarray((1.0 + 2.0 * rho / (1.0 - rho)) / count - 2.0 * powers / (count**2 * (1.0 - rho)))


def alarms(x: npt.ArrayLike, mean: float) -> tuple[Alarm, ...]:
    """All alarms that a series raises as its values come in, false ones as rare as one in so many values.

    Each new level is watched from its first value on.
    """
    return all_alarms([np.asarray(x, dtype=np.float64)], mean)[0]


def all_alarms(series: Sequence[FloatArray], mean: float) -> list[tuple[Alarm, ...]]:
    """The same of several series."""
    alarms: list[tuple[Alarm, ...]] = [()] * len(series)
    limit, starts = run_limit(2.0 * mean), dict.fromkeys(range(len(series)), 0)
    olds: dict[int, FloatArray] = {}
    most = _RANKS / (2.0 * mean) ** _POWER
    fewest = {new: least for new in _NEW if (least := _fewest_before(new, most)) is not None}
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
                early = early_jump(olds[i], level, 2.0 * mean, fewest) if fewest and i in olds else None
                raised = [a for a in (*both, early) if a is not None and a.raised < level.size]
                if not raised:
                    continue
                alarm = min(raised, key=lambda alarm: alarm.raised)
                upto = level[: alarm.raised + 1]
                old, new = upto[: alarm.since], upto[alarm.since :]
                again[i] = starts[i] + place_of_step(upto, 1, upto.size - 1, old, new)
                olds[i] = series[i][starts[i] : again[i]][-_BEFORE:]
                alarms[i] = (*alarms[i], replace(alarm, raised=starts[i] + alarm.raised, since=again[i]))
        starts = again
    return alarms
