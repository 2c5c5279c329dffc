"""Any report as one HTML page, which holds everything it shows; as a piece of HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape as escaped
from typing import Any

from speedproof.data.names import visible
from speedproof.data.suite import Suite
from speedproof.reporting.formats.html.page import render as render
from speedproof.reporting.formats.html.panels import panels as panels
from speedproof.reporting.model import Report, Reported, Table


def write(reported: Reported, target: str) -> str:
    """Reports as a page, with a panel for each benchmark whose samples are known."""
    suite = reported.suite or Suite((), {})
    drawn = []
    for report in reported.reports:
        of_report: dict[str, Any] = {}
        for result in reported.results:
            if report.about == result.metric or len(reported.reports) == 1:
                of_result = panels(result, suite, result.margin)
                if len(of_result) == 1:  # of several versions, each has a row
                    of_result = {**of_result, result.candidate: next(iter(of_result.values()))}
                of_report = of_result | of_report
        drawn.append(of_report)
    return render(*reported.reports, panels=drawn, suite=suite, context=reported.context)


def fragment(report: Report) -> str:
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
