"""What is followed over time: a value a commit, comparable along one track.

Where sessions measured an anchor (a release, say) beside the commit, the value is the logarithm of their ratio,
which does not change with the machine; tracks of several anchors are joined through the sessions that measured
two of them. Without an anchor each machine has a track of its own. There a session that measured several commits
tells their ratios: the level of the machine in that session is taken off (:func:`levels_of_sessions`). It is known
with an error, or not at all, so that sessions have to show a change, too (:meth:`Track.by_session`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct, field
from msgspec.structs import force_setattr

from speedproof.arrays import BoolArray, FloatArray, IntArray
from speedproof.history.commits import Commit
from speedproof.history.rows import Measurements, Triage


class Point(Struct, frozen=True):
    """A commit on a track."""

    commit: Commit  # which
    values: tuple[float, ...]  # one a session: the logarithm of the location, or of its ratio to the anchor
    samples: tuple[int, ...]  # the stored samples behind them
    anchor: str = ""  # the anchor that was measured beside it; empty without one
    # Logarithms of the bounds at 95 %: of the median of its only session, or of all its sessions together;
    # NaN where the values are too few
    low: float = math.nan
    high: float = math.nan

    @property
    def value(self) -> float:
        """The mean over its sessions."""
        return math.fsum(self.values) / len(self.values)


NEAR = 2
"""Commits by which the place of a change may be off."""
_ALONE = -1  # a session of one commit


class Track(Struct, frozen=True, eq=False):
    """The history of one series that can be compared along itself: a column an attribute, a row a session."""

    series: int  # number of the series in the store
    basis: str  # the anchor that values are relative to, or the machine that they were measured on
    anchored: bool  # which of both
    order: Sequence[Commit]  # all commits that are followed
    at: IntArray  # place in `order` of every row, ascending
    # Logarithms of the location, or of its ratio to the anchor, and of its bounds
    values: FloatArray
    low: FloatArray
    high: FloatArray
    samples: IntArray  # the stored samples
    beside: IntArray  # place in `anchors` of the anchor that was measured beside it; 0 without one
    anchors: tuple[str, ...] = ("",)  # names of the anchors; one empty name without any
    # Of every anchor the standard error of its level relative to the basis; infinite where one session alone
    # joins them
    errors: FloatArray = field(default_factory=lambda: np.zeros(1))
    degrees: int = 0  # degrees of freedom of these errors
    # Of every row the session, where that measured several commits; empty where none did
    session: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    # Found of these: the first row of every point, a commit beside one anchor; the mean over its sessions
    starts: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    level: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        starts, level = _arange(self.at.size), self.values
        again = self.at[1:] == self.at[:-1]
        if again.any():
            again &= self.beside[1:] == self.beside[:-1]
            starts = np.flatnonzero(np.concatenate([[True], ~again]))
            level = np.add.reduceat(self.values, starts) / np.diff(starts, append=self.at.size)
        force_setattr(self, "starts", starts)
        force_setattr(self, "level", level)

    def __len__(self) -> int:
        return int(self.starts.size)

    def rows(self, start: int, end: int) -> slice:
        """The rows that belong to a range of points."""
        return slice(
            int(self.starts[start]), int(self.starts[end]) if end < self.starts.size else self.at.size
        )

    def commit(self, k: int) -> Commit:
        """The commit of a point."""
        return self.order[int(self.at[self.starts[k]])]

    def concerned(self, by: Triage, split: int, possible: tuple[int, int]) -> bool:
        """Whether a decision refers to a change at this point: to its commit or one close to it.

        As more is measured, a change may be found at one of them. What was said of its benchmark alone is of it
        wherever it may be: of a drift at any of its commits.
        """
        return by.commit in self.near(split, possible if by.benchmark else (split, split))

    def near(self, split: int, possible: tuple[int, int]) -> set[str]:
        """The commits at which the change may be located once more is measured."""
        low, at, high = (int(self.at[self.starts[k]]) for k in (possible[0], split, possible[1]))
        near = slice(max(min(low, at - NEAR), 0), max(high, at + NEAR) + 1)
        return {commit.sha for commit in self.order[near]}

    def by_session(self, start: int, end: int) -> list[FloatArray]:
        """Of points from one to before another: a value a session, in order, and the values of each of several.

        Empty where all sessions measured one commit.
        """
        rows = self.rows(start, end)
        at, value, session = self.at[rows], self.values[rows], self.session[rows]
        several = [np.flatnonzero(session == one) for one in np.unique(session[session != _ALONE])]
        if not several:
            return []
        alone = [np.array([row]) for row in np.flatnonzero(session == _ALONE)]
        each = sorted([*alone, *several], key=lambda of: float(at[of].mean()))
        return [np.array([value[of].mean() for of in each]), *(value[of] for of in several)]

    def joint_error(self, split: int) -> float:
        """The standard error of the joint between two neighbouring points."""
        return max(float(self.errors[self.beside[self.starts[k]]]) for k in (split - 1, split))

    def stretches(self) -> tuple[tuple[int, int], ...]:
        """Start and end of the stretches of points that share an anchor; no joint lies within one."""
        if len(self.anchors) == 1:
            return ((0, len(self)),)
        beside = self.beside[self.starts]
        joints = (np.flatnonzero(beside[1:] != beside[:-1]) + 1).tolist()
        return tuple(zip([0, *joints], [*joints, len(self)], strict=True))

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The bounds of every point, see :class:`Point`."""
        if self.starts.size == self.at.size:
            return self.low, self.high
        return np.fmin.reduceat(self.low, self.starts), np.fmax.reduceat(self.high, self.starts)

    def points(self, start: int = 0) -> Iterator[Point]:
        """The points from one on, in order."""
        low, high = self.bounds()
        for k in range(start, len(self)):
            rows = self.rows(k, k + 1)
            yield Point(
                self.commit(k),
                tuple(self.values[rows].tolist()),
                tuple(self.samples[rows].tolist()),
                self.anchors[int(self.beside[rows.start])],
                float(low[k]),
                float(high[k]),
            )


