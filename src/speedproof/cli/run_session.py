"""One session of ``speedproof run``: look around, measure or look at what was measured, report."""

from __future__ import annotations

import math
import shlex
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from types import FrameType

from msgspec.structs import replace

from speedproof.api.run_start import (
    StoredSession,
    ToolExecutor,
    begun,
    discovered,
    read_sessions,
    same_files,
    stored_chain,
)
from speedproof.cli.console import Console
from speedproof.cli.outputs import check_outputs
from speedproof.cli.run import RunOptions
from speedproof.cli.run_request import (
    check_tests,
    completed,
    inherit,
    kept,
    pin,
    plan_of,
    question_of,
    refuse_verdicts,
    rules_of,
)
from speedproof.errors import FormatError, SpeedproofError, UsageError

_ALONE_RUNS = 30
_SAME_EVENT_SECONDS = 1.0
# In the order in which it is needed; the last two are what NumPy loads at its first median and random number.
LOADED_LATE = (
    "speedproof.sessions", "speedproof.formats", "speedproof.cli.live", "speedproof.cli.run_report",
    "speedproof.protocols.suite", "numpy.ma", "numpy.random",
)  # fmt: skip


def carry_out(asked: RunOptions, console: Console) -> int:
    """Carry the command out, and give its exit code."""
    m = asked.measuring
    read = (m.input, asked.resume, asked.review)
    check_outputs(asked.output, *read, save=m.save, export_hyperfine=m.export_hyperfine)
    if asked.review is not None:
        return _review(asked, asked.review, console)
    with ExitStack() as held:
        return _carry_out(asked, console, held)


def _carry_out(asked: RunOptions, console: Console, held: ExitStack) -> int:
    stored, asked = _stored(asked, console, asked.resume)
    refuse_verdicts(asked)
    last = stored[-1].head if stored else None
    if last is None:
        asked = replace(asked, measuring=completed(asked.measuring))
    m = asked.measuring
    plan, absent = (last.benchmarks, last.absent) if last else plan_of(asked, console, held)
    rules = rules_of(asked, plan)
    files = same_files(asked.resume, stored, plan)
    warmup = 0 if m.driver else None if m.warmup == "auto" else m.warmup
    if max(len(benchmark.versions) for benchmark in plan) == 1 and m.max_runs is None and m.runs is None:
        # Nothing decides it, and a minute of it is more than anybody asked for.
        rules = replace(rules, max_blocks=max(_ALONE_RUNS, rules.min_blocks))
    pin(m.cpu)
    started = datetime.now().astimezone()
    path = Path(asked.resume or m.save or fresh_name("speedproof", started))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="speedproof-"))
        head, executor = begun(
            plan,
            kept(m),
            stored,
            Path(folder),
            console.remark,
            shell=m.shell,
            seed=m.seed,
            started=started,
            files=files,
            absent=absent,
        )
        stack.enter_context(ends_as_ctrl_c())
        try:
            if isinstance(executor, ToolExecutor):
                head = discovered(executor, head, console.remark, resumed=bool(stored), meanwhile=_loading())
                rules = rules_of(asked, head.benchmarks)
            question = question_of(m, head, rules)
            if not stored:
                candidates = max(len(b.versions) for b in head.benchmarks) - 1
                check_tests(m, len(head.benchmarks), candidates, unaffected=len(question.unaffected))
            from speedproof.api.run_sessions import measured
            from speedproof.cli.live import Watcher

            with Watcher(console, metric=question.metric) as watcher:
                outcome = measured(
                    head,
                    stored,
                    question,
                    executor,
                    path,
                    watch=watcher,
                    warmup=warmup,
                    ignore_failure=m.ignore_failure,
                    tell=console.remark,
                )
        except (SpeedproofError, OSError):
            _say_what_is_left(console, path, head.session, named=bool(m.save or asked.resume))
            raise
    from speedproof.cli.run_report import report

    console.remark(f"results are in {path}")
    if outcome.measured.interrupted:
        console.remark(f"to go on: speedproof run --resume {shlex.quote(str(path))}")
    return report(asked, console, path, [*head.resumes, head.session], outcome)


@contextmanager
def _loading() -> Iterator[None]:
    """Load what measures and reports while a tool runs for its names alone, and so disturb no measurement."""

    def load() -> None:
        for name in LOADED_LATE:
            import_module(name)

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _review(asked: RunOptions, file: str, console: Console) -> int:
    """The verdict on what a file holds."""
    from speedproof.api.run_sessions import reviewed
    from speedproof.cli.run_report import report

    stored, asked = _stored(asked, console, file)
    refuse_verdicts(asked)
    head, end = stored[-1].head, stored[-1].end
    question = question_of(asked.measuring, head, rules_of(asked, head.benchmarks))
    outcome = reviewed(stored, question)
    how = f"ended: {end.reason}" if end else "was killed before it ended, or goes on"
    console.remark(f"session {head.session}, started {head.started}, {how}")
    if not outcome.measured.tallies:
        raise FormatError(file, f"session {head.session}", "holds no run, so there is nothing to review")
    return report(asked, console, Path(file), [s.head.session for s in stored], outcome)


def _say_what_is_left(console: Console, path: Path, session: str, *, named: bool) -> None:
    """After an error: the runs before it are not lost; a file without any is not left behind.

    Nor is one of warm-up runs, unless it was asked for by name.
    """
    with suppress(SpeedproofError, OSError):
        sessions = read_sessions(path) if path.is_file() else []
        if any(not run.warmup for s in sessions if s.head.session == session for run in s.runs):
            console.remark(
                f"what was measured before the error: speedproof run --review {shlex.quote(str(path))}"
            )
        elif sessions and not (named and any(s.runs for s in sessions)):
            path.unlink()


def fresh_name(what: str, started: datetime) -> str:
    """A file that is not there yet, though another session may have begun in the same second."""
    stem = f"{what}-{started:%Y%m%d-%H%M%S}"
    names = (f"{stem}{suffix}.jsonl" for suffix in chain([""], map("-{}".format, count(2))))
    return next(name for name in names if not Path(name).exists())


@contextmanager
def ends_as_ctrl_c(clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """A session that is told to end does so as after Ctrl-C: the command is ended, the verdict given.

    The command has a process group of its own, so nobody else would end it. Some senders signal both a process
    and its group: what follows at once is the same event, and must not cut the cleanup off.
    """
    first = math.inf

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal first
        now = clock()
        first = min(first, now)
        if now == first or now - first > _SAME_EVENT_SECONDS:
            raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # What the caller ignores (nohup, a script's background job) stays ignored.
    heeded = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stored(asked: RunOptions, console: Console, file: str | None) -> tuple[list[StoredSession], RunOptions]:
    """The last session of a file and those that it went on with, oldest first; its options are taken over."""
    if file is None:
        return [], asked
    option = "--review" if asked.resume is None else "--resume"
    if asked.review is not None and asked.resume is not None:
        raise UsageError("--review only looks, --resume measures; give one of them")
    m = asked.measuring
    if asked.named or m.suite or m.save or m.name or m.reference:
        raise UsageError(f"{option} takes commands, names and file from the session; leave them out")
    chain, others = stored_chain(file, console.remark)
    asked = inherit(asked, chain[-1])
    if others:
        are = "session of the file is" if others == 1 else "sessions of the file are"
        console.remark(f"note: {others} other {are} not part of this one")
    return chain, asked
