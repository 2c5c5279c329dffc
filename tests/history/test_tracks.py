"""Chained ratios and changes over a history that is made with known truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats
from tests.history.measured import MeasuredCommit, measurements

from speedproof.data.suite import Key
from speedproof.errors import UsageError
from speedproof.history.alarms import find_alarms
from speedproof.history.changes import find_history_changes
from speedproof.history.commits import Commit
from speedproof.history.floor import noise_floor
from speedproof.history.rows import Measurements, StoredSeries, Triage
from speedproof.history.tracks import Track, tracks_of
from speedproof.stats.alarms import alarms
from speedproof.stats.change_points import change_pvalues
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.session_spread import SessionSpread

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


@pytest.mark.parametrize(("again", "machines"), [(1.10, (0,)), (1.0, (0,)), (1.10, (0, 1))])
def test_what_is_measured_again_tells_a_ratio(again: float, machines: tuple[int, ...]) -> None:
    """On a machine that is 19 % slower by then the change stays; a session without it halves it."""
    for seed in range(10):
        noise = np.random.default_rng(seed).normal(0.0, 0.01, (len(machines), 57))
        rows = [
            MeasuredCommit(0, 100 * m + i, m, COMMITS[i], False, math.exp(x) * (1.1 if i >= 53 else 1.0), i)
            for m, of in zip(machines, noise, strict=True)
            for i, x in enumerate(of[:54])
        ]
        rows += [
            MeasuredCommit(0, 999, 0, COMMITS[i], False, 1.19 * level * math.exp(noise[0, i + 2]), 900 + i)
            for i, level in ((52, 1.0), (53, again))
        ]
        track = tracks_of(measurements(rows), COMMITS[:54], MACHINES)[0]
        before, after = np.mean(track.level[:53]), track.level[53]
        assert after - before == pytest.approx(math.log(1.1 * again) / 2, abs=0.03)
        assert track.level[52] == pytest.approx(noise[0, 52], abs=1e-12)
        assert len(track) == 54


def measured_in(sessions: Sequence[range], level: Callable[[int, int], float], seed: int) -> Track:
    """Of commits in sessions of their own or of several; 1 % of noise, by the session and the commit a level."""
    rng = np.random.default_rng(seed)
    rows = [
        MeasuredCommit(
            0, s, 0, COMMITS[i], False, level(s, i) * math.exp(0.01 * rng.standard_normal()), 9 * s
        )
        for s, commits in enumerate(sessions)
        for i in commits
    ]
    return tracks_of(measurements(rows), COMMITS[: 1 + max(max(of) for of in sessions)], MACHINES)[0]


ALONE = [range(i, i + 1) for i in range(60)]


@pytest.mark.parametrize(
    ("sessions", "slow", "at"),
    [
        ([*ALONE[:50], range(50, 60)], 50, 40),  # the newest, that no other session measured
        ([*ALONE[:40], range(40, 50), *ALONE[50:]], 40, 30),  # in the middle
        ([*ALONE[:51], range(50, 60)], 51, 40),  # one of them alone, too: its error is that of all
        ([*ALONE[:40], range(40, 50), range(40, 50), *ALONE[50:]], 40, 30),  # measured again
        ([range(max(i - 1, 0), i + 1) for i in range(60)], 50, 40),  # each with the one before
        ([range(i, i + 10) for i in range(0, 52, 8)], 4, 37),  # several with those before
        ([range(i, i + 3) for i in range(0, 60, 3)], 10, 30),  # every night its own
        ([*ALONE[:40], range(40, 42), *ALONE[42:]], 40, 43),  # two, beside a change
        ([range(40), *ALONE[40:]], 0, 20),  # in the session itself, too
        ([range(35), range(19, 21)], 1, 20),  # two of one session of all, measured again
    ],
)
def test_a_slow_day_of_several_commits_is_no_change(sessions: list[range], slow: int, at: int) -> None:
    """20 % in one session are no change, nor confirmed, more often than stated; those at a commit are one."""
    known, shown, confirmed = {0: StoredSeries(0, Key("b"), "s", False)}, 0, 0

    def changed(track: Track) -> list[Commit]:
        changes = find_history_changes([track])
        return [c.commit for c in changes if abs(c.factor - 1.0) > 0.05 and c.shown_by_sessions]

    for seed in range(10):
        track = measured_in(sessions, lambda s, _: 1.2 if s == slow else 1.0, seed)
        found, _ = find_alarms([track], known, (), every=1000.0, last=60)
        confirmed += any(alarm.confirmed and abs(alarm.factor - 1.0) > 0.05 for alarm in found)
        shown += bool(changed(track))
        track = measured_in(sessions, lambda _, i: 1.2 if i >= at else 1.0, seed)
        assert changed(track) == [COMMITS[at]]
    assert max(shown, confirmed) <= 2  # of 10 at 5 %: more come once in 90 times


def test_sessions_of_several_commits_share_the_error_of_their_anchor() -> None:
    """An anchor of 1 % of noise: changes come no more often than stated, and a large one comes."""
    known, shown, confirmed = {0: StoredSeries(0, Key("b"), "s", False)}, 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = [
            MeasuredCommit(0, s, 0, who, who is RELEASES[0], math.exp(0.01 * rng.standard_normal()), 0)
            for s in range(14)
            for who in (*COMMITS[10 * s : 10 * s + 10], RELEASES[0])
        ]
        track = tracks_of(measurements(rows), COMMITS[:140], MACHINES)[0]
        shown += any(change.shown_by_sessions for change in find_history_changes([track]))
        confirmed += any(alarm.confirmed for alarm in find_alarms([track], known, (), every=1e3, last=140)[0])
        slower = [
            row._replace(location=row.location * (1.2 if row.session >= 7 and not row.anchor else 1.0))
            for row in rows
        ]
        track = tracks_of(measurements(slower), COMMITS[:140], MACHINES)[0]
        changes = [change for change in find_history_changes([track]) if change.shown_by_sessions]
        assert [change.commit for change in changes if abs(change.factor - 1.0) > 0.1] == [COMMITS[70]]
    assert max(shown, confirmed) <= stats.binom.ppf(0.999, 40, 0.05)


def test_anchors_that_no_session_joins_stay_apart() -> None:
    """Nothing says how two releases differ that were never measured together."""
    rows = [
        MeasuredCommit(0, session, 0, Commit(sha), sha in "ab", 1.0, 2 * session + k)
        for session, pair in enumerate((("a", "c1"), ("b", "c2")))
        for k, sha in enumerate(pair)
    ]
    tracks = tracks_of(measurements(rows), [Commit("c1"), Commit("c2")], MACHINES)
    assert [track.basis for track in tracks] == ["a", "b"]


def test_machines_that_change_raise_no_alarm_along_a_chain() -> None:
    """Of 60 histories without a change at most 5 % (4 standard errors) show one; machines differ by 15 %."""
    rows = (history(np.random.default_rng(seed), anchored=True) for seed in range(60))
    shown = sum(bool(find_history_changes(tracks_of(one, COMMITS, MACHINES))) for one in rows)
    assert shown <= 60 * 0.05 + 4 * math.sqrt(60 * 0.05 * 0.95)


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
    assert ([t.basis for t in tracks], sum(len(t) for t in tracks)) == (["ant", "bee", "cow"], len(COMMITS))


def spread_of(rows: list[MeasuredCommit]) -> SessionSpread:
    floor = noise_floor(measurements(rows), {0: Key("sort")}, "s.db")
    assert floor is not None
    return floor.spreads[Key("sort")]


def test_what_the_runs_of_a_session_explain_of_the_floor() -> None:
    """The variance of a median from its bounds at 95 %, as if it were normal, on average."""
    errors = np.array([0.01, 0.02, 0.03, 0.04])
    ends = np.exp(np.outer([-1, 1], stats.norm.ppf(0.975) * errors)).T.tolist()
    rows = [
        MeasuredCommit(0, i, 0, COMMITS[i // 2], False, 1.0 + 0.01 * i, i, low, high)
        for i, (low, high) in enumerate(ends)
    ]
    assert spread_of(rows).within == pytest.approx(np.mean(errors**2))


def test_one_session_on_each_of_two_machines_tells_no_floor() -> None:
    """However commits and machines are numbered."""
    rows = [
        MeasuredCommit(
            0, 2 * i + machine, machine, COMMITS[i], False, 1.0 + 0.1 * i + machine, 2 * i + machine
        )
        for i in range(3)
        for machine in range(2)
    ]
    assert noise_floor(measurements(rows), {0: Key("sort")}, "s.db") is None


def test_a_change_is_measured_up_to_the_joints_beside_it() -> None:
    """A step in the middle of the first anchor's sessions, one in those of the second."""
    for at in (60, 150):
        rows = history(np.random.default_rng(3), anchored=True, step=0.05, at=at)
        track = next(track for track in tracks_of(rows, COMMITS, MACHINES) if track.anchored)
        (change,) = (c for c in find_history_changes([track]) if c.commit == COMMITS[at])
        parts = [of for of in track.stretches() if of[0] < change.points[1] < of[1]]
        assert [(change.points[0], change.points[2])] == parts


