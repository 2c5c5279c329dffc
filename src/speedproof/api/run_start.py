"""What happens before a session of ``run`` measures: plan, builds, metrics, machine, a tool's benchmarks.

It is imported before anything is known to be measured, so nothing here imports what computes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from speedproof.data.session_file import PlannedBenchmark as PlannedBenchmark
from speedproof.data.session_file import PlannedBuild, control_name
from speedproof.data.session_file import SessionLine as SessionLine
from speedproof.data.session_file import SessionOptions as SessionOptions
from speedproof.data.session_file import StoredSession as StoredSession
from speedproof.errors import FormatError, UsageError
from speedproof.measuring.build import BuildCache as BuildCache
from speedproof.measuring.build import build_all
from speedproof.measuring.cache import untold
from speedproof.measuring.drivers import ToolExecutor as ToolExecutor
from speedproof.measuring.drivers import absent_from, planned
from speedproof.measuring.environment import differences, disturbances, snapshot
from speedproof.measuring.execute import NO_PROGRAM, shell_command
from speedproof.measuring.executor import CommandExecutor, shell_start
from speedproof.measuring.metrics import (
    ACCOUNTED,
    check_names,
    energy_meter,
    parse_metric,
    perf_counters,
    units_of,
)
from speedproof.measuring.plan import Hooks as Hooks
from speedproof.measuring.plan import idle_parameters as idle_parameters
from speedproof.measuring.plan import leftover_placeholders as leftover_placeholders
from speedproof.measuring.plan import plan_calibration as plan_calibration
from speedproof.measuring.plan import plan_commands as plan_commands
from speedproof.measuring.plan import plan_trees
from speedproof.measuring.plan import read_plan as read_plan
from speedproof.measuring.programs import fingerprints, lacks, not_found, other_executables, was_changed
from speedproof.measuring.schedule import seed_or_new as seed_or_new
from speedproof.measuring.store import new_head
from speedproof.measuring.store import read_sessions as read_sessions
from speedproof.protocols.claims import Demand as Demand
from speedproof.protocols.stopping import SessionQuestion as SessionQuestion
from speedproof.protocols.stopping import StopRules as StopRules

_LONG_INVOCATION_SECONDS = 3.0
_Tell = Callable[[str], None]


def _recorded(units: Iterable[str], *, counted: bool, energy: bool) -> list[str]:
    """The metrics of each run; under perf the kernel's accounting would be of perf itself."""
    return ["time", *([] if counted else ACCOUNTED), *units, *(["energy"] if energy else [])]


def recorded_in(session: StoredSession) -> list[str]:
    """The metrics of each run of a session."""
    units, options = session.head.units, session.options
    counted = any(event in units for event in _events(options.perf))
    return _recorded(units, counted=counted, energy=options.energy)


def _events(text: str | None) -> list[str]:
    return [] if text is None else [event.strip() for event in text.split(",")]


def check_decider(metric: str | None, known: Sequence[str]) -> None:
    """See to it that the metric that decides is measured."""
    if metric not in known:
        raise UsageError(f"--decide-by {metric}: no such metric; available: {', '.join(known)}")


def begun(
    plan: Sequence[PlannedBenchmark],
    options: SessionOptions,
    stored: Sequence[StoredSession],
    folder: Path,
    tell: _Tell,
    *,
    shell: str,
    **kept: Any,
) -> tuple[SessionLine, CommandExecutor | ToolExecutor]:
    """The first line of a session, and what executes its runs, with every metric that is to be had here.

    Told is what is not, and what may disturb the measurements but was not told today; ``kept`` are other fields
    of the line.
    """
    output, events = tuple(map(parse_metric, options.metric)), _events(options.perf)
    perf, energy = None, None
    check_names(output, events)
    if events:
        perf, absent = perf_counters(events, folder / "perf.txt")
        if perf is not None:
            tell(
                "note: perf starts the programs and takes their time; user time, memory and the like are "
                "left out"
            )
        if absent:
            tell(f"note: {absent}")
    if options.energy:
        energy, absent = energy_meter()
        if absent:
            tell(f"note: {absent}")
    units = dict(units_of(output, perf))
    check_decider(options.decide_by, _recorded(units, counted=perf is not None, energy=energy is not None))
    capture = options.output == "capture" or bool(output)
    executor = CommandExecutor(options.input, capture, options.timeout, output, perf, energy)
    environment = snapshot()
    warnings = disturbances(environment)
    for warning in untold(warnings):
        tell(f"note: {warning}")
    if shell:
        tell(
            f"note: every run includes the start of {shell}, about "
            f"{1e3 * shell_start(shell_command('', shell)):.2g} ms; it brings speedups closer to 1"
        )
    if stored and (changed := differences(stored[-1].head.environment, environment)):
        tell(f"note: the machine differs from the last session's: {'; '.join(changed)}")
    head = new_head(
        plan,
        units=units,
        options=options.texts(),
        environment=environment,
        warnings=warnings,
        resumes=tuple(session.head.session for session in stored),
        executables=other_executables(plan, kept["files"]),
        **kept,
    )
    if options.driver is None:
        return head, executor
    # The reader of its files is loaded with the first of them.
    return head, ToolExecutor(options.driver, executor, folder, partial(_times_in, options.driver))


