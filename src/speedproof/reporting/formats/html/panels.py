"""The panels: what the script of a page needs to draw one benchmark, when somebody opens it; axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.conclude.suite import SuiteComparison
from speedproof.data.notes import Note
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Pair, Suite
from speedproof.data.units import Direction, format_value, format_values
from speedproof.protocols.results import Comparison
from speedproof.protocols.units import Summary, compared, typical_units
from speedproof.reporting.names import labels
from speedproof.reporting.numbers import plural, pvalue, values
from speedproof.reporting.words import named, proof, verdict
from speedproof.stats.axes import Window, linear_ticks, ratio_range, ratio_ticks, window
from speedproof.stats.quantile_ratio import shift_function

Panel = dict[str, Any]
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
    axis = ratio_axis(*zip(*rows, strict=True))
    return {
        "ticks": [(axis.place(tick), f"{tick:g}") for tick in axis.ticks],
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
    """What repeats independently, as the verdict counts it, its name, and what is drawn of it."""
    if nested == "pool":
        return pair, "run", ""
    x, y = typical_units((pair.reference, pair.candidate))
    used, measured = (x, y), (pair.reference, pair.candidate)
    if all(u.n == m.n for u, m in zip(used, measured, strict=True)):
        return pair, "run", ""
    unit = "process"
    if any(u.n == m.session_count > 1 for u, m in zip(used, measured, strict=True)):
        unit = "session"
    which = f": {kept}" if (kept := compared(pair)) else ""
    pooled_as = f"Each point is the median of a {unit}{which}."
    return replace(pair, reference=x, candidate=y), unit, pooled_as


def _drawn(pair: Pair, unit: str, pooled_as: str, most: int) -> dict[str, Any]:
    x, y = pair.reference, pair.candidate
    lows, highs = zip(window(x.values), window(y.values), strict=True)
    low, high = min(lows), max(highs)
    ticks = linear_ticks(low, high)
    beyond = _beyond(np.concatenate([x.values, y.values]), (low, high), x.unit)
    span = (high - low) or 1.0

    def steps(v: FloatArray) -> list[int]:
        heights = np.round((np.clip(v, low, high) / span - low / span) * STEPS)
        return [int(height) for height in heights.clip(0, STEPS)]

    return {
        "beyond": " ".join(filter(None, (pooled_as, *beyond))),
        "unit": unit,
        "ticks": list(zip(steps(np.array(ticks)), format_values(list(ticks), x.unit), strict=True)),
        "ordered": all(_in_order(s) for s in (x, y)),
        "samples": [_sample(s, steps, most) for s in (x, y)],
    }


def _beyond(values: FloatArray, seen: Window, unit: str) -> Iterator[str]:
    """How many values a chart shows at either edge instead of in their place, and how far out they are."""
    for beyond, farthest, words in (
        (values < seen[0], np.min, "down to"),
        (values > seen[1], np.max, "up to"),
    ):
        if beyond.any():
            many = "One value lies" if beyond.sum() == 1 else f"{beyond.sum()} values lie"
            yield f"{many} beyond the edge, {words} {format_value(float(farthest(values)), unit)}."


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
_NARROW, _DIGIT, _GAP = 8.0, 0.64, 0.5
"""The narrowest axis of page.css, the widest digit of its fonts, and the least room between two labels, in em."""


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

    def labelled(self) -> list[tuple[float, str]]:
        """Its ticks: place in percent of the width, and label; empty where it has no room.

        Every first, second, third, ... has one, counted from 1.
        """
        places = [self.place(tick) for tick in self.ticks]
        labels = [f"{tick:g}" for tick in self.ticks]
        origin, every = self.ticks.index(1.0), 1
        while not _fits(places[origin % every :: every], labels[origin % every :: every]):
            every += 1
        shown = (label * ((i - origin) % every == 0) for i, label in enumerate(labels))
        return list(zip(places, shown, strict=True))


def _fits(places: Sequence[float], labels: Sequence[str]) -> bool:
    """Whether labels around places in percent of a narrow axis stay apart."""
    return all(
        (right - left) / 100 * _NARROW >= _DIGIT * (len(a) + len(b)) / 2 + _GAP
        for (left, right), (a, b) in zip(pairwise(places), pairwise(labels), strict=True)
    )


def ratio_axis(*columns: Sequence[float]) -> RatioAxis:
    """An axis for speedups, and for the bounds of each side."""
    low, high = ratio_range(*columns)
    return RatioAxis(low, high, ratio_ticks(low, high))
