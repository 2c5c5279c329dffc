"""Sessions on disk: where they are kept, the results file, the form of another tool.

Every line of a results file is handed to the kernel before the next run starts, of short runs those of 30 ms at
once. A ``kill -9`` of the runner therefore loses the run under way and no more than these. A power cut loses what
the kernel had not written yet, at most about a second: ``fsync`` runs once a second, between runs, because its
disk traffic would disturb the measurements after every single one.
"""

from __future__ import annotations

import fcntl
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, Self

import msgspec

from speedproof.data import session_file
from speedproof.data.session_file import Line, PlannedBenchmark, RunLine, SessionLine, StoredSession
from speedproof.errors import FormatError, Parameter, UsageError, cause
from speedproof.measuring.runs import seed_or_new

_SYNC_SECONDS = 1.0


def new_head(
    benchmarks: Iterable[PlannedBenchmark], *, seed: int | None, started: datetime | None = None, **kept: Any
) -> SessionLine:
    """The first line of a new session, with a unique name."""
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
        data = msgspec.json.encode(line) + b"\n"
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
    """Refuse to append to a file whose first line is not that of a session."""
    _refuse_device(path)
    if path.exists() and path.stat().st_size:
        with path.open("rb") as file:
            if not session_file.is_header(file.readline()):
                stranger = "is not a results file of 'speedproof run', so nothing is appended to it"
                raise FormatError(str(path), "", stranger)


def _refuse_device(path: Path) -> None:
    """Refuse what may have no end, such as a device, or gives its bytes only once, such as a pipe."""
    if path.exists() and not path.is_file():
        raise FormatError(str(path), "", "is not a file that can be read again, so it keeps no results")


def read_sessions(
    path: Path, *, left_out: Callable[[str], object] = lambda what: None
) -> list[StoredSession]:
    """Read a results file, to go on with it; who has been told already is told nothing of what is left out."""
    _refuse_device(path)
    try:
        with path.open("rb") as file:
            sessions, unusable = session_file.read_sessions(str(path), file)
    except OSError as error:
        raise FormatError(str(path), "", cause(error)) from None
    for damage in unusable:
        left_out(f"{path}: {damage}")
    return sessions


_KEPT_SESSIONS = 100


def cache_folder() -> Path:
    """The cache folder: ``$XDG_CACHE_HOME/speedproof``, by default ``~/.cache/speedproof``."""
    return _of_user("XDG_CACHE_HOME", ".cache")


def sessions_folder() -> Path:
    """The folder of sessions: ``$XDG_STATE_HOME/speedproof/sessions``, by default in ``~/.local/state``."""
    return _of_user("XDG_STATE_HOME", ".local/state") / "sessions"


def _of_user(variable: str, usual: str) -> Path:
    base = os.environ.get(variable, "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / usual) / "speedproof"


def new_session(what: str, started: datetime) -> Path:
    """The path of a new session file, unique even within one second.

    Of those that are there the latest are kept.
    """
    folder = sessions_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.jsonl"), key=_changed)[: 1 - _KEPT_SESSIONS]:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: no session can be kept there: {error.strerror}; XDG_STATE_HOME=FOLDER keeps them elsewhere"
        ) from None
    stem = f"{what}-{started:%Y%m%d-%H%M%S}"
    names = (folder / f"{stem}{suffix}.jsonl" for suffix in chain([""], map("-{}".format, count(2))))
    return next(name for name in names if not name.exists())


def latest_session(what: str) -> Path:
    """The file of the session of a command that was measured last."""
    folder = sessions_folder()
    if not (files := [*folder.glob(f"{what}-*.jsonl")]):
        raise UsageError(f"@last: no session is in {folder}, where 'speedproof {what}' keeps the latest")
    return max(files, key=_changed)


def _changed(path: Path) -> tuple[float, str]:
    with suppress(OSError):
        return path.stat().st_mtime, path.name
    return 0.0, path.name


def untold(notes: Sequence[str], *, today: date | None = None) -> tuple[str, ...]:
    """The notes not yet shown today, which are marked as shown."""
    day = (today or date.today()).isoformat()
    path = cache_folder() / "told.json"
    shown: dict[str, str] = {}
    with suppress(OSError, ValueError, AttributeError):
        shown = {
            note: when for note, when in json.loads(path.read_text(encoding="utf-8")).items() if when == day
        }
    fresh = tuple(note for note in notes if note not in shown)
    if fresh:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(shown | dict.fromkeys(fresh, day)), encoding="utf-8")
    return fresh


def to_hyperfine(sessions: Sequence[StoredSession]) -> str:
    """The JSON of hyperfine's ``--export-json``: one result for each version of each benchmark."""
    runs: dict[tuple[str, str], list[RunLine]] = {}
    for run in (run for session in sessions for run in session.runs):
        if not (run.warmup or run.timed_out) and "time" in run.metrics:
            runs.setdefault((run.benchmark, run.version), []).append(run)
    planned = {
        (benchmark.name, version.name): (version.text, benchmark.parameters)
        for session in sessions
        for benchmark in session.head.benchmarks
        for version in benchmark.versions
    }
    results = [_result(*planned_run, runs[place]) for place, planned_run in planned.items() if place in runs]
    return msgspec.json.format(msgspec.json.encode({"results": results}), indent=2).decode() + "\n"


def _result(text: str, parameters: Mapping[str, str], runs: Sequence[RunLine]) -> dict[str, object]:
    times = [run.metrics["time"] for run in runs]
    memory = [run.metrics["memory"] for run in runs if "memory" in run.metrics]
    return {
        "command": text,
        "mean": statistics.fmean(times),
        "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times),
        # Zero where perf stood between the runner and the program.
        "user": statistics.fmean(run.metrics.get("user", 0.0) for run in runs),
        "system": statistics.fmean(run.metrics.get("system", 0.0) for run in runs),
        "min": min(times),
        "max": max(times),
        "times": times,
        **({"memory_usage_byte": [int(m) for m in memory]} if len(memory) == len(runs) else {}),
        # hyperfine writes null for a process that a signal ended.
        "exit_codes": [run.exit if run.exit >= 0 else None for run in runs],
        **({"parameters": parameters} if parameters else {}),
    }
