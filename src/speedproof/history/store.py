"""The store: whole samples with their sessions, machines and commits, in SQLite or PostgreSQL.

Adding a file is one transaction: it is in the store whole or not at all, once however often it is added, and
writers wait for each other.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from sqlalchemy import Connection, create_engine, delete, event, insert, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.schema import Table

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Suite
from speedproof.data.units import Direction
from speedproof.errors import SpeedproofError, UsageError
from speedproof.history import schema
from speedproof.history.commits import Commit

__all__ = ["Added", "Measurement", "State", "Store", "StoredSeries", "Triage"]

State = Literal["blessed", "invalid", "fixed"]
_BUSY = 60.0  # seconds that a writer waits for another
_IDENTITY = (
    ("cpu_model_name", "cpu", "ProcessorName"),
    ("cpu_count", "num_cpus", "LogicalCoreCount"),
    ("ram", "memory"),
    ("arch", "machine", "goarch", "Architecture"),
    ("goos", "os", "system", "OsVersion"),
)
"""What identifies a machine, as the tools name it: never readings that change from run to run."""


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a file.

    Attributes
    ----------
    path : str
        The file.
    samples : int
        Samples that are new in the store; 0 for a file that was there already.
    commits : tuple of str
        Names of the commits they belong to.
    known : bool
        Whether the same file had been added before.
    """

    path: str
    samples: int
    commits: tuple[str, ...]
    known: bool


@dataclass(frozen=True, slots=True)
class StoredSeries:
    """A benchmark's metric as the store knows it."""

    id: int
    key: Key
    unit: str
    higher_is_better: bool


@dataclass(frozen=True, slots=True)
class Measurement:
    """A sample of a commit in a session, reduced to its location.

    Attributes
    ----------
    series, session, machine : int
        Numbers in the store.
    commit : Commit
        What was measured.
    anchor : bool
        Whether it was measured as the session's anchor.
    location : float
        The median over processes, in base units.
    n : int
        Number of values.
    sample : int
        Number of the sample, for :meth:`Store.sample`.
    """

    series: int
    session: int
    machine: int
    commit: Commit
    anchor: bool
    location: float
    n: int
    sample: int


