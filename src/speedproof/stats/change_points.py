"""Several changes in one series, each tested between its neighbours.

A series first has to show a change as a whole, at the stated risk. Where the changes are is then a matter of
estimation and test in turn: intervals of every length propose places, the shortest that show a change first;
each place must then show its change in what lies between its neighbours, and the weakest that does not is
dropped, until all do.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.change_scan import (
    LEAST,
    change_scan,
    confidence_set,
    difference_dependence,
    normal_scores,
    step_dependence,
)
from speedproof.stats.two_levels import places_of_step, two_levels

_SHRINK = 2.0**-0.5  # lengths of seeded intervals, from one to the next
_ROUNDS = 5
_MOST = 0.9
_LONG = 40  # values that may hold a change and its undoing
_PASSING = 0.05  # of the risk, what looking for those has
_AT_ONCE = 200  # series
_SHORT = 72  # values of an interval whose levels are looked at


class ChangePoint(Struct, frozen=True):
    """A change of level."""

    split: int  # best estimate: the number of values before the change
    low: int  # the smallest and largest number of values before it that the data leave possible
    high: int
    pvalue: float  # of the interval that shows it


def _share(n: int) -> float:
    """Of the risk, what the test of two levels has: all in few values, then what shows a last three at 1 %."""
    return min(1.0, max(0.02, 2.0 / math.comb(n, 3) / 0.01)) if n >= LEAST else 1.0


def change_pvalues(x: npt.ArrayLike) -> FloatArray:
    """Of each of several series of equal length, shape (rows, n): the p-value of any change."""
    series = np.asarray(x, dtype=np.float64)
    n = series.shape[-1]
    share = _share(n)
    pvalue = two_levels(series).pvalue / share
    if share < 1.0:
        passing = _PASSING if n >= _LONG else 0.0
        pvalue = np.minimum(pvalue, change_scan(series).pvalue / (1.0 - share - passing))
        if passing:
            pvalue = np.minimum(pvalue, _passing(series) / passing)
    return np.minimum(pvalue, 1.0)


def _passing(series: FloatArray) -> FloatArray:
    """The p-value of two levels in any short interval: large changes that were undone hide from a scan."""
    windows = [(size, starts) for size, starts in _intervals(series.shape[-1]) if 18 <= size <= _SHORT]
    least = np.ones(len(series))
    for first in range(0, len(series), _AT_ONCE):
        rows = slice(first, first + _AT_ONCE)
        for size, starts in windows:
            parts = np.lib.stride_tricks.sliding_window_view(series[rows], size, axis=1)[:, starts]
            found = two_levels(parts.reshape(-1, size)).pvalue.reshape(parts.shape[:2])
            least[rows] = np.minimum(least[rows], found.min(axis=1))
    return least * sum(starts.size for _, starts in windows)


def _shows(x: FloatArray, rho: float) -> tuple[FloatArray, IntArray]:
    """Of every row the p-value of a change at a known dependence, and its split, by the test that shows more."""
    n = x.shape[-1]
    share = _share(n) if n <= _SHORT else 0.0
    if share == 1.0:
        levels = two_levels(x)
        return levels.pvalue, levels.split
    scan = change_scan(x, dependence=rho)
    pvalue, split = scan.pvalue / (1.0 - share), scan.split
    if share:
        levels = two_levels(x)
        split = np.where(levels.pvalue / share < pvalue, levels.split, split)
        pvalue = np.minimum(pvalue, levels.pvalue / share)
    return pvalue, split


def find_changes(x: npt.ArrayLike, alpha: float, *, known: float | None = None) -> tuple[ChangePoint, ...]:
    """All changes of level that a series shows.

    After R. Baranowski, Y. Chen, P. Fryzlewicz, "Narrowest-over-threshold detection of multiple change points", J.
    R. Stat. Soc. B 81(3), 2019, and S. Kovacs et al., "Seeded binary segmentation", Biometrika 110(1), 2023.
    """
    series = np.asarray(x, dtype=np.float64)
    if (float(change_pvalues(series[None])[0]) if known is None else known) > alpha:
        return ()
    levels = two_levels(series[None])
    known = float(levels.pvalue[0]) / _share(series.size)
    step = int(levels.split[0])
    plain = (ChangePoint(step, *places_of_step(series, step, alpha), known),) if known <= alpha else ()
    if plain and float(change_scan(series).pvalue) > alpha:
        return plain
    scores = normal_scores(series)
    # Steps that are not known yet would be taken for dependence; differences know little of steps.
    rho = float(np.clip(difference_dependence(scores), 0.0, _MOST))
    splits = _proposed(series, alpha, rho) or [int(change_scan(series).split)]
    pvalues: list[float] = []
    for _ in range(_ROUNDS):
        before = splits
        rho = float(step_dependence(scores, np.array(splits)))
        proposed = _proposed(series, alpha, rho) or [int(change_scan(series, dependence=rho).split)]
        splits, pvalues = _confirmed(series, proposed, alpha, rho)
        if splits == before:
            break
    if plain and len(splits) == 1:
        return plain
    bounds = [0, *splits, series.size]
    return tuple(
        _located(series, start, split, end, pvalue, alpha, rho)
        for start, split, end, pvalue in zip(bounds, splits, bounds[2:], pvalues, strict=False)
    )


def _confirmed(
    series: FloatArray, splits: list[int], alpha: float, rho: float
) -> tuple[list[int], list[float]]:
    """Drop the weakest place until each shows a change between its neighbours; what is left, with p-values."""
    while True:
        bounds = [0, *splits, series.size]
        shown = [_shows(series[None, start:end], rho) for start, end in zip(bounds, bounds[2:], strict=False)]
        pvalues = [float(pvalue[0]) for pvalue, _ in shown]
        weakest = int(np.argmax(pvalues))
        if len(splits) == 1 or pvalues[weakest] <= alpha / (len(splits) + 1):
            return splits, pvalues
        del splits[weakest]


def _located(
    series: FloatArray, start: int, split: int, end: int, pvalue: float, alpha: float, rho: float
) -> ChangePoint:
    """The change between two neighbouring ones and the places that are possible for it.

    Among those the best is found on the values: ranks set an extreme value of the longer side by the shorter one.
    """
    part = series[start:end]
    possible = confidence_set(part, alpha, dependence=rho, best=split - start)
    low, high = int(possible.min()), int(possible.max())
    undermined = part[low:high]
    before, after = (np.abs(undermined - np.median(side)) for side in (part[:low], part[high:]))
    costs = np.concatenate([[0.0], np.cumsum(before)]) + np.concatenate([np.cumsum(after[::-1])[::-1], [0.0]])
    best = low + int(costs.argmin())
    return ChangePoint(start + best, start + low, start + high, pvalue)


@lru_cache(maxsize=64)
def _intervals(n: int) -> tuple[tuple[int, IntArray], ...]:
    """Seeded intervals of n values: their lengths, and where those of a length start."""
    found, length = [], float(n)
    while length >= LEAST:
        size = int(np.ceil(length))
        starts = np.unique(np.linspace(0, n - size, 2 * int(np.ceil(n / size)) - 1).astype(np.int64))
        found.append((size, starts))
        length *= _SHRINK
    return tuple(found)


def _proposed(series: FloatArray, alpha: float, rho: float) -> list[int]:
    """Places where a short interval shows a change by itself, ascending; the shortest intervals come first."""
    n = series.size
    found: list[tuple[int, float, int, int]] = []
    for size, starts in _intervals(n):
        pvalue, split = _shows(np.lib.stride_tricks.sliding_window_view(series, size)[starts], rho)
        found += [
            (size, float(pvalue[i]), int(starts[i]), int(starts[i] + split[i]))
            for i in np.flatnonzero(pvalue <= alpha / starts.size)
        ]
    kept: list[tuple[int, int, int]] = []
    for size, _, start, place in sorted(found):
        if all(start + size <= other or start >= end for other, end, _ in kept):
            kept.append((start, start + size, place))
    return sorted(place for _, _, place in kept)
