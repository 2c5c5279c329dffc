"""The step in which values were read: a clock's tick, the digits that a program prints."""

from __future__ import annotations

import bisect
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray
from speedproof.stats.pooled import distinct, sample_ends

_COARSE = 0.25


def last_place(value: float, most: float = 1.0) -> float:
    """The last decimal place of a value as it was written, at most one unit of those in which it was."""
    place = Decimal(repr(value)).normalize().as_tuple().exponent
    return min(10.0 ** int(place), most)


def coarse_step(values: npt.ArrayLike) -> float:
    """The step in which values were read, where it is coarse: a quarter of all pairs of runs or more tie; else 0.

    The smallest difference between two of them, the last decimal place where all are equal. Where fewer tie,
    normal values spread by more than a step, and rounding moves their median by less than 1e-8 steps.
    """
    different, counts = distinct(np.asarray(values, dtype=np.float64).ravel())
    n = float(counts.sum())
    if n < 2 or (counts * (counts - 1.0)).sum() < _COARSE * n * (n - 1.0):
        return 0.0
    return last_place(float(different[0])) if different.size == 1 else float(np.diff(different).min())


def coarse_steps(x: npt.ArrayLike, y: npt.ArrayLike, units: npt.ArrayLike = 1.0) -> FloatArray:
    """Row by row `coarse_step` of X and Y, read alike: what one does not show of its step, the other may.

    `units` are those that the values were written in.
    """
    sides = np.atleast_2d(np.asarray(x, dtype=np.float64)), np.atleast_2d(np.asarray(y, dtype=np.float64))
    steps = np.zeros((len(sides[0]), 2))
    written = np.broadcast_to(np.asarray(units, dtype=np.float64), len(steps))
    tied = [~sample_ends(side).all(axis=1) for side in sides]
    for row in np.flatnonzero(tied[0] | tied[1]).tolist():
        steps[row] = _coarse_steps(sides[0][row], sides[1][row], float(written[row]))
    return steps


def _coarse_steps(x: FloatArray, y: FloatArray, unit: float) -> tuple[float, float]:
    """Of a side that never varies the smallest difference of both; of two such the finer decimal place."""
    steps = coarse_step(x), coarse_step(y)
    constant = [step > 0.0 and np.ptp(side) == 0.0 for step, side in zip(steps, (x, y), strict=True)]
    if not any(constant):
        return steps
    pooled, _ = distinct(np.concatenate([x, y]))
    neither = np.ptp(x) == np.ptp(y) == 0.0
    least = (
        min(last_place(value, unit) for value in pooled.tolist()) if neither else float(np.diff(pooled).min())
    )
    return least if constant[0] else steps[0], least if constant[1] else steps[1]


class Resolution:
    """Watches values and tells their step, as far as ties betray one.

    Values of full precision never tie. Where some do, the smallest difference that was ever seen is taken for the
    step; it may be larger than the true one, never smaller. Before a version has two different values it is their
    last decimal place, at most the unit in which they were written, a guess. Until the first tie nothing is known,
    and values count as exact.
    """

    def __init__(self, unit: float = 1.0) -> None:
        self._unit = unit
        self._distinct: list[float] = []
        self._first: dict[str, float] = {}
        self._gap = float("inf")
        self._ties = self._varies = False

    def add(self, value: float, version: str = "") -> None:
        """Take note of a value of a version."""
        self._varies = self._varies or self._first.setdefault(version, value) != value
        at = bisect.bisect_left(self._distinct, value)
        if at < len(self._distinct) and self._distinct[at] == value:
            self._ties = True
            return
        neighbours = self._distinct[max(at - 1, 0) : at + 1]
        self._gap = min([self._gap, *(abs(value - other) for other in neighbours)])
        self._distinct.insert(at, value)

    @property
    def seen(self) -> float:
        """The step as far as different values show it, without a guess from one; 0 without ties."""
        return self._gap if self._ties and len(self._distinct) > 1 else 0.0

    @property
    def step(self) -> float:
        """The step so far, in the unit of the values; 0 without ties."""
        if self._ties and not self._varies:
            return min(last_place(value, self._unit) for value in self._distinct)
        return self.seen
