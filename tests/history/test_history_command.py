"""``speedproof history`` on a real repository with a planted slowdown."""

from __future__ import annotations

import getpass
import json
import math
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.command import git, hyperfine, speedproof
from tests.history.measured import committed, grown, lines

import speedproof as sp
from speedproof.api.history import measurable
from speedproof.data.session_file import PlannedVersion
from speedproof.data.suite import Key
from speedproof.history.alarms import HistoryAlarm, find_alarms
from speedproof.history.commits import Commit
from speedproof.history.rows import StoredSeries, remeasured
from speedproof.measuring.execute import Run
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.runs import Executor
from speedproof.measuring.store import latest_session, read_sessions

if shutil.which("git") is None:
    pytest.skip("needs git", allow_module_level=True)

COMMITS, SLOWER_FROM = 60, 40
HYPERFINE = str(Path(__file__).parents[1] / "data/formats/hyperfine.json")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 commits, of which those from the 41st are 5 % slower in one of two benchmarks; a store of them all."""
    folder = tmp_path_factory.mktemp("repository")

    def both(i: int) -> dict[str, Any]:
        return {"parse": np.full(5, 1.0 + 0.05 * (i >= SLOWER_FROM)), "print": np.full(5, 2.0)}

    grown(folder, committed(folder, [""] * COMMITS), both, noise=0.01, seed=11, repository=folder)
    return folder


def run(folder: Path, *words: str, repository: str | Path = "") -> tuple[int, str, str]:
    """Exit code, output and remarks of the command on the store of a folder."""
    store = ["--store", str(folder / "s.db"), "--repository", str(repository or folder)]
    at = words.index("--") if "--" in words else len(words)
    return speedproof("history", *words[:at], *store, *words[at:])


def refused(folder: Path, *words: str, repository: str | Path = "") -> str:
    code, _, err = run(folder, *words, repository=repository)
    assert code == 2, err
    return err


def answer(folder: Path, *words: str) -> Any:
    (found,) = json.loads(run(folder, *words, "--json")[1])["results"]
    return found


measures = pytest.mark.skipif(platform.system() != "Linux", reason="measures")
Suspect = Callable[..., tuple[sp.History, HistoryAlarm]]


@pytest.fixture
def suspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suspect:
    """41 commits, of which the newest takes five times as long; the last word of a command multiplies it."""

    def suspected(metric: str = "time", newest: str = "0.05") -> tuple[sp.History, HistoryAlarm]:
        pauses = ["0.01"] * 40 + [newest]
        commits = committed(tmp_path, pauses)
        monkeypatch.chdir(tmp_path)
        rng = np.random.default_rng(3)

        def measure(self: CommandExecutor, version: PlannedVersion) -> Run:
            # No two runs are over in less, however fast the machine; a watcher is told of long ones at once.
            time.sleep(0.001 if version.command[-1] == "1" else 0.04)
            seconds = float((Path(version.cwd) / "pause").read_text()) * float(version.command[-1])
            return Run({"time": 0.01, metric: seconds * math.exp(0.02 * rng.standard_normal())})

        monkeypatch.setattr(CommandExecutor, "measure", measure)
        monkeypatch.setattr(CommandExecutor, "execute", Executor.execute)  # one by one
        history = sp.History(tmp_path / "s.db", tmp_path)
        for commit, pause in zip(commits, pauses, strict=True):
            seconds = float(pause) * math.exp(0.02 * rng.standard_normal())
            file = lines(tmp_path / "r.csv", "benchmark,metric,value,unit", f"nap,{metric},{seconds},s")
            history.add(file, commit=commit, machine="ant" if metric == "time" else "")
        (alarm,) = history.alarms().alarms
        return history, alarm

    return suspected


@measures
@pytest.mark.parametrize("metric", ["time", pytest.param("cpu", marks=pytest.mark.slow)])
def test_an_alarm_is_measured_again(tmp_path: Path, suspect: Suspect, metric: str) -> None:
    """Suspected at once, an alarm is confirmed by the same metric of the same benchmark, not by another's."""
    history, _ = suspect(metric)
    code, before, _ = run(tmp_path, "watch")
    sha = git(tmp_path, "rev-parse", "HEAD")
    assert code == 0
    decides = [] if metric == "time" else ["--decide-by", metric]
    where = ["--machine", "ant"] if metric == "time" else []
    again = " ".join(["speedproof history confirm", sha[:9], *decides, "--store"])
    assert f"Measure again: {again}" in " ".join(before.split())
    alone = " ".join(run(tmp_path, "watch", "--benchmark", "nap")[1].split())
    assert again.replace(sha[:9], f"{sha[:9]} --benchmark nap") in alone  # whose risk is its own
    err = refused(tmp_path, "confirm", *where, *decides, "--", "sh", "nap", "0.25")
    assert re.search(r": 2\.\d+ ms now, (9|10)\.\d+ ms in .*, so nothing was filed", err), err
    (session,) = read_sessions(latest_session("confirm"))
    assert {r.benchmark for r in session.runs} == {"nap"}
    assert (run(tmp_path, "watch")[1], len(history.query(commit=sha))) == (before, 1)
    pause = str(tmp_path / "pause")
    assert "is one file for all commits" in refused(tmp_path, "confirm", *where, "--", pause, "1")
    code, out, err = run(tmp_path, "confirm", *where, "--", "sh", "nap", "1")  # by its own metric
    assert code == 1, err
    assert ("does not know on which machine" in err) == (not where)
    assert " ".join(out.split()).endswith(f"nap: confirmed; filed in {tmp_path / 's.db'}")
    assert out.count("x slower than") == 1
    code, out, _ = run(tmp_path, "watch", "--metric", metric, "--json")
    (alarm,) = json.loads(out)["results"][0]["alarms"]
    assert (code, alarm["bad"], alarm["state"]) == (1, sha, "confirmed")
    assert len(history.query(commit=sha)) == 2  # nothing of the metrics that nobody follows
    assert len(history.store.machines()) == 1  # also where nobody knows which it is
    assert "error: there is no unconfirmed alarm: see" in refused(tmp_path, "confirm", "--", "true")


def test_an_alarm_of_what_no_run_measures_is_refused(tmp_path: Path, suspect: Suspect) -> None:
    suspect("heat")
    assert " nap (heat) " in run(tmp_path, "watch")[1]
    err = refused(tmp_path, "confirm", "--build", "touch x", "--", "sh", "nap", "1")
    assert ("--decide-by heat: no such metric; available: time, " in err, "building" in err) == (True, False)


@pytest.mark.parametrize("later", [0, 1])
def test_of_several_alarms_at_a_commit_one_is_named(tmp_path: Path, later: int) -> None:
    """Nobody knows which of three benchmarks a command measures, unless the others' are beside the commit."""
    steps = {"in": 36, "new": 36 + later, "out": 36 + later}
    grown(tmp_path, range(40), lambda i: {name: 10 + 10 * (i >= at) for name, at in steps.items()})
    err = refused(tmp_path, "confirm", "c36", "--", "true")
    assert err.partition("with --benchmark: ")[2].strip() == ("" if later else "in, new, out")


