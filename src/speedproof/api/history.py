"""A history of measurements: add files, ask what changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from speedproof import __version__
from speedproof.api.given import alpha_of
from speedproof.api.history_files import (
    ALL,
    add_all,
    add_file,
    benchmark_meant,
    deciding,
    files_with_sessions,
    measured_in,
    named_commit,
    tracks_in,
    user,
    version_named,
)
from speedproof.data.checked import checked
from speedproof.data.names import enumerate_names
from speedproof.data.suite import Key, Suite
from speedproof.data.units import format_values
from speedproof.declaring import EXAMPLES, proportion_given
from speedproof.errors import DataError, Parameter, UsageError
from speedproof.formats.suites import read as read_suite
from speedproof.history.commits import (
    Commit,
    commit_address,
    current_branch,
    first_parent_order,
    in_utc,
    resolve,
    short_name,
    tags,
)
from speedproof.history.commits import Followed as Followed
from speedproof.history.commits import spelt as spelt
from speedproof.history.importers import importer_of
from speedproof.history.packing import UNKNOWN as UNKNOWN
from speedproof.history.packing import facts_of, same_machine
from speedproof.history.rows import Added, QueriedSample, State, StoredSeries, remeasured
from speedproof.stats.scaling import median
from speedproof.values import level

if TYPE_CHECKING:
    from speedproof.api.pairs import PairResult
    from speedproof.history.alarms import HistoryAlarm
    from speedproof.history.changes import Change
    from speedproof.history.store import HistoryStore
    from speedproof.history.tracks import Track
    from speedproof.protocols.noise_floor import NoiseFloor
    from speedproof.reporting.history_results import AlarmResult, HistoryResult

DEFAULT_STORE = "speedproof.db"
_FAR = 1.5  # between two sessions of one commit on one machine: then they measured two things
StrPath = str | os.PathLike[str]


class History:
    r"""A store of measurements.

    Parameters
    ----------
    store : str or path
        A SQLite file, made by the first file that is added, or a PostgreSQL URL.
    repository : str or path
        A folder in the git repository whose commits are followed; outside a repository dates give the order.

    Raises
    ------
    SpeedproofError
        A file that is no store, or a server that cannot be reached. A missing file is an error once it is read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import speedproof as sp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     history = sp.History(Path(folder, "speedproof.db"), repository=folder)
    ...     for i in range(60):
    ...         file = Path(folder, f"run{i}.txt")
    ...         _ = file.write_text("\n".join(str(10 + i * i % 7 / 50 + (i >= 40)) for _ in range(3)))
    ...         _ = history.add(file, commit=f"c{i:02d}", benchmark="sort", unit="ms")
    ...     [change.commit.sha for change in history.changes().changes]
    ['c40']
    """

    @checked()
    def __init__(self, store: StrPath = DEFAULT_STORE, repository: StrPath = ".") -> None:
        self.repository = os.fspath(repository)
        self._where = os.fspath(store)
        self._opened: HistoryStore | None = None
        if "://" in self._where or _is_there(self._where):
            self.made()

    def __repr__(self) -> str:
        return f"<History: {self._opened.where if self._opened else self._where}>"

    @property
    def store(self) -> HistoryStore:
        """The store, for reading; a missing file is an error."""
        if self._opened is None and not _is_there(self._where):
            how = f"speedproof history add FILE{spelt(store=self._where)}"
            raise UsageError(f"{self._where}: no such store; make one with: {how}")
        return self.made()

    def made(self) -> HistoryStore:
        """The store, for writing; a missing file is created."""
        if self._opened is None:
            from speedproof.history.store import HistoryStore

            self._opened = HistoryStore(self._where)
        return self._opened

    @checked()
    def add(
        self,
        path: StrPath,
        *,
        commit: str | None = None,
        session: str = "",
        anchor: str | None = None,
        machine: str = "",
        started: str = "",
        format: str | None = None,
        unit: str | None = None,
        columns: Mapping[str, str] | None = None,
        benchmark: str = "",
        where: str | None = None,
        higher_is_better: str | Sequence[str] = (),
        done: Callable[[int, int], object] = lambda of, done: None,
    ) -> Added:
        """Add a result file.

        Parameters
        ----------
        path : str or path
            A file of any known tool, or a folder whose files are one session, or each its own where ``speedproof
            run`` wrote one; ``COMMIT=FILE`` names the commit, ``FILE:VERSION`` takes one version of those in it.
        commit : str, optional
            What was measured; by default what the file says, or a hash that names it, else git's HEAD. A file
            of several versions has each version's name as its commit.
        session : str
            Name of the session; files that share it were measured together. By default each file is its own.
        anchor : str, optional
            The version in the file that was measured as the anchor: its name, or a tag or hash of its commit.
        machine : str
            Your name of the machine, where what the file says does not identify it.
        started : str
            When it was measured, in ISO 8601; by default what the file says. Also the date of a commit of which
            neither the file nor git knows one.
        format, unit, columns : optional
            As :func:`speedproof.read` takes them.
        benchmark : str
            Name of the only benchmark in a file that names none, which would be called like the file.
        where : str, optional
            The rows of a corpus to add, an SQL condition.
        higher_is_better : str or sequence of str, optional
            Metrics, or columns of Otava's CSV, of which more is better though neither unit nor name says so.
        done : callable
            Told after each part of another tool's history how many there are, and are done.

        Returns
        -------
        Added
            What is new; nothing for a file that is there already.

        Raises
        ------
        SpeedproofError
            A file that cannot be read, a commit that cannot be named, a metric of a benchmark
            that the store holds in another unit.
        """
        moment = in_utc(started)
        if started and not moment:
            raise UsageError(f"started={started!r}: expected ISO 8601, 2026-01-31 or 2026-01-31T12:00")
        commit, path, version = named_commit(os.fspath(path), commit)
        asked: dict[str, Any] = {
            "branch": current_branch(self.repository), "session": session, "anchor": anchor, "machine": machine,
            "unit": unit, "columns": columns, "higher_is_better": higher_is_better,
        }  # fmt: skip
        if format is None and not version and (importer := importer_of(Path(path))) is not None:
            return add_all(self, path, importer, done=done, **asked)
        asked |= {"started": moment, "benchmark": benchmark, "where": where}
        if format is None and not version and (files := files_with_sessions(Path(path))):
            return add_all(self, path, files, done=done, together=True, commit=commit, **asked)
        return add_file(self, path, commit, format=format, version=version, **asked)

    @checked()
    def export(self, path: StrPath) -> int:
        """Write the whole store to one portable file, ``"-"``: standard output; the number of its samples."""
        from speedproof.history.transfer import export_store

        return export_store(self.store, Path(path))

    @checked()
    def import_(self, path: StrPath) -> int:
        """Merge what :meth:`export` wrote, from any database; how many samples are new."""
        from speedproof.history.transfer import exported_rows, import_store

        rows = exported_rows(Path(path))  # before a store is made
        return import_store(self.made(), Path(path), rows)

    @checked()
    def query(
        self,
        *patterns: str,
        metric: str | None = None,
        commit: str | None = None,
        machine: str | None = None,
        last: int | None = None,
    ) -> list[QueriedSample]:
        """Samples without values, by benchmark, machine (both with ``*``), metric, commit; the ``last`` ones."""
        from speedproof.history.query import query

        sha = None if commit is None else self.find(commit)
        return query(self.store, last, patterns, metric, sha, machine)

    @checked()
    def changes(
        self,
        *,
        confidence: float | str = 0.95,
        metric: str | None = None,
        benchmark: str | None = None,
        machine: str | None = None,
        branch: str = "HEAD",
        correction: Literal["holm", "bh"] = "holm",
    ) -> HistoryResult:
        """What changed along a branch.

        Parameters
        ----------
        confidence : float or str
            That a history without any change shows none.
        metric : str, optional
            Which decides, or ``"all"``; by default the time of a benchmark, or else its first metric. The risk is
            that of these.
        benchmark, machine : str, optional
            Only these: a benchmark by its name, or by a pattern or a part that one has alone; machines with ``*``.
        branch : str
            Whose first parents are followed. Where git named none of the commits, their dates give the order.
        correction : {"holm", "bh"}
            Over all series: no false alarm at all, or a share of false ones (Benjamini and Hochberg).

        Returns
        -------
        HistoryResult
            With everything that was looked at.

        Raises
        ------
        UsageError
            A benchmark that the store does not hold, a branch without measured commits, a shallow clone.
        """
        return self._changes(confidence, correction, metric, branch, benchmark=benchmark, machine=machine)

    def _changes(
        self,
        confidence: float | str,
        correction: Literal["holm", "bh"],
        metric: str | None,
        branch: str,
        *,
        benchmark: str | None = None,
        machine: str | None = None,
        apart: bool = False,
    ) -> HistoryResult:
        """Changes in the deciding metrics, or in all others (``apart``) at a risk of their own."""
        from speedproof.history.alarms import beyond_changes
        from speedproof.history.changes import find_history_changes
        from speedproof.history.floor import noise_floor
        from speedproof.history.rows import confirmed, standing
        from speedproof.reporting.history_results import HistoryResult

        line = first_parent_order(branch, self.repository)
        series, measured, commits, tracks = tracks_in(
            self.store, self.repository, metric, benchmark, line, branch, machine, apart=apart
        )
        floor = noise_floor(measured, {number: s.key for number, s in series.items()}, self.store.where)
        del measured  # of a large history much memory
        said = self.store.decisions()

        def shown(change: Change) -> bool:
            key = series[change.track.series].key
            again = remeasured(key.metric, change.track.basis)
            of = standing(said, key.benchmark, change.concerned, measured=again, drift=change.drift)
            return change.shown_by_sessions or confirmed(of)

        every = find_history_changes(tracks, alpha_of(confidence), correction=correction)
        changes = tuple(filter(shown, every))
        sure = proportion_given("confidence", confidence, EXAMPLES["LEVEL"], level)
        alarms = () if apart else beyond_changes(tracks, series, said, changes)
        followed = self._followed(line, commits, branch, benchmark, tracks)
        read = (tuple(commits), series, tracks, changes, said, floor)
        return HistoryResult(self.store.where, sure, *read, alarms, followed, correction)

    def _followed(
        self,
        line: Sequence[str],
        commits: Sequence[Commit],
        branch: str,
        benchmark: str | None,
        tracks: Sequence[Track],
        every: float = 1000.0,
    ) -> Followed:
        """Which commits of the store are on the branch, and the options that select the same."""
        on_line = {commit.sha for commit in commits}.intersection(line)
        place = spelt(store=self.store.where, repository=self.repository)
        return Followed(
            branch,
            len(self.store.commits()) - len(commits) if on_line else 0,
            bool(on_line) and line[-1] not in on_line,
            benchmark is not None,
            len({track.basis for track in tracks}) > 1,
            tuple(line),
            f"{spelt(every=f'{every:.15g}', branch=branch)}{place}",
            place,
            "" if self.repository == "." else f"cd {quote(self.repository)} && ",
        )

    def floor(self) -> NoiseFloor | None:
        """How much sessions of one commit differ, which ``store=`` of comparisons and gates counts in."""
        from speedproof.history.floor import noise_floor

        series, measured = measured_in(self.store, ALL, None)
        return noise_floor(measured, {number: s.key for number, s in series.items()}, self.store.where)

    def benchmark_meant(self, name: str | None) -> str | None:
        """The stored benchmark that matches a name, a pattern or part of a name."""
        return benchmark_meant(name, self.store.all_series(), self.store.where)

    def metrics(self, benchmark: str | None = None) -> tuple[list[str], list[str]]:
        """The metrics that decide where none is named, and the others; of all benchmarks or one."""
        every, benchmark = self.store.all_series(), self.benchmark_meant(benchmark)
        series = [s for s in every if benchmark in (None, s.key.benchmark)]
        shown = list(dict.fromkeys(s.key.metric for s in deciding(series).values()))
        return shown, list(dict.fromkeys(s.key.metric for s in series if s.key.metric not in shown))

    @checked()
    def alarms(
        self,
        *,
        every: float = 1000.0,
        last: int = 30,
        metric: str | None = None,
        benchmark: str | None = None,
        machine: str | None = None,
        branch: str = "HEAD",
    ) -> AlarmResult:
        """Alarms that the newest commits raised: earlier than a change can be shown, to be confirmed.

        Parameters
        ----------
        every : float
            Mean number of commits between false confirmed alarms, over all benchmarks together; unconfirmed ones
            come twenty times as often.
        last : int
            Look at what so many commits raised.
        metric, benchmark, machine, branch
            As in :meth:`changes`.

        Returns
        -------
        AlarmResult
            ``undecided`` are the slowdowns that nobody has decided about, ``confirmed`` the sure ones of them.
        """
        from speedproof.history.alarms import find_alarms
        from speedproof.history.tracks import measured_commits
        from speedproof.reporting.history_results import AlarmResult

        line = first_parent_order(branch, self.repository)
        series, _, commits, tracks = tracks_in(
            self.store, self.repository, metric, benchmark, line, branch, machine
        )
        followed = self._followed(line, commits, branch, benchmark, tracks, every)
        said = self.store.decisions()
        alarms = find_alarms(tracks, series, said, every=every, last=last)
        many = measured_commits(tracks), len({track.series for track in tracks})
        return AlarmResult(self.store.where, every, last, *many, series, alarms, followed)

    @checked()
    def confirm(self, alarm: HistoryAlarm, session: StrPath, *, machine: str = "") -> bool | None:
        """File what a session that measured both commits of an alarm again says of them.

        Parameters
        ----------
        alarm : HistoryAlarm
            One of :meth:`alarms`.
        session : str or path
            What ``speedproof run --revisions GOOD BAD`` wrote.
        machine : str
            The alarm's, where what the session says of its machine does not tell that it is the same.

        Returns
        -------
        bool or None
            Whether the session shows the change, too, at 95 %: then the alarm is confirmed. False where it shows
            none, or at most half of it: then the alarm is refuted, which settles it. None where it decides
            neither: then nothing is filed, and the alarm stays as it was.

        Raises
        ------
        UsageError
            A session of another machine.
        DataError
            A session of another thing: the good commit is far from what the store has for it on that machine.
        """
        series = next(s for s in self.store.all_series() if s.id == alarm.track.series)
        path, suite, benchmark = os.fspath(session), read_suite(session), series.key.benchmark
        measurable([alarm], machine, facts_of(suite))
        if not alarm.track.anchored:
            machine = alarm.track.basis
        measured = self._measured_again(alarm, series.key, suite, path)
        if measured is None:
            return None
        self._refuse_another(alarm, series, measured.headline.reference.median)
        worse = (alarm.factor > 1.0) != series.higher_is_better
        shown = measured.verdict == ("slower" if worse else "faster")
        size = max(alarm.factor, 1.0 / alarm.factor)
        # At most half of it, as a logarithm
        half = measured.lower**2 * size > 1.0 if worse else measured.upper**2 < size
        if measured.verdict == "undecided" and not half:
            return None
        branch, name = current_branch(self.repository), benchmark if len(suite.benchmarks) == 1 else ""
        add_file(
            self,
            path,
            branch=branch,
            session="",
            anchor=None,
            machine=machine,
            benchmark=name,
            only=series.key,
        )
        state: State = "confirmed" if shown else "refuted"
        why = remeasured(series.key.metric, alarm.track.basis)
        self.store.decide(alarm.bad.sha, state, reason=why, who=user(), benchmark=benchmark)
        return shown

    def _refuse_another(self, alarm: HistoryAlarm, of: StoredSeries, now: float) -> None:
        """Refuse a measurement of an alarm's good commit that is far from all stored ones."""
        good, track = alarm.compared[0].sha, alarm.track
        before = [
            row.median
            for row in self.query(metric=of.key.metric, commit=good)
            if row.benchmark == of.key.benchmark and (track.anchored or row.machine == track.basis)
        ]
        if before and all(max(now, one) > _FAR * min(now, one) > 0 for one in before):
            shown = format_values([now, median(before)], of.unit)
            ends = " ".join(quote(short_name(commit.sha)) for commit in alarm.compared)
            add = f"speedproof history add @last{spelt(store=self.store.where, repository=self.repository)}"
            add += spelt(benchmark=of.key.benchmark) + ("" if track.anchored else spelt(machine=track.basis))
            raise DataError(
                f"{of.key.benchmark} at {short_name(good)}: {shown[0]} now, {shown[1]} in {self.store.where}, so "
                "nothing was filed: the command may be another benchmark's; if the machine has another speed "
                f"now: speedproof run --revisions {ends} -- COMMAND, then {add}"
            )

    def _measured_again(self, alarm: HistoryAlarm, of: Key, suite: Suite, path: str) -> PairResult | None:
        """The comparison of an alarm's two commits in a session, or None if it lacks the benchmark."""
        from speedproof.api.suites import compare_suite

        good, bad = (version_named(c.sha, suite, path, self.repository) for c in alarm.compared)
        rows = compare_suite(suite, reference=good, metric=of.metric).against(bad)
        only = len(suite.benchmarks) == 1
        return next((row for row in rows if only or row.benchmark == of.benchmark), None)

    @checked()
    def page(
        self,
        folder: StrPath,
        *,
        confidence: float | str = 0.95,
        metric: str | None = None,
        branch: str = "HEAD",
        compare: Sequence[str] = (),
        correction: Literal["holm", "bh"] = "holm",
        done: Callable[[], None] = lambda: None,
    ) -> int:
        """Write the history as static pages, which open from a file and from any web server.

        Parameters
        ----------
        folder : str or path
            Made when absent.
        confidence, metric, branch, correction
            As in :meth:`changes`.
        compare : sequence of str
            Further branches to draw beside it.
        done : callable
            Called after every benchmark.

        Returns
        -------
        int
            Bytes that were written.

        Raises
        ------
        UsageError
            A folder that holds other files; a store without measurements.
        """
        from speedproof.reporting.site import write_site

        def found(rev: str, *, apart: bool = False) -> HistoryResult:
            return self._changes(confidence, correction, metric, rev, apart=apart)

        others = metric is None and self.metrics()[1]
        return write_site(
            [found(branch), *([found(branch, apart=True)] if others else [])],
            folder,
            made=f"Made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by speedproof {__version__}",
            link=commit_address(self.repository),
            tags=tags(self.repository),
            branches={name: found(name) for name in compare},
            done=done,
        )

    @checked()
    def decide(
        self, commit: str, state: State, *, reason: str = "", who: str = "", benchmark: str = ""
    ) -> None:
        """Mark a change as accepted (``"blessed"``), noise (``"invalid"``) or undone (``"fixed"``).

        ``"confirmed"`` and ``"refuted"`` are what :meth:`confirm` files of an alarm that was measured again.
        What was measured of a commit until it is called noise is left out. ``"noted"`` keeps the reason as a
        remark and ``"assigned"`` as the name of who looks after it: neither settles anything. ``"reopened"`` takes
        back all that people said before. What is said of one benchmark is also of its change where that may be at
        the commit: of a drift, whose commit moves as more is measured, at any of its commits. What is said of no
        benchmark settles no drift.
        """
        name = self.benchmark_meant(benchmark or None) or ""
        self.store.decide(self.find(commit), state, reason=reason, who=who or user(), benchmark=name)

    @checked()
    def forget(self, commit: str) -> int:
        """Remove what was measured of a commit, and what was said of it; how many samples."""
        return self.store.forget(self.find(commit))

    @checked()
    def find(self, commit: str) -> str:
        """The full name of a stored commit, from a revision or the beginning of its name."""
        names = [one.sha for one in self.store.commits()]
        if commit in names:
            return commit
        try:
            sha = resolve(commit, self.repository).sha
        except UsageError:
            sha = commit
        near = [name for name in names if name == sha or name.startswith(commit) or sha.startswith(name)]
        if len(near) != 1:
            some = enumerate_names(map(short_name, near or reversed(names)), 4)
            there = f": {some}" if near else f"; added last: {some}" if some else ", nor any other"
            raise UsageError(
                f"{self.store.where}: holds {'several commits' if near else 'no commit'} {commit}{there}"
            )
        return near[0]


