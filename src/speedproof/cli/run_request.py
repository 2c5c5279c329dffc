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

from msgspec.structs import replace

from speedproof.api.given import alpha_of, confidence_of
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
from speedproof.cli.console import Console
from speedproof.cli.run import RunOptions, refuse_file_of_json
from speedproof.errors import UsageError
from speedproof.options import Measuring

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


def kept(measuring: Measuring) -> SessionOptions:
    """The options that a session stores."""
    values = {name: getattr(measuring, name) for name in (*_MEASURED, *_ASKED)}
    values["decide_by"] = measuring.decide_by or "time"
    return SessionOptions(**values, directory=str(Path.cwd()))


def inherit(asked: RunOptions, stored: StoredSession) -> RunOptions:
    """Take options over from a stored session, except for the questions that are asked anew.

    Others are refused: they would change nothing, or make blocks that cannot be compared with the stored ones.
    """
    given, measuring = asked.given, asked.measuring
    if asked.review is not None:
        if needless := [option for name, option in given.items() if name not in _LOOKED_AT]:
            raise UsageError(f"--review measures nothing; leave out {', '.join(needless)}")
    elif taken := [given[name] for name in (*_PLANNED, *_BUILT, *_MEASURED) if name in given]:
        raise UsageError(
            f"--resume goes on with what the session measured, and how; leave out {', '.join(taken)}, or measure "
            "anew without --resume"
        )
    names = list(_MEASURED)
    if measuring.decide_by is None:
        names.append("decide_by")
    if measuring.alpha is None and measuring.confidence is None:
        names += ["alpha", "confidence"]
    if measuring.margin is None and measuring.precision is None:
        names += ["margin", "precision"]
    measuring = replace(measuring, **{name: getattr(stored.options, name) for name in names})
    check_decider(measuring.decide_by or "time", recorded_in(stored))
    return replace(asked, measuring=measuring)


_VERDICTS = ("fail_on", "gate", "margin", "precision", "stop_at_proof")


def refuse_verdicts(asked: RunOptions) -> None:
    """What asks for a verdict, or when to stop for it, means nothing where there is none, or another rule."""
    m = asked.measuring
    if m.calibrate:
        none = "--calibrate has no verdict, and does not stop for one"
        asked.refuse(*_VERDICTS, "min_runs", because=none)
    elif m.plan:
        asked.refuse(*_VERDICTS, because="--plan has no verdict: its runs are a pilot")
    if m.gate:
        asked.refuse("fail_on", "stop_at_proof", because="--gate has its own end and its own exit codes")
    if m.precision is not None:
        asked.refuse("stop_at_proof", because="--precision goes on until the bounds are close")
    if m.runs is not None:
        asked.refuse("stop_at_proof", because=f"--runs {m.runs} stops at no other number")
    if m.builds is not None:
        asked.refuse("min_runs", "max_runs", because=f"--builds {m.builds} is the number of blocks")
    elif m.runs is not None:
        asked.refuse("min_runs", "max_runs", because=f"--runs {m.runs} is both the least and the most")


def completed(measuring: Measuring) -> Measuring:
    """With the numbers of builds, of runs of each, and with the seed that builds are drawn from."""
    if measuring.plan:
        builds, runs = measuring.builds or _PILOT[0], measuring.runs or _PILOT[1]
    elif measuring.builds:
        builds, runs = measuring.builds, measuring.runs or _RUNS_OF_A_BUILD
    else:
        return measuring
    return replace(measuring, builds=builds, runs=runs, seed=seed_or_new(measuring.seed))


def rules_of(asked: RunOptions, plan: Sequence[PlannedBenchmark]) -> StopRules:
    """When each benchmark ends, and at which risk."""
    m = asked.measuring
    comparisons = sum(len(benchmark.versions) - 1 for benchmark in plan)
    if not comparisons and not m.driver:
        asked.refuse(*_VERDICTS, because="a single version has no verdict")
    least, most = m.min_runs, m.max_runs
    longest: float | None = m.max_time
    # Every block has a build of its own, so there are as many; --runs are those of one build, then.
    exact = m.runs if m.builds is None else m.builds
    if exact is not None:
        least = most = exact
        longest = longest if "max_time" in asked.given else None
    if least is None:
        least = _LEAST_RUNS if most is None else min(_LEAST_RUNS, most)
    if m.calibrate:
        # The question is how large the noise is, not whether A differs from A.
        least = 10**9 if most is None else most
    demand, family, budget = None, 1, None
    if m.gate:
        if m.precision is not None or m.calibrate:
            raise UsageError("--gate asks whether a margin is lost; leave out --precision and --calibrate")
        demand = Demand(margin=m.margin) if m.margin else Demand()
        family = max(_judged(m, plan), 1)
        # The suite is what is judged: what one benchmark leaves of its time, the others may use.
        if longest is not None:
            budget = longest if "max_time" in asked.given else longest * len(plan)
    margin = None if demand else m.margin
    fixed = m.builds is not None
    alpha = alpha_of(confidence_of(m))
    return StopRules(
        alpha, margin, m.precision, least, most, longest, m.stop_at_proof, demand, fixed, budget, family
    )


