"""What the options of ``speedproof run`` ask for: plan, rules, warm-up, metrics, CPUs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import msgspec

from speedproof.api.given import alpha_of
from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.cli.options import confidence_of
from speedproof.data.session_file import (
    PlannedBenchmark,
    PlannedBuild,
    PlannedVersion,
    SessionOptions,
    StoredSession,
)
from speedproof.errors import UsageError
from speedproof.measure.executor import CommandExecutor
from speedproof.measure.metrics import (
    ACCOUNTED,
    OutputMetric,
    check_names,
    energy_meter,
    parse_metric,
    perf_counters,
    units_of,
)
from speedproof.measure.plan import (
    Hooks,
    idle_parameters,
    leftover_placeholders,
    plan_calibration,
    plan_commands,
    plan_trees,
    read_plan,
)
from speedproof.measure.programs import not_found
from speedproof.measure.results import Warmup
from speedproof.protocols.stopping import Gate, StopRules

# What a resumed session takes over from the last: these change what is measured ...
_MEASURED = (
    "input", "output", "timeout", "metric", "perf", "energy", "ignore_failure", "calibrate", "control",
    "driver", "build", "builds", "runs", "unaffected", "plan", "gate",
)  # fmt: skip
# ... and these what is asked; a new answer to one of them may be wanted, but not to how long to measure.
_ASKED = ("decide_by", "alpha", "confidence", "margin", "precision")
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
_BUILT = ("revisions", "build_env")
# What means something when nothing is measured.
_LOOKED_AT = (
    "review", *_ASKED, "fail_on", "export_hyperfine", "json", "html", "markdown", "github_summary",
)  # fmt: skip
_LEAST_RUNS = 10
_MOST_VALUES = 10_000
_GATE_MARGIN = 0.02
# Builds of each revision and runs of each build from which --plan plans.
_PILOT = (3, 5)
# Runs of a build are cheap beside the build, and what they vary by must not hide what builds differ by.
_RUNS_OF_A_BUILD = 5


def kept(args: Args) -> dict[str, str]:
    """The options that a session stores, as JSON texts by name."""
    values = {name: getattr(args, name) for name in (*_MEASURED, *_ASKED)}
    return SessionOptions(**values, directory=str(Path.cwd())).texts()


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
    units = stored.head.units
    counted = args.perf is not None and any(event in units for event in _events(args.perf))
    _decide(args, _recorded(units, counted=counted, energy=args.energy))


def _events(text: str) -> list[str]:
    return [event.strip() for event in text.split(",")]


def _recorded(units: Iterable[str], *, counted: bool, energy: bool) -> list[str]:
    """The metrics of each run; under perf the kernel's accounting would be of perf itself."""
    return ["time", *([] if counted else ACCOUNTED), *units, *(["energy"] if energy else [])]


def _decide(args: Args, known: Sequence[str]) -> None:
    """See to it that there is a metric that decides, and that it is measured."""
    if args.decide_by is None:
        args.decide_by = "time"
    if args.decide_by not in known:
        raise UsageError(f"--decide-by {args.decide_by}: no such metric; available: {', '.join(known)}")


class WantedMetrics(NamedTuple):
    """What is measured of each run, and by what."""

    executor: CommandExecutor
    units: dict[str, tuple[str, str]]
    higher_is_better: bool


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


