"""One run of one command, measured from outside: wall time, and what the kernel accounts to that child."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import select
import shlex
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from speedproof.errors import Parameter, SpeedproofError

# Python ignores these, and a child would inherit that: a benchmark in a pipe must still die of SIGPIPE.
_DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)
_SHOWN_OUTPUT = 4000
_ENDING_SECONDS = 0.005


class RunError(SpeedproofError):
    """A command that could not be started, failed, or took too long."""


class Job(Struct, frozen=True):
    """What to execute."""

    command: tuple[str, ...]  # program, found on the PATH that it will itself see, and arguments
    env: Mapping[str, str] = field(default_factory=dict)  # variables added to those of this process
    cwd: str = ""  # working directory; empty for this process's
    stdin: str = os.devnull  # file for its standard input
    # Keep standard output. It is discarded otherwise, which programs can notice (grep stops at the first
    # match). Standard error is always kept
    capture: bool = False
    timeout: float | None = None  # seconds after which the whole process group is ended


class Run(Struct, frozen=True):
    """What one run was like."""

    # ``time``: wall seconds from just before the process was made to just after it was reaped. From its own
    # accounting, children that it waited for included: ``user`` and ``system`` (s), ``minor-faults``,
    # ``major-faults``, ``voluntary-switches``, ``involuntary-switches``, and ``memory`` (peak resident set,
    # B) where it exceeds the runner's own, see Notes of :func:`execute`
    metrics: dict[str, float]
    exit: int = 0  # exit code; minus the signal that ended it
    timed_out: bool = False  # whether it was ended for its time
    # What it wrote; ``stdout`` only when captured
    stdout: bytes = b""
    stderr: bytes = b""
    # Processes of its group that went on when it had ended: their work is not in the metrics, and disturbs
    # what runs next
    left_behind: int = 0

    @property
    def failed(self) -> bool:
        """Whether the run's time means nothing."""
        return self.exit != 0 or self.timed_out

    def describe_failure(self) -> str:
        """Say how it failed, with the end of its output."""
        if self.timed_out:
            how = "took longer than its time-out and was ended"
        elif self.exit < 0:
            how = f"was killed by {signal.Signals(-self.exit).name}"
        else:
            how = f"exited with code {self.exit}"
        return f"{how}; {self.describe_output()}"

    def describe_output(self) -> str:
        """The end of what it wrote and was kept."""
        output = (self.stdout + self.stderr)[-_SHOWN_OUTPUT:].decode(errors="replace").rstrip()
        return f"its output:\n{output}" if output else "it wrote nothing to standard error"


def find_program(name: str, env: Mapping[str, str]) -> str | None:
    """Where a program is, by the PATH that it will itself see."""
    if os.sep in name:
        return name
    return shutil.which(name, path=env.get("PATH", os.defpath))


def execute(job: Job) -> Run:
    r"""Execute a command once and measure it.

    A new process starts in the memory of its parent, and Linux counts that in its peak (``ru_maxrss``
    survives ``execve``). A peak that is not above the runner's own therefore says nothing, and is left out.
    """
    environment = {**os.environ, **job.env}
    with contextlib.ExitStack() as stack:

        def opened(descriptor: int) -> int:
            stack.callback(os.close, descriptor)
            return descriptor

        try:
            stdin = opened(os.open(job.stdin, os.O_RDONLY))
            if job.cwd:
                # Spawning has no directory of its own to offer, so the runner goes there for the moment.
                stack.enter_context(contextlib.chdir(job.cwd))
        except OSError as error:
            raise RunError(f"{error.filename}: {error.strerror}") from None
        kept = os.memfd_create("output") if job.capture else None
        stdout = opened(os.open(os.devnull, os.O_WRONLY) if kept is None else kept)
        stderr = opened(os.memfd_create("output"))
        actions = [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate((stdin, stdout, stderr))]
        program = find_program(job.command[0], environment)
        if program is None:
            raise RunError(f"{job.command[0]}: ", *_start_remedy(FileNotFoundError()))
        pid, seconds, status, usage, timed_out = _spawn_and_wait(program, job, environment, actions)
        # After the run: what the runner needed to start it is inherited, too.
        own_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        exit_code = os.waitstatus_to_exitcode(status)
        metrics = {
            "time": seconds,
            "user": round(usage.ru_utime, 6),
            "system": round(usage.ru_stime, 6),
            "minor-faults": float(usage.ru_minflt),
            "major-faults": float(usage.ru_majflt),
            "voluntary-switches": float(usage.ru_nvcsw),
            "involuntary-switches": float(usage.ru_nivcsw),
        }
        if usage.ru_maxrss > own_peak:
            metrics["memory"] = usage.ru_maxrss * 1024.0
        left_behind = 0 if timed_out else _left_behind(pid)
        written = b"" if kept is None else _content(kept)
        return Run(metrics, exit_code, timed_out, written, _content(stderr), left_behind)


def _spawn_and_wait(
    program: str, job: Job, environment: dict[str, str], actions: list[tuple[int, int, int]]
) -> tuple[int, float, int, resource.struct_rusage, bool]:
    timed_out = False
    # An interrupt between the child's birth and the try would leave it behind.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    start = time.perf_counter_ns()
    try:
        pid = os.posix_spawn(
            program,
            job.command,
            environment,
            file_actions=actions,
            setpgroup=0,
            setsigmask=mask,
            setsigdef=_DEFAULT_SIGNALS,
        )
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise RunError(f"{job.command[0]}: ", *_start_remedy(error)) from None
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if job.timeout is not None and not _ends_within(pid, job.timeout):
            timed_out = True
            os.killpg(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        end = time.perf_counter_ns()
    except BaseException:
        # Ctrl-C reaches only the runner: the child has a process group of its own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        raise
    return pid, (end - start) / 1e9, status, usage, timed_out


def _left_behind(group: int) -> int:
    """How many processes of a group are still there after its leader; almost always one system call."""
    for attempt in range(2):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return 0
        except PermissionError:
            pass  # it is there, and belongs to somebody else
        if attempt == 0:
            # The parts of a pipeline end at about the same time as their shell.
            time.sleep(_ENDING_SECONDS)
    # Nobody may have reaped the dead ones, so their states are looked at.
    count = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # After the name, which may hold blanks and brackets: state, parent, group.
            state, _, number = path.read_text(errors="replace").rpartition(")")[2].split()[:3]
            count += int(number) == group and state not in "ZX"
    return count


def _ends_within(pid: int, seconds: float) -> bool:
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(descriptor)


NO_PROGRAM = ("no such program; give its path, or ", Parameter("shell"), " if it is built into a shell")


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
    """The command that lets a shell carry out a text.

    The shell is the runner's: a version's own PATH need not have one.
    """
    program, *options = shlex.split(shell)
    return (shutil.which(program) or program, *options, "-c", text)