def test_a_change_of_the_anchor_raises_no_alarm() -> None:
    """A step on the very day is a change; the watch begins anew there."""
    tracks = tracks_of(history(np.random.default_rng(3), anchored=True, step=1.0, at=100), COMMITS, MACHINES)
    assert [change.commit for change in find_history_changes(tracks)] == [COMMITS[100]]
    known = {0: StoredSeries(0, Key("sort"), "s", False)}
    assert find_alarms(tracks, known, (), every=1000.0, last=120) == ((), ())


def test_sessions_of_a_commit_are_one_point() -> None:
    """At the mean of their logarithms, between the outer bounds, in any order; without values <= 0."""
    rows = [
        MeasuredCommit(
            s, i, 0, COMMITS[k], False, value * (1 + s), 2 * i + s, value / 2 * (1 + s), value * 2 * (1 + s)
        )
        for i, (k, value) in enumerate(
            [(0, 1.0), (1, 3.0), (3, 0.0), (0, 1.21), (2, 2.0), (2, 8.0), (3, -0.5)]
        )
        for s in range(2)
    ]
    tracks = tracks_of(measurements(rows), COMMITS[:4], MACHINES)
    assert [track.series for track in tracks] == [0, 1]
    for s, track in enumerate(tracks):
        np.testing.assert_allclose(np.exp(track.level), np.array([1.1, 3.0, 4.0]) * (1 + s))
        assert [track.commit(k) for k in range(len(track))] == COMMITS[:3]
        assert [point.samples for point in track.points()] == [(s, 6 + s), (2 + s,), (8 + s, 10 + s)]
        bounds = np.array([[0.5, 1.5, 1.0], [2.42, 6.0, 16.0]]) * (1 + s)
        np.testing.assert_allclose(np.exp(track.bounds()), bounds)


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


