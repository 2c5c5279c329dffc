"""CSV and TSV: long, with a row a value, or wide, with a column a sample.

Long: one column holds the values, others say what they belong to. The roles (benchmark, version, value,
unit, process, metric, run) are given by the user or found by the obvious names; columns without a role
become fields.

Wide: every column without a role is a version (or a benchmark). With a benchmark column, the columns of a
row are versions, or, when they are numbered (``run1``, ``run2``), the runs of that benchmark.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.names import joined
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import Unit, metric_of
from speedproof.formats.notes import SORTED, plural
from speedproof.formats.options import ROLES, ReadOptions
from speedproof.formats.sniff import first_lines
from speedproof.formats.source import Source
from speedproof.formats.text import (
    delimiter_of,
    is_missing,
    is_number,
    looks_decimal_comma,
    order_traits,
    readings,
    settle_unit,
    split_unit,
)

NAME = "csv"
TITLE = "CSV, TSV"
DESCRIPTION = "long (a row a value) or wide (a column a version or benchmark)"

# Stands for a column of values that is named after its unit alone ("seconds").
_UNIT_ALONE = "(unit)"
# Units that name parts of a date, or a minimum, when they are all of a column's name.
_NO_VALUES = ("day", "hour", "minute", "min")
# Names that say what a column holds, in order of preference.
_OBVIOUS: dict[str, tuple[str, ...]] = {
    "benchmark": ("benchmark", "bench", "benchmark_name", "name", "test", "program", "workload", "task",
                  "command"),
    "version": ("version", "variant", "label", "configuration", "config", "build", "commit", "revision",
                "branch"),
    "value": ("value", "time", "duration", "elapsed", "runtime", "wall_time", "real_time", "measurement",
              _UNIT_ALONE),
    "unit": ("unit", "units"),
    "process": ("process", "process_id", "pid", "fork", "invocation"),
    "metric": ("metric", "criterion", "counter"),
    "run": ("run", "run_id", "iteration", "iter", "repetition", "rep", "index", "i"),
}  # fmt: skip
# The index that pandas writes.
_NO_NAME = ("", "Unnamed: 0")
_NUMBERED = re.compile(r"(run|rep|repetition|iteration|iter|r|v|x)?[ _-]?\d+", re.IGNORECASE)


# Tuples of texts alone, unlike lists, cost the collector of garbage nothing.
_Rows = list[tuple[int, tuple[str, ...]]]


class _Group(Struct):
    """The values that make one record."""

    where: str
    values: list[float] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)


def sniff(head: bytes) -> bool:
    """Whether a file begins like CSV: rows of equally many cells, some of them numbers.

    Rows without a header count: the reader then says what is missing.
    """
    lines = first_lines(head)
    if len(lines) < 2 or (delimiter := delimiter_of(lines[0])) is None:
        return False
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter, strict=True)]
    except csv.Error:
        return False
    if delimiter == "\t" and all(map(is_number, rows[0])):
        return False  # plain numbers in columns
    cells = [cell for row in rows[1:] for cell in row]
    return len({len(row) for row in rows}) == 1 and any(is_number(c) or looks_decimal_comma(c) for c in cells)


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read a CSV or TSV file."""
    header, rows = _rows(source)
    header, rows = _with_joined(header, rows, options)
    roles = _roles(header, options, source)
    free = [c for c, name in enumerate(header) if c not in roles.values() and name not in _NO_NAME]
    if options.layout == "wide" or (options.layout == "auto" and "value" not in roles):
        yield from _wide(source, header, rows, roles, free, options)
    elif "value" not in roles:
        raise source.error(
            "header",
            f"no column holds the values; the columns are {', '.join(header)}: name one with --column value=NAME",
        )
    else:
        yield from _long(source, header, rows, roles, free, options)


def _rows(source: Source) -> tuple[list[str], _Rows]:
    """The header's cells, and every row with its line."""
    lines = source.lines
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    delimiter = delimiter_of(first) or ","
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    rows: _Rows = []
    try:
        for row in reader:
            cells = tuple([cell.strip() for cell in row])
            if any(cells) and cells[0][:1] != "#":
                rows.append((reader.line_num, cells))
    except csv.Error as error:
        raise source.error(f"line {reader.line_num}", f"not CSV: {error}") from None
    if not rows:
        raise source.error("", "the table has no rows")
    (at, first_row), *body = rows
    header = list(first_row)
    if all(map(_is_measurement, header)):
        hint = " (or, if these are decimal commas, write 1.5 for 1,5)" if delimiter == "," else ""
        raise source.error(f"line {at}", f"numbers where column names are expected; add a header line{hint}")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise source.error(f"line {at}", f"two columns are named {twice!r}; give each a name of its own")
    for line, cells in body:
        if len(cells) != len(header):
            hint = (
                "; decimal commas? write 1.5 for 1,5" if delimiter == "," and len(cells) > len(header) else ""
            )
            raise source.error(
                f"line {line}", f"{plural(len(cells), 'cell')} where the header has {len(header)}{hint}"
            )
    return header, body


