"""A change while values come in: the cumulative sum of scores, with a stated mean time between false alarms.

Each new value is ranked among those so far; without a change these sequential ranks are independent and uniform
whatever the distribution of the values. Their normal scores, freed from the dependence of neighbours, run into
Page's cumulative sum for both directions, whose mean time to an alarm is the solution of an integral equation.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import lru_cache

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.normal_scores import COMPILED
from speedproof.stats.special import halved, ndtr, ndtri

_SLACK = 0.5  # best for a change by one deviation
_FIRST = 10  # values that only serve for ranking
_NODES = 80
_SHARED = 512  # values of a series, of many of which scores are looked up
_MOST_DEPENDENT = 0.9


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
        found = np.empty((len(values), 3), dtype=np.int64)
        COMPILED.walks(scores, values.shape[1], _FIRST, _SLACK, _MOST_DEPENDENT, limit, found)
        return [Alarm(at, since, bool(up)) if at >= 0 else None for at, since, up in found.tolist()]
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
