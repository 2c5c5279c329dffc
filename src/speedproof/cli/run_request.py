"""What the options of ``speedproof run`` ask for: plan, rules, warm-up, metrics, CPUs."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from speedproof.api.given import alpha_of
from speedproof.api.run_start import (
    Demand,
    Hooks,
    PlannedBenchmark,
    SessionLine,
    SessionOptions,
    SessionQuestion,
    StopRules,
    StoredSession,
    check_decider,
    idle_parameters,
    led_by,
    leftover_placeholders,
    plan_calibration,
    plan_commands,
    plan_revisions,
    read_plan,
    recorded_in,
    seed_or_new,
    with_environments,
)
from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.cli.options import confidence_of
from speedproof.errors import UsageError

# What the plan is made from, and where a suite has it.
_PLANNED = {
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
# What a resumed session takes over from the last: these are what is asked, and a new answer to one of them may
# be wanted, but not to how long to measure ...
_ASKED = ("decide_by", "alpha", "confidence", "margin", "precision")
# ... and all others change what is measured.
_MEASURED = [name for name in SessionOptions.__struct_fields__ if name not in (*_ASKED, "directory")]
_BUILT = ("revisions", "build_env")
# What means something when nothing is measured.
_LOOKED_AT = (
    "review", *_ASKED, "fail_on", "export_hyperfine", "json", "html", "markdown", "github_summary", "junit",
)  # fmt: skip
_LEAST_RUNS = 10


def kept(args: Args) -> SessionOptions:
    """The options that a session stores."""
    values = {name: getattr(args, name) for name in (*_MEASURED, *_ASKED)}
    return SessionOptions(**values, directory=str(Path.cwd()))


def inherit(args: Args, stored: StoredSession) -> None:
    """Take options over from a stored session, except for the questions that are asked anew.

    Others are refused: they would change nothing, or make blocks that cannot be compared with the stored ones.
    """
    if args.review is not None:
        if needless := [option for name, option in args.given.items() if name not in _LOOKED_AT]:
            raise UsageError(f"--review measures nothing; leave out {', '.join(needless)}")
    elif taken := [args.given[name] for name in (*_PLANNED, *_BUILT, *_MEASURED) if name in args.given]:
        raise UsageError(
            f"--resume goes on with what the session measured, and how; leave out {', '.join(taken)}, or measure "
            "anew without --resume"
        )
    names = list(_MEASURED)
    if args.decide_by is None:
        names.append("decide_by")
    if args.alpha is None and args.confidence is None:
        names += ["alpha", "confidence"]
    if args.margin is None and args.precision is None:
        names += ["margin", "precision"]
    for name in names:
        setattr(args, name, getattr(stored.options, name))
    args.decide_by = args.decide_by or "time"
    check_decider(args.decide_by, recorded_in(stored))


_VERDICTS = ("fail_on", "gate", "margin", "precision", "stop_at_proof")


def refuse_verdicts(args: Args) -> None:
    """What asks for a verdict, or when to stop for it, means nothing where there is none, or another rule."""
    if args.calibrate:
        args.refuse(*_VERDICTS, "min_runs", because="--calibrate has no verdict, and does not stop for one")
    elif args.plan:
        args.refuse(*_VERDICTS, because="--plan has no verdict: its runs are a pilot")
    if args.gate:
        args.refuse("fail_on", "stop_at_proof", because="--gate has its own end and its own exit codes")
    if args.precision is not None:
        args.refuse("stop_at_proof", because="--precision goes on until the bounds are close")
    if args.runs is not None:
        args.refuse("stop_at_proof", because=f"--runs {args.runs} stops at no other number")
    if args.builds is not None:
        args.refuse("min_runs", "max_runs", because=f"--builds {args.builds} is the number of blocks")
    elif args.runs is not None:
        args.refuse("min_runs", "max_runs", because=f"--runs {args.runs} is both the least and the most")


def rules_of(args: Args, plan: Sequence[PlannedBenchmark]) -> StopRules:
    """When each benchmark ends, and at which risk."""
    comparisons = sum(len(benchmark.versions) - 1 for benchmark in plan)
    if not comparisons and not args.driver:
        args.refuse(*_VERDICTS, because="a single version has no verdict")
    alpha = alpha_of(confidence_of(args))
    least, most, longest = args.min_runs, args.max_runs, args.max_time
    # Every block has a build of its own, so there are as many; --runs are those of one build, then.
    exact = args.runs if args.builds is None else args.builds
    if exact is not None:
        least = most = exact
        longest = longest if "max_time" in args.given else None
    if least is None:
        least = _LEAST_RUNS if most is None else min(_LEAST_RUNS, most)
    if args.calibrate:
        # The question is how large the noise is, not whether A differs from A.
        least = 10**9 if most is None else most
    demand, family, budget = None, 1, None
    if args.gate:
        if args.precision is not None or args.calibrate:
            raise UsageError("--gate asks whether a margin is lost; leave out --precision and --calibrate")
        demand = Demand(margin=args.margin) if args.margin else Demand()
        family = max(_judged(args, plan), 1)
        # The suite is what is judged: what one benchmark leaves of its time, the others may use.
        if longest is not None:
            budget = longest if "max_time" in args.given else longest * len(plan)
    margin = None if demand else args.margin
    fixed = args.builds is not None
    return StopRules(
        alpha, margin, args.precision, least, most, longest, args.stop_at_proof, demand, fixed, budget, family
    )


def _judged(args: Args, plan: Sequence[PlannedBenchmark]) -> int:
    """How many comparisons a gate judges: not those of what cannot differ."""
    of_each = 2 if args.control else 1
    touched = [b for b in plan if not any(fnmatchcase(b.name, pattern) for pattern in args.unaffected)]
    return sum(len(benchmark.versions) - of_each for benchmark in touched)


def unaffected_of(args: Args, plan: Sequence[PlannedBenchmark]) -> tuple[str, ...]:
    """The benchmarks that the change cannot touch; each pattern must mean some, and not all."""
    names = [benchmark.name for benchmark in plan]
    for pattern in args.unaffected:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"--unaffected {pattern}: no such benchmark; available: {', '.join(names)}")
    found = tuple(name for name in names if any(fnmatchcase(name, p) for p in args.unaffected))
    if found and len(found) == len(names):
        raise UsageError("--unaffected leaves no benchmark that the change can touch")
    return found


def question_of(args: Args, head: SessionLine, rules: StopRules) -> SessionQuestion:
    """What is asked of the runs."""
    return SessionQuestion(
        rules,
        args.decide_by,
        head.units.get(args.decide_by, ("", ""))[1] == "higher",
        args.control,
        unaffected_of(args, head.benchmarks),
        args.runs if args.builds and args.runs else 1,
    )


def warmup_of(text: str) -> int | None:
    """The runs before those that count: a number, or ``auto``."""
    if text == "auto":
        return None
    if not text.isdecimal():
        raise UsageError(f"--warmup {text!r} is neither a number nor 'auto'")
    return int(text)


def pin(cpus: str | None) -> None:
    """Keep this process, and with it everything that it starts, on some CPUs."""
    if cpus is None:
        return
    try:
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    except (ValueError, OSError):
        allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        raise UsageError(f"--cpu {cpus}: give CPUs of {allowed}, separated by commas") from None


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
        if misplaced := [f"{args.given[n]} as {place}" for n, place in _PLANNED.items() if n in args.given]:
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
    """Refuse so few ``--builds`` that no test of them can reject at its share of the risk, whatever they show.

    Candidates share a risk, and all comparisons that of a fail.
    """
    if not args.builds or args.plan:
        return
    tests, alpha = candidates * max(benchmarks if args.gate else 1, unaffected), alpha_of(confidence_of(args))
    least = next(builds for builds in itertools.count(1) if 2.0**-builds <= alpha / tests)
    if args.builds < least:
        sharing = f", as {tests} comparisons share the risk" if tests > 1 else ""
        raise UsageError(
            f"--builds {args.builds} can prove nothing at {100 * (1 - alpha):.6g} % confidence{sharing}: "
            f"it takes {least} or more; --plan says how many find a change"
        )


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
