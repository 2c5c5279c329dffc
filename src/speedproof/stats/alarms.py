"""Alarms while values come in: a cumulative sum of ranks for small changes, how far values lie for large ones.

Each new value is ranked among those so far; without a change these sequential ranks are independent and uniform
whatever the distribution of the values. Their normal scores, freed from the dependence of neighbours, run into
Page's cumulative sum for both directions, whose mean time to an alarm is the solution of an integral equation.
False alarms are as rare as stated.

A jump is in the newest values: all of them beyond those before, and farther than dependent noise would go.

The ranks of a few new values say little, however far they lie; how far they lie says more, but outliers lie far,
too. Both are asked: two to five new values, all larger or all smaller than the level's last hundred, with a mean
whose distance from theirs, in deviations of an autoregression, has a small enough p-value of Student's
distribution. So that an outlier hides no step, a few of the hundred may lie beyond the new ones: as many as leave
the chance of such ranks small. But where one has been at the new level, a return there is no jump. A level of four
to nine values is left in the same way, with those of the level before, moved to its height, for the noise that
they show, and a stricter limit.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.lib.stride_tricks import sliding_window_view

from speedproof.arrays import ArrayLike, ArrayPair, BoolArray, FloatArray, IntArray
from speedproof.stats.change_points import median, place_of_step
from speedproof.stats.normal_scores import COMPILED
from speedproof.stats.scaling import in_common_unit
from speedproof.stats.special import halved, ndtr, ndtri, t_sf

_SLACK = 0.5  # best for a change by one deviation
_FIRST = 10  # values that only serve for ranking, and of a level before it can be left
_NODES = 80
_MOST_DEPENDENT = 0.9
_ROWS = 256  # series at a time
_NEW, _NEWEST = (2, 3, 4, 5), (1, 2)
_OWN = 4  # values without which a level is not left
_BEFORE = 100
_OUTLIERS = 40  # for each new value one in so many of those before may be one
_VISITED = 0.85  # from such a share of the way on, up to as far behind it, a value was at the new level
_AT_ONCE = 4096  # p-values
# By simulation (studies/history_alarms.py): of the p-value of so many new values, for looks at all lengths and
# dependent values, of which more stray together; of the chance of such ranks and its power of the mean, for
# outliers; of that of the newest values; of the p-value where few values show the level
_STRICTER = {1: 2.5, 2: 2.2, 3: 3.5, 4: 8.0, 5: 20.0}
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
def _nodes() -> ArrayPair:
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
            at, earlier = int(above[row].argmax()), alarms[row]
            if earlier is None or _FIRST + at < earlier.raised:
                zeros = np.flatnonzero(sums[row, :at] == 0.0)
                alarms[row] = Alarm(_FIRST + at, _FIRST + (int(zeros[-1]) + 1 if zeros.size else 0), up)
    return alarms


def _sequential_scores(values: FloatArray) -> FloatArray:
    """The normal score of every value among the values of its row so far."""
    return ndtri((_places(values) + 1) / (2.0 * np.arange(1, values.shape[1] + 1)))


def _places(values: FloatArray) -> IntArray:
    """For each value the numbers of smaller and of not larger values before it in its row, added."""
    places = np.empty(values.shape, dtype=np.int64)
    if COMPILED is not None and values.size:
        COMPILED.places(np.ascontiguousarray(values), values.shape[1], places)
        return places
    for row, series in enumerate(values.tolist()):
        ordered: list[float] = []
        for n, value in enumerate(series):
            left = bisect_left(ordered, value)
            places[row, n] = left + bisect_right(ordered, value, left)
            ordered.insert(left, value)
    return places


def first_jumps(x: FloatArray, mean: float) -> list[Alarm | None]:
    """The first jump in each of several series of equal length, shape (rows, n).

    False ones are as rare as one in so many values. Nothing depends on later values: shorter series may be filled
    up.
    """
    of_sizes = [jumps(x, mean, new, _RANKS / mean**_POWER) for new in _NEW]
    row, shown, pvalue, since = (np.concatenate(column) for column in zip(*of_sizes, strict=True))
    first: list[Alarm | None] = [None] * len(x)
    for i in np.lexsort((since, pvalue, shown, row)).tolist():
        r, k = int(row[i]), int(since[i])
        if first[r] is None:
            first[r] = Alarm(int(shown[i]), k, bool(x[r, k] > median(x[r, max(0, k - _BEFORE) : k])))
    return first


def early_jump(old: FloatArray, level: FloatArray, mean: float, left: Mapping[int, IntArray]) -> Alarm | None:
    """The first jump of the first values of a level, which are too few alone: the one before tells their noise.

    ``left`` is what :func:`_left_out` says of so many new values.
    """
    first = level[None, : _FIRST - 1 + _NEW[-1]]
    counts = np.minimum(old.size + np.arange(_BEFORE + 1), _BEFORE)
    jump = {new: np.flatnonzero(_all_beyond(first, new, of_count[counts])) for new, of_count in left.items()}
    for n, new in sorted((since + new, new) for new, of in jump.items() for since in of.tolist()):
        since = n - new
        if not _OWN <= since < _FIRST:
            continue
        after, most = level[since:n], int(left[new][counts[since]])
        moved = old + (median(level[:since]) - median(old))
        before = np.concatenate([moved, level[:since]])[-_BEFORE:]
        beyond = _lies_beyond(before, after, most)
        if beyond and _pvalue(before, after, most, since) * mean * _OF_EARLY <= 1.0:
            return Alarm(n - 1, since, bool(after[0] > median(before)))
    return None


def newest_jump(x: FloatArray, mean: float) -> int | None:
    """Where the newest one or two values jump, how many are before; false ones once in so many values."""
    newest = []
    for new in _NEWEST:
        since = x.size - new
        before, after = x[max(0, since - _BEFORE) : max(0, since)], x[max(0, since) :]
        most = _left_out(new, _RANKS_OF_NEWEST / mean)[before.size]
        if _lies_beyond(before, after, most):
            pvalue = _pvalue(before, after, most, nearer=1.0)
            newest += [(pvalue, since)] if pvalue * mean * _STRICTER[new] <= 1.0 else []
    return min(newest)[1] if newest else None


def _lies_beyond(before: FloatArray, after: FloatArray, most: int) -> bool:
    """Whether values lie beyond all before them but so many, none if it is less than zero."""
    if most < 0:
        return False
    fewest = min(np.count_nonzero(before >= after.min()), np.count_nonzero(before <= after.max()))
    return bool(fewest <= most)


def jumps(
    x: FloatArray, mean: float, new: int, most: float
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Every jump of so many values, its ranks of such a chance at most: row, last value, p-value, first value."""
    left = np.array(_left_out(new, most))
    row, since = np.nonzero(_all_beyond(x, new, left))
    pvalue = np.ones(row.size)
    for k in range(0, row.size, _AT_ONCE):
        part = slice(k, k + _AT_ONCE)
        pvalue[part] = _pvalues(x, row[part], since[part], new, left[np.minimum(since[part], _BEFORE)])
    small = pvalue * mean * _STRICTER[new] <= 1.0
    return row[small], since[small] + new - 1, pvalue[small], since[small]


