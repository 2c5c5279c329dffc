"""What is kept of a session: results file, cache, export; nothing is lost but the line under way."""

import errno
import json
import os
import signal
import statistics
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from speedproof.data.session_file import (
    SCHEMA,
    PlannedBenchmark,
    PlannedVersion,
    RunLine,
    SessionLine,
    StoredSession,
)
from speedproof.data.suite import Record
from speedproof.errors import FormatError
from speedproof.formats import read
from speedproof.measuring.store import ResultsFile, cache_folder, read_sessions, to_hyperfine, untold

PLAN = (PlannedBenchmark("b", (PlannedVersion("v", ("true",), "true"),)),)


def head(name: str, schema: int = SCHEMA) -> SessionLine:
    return SessionLine(schema, name, "2026-01-01T00:00:00+00:00", 1, PLAN, environment={"host": "h"})


def run_line(name: str, block: int) -> RunLine:
    return RunLine(name, "b", "v", block, 0, 0.5, {"time": 0.1 * (block + 1)})


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_line_that_was_cut_costs_only_itself(
    tmp_path: Path, cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever byte the last write stopped at, other lines are read; however much the kernel takes at once."""
    path, write = tmp_path / "r.jsonl", os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:cut])))
    with ResultsFile(path) as store:
        for line in (head("s"), run_line("s", 0), run_line("s", 1)):
            store.append(line)
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    with ResultsFile(path) as store:
        store.append(run_line("s", 2))
    (session,) = read_sessions(path)
    kept = [0, 2] if cut > 1 else [0, 1, 2]
    assert [run.block for run in session.runs] == kept


def test_what_holds_no_session_or_can_hold_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("{}\n")
    with pytest.raises(FormatError, match=r"holds no session of 'speedproof run'"):
        read_sessions(path)
    with pytest.raises(FormatError, match="nothing is appended") as refused:
        ResultsFile(path)
    assert (refused.value.path, refused.value.where) == (str(path), "")
    assert path.read_text() == "{}\n"
    newer = tmp_path / "newer.jsonl"
    with ResultsFile(newer) as store:
        store.append(head("s", schema=99))
    with pytest.raises(FormatError, match="line 1: schema 99 is newer"):
        read_sessions(newer)
    for path in (tmp_path, Path("/dev/zero")):
        for use in (ResultsFile, read_sessions):
            with pytest.raises(FormatError, match="is not a file that can be read again"):
                use(path)
    with pytest.raises(FormatError, match="none: no such file"):
        read_sessions(tmp_path / "none")


def test_a_killed_runner_loses_at_most_the_last_runs(tmp_path: Path) -> None:
    """kill -9 by the twentieth run of a real session: all others are in the file, and it can be read."""
    path, count = tmp_path / "r.jsonl", tmp_path / "count"
    command = f"sh -c 'echo x >> {count}; sleep 0.04; test $(wc -l < {count}) -lt 20 || kill -9 $PPID'"
    argv = ["run", command, command, "--save", str(path), "--min-runs", "100"]
    code = "import sys; from speedproof.cli.main import main; sys.exit(main(sys.argv[1:]))"
    killed = subprocess.run([sys.executable, "-c", code, *argv], stderr=subprocess.DEVNULL, check=False)
    assert killed.returncode == -signal.SIGKILL
    (session,) = read_sessions(path)
    assert len(session.runs) == 19
    times = [item for item in read(path) if isinstance(item, Record) and item.metric == "time"]
    assert sum(item.values.size for item in times) == sum(not run.warmup for run in session.runs)


def test_two_at_a_time_and_full_disks_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second runner is refused while the first writes; an error of the disk, where all is each second, too."""
    path = tmp_path / "r.jsonl"
    with ResultsFile(path) as store:
        descriptors = os.dup(0)
        os.close(descriptors)  # the lowest free number
        with pytest.raises(FormatError, match="another 'speedproof run' is writing to it"):
            ResultsFile(path)
        os.close(again := os.dup(0))
        assert again == descriptors
        store.append(head("s"))
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left") as caught:
            store.append(run_line("s", 0))
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    monkeypatch.undo()
    with ResultsFile(path) as store:
        store.append(run_line("s", 1))
    assert [run.block for run in read_sessions(path)[0].runs] == [1]
    synced, times, counts = list[int](), iter([5.0, 5.5, 6.25, 7.0, 7.25]), list[int]()
    monkeypatch.setattr(os, "fsync", synced.append)
    with ResultsFile(tmp_path / "synced.jsonl", clock=times.__next__) as store:
        for block in range(4):
            store.append(run_line("s", block))
            counts.append(len(synced))
    assert (counts, len(synced)) == ([0, 1, 1, 2], 3)


def full(descriptor: int, data: bytes) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}'])
def test_a_damaged_memory_tells_again(text: str) -> None:
    """And without a place for one everything is told."""
    cache_folder().mkdir()
    (told := cache_folder() / "told.json").write_text(text)
    assert untold(["a"]) == ("a",)
    assert untold(["a"]) == ()
    told.unlink()
    cache_folder().rmdir()
    cache_folder().write_text("no folder")
    assert untold(["a"]) == untold(["a"]) == ("a",)