def _is_measurement(cell: str) -> bool:
    """Whether a cell holds a number, with its unit or without."""
    found = readings(cell.split())
    return len(found) == 1 and found[0][1] is not None and not is_missing(found[0][0])


def _with_joined(header: list[str], rows: _Rows, options: ReadOptions) -> tuple[list[str], _Rows]:
    """A column more for each role that several columns play together (``benchmark=program,threads``)."""
    for name in (options.columns.get("benchmark", ""), options.columns.get("version", "")):
        parts = [part.strip() for part in name.split(",")]
        if name and name not in header and len(parts) > 1 and set(parts) <= set(header):
            places = [header.index(part) for part in parts]
            rows = [(line, (*cells, joined(parts, [cells[k] for k in places]))) for line, cells in rows]
            header = [*header, name]
    return header, rows


def _roles(header: list[str], options: ReadOptions, source: Source) -> dict[str, int]:
    """The column of each role: as the user says, else the first obvious name that is free."""
    roles: dict[str, int] = {}
    for role, name in options.columns.items():
        if name not in header:
            lacking = next((part for part in name.split(",") if part.strip() not in header), name)
            raise source.error("header", f"there is no column {lacking!r}; available: {', '.join(header)}")
        roles[role] = header.index(name)
    plain, value_names = _plain(header), _value_names(header)
    for role in ROLES:
        if role in roles or (role == "value" and options.layout == "wide"):
            continue
        names = value_names if role == "value" else plain
        for name in _OBVIOUS[role]:
            if name in names and names.index(name) not in roles.values():
                roles[role] = names.index(name)
                break
    return roles


def _value_names(header: list[str]) -> list[str]:
    """What the columns are called without the unit that a column of values may end with (``time_ms``)."""
    names = []
    for name in _plain(header):
        rest, unit = split_unit(name)
        names.append(rest if unit is None or rest else _UNIT_ALONE if unit not in _NO_VALUES else name)
    return names


def _plain(header: list[str]) -> list[str]:
    return [re.sub(r"[ _]+", "_", name.lower()) for name in header]


def _rivals(header: list[str], roles: dict[str, int], options: ReadOptions) -> list[str]:
    """The columns that could hold the values as well as the one that was chosen for its name."""
    if "value" in options.columns:
        return []
    names = _value_names(header)
    return [
        name
        for column, name in enumerate(header)
        if column not in roles.values() and names[column] in _OBVIOUS["value"] and name not in _NO_NAME
    ]


def _long(
    source: Source,
    header: list[str],
    rows: _Rows,
    roles: dict[str, int],
    free: list[int],
    options: ReadOptions,
) -> Iterator[Record | Skipped]:
    value_column = roles["value"]
    rivals = _rivals(header, roles, options)
    free = [c for c in free if header[c] not in rivals]
    configuration = [c for c in free if _is_configuration([cells[c] for _, cells in rows])]
    if others := [header[c] for c in free if c not in configuration]:
        reason = f"columns that are neither a role nor a configuration are left out: {', '.join(others)}"
        yield Skipped(source.name, "header", "", reason, expected=True)
    told = [roles[role] for role in ("benchmark", "version", "metric", "unit") if role in roles]
    groups: dict[tuple[str, ...], _Group] = {}
    process, run = roles.get("process"), roles.get("run")
    telling = [*told, *configuration]
    for line, cells in rows:
        value = cells[value_column]
        if not is_number(value):
            benchmark = cells[roles["benchmark"]] if "benchmark" in roles else source.stem
            where = f"line {line}"
            yield Skipped(source.name, where, benchmark, _why_no_value(value, source, where))
            continue
        key = tuple([cells[c] for c in telling])
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(f"line {line}")
        group.values.append(float(value))
        if process is not None:
            group.processes.append(cells[process])
        if run is not None:
            group.runs.append(cells[run])

    chosen = _choice(header[value_column], rivals)
    for key, group in groups.items():
        of_column = dict(zip(telling, key, strict=True))
        cell = {role: of_column.get(column, "") for role, column in roles.items()}
        known, remarks = _unit(cell.get("unit", ""), header[value_column], source, options)
        values, processes, traits, notes = _ordered(group, roles)
        yield Record(
            cell.get("benchmark", source.stem),
            known.to_base(values),
            known.base,
            metric=cell.get("metric") or metric_of(known.base),
            version=cell.get("version"),
            processes=processes,
            path=source.name,
            where=group.where,
            fields=tuple((header[c], of_column[c]) for c in configuration),
            traits=traits,
            notes=chosen + remarks + notes,
            named="benchmark" in roles,
        )


