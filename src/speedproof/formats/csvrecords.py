"""From the rows of a CSV file to records: what stands beside a value makes groups, each of them a record.

A long table has a row a value: one column of values. Of a wide one there are several, and what each is called says
what its values belong to, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from sys import intern
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.record import Record, Skipped, order_traits
from speedproof.data.sample import Trait
from speedproof.data.units import Unit, metric_of
from speedproof.formats import reading
from speedproof.formats.csvtable import CsvTable
from speedproof.formats.reading import SORTED, Column, Gathered
from speedproof.formats.source import ReadOptions

_MANY = 1 << 17  # different cells of a column: more are no configuration
_NUMBERED = re.compile(r"(run|rep|repetition|iteration|iter|r|x)?[ _-]?\d+", re.IGNORECASE)
# Of these names some may as well be versions.
_DOUBTFUL = re.compile(r"[rx]?[ _-]?\d+", re.IGNORECASE)


class Layout(Struct, frozen=True):
    """What a table's columns are."""

    table: CsvTable
    roles: dict[str, int]
    free: list[int]
    options: ReadOptions


def long(layout: Layout, rivals: list[str]) -> Iterator[Record | Skipped]:
    """The records of a table with a row a value; ``rivals`` are columns that might hold the values, too."""
    table, header, value = layout.table, layout.table.header, layout.roles["value"]
    free = [c for c in layout.free if header[c] not in rivals]
    configuration = _configuration(table, free)
    yield from table.left_out([value])
    if others := [header[c] for c in free if c not in configuration]:
        reason = f"columns that are neither a role nor a configuration are left out: {', '.join(others)}"
        yield table.source.skip("header", "", reason, expected=True)
    chosen: tuple[str, ...] = ()
    if rivals:
        names, used = ", ".join(map(repr, rivals)), f"the values are those of column {header[value]!r}"
        chosen = (f"{used}; not used: {names} (choose one as column value=NAME)",)
    yield from _records(layout, [value], configuration=configuration, remarks=chosen)


def wide(layout: Layout) -> Iterator[Record | Skipped]:
    """The records of a table with a column a sample, or a column a run."""
    table, header, asked = layout.table, layout.table.header, layout.options.wide
    numeric = _numeric(layout)
    _refuse_data_as_header(layout, numeric)
    yield from table.left_out(numeric)
    if others := [header[c] for c in layout.free if c not in numeric]:
        reason = f"columns without numbers are left out: {', '.join(others)}"
        yield table.source.skip("header", "", reason, expected=True)
    names = [header[c] for c in numeric]
    if asked is None and "benchmark" in layout.roles and all(map(_NUMBERED.fullmatch, names)):
        yield from _records(layout, numeric, "run", remarks=_taken_for_runs(names))
    else:
        yield from _records(layout, numeric, asked or "version")


def _records(
    layout: Layout,
    measured: list[int],
    names: Literal["version", "benchmark", "run", ""] = "",
    *,
    configuration: Sequence[int] = (),
    remarks: tuple[str, ...] = (),
) -> Iterator[Record | Skipped]:
    """The values of some columns; ``names`` is what the columns of a wide table are called after.

    A configuration are columns of conditions that they were measured under.
    """
    table, roles, header, width = layout.table, layout.roles, layout.table.header, len(measured)
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
            reason = _why_no_value(cell, where, layout)
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
            units[written, column] = _unit_of(written, header[column], layout)
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
    """The numbers that cells are; None for what is none."""
    return reading.decimals(cells) or [float(cell) if reading.is_number(cell) else None for cell in cells]


def _unit_of(cell: str, column: str, layout: Layout) -> tuple[Unit, tuple[str, ...]]:
    """The unit of a group's values: its cell of the unit column, else the end of the values' column name."""
    name, asked = layout.table.source.name, layout.options.unit
    if cell:
        return reading.settle_unit(cell, asked, f"{name}: the column of units")
    return reading.settle_unit(reading.split_unit(column)[1], asked, f"{name}: column {column!r}")


def _why_no_value(cell: str, where: str, layout: Layout) -> str:
    """Why a cell holds no measurement. Decimal commas condemn the whole file."""
    if reading.looks_decimal_comma(cell):
        raise layout.table.source.error(
            where, f"{cell!r} has a decimal comma; write {cell.replace(',', '.')}"
        )
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


def _numeric(layout: Layout) -> list[int]:
    """The columns that hold a number anywhere."""
    columns_with_numbers: set[int] = set()
    for _, columns in layout.table.blocks():
        for c in layout.free:
            if c not in columns_with_numbers and any(map(reading.is_numeric, columns[c])):
                columns_with_numbers.add(c)
    if not columns_with_numbers:
        names = ", ".join(layout.table.header)
        raise layout.table.source.error(
            "header", f"no column holds numbers; the columns are {names}: name one as column value=NAME"
        )
    return sorted(columns_with_numbers)


def _refuse_data_as_header(layout: Layout, numeric: list[int]) -> None:
    """Refuse a header that is the first row of data; numbers alone may be runs, threads or versions.

    It is one where a name in it is found again below, or where it names no role and has a single number, or has
    fractions alone that might stand below.
    """
    table, header = layout.table, layout.table.header
    if not all(reading.is_number(header[c]) for c in numeric):
        return
    beside = [c for c, name in enumerate(header) if c not in numeric and name]
    alone = not layout.roles and (len(numeric) == 1 or all(_might_stand_below(layout, c) for c in numeric))
    if beside and (alone or any(header[c] in columns[c] for _, columns in table.blocks() for c in beside)):
        raise table.source.error(
            f"line {table.at}", "numbers where column names are expected; add a header line"
        )


def _might_stand_below(layout: Layout, column: int) -> bool:
    """Whether the name of a column is a fraction of the size of its cells."""
    name = float(layout.table.header[column])
    cells = [
        float(x) for _, columns in layout.table.blocks() for x in columns[column] if reading.is_number(x)
    ]
    return bool(cells) and not name.is_integer() and min(cells) / 2 <= name <= 2 * max(cells)


def _taken_for_runs(names: list[str]) -> tuple[str, ...]:
    """A remark where columns that were taken for runs may be versions."""
    if not all(map(_DOUBTFUL.fullmatch, names)) or names in (
        [str(k + n) for k in range(len(names))] for n in (0, 1)
    ):
        return ()
    few = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return (f"the columns {few} are taken for runs; if they are versions, say so: wide by version",)
