"""What a history answers: printed as the command prints it, with what confirms it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats
from tests.command import in_words, laid_out, write
from tests.history.measured import COMMITS, KNOWN, followed

import speedproof as sp
from speedproof.corpus.changes import CorpusChange, CorpusChanges
from speedproof.data.suite import Key
from speedproof.history.alarms import EVERY, LAST, HistoryAlarm, beyond_changes, find_alarms, value_of_return
from speedproof.history.changes import find_history_changes, least_step
from speedproof.history.commits import Commit, Followed
from speedproof.history.rows import Announced, QueriedSample, StoredSeries, Triage, remeasured, standing
from speedproof.history.tracks import Track
from speedproof.reporting.history import (
    alarm_report,
    at_least,
    changed,
    measured_report,
    overview,
    today_of,
    track_report,
)
from speedproof.reporting.history_results import AlarmResult, HistoryResult, by_commit
from speedproof.reporting.text import render

ALL = tuple(commit.sha for commit in COMMITS)
LINE = Followed(line=ALL)


def noisy(seed: int, size: float, at: int, *, noise: float = 0.01, n: int = 80) -> list[float]:
    values = noise * np.random.default_rng(seed).standard_normal(n) + size * (np.arange(n) >= at)
    return [float(value) for value in values]


def slower_track(measured: tuple[str, ...]) -> tuple[Track, ...]:
    """Measured commits, of which the last quarter is 10 % slower, noise 1 %."""
    n = len(measured)
    commits = [commit for commit in COMMITS if commit.sha in measured]
    return followed(noisy(5, 0.1, 3 * n // 4, n=n), commits=commits)


def alarms_of(
    tracks: tuple[Track, ...], decisions: Sequence[Triage] = (), last: int = 40
) -> tuple[HistoryAlarm, ...]:
    return find_alarms(tracks, KNOWN, decisions, every=1000.0, last=last)


def watched(alarms: tuple[HistoryAlarm, ...], *known: str, **more: Any) -> AlarmResult:
    """What the watch says of one benchmark, or of several."""
    return AlarmResult("s.db", 1000.0, 40, 80, 1, series_of(*known), alarms, **more)


def followed_up(tracks: tuple[Track, ...], *known: str, **more: Any) -> HistoryResult:
    """What a history says of all commits of one benchmark, or of several."""
    changes = find_history_changes(tracks)
    result = HistoryResult("s.db", 0.95, tuple(COMMITS), series_of(*known), tracks, changes, (), None)
    return replace(result, **more)


def series_of(*names: str) -> dict[int, StoredSeries]:
    return {k: replace(KNOWN[0], id=k, key=Key(name)) for k, name in enumerate(names or ("sort",))}


def test_only_what_is_unconfirmed_is_measured_again() -> None:
    """The first such slowdown, else a speedup; where all are confirmed, one of several commits is bisected."""
    (near,), (far,) = (alarms_of(slower_track(measured)) for measured in (ALL, ALL[::2]))
    assert (near.confirmed, far.confirmed) == (True, True)
    search = f"Which commit: speedproof bisect {far.good.sha[:9]}..{far.bad.sha[:9]} -- COMMAND"
    again = f"Measure again: speedproof history confirm {near.bad.sha[:9]} -- COMMAND"
    accept, unsure = f"Accept: speedproof history bless {near.bad.sha[:9]}", replace(near, confirmed=False)
    repair = replace(far, factor=0.9, confirmed=False)
    for given, steps in (
        ((near,), [accept]), ((near, far), [search, accept]), ((far, unsure), [again, search, accept]), ((), []),
        ((repair, unsure), [again, accept]), ((repair,), [again.replace(near.bad.sha[:9], repair.bad.sha[:9])]),
    ):  # fmt: skip
        assert alarm_report(watched(given, followed=LINE)).hints == (*steps,)
    found = watched((far, unsure), "sort", "hash", followed=LINE)
    assert alarm_report(found).hints[0] == again.replace(" --", " --benchmark sort --"), "which it is to be"
    for benchmarks, told in ((1, "2 alarms in 1 benchmark,"), (3, "2 alarms in 3 benchmarks,")):
        assert str(alarm_report(replace(found, series=benchmarks))).startswith(told)
    assert not found.slower(replace(near, factor=1.0))


def test_nothing_is_measured_again_that_nobody_can_check_out() -> None:
    """Without git no command is named that needs its commits; with it all to blame are searched."""
    commits = tuple(Commit(sha) for sha in ALL[::2])
    tracks = followed(noisy(6, 0.06, 30, noise=0.02, n=40), commits=commits)
    (change,) = find_history_changes(tracks)
    assert change.earliest != change.latest
    good = ALL[ALL.index(change.earliest.sha) - 2]  # the one measured before
    search = f"Which commit: speedproof bisect {good[:9]}..{change.latest.sha[:9]} -- COMMAND"
    again = f"Measure again: speedproof history confirm {change.commit.sha[:9]} -- COMMAND"
    (alarm,) = alarms_of(tracks)
    for of in (LINE, Followed()):
        found = followed_up(tracks, commits=commits, followed=of)
        unsure = watched((replace(alarm, confirmed=False),), followed=of)
        told = [report.hints[:-1] for report in (overview(found), alarm_report(unsure))]
        assert told == ([(search,), (again, search)] if of is LINE else [(), ()])
    sure = replace(change, earliest=change.commit, latest=change.commit, possible=(change.points[1],) * 2)
    at = ALL.index(change.commit.sha)
    searched = f"Which commit: speedproof bisect {ALL[at - 2][:9]}..{ALL[at][:9]} -- COMMAND"
    for line in (ALL, ALL[::2]):  # between two measured commits may be another
        found = replace(found, changes=(sure,), followed=Followed(line=line))
        assert (searched in overview(found).hints) == (line == ALL)


def test_history_and_watch_look_for_the_commit_of_the_same_slowdown() -> None:
    """The newest that stands, that nobody decided about and several commits may have made; by its benchmark."""
    tracks = followed(noisy(5, 0.1, 30, n=40), noisy(9, 0.1, 36, n=40), commits=COMMITS[::2])
    known = ("sort", "hash")
    history = followed_up(tracks, *known, followed=LINE)
    assert [ALL.index(change.commit.sha) for change in history.changes] == [60, 72]
    ends = [f"speedproof bisect {ALL[at - 2][:9]}..{ALL[at][:9]}" for at in (60, 72)]
    blessed = Triage(ALL[72], "", "blessed", "", "", "")
    for said, name, command in (((), "hash", ends[1]), ((blessed,), "sort", ends[0])):
        alarms = find_alarms(tracks, series_of(*known), said, every=1000.0, last=40)
        reports = (
            overview(replace(history, decisions=said)),
            alarm_report(watched(alarms, *known, followed=LINE)),
        )
        for report in reports:
            told = f"Which commit made {name} slower: {command} -- COMMAND"
            assert [hint for hint in report.hints if "Which" in hint] == [told]


def test_the_commits_that_are_possible_stay_in_80_columns() -> None:
    """Subjects, authors and trends go for them; history and watch name the same."""
    long: Any = {"subject": "A long subject of a commit", "author": "Ann Example"}
    commits = [replace(commit, **long) for commit in COMMITS]
    name = "a/benchmark/of/a/long[name,of-parameters]"
    for seed in range(4):
        tracks = followed(noisy(seed, 0.02, 60, noise=0.02 / 2.5), commits=commits)
        history = followed_up(tracks, name, commits=tuple(commits))
        (change,) = history.changes
        ends = f"{change.earliest.sha[:7]}–{change.latest.sha[:7]}"
        alarms = find_alarms(tracks, series_of(name), (), every=1000.0, last=40, shown=(change,))
        grown = replace(history, changes=(replace(change, today=1.3),))
        for report in (overview(history), overview(grown), alarm_report(watched(alarms, name))):
            told = render(replace(report, hints=()), 80)
            short = re.sub(r"\b(\w{7})\w\w to (\w{7})\w\w\b", r"\1–\2", told)
            assert (ends in short) == (change.earliest != change.latest), told
            assert max(map(len, told.splitlines())) <= 80
        assert "at least" in render(overview(history), 80)


def test_a_row_of_an_alarm_tells_its_state_and_machine_at_any_width() -> None:
    """Two machines of one benchmark are two rows; what has no room is named, and that is neither of both."""
    (alarm,) = alarms_of(slower_track(ALL))
    names = [f"a long name of {series}" for series in range(8)]
    tracks = [replace(alarm.track, series=s, basis=m) for s in range(8) for m in ("ant", "bee")]
    alarmed = tuple(replace(alarm, track=track, confirmed=track.basis == "ant") for track in tracks)
    undone = replace(alarmed[0], undone=alarm.bad)
    found = replace(watched((undone, *alarmed[1:]), *names, followed=Followed(apart=True)), every=1.0)
    columns = ["since", "benchmark", "about", "machine", "raised at", "state", "today"]
    for width in (60, 80, 200):
        lines = render(alarm_report(found), width).splitlines()
        rows = [line for line in lines if line.startswith(alarm.bad.sha[:9])]
        assert len(set(rows)) == len(rows) == 7
        assert [f"{m} " in row and row.endswith(state) for row, (m, state) in zip(
            rows[1:], [("bee", "unconfirmed"), ("ant", "confirmed")] * 3, strict=True
        )] == [True] * 6  # fmt: skip
        named = " ".join(lines[2:5] + [line for line in lines if "no room for" in line])
        assert all(column in named for column in columns if column != "benchmark"), named
        assert any(line.startswith("... 9 more alarms: --all") for line in lines)
    assert lines[1].endswith("comes about once in 1 commit, an unconfirmed one in 1 commit.")
    assert "machine" not in render(alarm_report(replace(found, alarms=alarmed[::2], followed=Followed())))
    two = {0: KNOWN[0], 1: replace(KNOWN[0], id=1, key=Key("sort", "cpu"))}
    told = str(alarm_report(replace(watched((alarm,)), series=2, known=two)))
    assert told.startswith("1 alarm in 2 benchmark metrics,")


def test_the_watch_is_never_quieter_than_the_history() -> None:
    """What is shown, but not surely, asks for a measurement; again, or later, it is confirmed."""
    for seed in range(60):
        values = noisy(seed, 0.02, 12)
        tracks = followed(values[:24], commits=COMMITS[:24])
        changes = find_history_changes(tracks)
        if len(changes) == 1 and changes[0].pvalue > 0.015:
            break
    (alarm,) = alarms_of(tracks, last=15)
    prefixes = (followed(values[:n], commits=COMMITS[:n]) for n in range(10, 25))
    first = next(tracks for tracks in prefixes if find_history_changes(tracks))
    newest = first[0].commit(len(first[0]) - 1)
    assert (alarm.bad, alarm.raised, alarm.confirmed) == (changes[0].commit, newest, False)
    again = Triage(alarm.bad.sha, "sort", "confirmed", "", "", "")
    (alarm,) = alarms_of(tracks, (again,), last=15)
    assert (alarm.confirmed, alarm.decision) == (True, None)
    whole = followed(values)
    assert find_history_changes(whole)
    assert alarms_of(whole, last=15) == ()


@pytest.mark.parametrize(("at", "undone"), [(50, COMMITS[50]), (79, None)])
def test_an_alarm_is_undone_by_what_is_confirmed(at: int, undone: Commit | None) -> None:
    """The newest value alone, which asks for a measurement, takes no alarm back."""
    level = np.array(noisy(6, 0.0, 0))
    level[30:at] += 0.05
    back, slower = alarms_of(followed(level.tolist()), last=60)
    expected = [(COMMITS[at], undone is not None), (COMMITS[30], True)]
    assert [(a.bad, a.confirmed) for a in (back, slower)] == expected
    assert (back.undone, slower.undone) == (None, undone)


@pytest.mark.parametrize(("seed", "at", "size"), [(1, 76, 0.02), (2, 76, 0.03), (3, 75, 0.02)])
def test_a_return_that_three_to_five_values_suggest_undoes_nothing(seed: int, at: int, size: float) -> None:
    level = np.array(noisy(seed, 0.0, 0))
    level[30:at] += size
    back, slower, *_ = alarms_of(followed(level.tolist()), last=60)
    assert (back.confirmed, back.factor < 1.0 < slower.factor, slower.undone) == (False, True, None)


def test_benchmarks_share_the_rate_of_false_alarms() -> None:
    """The same two values that are confirmed alone only ask for a measurement beside 19 other benchmarks."""
    series = [noisy(20 + s, 0.06 * (s == 0), 50, n=52) for s in range(20)]
    known = series_of(*(f"b{s}" for s in range(20)))
    for count, confirmed in ((1, True), (20, False)):
        tracks = followed(*series[:count], commits=COMMITS[:52])
        found = find_alarms(tracks, known, (), every=1000.0, last=10)
        assert [(a.track.series, a.bad, a.confirmed) for a in found] == [(0, COMMITS[50], confirmed)]
    # Of three of about 6 % more the last two lie beyond the first, too: the level began with that.
    series = [noisy(20 + s, 0.0, 0, n=53) for s in range(20)]
    series[0][50:] = [0.055, 0.065, 0.07]
    found = find_alarms(followed(*series, commits=COMMITS[:53]), known, (), every=1000.0, last=10)
    assert [(a.track.series, a.good, a.bad) for a in found] == [(0, COMMITS[49], COMMITS[50])]


UP, BACK, DRIFT, LEVEL = 13, 22, 31, 50
BACK_AND_DRIFT = 0.12 * ((np.arange(60) >= UP) & (np.arange(60) < BACK)) + 0.007 * np.clip(
    np.arange(60) - DRIFT + 1, 0, LEVEL - DRIFT
)
"""12 % more from one commit to another, then little by little 14 % more."""


def looks(values: Sequence[float], first: int = 12) -> Iterator[AlarmResult]:
    """What the watch says after every commit."""
    for n in range(first, len(values) + 1):
        found = alarms_of(followed(list(values[:n]), commits=COMMITS[:n]), last=30)
        yield AlarmResult("s.db", 1000.0, 30, n, 1, KNOWN, found)


def handed(answers: Iterable[AlarmResult]) -> list[tuple[int, HistoryAlarm]]:
    """What a command is handed that is called after every commit: the newest commit, an alarm."""
    told: list[Announced] = []
    news: list[tuple[int, HistoryAlarm]] = []
    for answer in answers:
        new = answer.news(told)
        told += [alarm.announced for alarm in new]
        news += [(answer.commits - 1, alarm) for alarm in new]
        assert answer.news(told) == (), "the same look again"
    return news


def test_an_alarm_is_new_once_and_once_when_it_is_confirmed() -> None:
    """Commit by commit, of a step of five to eight deviations; who looks at the end alone is told it, too."""
    for seed in range(12):
        answers = list(looks(noisy(seed, 0.05 + 0.01 * (seed % 4), 30, n=44)))
        news = [(COMMITS.index(alarm.bad), alarm.confirmed) for _, alarm in handed(answers)]
        assert [confirmed for at, confirmed in news if abs(at - 30) <= 2] in ([False, True], [True])
        assert len(news) <= 4  # one commit in 50 raises a false one, of 33
        assert any(abs(COMMITS.index(alarm.bad) - 30) <= 2 for _, alarm in handed(answers[-1:]))


@pytest.mark.slow
def test_what_the_watch_says_of_a_step_that_is_undone_and_of_a_drift() -> None:
    """Each is handed on unconfirmed, confirmed, and where it has doubled; what is undone stays so."""
    times = 0
    for seed in range(8):
        answers = list(looks((np.array(noisy(seed, 0.0, 0, n=60)) + BACK_AND_DRIFT)[:57].tolist()))
        news = handed(answers)
        times += len({at for at, _ in news})
        sure: dict[bool, list[int]] = {past: [] for past in (False, True)}
        for at, alarm in news:
            if alarm.confirmed:
                sure[COMMITS.index(alarm.bad) > BACK].append(at)
        for answer in answers:
            assert all(ALL.index(alarm.raised.sha) >= ALL.index(alarm.bad.sha) for alarm in answer.alarms)
            drifts = [COMMITS.index(alarm.bad) > BACK for alarm in answer.confirmed]
            assert all(min(sure[drift]) < answer.commits for drift in drifts)
            assert all(drifts) or answer.commits < BACK + 9, (seed, answer.commits)
    assert times <= 8 * 5


@pytest.mark.parametrize("seed", [501, 514, 960, 1345, *range(6)])
def test_another_unit_or_direction_changes_no_place_nor_who_is_sure(seed: int) -> None:
    """Where changes are many and small, and several places fit a step as well."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 80))
    level = 0.01 * rng.standard_normal(n)
    for _ in range(int(rng.integers(1, 5))):
        level[int(rng.integers(5, n - 2)) :] += rng.choice([-1, 1]) * rng.uniform(0.008, 0.06)
    last = int(rng.integers(10, n))
    told = []
    for sign, unit in ((1.0, 0.0), (1.0, math.log(60.0)), (-1.0, math.log(1e-3)), (-1.0, math.log(1e9))):
        found = alarms_of(followed((sign * level + unit).tolist()), last=last)
        told.append([
            (a.bad, a.good, a.raised, a.confirmed, a.undone, a.places, a.ends, round(sign * math.log(a.factor), 9))
            for a in found
        ])  # fmt: skip
    assert told[1:] == told[:1] * 3


