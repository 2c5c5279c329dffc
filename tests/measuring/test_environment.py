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
from speedproof.measuring.system import (
    busy,
    bytes_of_peak,
    differences,
    disturbances,
    ended_within,
    listed_processes,
    load_of,
    memory_file,
    snapshot,
    usable_cpus,
)


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
    facts = snapshot(tree)
    expected = {
        "cpu": "Fast CPU: 3 GHz", "memory": "1000 kB", "governor": "performance, powersave", "turbo": "on",
        "smt": "1", "aslr": "2", "power": "battery", "virtual": "yes", "clock source": "hpet", "load": "7.50",
    }  # fmt: skip
    assert {name: facts[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("load", "cpus", "told"),
    [("4", "8", ""), ("4.01", "8", "4.01 on 8 CPUs"), ("0.5", "1", ""), ("0.51", "1", "0.51 on 1 CPUs")],
)
def test_a_load_of_more_than_half_of_the_cpus_is_told(load: str, cpus: str, told: str) -> None:
    facts = {"load": load, "cpus": cpus}
    assert load_of(facts) == told
    assert [told in line for line in disturbances(facts)] == [True] * bool(told)
    assert load_of({"load": "0.6"}) == "0.6 on 1 CPUs"
    assert load_of({}) == ""


def test_the_load_of_the_session_itself_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its end one CPU is its own; the largest of those before it counts as it is. An unknown number is one."""
    for cpus, now, loads, told in (
        (4, 3.0, (0.0,), ""), (4, 3.2, (0.0,), "2.2 on 4"), (4, 0.0, (0.1, 2.5), "2.5 on 4"),
        (None, 0.0, (0.6,), "0.6 on 1 CPUs"), (None, 0.0, (0.5,), ""),
    ):  # fmt: skip
        monkeypatch.setattr(os, "cpu_count", lambda cpus=cpus: cpus)
        monkeypatch.setattr(os, "getloadavg", lambda now=now: (now, 5.0, 5.0))
        assert (told in busy(*loads)) if told else busy(*loads) == ""


def test_facts_of_the_running_system(tree: Path) -> None:
    """As Python tells them."""
    facts = snapshot(tree)
    assert facts["host"] == platform.node()
    assert (facts["system"], facts["kernel"]) == (platform.system(), platform.release())
    assert (facts["machine"], facts["python"]) == (platform.machine(), platform.python_version())
    assert facts["cpus"] == str(os.cpu_count())
    assert facts["affinity"].split(",") == [str(cpu) for cpu in sorted(os.sched_getaffinity(0))]
    assert facts["clock resolution"] == f"{time.get_clock_info('perf_counter').resolution:g} s"
    assert facts["speedproof"] == __version__
    assert all(facts.values())


def test_what_a_machine_does_not_tell(
    tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A processor of another kind is called by its model, or as Python knows it; the rest is left out."""
    monkeypatch.setattr(platform, "processor", lambda: "unknown")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    (tree / "proc/cpuinfo").write_text("processor: 0\nflags: fpu\nModel\t: Board 4\n")
    facts = snapshot(tree)
    assert facts["cpu"] == "Board 4"
    assert not {"virtual", "cpus"} & facts.keys()
    bare = snapshot(tmp_path_factory.mktemp("bare"))
    assert bare["cpu"] == "unknown"
    assert not {"load", "memory", "governor", "turbo", "smt", "aslr", "power", "clock source"} & bare.keys()


@pytest.mark.parametrize(("supplies", "power"), [
    ({}, None), ({"BAT0": ("Battery", "")}, None), ({"AC": ("Mains", "1")}, "mains"),
    ({"AC": ("Mains", "0")}, "battery"),
    ({"AC": ("Mains", "0"), "USB": ("Mains", "1"), "BAT0": ("Battery", "")}, "mains"),
    ({"AC": ("Mains", "0"), "BAT0": ("Battery", "1")}, "battery"),
])  # fmt: skip
def test_power_comes_from_any_mains(
    tmp_path: Path, supplies: dict[str, tuple[str, str]], power: str | None
) -> None:
    for name, (kind, online) in supplies.items():
        folder = tmp_path / "sys/class/power_supply" / name
        folder.mkdir(parents=True)
        (folder / "type").write_text(f"{kind}\n")
        (folder / "online").write_text(f"{online}\n")
    assert snapshot(tmp_path).get("power") == power


@pytest.mark.parametrize(("file", "turbo"), [
    ("intel_pstate/no_turbo", {"1": "off", "0": "on"}), ("cpufreq/boost", {"1": "on", "0": "off", "?": None}),
])  # fmt: skip
def test_turbo_is_told_by_either_driver(tmp_path: Path, file: str, turbo: dict[str, str | None]) -> None:
    path = tmp_path / "sys/devices/system/cpu" / file
    path.parent.mkdir(parents=True)
    for value, told in turbo.items():
        path.write_text(f"{value}\n")
        assert snapshot(tmp_path).get("turbo") == told


@pytest.mark.parametrize(
    ("fact", "value", "told"),
    [
        ("governor", "performance", ""), ("governor", "powersave", "the frequency governor is 'powersave'"),
        ("turbo", "off", ""), ("turbo", "on", "turbo is on"), ("smt", "0", ""),
        ("smt", "1", "hyper-threads share cores"), ("aslr", "0", ""), ("aslr", "1", "ASLR lays memory out anew"),
        ("aslr", "2", "ASLR lays memory out anew"), ("power", "mains", ""),
        ("power", "battery", "the machine runs on battery"), ("virtual", "yes", "this is a virtual machine"),
        ("clock source", "tsc", ""), ("clock source", "kvm-clock", ""), ("clock source", "arch_sys_counter", ""),
        ("clock source", "acpi_pm", "the clock source 'acpi_pm' is slow"),
    ],
)  # fmt: skip
def test_each_disturbance_by_itself(fact: str, value: str, told: str) -> None:
    found = disturbances({fact: value})
    assert len(found) == bool(told)
    assert all(sentence.startswith(told) for sentence in found)


def test_a_load_is_no_difference() -> None:
    """Two sessions on one machine differ by their load and by nothing else."""
    assert differences({"load": "1", "cpu": "A"}, {"load": "2", "cpu": "A"}) == ()
    assert differences({"cpu": "A"}, {"load": "2", "cpu": "B", "turbo": "on"}) == (
        "cpu: 'A' and 'B'",
        "turbo: '' and 'on'",
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
def test_a_run_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output, errors, exit code, time and processor time; a time-out ends the group."""
    run = execute(Job(("sh", "-c", "echo out; echo err >&2; exit 3"), capture=True))
    assert (run.stdout, run.stderr, run.exit) == (b"out\n", b"err\n", 3)
    assert {"time", "user", "system", "cpu"} <= run.metrics.keys()
    assert execute(Job(("sleep", "0.02"))).metrics["time"] >= 0.02
    late = execute(Job(("sleep", "30"), timeout=0.05))
    assert (late.timed_out, late.exit) == (True, -9)
    # kqueue knows no process that is gone: the error is the answer.
    monkeypatch.setattr(Queue, "missing", True)
    assert ended_within(1, 60.0, lambda: None)
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
    done = subprocess.CompletedProcess(["ps"], 0, "    1     0 Ss\n  400     1 R+\n  401   400 Z\n", "")
    monkeypatch.setattr(subprocess, "run", lambda words, **_: done)
    assert listed_processes() == {1: (0, "S"), 400: (1, "R"), 401: (400, "Z")}
