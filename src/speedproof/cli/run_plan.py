"""What ``speedproof run`` measures: commands, a suite's, revisions that are built first, another tool's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path

from speedproof.api.given import alpha_of
from speedproof.api.plans import (
    Hooks,
    PlannedBenchmark,
    check_builds,
    idle_parameters,
    led_by,
    leftover_placeholders,
    plan_calibration,
    plan_commands,
    plan_revisions,
    read_plan,
    seed_or_new,
    with_environments,
)
from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.cli.options import confidence_of
from speedproof.errors import UsageError

# What the plan is made from, and where a suite has it.
PLANNED = {
    "name": "the name of a table, [versions.NAME]",
    "benchmark": "the name of a table, [benchmarks.NAME]",
    "parameter_scan": "parameters = { NAME = [VALUE, ...] } in [benchmarks.NAME]",
    "parameter_list": "parameters = { NAME = [VALUE, ...] } in [benchmarks.NAME]",
    "setup": "setup = 'CMD' in [benchmarks.NAME]",
    "prepare": "prepare = 'CMD' in [benchmarks.NAME]",
    "conclude": "conclude = 'CMD' in [benchmarks.NAME]",
    "cleanup": "cleanup = 'CMD' in [benchmarks.NAME]",
    "shell": "shell = 'sh' before the first table",
    "env": "env = { KEY = 'VALUE' } in [benchmarks.NAME] or [versions.NAME]",
    "cwd": "cwd = 'DIR' in [benchmarks.NAME] or [versions.NAME]",
}
_MOST_VALUES = 10_000
# Builds of each revision and runs of each build from which --plan plans.
_PILOT = (3, 5)
# Runs of a build are cheap beside the build, and what they vary by must not hide what builds differ by.
_RUNS_OF_A_BUILD = 5


def _parameters(args: Args) -> dict[str, list[str]]:
    """The values of every parameter, by name."""
    parameters: dict[str, list[str]] = {}
    lists = [(name, values.split(",")) for name, values in args.parameter_list]
    for name, values in [*lists, *_scans(args)]:
        if name in parameters:
            raise UsageError(f"the parameter {name} is given twice; put all its values into one list")
        parameters[name] = values
    return parameters


def plan_of(
    args: Args, console: Console, held: ExitStack
) -> tuple[tuple[PlannedBenchmark, ...], dict[str, tuple[str, ...]]]:
    """What is measured, and by benchmark who lacks it; placeholders that nothing fills are remarked."""
    absent: dict[str, tuple[str, ...]] = {}
    if args.driver:
        _check_driver(args)
    if args.plan:
        args.builds, args.runs = args.builds or _PILOT[0], args.runs or _PILOT[1]
    elif args.builds:
        args.runs = args.runs or _RUNS_OF_A_BUILD
    if args.no_shell and args.shell:
        raise UsageError(f"--shell={args.shell} and --no-shell exclude each other")
    args.refuse_file_of_json(args.commands)
    commands: list[str | list[str]] = [*args.commands, *([args.words] if args.words else [])]
    of_builds = [
        args.given[n] for n in ("build", "build_env", "builds", "plan", "control") if n in args.given
    ]
    if of_builds and not args.revisions:
        raise UsageError(f"nothing but --revisions is built: give that, or leave out {', '.join(of_builds)}")
    if args.suite is not None:
        if args.revisions:
            raise UsageError("--revisions measures one command; leave --suite out")
        if commands:
            raise UsageError("give commands or --suite, not both")
        if args.calibrate:
            raise UsageError("--calibrate measures one command against itself; leave --suite out")
        if misplaced := [f"{args.given[n]} as {place}" for n, place in PLANNED.items() if n in args.given]:
            raise UsageError(
                f"what --suite measures is defined in {args.suite}; write {'; '.join(misplaced)}"
            )
        plan = read_plan(Path(args.suite))
    else:
        own, common = _environments(args.env)
        hooks = Hooks(args.shell, args.cwd, common, args.setup, args.prepare, args.conclude, args.cleanup)
        if args.revisions:
            if not commands:
                given = " ".join(args.revisions)
                raise UsageError(f"--revisions {given}: give the command after --, as '-- ./bench input'")
            if len(commands) != 1 or args.name or args.calibrate:
                raise UsageError(
                    "--revisions measures one command, and names its versions by commit; leave out the others, "
                    "--name and --calibrate"
                )
            if args.builds:
                args.seed = seed_or_new(args.seed)
            plan, absent = plan_revisions(
                commands[0],
                args.revisions,
                _parameters(args),
                hooks,
                variables=args.build_env,
                enough=partial(check_tests, args, math.prod(map(len, _parameters(args).values()))),
                held=held,
                tell=console.remark,
                **args.take("build", "builds", "seed", "control", "benchmark"),
            )
        elif args.calibrate:
            if len(commands) != 1:
                raise UsageError("--calibrate measures exactly one command against itself")
            if args.decide_by not in (None, "time"):
                raise UsageError("--calibrate describes the noise of the time; leave out --decide-by")
            named = ("name", "benchmark", "parameter_list", "parameter_scan", "reference")
            args.refuse(*named, because="--calibrate has only one version")
            plan = plan_calibration(commands[0], hooks)
        else:
            plan = plan_commands(commands, args.name, _parameters(args), hooks, benchmark=args.benchmark)
        plan = tuple(with_environments(benchmark, own) for benchmark in plan)
        if args.driver and len(plan[0].versions) < 2:
            raise UsageError(f"--driver {args.driver} compares two commands or more, the reference first")
    if args.suite is not None or args.parameter_list or args.parameter_scan:
        for name, text in leftover_placeholders(plan).items():
            console.remark(f"note: nothing gives a value to {{{name}}}, so it stays as it is in {text!r}")
        for name, versions in idle_parameters(plan).items():
            console.remark(
                f"note: the parameter {name} makes no difference to {', '.join(versions)}: all its values give "
                "the same command"
            )
    return plan if args.reference is None else tuple(led_by(args.reference, b) for b in plan), absent


def check_tests(args: Args, benchmarks: int, candidates: int, *, unaffected: int = 0) -> None:
    """Refuse ``--builds`` that can prove nothing: candidates share a risk, and all comparisons that of a fail."""
    if args.builds and not args.plan:
        shared = max(benchmarks if args.gate else 1, unaffected)
        check_builds(args.builds, candidates * shared, alpha_of(confidence_of(args)))


def _check_driver(args: Args) -> None:
    """Refuse what another tool does itself, or would not be told of."""
    own = ("suite", "calibrate", "shell", "parameter_list", "parameter_scan", "benchmark", "input",
           "metric", "decide_by", "perf", "energy", "warmup")  # fmt: skip
    told = f"--driver {args.driver} starts the tool itself and takes its benchmarks and times from it"
    args.refuse(*own, because=told)


def _scans(args: Args) -> Iterator[tuple[str, list[str]]]:
    """The numbers of every ``--parameter-scan``, in decimals: 0.1 + 0.2 is 0.3."""
    for name, *ends in args.parameter_scan:
        try:
            first, last, step = (Decimal(text) for text in (*ends, args.parameter_step_size or "1"))
        except InvalidOperation:
            raise UsageError(f"-P {name} {' '.join(ends)}: a scan goes from one number to another") from None
        count = (
            (last - first) / step if step and all(d.is_finite() for d in (first, last, step)) else Decimal(-1)
        )
        if not 0 <= count < _MOST_VALUES:
            raise UsageError(
                f"-P {name} {' '.join(ends)}: steps of {step} lead to no value, or to more than {_MOST_VALUES}"
            )
        yield name, [str(first + i * step) for i in range(int(count) + 1)]


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
