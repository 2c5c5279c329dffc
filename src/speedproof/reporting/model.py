"""What a report is made of, before anybody knows where it will be shown.

Every result has one module here that makes a :class:`Report` of it, and every format has one that writes any
report: a new result costs one file, and so does a new format. A style is a name with a meaning, never the only
carrier of it: every coloured cell says in words what its colour says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from speedproof.stats.estimate import Estimate

Value = str | int | float | None
Style = Literal["", "good", "bad", "warning", "dim", "strong"]
Outcome = Literal["", "passed", "failed", "undecided"]
"""What a row means to a pipeline; empty where it was no test."""


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
    speedup: Estimate | None = None  # what the text tells, for formats that draw
    key: float | None = None  # what to sort by, for formats that sort

    def at(self, level: int) -> str:
        """The text at a level of brevity: 0 is the longest."""
        return (self.text, *self.shorter)[min(level, len(self.shorter))]


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

    cells: tuple[Cell, ...]  # one a column
    name: str = ""  # of what it tells; as in the files, which the cell may shorten
    outcome: Outcome = ""  # what it means to a pipeline
    message: str = ""  # the whole row in a sentence
    kind: str = ""  # what rows of its sort are counted as ("slower": "... 78 more slower")
    folded: bool = False  # whether it is counted instead of shown where room is dear
    panel: dict[str, Any] | None = None  # what a page shows of it when somebody opens it


class Table(Struct, frozen=True):
    """Rows under columns."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str = ""
    repeats: int = 0  # columns that find no room go below, so many first ones before them; 0: they go

    @classmethod
    def of(cls, columns: tuple[Column, ...], cells: Iterator[tuple[Cell, ...]], title: str = "") -> Table:
        """A table of cells alone, each row named by its first."""
        return cls(columns, tuple(Row(row, name=row[0].text) for row in cells), title)


class Records(Struct, frozen=True):
    """Numbers with all their digits, for other programs."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


class Report(Struct, frozen=True):
    """A result in words."""

    title: str  # what was asked, for headings and captions: ``"O3 against O2: time"``
    headline: tuple[Text, ...]  # the answer, then what it cannot know
    tables: tuple[Table, ...] = ()  # the main one last
    notes: tuple[Text, ...] = ()  # what follows the tables
    hints: tuple[str, ...] = ()  # where more is to be had on the command line; only a terminal shows them
    sections: tuple[Report, ...] = ()  # parts that were asked for: details, explanations
    command: str = ""  # that made it
    data: object = None  # the result itself, for JSON
    records: Callable[[], Records] | None = None  # for CSV; by default the cells of the main table
    good: bool | None = None  # the answer of the whole to a pipeline, where it has one
    about: str = ""  # the row or the metric that it is about, where it is of one

    def every(self) -> Iterator[Report]:
        """Yield the report and all parts of it, in order."""
        yield self
        for section in self.sections:
            yield from section.every()


MANY = 12
"""Rows from which on only the clearest are shown."""
_SHOWN = 5


def folded(rows: Sequence[Row], *clear: str) -> tuple[Row, ...]:
    """Of more than a dozen rows, in order, only the first of the kinds that are clear stay open."""
    if len(rows) <= MANY:
        return tuple(rows)
    counts = {kind: sum(row.kind == kind for row in rows) for kind in clear}
    room = {k: max(_SHOWN, 2 * _SHOWN - sum(n for other, n in counts.items() if other != k)) for k in clear}
    found = []
    for row in rows:
        left = room.get(row.kind, 0)
        room[row.kind] = left - 1
        found.append(replace(row, folded=left <= 0))
    return tuple(found)


def grouped(rows: Sequence[Row]) -> Iterator[tuple[str, bool, list[Row]]]:
    """Rows that are shown and those that are counted; to count a single one would take as much room."""
    for (folded, kind), group in groupby(rows, lambda row: (row.folded, row.kind if row.folded else "")):
        found = list(group)
        yield kind, folded and len(found) > 1, found