def _is_there(store: str) -> bool:
    """Whether a readable store exists; an empty file does not count."""
    return Path(store).exists() and Path(store).stat().st_size > 0


def measurable(
    alarms: Sequence[HistoryAlarm], machine: str = "", facts: Mapping[str, str] | None = None
) -> list[HistoryAlarm]:
    """The alarms that can be measured again on a machine: this one, or the one given by name or facts.

    A slowdown on one machine may be none on another. Where none is left, whose they are is told.
    """
    if facts is None:
        from speedproof.measuring.system import snapshot

        facts = snapshot()
    kept = [alarm for alarm in alarms if _is_of(alarm, machine, facts)]
    if alarms and not kept:
        at, basis = alarms[0].bad.sha, alarms[0].track.basis
        here = machine or facts.get("cpu") or facts.get("host") or UNKNOWN
        raise UsageError(
            f"the alarm at {short_name(at)} is of the machine {basis}, not of {here}: measure it there; "
            "if both are one machine, add ",
            Parameter("machine", basis, f"machine {quote(basis)}"),
        )
    return kept


def _is_of(alarm: HistoryAlarm, machine: str, facts: Mapping[str, str]) -> bool:
    """Whether an alarm was raised on this machine; alarms on ratios to an anchor fit any machine."""
    basis = alarm.track.basis
    if alarm.track.anchored or machine:
        return alarm.track.anchored or machine == basis
    return basis == UNKNOWN or same_machine(basis, facts)