@dataclass(frozen=True, slots=True)
class Triage:
    """What somebody decided about a change at a commit.

    Attributes
    ----------
    commit : str
        The first commit after the change.
    benchmark : str
        Empty for every benchmark.
    state : {"blessed", "invalid", "fixed"}
        Accepted as the new level; noise; undone since.
    reason, who, at : str
        Why, by whom, when (ISO 8601, UTC).
    """

    commit: str
    benchmark: str
    state: State
    reason: str
    who: str
    at: str


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Store:
    """A history of measurements.

    Parameters
    ----------
    where : str
        A path of a SQLite file, made when absent, or the URL of a PostgreSQL database.

    Raises
    ------
    SpeedproofError
        A store that cannot be opened, is none, or is newer than this speedproof.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        url = where if "://" in where else f"sqlite:///{Path(where)}"
        url = url.replace("postgresql://", "postgresql+psycopg://", 1)
        try:
            arguments = {"timeout": _BUSY} if url.startswith("sqlite:") else {}
            self._engine = create_engine(url, connect_args=arguments, poolclass=NullPool)
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise UsageError(
                f"{where}: no store can be opened by this URL ({error}); give a path, or "
                "postgresql://user@host/name with psycopg installed"
            ) from error
        self._sqlite = self._engine.dialect.name == "sqlite"
        if self._sqlite:
            event.listen(self._engine, "connect", _configure)
            event.listen(self._engine, "begin", _begin_at_once)
        with self._transaction() as connection:
            if not self._sqlite:
                connection.execute(
                    text("SELECT pg_advisory_xact_lock(7351)")
                )  # one maker of tables at a time
            schema.prepare(connection, where)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            remedy = next((told for sign, told in _REMEDIES.items() if sign in cause.lower()), "")
            raise SpeedproofError(f"{self.where}: {cause}{remedy}") from error

    def add(
        self,
        suite: Suite,
        commits: Mapping[str, Commit],
        *,
        path: str,
        digest: str,
        session: str = "",
        anchor: str | None = None,
        started: str = "",
        branch: str = "",
        machine: str = "",
    ) -> Added:
        """Add all samples of a file.

        Parameters
        ----------
        suite : Suite
            As read from it.
        commits : mapping of str to Commit
            Of every version of the suite.
        path : str
            The file, for people.
        digest : str
            Of its content; the same digest is added once.
        session : str
            What the file was measured in; the digest if empty, so that each file is a session of its own.
        anchor : str, optional
            The version that was measured as the anchor of the session.
        started : str
            When, ISO 8601.
        branch : str
            The branch of the commits.
        machine : str
            The user's name of the machine, which then identifies it.

        Returns
        -------
        Added
            What is new.

        Raises
        ------
        SpeedproofError
            The store refuses, or a benchmark has another unit than it has there.
        """
        as_what = "|".join(
            [digest, session, anchor or "", *(f"{v}={c.sha}" for v, c in sorted(commits.items()))]
        )
        key = hashlib.sha256(as_what.encode()).hexdigest()
        with self._transaction() as connection:
            if not self._make(connection, schema.sources, {"digest": key, "path": path, "added": _now()}):
                return Added(path, 0, (), True)
            source = self._number(connection, schema.sources, {"digest": key})
            identity = machine or _identity(suite)
            host = self._id(connection, schema.machines, {"key": identity}, {"label": machine or identity})
            sitting = self._id(
                connection,
                schema.sessions,
                {"key": session or digest},
                {"machine": host, "started": started or _now()},
            )
            ids = {
                version: self._id(
                    connection,
                    schema.commits,
                    {"sha": commit.sha},
                    {"subject": commit.subject, "date": commit.date or _now(), "branch": branch},
                )
                for version, commit in commits.items()
            }
            series = {key: self._series(connection, key, suite, path) for key in suite.keys}
            rows = [
                {
                    "series": series[key],
                    "session": sitting,
                    "commit": ids[version],
                    "source": source,
                    "anchor": version == anchor,
                    **_packed(sample),
                }
                for (key, version), sample in suite.samples.items()
            ]
            connection.execute(insert(schema.samples), rows)
        return Added(path, len(rows), tuple(dict.fromkeys(c.sha for c in commits.values())), False)

    def _make(self, connection: Connection, table: Table, row: dict[str, Any]) -> bool:
        """Insert a row unless it is there; whether it was made. A writer of the same row is waited for."""
        into = sqlite.insert(table) if self._sqlite else postgresql.insert(table)
        made = into.values(**row).on_conflict_do_nothing().returning(table.c.id)
        return connection.execute(made).first() is not None

    def _number(self, connection: Connection, table: Table, key: dict[str, Any]) -> int:
        where = [table.c[name] == value for name, value in key.items()]
        return int(connection.execute(select(table.c.id).where(*where)).scalar_one())

    def _id(self, connection: Connection, table: Table, key: dict[str, Any], more: dict[str, Any]) -> int:
        """The number of a row, which is made unless it is there."""
        self._make(connection, table, key | more)
        return self._number(connection, table, key)

    def _series(self, connection: Connection, key: Key, suite: Suite, path: str) -> int:
        first = next(sample for (own, _), sample in suite.samples.items() if own == key)
        facts = {"unit": first.unit, "higher_is_better": first.higher_is_better}
        number = self._id(
            connection, schema.series, {"benchmark": key.benchmark, "metric": key.metric}, facts
        )
        row = connection.execute(select(schema.series).where(schema.series.c.id == number)).one()
        for (own, _), sample in suite.samples.items():
            if own == key and (sample.unit != row.unit or sample.higher_is_better != row.higher_is_better):
                raise SpeedproofError(
                    f"{path}: {key.benchmark} ({key.metric}) is in {sample.unit or 'plain numbers'}, in the "
                    f"store in {row.unit or 'plain numbers'}; nothing of the file was added"
                )
        return number

    def all_series(self, *, metric: str | None = None) -> tuple[StoredSeries, ...]:
        """Every series, by benchmark."""
        query = select(schema.series).order_by(schema.series.c.benchmark, schema.series.c.metric)
        if metric is not None:
            query = query.where(schema.series.c.metric == metric)
        with self._transaction() as connection:
            return tuple(
                StoredSeries(row.id, Key(row.benchmark, row.metric), row.unit, row.higher_is_better)
                for row in connection.execute(query)
            )

    def commits(self) -> tuple[Commit, ...]:
        """Every commit, in no order."""
        with self._transaction() as connection:
            rows = connection.execute(select(schema.commits)).all()
        return tuple(Commit(row.sha, row.subject, row.date) for row in rows)

    def machines(self) -> dict[int, str]:
        """Labels of machines by number."""
        with self._transaction() as connection:
            return {row.id: row.label for row in connection.execute(select(schema.machines))}

    def measurements(self, *, metric: str | None = None) -> tuple[Measurement, ...]:
        """Every sample's location, in the order of adding."""
        s = schema.samples
        query = (
            select(
                s.c.id, s.c.series, s.c.session, s.c.anchor, s.c.location, s.c.n,
                schema.sessions.c.machine, schema.commits.c.sha, schema.commits.c.subject, schema.commits.c.date,
            )
            .join(schema.sessions, s.c.session == schema.sessions.c.id)
            .join(schema.commits, s.c.commit == schema.commits.c.id)
            .order_by(s.c.id)
        )  # fmt: skip
        if metric is not None:
            query = query.join(schema.series, s.c.series == schema.series.c.id).where(
                schema.series.c.metric == metric
            )
        with self._transaction() as connection:
            rows = connection.execute(query).all()
        commits = {row.sha: Commit(row.sha, row.subject, row.date) for row in rows}
        return tuple(
            Measurement(
                row.series,
                row.session,
                row.machine,
                commits[row.sha],
                row.anchor,
                row.location,
                row.n,
                row.id,
            )
            for row in rows
        )

    def samples(self, numbers: Sequence[int]) -> list[Sample]:
        """Whole samples by their numbers, in that order."""
        query = (
            select(
                schema.samples, schema.series.c.unit, schema.series.c.higher_is_better, schema.commits.c.sha
            )
            .join(schema.series, schema.samples.c.series == schema.series.c.id)
            .join(schema.commits, schema.samples.c.commit == schema.commits.c.id)
            .where(schema.samples.c.id.in_(numbers))
        )
        with self._transaction() as connection:
            found = {row.id: _unpacked(row) for row in connection.execute(query)}
        return [found[number] for number in numbers]

    def forget(self, sha: str) -> int:
        """Remove a commit's samples and the files they came from; their number."""
        with self._transaction() as connection:
            commit = connection.execute(
                select(schema.commits.c.id).where(schema.commits.c.sha == sha)
            ).scalar()
            if commit is None:
                raise UsageError(f"{self.where}: holds no commit {sha}")
            s = schema.samples
            of_commit = select(s.c.source).where(s.c.commit == commit)
            sources = [int(row.source) for row in connection.execute(of_commit.distinct())]
            gone = connection.execute(delete(s).where(s.c.commit == commit)).rowcount
            used = {int(row.source) for row in connection.execute(select(s.c.source).distinct())}
            lost = [source for source in sources if source not in used]
            connection.execute(delete(schema.sources).where(schema.sources.c.id.in_(lost)))
            connection.execute(delete(schema.triage).where(schema.triage.c.commit == commit))
            connection.execute(delete(schema.commits).where(schema.commits.c.id == commit))
        return int(gone)

    def decide(self, sha: str, state: State, *, reason: str, who: str, benchmark: str = "") -> None:
        """Keep what somebody decided about a change; the last word counts."""
        with self._transaction() as connection:
            commit = connection.execute(
                select(schema.commits.c.id).where(schema.commits.c.sha == sha)
            ).scalar()
            if commit is None:
                raise UsageError(f"{self.where}: holds no commit {sha}")
            numbers: list[int | None] = [None]
            if benchmark:
                found = connection.execute(
                    select(schema.series.c.id).where(schema.series.c.benchmark == benchmark)
                )
                numbers = [row.id for row in found]
                if not numbers:
                    raise UsageError(f"{self.where}: holds no benchmark {benchmark}")
            rows = [
                {"series": n, "commit": commit, "state": state, "reason": reason, "who": who, "at": _now()}
                for n in numbers
            ]
            connection.execute(insert(schema.triage), rows)

    def decisions(self) -> tuple[Triage, ...]:
        """Everything that was decided, oldest first."""
        t = schema.triage
        query = (
            select(t, schema.commits.c.sha, schema.series.c.benchmark)
            .join(schema.commits, t.c.commit == schema.commits.c.id)
            .outerjoin(schema.series, t.c.series == schema.series.c.id)
            .order_by(t.c.id)
        )
        with self._transaction() as connection:
            return tuple(
                Triage(row.sha, row.benchmark or "", cast(State, row.state), row.reason, row.who, row.at)
                for row in connection.execute(query)
            )