def _choice(column: str, rivals: list[str]) -> tuple[str, ...]:
    """The note that says which columns of values were not used."""
    if not rivals:
        return ()
    names = ", ".join(map(repr, rivals))
    return (f"the values are those of column {column!r}; not used: {names} (--column value=NAME chooses)",)


def _unit(cell: str, column: str, source: Source, options: ReadOptions) -> tuple[Unit, tuple[str, ...]]:
    """The unit of a group's values: its cell of the unit column, else the end of the values' column name."""
    if cell:
        return settle_unit(cell, options.unit, f"{source.name}: the column of units")
    return settle_unit(split_unit(column)[1], options.unit, f"{source.name}: column {column!r}")


def _is_configuration(cells: list[str]) -> bool:
    """Whether a column says under which conditions a row was measured.

    Its values repeat and are words or whole numbers. Other measurements, dates and the like differ from row
    to row; taken for conditions they would tear every sample apart.
    """
    different = set(cells)
    whole = all(not is_number(cell) or float(cell).is_integer() for cell in different)
    return len(different) == 1 or (whole and 2 * len(different) <= len(cells))


def _ordered(
    group: _Group, roles: dict[str, int]
) -> tuple[FloatArray, IntArray | None, frozenset[Trait], tuple[str, ...]]:
    """Values in run order, processes numbered by first appearance, and what is known of the order."""
    values = np.array(group.values)
    processes: IntArray | None = None
    if "process" in roles:
        number = {name: k for k, name in enumerate(dict.fromkeys(group.processes))}
        processes = np.array([number[name] for name in group.processes], dtype=np.int64)
    if "run" in roles and all(map(is_number, group.runs)):
        # Runs are counted within a process or over all of them; sorting by process first serves both.
        runs = np.array(group.runs, dtype=np.float64)
        order = np.lexsort((runs,) if processes is None else (runs, processes))
        values = values[order]
        processes = None if processes is None else processes[order]
        return values, processes, frozenset({Trait.ORDER_KNOWN}), ()
    traits = order_traits(values)
    return values, processes, traits, (SORTED,) if Trait.SORTED in traits else ()


def _wide(
    source: Source,
    header: list[str],
    rows: _Rows,
    roles: dict[str, int],
    free: list[int],
    options: ReadOptions,
) -> Iterator[Record | Skipped]:
    numeric = [
        c for c in free if any(is_number(cells[c]) or looks_decimal_comma(cells[c]) for _, cells in rows)
    ]
    if not numeric:
        raise source.error(
            "header",
            f"no column holds numbers; the columns are {', '.join(header)}: name one with --column value=NAME",
        )
    if others := [header[c] for c in free if c not in numeric]:
        reason = f"columns without numbers are left out: {', '.join(others)}"
        yield Skipped(source.name, "header", "", reason, expected=True)
    runs_in_columns = "benchmark" in roles and all(_NUMBERED.fullmatch(header[c]) for c in numeric)
    groups: dict[tuple[str, str | None, str, Unit, tuple[str, ...]], _Group] = {}
    stem = source.stem
    for line, cells in rows:
        row_name = cells[roles["benchmark"]] if "benchmark" in roles else stem
        for column in numeric:
            name, where = header[column], f"line {line}, column {header[column]}"
            benchmark, version = row_name, cells[roles["version"]] if "version" in roles else None
            if not runs_in_columns:
                if options.wide == "benchmark":
                    benchmark = name
                else:
                    version = name
            if reason := _why_no_value(cells[column], source, where):
                # Columns of unequal length end in empty cells: nothing is missing there.
                if cells[column] or runs_in_columns:
                    yield Skipped(source.name, where, benchmark, reason, expected=not cells[column])
                continue
            unit = _unit(cells[roles["unit"]] if "unit" in roles else "", name, source, options)
            metric = cells[roles["metric"]] if "metric" in roles else ""
            group = groups.setdefault((benchmark, version, metric, *unit), _Group(where))
            group.values.append(float(cells[column]))
    for (benchmark, version, metric, known, remarks), group in groups.items():
        values = np.array(group.values)
        traits = order_traits(values)
        yield Record(
            benchmark,
            known.to_base(values),
            known.base,
            metric=metric or metric_of(known.base),
            version=version,
            path=source.name,
            where=group.where,
            traits=traits,
            notes=remarks + ((SORTED,) if Trait.SORTED in traits else ()),
        )


def _why_no_value(cell: str, source: Source, where: str) -> str:
    """Why a cell holds no measurement; empty when it does. Decimal commas condemn the whole file."""
    if is_number(cell):
        return ""
    if looks_decimal_comma(cell):
        raise source.error(where, f"{cell!r} has a decimal comma; write {cell.replace(',', '.')}")
    return "the value is missing" if is_missing(cell) else f"{cell[:40]!r} is not a number"
