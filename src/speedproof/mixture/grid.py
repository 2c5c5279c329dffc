"""The grid that values lie on: exactly, when they were rounded, or nearly, when a clock or a sleep ticks."""

from __future__ import annotations

import numpy as np

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.stats.ranks import ascending, sample_ends

FINEST = 1e6
"""A grid of more steps than this over the range is no rounding to reckon with."""


def detect_resolution(values: ArrayLike) -> float | None:
    """Find the step of the grid that tied values lie on.

    The largest h such that all differences are multiples of h within rounding noise; None when no two values
    are equal (then nothing shows a grid), when all are, or when there is no such h above a millionth of the
    range.
    """
    x = ascending(np.asarray(values, dtype=np.float64).ravel())
    distinct = x[sample_ends(x)]
    # Decimals are not exact in binary, and neither are their differences.
    noise = 64.0 * float(np.spacing(np.abs(x).max(initial=0.0)))
    steps = np.diff(distinct)
    steps = steps[steps > noise]
    if distinct.size == x.size or steps.size == 0:
        return None
    h, span = float(steps.min()), float(distinct[-1] - distinct[0])
    least = max(100.0 * noise, span / (1.02 * FINEST))
    if h <= least:
        return None
    # Euclid's algorithm on real numbers: a remainder within the noise is zero.
    rest = np.unique(steps)
    while h > least:
        rest = np.abs(rest - h * np.round(rest / h))
        rest = rest[rest > noise]
        if rest.size == 0:
            # All differences from the first value are multiples of h, so the span gives h its last digits.
            h = _shortest(span / round(span / h), noise)
            offsets = (distinct - distinct[0]) / h
            on_grid = span / h <= FINEST and np.abs(offsets - np.round(offsets)).max() <= 0.01
            return h if on_grid else None
        rest = np.append(rest, h)
        h = float(rest.min())
    return None


def _shortest(h: float, noise: float) -> float:
    """The shortest decimal within the noise."""
    for digits in range(1, 17):
        rounded = float(f"{h:.{digits}g}")
        if abs(rounded - h) <= noise:
            return rounded
    return h


def without_ties(x: FloatArray, step: float | None = None) -> FloatArray:
    """Sorted values, equal ones spread evenly over the step of their grid."""
    first = np.append(0, np.flatnonzero(x[1:] > x[:-1]) + 1)
    counts = np.diff(first, append=x.size)
    if counts.max() == 1 or (h := step or detect_resolution(x)) is None:
        return x
    rank = np.arange(x.size) - np.repeat(first, counts)
    return np.asarray(x + h * ((rank + 0.5) / np.repeat(counts, counts) - 0.5))


MANY = 10
"""Ticks that values must lie on: fewer, and evenly spaced, may be states of the program."""


def tick(values: FloatArray) -> float | None:
    """The step of the ticks that sorted values crowd at: each within an eighth of it, ten or more of them in use.

    None where there are none, or where less than a third of the values share one. There are more ticks than a
    mixture has components: spikes on some of them would be no states.
    """
    n = values.size
    gaps = values[1:] - values[:-1]
    # More lies between ticks than at them: a wide step in the ordered gaps, with as many above it as there may be.
    first, last = max(n - 1 - 2 * n // 3, 0), n - MANY
    if last <= first:
        return None
    order = np.sort(gaps)
    low, high = order[first:last], order[first + 1 : last + 1]
    wide = ((high >= 3.0 * low) & (low > 0.0)).nonzero()[0]  # values that tie exactly lie on a grid
    if wide.size == 0:
        return None
    at = int(wide[np.argmax(high[wide] / low[wide])])
    edges = np.flatnonzero(gaps > low[at]) + 1
    counts = np.diff(np.concatenate([[0], edges, [n]]))
    centres = np.add.reduceat(values, np.concatenate([[0], edges])) / counts
    steps = np.diff(centres)
    h = float(np.median(steps[steps < 1.5 * steps.min()]))
    whole = np.concatenate([[0.0], np.cumsum(np.round(steps / h))])
    middle = whole.mean()
    h = float((whole - middle) @ (centres - centres.mean()) / ((whole - middle) @ (whole - middle)))
    nearest = centres.mean() + h * (np.repeat(whole, counts) - middle)
    return h if float(np.abs(values - nearest).max()) <= h / 8.0 else None
