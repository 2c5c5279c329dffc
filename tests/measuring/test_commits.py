"""Commits measured in pairs, without a repository: when things were, by a clock of the test."""

import inspect
import itertools
import os
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from speedproof import bisect
from speedproof.data.session_file import Line, PlannedVersion, RunLine
from speedproof.errors import FormatError, UsageError
from speedproof.measuring import build, commits
from speedproof.measuring.commits import BisectRequest, CommitRunner, Recalled, head_of, recalled
from speedproof.measuring.execute import Run, RunError, shell_command
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.plan import plan_trees
from speedproof.measuring.revisions import Revision
from speedproof.measuring.runs import RunLoop
from speedproof.measuring.store import ResultsFile, new_head


@pytest.fixture
def unbuilt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Revisions without files, and a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "check_out", lambda top, revision, tree: tree.mkdir())
    monkeypatch.setattr(build, "tools", lambda variables: {})


@pytest.mark.usefixtures("unbuilt")
@pytest.mark.parametrize("command", ["false", "true"])
def test_times_are_kept_to_the_microsecond(tmp_path: Path, command: str) -> None:
    """Of a build that fails, and of a run that does."""
    request = BisectRequest(str(tmp_path), "", ("a",), "false", build=command)
    lines: list[Line] = []
    times = itertools.chain([10.0], itertools.repeat(12.3456784))
    head = head_of(request, ["a"], ())
    runs = RunLoop(head, CommandExecutor(), lambda: next(times), lines.append, ignore_failure=True)
    with ExitStack() as held, pytest.raises(RunError):
        CommitRunner(request, {"a": Revision("a", "a")}, runs, held, builds={}, tell=str).ready("a", 3)
    (line,) = lines
    assert isinstance(line, RunLine)
    assert (line.metrics == {}) is (command == "false")
    expected = RunLine(head.session, "false", "a", 3, 0, 2.345678, {}, exit=1, warmup=True)
    assert replace(line, metrics={}) == expected
    request = replace(request, command="./gone", build="")
    with held, pytest.raises(RunError, match=r"^a: has no \./gone; if it has to be built, give --build CMD$"):
        CommitRunner(request, {"a": Revision("a", "a")}, runs, held, builds={}, tell=str).ready("a", 0)


REQUEST = BisectRequest("/repository", "", ("a", "b", "c", "d"), "true")


def run_line(version: str, block: int, time: float, **fields: Any) -> RunLine:
    return RunLine("s", "command", version, block, 0, 0.0, {"time": time}, **fields)


def store(path: Path, lines: Sequence[RunLine], request: BisectRequest = REQUEST, load: str = "0") -> None:
    name = f"s{load}{request.command}"
    with ResultsFile(path) as file:
        file.append(replace(head_of(request, "abcd", ()), session=name, environment={"load": load}))
        for line in lines:
            file.append(replace(line, session=name))


def test_what_earlier_sessions_tell_a_bisection(tmp_path: Path) -> None:
    """Whole pairs by age, commits between the ends that failed, the next block, the builds that were used."""
    path = tmp_path / "r.jsonl"
    assert recalled(path, REQUEST, "abcd") == Recalled()
    path.touch()
    assert recalled(path, REQUEST, "abcd") == Recalled((), (), 0, {})
    store(tmp_path / "begun.jsonl", [])
    begun = recalled(tmp_path / "begun.jsonl", REQUEST, "abcd")
    assert [head.session for head in begun.heads] == ["s0true"]
    assert begun == Recalled(begun.heads)
    fails = [run_line(v, 2 + k, 9.0, exit=1, warmup=v == "b") for k, v in enumerate("abcd")]
    whole = [run_line("d", 0, 4.0), run_line("a", 0, 3.0), run_line("a", 0, 99.0, warmup=True)]
    store(path, [*fails, *whole, run_line("b", 1, 1.0)], load="1.5")
    built = [run_line("c", 7, 5.0, build=3), run_line("c", 8, 6.0, build=1), run_line("z", 11, 1.0, build=9)]
    store(
        path,
        [*built, run_line("b", 8, 2.0, build=0), run_line("a", 8, 1.0), run_line("a", 9, 1.0)],
        load="0.5",
    )
    found = recalled(path, REQUEST, "abcd")
    assert [head.session for head in found.heads] == ["s1.5true", "s0.5true"]
    assert found == Recalled(found.heads, ((0, 3, 3.0, 4.0), 1, 2), 12, {"c": 4, "b": 1})
    with pytest.raises(FormatError, match="belongs to another bisection"):
        recalled(path, replace(REQUEST, seed=1), "abcd")


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_a_pair_is_whole_when_each_side_has_all_its_runs(tmp_path: Path, runs: int) -> None:
    """Their medians count."""
    path, request = tmp_path / "r.jsonl", replace(REQUEST, runs=runs)
    lines = [
        run_line(v, b, k + 1.0)
        for b in (1, 2, 3, 4)
        for v in "ca"
        for k in range(runs + (b - 2) * (v == "c"))
    ]
    store(path, lines, request)
    middle = statistics.median(range(1, runs + 1))
    assert recalled(path, request, "abcd").pairs == ((0, 2, middle, middle),)