def stored_chain(file: str, tell: _Tell) -> tuple[list[StoredSession], int]:
    """The last session of a file and those that it went on with, oldest first; how many others there are."""
    sessions = read_sessions(Path(file), left_out=lambda what: tell(f"left out: {what}"))
    last = sessions[-1].head
    chain = [session for session in sessions if session.head.session in (*last.resumes, last.session)]
    for session in chain:
        session.check(file)
    if absent := [name for name in last.resumes if name not in {s.head.session for s in chain}]:
        raise FormatError(
            file,
            f"session {last.session}",
            f"goes on with {', '.join(absent)}, which the file lacks: the verdict rests on those runs, too; put "
            "the files together with cat, the older first",
        )
    return chain, len(sessions) - len(chain)


def same_files(
    file: str | None, stored: Sequence[StoredSession], plan: Sequence[PlannedBenchmark]
) -> dict[str, str]:
    """Look at what the commands consist of; blocks of other programs are not gone on with."""
    if file and stored and (gone := _gone(plan)):
        head = stored[-1].head
        raise FormatError(
            file,
            f"session {head.session}",
            f"{gone} is gone, where it ran; builds are kept until 'speedproof cache' is cleared or full: measure "
            f"anew, --seed {head.seed} draws the same layouts",
        )
    if missing := not_found(plan):
        raise FormatError(missing, "", *NO_PROGRAM)
    files = fingerprints(plan)
    known = next((session for session in reversed(stored) if session.head.files), None)
    if file and known and (changed := was_changed(known, files)):
        before = known.head
        where = known.options.directory
        elsewhere = f" (it was started in {where})" if where != str(Path.cwd()) else ""
        raise FormatError(
            file,
            f"session {before.session}",
            f"{', '.join(changed)}: not what was measured then{elsewhere}, and blocks of different programs make "
            "no comparison; measure anew without --resume, or put back what was there",
        )
    return files


def _gone(plan: Sequence[PlannedBenchmark]) -> str:
    """A folder of a plan that is not there any more, as that of a build; empty for none."""
    versions = [version for benchmark in plan for version in benchmark.versions]
    folders = [v.cwd for v in versions] + [build.cwd for v in versions for build in v.builds]
    return next((folder for folder in folders if folder and not Path(folder).is_dir()), "")


def _times_in(format: str, path: Path) -> dict[str, float]:
    """The median time of each benchmark of one invocation of a tool, in seconds; a rate counts as its inverse."""
    import numpy as np

    from speedproof.data.record import Record
    from speedproof.formats import read

    times: dict[str, list[float]] = {}
    for record in read(path, format=format):
        if not isinstance(record, Record) or record.version == "base":  # criterion's copy of the run before
            continue
        if record.unit == "s" and record.metric in ("time", "single-shot time"):
            times.setdefault(record.benchmark, []).extend(record.values.tolist())
        elif record.metric == "throughput" and record.unit == "ops/s" and np.all(record.values > 0):
            times.setdefault(record.benchmark, []).extend((1.0 / record.values).tolist())
    return {name: float(np.median(values)) for name, values in times.items()}


def discovered(
    tool: ToolExecutor,
    head: SessionLine,
    tell: _Tell,
    *,
    resumed: bool,
    meanwhile: AbstractContextManager[None],
) -> SessionLine:
    """The benchmarks of another tool: what one invocation of each side finds, which counts for nothing else."""
    sides = list({v.name: v for benchmark in head.benchmarks for v in benchmark.versions}.values())
    tell(f"looking for the benchmarks of {tool.driver}")
    begun = time.monotonic()
    with meanwhile:
        measured = {v.name: tool.discover(v) for v in sides}
    found, tool.aliases, absent = planned(sides, measured)
    each = (time.monotonic() - begun) / len(sides)
    if each > _LONG_INVOCATION_SECONDS:
        tell(
            f"note: an invocation takes {each:.0f} s; shorter ones decide sooner; see the tool's own options"
        )
    first = sides[0].name
    for name, versions in absent.items():
        tell(f"left out: {absent_from(name, versions, first)}")
    # Who lacked one before lacks it still, and a revision that was not built lacks all of them.
    before = head.absent if resumed else dict.fromkeys(measured[first], sum(head.absent.values(), ()))
    lacking: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys((*before, *absent)):
        sides_of = dict.fromkeys((*before.get(name, ()), *absent.get(name, ())))
        if left := tuple(side for side in sides_of if side not in (first, control_name(first))):
            lacking[name] = left
    return replace(head, benchmarks=head.benchmarks if resumed else found, absent=lacking)


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
    tell: _Tell,
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


def _present(benchmark: PlannedBenchmark, build: str, tell: _Tell) -> PlannedBenchmark:
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
