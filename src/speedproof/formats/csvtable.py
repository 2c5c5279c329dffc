"""The cells of a CSV file, column by column and block by block, as often as a reader asks for them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from speedproof.data.names import joined
from speedproof.data.record import Skipped
from speedproof.errors import FormatError
from speedproof.formats.reading import plural
from speedproof.formats.source import Source
from speedproof.formats.text import delimiter_of, is_number

if TYPE_CHECKING:
    from _csv import Reader

_ROWS = 1 << 12  # of a block
Block = tuple[list[int], list[list[str]]]  # the lines of some rows, and their columns


class CsvTable:
    """A CSV file: its header, and its rows in blocks."""

    def __init__(self, source: Source) -> None:
        self.source = source
        first = next((line for line in source.lines if line.strip() and line.lstrip()[0] != "#"), "")
        self.delimiter = delimiter_of(first) or ","
        self._at_row = True
        self._comments: dict[int, str] = {}  # by line
        self.at, self.header = next(self._rows(), (0, []))
        if not self.header:
            raise source.error("", "the table has no rows")
        self._joins: list[tuple[list[str], list[int]]] = []

    def join(self, name: str) -> None:
        """Add a column for a role that several columns play together (``benchmark=program,threads``)."""
        parts = [part.strip() for part in name.split(",")]
        if name not in self.header and len(parts) > 1 and set(parts) <= set(self.header):
            self._joins.append((parts, list(map(self.header.index, parts))))
            self.header = [*self.header, name]

    def blocks(self) -> Iterator[Block]:
        """All rows below the header."""
        rows = islice(self._rows(), 1, None)
        while block := list(islice(rows, _ROWS)):
            lines, cells = zip(*block, strict=True)
            columns = list(map(list, zip(*cells, strict=True)))
            for parts, places in self._joins:
                some = zip(*(columns[k] for k in places), strict=True)
                columns.append([joined(parts, part) for part in some])
            yield list(lines), columns

    def comments(self) -> Iterator[tuple[int, list[str]]]:
        """The comments so far that have as many cells as the header: each line, and its cells."""
        for line, text in self._comments.items():
            try:
                cells = [cell.strip() for cell in next(self._reader(iter([text])), [])]
            except csv.Error:
                continue
            if len(cells) == len(self.header) - len(self._joins):
                yield line, cells

    def left_out(self, columns: Sequence[int]) -> Iterator[Skipped]:
        """Tell of rows that begin with # and have a number in one of these columns, once all blocks were given."""
        below = [(line, cells) for line, cells in self.comments() if line > self.at]
        by_column = [[line for line, cells in below if is_number(cells[c])] for c in columns]
        if any(by_column):
            first, count = min(lines[0] for lines in by_column if lines), max(map(len, by_column))
            reason = "the line begins with #, so it is taken for a comment; quote the name to keep it"
            if count > 1:
                reason = f"{count} lines from here on begin with #: comments; quote the names to keep them"
            yield self.source.skip(f"line {first}", "", reason)

    def _reader(self, lines: Iterator[str]) -> Reader:
        return csv.reader(lines, delimiter=self.delimiter, strict=True, skipinitialspace=True)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The header and all rows, each with its line."""
        reader, width = self._reader(self._lines()), 0
        try:
            for row in reader:
                self._at_row = True
                cells = [cell.strip() for cell in row]
                if any(cells):
                    width = width or len(cells)
                    if len(cells) != width:
                        raise self._of_other_length(reader.line_num, len(cells), width)
                    yield reader.line_num, cells
        except csv.Error as error:
            raise self.source.error(f"line {reader.line_num}", f"not CSV: {error}") from None

    def _lines(self) -> Iterator[str]:
        """The lines, without comments: what begins with # where a row begins, and not within quotes."""
        self._at_row = True
        for number, line in enumerate(self.source.lines, start=1):
            if self._at_row and "#" in line and line.lstrip()[0] == "#":
                self._comments[number] = line
                line = ""
            else:
                self._at_row = False
            yield line

    def _of_other_length(self, line: int, count: int, width: int) -> FormatError:
        decimal = self.delimiter == "," and count > width
        hint = "; decimal commas? write 1.5 for 1,5" if decimal else ""
        return self.source.error(
            f"line {line}", f"{plural(count, 'cell')} where the header has {width}{hint}"
        )
