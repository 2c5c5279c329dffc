"""A store as one portable file, and back: gzip of JSON lines, a table after the other, whatever the database.

The first line names the format and the schema; every other is ``[table, row]``. Bytes are in base64. Importing
merges: what a store has already, by digests and names, stays as it is.
"""

from __future__ import annotations

import base64
import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np

from speedproof.errors import FormatError, SpeedproofError
from speedproof.history.database import TABLES, Connection
from speedproof.history.packing import block_of
from speedproof.history.store import HistoryStore

STDIO = "-"
_FORMAT, _SCHEMA = "speedproof history", 2
_MANY = 1000  # rows at once
_ENCODED = msgspec.json.Encoder().encode  # bytes in base64
_NAMED = {"machine": ("key",), "session": ("key",), "commit": ("sha",), "series": ("benchmark", "metric")}
_TABLES = [*_NAMED, "source", "sample", "triage"]
_REFERS = ("source", *_NAMED)  # tables, and the columns that refer to their rows
_COLUMNS = [name for name in TABLES["sample"] if name != "id"]
_VALUES = ("observations", "processes")
_TRUTHS = {"anchor", "higher_is_better"}


def export_store(store: HistoryStore, path: Path) -> int:
    """Write a whole store; the number of its samples. A file appears whole or not at all; - is standard output."""
    store.measurements()  # refuses a damaged store
    if str(path) == STDIO:
        return _written(store, sys.stdout.buffer)
    in_place = path.exists() and not path.is_file()  # a device or a named pipe
    beside = path if in_place else path.with_name(path.name + ".new")
    try:
        with beside.open("wb") as raw:
            count = _written(store, raw)
        if not in_place:
            beside.replace(path)
    except OSError as error:
        if not in_place:
            beside.unlink(missing_ok=True)
        raise SpeedproofError(f"{path}: {error.strerror}; nothing was exported") from error
    return count


def _written(store: HistoryStore, raw: IO[bytes]) -> int:
    count = 0
    with (
        # No name and no date in it; most of it is compressed already.
        gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0) as out,
        store.transaction() as connection,
    ):
        out.write(_ENCODED({"format": _FORMAT, "schema": _SCHEMA}) + b"\n")
        for table in _TABLES:
            last = 0
            while rows := _page(connection, table, last):
                out.write(b"\n".join([*(_ENCODED((table, row)) for row in rows), b""]))
                count += len(rows) if table == "sample" else 0
                last = rows[-1]["id"]
    return count


def _page(connection: Connection, table: str, last: int) -> list[dict[str, Any]]:
    """The next rows of a table in order of their ids."""
    names = [*TABLES[table], *(_VALUES if table == "sample" else ())]
    columns = ", ".join(f'"{name}"' for name in names)
    joined = "JOIN observation ON observation.sample = sample.id " if table == "sample" else ""
    query = f'SELECT {columns} FROM "{table}" {joined}WHERE id > ? ORDER BY id LIMIT ?'
    rows = [dict(zip(names, row, strict=True)) for row in connection.rows(query, last, _MANY)]
    for name in _TRUTHS & {*names}:  # which SQLite keeps as numbers
        for row in rows:
            row[name] = bool(row[name])
    return rows


