"""The panels: what the script of a page needs to draw one benchmark, when somebody opens it; axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import BoolArray, FloatArray
from speedproof.data.notes import Note
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Pair, Suite
from speedproof.data.units import Direction, format_value, format_values
from speedproof.protocols.results import Comparison
from speedproof.protocols.suite import SuiteComparison
from speedproof.protocols.units import Summary, compared, typical_units
from speedproof.reporting.names import labels
from speedproof.reporting.numbers import plural, pvalue, values
from speedproof.reporting.words import named, proof, verdict
from speedproof.stats.quantile_ratio import shift_function
from speedproof.stats.scaling import with_headroom

Panel = dict[str, Any]
FAR = 8.0
"""Interquartile ranges from the quartiles beyond which a value is drawn at the edge of a chart."""
MOST_FAR = 0.1
STEPS = 1000
"""A chart is so many steps high: drawn values are whole numbers, which keeps a page small."""
_MOST_DRAWN, _LEAST_DRAWN = 1000, 100
_BUDGET = 240_000
"""Values of all charts of a page together; larger samples are thinned evenly, and the chart says so."""

_MOST_SHIFTS = 500
"""Benchmarks of a page beyond which their deciles are not compared: each takes some milliseconds."""


def panels(result: SuiteComparison, suite: Suite, margin: float | None = None) -> dict[str, Panel]:
    """The data of every panel of a suite."""
    pairs: Mapping[str, Pair] = {}
    if result.reference in suite.versions and result.candidate in suite.versions:
        pairing = suite.pair(result.reference, result.candidate)
        pairs = {p.key.benchmark: p for p in pairing.pairs if p.key.metric == result.metric}
    answers = result.by_benchmark
    most = min(max(_BUDGET // (2 * max(len(answers), 1)), _LEAST_DRAWN), _MOST_DRAWN)
    return {name: _panel(of_one, pairs.get(name), most, margin, result) for name, of_one in answers.items()}


def _panel(
    comparisons: Sequence[Comparison],
    pair: Pair | None,
    most: int,
    margin: float | None,
    result: SuiteComparison,
) -> Panel:
    old, new = labels([comparisons[0].reference.label, comparisons[0].candidate.label], 40)
    comparisons = [named(c, old, new) for c in comparisons]
    called = {"X": old, "Y": new}
    counted = None if pair is None else _independent(pair, result.nested)
    shifts = len(result.benchmarks) <= _MOST_SHIFTS

    def said(c: Comparison) -> list[str]:
        text = "; ".join(filter(None, (verdict(c, margin), proof(c)))).replace("; (", " (")
        return [c.verdict.value, c.proven_verdict.value, text]

    return {
        "said": list(map(said, comparisons)),
        "labels": [old, new],
        "tests": [
            [c.protocol, c.test or f"none: {_state(c, called)}", pvalue(c.pvalue), pvalue(c.pvalue_slower)]
            for c in comparisons
        ],
        "checks": _checks(comparisons, called),
        "summary": _summary(comparisons),
        "drawn": None if counted is None else _drawn(*counted, most),
        "shift": None if counted is None or not shifts else _shift(counted[0], comparisons[0].alpha),
    }


def _state(c: Comparison, called: Mapping[str, str]) -> str:
    """Where a protocol stopped, by the names of the versions."""
    return " ".join(called.get(word, word) for word in c.state.value.split(" "))


def _shift(pair: Pair, alpha: float) -> dict[str, Any] | None:
    """How many times faster each decile is, along an axis in percent of its length."""
    x, y = pair.reference, pair.candidate
    if min(x.values.min(), y.values.min()) <= 0.0:
        return None
    slow, fast = (y, x) if x.direction is Direction.HIGHER else (x, y)
    rows = shift_function(slow.values, fast.values, alpha).tolist()
    if not any(0.0 < end < math.inf for _, *ends in rows for end in ends):
        return None
    axis = ratio_axis([ratio for ratio, *_ in rows], [end for _, *ends in rows for end in ends])
    return {
        "ticks": [[at, label] for at, label, _ in axis.labelled()],
        "one": axis.place(1.0),
        "deciles": [[axis.place(end) if 0.0 < end < math.inf else None for end in row] for row in rows],
    }


def _checks(comparisons: Sequence[Comparison], called: Mapping[str, str]) -> list[list[str]]:
    """Every check once: first those that undermine the headline, then those that fail, then those that hold."""
    seen: dict[tuple[str, str], Note] = {}
    of_headline = {(check.kind, check.statistic) for check in comparisons[0].checks}
    for c in comparisons:
        for check in c.checks:
            check = replace(check, versions=tuple(called.get(v, v) for v in check.versions))
            seen.setdefault((check.name, check.message), check)

    def rank(check: Note) -> int:
        leads = check.kind.undermines == "risk" and (check.kind, check.statistic) in of_headline
        return 2 if check.held else 0 if leads else 1

    words = ("undermines", "fails", "holds")
    return [
        [words[rank(c)], c.name, c.kind.question, pvalue(c.pvalue), "" if c.held else c.advice]
        for c in sorted(seen.values(), key=rank)
    ]


def _summary(comparisons: Sequence[Comparison]) -> list[list[str]]:
    """Both sides in numbers, by every protocol that saw other values (one a process: its mean or its median)."""
    sides = (side for c in comparisons for side in (("reference", c.reference), ("candidate", c.candidate)))
    return [list(row) for row in dict.fromkeys((role, s.label, *_numbers(s)) for role, s in sides)]


def _numbers(side: Summary) -> tuple[str, ...]:
    used = str(side.n) if side.n == side.observations else f"{side.n} of {side.observations}"
    return (
        used,
        *values([side.median, side.mean, side.minimum, side.maximum], side.unit),
        *(format_value(v, side.unit) for v in (side.deviation, side.mad)),
    )


def _independent(pair: Pair, nested: str) -> tuple[Pair, str, str]:
    """What repeats independently, as the verdict counts it, its name, and how many values it stands for."""
    if nested == "pool":
        return pair, "run", ""
    x, y = typical_units(pair)
    used, measured = (x, y), (pair.reference, pair.candidate)
    if all(u.n == m.n for u, m in zip(used, measured, strict=True)):
        return pair, "run", ""
    unit = "process"
    if any(u.n == m.session_count > 1 for u, m in zip(used, measured, strict=True)):
        unit = "session"
    counts = " and ".join(f"{m.n} values in {u.n}" for u, m in zip(used, measured, strict=True))
    which = f"; {kept}" if (kept := compared(pair)) else ""
    pooled_as = f"Each point is the median of a {unit} ({counts}{which})."
    return replace(pair, reference=x, candidate=y), unit, pooled_as


def _drawn(pair: Pair, unit: str, pooled_as: str, most: int) -> dict[str, Any]:
    x, y = pair.reference, pair.candidate
    low, high = _range(x.values, y.values)
    ticks = linear_ticks(low, high)
    pooled = np.concatenate([x.values, y.values])
    beyond = pooled[(pooled < low) | (pooled > high)]
    span = (high - low) or 1.0

    def steps(v: FloatArray) -> list[int]:
        with np.errstate(over="ignore"):
            heights: list[int] = (
                np.clip(np.round((v / span - low / span) * STEPS), 0, STEPS).astype(int).tolist()
            )
        return heights

    return {
        "beyond": " ".join(filter(None, (pooled_as, _beyond(beyond, high, x.unit) if beyond.size else ""))),
        "unit": unit,
        "ticks": list(zip(steps(np.array(ticks)), format_values(list(ticks), x.unit), strict=True)),
        "ordered": all(_in_order(s) for s in (x, y)),
        "samples": [_sample(s, steps, most) for s in (x, y)],
    }


def _range(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """From the lowest to the highest value, but for a few that lie so far out that they would squeeze the rest."""
    inside = [v[_near(v)] for v in (x, y)]
    return float(min(v.min() for v in inside)), float(max(v.max() for v in inside))


def _near(v: FloatArray) -> BoolArray:
    (v,) = with_headroom(v)
    first, third = np.quantile(v, [0.25, 0.75])
    reach = FAR * (third - first)
    near = np.asarray((v >= first - reach) & (v <= third + reach))
    # Many values far out are a second state of the program, which a chart must show.
    few = reach > 0 and np.count_nonzero(~near) <= MOST_FAR * v.size
    return near if few else np.ones(v.shape, dtype=bool)


def _beyond(values: FloatArray, high: float, unit: str) -> str:
    """How many values a chart shows at its edge instead of in their place, and how far out they are."""
    last = values.max() if values.max() > high else values.min()
    furthest = format_value(float(last), unit)
    if values.size == 1:
        return f"One value lies beyond the edge, at {furthest}."
    return f"{values.size} values lie beyond the edge, up to {furthest}."


def _in_order(sample: Sample) -> bool:
    return Trait.ORDER_KNOWN in sample.traits and Trait.SORTED not in sample.traits


def _sample(sample: Sample, steps: Any, most: int) -> dict[str, Any]:
    v = sample.values
    quartiles = np.quantile(v, [0.25, 0.5, 0.75])
    texts = format_values(quartiles.tolist(), sample.unit)
    thinned = sample.n > most
    places = np.linspace(0, v.size - 1, most).round().astype(np.int64) if thinned else np.arange(v.size)
    return {
        "n": sample.n,
        "order": steps(v[places]),
        "ranked": steps(np.sort(v)[places]) if thinned else None,
        "quartiles": steps(quartiles),
        "told": f"{plural(sample.n, 'value')} of {sample.label}: median {texts[1]}, "
        f"middle half {texts[0]} to {texts[2]}",
        "median": texts[1],
    }


_MARGIN = 3.0
"""Percent of the width left free at both ends, for arrows and half a label."""
_WIDE = 4.0
_FINE = 15.0
_TRIMMED = 0.02
_REACH = 4.0
_LINEAR = 7
LABEL_WIDTHS = (0, 5, 7, 9, 12, 16, 21, 28, 40)
"""Widths of an axis in units of its labels' size, from each of which other labels are shown; as in page.css."""
_DIGIT, _GAP = 0.64, 0.5
"""The widest digit of the fonts in page.css, and the least room between two labels, in the same unit."""


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

    def labelled(self) -> list[tuple[float, str, str]]:
        """Its ticks: place in percent of the width, label, and the classes ``h0``, ``h1``, ... of that.

        They say at which of :data:`LABEL_WIDTHS` it would run into another one. At every width as many labels are
        shown as there is room for: every first, second, third, ... counted from 1, as far as those are evenly
        spaced.
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
        hidden = (" ".join(f"h{w}" for w, of in enumerate(shown) if i not in of) for i in range(len(labels)))
        return list(zip(places, labels, hidden, strict=True))


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
    points = _near_to([v for v in values if 0 < v < math.inf])
    ends = sorted(_near_to([b for b in bounds if 0 < b < math.inf]))
    cut = int(_TRIMMED * len(ends))
    reach = [*points, *ends[cut : len(ends) - cut]]
    low, high = min(reach, default=0.9), max(reach, default=1.1)
    low, high = min(low, 1 / 1.001), max(high, 1.001)
    return RatioAxis(low, high, _ratio_ticks(low, high))


def _near_to(points: Sequence[float]) -> list[float]:
    """Without the few that are far from the rest: by more than some interquartile ranges of the logarithms."""
    logs = sorted(map(math.log, points))
    if len(logs) < 8:
        return list(points)
    first, third = logs[len(logs) // 4], logs[(3 * len(logs)) // 4]
    room = _REACH * max(third - first, math.log(1.25))
    near = [p for p in points if first - room <= math.log(p) <= third + room]
    return near if len(near) >= (1 - MOST_FAR) * len(points) else list(points)


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
