"""The panels: what the script of a page needs to draw one benchmark, when somebody opens it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from speedproof.arrays import BoolArray, FloatArray
from speedproof.data.notes import Note
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Pair, Suite
from speedproof.data.units import Direction, format_value, format_values
from speedproof.protocols.results import Comparison
from speedproof.protocols.suite import SuiteComparison
from speedproof.protocols.units import Summary, typical_units
from speedproof.reporting.html.axis import linear_ticks, ratio_axis
from speedproof.reporting.names import labels, plural, pvalue, values
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
    shaken, shifts = result.machine is not None, len(result.benchmarks) <= _MOST_SHIFTS
    return {
        "said": [
            [c.verdict.value, "; ".join(filter(None, (verdict(c, margin), proof(c, shaken=shaken))))]
            for c in comparisons
        ],
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
    axis = ratio_axis([ratio for ratio, *_ in rows], [end for _, *ends in rows for end in ends])
    return {
        "ticks": [[tick.at, tick.label] for tick in axis.labelled()],
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
        return (
            2
            if check.held
            else 0
            if check.kind.undermines == "risk" and (check.kind, check.statistic) in of_headline
            else 1
        )

    words = ("undermines", "fails", "holds")
    return [
        [words[rank(c)], c.name, c.kind.question, pvalue(c.pvalue), "" if c.held else c.message]
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
    unit = (
        "session"
        if any(u.n == m.session_count > 1 for u, m in zip(used, measured, strict=True))
        else "process"
    )
    counts = " and ".join(f"{m.n} values in {u.n}" for u, m in zip(used, measured, strict=True))
    return replace(pair, reference=x, candidate=y), unit, f"Each point is the median of a {unit} ({counts})."


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
