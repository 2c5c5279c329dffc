"""The cells of a CSV file, column by column and block by block, as often as a reader asks for them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct

from speedproof.data.names import joined
from speedproof.data.record import Skipped
from speedproof.errors import FormatError
from speedproof.formats.reading import plural
from speedproof.formats.source import ReadOptions, Source
from speedproof.formats.text import delimiter_of, is_number

if TYPE_CHECKING:
    from _csv import Reader

_BLOCK = 1 << 17  # characters; no cell in a block is longer than the module csv allows
# What may stand around a cell of ASCII and is not of it.
_BLANKS = " \t\v\f\x1c\x1d\x1e\x1f"


class Block(Struct, frozen=True):
    """Some rows."""

    lines: Sequence[int]
    columns: list[list[str]]


class CsvTable:
    """A CSV file: its header, and its rows in blocks."""

    def __init__(self, source: Source) -> None:
        self.source = source
        first = next((line for line in source.lines if line.strip() and line.lstrip()[0] != "#"), "")
        self.delimiter = delimiter_of(first) or ","
        self.header: list[str] = []
        texts = source.texts(_BLOCK)
        lines = _Lines(next(texts), texts)
        reader = self._reader(iter(lines))
        try:
            self.header = next((cells for row in reader if (cells := _row(row, lines))), [])
        except csv.Error as error:
            raise self._not_csv(reader.line_num, error) from None
        if not self.header:
            raise source.error("", "the table has no rows")
        self.at = reader.line_num
        self.comments = [(line, self._cells(text)) for line, text in lines.comments]  # above the header
        self._numbers_in_comments: dict[int, tuple[int, int]] = {}  # by column: the first line, and how many
        self._kept: list[Block] | None = None

    def blocks(self) -> Iterator[Block]:
        """All rows below the header."""
        if self._kept is None and self.source.size <= _BLOCK:
            self._kept = list(self._blocks())
        return self._blocks() if self._kept is None else iter(self._kept)

    def left_out(self, columns: Sequence[int]) -> Iterator[Skipped]:
        """Tell of rows that begin with # and have a number in one of these columns, once all blocks were given."""
        found = [self._numbers_in_comments[c] for c in columns if c in self._numbers_in_comments]
        if found:
            line, count = min(found)[0], max(count for _, count in found)
            reason = "the line begins with #, so it is taken for a comment; quote the name to keep it"
            if count > 1:
                reason = f"{count} lines from here on begin with #: comments; quote the names to keep them"
            yield Skipped(self.source.name, f"line {line}", "", reason)

    def _cells(self, comment: str) -> list[str]:
        """What would be the cells of a comment; none if it could be no row."""
        try:
            return [cell.strip() for cell in next(self._reader(iter([comment])), [])]
        except csv.Error:
            return []

    def _reader(self, lines: Iterator[str]) -> Reader:
        return csv.reader(lines, delimiter=self.delimiter, strict=True, skipinitialspace=True)

    def _not_csv(self, line: int, error: csv.Error) -> FormatError:
        return self.source.error(f"line {line}", f"not CSV: {error}")

    def _blocks(self) -> Iterator[Block]:
        before, texts = 0, self.source.texts(_BLOCK)
        self._numbers_in_comments = {}
        for whole in texts:
            lines = whole.count("\n") + 1
            if before + lines <= self.at:
                before += lines
                continue
            text = whole if before >= self.at else "\n".join(whole.split("\n")[self.at - before :])
            before = max(before, self.at)
            columns = self._plain(text.rstrip("\n"))
            if columns is None:
                block, used = self._by_row(text, texts, before)
            else:
                used = text.count("\n") + 1
                block = Block(range(before + 1, before + used + 1)[: len(columns[0])], columns)
            before += used
            if block.lines:
                yield block

    def _plain(self, text: str) -> list[list[str]] | None:
        """The columns of a text that has nothing but cells and delimiters: by far the most have."""
        if '"' in text or "\n\n" in text or len(text) > _BLOCK:
            return None
        width, rows = len(self.header), text.count("\n") + 1
        cells = text.replace("\n", f"{self.delimiter}\n{self.delimiter}").split(self.delimiter)
        step = width + 1
        if len(cells) != rows * step - 1 or cells[width::step].count("\n") != rows - 1:
            return None
        columns = [cells[c::step] for c in range(width)]
        if not text.isascii() or any(blank in text for blank in _BLANKS if blank != self.delimiter):
            columns = [[cell.strip() for cell in column] for column in columns]
        if "" in columns[0] or ("#" in text and any(cell[:1] == "#" for cell in columns[0])):
            return None  # an empty row, or a comment
        return columns

    def _by_row(self, text: str, texts: Iterator[str], before: int) -> tuple[Block, int]:
        """A block of any rows; the last one may go on in the next texts. Also how many lines it has."""
        fed = _Lines(text, texts)
        reader = self._reader(iter(fed))
        lines: list[int] = []
        rows: list[list[str]] = []
        try:
            while fed.left and (row := next(reader, None)) is not None:
                if (cells := _row(row, fed)) is None:
                    continue
                lines.append(before + reader.line_num)
                rows.append(cells)
                if len(cells) != len(self.header):
                    raise self._of_other_length(lines[-1], len(cells))
        except csv.Error as error:
            raise self._not_csv(before + reader.line_num, error) from None
        for number, comment in fed.comments:
            if len(cells := self._cells(comment)) == len(self.header):
                for c in (c for c, cell in enumerate(cells) if is_number(cell)):
                    first, count = self._numbers_in_comments.get(c, (before + number, 0))
                    self._numbers_in_comments[c] = first, count + 1
        return Block(lines, [list(column) for column in zip(*rows, strict=True)]), reader.line_num

    def _of_other_length(self, line: int, count: int) -> FormatError:
        decimal = self.delimiter == "," and count > len(self.header)
        hint = "; decimal commas? write 1.5 for 1,5" if decimal else ""
        return self.source.error(
            f"line {line}", f"{plural(count, 'cell')} where the header has {len(self.header)}{hint}"
        )


class _Lines:
    """Lines for the module csv, comments emptied: what begins with # where a row begins, and not within quotes."""

    def __init__(self, text: str, more: Iterator[str]) -> None:
        self._texts = chain([text], more)
        self.left = text.count("\n") + 1  # lines of the texts that have been begun
        self.at_row = True
        self.comments: list[tuple[int, str]] = []

    def __iter__(self) -> Iterator[str]:
        number = 0
        for text in self._texts:
            self.left = text.count("\n") + 1
            for line in text.split("\n"):
                number, self.left = number + 1, self.left - 1
                if self.at_row and line.lstrip()[:1] == "#":
                    self.comments.append((number, line))
                    line = ""
                else:
                    self.at_row = False
                yield line


def _row(row: list[str], lines: _Lines) -> list[str] | None:
    """The cells of a row that has ended; None of an empty one."""
    lines.at_row = True
    cells = [cell.strip() for cell in row]
    return cells if any(cells) else None


class Layout(Struct, frozen=True):
    """What a table's columns are."""

    table: CsvTable
    header: list[str]
    joins: list[tuple[list[str], list[int]]]
    roles: dict[str, int]
    free: list[int]
    options: ReadOptions

    def blocks(self) -> Iterator[Block]:
        """The rows, with the columns that others make together."""
        for block in self.table.blocks():
            columns = list(block.columns)
            for parts, places in self.joins:
                cells = zip(*(columns[k] for k in places), strict=True)
                columns.append([joined(parts, own) for own in cells])
            yield Block(block.lines, columns)
