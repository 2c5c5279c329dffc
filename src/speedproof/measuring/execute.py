"""One run of one command, measured from outside: wall time, and what the kernel accounts to that child."""

from __future__ import annotations

import contextlib
import errno
import functools
import math
import os
import resource
import shlex
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.arrays import extension
from speedproof.errors import Parameter, SpeedproofError, cause
from speedproof.measuring.system import (
    adopt,
    bytes_of_peak,
    children,
    end,
    ended_within,
    guard_of,
    left_behind,
    memory_file,
    release,
    watch,
    watched,
)

# Python ignores these, and a child would inherit that: a benchmark in a pipe must still die of SIGPIPE.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_SHOWN_OUTPUT = 4000
# Of standard error the end is kept: looked at so often, it can take no more memory than it is written in a moment.
_KEPT_ERRORS = 1 << 20
# 20 us protect as well as 100 do, 10 do not.
_REST_MICROSECONDS = 30
_RESTED_RUNS = 100


class RunError(SpeedproofError):
    """A command that could not be started, failed, or took too long."""


class Job(Struct, frozen=True):
    """A command to execute."""

    command: tuple[str, ...]  # program, found on the PATH that it will itself see, and arguments
    env: Mapping[str, str] = field(default_factory=dict)  # variables added to those of this process
    cwd: str = ""  # working directory; empty for this process's
    stdin: str = os.devnull  # file for its standard input
    # Keep standard output. It is discarded otherwise, which programs can notice (grep stops at the first
    # match). Of standard error the end is always kept
    capture: bool = False
    timeout: float | None = None  # seconds after which the whole process group is ended
    # What is the same for many runs, where it is known: all variables, from :func:`environment_of`, where the
    # program is, the signals that are as by default for it; and how :mod:`speedproof.measuring._start` is told all
    environment: Mapping[bytes, bytes] | None = None
    program: str = ""
    signals: bytes = b""
    packed: tuple[bytes | int, ...] = ()

    def prepared(self) -> Job:
        """A copy with program, environment and signals resolved, for all runs of a version."""
        environment = environment_of(self.env) if self.environment is None else self.environment
        path = {"PATH": os.fsdecode(environment.get(b"PATH", os.defpath))}
        program = self.program or find_program(self.command[0], path)
        if program is None:
            raise RunError(f"{self.command[0]}: ", *NO_PROGRAM)
        # What the caller ignores (nohup) stays ignored.
        kept = signal.SIG_IGN, signal.SIG_DFL
        heeded = (s for s in signal.valid_signals() if signal.getsignal(s) not in kept)
        signals = bytes({*heeded, *_IGNORED_BY_PYTHON})
        variables = [name + b"=" + value for name, value in environment.items()]
        words = [*map(os.fsencode, self.command)]
        blocks = (
            part for some in (words, variables) for part in (b"".join(w + b"\0" for w in some), len(some))
        )
        packed = (os.fsencode(program), *blocks, signals, os.fsencode(self.cwd))
        return replace(self, environment=environment, program=program, signals=signals, packed=packed)


class Run(Struct, frozen=True):
    """The outcome of one run."""

    # ``time``: wall seconds from just before the process was made to just after it ended. From its own
    # accounting, children that it waited for included: ``user``, ``system`` and their sum ``cpu`` (s),
    # ``minor-faults``, ``major-faults``, ``voluntary-switches``, ``involuntary-switches``, and ``memory``
    # (peak resident set, B) where it exceeds the runner's own, see Notes of :func:`execute`
    metrics: dict[str, float]
    exit: int = 0  # exit code; minus the signal that ended it
    timed_out: bool = False  # whether it was ended for its time
    # What it wrote; ``stdout`` only when captured
    stdout: bytes = b""
    stderr: bytes = b""
    # Processes that it started and that went on when it had ended: their work is not in the metrics, and disturbs
    # what runs next
    left_behind: int = 0

    @property
    def failed(self) -> bool:
        """Whether the run's time means nothing."""
        return self.exit != 0 or self.timed_out

    def describe_failure(self) -> str:
        """How the run failed, with the end of its output."""
        if self.timed_out:
            how = "took longer than its time-out and was ended"
        elif self.exit < 0:
            how = f"was killed by {signal_name(-self.exit)}"
        else:
            how = f"exited with code {self.exit}"
        return f"{how}; {self.describe_output()}"

    def describe_output(self) -> str:
        """The end of the captured output."""
        output = (self.stdout + self.stderr)[-_SHOWN_OUTPUT:].decode(errors="replace").rstrip()
        return f"its output:\n{output}" if output else "it wrote nothing to standard error"


