"""From the rows of a CSV file to records: what stands beside a value makes groups, each of them a record.

A long table has a row a value: one column of values. Of a wide one there are several, and what each is called says
what its values belong to, too.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.order import order_traits
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait, written_in
from speedproof.data.units import Unit, metric_of
from speedproof.errors import Parameter
from speedproof.formats.csvtable import Layout
from speedproof.formats.gathered import Column, Gathered
from speedproof.formats.reading import SORTED
from speedproof.formats.text import (
    is_missing,
    is_number,
    looks_decimal_comma,
    settle_unit,
    split_unit,
)

_MANY = 1 << 17  # different cells of a column that memory holds
_SHARES = 1 << 7  # in which the hashes of more are counted
_SHARED = 1 << 14  # different cells
# A text of these alone may be numbers and nothing else.
_OF_NUMBERS = frozenset("0123456789.eE+-")
_NUMBERED = re.compile(r"(run|rep|repetition|iteration|iter|r|x)?[ _-]?\d+", re.IGNORECASE)
_COLUMN = Parameter("columns", {"value": "NAME"}, "column value=NAME")
# Of these names some may as well be versions.
_DOUBTFUL = re.compile(r"[rx]?[ _-]?\d+", re.IGNORECASE)


def long(layout: Layout, rivals: list[str]) -> Iterator[Record | Skipped]:
    """The records of a table with a row a value; ``rivals`` are columns that might hold the values, too."""
    table, header, value = layout.table, layout.header, layout.roles["value"]
    free = {c: _Recurring() for c in layout.free if header[c] not in rivals}
    count = 0
    for block in layout.blocks():
        count += len(block.lines)
        for c, column in free.items():
            column.take(block.columns[c])
    yield from table.left_out([value])
    configuration = [c for c, column in free.items() if column.is_configuration(count)]
    if others := [header[c] for c in free if c not in configuration]:
        reason = f"columns that are neither a role nor a configuration are left out: {', '.join(others)}"
        yield Skipped(table.source.name, "header", "", reason, expected=True)
    chosen: tuple[str, ...] = ()
    if rivals:
        names, choice = ", ".join(map(repr, rivals)), _COLUMN
        chosen = (f"the values are those of column {header[value]!r}; not used: {names} ({choice} chooses)",)
    yield from _records(layout, _Values([value], configuration, chosen))


def wide(layout: Layout) -> Iterator[Record | Skipped]:
    """The records of a table with a column a sample, or a column a run."""
    table, header, asked = layout.table, layout.header, layout.options.wide
    numeric = _numeric(layout)
    _refuse_data_as_header(layout, numeric)
    yield from table.left_out(numeric)
    if others := [header[c] for c in layout.free if c not in numeric]:
        reason = f"columns without numbers are left out: {', '.join(others)}"
        yield Skipped(table.source.name, "header", "", reason, expected=True)
    names = [header[c] for c in numeric]
    if asked is None and "benchmark" in layout.roles and all(map(_NUMBERED.fullmatch, names)):
        yield from _records(layout, _Values(numeric, [], _taken_for_runs(names), "run"))
    else:
        yield from _records(layout, _Values(numeric, names=asked or "version"))


class _Values(Struct, frozen=True):
    """Where the values of a table are."""

    columns: list[int]
    configuration: list[int] = []  # columns of conditions that they were measured under
    remarks: tuple[str, ...] = ()
    names: Literal["version", "benchmark", "run", ""] = ""  # what a wide table's columns are called after


def _records(layout: Layout, of: _Values) -> Iterator[Record | Skipped]:
    header, roles, source, width = layout.header, layout.roles, layout.table.source, len(of.columns)
    told: dict[str, int] = {
        r: roles[r] for r in ("benchmark", "version", "metric", "unit") if r in roles and r != of.names
    }
    telling = [*told.values(), *of.configuration]
    apart = width if of.names in ("version", "benchmark") else 1  # groups of a row

    def named(beside: Mapping[str, str], column: int) -> tuple[str, str | None]:
        """Benchmark and version of a value."""
        own = {"benchmark": source.stem, **beside, of.names: header[column]}
        return own["benchmark"], own.get("version")

    def place(line: int, column: int) -> str:
        return f"line {line}, column {header[column]}" if of.names else f"line {line}"

    keys, process_names = _Keys(), _Numbering()
    process, run = ("process" in roles and not of.names, "run" in roles and not of.names)
    rows = Gathered("d", *"i" * process, *"d" * run)
    firsts, lasts = (
        array("q"),
        array("q"),
    )  # by group: line and column of its first value, and of its last one
    for block in layout.blocks():
        lines, columns = block.lines, block.columns
        values = np.array([_numbers_of(columns[c]) for c in of.columns], np.float64).T
        good = ~np.isnan(values)
        for n, k in np.argwhere(~good).tolist():
            column, beside = of.columns[k], {role: columns[c][n] for role, c in told.items()}
            cell, where = columns[column][n], place(lines[n], column)
            reason = _why_no_value(cell, where, layout)
            # Columns of unequal length end in empty cells: nothing is missing there.
            if cell or apart == 1:
                expected = bool(of.names) and not cell
                yield Skipped(source.name, where, named(beside, column)[0], reason, expected)
        cells = zip(*(columns[c] for c in telling), strict=True) if telling else repeat((), len(lines))
        numbers = np.fromiter(map(keys.__getitem__, cells), np.int64, len(lines))
        groups = np.broadcast_to(apart * numbers[:, None] + np.arange(apart), values.shape)[good]
        found: list[Column] = [values[good]]
        if process:
            names = columns[roles["process"]]
            found.append(np.fromiter(map(process_names.__getitem__, names), np.int32, len(lines))[good[:, 0]])
        if run:
            found.append(np.array(_numbers_of(columns[roles["run"]]), np.float64)[good[:, 0]])
        rows.extend(groups, *found)
        for ends in (firsts, lasts):
            ends.extend(repeat(-1, apart * len(keys) - len(ends)))
        cell_of = np.flatnonzero(good)
        _note_ends(firsts, lasts, groups, np.array(lines)[cell_of // width] * width + cell_of % width)
        rows.made_room()
    rows.sorted(len(firsts))
    known, units = list(keys), dict[tuple[str, int], tuple[Unit, tuple[str, ...]]]()
    alike = [telling.index(roles[role]) for role in ("benchmark", "metric") if role in told]
    in_turn = set() if of.names else _in_turn(firsts, lasts, [[cells[i] for i in alike] for cells in known])
    for group in np.argsort(firsts, kind="stable").tolist():
        if firsts[group] < 0:
            continue
        line, k = divmod(firsts[group], width)
        column, cell_in = of.columns[k], dict(zip(telling, known[group // apart], strict=True))
        beside = {role: cell_in[c] for role, c in told.items()}
        written = beside.get("unit", "")
        if (written, column) not in units:
            units[written, column] = _unit_of(written, header[column], layout)
        unit, remarks = units[written, column]
        benchmark, version = named(beside, column)
        for own, processes, traits in _ordered(rows, group, process, run):
            yield Record(
                benchmark,
                unit.to_base(own),
                unit.base,
                metric=beside.get("metric") or metric_of(unit.base),
                version=version,
                processes=processes,
                path=source.name,
                where=place(line, column),
                fields=tuple((header[c], cell_in[c]) for c in of.configuration),
                traits=traits | written_in(unit) | ({Trait.IN_TURN} if group in in_turn else set()),
                notes=of.remarks + remarks + ((SORTED,) if Trait.SORTED in traits else ()),
                named=bool(of.names) or "benchmark" in roles,
            )


class _Numbering(dict[Any, int]):
    """Numbers of what comes, from 0 in order of appearance."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


