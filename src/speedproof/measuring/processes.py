"""What outlives a command: processes that left its group, and a command whose runner was killed."""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from speedproof.measuring.system import adopts, listed_processes, memory_file

_PR_SET_CHILD_SUBREAPER = 36
_SLOT = 16  # bytes for a number
_ENDING_SECONDS = 0.005
_ENDING_ROUNDS = 100
# It waits for the runner's end of a pipe to close, and ends the process group whose number it then finds.
_GUARD = """exec >/dev/null 2>&1
{ read _ <&4; read group <&3; [ "$group" -gt 1 ] && kill -s KILL -- "-$group"; } &"""


class _Guard:
    """A shell that sleeps as long as the runner lives; it is nobody's child, so no one waits for it."""

    def __init__(self) -> None:
        slot = memory_file("group")
        os.ftruncate(slot, _SLOT)
        self._slot = mmap.mmap(slot, _SLOT)
        self.watch(0)
        ours, self._held = os.pipe()
        copies = [(os.POSIX_SPAWN_DUP2, slot, 3), (os.POSIX_SPAWN_DUP2, ours, 4)]
        try:
            shell = os.posix_spawn("/bin/sh", ["sh", "-c", _GUARD], {}, file_actions=copies, setpgroup=0)
            os.waitpid(shell, 0)
        finally:
            for _, copy, _ in copies:
                os.close(copy)

    def watch(self, group: int) -> None:
        self._slot[:] = b"%*d\n" % (_SLOT - 1, group)


@functools.lru_cache(maxsize=1)
def guard_of(runner: int) -> _Guard:
    """The guard of this process, which is another one after a fork."""
    return _Guard()


def watch(group: int) -> None:
    """End this process group when the runner is killed; 0 for none."""
    guard_of(os.getpid()).watch(group)


@contextlib.contextmanager
def adopting() -> Iterator[set[int]]:
    """Be the parent of whatever the commands leave behind, whichever session it is in; yields who is there."""
    watch(0)  # the guard is no child
    if not adopts():
        yield children()
        return
    adopt = _prctl()
    adopt(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield children()
    finally:
        adopt(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@functools.cache
def _prctl() -> Callable[..., int]:
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
    """End a command and all that it started."""
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
