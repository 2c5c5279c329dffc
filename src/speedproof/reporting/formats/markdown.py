"""Any report as GitHub's Markdown: for a pull request's comment, a job's summary, an issue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from speedproof.data.names import visible
from speedproof.reporting.model import Cell, Column, Report, Reported, Row, Style, Table, Text

# GitHub refuses comments of more than 65,536 characters; the rest is for what a bot writes around it.
_MOST_CHARACTERS = 60_000
_SPECIAL = r"([\\`*_{}\[\]<>|~&$])"
_LINE_START = r"^(\d{1,9}(?=[.)](?: |$))|(?=[-+=]))"
_MARKS: dict[Style, str] = {"good": "🟢 ", "bad": "🔴 ", "warning": "🟡 ", "dim": "", "strong": "", "": ""}


def write(reported: Reported, target: str) -> str:
    """Reports as Markdown, below the line by which a pull request's bot finds its comment again."""
    context = reported.context
    made = ", ".join(f"{name} {version}" for name, version in context.versions.items()) if context else ""
    return render(
        *reported.reports, marker="speedproof", made=f"{context.command} ({made})".strip() if context else ""
    )


def render(*reports: Report, marker: str = "", made: str = "") -> str:
    """Reports as Markdown."""
    room = _MOST_CHARACTERS // max(len(reports), 1)
    lines = [f"<!-- {re.sub('[^A-Za-z0-9_.-]', ' ', marker)} -->"] if marker else []
    for report in reports:
        lines += _section(report, room)
    if made and lines:
        lines += [f"<sub>{code(made)}</sub>", ""]
    return "\n".join(lines)


def _section(report: Report, room: int) -> Iterator[str]:
    yield f"### {escape(report.title or 'speedproof')}"
    yield ""
    yield from _body(report, room)


def _body(report: Report, room: int) -> Iterator[str]:
    """A report without its heading."""
    for i, text in enumerate(report.headline):
        if text.text != report.title or text.aside:
            yield from _paragraph(text, _MARKS[text.style], "**" * (i == 0))
    for table in report.tables:
        yield from _table(table, [row for row in table.rows if not row.folded], room)
        yield from _folded(table)
    for text in report.notes:
        yield from _paragraph(text)
    folded = [table for table in report.tables if any(row.folded for row in table.rows)]
    for table in folded:
        yield from _details(f"All {len(table.rows)} rows", _table(table, table.rows, room // 2))
    for section in report.sections:
        yield from _details(section.title or "More", _body(section, room // 2 // len(report.sections)))


def _paragraph(text: Text, mark: str = "", bold: str = "") -> Iterator[str]:
    bullet = "- " if text.text.startswith("  ") else ""
    yield f"{bullet}{bold}{mark}{escape(text.text.strip())}{bold} {escape(text.aside)}".rstrip()
    yield ""


def _details(title: str, inner: Iterator[str]) -> Iterator[str]:
    yield f"<details><summary>{escape(title)}</summary>"
    yield ""
    yield from inner
    yield ""
    yield "</details>"
    yield ""


def _folded(table: Table) -> Iterator[str]:
    counts = Counter(row.kind for row in table.rows if row.folded) + Counter(table.rest)
    if counts:
        yield f"and {', '.join(f'{count} more {kind}' for kind, count in counts.items())}"
        yield ""


def _table(table: Table, rows: Sequence[Row], room: int) -> Iterator[str]:
    yield f"| {' | '.join(_title(column) for column in table.columns)} |"
    yield f"|{''.join('---:|' if column.right else '---|' for column in table.columns)}"
    shown = 0
    for row in rows:
        line = f"| {' | '.join(map(_cell, row.cells, table.columns))} |"
        room -= len(line) + 1
        if room < 0:
            break
        shown += 1
        yield line
    yield ""
    if shown < len(rows):
        yield f"{len(rows) - shown} more rows do not fit into a comment; --html and --json have them all."
        yield ""


def _title(column: Column) -> str:
    return code(column.title) if column.names and column.title else escape(column.title) or " "


def _cell(cell: Cell, column: Column) -> str:
    if column.names:
        return code(cell.text)
    text = escape(cell.text)
    return f"**{text}**" if text and cell.style in ("good", "bad") else text


def code(text: str) -> str:
    r"""A name as a code span that no character of it can end, fit for a table."""
    text = " ".join(visible(text).split()) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}".replace("|", "\\|")


def escape(text: str) -> str:
    """A sentence that shows as it is written, whatever names it holds."""
    text = re.sub(_LINE_START, r"\1\\", re.sub(_SPECIAL, r"\\\1", " ".join(visible(text).split())))
    # GitHub looks for @user and #1 in the rendered text, where only an empty comment keeps them apart.
    return re.sub("([@#])", r"\1<!-- -->", text)
