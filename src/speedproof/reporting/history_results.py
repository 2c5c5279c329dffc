"""What a history answers: tracks, changes, what people said of them, changes by commit; alarms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from speedproof.history.alarms import EVERY, LAST, ExportedAlarm, ExportedAlarms, find_alarms
from speedproof.history.alarms import HistoryAlarm as HistoryAlarm
from speedproof.history.changes import Change, Correction, least_commits, least_step
from speedproof.history.commits import Commit, Followed
from speedproof.history.rows import DECIDED, Announced, StoredSeries, Triage, remeasured, standing
from speedproof.history.tracks import Track, measured_commits
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.reporting.model import Report
from speedproof.reporting.numbers import plural
from speedproof.reporting.shown import Shown

STANDS = "stands"


class ExportedChange(Struct, frozen=True):
    """A change as other programs read it; the fields are those of :class:`~speedproof.history.changes.Change`.

    ``basis`` is the machine or the anchor that values are relative to, ``decided`` what somebody said of it, why
    and when, ``state`` that in a word or, where nobody decided, whether it stands or is undone.
    """

    benchmark: str
    metric: str
    basis: str
    commit: str
    subject: str
    earliest: str
    latest: str
    factor: float
    low: float
    high: float
    slower: bool
    sessions: tuple[int, int]
    drift: bool
    today: float
    undone: str | None
    state: str
    assigned: str | None
    decided: Triage | None


class ExportedHistory(Struct, frozen=True):
    """A history as other programs read it: its changes, at one confidence for all of them.

    ``alarms`` are those that the watch confirms at its own risk and that are of none of the changes.
    """

    store: str
    confidence: float
    commits: int
    benchmarks: int
    changes: tuple[ExportedChange, ...]
    alarms: tuple[ExportedAlarm, ...]


class HistoryResult(Shown, Struct, frozen=True):
    """What a history shows. ``print`` shows what ``speedproof history`` shows.

    Attributes
    ----------
    store : str
        Where it is kept.
    confidence : float
        Of the changes, all together.
    commits : tuple of Commit
        Those followed, in order.
    series : dict of int to StoredSeries
        By their numbers in the tracks.
    tracks : tuple of Track
        Everything that was followed.
    changes : tuple of Change
        What is shown, without what somebody called noise.
    decisions : tuple of Triage
        What people said of changes.
    noise : NoiseFloor or None
        How much sessions of one commit differ.
    alarms : tuple of HistoryAlarm
        What :meth:`History.alarms` confirms, at its own risk, and none of the changes shows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import speedproof as sp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     history = sp.History(Path(folder, "speedproof.db"), repository=folder)
    ...     file = Path(folder, "run.txt")
    ...     _ = file.write_text("10.1 10.3 9.9")
    ...     _ = history.add(file, commit="3f2a9c1", benchmark="sort", unit="ms")
    ...     found = history.changes()
    >>> [commit.sha for commit in found.commits], found.changes
    (['3f2a9c1'], ())
    """

    command = "history"
    store: str
    confidence: float
    commits: tuple[Commit, ...]
    series: dict[int, StoredSeries]
    tracks: tuple[Track, ...]
    changes: tuple[Change, ...]
    decisions: tuple[Triage, ...]
    noise: NoiseFloor | None
    alarms: tuple[HistoryAlarm, ...] = ()
    followed: Followed = Followed()
    correction: Correction = "holm"

    @property
    def measured(self) -> int:
        """The number of commits with a measurement."""
        return measured_commits(self.tracks)

    def said(self, change: Change) -> list[Triage]:
        """The standing decisions on a change."""
        key = self.series[change.track.series].key
        again = remeasured(key.metric, change.track.basis)
        return standing(self.decisions, key.benchmark, change.concerned, measured=again, drift=change.drift)

    @property
    def watched(self) -> tuple[HistoryAlarm, ...]:
        """Every alarm of the last commits, as they are usually asked for."""
        return find_alarms(
            self.tracks, self.series, self.decisions, every=EVERY, last=LAST, shown=self.changes
        )

    @property
    def least_commits(self) -> int:
        """Fewest commits of a benchmark on a machine of which any may show a change."""
        return least_commits(self.tracks, 1.0 - self.confidence, self.correction)

    @property
    def least_step(self) -> float | None:
        """The least step that a typical benchmark would show in its middle third; None if over a doubling."""
        return least_step(self.tracks, 1.0 - self.confidence)

    def told(self, group: CommitChanges) -> list[Triage]:
        """The decisions at a commit, or on its changes at a neighbouring one."""
        of_changes = {id(said) for change in group.changes for said in self.said(change)}
        return [d for d in self.decisions if d.commit == group.commit.sha or id(d) in of_changes]

    def decision(self, change: Change) -> Triage | None:
        """The latest decision on a change."""
        return next((d for d in reversed(self.said(change)) if d.state in DECIDED), None)

    def assigned(self, change: Change) -> str | None:
        """The person to whom a change is assigned."""
        return next((d.reason for d in reversed(self.said(change)) if d.state == "assigned"), None)

    def state(self, change: Change) -> str:
        """The decision on a change, or else whether it stands or is undone."""
        said = self.decision(change)
        return said.state if said else "undone" if change.undone else STANDS

    def slower(self, change: Change | HistoryAlarm) -> bool:
        """Whether a change is for the worse."""
        return (change.factor > 1.0) != self.series[change.track.series].higher_is_better

    def reports(self, *, everything: bool = False) -> Iterable[Report]:
        """The result in words, for every format."""
        from speedproof.reporting.history import overview

        return [overview(self, everything=everything)]

    def __repr__(self) -> str:
        return f"<HistoryResult: {plural(len(self.changes), 'change')} in {plural(self.measured, 'commit')}>"

    def exported(self) -> ExportedHistory:
        """The result in the form for other programs."""
        benchmarks, changes = len({track.series for track in self.tracks}), map(self._exported, self.changes)
        alarms = (a.exported(self.series[a.track.series], self.followed) for a in self.alarms)
        about = (self.store, self.confidence, self.measured, benchmarks)
        return ExportedHistory(*about, tuple(changes), tuple(alarms))

    def _exported(self, change: Change) -> ExportedChange:
        key = self.series[change.track.series].key
        said = self.decision(change)
        of = (key.benchmark, key.metric, change.track.basis)
        since = (change.commit.sha, change.commit.subject, change.earliest.sha, change.latest.sha)
        size = (change.factor, *change.bounds, self.slower(change), change.sessions, change.drift)
        now = (change.today, change.undone.sha if change.undone else None)
        decided = (self.state(change), self.assigned(change), said)
        row = (*of, *since, *size, *now, *decided)
        return ExportedChange(*row)


class CommitChanges(Struct, frozen=True):
    """The changes of a commit, the largest first."""

    commit: Commit
    changes: tuple[Change, ...]
    stands: bool  # whether one of them is neither undone nor decided


def by_commit(result: HistoryResult) -> tuple[CommitChanges, ...]:
    """Commits with changes: those that still stand first, the newest first."""
    by_sha: dict[str, list[Change]] = {}
    for change in sorted(result.changes, key=lambda change: -abs(math.log(change.factor))):
        by_sha.setdefault(change.commit.sha, []).append(change)
    order = {commit.sha: i for i, commit in enumerate(result.commits)}
    groups = [
        CommitChanges(some[0].commit, tuple(some), any(result.state(c) == STANDS for c in some))
        for some in by_sha.values()
    ]
    return tuple(sorted(groups, key=lambda group: (group.stands, order[group.commit.sha]), reverse=True))


class AlarmResult(Shown, Struct, frozen=True):
    """The alarms that the last commits raised. ``print`` shows what ``speedproof history watch`` shows."""

    command = "history"
    store: str  # where the history is kept
    every: float  # mean number of commits between false confirmed alarms, over all benchmarks together
    last: int  # how many commits were looked at for an alarm
    # How many were watched; commits without a value do not count
    commits: int
    series: int
    known: dict[int, StoredSeries]  # by their numbers in the tracks
    alarms: tuple[HistoryAlarm, ...]  # the newest first
    followed: Followed = Followed()

    def slower(self, alarm: HistoryAlarm) -> bool:
        """Whether an alarm is for the worse."""
        return alarm.slower(self.known[alarm.track.series])

    @property
    def undecided(self) -> tuple[HistoryAlarm, ...]:
        """Slowdowns that stand and on which nobody has decided."""
        return tuple(a for a in self.alarms if self.slower(a) and a.decision is None and a.undone is None)

    @property
    def confirmed(self) -> tuple[HistoryAlarm, ...]:
        """The undecided alarms that are confirmed."""
        return tuple(a for a in self.undecided if a.confirmed)

    def news(self, announced: Sequence[Announced]) -> tuple[HistoryAlarm, ...]:
        """The undecided alarms that exceed what was announced before."""
        return tuple(
            alarm
            for alarm in self.undecided
            if not (earlier := [*filter(alarm.announced_by, announced)]) or alarm.exceeds(earlier[-1])
        )

    def exported(self) -> ExportedAlarms:
        """The result in the form for other programs."""
        alarms = tuple(a.exported(self.known[a.track.series], self.followed) for a in self.alarms)
        return ExportedAlarms(self.store, self.every, self.last, alarms)

    def reports(self, *, everything: bool = False) -> Iterable[Report]:
        """The result in words, for every format."""
        from speedproof.reporting.history import alarm_report

        return [alarm_report(self, everything=everything)]

    def __repr__(self) -> str:
        alarms, commits = plural(len(self.alarms), "alarm"), plural(self.commits, "commit")
        return f"<AlarmResult: {alarms} in the last {self.last} of {commits}>"
