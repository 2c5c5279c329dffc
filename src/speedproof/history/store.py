"""The store: whole samples with their sessions, machines and commits, in SQLite or PostgreSQL.

Adding a file is one transaction: it is in the store whole or not at all, once however often it is added, and
writers wait for each other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, create_engine, delete, event, func, insert, select, text, update
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.schema import Table

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Suite
from speedproof.errors import SpeedproofError, UsageError
from speedproof.history import schema
from speedproof.history.commits import Commit
from speedproof.history.packing import (
    FIGURES,
    block_of,
    identity_of,
    label_of,
    locations_and_bounds,
    packed,
    unpacked,
)
from speedproof.history.rows import Added, Measurements, State, StoredSeries, Triage

BUSY = 60.0  # seconds that a writer waits for another
_PAGE = 500  # numbers in one question


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class HistoryStore:
    """A history of measurements."""

    def __init__(self, where: str) -> None:
        self.where = re.sub(r"(://[^:@/]*):[^@/]*@", r"\1@", where)  # a password is told nobody
        url = where if "://" in where else f"sqlite:///{Path(where)}"
        url = url.replace("postgresql://", "postgresql+psycopg://", 1)
        try:
            arguments = {"timeout": BUSY} if url.startswith("sqlite:") else {}
            self._engine = create_engine(url, connect_args=arguments, poolclass=NullPool)
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise UsageError(
                f"{self.where}: no store can be opened by this URL ({error}); give a path, or "
                "postgresql://user@host/name with psycopg installed"
            ) from error
        self._sqlite = self._engine.dialect.name == "sqlite"
        if self._sqlite:
            event.listen(self._engine, "connect", _configure)
            event.listen(self._engine, "begin", _begin_at_once)
        with self.transaction() as connection:
            if not self._sqlite:
                connection.execute(
                    text("SELECT pg_advisory_xact_lock(7351)")
                )  # one maker of tables at a time
            schema.prepare(connection, self.where)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """All or nothing; what the database says is told in words."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            remedy = next((told for sign, told in _REMEDIES.items() if sign in cause.lower()), "")
            raise SpeedproofError(f"{self.where}: {cause}{remedy}") from error
        except UnicodeDecodeError as error:
            raise self._damaged(f"it holds text that is none ({error})") from error

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
        bounds: Mapping[tuple[Key, str], tuple[float, float]] | None = None,
    ) -> Added:
        """Add all samples of a file."""
        as_what = "|".join(
            [digest, session, anchor or "", *(f"{v}={c.sha}" for v, c in sorted(commits.items()))]
        )
        key = hashlib.sha256(as_what.encode()).hexdigest()
        with self.transaction() as connection:
            numbered = partial(self.numbered, connection)
            source, new = numbered(schema.sources, {"digest": key}, path=path, added=_now())
            if not new:
                return Added(path, 0, (), True)
            identity = identity_of(suite, machine)
            host, _ = numbered(schema.machines, {"key": identity}, label=label_of(identity))
            began = started or _now()
            sitting, _ = numbered(schema.sessions, {"key": session or digest}, machine=host, started=began)
            ids = {}
            for version, c in commits.items():
                more = {"subject": c.subject, "date": c.date or _now(), "branch": branch}
                ids[version], _ = numbered(schema.commits, {"sha": c.sha}, **more)
            series = self._numbers(connection, suite, path)
            samples = list(suite.samples.values())
            figures = locations_and_bounds(samples)
            for i, place in enumerate(suite.samples):
                if bounds and place in bounds:
                    figures["low"][i], figures["high"][i] = bounds[place]
            values = list(map(packed, samples))
            columns: dict[str, Sequence[Any]] = {
                "series": [series[key] for key, _ in suite.samples],
                "session": [sitting] * len(samples),
                "commit": [ids[version] for _, version in suite.samples],
                "source": [source] * len(samples),
                "anchor": [version == anchor for _, version in suite.samples],
                "n": [sample.n for sample in samples],
                **figures,
                "observations": [observations for observations, _ in values],
                "processes": [processes for _, processes in values],
            }
            if samples:
                self.insert(connection, columns)
        shas = tuple(dict.fromkeys(c.sha for c in commits.values()))
        names = tuple(dict.fromkeys(key.benchmark for key, _ in suite.samples))
        return Added(path, len(samples), shas, False, benchmarks=names)

    def insert(self, connection: Connection, columns: Mapping[str, Sequence[Any]]) -> None:
        """Samples with their values, one or more, from columns of both tables."""
        known = {name: column for name, column in columns.items() if name in schema.samples.c}
        if self._sqlite:  # which gives numbers back row by row; its only writer can count them
            last = connection.execute(select(func.max(schema.samples.c.id))).scalar() or 0
            numbers: Sequence[int] = range(last + 1, last + 1 + len(columns["series"]))
            self._insert(connection, schema.samples, {"id": numbers, **known})
        else:
            made = insert(schema.samples).returning(schema.samples.c.id, sort_by_parameter_order=True)
            numbers = connection.execute(made, _rows(known)).scalars().all()
        known["sample"] = numbers
        connection.execute(insert(schema.blocks).values(figures=block_of(known)))
        values = {name: columns[name] for name in ("observations", "processes")}
        self._insert(connection, schema.observations, {"sample": numbers, **values})

    def _insert(self, connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> None:
        """Rows from columns; into SQLite as they are."""
        if not self._sqlite:
            connection.execute(insert(table), _rows(columns))
            return
        names, places = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
        statement = f'INSERT INTO "{table.name}" ({names}) VALUES ({places})'
        connection.exec_driver_sql(statement, list(zip(*columns.values(), strict=True)))

    def _into(self, table: Table) -> Any:
        """Insert rows unless they are there; a writer of the same row is waited for."""
        dialect = import_module(f"sqlalchemy.dialects.{self._engine.dialect.name}")
        return dialect.insert(table).on_conflict_do_nothing()

    def numbered(
        self, connection: Connection, table: Table, key: dict[str, Any], **more: Any
    ) -> tuple[int, bool]:
        """The number of the row with such a key, and whether it had to be made."""
        made = self._into(table).values(**key, **more).returning(table.c.id)
        if (number := connection.execute(made).scalar()) is not None:
            return int(number), True
        where = [table.c[name] == value for name, value in key.items()]
        return int(connection.execute(select(table.c.id).where(*where)).scalar_one()), False

    def _numbers(self, connection: Connection, suite: Suite, path: str) -> dict[Key, int]:
        """Of the series of a suite, which are made unless they are there; their units are those of the store."""
        first = {key: sample for (key, _), sample in reversed(suite.samples.items())}
        known = self._known(connection, suite.keys)
        if missing := [
            {"benchmark": k.benchmark, "metric": k.metric, "unit": first[k].unit,
             "higher_is_better": first[k].higher_is_better}
            for k in suite.keys if k not in known
        ]:  # fmt: skip
            connection.execute(self._into(schema.series), missing)
            known = self._known(connection, suite.keys)
        for (key, _), sample in suite.samples.items():
            there = known[key]
            if (sample.unit, sample.higher_is_better) != (there.unit, there.higher_is_better):
                raise SpeedproofError(
                    f"{path}: {key.benchmark} ({key.metric}) is in {_kind(sample)}, in the store in "
                    f"{_kind(there)}; nothing of the file was added"
                )
        return {key: there.id for key, there in known.items()}

    def _known(self, connection: Connection, keys: Sequence[Key]) -> dict[Key, StoredSeries]:
        """Those of some series that are in the store."""
        query, names, wanted = select(schema.series), {key.benchmark for key in keys}, set(keys)
        if len(names) <= _PAGE:  # for more it takes longer to ask than to read all
            query = query.where(schema.series.c.benchmark.in_(names))
        return {stored.key: stored for stored in _stored(connection, query) if stored.key in wanted}

    def all_series(self, *, metric: str | None = None) -> tuple[StoredSeries, ...]:
        """Every series, by benchmark."""
        query = select(schema.series).order_by(schema.series.c.benchmark, schema.series.c.metric)
        if metric is not None:
            query = query.where(schema.series.c.metric == metric)
        with self.transaction() as connection:
            return tuple(_stored(connection, query))

    def commits(self) -> tuple[Commit, ...]:
        """Every commit, in no order."""
        with self.transaction() as connection:
            rows = connection.execute(select(schema.commits)).all()
        return tuple(Commit(row.sha, row.subject, row.date, branch=row.branch) for row in rows)

    def branches(self) -> tuple[str, ...]:
        """Where git's commits were added."""
        columns = schema.commits.c
        query = (
            select(columns.branch)
            .where(columns.branch != "", columns.subject != "")
            .distinct()
            .order_by(columns.branch)
        )
        with self.transaction() as connection:
            return tuple(connection.execute(query).scalars())

    def machines(self) -> dict[int, str]:
        """Labels of machines by number."""
        with self.transaction() as connection:
            return {row.id: row.label for row in connection.execute(select(schema.machines))}

    def measurements(self, series: Iterable[int] | None = None) -> Measurements:
        """Every sample's location, of some series or all, series by series in the order of adding."""
        wanted = None if series is None else sorted(set(series))
        with self.transaction() as connection:
            known = connection.execute(select(schema.commits).order_by(schema.commits.c.id)).all()
            sittings = {row.id: row.machine for row in connection.execute(select(schema.sessions))}
            named = connection.execute(select(schema.series.c.id)).scalars().all()
            blocks = [np.zeros(0, FIGURES), *self._blocks(connection, wanted)]
        # Many columns of numbers are gathered faster than as many rows of eight.
        columns = {name: np.concatenate([block[name] for block in blocks]) for name in FIGURES.names or ()}
        del blocks
        order = np.argsort((columns["series"].astype(np.int64) << 32) + columns["sample"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
        columns["series"] = self._found(columns["series"], dict(zip(named, named, strict=True)))
        columns["machine"] = self._found(columns["session"], sittings)
        columns["commit"] = self._found(columns["commit"], {row.id: i for i, row in enumerate(known)})
        return Measurements(**columns, commits=tuple(Commit(row.sha, row.subject, row.date) for row in known))

    def _blocks(self, connection: Connection, wanted: Sequence[int] | None) -> Iterator[npt.NDArray[np.void]]:
        """The figures of some series or all, as they were added."""
        for (figures,) in connection.execute(select(schema.blocks.c.figures).order_by(schema.blocks.c.id)):
            block = self._unpacked(figures)
            yield block if wanted is None else block[np.isin(block["series"], wanted)]

    def _unpacked(self, figures: bytes) -> npt.NDArray[np.void]:
        if len(figures) % FIGURES.itemsize:
            raise self._damaged("a block of figures is cut short")
        return np.frombuffer(figures, FIGURES)

    def _found(self, numbers: npt.NDArray[np.int32], values: Mapping[int, int]) -> npt.NDArray[np.int32]:
        """Values by their numbers in the store."""
        known = np.full(max(values, default=0) + 1, -1, dtype=np.int32)
        known[list(values)] = list(values.values())
        if numbers.size and (numbers.min() < 0 or numbers.max() >= known.size or known[numbers].min() < 0):
            raise self._damaged("figures are of a commit, session or benchmark that it does not hold")
        return known[numbers]

    def _damaged(self, what: str) -> SpeedproofError:
        return SpeedproofError(
            f"{self.where}: is damaged: {what}; take a backup, or add the files to a new store"
        )

    def samples(self, numbers: Sequence[int]) -> list[Sample]:
        """Whole samples by their numbers, in that order."""
        s, o = schema.samples, schema.observations
        query = (
            select(
                s.c.id, o.c.observations, o.c.processes,
                schema.series.c.unit, schema.series.c.higher_is_better, schema.commits.c.sha,
            )
            .join(o, o.c.sample == s.c.id)
            .join(schema.series, s.c.series == schema.series.c.id)
            .join(schema.commits, s.c.commit == schema.commits.c.id)
        )  # fmt: skip
        samples: dict[int, Sample] = {}
        with self.transaction() as connection:
            for start in range(0, len(numbers), _PAGE):
                here = query.where(s.c.id.in_(numbers[start : start + _PAGE]))
                samples |= {row.id: unpacked(row) for row in connection.execute(here)}
        if absent := [number for number in numbers if number not in samples]:
            raise UsageError(f"the history holds no sample {absent[0]}; points of a track hold the numbers")
        return [samples[number] for number in numbers]

    def forget(self, sha: str) -> int:
        """Remove a commit's samples and the files they came from; their number."""
        with self.transaction() as connection:
            commit = self._commit(connection, sha)
            s = schema.samples
            of_commit = select(s.c.source).where(s.c.commit == commit)
            sources = [int(row.source) for row in connection.execute(of_commit.distinct())]
            of_it = select(s.c.id).where(s.c.commit == commit)
            connection.execute(delete(schema.observations).where(schema.observations.c.sample.in_(of_it)))
            gone = connection.execute(delete(s).where(s.c.commit == commit)).rowcount
            self._forget_figures(connection, commit)
            used = {int(row.source) for row in connection.execute(select(s.c.source).distinct())}
            lost = [source for source in sources if source not in used]
            connection.execute(delete(schema.sources).where(schema.sources.c.id.in_(lost)))
            connection.execute(delete(schema.triage).where(schema.triage.c.commit == commit))
            connection.execute(delete(schema.commits).where(schema.commits.c.id == commit))
        return int(gone)

    def _forget_figures(self, connection: Connection, commit: int) -> None:
        """Blocks without the figures of a commit, or none."""
        b = schema.blocks
        # PostgreSQL has several writers.
        locked = select(b.c.id, b.c.figures).order_by(b.c.id).with_for_update()
        for number, figures in connection.execute(locked).all():
            block = self._unpacked(figures)
            left = block[block["commit"] != commit]
            if not left.size:
                connection.execute(delete(b).where(b.c.id == number))
            elif left.size < block.size:
                connection.execute(update(b).where(b.c.id == number).values(figures=left.tobytes()))

    def _commit(self, connection: Connection, sha: str) -> int:
        number = connection.execute(select(schema.commits.c.id).where(schema.commits.c.sha == sha)).scalar()
        if number is None:
            raise UsageError(f"{self.where}: holds no commit {sha}")
        return int(number)

    def decide(self, sha: str, state: State, *, reason: str, who: str, benchmark: str = "") -> None:
        """Keep what somebody decided about a change; the last word counts."""
        with self.transaction() as connection:
            commit = self._commit(connection, sha)
            numbers: list[int | None] = [None]
            if benchmark:
                series = select(schema.series.c.id).where(schema.series.c.benchmark == benchmark)
                numbers = list(connection.execute(series).scalars())
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
        with self.transaction() as connection:
            return tuple(
                Triage(row.sha, row.benchmark or "", cast(State, row.state), row.reason, row.who, row.at)
                for row in connection.execute(query)
            )


_REMEDIES = {
    "locked": "; another program writes to it: try again",
    "readonly": "; it may not be written: check its permissions",
    "full": "; nothing was added: make room and try again",
    "disk i/o": "; nothing was added: is the disk full?",
    "unable to open": "; is the folder there, and may it be written?",
    "not a database": "; name another store",
    "refused": "; is the server running?",
}


def _kind(of: Sample | StoredSeries) -> str:
    """The unit and the direction, in words."""
    return f"{of.unit or 'plain numbers'}, {'more' if of.higher_is_better else 'less'} being better"


def _rows(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _configure(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions are begun below, for writing at once
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_at_once(connection: Connection) -> None:
    """Take the writer's lock when a transaction begins: one that waits never has to be tried again."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _stored(connection: Connection, query: Any) -> Iterator[StoredSeries]:
    for number, benchmark, metric, unit, higher in connection.execute(query).all():
        yield StoredSeries(number, Key(benchmark, metric), unit, higher)
