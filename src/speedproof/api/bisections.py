"""Which commit changed the speed: a bisection that may say "nothing changed"."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from speedproof.api.given import alpha_of
from speedproof.api.shown import Shown
from speedproof.data.session_file import (
    EndLine,
    Line,
    PlannedBenchmark,
    PlannedBuild,
    PlannedVersion,
    RunLine,
    SessionLine,
)
from speedproof.errors import FormatError, SpeedproofError, UsageError
from speedproof.measure.build import BuildCache
from speedproof.measure.environment import snapshot
from speedproof.measure.execute import RunError
from speedproof.measure.executor import CommandExecutor
from speedproof.measure.plan import Hooks, plan_trees
from speedproof.measure.programs import not_found
from speedproof.measure.revisions import Revision, repository, resolve
from speedproof.measure.schedule import block_order
from speedproof.measure.store import ResultsFile, new_head, read_sessions
from speedproof.protocols.bisection import Bisection, BisectionFinding
from speedproof.report.bisection import bisection_report
from speedproof.report.model import Report

INTERRUPTED = "interrupted"
"""Why a bisection ended that Ctrl-C ended."""
_PAIR = 2
_BENCHMARK = "command"


@dataclass(frozen=True, slots=True)
class BisectState:
    """Where a bisection stands after a pair of runs."""

    stage: str  # what was measured: the ends, the search or the confirmation
    pair: tuple[str, str]  # the two commits
    finding: BisectionFinding  # what is known


@dataclass(frozen=True, repr=False)
class BisectResult(Shown):
    """Which commit changed the speed. ``print`` says it in words.

    Attributes
    ----------
    finding : BisectionFinding
        In numbers; positions count from the oldest commit.
    commits : tuple of str
        Oldest first.
    min_change : float
        What was looked for.
    file : str
        Where the runs are; empty when they were not kept.
    reason : str
        Why it ended; empty when that is not kept.
    """

    finding: BisectionFinding
    commits: tuple[str, ...]
    min_change: float
    file: str = ""
    reason: str = ""

    @property
    def culprit(self) -> str | None:
        """The commit that changed the speed, confirmed against its parent; None when there is none."""
        found = self.finding
        return self.commits[found.culprit] if found.outcome.value == "culprit" and found.culprit else None

    @property
    def credible(self) -> tuple[str, ...]:
        """The fewest commits that hold the change with the confidence asked for, given that there is one."""
        return tuple(self.commits[i] for i in self.finding.credible)

    def reports(self) -> Iterable[Report]:
        """The result in words, for every format."""
        return [bisection_report(self.finding, self.commits, self.min_change, self.file)]

    def __repr__(self) -> str:
        return f"<BisectResult: {self.finding.outcome.value}, culprit {self.culprit}>"


def bisect(
    commits: Sequence[str],
    run: Callable[[str], float],
    *,
    confidence: float = 0.95,
    min_change: float = 0.01,
    max_pairs: int = 200,
    seed: int | None = None,
) -> BisectResult:
    """Find the commit that changed the speed, or learn that none did.

    Parameters
    ----------
    commits : sequence of str
        Oldest first, both ends included; different from each other.
    run : callable
        Measures one run of a commit: its time, positive. A SpeedproofError that it raises leaves the commit out,
        as one that cannot be built. Times that are all equal count as exact.
    confidence : float
        That a change is claimed only where there is one, and that the culprit differs from its parent.
    min_change : float
        Relative: the search ends when the ends are proven to differ by less.
    max_pairs : int
        Of runs.
    seed : int, optional
        Of the order within pairs; a fresh one by default.

    Returns
    -------
    BisectResult
        ``culprit``, ``credible`` and the proofs in ``finding``.

    Raises
    ------
    SpeedproofError
        Fewer than two commits, one given twice, a time that is not positive, or an end that cannot be measured.

    Examples
    --------
    >>> import speedproof as sp
    >>> seconds = {"v1": 1.0, "a": 1.01, "b": 1.3, "c": 1.31, "v2": 1.3}
    >>> r = sp.bisect(list(seconds), seconds.__getitem__, seed=1)
    >>> r.culprit, round(r.finding.step, 2)
    ('b', 1.29)
    """
    _check(commits, min_change)
    search = Bisection(len(commits), alpha=alpha_of(confidence), min_change=min_change)
    drawn = secrets.randbits(32) if seed is None else seed
    for _ in _searched(search, commits, lambda name, block, place: run(name), drawn):
        if search.pairs >= max_pairs:
            break
    return BisectResult(search.finding(), tuple(commits), min_change)


def _check(commits: Sequence[str], min_change: float) -> None:
    if len(commits) < _PAIR:
        raise UsageError(
            "a bisection needs at least two commits: one from before the change, one from after it"
        )
    if twice := {name for name in commits if commits.count(name) > 1}:
        raise UsageError(f"{min(twice)} is among the commits twice")
    if not 0 < min_change < 1:
        raise UsageError(f"the least change must lie between 0 and 1, not be {min_change:g}: 0.01 for 1 %")


def _searched(
    search: Bisection,
    commits: Sequence[str],
    run: Callable[[str, int, int], float],
    seed: int,
    left_out: Callable[[str], object] = lambda told: None,
    block: int = 0,
) -> Iterator[BisectState]:
    """Measure pair by pair, each in random order, until all is proven; a pair that fails is a block, too."""
    while (pair := search.next()) is not None:
        stage = search.stage()
        times: dict[int, float] = {}
        for place, position in enumerate(block_order(pair, seed=seed, benchmark=0, block=block)):
            try:
                times[position] = run(commits[position], block, place)
            except SpeedproofError as error:
                if position in (0, len(commits) - 1):
                    raise
                search.skip(position)
                left_out(str(error))
                break
            if not (times[position] > 0 and math.isfinite(times[position])):
                raise UsageError(
                    f"{commits[position]} took {times[position]!r}; a time is positive and finite"
                )
        else:
            search.add(*pair, times[pair[0]], times[pair[1]])
            yield BisectState(stage.value, (commits[pair[0]], commits[pair[1]]), search.finding())
        block += 1


class BisectRequest(msgspec.Struct, frozen=True):
    """What is bisected, and how; a session's file keeps it, so that it can be gone on with."""

    repository: str  # the repository, and the folder in it where commands run
    inside: str
    commits: tuple[str, ...]  # whole hashes, oldest first
    command: str | tuple[str, ...]  # the benchmark
    build: str = ""  # builds a commit; empty for nothing to build
    build_env: tuple[str, ...] = ()  # variables that builds depend on
    shell: str = ""  # the shell that carries the benchmark out; none by default
    confidence: float = 0.95  # as :func:`bisect` takes them
    min_change: float = 0.01
    timeout: float | None = None  # seconds after which a run is ended
    seed: int = 0  # of the order within pairs

    @classmethod
    def of(
        cls,
        folder: Path,
        names: Sequence[str],
        command: str | Sequence[str],
        *,
        build: str = "",
        build_env: Sequence[str] = (),
        shell: str = "",
        confidence: float = 0.95,
        min_change: float = 0.01,
        timeout: float | None = None,
        seed: int | None = None,
    ) -> BisectRequest:
        """Look the commits up."""
        top = repository(folder)
        commits = [revision.commit for revision in resolve(top, names)]
        _check(commits, min_change)
        alpha_of(confidence)
        return cls(
            str(top),
            "" if folder == top else str(folder.relative_to(top)),
            tuple(commits),
            command if isinstance(command, str) else tuple(command),
            build,
            tuple(build_env),
            shell,
            confidence,
            min_change,
            timeout,
            secrets.randbits(32) if seed is None else seed,
        )

    @classmethod
    def stored(cls, path: Path) -> BisectRequest:
        """What a session's file keeps."""
        return _request_of(path, read_sessions(path)[-1].head)


