"""What a report is made of, before anybody knows where it will be shown.

Every result has one module here that makes a :class:`Report` of it, and every format has one that writes any
report. A style is a name with a meaning, never the only
carrier of it: every coloured cell says in words what its colour says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from speedproof import __version__
from speedproof.stats.estimate import Estimate

if TYPE_CHECKING:
    from speedproof.conclude.suite import SuiteComparison
    from speedproof.data.suite import Suite
    from speedproof.reporting.stored import Context

_Kind = TypeVar("_Kind", bound=str)
_Item = TypeVar("_Item")
Value = str | int | float | None
Style = Literal["", "good", "bad", "warning", "dim", "strong"]
Meaning = Literal["", "passed", "failed", "undecided"]
"""The meaning of a row to a pipeline; empty where it was no test."""


class Text(Struct, frozen=True):
    """One paragraph."""

    text: str  # what it says. Leading spaces indent all of its lines
    style: Style = ""  # its meaning
    aside: str = ""  # said at the end of the same line where there is room, else on a line of its own


class Cell(Struct, frozen=True):
    """One cell of a table."""

    text: str  # as shown
    style: Style = ""  # its meaning
    shorter: tuple[str, ...] = ()  # what to show where there is less room, the longest first
    spans: bool = False  # whether the text may run on over the empty cells at its right
    speedup: Estimate | None = None  # the value of the text, for formats that draw
    key: float | None = None  # what to sort by, for formats that sort

    def at(self, level: int) -> str:
        """The text at a level of brevity: 0 is the longest."""
        return (self.text, *self.shorter)[min(level, len(self.shorter))]


def _cells(given: Iterable[Cell | str]) -> tuple[Cell, ...]:
    return tuple([Cell(c) if isinstance(c, str) else c for c in given])


class Later(Sequence[Cell]):
    """Cells that are made when somebody looks at them: of thousands of rows most are only counted."""

    def __init__(self, make: Callable[[], Iterable[Cell | str]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> tuple[Cell, ...]:
        return _cells(self._make())

    def __getitem__(self, at: Any) -> Any:
        return self._made[at]

    def __len__(self) -> int:
        return len(self._made)


class Column(Struct, frozen=True):
    """One column of a table."""

    title: str  # its heading
    right: bool = False  # whether its cells are set flush right
    names: bool = False  # whether it holds names, which may be shortened in the middle but stay distinct
    brief: str = ""  # a shorter title, for where there is less room; empty for none
    # 0 for a column that is always shown; where there is no room the one with the highest number goes first.
    # One with a negative number goes only where brief texts have not helped
    drop: int = 0


class Row(Struct, frozen=True):
    """One row of a table."""

    cells: Sequence[Cell]  # one a column
    name: str = ""  # its subject, as in the files; the cell may shorten it
    outcome: Meaning = ""  # what it means to a pipeline
    message: str | Callable[[], str] = ""  # the whole row in a sentence, or what makes it
    kind: str = ""  # what rows of its sort are counted as ("slower": "... 78 more slower")
    folded: bool = False  # whether it is counted instead of shown where room is dear
    panel: dict[str, Any] | None = None  # what a page shows when the row is opened

    @property
    def sentence(self) -> str:
        """The row in a sentence."""
        return self.message if isinstance(self.message, str) else self.message()

    @classmethod
    def of(cls, *cells: Cell | str, name: str | None = None, **more: Any) -> Row:
        """A row of cells; named by the first of them unless it is told."""
        made = _cells(cells)
        return cls(made, made[0].text if name is None else name, **more)


class Table(Struct, frozen=True):
    """Rows under columns."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    repeats: int = 0  # columns that find no room go below, so many first ones before them; 0: they go
    rest: Mapping[str, int] = {}  # how many rows of each kind there are beyond these

    @classmethod
    def of(cls, columns: Iterable[Column], rows: Iterable[Row | Iterable[Cell | str]], **more: Any) -> Table:
        """A table without the columns that say nothing; rows of cells alone are named by their first."""
        titled = tuple(columns)
        made = [row if isinstance(row, Row) else Row.of(*row) for row in rows]
        table = cls(titled, tuple(made), **more)
        kept = [i for i, c in enumerate(titled) if c.title or any(row.cells[i].text for row in made)]
        return table.of_columns(kept) if len(kept) < len(titled) else table

    @classmethod
    def by(
        cls,
        items: Iterable[_Item],
        *columns: tuple[Column, Callable[[_Item], Cell | str]],
        row: Callable[[_Item], Mapping[str, Any]] = lambda item: {},
        **more: Any,
    ) -> Table:
        """A row an item: every column with what makes its cells, and what a ``row`` has besides."""
        rows = (Row.of(*(cell(item) for _, cell in columns), **row(item)) for item in items)
        return cls.of((column for column, _ in columns), rows, **more)

    def of_columns(self, kept: Sequence[int]) -> Table:
        """Only some of the columns, in this order."""
        rows = tuple(replace(row, cells=tuple(row.cells[i] for i in kept)) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in kept), rows=rows)


Records = tuple[Sequence[str], Iterable[Sequence[Value]]]
"""Names of columns, and numbers with all their digits in rows, for other programs."""