def signal_name(number: int) -> str:
    """The name of a signal as in ``kill -l``; most real-time signals have none."""
    if number in set(signal.Signals):
        return signal.Signals(number).name
    first = getattr(signal, "SIGRTMIN", number)
    return f"SIGRTMIN+{number - first}" if number > first else f"signal {number}"


def environment_of(env: Mapping[str, str]) -> dict[bytes, bytes]:
    """The variables of this process together with the given ones."""
    return {**os.environb, **{os.fsencode(name): os.fsencode(value) for name, value in env.items()}}


def find_program(name: str, env: Mapping[str, str]) -> str | None:
    """Locate a program by the PATH that it will see itself."""
    if os.sep in name:
        return name
    return shutil.which(name, path=env.get("PATH", os.defpath))


Ended = tuple[Any, ...]
"""Of a process: when it was made and when it ended (ns), its status, its time in user and kernel mode (us), its
peak of memory, faults and switches, each of two kinds; the runner's own peak after it, for what the runner needed
to start it is inherited, too; whether nobody is left; the bytes in the file of its errors. Of one that goes on its
number, and when it was made."""
_ALL = 13


def execute(job: Job) -> Run:
    """Execute a command once and measure it."""
    return execute_some([job], 0.0, [])[2]


def execute_some(jobs: Sequence[Job], seconds: float, ends: list[Ended]) -> tuple[int, int, Run]:
    """Execute the first command, and the next ones for so many seconds, as long as no run needs more than a note.

    The last run, with its start and end (ns); how those before it ended, :func:`run_of` them, is among the
    ``ends`` even after Ctrl-C. Of several commands the input must be empty, and no output captured.
    """
    if not jobs[0].packed:
        jobs = [job.prepared() for job in jobs]
    job = jobs[0]
    stderr = _unwritten.pop() if _unwritten else memory_file("output")
    opened: list[int] = []
    written = False
    try:
        stdin = stdout = _null()
        if job.stdin != os.devnull:
            opened.append(stdin := os.open(job.stdin, os.O_RDONLY))
        if job.capture:
            opened.append(stdout := memory_file("output"))
        ended, timed_out, left, errors = _spawn_and_wait(jobs, seconds, ends, (stdin, stdout, stderr))
        output = _content(stdout) if job.capture else b""
        written = bool(left or errors)  # remaining processes may still write
        return ended[0], ended[1], run_of(ended, timed_out, output, errors, left)
    except OSError as error:
        if error.filename is None:
            raise
        raise RunError(f"{error.filename}: {cause(error)}") from None
    finally:
        (opened if written else _unwritten).append(stderr)
        for descriptor in opened:
            os.close(descriptor)


def run_of(ended: Ended, *more: Any) -> Run:
    r"""The run with its metrics, computed from how the process ended.

    A new process starts in the memory of its parent, and Linux counts that in its peak (``ru_maxrss``
    survives ``execve``). A peak that is not above the runner's own therefore says nothing, and is left out.
    """
    start, finish, status, user, system, peak, minor, major, voluntary, involuntary, own_peak, _, _ = ended
    metrics = {
        "time": (finish - start) / 1e9,
        "user": user / 1e6,
        "system": system / 1e6,
        "cpu": (user + system) / 1e6,
        "minor-faults": float(minor),
        "major-faults": float(major),
        "voluntary-switches": float(voluntary),
        "involuntary-switches": float(involuntary),
    }
    if peak > own_peak:
        metrics["memory"] = peak * bytes_of_peak()
    return Run(metrics, os.waitstatus_to_exitcode(status), *more)


COMPILED = extension("measuring._start")
_unwritten: list[int] = []  # files in memory for standard error, from runs that wrote none


@functools.cache
def _null() -> int:
    """A descriptor of the null device, opened once."""
    return os.open(os.devnull, os.O_RDWR)