def _all_beyond(x: FloatArray, new: int, left: IntArray) -> BoolArray:
    """Whether so many values from each of a row on lie beyond all but so many before it, by how many are there."""
    beyond = np.zeros(x.shape, dtype=np.bool_)
    rows, n = x.shape
    if not rows or n <= new:
        return beyond
    if COMPILED is not None:
        COMPILED.beyond(np.ascontiguousarray(x), n, new, left, beyond)
        return beyond
    padded = np.pad(x, ((0, 0), (_BEFORE, 0)), constant_values=math.nan)
    before = sliding_window_view(padded, _BEFORE, axis=1)[:, : n - new + 1]
    after = sliding_window_view(x, new, axis=1)
    more, less = before >= after.min(axis=2)[..., None], before <= after.max(axis=2)[..., None]
    fewest = np.minimum(more.sum(axis=2), less.sum(axis=2))
    beyond[:, : n - new + 1] = fewest <= left[np.minimum(np.arange(n - new + 1), _BEFORE)]
    return beyond


@lru_cache(maxsize=256)
def _left_out(new: int, most: float) -> tuple[int, ...]:
    """Of how many values before how many may lie beyond the new ones, that the chance is small; -1 if none may.

    The new ones are then among the largest, or smallest, of all. One alone may be an outlier itself: none may.
    """
    left = [-1] * (_BEFORE + 1)
    for before in range(_FIRST, _BEFORE + 1):
        for beyond in range(1 + (new > 1) * math.ceil(before * new / _OUTLIERS)):
            if 2.0 * math.comb(beyond + new, new) / math.comb(before + new, new) <= most:
                left[before] = beyond
    return tuple(left)


def _pvalue(
    before: FloatArray, after: FloatArray, left: int, alone: int | None = None, nearer: float = _VISITED
) -> float:
    """The p-value of one row."""
    x, since, most = np.concatenate([before, after])[None], np.array([before.size]), np.array([left])
    return float(_pvalues(x, np.zeros(1, np.int64), since, after.size, most, alone, nearer)[0])