@pytest.mark.parametrize("step", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("degrees", [1, 3])
def test_a_change_where_an_anchor_follows_another(step: float, degrees: int) -> None:
    """Welch's test of 30 points a side with the error of the joint as a third variance, by Satterthwaite."""
    (track,) = tracks_of(
        history(np.random.default_rng(3), anchored=True, step=step, at=100), COMMITS, MACHINES
    )
    assert track.degrees == 1  # two sessions measured both
    track = replace(track, degrees=degrees)
    (_, split), (start, _) = track.stretches()
    assert split == start == 100
    before, after = track.level[70:100], track.level[100:130]
    parts = [track.joint_error(split) ** 2, before.var(ddof=1) / 30, after.var(ddof=1) / 30]
    degrees = sum(parts) ** 2 / sum(p**2 / d for p, d in zip(parts, (track.degrees, 29, 29), strict=True))
    pvalue = 2 * stats.t.sf(abs(after.mean() - before.mean()) / math.sqrt(sum(parts)), degrees)
    family = [float(change_pvalues(track.level[None, part])[0]) for part in (slice(100), slice(100, None))]
    adjusted = float(stats.false_discovery_control([*family, pvalue])[2])
    changes = [c for c in find_history_changes((track,), correction="bh") if c.commit.sha == "c100"]
    assert len(changes) == (adjusted <= 0.05) == (step > 0.0)
    for change in changes:
        assert change.pvalue == pytest.approx(adjusted)
        assert (change.earliest, change.latest, change.sessions) == (COMMITS[100], COMMITS[100], (100, 100))
        assert change.factor == pytest.approx(
            math.exp(np.median(track.values[100:]) - np.median(track.values[:100]))
        )
        bounds = ratio_of_medians(np.exp(track.values[100:]), np.exp(track.values[:100]), 0.05)
        wider = math.exp(stats.t.ppf(0.95, track.degrees) * track.joint_error(split))
        assert (change.low, change.high) == pytest.approx(
            (float(bounds.low) / wider, float(bounds.high) * wider)
        )


@pytest.mark.parametrize(("first", "end", "shown"), [(98, 102, True), (99, 102, False), (98, 101, False)])
def test_two_points_are_the_fewest_beside_a_joint(first: int, end: int, shown: bool) -> None:
    """A step to three times as long; one value has no variance."""
    whole = history(np.random.default_rng(3), anchored=True, step=2.0, at=100)
    kept = {*COMMITS[first:end], *RELEASES}
    some = whole.where(np.array([whole.commits[place] in kept for place in whole.commit]))
    (track,) = tracks_of(some, COMMITS, MACHINES)
    assert track.stretches() == ((0, 100 - first), (100 - first, end - first))
    assert any(change.commit == COMMITS[100] for change in find_history_changes((track,))) == shown


def test_a_joint_is_as_uncertain_as_the_sessions_that_measured_both() -> None:
    """Of n ratios of two anchors the mean is the level, s / sqrt(n) its error, on n - 1 degrees; of one none."""
    ratios = [1.1, 1.2, 1.3, 1.25]
    for count in (1, 2, 4):
        sessions = [{"a": 3.0, "b": 3.0 * ratio} for ratio in ratios[:count]]
        sessions += [{"a": 1.0, "c1": 2.0}, {"b": 5.0, "c2": 10.0}]
        rows = [
            MeasuredCommit(0, s, 0, Commit(sha), sha == min(own), value, 10 * s + k)
            for s, own in enumerate(sessions)
            for k, (sha, value) in enumerate(own.items())
        ]
        (track,) = tracks_of(measurements(rows), [Commit("c1"), Commit("c2")], MACHINES)
        logs = np.log(ratios[:count])
        assert track.level.tolist() == pytest.approx([math.log(2.0), math.log(2.0) + logs.mean()])
        assert track.degrees == count - 1
        assert track.joint_error(1) == pytest.approx(stats.sem(logs) if count > 1 else math.inf)


def test_bounds_of_a_ratio_add_in_squares() -> None:
    """The half widths of both on the scale of logarithms; of values that are no times nothing is kept."""
    anchor = MeasuredCommit(0, 0, 0, Commit("a"), True, 2.0, 0, 1.9, 2.2)
    rows = [anchor, MeasuredCommit(0, 0, 0, Commit("c1"), False, 6.0, 1, 5.5, 6.6)]
    rows.append(MeasuredCommit(0, 0, 0, Commit("c2"), False, -1.0, 2))
    (track,) = tracks_of(measurements(rows), [Commit("c1"), Commit("c2")], MACHINES)
    (point,) = track.points()
    down = math.hypot(math.log(6.0 / 5.5), math.log(2.2 / 2.0))
    up = math.hypot(math.log(6.6 / 6.0), math.log(2.0 / 1.9))
    assert (point.low, point.high) == pytest.approx((math.log(3.0) - down, math.log(3.0) + up))


def test_an_alarm_names_its_commits_and_what_was_decided() -> None:
    """The last before and the first of the new level, the commit that raised it; the newest decision counts."""
    level = np.where(np.arange(40) < 25, 1.0, 1.5) * np.exp(
        0.01 * np.random.default_rng(2).standard_normal(40)
    )
    rows = [MeasuredCommit(0, i, 0, COMMITS[i], False, float(v), i) for i, v in enumerate(level)]
    tracks = tracks_of(measurements(rows), COMMITS[:40], MACHINES)
    known = {0: StoredSeries(0, Key("sort"), "s", False)}
    (expected,) = alarms(tracks[0].level, 200.0)
    assert expected.since == 25
    for last in (1, 40 - expected.raised - 1, 40 - expected.raised, 40):
        found, older = find_alarms(tracks, known, (), every=200.0, last=last)
        assert len(found) == (last >= 40 - expected.raised)
        assert [alarm.bad for alarm in older] == [COMMITS[25]] * (not found)  # it is one or the other
    (alarm,) = found
    assert (alarm.good, alarm.bad, alarm.raised) == (COMMITS[24], COMMITS[25], COMMITS[expected.raised])
    assert alarm.factor == pytest.approx(np.median(level[25:]) / np.median(level[:25]))
    assert alarm.decision is None
    said = [
        Triage(COMMITS[k].sha, of, "fixed", "", "", "")
        for k, of in ((25, ""), (25, "sort"), (25, "parse"), (20, ""))
    ]
    assert find_alarms(tracks, known, said, every=200.0, last=40)[0][0].decision == said[1]
    better = {0: StoredSeries(0, Key("sort"), "1/s", True)}
    assert find_alarms(tracks, known, said, every=200.0, last=1) == ((), ())  # decided
    assert find_alarms(tracks, better, (), every=200.0, last=1) == ((), ())
    for every, last in ((0.0, 1), (math.inf, 1), (200.0, 0)):
        with pytest.raises(UsageError, match="expected a"):
            find_alarms(tracks, known, (), every=every, last=last)
