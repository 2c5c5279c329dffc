"""The forest plot: one row a benchmark, its certified speedups drawn along one axis and written beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from speedproof.data.units import format_values
from speedproof.protocols.results import Comparison, Summary, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.html.axis import RatioAxis, Tick, ratio_axis
from speedproof.report.wording import bounds, chance, plural, ratio
from speedproof.stats.estimate import Estimate

__all__ = [
    "Datum",
    "Forest",
    "Heading",
    "Interval",
    "Row",
    "Said",
    "column_title",
    "drawing_height",
    "forest",
    "interval",
    "laid",
    "minded",
    "said",
]

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
class Heading:
    """Of a column that is neither drawn nor a verdict: its title, its class, and whether one can sort by it."""

    title: str
    kind: str
    sorts: bool = True


@dataclass(frozen=True, slots=True)
class Datum:
    """A cell under such a heading.

    Attributes
    ----------
    text : str
        As shown.
    kind : str
        Its class.
    key : float or None
        To sort by; None where one cannot.
    """

    text: str
    kind: str
    key: float | None = None


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
    cells : tuple of Datum
        The other columns.
    verdicts : dict of str to str
        By protocol, to filter by.
    asked : (float, float) or None
        Where the part of the axis begins that is asked of this benchmark, and how wide it is; None where
        nothing is.
    """

    name: str
    intervals: tuple[Interval, ...]
    said: tuple[Said, ...]
    certified: float
    cells: tuple[Datum, ...]
    verdicts: dict[str, str]
    asked: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Forest:
    """All rows along one axis.

    Attributes
    ----------
    rows : tuple of Row
        In the order of the reference.
    ticks : tuple of Tick
        Where, and their labels.
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
    columns : tuple of Heading
        Of the others.
    told : str
        How to read it.
    """

    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]
    one: float
    margin: tuple[float, float] | None
    height: int
    drawn: tuple[tuple[str, str], ...]
    titles: tuple[str, ...]
    columns: tuple[Heading, ...]
    told: str


_SHAPES = ("dot", "diamond", "square", "triangle")
_TOP, _LINE = 13, 14
"""Pixels above the first interval of a row, and between two."""
_TITLES = {
    "typical": "Typical run",
    "mean": "Mean",
    "median": "Median",
    _SINGLE_RUN: "Single run",
    "touati2009": "2009 protocol",
}


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
    speedups = [c.certified for c in result.comparisons if c.protocol in shapes]
    axis = ratio_axis([s.value for s in speedups], [b for s in speedups for b in (s.low, s.high)])
    return Forest(
        rows=tuple(_row(name, found, axis, shapes) for name, found in by_name.items()),
        ticks=axis.labelled(),
        one=axis.place(1.0),
        margin=None if result.margin is None else _band(axis, result.margin),
        height=drawing_height(len(drawn)),
        drawn=tuple((column_title(p).lower(), shape) for p, shape in drawn),
        titles=tuple(column_title(p) for p in result.protocols),
        columns=_headings(result.reference, result.candidate),
        told="Right of 1 the candidate is ahead; a bound that reaches 1 proves nothing."
        + (" In the shaded band speedups are equivalent." if result.margin is not None else "")
        + " A verdict marked ! has an unknown risk: its runs are not what the tests assume.",
    )


def _band(axis: RatioAxis, margin: float) -> tuple[float, float]:
    low, high = axis.place(1 / (1 + margin)), axis.place(1 + margin)
    return low, round(high - low, 3)


def _row(name: str, found: list[Comparison], axis: RatioAxis, shapes: dict[str, str]) -> Row:
    return Row(
        name=name,
        intervals=tuple(
            interval(c, axis, shapes[c.protocol], list(shapes).index(c.protocol), c.verdict.value)
            for c in found
            if c.protocol in shapes
        ),
        said=tuple(said(c, c.verdict.value) for c in found),
        certified=_certified(found[0]),
        cells=_sides(found),
        verdicts={c.protocol: c.verdict.value for c in found},
    )


def drawing_height(lines: int) -> int:
    """Of a row with so many intervals, in pixels.

    Examples
    --------
    >>> drawing_height(1), drawing_height(2)
    (26, 40)
    """
    return _TOP - 1 + _LINE * max(lines, 1)