def rules_of(args: Args, plan: Sequence[PlannedBenchmark]) -> StopRules:
    """When each benchmark ends, and at which risk."""
    comparisons = sum(len(benchmark.versions) - 1 for benchmark in plan)
    if not comparisons and not args.driver:
        args.refuse(*_VERDICTS, because="a single version has no verdict")
    alpha = alpha_of(confidence_of(args))
    least, most, longest = args.min_runs, args.max_runs, args.max_time
    if args.builds is not None:
        # Every block has a build of its own, so there are as many; --runs are those of one build.
        if taken := [args.given[name] for name in ("min_runs", "max_runs") if name in args.given]:
            raise UsageError(f"--builds {args.builds} is the number of blocks; leave out {taken[0]}")
        if not args.plan and 2.0**-args.builds > alpha:
            raise UsageError(
                f"--builds {args.builds} can prove nothing at {1 - alpha:.4g} confidence: 10 builds or more find "
                "changes; --plan says how many are needed"
            )
        least = most = args.builds
        longest = longest if "max_time" in args.given else None
    elif args.runs is not None:
        if taken := [args.given[name] for name in ("min_runs", "max_runs") if name in args.given]:
            raise UsageError(f"--runs {args.runs} is both the least and the most; leave out {taken[0]}")
        least = most = args.runs
        longest = longest if "max_time" in args.given else None
    if least is None:
        least = _LEAST_RUNS if most is None else min(_LEAST_RUNS, most)
    if args.calibrate:
        # The question is how large the noise is, not whether A differs from A.
        least = 10**9 if most is None else most
    gate = budget = None
    if args.gate:
        if args.precision is not None or args.calibrate:
            raise UsageError("--gate asks whether a margin is lost; leave out --precision and --calibrate")
        gate = Gate(args.margin or _GATE_MARGIN, max(comparisons, 1))
        # The suite is what is judged: what one benchmark leaves of its time, the others may use.
        if longest is not None:
            budget = longest if "max_time" in args.given else longest * len(plan)
    margin = None if gate else args.margin
    fixed = args.builds is not None
    return StopRules(
        alpha, margin, args.precision, least, most, longest, args.stop_at_proof, gate, fixed, budget
    )


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


def warmup_of(text: str) -> Warmup:
    """The runs before those that count: a number, or ``auto``."""
    if text == "auto":
        return Warmup(None)
    if not text.isdecimal():
        raise UsageError(f"--warmup {text!r} is neither a number nor 'auto'")
    return Warmup(int(text))


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


def _revisions(
    args: Args, command: str | list[str], hooks: Hooks, console: Console, held: ExitStack
) -> tuple[PlannedBenchmark, ...]:
    """Build every revision, and plan the command in each of them."""
    from speedproof.measure.build import BuildCache
    from speedproof.measure.revisions import control_of, repository, resolve

    top = repository(Path.cwd())
    revisions = resolve(top, args.revisions)
    if args.control:
        revisions = (revisions[0], control_of(revisions[0]), *revisions[1:])
    inside = str(Path.cwd().relative_to(top)) if Path.cwd() != top else ""
    cache = BuildCache().all(
        top,
        revisions,
        args.build,
        inside=inside,
        variables=args.build_env,
        copies=args.builds,
        tell=console.remark,
    )
    builds = held.enter_context(cache)
    if reused := sum(build.cached for build in builds):
        console.remark(f"{reused} of {len(builds)} builds are from the cache (see: speedproof cache)")
    trees: dict[str, list[PlannedBuild]] = {}
    for build in builds:
        padding = build.revision.padding if args.builds else 0
        trees.setdefault(build.revision.name, []).append(
            PlannedBuild(str(build.folder), padding, build.seconds)
        )
    plan = plan_trees(command, trees, _parameters(args), hooks, benchmark=args.benchmark)
    return tuple(_present(benchmark, console) for benchmark in plan)


def _present(benchmark: PlannedBenchmark, console: Console) -> PlannedBenchmark:
    """Without the revisions that do not have the program yet, or any more."""
    here = []
    for number, version in enumerate(benchmark.versions):
        if missing := not_found([PlannedBenchmark(benchmark.name, (version,))]):
            text = f"{version.name}: has no {missing} after its build"
            if number == 0 or len(benchmark.versions) == 2:
                raise UsageError(text)
            console.remark(f"left out: {text}")
        else:
            here.append(version)
    if len(here) < 2:
        raise UsageError(f"no revision but {here[0].name} has the program of {benchmark.name}")
    return msgspec.structs.replace(benchmark, versions=tuple(here))


