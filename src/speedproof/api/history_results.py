"""What a history answers, as something that prints itself."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from speedproof.history.alarms import AlarmAnswer
from speedproof.history.alarms import HistoryAlarm as HistoryAlarm
from speedproof.history.result import HistoryAnswer
from speedproof.reporting.history import alarm_report, overview
from speedproof.reporting.model import Report, to_json
from speedproof.reporting.shown import Shown


class HistoryResult(HistoryAnswer, Shown, Struct, frozen=True):
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

    def reports(self, *, everything: bool = False) -> Iterable[Report]:
        """The result in words, for every format."""
        return [overview(self, everything=everything)]

    def to_json(self) -> str:
        """What ``speedproof history --json`` writes of it."""
        return to_json("history", [self.exported()])

    def __repr__(self) -> str:
        return f"<HistoryResult: {len(self.changes)} changes in {self.measured} commits>"


class AlarmResult(AlarmAnswer, Shown, Struct, frozen=True):
    """The alarms that the last commits raised. ``print`` shows what ``speedproof history watch`` shows."""

    def reports(self, *, everything: bool = False) -> Iterable[Report]:
        """The result in words, for every format."""
        return [alarm_report(self, everything=everything)]

    def to_json(self) -> str:
        """What ``speedproof history watch --json`` writes of it."""
        return to_json("history", [self.exported()])

    def __repr__(self) -> str:
        return f"<AlarmResult: {len(self.alarms)} alarms in the last {self.last} of {self.commits} commits>"
