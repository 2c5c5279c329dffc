"""Measuring until it is proven: commands, or Python functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, Literal

from speedproof.api.given import alpha_of, callable_given, confidence_of, options_of, proportion_given
from speedproof.api.measured import Measurement as Measurement
from speedproof.api.measured import RaceResult as RaceResult
from speedproof.api.measured import RaceState as RaceState
from speedproof.data.checked import checked
from speedproof.data.session_file import PlannedBenchmark, PlannedVersion
from speedproof.errors import UsageError
from speedproof.measuring.callables import CallableExecutor, calls_needed
from speedproof.measuring.environment import snapshot
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.plan import Hooks, plan_commands
from speedproof.measuring.programs import fingerprints, other_executables
from speedproof.options import Measuring
from speedproof.protocols.stopping import StopRules

_MIN_RUNS = 10


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
        Stop also when the speedup is proven to lie within 1 / (1 + margin) and 1 + margin.
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
    rules = _rules(confidence, margin, precision, min_runs, max_runs, max_seconds)
    plan = plan_commands(list(commands.values()), list(commands), {}, Hooks(shell), benchmark=benchmark)
    return Measurement(
        plan,
        rules,
        CommandExecutor(capture=output == "capture", timeout=timeout),
        confidence=proportion_given("confidence", confidence),
        seed=seed,
        known={"environment": snapshot(), "executables": other_executables(plan, fingerprints(plan))},
        warmup=warmup,
        ignore_failure=ignore_failure,
        save=save,
    )


def _rules(
    confidence: float | str,
    margin: float | str | None,
    precision: float | str | None,
    min_runs: int | None,
    max_runs: int | None,
    max_seconds: float | None,
) -> StopRules:
    for name, runs in {"min_runs": min_runs, "max_runs": max_runs}.items():
        if runs is not None and runs < 1:
            raise UsageError(f"{name}={runs}: expected a whole number of runs, at least 1")
    m = options_of(Measuring, confidence=confidence, margin=margin, precision=precision)
    least = min(_MIN_RUNS, max_runs or _MIN_RUNS) if min_runs is None else min_runs
    if max_runs is not None and least > max_runs:
        raise UsageError(f"min_runs={min_runs}: expected at most max_runs={max_runs}")
    return StopRules(
        alpha_of(confidence_of(m)),
        m.margin,
        m.precision,
        least,
        max_runs,
        seconds_given(max_seconds),
    )


def seconds_given(given: object) -> float | None:
    """How long may be measured."""
    if given is not None and not (isinstance(given, Real) and float(given) > 0):
        raise UsageError(
            f"max_seconds={given!r}: expected a positive number of seconds, or None for no limit"
        )
    return None if given is None else float(given)


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
    rules = _rules(confidence, margin, precision, min_runs, max_runs, max_seconds)
    return raced(
        (reference, *candidates), rules, confidence, args, kwargs, names=names, seed=seed, clock=clock
    )


def raced(
    functions: Sequence[Callable[..., object]],
    rules: StopRules,
    confidence: float | str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    *,
    names: Sequence[str] | None = None,
    seed: int | None,
    clock: Callable[[], float],
) -> RaceResult:
    """Race functions until the rules end it, the reference first."""
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
    calls = calls_needed(calls_of, clock=clock)
    plan = PlannedBenchmark("function", tuple(PlannedVersion(name, (name,), name) for name in calls_of))
    began, beside = clock(), time.monotonic()

    def spent() -> float:
        """A clock that goes slower, as that of the processor, must not make the race longer."""
        return max(clock() - began, time.monotonic() - beside)

    return Measurement(
        [plan],
        rules,
        CallableExecutor(calls_of, calls, clock=clock),
        confidence=proportion_given("confidence", confidence),
        seed=seed,
        clock=spent,
        calls=calls,
    ).result()


def _names(functions: Sequence[Callable[..., object]]) -> list[str]:
    """Their own names; numbered where two are the same."""
    own = [str(getattr(f, "__name__", f"function {i}")) for i, f in enumerate(functions, start=1)]
    return [f"{n} {i}" if own.count(n) > 1 else n for i, n in enumerate(own, start=1)]