class _End:
    """The end of the output that is written to a file in memory."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before = b""

    def shorten(self) -> None:
        """Keep only the end; the writer shares the file position and continues at the beginning."""
        if os.lseek(self._descriptor, 0, os.SEEK_CUR) > _KEPT_ERRORS:
            self._before = self.kept()
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.ftruncate(self._descriptor, 0)

    def kept(self) -> bytes:
        size = os.fstat(self._descriptor).st_size
        last = os.pread(self._descriptor, _KEPT_ERRORS, max(size - _KEPT_ERRORS, 0)) if size else b""
        return (self._before + last)[-_KEPT_ERRORS:]


_PATIENCE = 50  # ms
_to_protect = [0]  # runs, where one was interrupted not long ago: others want the CPU


def _spawn_and_wait(
    jobs: Sequence[Job], seconds: float, ends: list[Ended], streams: tuple[int, int, int]
) -> tuple[Ended, bool, int, bytes]:
    """How the last process ended: its record, timed out or not, processes left, end of its errors."""
    ended: Ended = ()
    before: set[int] = set()
    adopted = timed_out = False
    errors = _End(streams[2])
    try:
        # Whoever has just slept is not interrupted for others, nor is the child that it starts.
        rest = _REST_MICROSECONDS if _to_protect[0] else 0
        if COMPILED is not None:
            timeout = jobs[0].timeout
            patience = _PATIENCE if timeout is None else min(_PATIENCE, math.ceil(1e3 * timeout))
            programs = [job.packed for job in jobs[: _to_protect[0] or None]]
            guard, lasting = guard_of(os.getpid()), int(1e9 * seconds)
            ended = COMPILED.start(programs, *streams, guard, rest, patience, lasting, ends)
        job = jobs[len(ends)]
        if not ended:  # as it is beside other children
            before = adopt()
            adopted = True
            ended = _spawn(job, streams, rest)
        if len(ended) < _ALL:
            ended, timed_out = _awaited(job, ended, before, errors)
        for done in (*ends, ended):
            # A program may be moved to another CPU when it starts, which counts as one.
            _to_protect[0] = _RESTED_RUNS if done[9] > 1 else max(_to_protect[0] - 1, 0)
        left = 0 if ended[11] else len(left_behind(before))
        return ended, timed_out, left, errors.kept() if left or ended[12] else b""
    except BaseException as error:
        # Ctrl-C reaches only the runner: the child has a process group of its own. It may have been born and its
        # number not yet been known.
        for child in {pid} if (pid := watched()) else children() - before if adopted else set[int]():
            end(child, before)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)
        job = jobs[len(ends)]
        if isinstance(error, OSError) and not ended and error.filename != job.cwd:
            raise RunError(f"{job.command[0]}: ", *_start_remedy(error)) from None
        raise
    finally:
        if ended[11:12] != (1,):
            watch(0)
            release()


def _spawn(job: Job, streams: tuple[int, int, int], rest: int) -> tuple[int, int]:
    """Start the process; its id and start time."""
    copies = [(os.POSIX_SPAWN_DUP2, stream, to) for to, stream in enumerate(streams)]
    options: dict[str, Any] = {"file_actions": copies, "setpgroup": 0, "setsigdef": job.signals}
    if rest:
        time.sleep(1e-6 * rest)
    # posix_spawn cannot set a working directory, so the runner changes there for the moment.
    with contextlib.chdir(job.cwd) if job.cwd else contextlib.nullcontext():
        start = time.perf_counter_ns()
        pid = os.posix_spawn(job.program, job.command, job.environment or {}, **options)
    watch(pid)
    return pid, start


def _awaited(job: Job, begun: Ended, before: set[int], errors: _End) -> tuple[Ended, bool]:
    """Wait for a process: its complete record, and whether it was ended for exceeding its time."""
    pid, start = begun
    seconds = math.inf if job.timeout is None else job.timeout - (time.perf_counter_ns() - start) / 1e9
    finish = ended_within(pid, seconds, errors.shorten)
    if timed_out := not finish:
        end(pid, before)
        finish = time.perf_counter_ns()
    _, status, usage = os.wait4(pid, 0)
    times = (round(1e6 * usage.ru_utime), round(1e6 * usage.ru_stime))
    counts = (usage.ru_minflt, usage.ru_majflt, usage.ru_nvcsw, usage.ru_nivcsw)
    own_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (start, finish, status, *times, usage.ru_maxrss, *counts, own_peak, 0, 1), timed_out


NO_PROGRAM = "no such program; quote a command with its arguments, give its path or ", Parameter("shell")


def _start_remedy(error: OSError) -> tuple[str | Parameter, ...]:
    if isinstance(error, FileNotFoundError):
        return NO_PROGRAM
    if isinstance(error, PermissionError):
        return ("not executable; chmod +x it, or put its interpreter before it",)
    if error.errno == errno.ENOEXEC:
        return ("neither a program nor a script whose first line names its interpreter; put that before it",)
    return (f"cannot be started: {error.strerror}",)


def _content(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


def shell_command(text: str, shell: str = "sh") -> tuple[str, ...]:
    """The command by which a shell executes a text.

    The shell is the runner's: a version's own PATH need not have one.
    """
    program, *options = shlex.split(shell)
    return (shutil.which(program) or program, *options, "-c", text)