@pytest.mark.parametrize(("at", "benchmark", "state", "basis", "kept"), [
    (70, "sort", "confirmed", "ant", True), (1, "sort", "confirmed", "ant", False),
    (70, "sort", "refuted", "ant", False), (70, "sort", "confirmed", "bee", False),
    (70, "hash", "confirmed", "ant", False), (0, "sort", "confirmed", "ant", False),
])  # fmt: skip
def test_what_measuring_again_confirmed_is_an_alarm_whatever_the_values_show(
    at: int, benchmark: str, state: Any, basis: str, kept: bool
) -> None:
    """Of that benchmark on that machine, among the newest commits."""
    said = Triage(ALL[at], benchmark, state, remeasured("time", basis), "", "")
    found = alarms_of(followed(noisy(3, 0.0, 0)), (said,))
    assert [(alarm.bad, alarm.confirmed) for alarm in found] == [(COMMITS[at], True)] * kept


@pytest.mark.parametrize(("split", "possible", "first", "last"), [
    (40, (40, 40), 38, 42), (40, (35, 41), 35, 42), (40, (39, 50), 38, 50),
    (0, (0, 0), 0, 2), (79, (79, 79), 77, 79),
])  # fmt: skip
def test_a_change_may_be_two_commits_off(
    split: int, possible: tuple[int, int], first: int, last: int
) -> None:
    (track,) = followed([0.0] * 80)
    assert track.near(split, possible) == {*ALL[first : last + 1]}


