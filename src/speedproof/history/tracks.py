"""What is followed over time: a value a commit, comparable along one track.

Where sessions measured an anchor (a release, say) beside the commit, the value is the logarithm of their ratio,
which does not change with the machine; tracks of several anchors are joined through the sessions that measured
two of them. Without an anchor each machine has a track of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from speedproof.history.commits import Commit
from speedproof.history.store import Measurement

__all__ = ["NoiseFloor", "Point", "Track", "noise_floor", "tracks_of"]


@dataclass(frozen=True, slots=True)
class Point:
    """A commit on a track.

    Attributes
    ----------
    commit : Commit
        Which.
    values : tuple of float
        One a session: the logarithm of the location, or of its ratio to the anchor.
    samples : tuple of int
        The stored samples behind them.
    anchor : str
        The anchor that was measured beside it; empty without one.
    """

    commit: Commit
    values: tuple[float, ...]
    samples: tuple[int, ...]
    anchor: str = ""

    @property
    def value(self) -> float:
        """The mean over its sessions."""
        return math.fsum(self.values) / len(self.values)


@dataclass(frozen=True, slots=True)
class Track:
    """The history of one series that can be compared along itself.

    Attributes
    ----------
    series : int
        Number of the series in the store.
    basis : str
        The anchor that values are relative to, or the machine that they were measured on.
    anchored : bool
        Which of both.
    points : tuple of Point
        In the order of commits.
    errors : tuple of (str, float)
        Of every anchor the standard error of its level relative to the basis; infinite where one session alone
        joins them, so that nothing tells it.
    degrees : int
        Degrees of freedom of these errors.
    """

    series: int
    basis: str
    anchored: bool
    points: tuple[Point, ...]
    errors: tuple[tuple[str, float], ...] = ()
    degrees: int = 0

    def stretches(self) -> tuple[tuple[int, int], ...]:
        """Start and end of the stretches of points that share an anchor; no joint lies within one."""
        anchors = [point.anchor for point in self.points]
        starts = [i for i, anchor in enumerate(anchors) if i == 0 or anchor != anchors[i - 1]]
        return tuple(zip(starts, [*starts[1:], len(anchors)], strict=True))


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """How much sessions of one commit differ.

    Attributes
    ----------
    deviation : float
        Standard deviation of a session's logarithm about its commit's mean.
    sessions : int
        Sessions of commits that were measured in more than one.
    degrees : int
        Degrees of freedom: sessions less commits.
    """

    deviation: float
    sessions: int
    degrees: int


def tracks_of(
    measurements: Sequence[Measurement], order: Sequence[Commit], machines: Mapping[int, str]
) -> tuple[Track, ...]:
    """The tracks of one series.

    Parameters
    ----------
    measurements : sequence of Measurement
        Of one series. Locations that are not positive have no logarithm and are left out.
    order : sequence of Commit
        The commits to follow, in order.
    machines : mapping of int to str
        Labels of machines.

    Returns
    -------
    tuple of Track
        The anchored ones first; none without a usable measurement.
    """
    usable = [m for m in measurements if m.location > 0]
    anchors = {m.session: m for m in usable if m.anchor}
    levels = _levels([m for m in usable if m.session in anchors], anchors)
    place = {commit.sha: i for i, commit in enumerate(order)}
    found: dict[tuple[bool, str], dict[tuple[int, str], list[tuple[float, int]]]] = {}
    for m in usable:
        if m.commit.sha not in place or m.anchor:
            continue
        anchor = anchors.get(m.session)
        if anchor is None:
            basis, name, value = machines[m.machine], "", math.log(m.location)
        else:
            name = anchor.commit.sha
            basis, value = levels.root[name], math.log(m.location / anchor.location) + levels.level[name]
        at = (place[m.commit.sha], name)
        found.setdefault((bool(name), basis), {}).setdefault(at, []).append((value, m.sample))
    return tuple(
        Track(
            usable[0].series,
            basis,
            anchored,
            tuple(
                Point(order[i], tuple(v for v, _ in of), tuple(n for _, n in of), name)
                for (i, name), of in sorted(by_commit.items())
            ),
            tuple(
                (name, levels.error[name]) for name, root in levels.root.items() if anchored and root == basis
            ),
            levels.degrees,
        )
        for (anchored, basis), by_commit in sorted(
            found.items(), key=lambda item: (not item[0][0], item[0][1])
        )
    )


@dataclass(frozen=True, slots=True)
class _Levels:
    """Of each anchor the root of its group, its logarithm relative to that, and the standard error of it."""

    root: dict[str, str]
    level: dict[str, float]
    error: dict[str, float]
    degrees: int


def _levels(measured: Sequence[Measurement], anchors: Mapping[int, Measurement]) -> _Levels:
    """How the anchors differ.

    Every session that measured two of the anchors says how they differ; the levels are the least squares over
    all of them, the first anchor of each connected group being its root.
    """
    names = list(dict.fromkeys(anchor.commit.sha for anchor in anchors.values()))
    number = {sha: i for i, sha in enumerate(names)}
    differences = [
        (number[own.commit.sha], number[m.commit.sha], math.log(m.location / own.location))
        for m in measured
        if (own := anchors[m.session]).commit.sha != m.commit.sha and m.commit.sha in number
    ]
    root = list(range(len(names)))
    for _ in names:  # the smallest number of a group reaches all of it
        for a, b, _ratio in differences:
            root[a] = root[b] = min(root[a], root[b])
    free = [i for i in range(len(names)) if root[i] != i]
    column = {i: k for k, i in enumerate(free)}
    design = np.zeros((len(differences), len(free)))
    for row, (a, b, _ratio) in enumerate(differences):
        for i, sign in ((b, 1.0), (a, -1.0)):
            if i in column:
                design[row, column[i]] = sign
    ratios = np.array([ratio for _, _, ratio in differences])
    level, error = np.zeros(len(names)), np.zeros(len(names))
    degrees = len(differences) - len(free)
    if free:
        level[free] = np.linalg.lstsq(design, ratios, rcond=None)[0]
        error[free] = math.inf
        if degrees > 0:
            variance = float(np.square(ratios - design @ level[free]).sum()) / degrees
            error[free] = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    return _Levels(
        {sha: names[root[i]] for sha, i in number.items()},
        dict(zip(names, level.tolist(), strict=True)),
        dict(zip(names, error.tolist(), strict=True)),
        degrees,
    )


def noise_floor(tracks: Sequence[Track]) -> NoiseFloor | None:
    """How much sessions of the same commit differ, pooled over tracks; None when no commit has two sessions."""
    squares, sessions, degrees = 0.0, 0, 0
    for track in tracks:
        for point in track.points:
            if len(point.values) > 1:
                squares += sum((value - point.value) ** 2 for value in point.values)
                sessions += len(point.values)
                degrees += len(point.values) - 1
    return NoiseFloor(math.sqrt(squares / degrees), sessions, degrees) if degrees else None
