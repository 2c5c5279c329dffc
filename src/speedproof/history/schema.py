"""The tables of the store, and how an older store becomes a present one.

The same tables serve SQLite and PostgreSQL. ``meta.schema`` holds the version; a store of a newer version is
refused, one of an older version is brought forward by a function a version, all in one
transaction. Such a function never uses the tables here, which are those of the present.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from speedproof.errors import SpeedproofError
from speedproof.history.database import Connection
from speedproof.history.packing import locations_and_bounds, unpacked

SCHEMA = 4
TABLES: dict[str, dict[str, str]] = {
    "meta": {"name": "TEXT NOT NULL PRIMARY KEY", "value": "TEXT NOT NULL"},
    "machine": {
        "id": "{number} NOT NULL PRIMARY KEY",
        "key": "TEXT NOT NULL UNIQUE",  # what identifies it: stable facts only
        "label": "TEXT NOT NULL",
    },
    "session": {
        "id": "{number} NOT NULL PRIMARY KEY",
        "key": "TEXT NOT NULL UNIQUE",
        "machine": "INTEGER NOT NULL REFERENCES machine (id)",
        "started": "TEXT NOT NULL",  # ISO 8601, UTC
    },
    "commit": {
        "id": "{number} NOT NULL PRIMARY KEY",
        "sha": "TEXT NOT NULL UNIQUE",
        "subject": "TEXT NOT NULL",
        "date": "TEXT NOT NULL",  # ISO 8601, UTC: the order where no repository is at hand
        "branch": "TEXT NOT NULL",
    },
    "source": {
        "id": "{number} NOT NULL PRIMARY KEY",
        "digest": "TEXT NOT NULL UNIQUE",  # of the file and of what it was added as
        "path": "TEXT NOT NULL",
        "added": "TEXT NOT NULL",
    },
    "series": {
        "id": "{number} NOT NULL PRIMARY KEY",
        "benchmark": "TEXT NOT NULL",
        "metric": "TEXT NOT NULL",
        "unit": "TEXT NOT NULL",
        "higher_is_better": "BOOLEAN NOT NULL, UNIQUE (benchmark, metric)",
    },
    "sample": {
        "id": "{number} NOT NULL PRIMARY KEY",
        "series": "INTEGER NOT NULL REFERENCES series (id)",
        "session": "INTEGER NOT NULL REFERENCES session (id)",
        "commit": 'INTEGER NOT NULL REFERENCES "commit" (id)',
        "source": "INTEGER NOT NULL REFERENCES source (id)",
        "anchor": "BOOLEAN NOT NULL",  # measured as the session's anchor, not as what is followed
        "n": "INTEGER NOT NULL",
        "location": "FLOAT NOT NULL",  # median over processes, in base units
        "low": "FLOAT",  # its interval at 95 %, none where the values are too few
        "high": "FLOAT",
    },
    # What changes and charts are made of, once more: those of many samples as arrays that need no decoding.
    "block": {
        "id": "{number} NOT NULL PRIMARY KEY",
        "figures": "{binary} NOT NULL",  # records of packing.FIGURES
    },
    "observation": {
        "sample": "INTEGER NOT NULL PRIMARY KEY REFERENCES sample (id)",
        "observations": "{binary} NOT NULL",  # float64, little-endian, zlib
        "processes": "{binary}",  # int64, likewise; none where every value has a process of its own
    },
    "triage": {
        "id": "{number} NOT NULL PRIMARY KEY",
        "series": "INTEGER REFERENCES series (id)",  # one of its benchmark; none: all of them
        "commit": 'INTEGER NOT NULL REFERENCES "commit" (id)',
        "state": "TEXT NOT NULL",  # rows.State
        "reason": "TEXT NOT NULL",
        "who": "TEXT NOT NULL",
        "at": "TEXT NOT NULL",
    },
    # Alarms that a command was handed, which is not to be handed them again.
    "announced": {
        "id": "{number} NOT NULL PRIMARY KEY",
        "command": "TEXT NOT NULL",  # its digest
        "series": "INTEGER NOT NULL REFERENCES series (id)",
        "commit": 'INTEGER NOT NULL REFERENCES "commit" (id)',
        "basis": "TEXT NOT NULL",
        "factor": "FLOAT NOT NULL",
        "confirmed": "BOOLEAN NOT NULL",
    },
}
"""Columns and what they hold."""
_BATCH = 5000
_INDEXED = ("series", "commit", "source")  # columns of samples


def _kinds(connection: Connection) -> dict[str, str]:
    """What the database calls numbers that it counts itself, bytes, and doubles."""
    if connection.sqlite:
        return {"number": "INTEGER", "binary": "BLOB", "real": "FLOAT"}
    return {"number": "SERIAL", "binary": "BYTEA", "real": "DOUBLE PRECISION"}


def _values_apart(connection: Connection) -> None:
    """1 to 2: whole values move to a table of their own, and the interval of the median is kept beside it."""
    for statement in (
        "CREATE TABLE observation (sample INTEGER NOT NULL PRIMARY KEY REFERENCES sample (id), "
        "observations {binary} NOT NULL, processes {binary})",
        "INSERT INTO observation (sample, observations, processes) "
        "SELECT id, observations, processes FROM sample",
        "ALTER TABLE sample ADD COLUMN low {real}",
        "ALTER TABLE sample ADD COLUMN high {real}",
    ):
        connection.rows(statement.format(**_kinds(connection)))
    last = 0
    page = "SELECT sample, observations, processes FROM observation WHERE sample > ? ORDER BY sample LIMIT ?"
    while rows := connection.rows(page, last, _BATCH):
        last = rows[-1][0]
        samples = [unpacked(values, of, "", False, "") for _, values, of in rows]
        figures = locations_and_bounds([s.values for s in samples], [s.processes for s in samples])
        bounds = zip(figures["low"], figures["high"], (row[0] for row in rows), strict=True)
        connection.many("UPDATE sample SET low = ?, high = ? WHERE id = ?", bounds)
    for statement in (
        "ALTER TABLE sample DROP COLUMN observations",
        "ALTER TABLE sample DROP COLUMN processes",
        'CREATE INDEX ix_sample_figures ON sample (series, session, "commit", anchor, location, low, high)',
    ):
        connection.rows(statement)


def _figures_in_blocks(connection: Connection) -> None:
    """2 to 3: what all measurements are read for is kept in blocks of records, which an index held before."""
    made = "CREATE TABLE block (id {number} NOT NULL PRIMARY KEY, figures {binary} NOT NULL)"
    connection.rows(made.format(**_kinds(connection)))
    names = ("series", "session", "commit", "id", "anchor", "location", "low", "high")
    record = np.dtype(list(zip(names, ("<i4", "<i4", "<i4", "<i4", "?", "<f8", "<f8", "<f8"), strict=True)))
    columns = ", ".join(f'"{name}"' for name in names)
    page = f"SELECT {columns} FROM sample WHERE id > ? ORDER BY id LIMIT ?"
    last = 0
    while rows := connection.rows(page, last, _BATCH):
        last = rows[-1][names.index("id")]
        connection.rows("INSERT INTO block (figures) VALUES (?)", np.array(rows, record).tobytes())
    connection.rows("DROP INDEX ix_sample_figures")


def _announced(connection: Connection) -> None:
    """3 to 4: alarms that commands were handed are kept."""
    made = """CREATE TABLE announced (id {number} NOT NULL PRIMARY KEY, command TEXT NOT NULL,
        series INTEGER NOT NULL REFERENCES series (id), "commit" INTEGER NOT NULL REFERENCES "commit" (id),
        basis TEXT NOT NULL, factor FLOAT NOT NULL, confirmed BOOLEAN NOT NULL)"""
    connection.rows(made.format(**_kinds(connection)))


_MIGRATIONS: dict[int, Callable[[Connection], None]] = {
    1: _values_apart,
    2: _figures_in_blocks,
    3: _announced,
}
"""From a schema version to the function that makes the next one of it."""


def prepare(connection: Connection, where: str) -> None:
    """Make the tables in a transaction, or bring those of an older store forward; refuse what is none."""
    listed = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    if connection.sqlite:
        listed = "SELECT name FROM sqlite_master WHERE type = 'table'"
    there = {name for (name,) in connection.rows(listed)}
    if "meta" not in there:
        if there:
            raise SpeedproofError(f"{where}: holds tables that are not a history's; name another store")
        for table, columns in TABLES.items():
            parts = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
            connection.rows(f'CREATE TABLE "{table}" ({parts.format(**_kinds(connection))})')
        for name in _INDEXED:
            connection.rows(f'CREATE INDEX ix_sample_{name} ON sample ("{name}")')
        connection.insert("meta", {"name": ["schema"], "value": [str(SCHEMA)]})
        return
    schema = connection.rows("SELECT value FROM meta WHERE name = 'schema'")
    text = str(schema[0][0]) if schema else ""
    version = int(text) if text.isdecimal() else 0
    if version > SCHEMA:
        raise SpeedproofError(
            f"{where}: was written by a newer speedproof (schema {version}, this one knows {SCHEMA}); "
            "update speedproof"
        )
    if version not in _MIGRATIONS and version != SCHEMA:
        raise SpeedproofError(f"{where}: is not a history of speedproof; name another store")
    while version < SCHEMA:
        _MIGRATIONS[version](connection)
        version += 1
        connection.rows("UPDATE meta SET value = ? WHERE name = 'schema'", str(version))
