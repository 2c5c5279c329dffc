"""Changes over a whole history: which tracks changed, after which commits, by how much, at one risk for all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, pairwise
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.history.commits import Commit
from speedproof.history.rows import Triage
from speedproof.history.tracks import Track
from speedproof.stats.alarms import alarms
from speedproof.stats.change_points import (
    Levelled,
    Rise,
    all_changes,
    change_pvalues,
    fitted_rise,
    median,
    noise,
    show_changes,
    widening,
)
from speedproof.stats.multiplicity import benjamini_hochberg, holm
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.special import t_ppf, t_sf
from speedproof.stats.two_levels import LEAST

RISK = 0.05
"""The probability that a change is shown in a history without any."""
LEFT = 0.25
"""The share of a step that may remain when it counts as undone."""
_NEAR = 30  # points on each side of a joint that tell the levels there
_SEARCHED = 4.0  # times the risk, the p-value of what may show a change when it is searched
_DIGITS = 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0
_STEPS = (*(digits / 10**places for places in (3, 2, 1) for digits in _DIGITS), 1.0)
_Place = tuple[int, int, int, float, bool]  # best, first and last split, p-value, whether it is a drift
Correction = Literal["holm", "bh"]


class Change(Struct, frozen=True):
    """A change of level on a track."""

    track: Track  # where
    commit: Commit  # the first commit of the new level, by the best estimate
    # The first and the last commit that the data leave possible, at the stated confidence; of a drift its ends
    earliest: Commit
    latest: Commit
    factor: float  # level after over level before, of a drift at its ends: above 1 the location grew
    pvalue: float  # of the place, between its neighbours
    sessions: tuple[int, int]  # number of sessions before and after, up to the neighbouring changes
    today: float = math.nan  # the newest level over the level before it
    undone: Commit | None = None  # the first commit of a later level that is nearer to the one before by far
    # What its bounds are made of: the points from one to before another around the split, risk, error of a joint
    points: tuple[int, int, int] = (0, 0, 0)
    possible: tuple[int, int] = (0, 0)  # the first and the last point that it may be at
    alpha: float = RISK
    widened: float = 1.0
    shown_by_sessions: bool = True  # beside what commits show
    rise: Rise | None = None  # of a drift: of the logarithms of its points

    @property
    def drift(self) -> bool:
        """Whether the level changed gradually, between the earliest and the latest commit."""
        return self.rise is not None

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the factor, each at risk alpha; NaN where a side has too few sessions."""
        if self.rise is not None:
            return math.exp(self.rise.low), math.exp(self.rise.high)
        start, split, end = self.points
        before, after = (
            np.exp(self.track.values[self.track.rows(*of)] - self.track.level[0])
            for of in ((start, split), (split, end))
        )
        left = Levelled(np.log(np.concatenate([before, after]))).without([before.size])
        _, rho = noise(left, [before.size])
        interval = ratio_of_medians(after, before, self.alpha)  # takes values as independent
        ends = float(interval.low), float(interval.high)
        at = min(max(self.factor, ends[0]), ends[1])  # medians of two levels may lie beyond
        low, high = (at * (end / at) ** widening(rho) for end in ends)
        return low / self.widened, high * self.widened

    def concerned(self, by: Triage) -> bool:
        """Whether a decision refers to this change."""
        return self.track.concerned(by, self.points[1], self.possible)

    @property
    def low(self) -> float:
        """The lower of the bounds."""
        return self.bounds[0]

    @property
    def high(self) -> float:
        """The upper of the bounds."""
        return self.bounds[1]


