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
from typing import Any, cast

import numpy as np
from msgspec.structs import asdict

from speedproof.arrays import FloatArray, NDArray
from speedproof.data.names import enumerate_names, wanted
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Record, Suite
from speedproof.data.units import Direction
from speedproof.errors import SpeedproofError, UsageError
from speedproof.history import database
from speedproof.history.commits import Commit, short_name
from speedproof.history.database import Connection, Database, inserting, places
from speedproof.history.packing import (
    FIGURES,
    block_of,
    identity_of,
    label_of,
    locations_and_bounds,
    packed,
    unpacked,
)
from speedproof.history.rows import Added, Announced, Measurements, State, StoredSeries, Triage

_PAGE = 500  # numbers in one question


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class HistoryStore:
    """A history of measurements."""

    def __init__(self, where: str) -> None:
        self._series_of: dict[Key, StoredSeries] = {}  # what transactions before have made, which stays
        self.where = re.sub(r"(://[^:@/]*):[^@/]*@", r"\1@", where)  # never show a password
        try:
            self._database = Database(where)
        except UsageError as error:
            raise UsageError(
                f"{self.where}: no store can be opened by this URL ({error}); give a path, or "
                "postgresql://user@host/name with psycopg installed"
            ) from error
        with self.transaction() as connection:
            if not connection.sqlite:  # one maker of tables at a time
                connection.rows("SELECT pg_advisory_xact_lock(7351)")
            database.prepare(connection, self.where)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction in which database errors are reported in plain words."""
        try:
            with self._database.transaction() as connection:
                try:
                    yield connection
                except BaseException:
                    self._series_of.clear()  # some may have been made in what is undone
                    raise
        except self._database.errors as error:
            cause = str(error).strip().splitlines()[0]
            remedy = next((advice for sign, advice in _REMEDIES.items() if sign in cause.lower()), "")
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
            source, unread = numbered("source", {"digest": key}, path=path, added=_now())
            identity = identity_of(suite, machine)
            if not unread:
                there = connection.rows(
                    "SELECT DISTINCT c.sha, m.key, m.label FROM sample s JOIN session t ON t.id = s.session "
                    'JOIN machine m ON m.id = t.machine JOIN "commit" c ON c.id = s."commit" WHERE s.source = ?',
                    source,
                )
                if {sha for sha, *_ in there} >= {c.sha for c in commits.values()}:  # nothing was forgotten
                    others = dict.fromkeys(label for _, key, label in there if key != identity)
                    known_as = tuple(
                        f"{path}: was there already, of machine {label}; to correct that, forget its commits "
                        "('speedproof history forget'), then add it again"
                        for label in others
                    )
                    return Added(path, 0, (), True, known_as, there=len(suite.samples))
            host, _ = numbered("machine", {"key": identity}, label=label_of(identity))
            began = started or _now()
            sitting, first = numbered("session", {"key": session or digest}, machine=host, started=began)
            ids, stored = {}, []
            for version, c in commits.items():
                more = {"subject": c.subject, "date": c.date or _now(), "branch": branch}
                ids[version], new = numbered("commit", {"sha": c.sha}, **more)
                stored += [] if new else [ids[version]]
            values, about = suite.arrays
            keys = [key for key, _ in suite.samples]
            processes = [one.processes for one in about]
            figures = locations_and_bounds(values, processes)
            for i, place in enumerate(suite.samples if bounds else ()):
                if bounds and place in bounds:
                    figures["low"][i], figures["high"][i] = bounds[place]
            columns: dict[str, Sequence[Any]] = {
                "series": self._series(connection, keys, about, path),
                "session": [sitting] * len(keys),
                "commit": [ids[version] for _, version in suite.samples],
                "source": [source] * len(keys),
                "anchor": [version == anchor for _, version in suite.samples],
                "n": [one.size for one in values],
                **figures,
                **dict(zip(("observations", "processes"), packed(values, processes), strict=True)),
            }
            in_file = None if session and unread else sitting
            if again := self._again(connection, columns, values, stored, in_file):
                keys = [key for i, key in enumerate(keys) if i not in again]
                columns = {
                    name: [cell for i, cell in enumerate(column) if i not in again]
                    for name, column in columns.items()
                }
            stale = () if first or session else self._stale(connection, columns, path)
            said = (*stale, *_not_followed(keys, columns["location"], path))
            if keys:
                self.insert(connection, columns)
        shas = tuple(dict.fromkeys(c.sha for c in commits.values()))
        return Added(path, len(keys), shas, not keys, said, there=len(again))

    @staticmethod
    def _stale(connection: Connection, columns: Mapping[str, Sequence[Any]], path: str) -> tuple[str, ...]:
        """A warning where the same session file gave all the same values to another commit."""
        new = {*zip(columns["series"], columns["observations"], strict=True)}
        commits, stored = {*columns["commit"]}, dict[str, set[tuple[int, bytes]]]()
        if new:
            for sha, number, *row in connection.rows(
                'SELECT c.sha, c.id, s.series, o.observations FROM sample s JOIN "commit" c ON c.id = s."commit" '
                "JOIN observation o ON o.sample = s.id WHERE s.session = ?",
                columns["session"][0],
            ):
                if number not in commits:
                    stored.setdefault(sha, set()).add((*row,))
        names = [short_name(sha) for sha, values in stored.items() if values >= new]
        remark = f"{path}: has the same values as at {enumerate_names(names, 3)}; is it of an earlier run?"
        return (remark,) if names else ()

    def _again(
        self,
        connection: Connection,
        columns: Mapping[str, Sequence[Any]],
        values: Sequence[FloatArray],
        known: Sequence[int],
        file: int | None,
    ) -> set[int]:
        """Which samples are stored already for known commits, for example from another file of a folder.

        Several values that differ come by no chance again; one value, or equal ones, may, but for those of the
        same file, which is a session.
        """
        stored = dict[tuple[int, int, bytes], set[int]]()
        for start in range(0, len(known), _PAGE):
            page = known[start : start + _PAGE]
            for session, *row in connection.rows(
                'SELECT s.session, s.series, s."commit", o.observations FROM sample s '
                f'JOIN observation o ON o.sample = s.id WHERE s."commit" IN ({places(len(page))})',
                *page,
            ):
                stored.setdefault((*row,), set()).add(session)
        rows = zip(columns["series"], columns["commit"], columns["observations"], strict=True)
        sessions = [stored.get(row, ()) for row in rows]
        return {i for i, of in enumerate(sessions) if of and (file in of or np.ptp(values[i]))}

    def insert(self, connection: Connection, columns: Mapping[str, Sequence[Any]]) -> None:
        """Samples with their values, one or more, from columns of both tables."""
        shared, values = (
            {name: column for name, column in columns.items() if name in database.TABLES[table]}
            for table in ("sample", "observation")
        )
        count = len(columns["series"])
        numbers: Sequence[int]
        if connection.sqlite:  # whose only writer can count them
            last = connection.rows("SELECT max(id) FROM sample")[0][0] or 0
            numbers = range(last + 1, last + 1 + count)
        else:
            next_ones = "SELECT nextval(pg_get_serial_sequence('sample', 'id')) FROM generate_series(1, ?)"
            numbers = [number for (number,) in connection.rows(next_ones, count)]
        connection.insert("sample", {"id": numbers, **shared})
        connection.insert("block", {"figures": [block_of({"sample": numbers, **shared})]})
        connection.insert("observation", {"sample": numbers, **values})

    def numbered(
        self, connection: Connection, table: str, key: dict[str, Any], **more: Any
    ) -> tuple[int, bool]:
        """The id of the row with this key, and whether it was inserted; waits for concurrent writers."""
        made = f"{inserting(table, (*key, *more))} ON CONFLICT DO NOTHING RETURNING id"
        if rows := connection.rows(made, *key.values(), *more.values()):
            return int(rows[0][0]), True
        same = " AND ".join(f"{name} = ?" for name in key)
        return int(connection.rows(f'SELECT id FROM "{table}" WHERE {same}', *key.values())[0][0]), False

    def _series(
        self, connection: Connection, keys: Sequence[Key], about: Sequence[Record | Sample], path: str
    ) -> list[int]:
        """The number of each, made unless it is there; their units are those of the store."""

        def read(names: set[str]) -> dict[Key, StoredSeries]:
            of_names = f"WHERE benchmark IN ({places(len(names))})"
            which = (of_names, *names) if len(names) <= _PAGE else ("",)  # it takes longer to ask for more
            return {one.key: one for one in _stored(connection, *which)}

        kinds = [(one.unit, one.direction is Direction.HIGHER) for one in about]
        try:
            stored = [self._series_of[key] for key in keys]
        except KeyError:
            self._series_of |= read({key.benchmark for key in keys})
            series, missing = self._series_of, dict[Key, tuple[str, bool]]()
            for key, kind in zip(keys, kinds, strict=True):
                if key not in series:
                    missing.setdefault(key, kind)
            if missing:
                columns = ("benchmark", "metric", "unit", "higher_is_better")
                rows = [(key.benchmark, key.metric, *kind) for key, kind in missing.items()]
                connection.many(f"{inserting('series', columns)} ON CONFLICT DO NOTHING", rows)
                series = series | read({key.benchmark for key in missing})
            stored = [series[key] for key in keys]
        for key, kind, there in zip(keys, kinds, stored, strict=True):
            if kind != (other := (there.unit, there.higher_is_better)):
                raise SpeedproofError(
                    f"{path}: {key.benchmark} ({key.metric}) is in {_kind(*kind)}, in the store in "
                    f"{_kind(*other)}; nothing of the file was added"
                )
        return [there.id for there in stored]

    def all_series(self, *, metric: str | None = None) -> tuple[StoredSeries, ...]:
        """Every series, by benchmark."""
        of_metric = "" if metric is None else "WHERE metric = ?"
        with self.transaction() as connection:
            order = "ORDER BY benchmark, metric"
            return tuple(_stored(connection, f"{of_metric} {order}", *([] if metric is None else [metric])))

    def commits(self) -> tuple[Commit, ...]:
        """Every commit, in the order of adding."""
        with self.transaction() as connection:
            rows = connection.rows('SELECT sha, subject, date, branch FROM "commit" ORDER BY id')
        return tuple(Commit(sha, subject, date, branch=branch) for sha, subject, date, branch in rows)

    def branches(self) -> tuple[str, ...]:
        """The branches on which commits were added."""
        query = (
            """SELECT DISTINCT branch FROM "commit" WHERE branch != '' AND subject != '' ORDER BY branch"""
        )
        with self.transaction() as connection:
            return tuple(branch for (branch,) in connection.rows(query))

    def machines(self, called: str | None = None) -> dict[int, str]:
        """Labels of machines by number: of those that are called so, of which there must be some."""
        with self.transaction() as connection:
            every: dict[int, str] = dict(connection.rows("SELECT id, label FROM machine"))
        if called is None:
            return every
        chosen = {number: label for number, label in every.items() if wanted(label, [called], ())}
        if not chosen:
            there = "; ".join(sorted(set(every.values())))
            raise UsageError(f"{self.where}: holds no machine {called}; it has {there}")
        return chosen

    def sessions_after(self, moment: str) -> list[int]:
        """Numbers of the sessions that began after a moment (ISO 8601, UTC)."""
        with self.transaction() as connection:
            return [n for (n,) in connection.rows("SELECT id FROM session WHERE started > ?", moment)]

    def measurements(self, series: Iterable[int] | None = None) -> Measurements:
        """Every sample's location, of some series or all, series by series in the order of adding."""
        wanted = None if series is None else sorted(set(series))
        with self.transaction() as connection:
            blocks = [*self._blocks(connection, wanted)]  # first: another writer adds to what they refer to
            commits = connection.rows('SELECT id, sha, subject, date FROM "commit" ORDER BY id')
            sittings = dict(connection.rows("SELECT id, machine FROM session"))
            named = {number: number for (number,) in connection.rows("SELECT id FROM series")}
        names = FIGURES.names or ()
        # Many columns are gathered faster than as many rows of eight, each block while it is at hand.
        size = sum(block.size for block in blocks)
        columns = {name: np.empty(size, FIGURES[name]) for name in names}
        end = 0
        for block in blocks:
            start, end = end, end + block.size
            for name in names:
                columns[name][start:end] = block[name]
        order = np.lexsort((columns["sample"], columns["series"]))
        columns = {name: column.take(order) for name, column in columns.items()}
        columns["series"] = self._found(columns["series"], named)
        columns["machine"] = self._found(columns["session"], sittings)
        columns["commit"] = self._found(columns["commit"], {row[0]: i for i, row in enumerate(commits)})
        return Measurements(**columns, commits=tuple(Commit(*row[1:]) for row in commits))

    def _blocks(self, connection: Connection, wanted: Sequence[int] | None) -> Iterator[NDArray[np.void]]:
        """The figures of some series or all, as they were added."""
        for (figures,) in connection.rows("SELECT figures FROM block ORDER BY id"):
            block = self._unpacked(figures)
            yield block if wanted is None else block[np.isin(block["series"], wanted)]

    def _unpacked(self, figures: bytes) -> NDArray[np.void]:
        if len(figures) % FIGURES.itemsize:
            raise self._damaged("a block of figures is cut short")
        return np.frombuffer(figures, FIGURES)

    def _found(self, numbers: NDArray[np.int32], values: Mapping[int, int]) -> NDArray[np.int32]:
        """Look up values by their ids in the store."""
        table = np.full(max(values, default=0) + 1, -1, dtype=np.int32)
        table[list(values)] = list(values.values())
        if not numbers.size:
            return numbers
        there = numbers.min() >= 0 and numbers.max() < table.size
        if not there or (looked_up := table.take(numbers)).min() < 0:
            raise self._damaged("figures are of a commit, session or benchmark that it does not hold")
        return looked_up

    def _damaged(self, what: str) -> SpeedproofError:
        return SpeedproofError(
            f"{self.where}: is damaged: {what}; take a backup, or add the files to a new store"
        )

    def samples(self, numbers: Sequence[int]) -> list[Sample]:
        """Whole samples by their numbers, in that order."""
        query = """SELECT s.id, o.observations, o.processes, r.unit, r.higher_is_better, c.sha FROM sample s
            JOIN observation o ON o.sample = s.id JOIN series r ON r.id = s.series
            JOIN "commit" c ON c.id = s."commit" WHERE s.id IN """
        samples: dict[int, Sample] = {}
        with self.transaction() as connection:
            for start in range(0, len(numbers), _PAGE):
                page = numbers[start : start + _PAGE]
                rows = connection.rows(f"{query} ({places(len(page))})", *page)
                samples |= {number: unpacked(*row) for number, *row in rows}
        if absent := [number for number in numbers if number not in samples]:
            raise UsageError(f"the history holds no sample {absent[0]}; points of a track hold the numbers")
        return [samples[number] for number in numbers]

    def forget(self, sha: str) -> int:
        """Remove a commit's samples, their files and sessions, and what was said of it; how many there were."""
        with self.transaction() as connection:
            commit = self._commit(connection, sha)
            of_commit = 'FROM sample WHERE "commit" = ?'
            emptied = {
                table: connection.rows(f"SELECT DISTINCT {table} {of_commit}", commit)
                for table in ("source", "session")
            }
            gone = connection.rows(f"SELECT count(*) {of_commit}", commit)[0][0]
            connection.rows(f"DELETE FROM observation WHERE sample IN (SELECT id {of_commit})", commit)
            connection.rows(f"DELETE {of_commit}", commit)
            self._forget_figures(connection, commit)
            # Without samples a file would be there already, and a session would keep its machine.
            for table, numbers in emptied.items():
                used = connection.rows(f"SELECT DISTINCT {table} FROM sample")
                connection.many(f"DELETE FROM {table} WHERE id = ?", set(numbers).difference(used))
            for table in ("triage", "announced"):
                connection.rows(f'DELETE FROM {table} WHERE "commit" = ?', commit)
            connection.rows('DELETE FROM "commit" WHERE id = ?', commit)
        return int(gone)

    def _forget_figures(self, connection: Connection, commit: int) -> None:
        """Blocks without the figures of a commit, or none."""
        locked = "" if connection.sqlite else " FOR UPDATE"  # PostgreSQL has several writers
        for number, figures in connection.rows(f"SELECT id, figures FROM block ORDER BY id{locked}"):
            block = self._unpacked(figures)
            left = block[block["commit"] != commit]
            if not left.size:
                connection.rows("DELETE FROM block WHERE id = ?", number)
            elif left.size < block.size:
                connection.rows("UPDATE block SET figures = ? WHERE id = ?", left.tobytes(), number)

    def _commit(self, connection: Connection, sha: str) -> int:
        numbers = connection.rows('SELECT id FROM "commit" WHERE sha = ?', sha)
        if not numbers:
            raise UsageError(f"{self.where}: holds no commit {sha}")
        return int(numbers[0][0])

    def decide(self, sha: str, state: State, *, reason: str, who: str, benchmark: str = "") -> None:
        """Keep what somebody decided about a change; the last word counts."""
        with self.transaction() as connection:
            commit = self._commit(connection, sha)
            series = None
            if benchmark:  # any series names it
                series = connection.rows("SELECT min(id) FROM series WHERE benchmark = ?", benchmark)[0][0]
                if series is None:
                    raise UsageError(f"{self.where}: holds no benchmark {benchmark}")
            said = {"state": state, "reason": reason, "who": who, "at": _now()}
            connection.add("triage", series=series, commit=commit, **said)

    def decisions(self) -> tuple[Triage, ...]:
        """Everything that was decided, oldest first."""
        query = """SELECT c.sha, r.benchmark, t.state, t.reason, t.who, t.at FROM triage t
            JOIN "commit" c ON c.id = t."commit" LEFT JOIN series r ON r.id = t.series ORDER BY t.at, t.id"""
        with self.transaction() as connection:
            rows = connection.rows(query)
        return tuple(Triage(sha, name or "", cast(State, state), *said) for sha, name, state, *said in rows)

    def announced(self, command: str) -> tuple[Announced, ...]:
        """The alarms that a command was notified of, in order."""
        query = """SELECT t.confirmed, t.series, t.basis, c.sha, t.factor FROM announced t
            JOIN "commit" c ON c.id = t."commit" WHERE t.command = ? ORDER BY t.id"""
        with self.transaction() as connection:
            rows = connection.rows(query, _digest(command))
        return tuple(Announced(bool(sure), *row) for sure, *row in rows)

    def announce(self, command: str, alarms: Iterable[Announced]) -> None:
        """Record that a command was notified of these alarms."""
        with self.transaction() as connection:
            for alarm in alarms:
                row = asdict(alarm) | {"commit": self._commit(connection, alarm.commit)}
                connection.add("announced", command=_digest(command), **row)


