"""Any report as comma- or tab-separated values, with all digits where it has them."""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence

from speedproof.data.names import visible
from speedproof.reporting.model import Records, Report, Reported

# Behind blanks too, and in full width, which some spreadsheets read as the same.
_FORMULA = r"[\t\r\n]|\s*([=@]|[+-](?!\.?\d[.\d]*([eE][+-]?\d+)?( ?%)?$))"


def write(reported: Reported, target: str) -> str:
    """Reports as one table."""
    delimiter = "\t" if target.lower().endswith(".tsv") else ","
    columns: Sequence[str] = ()
    parts = []
    for report in reported.reports:
        names, rows = records(report)
        parts.append(separated(() if names == columns else names, rows, delimiter))
        columns = names
    return "".join(parts)


def separated(columns: Sequence[str], rows: Iterable[Iterable[object]], delimiter: str = ",") -> str:
    """Rows as lines, with the names of the columns before them where there are any."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows([map(_text, columns)] if columns else [])
    writer.writerows(map(_text, row) for row in rows)
    return text.getvalue()


def _text(value: object) -> str:
    """With all digits; nothing where there is no number, or a bound that is infinite.

    A text that a spreadsheet would carry out as a formula gets an apostrophe, as OWASP advises.
    """
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    formula = re.match(_FORMULA, unicodedata.normalize("NFKC", value))
    return f"'{visible(value)}" if formula else visible(value)


def records(report: Report) -> Records:
    """Its numbers, or the cells of the main table, with the names as they are in the files."""
    if report.records:
        return report.records()
    if not report.tables:
        return (), ()
    table = report.tables[-1]
    rows = (
        tuple(
            row.name if table.columns[i].names and row.name else cell.text for i, cell in enumerate(row.cells)
        )
        for row in table.rows
    )
    return [c.title or "name" for c in table.columns], rows
