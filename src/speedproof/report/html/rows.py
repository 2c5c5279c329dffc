"""The forest plot: one row a benchmark, its certified speedups drawn along one axis and written beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from speedproof.data.units import format_values
from speedproof.protocols.comparison import Comparison, Summary, Verdict
from speedproof.protocols.suite_comparison import SuiteComparison
from speedproof.report.html.axis import RatioAxis, ratio_axis
from speedproof.report.wording import bounds, chance, ratio

__all__ = ["Forest", "Interval", "Row", "Said", "forest"]

_SINGLE_RUN = "single run"


@dataclass(frozen=True, slots=True)
class Interval:
    """A speedup with its certified bounds as drawn; places in percent of the width.

    Attributes
    ----------
    shape : str
        Which marker: each protocol has its own.
    verdict : str
        For the colour; the same is written in the row.
    y : int
        Height in pixels.
    at : float or None
        The observed speedup; None where there is none.
    low, high : float or None
        The bounds; None where the protocol stopped before a test.
    low_beyond, high_beyond : bool
        Whether a bound lies beyond the axis.
    """

    shape: str
    verdict: str
    y: int
    at: float | None
    low: float | None
    high: float | None
    low_beyond: bool
    high_beyond: bool


@dataclass(frozen=True, slots=True)
class Said:
    """What one protocol says of a benchmark: the verdict in a word, the speedup in numbers.

    Attributes
    ----------
    title : str
        Of the column.
    verdict, value, limits : str
        As shown.
    doubtful : bool
        Whether the true risk of the verdict is unknown.
    key : float
        To sort by.
    """

    title: str
    verdict: str
    value: str
    limits: str
    doubtful: bool
    key: float


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark.

    Attributes
    ----------
    name : str
        As in the files: nobody's markup.
    intervals : tuple of Interval
        Drawn.
    said : tuple of Said
        Written.
    certified : float
        To sort by: the certified speedup of the first protocol, 1 where none is certified.
    reference, candidate, runs : str
        Location and spread of both sides, and how many runs.
    reference_key, candidate_key : float
        Locations, to sort by.
    verdicts : dict of str to str
        By protocol, to filter by.
    failed : int
        How many checks did not hold.
    """

    name: str
    intervals: tuple[Interval, ...]
    said: tuple[Said, ...]
    certified: float
    reference: str
    candidate: str
    reference_key: float
    candidate_key: float
    runs: str
    verdicts: dict[str, str]
    failed: int


@dataclass(frozen=True, slots=True)
class Forest:
    """All rows along one axis.

    Attributes
    ----------
    rows : tuple of Row
        In the order of the reference.
    ticks : tuple of (float, str)
        Place in percent, and label.
    one : float
        The place of a speedup of 1.
    margin : (float, float) or None
        Where the band of equivalent speedups begins, and how wide it is.
    height : int
        Of a row's drawing, in pixels.
    drawn : tuple of (str, str)
        Protocols in the drawing and their markers.
    titles : tuple of str
        Of the columns of what the protocols say.
    """

    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    one: float
    margin: tuple[float, float] | None
    height: int
    drawn: tuple[tuple[str, str], ...]
    titles: tuple[str, ...]


_SHAPES = ("dot", "diamond", "square", "triangle")
_TITLES = {"mean": "Mean", "median": "Median", _SINGLE_RUN: "Single run", "touati2009": "2009 protocol"}


def forest(result: SuiteComparison) -> Forest:
    """Lay a suite out.

    Parameters
    ----------
    result : SuiteComparison
        Of one metric.

    Returns
    -------
    Forest
        The chance of a faster single run is no speedup: it is written, not drawn along the axis.
    """
    drawn = tuple(zip((p for p in result.protocols if p != _SINGLE_RUN), _SHAPES, strict=False))
    shapes = dict(drawn)
    by_name: dict[str, list[Comparison]] = {}
    for comparison in result.comparisons:
        by_name.setdefault(comparison.benchmark, []).append(comparison)
    speedups = [c.speedup for c in result.comparisons if c.protocol in shapes]
    axis = ratio_axis([s.value for s in speedups], [b for s in speedups for b in (s.low, s.high)])
    return Forest(
        rows=tuple(_row(name, found, axis, shapes) for name, found in by_name.items()),
        ticks=tuple((axis.place(t), f"{t:g}") for t in axis.ticks),
        one=axis.place(1.0),
        margin=None if result.margin is None else _band(axis, result.margin),
        height=12 + 14 * max(len(drawn), 1),
        drawn=tuple((_TITLES.get(p, p).lower(), shape) for p, shape in drawn),
        titles=tuple(_TITLES.get(p, p) for p in result.protocols),
    )


def _band(axis: RatioAxis, margin: float) -> tuple[float, float]:
    low, high = axis.place(1 / (1 + margin)), axis.place(1 + margin)
    return low, round(high - low, 3)


def _row(name: str, found: list[Comparison], axis: RatioAxis, shapes: dict[str, str]) -> Row:
    first = found[0]
    x, y = first.reference, first.candidate
    location = "median" if first.protocol == "median" else "mean"
    at_x, at_y = getattr(x, location), getattr(y, location)
    of_x, of_y = format_values([at_x, at_y], x.unit)
    checks = {(check.name, check.message) for c in found for check in c.failed_checks}
    return Row(
        name=name,
        intervals=tuple(
            _interval(c, axis, shapes[c.protocol], 13 + 14 * list(shapes).index(c.protocol))
            for c in found
            if c.protocol in shapes
        ),
        said=tuple(_said(c) for c in found),
        certified=_certified(first),
        reference=f"{of_x}{_spread(x)}",
        candidate=f"{of_y}{_spread(y)}",
        reference_key=at_x,
        candidate_key=at_y,
        runs=str(x.n) if x.n == y.n else f"{x.n}, {y.n}",
        verdicts={c.protocol: c.verdict.value for c in found},
        failed=len(checks),
    )


def _interval(c: Comparison, axis: RatioAxis, shape: str, y: int) -> Interval:
    s = c.speedup
    known = not math.isnan(s.low)
    return Interval(
        shape=shape,
        verdict=c.verdict.value,
        y=y,
        at=None if math.isnan(s.value) else axis.place(s.value),
        low=axis.place(s.low) if known else None,
        high=axis.place(s.high) if known else None,
        low_beyond=known and s.low < axis.low,
        high_beyond=known and s.high > axis.high,
    )


def _said(c: Comparison) -> Said:
    text = chance(c.speedup) if c.protocol == _SINGLE_RUN else bounds(c.speedup)
    value, _, limits = text.partition(" ")
    return Said(
        title=_TITLES.get(c.protocol, c.protocol),
        verdict=c.verdict.value,
        value=value if c.protocol == _SINGLE_RUN else ratio(c.speedup.value),
        limits=limits,
        doubtful=bool(c.doubts),
        key=c.speedup.value,
    )


def _certified(c: Comparison) -> float:
    if c.verdict is Verdict.FASTER:
        return c.speedup.low
    return c.speedup.high if c.verdict is Verdict.SLOWER else 1.0


def _spread(side: Summary) -> str:
    if math.isnan(side.deviation) or not side.mean > 0:
        return ""
    share = 100 * side.deviation / side.mean
    return f" ± {share:.{0 if share >= 10 else 1}f} %"