def _not_followed(keys: Sequence[Key], locations: Sequence[float], path: str) -> Iterator[str]:
    """A warning for medians that have no logarithm."""
    lost = dict.fromkeys(key for key, at in zip(keys, locations, strict=True) if not at > 0.0)
    if lost:
        of = f"{path}: {enumerate_names((f'{key.benchmark} ({key.metric})' for key in lost), 3)}"
        yield f"{of}: stored, but not followed: changes are ratios, and a median is not above 0"


def _digest(command: str) -> str:
    """A hash that identifies a command, which may contain a secret."""
    return hashlib.sha256(command.encode()).hexdigest()


_REMEDIES = {
    "locked": "; another program writes to it: try again",
    "readonly": "; it may not be written: check its permissions",
    "full": "; nothing was added: make room and try again",
    "disk i/o": "; nothing was added: is the disk full?",
    "unable to open": "; is the folder there, and may it be written?",
    "not a database": "; name another store",
    "refused": "; is the server running?",
}


def _kind(unit: str, higher_is_better: bool) -> str:
    return f"{unit or 'plain numbers'}, {'more' if higher_is_better else 'less'} being better"


def _stored(connection: Connection, which: str, *values: str) -> Iterator[StoredSeries]:
    columns = "id, benchmark, metric, unit, higher_is_better"
    for number, benchmark, metric, unit, higher in connection.rows(
        f"SELECT {columns} FROM series {which}", *values
    ):
        yield StoredSeries(number, Key(benchmark, metric), unit, bool(higher))