def bisect_revisions(
    request: BisectRequest,
    file: Path,
    *,
    max_seconds: float | None = 600.0,
    tell: Callable[[str], object] = lambda told: None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[BisectState, None, BisectResult]:
    """Bisect revisions of a repository, building what is needed; every run is kept in a file."""
    top = Path(request.repository)
    revisions = {revision.name: revision for revision in resolve(top, request.commits)}
    names = tuple(revisions)
    search = Bisection(len(names), alpha=alpha_of(request.confidence), min_change=request.min_change)
    known = file.exists() and file.stat().st_size > 0
    before, block = _recalled(file, request, names, search) if known else ([], 0)
    head = _head(request, names, before)
    with (
        ResultsFile(file) as store,
        _runner(request, revisions, store.append, head.session, tell, clock) as runner,
    ):
        store.append(head)
        reason = "stopped"
        try:
            for state in _searched(search, names, runner.run, request.seed, tell, block):
                yield state
                if max_seconds is not None and runner.spent >= max_seconds:
                    reason = f"{max_seconds:g} s were allowed"
                    break
            else:
                reason = "decided"
        except KeyboardInterrupt:
            reason = INTERRUPTED
        finally:
            store.append(EndLine(head.session, reason))
    return BisectResult(search.finding(), names, request.min_change, str(file), reason)


def _head(request: BisectRequest, names: Sequence[str], before: Sequence[str]) -> SessionLine:
    text = request.command if isinstance(request.command, str) else " ".join(request.command)
    versions = tuple(PlannedVersion(name, (text,), text) for name in names)
    return new_head(
        [PlannedBenchmark(_BENCHMARK, versions)],
        seed=request.seed,
        options={"bisect": msgspec.json.encode(request).decode()},
        environment=snapshot(),
        resumes=tuple(before),
    )


def _recalled(
    file: Path, request: BisectRequest, names: Sequence[str], search: Bisection
) -> tuple[list[str], int]:
    """Take over the whole pairs of earlier sessions; their names, and the number of the next block."""
    sessions = read_sessions(file)
    following = 0
    for session in sessions:
        if _request_of(file, session.head) != request:
            raise FormatError(str(file), f"session {session.head.session}", "belongs to another bisection")
        blocks: dict[int, dict[int, float]] = {}
        for run in session.runs:
            following = max(following, run.block + 1)
            if not run.warmup and run.exit == 0 and not run.timed_out and run.version in names:
                blocks.setdefault(run.block, {})[names.index(run.version)] = run.metrics["time"]
        for times in blocks.values():
            if len(times) == _PAIR:
                first, last = sorted(times)
                search.add(first, last, times[first], times[last])
    return [session.head.session for session in sessions], following


def _request_of(file: Path, head: SessionLine) -> BisectRequest:
    try:
        return msgspec.json.decode(head.options.get("bisect", ""), type=BisectRequest)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise FormatError(str(file), f"session {head.session}", "is not a session of a bisection") from None


class _Runner:
    """Builds what is asked for the first time, warms it up, and measures."""

    def __init__(
        self,
        build: Callable[[str], PlannedVersion],
        executor: CommandExecutor,
        append: Callable[[Line], None],
        session: str,
        clock: Callable[[], float],
    ) -> None:
        self._build, self._executor, self._append = build, executor, append
        self._session, self._clock = session, clock
        self._planned: dict[str, PlannedVersion] = {}
        self._started = clock()
        self.spent = 0.0

    def run(self, name: str, block: int, place: int) -> float:
        """One run's time."""
        if name not in self._planned:
            planned = self._build(name)
            self._measured(planned, block, place, warmup=True)
            self._planned[name] = planned
        began = self._clock()
        seconds = self._measured(self._planned[name], block, place, warmup=False)
        self.spent += self._clock() - began
        return seconds

    def _measured(self, version: PlannedVersion, block: int, place: int, *, warmup: bool) -> float:
        at = round(self._clock() - self._started, 6)
        run = self._executor.measure(version)
        self._append(
            RunLine(
                self._session,
                _BENCHMARK,
                version.name,
                block,
                place,
                at,
                run.metrics,
                run.exit,
                run.timed_out,
                warmup,
                run.left_behind,
            )
        )
        if run.failed:
            raise RunError(f"{version.name}: {version.text!r} {run.describe_failure()}")
        return run.metrics["time"]


@contextmanager
def _runner(
    request: BisectRequest,
    revisions: dict[str, Revision],
    append: Callable[[Line], None],
    session: str,
    tell: Callable[[str], object],
    clock: Callable[[], float],
) -> Iterator[_Runner]:
    cache = BuildCache()
    with cache.one_by_one(
        Path(request.repository),
        request.build,
        inside=request.inside,
        variables=request.build_env,
        tell=tell,
    ) as build:

        def planned(name: str) -> PlannedVersion:
            built = [PlannedBuild(str(build(revisions[name]).folder), 0)]
            (benchmark,) = plan_trees(request.command, {name: built}, {}, Hooks(request.shell))
            if missing := not_found([benchmark]):
                raise RunError(f"{name}: has no {missing} after its build")
            return benchmark.versions[0]

        yield _Runner(planned, CommandExecutor(timeout=request.timeout), append, session, clock)