@pytest.mark.parametrize(("decisions", "drift", "stand"), [
    ("blessed@c noted@c", False, "blessed noted"), ("blessed@x", False, ""), ("blessed@c:hash", False, ""),
    ("blessed@c:sort fixed@e:sort fixed@e", False, "blessed fixed"),
    # Taken back: near it, or at its commit; not elsewhere.
    ("blessed@c reopened@c", False, ""), ("blessed@c reopened@x", False, "blessed"),
    ("fixed@e:sort reopened@e", False, ""), ("blessed@c reopened@c:hash noted@c", False, "blessed noted"),
    # Measured again: the last word, of this metric and machine, or of a store that does not say.
    ("confirmed@c noted@c refuted@c", False, "noted refuted"), ("confirmed@c/bee", False, ""),
    ("confirmed@c/", False, "confirmed"), ("confirmed@c blessed@c reopened@c", False, "confirmed"),
    # It falls with its commit's measurements, and comes back with them, unless it was measured since.
    ("confirmed@c invalid@c", False, "invalid"), ("confirmed@c invalid@c reopened@c", False, "confirmed"),
    ("confirmed@e:sort invalid@e", False, ""), ("confirmed@e:sort invalid@e reopened@e", False, "confirmed"),
    ("confirmed@c invalid@x reopened@x", False, "confirmed"),
    ("confirmed@c invalid@c refuted@c reopened@c", False, "refuted"),
    # What settles all changes of a commit settles no drift that passes there.
    ("blessed@c noted@c", True, "noted"), ("blessed@c:sort", True, "blessed"), ("confirmed@c", True, "confirmed"),
])  # fmt: skip
def test_what_stands_of_what_was_said(decisions: str, drift: bool, stand: str) -> None:
    """Of a change at c, which may be at e as well if its benchmark is named, oldest first."""
    said = []
    for one in decisions.split():
        state, place = one.split("@")
        where, _, basis = place.partition("/")
        commit, _, benchmark = where.partition(":")
        reason = f"time on {basis or 'ant'}" if not place.endswith("/") else ""
        said.append(Triage(commit, benchmark, state, reason, "", ""))  # type: ignore[arg-type]

    def concerned(by: Triage) -> bool:
        return by.commit == "c" or (by.commit == "e" and by.benchmark != "")

    found = standing(said, "sort", concerned, measured=remeasured("time", "ant"), drift=drift)
    assert [one.state for one in found] == stand.split()


