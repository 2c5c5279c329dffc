"""Facts and disturbances of a machine, on a made-up file tree, and as macOS would tell them."""

import os
import platform
import resource
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from speedproof import __version__
from speedproof.api.run_start import pin
from speedproof.errors import UsageError
from speedproof.measuring import system
from speedproof.measuring.execute import Job, execute


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast CPU: 3 GHz\nflags\t: fpu hypervisor\n\n",
        "proc/meminfo": "MemTotal:       1000 kB\nMemFree: 5 kB\n", "proc/loadavg": "7.50 1.0 1.0 1/100 5\n",
        "proc/sys/kernel/randomize_va_space": "2\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n", "sys/devices/system/cpu/smt/active": "1\n",
        "sys/class/power_supply/AC/type": "Mains\n", "sys/class/power_supply/AC/online": "0\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_facts_are_read(tree: Path) -> None:
    """Of files, and of the running system as Python tells them."""
    facts = system.snapshot(tree)
    expected = {
        "cpu": "Fast CPU: 3 GHz", "memory": "1000 kB", "governor": "performance, powersave", "turbo": "on",
        "smt": "1", "aslr": "2", "power": "battery", "virtual": "yes", "clock source": "hpet", "load": "7.50",
        "host": platform.node(), "system": platform.system(), "kernel": platform.release(),
        "machine": platform.machine(), "python": platform.python_version(), "cpus": str(os.cpu_count()),
        "affinity": ",".join(map(str, sorted(os.sched_getaffinity(0)))), "speedproof": __version__,
        "clock resolution": f"{time.get_clock_info('perf_counter').resolution:g} s",
    }  # fmt: skip
    assert {name: facts[name] for name in expected} == expected
    assert all(facts.values())


def test_the_load_of_the_session_itself_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its end one CPU is its own; the largest of those before it counts as it is. An unknown number is one."""
    for cpus, now, loads, told in (
        (4, 3.0, (0.0,), ""), (4, 3.2, (0.0,), "2.2 on 4"), (4, 0.0, (0.1, 2.5), "2.5 on 4"),
        (None, 0.0, (0.6,), "0.6 on 1 CPUs"), (None, 0.0, (0.5,), ""),
    ):  # fmt: skip
        monkeypatch.setattr(os, "cpu_count", lambda cpus=cpus: cpus)
        monkeypatch.setattr(os, "getloadavg", lambda now=now: (now, 5.0, 5.0))
        assert (told in system.busy(*loads)) if told else system.busy(*loads) == ""


def test_a_load_is_no_difference() -> None:
    """Two sessions on one machine differ by their load and by nothing else."""
    assert system.differences({"load": "1", "cpu": "A"}, {"load": "2", "cpu": "A"}) == ()
    expected = ("cpu: 'A' and 'B'", "turbo: '' and 'on'")
    assert system.differences({"cpu": "A"}, {"load": "2", "cpu": "B", "turbo": "on"}) == expected


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
def test_a_run_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output, errors, exit code, times; a time-out ends the group; a file in place of memory has no name."""
    run = execute(Job(("sh", "-c", "echo out; echo err >&2; exit 3"), capture=True))
    assert (run.stdout, run.stderr, run.exit) == (b"out\n", b"err\n", 3)
    assert {"time", "user", "system", "cpu"} <= run.metrics.keys()
    assert execute(Job(("sleep", "0.02"))).metrics["time"] >= 0.02
    late = execute(Job(("sleep", "30"), timeout=0.05))
    assert (late.timed_out, late.exit) == (True, -9)
    # kqueue knows no process that is gone: the error is the answer.
    monkeypatch.setattr(Queue, "missing", True)
    assert system.ended_within(1, 60.0, lambda: None)
    assert Queue.open == 0
    descriptor = system.memory_file("output")
    try:
        os.write(descriptor, b"text")
        assert os.pread(descriptor, 9, 0) == b"text"
        assert os.fstat(descriptor).st_nlink == 0
    finally:
        os.close(descriptor)
    assert system.usable_cpus() == []
    assert "affinity" not in system.snapshot()
    with pytest.raises(UsageError, match="--cpu 1: this system does not let a process choose its CPUs"):
        pin("1")


def test_a_peak_is_in_bytes_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """getrusage(2): kilobytes on Linux, bytes on macOS."""
    assert (system.bytes_of_peak("linux"), system.bytes_of_peak("darwin")) == (1024.0, 1.0)
    monkeypatch.setattr("speedproof.measuring.execute.COMPILED", None)
    usage = resource.struct_rusage((0.0, 0.0, 5000, *[0] * 13))
    wait = os.wait4
    monkeypatch.setattr(os, "wait4", lambda pid, options: (*wait(pid, options)[:2], usage))
    monkeypatch.setattr(resource, "getrusage", lambda who: resource.struct_rusage((0.0, 0.0, 0, *[0] * 13)))
    assert execute(Job(("true",))).metrics["memory"] == 5000 * 1024.0


def test_ps_lists_what_proc_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """BSD's states have further letters behind the first."""
    done = subprocess.CompletedProcess(["ps"], 0, "    1     0 Ss\n  400     1 R+\n  401   400 Z\n", "")
    monkeypatch.setattr(subprocess, "run", lambda words, **_: done)
    assert system.listed_processes() == {1: (0, "S"), 400: (1, "R"), 401: (400, "Z")}
