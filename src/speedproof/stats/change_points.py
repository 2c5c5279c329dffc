"""Several changes in one series.

A series first has to show a change as a whole, at the stated risk. Steps are then taken out of it, as few as leave
nothing that shows a change at that risk: more are added while what is left shows some, at the places that explain
all values or what is left best, and those are dropped that are not missed.
"""

from __future__ import annotations

import math
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.stats.levels import LEAST, MARGIN, best_levels, levels, places_of_step
from speedproof.stats.normal_scores import normal_scores
from speedproof.stats.scaling import usual
from speedproof.stats.two_levels import two_levels

_ROUNDS = 10


class ChangePoint(Struct, frozen=True):
    """A change of level."""

    split: int  # best estimate: the number of values before the change
    low: int  # the smallest and largest number of values before it that the data leave possible
    high: int
    pvalue: float  # where the other changes are taken out
    drift: bool = (
        False  # a line explains the values better than steps: it happened little by little, low to high
    )


def _share(n: int) -> float:
    """Of the risk, what the test of two levels has: all in few values, then what shows a last three at 1 %."""
    return min(1.0, max(0.03, 2.0 / math.comb(n, 3) / 0.01)) if n >= LEAST else 1.0


def change_pvalues(x: npt.ArrayLike) -> FloatArray:
    """Of each of several series of equal length, shape (rows, n): the p-value of any change."""
    return _shows(np.asarray(x, dtype=np.float64), None)


def _shows(series: FloatArray, most: int | None) -> FloatArray:
    """The same of up to so many changes."""
    share = _share(series.shape[-1])
    pvalue = two_levels(series).pvalue / share
    if share < 1.0:
        pvalue = np.minimum(pvalue, levels(series, most=most).pvalue / (1.0 - share))
    return np.minimum(pvalue, 1.0)


def find_changes(x: npt.ArrayLike, alpha: float, *, known: float | None = None) -> tuple[ChangePoint, ...]:
    """All changes of level that a series shows: as few as leave nothing that shows a change."""
    series = np.asarray(x, dtype=np.float64)
    if (float(change_pvalues(series[None])[0]) if known is None else known) > alpha:
        return ()
    plain = two_levels(series[None])
    step, apart = int(plain.split[0]), float(plain.pvalue[0]) / _share(series.size)
    splits, rho = _fewest(series, alpha, step if apart <= alpha else None)
    if splits == [step] and apart <= alpha:
        return (
            ChangePoint(step, *places_of_step(usual(series - np.median(series)), step, 0.0, alpha), apart),
        )
    alone = np.stack([_without(series, splits, kept) for kept in range(len(splits))])
    located: list[ChangePoint] = []
    for split, end, pvalue in zip(splits, [*splits[1:], series.size], _shows(alone, 1).tolist(), strict=True):
        start = located[-1].split if located else 0
        located.append(_located(series, start, split, end, pvalue, alpha, rho))
    return _with_drifts(series, located)


def _with_drifts(series: FloatArray, changes: list[ChangePoint]) -> tuple[ChangePoint, ...]:
    """Changes in one direction that a line explains better than they do are one, a drift."""
    bounds = [0, *(change.split for change in changes), series.size]
    heights = [float(np.median(series[start:end])) for start, end in pairwise(bounds)]
    ups = [after > before for before, after in pairwise(heights)]
    found: list[ChangePoint] = []
    for _, group in groupby(range(len(changes)), key=ups.__getitem__):
        run = list(group)
        first, last = run[0], run[-1]
        if _is_line(series[bounds[first] : bounds[last + 2]], [bounds[k + 1] - bounds[first] for k in run]):
            change = changes[min(run, key=lambda k: changes[k].pvalue)]
            low, high = changes[first].low, changes[last].high
            found.append(ChangePoint(change.split, low, high, change.pvalue, drift=True))
        else:
            found += changes[first : last + 1]
    return tuple(found)


def _is_line(x: FloatArray, splits: list[int]) -> bool:
    """Whether normal scores lie nearer to a line than to levels; each after the second has the price of BIC."""
    scores = normal_scores(x)
    levels_apart = sum(float(np.square(part - part.mean()).sum()) for part in np.split(scores, splits))
    time = np.arange(x.size) - (x.size - 1) / 2.0
    line_apart = float(np.square(scores).sum() - (time @ scores) ** 2 / (time @ time))
    price = (len(splits) - 1) * math.log(x.size)
    return line_apart < levels_apart * math.exp(price / x.size)


def _fewest(series: FloatArray, alpha: float, step: int | None) -> tuple[list[int], float]:
    """Splits of which none can be spared, and the dependence that is left; a clear step is tried first."""
    ways = best_levels(series)
    splits = ways[0][0] if step is None else [step]
    for _ in range(_ROUNDS):
        rest = _without(series, splits)
        if float(_shows(rest[None], None)[0]) > alpha:
            break
        ends = np.array([0, *splits, series.size])
        found = [k for k in levels(rest[None]).splits[0].tolist() if np.abs(ends - k).min() >= MARGIN]
        if not found:
            break
        # Ranks of all values see little of small steps between large ones, those of what is left little of both.
        candidates = [
            sorted([*splits, *found]),
            *(way for way, _ in ways[len(splits) : len(splits) + len(found)]),
        ]
        splits = min(candidates, key=lambda way: float(np.abs(_without(series, way)).sum()))
    while len(splits) > 1:
        fewer = [splits[:k] + splits[k + 1 :] for k in range(len(splits))]
        pvalues = _shows(np.stack([_without(series, way) for way in fewer]), None)
        if pvalues.max() <= alpha:
            break
        splits = fewer[int(pvalues.argmax())]
    return splits, ways[min(len(splits), len(ways)) - 1][1]


def _without(series: FloatArray, splits: list[int], kept: int | None = None) -> FloatArray:
    """The series with its steps taken out, but for the one that is kept: medians brought to one level."""
    parts = np.split(series, splits)
    heights = [float(np.median(part)) for part in parts]
    jump = 0.0 if kept is None else heights[kept + 1] - heights[kept]
    return np.concatenate(
        [
            part - height + (jump if kept is not None and k > kept else 0.0)
            for k, (part, height) in enumerate(zip(parts, heights, strict=True))
        ]
    )


def _located(
    series: FloatArray, start: int, split: int, end: int, pvalue: float, alpha: float, rho: float
) -> ChangePoint:
    """The change between two neighbouring ones and the places that are possible for it.

    Among those the best is found on the values: ranks set an extreme value of the longer side by the shorter one.
    """
    part = series[start:end]
    low, high = places_of_step(normal_scores(part[None])[0], split - start, rho, alpha)
    best = place_of_step(part, low, high, part[:low], part[high:])
    return ChangePoint(start + best, start + low, start + high, pvalue)


def place_of_step(x: FloatArray, low: int, high: int, before: FloatArray, after: FloatArray) -> int:
    """The place from one to another with the least absolute deviations from the medians of two levels."""
    one, two = (np.abs(x[low:high] - np.median(level)) for level in (before, after))
    costs = np.concatenate([[0.0], np.cumsum(one)]) + np.concatenate([np.cumsum(two[::-1])[::-1], [0.0]])
    return low + int(costs.argmin())
