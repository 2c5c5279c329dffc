"""One session of ``speedproof run``: look around, measure or look at what was measured, report."""

from __future__ import annotations

import math
import shlex
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from speedproof.api import run_start
from speedproof.api.given import confidence_of
from speedproof.api.run_plan import Request, check_tests, new_session, plan_of
from speedproof.cli.console import ERROR, FAILED, INTERRUPTED, QUIET, Console
from speedproof.cli.files import check_outputs, fails, say_mapped, write_outputs
from speedproof.cli.run import OF_FILES, RunOptions, refuse_files, settings_of
from speedproof.declaring import LATEST
from speedproof.errors import FormatError, SpeedproofError, UsageError
from speedproof.measuring_options import NO_POLICY, UNNAMED
from speedproof.options import BenchmarkSettings, Gating, Policy
from speedproof.reporting.formats import write_whole
from speedproof.reporting.names import enumerate_names, visible_lines
from speedproof.reporting.numbers import plural

if TYPE_CHECKING:
    from rich.live import Live

    from speedproof.api.measurement import Progress, SequentialComparison
    from speedproof.api.session_results import EndedSession, RaceResult

_SAME_EVENT_SECONDS = 1.0
# In the order in which it is needed; the last two are what NumPy loads at its first median and random number.
LOADED_LATE = (
    "speedproof.api.measurement", "speedproof.formats", "speedproof.conclude.suite", "numpy.ma", "numpy.random",
)  # fmt: skip


def carry_out(options: RunOptions, console: Console) -> int:
    """Carry the command out, and give its exit code."""
    m = options.measuring
    read = (m.input, options.resume, options.review)
    benchmark: tuple[BenchmarkSettings, ...] = ()
    if m.held_to and options.resume is None is options.review:
        options, benchmark = _with_settings(options, console)
    check_outputs(options.output, *read, options.config, save=m.save, export_hyperfine=m.export_hyperfine)

    def wants(name: str) -> bool:
        chosen = run_start.wanted(name, options.choosing.only, options.choosing.skip)
        return chosen and run_start.Demand().of(name, benchmark) is not None

    commands = [*options.commands, *([[*options.words]] if options.words else [])]
    asked = Request(options.measuring, commands, options.given, wants)
    if options.review is not None:
        return _review(options, asked, options.review, console)
    with ExitStack() as held:
        return _measure(options, asked, console, held)


def _with_settings(options: RunOptions, console: Console) -> tuple[RunOptions, tuple[BenchmarkSettings, ...]]:
    """What the file of settings says where nothing is given, as far as it means something while one measures."""
    m = options.measuring
    risk = None if m.alpha is m.confidence is None else confidence_of(m)
    policy = m.policy and Policy(m.policy)
    given = Gating(margin=m.margin, confidence=risk, policy=policy, undecided=options.undecided)
    config, settings = settings_of(options.config, given, console)
    names = ("multiplicity", "protocol", "quantile")
    if of_files := [name for name in names if getattr(settings, name) is not None]:
        console.remark(f"note: {config}: {', '.join(of_files)}: {OF_FILES}")
    asks = {name: getattr(settings, name) for name in ("confidence", "margin", "policy")}
    for key in ("margin", "policy"):
        some = ((e.pattern, getattr(e, key)) for e in settings.benchmark)
        of = (f"{pattern}={value}" for pattern, value in some if value is not None)
        asks[f"{key}_of"] = (*of, *getattr(m, f"{key}_of"))
    measuring = replace(m, alpha=None, **asks)
    kept = replace(options, measuring=measuring, undecided=settings.undecided, config=config)
    return kept, settings.benchmark


