"""Any report as comma- or tab-separated values, with all digits where it has them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from speedproof.reporting.formats import Reported, ReportFormat
from speedproof.reporting.model import Records, Report, Value


def write(reported: Reported, target: str) -> str:
    """Reports as one table."""
    delimiter = "\t" if target.lower().endswith(".tsv") else ","
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    columns: Sequence[str] = ()
    for report in reported.reports:
        found = report.records() if report.records else _shown(report)
        if found.columns != columns:
            columns = found.columns
            writer.writerow(columns)
        writer.writerows([_text(value) for value in row] for row in found.rows)
    return text.getvalue()


def _text(value: Value) -> str:
    """With all digits; nothing where there is no number, or a bound that is infinite."""
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return "" if value is None else str(value)


def _shown(report: Report) -> Records:
    """The cells of the main table, with the names as they are in the files."""
    if not report.tables:
        return Records((), ())
    table = report.tables[-1]
    rows = (
        tuple(
            row.name if table.columns[i].names and row.name else cell.text for i, cell in enumerate(row.cells)
        )
        for row in table.rows
    )
    return Records(tuple(c.title or "name" for c in table.columns), tuple(rows))


FORMAT = ReportFormat(
    (".csv", ".tsv"), "the table with all digits (tab-separated when FILE ends with .tsv)", write
)
