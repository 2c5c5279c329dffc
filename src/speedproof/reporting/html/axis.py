"""Axes: where a number lies between two ends, and which round numbers to write along it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

_MARGIN = 3.0
"""Percent of the width left free at both ends, for arrows and half a label."""
_WIDE = 4.0
_FINE = 15.0
_TRIMMED = 0.02
_LINEAR = 7
LABEL_WIDTHS = (0, 5, 7, 9, 12, 16, 21, 28, 40)
"""Widths of an axis in units of its labels' size, from each of which other labels are shown; as in page.css."""
_DIGIT, _GAP = 0.64, 0.5
"""The widest digit of the fonts in page.css, and the least room between two labels, in the same unit."""


class Tick(Struct, frozen=True):
    """A round number along an axis."""

    at: float  # in percent of the width
    label: str  # as shown
    # The classes ``h0``, ``h1``, ...: at which of :data:`LABEL_WIDTHS` its label would run into another one
    hidden: str


class RatioAxis(Struct, frozen=True):
    """A logarithmic axis, on which a speedup of 2 and one of 1/2 are equally far from 1."""

    low: float  # its ends, 0 < low < 1 < high
    high: float
    ticks: tuple[float, ...]  # round numbers between them, 1 among them

    def place(self, value: float) -> float:
        """Where a value lies, in percent of the width; at an end when it is beyond."""
        if value <= self.low:
            share = 0.0
        elif value >= self.high:
            share = 1.0
        else:
            share = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return round(_MARGIN + share * (100 - 2 * _MARGIN), 3)

    def labelled(self) -> tuple[Tick, ...]:
        """Its ticks, each with the widths at which there is no room for its label.

        At every width as many labels are shown as there is room for: every first, second, third, ... counted
        from 1, as far as those are evenly spaced.
        """
        places = [self.place(tick) for tick in self.ticks]
        labels = [f"{tick:g}" for tick in self.ticks]
        origin = self.ticks.index(1.0)
        every = [range(origin % k, len(labels), k) for k in range(1, len(labels) + 1)]
        steps = [every[0], *(s for s in every if _even([self.ticks[i] for i in s]))]
        shown = [
            next(s for s in steps if _fits([places[i] for i in s], [labels[i] for i in s], width))
            for width in LABEL_WIDTHS
        ]
        return tuple(
            Tick(place, label, " ".join(f"h{w}" for w, chosen in enumerate(shown) if i not in chosen))
            for i, (place, label) in enumerate(zip(places, labels, strict=True))
        )


def _even(values: Sequence[float]) -> bool:
    """Whether all neighbours have the same difference, or the same ratio."""
    pairs = list(pairwise(values))
    return any(
        math.isclose(min(steps, default=0.0), max(steps, default=0.0), rel_tol=1e-6)
        for steps in ([b - a for a, b in pairs], [b / a for a, b in pairs])
    )


def _fits(places: Sequence[float], labels: Sequence[str], width: float) -> bool:
    """Whether labels around places in percent of a width stay apart."""
    return all(
        (right - left) / 100 * width >= _DIGIT * (len(a) + len(b)) / 2 + _GAP
        for (left, right), (a, b) in zip(pairwise(places), pairwise(labels), strict=True)
    )


def ratio_axis(values: Sequence[float], bounds: Sequence[float] = ()) -> RatioAxis:
    """An axis for speedups."""
    points = _near([v for v in values if 0 < v < math.inf])
    ends = sorted(_near([b for b in bounds if 0 < b < math.inf]))
    cut = int(_TRIMMED * len(ends))
    reach = [*points, *ends[cut : len(ends) - cut]]
    low, high = min(reach, default=0.9), max(reach, default=1.1)
    low, high = min(low, 1 / 1.001), max(high, 1.001)
    return RatioAxis(low, high, _ratio_ticks(low, high))


def _near(points: Sequence[float], reach: float = 4.0, most: float = 0.1) -> list[float]:
    """Without the few that are far from the rest: by more than some interquartile ranges of the logarithms."""
    logs = sorted(map(math.log, points))
    if len(logs) < 8:
        return list(points)
    first, third = logs[len(logs) // 4], logs[(3 * len(logs)) // 4]
    room = reach * max(third - first, math.log(1.25))
    near = [p for p in points if first - room <= math.log(p) <= third + room]
    return near if len(near) >= (1 - most) * len(points) else list(points)


def _ratio_ticks(low: float, high: float) -> tuple[float, ...]:
    if high / low <= _WIDE:
        return _multiples(low, high, 8)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    mantissas: tuple[float, ...] = (1, 2, 5) if len(decades) <= 4 else (1,)
    if high / low <= _FINE:
        mantissas = (1, 1.5, 2, 3, 5, 7)
    every = max(1, math.ceil(len(decades) / 8))
    # Counted from 1 = 10^0, which always gets its tick.
    ticks = (float(f"{m}e{d}") for d in decades if d % every == 0 for m in mantissas)
    return tuple(t for t in ticks if low <= t <= high)


def _multiples(low: float, high: float, most: int) -> tuple[float, ...]:
    """Of the smallest of 1, 2, 5 times a power of ten that cuts a span into at most so many parts."""
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(m * power for m in (1, 2, 5, 10) if m * power * most >= span * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(float(f"{i * step:.12g}") for i in range(first, last + 1))


def linear_ticks(low: float, high: float) -> tuple[float, ...]:
    """Round numbers from low to high."""
    if not (high - low) / _LINEAR > 1e-13 * max(abs(low), abs(high)):
        return (low,)
    return _multiples(low, high, _LINEAR) or (low,)
