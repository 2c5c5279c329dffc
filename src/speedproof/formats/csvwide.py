"""Wide tables: every column without a role holds the values of a version, of a benchmark, or of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import repeat

import numpy as np

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import Unit, metric_of
from speedproof.formats.csvtable import (
    Block,
    Known,
    Layout,
    Numbering,
    numbers_of,
    order_of,
    unit_of,
    why_no_value,
)
from speedproof.formats.gathered import Gathered
from speedproof.formats.notes import SORTED
from speedproof.formats.text import is_number, looks_decimal_comma

_NUMBERED = re.compile(r"(run|rep|repetition|iteration|iter|r|x)?[ _-]?\d+", re.IGNORECASE)
# Of these names some may as well be versions.
_DOUBTFUL = re.compile(r"[rx]?[ _-]?\d+", re.IGNORECASE)


def wide(layout: Layout) -> Iterator[Record | Skipped]:
    """The records of a table with a column a sample, or a column a run."""
    table, header, roles, options = layout.table, layout.header, layout.roles, layout.options
    source, numeric = table.source, _numeric(layout)
    _refuse_data_as_header(layout, numeric)
    yield from table.left_out(numeric)
    if others := [header[c] for c in layout.free if c not in numeric]:
        reason = f"columns without numbers are left out: {', '.join(others)}"
        yield Skipped(source.name, "header", "", reason, expected=True)
    names = [header[c] for c in numeric]
    runs_in_columns = options.wide is None and "benchmark" in roles and all(map(_NUMBERED.fullmatch, names))
    taken = _taken_for_runs(names) if runs_in_columns else ()
    told: list[str] = [role for role in ("benchmark", "version", "unit", "metric") if role in roles]
    keys = Numbering[tuple[str, str | None, str, Unit, tuple[str, ...]]]()

    def named(cell: Mapping[str, str], name: str) -> tuple[str, str | None]:
        """Benchmark and version of what is in the column of that name."""
        benchmark, version = cell.get("benchmark", source.stem), cell.get("version")
        if runs_in_columns:
            return benchmark, version
        return (name, version) if options.wide == "benchmark" else (benchmark, name)

    def number_of(name: str, cells: tuple[str, ...]) -> int:
        """The number of what a value in that column belongs to, by the cells beside it."""
        cell = dict(zip(told, cells, strict=True))
        unit = unit_of(cell.get("unit", ""), name, source, options)
        return keys[(*named(cell, name), cell.get("metric", ""), *unit)]

    of_column = [Known(partial(number_of, header[c])) for c in numeric]
    firsts: dict[int, tuple[int, int]] = {}  # line and column of the first value
    rows = Gathered()
    for block in layout.blocks():
        groups = np.full((len(block.lines), len(numeric)), -1, np.int32)
        values = np.zeros(groups.shape)
        faults: list[tuple[int, int]] = []
        for k, c in enumerate(numeric):
            numbers = numbers_of(block.columns[c])
            groups[:, k] = list(map(of_column[k].__getitem__, _beside(block, [roles[role] for role in told])))
            values[:, k] = [0.0 if number is None else number for number in numbers]
            if None in numbers:
                missing = [n for n, number in enumerate(numbers) if number is None]
                groups[missing, k] = -1
                faults += [(n, k) for n in missing]
            own, at = np.unique(groups[:, k], return_index=True)
            for group, n in zip(own.tolist(), at.tolist(), strict=True):
                if group >= 0:
                    place = (block.lines[n], c)
                    firsts[group] = min(firsts.get(group, place), place)
        for n, k in sorted(faults):
            name, cell = header[numeric[k]], block.columns[numeric[k]][n]
            where = f"line {block.lines[n]}, column {name}"
            reason = why_no_value(cell, source, where)
            # Columns of unequal length end in empty cells: nothing is missing there.
            if cell or runs_in_columns:
                benchmark, _ = named({role: block.columns[roles[role]][n] for role in told}, name)
                yield Skipped(source.name, where, benchmark, reason, expected=not cell)
        valid = groups.ravel() >= 0
        rows.groups.frombytes(groups.ravel()[valid].tobytes())
        rows.columns[0].frombytes(values.ravel()[valid].tobytes())
        rows.made_room()
    rows.sorted(len(keys))
    known = list(keys)
    for group, (line, c) in sorted(firsts.items(), key=lambda item: item[1]):
        benchmark, version, metric, unit, remarks = known[group]
        pieces = list(rows.pieces(group))
        traits = order_of(rows, group, pieces)
        for start, stop in pieces:
            yield Record(
                benchmark,
                unit.to_base(rows.of(group, start, stop)[0]),
                unit.base,
                metric=metric or metric_of(unit.base),
                version=version,
                path=source.name,
                where=f"line {line}, column {header[c]}",
                traits=traits,
                notes=taken + remarks + ((SORTED,) if Trait.SORTED in traits else ()),
            )


def _numeric(layout: Layout) -> list[int]:
    """The columns that hold a number anywhere."""
    found: dict[int, None] = {}
    for block in layout.blocks():
        for c in layout.free:
            if c not in found and any(is_number(x) or looks_decimal_comma(x) for x in block.columns[c]):
                found[c] = None
    if layout.table.misfit is not None:
        raise layout.table.misfit
    if not found:
        raise layout.table.source.error(
            "header",
            f"no column holds numbers; the columns are {', '.join(layout.header)}: "
            "name one with --column value=NAME",
        )
    return sorted(found)


def _refuse_data_as_header(layout: Layout, numeric: list[int]) -> None:
    """Refuse a header that is the first row of data; numbers alone may be runs, threads or versions.

    It is one where a name in it is found again below, or where it names no role and has a single number.
    """
    header = layout.header
    if not all(is_number(header[c]) for c in numeric):
        return
    beside = [c for c, name in enumerate(header) if c not in numeric and name]
    lone = len(numeric) == 1 and not layout.roles
    if beside and (lone or any(header[c] in block.columns[c] for block in layout.blocks() for c in beside)):
        raise layout.table.source.error(
            f"line {layout.table.at}", "numbers where column names are expected; add a header line"
        )


def _taken_for_runs(names: list[str]) -> tuple[str, ...]:
    """A remark where columns that were taken for runs may be versions."""
    if not all(map(_DOUBTFUL.fullmatch, names)) or names in (
        [str(k + n) for k in range(len(names))] for n in (0, 1)
    ):
        return ()
    few = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return (f"the columns {few} are taken for runs; if they are versions, add --wide version",)


def _beside(block: Block, columns: list[int]) -> Iterator[tuple[str, ...]]:
    """The cells of some columns, row by row."""
    return zip(*(block.columns[c] for c in columns), strict=True) if columns else repeat((), len(block.lines))
