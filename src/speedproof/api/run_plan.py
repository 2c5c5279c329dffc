"""What a session is asked to measure: from options and commands to a plan, with the builds of revisions.

It is imported before anything is known to be measured, so nothing here imports what computes.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal, InvalidOperation
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from speedproof.api.given import alpha_of, confidence_of
from speedproof.data.session_file import PlannedBenchmark, PlannedBuild, control_name
from speedproof.declaring import refuse
from speedproof.errors import UsageError
from speedproof.measuring.build import BuildCache as BuildCache
from speedproof.measuring.build import build_all
from speedproof.measuring.executor import ACCOUNTED, check_decider, parse_metric
from speedproof.measuring.plan import (
    Hooks,
    idle_parameters,
    leftover_placeholders,
    plan_calibration,
    plan_commands,
    plan_trees,
    read_plan,
)
from speedproof.measuring.programs import lacks, not_found, refuse_one_file
from speedproof.measuring.store import latest_session as latest_session
from speedproof.measuring.store import new_session as new_session
from speedproof.measuring_options import UNNAMED, Measuring
from speedproof.options import decider_of

Plan = tuple[PlannedBenchmark, ...]
Absent = dict[str, tuple[str, ...]]
"""For each benchmark the candidates that lack it."""
Trees = Mapping[str, Sequence[PlannedBuild]]
"""For each version the folders of its builds."""
Tell = Callable[[str], object]

_MOST_VALUES = 10_000
PLANNED = (
    "name", "benchmark", "parameter_scan", "parameter_list", "setup", "prepare", "conclude", "cleanup", "shell",
    "env", "cwd",
)  # fmt: skip
"""The options that a plan is made from; a suite's file has a place for each."""


class Request(Struct, frozen=True):
    """A request for a session, from Python or from the command line."""

    measuring: Measuring
    commands: Sequence[str | Sequence[str]] = ()  # texts, or programs with their arguments
    given: Mapping[str, str] = {}  # which options were given, as written
    wants: Callable[[str], bool] = bool  # which benchmarks are measured, by name; none is empty

    def refuse(self, *names: str, because: str) -> None:
        """Refuse these options where they would have no effect."""
        refuse(self.given, *names, because=because)

    def chosen(self, plan: Plan) -> Plan:
        """The benchmarks that are wanted."""
        kept = tuple(b for b in plan if self.wants(b.name))
        if not kept:
            raise UsageError(f"no benchmark is left; available: {', '.join(b.name for b in plan)}")
        return kept


def plan_of(asked: Request, tell: Tell, held: ExitStack) -> tuple[Plan, Absent]:
    """The plan, and the versions that lack a benchmark; builds stay in use until ``held`` closes."""
    m, given = asked.measuring, asked.given
    absent: Absent = {}
    if m.driver:
        # Options that another tool handles itself, or has no means to receive.
        refused = ("suite", "calibrate", "shell", "parameter_list", "parameter_scan", "benchmark", "input",
               "metric", "decide_by", "perf", "energy", "warmup")  # fmt: skip
        tool = f"--driver {m.driver} starts the tool itself and takes its benchmarks and times from it"
        asked.refuse(*refused, because=tool)
    of_builds = [given[n] for n in ("build", "build_env", "builds", "plan", "control") if n in given]
    if of_builds and not m.revisions:
        raise UsageError(f"nothing but --revisions is built: give that, or leave out {', '.join(of_builds)}")
    if m.suite is not None:
        plan, absent = _plan_of_suite(m.suite, asked, tell, held)
    else:
        own_variables, common = _environments(m.env)
        hooks = Hooks(m.shell, m.cwd, common, m.setup, m.prepare, m.conclude, m.cleanup)
        if m.revisions:
            plan, absent = _plan_of_revisions(m, _in_trees(asked, hooks), tell, held)
        elif m.calibrate:
            if len(asked.commands) != 1:
                raise UsageError("--calibrate measures exactly one command against itself")
            if m.decide_by not in (None, "time"):
                raise UsageError("--calibrate describes the noise of the time; leave out --decide-by")
            plan = plan_calibration(asked.commands[0], hooks)
        else:
            plan = plan_commands(asked.commands, m.name, _parameters(m), hooks, benchmark=m.benchmark)
            plan = plan if m.driver else asked.chosen(plan)
        plan = tuple(_with_environments(benchmark, own_variables) for benchmark in plan)
        if m.driver and len(plan[0].versions) < 2 and not absent:
            raise UsageError(f"--driver {m.driver} compares two commands or more, the reference first")
    if m.suite is not None or m.parameter_list or m.parameter_scan:
        for name, text in leftover_placeholders(plan).items():
            tell(f"note: nothing gives a value to {{{name}}}, so it stays as it is in {text!r}")
        for name, versions in idle_parameters(plan).items():
            same = "all its values give the same command"
            tell(f"note: the parameter {name} makes no difference to {', '.join(versions)}: {same}")
    return plan if m.reference is None else tuple(_led_by(m.reference, b) for b in plan), absent


