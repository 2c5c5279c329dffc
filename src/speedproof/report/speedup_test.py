"""What the Speedup-Test's tool found of a configuration, as blocks of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator

from speedproof.protocols.findings import DEFAULT_LEVEL
from speedproof.protocols.results import Verdict
from speedproof.protocols.speedup_test_tool import SuiteReport
from speedproof.protocols.suites import Location
from speedproof.report.blocks import Block, Cell, Column, Table, Text
from speedproof.report.speedup_test_files import report_lines
from speedproof.report.wording import STYLES, bounds, level, ratio

__all__ = ["speedup_test_blocks"]


def speedup_test_blocks(report: SuiteReport, config: str) -> Iterator[Block]:
    """The lines of the .report file, then a row a benchmark."""
    for line in report_lines(report, config):
        yield Text(line)
    yield Text("")
    yield _table(report)
    if not report.original:
        legend = f"In brackets: bounds certified at each row's own level, or at {DEFAULT_LEVEL:g}."
        if any(own is not None and own < 0.5 for own in report.levels):
            legend += " Of levels below one half they are those of one minus the level."
        yield Text(legend, "dim")


def _table(report: SuiteReport) -> Table:
    locations: tuple[Location, ...] = ("mean", "median")
    columns = [Column("benchmark"), Column("min", right=True)]
    for location in locations:
        columns += [Column(f"speedup of {location}"), Column("significant"), Column("at level", right=True)]
    rows = []
    for row in report.rows:
        cells = [Cell(row.name), Cell(ratio(row.speedups["min"]))]
        for location, finding in zip(locations, (row.mean, row.median), strict=True):
            speedup = bounds(finding.bounds) if finding.bounds else ratio(row.speedups[location])
            style = STYLES[Verdict.FASTER if finding.significant else Verdict.UNDECIDED]
            shown = "-" if math.isnan(finding.confidence) else level(finding.confidence)
            cells += [Cell(speedup), Cell("yes" if finding.significant else "no", style), Cell(shown)]
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows))
