"""Measuring until it is proven: commands, Python functions, pieces of code in a notebook."""

from __future__ import annotations

import ast
import math
import re
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, Literal

from msgspec.structs import replace

from speedproof.api.given import options_of
from speedproof.api.measurement import Measurement
from speedproof.api.run_plan import Request, plan_of
from speedproof.api.run_start import begun, question_of
from speedproof.api.session_results import RaceResult
from speedproof.data.checked import checked
from speedproof.data.session_file import PlannedBenchmark, PlannedVersion
from speedproof.errors import UsageError
from speedproof.measuring.drivers import CallableExecutor, calls_needed
from speedproof.measuring.store import new_head
from speedproof.measuring_options import Measuring

_SEPARATOR = re.compile(r"^(?:#[ \t]*)?---+[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_OPTIONS = ("confidence", "margin", "max_time", "precision")
_LEADING = re.compile(rf"\s*(?:-*(?:{'|'.join(_OPTIONS).replace('_', '[_-]')})=\S+\s+)*")


@checked("commands")
def measure(
    commands: Mapping[str, str | Sequence[str]],
    *,
    benchmark: str = "command",
    confidence: float | str = 0.95,
    margin: float | str | None = None,
    precision: float | str | None = None,
    max_time: float | str | None = 60.0,
    min_runs: int | None = None,
    max_runs: int | None = None,
    warmup: int | Literal["auto"] | None = 1,
    shell: str = "",
    timeout: float | str | None = None,
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
    max_time : float, str or None
        Seconds, or with a unit as ``"2m"``, after which it ends undecided.
    min_runs, max_runs : int, optional
        Of each version: at least 10 by default, or ``max_runs`` where that is less.
    warmup : int, "auto" or None
        Runs of each before those that count; ``"auto"`` or None: until they are steady.
    shell : str
        The shell that carries the commands out; none by default.
    timeout : float or str, optional
        Seconds, or with a unit, after which a run is ended.
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
    if len(commands) == 1:
        raise UsageError(
            'one command has nothing to be compared with: give two or more, sp.measure({"old": "./old", '
            '"new": "./new"})'
        )
    asked = request_of(
        max_time,
        confidence=confidence,
        margin=margin,
        precision=precision,
        min_runs=min_runs,
        max_runs=max_runs,
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
    before = None if warmup == "auto" else warmup
    return Measurement(head, executor, question, path=save, warmup=before, ignore_failure=ignore_failure)


def request_of(max_time: float | str | None, **given: Any) -> Request:
    """The request that keyword arguments make; None of ``max_time`` means unlimited."""
    m = options_of(Measuring, max_time=max_time, **given)
    return Request(m if max_time is not None else replace(m, max_time=math.inf))


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
    max_time: float | str | None = 10.0,
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
    confidence, margin, precision, max_time, min_runs, max_runs
        As in :func:`measure`.
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
    limits = {"min_runs": min_runs, "max_runs": max_runs, "seed": seed}
    asked = request_of(max_time, confidence=confidence, margin=margin, precision=precision, **limits)
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
    """Race functions, the reference first, until the stopping rule is met."""
    if len(functions) < 2:
        raise UsageError("a race needs two functions or more: race(old, new)")
    for function in functions:
        if not callable(function):
            raise UsageError(
                f"a race is between functions, not {shortened(function)}: sp.race(old, new); commands are "
                "sp.measure's"
            )
    if isinstance(args, str) or not isinstance(args, Sequence):
        raise UsageError(
            f"args={shortened(args)}: expected a list of the arguments to call the functions with"
        )
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise UsageError(f"kwargs={shortened(kwargs)}: expected a mapping of names to arguments")
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
        """The larger time of two clocks: a slow one, as of the processor, must not prolong the race."""
        return max(clock() - began, time.monotonic() - beside)

    return Measurement(head, executor, question, clock=spent, calls=calls).result()


def _names(functions: Sequence[Callable[..., object]]) -> list[str]:
    """The names of functions, numbered where two are the same."""
    called = [str(getattr(f, "__name__", f"function {i}")) for i, f in enumerate(functions, start=1)]
    return [f"{n} {i}" if called.count(n) > 1 else n for i, n in enumerate(called, start=1)]


def race_line(line: str, namespace: dict[str, Any]) -> RaceResult:
    """Race the pieces of a line, which ``---`` separates, behind the options."""
    first = _LEADING.match(line)
    options = first[0] if first else ""
    return race_cell(options, line[len(options) :].replace(" --- ", "\n---\n"), namespace)


def race_cell(line: str, cell: str, namespace: dict[str, Any]) -> RaceResult:
    r"""Race the pieces of a cell, which lines of dashes separate; a name may follow the dashes."""
    options: dict[str, Any] = {}
    for word in line.split():
        name, equals, value = word.partition("=")
        name = name.lstrip("-").replace("-", "_")
        if not equals or name not in _OPTIONS:
            choices = ", ".join(f"{n}=..." for n in _OPTIONS)
            raise UsageError(f"%%speedproof {word}: the options are {choices}")
        options[name] = value
    first, *rest = _SEPARATOR.split(cell)
    named = [("reference", first), *zip(rest[::2], rest[1::2], strict=True)]
    pieces = [(name or f"candidate {i}" if i > 1 or len(named) > 2 else name or "candidate", code)
              for i, (name, code) in enumerate(named)]  # fmt: skip
    pieces = [(name, code) for name, code in pieces if code.strip()]
    if len(pieces) < 2:
        raise UsageError("%%speedproof races pieces of code: separate them by a line '---'")
    functions = [_function(name, code, namespace) for name, code in pieces]
    return race(functions[0], *functions[1:], names=[name for name, _ in pieces], **options)


def _function(name: str, code: str, namespace: dict[str, Any]) -> Callable[[], object]:
    """Compile code into a function with the notebook's globals."""
    local: dict[str, Any] = {}
    whole = ast.parse("def piece(): pass")
    [function] = whole.body
    assert isinstance(function, ast.FunctionDef)
    # As a tree: indented as text, a string of several lines would be another one.
    function.body = ast.parse(textwrap.dedent(code), f"<{name}>").body + function.body
    exec(compile(whole, f"<{name}>", "exec"), namespace, local)
    piece: Callable[[], object] = local["piece"]
    return piece


def load_magics(shell: Any) -> None:
    """Register ``%speedproof`` and ``%%speedproof``: what ``%load_ext speedproof`` does."""

    def speedproof(line: str, cell: str | None = None) -> RaceResult:
        """Race pieces of code until one is proven faster: ``%speedproof f() --- g()``, in a cell lines '---'."""
        return race_line(line, shell.user_ns) if cell is None else race_cell(line, cell, shell.user_ns)

    shell.register_magic_function(speedproof, "line_cell")
