"""Alarms of the newest commits: what a history shows of them, and what they show before there are enough."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise
from shlex import quote

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.errors import UsageError
from speedproof.history.changes import RISK, Change, find_history_changes, undoings
from speedproof.history.commits import Commit, Followed, short_name
from speedproof.history.rows import DECIDED, StoredSeries, Triage, standing
from speedproof.history.tracks import NEAR, Track
from speedproof.options import deciding
from speedproof.stats.alarms import Alarm, all_alarms, newest_jump
from speedproof.stats.change_points import Levelled, median, place_of_step, show_changes

EVERY, LAST = 1000.0, 30
"""Commits between false alarms, and looked at for alarms, unless others are asked for."""
ASKED = 20.0
"""How many times as often as confirmed ones unconfirmed alarms may be false."""
# Of a change that a look at every commit shows, the p-value times the mean number of commits between false alarms
_SURE = 2.5


class HistoryAlarm(Struct, frozen=True):
    """An alarm on a track.

    ``good`` is the last commit of the old level and ``bad`` the first one of the new by the best estimate,
    ``raised`` the commit that raised it, ``factor`` the new level over the old as far as it is known, ``between``
    the number of commits after ``good`` up to ``bad``: of several, most were not measured; ``ends`` those of a
    drift. It is ``confirmed`` by enough commits, or by measuring again; else it asks for that.
    """

    track: Track
    good: Commit
    bad: Commit
    raised: Commit
    factor: float
    decision: Triage | None
    between: int = 1
    confirmed: bool = False
    undone: Commit | None = None  # as of a change, by what is confirmed
    # Its point, and the first and the last that the history leaves possible
    places: tuple[int, tuple[int, int]] = (0, (0, 0))
    ends: tuple[Commit, Commit] | None = None

    @property
    def drift(self) -> bool:
        """As of a change."""
        return self.ends is not None

    @property
    def compared(self) -> tuple[Commit, Commit]:
        """The commits that show it when they are measured again."""
        return self.ends or (self.good, self.bad)

    def concerned(self, by: Triage) -> bool:
        """Whether it is what was said something of."""
        return self.track.concerned(by, *self.places)

    def slower(self, series: StoredSeries) -> bool:
        """Whether it is for the worse, of its series."""
        return (self.factor > 1.0) != series.higher_is_better

    def confirmed_by(self, digits: int = 40, metric: str = "time") -> str:
        """The command that confirms it, or that finds the commit to blame where several may be."""
        good, bad = (short_name(commit.sha, digits) for commit in self.compared)
        if self.between > 1 and not self.drift:
            return f"speedproof bisect {good}..{bad}{deciding(metric)}"
        return f"speedproof run --revisions {good} {bad}{deciding(metric)}"

    def again(self, series: StoredSeries, followed: Followed, digits: int = 40, *, named: bool = True) -> str:
        """The command that measures it again and files that, but for ``-- COMMAND``."""
        key = series.key
        benchmark = f" --benchmark {quote(key.benchmark)}" if named else ""
        commit = quote(short_name(self.bad.sha, digits))
        return f"speedproof history confirm {commit}{benchmark}{deciding(key.metric)}{followed.options}"

    def exported(self, series: StoredSeries, followed: Followed) -> ExportedAlarm:
        """What other programs read of it, of its series."""
        key = series.key
        return ExportedAlarm(
            key.benchmark, key.metric, self.track.basis, self.good.sha, self.bad.sha, self.raised.sha,
            self.factor, self.slower(series), self.drift, "confirmed" if self.confirmed else "unconfirmed",
            self.decision.state if self.decision else None,
            self.undone.sha if self.undone else None,
            self.again(series, followed),
        )  # fmt: skip


class ExportedAlarm(Struct, frozen=True):
    """An alarm as other programs read it; see :class:`HistoryAlarm`."""

    benchmark: str
    metric: str
    basis: str
    good: str
    bad: str
    raised: str
    factor: float
    slower: bool
    drift: bool
    state: str  # confirmed, unconfirmed
    decision: str | None
    undone: str | None
    confirm: str  # the command that measures it again and files that, but for '-- COMMAND'


class ExportedAlarms(Struct, frozen=True):
    """Alarms as other programs read them; ``every`` is the mean number of commits between false confirmed ones."""

    store: str
    every: float
    last: int
    alarms: tuple[ExportedAlarm, ...]


class AlarmAnswer(Struct, frozen=True):
    """The alarms that the last commits raised."""

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
        """Whether it is for the worse."""
        return alarm.slower(self.known[alarm.track.series])

    @property
    def undecided(self) -> tuple[HistoryAlarm, ...]:
        """Slowdowns that stand, and that nobody has decided about."""
        return tuple(a for a in self.alarms if self.slower(a) and a.decision is None and a.undone is None)

    @property
    def confirmed(self) -> tuple[HistoryAlarm, ...]:
        """Those of the undecided that are confirmed."""
        return tuple(a for a in self.undecided if a.confirmed)

    def since(self, earlier: AlarmAnswer) -> tuple[HistoryAlarm, ...]:
        """The undecided of which earlier there was no alarm, or none that was as sure."""
        return tuple(
            alarm
            for alarm in self.undecided
            if not any(
                (old.track.series, old.track.basis) == (alarm.track.series, alarm.track.basis)
                and old.confirmed >= alarm.confirmed
                and old.bad.sha in alarm.track.near(*alarm.places)
                for old in earlier.alarms
            )
        )

    def exported(self) -> ExportedAlarms:
        """What other programs read."""
        alarms = tuple(a.exported(self.known[a.track.series], self.followed) for a in self.alarms)
        return ExportedAlarms(self.store, self.every, self.last, alarms)


def find_alarms(
    tracks: Sequence[Track],
    known: dict[int, StoredSeries],
    decisions: Sequence[Triage],
    *,
    every: float,
    last: int,
    line: Sequence[str] = (),
    only: Collection[int] | None = None,
    shown: Sequence[Change] | None = None,
) -> tuple[HistoryAlarm, ...]:
    """Alarms of the last commits; a track is watched from each change of its anchor on.

    Of S tracks each may raise a false alarm every S times as many commits, so that all together keep the mean.
    What the history shows is an alarm, confirmed where its own p-value is small enough for a look at every commit;
    so are the newest one or two values where they jump, at a higher rate. What old alarms explain is not searched
    again. ``line`` are all commits of the branch, measured or not; ``shown`` the changes, where they are known.
    Of ``only`` some series, by their numbers, the alarms are those that they have among all.
    """
    if not 0 < every < math.inf:
        raise UsageError(f"every={every:g}: expected a positive number of commits")
    if last < 1:
        raise UsageError(f"last={last}: expected a number of commits, at least 1")
    mean = every * len(tracks)
    placed: list[tuple[int, HistoryAlarm]] = []
    place = {sha: i for i, sha in enumerate(line)}
    asked = tracks if only is None else [track for track in tracks if track.series in only]
    fresh = [track for track in asked if int(track.at[-1]) >= len(track.order) - last]
    stretches = [_Stretch(track, last) for track in fresh]
    watched = all_alarms([stretch.level for stretch in stretches], mean)
    explained = {
        (id(stretch.track), stretch.start): stretch.explained(alarms, mean)
        for stretch, alarms in zip(stretches, watched, strict=True)
    }
    changes: dict[int, list[Change]] = {}
    for change in find_history_changes(tracks, explained=explained) if shown is None else shown:
        changes.setdefault(id(change.track), []).append(change)
    for stretch, alarms in zip(stretches, watched, strict=True):
        stretch.take(alarms, changes.get(id(stretch.track), ()))
    _leave_no_news(stretches)
    _date_news(stretches, mean)
    for stretch in stretches:
        track, start, level = stretch.track, stretch.start, stretch.level
        raised, borders = stretch.raised(mean)
        news = [each for each in raised if each[1] >= stretch.before]
        if not news:
            continue
        heights = [median(level[a:b]) for a, b in pairwise(borders)]
        steps = list(pairwise(heights))
        drifts = {k: change for k, _, _, change in stretch.shown if change.drift}
        for since, change in drifts.items():
            if change.rise is not None:
                steps[borders.index(since) - 1] = change.rise.levels
        unsure = {since for since, _, sure in raised if not sure}
        for since, at_value, sure in news:
            at = int(stretch.at[at_value])
            k = borders.index(since)
            good, bad, raiser = (track.commit(start + k) for k in (since - 1, since, at_value))
            places = start + since, stretch.possible(since)
            concerned = partial(track.concerned, split=places[0], possible=places[1])
            said = standing(decisions, known[track.series].key.benchmark, concerned)
            settled = [d for d in said if d.state in DECIDED]
            sure = sure or any(d.state == "confirmed" for d in said)
            before, after = steps[k - 1]
            factor = math.exp(after - before)
            back = (borders[j + 1] for j in undoings(steps, k - 1))
            undone = next((track.commit(start + end) for end in back if end not in unsure), None)
            drift = drifts.get(since)
            ends = (drift.earliest, drift.latest) if drift else None
            between = place[bad.sha] - place[good.sha] if {bad.sha, good.sha} <= place.keys() else 1
            decision = settled[-1] if settled else None
            alarm = HistoryAlarm(
                track, good, bad, raiser, factor, decision, between, sure, undone, places, ends
            )
            placed.append((at, alarm))
    return tuple(
        alarm for _, alarm in sorted(placed, key=lambda pair: (-pair[0], -abs(math.log(pair[1].factor))))
    )


def beyond_changes(
    tracks: Sequence[Track],
    known: dict[int, StoredSeries],
    decisions: Sequence[Triage],
    changes: Sequence[Change],
) -> tuple[HistoryAlarm, ...]:
    """Confirmed alarms, as they are usually asked for, that stand undecided and are of none of the changes."""
    alarms = find_alarms(tracks, known, decisions, every=EVERY, last=LAST, shown=changes)
    near: dict[int, set[str]] = {}
    for change in changes:
        near.setdefault(id(change.track), set()).update(change.track.near(change.points[1], change.possible))
    return tuple(
        alarm
        for alarm in alarms
        if alarm.confirmed
        and alarm.undone is None
        and alarm.decision is None
        and alarm.bad.sha not in near.get(id(alarm.track), ())
    )


class _Stretch:
    """The newest points of a track that share an anchor, and what raises alarms among them."""

    def __init__(self, track: Track, last: int) -> None:
        self.track = track
        self.start, end = track.stretches()[-1]
        self.level = track.level[self.start : end]
        self.at = track.at[track.starts[self.start : end]]
        self.before = int(np.searchsorted(self.at, len(track.order) - last))
        # Of what the history shows: first point of the new level, the first and last possible one
        self.shown: list[tuple[int, int, int, Change]] = []
        # Of each new level, by its first point: the point that raised it, whether it is confirmed
        self.by_start: dict[int, tuple[int, bool]] = {}
        self.no_news: set[int] = set()

    def explained(self, alarms: Sequence[Alarm], mean: float) -> list[int]:
        """Where alarms before the newest points raised them; nothing where those raise one, too."""
        old = [alarm.since for alarm in alarms if alarm.raised < self.before]
        quiet = (
            len(old) == len(alarms) and newest_jump(self.level[max(old, default=0) :], mean / ASKED) is None
        )
        return old if quiet else []

    def take(self, alarms: Sequence[Alarm], changes: Sequence[Change]) -> None:
        """What the history shows; what was raised as values came in, at the place that it shows."""
        for change in changes:
            commits = self.track.at[self.track.starts[[change.points[1], *change.possible]]]
            places = np.searchsorted(self.at, commits).tolist()
            if places[0] > 0 and max(places) < self.at.size and (self.at[places] == commits).all():
                self.shown.append((*places, change))
        for alarm in alarms:
            same = [k for k, low, high, _ in self.shown if low - NEAR <= alarm.since <= high + NEAR]
            since = min(same, key=lambda k: abs(k - alarm.since), default=alarm.since)
            self.by_start[since] = (max(alarm.raised, since), True)  # it accuses no commit to come

    def possible(self, since: int) -> tuple[int, int]:
        """Points of the track that the history leaves possible for a new level; without it the first one alone."""
        places = {k: change.possible for k, _, _, change in self.shown}
        return places.get(since, (self.start + since, self.start + since))

    def before_the_newest(self) -> tuple[list[int], FloatArray]:
        """Older changes that raised nothing; the values before the newest, a row a change, without the others."""
        old = [since for since, *_ in self.shown if since < self.before]
        silent = [k for k, since in enumerate(old) if since not in self.by_start]
        rows = (
            Levelled(self.level[: self.before]).alone(old, silent) if silent else np.zeros((0, self.before))
        )
        return [old[k] for k in silent], rows

    def news(self) -> Iterator[tuple[int, float, FloatArray]]:
        """Of what only the history shows and is news: where, its p-value, the values without other changes."""
        splits = [split for split, *_ in self.shown]
        for k, (since, _, _, change) in enumerate(self.shown):
            if since not in self.by_start and since not in self.no_news:
                yield since, change.pvalue, Levelled(self.level).alone(splits, [k])[0]

    def raised(self, mean: float) -> tuple[list[tuple[int, int, bool]], list[int]]:
        """The first point of each new level, the one that raised it, whether it is confirmed; all borders."""
        borders = sorted({0, *self.by_start, *(since for since, *_ in self.shown)})
        level = self.level[borders[-1] :]
        newest = newest_jump(level, mean / ASKED)
        if newest is not None:  # the level may have begun before the values that jump
            borders.append(
                borders[-1] + place_of_step(level, 1, level.size - 1, level[:newest], level[newest:])
            )
            self.by_start[borders[-1]] = (self.level.size - 1, False)
        return [(since, *how) for since, how in sorted(self.by_start.items())], [*borders, self.level.size]


def _leave_no_news(stretches: Sequence[_Stretch]) -> None:
    """What the history showed when it had the points before the newest is no news."""
    asked: dict[int, list[tuple[_Stretch, int, FloatArray]]] = {}
    for stretch in stretches:
        for since, row in zip(*stretch.before_the_newest(), strict=True):
            asked.setdefault(stretch.before, []).append((stretch, since, row))
    for several in asked.values():
        shown = show_changes(np.array([row for *_, row in several]), RISK).tolist()
        for (stretch, since, _), known in zip(several, shown, strict=True):
            if known:
                stretch.no_news.add(since)


def _date_news(stretches: Sequence[_Stretch], mean: float) -> None:
    """With which of the newest points what only the history shows was first shown: by halves, for all at once."""
    news = [(stretch, *each) for stretch in stretches for each in stretch.news()]
    first = [stretch.before for stretch, *_ in news]
    last = [stretch.level.size - 1 for stretch, *_ in news]
    while True:
        asked: dict[int, list[int]] = {}
        for i, (low, high) in enumerate(zip(first, last, strict=True)):
            if low < high:
                asked.setdefault((low + high) // 2, []).append(i)
        if not asked:
            break
        for at, several in asked.items():
            shown = show_changes(np.array([news[i][3][: at + 1] for i in several]), RISK).tolist()
            for i, known in zip(several, shown, strict=True):
                first[i], last[i] = (first[i], at) if known else (at + 1, last[i])
    for (stretch, since, pvalue, _), at in zip(news, first, strict=True):
        stretch.by_start[since] = (max(at, since), pvalue * mean <= _SURE)
