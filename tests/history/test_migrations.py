"""Stores of earlier schemas: everything is there after they are opened, and nothing is done twice.

``data/history/schema1.sql`` is the dump of a store that the first version of the tables wrote.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from speedproof.data.suite import Key
from speedproof.history.rows import Triage
from speedproof.history.schema import SCHEMA
from speedproof.history.store import HistoryStore

DUMP = (Path(__file__).parents[1] / "data" / "history" / "schema1.sql").read_text(encoding="utf-8")


def for_postgresql(dump: str) -> list[str]:
    """The statements as PostgreSQL writes them."""
    dump = re.sub(r"X'([0-9A-F]+)'", r"'\\x\1'", dump).replace("BLOB", "BYTEA")
    dump = dump.replace("FLOAT", "DOUBLE PRECISION").replace("BOOLEAN", "INTEGER")
    dump = re.sub(r",\s+FOREIGN KEY\(\S+\) REFERENCES \S+ \(id\)", "", dump)
    return [s for s in dump.split(";\n") if s.strip() and "TRANSACTION" not in s and s != "COMMIT"] + [
        "ALTER TABLE sample ALTER anchor TYPE BOOLEAN USING anchor = 1",
        "ALTER TABLE series ALTER higher_is_better TYPE BOOLEAN USING higher_is_better = 1",
    ]


def fill(where: str) -> None:
    """Make the old store at a place."""
    if "://" not in where:
        with closing(sqlite3.connect(where)) as connection, connection:
            connection.executescript(DUMP)
        return
    import psycopg

    with psycopg.connect(where, autocommit=True) as server:
        for statement in for_postgresql(DUMP):
            server.execute(statement.encode())


def test_a_store_of_the_first_schema_is_brought_forward(where: str) -> None:
    """Values, nesting, decisions; of 7 values the median lies between least and largest, of 4 nothing is said."""
    fill(where)
    for _ in range(2):
        store = HistoryStore(where)
        found = store.measurements()
        assert (found.location.tolist(), found.low[0], found.high[0]) == ([2.5, 9.0, 15.0], 0.1, 7.0)
        assert all(found.low[1:] != found.low[1:])
        assert [found.commits[k].sha for k in found.commit] == ["abc", "def", "abc"]
        first, _last, second = store.samples(found.sample.tolist())
        assert first.values.tolist() == [1.5, 2.5, 0.1, 7.0, 3.25, 2.0, 4.0]
        assert second.processes is not None
        assert second.processes.tolist() == [0, 0, 1, 1]
        assert [s.key for s in store.all_series()] == [Key("hash", "memory"), Key("sort")]
        assert store.decisions() == (
            Triage("abc", "sort", "blessed", "meant", "ann", "2026-01-04T00:00:00+00:00"),
        )
        assert store.machines() == {1: "ant", 2: "unknown machine"}


def test_a_migrated_store_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    """The same columns and indices, whether made by migrations or at once."""
    layouts = []
    for name in ("old.db", "new.db"):
        where = tmp_path / name
        if name == "old.db":
            fill(str(where))
        HistoryStore(str(where))
        with closing(sqlite3.connect(where)) as connection, connection:
            tables = [t for (t,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            columns = {
                t: {row[1:4] for row in connection.execute(f'PRAGMA table_info("{t}")')} for t in tables
            }
            indices = {
                i for (i,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")
            }
            version = connection.execute("SELECT value FROM meta").fetchall()
        layouts.append((columns, indices, version))
    assert layouts[0] == layouts[1]
    assert layouts[0][2] == [(str(SCHEMA),)]


def test_a_migration_that_fails_leaves_the_old_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it or nothing: after an error in the middle the store is as it was."""
    where = tmp_path / "s.db"
    fill(str(where))

    def fails(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("speedproof.history.schema.locations_and_bounds", fails)
        with pytest.raises(RuntimeError):
            HistoryStore(str(where))
    with closing(sqlite3.connect(where)) as connection, connection:
        assert connection.execute("SELECT value FROM meta").fetchall() == [("1",)]
        assert connection.execute("SELECT count(observations) FROM sample").fetchall() == [(3,)]
    assert HistoryStore(str(where)).measurements().location.tolist() == [2.5, 9.0, 15.0]