def _judged(measuring: Measuring, plan: Sequence[PlannedBenchmark]) -> int:
    """How many comparisons a gate judges: not those of what cannot differ."""
    of_each = 2 if measuring.control else 1
    touched = [b for b in plan if not any(fnmatchcase(b.name, p) for p in measuring.unaffected)]
    return sum(len(benchmark.versions) - of_each for benchmark in touched)


def _unaffected(patterns: Sequence[str], plan: Sequence[PlannedBenchmark]) -> tuple[str, ...]:
    """The benchmarks that the change cannot touch; each pattern must mean some, and not all."""
    names = [benchmark.name for benchmark in plan]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"--unaffected {pattern}: no such benchmark; available: {', '.join(names)}")
    found = tuple(name for name in names if any(fnmatchcase(name, p) for p in patterns))
    if found and len(found) == len(names):
        raise UsageError("--unaffected leaves no benchmark that the change can touch")
    return found


def question_of(measuring: Measuring, head: SessionLine, rules: StopRules) -> SessionQuestion:
    """What is asked of the runs."""
    metric = measuring.decide_by or "time"
    return SessionQuestion(
        rules,
        metric,
        head.units.get(metric, ("", ""))[1] == "higher",
        measuring.control,
        _unaffected(measuring.unaffected, head.benchmarks),
        measuring.runs if measuring.builds and measuring.runs else 1,
    )


def pin(cpus: str | None) -> None:
    """Keep this process, and with it everything that it starts, on some CPUs."""
    if cpus is None:
        return
    try:
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    except (ValueError, OSError):
        allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        raise UsageError(f"--cpu {cpus}: give CPUs of {allowed}, separated by commas") from None


def _parameters(measuring: Measuring) -> dict[str, list[str]]:
    """The values of every parameter, by name."""
    parameters: dict[str, list[str]] = {}
    lists = [(name, values.split(",")) for name, values in measuring.parameter_list]
    for name, values in [*lists, *_scans(measuring)]:
        if name in parameters:
            raise UsageError(f"the parameter {name} is given twice; put all its values into one list")
        parameters[name] = values
    return parameters


def plan_of(
    asked: RunOptions, console: Console, held: ExitStack
) -> tuple[tuple[PlannedBenchmark, ...], dict[str, tuple[str, ...]]]:
    """What is measured, and by benchmark who lacks it; placeholders that nothing fills are remarked."""
    m, given, commands = asked.measuring, asked.given, asked.named
    absent: dict[str, tuple[str, ...]] = {}
    if m.driver:
        # What another tool does itself, or would not be told of.
        own = ("suite", "calibrate", "shell", "parameter_list", "parameter_scan", "benchmark", "input",
               "metric", "decide_by", "perf", "energy", "warmup")  # fmt: skip
        tool = f"--driver {m.driver} starts the tool itself and takes its benchmarks and times from it"
        asked.refuse(*own, because=tool)
    if m.no_shell and m.shell:
        raise UsageError(f"--shell={m.shell} and --no-shell exclude each other")
    refuse_file_of_json(asked.commands, json=asked.output.json)
    of_builds = [given[n] for n in ("build", "build_env", "builds", "plan", "control") if n in given]
    if of_builds and not m.revisions:
        raise UsageError(f"nothing but --revisions is built: give that, or leave out {', '.join(of_builds)}")
    if m.suite is not None:
        plan = _plan_of_suite(m.suite, asked)
    else:
        own_variables, common = _environments(m.env)
        hooks = Hooks(m.shell, m.cwd, common, m.setup, m.prepare, m.conclude, m.cleanup)
        if m.revisions:
            plan, absent = _plan_of_revisions(asked, hooks, console, held)
        elif m.calibrate:
            if len(commands) != 1:
                raise UsageError("--calibrate measures exactly one command against itself")
            if m.decide_by not in (None, "time"):
                raise UsageError("--calibrate describes the noise of the time; leave out --decide-by")
            named = ("name", "benchmark", "parameter_list", "parameter_scan", "reference")
            asked.refuse(*named, because="--calibrate has only one version")
            plan = plan_calibration(commands[0], hooks)
        else:
            plan = plan_commands(commands, m.name, _parameters(m), hooks, benchmark=m.benchmark)
        plan = tuple(with_environments(benchmark, own_variables) for benchmark in plan)
        if m.driver and len(plan[0].versions) < 2:
            raise UsageError(f"--driver {m.driver} compares two commands or more, the reference first")
    if m.suite is not None or m.parameter_list or m.parameter_scan:
        for name, text in leftover_placeholders(plan).items():
            console.remark(f"note: nothing gives a value to {{{name}}}, so it stays as it is in {text!r}")
        for name, versions in idle_parameters(plan).items():
            console.remark(
                f"note: the parameter {name} makes no difference to {', '.join(versions)}: all its values give "
                "the same command"
            )
    return plan if m.reference is None else tuple(led_by(m.reference, b) for b in plan), absent