def test_what_is_news() -> None:
    """Announced of another place, machine, benchmark or direction, less surely, or of less than half as much."""
    (alarm,) = alarms_of(followed(noisy(9, 0.1, 60)))
    assert (alarm.bad, alarm.confirmed, alarm.places[1]) == (COMMITS[60], True, (60, 60))
    old: Any = [{}, {"commit": ALL[58]}, {"factor": 1.06}]
    new: Any = [{"commit": ALL[57]}, {"basis": "bee"}, {"series": 1}, {"confirmed": False},
           {"factor": 1.04}, {"factor": 1.0}, {"factor": 1 / 1.1}]  # fmt: skip
    for told in (*old, *new):
        news = watched((alarm,)).news([replace(alarm.announced, **told)])
        assert news == ((alarm,) if told in new else ()), told
    blessed = replace(alarm, decision=Triage(alarm.bad.sha, "", "blessed", "", "", ""))
    assert watched((blessed,)).news(()) == ()


@pytest.mark.slow
def test_a_drift_that_is_confirmed_stands_as_long_as_it_goes_on() -> None:
    for seed in range(4):
        values = np.array(noisy(seed, 0.0, 0)) + 0.08 * np.clip((np.arange(80) - 20) / 40, 0.0, 1.0)
        red = [bool(answer.confirmed) for answer in looks(values[:70].tolist(), 30)]
        assert red[-1]
        assert all(red[red.index(True) :])


def test_what_the_watch_alone_has_confirmed_stands_below_the_changes() -> None:
    """Of ten deviations undone after 4 commits of 19 the history shows nothing, and says what the watch knows."""
    level = np.array(noisy(6, 0.0, 0, n=19))
    level[12:16] += 0.1
    tracks = followed(level.tolist(), commits=COMMITS[:19])
    changes = find_history_changes(tracks)
    alone = beyond_changes(tracks, KNOWN, (), changes)
    every = [a for a in alarms_of(tracks, last=30) if a.confirmed and a.undone is None]
    shown = {sha for change in changes for sha in change.track.near(change.points[1], change.possible)}
    assert [a.bad for a in alone] == [a.bad for a in every if a.bad.sha not in shown] != []
    found = followed_up(tracks, commits=tuple(COMMITS[:19]), alarms=alone)
    told = render(overview(found))
    assert f"; the watch has confirmed {len(alone)} alarm" in " ".join(told.split()), "in the headline, too"
    assert "Confirmed by 'history watch' alone: sort 1." in told
    assert f"since {alone[0].bad.sha[:9]}." in told
    assert found.exported().alarms == watched(alone).exported().alarms
    blessed = Triage(alone[0].bad.sha, "", "blessed", "", "", "")
    assert alone[0].bad not in [a.bad for a in beyond_changes(tracks, KNOWN, (blessed,), changes)]