@pytest.mark.slow
@measures
def test_what_decides_nothing_leaves_the_alarm(tmp_path: Path, suspect: Suspect) -> None:
    """Two runs of each commit decide nothing (p >= 1/6), and nothing is filed, be they 20 % slower today."""
    history, alarm = suspect()
    file = again(tmp_path, "nap", alarm.compared, ([9, 15], [48, 72]))
    assert history.confirm(alarm, file, machine="ant") is None
    (left,) = history.alarms().alarms
    assert (left.bad, left.confirmed, len(history.query(commit=left.bad.sha))) == (alarm.bad, False, 1)
    said: tuple[tuple[Any, int], ...] = ((None, 0), ("confirmed", 1), ("blessed", 0))
    words = ("confirm", alarm.bad.sha, "--machine", "ant", "--max-time", "0.000001", "--", "sh", "nap", "1")
    for state, ends in said:  # as the watch does then
        if state:
            history.store.decide(alarm.bad.sha, state, reason="", who="ann")
        code, out, _ = run(tmp_path, *words)
        assert out.splitlines()[-1].startswith("nap: undecided, so nothing was filed; ")
        assert (code, run(tmp_path, "watch")[0]) == (ends, ends)


NINE, NINES = 1.0 + np.arange(9) / 100, np.arange(9) / 4 - 1


def again(folder: Path, name: str, ends: Iterable[Commit], times: Iterable[Any], host: str = "ant") -> str:
    """A session of runs of each of two commits, by a host."""
    runs = [(commit.sha, time) for commit, of in zip(ends, times, strict=True) for time in of]
    rows = [f"{name},{sha},{time},{host}" for sha, time in runs]
    return lines(folder / "again.csv", "benchmark,version,ms,hostname", *rows)


def test_measuring_again_has_the_last_word(tmp_path: Path, suspect: Suspect) -> None:
    """Of an alarm of 5x up to 1.08x refutes it, 1.5x confirms it, and 4.9x does so after it was refuted."""
    history, alarm = suspect()
    for slow, shown in ((10.0, False), (15.0, True), (9.9, False), (49.0, True)):
        file = again(tmp_path, "nap", alarm.compared, (10.0 * NINE, slow * NINE))
        assert history.confirm(alarm, file, machine="ant") is shown
        of_it = [one for one in history.alarms().alarms if one.bad == alarm.bad]
        told = {(one.confirmed, one.decision and one.decision.state) for one in of_it}
        assert told == {(True, None)} if shown else told <= {(False, "refuted")}
        assert run(tmp_path, "watch")[0] == shown


@pytest.mark.parametrize("end", [0, 1])
def test_a_session_that_confirmed_falls_as_a_whole(tmp_path: Path, suspect: Suspect, end: int) -> None:
    """It was slow throughout, and one of its commits is noise: nothing of the other tells of that day alone."""
    history, alarm = suspect()
    file, noise = again(tmp_path, "nap", alarm.compared, (13.0 * NINE, 65.0 * NINE)), alarm.compared[end].sha
    assert history.confirm(alarm, file, machine="ant") is True
    whole = [track.level.tolist() for track in history.changes().tracks]
    assert run(tmp_path, "invalid", noise)[0] == 0
    first = [*alarm.track.level]
    del first[alarm.places[0] - 1 + end]
    (track,) = history.changes().tracks
    assert track.level.tolist() == first
    assert end == 0 or (run(tmp_path, "watch")[0], history.alarms().alarms) == (0, ())
    assert run(tmp_path, "reopen", noise)[0] == 0
    assert [track.level.tolist() for track in history.changes().tracks] == whole
    assert [one.bad for one in history.alarms().confirmed] == [alarm.bad]


@pytest.mark.parametrize(("newest", "old", "new", "shown"), [
    ("0.002", 10.0, 10.0, False), ("0.002", 0.0, 0.0, None), ("0.002", 0.0, 10.0, False),
    ("0.002", 10.0, 2.0, True), ("0.018", 10.0, 18.0, True), ("0.018", 10.0, 6.0, False),
    *((newest, 10.0 * wide, 10.0 * wide, shown)
      for newest in ("0.002", "0.05") for wide, shown in ((4.0**NINES, False), (5.5**NINES, None))),
])  # fmt: skip
def test_measuring_again_refutes_or_confirms(
    tmp_path: Path, suspect: Suspect, newest: str, old: Any, new: Any, shown: bool | None
) -> None:
    """A speedup or a slowdown; what takes no time decides nothing, and the other direction refutes either.

    Of an alarm of 5x undecided bounds refute it that exclude its square root, 2.2x, and no wider ones.
    """
    history, alarm = suspect("time", newest)
    file = again(tmp_path, "nap", alarm.compared, (old * NINE, new * NINE))
    assert history.confirm(alarm, file, machine="ant") is shown