def _measure(options: RunOptions, asked: Request, console: Console, held: ExitStack) -> int:
    stored: list[run_start.StoredSession] = []
    if options.resume is None:
        run_start.refuse_verdicts(asked)
        refuse_files(options.commands, json=options.output.json)
        asked = run_start.completed(asked)
        plan, absent = plan_of(asked, console.remark, held)
    else:
        stored, asked = _stored(options, asked, console, options.resume)
        plan, absent = stored[-1].head.benchmarks, stored[-1].head.absent
    m = asked.measuring
    run_start.question_of(asked, plan, {})
    files = run_start.same_files(options.resume, stored, plan)
    warmup = 0 if m.driver else None if m.warmup == "auto" else m.warmup
    run_start.pin(m.cpu)
    started = datetime.now().astimezone()
    named = options.resume or m.save
    path = Path(named) if named else new_session("run", started)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="speedproof-")))
        kept = {"started": started, "files": files, "absent": absent}
        head, executor = run_start.begun(plan, m, stored, folder, console.remark, **kept)
        stack.enter_context(ends_as_ctrl_c())
        began = time.monotonic()
        try:
            if isinstance(executor, run_start.ToolExecutor):
                head = run_start.discovered(
                    executor, head, console.remark, asked, resumed=bool(stored), meanwhile=_loading()
                )
            question = run_start.question_of(asked, head.benchmarks, head.units)
            if not stored:
                candidates = max(len(b.versions) for b in head.benchmarks) - 1 or 1
                check_tests(m, len(head.benchmarks), candidates, unaffected=len(question.unaffected))
            if len(head.benchmarks) > 1 and (longest := question.rules.max_time) is not None:
                console.remark(f"{len(head.benchmarks)} benchmarks share {longest:g} s (--max-time)")
            from speedproof.api.measurement import Measurement

            with Watcher(console, metric=question.metric) as watcher:
                session = Measurement(
                    head,
                    executor,
                    question,
                    path=path,
                    warmup=warmup,
                    ignore_failure=m.ignore_failure,
                    spent=time.monotonic() - began if m.driver else 0.0,
                )
                if stored:
                    blocks = session.recall(stored)
                    if m.runs is not None and not m.builds and blocks >= m.runs * len(head.benchmarks):
                        raise UsageError(
                            f"{path}: has all of its runs; see 'speedproof run --review {_called(named)}'"
                        )
                    console.remark(f"{plural(blocks, 'block')} taken over from {path}")
                elif path.stat().st_size:
                    before = plural(len(run_start.read_sessions(path)), "session")
                    console.remark(f"{path} holds {before} already; this one is appended")
                outcome = session.run(watcher)
        except (SpeedproofError, OSError):
            _say_what_is_left(console, path, head.session, named)
            raise
    console.remark(f"results are in {path}; this verdict again: speedproof run --review {_called(named)}")
    if outcome.measured.interrupted:
        console.remark(f"to go on: speedproof run --resume {_called(named)}")
    _say_why(console, outcome)
    return _report(options, console, path, [*head.resumes, head.session], outcome)


def _called(named: str | None) -> str:
    """The session file as it is written in a suggested command."""
    return LATEST if named is None else shlex.quote(named)


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


def _review(options: RunOptions, asked: Request, file: str, console: Console) -> int:
    """The verdict on what a file holds."""
    from speedproof.api.measurement import reviewed

    stored, asked = _stored(options, asked, console, file)
    head = stored[-1].head
    outcome = reviewed(stored, run_start.question_of(asked, head.benchmarks, head.units))
    console.remark(f"session {head.session}, started {head.started}, {stored[-1].how_ended}")
    if not outcome.measured.tallies:
        raise FormatError(file, f"session {head.session}", "holds no run, so there is nothing to review")
    return _report(options, console, Path(file), [s.head.session for s in stored], outcome)


def _say_what_is_left(console: Console, path: Path, session: str, named: str | None) -> None:
    """After an error: the runs before it are not lost; a file that nobody asked for, or without any, goes."""
    with suppress(SpeedproofError, OSError):
        sessions = run_start.read_sessions(path)
        if any(not run.warmup for s in sessions if s.head.session == session for run in s.runs):
            console.remark(f"what was measured before the error: speedproof run --review {_called(named)}")
        elif not (named and any(s.runs for s in sessions)):
            path.unlink()


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


def _stored(
    options: RunOptions, asked: Request, console: Console, file: str
) -> tuple[list[run_start.StoredSession], Request]:
    """The last session of a file and those that it went on with, oldest first; its options are taken over."""
    option, m = "--review" if options.resume is None else "--resume", asked.measuring
    if asked.commands or m.suite or m.save or m.name or m.reference:
        raise UsageError(f"{option} takes commands, names and file from the session; leave them out")
    chain, others = run_start.stored_chain(file, console.remark)
    if m.held_to and not chain[-1].options.held_to:
        raise UsageError(f"{NO_POLICY} {shlex.quote(file)}")
    asked = run_start.inherit(asked, chain[-1], review=options.review is not None)
    if others:
        are = "session of the file is" if others == 1 else "sessions of the file are"
        console.remark(f"note: {others} other {are} not part of this one")
    run_start.refuse_verdicts(asked)
    return chain, asked


def _exit_code(options: RunOptions, session: EndedSession, console: Console) -> int:
    """2 when some version has no run that counts or a cleanup failed; a policy's; 1 when ``--fail-on`` is met."""
    measured, outcome = session.race.measured, session.outcome
    if measured.interrupted:
        return INTERRUPTED
    # A candidate that only fails has lost its benchmark, which a policy judges.
    references = {of.versions[0].name for of in session.sessions[-1].head.benchmarks}
    useless = [tally for tally in measured.fruitless if outcome is None or tally.version in references]
    if measured.unfinished or useless:
        return ERROR
    if outcome is not None:
        say_mapped(outcome, options.undecided, console)
        return outcome.exit_code(options.undecided)
    return FAILED if options.fail_on and fails(options.fail_on, session.compared[0], console) else 0