def _plan_of_suite(path: str, asked: Request, tell: Tell, held: ExitStack) -> tuple[Plan, Absent]:
    """The plan in a suite file; options that the file can set itself are refused."""
    if asked.commands:
        raise UsageError("give commands or --suite, not both")
    asked.refuse(*PLANNED, because=f"what --suite measures is defined in {path}")
    if asked.measuring.revisions:
        from speedproof.measuring.revisions import repository

        if not Path(path).resolve().is_relative_to(repository(Path.cwd())):
            raise UsageError(f"--suite {path} lies outside the repository whose revisions are measured")
        return _plan_of_revisions(
            asked.measuring, lambda trees: asked.chosen(read_plan(Path(path), trees)), tell, held
        )
    return asked.chosen(read_plan(Path(path))), {}


def _in_trees(asked: Request, hooks: Hooks) -> Callable[[Trees], Plan]:
    """One command in the trees of revisions."""
    m = asked.measuring
    if not asked.commands:
        given = " ".join(m.revisions)
        raise UsageError(f"--revisions {given}: give the command after --, as '-- ./bench input'")
    if len(asked.commands) != 1 or m.name or m.calibrate:
        raise UsageError(
            "--revisions measures one command, and names its versions by commit; leave out the others, --name and "
            "--calibrate"
        )
    command, parameters = asked.commands[0], _parameters(m)
    name = m.benchmark
    if name == UNNAMED and not (parameters or m.driver):
        name = command if isinstance(command, str) else shlex.join(command)

    def planned(trees: Trees) -> Plan:
        plan = plan_trees(command, trees, parameters, hooks, benchmark=name)
        return plan if m.driver else asked.chosen(plan)

    return planned


def _plan_of_revisions(
    m: Measuring, planned: Callable[[Trees], Plan], tell: Tell, held: ExitStack
) -> tuple[Plan, Absent]:
    """Build every revision, and plan what is measured in the tree of each; who lacks it is left out.

    Only a policy has an answer where that leaves the reference alone: what it holds is missing.
    """
    from speedproof.measuring.revisions import control_of, repository, resolve

    top = repository(Path.cwd())
    revisions = resolve(top, m.revisions)
    if m.control:
        revisions = (revisions[0], control_of(revisions[0]), *revisions[1:])
    # What is wrong with the plan is said before anything is built.
    benchmarks = planned({revision.name: [PlannedBuild("", 0)] for revision in revisions})
    refuse_one_file(benchmarks, top, Path.cwd())
    check_tests(m, len(benchmarks), len(revisions) - 1)
    if not (m.driver or m.perf or m.energy):  # else it depends on the machine what is recorded
        output = (parse_metric(text).name for text in m.metric)
        check_decider(decider_of(m.decide_by)[0], ["time", *ACCOUNTED, *output])
    if m.builds and "{seed}" in m.build:
        # Layouts are drawn anew in every session, as its orders are: those of another one are no new builds.
        revisions = tuple(replace(revision, drawn=m.seed) for revision in revisions)
        tell(f"the builds' layouts are of --seed {m.seed}, which builds the same again")
    inside = str(Path.cwd().relative_to(top)) if Path.cwd() != top else ""
    builder = BuildCache().builder(top, m.build, inside=inside, variables=m.build_env, tell=tell)
    made = build_all(held.enter_context(builder), revisions, tell, m.builds)
    if reused := sum(build.cached for build in made):
        tell(f"{reused} of {len(made)} builds are from the cache (see: speedproof cache)")
    trees: dict[str, list[PlannedBuild]] = {}
    for one in made:
        padding = replace(one.revision, drawn=m.seed).padding if m.builds else 0
        trees.setdefault(one.revision.name, []).append(PlannedBuild(str(one.folder), padding, one.seconds))
    plan = tuple(present(benchmark, m.build, tell) for benchmark in planned(trees))
    candidates = [revision.name for revision in revisions if not revision.again]
    here = {b.name: {v.name for v in b.versions} for b in plan}
    lacking = {b: tuple(name for name in candidates if name not in names) for b, names in here.items()}
    if not (m.held_to or any(benchmark.versions[1:] for benchmark in plan)):
        raise UsageError(f"no revision but {revisions[0].name} can be measured")
    return plan, {b: names for b, names in lacking.items() if names}