@pytest.mark.parametrize("base", [None, "", "relative"])
def test_the_folder_is_in_the_home_by_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, base: str | None
) -> None:
    """A path that is not absolute is to be ignored, by the XDG specification."""
    monkeypatch.delenv("XDG_CACHE_HOME") if base is None else monkeypatch.setenv("XDG_CACHE_HOME", base)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "speedproof"
    assert untold(["a"]) == ("a",)
    assert json.loads((cache_folder() / "told.json").read_text()) == {"a": date.today().isoformat()}
    assert untold(["a"]) == ()


EXPORTED = (
    PlannedBenchmark("b n=1", tuple(PlannedVersion(v, (v,), f"./{v}") for v in "XYZ"), {"n": "1"}),
    PlannedBenchmark("c", (PlannedVersion("X", ("X",), "./X"),)),
)


def run(benchmark: str, version: str, metrics: dict[str, float], **fields: Any) -> RunLine:
    return RunLine("s", benchmark, version, 0, 0, 0.0, metrics, **fields)


def test_a_result_for_each_version_of_each_benchmark() -> None:
    """Of both sessions together; no warm-up, nothing that was ended for its time; a signal has no exit code."""
    times, codes = [0.3, 0.1, 0.25, 0.7], [0, 1, -9, 0]
    of_x = [
        run("b n=1", "X", {"time": t, "user": 2 * t, "system": t / 2, "memory": 1000.0 * k + 0.75}, exit=code)
        for (k, t), code in zip(enumerate(times), codes, strict=True)
    ]
    others = [
        run("b n=1", "Y", {"time": 1.0, "memory": 5.0}), run("b n=1", "X", {"time": 9.0}, warmup=True),
        run("b n=1", "X", {"time": 9.0}, timed_out=True), run("b n=1", "X", {"user": 9.0}),
        run("b n=1", "Y", {"time": 3.0}), run("c", "X", {"time": 4.0}),
    ]  # fmt: skip
    head = SessionLine(SCHEMA, "s", "2026-01-01T00:00:00+00:00", 1, EXPORTED)
    sessions = [StoredSession(head, tuple(lines), None) for lines in (of_x[:2], [*others, *of_x[2:]])]
    x, y, c = json.loads(to_hyperfine(sessions))["results"]
    mean = statistics.fmean(times)
    assert x == {
        "command": "./X", "mean": mean, "stddev": statistics.stdev(times), "median": 0.275, "min": 0.1, "max": 0.7,
        "user": pytest.approx(2 * mean), "system": pytest.approx(mean / 2), "times": times,
        "memory_usage_byte": [0, 1000, 2000, 3000], "exit_codes": [0, 1, None, 0], "parameters": {"n": "1"},
    }  # fmt: skip
    assert (y["command"], y["times"], y["user"], y["system"]) == ("./Y", [1.0, 3.0], 0.0, 0.0)
    assert "memory_usage_byte" not in y
    assert (c["stddev"], c["median"], "parameters" in c) == (None, 4.0, False)
    assert to_hyperfine(sessions).startswith('{\n  "results": [\n')
