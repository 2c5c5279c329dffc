"""The tables of the store, and how an older store becomes a present one.

The same tables serve SQLite and PostgreSQL. ``meta.schema`` holds the version; a store of a newer version is
refused, one of an older version is brought forward by ``history.migrations``, all in one transaction.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
    update,
)

from speedproof.errors import SpeedproofError
from speedproof.history.migrations import MIGRATIONS

SCHEMA = 3
tables = MetaData()

meta = Table("meta", tables, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

machines = Table(
    "machine",
    tables,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),  # what identifies it: stable facts only
    Column("label", Text, nullable=False),
)

sessions = Table(
    "session",
    tables,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("machine", ForeignKey("machine.id"), nullable=False),
    Column("started", Text, nullable=False),  # ISO 8601, UTC
)

commits = Table(
    "commit",
    tables,
    Column("id", Integer, primary_key=True),
    Column("sha", Text, nullable=False, unique=True),
    Column("subject", Text, nullable=False),
    Column("date", Text, nullable=False),  # ISO 8601, UTC: the order where no repository is at hand
    Column("branch", Text, nullable=False),
)

sources = Table(
    "source",
    tables,
    Column("id", Integer, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),  # of the file and of what it was added as
    Column("path", Text, nullable=False),
    Column("added", Text, nullable=False),
)

series = Table(
    "series",
    tables,
    Column("id", Integer, primary_key=True),
    Column("benchmark", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("higher_is_better", Boolean, nullable=False),
    UniqueConstraint("benchmark", "metric"),
)

samples = Table(
    "sample",
    tables,
    Column("id", Integer, primary_key=True),
    Column("series", ForeignKey("series.id"), nullable=False, index=True),
    Column("session", ForeignKey("session.id"), nullable=False),
    Column("commit", ForeignKey("commit.id"), nullable=False, index=True),
    Column("source", ForeignKey("source.id"), nullable=False, index=True),
    Column("anchor", Boolean, nullable=False),  # measured as the session's anchor, not as what is followed
    Column("n", Integer, nullable=False),
    Column("location", Float, nullable=False),  # median over processes, in base units
    Column("low", Float),  # its interval at 95 %, none where the values are too few
    Column("high", Float),
)
# What changes and charts are made of, once more: those of many samples at a time, as arrays that need no decoding.
blocks = Table(
    "block",
    tables,
    Column("id", Integer, primary_key=True),
    Column("figures", LargeBinary, nullable=False),  # records of packing.FIGURES
)

observations = Table(
    "observation",
    tables,
    Column("sample", ForeignKey("sample.id"), primary_key=True, autoincrement=False),
    Column("observations", LargeBinary, nullable=False),  # float64, little-endian, zlib
    Column("processes", LargeBinary),  # int64, likewise; none where every value has a process of its own
)

triage = Table(
    "triage",
    tables,
    Column("id", Integer, primary_key=True),
    Column("series", ForeignKey("series.id")),  # none: all of them
    Column("commit", ForeignKey("commit.id"), nullable=False),
    Column("state", Text, nullable=False),  # blessed, invalid, fixed
    Column("reason", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("at", Text, nullable=False),
)


def prepare(connection: Connection, where: str) -> None:
    """Make the tables in a transaction, or bring those of an older store forward; refuse what is none."""
    if not inspect(connection).has_table("meta"):
        if inspect(connection).get_table_names():
            raise SpeedproofError(f"{where}: holds tables that are not a history's; name another store")
        tables.create_all(connection)
        connection.execute(insert(meta).values(name="schema", value=str(SCHEMA)))
        return
    schema = connection.execute(select(meta.c.value).where(meta.c.name == "schema")).scalar()
    version = int(schema) if schema and schema.isdigit() else 0
    if version > SCHEMA:
        raise SpeedproofError(
            f"{where}: was written by a newer speedproof (schema {version}, this one knows {SCHEMA}); "
            "update speedproof"
        )
    if version not in MIGRATIONS and version != SCHEMA:
        raise SpeedproofError(f"{where}: is not a history of speedproof; name another store")
    while version < SCHEMA:
        MIGRATIONS[version](connection)
        version += 1
        connection.execute(update(meta).where(meta.c.name == "schema").values(value=str(version)))
