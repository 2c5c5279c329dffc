"""Alarms of the newest commits: what a history shows of them, and what they show before there are enough."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from functools import partial
from itertools import pairwise
from shlex import quote

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.errors import UsageError
from speedproof.history.changes import LEFT, RISK, Change, find_history_changes, shown_by_sessions, undoings
from speedproof.history.commits import Commit, Followed, short_name
from speedproof.history.rows import DECIDED, Announced, StoredSeries, Triage, confirmed, remeasured, standing
from speedproof.history.tracks import NEAR, Track
from speedproof.options import deciding
from speedproof.stats.alarms import Alarm, all_alarms, newest_jump
from speedproof.stats.change_points import Levelled, change_pvalues, median, place_of_step

EVERY, LAST = 1000.0, 30
"""Commits between false alarms, and looked at for alarms, unless others are asked for."""
ASKED = 20.0
"""How many times as often as confirmed ones unconfirmed alarms may be false."""
# Of a change that a look at every commit shows, the p-value times the mean number of commits between false alarms
_SURE = 1.5
_BEGUN = 10  # values that tell to what height a level went first
_BACK = 5  # values that tell that it is over


class HistoryAlarm(Struct, frozen=True):
    """An alarm on a track.

    ``good`` is the last commit of the old level and ``bad`` the first one of the new by the best estimate,
    ``raised`` the commit that raised it, ``factor`` the new level over the old as far as it is known, ``ends``
    those of a drift. It is ``confirmed`` by enough commits, or by measuring again; else it asks for that.
    """

    track: Track
    good: Commit
    bad: Commit
    raised: Commit
    factor: float
    decision: Triage | None
    confirmed: bool = False
    undone: Commit | None = None  # as of a change, by what is confirmed
    # Its point, and the first and the last that the history leaves possible
    places: tuple[int, tuple[int, int]] = (0, (0, 0))
    ends: tuple[Commit, Commit] | None = None

    @property
    def drift(self) -> bool:
        """Whether the level changed gradually."""
        return self.ends is not None

    @property
    def possible(self) -> tuple[int, int]:
        """The first and the last point that the history leaves possible."""
        return self.places[1]

    @property
    def earliest(self) -> Commit:
        """The first commit that the history leaves possible; of a drift its beginning."""
        return self.ends[0] if self.ends else self.track.commit(self.possible[0])

    @property
    def latest(self) -> Commit:
        """The last one, or its end."""
        return self.ends[1] if self.ends else self.track.commit(self.possible[1])

    @property
    def compared(self) -> tuple[Commit, Commit]:
        """The commits that show it when they are measured again."""
        return self.ends or (self.good, self.bad)

    def concerned(self, by: Triage) -> bool:
        """Whether a decision refers to this alarm."""
        return self.track.concerned(by, *self.places)

    @property
    def announced(self) -> Announced:
        """The record of this alarm that is stored once a command was notified."""
        return Announced(self.confirmed, self.track.series, self.track.basis, self.bad.sha, self.factor)

    def announced_by(self, old: Announced) -> bool:
        """Whether this is an earlier announcement of the same alarm."""
        of = self.track.series, self.track.basis
        return (old.series, old.basis) == of and old.commit in self.track.near(*self.places)

    def exceeds(self, old: Announced) -> bool:
        """Whether it is more certain than announced, has the opposite direction, or is twice as large."""
        now, then = math.log(self.factor), math.log(old.factor)
        return self.confirmed > old.confirmed or now * then < 0.0 or abs(now) >= 2.0 * abs(then)

    def slower(self, series: StoredSeries) -> bool:
        """Whether it is a change for the worse."""
        return (self.factor > 1.0) != series.higher_is_better

    def again(self, series: StoredSeries, followed: Followed, digits: int = 40, *, named: bool = True) -> str:
        """The command that measures both commits again, without ``-- COMMAND``."""
        key = series.key
        benchmark = f" --benchmark {quote(key.benchmark)}" if named else ""
        commit = quote(short_name(self.bad.sha, digits))
        return f"speedproof history confirm {commit}{benchmark}{deciding(key.metric)}{followed.options}"

    def exported(self, series: StoredSeries, followed: Followed) -> ExportedAlarm:
        """The alarm in the form for other programs."""
        key = series.key
        return ExportedAlarm(
            key.benchmark, key.metric, self.track.basis, self.good.sha, self.bad.sha, self.raised.sha,
            self.factor, self.slower(series), self.drift, "confirmed" if self.confirmed else "unconfirmed",
            self.undone.sha if self.undone else None,
            self.again(series, followed),
            self.decision,
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
    undone: str | None
    confirm: str  # the command that measures it again and files that, but for '-- COMMAND'
    decided: Triage | None  # what, why, by whom and when


class ExportedAlarms(Struct, frozen=True):
    """Alarms as other programs read them; ``every`` is the mean number of commits between false confirmed ones."""

    store: str
    every: float
    last: int
    alarms: tuple[ExportedAlarm, ...]


def find_alarms(
    tracks: Sequence[Track],
    known: dict[int, StoredSeries],
    decisions: Sequence[Triage],
    *,
    every: float,
    last: int,
    shown: Sequence[Change] | None = None,
) -> tuple[HistoryAlarm, ...]:
    """Alarms that the last commits raised, the newest first.

    A track is watched from each change of its anchor on.

    Of S tracks each may raise a false alarm every S times as many commits, so that all together keep the mean.
    What the history shows is an alarm, confirmed where its own p-value is small enough for a look at every commit;
    so are the newest one or two values where they jump, at a higher rate. What old alarms explain is not searched
    again. ``shown`` are the changes, where they are known.
    """
    if not 0 < every < math.inf:
        raise UsageError(f"every={every:g}: expected a positive number of commits")
    mean = every * len(tracks)
    placed: list[tuple[int, HistoryAlarm]] = []
    fresh = [track for track in tracks if int(track.at[-1]) >= len(track.order) - last]
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
        stretch.keep(decisions, known[stretch.track.series])
    _leave_no_news(stretches)
    _date_news(stretches, mean)
    for stretch in stretches:
        track, start, level = stretch.track, stretch.start, stretch.level
        borders = stretch.raised(mean)
        raised, going_on = stretch.by_start, stretch.going_on
        drifts = {k: change for k, _, _, change in stretch.shown if change.drift}
        returns, bounds = _returns(level, borders, drifts), borders
        borders = sorted({*borders, *returns.values()})
        heights = [median(level[a:b]) for a, b in pairwise(borders)]
        steps = list(pairwise(heights))
        for since, change in drifts.items():
            if change.rise is not None:
                steps[borders.index(since) - 1] = change.rise.levels
        # What was undone stays so, though a drift follows
        begun = [
            (before, median(level[a : min(a + _BEGUN, b)]))
            for before, (a, b) in zip(heights, pairwise(borders[1:]), strict=False)
        ]
        unsure = {since for since, (_, sure) in raised.items() if not sure}
        by_sessions = shown_by_sessions(track, [start + border for border in bounds], mean)
        unsure |= {since for since in bounds[1:-1] if start + since not in by_sessions}
        for k, since in enumerate(borders[1:-1], 1):
            if since not in bounds:
                continue
            at_value, sure = raised.get(since, (since, False))
            news = since in raised and (at_value >= stretch.before or since in going_on)
            at = int(stretch.at[at_value])
            good, bad, raiser = (track.commit(start + k) for k in (since - 1, since, at_value))
            places = start + since, stretch.possible(since)
            concerned = partial(track.concerned, split=places[0], possible=places[1])
            key = known[track.series].key
            again = remeasured(key.metric, track.basis)
            said = standing(decisions, key.benchmark, concerned, measured=again, drift=since in drifts)
            settled = [d for d in said if d.state in DECIDED]
            sure &= since not in unsure | stretch.only_alone
            sure = confirmed(said) or (sure and not any(d.state == "refuted" for d in said))
            before, after = steps[k - 1]
            drift = drifts.get(since)
            factor = math.exp(after - before)
            back = {
                borders[j + 1] for later in (steps, begun) for j in undoings([*steps[:k], *later[k:]], k - 1)
            }
            back = (back - unsure) | ({returns[since]} if since in returns else set())
            undone = track.commit(start + min(back)) if back else None
            ends = (drift.earliest, drift.latest) if drift else None
            decision = settled[-1] if settled else None
            alarm = HistoryAlarm(track, good, bad, raiser, factor, decision, sure, undone, places, ends)
            if news:
                placed.append((at, alarm))
    placed.sort(key=lambda pair: (-pair[0], -abs(math.log(pair[1].factor))))
    return tuple(alarm for _, alarm in placed)


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
    open_ones = [a for a in alarms if a.confirmed and a.undone is None and a.decision is None]
    return tuple(a for a in open_ones if a.bad.sha not in near.get(id(a.track), ()))


def _returns(level: FloatArray, borders: Sequence[int], drifts: Container[int]) -> dict[int, int]:
    """Of new levels that are left, before the next one or today, their first value and that of the return."""
    returns: dict[int, int] = {}
    since = 0
    for start, end in pairwise(borders[1:]):
        before, since = median(level[since:start]), start
        if start in drifts:
            continue
        if (by_next := value_of_return(level[start:end], before)) is not None:
            since = returns[start] = start + by_next
        elif end < level.size and (today := value_of_return(level[start:], before)) is not None:
            # where a level begins already, if it does
            returns[start] = next((at for at in borders[:-1] if at >= start + today), end)
    return returns


def value_of_return(level: FloatArray, before: float) -> int | None:
    """From which value on those nearer to the level before are most in excess of the others, by five or more.

    Values at the new level whose chance to be nearer to the one before is p reach that with (p / (1 - p))**5 at
    most, as a gambler is ruined. In the same way those of a level between the two have left the new one, but undo
    nothing.
    """
    apart = median(level[:_BEGUN]) - before
    along = ((level - before) * apart)[::-1]
    nearer = along <= 0.5 * apart * apart
    if np.count_nonzero(nearer) < _BACK:
        return None
    excess = np.cumsum(np.where(nearer, 1, -1))
    most = int(excess.argmax())
    between = np.where(along[: most + 1] > LEFT * apart * apart, 1, -1).sum()
    back = excess[most] >= _BACK > between and most < level.size - 1
    return level.size - 1 - most if back else None


def _same(alarm: Alarm, alarms: Sequence[Alarm], k: int, low: int, high: int, up: bool) -> bool:
    """Whether an alarm has the direction and, within a range, the place of a change."""
    first, last = sorted((k, alarm.since))
    between = (other for other in alarms if first <= other.since <= last)
    return low <= alarm.since <= high and all(other.up == up for other in (alarm, *between))


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
        self.only_alone: set[int] = set()  # sure once the others are taken out, and not with them

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
            same = [
                k
                for k, low, high, change in self.shown
                if _same(alarm, alarms, k, low - NEAR, high + NEAR, change.factor > 1.0)
            ]
            since = min(same, key=lambda k: abs(k - alarm.since), default=alarm.since)
            self.by_start[since] = (max(alarm.raised, since), True)  # it accuses no commit to come

    def keep(self, decisions: Sequence[Triage], series: StoredSeries) -> None:
        """Keep alarms confirmed by measuring again, whatever the values show by themselves."""
        name, again = series.key.benchmark, remeasured(series.key.metric, self.track.basis)
        for sha in {d.commit for d in decisions if d.state == "confirmed" and d.benchmark == name}:
            said = standing([d for d in decisions if d.commit == sha], name, bool, measured=again)
            at = [k for k in range(1, self.level.size) if self.track.commit(self.start + k).sha == sha]
            if at and confirmed(said) and not self._near(sha):
                self.by_start[at[0]] = (at[0], True)

    def _near(self, sha: str) -> bool:
        """Whether a change may be at a commit."""
        places = ((self.start + since, self.possible(since)) for since in self.borders())
        return any(sha in self.track.near(*place) for place in places)

    def possible(self, since: int) -> tuple[int, int]:
        """Points of the track that the history leaves possible for a new level, between its neighbours."""
        low, high = {k: change.possible for k, _, _, change in self.shown}.get(
            since, (self.start + since, self.start + since)
        )
        borders = [-1, *self.borders(), self.level.size]
        k = bisect_left(borders, since)
        return max(low, self.start + borders[k - 1] + 1), min(high, self.start + borders[k + 1] - 1)

    def before_the_newest(self) -> tuple[list[int], FloatArray]:
        """Older changes that raised nothing; the values before the newest, a row a change, without the others."""
        old = [since for since, *_ in self.shown if since < self.before and since not in self.going_on]
        silent = [k for k, since in enumerate(old) if since not in self.by_start]
        rows = (
            Levelled(self.level[: self.before]).alone(old, silent) if silent else np.zeros((0, self.before))
        )
        return [old[k] for k in silent], rows

    def news(self) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """Of what only the history shows and is news: where, the values without all others, and without alarms."""
        splits, levelled = self.borders(), Levelled(self.level)
        old = {*self.by_start, *self.no_news}
        news = [k for k, since in enumerate(splits) if since not in old]
        if not news:
            return
        beside_alarms = self.level.copy()
        for since, (before, after) in zip(splits, pairwise(levelled.heights(splits)), strict=True):
            beside_alarms[since:] -= (after - before) * (since in self.by_start)
        for k, row in zip(news, levelled.alone(splits, news), strict=True):
            yield splits[k], row, beside_alarms

    @property
    def going_on(self) -> set[int]:
        """The starts of drifts that include the newest points."""
        return {since for since, _, high, change in self.shown if change.drift and high >= self.before}

    def borders(self) -> list[int]:
        """The starts of new levels, by alarms and by the history."""
        return sorted({*self.by_start, *(since for since, *_ in self.shown)})

    def raised(self, mean: float) -> list[int]:
        """All borders, with that of the newest jump, and both ends."""
        borders = [0, *self.borders()]
        level = self.level[borders[-1] :]
        newest = newest_jump(level, mean / ASKED)
        if newest is not None:  # the level may have begun before the values that jump
            sides = median(level[:newest]), median(level[newest:])
            borders.append(borders[-1] + place_of_step(level, 1, level.size - 1, *sides))
            self.by_start[borders[-1]] = (self.level.size - 1, False)
        return [*borders, self.level.size]


def _leave_no_news(stretches: Sequence[_Stretch]) -> None:
    """Remove what the history already showed before the newest points."""
    old = [(each, *of) for each in stretches for of in zip(*each.before_the_newest(), strict=True)]
    for (stretch, since, _), pvalue in zip(old, _pvalues([row for *_, row in old], RISK), strict=True):
        if pvalue <= RISK:
            stretch.no_news.add(since)


def _date_news(stretches: Sequence[_Stretch], mean: float) -> None:
    """With which of the newest points what only the history shows was shown first, by halves; whether surely.

    Where noise is taken for several changes, each is sure once the others are taken out: that undoes an alarm, and
    confirms none.
    """
    news = [(stretch, *each) for stretch in stretches for each in stretch.news()]
    first = [stretch.before for stretch, *_ in news]
    last = [stretch.level.size - 1 for stretch, *_ in news]
    at, alone, sure = last.copy(), [False] * len(news), [False] * len(news)
    asked = [*range(len(news))]
    while asked:  # from the newest back, as long as it was shown
        pvalues = _pvalues([news[i][2][: at[i] + 1] for i in asked], _SURE / mean)
        clear = [i for i, pvalue in zip(asked, pvalues, strict=True) if pvalue * mean <= _SURE]
        together = _pvalues([news[i][3][: at[i] + 1] for i in clear], _SURE / mean)
        for i, pvalue in zip(clear, together, strict=True):
            alone[i], sure[i] = True, pvalue * mean <= _SURE
        for i, pvalue in zip(asked, pvalues, strict=True):
            at[i] = at[i] - 1 if pvalue <= RISK else -1
        asked = [i for i in asked if not sure[i] and at[i] >= first[i]]
    while asked := [i for i, ends in enumerate(zip(first, last, strict=True)) if ends[0] < ends[1]]:
        middle = [(first[i] + last[i]) // 2 for i in asked]
        pvalues = _pvalues([news[i][2][: k + 1] for i, k in zip(asked, middle, strict=True)], RISK)
        for i, k, pvalue in zip(asked, middle, pvalues, strict=True):
            first[i], last[i] = (first[i], k) if pvalue <= RISK else (k + 1, last[i])
    for i, (stretch, since, *_) in enumerate(news):
        stretch.by_start[since] = (max(first[i], since), alone[i])
        if alone[i] and not sure[i]:
            stretch.only_alone.add(since)


def _pvalues(series: Sequence[FloatArray], enough: float) -> list[float]:
    """The p-values of changes in series of any lengths."""
    pvalues = np.ones(len(series))
    for size in {row.size for row in series}:
        alike = [i for i, row in enumerate(series) if row.size == size]
        pvalues[alike] = change_pvalues([series[i] for i in alike], enough=enough)
    return [*map(float, pvalues)]