def _plan_of_suite(path: str, asked: RunOptions) -> tuple[PlannedBenchmark, ...]:
    """What a file of benchmarks x versions says; what it has a place for is not said beside it."""
    if asked.measuring.revisions:
        raise UsageError("--revisions measures one command; leave --suite out")
    if asked.named:
        raise UsageError("give commands or --suite, not both")
    if asked.measuring.calibrate:
        raise UsageError("--calibrate measures one command against itself; leave --suite out")
    if misplaced := [f"{asked.given[n]} as {place}" for n, place in _PLANNED.items() if n in asked.given]:
        raise UsageError(f"what --suite measures is defined in {path}; write {'; '.join(misplaced)}")
    return read_plan(Path(path))


def _plan_of_revisions(
    asked: RunOptions, hooks: Hooks, console: Console, held: ExitStack
) -> tuple[tuple[PlannedBenchmark, ...], dict[str, tuple[str, ...]]]:
    """One command in the tree of each revision."""
    m, commands = asked.measuring, asked.named
    if not commands:
        given = " ".join(m.revisions)
        raise UsageError(f"--revisions {given}: give the command after --, as '-- ./bench input'")
    if len(commands) != 1 or m.name or m.calibrate:
        raise UsageError(
            "--revisions measures one command, and names its versions by commit; leave out the others, --name and "
            "--calibrate"
        )
    parameters = _parameters(m)
    return plan_revisions(
        commands[0],
        m.revisions,
        parameters,
        hooks,
        build=m.build,
        variables=m.build_env,
        builds=m.builds,
        seed=m.seed,
        control=m.control,
        enough=partial(check_tests, m, math.prod(map(len, parameters.values()))),
        benchmark=m.benchmark,
        held=held,
        tell=console.remark,
    )


def check_tests(m: Measuring, benchmarks: int, candidates: int, *, unaffected: int = 0) -> None:
    """Refuse so few ``--builds`` that no test of them can reject at its share of the risk, whatever they show.

    Candidates share a risk, and all comparisons that of a fail.
    """
    if not m.builds or m.plan:
        return
    tests, alpha = candidates * max(benchmarks if m.gate else 1, unaffected), alpha_of(confidence_of(m))
    least = next(builds for builds in itertools.count(1) if 2.0**-builds <= alpha / tests)
    if m.builds < least:
        sharing = f", as {tests} comparisons share the risk" if tests > 1 else ""
        raise UsageError(
            f"--builds {m.builds} can prove nothing at {100 * (1 - alpha):.6g} % confidence{sharing}: it takes "
            f"{least} or more; --plan says how many find a change"
        )


def _scans(measuring: Measuring) -> Iterator[tuple[str, list[str]]]:
    """The numbers of every ``--parameter-scan``, in decimals: 0.1 + 0.2 is 0.3."""
    for name, *ends in measuring.parameter_scan:
        try:
            first, last, step = (Decimal(text) for text in (*ends, measuring.parameter_step_size or "1"))
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
