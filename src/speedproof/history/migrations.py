"""How a store of an older schema becomes one of the next: a function a version, in plain SQL of that time.

A migration never uses the tables of :mod:`speedproof.history.schema`, which are those of the present.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
from sqlalchemy import Connection, text

from speedproof.history.packing import locations_and_bounds, unpacked

_BATCH = 5000


def _values_apart(connection: Connection) -> None:
    """1 to 2: whole values move to a table of their own, and the interval of the median is kept beside it."""
    binary = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    real = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "FLOAT"
    for statement in (
        f"CREATE TABLE observation (sample INTEGER NOT NULL PRIMARY KEY REFERENCES sample (id), "
        f"observations {binary} NOT NULL, processes {binary})",
        "INSERT INTO observation (sample, observations, processes) "
        "SELECT id, observations, processes FROM sample",
        f"ALTER TABLE sample ADD COLUMN low {real}",
        f"ALTER TABLE sample ADD COLUMN high {real}",
    ):
        connection.execute(text(statement))
    last = 0
    page = text(
        "SELECT sample AS id, observations, processes FROM observation "
        "WHERE sample > :last ORDER BY sample LIMIT :many"
    )
    while rows := connection.execute(page, {"last": last, "many": _BATCH}).all():
        last = rows[-1].id
        known = (SimpleNamespace(**row._mapping, unit="", higher_is_better=False, sha="") for row in rows)
        figures = locations_and_bounds([unpacked(row) for row in known])
        bounds = [
            {"id": row.id, "low": low, "high": high}
            for row, low, high in zip(rows, figures["low"], figures["high"], strict=True)
        ]
        connection.execute(text("UPDATE sample SET low = :low, high = :high WHERE id = :id"), bounds)
    for statement in (
        "ALTER TABLE sample DROP COLUMN observations",
        "ALTER TABLE sample DROP COLUMN processes",
        'CREATE INDEX ix_sample_figures ON sample (series, session, "commit", anchor, location, low, high)',
    ):
        connection.execute(text(statement))


def _figures_in_blocks(connection: Connection) -> None:
    """2 to 3: what all measurements are read for is kept in blocks of records, which an index held before."""
    binary = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    number = "SERIAL" if connection.dialect.name == "postgresql" else "INTEGER"
    connection.execute(
        text(f"CREATE TABLE block (id {number} NOT NULL PRIMARY KEY, figures {binary} NOT NULL)")
    )
    names = ("series", "session", "commit", "id", "anchor", "location", "low", "high")
    kinds = np.dtype(list(zip(names, ("<i4", "<i4", "<i4", "<i4", "?", "<f8", "<f8", "<f8"), strict=True)))
    columns = ", ".join(f'"{name}"' for name in names)
    page = text(f"SELECT {columns} FROM sample WHERE id > :last ORDER BY id LIMIT :many")
    last = 0
    while rows := connection.execute(page, {"last": last, "many": _BATCH}).all():
        last = rows[-1].id
        block = np.array([tuple(row) for row in rows], kinds)
        connection.execute(
            text("INSERT INTO block (figures) VALUES (:figures)"), {"figures": block.tobytes()}
        )
    connection.execute(text("DROP INDEX ix_sample_figures"))


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _values_apart, 2: _figures_in_blocks}
"""From a schema version to the function that makes the next one of it."""