class _Keys(_Numbering):
    """Numbers of rows of cells; a cell that many have in common is kept once."""

    def __init__(self) -> None:
        super().__init__()
        self._cells: dict[str, str] = {}

    def __missing__(self, key: tuple[str, ...]) -> int:
        known = self._cells
        if len(known) < _SHARED:
            known |= {cell: cell for cell in key if cell not in known}
        return super().__missing__(tuple([known.get(cell, cell) for cell in key]))


def _note_ends(firsts: array[int], lasts: array[int], groups: IntArray, places: IntArray) -> None:
    """Keep the first and last place of each group; a function of its own, for an array with a view cannot grow."""
    if groups.size:
        own, at = np.unique(groups, return_index=True)
        known = np.frombuffer(firsts, np.int64)
        new = known[own] < 0
        known[own[new]] = places[at[new]]
        np.maximum.at(np.frombuffer(lasts, np.int64), groups, places)


def _in_turn(firsts: array[int], lasts: array[int], alike: Sequence[Sequence[str]]) -> set[int]:
    """Groups of several rows, one of some, between which no others of their benchmark and metric are."""
    beside: dict[tuple[str, ...], list[int]] = {}
    for group in sorted(range(len(alike)), key=firsts.__getitem__):
        if firsts[group] >= 0:
            beside.setdefault(tuple(alike[group]), []).append(group)
    found: set[int] = set()
    for groups in beside.values():
        ends = [-1, *accumulate((lasts[group] for group in groups), max)]
        starts = [*(firsts[group] for group in groups[1:]), math.inf]
        found.update(
            group
            for group, before, after in zip(groups, ends, starts, strict=False)
            if len(groups) > 1 and before < firsts[group] < lasts[group] < after
        )
    return found


