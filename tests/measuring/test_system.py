"""macOS, played on Linux: what it lacks is taken away, what it has instead is a fake."""

from __future__ import annotations

import os
import resource
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from speedproof.api.run_start import pin
from speedproof.errors import UsageError
from speedproof.measuring import system
from speedproof.measuring.execute import Job, execute
from speedproof.measuring.system import (
    ChildEnd,
    bytes_of_peak,
    listed_processes,
    memory_file,
    snapshot,
    usable_cpus,
)


class Queue:
    """kqueue with one event, the exit of a process, as kqueue(2) describes it."""

    missing = False
    open = 0

    def __init__(self) -> None:
        type(self).open += 1
        self.pid = 0

    def control(
        self, changes: list[tuple[int, int, int, int]] | None, most: int, timeout: float = 0.0
    ) -> list[int]:
        if changes:
            ((self.pid, *what),) = changes
            assert what == [-5, 17, 1 << 31]
            if self.missing:
                raise ProcessLookupError
            return []
        assert most == 1
        late = time.monotonic() + timeout
        while (ended := state(self.pid) == "Z") is False and time.monotonic() < late:
            time.sleep(0.001)
        return [self.pid] if ended else []

    def close(self) -> None:
        type(self).open -= 1


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("memfd_create", "pidfd_open", "waitid", "sched_getaffinity"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(select, "kqueue", Queue, raising=False)
    monkeypatch.setattr(select, "kevent", lambda *of: of, raising=False)
    for name, value in (("FILTER_PROC", -5), ("EV_ADD", 1), ("EV_ONESHOT", 16), ("NOTE_EXIT", 1 << 31)):
        monkeypatch.setattr(select, f"KQ_{name}", value, raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    system.guard_of.cache_clear()
    monkeypatch.setattr(Queue, "missing", False)


@pytest.mark.usefixtures("macos")
def test_a_run_is_measured() -> None:
    """Output, errors, exit code, time and processor time; a time-out ends the group."""
    run = execute(Job(("sh", "-c", "echo out; echo err >&2; exit 3"), capture=True))
    assert (run.stdout, run.stderr, run.exit) == (b"out\n", b"err\n", 3)
    assert {"time", "user", "system", "cpu"} <= run.metrics.keys()
    assert execute(Job(("sleep", "0.02"))).metrics["time"] >= 0.02
    late = execute(Job(("sleep", "30"), timeout=0.05))
    assert late.timed_out
    assert late.exit == -9
    assert Queue.open == 0


@pytest.mark.usefixtures("macos")
def test_who_ended_before_anyone_waited_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """kqueue knows no process that is gone: the error is the answer."""
    monkeypatch.setattr(Queue, "missing", True)
    with ChildEnd(1) as end:
        assert end.within(0.0)
    assert Queue.open == 0


@pytest.mark.usefixtures("macos")
def test_a_file_in_place_of_memory_has_no_name() -> None:
    descriptor = memory_file("output")
    try:
        os.write(descriptor, b"text")
        assert os.pread(descriptor, 9, 0) == b"text"
        assert os.fstat(descriptor).st_nlink == 0
    finally:
        os.close(descriptor)


@pytest.mark.usefixtures("macos")
def test_what_a_system_lacks_is_said() -> None:
    assert usable_cpus() == []
    assert "affinity" not in snapshot()
    with pytest.raises(UsageError, match="--cpu 1: this system does not let a process choose its CPUs"):
        pin("1")


def test_a_peak_is_in_bytes_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """getrusage(2): kilobytes on Linux, bytes on macOS."""
    assert (bytes_of_peak("linux"), bytes_of_peak("darwin")) == (1024.0, 1.0)
    usage = resource.struct_rusage((0.0, 0.0, 5000, *[0] * 13))
    wait = os.wait4
    monkeypatch.setattr(os, "wait4", lambda pid, options: (*wait(pid, options)[:2], usage))
    monkeypatch.setattr(resource, "getrusage", lambda who: resource.struct_rusage((0.0, 0.0, 0, *[0] * 13)))
    assert execute(Job(("true",))).metrics["memory"] == 5000 * 1024.0


def test_ps_lists_what_proc_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """BSD's states have further letters behind the first."""
    listing = "    1     0 Ss\n  400     1 R+\n  401   400 Z\n"
    done = subprocess.CompletedProcess(["ps"], 0, listing, "")
    monkeypatch.setattr(subprocess, "run", lambda words, **_: done)
    assert listed_processes() == {1: (0, "S"), 400: (1, "R"), 401: (400, "Z")}