def test_the_last_session_says_what_is_bisected(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    for request in (REQUEST, replace(REQUEST, command=("ls", "-l"))):
        store(path, [], request)
    assert BisectRequest.stored(path) == request
    with ResultsFile(path) as file:
        file.append(new_head([], seed=1))
    with pytest.raises(FormatError, match="is not a session of a bisection"):
        BisectRequest.stored(path)


@pytest.mark.parametrize("inside", ["", "part/deep"])
def test_a_bisection_is_looked_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inside: str) -> None:
    """One run a side of what is built once, five of fresh builds, which alone may have another number."""
    found = [Revision(name, hash_) for name, hash_ in (("old", "1"), ("new", "2"))]
    monkeypatch.setattr(commits, "repository", lambda folder: tmp_path)
    monkeypatch.setattr(
        commits, "resolve", lambda top, names: found if (top, names) == (tmp_path, ["A..B"]) else []
    )
    asked = {"confidence": 0.9, "min_change": 0.2, "seed": 3}

    def of(build: str, runs: int | None, command: Any = "x y", **more: Any) -> BisectRequest:
        options = {"build": build, "runs": runs, **asked, **more}
        return BisectRequest.of(tmp_path / inside, ["A..B"], command, **options)

    plain = BisectRequest(str(tmp_path), inside, ("1", "2"), "x y", "make", **asked)  # type: ignore[arg-type]
    assert of("make", None) == plain
    assert not plain.fresh
    assert of("make", None, ["x", "y"]).command == ("x", "y")
    monkeypatch.setattr(os, "urandom", lambda size: bytes([1]) * size)
    assert of("make", None, seed=None).seed == 0x01010101
    for runs, told in ((None, 5), (1, 1), (5, 5), (8, 8)):
        assert of("make {seed}", runs) == replace(plain, build="make {seed}", runs=told)
    with pytest.raises(UsageError, match="--runs 0 measures nothing"):
        of("make {seed}", 0)
    for runs in (0, 1):
        with pytest.raises(UsageError, match=r"needs \{seed\} in --build"):
            of("make", runs)


@pytest.mark.usefixtures("unbuilt")
@pytest.mark.parametrize("fresh", [False, True])
def test_commits_are_built_when_they_are_first_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh: bool
) -> None:
    """Fresh builds for every pair, which are not kept for longer; each warmed up once, and its runs in order."""
    trimmed: list[int] = []
    clock = [10.0]
    asked: list[PlannedVersion] = []

    def measure(self: CommandExecutor, version: PlannedVersion) -> Run:
        asked.append(version)
        clock[0] += 3.0
        return Run({"time": 2.0})

    def plan(*given: Any) -> Any:
        clock[0] += 100.0
        return plan_trees(*given)

    monkeypatch.setattr(CommandExecutor, "measure", measure)
    monkeypatch.setattr(commits, "plan_trees", plan)
    lines: list[Line] = []
    request = BisectRequest(
        str(tmp_path), "", ("a", "b"), "true", build="true {seed}" if fresh else "true", seed=6, shell="sh"
    )
    revisions = {v: Revision(v, v) for v in "ab"}
    told: list[object] = []
    with ExitStack() as held:
        head = head_of(request, [*revisions], ())
        loop = RunLoop(head, CommandExecutor(), lambda: clock[0], lines.append, ignore_failure=True)
        runner = CommitRunner(request, revisions, loop, held, builds={"a": 4}, tell=told.append)
        block = 0
        cache, trim = build.BuildCache(), build.BuildCache.trim
        monkeypatch.setattr(build.BuildCache, "trim", lambda self: trimmed.append(block))
        for block in (14, 15, 16, 17):
            for name in "ab":
                runner.ready(name, block)
            # Fresh builds are in use until the next pair, others until the end.
            assert sorted(of.name for of in trim(cache, 0)) == ["a", "b"] * (fresh and block > 14)
            for place, name in enumerate("ba"):
                assert runner.run(name, block, place) == 2.0
            clock[0] += 0.5  # what is thought between pairs
        assert runner.spent == len(asked) * 3.0 + 4 * 0.5  # builds are not counted
    assert sorted(of.name for of in trim(cache, 0)) == ["a", "b"]
    runs = [line for line in lines if isinstance(line, RunLine)]
    assert [(r.version, r.block, r.position, r.warmup, r.build) for r in runs] == [
        (v, block, place, warm, (4 * (v == "a") + block - 14) if fresh else None)
        for block in (14, 15, 16, 17)
        for v, place, warm in (("a", 0, True), ("b", 0, True), ("b", 0, False), ("a", 1, False))
        if fresh or not warm or block == 14
    ]
    assert len(told) == (8 if fresh else 2)
    assert trimmed[:-1] == ([16] if fresh else [])
    paddings = [len(version.env.get("SPEEDPROOF_PADDING", "")) for version in asked]
    drawn = [Revision(r.version, r.version, number=r.build, drawn=6) if fresh else None for r in runs]
    assert paddings == [0 if revision is None else revision.padding for revision in drawn]
    assert {version.command for version in asked} == {shell_command("true", "sh")}


def test_only_what_decides_says_which_values_are_good() -> None:
    metrics = ("up:higher=(.)", "down:lower=(.)")
    of = {name: replace(REQUEST, metric=metrics, decide_by=name).higher for name in ("up", "down", "time")}
    assert of == {"up": True, "down": False, "time": False}


def test_what_a_bisection_does_not_say_is_as_the_library_has_it() -> None:
    """So that a file may be short; nothing is built, no shell, no time-out, one run a side."""
    known = inspect.signature(bisect).parameters
    assert BisectRequest("r", "", ("a",), "c") == BisectRequest(
        "r", "", ("a",), "c", "", (), "", known["confidence"].default, known["min_change"].default, None, 0, 1
    )