def _ordered(
    rows: Gathered, group: int, process: bool, run: bool
) -> Iterator[tuple[FloatArray, IntArray | None, frozenset[Trait]]]:
    """Values in run order, processes numbered by first appearance, and what is known of the order.

    What is too much for memory comes in pieces, which pooling joins.
    """
    pieces = list(rows.pieces(group, 1 if process else None))
    if run and (len(pieces) == 1 or not _in_order(rows, group, pieces, process)):
        columns = rows.of(group)
        values, processes = columns[0], _by_appearance(columns[1]) if process else None
        if not np.isnan(columns[-1]).any():
            # Runs are counted within a process or over all of them; sorting by process first serves both.
            order = np.lexsort((columns[-1],) if processes is None else (columns[-1], processes))
            processes = None if processes is None else processes[order]
            yield values[order], processes, frozenset({Trait.ORDER_KNOWN})
            return
        run = False
    traits = (
        frozenset({Trait.ORDER_KNOWN})
        if run
        else order_traits(rows.of(group, max(start - 1, 0), stop)[0] for start, stop in pieces)
    )
    for start, stop in pieces:
        columns = rows.of(group, start, stop)
        yield columns[0], _by_appearance(columns[1]) if process else None, traits


def _in_order(rows: Gathered, group: int, pieces: Sequence[tuple[int, int]], process: bool) -> bool:
    """Whether the runs of a group, none of them unnumbered, need no sorting."""
    for start, stop in pieces:
        columns = rows.of(group, max(start - 1, 0), stop)
        ordered = columns[-1][1:] >= columns[-1][:-1]
        if process:
            ordered |= columns[1][1:] != columns[1][:-1]
        if not ordered.all() or np.isnan(columns[-1]).any():
            return False
    return True