def plan_of(args: Args, console: Console, held: ExitStack) -> tuple[PlannedBenchmark, ...]:
    """What is measured; placeholders that nothing fills are remarked."""
    if args.driver:
        _check_driver(args)
    if args.plan:
        args.builds, args.runs = args.builds or _PILOT[0], args.runs or _PILOT[1]
    elif args.builds:
        args.runs = args.runs or _RUNS_OF_A_BUILD
    if args.no_shell and args.shell:
        raise UsageError(f"--shell={args.shell} and --no-shell exclude each other")
    commands: list[str | list[str]] = [*args.commands, *([args.words] if args.words else [])]
    if (args.build or args.build_env or args.control or args.builds) and not args.revisions:
        raise UsageError(
            "--build, --build-env, --builds, --plan and --control only work with --revisions; give that, too"
        )
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
            plan = _revisions(args, commands[0], hooks, console, held)
        elif args.calibrate:
            if len(commands) != 1:
                raise UsageError("--calibrate measures exactly one command against itself")
            if args.decide_by not in (None, "time"):
                raise UsageError("--calibrate describes the noise of the time; leave out --decide-by")
            named = ("name", "benchmark", "parameter_list", "parameter_scan", "reference")
            if needless := [args.given[name] for name in named if name in args.given]:
                raise UsageError(f"--calibrate has only one version; leave out {', '.join(needless)}")
            plan = plan_calibration(commands[0], hooks)
        else:
            plan = plan_commands(commands, args.name, _parameters(args), hooks, benchmark=args.benchmark)
        plan = tuple(_with_environments(benchmark, own) for benchmark in plan)
    if args.suite is not None or args.parameter_list or args.parameter_scan:
        for name, text in leftover_placeholders(plan).items():
            console.remark(f"note: nothing gives a value to {{{name}}}, so it stays as it is in {text!r}")
        for name, versions in idle_parameters(plan).items():
            console.remark(
                f"note: the parameter {name} makes no difference to {', '.join(versions)}: all its values give "
                "the same command"
            )
    return plan if args.reference is None else tuple(_led_by(args.reference, b) for b in plan)


def _check_driver(args: Args) -> None:
    """Refuse what another tool does itself, or would not be told of."""
    own = ("suite", "calibrate", "shell", "parameter_list", "parameter_scan", "benchmark", "input",
           "metric", "decide_by", "perf", "energy", "warmup")  # fmt: skip
    if needless := [args.given[name] for name in own if name in args.given]:
        raise UsageError(
            f"--driver {args.driver} starts the tool itself and takes its benchmarks and times from it; leave out "
            f"{', '.join(needless)}"
        )


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


def _with_environments(benchmark: PlannedBenchmark, own: dict[str, dict[str, str]]) -> PlannedBenchmark:
    names = [version.name for version in benchmark.versions]
    if unknown := [name for name in own if name not in names]:
        raise UsageError(f"--env: there is no version {unknown[0]!r}; available: {', '.join(names)}")

    def extended(version: PlannedVersion) -> PlannedVersion:
        return msgspec.structs.replace(version, env={**version.env, **own.get(version.name, {})})

    return msgspec.structs.replace(benchmark, versions=tuple(map(extended, benchmark.versions)))


def _led_by(reference: str, benchmark: PlannedBenchmark) -> PlannedBenchmark:
    names = [version.name for version in benchmark.versions]
    if reference not in names:
        raise UsageError(f"--reference {reference}: there is no such version; available: {', '.join(names)}")
    ordered = sorted(benchmark.versions, key=lambda version: version.name != reference)
    return msgspec.structs.replace(benchmark, versions=tuple(ordered))


def metrics_of(args: Args, folder: Path, console: Console) -> WantedMetrics:
    """The executor with every metric that was asked for and is to be had here; the others are remarked."""
    output: tuple[OutputMetric, ...] = tuple(parse_metric(text) for text in args.metric)
    perf, energy = None, None
    events = [] if args.perf is None else _events(args.perf)
    check_names(output, events)
    if events:
        perf, absent = perf_counters(events, folder / "perf.txt")
        if perf is not None:
            console.remark(
                "note: perf starts the programs and takes their time; user time, memory and the like are "
                "left out"
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
    _decide(args, _recorded(units, counted=perf is not None, energy=energy is not None))
    return WantedMetrics(executor, units, units.get(args.decide_by, ("", ""))[1] == "higher")