@measures
def test_a_speedup_is_measured_again(
    tmp_path: Path, suspect: Suspect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no slowdown is unconfirmed; it fails nothing. What was interrupted is not filed, which is said."""
    suspect("time", "0.002")
    words = ("confirm", "--machine", "ant", "--", "sh", "nap", "1")
    with monkeypatch.context() as patch:
        patch.setattr(CommandExecutor, "measure", lambda *_: signal.raise_signal(signal.SIGINT))
        code, _, err = run(tmp_path, *words)
    assert (code, err.splitlines()[-1].startswith("speedproof: nothing was filed: ")) == (130, True), err
    code, out, err = run(tmp_path, *words)
    assert (code, "nap: confirmed; filed" in out) == (0, True), err


@measures
def test_what_is_proposed_for_another_speed_can_be_done(tmp_path: Path, suspect: Suspect) -> None:
    """Both commands as they stand: the good commit has a second session of the benchmark on that machine."""
    history, alarm = suspect()
    err = refused(tmp_path, "confirm", "--machine", "ant", "--", "sh", "nap", "0.25")
    proposed = re.search("has another speed now: (.+), then (.+)", err)
    assert proposed is not None, err
    for command in proposed.groups():
        code, _, err = speedproof(*shlex.split(command.replace("COMMAND", "sh nap 0.25"))[1:])
        assert code == 0, err
    rows = history.query(commit=alarm.good.sha, metric="time")
    assert [(row.benchmark, row.machine) for row in rows] == [("nap", "ant")] * 2


@pytest.mark.parametrize("name", ["command", "nap"])
def test_what_is_measured_again_is_held_against_the_store(
    tmp_path: Path, suspect: Suspect, name: str
) -> None:
    """10 ms are 21 ms now, maybe another thing's: filed when asked for, as on a slower day, still 1 to 5."""
    history, alarm = suspect()
    file = again(tmp_path, name, alarm.compared, (21.0 * NINE, 105.0 * NINE))
    told = f"nap at {alarm.good.sha[:9]}: 21.84 ms now, (9|10).* ms in .* so nothing was filed"
    with pytest.raises(sp.SpeedproofError, match=told):
        history.confirm(alarm, file, machine="ant")
    assert len(history.query(commit=alarm.bad.sha)) == 1
    level = np.exp(alarm.track.level[-2:])
    history.add(file, machine="ant", benchmark="nap")
    (found,) = history.alarms().alarms
    assert found.bad == alarm.bad
    # Without the level of that day: what it was before, and five times that, each with one session before
    expected = level[0], math.sqrt(level[1] * level[0] * 5.0)
    np.testing.assert_allclose(np.exp(found.track.level[-2:]), expected)


def test_what_one_session_alone_shows_asks_for_a_measurement(tmp_path: Path, history: sp.History) -> None:
    """Eight commits in a session at 1.3 times: no change, but an alarm; a change when it was measured again."""
    rng = np.random.default_rng(2)
    for commits in [*([i] for i in range(30)), range(30, 38)]:
        rows = [f"in,c{i:02d},{(13 if i >= 30 else 10) + 0.1 * rng.standard_normal()}" for i in commits]
        file = lines(tmp_path / "r.csv", "benchmark,version,ms", *rows)
        name = None if len(commits) > 1 else f"c{commits[0]:02d}"
        history.add(file, commit=name, started=f"2026-01-{commits[-1] // 2 + 1:02d}")
    (alarm,) = history.alarms().alarms
    assert (alarm.bad.sha, alarm.confirmed) == ("c30", False)
    assert history.changes().changes == ()
    basis = alarm.track.basis
    for metric, where, shown in (("cpu", basis, False), ("time", "bee", False), ("time", basis, True)):
        history.store.decide("c30", "confirmed", reason=remeasured(metric, where), who="", benchmark="in")
        assert [change.commit.sha for change in history.changes().changes] == ["c30"] * shown
        assert history.alarms().alarms[0].confirmed == shown


def test_another_machine_proves_nothing_of_an_alarm(tmp_path: Path, suspect: Suspect) -> None:
    """It is told before anything is measured; the machine is known by its host, its CPU or the name of a store."""
    history, alarm = suspect()
    for where in ([], ["--machine", "bee"]):
        err = refused(tmp_path, "confirm", *where, "--", "sh", "nap", "1")
        assert re.search(r"is of the machine ant, not of .*: measure it there; .* add --machine ant$", err)
    ends, times = alarm.compared, (10 * NINE, 50 * NINE)
    for told, machine in (("", ""), ("bee", ""), ("", "bee"), ("ant", "bee")):
        with pytest.raises(sp.SpeedproofError, match="is of the machine ant, not of"):
            history.confirm(alarm, again(tmp_path, "nap", ends, times, told), machine=machine)
    assert len(history.query(commit=alarm.bad.sha)) == 1
    assert history.confirm(alarm, again(tmp_path, "nap", ends, times)) is True
    assert len(history.store.machines()) == 1
    tracks = (alarm.track, replace(alarm.track, basis="bee"), replace(alarm.track, series=2))
    with pytest.raises(sp.SpeedproofError, match="is of the machine ant, not of cow"):
        measurable([replace(alarm, track=track) for track in tracks[:2]], "cow")
    known = {n: StoredSeries(n, Key("nap", metric), "s", False) for n, metric in ((1, "time"), (2, "cpu"))}
    alarms = find_alarms(tracks, known, history.store.decisions(), every=200.0, last=30)
    assert [(a.track.basis, a.track.series, a.confirmed) for a in alarms] == [
        ("ant", 1, True), ("bee", 1, False), ("ant", 2, False)
    ]  # fmt: skip


def test_a_machine_is_known_by_what_another_tool_tells_of_it(tmp_path: Path, history: sp.History) -> None:
    """Files with the number of CPUs and the host are of the machine of that host, which is called so."""
    for i, noise in enumerate(0.1 * np.random.default_rng(2).standard_normal(41)):
        row = f"in,{10 + 10 * (i == 40) + noise},ant,8,Linux"
        file = lines(tmp_path / "r.csv", "benchmark,ms,hostname,num_cpus,system", row)
        history.add(file, commit=f"c{i:02d}")
    (alarm,) = history.alarms().alarms
    assert alarm.track.basis == "ant, 8 CPUs, Linux"
    assert history.confirm(alarm, again(tmp_path, "in", alarm.compared, (10 * NINE, 20 * NINE))) is True
    assert len(history.store.machines()) == 1
    history.add(lines(tmp_path / "r.csv", "benchmark,ms", "in,10"), commit="c41", machine=alarm.track.basis)
    assert len(history.store.machines()) == 1


def test_an_alarm_of_any_commit_is_measured_again(tmp_path: Path) -> None:
    """The watch shows one of 50 commits ago with --last: it is found by its commit, or by one beside it."""
    grown(tmp_path, range(90), lambda i: 10 + (i >= 40))
    assert [alarm["bad"] for alarm in answer(tmp_path, "watch", "--last", "60")["alarms"]] == ["c40"]
    for commit, found in (("c40", True), ("c41", True), ("c60", False)):  # there is no git to measure it
        assert (f"no alarm at {commit}" not in refused(tmp_path, "confirm", commit, "--", "true")) == found


def test_what_is_blessed_leaves_later_alarms_undecided(tmp_path: Path) -> None:
    """Of steps of ten deviations at the 31st and the 41st commit the first is accepted, the second fails."""
    history = grown(tmp_path, range(40), lambda i: 10 + (i >= 30), repository=tmp_path)
    assert [alarm.bad.sha for alarm in history.alarms().confirmed] == ["c30"]
    assert run(tmp_path, "bless", "c30", "meant")[0] == 0
    assert history.alarms().undecided == ()
    grown(tmp_path, range(40, 46), lambda _: 12, repository=tmp_path)
    assert [alarm.bad.sha for alarm in history.alarms().confirmed] == ["c40"]
    decided = {alarm.bad.sha: alarm.decision and alarm.decision.state for alarm in history.alarms().alarms}
    assert decided == {"c30": "blessed", "c40": None}
    for words, rows, commit in (((), "changes", "commit"), (("watch",), "alarms", "bad")):
        said = {one[commit]: one["decided"] for one in answer(tmp_path, *words)[rows]}
        assert (said["c30"]["reason"], said["c30"]["who"], said["c40"]) == ("meant", getpass.getuser(), None)
        assert abs(datetime.fromisoformat(said["c30"]["at"]).timestamp() - time.time()) < 600
    assert answer(tmp_path, "watch", "--last", "2")["alarms"] == []


def test_a_share_of_false_changes_finds_more(tmp_path: Path) -> None:
    """Of ten steps of one to five deviations: Benjamini and Hochberg's rule is never the stricter one."""
    grown(tmp_path, range(24), lambda i: {f"b{k}": 10 + (i >= 12) * k / 22.5 for k in range(2, 12)}, seed=4)
    few, many = ({c["benchmark"] for c in answer(tmp_path, *fdr)["changes"]} for fdr in ((), ("--fdr",)))
    assert set() < few < many


def test_what_is_noise_decides_nothing(tmp_path: Path) -> None:
    """Without the first slow commit the next one is; its change is open, and so is one that is measured again."""
    day, other = (f"{year}-01-01T00:00:00+00:00" for year in (2026, 2099))
    history = grown(tmp_path, range(40), lambda i: 10 + (i >= 30), repository=tmp_path, started=day)
    out = "c30 is invalid: its measurements so far are left out\n"
    assert run(tmp_path, "invalid", "c30", "noisy")[1] == out
    assert "in 1 benchmark over 39 commits\n" in run(tmp_path)[1]
    assert "in 1 benchmark, last 30 commits of 39\n" in run(tmp_path, "watch")[1]
    assert [(a.bad.sha, a.decision) for a in history.alarms().undecided] == [("c31", None)]
    grown(tmp_path, range(30, 31), lambda _: 11, repository=tmp_path, session="again", started=other)
    assert [a.bad.sha for a in history.alarms().undecided] == ["c30"]
    out = run(tmp_path, "bless", "c31", "meant")[1]
    assert out == "c31 is blessed\nThat counts for the change of in at c30.\n"
    assert history.alarms().undecided == ()
    run(tmp_path, "note", "c30", "so it is")
    run(tmp_path, "note", "c36", "elsewhere")
    out = run(tmp_path, "--commit", "c30")[1]
    by = rf"\({re.escape(getpass.getuser())}, \d{{4}}-\d\d-\d\d\)\n"
    assert re.search(f"\nblessed at c31: meant {by}noted: so it is {by}", out), out
    assert "elsewhere" not in out


@pytest.mark.slow
def test_decisions_are_taken_back(tmp_path: Path) -> None:
    """The newest one holds: of one benchmark, or all; what was noise counts again, nobody looks after it."""

    def both(i: int) -> dict[str, Any]:
        return dict.fromkeys(("parse", "print"), 10 + (i >= 30))

    history = grown(tmp_path, range(40), both, repository=tmp_path, started="2026-01-01T00:00:00+00:00")

    def decide(*words: str) -> list[tuple[str, str | None, str | None]]:
        assert run(tmp_path, *words)[0] == 0
        found = history.changes()
        undecided = [found.series[a.track.series].key.benchmark for a in history.alarms().undecided]
        told = [(found.series[c.track.series].key.benchmark, c) for c in found.changes]
        assert [name for name, c in told if found.decision(c) is None] == sorted(undecided)
        assert run(tmp_path, "--fail-on-change")[0] == bool(undecided)
        return [(name, getattr(found.decision(c), "reason", None), found.assigned(c)) for name, c in told]

    none = [("parse", None, None), ("print", None, None)]
    assert decide("bless", "c31", "meant") == [("parse", "meant", None), ("print", "meant", None)]
    assert "blessed" in run(tmp_path)[1]
    assert decide("reopen", "c29", "--benchmark", "parse") == [none[0], ("print", "meant", None)]
    assert decide("note", "c30", "--assign", "ann") == [("parse", None, "ann"), ("print", "meant", "ann")]
    assert decide("reopen", "c30") == none
    assert decide("fixed", "c30", "done") == [("parse", "done", None), ("print", "done", None)]
    assert decide("reopen", "c30") == none
    told = "c30 is reopened\nThat counts for the change of parse at c30, print at c30.\n"
    assert run(tmp_path, "reopen", "c30")[1] == told
    for words, first in (["invalid", "c30"], "c31"), (["reopen", "c30", "--benchmark", "print"], "c30"):
        run(tmp_path, *words)
        assert {c.commit.sha for c in history.changes(benchmark="print").changes} == {first}
    assert [c.commit.sha for c in history.changes(benchmark="parse").changes] == ["c31"]
    assert "no change" in run(tmp_path, "reopen", "c05")[1].lower()


def test_what_is_said_of_a_drift_is_kept_of_its_benchmark(tmp_path: Path) -> None:
    """Its commit moves; what is said of a step is not, and may be of other benchmarks."""
    levels = ({"parse": 10 + i / 50, "print": 10 + (i >= 25)} for i in range(50))
    history = grown(tmp_path, range(50), lambda _: next(levels), noise=0.05, repository=tmp_path)
    drift, step = history.changes().changes
    assert (drift.drift, step.drift, step.commit.sha) == (True, False, "c25")
    assert run(tmp_path, "bless", drift.commit.sha)[0] == run(tmp_path, "bless", "c25")[0] == 0
    said = {(said.commit, said.benchmark) for said in history.changes().decisions}
    near = {("c25", "parse")} if abs(int(drift.commit.sha[1:]) - 25) <= 2 else set()
    assert said == {(drift.commit.sha, ""), (drift.commit.sha, "parse"), ("c25", "")} | near


def test_a_version_that_is_a_hash_is_the_commit(repository: Path, tmp_path: Path) -> None:
    """Also alone in its file, as a short hash in a column, before words or as the file's name; else it is HEAD."""
    sha, head = git(repository, "rev-parse", "HEAD~5", "HEAD").split()
    history = sp.History(tmp_path / "s.db", repository)
    for name, column, told, commits in (
        ("one", "commit", [sha[:10]], (sha,)),
        ("other", "commit", ["0123456"], (head,)),
        (sha[:12], "benchmark", ["b"], (sha,)),
        ("v", "version", [f"{sha[:7]} any words", "deadbeef no commit"], (sha, "deadbeef no commit")),
    ):
        rows = [f"{of},{len(name) + k}" for k, of in enumerate(told)]
        assert history.add(lines(tmp_path / f"{name}.csv", f"{column},ms", *rows)).commits == commits
    known = {commit.sha: commit for commit in history.store.commits()}
    assert known[sha].subject == git(repository, "show", "-s", "--format=%s", sha)


@pytest.fixture(scope="module")
def triaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 commits: three of six benchmarks slower from the 11th to the 25th, two faster from the 31st on."""
    folder = tmp_path_factory.mktemp("triage")
    rng = np.random.default_rng(7)
    history = sp.History(folder / "s.db", folder)
    for i, commit in enumerate(committed(folder, [""] * 40)):
        rows = ["benchmark,metric,value,unit"]
        for b in range(6):
            level = (1.2 if b < 3 and 10 <= i < 25 else 1.0) * (0.8 if b > 3 and i >= 30 else 1.0)
            rows += [f"b{b},time,{v:.6f},ms" for v in level * (1 + 0.01 * rng.standard_normal(3))]
            counts = 1e6 * (1 + 0.01 * rng.standard_normal(3) + (b > 4 and i >= 20))
            rows += [f"b{b},instructions,{v:.0f}," for v in counts]
        history.add(lines(folder / f"{i}.csv", *rows), commit=commit)
    return folder


@pytest.fixture
def triage(triaged: Path, tmp_path: Path) -> Path:
    """One's own, to decide about."""
    return Path(shutil.copytree(triaged, tmp_path / "triage"))


def test_changes_by_commit_metric_state_and_machine(triage: Path) -> None:
    """A row a commit, those that stand first, then the newest; alone it has a row each benchmark."""
    code, out, err = run(triage)
    assert (code, "others with --metric: instructions, or all" in err) == (0, True)
    assert out.startswith("8 changes in 6 benchmarks over 40 commits")
    shas = git(triage, "rev-list", "--reverse", "HEAD").split()
    rows = [line.split() for line in out.splitlines() if line[:9] in {sha[:9] for sha in shas}]
    assert [shas.index(next(s for s in shas if s.startswith(row[0]))) for row in rows] == [30, 25, 10]
    assert [row[1:3] for row in rows] == [[str(n), "benchmarks"] for n in (2, 3, 3)]
    assert ("stands" in rows[0], "undone" in rows[2]) == (True, True)
    one = run(triage, "--commit", shas[30])[1]
    assert all(part in one for part in ("b4 ", "b5 ", f"{shas[30][:9]} Change 30 (t)"))
    usual, every, counter = (
        answer(triage, *of) for of in ((), ("--metric", "all"), ("--metric", "instructions"))
    )
    assert {change["metric"] for change in usual["changes"]} == {"time"}
    assert [change["benchmark"] for change in counter["changes"]] == ["b5"]
    assert [of["benchmarks"] for of in (usual, counter, every)] == [6, 6, 12]
    states = [change["state"] for change in usual["changes"]]
    assert {*states} == {"stands", "undone"}
    for state in ("stands", "undone", "blessed", "fixed"):
        kept = [change["state"] for change in answer(triage, "--state", state)["changes"]]
        assert kept == [one for one in states if one == state]
    undone = run(triage, "--state", "undone")[1]
    assert undone.startswith(f"{states.count('undone')} of 8 changes in 6 benchmarks")
    assert run(triage, "--machine", "*")[1] == run(triage)[1]
    assert "holds no machine Cray*; it has " in refused(triage, "--machine", "Cray*")


def test_all_metrics_that_decide_are_named(tmp_path: Path, history: sp.History) -> None:
    file = lines(tmp_path / "r.csv", "benchmark,metric,ms", "in,time,1", "in,cpu,1", "out,heat,1")
    history.add(file, commit="c1")
    told = "time, heat are shown; others with --metric: cpu, or all\n"
    assert run(tmp_path, "watch")[2] == f"speedproof: {told}"


def test_what_was_undone_fails_nothing(triage: Path, tmp_path: Path) -> None:
    """Neither as a change nor as an alarm, which says where; before the undoing both fail."""
    shas, file = git(triage, "rev-list", "--reverse", "HEAD").split(), tmp_path / "told"
    watch = ("watch", "--last", "40", "--on-alarm", f"touch {file}")
    assert (run(triage, "--fail-on-change")[0], run(triage, *watch)[0], file.exists()) == (0, 0, False)
    assert {alarm["undone"] for alarm in answer(triage, *watch)["alarms"] if alarm["slower"]} == {shas[25]}
    assert "undone" in run(triage, *watch)[1]
    earlier = ("--branch", "HEAD~16")
    assert (run(triage, "--fail-on-change", *earlier)[0], run(triage, *watch, *earlier)[0]) == (1, 1)
    assert file.exists()
    assert run(triage, "bless", shas[10], "planned", "--benchmark", "b0")[0] == 0
    assert run(triage, "--fail-on-change", *earlier)[0] == 1  # of the others


def test_a_change_is_noted_and_assigned(triage: Path) -> None:
    """Both are kept and shown, once, however many metrics its benchmark has, and settle nothing."""
    sha = git(triage, "rev-list", "--reverse", "HEAD").split()[30]
    assert run(triage, "note", sha[:9], "looks", "real", "--assign", "ann", "--benchmark", "b5")[0] == 0
    assert "stands, ann on it" in run(triage)[1]
    assert run(triage, "--commit", sha)[1].count("noted of b5: looks real (") == 1
    (change,) = (one for one in answer(triage, "--commit", sha)["changes"] if one["benchmark"] == "b5")
    assert (change["state"], change["decided"], change["assigned"]) == ("stands", None, "ann")
    assert "give a remark, or --assign WHO" in run(triage, "note", sha)[2]


def test_an_alarm_is_handed_to_a_command(
    repository: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The JSON of new undecided ones, once, unless it failed or is another command; the answer comes first."""
    shutil.copytree(repository, tmp_path, dirs_exist_ok=True)
    run(tmp_path, "reopen", git(tmp_path, "rev-list", "--reverse", "HEAD").split()[SLOWER_FROM])
    file, failing = tmp_path / "body.json", tmp_path / "failing"
    words = ("watch", "--metric", "time", "--last", "60", "--on-alarm")
    failing.touch()
    command = f"test ! -e {failing} && cat > {file}"
    for more in ((), ("--json",)):
        _, shown, _ = run(tmp_path, *words[:-1], *more)
        code, out, err = run(tmp_path, *words, command, *more)
        assert (code, "ended with code 1" in err, file.exists()) == (2, True, False)
        assert out == shown != ""
    capfd.readouterr()
    run(tmp_path, *words, "echo from the command")
    assert capfd.readouterr() == ("", "from the command\n")
    place = ["--store", str(tmp_path / "s.db"), "--repository", str(tmp_path)]
    watch = [sys.executable, "-m", "speedproof", "history", *words, "echo from another", *place]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    both = subprocess.run(watch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, env=env)
    assert b"alarm" in both.stdout.partition(b"from another")[0]
    failing.unlink()
    code, out, _ = run(tmp_path, *words, command, "--json")
    assert (code, json.loads(file.read_text())) == (1, json.loads(out))
    for again, told in ((command, False), (f"{command} ", True)):
        file.unlink(missing_ok=True)
        assert (run(tmp_path, *words, again)[0], file.exists()) == (1, told)


def test_the_notifications_of_the_manual(
    triage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("jq") is None:
        pytest.skip("needs jq")
    page = (Path(__file__).parents[2] / "docs" / "history.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", page.partition("## Notifications")[2], re.DOTALL)
    for name in ("curl", "gh"):
        (tmp_path / name).write_text(f"#!/bin/sh\ncat > {tmp_path}/{name}.txt\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for command in re.findall(r"--on-alarm '(.*?)'\n", block, re.DOTALL):
        at = ("--branch", "HEAD~16", "--last", "40")
        assert run(triage, "watch", *at, "--on-alarm", command)[0] == 1
    for name in ("b0", "b1", "b2"):
        assert f"{name}: 1." in json.loads((tmp_path / "curl.txt").read_text())["text"]
        (line,) = [x for x in (tmp_path / "gh.txt").read_text().splitlines() if f"- {name}: 1." in x]
        again = f"confirm [0-9a-f]+ --benchmark {name} --branch 'HEAD~16' --store .* -- COMMAND$"
        assert re.search(again, line)


FOLLOWING = [("--fail-on-change",), ("watch",), ("show", "parse"), ("page", "-o", "site")]


@pytest.mark.parametrize("words", FOLLOWING, ids=" ".join)
def test_nothing_passes_where_git_orders_nothing(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A branch that there is not, another repository or none, a shallow clone, a metric that nobody measured."""
    monkeypatch.chdir(tmp_path)
    git(repository, "branch", "-f", "feature")
    told = refused(repository, *words, "--branch", "mian")
    assert ("git knows no mian" in told, "--branch (feature, main)" in told) == (True, True)
    (tmp_path / "other").mkdir()
    told = refused(repository, *words, repository="other")
    assert f"{tmp_path / 'other'}: is in no git repository, and git orders these commits; name theirs" in told
    assert "--branch" not in told
    git(tmp_path / "other", "init", "-q", "-b", "trunk")
    git(tmp_path / "other", "commit", "-q", "--allow-empty", "-m", "Other")
    assert "--branch (trunk) or --repository" in refused(repository, *words, repository="other")
    git(tmp_path, "clone", "-q", "--depth", "3", f"file://{repository}", "shallow")
    assert "git fetch --unshallow" in refused(repository, *words, repository="shallow")
    if words[0] != "show":
        assert "holds no metric heat; it has " in refused(repository, *words, "--metric", "heat")


def test_a_commit_alone_is_no_branch_but_git_named_it(tmp_path: Path) -> None:
    """CI checks out commits, not branches: what is added there is followed there, and nowhere else."""
    committed(tmp_path, [""])
    git(tmp_path, "checkout", "-q", "--detach")
    history = sp.History(tmp_path / "s.db", tmp_path)
    history.add(lines(tmp_path / "a.txt", "1.0", "1.1"))
    assert len(history.changes().commits) == 1
    (tmp_path / "other").mkdir()
    git(tmp_path / "other", "init", "-q")
    with pytest.raises(sp.SpeedproofError, match="git knows no HEAD"):
        sp.History(tmp_path / "s.db", tmp_path / "other").changes()


def test_projects_stand_on_one_page(repository: Path, tmp_path: Path) -> None:
    """Each store in the repository of its folder, called like its file, or like the folder of a speedproof.db."""
    other, site = tmp_path / "other", str(tmp_path / "site")
    shutil.copytree(repository, other)
    (other / "s.db").rename(other / "speedproof.db")
    stores = [str(repository / "s.db"), str(other / "speedproof.db")]
    assert speedproof("history", "page", *stores, "-o", site)[0] == 0
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'href="([^"]*)/index.html"', page) == ["other", "s"]
    assert page.count("1 change in 2 benchmarks over 60 commits") == 2
    code, out, _ = run(repository, "page", "-o", str(tmp_path / "one"), "--compare", "main")
    assert (code, "index.html" in out) == (0, True)
    for folder in ("site/other", "one"):
        assert (tmp_path / folder / "data" / "1.js").is_file()
    assert "two stores are called s" in speedproof("history", "page", stores[0], stores[0], "-o", site)[2]


def test_an_alarm_names_the_command_that_confirms_it(repository: Path) -> None:
    """Of the last 60 commits the slowdown is an alarm, exit code 1 while nobody decided; of the last 3, none."""
    shas = git(repository, "rev-list", "--reverse", "HEAD").split()
    (alarm,) = answer(repository, "watch", "--last", "60")["alarms"]
    assert abs(shas.index(alarm["bad"]) - SLOWER_FROM) <= 1
    assert run(repository, "reopen", alarm["bad"])[0] == 0
    words = shlex.split(alarm["confirm"])
    place = ["--store", str(repository / "s.db"), "--repository", str(repository)]
    assert words == ["speedproof", "history", "confirm", alarm["bad"], "--benchmark", "parse", *place]
    assert "there is no" not in refused(repository, *words[2:], "--", "false")  # it finds the alarm
    other = refused(repository, "confirm", alarm["bad"], "--benchmark", "print", "--", "false")
    assert f"no alarm at {alarm['bad']} of print: see" in other
    code, out, _ = run(repository, "watch", "--last", "60")
    assert (code, "Confirm" in out) == (1, False)
    assert [run(repository, "watch", "--last", last)[0] for last in "30"] == [0, 2]
    code, out, _ = run(repository)
    assert (code, len(out.splitlines()) <= 10) == (0, True), out
    assert out.startswith("1 change in 2 benchmarks over 60 commits")
    (line,) = (line for line in run(repository, "--benchmark", "parse")[1].splitlines() if "slower" in line)
    bars = [ch for ch in line if "\u2581" <= ch <= "\u2588"]
    assert max(bars[:7]) < min(bars[8:])  # the step is seen, two thirds along the line
    (change,) = answer(repository)["changes"]
    assert shas.index(change["earliest"]) <= SLOWER_FROM <= shas.index(change["latest"])
    assert change["low"] < 1.05 < change["high"]
    assert (change["slower"], change["benchmark"]) == (True, "parse")


def test_a_benchmark_is_named_by_a_part_or_a_pattern(repository: Path) -> None:
    whole = run(repository, "show", "parse")[1]
    assert "... 50 earlier commits: --all" in whole
    assert all(f"Change {i}\n" in run(repository, "show", "parse", "--all")[1] for i in (0, 59))
    for action, part in (
        ("show", "pars"), ("show", "*se"), ("watch --benchmark", "pars"), ("--benchmark", "p*se"),
    ):  # fmt: skip
        _, out, err = run(repository, *action.split(), part)
        assert (out, err) == (run(repository, *action.split(), "parse")[1], "")
    rows = [run(repository, "query", *words)[1] for words in (["parse"], ["pars"])]
    assert rows == [rows[0]] * 2
    first = git(repository, "rev-list", "--reverse", "HEAD").split()[0]
    told = "No change is shown there now.\n"
    assert run(repository, "fixed", first, "--benchmark", "par")[1] == f"{first[:9]} is fixed\n{told}"


@pytest.mark.parametrize(("words", "told"), [
    ("add", "missing argument 'FILE...'"), ("add nowhere.json", "no such file"),
    ("add nowhere.json --machine=", "invalid value for '--machine': '' is no name"),
    ("bless", "missing argument 'COMMIT'"), ("page", "missing option '-o'"),
    ("forget 0000000", "holds no commit 0000000; added last: HEAD, "),
    ("show unknown", "holds no benchmark unknown; "), ("show", "missing argument 'BENCHMARK'"),
    ("query parse prnt", "holds no benchmark prnt; do you mean print?"),
    ("query x*", "holds no benchmark x*; available: parse, print"),
    ("show p", "holds several benchmarks p: parse, print"), (f"add {HYPERFINE} --commit=", "'' names no commit"),
    ("dance", "no such action; choose one of add, "), ("wacth", "no such action; did you mean watch?"),
    ("--branch main show parse", "name the action first: speedproof history show"),
    ("--fdr show parse", "name the action first: speedproof history show"),
])  # fmt: skip
def test_errors_in_words(repository: Path, words: str, told: str) -> None:
    newest = git(repository, "rev-parse", "--short=9", "HEAD")
    assert told.replace("HEAD", newest) in refused(repository, *words.split())


@pytest.mark.parametrize(("words", "told"), [
    ("c=v.csv", "v.csv: holds the versions a, b, c and 1 more; add one, as v.csv:a, or name no commit: then each"),
    ("c=dir", "dir: each of its files is a version (1, 2); for sessions of one commit name the files, dir/*"),
    ("c=two.csv --benchmark x", "two.csv: holds 2 benchmarks, but --benchmark can name only one"),
    ("c=dir/1.csv --commit d", "names one commit, --commit d another"), ("c=dir/1.csv --commit c", ""),
    ("c=dir/1.csv --anchor d", "holds no version 'd' to be the anchor; an anchor stands in one file with the"),
    ("v.csv --anchor e", "holds no version 'e' to be the anchor; it has a, b, c, d\n"),
])  # fmt: skip
def test_what_cannot_be_added_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dir").mkdir()
    for name in ("dir/1.csv", "dir/2.csv"):
        lines(Path(name), "benchmark,ms", "x,1")
    lines(Path("two.csv"), "benchmark,ms", "x,1", "y,2")
    lines(Path("v.csv"), "version,benchmark,ms", *(f"{v},x,1" for v in "abcd"))
    code, _, err = run(tmp_path, "add", *words.split())
    assert (code, told in err) == (2 * bool(told), True), err


def test_outside_a_repository_a_commit_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HEAD means nothing without git; any name of a commit will do. One cause of many files is told once."""
    files = [lines(tmp_path / f"{i}.txt", "1", "2") for i in range(6)]
    for _ in ("no repository", "no git"):
        err = refused(tmp_path, "add", *files, "--unit", "ms")
        assert err.count("no git repository is here; name the commit with --commit") == 1
        assert all(part in err for part in ("or each as COMMIT=FILE", files[0], "and 3 more: "))
        monkeypatch.setenv("PATH", str(tmp_path))
    assert run(tmp_path, "add", files[0], "--unit", "ms", "--commit", "v1")[0] == 0


@pytest.mark.parametrize("head", ["commit,in,cpu_ms", "hash,in,seconds", "sha,in,x", "commit,in,time"])
def test_a_column_of_commits_is_never_pooled_over(tmp_path: Path, head: str) -> None:
    rows = [f"c{i},in,{10 + k}" for i in range(3) for k in range(2)]
    file = lines(tmp_path / "r.csv", head.replace("in", "benchmark"), *rows)
    assert run(tmp_path, "add", file, "--unit", "ms")[0] == 0
    assert [len(sp.History(tmp_path / "s.db", "/").query(commit=f"c{i}")) for i in range(3)] == [1, 1, 1]


def test_a_file_that_names_two_commits_is_refused(tmp_path: Path) -> None:
    file = lines(tmp_path / "r.csv", "benchmark,ms,version,commit_id,git_commit", "in,10,a,aaa,bbb")
    told = "r.csv: names several commits (aaa, bbb); name one with --commit\n"
    assert refused(tmp_path, "add", file).endswith(told)
    assert run(tmp_path, "add", file, "--commit", "ccc")[0] == 0
    header, row = run(tmp_path, "query")[1].splitlines()[2:4]
    expected = (["commit", "benchmark", "median"], ["ccc", "in", "10.00", "ms"])
    assert (header.split()[:3], row.split()[:4]) == expected
    whole, other = str(tmp_path / "all.jsonl.gz"), ("--store", str(tmp_path / "other.db"))
    assert run(tmp_path, "export", whole)[:2] == (0, f"{whole}: 1 sample\n")
    assert speedproof("history", "import", whole, *other)[:2] == (0, f"1 new sample from {whole}\n")
    assert speedproof("history", "import", whole, *other)[:2] == (0, f"0 new samples from {whole}\n")


def test_what_was_added_is_named_and_a_slip_is_told(tmp_path: Path) -> None:
    """A file without a name gives its benchmark one, which is needed to show it; names of commits stay whole."""
    file = lines(tmp_path / "telco.txt", "1", "2")
    names = ["telco_2016-06-15_4bccd854", "telco_2016-07-11_f124cd81"]
    for name in names:
        assert run(tmp_path, "add", file, "--commit", name)[1].endswith(f"1 sample of {name}\n")
    assert run(tmp_path, "forget", names[0])[1] == f"1 sample of {names[0]} forgotten\n"
    run(tmp_path, "add", file, "--commit", names[0])
    code, out, _ = run(tmp_path, "show", "telco")
    assert (code, all(name in out for name in names)) == (0, True)
    assert "holds no benchmark tleco; do you mean telco?" in refused(tmp_path, "show", "tleco")


def test_what_of_a_file_cannot_be_used_is_told_and_the_rest_is_added(tmp_path: Path) -> None:
    """By the names of its commands; a median of 0 is stored, but not followed, as changes are ratios."""
    timed = {"parse": [1.0, math.nan], "sum": [math.nan, math.nan], "print": [-1.0, 1.0], "idle": [0.0, 0.0]}
    file = hyperfine(tmp_path / "r.json", timed)
    code, out, err = run(tmp_path, "add", f"c1={file}")
    assert (code, out) == (0, f"c1={file}: 2 samples of c1\n")
    assert [re.findall("parse|sum|print|idle", line)[0] for line in err.splitlines()] == [*timed]
    assert "idle (time): stored, but not followed" in err
    assert "no median is above 0" in refused(tmp_path, "show", "idle")


def test_a_hash_that_is_cut_is_the_stored_one(tmp_path: Path) -> None:
    """Where no repository is, too: seven digits are that commit, six are a name, and so are digits of two."""
    whole = ["ab" * 20, "abababac" + "0" * 32]
    for k, name in enumerate((whole[0], whole[0][:9], whole[1], whole[0][:7], whole[1][:6])):
        assert run(tmp_path, "add", f"{name}={lines(tmp_path / 'r.txt', f'{k + 1}', '2')}")[0] == 0
    stored = [commit.sha for commit in sp.History(tmp_path / "s.db", "/").store.commits()]
    assert stored == [*whole, whole[0][:7], whole[1][:6]]


def test_what_a_growing_file_brings_is_told(tmp_path: Path) -> None:
    for commits, told in ((4, "4 samples of 4 commits"), (5, "1 new sample, 4 there already")):
        rows = [f"in,{10 * i + k},{i:07x}" for i in range(commits) for k in range(3)]
        file = lines(tmp_path / "r.csv", "benchmark,ms,commit", *rows)
        assert run(tmp_path, "add", file)[1] == f"{file}: {told}\n"


def asv_result(file: Path, commit: str, day: int) -> None:
    """A result of asv: one benchmark, and the commit with its date in milliseconds."""
    content = {
        "commit_hash": commit, "date": (1_500_000_000 + 86_400 * day) * 1000,
        "params": {"machine": "box", "cpu": "c"}, "requirements": {},
        "results": {"suite.time_it": 1.0 + day / 100}, "version": 1,
    }  # fmt: skip
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))


@pytest.mark.parametrize(("listed", "folder"), [(True, ""), (False, ""), (False, "box")])
def test_commits_of_asv_follow_their_dates(tmp_path: Path, listed: bool, folder: str) -> None:
    """The order is that of the dates, not of the hashes, and commits are the files' own without a list, too."""
    names = [f"{digit}" * 40 for digit in "fa05c93b1e"]
    for day, name in enumerate(names):
        asv_result(tmp_path / "results" / "box" / f"{name[:8]}-env-py3.json", name, day)
    if listed:
        (tmp_path / "results" / "benchmarks.json").write_text("{}")
    history = sp.History(tmp_path / "s.db", "/")
    history.add(tmp_path / "results" / folder, session=folder)
    sessions = {row.session for row in history.query()}
    assert (len(sessions), {name.startswith(f"{folder}/") for name in sessions}) == (10, {bool(folder)})
    found = history.changes()
    assert [commit.sha for commit in found.commits] == names
    assert found.commits[1].date == "2017-07-15T02:40:00+00:00"  # date -u -d @1500086400


def test_a_session_is_of_its_command(repository: Path, tmp_path: Path) -> None:
    """Two programs are two benchmarks, of HEAD, alone and in a folder: names of versions are no commits."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    for word in ("insert", "query"):
        file = str(folder / f"{word}.jsonl")
        assert speedproof("run", f"echo {word}", "--name", word, "--runs", "3", "--save", file)[0] == 0
    head = git(repository, "rev-parse", "HEAD")
    for store, added in ((folder, [folder]), (tmp_path, sorted(folder.glob("*.jsonl")))):
        history = sp.History(store / "s.db", repository)
        for path in added:
            history.add(path)
        rows = history.query(metric="time")
        expected = [("echo insert", head), ("echo query", head)]
        assert sorted((row.benchmark, row.commit) for row in rows) == expected
    assert history.add(folder).known
    partly, seen = sp.History(tmp_path / "t.db", repository), list[tuple[int, int]]()
    (empty := folder / "z.jsonl").write_text(Path(file).read_text().partition("\n")[0])
    with pytest.raises(sp.SpeedproofError) as error:
        partly.add(empty)
    partly.add(file)
    more = partly.add(folder, done=lambda *of: seen.append(of))
    assert (more.known, seen) == (False, [(3, 1), (3, 2), (3, 3)])
    assert more.problems[0] == f"not added: {str(error.value).splitlines()[0]}"


def test_what_left_the_branch_is_told(tmp_path: Path) -> None:
    """Three of twelve measured commits are dropped, and the newest is new: both lack; before, nothing did."""
    grown(tmp_path, committed(tmp_path, [""] * 12), lambda _: {"b": [1.0, 1.1]}, repository=tmp_path)
    for action in ((), ("watch",), ("show", "b")):
        assert run(tmp_path, *action)[2] == ""
    git(tmp_path, "reset", "-q", "--hard", "HEAD~3")
    assert run(tmp_path)[2] == "speedproof: 3 measured commits are not on HEAD\n"
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "new")
    for action in ((), ("watch",), ("show", "b")):
        remark = "speedproof: 3 measured commits are not on HEAD; HEAD itself is not measured\n"
        assert run(tmp_path, *action)[2] == remark


def test_a_folder_above_a_history_of_asv_is_refused(tmp_path: Path) -> None:
    """Its files are no versions; the error names the folder to add; what is hidden is not looked at."""
    asv_result(tmp_path / "asv" / "results" / "box" / "fa05-env-py3.json", "f" * 40, 0)
    (tmp_path / "asv" / "results" / "benchmarks.json").write_text("{}")
    assert f"add its folder: {tmp_path}/asv/results\n" in refused(tmp_path, "add", str(tmp_path))
    assert not (tmp_path / "s.db").exists()
    (tmp_path / "asv").rename(tmp_path / ".asv")
    lines(tmp_path / "r.txt", "1.0", "1.1")
    assert run(tmp_path, "add", str(tmp_path), "--commit", "c1", "--unit", "s")[0] == 0


def test_a_decision_names_its_commit_and_a_row_all_directions(tmp_path: Path) -> None:
    """HEAD is said as a hash; a commit that slows one benchmark down and speeds another up says both."""
    shas = committed(tmp_path, [""] * 40)

    def both(i: int) -> dict[str, Any]:
        return {"a": np.full(3, 1.05 if i >= 20 else 1.0), "b": np.full(3, 1.0 if i >= 20 else 1.2)}

    grown(tmp_path, shas, both, noise=0.002, seed=5, repository=tmp_path)
    assert re.search(r"1\.05x +slower, 1\.(19|20)x faster +stands", run(tmp_path)[1])
    for action, said in (("bless", "blessed"), ("fixed", "fixed"), ("reopen", "reopened")):
        told = f"{shas[-1][:9]} is {said}\nNo change is shown there now.\n"
        assert run(tmp_path, action, "HEAD")[1] == told
    assert run(tmp_path, "note", "HEAD", "why")[1] == f"{shas[-1][:9]} is noted: why\n"


def test_a_command_of_a_file_is_the_same_alone(repository: Path, tmp_path: Path) -> None:
    """FILE:VERSION of commands is a benchmark of the same commit, and was there; equal values of a file, too."""
    hyperfine(tmp_path / "both.json", {f"./minidb {word}": [1.0, 1.0] for word in ("insert", "query")})
    rows = [f"{version},b,{value}" for version in ("v1", "v2") for value in (3, 3)]
    lines(tmp_path / "v.csv", "version,benchmark,value", *rows)
    for file, part, whole in (
        ("both.json", "./minidb query", {"./minidb insert", "./minidb query"}), ("v.csv", "v1", {"b"}),
    ):  # fmt: skip
        for order in (1, -1):
            history = sp.History(tmp_path / f"{file}{order}.db", repository)
            for of in (file, f"{file}:{part}")[::order]:
                added = history.add(f"{tmp_path}/{of}", unit="s" if file == "v.csv" else None)
            assert added.known == (order == 1)
            assert len(history.query()) == 2
            assert {row.benchmark for row in history.query()} == whole


@pytest.mark.parametrize("given", [["--commit", "tpyo", "FILE"], ["tpyo=FILE"]])
def test_a_commit_that_was_mistyped_is_refused(repository: Path, tmp_path: Path, given: list[str]) -> None:
    """Where git knows commits, what was named has to be one of them; nothing is stored. Elsewhere it is a name."""
    words = [word.replace("FILE", lines(tmp_path / "t.txt", "1", "2", "3")) for word in given]
    err = refused(tmp_path, "add", *words, "--unit", "s", repository=repository)
    assert "tpyo: git knows no such commit here; give a hash, a tag or a branch" in err
    assert ("--repository" in err, (tmp_path / "s.db").exists()) == (True, False)
    for _ in ("no repository", "an empty one"):
        assert run(tmp_path, "add", *words, "--unit", "s")[::2] == (0, "")
        git(tmp_path, "init", "-q")


def test_versions_that_git_does_not_know_are_added_with_a_remark(repository: Path, tmp_path: Path) -> None:
    """Releases may be measured where no tag names them; beside commits, only those are drawn."""
    known = git(repository, "rev-list", "HEAD").split()[3]
    rows = [f"b,{name},{v}" for name in ("v1.2", known[:10]) for v in (1, 2, 3)]
    file = lines(tmp_path / "v.csv", "benchmark,version,value", *rows)
    for folder, remarks in ((repository, 1), (tmp_path, 0)):
        (tmp_path / f"{remarks}").mkdir()
        code, _, err = run(tmp_path / f"{remarks}", "add", file, "--unit", "s", repository=folder)
        told = err.count("git knows no commit v1.2 here: stored, but not shown")
        assert (code, told, err.count("\n")) == (0, remarks, remarks)
    found = sp.History(tmp_path / "1" / "s.db", repository)
    assert {commit.sha for commit in found.store.commits()} == {"v1.2", known}
    for shown in (known, "v1.2"):  # this of no branch, and followed by date
        assert [commit.sha for commit in found.changes().commits] == [shown]
        assert found.forget(shown) == 1


def test_reading_makes_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sp.SpeedproofError, match=r"nosuch\.db: no such store.*history add"):
        sp.History("nosuch.db").changes()
    for words in ((), ("query",), ("show", "x"), ("forget", "x")):
        assert "s.db: no such store; make one with: speedproof history add" in refused(tmp_path, *words)
    assert not list(tmp_path.iterdir())
    (tmp_path / "speedproof.db").touch()
    with pytest.raises(sp.SpeedproofError, match="no such store"):
        sp.History("speedproof.db").changes()
    assert (tmp_path / "speedproof.db").read_bytes() == b""
    sp.History("s.db").made()
    assert "nothing to show; fill it with 'speedproof history add FILE --store " in refused(tmp_path, "watch")


def test_what_is_left_out_and_what_is_too_short_is_told(tmp_path: Path) -> None:
    grown(tmp_path, range(12), lambda i: dict.fromkeys(("long", "short one")[: 2 if i < 3 else 1], 9))
    asked = ((), ("show", "short one"), ("show", "long"), ("show", "long", "--all"))
    whole, short, shown, every = (run(tmp_path, *words)[1] for words in asked)
    assert "1 of 2 benchmarks show nothing: fewer than 8 commits on a machine." in whole
    assert "So few commits of a benchmark on a machine show nothing: measure 8 or more," in short
    assert "... 2 earlier commits: --all" in shown
    assert ("c01" in shown, "c01" in every) == (False, True)
    assert "no commit deadbeef; added last: c11, c10, c09, c08" in refused(tmp_path, "bless", "deadbeef")


def test_the_columns_of_a_csv_are_chosen(tmp_path: Path, history: sp.History) -> None:
    rows = [f"c{i},sort,{i + k / 10},{2 * i + k / 10}" for i in (1, 2) for k in range(3)]
    file = lines(tmp_path / "r.csv", "commit,benchmark,wall_ms,cpu_ms", *rows)
    for column, benchmark, new in (("wall", "", 2), ("cpu", "cpu", 2), ("wall", "", 0)):
        words = ("add", file, "--benchmark", benchmark, "--column")
        added = answer(tmp_path, *words, f"value={column}_ms")
        assert (added["samples"], added["known"], added["there"]) == (new, not new, 2 - new)
    medians = {(r.benchmark, r.commit): round(r.median, 9) for r in history.query()}
    expected = {"sort": (1.1e-3, 2.1e-3), "cpu": (2.1e-3, 4.1e-3)}
    assert medians == {(name, f"c{i}"): of[i - 1] for name, of in expected.items() for i in (1, 2)}
    assert "'values' is not a role of a CSV column; the roles" in refused(tmp_path, *words, "values=wall_ms")


@pytest.mark.parametrize("session", ["", "night"])
@pytest.mark.parametrize("runs", [1, 3])
def test_what_was_forgotten_of_a_file_is_added_again(
    tmp_path: Path, history: sp.History, session: str, runs: int
) -> None:
    """And nothing else of it, also where a commit has one value, which another commit may have by chance."""
    rows = [f"c{i},sort,{i + k / 10}" for i in range(3) for k in range(runs)]
    file = lines(tmp_path / "r.csv", "commit,benchmark,ms", *rows)
    for forgotten, new in (((), 3), ((), 0), (("c1",), 1), (("c0", "c2"), 2), ((), 0)):
        for commit in forgotten:
            history.forget(commit)
        added = history.add(file, session=session, machine="ant")
        assert (added.samples, added.there, added.known) == (new, 3 - new, not new)
        assert sorted(row.commit for row in history.query()) == ["c0", "c1", "c2"]


def test_an_anchor_is_named_as_git_names_it(tmp_path: Path) -> None:
    old, new = committed(tmp_path, ["", ""])
    git(tmp_path, "tag", "v1.0", "HEAD~1")
    rows = [f"{sha},sort,{1 + k / 10}" for sha in (old, new) for k in range(3)]
    file = lines(tmp_path / "r.csv", "version,benchmark,time", *rows)
    for k, name in enumerate(("v1.0", old[:9], old)):
        history = sp.History(tmp_path / f"{k}.db", tmp_path)
        history.add(file, anchor=name)
        assert {track.basis for track in history.changes().tracks} == {old}
        assert [history.find(one) for one in ("v1.0", "HEAD~1", old[:7], "HEAD")] == [old, old, old, new]
    with pytest.raises(sp.SpeedproofError, match="holds no version 'v2' to be the anchor"):
        sp.History(tmp_path / "4.db", tmp_path).add(file, anchor="v2")
