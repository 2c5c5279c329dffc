"""Any report as one HTML page, which holds everything it shows; as a piece of HTML for a notebook.

The answer, the tables with what they tell drawn beside it, panels to open.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape as escaped
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from speedproof.data.names import visible
from speedproof.data.suite import Suite
from speedproof.reporting.formats.html.panels import Panel, RatioAxis, ratio_axis
from speedproof.reporting.formats.html.panels import panels as panels
from speedproof.reporting.model import Cell, Report, Reported, Style, Table
from speedproof.reporting.names import called
from speedproof.stats.estimate import Estimate

if TYPE_CHECKING:
    from speedproof.reporting.stored import Context

_KINDS: dict[Style, str] = {"good": "faster", "bad": "slower", "warning": "undecided", "dim": "undecided"}
_MANY = 200


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


def render(
    *reports: Report,
    panels: Sequence[Mapping[str, Panel]] = (),
    suite: Suite | None = None,
    context: Context | None = None,
) -> str:
    """Reports as one page."""
    import jinja2
    import markupsafe

    here = files(__package__)
    style = (here / "page.css").read_text(encoding="utf-8")
    script = (here / "page.js").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters["key"] = _key
    # Where a long name may be broken.
    environment.filters["parts"] = lambda text: markupsafe.Markup(
        re.sub(r"(?<=[_/.:=])(?=\w)", "<wbr>", markupsafe.escape(visible(text)))
    )
    versions = suite.versions if suite is not None else ()
    short = called(versions)
    taken: set[str] = set()
    environment.filters["anchor"] = lambda name: markupsafe.Markup(_anchor(name, taken, markupsafe.escape))
    template = environment.from_string((here / "page.html.j2").read_text(encoding="utf-8"))
    data: list[Panel] = []
    sections = [
        _section(report, panels[i] if i < len(panels) else {}, data, f"-s{i}")
        for i, report in enumerate(reports)
    ]
    return template.render(
        title=" · ".join(dict.fromkeys(report.title for report in reports if report.title)) or "speedproof",
        sections=sections,
        short=[(brief, name) for name, brief in short.items() if brief != name],
        said=" ".join(_said(reports)).lower(),
        fields=fields_of(suite, *versions) if suite is not None and len(versions) == 2 else (),
        versions=list(short.values()),
        residue=[str(r) for r in suite.residue] if suite else [],
        skipped=[str(s) for s in suite.skipped if not s.expected] if suite else [],
        context=context,
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=markupsafe.Markup(_json_for_script(_interned(data))),
    )


def _anchor(name: str, taken: set[str], escape: Callable[[str], str]) -> str:
    """The attribute by which an address finds the first row of a name; those of the page itself begin with "-"."""
    place = "-".join(visible(name).split())
    if not place or place.startswith("-") or place in taken:
        return ""
    taken.add(place)
    return f' id="{escape(place)}"'


def _said(reports: Sequence[Report]) -> Iterator[str]:
    """What may need to be explained: answers, titles in brackets, and the marks of cells."""
    for report in reports:
        yield from (f"{t.text} {t.aside}" for t in report.headline[:1])
        for table in report.tables:
            yield from (f"[{column.title}]" for column in table.columns)
            texts = [cell.text for row in table.rows for cell in row.cells]
            yield from (mark for mark in ("undecided", "!") if any(mark in text for text in texts))


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json_for_script(value: object) -> str:
    """JSON that no parser of HTML can see an end of the element or a comment in."""
    text = msgspec.json.encode(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _interned(panels: Iterable[Panel]) -> dict[str, Any]:
    """The panels, with texts of checks replaced by indices into a shared list."""
    places: dict[str, int] = {}

    def place(text: str) -> int:
        return places.setdefault(text, len(places))

    placed = [
        {**p, **{part: [[place(text) for text in row] for row in p[part]] for part in ("checks", "tests")}}
        for p in panels
    ]
    return {"texts": list(places), "panels": placed}


def _section(report: Report, panels: Mapping[str, Panel], data: list[Panel], name: str) -> dict[str, Any]:
    """A report with its tables as the template writes them, and its parts."""
    return {
        "report": report,
        "grids": [
            _grid(table, panels if table is report.tables[-1] else {}, data, f"{name}t{i}")
            for i, table in enumerate(report.tables)
        ],
        "parts": [
            # The panels of many rows say what the tables of a part would say again.
            _section(replace(part, tables=()) if len(panels) > _MANY else part, {}, data, f"{name}p{i}")
            for i, part in enumerate(report.sections)
            # And so does the panel of one row.
            if not panels or not part.tables or any(len(table.rows) > 1 for table in part.tables)
        ],
    }


def _grid(table: Table, panels: Mapping[str, Panel], data: list[Panel], name: str) -> dict[str, Any]:
    """A table with an axis beside the column that is drawn, and the places of its panels in the data."""
    columns = range(len(table.columns))
    drawn = next((i for i in columns if any(row.cells[i].speedup for row in table.rows)), None)
    cells = [row.cells[drawn] if drawn is not None else Cell("") for row in table.rows]
    speedups = [cell.speedup for cell in cells if cell.speedup is not None]
    axis = ratio_axis(*([getattr(s, of) for s in speedups] for of in ("value", "low", "high")))
    lines, first, clear = [], len(data), {row.kind for row in table.rows if not row.folded}
    for row, cell in zip(table.rows, cells, strict=True):
        panel = row.panel or panels.get(row.name)
        if panel is not None:
            data.append(panel)
        mark = None if cell.speedup is None else _mark(cell.speedup, axis)
        colour, place = (
            _KINDS.get(cell.style or row.cells[0].style, "equivalent"),
            None if panel is None else len(data) - 1,
        )
        lines.append({"row": row, "mark": mark, "colour": colour, "panel": place})
    return {
        "id": name,
        "table": table,
        "drawn": drawn,
        "strips": any(panel["drawn"] is not None for panel in data[first:] if "drawn" in panel),
        "kinds": Counter(row.kind for row in table.rows if row.kind),
        "quiet": next(
            (row.kind for row in table.rows if row.outcome == "undecided" and row.kind not in clear), ""
        ),
        "names": next((i for i in columns if table.columns[i].names), 0),
        "ticks": axis.labelled() if speedups else (),
        "one": axis.place(1.0),
        "lines": lines,
    }


def _key(cell: Cell) -> str:
    """What a column is sorted by: a number where the cell has one, else its text."""
    key = cell.speedup.value if cell.key is None and cell.speedup else cell.key
    return repr(key) if key is not None and math.isfinite(key) else ""


def _mark(s: Estimate, axis: RatioAxis) -> dict[str, Any]:
    """A speedup along the axis, in percent of its width; None where there is none."""
    bounded = s.low == s.low
    return {
        "at": axis.place(s.value) if axis.low <= s.value <= axis.high else None,
        "low": axis.place(s.low) if bounded else None,
        "high": axis.place(s.high) if bounded else None,
        "low_beyond": bounded and s.low < axis.low,
        "high_beyond": bounded and s.high > axis.high,
    }


def fields_of(suite: Suite, reference: str, candidate: str) -> tuple[tuple[str, str, str, bool], ...]:
    """Fields of both sides, those that differ first."""
    x, y = (suite.fields.get(version, {}) for version in (reference, candidate))
    rows = [
        (name, _values(x.get(name, ())), _values(y.get(name, ())), x.get(name) != y.get(name))
        for name in dict.fromkeys([*x, *y])
    ]
    return tuple(sorted(rows, key=lambda row: not row[3]))


def _values(values: Sequence[str], most: int = 4) -> str:
    if not values:
        return "not told"
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{len(values)} values: {shown}, ..."


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