def tracks_of(
    measured: Measurements, order: Sequence[Commit], machines: Mapping[int, str]
) -> tuple[Track, ...]:
    """The tracks of all series among measurements, along commits in order.

    Locations that are not positive have no logarithm and are left out. Of a series the anchored tracks come first.
    """
    usable = measured
    if not (measured.location > 0).all() or (np.diff(measured.series) < 0).any():
        usable = measured.where(measured.location > 0)
        usable = usable.where(np.argsort(usable.series, kind="stable"))
    place = {commit.sha: i for i, commit in enumerate(order)}
    places = np.array([place.get(commit.sha, -1) for commit in usable.commits], dtype=np.int64)
    here, values = places[usable.commit], np.log(usable.location)
    lows, highs = _log(usable.low), _log(usable.high)
    same = usable.series[1:] == usable.series[:-1]
    several, falls = usable.anchor | (here < 0), np.zeros(len(usable), dtype=np.bool_)
    several[1:] |= same & (usable.machine[1:] != usable.machine[:-1])
    falls[1:] = same & (here[1:] < here[:-1])
    starts = np.flatnonzero(np.diff(usable.series, prepend=-1))
    ends = [*starts[1:].tolist(), len(usable)]
    of_series = (np.logical_or.reduceat(flags, starts).tolist() for flags in (several, falls))
    tracks: list[Track] = []
    for start, end, parted, unsorted in zip(starts.tolist(), ends, *of_series, strict=False):
        rows: slice | IntArray = slice(start, end)
        if unsorted and not parted:
            rows = start + np.argsort(here[rows], kind="stable")
        at, value, low, high = here[rows], values[rows], lows[rows], highs[rows]
        if parted:
            tracks += _of_series(
                usable.where(rows), at, value.copy(), low.copy(), high.copy(), order, machines
            )
        else:
            number, basis = int(usable.series[start]), machines[int(usable.machine[start])]
            columns = value, low, high, usable.sample[rows], usable.session[rows]
            tracks.append(_on_machine(number, basis, order, at, *columns))
    return tuple(tracks)


