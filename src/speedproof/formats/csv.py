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
from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from speedproof.data.record import Record, Skipped
from speedproof.data.units import split_unit
from speedproof.errors import FormatError
from speedproof.formats import reading
from speedproof.formats.csvrecords import CsvTable, long, wide
from speedproof.formats.source import ROLES, ReadOptions, Source

TITLE = "CSV, TSV"
DESCRIPTION = "long (a row a value) or wide (a column a version or benchmark)"

# Stands for a column of values that is named after its unit alone ("seconds").
_UNIT_ALONE = "(unit)"
# Units that name parts of a date when they are all of a column's name.
_NO_VALUES = ("day", "hour", "minute")
# Names that say what a column holds, in order of preference.
_OBVIOUS: dict[str, tuple[str, ...]] = {
    "benchmark": ("benchmark", "bench", "benchmark_name", "name", "test", "program", "workload", "task",
                  "command"),
    "version": ("version", "variant", "label", "configuration", "config", "build", "commit", "revision",
                "commit_id", "commit_hash", "git_commit", "hash", "sha", "rev", "branch"),
    "value": ("value", "time", "duration", "elapsed", "runtime", "wall_time", "real_time", "measurement",
              _UNIT_ALONE),
    "unit": ("unit", "units"),
    "process": ("process", "process_id", "pid", "fork", "invocation"),
    "metric": ("metric", "criterion", "counter"),
    "run": ("run", "run_id", "iteration", "iter", "repetition", "rep", "index", "i"),
}  # fmt: skip
# Tables of tools, which do not use the names as others do: the roles of their columns, and their unit.
_OF_TOOLS: dict[tuple[str, ...], tuple[dict[str, str], str]] = {
    # ripgrep's benchsuite: a name is one of the programs, "iter" how often all of them ran
    ("benchmark", "warmup_iter", "iter", "name", "command", "duration", "lines", "env"): (
        {"benchmark": "benchmark", "version": "name", "value": "duration"},
        "s",
    )
}
# The index that pandas writes.
_NO_NAME = ("", "Unnamed: 0")


def sniff(head: bytes) -> bool:
    """Whether a file begins like CSV: rows of equally many cells, some of them numbers.

    Rows without a header count: the reader then says what is missing.
    """
    lines = reading.first_lines(head)
    if len(lines) < 2 or (delimiter := reading.delimiter_of(lines[0])) is None:
        return False
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter, strict=True)]
    except csv.Error:
        return False
    if delimiter == "\t" and all(map(reading.is_number, rows[0])):
        return False  # plain numbers in columns
    cells = [cell for row in rows[1:] for cell in row]
    return len({len(row) for row in rows}) == 1 and any(map(reading.is_numeric, cells))


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read a CSV or TSV file.

    The rows are passed through twice: what they are depends on all of them.
    """
    table = CsvTable(source, options)
    if tool := _OF_TOOLS.get(tuple(table.header)):
        options = replace(options, columns={**tool[0], **options.columns}, unit=options.unit or tool[1])
        table.options = options
    _check_header(table)
    for role in ("benchmark", "version"):
        table.join(options.columns.get(role, ""))
    header = table.header
    try:
        roles = _roles(header, options, source)
    except FormatError:
        for _ in table.blocks():  # an error of the form of the file goes before
            pass
        raise
    table.roles = roles
    table.free = [c for c, name in enumerate(header) if c not in roles.values() and name not in _NO_NAME]
    yield from long(table, _rivals(header, roles, options)) if "value" in roles else wide(table)


def _check_header(table: CsvTable) -> None:
    """Refuse a header that is none."""
    header, line = table.header, f"line {table.at}"
    if all(map(reading.is_numeric, header)):
        hint = " (or, if these are decimal commas, write 1.5 for 1,5)" if table.delimiter == "," else ""
        raise table.source.error(line, f"numbers where column names are expected; add a header line{hint}")
    if any(map(reading.is_number, header)) and not _roles(header, ReadOptions(), table.source):
        for at, cells in table.comments():
            names = [cell.lstrip("# ") for cell in cells]
            if not any(map(reading.is_number, names)) and _roles(names, ReadOptions(), table.source):
                raise table.source.error(
                    f"line {at}", "the header begins with #, so it is taken for a comment; remove the #"
                )
    if len(set(header)) < len(header):
        twice = next(name for name, count in Counter(header).items() if count > 1)
        raise table.source.error(line, f"two columns are named {twice!r}; give each a name of its own")


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
        if role in roles:
            continue
        names = value_names if role == "value" else plain
        for name in _OBVIOUS[role]:
            if name in names and names.index(name) not in roles.values():
                roles[role] = names.index(name)
                break
    return roles


def _value_names(header: list[str]) -> list[str]:
    """Column names without the unit that a column of values may end with (``time_ms``)."""
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
