"""Measuring until it is proven: commands, or Python functions."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from speedproof.api.given import callable_given, options_of
from speedproof.api.race_results import RaceResult as RaceResult
from speedproof.api.race_results import RaceState as RaceState
from speedproof.api.race_results import suite_of
from speedproof.api.run_plan import Request, plan_of
from speedproof.api.run_start import begun, question_of
from speedproof.data.checked import checked
from speedproof.data.session_file import (
    Line,
    PlannedBenchmark,
    PlannedVersion,
    RunLine,
    SessionLine,
    StoredSession,
)
from speedproof.errors import UsageError
from speedproof.measuring.callables import CallableExecutor, calls_needed
from speedproof.measuring.programs import fingerprints, replaced
from speedproof.measuring.results import Progress as Progress
from speedproof.measuring.runs import Executor, Harness, RunLoop
from speedproof.measuring.store import ResultsFile, new_head
from speedproof.options import Measuring
from speedproof.protocols.sequential import SequentialComparison as SequentialComparison
from speedproof.protocols.stopping import SessionQuestion
from speedproof.sessions import ComparedSession, SessionResult
from speedproof.values import rest


class Measurement:
    """A session that measures while it is iterated; :meth:`result` measures what is left.

    Leaving the loop early ends the session; what was measured is in the result.
    """

    def __init__(
        self,
        head: SessionLine,
        executor: Executor | Harness,
        question: SessionQuestion,
        *,
        stored: Sequence[StoredSession] = (),
        path: str | Path | None = None,
        warmup: int | None = 1,
        ignore_failure: bool = False,
        clock: Callable[[], float] = time.monotonic,
        calls: Mapping[str, int] | None = None,
        spent: float = 0.0,
    ) -> None:
        """``stored`` are the sessions that it goes on with; at ``path`` is every run before the next one.

        ``spent`` are seconds of the time allowed that are over already.
        """
        rules = question.rules
        self._known = rest(rules.alpha), rules.margin, calls or {}
        self._times: dict[tuple[str, str], list[tuple[float, int]]] = {
            (b.name, v.name): [] for b in head.benchmarks for v in b.versions
        }
        self._held = ExitStack()
        try:
            self._file = None if path is None else self._held.enter_context(ResultsFile(Path(path)))
        except OSError as error:
            raise UsageError(f"cannot save to {path}: {error.strerror}") from None
        runs = RunLoop(head, executor, clock, self._append, question.metric, ignore_failure)
        self._session = ComparedSession(
            runs, question, warmup=warmup, changed=lambda: _changed(head), spent=spent
        )
        self.recalled = self._session.recall(stored)  # how many blocks
        self._states = self._run()
        self._result: RaceResult | None = None

    def _append(self, line: Line) -> None:
        if isinstance(line, RunLine) and not (line.warmup or line.failed) and "time" in line.metrics:
            self._times[line.benchmark, line.version].append((line.metrics["time"], line.block))
        if self._file is not None:
            self._file.append(line)

    def __iter__(self) -> Iterator[RaceState]:
        return self._states

    def _run(self) -> Generator[RaceState, None, None]:
        steps = self._session.steps()
        result: SessionResult | None = None
        seen, elapsed = Counter[str](), 0.0
        try:
            while result is None:
                try:
                    elapsed = next(steps).elapsed
                except StopIteration as end:
                    result = end.value
                # A block is complete when the next one has begun, or the session has ended.
                for comparison in self._session.comparisons.values():
                    if comparison.blocks > seen[comparison.benchmark]:
                        seen[comparison.benchmark] = comparison.blocks
                        findings = comparison.findings()
                        still = [f for f in findings if not f.reason] or findings
                        yield RaceState(still[0], findings, elapsed)
        finally:
            steps.close()
            self._finish(result)

    def _finish(self, found: SessionResult | None) -> RaceResult:
        self._held.close()
        comparisons = self._session.comparisons.values()
        findings = found.findings if found else tuple(f for c in comparisons for f in c.findings())
        self._result = RaceResult(findings, suite_of(self._times), *self._known)
        return self._result

    def __reduce__(self) -> str:
        raise UsageError("a session that measures cannot be pickled: pickle what it found, .result()")

    def __repr__(self) -> str:
        names = "; ".join(f"{c.benchmark}: {c.blocks} blocks" for c in self._session.comparisons.values())
        return f"<Measurement: {names or 'not begun'}>"

    def close(self) -> None:
        """Measure no more."""
        self._states.close()

    def result(self) -> RaceResult:
        """What is proven, after measuring what is left."""
        for _ in self._states:
            pass
        return self._result or self._finish(None)  # which is to be done when it was closed before it began

    def run(self, watch: Callable[[Progress, SequentialComparison], None]) -> SessionResult:
        """Measure to the end for a watcher who is told of every run, and say how it went."""
        with self._held:
            return self._session.run(watch)


def _changed(head: SessionLine) -> Iterable[tuple[str, str, str]]:
    return replaced(head.benchmarks, head.files, fingerprints(head.benchmarks)) if head.files else ()


@checked("commands")
def measure(
    commands: Mapping[str, str | Sequence[str]],
    *,
    benchmark: str = "command",
    confidence: float | str = 0.95,
    margin: float | str | None = None,
    precision: float | str | None = None,
    max_seconds: float | None = 60.0,
    min_runs: int | None = None,
    max_runs: int | None = None,
    warmup: int | None = 1,
    shell: str = "",
    timeout: float | None = None,
    output: Literal["null", "capture"] = "null",
    ignore_failure: bool = False,
    save: str | Path | None = None,
    seed: int | None = None,
) -> Measurement:
    """Measure commands in random order, block by block, until the comparison is proven, as ``speedproof run``.

    Parameters
    ----------
    commands : mapping of str to str or sequence of str
        Version to command, the reference first: text, or program and arguments already apart.
    benchmark : str
        What the commands have in common.
    confidence : float or str
        Of each direction and each bound, at whatever moment one looks.
    margin : float or str, optional
        Stop also when the speedup is proven to lie within 1 / (1 + margin) and 1 + margin; by default 0.01, where
        no difference is proven.
    precision : float or str, optional
        Stop when both bounds are this close, instead of at a proof of half the observed effect.
    max_seconds : float or None
        After which it ends undecided.
    min_runs, max_runs : int, optional
        Of each version: at least 10 by default, or ``max_runs`` where that is less.
    warmup : int or None
        Runs of each before those that count; None: until they are steady.
    shell : str
        The shell that carries the commands out; none by default.
    timeout : float, optional
        Seconds after which a run is ended.
    output : {"null", "capture"}
        What becomes of standard output: nothing, or it is kept for error messages.
    ignore_failure : bool
        Leave runs out that fail, instead of stopping.
    save : path, optional
        Append every run to this file, which ``speedproof run --resume`` goes on with.
    seed : int, optional
        Of the random order; a fresh one by default.

    Returns
    -------
    Measurement
        Iterate it to see every block; ``result()`` measures what is left.

    Raises
    ------
    SpeedproofError
        Fewer than two commands, what only a shell knows, or a command that fails.

    Examples
    --------
    >>> import speedproof as sp
    >>> session = sp.measure({"old": "true", "new": "true"}, max_runs=3, min_runs=3)
    >>> [state.blocks for state in session][-1] <= 3
    True
    >>> session.result().verdict.value
    'undecided'
    """
    by_version: object = commands
    if not (isinstance(by_version, Mapping) and commands and all(isinstance(v, str) for v in by_version)):
        raise UsageError('expected commands by version: sp.measure({"old": "./old", "new": "./new"})')
    given: Mapping[str, object] = commands
    for version, command in given.items():
        parts = command if isinstance(command, list | tuple) else [command]
        if not all(isinstance(part, str) for part in parts):
            raise UsageError(
                f"{version}: expected a command, as text or as program and arguments, not {command!r}"
            )
    if warmup is not None and warmup < 0:
        raise UsageError(
            f"warmup={warmup}: expected a number of runs, 0 or more, or None until they are steady"
        )
    if timeout is not None and not timeout > 0:
        raise UsageError(f"timeout={timeout}: expected a positive number of seconds")
    if len(commands) == 1:
        raise UsageError(
            'one command has nothing to be compared with: give two or more, sp.measure({"old": "./old", '
            '"new": "./new"})'
        )
    asked = _asked(
        confidence,
        margin,
        precision,
        min_runs,
        max_runs,
        max_seconds,
        name=tuple(commands),
        benchmark=benchmark,
        shell=shell,
        timeout=timeout,
        output=output,
        ignore_failure=ignore_failure,
        seed=seed,
    )
    with ExitStack() as held:
        plan, _ = plan_of(replace(asked, commands=tuple(commands.values())), print, held)
    question = question_of(asked, plan, {})
    head, executor = begun(plan, asked.measuring)
    return Measurement(head, executor, question, path=save, warmup=warmup, ignore_failure=ignore_failure)


def _asked(
    confidence: float | str,
    margin: float | str | None,
    precision: float | str | None,
    min_runs: int | None,
    max_runs: int | None,
    max_seconds: float | None,
    **more: Any,
) -> Request:
    """What arguments ask, as options of the command line do."""
    for name, runs in {"min_runs": min_runs, "max_runs": max_runs}.items():
        if runs is not None and runs < 1:
            raise UsageError(f"{name}={runs}: expected a whole number of runs, at least 1")
    m = options_of(Measuring, confidence=confidence, margin=margin, precision=precision)
    longest = seconds_given(max_seconds)
    return Request(replace(m, min_runs=min_runs, max_runs=max_runs, max_time=longest, **more))


def seconds_given(given: object) -> float:
    """How long may be measured; None is without end."""
    if given is not None and not (isinstance(given, Real) and float(given) > 0):
        raise UsageError(
            f"max_seconds={given!r}: expected a positive number of seconds, or None for no limit"
        )
    return math.inf if given is None else float(given)


@checked("args", "kwargs", "reference", "candidates")
def race(
    reference: Callable[..., object],
    *candidates: Callable[..., object],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    names: Sequence[str] | None = None,
    confidence: float | str = 0.95,
    margin: float | str | None = None,
    precision: float | str | None = None,
    max_seconds: float | None = 10.0,
    min_runs: int | None = None,
    max_runs: int | None = None,
    seed: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> RaceResult:
    """Race Python functions: interleaved in random order until one is proven faster, at a risk that holds.

    A run is a loop of as many calls as the clock needs (a millisecond); the garbage collector rests meanwhile,
    as in :mod:`timeit`. All runs happen in this process: what differs between processes (hash seeds, memory
    layout) does not show.

    Parameters
    ----------
    reference, *candidates : callable
        Called as ``f(*args, **kwargs)``. The reference comes first.
    args, kwargs
        What they are called with.
    names : sequence of str, optional
        Of all of them; by default their own.
    confidence, margin, precision, max_seconds, min_runs, max_runs
        As of :func:`measure`.
    seed : int, optional
        Of the random order; a fresh one by default.
    clock : callable
        Seconds.

    Returns
    -------
    RaceResult
        ``verdict``, ``speedup``, ``lower``, ``upper``; all runs in ``suite``.

    Raises
    ------
    SpeedproofError
        No candidate, or two of one name. What the functions raise is not caught.

    Examples
    --------
    >>> import speedproof as sp
    >>> def slow(n): return sum([i * i for i in range(n)])
    >>> def fast(n): return (n - 1) * n * (2 * n - 1) // 6
    >>> r = sp.race(slow, fast, args=[1000], seed=1)
    >>> r.verdict.value, r.lower > 2
    ('faster', True)
    """
    asked = _asked(confidence, margin, precision, min_runs, max_runs, max_seconds, seed=seed)
    return raced((reference, *candidates), asked, args, kwargs, names=names, clock=clock)


def raced(
    functions: Sequence[Callable[..., object]],
    asked: Request,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    *,
    names: Sequence[str] | None = None,
    clock: Callable[[], float],
) -> RaceResult:
    """Race functions until what is asked ends it, the reference first."""
    if len(functions) < 2:
        raise UsageError("a race needs two functions or more: race(old, new)")
    for function in functions:
        callable_given(function)
    if isinstance(args, str) or not isinstance(args, Sequence):
        raise UsageError(f"args={args!r}: expected a list of the arguments to call the functions with")
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise UsageError(f"kwargs={kwargs!r}: expected a mapping of names to arguments")
    labels = list(names) if names is not None else _names(functions)
    if len(labels) != len(functions) or len(set(labels)) != len(labels):
        raise UsageError(f"{len(functions)} functions need as many different names, not {', '.join(labels)}")
    calls_of = {
        label: partial(f, *args, **dict(kwargs or {})) if args or kwargs else f
        for label, f in zip(labels, functions, strict=True)
    }
    plan = (PlannedBenchmark("function", tuple(PlannedVersion(name, (name,), name) for name in calls_of)),)
    question = question_of(asked, plan, {})
    calls = calls_needed(calls_of, clock=clock)
    head = new_head(plan, seed=asked.measuring.seed)
    executor = CallableExecutor(calls_of, calls, clock=clock)
    began, beside = clock(), time.monotonic()

    def spent() -> float:
        """A clock that goes slower, as that of the processor, must not make the race longer."""
        return max(clock() - began, time.monotonic() - beside)

    return Measurement(head, executor, question, clock=spent, calls=calls).result()


def _names(functions: Sequence[Callable[..., object]]) -> list[str]:
    """Their own names; numbered where two are the same."""
    names_of_functions = [
        str(getattr(f, "__name__", f"function {i}")) for i, f in enumerate(functions, start=1)
    ]
    return [
        f"{n} {i}" if names_of_functions.count(n) > 1 else n
        for i, n in enumerate(names_of_functions, start=1)
    ]