class Report(Struct, frozen=True):
    """A result in words."""

    title: str  # what was asked, for headings and captions: ``"O3 against O2: time"``
    headline: tuple[Text, ...]  # the answer, then what it cannot know
    tables: tuple[Table, ...] = ()  # the main one last
    notes: tuple[Text, ...] = ()  # what follows the tables
    hints: tuple[str, ...] = ()  # where more is to be had on the command line; only a terminal shows them
    sections: tuple[Report, ...] = ()  # parts that were asked for: details, explanations
    records: Callable[[], Records] | None = None  # for CSV; by default the cells of the main table
    good: bool | None = None  # the answer of the whole to a pipeline, where it has one
    about: str = ""  # the row or the metric that it is about, where it is of one

    def __str__(self) -> str:
        from speedproof.reporting import text

        # Hints name options of the command line.
        return text.render(replace(self, hints=())).rstrip("\n")

    def every(self) -> Iterator[Report]:
        """Yield the report and all parts of it, in order."""
        yield self
        for section in self.sections:
            yield from section.every()


def right(*titles: str, drop: int = 0) -> Iterator[Column]:
    """Columns of numbers."""
    return (Column(title, right=True, drop=drop) for title in titles)


MANY = 12
"""Rows from which on only the clearest are shown."""
_SHOWN = 5


def most_of(counts: Mapping[_Kind, int]) -> dict[_Kind, int]:
    """How many of each kind are shown: more of one where the others have few."""
    total = sum(counts.values())
    return {kind: max(_SHOWN, 2 * _SHOWN - (total - count)) for kind, count in counts.items()}


def folded(table: Table, *clear: str, everything: bool = False) -> Table:
    """Of more than a dozen rows, in order, only the first of the kinds that are clear stay open."""
    if len(table.rows) + sum(table.rest.values()) <= MANY or everything:
        return table
    kinds = Counter(row.kind for row in table.rows)
    room = most_of({kind: kinds[kind] + table.rest.get(kind, 0) for kind in clear})
    shown = []
    for row in table.rows:
        left = room.get(row.kind, 0)
        room[row.kind] = left - 1
        shown.append(replace(row, folded=left <= 0))
    return replace(table, rows=tuple(shown))


def grouped(table: Table) -> Iterator[tuple[str, int, list[Row]]]:
    """Rows that are shown, or how many of a kind are counted; to count a single one would take as much room."""
    rest = dict(table.rest)
    groups = groupby(table.rows, lambda row: (row.folded, row.kind if row.folded or rest else ""))
    alike = [(kind, folded, list(rows)) for (folded, kind), rows in groups]
    last = {kind: rows for kind, _, rows in alike}
    for kind, folded, rows in alike:
        more = rest.pop(kind, 0) if last[kind] is rows else 0
        if folded and len(rows) + more > 1:
            yield kind, len(rows) + more, []
        else:
            yield "", 0, rows
            if more:
                yield kind, more, []
    yield from ((kind, count, []) for kind, count in rest.items())


def hint_of_all(what: str, *tables: Table, hides: bool = False) -> tuple[str, ...]:
    """How to see every row, where some are counted instead of shown."""
    hides = hides or any(hidden for table in tables for _, hidden, _ in grouped(table))
    return (f"--all: every {what}",) if hides else ()


class ReportFormat(Struct, frozen=True):
    """A way to write what there is to report; the module of its name does."""

    name: str
    endings: tuple[str, ...]  # of files that hold it
    help: str  # what it is, for the option's help

    def write(self, reported: Reported, target: str) -> str:
        """Convert the reports for a target file to text."""
        return str(import_module(f"speedproof.reporting.formats.{self.name}").write(reported, target))


class Reported(Struct, frozen=True, eq=False):
    """Everything that a report format may write."""

    reports: Sequence[Report]  # in order
    suite: Suite | None = None  # the samples behind them, where they are known
    context: Context | None = None  # how they were made
    results: Sequence[SuiteComparison] = ()  # what a page may draw of the samples


FORMATS = {
    one.name: one
    for one in (
        ReportFormat(
            "csv", (".csv", ".tsv"), "the table with all digits (tab-separated when FILE ends with .tsv)"
        ),
        ReportFormat("html", (".html",), "a page with a panel of charts and checks for each benchmark"),
        ReportFormat("junit", (".xml",), "JUnit XML: a slowdown is a failure, undecided is skipped"),
        ReportFormat("latex", (".tex",), "the table for a paper (booktabs)"),
        ReportFormat("markdown", (".md",), "Markdown for a pull request: what is proven, the rest folded"),
    )
}
"""Report formats by option name; ``sp.report`` recognises them by file ending."""
ENDINGS = frozenset([".json", ".jsonl", ".pdf", ".png", ".svg"]).union(
    *(one.endings for one in FORMATS.values())
)
"""The endings of all output files: a report must not overwrite measurements."""


# What a terminal obeys though JSON may have it bare: DEL, C1, and what turns the direction of writing.
_OBEYED = "[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
SCHEMA_VERSION = 6
"""Raised when a field changes its meaning or goes; new fields do not raise it."""


def to_json(command: str, results: Sequence[Any], **more: Any) -> str:
    """Results of a command as an indented JSON text."""
    envelope = {"speedproof": __version__, "schema": SCHEMA_VERSION, "command": command, "results": results}
    envelope.update(more)
    text = msgspec.json.format(msgspec.json.encode(envelope), indent=2).decode() + "\n"
    return re.sub(_OBEYED, lambda match: f"\\u{ord(match[0]):04x}", text)


def comparisons_to_json(command: str, results: Sequence[SuiteComparison], **more: Any) -> str:
    """What every command writes that compares; of ``more`` what holds the results is written without them."""
    for name, of in more.items():
        if isinstance(of, Struct) and hasattr(of, "results"):
            more[name] = {field: value for field, value in asdict(of).items() if field != "results"}
    return to_json(command, [result.as_record() for result in results], **more)
