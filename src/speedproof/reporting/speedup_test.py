"""What the Speedup-Test's tool says of a configuration, as a sheet and as the four files of the tool.

They are PREFIX.report, .out, .warning and .error. The ``.out`` file has the original's columns in its order and
notation (R's write.csv: quoted names, TRUE and FALSE, NA, 15 significant digits; speedups rounded to three
digits), so that scripts that read it go on working. The ``.report`` file is the sheet with all rows and warnings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from speedproof.protocols.aggregates import LOCATIONS, RANDOM_SELECTION, Location
from speedproof.protocols.speedup_test import DEFAULT_ALPHA, RowFinding, SuiteReport, SuiteRow
from speedproof.reporting.formats import write_whole
from speedproof.reporting.model import (
    Cell,
    Column,
    Report,
    Row,
    Style,
    Table,
    Text,
    folded,
    hint_of_all,
)
from speedproof.reporting.names import benchmark_column
from speedproof.reporting.numbers import factor, level, percent, plural
from speedproof.reporting.shown import Shown
from speedproof.reporting.text import render
from speedproof.reporting.words import PLURALS, direction, interval
from speedproof.stats.estimate import Estimate

_KINDS = ("slower", "faster", "not significant")
_HIGHEST = 0.999999999999999
COLUMNS = (
    "Name", "SpeedupMin", "SpeedupMean", "IsMeanSignificant", "MeanConfLevel", "SpeedupMedian",
    "IsMedianSignificant", "MedianConfLevel", "CoefMin", "CoefMean", "CoefMedian",
)  # fmt: skip


class SpeedupTestResult(Shown, Struct, frozen=True):
    """What the Speedup-Test found. ``print`` shows what ``speedproof suite`` shows.

    Attributes
    ----------
    report : SuiteReport
        Every row and every number over the suite.
    config : str
        The configuration.
    problems : tuple of str
        What could not be read or compared.
    notes : tuple of str
        Remarks made while reading.
    lost : tuple of str
        The benchmarks that could not be read or compared at all.

    Examples
    --------
    >>> import speedproof as sp
    >>> found = sp.speedup_test("tests/data/speedup_test_tool/plain.csv")
    >>> found.config, len(found.report.rows), len(found.problems)
    ('tests/data/speedup_test_tool/plain.csv', 16, 0)
    """

    command = "suite"
    report: SuiteReport
    config: str
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    lost: tuple[str, ...] = ()

    def write(self, prefix: str) -> list[Path]:
        """Write PREFIX.report, .out, .warning and .error, as the original tool; each whole or not at all."""
        (whole,) = self.reports(everything=True, details=True)
        sheet = render(replace(whole, hints=())).splitlines()
        suite = self.report
        contents = {
            ".report": [whole.title, "", *sheet, "", f"Remark: {RANDOM_SELECTION}"],
            ".out": _out(suite),
            ".warning": self.warnings,
            # The tool of 2010 called weights that it could not use an error, and went on with equal ones.
            ".error": [*self.problems, *(f"weights: {remark}" for remark in suite.remarks if suite.original)],
        }
        written = []
        for suffix, lines in contents.items():
            written.append(Path(prefix + suffix))
            write_whole(written[-1], "".join(f"{line}\n" for line in lines))
        return written

    @property
    def warnings(self) -> tuple[str, ...]:
        """The lines of the .warning file: every remark under its benchmark."""
        lines = [f"weights: {remark}" for remark in self.report.remarks]
        for row in self.report.rows:
            if row.remarks:
                lines += [f"{row.name}:", *(f"  {remark}" for remark in row.remarks)]
        return (*lines, *(f"left out: {problem}" for problem in self.problems))

    def reports(self, *, everything: bool = False, details: bool = False) -> Iterable[Report]:
        """How many benchmarks are accelerated and by how much overall; ``details`` adds every warning."""
        suite = self.report
        protocols = "as the tool of 2010 computed them" if suite.original else "of the 2013 article"
        at = "each at its ConfLevel; without one, at the highest level that shows it"
        if suite.confidence is not None:
            at = f"at {level(suite.confidence)}"
        faster = ", ".join(f"{a.accelerated} in {location}" for location, a in suite.accelerated.items())
        ratios = {location: a.proportion for location, a in suite.accelerated.items()}
        shares = ", ".join(f"{percent(c.low, 2)} to {percent(c.high, 2)} in {of}" for of, c in ratios.items())
        sure = level(next(iter(ratios.values())).confidence)
        gains = ", ".join(
            f"{factor(gain.speedup)} by the {PLURALS[location]}"
            for location, gain in suite.overall.items()
            if math.isfinite(gain.speedup)
        )
        headline = (
            Text(f"Faster of {plural(len(suite.rows), 'benchmark')}: {faster}", "strong", f"({at})"),
            Text(f"Share of all such benchmarks that are faster ({sure}): {shares}"),
            Text(
                f"Overall speedup: {gains or 'not known'} (weights: {suite.weighting}); protocols {protocols}"
            ),
        )
        table = _table(suite, everything=everything)
        remarks = [
            Text(f"  {row.name}: {'; '.join(row.remarks)}", "dim") for row in suite.rows if row.remarks
        ]
        hints = [f"--details: warnings on {plural(len(remarks), 'benchmark')}"] if remarks else []
        parts = [] if suite.original else [_bounds(suite)]
        parts += [Report("Warnings", tuple(remarks))] if remarks else []
        yield Report(
            f"Speedup-Test of {self.config}",
            headline,
            (table,),
            tuple(_notes(suite)),
            (*hint_of_all("benchmark", table), *hints),
            tuple(parts) if details else (),
        )

    def exported(self) -> SuiteReport:
        """The result in the form for other programs."""
        return self.report

    def __repr__(self) -> str:
        return f"<SpeedupTestResult: {plural(len(self.report.rows), 'benchmark')} of {self.config}>"


def _notes(suite: SuiteReport) -> Iterator[Text]:
    """Remarks on what undermines the share of accelerated benchmarks and the overall gain."""
    if any(not (f.significant or f.slower) for row in suite.rows for f in (row.mean, row.median)):
        yield Text("~: no difference shown at the row's level, or not tested.", "dim")
    for remark in suite.remarks:
        yield Text(f"Weights: {remark}", "warning")
    if any(at is None for at in suite.levels):
        yield Text(
            "Without a ConfLevel a benchmark counts as faster from 50 % confidence on: so do about half of those "
            "that did not change.",
            "warning",
        )
    if any(at is not None and at <= 0.5 for at in suite.levels):
        yield Text("At a level of one half or less even a slower benchmark may count as faster.", "warning")
    shares = suite.accelerated.values()
    if not all(a.valid for a in shares):
        few = "too few benchmarks are faster, or too few are not"
        yield Text(f"The intervals of the shares may be inaccurate: {few}.", "warning")
    if (needed := max((a.benchmarks_needed for a in shares), default=0)) > 0:
        share = f"To know the share to within {percent(suite.precision)} takes {needed} benchmarks"
        yield Text(f"{share}, drawn at random.", "dim")


def _table(suite: SuiteReport, *, everything: bool) -> Table:
    column, named = benchmark_column([row.name for row in suite.rows])
    at = Column("level", right=True, drop=1)
    columns = (column, Column("mean"), at, Column("median"), at, Column("minimum", drop=2))
    rows = [
        Row.of(
            named(row.name),
            *_of(row, "mean", row.mean),
            *_of(row, "median", row.median),
            direction(row.speedups["min"]),
            name=row.name,
            kind=_kind(row),
        )
        for row in sorted(suite.rows, key=_place)
    ]
    return folded(Table.of(columns, rows), *_KINDS[:2], everything=everything)


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


def _bounds(suite: SuiteReport) -> Report:
    """A table with the proven bounds of each ratio."""
    columns = (Column("", names=True), Column("mean"), Column("median"))

    def cell(bounds: Estimate | None) -> Cell | str:
        return Cell(interval(bounds), shorter=(direction(bounds.value),)) if bounds else "-"

    rows = ((Cell(r.name, "strong"), cell(r.mean.bounds), cell(r.median.bounds)) for r in suite.rows)
    title = f"Bounds, each at the row's own level, or at {1 - DEFAULT_ALPHA:g}"
    return Report(title, (), (Table.of(columns, rows),))


def _out(suite: SuiteReport) -> Iterator[str]:
    """The lines of the .out file."""
    yield ",".join(f'"{column}"' for column in COLUMNS)
    for row in suite.rows:
        least, *others = (_number(round(row.speedups[location], 3)) for location in LOCATIONS)
        pairs = zip(others, (row.mean, row.median), strict=True)
        # A level is never 1, however close: R would print 15 digits, and so does this.
        cells = (
            (speedup, str(f.significant).upper(), _number(min(f.confidence, _HIGHEST)))
            for speedup, f in pairs
        )
        name = row.name.replace('"', '""')
        weights = (_number(row.weights[location]) for location in LOCATIONS)
        yield ",".join((f'"{name}"', least, *(text for cell in cells for text in cell), *weights))


def _number(value: float) -> str:
    """Format a number as R does."""
    if not math.isfinite(value):
        return "NA" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
    return f"{value:.15g}"
