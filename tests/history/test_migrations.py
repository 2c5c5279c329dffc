"""Stores of an earlier schema: a function a version brings them forward, once, wholly or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import speedproof as sp
from speedproof.errors import SpeedproofError
from speedproof.history import database
from speedproof.history.database import Connection, Database
from speedproof.history.store import HistoryStore


def version_of(where: str) -> int:
    """What a store says of its schema."""
    with Database(where).transaction() as connection:
        return int(connection.rows("SELECT value FROM meta WHERE name = 'schema'")[0][0])


def widen(connection: Connection) -> None:
    """As a next release might: a column more."""
    connection.rows("ALTER TABLE machine ADD COLUMN place TEXT NOT NULL DEFAULT 'here'")


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose schema is two versions newer."""
    monkeypatch.setitem(database.MIGRATIONS, database.SCHEMA, widen)
    monkeypatch.setitem(database.MIGRATIONS, database.SCHEMA + 1, lambda _: None)
    monkeypatch.setattr(database, "SCHEMA", database.SCHEMA + 2)


def filled(where: str, folder: Path) -> list[list[float]]:
    """A store of this program, and the values that it holds."""
    (folder / "r.txt").write_text("1.5 2.5 0.1")
    sp.History(where, folder).add(folder / "r.txt", commit="abc", unit="s")
    return [[1.5, 2.5, 0.1]]


def test_an_older_store_is_brought_forward_once(
    where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its values are there, in the tables of the newer schema, however often it is opened."""
    values, before = filled(where, tmp_path), database.SCHEMA
    request.getfixturevalue("newer")
    for _ in range(2):
        store = HistoryStore(where)
        samples = store.samples(store.measurements().sample.tolist())
        assert [sample.values.tolist() for sample in samples] == values
        assert version_of(where) == before + 2
    with store.transaction() as connection:
        assert connection.rows("SELECT place FROM machine") == [("here",)]


def test_a_migration_that_fails_leaves_the_old_store(
    where: str, tmp_path: Path, newer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it or nothing: after an error in the last step the first is undone, too."""

    def fails(_: Connection) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(database, "SCHEMA", database.SCHEMA - 2)
        values = filled(where, tmp_path)
    with monkeypatch.context() as patch:
        patch.setitem(database.MIGRATIONS, database.SCHEMA - 1, fails)
        with pytest.raises(RuntimeError):
            HistoryStore(where)
    assert version_of(where) == database.SCHEMA - 2
    store = HistoryStore(where)  # which would not add the column twice
    assert [s.values.tolist() for s in store.samples(store.measurements().sample.tolist())] == values


def test_a_store_of_no_release_is_refused(tmp_path: Path) -> None:
    """No function leads from it to the present: it is told, and stays as it is."""
    where = str(tmp_path / "s.db")
    filled(where, tmp_path)
    with Database(where).transaction() as connection:
        connection.rows("UPDATE meta SET value = '3'")
    with pytest.raises(SpeedproofError, match="no history that this speedproof reads"):
        HistoryStore(where)
    assert version_of(where) == 3
