"""The machine: what systems do each in its own way; its provenance and state; what outlives a command.

Processes that left the group of a command, and a command whose runner was killed, are ended here.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import platform
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from speedproof import __version__


def memory_file(name: str) -> int:
    """An anonymous file in memory, or a deleted temporary file."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name)
    descriptor, path = tempfile.mkstemp(prefix=f"speedproof-{name}-")
    Path(path).unlink()
    return descriptor


def bytes_of_peak(platform: str = sys.platform) -> float:
    """How many bytes the kernel's unit of a peak of memory has."""
    return 1.0 if platform == "darwin" else 1024.0


def usable_cpus() -> list[int]:
    """The CPUs that this process may use; empty if the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def ended_within(pid: int, seconds: float, meanwhile: Callable[[], object]) -> int:
    """When a child ended, which is left to be collected, in ns; 0 where it takes longer than it may.

    What is done now and then until it does.
    """
    late = time.monotonic() + seconds
    ended, close = _end_of(pid)
    try:
        while (left := late - time.monotonic()) > 0.0:
            if ended(1000 * min(left, _LOOK_SECONDS)):
                return time.perf_counter_ns()
            meanwhile()
        return 0
    finally:
        close()


def _end_of(pid: int) -> tuple[Callable[[float], object], Callable[[], object]]:
    """A function that waits some ms for the end of a child, and one that releases it."""
    if hasattr(os, "pidfd_open"):
        descriptor, poll = os.pidfd_open(pid), select.poll()
        poll.register(descriptor, select.POLLIN)
        return poll.poll, functools.partial(os.close, descriptor)
    kernel: Any = select  # whose kqueue is not on Linux
    queue = kernel.kqueue()
    flags = kernel.KQ_EV_ADD | kernel.KQ_EV_ONESHOT
    try:
        queue.control([kernel.kevent(pid, kernel.KQ_FILTER_PROC, flags, kernel.KQ_NOTE_EXIT)], 0)
    except ProcessLookupError:  # it was faster
        return lambda ms: True, queue.close
    return lambda ms: queue.control(None, 1, ms / 1000), queue.close


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
    except ValueError:  # a file edited by hand
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
        f"the load is {load}: other programs are running; end them or wait (--decide-by cpu feels them less)":
            bool(load),
        "hyper-threads share cores: pin with --cpu and keep its sibling idle, or write off to smt/control":
            facts.get("smt") == "1",
        "ASLR lays memory out anew in every run, which adds noise; 'setarch -R' turns it off":
            facts.get("aslr", "0") != "0",
        "the machine runs on battery: plug it in": facts.get("power") == "battery",
        "this is a virtual machine: others on its host may disturb it; a machine of your own is steadier":
            bool(facts.get("virtual")),
        # These three are read without a system call.
        f"the clock source {source!r} is slow to read; boot with clocksource=tsc":
            source not in ("tsc", "kvm-clock", "arch_sys_counter"),
    }  # fmt: skip
    return tuple(text for text, so in seen.items() if so)


def busy(*loads: float) -> str:
    """A remark on the load before a session, and at its end, which includes its own."""
    most = max(*loads, os.getloadavg()[0] - 1)
    return "".join(disturbances({"load": f"{most:.1f}", "cpus": str(os.cpu_count() or 1)}))


def differences(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    """Name what differs between the machines of two sessions."""
    names = [n for n in dict.fromkeys([*one, *other]) if n not in _VOLATILE and one.get(n) != other.get(n)]
    return tuple(f"{n}: {one.get(n, '')!r} and {other.get(n, '')!r}" for n in names)


_PR_SET_CHILD_SUBREAPER = 36
_SLOT = 16  # bytes for a number
_LOOK_SECONDS = 0.05
_ENDING_SECONDS = 0.005
_ENDING_ROUNDS = 100
# It waits for the runner's end of a pipe to close, and ends the process group whose number it then finds.
_GUARD = """exec >/dev/null 2>&1
{ read _ <&4; read group <&3; [ "$group" -gt 1 ] && kill -s KILL -- "-$group"; } &"""


@functools.lru_cache(maxsize=1)
def guard_of(runner: int) -> mmap.mmap:
    """Where the guard of this process, which is another one after a fork, finds the number of a group.

    It is a shell that sleeps as long as the runner, and with it one end of a pipe, is there; it is nobody's child,
    so no one waits for it.
    """
    slot = memory_file("group")
    os.pwrite(slot, _number(0), 0)
    ours, _ = os.pipe()
    copies = [(os.POSIX_SPAWN_DUP2, slot, 3), (os.POSIX_SPAWN_DUP2, ours, 4)]
    try:
        shell = os.posix_spawn("/bin/sh", ["sh", "-c", _GUARD], {}, file_actions=copies, setpgroup=0)
        os.waitpid(shell, 0)
        return mmap.mmap(slot, _SLOT)
    finally:
        for _, copy, _ in copies:
            os.close(copy)


def _number(group: int) -> bytes:
    return b"%*d\n" % (_SLOT - 1, group)


def watch(group: int) -> None:
    """Have this process group ended if the runner is killed; 0 cancels it."""
    guard_of(os.getpid())[:] = _number(group)


def watched() -> int:
    """The process group that is watched."""
    return int(guard_of(os.getpid())[:])


def adopt() -> set[int]:
    """Become the parent of orphaned descendants of commands; return the current children."""
    guard_of(os.getpid())  # which is no child
    before = children()
    _prctl(sys.platform)(_PR_SET_CHILD_SUBREAPER, 1)
    return before


def release() -> None:
    """Stop adopting orphaned descendants."""
    _prctl(sys.platform)(_PR_SET_CHILD_SUBREAPER, 0)


@functools.cache
def _prctl(platform: str) -> Callable[..., object]:
    """Call Linux's ``prctl``; elsewhere do nothing."""
    if platform != "linux":
        return lambda *_: None
    import ctypes

    return ctypes.CDLL(None).prctl


def left_behind(before: set[int]) -> list[int]:
    """The processes that a command left, which are no children from before; almost always one system call."""
    for attempt in range(2):
        if not (new := children() - before):
            return []
        table = _processes()
        for pid in new:
            if table.get(pid, (0, "Z"))[1] == "Z":
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
        family: set[int] = set()
        while more := {p for p, (parent, _) in table.items() if parent in family or p in new} - family:
            family |= more
        living = sorted(pid for pid in family if table[pid][1] not in "ZX")
        if not living:
            return []
        if attempt == 0:
            # The parts of a pipeline end at about the same time as their shell.
            time.sleep(_ENDING_SECONDS)
    return living


def end(group: int, before: set[int]) -> None:
    """Kill a command and all processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    if hasattr(os, "waitid"):
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, group, os.WEXITED | os.WNOWAIT)
    for _ in range(_ENDING_ROUNDS):
        for pid in (strays := left_behind({*before, group})):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not strays:
            break


def children() -> set[int]:
    """The processes that are children of this one; almost always one system call, and none where it lacks."""
    if not hasattr(os, "waitid"):
        return set()
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return set()
    return {pid for pid, (parent, _) in _processes().items() if parent == os.getpid()}


def _processes() -> dict[int, tuple[int, str]]:
    """Parent and state of every process."""
    if not Path("/proc/self").exists():
        return listed_processes()
    table = {}
    for place in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):  # one that has ended meanwhile, or is no process
            pid = int(place.name)
            # After the name, which may hold blanks and brackets.
            state, parent = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            table[pid] = int(parent), state
    return table