def _of_series(
    measured: Measurements,
    here: IntArray,
    value: FloatArray,
    low: FloatArray,
    high: FloatArray,
    order: Sequence[Commit],
    machines: Mapping[int, str],
) -> Iterator[Track]:
    levels = _levels(measured)
    beside = np.full(len(measured), -1)
    if levels.names:
        sitting = {int(s): i for i, s in enumerate(measured.session) if measured.anchor[i]}
        at = np.array([sitting.get(int(s), -1) for s in measured.session])
        has = at >= 0
        name = np.array(
            [levels.names.index(measured.commits[c].sha) for c in measured.commit[at[has]]], dtype=np.int64
        )
        beside[has] = name
        # A ratio is as uncertain as both: half widths add in squares.
        of, to = np.flatnonzero(has), at[has]
        ratio = value[of] - value[to]
        down = np.hypot(value[of] - low[of], high[to] - value[to])
        up = np.hypot(high[of] - value[of], value[to] - low[to])
        value[of] = ratio + levels.level[name]
        low[of], high[of] = value[of] - down, value[of] + up
    kept = (here >= 0) & ~measured.anchor
    root = levels.root[beside] if levels.names else beside
    groups = {
        (False, machines[host], host, -1): kept & (beside < 0) & (measured.machine == host)
        for host in set(measured.machine[kept & (beside < 0)].tolist())
    } | {
        (True, levels.names[r], -1, r): kept & (beside >= 0) & (root == r)
        for r in set(root[kept & (beside >= 0)].tolist())
    }
    for (anchored, basis, *_), mask in sorted(groups.items(), key=lambda item: (not item[0][0], item[0][1])):
        rows = np.flatnonzero(mask)
        rows = rows[np.lexsort((beside[rows], here[rows]))]
        number, columns = int(measured.series[0]), (here[rows], value[rows], low[rows], high[rows])
        sample = measured.sample[rows]
        if anchored:
            anchors = beside[rows], levels.names, levels.error, levels.degrees
            session = _of_several(
                here[rows], measured.session[rows]
            )  # they share the error of their anchor's value
            yield Track(number, basis, True, order, *columns, sample, *anchors, session)
        else:
            yield _on_machine(number, basis, order, *columns, sample, measured.session[rows])


def _on_machine(
    number: int,
    basis: str,
    order: Sequence[Commit],
    at: IntArray,
    value: FloatArray,
    low: FloatArray,
    high: FloatArray,
    sample: IntArray,
    session: IntArray,
) -> Track:
    """The track of values without an anchor."""
    session = _of_several(at, session)
    if not session.size:
        return Track(number, basis, False, order, at, value, low, high, sample, _zeros(at.size))
    above, kept, session = levels_of_sessions(at, session, value)
    value, low, high = ((column - above)[kept] for column in (value, low, high))
    at, sample, session = (column[kept] for column in (at, sample, session))
    return Track(number, basis, False, order, at, value, low, high, sample, _zeros(at.size), session=session)