def import_store(store: HistoryStore, path: Path, exported: Iterable[tuple[int, str, Any]]) -> int:
    """Merge what a file holds into a store; how many samples are new. All of it in one transaction, or nothing."""
    count = 0
    with store.transaction() as connection:
        numbers: dict[str, dict[int, int]] = {name: {} for name in _REFERS}
        samples: list[dict[str, Any]] = []

        def take(name: str, row: dict[str, Any]) -> None:
            """Merge one row; samples are collected."""
            old = row.pop("id")
            if unknown := row.keys() - {*TABLES[name], *_VALUES}:
                raise LookupError(f"column {', '.join(sorted(unknown))}")
            if any(isinstance(value, list | dict) for value in row.values()):
                raise TypeError("expected text or a number")
            if any(not isinstance(row[column], bool) for column in _TRUTHS & row.keys()):
                raise TypeError("expected true or false")
            for column in _REFERS:
                if row.get(column) is not None and column != name:
                    row[column] = numbers[column].get(row[column], -1)
            if name in _NAMED:
                numbers[name][old] = _named(store, connection, name, row, path)
            elif name == "source":
                number, new = store.numbered(connection, "source", {"digest": row.pop("digest")}, **row)
                if new:
                    numbers[name][old] = number
            elif name == "sample" and row["source"] != -1:
                sample = {column: _storable(row[column]) for column in _COLUMNS}
                block_of(
                    {k: [v] for k, v in sample.items()} | {"sample": [0]}
                )  # refuses what is not a number
                given = [k for k in _VALUES if k == "observations" or row[k] is not None]
                samples.append(sample | dict.fromkeys(_VALUES) | {k: _bytes(row[k]) for k in given})
            elif name == "triage":
                _decide(connection, row)

        for line, name, row in exported:
            try:
                take(name, row)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, zlib.error) as error:
                raise FormatError(
                    str(path), f"line {line}", f"is not a row of an exported history ({error})"
                ) from error
            if len(samples) >= _MANY:
                count += _insert(store, connection, samples)
        count += _insert(store, connection, samples)
    return count


def _insert(store: HistoryStore, connection: Connection, samples: list[dict[str, Any]]) -> int:
    """Put the collected samples into the store; their number."""
    count = len(samples)
    if samples:
        store.insert(connection, {name: [sample[name] for sample in samples] for name in samples[0]})
    samples.clear()
    return count


def _storable(value: object) -> object:
    """A value that a database takes: its integers have 64 bits, its texts are UTF-8."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError(f"{value} is too large")
    if isinstance(value, str):
        value.encode()
    return value


def _bytes(text: str) -> bytes:
    """Compressed values as they were; what cannot be read again is refused."""
    content = base64.b64decode(text, validate=True)
    np.frombuffer(zlib.decompress(content), dtype=np.int64)
    return content


def _named(store: HistoryStore, connection: Connection, name: str, row: dict[str, Any], path: Path) -> int:
    key = _NAMED[name]
    unique = {k: row[k] for k in key}
    number, _ = store.numbered(connection, name, unique, **{k: row[k] for k in row if k not in key})
    if name == "series":
        (unit, higher), *_ = connection.rows("SELECT unit, higher_is_better FROM series WHERE id = ?", number)
        if (unit, bool(higher)) != (row["unit"], row["higher_is_better"]):
            raise SpeedproofError(
                f"{path}: {row['benchmark']} ({row['metric']}) is in {row['unit'] or 'plain numbers'}, in "
                f"{store.where} in {unit or 'plain numbers'}; nothing was imported"
            )
    return number


def _decide(connection: Connection, row: dict[str, Any]) -> None:
    same = " AND ".join(f'"{name}" {"IS NULL" if value is None else "= ?"}' for name, value in row.items())
    if not connection.rows(
        f"SELECT id FROM triage WHERE {same}", *(v for v in row.values() if v is not None)
    ):
        connection.add("triage", **row)


def exported_rows(path: Path) -> Iterator[tuple[int, str, Any]]:
    """The rows of an export: line number, table and row; - is standard input."""
    if str(path) != STDIO and not path.is_file():
        raise FormatError(str(path), "", "there is no such file; 'speedproof history export' writes one")
    rows = _rows(path)
    first = list(islice(rows, 1))  # refuse other files at once
    return chain(first, rows)


def _rows(path: Path) -> Iterator[tuple[int, str, Any]]:
    try:
        with gzip.open(sys.stdin.buffer if str(path) == STDIO else path) as opened:
            head = msgspec.json.decode(opened.readline())
            if not isinstance(head, dict) or head.get("format") != _FORMAT:
                raise FormatError(str(path), "line 1", "is not an exported history")
            if head["schema"] != _SCHEMA:
                problem = f"is of schema {head['schema']}, this speedproof reads {_SCHEMA}"
                raise FormatError(str(path), "line 1", problem)
            for number, line in enumerate(opened, start=2):
                name, row = msgspec.json.decode(line)
                yield number, name, row
    except (OSError, EOFError, RecursionError, LookupError, TypeError, ValueError, zlib.error) as error:
        raise FormatError(str(path), "", f"is not an exported history, or is cut off ({error})") from error
