"""``speedproof run``: measure versions in random order and stop the moment the comparison is proven."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from speedproof.cli.console import Console
from speedproof.cli.outputs import Reported, check_outputs, context_of, write_outputs
from speedproof.cli.run_options import add_command
from speedproof.data.runs import SCHEMA, PlannedBenchmark, PlannedVersion, RunLine, SessionLine
from speedproof.data.suite import Record, Suite
from speedproof.errors import UsageError
from speedproof.measure.calibrate import calibrate
from speedproof.measure.environment import differences, disturbances, snapshot
from speedproof.measure.execute import shell_command
from speedproof.measure.executor import CommandExecutor, shell_start
from speedproof.measure.metrics import (
    OutputMetric,
    energy_meter,
    parse_metric,
    perf_counters,
    units_of,
)
from speedproof.measure.plan import Hooks, plan_calibration, plan_commands, read_suite
from speedproof.measure.race import StopRules
from speedproof.measure.session import Outcome, Session, Warmup
from speedproof.measure.store import Store, StoredSession, read_sessions
from speedproof.report.blocks import Block, Text

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from speedproof.protocols.suite_comparison import SuiteComparison

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

__all__ = ["register", "run"]

INTERRUPTED = 130
_ALONE_RUNS = 30
# What a resumed session takes over from the first: these change what is measured, not when it stops.
_KEPT = ("input", "output", "timeout", "metric", "decide_by", "perf", "energy", "ignore_failure")


def register(subparsers: Subparsers) -> None:
    """Declare the command."""
    add_command(subparsers).set_defaults(run=run)


class _Metrics(NamedTuple):
    executor: CommandExecutor
    units: dict[str, tuple[str, str]]
    higher_is_better: bool


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry the command out; 130 after Ctrl-C."""
    check_outputs(args)
    stored = _stored(args)
    rules = _rules(args)
    warmup = _warmup(args.warmup)
    plan = stored[-1].head.benchmarks if stored else _plan(args)
    if max(len(benchmark.versions) for benchmark in plan) == 1 and args.max_runs is None:
        # Nothing decides it, and a minute of it is more than anybody asked for.
        rules = replace(rules, max_blocks=max(_ALONE_RUNS, rules.min_blocks))
    _pin(args.cpu)
    started = datetime.now().astimezone()
    path = Path(args.resume or args.save or f"speedproof-{started:%Y%m%d-%H%M%S}.jsonl")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="speedproof-"))
        metrics = _metrics(args, Path(folder), console)
        environment = snapshot()
        warnings = disturbances(environment)
        for warning in warnings:
            console.remark(f"note: {warning}")
        if args.shell:
            seconds = shell_start(shell_command("", args.shell))
            console.remark(
                f"note: every run includes the start of {args.shell}, about {1e3 * seconds:.2g} ms; it brings "
                "speedups closer to 1"
            )
        head = SessionLine(
            schema=SCHEMA,
            session=f"{started:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}",
            started=started.isoformat(timespec="seconds"),
            seed=secrets.randbits(32) if args.seed is None else args.seed,
            benchmarks=plan,
            units=metrics.units,
            options={name: msgspec.json.encode(getattr(args, name)).decode() for name in _KEPT}
            | {"directory": str(Path.cwd())},
            environment=environment,
            warnings=warnings,
        )
        if stored and stored[-1].head.options.get("directory", str(Path.cwd())) != str(Path.cwd()):
            console.remark(f"note: the last session was started in {stored[-1].head.options['directory']}")
        if stored and (changed := differences(stored[-1].head.environment, environment)):
            console.remark(f"note: the machine differs from the last session's: {'; '.join(changed)}")
        stack.enter_context(_ends_as_ctrl_c())
        outcome = _measure(args, console, stack, path, head, stored, rules, warmup, metrics)
    sessions = {head.session, *(session.head.session for session in stored)}
    console.remark(f"results are in {path}")
    _report(args, console, path, head, sessions, rules, outcome)
    return INTERRUPTED if outcome.interrupted else 0


@contextmanager
def _ends_as_ctrl_c() -> Iterator[None]:
    """A session that is told to end does so as after Ctrl-C: the command is ended, the verdict given.

    The command has a process group of its own, so nobody else would end it.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _measure(
    args: argparse.Namespace,
    console: Console,
    stack: ExitStack,
    path: Path,
    head: SessionLine,
    stored: Sequence[StoredSession],
    rules: StopRules,
    warmup: Warmup,
    metrics: _Metrics,
) -> Outcome:
    from speedproof.cli.live import Watcher

    store = stack.enter_context(Store(path))
    session = Session(
        head,
        rules,
        metrics.executor,
        clock=time.monotonic,
        append=store.append,
        watch=stack.enter_context(Watcher(console, metric=args.decide_by)),
        warmup=warmup,
        metric=args.decide_by,
        higher_is_better=metrics.higher_is_better,
        ignore_failure=args.ignore_failure,
    )
    if stored:
        console.remark(f"{session.recall(stored)} blocks taken over from {path}")
    return session.run()


def _stored(args: argparse.Namespace) -> list[StoredSession]:
    """The sessions to go on with: those of the last one's plan."""
    if args.resume is None:
        return []
    if args.commands or args.words or args.suite or args.save or args.name or args.reference:
        raise UsageError("--resume takes commands, names and file from the session; leave them out")
    sessions = read_sessions(Path(args.resume))
    last = sessions[-1].head
    for name in _KEPT:
        if name in last.options:
            setattr(args, name, msgspec.json.decode(last.options[name]))
    return [session for session in sessions if session.head.benchmarks == last.benchmarks]