_REMEDIES = {
    "locked": "; another program writes to it: try again",
    "readonly": "; it may not be written: check its permissions",
    "full": "; nothing was added: make room and try again",
    "unable to open": "; is the folder there, and may it be written?",
    "not a database": "; name another --store",
    "refused": "; is the server running?",
}


def _configure(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions are begun below, for writing at once
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_at_once(connection: Connection) -> None:
    """Take the writer's lock when a transaction begins: one that waits never has to be tried again."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _identity(suite: Suite) -> str:
    """What the files say of the machine, stable facts only; "unknown machine" when nothing."""
    known: dict[str, str] = {}
    for fields in suite.fields.values():
        for name, values in fields.items():
            known.setdefault(name, values[0])
    told = [next((known[name] for name in names if known.get(name)), "") for names in _IDENTITY]
    return ", ".join(part for part in told if part) or "unknown machine"


def _packed(sample: Sample) -> dict[str, Any]:
    used = sample.per_process("median").values
    return {
        "n": sample.n,
        "location": float(np.median(used)),
        "observations": zlib.compress(sample.values.astype("<f8").tobytes(), 1),
        "processes": None
        if sample.processes is None
        else zlib.compress(sample.processes.astype("<i8").tobytes(), 1),
    }


def _unpacked(row: Any) -> Sample:
    processes = None if row.processes is None else np.frombuffer(zlib.decompress(row.processes), "<i8")
    return Sample(
        np.frombuffer(zlib.decompress(row.observations), "<f8"),
        row.unit,
        Direction.HIGHER if row.higher_is_better else Direction.LOWER,
        processes.astype(np.int64) if processes is not None else None,
        label=row.sha,
    )