def _of_several(at: IntArray, session: IntArray) -> IntArray:
    """The session of each row if it measured several commits; empty if no session did."""
    if (session[1:] > session[:-1]).all():  # as most are: each another
        return np.zeros(0, np.int64)
    of = np.unique(session, return_inverse=True)[1]
    size = int(at.max(initial=0)) + 1
    several = np.bincount(np.unique(of * size + at) // size)[of] > 1
    return np.where(several, session, _ALONE) if several.any() else np.zeros(0, np.int64)


def levels_of_sessions(
    at: IntArray, session: IntArray, value: FloatArray
) -> tuple[FloatArray, BoolArray, IntArray]:
    """By how much logarithms lie above those of sessions of one commit (-1); which count; whose level they have.

    Of a session of several commits the mean at the commits of both, but for its newest, which is on trial. One
    that measures only what others had measured before, an alarm again, is held against these where no commit was
    measured alone: the machine may have another speed by then, and were that pooled, what is measured again would
    differ from its neighbours. The older commits of any other count where no session has them alone or as its
    newest: were each commit measured with the one before it, a slow day would be of both.
    """
    size, (_, number) = int(at.max(initial=0)) + 1, np.unique(session, return_inverse=True)
    newest, first = np.zeros(number.size, np.int64), np.full(size, np.iinfo(np.int64).max)
    np.maximum.at(newest, number, at)
    alone = session == _ALONE
    np.minimum.at(first, at[~alone], session[~alone])
    by_one = np.bincount(at[alone], minlength=size)[at] > 0
    new = ~by_one & (first[at] == session)
    again = ~alone & (np.bincount(number[new], minlength=number.size)[number] == 0)
    base = np.where(by_one, alone, ~again)
    level = np.bincount(at[base], value[base], size)[at] / np.bincount(at[base], minlength=size)[at]
    both = ~alone & (at < newest[number]) & (by_one | again)
    shared = np.bincount(number[both], minlength=number.size)
    above = np.bincount(number[both], (value - level)[both], number.size) / np.maximum(shared, 1)
    on_trial = alone | (~again & (at == newest[number]))
    kept = again | on_trial | (np.bincount(at[on_trial], minlength=size)[at] == 0)
    return above[number], kept, np.where(again, first[at], session)


def measured_commits(tracks: Sequence[Track]) -> int:
    """How many commits have a value on any of these tracks."""
    seen = np.zeros(len(tracks[0].order) if tracks else 0, dtype=np.bool_)
    for track in tracks:
        seen[track.at] = True
    return int(seen.sum())


@lru_cache(maxsize=64)
def _arange(n: int) -> IntArray:
    """The integers below n, read-only, to be shared by many tracks."""
    numbers = np.arange(n)
    numbers.flags.writeable = False
    return numbers


@lru_cache(maxsize=64)
def _zeros(n: int) -> IntArray:
    """Zeros that share the memory of one."""
    return np.broadcast_to(np.zeros(1, dtype=np.int64), n)


def _log(values: FloatArray) -> FloatArray:
    """The logarithm; NaN for what has none."""
    logs: FloatArray = np.log(values, out=np.full(values.shape, np.nan), where=values > 0.0)
    return logs


class _Levels(Struct, frozen=True):
    """For each anchor the root of its group, its logarithm relative to the root, and the standard error."""

    names: tuple[str, ...]
    root: IntArray
    level: FloatArray
    error: FloatArray
    degrees: int


def _levels(measured: Measurements) -> _Levels:
    """Estimate the levels of the anchors relative to each other.

    Every session that measured two of the anchors says how they differ; the levels are the least squares over
    all of them, the first anchor of each connected group being its root.
    """
    anchors = {int(measured.session[i]): int(i) for i in np.flatnonzero(measured.anchor)}
    names = tuple(dict.fromkeys(measured.commits[measured.commit[i]].sha for i in anchors.values()))
    number = {sha: i for i, sha in enumerate(names)}
    if not names:
        return _Levels((), np.zeros(0, np.int64), np.zeros(0), np.zeros(0), 0)
    of_commit = np.array([number.get(commit.sha, -1) for commit in measured.commits])
    differences = [
        (
            of_commit[measured.commit[a]],
            of_commit[measured.commit[i]],
            math.log(measured.location[i] / measured.location[a]),
        )
        for i in np.flatnonzero(of_commit[measured.commit] >= 0)
        if (a := anchors.get(int(measured.session[i]))) is not None
        and measured.commit[a] != measured.commit[i]
    ]
    root = np.arange(len(names))
    for _ in names:  # the smallest number of a group reaches all of it
        for a, b, _ratio in differences:
            root[a] = root[b] = min(root[a], root[b])
    free = np.flatnonzero(root != np.arange(len(names)))
    column = {int(i): k for k, i in enumerate(free)}
    design = np.zeros((len(differences), free.size))
    for row, (a, b, _ratio) in enumerate(differences):
        for i, sign in ((int(b), 1.0), (int(a), -1.0)):
            if i in column:
                design[row, column[i]] = sign
    ratios = np.array([ratio for _, _, ratio in differences])
    level, error = np.zeros(len(names)), np.zeros(len(names))
    degrees = len(differences) - free.size
    if free.size:
        level[free] = np.linalg.lstsq(design, ratios, rcond=None)[0]
        error[free] = math.inf
        if degrees > 0:
            variance = float(np.square(ratios - design @ level[free]).sum()) / degrees
            error[free] = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    return _Levels(names, root, level, error, degrees)
