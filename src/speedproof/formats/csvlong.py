"""Long tables: a row a value. The columns that say what it belongs to make groups, each of them a record."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, repeat
from typing import Any, cast

import numpy as np

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import Unit, metric_of
from speedproof.formats.csvtable import (
    Layout,
    Numbering,
    Recurring,
    numbers_of,
    order_of,
    unit_of,
    why_no_value,
)
from speedproof.formats.gathered import Gathered
from speedproof.formats.notes import SORTED

_SHARED = 1 << 14  # different cells


def long(layout: Layout, rivals: list[str]) -> Iterator[Record | Skipped]:
    """The records of a table with a row a value; ``rivals`` are columns that might hold the values, too."""
    table, header, roles, options = layout.table, layout.header, layout.roles, layout.options
    source, value_column = table.source, roles["value"]
    free = {c: Recurring() for c in layout.free if header[c] not in rivals}
    count = 0
    for block in layout.blocks():
        count += len(block.lines)
        for c, column in free.items():
            column.take(block.columns[c])
    if table.misfit is not None:
        raise table.misfit
    yield from table.left_out([value_column])
    configuration = [c for c, column in free.items() if column.is_configuration(count)]
    if others := [header[c] for c in free if c not in configuration]:
        reason = f"columns that are neither a role nor a configuration are left out: {', '.join(others)}"
        yield Skipped(source.name, "header", "", reason, expected=True)
    told = [roles[role] for role in ("benchmark", "version", "metric", "unit") if role in roles]
    telling = [*told, *configuration]
    keys, process_names = _Keys(), Numbering[str]()
    wheres = array("q")
    rows = Gathered(*("i" if "process" in roles else ""), *("d" if "run" in roles else ""))
    for block in layout.blocks():
        lines, columns = block.lines, block.columns
        values = numbers_of(columns[value_column])
        if None in values:
            for k in (k for k, value in enumerate(values) if value is None):
                benchmark = columns[roles["benchmark"]][k] if "benchmark" in roles else source.stem
                where = f"line {lines[k]}"
                reason = why_no_value(columns[value_column][k], source, where)
                yield Skipped(source.name, where, benchmark, reason)
            good = [value is not None for value in values]
            lines, values = list(compress(lines, good)), list(compress(values, good))
            columns = [list(compress(column, good)) for column in columns]
        known = len(keys)
        cells = zip(*(columns[c] for c in telling), strict=True) if telling else repeat((), len(values))
        numbers = list(map(keys.__getitem__, cells))
        rows.groups.extend(numbers)
        own = iter(rows.columns)
        next(own).extend(cast(list[float], values))
        if "process" in roles:
            next(own).extend(map(process_names.__getitem__, columns[roles["process"]]))
        if "run" in roles:
            runs = numbers_of(columns[roles["run"]])
            next(own).extend([math.nan if run is None else run for run in runs])
        if len(keys) > known:
            first = dict(zip(reversed(numbers), reversed(lines), strict=True))
            wheres.extend(first[k] for k in range(known, len(keys)))
        rows.made_room()
    rows.sorted(len(keys))
    chosen, stem = _choice(header[value_column], rivals), source.stem
    units: dict[str, tuple[Unit, tuple[str, ...]]] = {}
    for number, key in enumerate(keys):
        of_column = dict(zip(telling, key, strict=True))
        cell = {role: of_column.get(column, "") for role, column in roles.items()}
        written = cell.get("unit", "")
        if written not in units:
            units[written] = unit_of(written, header[value_column], source, options)
        unit, remarks = units[written]
        for values_, processes, traits, notes in _ordered(rows, number, roles):
            yield Record(
                cell.get("benchmark", stem),
                unit.to_base(values_),
                unit.base,
                metric=cell.get("metric") or metric_of(unit.base),
                version=cell.get("version"),
                processes=processes,
                path=source.name,
                where=f"line {wheres[number]}",
                fields=tuple((header[c], of_column[c]) for c in configuration),
                traits=traits,
                notes=chosen + remarks + notes,
                named="benchmark" in roles,
            )


class _Keys(Numbering[tuple[str, ...]]):
    """Numbers of rows of cells; a cell that many have in common is kept once."""

    def __init__(self) -> None:
        super().__init__()
        self._cells: dict[str, str] = {}

    def __missing__(self, key: tuple[str, ...]) -> int:
        known = self._cells
        if len(known) < _SHARED:
            known |= {cell: cell for cell in key if cell not in known}
        return super().__missing__(tuple([known.get(cell, cell) for cell in key]))


def _choice(column: str, rivals: list[str]) -> tuple[str, ...]:
    """The note that says which columns of values were not used."""
    if not rivals:
        return ()
    names = ", ".join(map(repr, rivals))
    return (f"the values are those of column {column!r}; not used: {names} (--column value=NAME chooses)",)


_Found = tuple[FloatArray, IntArray | None, frozenset[Trait], tuple[str, ...]]


def _ordered(rows: Gathered, group: int, roles: Mapping[str, int]) -> Iterator[_Found]:
    """Values in run order, processes numbered by first appearance, and what is known of the order.

    What is too much for memory comes in pieces, which pooling joins.
    """
    process, run = 1 if "process" in roles else None, len(rows.columns) - 1 if "run" in roles else None
    pieces = list(rows.pieces(group, process))
    if run is not None and (len(pieces) == 1 or not _in_order(rows, group, pieces, process, run)):
        columns = rows.of(group)
        values, processes = columns[0], None if process is None else _by_appearance(columns[process])
        if not np.isnan(columns[run]).any():
            # Runs are counted within a process or over all of them; sorting by process first serves both.
            order = np.lexsort((columns[run],) if processes is None else (columns[run], processes))
            processes = None if processes is None else processes[order]
            yield values[order], processes, frozenset({Trait.ORDER_KNOWN}), ()
            return
        run = None
    traits = frozenset({Trait.ORDER_KNOWN}) if run is not None else order_of(rows, group, pieces)
    for start, stop in pieces:
        columns = rows.of(group, start, stop)
        processes = None if process is None else _by_appearance(columns[process])
        yield columns[0], processes, traits, (SORTED,) if Trait.SORTED in traits else ()


def _in_order(
    rows: Gathered, group: int, pieces: Sequence[tuple[int, int]], process: int | None, run: int
) -> bool:
    """Whether the runs of a group, none of them unnumbered, need no sorting."""
    for start, stop in pieces:
        columns = rows.of(group, max(start - 1, 0), stop)
        ordered = columns[run][1:] >= columns[run][:-1]
        if process is not None:
            ordered |= columns[process][1:] != columns[process][:-1]
        if not ordered.all() or np.isnan(columns[run]).any():
            return False
    return True


def _by_appearance(names: np.ndarray[tuple[int], np.dtype[Any]]) -> IntArray:
    """Numbers from 0 in place of others, by their first appearance."""
    _, first, own = np.unique(names, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[own]
