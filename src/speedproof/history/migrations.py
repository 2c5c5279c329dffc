"""How a store of an older schema becomes one of the next: a function a version, in plain SQL of that time.

A migration never uses the tables of :mod:`speedproof.history.schema`, which are those of the present.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from sqlalchemy import Connection, text

from speedproof.history.packing import location_and_bounds, unpacked

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
        bounds = []
        for row in rows:
            known = SimpleNamespace(**row._mapping, unit="", higher_is_better=False, sha="")
            found = location_and_bounds(unpacked(known))
            bounds.append({"id": row.id, "low": found["low"], "high": found["high"]})
        connection.execute(text("UPDATE sample SET low = :low, high = :high WHERE id = :id"), bounds)
    for statement in (
        "ALTER TABLE sample DROP COLUMN observations",
        "ALTER TABLE sample DROP COLUMN processes",
        'CREATE INDEX ix_sample_figures ON sample (series, session, "commit", anchor, location, low, high)',
    ):
        connection.execute(text(statement))


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _values_apart}
"""From a schema version to the function that makes the next one of it."""