def _rules(args: argparse.Namespace) -> StopRules:
    if args.confidence is not None:
        risk = round(1 - args.confidence, 15)  # 1 - 0.95 is not 0.05 in binary
    else:
        risk = 0.05 if args.alpha is None else args.alpha
    least = args.min_runs if args.max_runs is None else min(args.min_runs, args.max_runs)
    if args.calibrate:
        # The question is how large the noise is, not whether A differs from A.
        least = 10**9 if args.max_runs is None else args.max_runs
    return StopRules(risk, args.margin, args.precision, least, args.max_runs, args.max_time)


def _warmup(text: str) -> Warmup:
    if text == "auto":
        return Warmup(None)
    if not text.isdecimal():
        raise UsageError(f"--warmup {text!r} is neither a number nor 'auto'")
    return Warmup(int(text))


def _pin(cpus: str | None) -> None:
    if cpus is None:
        return
    try:
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    except (ValueError, OSError):
        allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        raise UsageError(f"--cpu {cpus}: give CPUs of {allowed}, separated by commas") from None


def _plan(args: argparse.Namespace) -> tuple[PlannedBenchmark, ...]:
    commands: list[str | list[str]] = [*args.commands, *([args.words] if args.words else [])]
    if args.suite is not None:
        if commands:
            raise UsageError("give commands or --suite, not both")
        plan = read_suite(Path(args.suite))
    else:
        own, common = _environments(args.env)
        hooks = Hooks(args.shell, args.cwd, common, args.setup, args.prepare, args.conclude, args.cleanup)
        if args.calibrate:
            if len(commands) != 1:
                raise UsageError("--calibrate measures exactly one command against itself")
            plan = plan_calibration(commands[0], hooks)
        else:
            parameters = {name: values.split(",") for name, values in args.parameter_list}
            plan = plan_commands(commands, args.name, parameters, hooks, benchmark=args.benchmark)
        plan = tuple(_with_environments(benchmark, own) for benchmark in plan)
    return plan if args.reference is None else tuple(_led_by(args.reference, b) for b in plan)


