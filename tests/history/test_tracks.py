"""Chained ratios and changes over a history that is made with known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.history.measured import MeasuredCommit, measurements

from speedproof.data.suite import Key
from speedproof.history.changes import find_history_changes
from speedproof.history.commits import Commit
from speedproof.history.floor import noise_floor
from speedproof.history.rows import Measurements
from speedproof.history.tracks import tracks_of
from speedproof.stats.change_points import change_pvalues

MACHINES = {0: "ant", 1: "bee", 2: "cow"}
COMMITS = [Commit(f"c{i:03d}") for i in range(200)]
RELEASES = [Commit("v1"), Commit("v2")]


def history(rng: np.random.Generator, *, anchored: bool, step: float = 0.0, at: int = 120) -> Measurements:
    """200 commits, each in one session on one of three machines that differ by 15 %; v2 is 7 % faster than v1."""
    found: list[MeasuredCommit] = []
    for i, commit in enumerate(COMMITS):
        machine = int(rng.integers(3))
        speed = (1.0, 1.15, 0.87)[machine] * math.exp(0.05 * rng.standard_normal())  # the machine that day
        anchor, anchor_level = (RELEASES[0], 1.0) if i < 100 else (RELEASES[1], 0.93)
        subject = speed * (1.0 + step * (i >= at)) * math.exp(0.004 * rng.standard_normal())
        rows = [(commit, False, subject)]
        if anchored:
            rows.append((anchor, True, speed * anchor_level * math.exp(0.004 * rng.standard_normal())))
        if anchored and i in (99, 101):  # sessions that measured both releases
            other, level = (RELEASES[1], 0.93) if i == 99 else (RELEASES[0], 1.0)
            rows.append((other, False, speed * level * math.exp(0.004 * rng.standard_normal())))
        found += [
            MeasuredCommit(0, i, machine, who, is_anchor, value, len(found) + k)
            for k, (who, is_anchor, value) in enumerate(rows)
        ]
    return measurements(found)


def test_without_noise_a_chain_gives_the_true_levels() -> None:
    """Ratios to two anchors that one session joins are ratios to the first."""
    sessions = [
        [("a", True, 2.0), ("c1", False, 3.0)],
        [("a", True, 4.0), ("b", False, 2.0)],
        [("b", True, 10.0), ("c2", False, 30.0)],
    ]
    rows = [
        MeasuredCommit(0, s, 0, Commit(sha), anchor, value, 10 * s + k)
        for s, session in enumerate(sessions)
        for k, (sha, anchor, value) in enumerate(session)
    ]
    (track,) = tracks_of(measurements(rows), [Commit("c1"), Commit("c2")], MACHINES)
    assert track.anchored
    assert [math.exp(point.value) for point in track.points()] == pytest.approx([1.5, 1.5])


def test_anchors_that_no_session_joins_stay_apart() -> None:
    """Nothing says how two releases differ that were never measured together."""
    rows = [
        MeasuredCommit(0, 0, 0, Commit("a"), True, 1.0, 0),
        MeasuredCommit(0, 0, 0, Commit("c1"), False, 1.0, 1),
        MeasuredCommit(0, 1, 0, Commit("b"), True, 1.0, 2),
        MeasuredCommit(0, 1, 0, Commit("c2"), False, 1.0, 3),
    ]
    assert [t.basis for t in tracks_of(measurements(rows), [Commit("c1"), Commit("c2")], MACHINES)] == [
        "a",
        "b",
    ]


def test_machines_that_change_raise_no_alarm_along_a_chain() -> None:
    """Of 60 histories without a change at most 5 % (4 standard errors) show one; machines differ by 15 %."""
    alarms = sum(
        bool(
            find_history_changes(
                tracks_of(history(np.random.default_rng(s), anchored=True), COMMITS, MACHINES)
            )
        )
        for s in range(60)
    )
    assert alarms <= 60 * 0.05 + 4 * math.sqrt(60 * 0.05 * 0.95)


def test_a_step_of_one_percent_is_found_along_a_chain() -> None:
    """A 1 % step at commit 120 is found, within the stated commits, with a factor whose bounds hold it."""
    held = 0
    for seed in range(20):
        rows = history(np.random.default_rng([1, seed]), anchored=True, step=0.01)
        changes = find_history_changes(tracks_of(rows, COMMITS, MACHINES))
        assert changes
        held += any(c.earliest.sha <= "c120" <= c.latest.sha and c.low < 1.01 < c.high for c in changes)
    assert held >= 17


def test_without_anchor_each_machine_has_its_track() -> None:
    """Series of several machines are never mixed."""
    tracks = tracks_of(history(np.random.default_rng(3), anchored=False), COMMITS, MACHINES)
    assert [t.basis for t in tracks] == ["ant", "bee", "cow"]
    assert sum(len(t) for t in tracks) == len(COMMITS)


def test_the_noise_floor_is_the_pooled_deviation_of_sessions() -> None:
    """Against numpy: the deviation of values about their commit's mean."""
    values = np.random.default_rng(4).normal(0, 0.02, (30, 3))
    rows = [
        MeasuredCommit(0, 3 * i + k, 0, COMMITS[i], False, math.exp(values[i, k]), 3 * i + k)
        for i in range(30)
        for k in range(3)
    ]
    floor = noise_floor(measurements(rows), {0: Key("sort")}, "s.db")
    assert floor is not None
    (spread,) = floor.spreads.values()
    assert spread.degrees == 60
    assert spread.variance == pytest.approx(values.var(axis=1, ddof=1).mean())


def test_changes_of_many_tracks_are_corrected_as_asked() -> None:
    """Twelve tracks whose p-values lie between the first steps of Holm and of Benjamini and Hochberg."""
    commits, step = COMMITS[:40], 0.012 * (np.arange(40) >= 20)
    levels: list[np.ndarray] = []
    rng = np.random.default_rng(7)
    while len(levels) < 12:
        level = step + 0.01 * rng.standard_normal(40)
        if 0.05 / 12 < change_pvalues(level[None])[0] <= 0.02:
            levels.append(level)
    rows = [
        MeasuredCommit(k, i, 0, commit, False, math.exp(level[i]), 40 * k + i)
        for k, level in enumerate(levels)
        for i, commit in enumerate(commits)
    ]
    tracks = tracks_of(measurements(rows), commits, MACHINES)
    assert len(tracks) == 12
    assert find_history_changes(tracks) == find_history_changes(tracks, correction="holm") == ()
    changed = {change.track.series for change in find_history_changes(tracks, correction="bh")}
    expected = stats.false_discovery_control([float(change_pvalues(t.level[None])[0]) for t in tracks])
    assert expected.max() <= 0.05
    assert changed == {track.series for track in tracks}
