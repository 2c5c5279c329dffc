"""The machine: what systems do each in its own way, its provenance and state, what may disturb measurements."""

from __future__ import annotations

import os
import platform
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from speedproof import __version__


def memory_file(name: str) -> int:
    """A file without a name of its own: in memory, or in the folder for temporary files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name)
    descriptor, path = tempfile.mkstemp(prefix=f"speedproof-{name}-")
    Path(path).unlink()
    return descriptor


def bytes_of_peak(platform: str = sys.platform) -> float:
    """How many bytes the kernel's unit of a peak of memory has."""
    return 1.0 if platform == "darwin" else 1024.0


def usable_cpus() -> list[int]:
    """The CPUs that this process may run on; none where a system does not say."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def adopts() -> bool:
    """Whether a process can become the parent of what its children leave behind."""
    return sys.platform == "linux"


class ChildEnd:
    """Waits for the end of a child, and leaves it to be collected."""

    def __init__(self, pid: int) -> None:
        self._queue: Any = None
        self._descriptor, self._ended = -1, False
        if hasattr(os, "pidfd_open"):
            self._descriptor = os.pidfd_open(pid)
            self._poll = select.poll()
            self._poll.register(self._descriptor, select.POLLIN)
            return
        kernel: Any = select  # whose kqueue is not on Linux
        self._queue = kernel.kqueue()
        flags = kernel.KQ_EV_ADD | kernel.KQ_EV_ONESHOT
        try:
            self._queue.control([kernel.kevent(pid, kernel.KQ_FILTER_PROC, flags, kernel.KQ_NOTE_EXIT)], 0)
        except ProcessLookupError:  # it was faster
            self._ended = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._queue is None:
            os.close(self._descriptor)
        else:
            self._queue.close()

    def within(self, seconds: float) -> bool:
        """Whether it comes in so many seconds."""
        if self._queue is None:
            return bool(self._poll.poll(1000 * seconds))
        self._ended = self._ended or bool(self._queue.control(None, 1, seconds))
        return self._ended


def listed_processes() -> dict[int, tuple[int, str]]:
    """Parent and state of every process, as ``ps`` lists them."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=False
    ).stdout
    lines = (line.split() for line in listing.splitlines())
    return {int(pid): (int(parent), state[0]) for pid, parent, state in lines}


_CPU = "sys/devices/system/cpu"
# They vary between any two sessions and mean nothing for a comparison.
_VOLATILE = frozenset({"load"})


def _read(root: Path, name: str) -> str:
    try:
        return (root / name).read_text().strip()
    except OSError:
        return ""


def snapshot(root: Path = Path("/")) -> dict[str, str]:
    """Describe the machine."""
    cpuinfo: dict[str, str] = {}
    for line in _read(root, "proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        cpuinfo[name.strip()] = value.strip()
    memory = _read(root, "proc/meminfo").partition("\n")[0].removeprefix("MemTotal:").strip()
    facts = {
        "host": platform.node(),
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu": cpuinfo.get("model name", cpuinfo.get("Model", platform.processor())),
        "cpus": str(os.cpu_count() or ""),
        "affinity": ",".join(map(str, usable_cpus())),
        "memory": memory,
        "governor": _governors(root),
        "turbo": _turbo(root),
        "smt": _read(root, f"{_CPU}/smt/active"),
        "aslr": _read(root, "proc/sys/kernel/randomize_va_space"),
        "power": _power(root),
        "virtual": "yes" if "hypervisor" in cpuinfo.get("flags", "").split() else "",
        "clock source": _read(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "clock resolution": f"{time.get_clock_info('perf_counter').resolution:g} s",
        "load": _read(root, "proc/loadavg").partition(" ")[0],
        "python": platform.python_version(),
        "speedproof": __version__,
    }
    return {name: fact for name, fact in facts.items() if fact}


def _governors(root: Path) -> str:
    names = {path.read_text().strip() for path in (root / _CPU).glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(names))


def _turbo(root: Path) -> str:
    off = _read(root, f"{_CPU}/intel_pstate/no_turbo")
    if off:
        return "off" if off == "1" else "on"
    boost = _read(root, f"{_CPU}/cpufreq/boost")
    return {"1": "on", "0": "off"}.get(boost, "")


def _power(root: Path) -> str:
    supplies = root / "sys/class/power_supply"
    online = [_read(path, "online") for path in supplies.glob("*") if _read(path, "type") == "Mains"]
    if not online:
        return ""
    return "mains" if "1" in online else "battery"


def load_of(facts: Mapping[str, str]) -> str:
    """The load where it keeps more than half of the CPUs busy; else empty."""
    try:
        load, cpus = float(facts.get("load", "0")), int(facts.get("cpus", "1"))
    except ValueError:  # of a file that somebody edited
        return ""
    return f"{load:g} on {cpus} CPUs" if load > 0.5 * cpus else ""


def disturbances(facts: Mapping[str, str]) -> tuple[str, ...]:
    """Name what may disturb the measurements, each with its remedy."""
    governor, source = facts.get("governor", "performance"), facts.get("clock source", "tsc")
    load = load_of(facts)
    seen = {
        f"the frequency governor is {governor!r}; 'cpupower frequency-set -g performance' steadies the clock":
            governor != "performance",
        "turbo is on: the clock depends on heat; write 1 to intel_pstate/no_turbo or 0 to cpufreq/boost":
            facts.get("turbo") == "on",
        f"the load is {load}: other programs are running; end them or wait": bool(load),
        "hyper-threads share cores: pin with --cpu and keep its sibling idle, or write off to smt/control":
            facts.get("smt") == "1",
        "ASLR lays memory out anew in every run: honest noise; 'setarch -R' turns it off":
            facts.get("aslr", "0") != "0",
        "the machine runs on battery: plug it in": facts.get("power") == "battery",
        "this is a virtual machine: its neighbours are invisible; prefer the metal": bool(facts.get("virtual")),
        # These three are read without a system call.
        f"the clock source {source!r} is slow to read; boot with clocksource=tsc":
            source not in ("tsc", "kvm-clock", "arch_sys_counter"),
    }  # fmt: skip
    return tuple(told for told, so in seen.items() if so)


def busy(*loads: float) -> str:
    """What is to be said of the load before a session, and of that at its end, which holds the session's own."""
    most = max(*loads, os.getloadavg()[0] - 1)
    return "".join(disturbances({"load": f"{most:.1f}", "cpus": str(os.cpu_count() or 1)}))


def differences(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    """Name what differs between the machines of two sessions."""
    names = [n for n in dict.fromkeys([*one, *other]) if n not in _VOLATILE and one.get(n) != other.get(n)]
    return tuple(f"{n}: {one.get(n, '')!r} and {other.get(n, '')!r}" for n in names)
