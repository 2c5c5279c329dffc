"""Facts and disturbances of a machine, on a made-up file tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from speedproof.measuring.environment import busy, differences, disturbances, load_of, snapshot


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


def test_every_disturbance_has_a_remedy(tree: Path) -> None:
    found = disturbances({**snapshot(tree), "cpus": "4"})
    for word in (
        "governor",
        "turbo",
        "load is 7.5 on 4",
        "hyper-threads",
        "ASLR",
        "battery",
        "virtual",
        "'hpet'",
    ):
        assert sum(word in sentence for sentence in found) == 1, word
    assert len(found) == 8


def test_amd_boost(tree: Path) -> None:
    (tree / "sys/devices/system/cpu/intel_pstate/no_turbo").unlink()
    (tree / "sys/devices/system/cpu/cpufreq").mkdir()
    (tree / "sys/devices/system/cpu/cpufreq/boost").write_text("0\n")
    assert snapshot(tree)["turbo"] == "off"


def test_a_bare_machine_is_silent(tmp_path: Path) -> None:
    facts = snapshot(tmp_path)
    assert "governor" not in facts
    assert disturbances(facts) == ()


def test_differences_are_named() -> None:
    one, other = {"kernel": "6.1", "cpu": "A", "load": "1"}, {"kernel": "6.8", "cpu": "A", "turbo": "on"}
    assert differences(one, other) == ("kernel: '6.1' and '6.8'", "turbo: '' and 'on'")
    assert differences(one, one) == ()


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
