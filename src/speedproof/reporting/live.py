"""What a session shows while it runs, as lines of text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from speedproof.data.units import format_value
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import CandidateResult
from speedproof.reporting.names import labels, plural, rounded_up, width_of
from speedproof.reporting.words import observed, span

_BARS = "▁▂▃▄▅▆▇█"
# Bars reach this many times as far as three quarters of the values.
_REACH = 3.0
_NAME = 30


def standing(findings: Sequence[CandidateResult]) -> list[str]:
    """What is known of each candidate, and how far it is from its end."""
    names = labels(list(dict.fromkeys(n for f in findings for n in (f.reference, f.candidate))), _NAME)[1:]
    return [
        f"{name}: {_known(f)}{', undecided' if f.verdict is Verdict.UNDECIDED else ''}, {_end(f)}"
        for name, f in zip(names, findings, strict=True)
        if not math.isnan(f.estimate)
    ]


def _known(f: CandidateResult) -> str:
    """Between which factors the speedup lies; until one of them is known, what is seen."""
    known = f.result.low > 0 or f.result.high < math.inf
    return span(f.certified) if known else f"{observed(f.estimate)} so far"


def _end(f: CandidateResult) -> str:
    if f.reason:
        return f.reason
    if f.blocks_to_go == 0:
        return "enough is known"
    if math.isnan(f.blocks_to_go):
        return "too early to say how many more"
    if math.isfinite(f.blocks_to_go):
        return f"about {plural(rounded_up(max(math.ceil(f.blocks_to_go), 1), 1), 'run')} of each to go"
    return "no end in sight"


def bars(recent: Mapping[str, Sequence[float]], *, seconds: bool) -> list[str]:
    """A line a version: the median of its recent values, and these as bars."""
    names = labels(list(recent), _NAME)
    width = max(map(width_of, names), default=0)
    lines = []
    for name, values, drawn in zip(names, recent.values(), sparklines(list(recent.values())), strict=True):
        middle = sorted(values)[len(values) // 2] if values else math.nan
        shown = format_value(middle, "s") if seconds else f"{middle:.4g}"
        padding = " " * (width - width_of(name))
        lines.append(f"  {name}{padding}  {shown if values else '-':>9}  {drawn}")
    return lines


def sparklines(rows: Sequence[Sequence[float]]) -> list[str]:
    """Recent values of several versions as bars, each from its smallest; equal heights are equal shares of it.

    A few values far out are cut off, and do not flatten the others.
    """
    relative = [[(value - min(row)) / (min(row) or 1.0) for value in row] for row in rows]
    top = max((_reach(row) for row in relative if row), default=0.0) or 1.0
    return ["".join(_BARS[min(round(value / top * 7.0), 7)] for value in row) for row in relative]


def _reach(row: Sequence[float]) -> float:
    ordered = sorted(row)
    upper, most = ordered[3 * len(ordered) // 4], ordered[-1]
    return min(most, _REACH * upper) if upper > 0 else most
