"""From the cells of a CSV file, block by block, to records: what stands beside a value makes a record.

A long table has a row a value: one column of values. Of a wide one there are several, and what each is called says
what its values belong to, too.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, islice, repeat
from sys import intern
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.names import joined, plural
from speedproof.data.record import Record, Skipped, order_traits
from speedproof.data.sample import Trait
from speedproof.data.units import Unit, metric_of, split_unit
from speedproof.errors import FormatError
from speedproof.formats import reading
from speedproof.formats.reading import SORTED, Column, Gathered, delimiter_of, is_number
from speedproof.formats.source import ReadOptions, Source

if TYPE_CHECKING:
    from _csv import Reader

_MANY = 1 << 17  # different cells of a column: more are no configuration
_NUMBERED = re.compile(r"(run|rep|repetition|iteration|iter|r|x)?[ _-]?\d+", re.IGNORECASE)
# Of these names some may as well be versions.
_DOUBTFUL = re.compile(r"[rx]?[ _-]?\d+", re.IGNORECASE)


def long(table: CsvTable, rivals: list[str]) -> Iterator[Record | Skipped]:
    """The records of a table with a row a value; ``rivals`` are columns that might hold the values, too."""
    header, value = table.header, table.roles["value"]
    free = [c for c in table.free if header[c] not in rivals]
    configuration = _configuration(table, free)
    yield from table.left_out([value])
    if others := [header[c] for c in free if c not in configuration]:
        reason = f"columns that are neither a role nor a configuration are left out: {', '.join(others)}"
        yield table.source.skip("header", "", reason, expected=True)
    chosen: tuple[str, ...] = ()
    if rivals:
        names, used = ", ".join(map(repr, rivals)), f"the values are those of column {header[value]!r}"
        chosen = (f"{used}; not used: {names} (choose one as column value=NAME)",)
    yield from _records(table, [value], configuration=configuration, remarks=chosen)


def wide(table: CsvTable) -> Iterator[Record | Skipped]:
    """The records of a table with a column a sample, or a column a run."""
    header, asked = table.header, table.options.wide
    numeric = _numeric(table)
    _refuse_data_as_header(table, numeric)
    if asked is None and "version" in table.roles and len(numeric) == 1:  # whatever it is called
        table.roles["value"] = numeric[0]
        table.free.remove(numeric[0])
        yield from long(table, [])
        return
    yield from table.left_out(numeric)
    if others := [header[c] for c in table.free if c not in numeric]:
        reason = f"columns without numbers are left out: {', '.join(others)}"
        yield table.source.skip("header", "", reason, expected=True)
    names = [header[c] for c in numeric]
    if asked is None and "benchmark" in table.roles and all(map(_NUMBERED.fullmatch, names)):
        yield from _records(table, numeric, "run", remarks=_taken_for_runs(names))
    else:
        yield from _records(table, numeric, asked or "version")


def _records(
    table: CsvTable,
    measured: list[int],
    names: Literal["version", "benchmark", "run", ""] = "",
    *,
    configuration: Sequence[int] = (),
    remarks: tuple[str, ...] = (),
) -> Iterator[Record | Skipped]:
    """The values of some columns; ``names`` is what the columns of a wide table are called after.

    A configuration are columns of conditions that they were measured under.
    """
    roles, header, width = table.roles, table.header, len(measured)
    naming: dict[str, int] = {
        r: roles[r] for r in ("benchmark", "version", "metric", "unit") if r in roles and r != names
    }
    telling = [*naming.values(), *configuration]
    per_row = width if names in ("version", "benchmark") else 1  # groups of a row
    process, run = ("process" in roles and not names, "run" in roles and not names)

    def named(beside: Mapping[str, str], column: int) -> tuple[str, str | None]:
        """Benchmark and version of a value."""
        given = {"benchmark": table.source.stem, **beside, names: header[column]}
        return given["benchmark"], given.get("version")

    def place(line: int, column: int) -> str:
        return f"line {line}, column {header[column]}" if names else f"line {line}"

    keys, process_names = _Numbering(), _Numbering()
    rows = Gathered("d", *"i" * process, *"d" * run)
    firsts: dict[int, tuple[int, int]] = {}  # by group: line and column of its first value
    lasts: dict[int, int] = {}  # by group: line of its last value
    for lines, columns in table.blocks():
        values = np.array([_numbers_of(columns[c]) for c in measured], np.float64).T
        good = ~np.isnan(values)
        for n, k in np.argwhere(~good).tolist():
            column, beside = measured[k], {role: columns[c][n] for role, c in naming.items()}
            cell, where = columns[column][n], place(lines[n], column)
            reason = _why_no_value(cell, where, table)
            # Columns of unequal length end in empty cells: nothing is missing there.
            if cell or per_row == 1:
                expected = bool(names) and not cell
                yield table.source.skip(where, named(beside, column)[0], reason, expected=expected)
        cells = zip(*(columns[c] for c in telling), strict=True) if telling else repeat((), len(lines))
        numbers = np.fromiter(map(keys.__getitem__, cells), np.int64, len(lines))
        groups = np.broadcast_to(per_row * numbers[:, None] + np.arange(per_row), values.shape)[good]
        gathered: list[Column] = [values[good]]
        if process:
            numbered = map(process_names.__getitem__, columns[roles["process"]])
            processes = np.fromiter(numbered, np.int32, len(lines))
            gathered.append(processes[good[:, 0]])
        if run:
            gathered.append(np.array(_numbers_of(columns[roles["run"]]), np.float64)[good[:, 0]])
        rows.extend(groups, *gathered)
        rows.make_room()
        places = np.flatnonzero(good)
        present, first = np.unique(groups, return_index=True)
        seen = zip(places[first].tolist(), present.tolist(), strict=True)
        for at, group in sorted(place for place in seen if place[1] not in firsts):
            firsts[group] = lines[at // width], measured[at % width]
        last = places[groups.size - 1 - np.unique(groups[::-1], return_index=True)[1]]
        lasts |= zip(present.tolist(), [lines[at] for at in (last // width).tolist()], strict=True)
    rows.sort()
    cells_of, units = list(keys), dict[tuple[str, int], tuple[Unit, tuple[str, ...]]]()
    alike = [telling.index(roles[role]) for role in ("benchmark", "metric") if role in naming]
    in_turn = set() if names else _in_turn(firsts, lasts, [[cells[i] for i in alike] for cells in cells_of])
    for group, (line, column) in firsts.items():
        cell_in = dict(zip(telling, cells_of[group // per_row], strict=True))
        beside = {role: cell_in[c] for role, c in naming.items()}
        written = beside.get("unit", "")
        if (written, column) not in units:
            units[written, column] = _unit_of(written, header[column], table)
        unit, of_unit = units[written, column]
        benchmark, version = named(beside, column)
        values, processes_of, traits = _ordered(rows.of(group), process, run)
        yield table.source.frame(place(line, column), benchmark).holding(
            values,
            unit,
            metric=beside.get("metric") or metric_of(unit.base),
            version=version,
            processes=processes_of,
            fields=tuple((header[c], cell_in[c]) for c in configuration),
            traits=traits | ({Trait.IN_TURN} if group in in_turn else set()),
            notes=remarks + of_unit + ((SORTED,) if Trait.SORTED in traits else ()),
            named=bool(names) or "benchmark" in roles,
        )


class _Numbering(dict[Any, int]):
    """Numbers of what comes, from 0 in order of appearance; a cell that many have in common is kept once."""

    def __missing__(self, key: str | tuple[str, ...]) -> int:
        self[key if isinstance(key, str) else tuple(map(intern, key))] = number = len(self)
        return number


def _in_turn(
    firsts: Mapping[int, tuple[int, int]], lasts: Mapping[int, int], alike: Sequence[Sequence[str]]
) -> set[int]:
    """Groups of several rows, one of some, between which no others of their benchmark and metric are."""
    beside: dict[tuple[str, ...], list[int]] = {}
    for group in firsts:  # in order of appearance
        beside.setdefault(tuple(alike[group]), []).append(group)
    numbers: set[int] = set()
    for groups in beside.values():
        ends = [-1, *accumulate((lasts[group] for group in groups), max)]
        starts = [*(firsts[group][0] for group in groups[1:]), math.inf]
        numbers.update(
            group
            for group, before, after in zip(groups, ends, starts, strict=False)
            if len(groups) > 1 and before < firsts[group][0] < lasts[group] < after
        )
    return numbers


def _ordered(
    columns: Sequence[Column], process: bool, run: bool
) -> tuple[FloatArray, IntArray | None, frozenset[Trait]]:
    """Values in run order, processes numbered by first appearance, and what is known of the order."""
    values, processes = columns[0], None
    if process:
        _, first, inverse = np.unique(columns[1], return_index=True, return_inverse=True)
        processes = np.argsort(np.argsort(first))[inverse]
    if not run or np.isnan(columns[-1]).any():
        return values, processes, order_traits(values)
    # Runs are counted within a process or over all of them; sorting by process first serves both.
    order = np.lexsort((columns[-1],) if processes is None else (columns[-1], processes))
    return values[order], None if processes is None else processes[order], frozenset({Trait.ORDER_KNOWN})


def _numbers_of(cells: list[str]) -> list[float] | list[float | None]:
    """Parse cells as numbers; None for a cell that is none."""
    return reading.decimals(cells) or [float(cell) if reading.is_number(cell) else None for cell in cells]


def _unit_of(cell: str, column: str, table: CsvTable) -> tuple[Unit, tuple[str, ...]]:
    """The unit of a group's values: its cell of the unit column, else the end of the values' column name."""
    name, asked = table.source.name, table.options.unit
    if cell:
        return reading.settle_unit(cell, asked, f"{name}: the column of units")
    return reading.settle_unit(split_unit(column)[1], asked, f"{name}: column {column!r}")


def _why_no_value(cell: str, where: str, table: CsvTable) -> str:
    """The reason why a cell holds no measurement. A decimal comma makes the whole file an error."""
    if reading.looks_decimal_comma(cell):
        raise table.source.error(where, f"{cell!r} has a decimal comma; write {cell.replace(',', '.')}")
    if cell.lower() == "nan":
        return "the value is NaN"
    return "the value is missing" if reading.is_missing(cell) else f"{cell[:40]!r} is not a number"


def _configuration(table: CsvTable, free: Sequence[int]) -> list[int]:
    """The columns that say under which conditions a row was measured.

    Their cells repeat and are words or whole numbers. Other measurements, dates and the like differ from row to
    row; taken for conditions they would tear every sample apart.
    """
    different: dict[int, set[str]] = {c: set() for c in free}
    whole = dict.fromkeys(free, True)
    count = 0
    for lines, columns in table.blocks():
        count += len(lines)
        for c, cells in different.items():
            if len(cells) < 2 or (whole[c] and len(cells) <= _MANY):
                new = set(columns[c]) - cells
                whole[c] = whole[c] and all(not reading.is_number(x) or float(x).is_integer() for x in new)
                cells |= new
    repeated = {
        c for c, cells in different.items() if whole[c] and 2 * len(cells) <= count and len(cells) <= _MANY
    }
    return [c for c in free if c in repeated or len(different[c]) == 1]


def _numeric(table: CsvTable) -> list[int]:
    """The columns that hold a number anywhere."""
    columns_with_numbers: set[int] = set()
    for _, columns in table.blocks():
        for c in table.free:
            if c not in columns_with_numbers and any(map(reading.is_numeric, columns[c])):
                columns_with_numbers.add(c)
    if not columns_with_numbers:
        names = ", ".join(table.header)
        raise table.source.error(
            "header", f"no column holds numbers; the columns are {names}: name one as column value=NAME"
        )
    return sorted(columns_with_numbers)


def _refuse_data_as_header(table: CsvTable, numeric: list[int]) -> None:
    """Refuse a header that is the first row of data; numbers alone may be runs, threads or versions.

    It is one where a name in it is found again below, or where it names no role and has a single number, or has
    fractions alone that might stand below.
    """
    header = table.header
    if not all(reading.is_number(header[c]) for c in numeric):
        return
    beside = [c for c, name in enumerate(header) if c not in numeric and name]
    alone = not table.roles and (len(numeric) == 1 or all(_might_stand_below(table, c) for c in numeric))
    if beside and (alone or any(header[c] in columns[c] for _, columns in table.blocks() for c in beside)):
        raise table.source.error(
            f"line {table.at}", "numbers where column names are expected; add a header line"
        )


def _might_stand_below(table: CsvTable, column: int) -> bool:
    """Whether the name of a column is a fraction of the size of its cells."""
    name = float(table.header[column])
    cells = [float(x) for _, columns in table.blocks() for x in columns[column] if reading.is_number(x)]
    return bool(cells) and not name.is_integer() and min(cells) / 2 <= name <= 2 * max(cells)


def _taken_for_runs(names: list[str]) -> tuple[str, ...]:
    """A remark where columns that were taken for runs may be versions."""
    if not all(map(_DOUBTFUL.fullmatch, names)) or names in (
        [str(k + n) for k in range(len(names))] for n in (0, 1)
    ):
        return ()
    few = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return (f"the columns {few} are taken for runs; if they are versions, say so: wide by version",)


BLOCK = 1 << 17  # characters of a block
Block = tuple[Sequence[int], list[list[str]]]  # the lines of some rows, and their columns


class CsvTable:
    """A CSV file: its header, what its columns are, and its rows in blocks."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.source, self.options = source, options
        self.roles: dict[str, int] = {}  # the column of each, as whoever reads the header says
        self.free: list[int] = []  # columns that play no role
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
