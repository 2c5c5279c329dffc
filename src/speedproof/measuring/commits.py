"""Commits of a repository, each built when it is first needed, and measured in pairs; the file that keeps them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from speedproof.data.session_file import PlannedBenchmark, PlannedBuild, PlannedVersion, RunLine, SessionLine
from speedproof.data.units import Direction
from speedproof.errors import FormatError, UsageError
from speedproof.measuring import executor
from speedproof.measuring.build import BuildCache
from speedproof.measuring.execute import RunError
from speedproof.measuring.plan import Hooks, as_built, plan_trees
from speedproof.measuring.programs import lacks, not_found, refuse_one_file
from speedproof.measuring.revisions import Revision, repository, resolve
from speedproof.measuring.runs import RunLoop, seed_or_new
from speedproof.measuring.store import new_head, read_sessions
from speedproof.measuring.system import snapshot

_FORGIVEN = 2  # failures in a row of a commit
_RUNS_OF_A_BUILD = 5
# Builds that are used once are not kept for long: the cache's limit is looked at after so many pairs.
_TRIM_EVERY = 16


class BisectRequest(msgspec.Struct, frozen=True):
    """The arguments of a bisection, stored in the session's file so that it can be resumed."""

    repository: str  # the repository, and the folder in it where commands run
    inside: str
    commits: tuple[str, ...]  # whole hashes, oldest first
    command: str | tuple[str, ...]  # the benchmark
    build: str = ""  # builds a commit; empty for nothing to build
    build_env: tuple[str, ...] = ()  # variables that builds depend on
    shell: str = ""  # the shell that carries the benchmark out; none by default
    confidence: float = 0.95  # as :func:`bisect` takes them
    min_change: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)] = 0.01
    timeout: float | None = None  # seconds after which a run is ended
    seed: int = 0  # of the order within pairs, and of fresh builds
    runs: int = 1  # of each side of a pair; their median counts
    metric: tuple[str, ...] = ()  # numbers in the output, as 'speedproof run' takes them
    decide_by: str = "time"  # the metric that decides
    ignore_failure: bool = False  # a commit is left out only where run after run fails

    @property
    def fresh(self) -> bool:
        """Whether every pair has builds of its own."""
        return "{seed}" in self.build

    @property
    def output(self) -> tuple[executor.OutputMetric, ...]:
        """The numbers that are read from the output."""
        return tuple(map(executor.parse_metric, self.metric))

    @property
    def higher(self) -> bool:
        """Whether higher values of the deciding metric are better."""
        return any(m.name == self.decide_by and m.direction is Direction.HIGHER for m in self.output)

    @property
    def forgiven(self) -> int:
        """How many failures of a commit in a row count for nothing."""
        return _FORGIVEN if self.ignore_failure else 0

    @classmethod
    def of(
        cls,
        folder: Path,
        names: Sequence[str],
        command: str | Sequence[str],
        *,
        build: str,
        seed: int | None,
        runs: int | None,
        **kept: Any,
    ) -> BisectRequest:
        """Look the commits up; ``kept`` are the other fields."""
        top = repository(folder)
        fresh = "{seed}" in build
        if runs is not None and not fresh:
            raise UsageError("--runs is for fresh builds: it needs {seed} in --build")
        if runs == 0:
            raise UsageError("--runs 0 measures nothing; give 1 or more")
        made = cls(
            str(top),
            "" if folder == top else str(folder.relative_to(top)),
            tuple(revision.commit for revision in resolve(top, names)),
            command if isinstance(command, str) else tuple(command),
            build,
            seed=seed_or_new(seed),
            runs=runs or (_RUNS_OF_A_BUILD if fresh else 1),
            **kept,
        )
        tree = {"": [PlannedBuild("", 0)]}
        refuse_one_file(plan_trees(made.command, tree, {}, Hooks(made.shell)), top, folder)
        executor.check_names(made.output, ())
        executor.check_decider(
            made.decide_by, ["time", *executor.ACCOUNTED, *(metric.name for metric in made.output)]
        )
        return made

    @classmethod
    def stored(cls, path: Path) -> BisectRequest:
        """The form stored in a session's file."""
        return _request_of(path, read_sessions(path)[-1].head)


def _request_of(file: Path, head: SessionLine) -> BisectRequest:
    try:
        return msgspec.json.decode(head.options.get("bisect", ""), type=BisectRequest)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise FormatError(str(file), f"session {head.session}", "is not a session of a bisection") from None


def head_of(request: BisectRequest, names: Sequence[str], before: Sequence[SessionLine]) -> SessionLine:
    """The first line of a session; its benchmark is called as in those before."""
    text = request.command if isinstance(request.command, str) else shlex.join(request.command)
    versions = tuple(PlannedVersion(name, (text,), text) for name in names)
    return new_head(
        [PlannedBenchmark(before[-1].benchmarks[0].name if before else text, versions)],
        seed=request.seed,
        units=executor.units_of(request.output, None),
        options={"bisect": msgspec.json.encode(request).decode()},
        environment=snapshot(),
        resumes=tuple(head.session for head in before),
    )


class Recalled(msgspec.Struct, frozen=True):
    """The measurements of earlier sessions."""

    heads: tuple[SessionLine, ...] = ()
    # In order: of a pair two positions, the older first, and their times; of a commit that failed its position.
    pairs: tuple[tuple[int, int, float, float] | int, ...] = ()
    block: int = 0  # the number of the next one
    builds: dict[str, int] = {}  # how many of a commit were used