def present(benchmark: PlannedBenchmark, build: str, tell: Tell) -> PlannedBenchmark:
    """Leave out revisions in which the program does not exist."""
    here = []
    for number, version in enumerate(benchmark.versions):
        if missing := not_found([PlannedBenchmark(benchmark.name, (version,))]):
            text = lacks(version.name, missing, build)
            if number == 0:
                raise UsageError(text)
            tell(f"left out: {text}")
        else:
            here.append(version)
    alone = all(version.name == control_name(here[0].name) for version in here[1:])
    return replace(benchmark, versions=tuple(here[: 1 if alone else None]))


def check_tests(m: Measuring, benchmarks: int, candidates: int, *, unaffected: int = 0) -> None:
    """Refuse so few ``--builds`` that no test of them can reject at its share of the risk, whatever they show.

    Candidates share a risk, and all comparisons that of a fail.
    """
    if not m.builds or m.plan:
        return
    tests, alpha = candidates * max(benchmarks if m.held_to else 1, unaffected), alpha_of(confidence_of(m))
    least = next(builds for builds in itertools.count(1) if 2.0**-builds <= alpha / tests)
    if m.builds < least:
        sharing = f", as {tests} comparisons share the risk" if tests > 1 else ""
        raise UsageError(
            f"--builds {m.builds} can prove nothing at {100 * (1 - alpha):.6g} % confidence{sharing}: it takes "
            f"{least} or more; 'speedproof run --plan' says how many find a change"
        )


def _parameters(measuring: Measuring) -> dict[str, list[str]]:
    """The values of every parameter, by name."""
    parameters: dict[str, list[str]] = {}
    lists = [(name, values.split(",")) for name, values in measuring.parameter_list]
    for name, values in [*lists, *_scans(measuring)]:
        if name in parameters:
            raise UsageError(f"the parameter {name} is given twice; put all its values into one list")
        parameters[name] = values
    return parameters


def _scans(measuring: Measuring) -> Iterator[tuple[str, list[str]]]:
    """The numbers of every ``--parameter-scan``, in decimals: 0.1 + 0.2 is 0.3."""
    for name, *ends in measuring.parameter_scan:
        given = f"-P {name} {' '.join(ends)}"
        try:
            first, last = map(Decimal, ends)
        except InvalidOperation:
            raise UsageError(f"{given}: a scan goes from one number to another") from None
        count = last - first if first.is_finite() and last.is_finite() else Decimal(-1)
        if not 0 <= count < _MOST_VALUES:
            raise UsageError(f"{given}: this is no number, or more than {_MOST_VALUES}")
        yield name, [str(first + i) for i in range(int(count) + 1)]


def _environments(texts: Sequence[str]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    by_version: dict[str, dict[str, str]] = {}
    common: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        version, colon, name = key.rpartition(":")
        if not equals or not name:
            raise UsageError(f"--env {text!r} is not of the form KEY=VALUE or VERSION:KEY=VALUE")
        (by_version.setdefault(version, {}) if colon else common)[name] = value
    return by_version, common


def _with_environments(
    benchmark: PlannedBenchmark, variables: Mapping[str, Mapping[str, str]]
) -> PlannedBenchmark:
    """A benchmark whose versions have their own environment variables."""
    names = [version.name for version in benchmark.versions]
    if unknown := [name for name in variables if name not in names]:
        raise UsageError(f"--env: there is no version {unknown[0]!r}; available: {', '.join(names)}")
    versions = (replace(v, env={**v.env, **variables.get(v.name, {})}) for v in benchmark.versions)
    return replace(benchmark, versions=tuple(versions))


def _led_by(reference: str, benchmark: PlannedBenchmark) -> PlannedBenchmark:
    """A benchmark with its reference moved to the front."""
    names = [version.name for version in benchmark.versions]
    if reference not in names:
        raise UsageError(f"--reference {reference}: there is no such version; available: {', '.join(names)}")
    return replace(benchmark, versions=tuple(sorted(benchmark.versions, key=lambda v: v.name != reference)))
