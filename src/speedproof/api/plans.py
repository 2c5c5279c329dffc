"""What a session is to measure: commands, a suite's, those of revisions that are built first."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from speedproof.data.session_file import PlannedBenchmark as PlannedBenchmark
from speedproof.data.session_file import PlannedBuild
from speedproof.errors import UsageError
from speedproof.measuring.build import BuildCache as BuildCache
from speedproof.measuring.build import build_all
from speedproof.measuring.plan import Hooks as Hooks
from speedproof.measuring.plan import idle_parameters as idle_parameters
from speedproof.measuring.plan import leftover_placeholders as leftover_placeholders
from speedproof.measuring.plan import plan_calibration as plan_calibration
from speedproof.measuring.plan import plan_commands as plan_commands
from speedproof.measuring.plan import plan_trees
from speedproof.measuring.plan import read_plan as read_plan
from speedproof.measuring.programs import lacks, not_found
from speedproof.measuring.schedule import seed_or_new as seed_or_new


def plan_revisions(
    command: str | Sequence[str],
    names: Sequence[str],
    parameters: Mapping[str, Sequence[str]],
    hooks: Hooks,
    *,
    build: str,
    variables: Sequence[str],
    builds: int | None,
    seed: int | None,
    control: bool,
    enough: Callable[[int], None],
    benchmark: str,
    held: ExitStack,
    tell: Callable[[str], None],
) -> tuple[tuple[PlannedBenchmark, ...], dict[str, tuple[str, ...]]]:
    """Build every revision, and plan the command in each of them; the builds are in use while ``held`` is.

    Beside the plan, the candidates that it had to leave out, by benchmark.
    """
    from speedproof.measuring.revisions import control_of, repository, resolve

    top = repository(Path.cwd())
    revisions = resolve(top, names)
    if control:
        revisions = (revisions[0], control_of(revisions[0]), *revisions[1:])
    enough(len(revisions) - 1)
    inside = str(Path.cwd().relative_to(top)) if Path.cwd() != top else ""
    if builds and "{seed}" in build:
        # Layouts are drawn anew in every session, as its orders are: those of another one are no new builds.
        revisions = tuple(replace(revision, drawn=seed) for revision in revisions)
        tell(f"the builds' layouts are of --seed {seed}, which builds the same again")
    builder = BuildCache().builder(top, build, inside=inside, variables=variables, tell=tell)
    made = build_all(held.enter_context(builder), revisions, tell, builds)
    if reused := sum(build.cached for build in made):
        tell(f"{reused} of {len(made)} builds are from the cache (see: speedproof cache)")
    trees: dict[str, list[PlannedBuild]] = {}
    for one in made:
        padding = replace(one.revision, drawn=seed).padding if builds else 0
        trees.setdefault(one.revision.name, []).append(PlannedBuild(str(one.folder), padding, one.seconds))
    plan = plan_trees(command, trees, parameters, hooks, benchmark=benchmark)
    plan = tuple(_present(benchmark, build, tell) for benchmark in plan)
    candidates = [revision.name for revision in revisions if not revision.again]
    planned = {b.name: {v.name for v in b.versions} for b in plan}
    lacking = {b: tuple(name for name in candidates if name not in here) for b, here in planned.items()}
    return plan, {b: names for b, names in lacking.items() if names}


def check_builds(builds: int, tests: int, alpha: float) -> None:
    """Refuse so few builds that no test of them can reject at its share of the risk, whatever they show."""
    share = alpha / tests
    if 2.0**-builds <= share:
        return
    least = next(count for count in itertools.count(builds + 1) if 2.0**-count <= share)
    sharing = f", as {tests} comparisons share the risk" if tests > 1 else ""
    raise UsageError(
        f"--builds {builds} can prove nothing at {100 * (1 - alpha):.6g} % confidence{sharing}: "
        f"it takes {least} or more; --plan says how many find a change"
    )


def _present(benchmark: PlannedBenchmark, build: str, tell: Callable[[str], None]) -> PlannedBenchmark:
    """Without the revisions that do not have the program yet, or any more."""
    here = []
    for number, version in enumerate(benchmark.versions):
        if missing := not_found([PlannedBenchmark(benchmark.name, (version,))]):
            text = lacks(version.name, missing, build)
            if number == 0 or len(benchmark.versions) == 2:
                raise UsageError(text)
            tell(f"left out: {text}")
        else:
            here.append(version)
    if len(here) < 2:
        raise UsageError(f"no revision but {here[0].name} has the program of {benchmark.name}")
    return replace(benchmark, versions=tuple(here))


def with_environments(benchmark: PlannedBenchmark, own: Mapping[str, Mapping[str, str]]) -> PlannedBenchmark:
    """A benchmark whose versions have variables of their own."""
    names = [version.name for version in benchmark.versions]
    if unknown := [name for name in own if name not in names]:
        raise UsageError(f"--env: there is no version {unknown[0]!r}; available: {', '.join(names)}")
    versions = (replace(v, env={**v.env, **own.get(v.name, {})}) for v in benchmark.versions)
    return replace(benchmark, versions=tuple(versions))


def led_by(reference: str, benchmark: PlannedBenchmark) -> PlannedBenchmark:
    """A benchmark with its reference first."""
    names = [version.name for version in benchmark.versions]
    if reference not in names:
        raise UsageError(f"--reference {reference}: there is no such version; available: {', '.join(names)}")
    return replace(benchmark, versions=tuple(sorted(benchmark.versions, key=lambda v: v.name != reference)))
