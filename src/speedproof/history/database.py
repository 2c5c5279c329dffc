"""SQLite by Python's own module, PostgreSQL by psycopg: one SQL for both, with ``?`` where a value stands."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from speedproof.errors import UsageError

BUSY = 60.0  # seconds that a writer waits for another


class Connection:
    """A transaction of a database."""

    def __init__(self, driver: Any, sqlite: bool) -> None:
        self._driver, self.sqlite = driver, sqlite

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Carry a statement out; the rows that it gives."""
        cursor = self._driver.execute(self._written(statement), values)
        return cursor.fetchall() if cursor.description else []

    def many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Carry a statement out with the values of each row."""
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
    """Where so many values stand."""
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
        """All or nothing."""
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
