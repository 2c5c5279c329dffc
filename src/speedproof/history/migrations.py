"""How a store of an older schema becomes one of the next: a function a version, in plain SQL of that time.

A migration never uses the tables of :mod:`speedproof.history.schema`, which are those of the present.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from speedproof.history.database import Connection
from speedproof.history.packing import locations_and_bounds, unpacked

_BATCH = 5000


def kinds(connection: Connection) -> dict[str, str]:
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
        connection.rows(statement.format(**kinds(connection)))
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
    connection.rows(made.format(**kinds(connection)))
    names = ("series", "session", "commit", "id", "anchor", "location", "low", "high")
    record = np.dtype(list(zip(names, ("<i4", "<i4", "<i4", "<i4", "?", "<f8", "<f8", "<f8"), strict=True)))
    columns = ", ".join(f'"{name}"' for name in names)
    page = f"SELECT {columns} FROM sample WHERE id > ? ORDER BY id LIMIT ?"
    last = 0
    while rows := connection.rows(page, last, _BATCH):
        last = rows[-1][names.index("id")]
        connection.rows("INSERT INTO block (figures) VALUES (?)", np.array(rows, record).tobytes())
    connection.rows("DROP INDEX ix_sample_figures")


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _values_apart, 2: _figures_in_blocks}
"""From a schema version to the function that makes the next one of it."""