def find_history_changes(
    tracks: Sequence[Track],
    alpha: float = RISK,
    *,
    correction: Correction = "holm",
    explained: Mapping[tuple[int, int], list[int]] | None = None,
) -> tuple[Change, ...]:
    """Every change that the tracks show.

    Of stretches, by the identities of their tracks and their starts, splits may be known: then those alone are
    searched that may show a change without these steps, and no others; p-values are not told.
    """
    stretches = [(track, start, end) for track in tracks for start, end in track.stretches()]
    series = [track.level[start:end] for track, start, end in stretches]
    joints = [(track, *both) for track in tracks for both in pairwise(track.stretches())]
    pvalues = np.ones(len(series))
    sizes: dict[int, list[int]] = {}
    for i, values in enumerate(series):
        sizes.setdefault(values.size, []).append(i)
    for rows in sizes.values():
        # What is shown whatever the others are needs no exact p-value, unless joints are told with theirs.
        enough = -1.0 if joints else alpha / len(series)
        pvalues[rows] = change_pvalues([series[i] for i in rows], enough=enough)
    at_joints = [_joint_pvalue(*joint) for joint in joints]
    family = np.concatenate([pvalues, at_joints])
    adjusted = (holm if correction == "holm" else benjamini_hochberg)(family)
    places: dict[int, list[_Place]] = {}
    for length, rows in sizes.items():
        changed = [i for i in rows if adjusted[i] <= alpha]
        if explained is not None:
            of = {i: explained.get((id(stretches[i][0]), stretches[i][1])) for i in changed}
            changed = [i for i in changed if of[i] is not None]
            rests = np.array([Levelled(series[i]).without(of[i] or []) for i in changed]).reshape(-1, length)
            shown = show_changes(rests, _SEARCHED * alpha)
            changed = [i for i, may_show in zip(changed, shown.tolist(), strict=True) if may_show]
        if not changed:
            continue
        every = all_changes(
            np.array([series[i] for i in changed]), alpha, adjusted[changed], told=explained is None
        )
        for i, several in zip(changed, every, strict=True):
            track, start, _ = stretches[i]
            places.setdefault(id(track), []).extend(
                (start + one.split, start + one.low, start + one.high, one.pvalue, one.drift)
                for one in several
            )
    for (track, _, (split, _)), pvalue in zip(joints, adjusted[len(series) :], strict=True):
        if pvalue <= alpha:
            places.setdefault(id(track), []).append((split, split, split, float(pvalue), False))
    return tuple(
        change
        for track in tracks
        if id(track) in places
        for change in _changes(track, sorted(places[id(track)]), alpha)
    )


def least_commits(tracks: Sequence[Track], alpha: float = RISK, correction: Correction = "holm") -> int:
    """Fewest commits of a track of which any may show a change: a step in their middle beyond all noise."""
    return _least_commits(alpha / max(family_of(tracks), 1) if correction == "holm" else alpha)


