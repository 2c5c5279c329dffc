"""Any report as a piece of HTML without style and script: what a notebook shows."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape as escaped

from speedproof.data.names import visible
from speedproof.reporting.model import Report, Table


def render(report: Report) -> str:
    """A report as paragraphs and tables; everything of the user's is escaped."""
    return "\n".join(_lines(report))


def escape(text: str) -> str:
    """A text that shows as it is written."""
    return escaped(visible(text))


def _lines(report: Report) -> Iterator[str]:
    for i, text in enumerate(report.headline):
        said = escape(text.text)
        aside = f' <span style="color: gray">{escape(text.aside)}</span>' if text.aside else ""
        yield f"<p>{f'<b>{said}</b>' if i == 0 else said}{aside}</p>"
    for table in report.tables:
        yield from _table(table)
    for text in report.notes:
        yield f"<p>{escape(text.text.strip())}</p>"
    for section in report.sections:
        yield f"<details><summary>{escape(section.title)}</summary>"
        yield from _lines(section)
        yield "</details>"


def _table(table: Table) -> Iterator[str]:
    # Notebooks set everything to the right unless they are told.
    sides = [f' style="text-align: {"right" if column.right else "left"}"' for column in table.columns]
    titles = zip(sides, table.columns, strict=True)
    head = "".join(f"<th{side}>{escape(column.title)}</th>" for side, column in titles)
    yield f"<table><thead><tr>{head}</tr></thead><tbody>"
    for row in table.rows:
        cells = zip(sides, row.cells, strict=True)
        yield f"<tr>{''.join(f'<td{side}>{escape(cell.text)}</td>' for side, cell in cells)}</tr>"
    yield "</tbody></table>"