def _environments(texts: Sequence[str]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    own: dict[str, dict[str, str]] = {}
    common: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        version, colon, name = key.rpartition(":")
        if not equals or not name:
            raise UsageError(f"--env {text!r} is not of the form KEY=VALUE or VERSION:KEY=VALUE")
        (own.setdefault(version, {}) if colon else common)[name] = value
    return own, common


def _with_environments(benchmark: PlannedBenchmark, own: dict[str, dict[str, str]]) -> PlannedBenchmark:
    names = [version.name for version in benchmark.versions]
    if unknown := [name for name in own if name not in names]:
        raise UsageError(f"--env: there is no version {unknown[0]!r}; there are {', '.join(names)}")

    def extended(version: PlannedVersion) -> PlannedVersion:
        return msgspec.structs.replace(version, env={**version.env, **own.get(version.name, {})})

    return msgspec.structs.replace(benchmark, versions=tuple(map(extended, benchmark.versions)))


def _led_by(reference: str, benchmark: PlannedBenchmark) -> PlannedBenchmark:
    names = [version.name for version in benchmark.versions]
    if reference not in names:
        raise UsageError(f"--reference {reference}: there is no such version; there are {', '.join(names)}")
    ordered = sorted(benchmark.versions, key=lambda version: version.name != reference)
    return msgspec.structs.replace(benchmark, versions=tuple(ordered))


def _metrics(args: argparse.Namespace, folder: Path, console: Console) -> _Metrics:
    output: tuple[OutputMetric, ...] = tuple(parse_metric(text) for text in args.metric)
    perf, energy = None, None
    if args.perf:
        perf, absent = perf_counters(args.perf.split(","), folder / "perf.txt")
        if perf is not None:
            console.remark(
                "note: perf starts the programs and takes their time; user time, memory and the like are left out"
            )
        if absent:
            console.remark(f"note: {absent}")
    if args.energy:
        energy, absent = energy_meter()
        if absent:
            console.remark(f"note: {absent}")
    units = dict(units_of(output, perf))
    executor = CommandExecutor(
        args.input, args.output == "capture" or bool(output), args.timeout, output, perf, energy
    )
    accounted = [] if perf else ["user", "system", "memory"]
    known = ["time", *accounted, *units, *(["energy"] if energy else [])]
    if args.decide_by not in known:
        raise UsageError(f"--decide-by {args.decide_by}: no such metric; there are {', '.join(known)}")
    return _Metrics(executor, units, units.get(args.decide_by, ("", ""))[1] == "higher")


def _report(
    args: argparse.Namespace,
    console: Console,
    path: Path,
    head: SessionLine,
    sessions: set[str],
    rules: StopRules,
    outcome: Outcome,
) -> None:
    from speedproof.cli.findings import calibration_blocks, finding_blocks

    for benchmark, reason in outcome.reasons:
        if reason != "decided":
            console.remark(
                f"{benchmark}: ended because {reason}" if reason != "interrupted" else "interrupted"
            )
    for what, counts in (
        ("failed and were left out", outcome.failed),
        ("lacked the metric", outcome.missing),
    ):
        for version, count in counts.items():
            console.remark(f"note: {version}: {count} runs {what}")
    if args.export_hyperfine:
        from speedproof.measure.export import to_hyperfine

        text = to_hyperfine([s for s in read_sessions(path) if s.head.session in sessions])
        Path(args.export_hyperfine).write_text(text)
    calibration = calibrate(*_calibration_runs(path, sessions), risk=rules.risk) if args.calibrate else None
    if calibration is not None:
        blocks = list(calibration_blocks(calibration, outcome.findings[0]))
    else:
        blocks = list(finding_blocks(outcome.findings, risk=rules.risk, margin=rules.margin))
    suite = Suite((), {})
    results: list[SuiteComparison] = []
    if calibration is None and any(
        not (run.warmup or run.exit or run.timed_out) for run in _runs(path, sessions)
    ):
        suite, results = _fixed_sample(path, head, sessions, rules, args.decide_by)
    taken = write_outputs(
        args, Reported(results, suite, context_of(args), ([*blocks, *_caveat(results)],)), console
    )
    if args.json:
        from speedproof.report.json import to_json

        console.out.write(to_json("run", [*outcome.findings, *([calibration] if calibration else [])]))
    elif not taken:
        from speedproof.report.comparisons import suite_blocks

        console.show([*blocks, *_caveat(results)])
        for result in results:
            console.show([Text(""), *suite_blocks(result)])
        if len(suite.versions) == 1:
            _show_alone(console, suite)


def _runs(path: Path, sessions: set[str]) -> Iterator[RunLine]:
    for session in read_sessions(path):
        if session.head.session in sessions:
            yield from session.runs


def _calibration_runs(path: Path, sessions: set[str]) -> tuple[list[tuple[float, float]], list[float], float]:
    """Times by block, times in order, and the seconds that all of it took."""
    blocks: dict[tuple[str, int], list[float]] = {}
    in_order, seconds = [], 0.0
    for session in read_sessions(path):
        runs = [run for run in session.runs if not run.warmup and run.exit == 0 and not run.timed_out]
        if session.head.session not in sessions or not runs:
            continue
        for run in sorted(runs, key=lambda run: run.version):
            blocks.setdefault((run.session, run.block), []).append(run.metrics["time"])
        in_order += [run.metrics["time"] for run in runs]
        seconds += runs[-1].at + runs[-1].metrics["time"] - runs[0].at
    return [(b[0], b[1]) for b in blocks.values() if len(b) == 2], in_order, seconds


def _fixed_sample(
    path: Path, head: SessionLine, sessions: set[str], rules: StopRules, metric: str
) -> tuple[Suite, list[SuiteComparison]]:
    """The same runs through the protocols for samples of fixed size; no result for a single version."""
    from speedproof.formats import read
    from speedproof.protocols.compare import Rules
    from speedproof.protocols.suite_comparison import compare_suite

    records = [
        (item.version or "", item)
        for item in read(path, format="speedproof")
        if isinstance(item, Record) and item.metric == metric and dict(item.fields)["session"] in sessions
    ]
    suite = Suite.from_records(records)
    names = list(dict.fromkeys(v.name for b in head.benchmarks for v in b.versions))
    fixed = Rules(alpha=rules.risk, margin=rules.margin)
    candidates = names[1:] if len(suite.versions) > 1 else []
    return suite, [
        compare_suite(suite.pair(names[0], candidate), (names[0], candidate), metric, fixed)
        for candidate in candidates
    ]


def _caveat(results: Sequence[SuiteComparison]) -> Iterator[Block]:
    """What a reader of the fixed-size results must know; nothing when there are none."""
    if results:
        yield Text("")
        yield Text("The same runs by the protocols for samples of a size fixed beforehand:", "strong")
        yield Text(
            "Their risk does not cover that measuring stopped on a verdict; what is proven stands above.",
            "dim",
        )


def _show_alone(console: Console, suite: Suite) -> None:
    from speedproof.data.units import format_value
    from speedproof.protocols.comparison import summarise

    for (key, version), sample in suite.samples.items():
        s = summarise(sample)
        middle, deviation, least = (format_value(v, s.unit) for v in (s.median, s.deviation, s.minimum))
        console.show(
            [
                Text(
                    f"{version} ({key.benchmark}): median {middle}, deviation {deviation}, minimum {least}, "
                    f"{s.n} runs"
                )
            ]
        )