def _by_appearance(names: IntArray) -> IntArray:
    """Numbers from 0 in place of others, by their first appearance."""
    _, first, own = np.unique(names, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[own]


def _numbers_of(cells: list[str]) -> list[float | None]:
    """The numbers that cells are; None for what is none."""
    try:
        if _OF_NUMBERS.issuperset("".join(cells)):
            return list(map(float, cells))
    except ValueError:
        pass
    return [float(cell) if is_number(cell) else None for cell in cells]


def _unit_of(cell: str, column: str, layout: Layout) -> tuple[Unit, tuple[str, ...]]:
    """The unit of a group's values: its cell of the unit column, else the end of the values' column name."""
    name, asked = layout.table.source.name, layout.options.unit
    if cell:
        return settle_unit(cell, asked, f"{name}: the column of units")
    return settle_unit(split_unit(column)[1], asked, f"{name}: column {column!r}")


def _why_no_value(cell: str, where: str, layout: Layout) -> str:
    """Why a cell holds no measurement. Decimal commas condemn the whole file."""
    if looks_decimal_comma(cell):
        raise layout.table.source.error(
            where, f"{cell!r} has a decimal comma; write {cell.replace(',', '.')}"
        )
    if cell.lower() == "nan":
        return "the value is NaN"
    return "the value is missing" if is_missing(cell) else f"{cell[:40]!r} is not a number"


class _Recurring:
    """What decides whether a column says under which conditions a row was measured.

    Then its cells repeat and are words or whole numbers. Other measurements, dates and the like differ from row to
    row; taken for conditions they would tear every sample apart.
    """

    def __init__(self) -> None:
        self._different: set[str] = set()
        self._whole = True
        self._hashes: Gathered | None = None  # of the different cells of each block, where there are many

    def take(self, cells: list[str]) -> None:
        """Look at more cells."""
        if not self._whole and len(self._different) > 1:
            return
        new = set(cells) - self._different
        self._whole = self._whole and all(not is_number(c) or float(c).is_integer() for c in new)
        if self._hashes is None:
            self._different |= new
            if len(self._different) <= _MANY:
                return
            self._hashes, new = Gathered("q"), self._different
            self._different = set(list(new)[:2])
        hashes = np.array(list(map(hash, new)), np.int64)
        self._hashes.extend(hashes % _SHARES, hashes)
        self._hashes.made_room()

    def is_configuration(self, rows: int) -> bool:
        """Whether it does, of so many rows."""
        count = len(self._different)
        if self._hashes is not None:
            self._hashes.sorted(_SHARES)
            count = sum(np.unique(self._hashes.of(share)[0]).size for share in range(_SHARES))
        return count == 1 or (self._whole and 2 * count <= rows)


def _numeric(layout: Layout) -> list[int]:
    """The columns that hold a number anywhere."""
    found: set[int] = set()
    for block in layout.blocks():
        for c in layout.free:
            if c not in found and any(is_number(x) or looks_decimal_comma(x) for x in block.columns[c]):
                found.add(c)
    if not found:
        raise layout.table.source.error(
            "header",
            f"no column holds numbers; the columns are {', '.join(layout.header)}: name one with ",
            _COLUMN,
        )
    return sorted(found)


def _refuse_data_as_header(layout: Layout, numeric: list[int]) -> None:
    """Refuse a header that is the first row of data; numbers alone may be runs, threads or versions.

    It is one where a name in it is found again below, or where it names no role and has a single number, or has
    fractions alone that might stand below.
    """
    header = layout.header
    if not all(is_number(header[c]) for c in numeric):
        return
    beside = [c for c, name in enumerate(header) if c not in numeric and name]
    alone = not layout.roles and (len(numeric) == 1 or all(_might_stand_below(layout, c) for c in numeric))
    if beside and (alone or any(header[c] in block.columns[c] for block in layout.blocks() for c in beside)):
        raise layout.table.source.error(
            f"line {layout.table.at}", "numbers where column names are expected; add a header line"
        )


def _might_stand_below(layout: Layout, column: int) -> bool:
    """Whether the name of a column is a fraction of the size of its cells."""
    name = float(layout.header[column])
    cells = [float(cell) for block in layout.blocks() for cell in block.columns[column] if is_number(cell)]
    return bool(cells) and not name.is_integer() and min(cells) / 2 <= name <= 2 * max(cells)


def _taken_for_runs(names: list[str]) -> tuple[str, ...]:
    """A remark where columns that were taken for runs may be versions."""
    if not all(map(_DOUBTFUL.fullmatch, names)) or names in (
        [str(k + n) for k in range(len(names))] for n in (0, 1)
    ):
        return ()
    few = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return (
        f"the columns {few} are taken for runs; if they are versions, add {Parameter('wide', 'version')}",
    )