def _report(
    options: RunOptions,
    console: Console,
    path: Path,
    names: Collection[str],
    outcome: RaceResult,
) -> int:
    """Write everything that was asked for; the exit code of the command."""
    from speedproof.api.session_results import EndedSession
    from speedproof.reporting.model import Report, Reported, Text

    session = EndedSession(path, names, outcome)
    code = _exit_code(options, session, console)
    _remark(console, session)
    if hyperfine := options.measuring.export_hyperfine:
        write_whole(Path(hyperfine), session.to_hyperfine())
        if outcome.measured.on_result:
            console.remark(
                f"note: {hyperfine} cannot say that measuring stopped on the result, nor which runs "
                "are of one block"
            )
    alone = len(session.suite.versions) == 1 and session.judged is None
    shown = [] if alone else [session.report(undecided_fails=options.undecided == "fail")]
    more: dict[str, object] = {}
    if options.why:
        from speedproof.reporting.why import beside

        explained = session.why()
        shown, more = list(beside(shown, explained.by_candidate)), {"why": list(explained)}

    def reported() -> Reported:
        return Reported(tuple(shown), session.suite, results=session.compared[0])

    taken = write_outputs(options, options.output, reported, console)
    if options.output.json:
        console.out.write(session.to_json(code, **more))
    elif not taken:
        lines = [Report("", (Text(line),)) for line in session.alone()] if alone else []
        console.write(*lines, *shown)
    return code


def _say_why(console: Console, outcome: RaceResult) -> None:
    """Why each benchmark ended."""
    reasons: dict[str, list[str]] = {}
    for benchmark, reason in outcome.measured.reasons:
        reasons.setdefault(reason, []).append(benchmark)
    for reason, names in reasons.items():
        if reason == "interrupted":
            console.remark("interrupted")
        elif reason not in ("", "decided"):
            whose = "" if names == [UNNAMED] else f"{enumerate_names(names, 5)}: "
            console.remark(f"{whose}ended because {reason}")


def _remark(console: Console, ended: EndedSession) -> None:
    """What went wrong, and what was asked for and is nowhere."""
    from speedproof.api.session_results import who

    measured = ended.race.measured
    console.remark(*(f"error: {problem}" for problem in measured.unfinished))
    for tally in measured.tallies:
        whose = who(tally.version, tally.benchmark)
        if tally.useless:
            console.remark(
                f"error: {whose}: of {plural(tally.runs, 'run')} none can be used; see without --ignore-failure"
            )
            continue
        for what, runs in (
            ("failed and were left out", tally.failed),
            ("lacked the deciding metric and were left out", tally.lacking),
            ("left processes running", tally.left_behind),
        ):
            if runs:
                console.remark(f"note: {whose}: {runs} of {plural(tally.runs, 'run')} {what}")
        for name in ended.sessions[-1].head.units:
            if tally.runs and name not in tally.metrics:
                why = tally.absent.get(name, "")
                console.remark(f"note: {whose}: no run gave {name}{f' ({why})' if why else ''}")


_SHOWN = 30
# Redrawing happens between runs only, never during one: no thread of the runner's disturbs the program.
_TERMINAL_SECONDS = 0.25


class Watcher:
    """Shows progress after each run, when an update is due."""

    def __init__(
        self,
        console: Console,
        *,
        clock: Callable[[], float] = time.monotonic,
        metric: str = "time",
    ) -> None:
        self._console = console
        self._clock = clock
        self._metric = metric
        self._live: Live | None = None
        self._terminal = console.err.isatty()
        self._due = clock() + (0.0 if self._terminal else QUIET)
        # By benchmark, for a driver goes round its benchmarks.
        self._runs: dict[str, int] = {}
        self._recent: dict[str, dict[str, deque[float]]] = {}

    def __enter__(self) -> Self:
        if self._terminal:
            import rich.console
            from rich.live import Live

            screen = rich.console.Console(file=self._console.err, highlight=False)
            self._live = Live(console=screen, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress, comparison: SequentialComparison) -> None:
        """Record a run."""
        name = progress.benchmark.name
        if name not in self._recent:
            self._recent[name] = {v.name: deque(maxlen=_SHOWN) for v in progress.benchmark.versions}
        if not progress.warmup:
            self._runs[name] = self._runs.get(name, 0) + 1
            if self._metric in progress.run.metrics:
                self._recent[name][progress.version].append(progress.run.metrics[self._metric])
        now = self._clock()
        if now < self._due:
            return
        doing = "warming up" if progress.warmup else plural(self._runs[name], "run")
        others = f" ({progress.together} benchmarks are open)" if progress.together > 1 else ""
        from speedproof.reporting.session import bars, standing

        states = standing(comparison.findings(), comparison.left)
        head = f"{'' if name == UNNAMED else f'{name}: '}{progress.elapsed:.0f} s, {doing}{others}"
        if self._live is not None:
            from rich.text import Text

            drawn = bars(self._recent[name], seconds=self._metric == "time")
            self._live.update(Text(visible_lines("\n".join([head, *states, *drawn]))), refresh=True)
            # Long sessions have costly bounds: looking at them takes a twentieth of the time at most.
            self._due = self._clock() + max(_TERMINAL_SECONDS, 20 * (self._clock() - now))
        else:
            # Of several candidates each has a line.
            self._console.remark(("; " if len(states) < 2 else "\n  ").join([head, *states]))
            self._due = now + QUIET