def _headings(reference: str, candidate: str) -> tuple[Heading, ...]:
    return (
        Heading(reference, "c-num"),
        Heading(candidate, "c-num"),
        Heading("Runs", "c-runs", sorts=False),
        Heading("Mind", "c-mind"),
    )


def _sides(found: Sequence[Comparison]) -> tuple[Datum, ...]:
    """Location and spread of both sides, how many runs, and how many checks did not hold."""
    first = found[0]
    x, y = first.reference, first.candidate
    location = "median" if first.protocol == "median" else "mean"
    at_x, at_y = getattr(x, location), getattr(y, location)
    of_x, of_y = format_values([at_x, at_y], x.unit)
    return (
        Datum(f"{of_x}{_spread(x)}", "num", at_x),
        Datum(f"{of_y}{_spread(y)}", "num", at_y),
        Datum(str(x.n) if x.n == y.n else f"{x.n}, {y.n}", "num"),
        minded(found),
    )


def minded(found: Sequence[Comparison]) -> Datum:
    """How many checks did not hold; empty where all did."""
    failed = len({(check.name, check.message) for c in found for check in c.failed_checks})
    return Datum(plural(failed, "check") if failed else "", "num mind", failed)


def interval(c: Comparison, axis: RatioAxis, shape: str, line: int, verdict: str) -> Interval:
    """A speedup with its certified bounds, laid along an axis.

    Parameters
    ----------
    c : Comparison
        Of a speedup.
    axis : RatioAxis
        That of all rows.
    shape : str
        The marker.
    line : int
        Which of the lines of a row's drawing, from 0.
    verdict : str
        For the colour.

    Returns
    -------
    Interval
        Ready to be drawn.
    """
    return laid(c.certified, axis, shape, line, verdict)


def laid(s: Estimate, axis: RatioAxis, shape: str, line: int, verdict: str) -> Interval:
    """An estimate along an axis, as :func:`interval` draws that of a comparison.

    Examples
    --------
    >>> found = laid(Estimate(1.0, 0.5, float("inf"), 0.95), ratio_axis([0.25, 4.0]), "dot", 0, "undecided")
    >>> found.at, found.low, found.high_beyond
    (50.0, 26.5, True)
    """
    known = not math.isnan(s.low)
    return Interval(
        shape=shape,
        verdict=verdict,
        y=_TOP + _LINE * line,
        at=None if math.isnan(s.value) else axis.place(s.value),
        low=axis.place(s.low) if known else None,
        high=axis.place(s.high) if known else None,
        low_beyond=known and s.low < axis.low,
        high_beyond=known and s.high > axis.high,
    )


def said(c: Comparison, verdict: str) -> Said:
    """What is written of a comparison.

    Parameters
    ----------
    c : Comparison
        Of any protocol.
    verdict : str
        In a word.

    Returns
    -------
    Said
        With the speedup, or the chance of a faster single run, and its bounds.
    """
    text = chance(c.speedup) if c.protocol == _SINGLE_RUN else bounds(c.certified)
    value, _, limits = text.partition(" ")
    return Said(
        title=column_title(c.protocol),
        verdict=verdict,
        value=value if c.protocol == _SINGLE_RUN else ratio(c.speedup.value),
        limits=limits,
        doubtful=bool(c.doubts),
        key=c.speedup.value,
    )


def column_title(protocol: str) -> str:
    """A protocol as the title of a column.

    Examples
    --------
    >>> column_title("median"), column_title("touati2009")
    ('Median', '2009 protocol')
    """
    return _TITLES.get(protocol, protocol)


def _certified(c: Comparison) -> float:
    bound = {Verdict.FASTER: c.certified.low, Verdict.SLOWER: c.certified.high}.get(c.verdict, 1.0)
    return 1.0 if math.isnan(bound) else bound


def _spread(side: Summary) -> str:
    if math.isnan(side.deviation) or not side.mean > 0:
        return ""
    share = 100 * side.deviation / side.mean
    return f" ± {share:.{0 if share >= 10 else 1}f} %"