def recalled(file: Path, request: BisectRequest, names: Sequence[str]) -> Recalled:
    """Read the earlier sessions of a bisection; a pair that was cut short does not count."""
    if not file.exists() or not file.stat().st_size:
        return Recalled()
    sessions = read_sessions(file)
    pairs: list[tuple[int, int, float, float] | int] = []
    builds: dict[str, int] = {}
    following, in_a_row = 0, dict.fromkeys(range(len(names)), 0)
    for session in sessions:
        if _request_of(file, session.head) != request:
            raise FormatError(str(file), f"session {session.head.session}", "belongs to another bisection")
        blocks: dict[int, dict[int, list[float]]] = {}
        failed: dict[int, int] = {}
        for run in session.runs:
            following = max(following, run.block + 1)
            if run.version not in names:
                continue
            place = names.index(run.version)
            if run.build is not None:
                builds[run.version] = max(builds.get(run.version, 0), run.build + 1)
            if run.failed or not run.metrics.get(request.decide_by, 0.0) > 0.0:
                failed[run.block] = place
            elif not run.warmup:
                value = run.metrics[request.decide_by]
                blocks.setdefault(run.block, {}).setdefault(place, []).append(value)
        for block in sorted({*blocks, *failed}):
            times = blocks.get(block, {})
            if block in failed:
                place = failed[block]
                in_a_row[place] += 1
                lost = in_a_row[place] > request.forgiven and 0 < place < len(names) - 1
                pairs += [place] if lost else []
            elif len(times) == 2 and all(len(seconds) == request.runs for seconds in times.values()):
                first, last = sorted(times)
                in_a_row |= {first: 0, last: 0}
                values = [median(times[first]), median(times[last])]
                old, new = reversed(values) if request.higher else values
                pairs.append((first, last, old, new))
    return Recalled(tuple(session.head for session in sessions), tuple(pairs), following, builds)


class FailedRunError(RunError):
    """A run that failed or has no value; another run of the commit may succeed."""


class CommitRunner:
    """Builds what a pair needs and has not yet, warms it up, and measures run by run, in the metric that decides.

    What is built is in use until ``held`` ends; fresh builds until the next pair.
    """

    def __init__(
        self,
        request: BisectRequest,
        revisions: Mapping[str, Revision],
        runs: RunLoop,
        held: ExitStack,
        *,
        builds: Mapping[str, int],
        tell: Callable[[str], object],
    ) -> None:
        self._request, self._revisions, self._runs, self._cache = request, revisions, runs, BuildCache()
        top, variables = Path(request.repository), request.build_env
        builder = self._cache.builder(
            top, request.build, inside=request.inside, variables=variables, tell=tell
        )
        self._build = held.enter_context(builder)
        self._held = held.enter_context(ExitStack())
        self._planned: dict[str, tuple[PlannedVersion, int | None]] = {}
        self._used = dict(builds)
        self._block: int | None = None
        self._building = 0.0

    @property
    def spent(self) -> float:
        """Seconds since its runs began, but for those that builds took."""
        return self._runs.now() - self._building

    def ready(self, name: str, block: int) -> None:
        """Build one side of a pair, where that is to be done, and warm it up."""
        if self._request.fresh and block != self._block:
            self._held.close()
            self._planned.clear()
            if block % _TRIM_EVERY == 0:
                self._cache.trim()
        self._block = block
        if name not in self._planned:
            began = self._runs.now()
            try:
                version, number = self._built(name)
            except RunError:
                # A failed build is stored as a failed run, so that a resumed bisection skips the commit again.
                (planned,) = self._runs.head.benchmarks
                place = (self._runs.head.session, planned.name, name, block, 0, self._runs.now())
                self._runs.append(RunLine(*place, {}, exit=1, warmup=True))
                raise
            finally:
                self._building += self._runs.now() - began
            self._measured(version, number, block, 0, warmup=True)
            self._planned[name] = version, number

    def run(self, name: str, block: int, place: int) -> float:
        """One run's value."""
        return self._measured(*self._planned[name], block, place, warmup=False)

    def _built(self, name: str) -> tuple[PlannedVersion, int | None]:
        fresh, revision = self._request.fresh, self._revisions[name]
        number = self._used.get(name, 0) if fresh else None
        if number is not None:
            self._used[name] = number + 1
            revision = replace(revision, number=number, drawn=self._request.seed)
        built = self._build(revision, self._held if fresh else None)
        tree = PlannedBuild(str(built.folder), revision.padding if fresh else 0)
        (benchmark,) = plan_trees(self._request.command, {name: [tree]}, {}, Hooks(self._request.shell))
        if missing := not_found([benchmark]):
            raise RunError(lacks(name, missing, self._request.build))
        return as_built(benchmark.versions[0], tree) if fresh else benchmark.versions[0], number

    def _measured(
        self, version: PlannedVersion, number: int | None, block: int, place: int, *, warmup: bool
    ) -> float:
        (planned,) = self._runs.head.benchmarks
        ((_, run),) = self._runs.execute(
            [planned], (version, number), (block, place), warmup=warmup, asked=()
        )
        if run.failed:
            raise FailedRunError(f"{version.name}: {version.text!r} {run.describe_failure()}")
        if not self._runs.deciding(run):
            why = self._runs.executor.explain(run, self._runs.metric)
            absent = f"did not give the metric {self._runs.metric!r} that decides"
            raise FailedRunError("; ".join(filter(None, [f"{version.name}: {version.text!r} {absent}", why])))
        return run.metrics[self._runs.metric]
