"""The results file: every line is handed to the kernel before the next run starts.

A ``kill -9`` of the runner therefore loses the run under way and nothing else. A power cut loses what the
kernel had not written yet, at most about a second: ``fsync`` runs once a second, between runs, because its
disk traffic would disturb the measurements after every single one.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import msgspec

from speedproof.data import session_file
from speedproof.data.session_file import Line, PlannedBenchmark, SessionLine, StoredSession
from speedproof.errors import FormatError, Parameter
from speedproof.measuring.schedule import seed_or_new

_SYNC_SECONDS = 1.0


def new_head(
    benchmarks: Iterable[PlannedBenchmark],
    *,
    seed: int | None,
    started: datetime | None = None,
    **kept: Any,
) -> SessionLine:
    """The first line of a session that begins now, under a name that no other has."""
    started = started or datetime.now().astimezone()
    return SessionLine(
        schema=session_file.SCHEMA,
        session=f"{started:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}",
        started=started.isoformat(timespec="seconds"),
        seed=seed_or_new(seed),
        benchmarks=tuple(benchmarks),
        **kept,
    )


class ResultsFile:
    """A results file that lines are appended to."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._path = path
        _refuse_stranger(path)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        self._lock()
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            os.write(self._fd, b"\n")
        self._synced = clock()

    def _lock(self) -> None:
        """Two runners at a time would disturb each other, and the second would go on with half of the first."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            busy = "another 'speedproof run' is writing to it; wait, or give "
            raise FormatError(str(self._path), "", busy, Parameter("save"), " another file") from None
        except OSError:
            pass  # some network file systems have no locks

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def append(self, line: Line) -> None:
        """Append one line."""
        data = memoryview(msgspec.json.encode(line) + b"\n")
        try:
            while data:
                data = data[os.write(self._fd, data) :]
            now = self._clock()
            if now - self._synced >= _SYNC_SECONDS:
                os.fsync(self._fd)
                self._synced = now
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from None

    def close(self) -> None:
        """Write everything to the disk and close the file."""
        os.fsync(self._fd)
        os.close(self._fd)


def _refuse_stranger(path: Path) -> None:
    """Refuse to append to a file that is something else: its first line tells."""
    stranger = ""
    if path.exists() and not path.is_file():
        stranger = "is not a file that can be read again, so no results are written to it"
    elif path.exists() and path.stat().st_size:
        with path.open("rb") as file:
            if not session_file.is_header(file.readline()):
                stranger = "is not a results file of 'speedproof run', so nothing is appended to it"
    if stranger:
        raise FormatError(str(path), "", stranger)


def read_sessions(
    path: Path, *, left_out: Callable[[str], object] = lambda what: None
) -> list[StoredSession]:
    """Read a results file, to go on with it; who has been told already is told nothing of what is left out."""
    try:
        with path.open("rb") as file:
            sessions, unusable = session_file.read_sessions(str(path), file)
    except OSError as error:
        raise FormatError(str(path), "", f"cannot be read: {error.strerror}") from None
    for damage in unusable:
        left_out(f"{path}: {damage}")
    return sessions
