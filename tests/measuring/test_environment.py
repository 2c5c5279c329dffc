"""Facts and disturbances of a machine, on a made-up file tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from speedproof.measuring.environment import differences, disturbances, snapshot


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
