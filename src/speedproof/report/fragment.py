"""Any report as a piece of HTML without style and script: what a notebook shows."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from speedproof.report.model import Report, Table


def render(report: Report) -> str:
    """A report as paragraphs and tables; everything of the user's is escaped."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    for i, text in enumerate(report.headline):
        said = escape(text.text)
        yield f"<p>{f'<b>{said}</b>' if i == 0 else said}{f' {escape(text.aside)}' if text.aside else ''}</p>"
    for table in report.tables:
        yield from _table(table)
    for text in report.notes:
        yield f"<p>{escape(text.text.strip())}</p>"
    for section in report.sections:
        yield f"<details><summary>{escape(section.title)}</summary>"
        yield from _lines(section)
        yield "</details>"


def _table(table: Table) -> Iterator[str]:
    head = "".join(f"<th>{escape(column.title)}</th>" for column in table.columns)
    yield f"<table><thead><tr>{head}</tr></thead><tbody>"
    for row in table.rows:
        yield f"<tr>{''.join(f'<td>{escape(cell.text)}</td>' for cell in row.cells)}</tr>"
    yield "</tbody></table>"
