"""SQLite by Python's own module, PostgreSQL by psycopg: one SQL for both, with ``?`` where a value stands.

The tables of the store, and how an older store becomes a present one.

The same tables serve SQLite and PostgreSQL. ``meta.schema`` holds the version; a store of a newer version is
refused, one of an older version is brought forward by a function a version, all in one
transaction. Such a function never uses the tables here, which are those of the present.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from speedproof.errors import SpeedproofError, UsageError

BUSY = 60.0  # seconds that a writer waits for another


class Connection:
    """A transaction of a database."""

    def __init__(self, driver: Any, sqlite: bool) -> None:
        self._driver, self.sqlite = driver, sqlite

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Execute a statement and return its rows."""
        cursor = self._driver.execute(self._written(statement), values)
        return cursor.fetchall() if cursor.description else []

    def many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Execute a statement once for the values of each row."""
        self._driver.cursor().executemany(self._written(statement), rows)

    def insert(self, table: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add rows, one or more, from columns of equal lengths; one of nothing but None is left out."""
        given = {name: column for name, column in columns.items() if column.count(None) < len(column)}
        self.many(inserting(table, given), zip(*given.values(), strict=True))

    def add(self, table: str, **row: Any) -> None:
        """Add a row."""
        self.insert(table, {name: [value] for name, value in row.items()})

    def _written(self, statement: str) -> str:
        return statement if self.sqlite else statement.replace("?", "%s")


def inserting(table: str, columns: Iterable[str]) -> str:
    """A statement that adds a row; names, unlike values, are never those of a file."""
    names = [f'"{name}"' for name in columns]
    return f'INSERT INTO "{table}" ({", ".join(names)}) VALUES ({places(len(names))})'


def places(count: int) -> str:
    """Placeholders for a number of values."""
    return ", ".join("?" * count) or "NULL"


class Database:
    """A file of SQLite, or a server by its URL."""

    def __init__(self, where: str) -> None:
        self._where, self.one_writer = where, "://" not in where
        self.errors: type[Exception] = sqlite3.Error
        if not self.one_writer:
            if not where.startswith(("postgresql://", "postgres://")):
                raise UsageError("unknown kind of database")
            try:
                import psycopg
            except ImportError as error:
                raise UsageError(str(error)) from error
            self.errors = psycopg.Error

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction: committed as a whole or rolled back."""
        if not self.one_writer:
            import psycopg

            with psycopg.connect(self._where) as server:
                yield Connection(server, False)
            return
        # Transactions are begun here: one that has the writer's lock from its begin never has to be tried again.
        with closing(sqlite3.connect(self._where, timeout=BUSY, isolation_level=None)) as file:
            file.execute("PRAGMA foreign_keys=ON")
            file.execute("BEGIN IMMEDIATE")
            with file:
                yield Connection(file, True)
                if not file.in_transaction:  # SQLite itself undid all of it
                    raise sqlite3.OperationalError("disk I/O error, or the disk is full")


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
    """The database's types for automatic ids and for bytes."""
    kinds = ("INTEGER", "BLOB") if connection.sqlite else ("SERIAL", "BYTEA")
    return dict(zip(("number", "binary"), kinds, strict=True))


MIGRATIONS: dict[int, Callable[[Connection], None]] = {}
"""For each schema version the function that upgrades it; no release wrote versions 1 to 3."""


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