@lru_cache
def _least_commits(each: float) -> int:
    def shown(n: int) -> bool:
        step = np.sin(np.arange(n)) + 1e6 * (np.arange(n) >= n // 2)
        return bool(show_changes(step[None], each)[0])

    return next(filter(shown, count(LEAST)))


def family_of(tracks: Sequence[Track]) -> int:
    """How many stretches the tracks have, with the joints between them."""
    return sum(2 * len(track.stretches()) - 1 for track in tracks)


def least_step(tracks: Sequence[Track], alpha: float = RISK) -> float | None:
    """The least step from which on all are shown, up and down, in the middle third of a track of middling noise.

    None if it is over a doubling.
    """
    stretches = [track.level[start:end] for track in tracks for start, end in track.stretches()]
    each = alpha / family_of(tracks)  # as the first of all
    long = sorted((x for x in stretches if x.size >= LEAST), key=lambda x: median(np.abs(np.diff(x))))
    if not long:
        return None
    x = long[len(long) // 2]
    ways = [
        sign * np.outer(np.log1p(_STEPS), np.arange(x.size) >= x.size * sixths // 6)
        for sixths in (2, 3, 4)
        for sign in (1.0, -1.0)
    ]
    pvalues = change_pvalues(x + np.concatenate(ways), enough=each).reshape(len(ways), -1).max(axis=0)
    unshown = np.flatnonzero(pvalues > each)
    return next(iter(_STEPS[int(unshown[-1]) + 1 if unshown.size else 0 :]), None)


def shown_by_sessions(track: Track, borders: Sequence[int], mean: float = math.inf) -> set[int]:
    """The points between the first and the last at which sessions show a change, too.

    Values of one session share its level and are not independent: a value a session has to show it, at the risk or
    as an alarm that is false once in so many values, or the values of one of them. Where noise of sessions was
    taken for changes, these part the sessions that show another: what shows none goes, the smallest first.
    """
    left = [*borders]
    while track.session.size:
        heights = [median(track.level[slice(*part)]) for part in pairwise(left)]
        unshown = {
            k: abs(heights[k] - heights[k - 1])
            for k in range(1, len(left) - 1)
            if not _sessions_show(track, *_between_joints(track, *left[k - 1 : k + 2]), mean)
        }
        if not unshown:
            break
        del left[min(unshown, key=unshown.__getitem__)]
    return {*left[1:-1]}


def _sessions_show(track: Track, start: int, end: int, mean: float) -> bool:
    by_session = track.by_session(start, end)
    return (
        not by_session
        or any(float(change_pvalues(values[None])[0]) <= RISK for values in by_session)
        or (mean < math.inf and bool(alarms(by_session[0], mean)))
    )


def _between_joints(track: Track, start: int, split: int, end: int) -> tuple[int, int]:
    """Of the points around a split those that no other joint parts from it."""
    starts = [begin for begin, _ in track.stretches()]
    return max(start, *(j for j in starts if j < split)), min([end, *(j for j in starts if j > split)])


def _joint_pvalue(track: Track, old: tuple[int, int], new: tuple[int, int]) -> float:
    """Two-sided p-value of a change where one anchor follows another, the error of their joint counted in."""
    split = new[0]
    before, after = track.level[slice(*old)][-_NEAR:], track.level[slice(*new)][:_NEAR]
    if before.size < 2 or after.size < 2 or track.degrees < 1:
        return 1.0
    joint = track.joint_error(split)
    squares = [float(v.var(ddof=1)) / v.size for v in (before, after)]
    total = joint**2 + sum(squares)
    if not 0.0 < total < math.inf:
        return 1.0
    # Welch and Satterthwaite's degrees of freedom, for three parts
    degrees = total**2 / (
        joint**4 / track.degrees
        + sum(q**2 / (v.size - 1) for q, v in zip(squares, (before, after), strict=True))
    )
    return 2.0 * float(t_sf(abs(after.mean() - before.mean()) / math.sqrt(total), degrees))


def _changes(track: Track, places: Sequence[_Place], alpha: float) -> list[Change]:
    """The changes of a track with their factors.

    They come from all sessions up to the neighbouring changes and joints; at a joint its error widens the bounds.
    """
    bounds = [0, *(split for split, *_ in places), len(track)]
    joints = [start for start, _ in track.stretches()[1:]]
    heights = [median(track.values[track.rows(*of)]) for of in pairwise(bounds)]
    steps, by_sessions = list(pairwise(heights)), shown_by_sessions(track, bounds)
    changes = []
    for k, ((split, low, high, pvalue, drift), start, end) in enumerate(
        zip(places, bounds, bounds[2:], strict=False)
    ):
        start, end = _between_joints(track, start, split, end)
        before, after = (
            track.values[track.rows(*of)] - track.level[0] for of in ((start, split), (split, end))
        )
        joint = track.joint_error(split) if split in joints else 0.0
        widened = math.exp(float(t_ppf(1.0 - alpha, track.degrees)) * joint) if joint else 1.0
        size, ends, rise = median(after) - median(before), (low, min(high, len(track) - 1)), None
        possible, at = ends, split
        if drift:
            rise = fitted_rise(track.level[start:end], alpha)
            size, ends = rise.after - rise.before, (start + rise.begin, start + rise.end)
            steps[k] = rise.levels
            possible = min(ends[0], low), max(ends[1], possible[1])
            at = min(max(split, ends[0]), ends[1])  # the rise that fits best may be elsewhere than its steps
        changes.append(
            Change(
                track,
                track.commit(at),
                track.commit(ends[0]),
                track.commit(ends[1]),
                factor=math.exp(size),
                pvalue=pvalue,
                sessions=(before.size, after.size),
                points=(start, at, end),
                possible=possible,
                alpha=alpha,
                widened=widened,
                shown_by_sessions=split in by_sessions,
                rise=rise,
            )
        )
    for k, change in enumerate(changes):
        later = (changes[j].commit for j in undoings(steps, k) if changes[j].shown_by_sessions)
        changes[k] = replace(change, today=math.exp(steps[-1][1] - steps[k][0]), undone=next(later, None))
    return changes


def undoings(steps: Sequence[tuple[float, float]], k: int) -> Iterator[int]:
    """The steps after the k-th to a level that differs from the one before it by less than a quarter of it."""
    before, after = steps[k]
    return (j for j in range(k + 1, len(steps)) if abs(steps[j][1] - before) < LEFT * abs(after - before))
