"""The tables of the store, and how an older store becomes a present one.

The same tables serve SQLite and PostgreSQL. ``meta.schema`` holds the version; a store of a newer version is
refused, one of an older version is brought forward by a function a version, all in one
transaction. Such a function never uses the tables here, which are those of the present.
"""

from __future__ import annotations

from collections.abc import Callable

from speedproof.errors import SpeedproofError
from speedproof.history.database import Connection

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
_INDEXED = ("series", "commit", "source")  # columns of samples


def _kinds(connection: Connection) -> dict[str, str]:
    """What the database calls numbers that it counts itself, and bytes."""
    kinds = ("INTEGER", "BLOB") if connection.sqlite else ("SERIAL", "BYTEA")
    return dict(zip(("number", "binary"), kinds, strict=True))


MIGRATIONS: dict[int, Callable[[Connection], None]] = {}
"""From a schema version to the function that makes the next one of it; no release wrote 1 to 3."""


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
    if version not in MIGRATIONS and version != SCHEMA:
        raise SpeedproofError(f"{where}: holds no history that this speedproof reads; name another store")
    while version < SCHEMA:
        MIGRATIONS[version](connection)
        version += 1
        connection.rows("UPDATE meta SET value = ? WHERE name = 'schema'", str(version))
