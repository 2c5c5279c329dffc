"""What the Speedup-Test's tool found of a configuration, in the words of the other reports."""

from __future__ import annotations

import math
from collections.abc import Iterator

from speedproof.protocols.findings import DEFAULT_ALPHA, RowFinding
from speedproof.protocols.speedup_test_tool import SuiteReport, SuiteRow
from speedproof.protocols.suites import Location
from speedproof.reporting.model import Cell, Column, Report, Row, Style, Table, Text, folded, hint_of_all
from speedproof.reporting.names import benchmark_column
from speedproof.reporting.numbers import factor, level, percent, plural
from speedproof.reporting.words import direction, interval
from speedproof.stats.estimate import Estimate

_KINDS = ("slower", "faster", "not significant")


def report(found: SuiteReport, config: str, *, everything: bool = False, details: bool = False) -> Report:
    """How many benchmarks are accelerated and by how much overall; ``details`` adds every warning."""
    protocols = "as the tool of 2010 computed them" if found.original else "of the 2013 article"
    at = (
        f"at {level(found.confidence)}"
        if found.confidence is not None
        else "each at its own level, or its highest"
    )
    counts = ", ".join(
        f"{a.accelerated} faster in {location} ({percent(a.proportion.low, 2)} to {percent(a.proportion.high, 2)})"
        for location, a in found.accelerated.items()
    )
    gains = ", ".join(
        f"{factor(gain.speedup)} by the {_PLURALS[location]}"
        for location, gain in found.overall.items()
        if math.isfinite(gain.speedup)
    )
    headline = [
        Text(f"Of {plural(len(found.rows), 'benchmark')} {counts}", "strong", f"({at})"),
        Text(f"Overall speedup: {gains or 'not known'} (weights: {found.weighting}); protocols {protocols}"),
    ]
    table = _table(found, everything=everything)
    warnings = sum(bool(row.remarks) for row in found.rows)
    hints = [f"--details: warnings on {plural(warnings, 'benchmark')}"] if warnings and not details else []
    remarks = [Text(f"  {row.name}: {'; '.join(row.remarks)}", "dim") for row in found.rows if row.remarks]
    parts = [_bounds(found)] if not found.original else []
    parts += [Report("Warnings", tuple(remarks))] if remarks else []
    return Report(
        f"Speedup-Test of {config}",
        tuple(headline),
        (table,),
        tuple(_notes(found)),
        (*hint_of_all("benchmark", table), *hints),
        tuple(parts) if details else (),
        command="suite",
        data=found,
    )


_PLURALS = {"min": "minima", "mean": "means", "median": "medians"}


def _notes(found: SuiteReport) -> Iterator[Text]:
    """What undermines the share of accelerated benchmarks and the overall gain."""
    if any(not (f.significant or f.slower) for row in found.rows for f in (row.mean, row.median)):
        yield Text("~: no difference shown at the row's level, or not tested.", "dim")
    for remark in found.remarks:
        yield Text(f"Weights: {remark}", "warning")
    if found.dominant is not None:
        name, part = found.dominant
        yield Text(f"{name} alone makes up {percent(part)} of the weighted total of the means.", "warning")
    if any(own is None for own in found.levels):
        yield Text(
            "Rows without a level of their own count at their highest, from 0.5 up; of benchmarks that did not "
            "change about half would.",
            "warning",
        )
    if any(own is not None and own <= 0.5 for own in found.levels):
        yield Text("At a level of one half or less even a slower benchmark may count as faster.", "warning")
    if not all(a.valid for a in found.accelerated.values()):
        yield Text("The intervals of the shares may be inaccurate: a - a^2/b is not above 5.", "warning")
    needed = max((a.benchmarks_needed for a in found.accelerated.values()), default=0)
    if needed > 0:
        precision = next(iter(found.accelerated.values())).precision
        told = f"To know the share to within {percent(precision)} takes {needed} benchmarks"
        yield Text(f"{told}, drawn at random.", "dim")


def _table(found: SuiteReport, *, everything: bool) -> Table:
    column, named = benchmark_column([row.name for row in found.rows])
    level_column = Column("level", right=True, drop=1)
    columns = (
        column,
        Column("mean"),
        level_column,
        Column("median"),
        level_column,
        Column("minimum", drop=2),
    )
    rows = [
        Row.of(
            named(row.name),
            *_of(row, "mean", row.mean),
            *_of(row, "median", row.median),
            direction(row.speedups["min"]),
            name=row.name,
            kind=_kind(row),
        )
        for row in sorted(found.rows, key=_place)
    ]
    return Table.of(columns, folded(rows, *_KINDS[:2], everything=everything))


def _place(row: SuiteRow) -> tuple[int, float]:
    s = row.speedups["median"]
    return _KINDS.index(_kind(row)), -abs(math.log(s)) if math.isfinite(s) and s > 0 else 0.0


def _kind(row: SuiteRow) -> str:
    if row.mean.significant or row.median.significant:
        return "faster"
    return "slower" if row.mean.slower or row.median.slower else "not significant"


def _of(row: SuiteRow, location: Location, finding: RowFinding) -> tuple[Cell, str]:
    mark = "" if finding.significant or finding.slower else "~ "
    sure = "-" if math.isnan(finding.confidence) else level(finding.confidence)
    style: Style = "good" if finding.significant else "bad" if finding.slower else "dim"
    return Cell(f"{mark}{direction(row.speedups[location])}", style), sure


def _bounds(found: SuiteReport) -> Report:
    """What is proven of each ratio."""
    columns = (Column("", names=True), Column("mean"), Column("median"))

    def told(bounds: Estimate | None) -> Cell | str:
        return Cell(interval(bounds), shorter=(direction(bounds.value),)) if bounds else "-"

    rows = ((Cell(r.name, "strong"), told(r.mean.bounds), told(r.median.bounds)) for r in found.rows)
    title = f"Bounds, each at the row's own level, or at {1 - DEFAULT_ALPHA:g}"
    return Report(title, (), (Table.of(columns, rows),))