def test_behind_a_change_that_raised_an_alarm_long_ago_the_watch_sees_what_the_history_sees() -> None:
    """Of 40 series with a step at 20 one half has another one later: splits that explain all save the search."""
    rng, at = np.random.default_rng(3), np.arange(80)
    levels = (0.1 * (at >= 20) + 0.03 * (at >= 60 + s // 2) * (s % 2) for s in range(40))
    tracks = followed(*((of + 0.01 * rng.standard_normal(80)).tolist() for of in levels))
    known = series_of(*(f"b{s}" for s in range(40)))
    newest = [(c.track.series, c.commit) for c in find_history_changes(tracks) if c.commit in COMMITS[60:]]
    assert len(newest) > 12
    found = find_alarms(tracks, known, (), every=1000.0, last=20)
    assert {(alarm.track.series, alarm.bad) for alarm in found} >= set(newest)
    explained = {(id(track), 0): [20] for track in tracks}
    searched = {c.track.series for c in find_history_changes(tracks, explained=explained)}
    assert {series for series, _ in newest} <= searched
    assert len(searched) < 30


def test_a_drift_is_told_alike_everywhere() -> None:
    """Of 8 % between the 21st and the 61st commit: its word, its size from end to end, what shows it again."""
    for seed in range(8):
        rise = 0.08 * np.clip((np.arange(80) - 20) / 40, 0.0, 1.0)
        tracks = followed((np.array(noisy(seed, 0.0, 0, noise=0.006)) + rise).tolist())
        (change,), (alarm,) = find_history_changes(tracks), alarms_of(tracks, last=80)
        assert (change.drift, alarm.drift) == (True, True)
        assert alarm.factor == change.factor == change.today
        assert math.log(change.factor) == pytest.approx(0.08, abs=0.008)
        assert change.low < change.factor < change.high
        first, last = (COMMITS.index(end) for end in (change.earliest, change.latest))
        assert (abs(first - 20) <= 8, abs(last - 60) <= 8) == (True, True)
        assert (alarm.earliest, alarm.latest) == alarm.compared == (change.earliest, change.latest)
        assert first < COMMITS.index(change.commit) < last
        found, watch = followed_up(tracks, followed=LINE), watched((alarm,))
        told = f"{change.factor:.2f}x  slower, drift"
        shown = [render(overview(found)), render(alarm_report(watch))]
        assert all(told in text for text in shown), shown
        again = f"Measure the drift: speedproof run --revisions {ALL[first][:9]} {ALL[last][:9]}"
        assert again in " ".join(shown[0].split())
        assert (found.exported().changes[0].drift, watch.exported().alarms[0].drift) == (True, True)


@pytest.mark.slow
def test_what_was_said_of_a_drift_lasts() -> None:
    """Its commit moves as commits come: what is said of its benchmark alone is kept, until taken back."""
    moved = 0
    for seed in range(3):
        rise = 0.08 * np.clip((np.arange(80) - 20) / 40, 0.0, 1.0)
        values = (np.array(noisy(seed, 0.0, 0, noise=0.006)) + rise).tolist()
        (early,) = find_history_changes(followed(values[:56], commits=COMMITS[:56]))
        for n in range(60, 81, 4):
            tracks = followed(values[:n], commits=COMMITS[:n])
            changes = find_history_changes(tracks)
            if not any(change.drift for change in changes):
                continue
            (change,) = changes
            apart = abs(COMMITS.index(change.commit) - COMMITS.index(early.commit))
            moved += apart > 2
            blessed, back = Triage(early.commit.sha, "sort", "blessed", "", "", ""), "reopened"
            for said, kept in (
                ([blessed], True),
                ([blessed, replace(blessed, benchmark="", state=back)], False),
                ([blessed, replace(blessed, benchmark="parse", state=back)], True),
                ([replace(blessed, benchmark="")], False),
                ([replace(blessed, benchmark="parse")], False),
            ):
                found = followed_up(tracks, commits=tuple(COMMITS[:n]), decisions=tuple(said))
                (alarm,) = (a for a in alarms_of(tracks, said, last=80) if a.drift)
                assert (found.decision(change) is not None, alarm.decision is not None) == (kept, kept)
    assert moved > 5


@pytest.mark.parametrize(("noise", "n", "least"), [(1e-6, 80, 0.001), (1.0, 80, None), (1e-6, 7, None)])
def test_the_least_step_is_of_a_thousandth_to_a_doubling(noise: float, n: int, least: float | None) -> None:
    assert least_step(followed(noisy(1, 0.0, 0, noise=noise, n=n))) == least


@pytest.mark.parametrize("n", [7, 8, 10, 14, 80])
@pytest.mark.parametrize("noises", [(0.01,), (0.001, 0.01, 0.1), (0.1, 0.3, 0.5)])
def test_the_least_step_that_would_be_shown_is_told(n: int, noises: tuple[float, ...]) -> None:
    """Added to the benchmark of middling noise it is shown, up and down, and seven tenths of it are not."""
    levels = [noisy(k, 0.0, 0, noise=noise, n=n) for k, noise in enumerate(noises)]
    names = [f"b{k}" for k in range(len(noises))]
    found = followed_up(followed(*levels), *names, commits=tuple(COMMITS[:n]), changes=())
    told = " ".join(render(overview(found)).split())
    part = re.search(r"(Not even a|A) step of ([\d.]+) % .*in the middle third.*would be shown\.", told)
    # A step in the middle has 2 in C(n, n // 2) orders: one series may show it at 5 %, each of three at 5/3 %.
    least = next(k for k in range(8, 80) if 2 / math.comb(k, k // 2) <= 0.05 / len(noises))
    if n < least:
        assert f"So few commits of a benchmark on a machine show nothing: measure {least} or more" in told
        return
    assert part is not None
    assert ("of a typical benchmark" in told) == (len(noises) > 1)
    step = math.log1p(float(part[2]) / 100)
    middle = len(noises) // 2

    def shown(size: float) -> bool:
        """By the history itself, up and down, wherever in the middle third it was asked."""
        seen = 0
        for at, both in product((n // 3, n // 2, 2 * n // 3), (size, -size)):
            levels[middle] = noisy(middle, both, at, noise=noises[middle], n=n)
            seen += any(c.track.series == middle for c in find_history_changes(followed(*levels)))
        return seen == 6

    if part[1] == "A":
        for larger in (1.0, 1.5, 4.0):
            assert shown(min(larger * step, math.log(2.0))), larger
        step *= 0.7
    assert not shown(step)


def test_a_drift_is_undone_by_what_takes_it_back_whole() -> None:
    """Halfway back, it still stands; the halves of a drift say nothing of either."""
    for left, undone in ((0.0, COMMITS[60]), (0.05, None)):
        x = 0.1 * np.clip(np.arange(80) / 50, 0.0, 1.0)
        x[60:] = left
        tracks = followed((np.array(noisy(3, 0.0, 0, noise=0.006)) + x).tolist())
        drift, step = find_history_changes(tracks)
        assert (drift.drift, step.drift) == (True, False)
        assert (drift.undone, step.commit) == (undone, COMMITS[60])
        assert math.log(drift.today) == pytest.approx(left, abs=0.01)


def test_a_change_is_proven_beyond_one_only() -> None:
    """A bound on the other side of 1 proves no size; the sentence says whose risk it is."""
    for factor, low, high, least in (
        (1.25, 1.125, 1.5, "1.12x"), (1.25, 1.0, 1.5, ""), (0.75, 0.625, 0.875, "1.14x"),
        (0.75, 0.625, 1.125, ""), (1.25, math.nan, math.nan, ""),
    ):  # fmt: skip
        change = CorpusChange("sort", "ant", "v2", "v2", "v2", factor, low, high, 0.01, factor > 1.0, False)
        assert at_least(change) == least
    for benchmarks, told in (
        (1, "if nothing changed: at most 5 %.\n"),
        (2, "at most 5 % over all benchmarks.\n"),
    ):
        tracks = followed(*([noisy(k, 0.0, 0) for k in range(benchmarks)]))
        found = followed_up(tracks, *("ab"[:benchmarks]), changes=())
        assert told in render(overview(found), 80)


@pytest.mark.parametrize(("left", "state"), [(0.0, "undone at 40aaaaaaa"), (0.03, "still 1.03x")])
def test_what_became_of_a_change(left: float, state: str) -> None:
    """5 % more than 1 ms from commit 20 on, at 40 taken back, in full or in part."""
    noise = noisy(2, math.log(0.001), 0, noise=0.004)
    tracks = followed([own + 0.05 * (20 <= i < 40) + left * (i >= 40) for i, own in enumerate(noise)])
    first, last = find_history_changes(tracks)
    assert (first.commit, last.commit) == (COMMITS[20], COMMITS[40])
    assert [math.log(x) for x in first.bounds] == pytest.approx([0.05, 0.05], abs=0.01)
    assert first.low < math.exp(0.05) < first.high
    assert first.undone == (COMMITS[40] if left == 0.0 else None)
    assert first.today == pytest.approx(math.exp(left), abs=0.004)
    assert last.undone is None
    assert last.today == pytest.approx(last.factor, rel=1e-9)
    wide = replace(first, earliest=COMMITS[17], possible=(17, 20))
    found = followed_up(tracks, changes=(wide, last), followed=LINE)
    assert state in render(overview(found), 200)
    anchored = replace(found, tracks=tuple(replace(one, basis="v1.2", anchored=True) for one in tracks))
    shown = render(track_report(anchored), 200)
    assert ("relative to v1.2: 80 commits" in shown, len(re.findall(r" 0\.00\d+x ", shown))) == (True, 10)
    assert today_of(found, last) == "stands"
    assert ("Which commit: " in render(overview(found), 200)) == (first.undone is None), "it is repaired"


def test_a_commit_stands_while_one_of_its_changes_does() -> None:
    """Of two benchmarks that a commit changed one is taken back: it comes before a newer commit that is undone."""
    rng = np.random.default_rng(2)
    steps = [(20, 40), (20, 80), (50, 65)]  # the points of 10 % more, up to the last
    tracks = followed(*([0.1 * (a <= i < b) + 0.004 * rng.normal() for i in range(80)] for a, b in steps))
    changes = tuple(change for change in find_history_changes(tracks) if change.factor > 1.0)
    found = followed_up(tracks, *"abc", changes=changes)
    groups = [(group.commit, len(group.changes), group.stands) for group in by_commit(found)]
    assert groups == [(COMMITS[20], 2, True), (COMMITS[50], 1, False)]
    for undone, each, told in (
        (None, False, "2 more commits, 2 of them stand"), (None, True, "2 more changes, 2 of them stand"),
        (COMMITS[70], False, "2 more commits"),
    ):  # fmt: skip
        many = tuple(replace(changes[0], commit=commit, undone=undone) for commit in COMMITS[:9])
        apart = replace(found, changes=many, tracks=(*tracks, replace(tracks[0], basis="bee")))
        first, *_, last = (text.text for text in overview(apart, each=each).notes)
        assert (first.split(":")[0], last) == ("2 machines are followed apart", f"... {told}")


SUBJECTS = ("Four and twenty letters.", "Five and twenty of letters")
TWENTY = tuple(
    replace(commit, subject=SUBJECTS[i % 2], author="Ann" * (i % 3 == 0))
    for i, commit in enumerate(COMMITS[:20])
)
OF = {
    k: StoredSeries(k, Key(name, metric), unit, metric == "rate")
    for k, (name, metric, unit) in enumerate(
        (("sort", "time", "s"), ("hash", "rss", "B"), ("parse", "rate", "B/s"), ("idle", "time", "s"))
    )
}
STEPS: tuple[dict[int, float], ...] = ({10: 1.25}, {10: 0.8}, {10: 1.5, 15: 1 / 1.5}, {})
TRACKS = followed(
    *(
        [sum(math.log(by) for at, by in of.items() if at <= i) + 0.001 * (i * 7 % 5 - 2) for i in range(20)]
        for of in STEPS
    ),
    commits=TWENTY,
)
ASSIGNED = Triage(ALL[10], "sort", "assigned", "Bob", "me", "2026-02-03T04:05:06")
BLESSED = replace(ASSIGNED, benchmark="hash", state="blessed", reason="planned")


def test_a_history_in_words() -> None:
    """Each change with its size, what is proven, where it may be, what became of it and who looks after it."""
    sort, hashed, parsed, back = changes = find_history_changes(TRACKS)
    found = HistoryResult("s.db", 0.95, TWENTY, OF, TRACKS, changes, (ASSIGNED, BLESSED), None)
    head = "commit benchmark change today at least trend subject author"
    risk = "Risk of showing a change if nothing changed: at most 5 % over all benchmarks."
    newest = "15aaaaaaa parse (rate) 1.50x worse stands 1.49x ▁▁▁▁▁▁███▁▁▁ Five and twenty of lett… Ann"
    hints = "One commit: speedproof history --commit COMMIT One benchmark: speedproof history show NAME"
    assert in_words(overview(found)) == [
        "4 changes in 4 benchmark metrics over 20 commits", risk, head, newest,
        f"10aaaaaaa 3 benchmarks 1.25x worse, to 1.50x better 1 of 3 stand, Bob on it {SUBJECTS[0]}", hints,
    ]  # fmt: skip
    assert in_words(overview(found, each=True))[3:-1] == [
        newest, f"10aaaaaaa parse (rate) 1.50x better undone at 15aaaaaaa 1.49x ▁▁▁▁▁▁███▁▁▁ {SUBJECTS[0]}",
        f"10aaaaaaa sort 1.25x slower stands, Bob on it 1.24x ▁▁▁▁▁▁██████ {SUBJECTS[0]}",
        f"10aaaaaaa hash (rss) 1.25x better blessed 1.24x ██████▁▁▁▁▁▁ {SUBJECTS[0]}",
    ]  # fmt: skip
    wide = replace(sort, earliest=TWENTY[8], latest=TWENTY[12], possible=(8, 12))
    at = "10aaaaaaa sort 1.25x slower stands{} 1.24x 08aaaaaaa to 12aaaaaaa ▁▁▁▁▁▁██████"
    one = replace(found, changes=(wide,), followed=Followed(line=ALL, options=" --store x"))
    assert in_words(overview(one, each=True, of=4)) == [
        "1 of 4 changes in 4 benchmark metrics over 20 commits", risk, f"10aaaaaaa {SUBJECTS[0]}",
        "assigned of sort: Bob (me, 2026-02-03)", "blessed of hash: planned (me, 2026-02-03)",
        "commit benchmark change today at least possible since trend", at.format(", Bob on it"),
        "Which commit made sort slower: speedproof bisect 07aaaaaaa..12aaaaaaa -- COMMAND"
        " One benchmark: speedproof history show NAME --store x",
    ]  # fmt: skip
    bees = tuple(replace(TRACKS[k], basis="bee") for k in (0, 2))
    apart = replace(
        found, tracks=(*TRACKS, *bees), changes=(wide, replace(back, track=bees[1])), decisions=()
    )
    assert in_words(overview(apart))[2:5] == [
        "commit benchmark change machine today at least possible since trend subject author",
        newest.replace("stands", "bee stands"),
        f"{at.format('').replace('stands', 'ant stands')} {SUBJECTS[0]}",
    ]
    assert (
        laid_out(overview(apart))
        == "commit 'benchmark' <change  'machine' today <at least-5 possible since-4 trend-3 subject-2 author-1"
    )
    (sheet, *_) = track_report(found).sections
    assert sheet.title == "sort (time), on ant: 20 commits"
    assert in_words(sheet) == [
        "▁" * 10 + "█" * 10, "commit value sessions subject",
        *(f"{i}aaaaaaa 1.2{part} s 1 {SUBJECTS[i % 2]}"
          for i, part in zip(range(10, 20), ("48", "50", "53", "49", "51") * 2, strict=True)),
        "... 10 earlier commits: --all",
    ]  # fmt: skip
    assert len(in_words(track_report(found, everything=True).sections[0])) == 22
    for today, state in (
        (1.25 * math.exp(0.0009), "stands"), (1.1, "still 1.10x"), (1.3, "now 1.30x slower"),
        (0.8, "now 1.25x faster"),
    ):  # fmt: skip
        assert today_of(found, replace(sort, today=today)) == state
    assert today_of(replace(found, decisions=()), replace(hashed, today=1.25)) == "now 1.25x worse"
    assert today_of(found, replace(parsed, today=0.8, undone=None)) == "now 1.25x worse"


def test_alarms_in_words() -> None:
    """A row each with what is known of it, how rare they are without a change, and what to do next."""
    alarms = [
        HistoryAlarm(TRACKS[k], TWENTY[9], TWENTY[10], TWENTY[12], by, None, True, None, (10, (10, 10)))
        for k, by in ((0, 1.25), (1, 0.8), (2, 1.5), (0, 1.3))
    ]
    some = (
        alarms[0], replace(alarms[1], confirmed=False, raised=TWENTY[13]), replace(alarms[2], undone=TWENTY[15]),
        replace(alarms[3], decision=BLESSED, places=(10, (8, 12))),
    )  # fmt: skip
    found = AlarmResult("s.db", 1000.0, 5, 20, 4, OF, some, Followed(line=tuple(c.sha for c in TWENTY)))
    often = "Without a change a confirmed alarm comes about once in 1000 commits, an unconfirmed one in 50"
    assert in_words(alarm_report(found)) == [
        "4 alarms in 4 benchmark metrics, last 5 commits of 20", f"{often} commits.",
        "since benchmark about raised at state today possible since",
        "10aaaaaaa sort 1.25x slower 12aaaaaaa confirmed",
        "10aaaaaaa hash (rss) 1.25x better 13aaaaaaa unconfirmed",
        "10aaaaaaa parse (rate) 1.50x better 12aaaaaaa confirmed undone",
        "10aaaaaaa sort 1.30x slower 12aaaaaaa confirmed blessed 08aaaaaaa to 12aaaaaaa",
        "Measure again: speedproof history confirm 10aaaaaaa --benchmark hash --decide-by rss -- COMMAND"
        " Accept: speedproof history bless 10aaaaaaa",
    ]  # fmt: skip
    assert (
        laid_out(alarm_report(found))
        == "since 'benchmark' <about  raised at-2 state today-1 possible since-3"
    )
    for commits in (10, 11):
        (head, _, *few) = in_words(alarm_report(replace(found, alarms=(), commits=commits, last=40)))
        assert (head, bool(few)) == (f"No alarm in 4 benchmark metrics, last {commits} commits", commits < 11)
    alone = "sort 1.25x slower since 10aaaaaaa{0}, hash (rss) 1.25x better since 10aaaaaaa{0}, parse (rate)"
    history = HistoryResult("s.db", 0.95, TWENTY, OF, TRACKS, (), (), None)
    for count, machines, more in ((4, False, " and 1 more"), (3, True, " on ant")):
        of = replace(history, alarms=tuple(alarms[:count]), followed=Followed(apart=machines))
        lines = in_words(overview(of))
        assert lines[0].endswith(f" over 20 commits; the watch has confirmed {count} alarms")
        named = alone.format(" on ant" * machines)
        assert lines[2] == f"Confirmed by 'history watch' alone: {named} 1.50x better since 10aaaaaaa{more}."


def test_samples_of_a_history_in_words() -> None:
    rows = [
        QueriedSample(
            *(
                commit,
                "",
                "",
                name,
                metric,
                unit,
                n,
                median,
                *ends,
                False,
                machine,
                "s1",
                "2026-02-03T04:05:06",
                "",
            )
        )
        for commit, name, metric, unit, n, median, ends, machine in (
            (ALL[0], "sort", "time", "s", 9, 0.01234, (0.012, 0.013), "ant"),
            ("v1", "hash", "rss", "B", 12, 2.5e6, (None, None), "bee"),
        )
    ]
    report = measured_report(rows, "s.db", cut=True)
    assert in_words(report) == [
        "The last 2 samples (--all, or -o rows.csv)", "commit benchmark median 95 % interval n measured machine",
        "00aaaaaaa sort 12.34 ms 12.00 ms to 13.00 ms 9 2026-02-03 04:05 ant",
        "v1 hash (rss) 2.384 MiB 12 2026-02-03 04:05 bee",
    ]  # fmt: skip
    assert laid_out(report) == "commit 'benchmark' <median <95 % interval-2 <n-3 measured-4 'machine'-1"
    assert in_words(measured_report(rows[:1], "s.db", cut=False))[0] == "1 sample"
    assert in_words(measured_report([], "s.db", cut=False)) == ["0 samples"]


def test_changes_of_a_corpus_in_words() -> None:
    """Each with its size and where it may be, the latest first; how their order is known, and if any may show."""
    sha = "ab" * 20
    step = CorpusChange("sort", "ant", "v5", "v4", "v6", 1.25, 1.125, 1.5, 0.001, True, False)
    drift = CorpusChange("hash", "bee", sha, sha, sha, 0.8, 0.625, 1.5, 0.001, False, True)
    lost = tuple(f"{part}: lost" for part in "abcd")
    found = CorpusChanges("c", "c/a", "time", 0.95, 30, 2, 30, 9, (step, drift), "time", 1, lost)
    risk, head = (
        "Risk of showing a change if nothing changed: at most 5 %",
        "version benchmark change machine at least",
    )
    rows = ["v5 sort 1.25x slower ant 1.12x v4 to v6", "ababababa hash 1.25x faster, drift bee -"]
    order = "Order: versions follow each other as their files do, which do not tell when they were measured;"
    few = "At this risk a change shows from 9 versions on one machine on; no series here has over 8."
    bare, none = replace(found, failures=()), "No change is shown in 2 series of 30 versions"
    for of, told, good in (
        (found, ["2 changes in 2 series of 30 versions", f"{risk} over all series.",
                 *(f"Left out: {part}" for part in lost[:3]), f"{head} possible since", *rows], False),
        (replace(bare, changes=(drift,), order="files", series=1),
         ["1 change in 1 series of 30 versions", f"{risk}.",
          f"{order} --repository DIR follows commits as git does.", head, rows[1]], True),
        (replace(bare, changes=(), longest=8),
         [none, f"{risk} over all series.", f"{few} Or compare two: speedproof corpus compare"], True),
        (replace(bare, changes=(), longest=9), [none, f"{risk} over all series."], True),
        (replace(bare, changes=(step,) * 8, metric="rss"),
         ["8 changes in 2 series of 30 versions", f"{risk} over all series.", f"{head} possible since",
          *[rows[0].replace("slower", "worse")] * 7, "... 1 earlier change: --all"], False),
    ):  # fmt: skip
        report = changed(of, ["v4", "v5", "v6", sha], everything=False)
        assert (in_words(report), report.good) == (told, good)
    assert (
        laid_out(changed(found, ["v4", "v6", sha], everything=False))
        == "version 'benchmark' change machine-1 <at least-3 possible since-2"
    )


def test_results_print_themselves(tmp_path: Path) -> None:
    history = sp.History(tmp_path / "s.db", tmp_path)
    for i in range(12):
        if i in (10, 11):  # the first ten commits of a level raise no alarm
            few = "So few commits of a benchmark on a machine show nothing" in str(history.alarms())
            assert few == (i == 10)
        write(tmp_path / "r.txt", [10 + i * i % 7 / 50 + k / 99 for k in range(3)])
        history.add(tmp_path / "r.txt", commit=f"c{i:02d}", benchmark="sort", unit="ms")
    found, alarms = history.changes(), history.alarms()
    assert str(found).startswith("No change is shown in 1 benchmark over 12 commits")
    assert "No change is shown" in found._repr_html_()
    for report in (overview(found), track_report(found)):  # the watch may have an alarm
        assert "speedproof history watch" in render(report)
    assert repr(found) == "<HistoryResult: 0 changes in 12 commits>"
    assert json.loads(found.to_json())["results"][0]["commits"] == 12
    assert "in 1 benchmark, last 12 commits\n" in str(alarms)
    assert "in 1 benchmark, last 5 commits of 12\n" in str(history.alarms(last=5))
    assert repr(alarms).startswith("<AlarmResult: ")
    told = json.loads(alarms.to_json())["results"][0]
    assert (told["every"], told["last"]) == (EVERY, LAST), "as the history looks for them"


def test_dates_that_are_given_order_what_git_does_not(tmp_path: Path) -> None:
    """In any zone: the last moment of 2024 in New York is the first of 2025 in Greenwich."""
    history = sp.History(tmp_path / "s.db", tmp_path)
    assert repr(history) == f"<History: {tmp_path / 's.db'}>"
    for k, started in enumerate(("2025-12-01", "2025-01-01T04:59", "2024-12-31T23:58-05:00")):
        history.add(
            write(tmp_path / f"{k}.txt", [1 + k, 2]), commit=f"c{k}", started=started, benchmark="sort"
        )
    assert [commit.sha for commit in history.changes().commits] == ["c2", "c1", "c0"]


@pytest.mark.parametrize("seed", [1, 6])
def test_the_size_of_an_alarm_is_the_step_at_its_commit(seed: int) -> None:
    """20 % slower for ten commits, one later outlier: the return raises no alarm, and the size is the step's."""
    steps = np.zeros(40)
    steps[14:24], steps[37:], steps[33] = math.log(1.2), math.log(1.3), 0.15
    values = 0.035 * np.random.default_rng(seed).standard_normal(40) + steps
    found = {a.bad.sha: a for a in alarms_of(followed([float(v) for v in values], commits=COMMITS[:40]))}
    first = found[ALL[14]]
    # Of medians of ten and of fourteen values, four standard errors
    error = 0.035 * math.sqrt(math.pi / 2.0 * (1.0 / 10.0 + 1.0 / 14.0))
    assert abs(math.log(first.factor / 1.2)) <= 4.0 * error
    assert first.undone is not None
    assert abs(ALL.index(first.undone.sha) - 24) <= 1


def test_a_return_is_that_of_a_naive_twin() -> None:
    """From where on most values are nearer to the level before, five at least; a level between undoes nothing."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        parts = [rng.choice([0.0, 0.2, 0.3, 0.45, 0.6, 1.0]) for _ in range(3)]
        values = np.repeat([1.0, *parts], rng.integers(1, 12, 4)) + 0.05 * rng.standard_normal()
        values += rng.choice([0.0, 0.3]) * rng.standard_normal(values.size)
        new = np.median(values[:10])
        back = [bool(value * new <= 0.5 * new * new) for value in values]
        left = [bool(value * new > 0.25 * new * new) for value in values]
        excess = [2 * sum(back[k:]) - len(back[k:]) for k in range(values.size)]
        since = max(range(values.size), key=lambda k: (excess[k], k))
        undone = excess[since] >= 5 > 2 * sum(left[since:]) - len(left[since:]) and since > 0
        assert value_of_return(values, 0.0) == (since if undone else None)


@pytest.mark.parametrize("chance", [0.2, 0.3])
def test_a_level_is_seldom_said_to_be_left(chance: float) -> None:
    """Against the ruin of a gambler: an excess of five has the chance (p / (1 - p))**5 at most."""
    rng, many = np.random.default_rng(11), 20_000
    values = np.concatenate([np.ones((many, 10)), 1.0 - (rng.random((many, 60)) < chance)], axis=1)
    left = sum(value_of_return(row, 0.0) is not None for row in values)
    bound = (chance / (1.0 - chance)) ** 5
    assert left <= stats.binom.ppf(0.99999, many, bound)
    assert left >= stats.binom.ppf(0.00001, many, 0.5 * bound)
