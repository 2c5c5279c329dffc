"""What systems do each in its own way: Linux, on which all of it is tested, and macOS."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self


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