def _pvalues(
    x: FloatArray,
    row: IntArray,
    since: IntArray,
    new: int,
    left: IntArray,
    alone: int | None = None,
    nearer: float = _VISITED,
) -> FloatArray:
    """Of so many values of a row from a place on, and up to a hundred before it: of their mean.

    It is 1 where one before was at the new level, from the share ``nearer`` of the way on. So many at both ends
    are drawn to their neighbours, as outliers. Of those before only the last, ``alone`` in number,
    may be of the same level, with the others moved to it.
    """
    places = since[:, None] + np.arange(-_BEFORE, 0)
    there = places >= 0
    earlier = np.where(there, x[row[:, None], np.maximum(places, 0)], 0.0)
    earlier, after = in_common_unit(earlier, x[row[:, None], since[:, None] + np.arange(new)])
    many, each = there.sum(axis=1), np.arange(row.size)
    ordered = np.sort(np.where(there, earlier, np.inf), axis=1)
    ends = ordered[each, left, None], ordered[each, many - 1 - left, None]
    before, count = np.where(there, np.clip(earlier, *ends), 0.0), many.astype(np.float64)
    level = before.sum(axis=1) / count
    rest = np.where(there, before - level[:, None], 0.0)
    power, lagged = (rest * rest).sum(axis=1), (rest[:, 1:] * rest[:, :-1]).sum(axis=1)
    raw = np.divide(lagged, power, out=np.zeros_like(power), where=power > 0.0)
    rho = np.clip(raw + (1.0 + 3.0 * np.maximum(raw, 0.0)) / count, 0.0, _MOST_DEPENDENT)
    of_level, of_new = _of_mean(rho, count), _of_mean(rho, np.full(count.size, float(new)))
    variance = power / (_of_drawn(left, count) * count * np.maximum(1.0 - of_level, 0.1))
    if alone is not None:
        of_level = _of_mean(rho, np.full(count.size, float(alone)))
    spread = np.sqrt(variance * (of_level + of_new))
    apart = after.mean(axis=1) - level
    distance = np.divide(np.abs(apart), spread, out=np.full(count.size, np.inf), where=spread > 0.0)
    degrees = np.maximum(count * (1.0 - rho) / (1.0 + rho) - 1.0, 2.0)
    direction = np.sign(apart)[:, None]
    way, up = ((each - level[:, None]) * direction for each in (earlier, after))
    visited = there & (way >= nearer * up.min(axis=1)[:, None]) & (_VISITED * way <= up.max(axis=1)[:, None])
    return np.where(visited.any(axis=1), 1.0, 2.0 * t_sf(distance, degrees))


def _of_drawn(left: IntArray, count: FloatArray) -> FloatArray:
    """Variance of normal values of variance 1 when so many of both ends are drawn to their neighbours."""
    share = np.maximum(left, 1e-9) / count
    end = -ndtri(share)
    density = np.exp(-0.5 * end * end) / math.sqrt(2.0 * math.pi)
    return np.asarray(1.0 - 2.0 * share - 2.0 * end * density + 2.0 * share * end * end)


def _of_mean(rho: FloatArray, count: FloatArray) -> FloatArray:
    """Variance of the mean of so many values of an autoregression of variance 1."""
    powers = rho * (1.0 - rho**count) / (1.0 - rho)
    return np.asarray((1.0 + 2.0 * rho / (1.0 - rho)) / count - 2.0 * powers / (count**2 * (1.0 - rho)))


def alarms(x: ArrayLike, mean: float) -> tuple[Alarm, ...]:
    """All alarms that a series raises as its values come in, false ones as rare as one in so many values.

    Each new level is watched from its first value on.
    """
    return all_alarms([np.asarray(x, dtype=np.float64)], mean)[0]


def all_alarms(series: Sequence[FloatArray], mean: float) -> list[tuple[Alarm, ...]]:
    """The same for several series."""
    alarms: list[tuple[Alarm, ...]] = [()] * len(series)
    limit, starts = run_limit(2.0 * mean), dict.fromkeys(range(len(series)), 0)
    olds: dict[int, FloatArray] = {}
    most = _RANKS / (2.0 * mean) ** _POWER
    left = {new: np.array(_left_out(new, most)) for new in _NEW}
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
                early = early_jump(olds[i], level, 2.0 * mean, left) if i in olds else None
                raised = [a for a in (*both, early) if a is not None and a.raised < level.size]
                if not raised:
                    continue
                alarm = min(raised, key=lambda alarm: alarm.raised)
                upto = level[: alarm.raised + 1]
                both_sides = median(upto[: alarm.since]), median(upto[alarm.since :])
                again[i] = starts[i] + place_of_step(upto, 1, upto.size - 1, *both_sides)
                olds[i] = series[i][starts[i] : again[i]][-_BEFORE:]
                alarms[i] = (*alarms[i], replace(alarm, raised=starts[i] + alarm.raised, since=again[i]))
        starts = again
    return alarms
