"""Facts and disturbances of a machine, on a made-up file tree."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

import pytest

from speedproof import __version__
from speedproof.measuring.system import busy, differences, disturbances, load_of, snapshot


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast CPU: 3 GHz\nflags\t: fpu hypervisor\n\n",
        "proc/meminfo": "MemTotal:       1000 kB\nMemFree: 5 kB\n",
        "proc/loadavg": "7.50 1.0 1.0 1/100 5\n",
        "proc/sys/kernel/randomize_va_space": "2\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
        "sys/devices/system/cpu/smt/active": "1\n",
        "sys/class/power_supply/AC/type": "Mains\n",
        "sys/class/power_supply/AC/online": "0\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_facts_are_read(tree: Path) -> None:
    facts = snapshot(tree)
    expected = {
        "cpu": "Fast CPU: 3 GHz",
        "memory": "1000 kB",
        "governor": "performance, powersave",
        "turbo": "on",
        "smt": "1",
        "aslr": "2",
        "power": "battery",
        "virtual": "yes",
        "clock source": "hpet",
        "load": "7.50",
    }
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
    """At its end one CPU is its own; the largest of those before it counts as it is."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    for now, loads, told in ((3.0, (0.0,), ""), (3.2, (0.0,), "2.2 on 4"), (0.0, (0.1, 2.5), "2.5 on 4")):
        monkeypatch.setattr(os, "getloadavg", lambda now=now: (now, 0.0, 0.0))
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


@pytest.mark.parametrize(
    ("supplies", "power"),
    [
        ({}, None),
        ({"BAT0": ("Battery", "")}, None),
        ({"AC": ("Mains", "1")}, "mains"),
        ({"AC": ("Mains", "0")}, "battery"),
        ({"AC": ("Mains", "0"), "USB": ("Mains", "1"), "BAT0": ("Battery", "")}, "mains"),
        ({"AC": ("Mains", "0"), "BAT0": ("Battery", "1")}, "battery"),
    ],
)
def test_power_comes_from_any_mains(
    tmp_path: Path, supplies: dict[str, tuple[str, str]], power: str | None
) -> None:
    for name, (kind, online) in supplies.items():
        folder = tmp_path / "sys/class/power_supply" / name
        folder.mkdir(parents=True)
        (folder / "type").write_text(f"{kind}\n")
        (folder / "online").write_text(f"{online}\n")
    assert snapshot(tmp_path).get("power") == power


@pytest.mark.parametrize(
    ("file", "value", "turbo"),
    [
        ("intel_pstate/no_turbo", "1", "off"),
        ("intel_pstate/no_turbo", "0", "on"),
        ("cpufreq/boost", "1", "on"),
        ("cpufreq/boost", "0", "off"),
        ("cpufreq/boost", "?", None),
    ],
)
def test_turbo_is_told_by_either_driver(tmp_path: Path, file: str, value: str, turbo: str | None) -> None:
    path = tmp_path / "sys/devices/system/cpu" / file
    path.parent.mkdir(parents=True)
    path.write_text(f"{value}\n")
    assert snapshot(tmp_path).get("turbo") == turbo


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"governor": "performance"}, ""),
        ({"governor": "powersave"}, "the frequency governor is 'powersave'"),
        ({"turbo": "off"}, ""),
        ({"turbo": "on"}, "turbo is on"),
        ({"smt": "0"}, ""),
        ({"smt": "1"}, "hyper-threads share cores"),
        ({"aslr": "0"}, ""),
        ({"aslr": "1"}, "ASLR lays memory out anew"),
        ({"aslr": "2"}, "ASLR lays memory out anew"),
        ({"power": "mains"}, ""),
        ({"power": "battery"}, "the machine runs on battery"),
        ({"virtual": "yes"}, "this is a virtual machine"),
        ({"clock source": "tsc"}, ""),
        ({"clock source": "kvm-clock"}, ""),
        ({"clock source": "arch_sys_counter"}, ""),
        ({"clock source": "acpi_pm"}, "the clock source 'acpi_pm' is slow"),
    ],
)
def test_each_disturbance_by_itself(facts: dict[str, str], told: str) -> None:
    found = disturbances(facts)
    assert len(found) == bool(told)
    assert all(sentence.startswith(told) for sentence in found)


def test_a_load_of_an_unknown_number_of_cpus_is_that_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 5.0, 5.0))
    assert "0.6 on 1 CPUs" in busy(0.6)
    assert busy(0.5) == ""


def test_a_load_is_no_difference() -> None:
    """Two sessions on one machine differ by their load and by nothing else."""
    assert differences({"load": "1", "cpu": "A"}, {"load": "2", "cpu": "A"}) == ()
    assert differences({"cpu": "A"}, {"load": "2", "cpu": "B", "turbo": "on"}) == (
        "cpu: 'A' and 'B'",
        "turbo: '' and 'on'",
    )
