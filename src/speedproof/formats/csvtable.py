"""The cells of a CSV file, column by column and block by block, as often as a reader asks for them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from speedproof.data.names import joined
from speedproof.data.record import Skipped
from speedproof.errors import FormatError
from speedproof.formats.reading import delimiter_of, is_number, plural
from speedproof.formats.source import Source

if TYPE_CHECKING:
    from _csv import Reader

BLOCK = 1 << 17  # characters of a block
Block = tuple[Sequence[int], list[list[str]]]  # the lines of some rows, and their columns


class CsvTable:
    """A CSV file: its header, and its rows in blocks."""

    def __init__(self, source: Source) -> None:
        self.source = source
        first = next((line for line in source.lines if line.strip() and line.lstrip()[0] != "#"), "")
        self.delimiter = delimiter_of(first) or ","
        # What may stand around a cell of ASCII and is not of it.
        self._blanks = " \t\v\f\x1c\x1d\x1e\x1f".replace(self.delimiter, "")
        self._at_row, self._width = True, 0
        self._comments: dict[int, str] = {}  # by line
        self.at, self.header = next(self._rows(source.lines), (0, []))
        self._width = len(self.header)
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
        for lines, columns in self._blocks():
            for parts, places in self._joins:
                some = zip(*(columns[k] for k in places), strict=True)
                columns.append([joined(parts, part) for part in some])
            yield lines, columns

    def _blocks(self) -> Iterator[Block]:
        before, texts = 0, self.source.texts(BLOCK)
        for text in texts:
            count = text.count("\n") + 1
            if before < self.at:
                text = "\n".join(text.split("\n")[self.at - before :])
            first = max(before, self.at) + 1
            before += count
            if before < first:
                continue
            if (columns := self._plain(text)) is None:
                rest = chain.from_iterable(text.split("\n") for text in chain([text], texts))
                yield from self._by_row(rest, first - 1)
                return
            yield range(first, before + 1), columns

    def _plain(self, text: str) -> list[list[str]] | None:
        """The columns of a text that has nothing but cells and delimiters: by far the most have."""
        rows, step = text.count("\n") + 1, self._width + 1
        cells = text.replace("\n", f"{self.delimiter}\n{self.delimiter}").split(self.delimiter)
        if '"' in text or len(cells) != rows * step - 1 or cells[step - 1 :: step].count("\n") != rows - 1:
            return None
        columns = [cells[c::step] for c in range(step - 1)]
        if not text.isascii() or any(map(text.__contains__, self._blanks)):
            columns = [[cell.strip() for cell in column] for column in columns]
        first = columns[0]
        is_row = "" not in first and not ("#" in text and any(cell[:1] == "#" for cell in first))
        return columns if is_row else None  # an empty row, or a comment

    def _by_row(self, lines: Iterator[str], before: int) -> Iterator[Block]:
        rows = self._rows(lines, before)
        while block := list(islice(rows, BLOCK >> 5)):
            numbers, cells = zip(*block, strict=True)
            yield numbers, list(map(list, zip(*cells, strict=True)))

    def comments(self) -> Iterator[tuple[int, list[str]]]:
        """The comments so far that have as many cells as the header: each line, and its cells."""
        for line, text in self._comments.items():
            try:
                cells = [cell.strip() for cell in next(self._reader(iter([text])), [])]
            except csv.Error:
                continue
            if len(cells) == self._width:
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

    def _rows(self, lines: Iterator[str], before: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Rows, each with its line."""
        reader = self._reader(self._without_comments(lines, before))
        try:
            for row in reader:
                self._at_row = True
                cells = [cell.strip() for cell in row]
                if any(cells):
                    if len(cells) != (self._width or len(cells)):
                        raise self._of_other_length(before + reader.line_num, len(cells))
                    yield before + reader.line_num, cells
        except csv.Error as error:
            raise self.source.error(f"line {before + reader.line_num}", f"not CSV: {error}") from None

    def _without_comments(self, lines: Iterator[str], before: int) -> Iterator[str]:
        """Comments as empty lines: what begins with # where a row begins, and not within quotes."""
        self._at_row = True
        for number, line in enumerate(lines, start=before + 1):
            if self._at_row and "#" in line and line.lstrip()[0] == "#":
                self._comments[number] = line
                line = ""
            else:
                self._at_row = False
            yield line

    def _of_other_length(self, line: int, count: int) -> FormatError:
        decimal = self.delimiter == "," and count > self._width
        hint = "; decimal commas? write 1.5 for 1,5" if decimal else ""
        cells = f"{plural(count, 'cell')} where the header has {self._width}"
        return self.source.error(f"line {line}", f"{cells}{hint}")
