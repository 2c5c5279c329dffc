"""The runs of a session: drawn in a random order, each executed at its place, stored and counted."""

from __future__ import annotations

import hashlib
import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from typing import Any, Protocol, TypeVar

from msgspec import Struct, field

from speedproof.data.session_file import (
    Line,
    PlannedBenchmark,
    PlannedVersion,
    RunLine,
    SessionLine,
    StoredSession,
)
from speedproof.data.units import PROCESSOR_TIMES
from speedproof.errors import Parameter
from speedproof.measuring.execute import Run, RunError, run_of

T = TypeVar("T")


def seed_or_new(seed: int | None) -> int:
    """The given seed, or a random 32-bit one."""
    return int.from_bytes(os.urandom(4)) if seed is None else seed


def block_order(versions: Sequence[T], *, seed: int, benchmark: int, block: int) -> tuple[T, ...]:
    """The order of one block; the same for the same seed whatever ran before."""
    return tuple(versions[i] for i in _permutation(len(versions), seed, benchmark, block))


def _permutation(n: int, seed: int, *place: int) -> list[int]:
    if n == 1:
        return [0]
    drawn = hashlib.blake2b(" ".join(map(str, (seed, *place))).encode())

    def key(i: int) -> bytes:
        keyed = drawn.copy()
        keyed.update(b" %d" % i)
        return keyed.digest()

    return sorted(range(n), key=key)


class BuildOrder:
    """Which builds the next block has: all of a version's in random order, before any comes again.

    Every version has an order of its own, so that the builds of a block are paired at random. A session that goes
    on with another keeps its seed here, and tells which builds that one has used: it then has the others, in the
    same pairs as if nothing had come between.
    """

    def __init__(self, counts: Mapping[str, int], *, seed: int, benchmark: int) -> None:
        self.seed = seed
        self._benchmark = benchmark
        self._uses = {name: [0] * count for name, count in counts.items()}

    def __bool__(self) -> bool:
        """Whether there are several builds."""
        return any(self._uses.values())

    def upcoming(self) -> dict[str, int]:
        """The builds of the next block, by version, of those that have several."""
        return {
            name: self._next(version, uses) for version, (name, uses) in enumerate(self._uses.items()) if uses
        }

    def _next(self, version: int, uses: Sequence[int]) -> int:
        turn = min(uses)
        order = _permutation(len(uses), self.seed, self._benchmark, turn, version, len(uses))
        return next(build for build in order if uses[build] == turn)

    def use(self, builds: Mapping[str, int | None]) -> bool:
        """Take note of a block; False, and not taken, when a build of it has had its turn already."""
        for name, build in builds.items():
            if (uses := self._uses[name]) and (
                build is None or build >= len(uses) or uses[build] > min(uses)
            ):
                return False
        for name, build in builds.items():
            if build is not None:
                self._uses[name][build] += 1
        return True


class Decider(Protocol):
    """Decides when a benchmark has been measured enough; measuring itself decides nothing."""

    @property
    def blocks(self) -> int:
        """The number of blocks added so far."""

    @property
    def runners(self) -> tuple[str, ...]:
        """The versions of the next block: the reference and the remaining candidates."""

    @property
    def certain(self) -> float:
        """How many further blocks are needed whatever they show; blocks are requested singly."""

    def add(self, block: Mapping[str, float]) -> None:
        """Take the values of a block, by version."""

    def drop(self, candidate: str, reason: str) -> None:
        """Drop a candidate for a reason other than its values."""

    def stopped(self) -> tuple[str, ...]:
        """The candidates that were stopped because of their values."""


class Progress(Struct, frozen=True):
    """The report to a watcher after each run."""

    benchmark: PlannedBenchmark  # what is measured
    version: str  # what ran
    run: Run  # its measurements
    warmup: bool  # whether it was a warm-up run
    elapsed: float  # seconds since the benchmark's start
    together: int  # how many benchmarks are measured at once, and open


class Tally(Struct):
    """Counts of the runs of one version of one benchmark, without warm-up."""

    # Whose
    benchmark: str
    version: str
    runs: int = 0  # all of them, those of sessions that this one goes on with included
    failed: int = 0  # ended with an error or by the time-out, and left out
    lacking: int = 0  # succeeded, but lacked the deciding metric, and left out
    left_behind: int = 0  # runs that left processes running
    metrics: tuple[str, ...] = ()  # every metric that some run had, in order of appearance
    # Metrics that were asked for and that a run of this session lacked, and why the first of them did
    absent: dict[str, str] = field(default_factory=dict)

    def count(self, run: Run | RunLine, *, deciding: bool) -> None:
        """Count a run."""
        self.runs += 1
        self.failed += run.failed
        self.lacking += not run.failed and not deciding
        self.left_behind += run.left_behind > 0
        if self.metrics != (metrics := tuple(run.metrics)):
            self.metrics = tuple(dict.fromkeys(self.metrics + metrics))

    @property
    def useless(self) -> bool:
        """Whether there were runs, all of them unusable."""
        return 0 < self.runs == self.failed + self.lacking


class Measured(Struct, frozen=True):
    """The outcome of a session."""

    reasons: tuple[tuple[str, str], ...]  # benchmark, and why it ended
    interrupted: bool  # whether Ctrl-C ended the session
    # What became of the runs, for every version of every benchmark that was measured
    tallies: tuple[Tally, ...]
    # By benchmark, the candidates that were measured no longer because of what was seen of them
    on_result: dict[str, tuple[str, ...]]
    # By benchmark, the versions whose program was replaced during the session
    changed: dict[str, tuple[str, ...]]
    unfinished: tuple[str, ...] = ()  # cleanups that did not end well, in sentences
    # By benchmark, how many blocks of earlier sessions were cut short, and how many there were
    cut: dict[str, int] = field(default_factory=dict)
    recalled: dict[str, int] = field(default_factory=dict)

    @property
    def fruitless(self) -> tuple[Tally, ...]:
        """The versions without a usable run."""
        return tuple(tally for tally in self.tallies if tally.useless)


Block = dict[str, dict[str, list[RunLine]]]
"""The runs of one block, by benchmark and version."""


class Executor:
    """Executes runs; a fake one makes order, stopping and resuming testable without time."""

    __slots__ = ()
    together = False  # whether a run measures several benchmarks, as one of another tool does

    @property
    def printed(self) -> tuple[str, ...]:
        """Metrics that are read from the program's output."""
        return ()

    def begin(self, version: PlannedVersion) -> None:
        """Called once before the runs of a version."""

    def finish(self, version: PlannedVersion) -> None:
        """Called once after the runs of a version, also after an interrupt or an error."""

    def explain(self, run: Run, metric: str) -> str:
        """Why a run lacks a metric; empty if unknown."""
        return ""

    def measure(self, version: PlannedVersion) -> Run:
        """Execute once."""
        raise NotImplementedError

    def execute(
        self, wanted: Sequence[Wanted], seconds: float, clock: Callable[[], float], outcomes: list[RunEnd]
    ) -> None:
        """Execute the first of them, and as many more as it likes to in so many seconds; note each at once."""
        first, began = wanted[0], clock()
        runs = self.measure_all(first.version, first.names, first.asked)
        outcomes.append((round(1e9 * began), round(1e9 * clock()), runs))

    def measure_all(
        self, version: PlannedVersion, wanted: Sequence[str], asked: Sequence[str]
    ) -> Mapping[str, Run]:
        """Execute once, for all benchmarks that are asked for; a run for every one that is wanted of it."""
        return dict.fromkeys(wanted, self.measure(version))


class Wanted(Struct, frozen=True):
    """A request for runs of a version in the next blocks."""

    version: PlannedVersion
    build: int | None  # which of the version's builds, where there are several
    benchmarks: Sequence[PlannedBenchmark]  # that want it
    names: Sequence[str]  # of these
    # What a tool measures in one process may disturb what it measures next there: all versions of a block are
    # asked for the same benchmarks, and unwanted results are discarded
    asked: Sequence[str]

    @classmethod
    def of(
        cls,
        built: tuple[PlannedVersion, int | None],
        benchmarks: Sequence[PlannedBenchmark],
        asked: Sequence[PlannedBenchmark],
    ) -> Wanted:
        """A request with the benchmarks' names filled in."""
        return cls(*built, benchmarks, [b.name for b in benchmarks], [b.name for b in asked])


Place = tuple[Wanted, int, int]
"""The request a run fulfils, its block and its position there."""
RunEnd = tuple[Any, ...]
"""When a run began and ended, by the clock (ns), and what it was like by benchmark, or that is made of."""


class TakenRun(Struct):
    """A run that was executed in a session."""

    place: Place
    warmup: bool
    outcome: RunEnd

    @property
    def wanted(self) -> Wanted:
        """The request that it fulfils."""
        return self.place[0]

    @property
    def runs(self) -> Mapping[str, Run]:
        """The outcome for each benchmark."""
        *times, runs = self.outcome[:3]
        if not isinstance(runs, dict):
            runs = dict.fromkeys(self.wanted.names, run_of(self.outcome))
            self.outcome = (*times, runs)
        return runs

    @property
    def began(self) -> float:
        """Start of the run on the session's clock."""
        return float(self.outcome[0] / 1e9)

    @property
    def ended(self) -> float:
        """End of the run on the session's clock."""
        return float(self.outcome[1] / 1e9)


class RunLoop:
    """Executes, stores and counts the runs of a session."""

    def __init__(
        self,
        head: SessionLine,
        executor: Executor,
        clock: Callable[[], float],
        append: Callable[[Line], None],
        metric: str = "time",
        ignore_failure: bool = False,
    ) -> None:
        self.head, self.executor, self.clock, self.append = head, executor, clock, append
        self.metric, self._ignore_failure = metric, ignore_failure
        self._least = -math.ulp(0.0) if metric in PROCESSOR_TIMES else 0.0
        self.started = clock()
        self.tallies = {(b.name, v.name): Tally(b.name, v.name) for b in head.benchmarks for v in b.versions}
        # Whether a run that succeeded has what decides: then whatever follows it may be executed at once.
        self._sure = metric in ("time", *PROCESSOR_TIMES)
        self._taken: deque[TakenRun] = deque()
        self._urgent = False  # whether some run did not count: what becomes of a version hangs on the next

    def now(self) -> float:
        """Seconds since the start, as stored with each run."""
        return round(self.clock() - self.started, 6)

    def execute(
        self,
        wanted: Sequence[PlannedBenchmark],
        built: tuple[PlannedVersion, int | None],
        place: tuple[int, int],
        *,
        warmup: bool,
        asked: Sequence[PlannedBenchmark],
    ) -> list[tuple[PlannedBenchmark, Run]]:
        """Run a version once, at its place in its block, for the benchmarks that want it; store and count it."""
        taken: list[TakenRun] = []
        self.take([(Wanted.of(built, wanted, asked), *place)], taken, warmup=warmup)
        self.keep()
        return [(benchmark, taken[0].runs[benchmark.name]) for benchmark in wanted]

    def take(
        self, places: Sequence[Place], taken: list[TakenRun], seconds: float = 0.0, *, warmup: bool = False
    ) -> None:
        """Execute the run of the first place, or those of several in so many seconds; :meth:`keep` stores them."""
        outcomes: list[RunEnd] = []
        wanted = [place[0] for place in (places if self._sure else places[:1])]
        try:
            self.executor.execute(wanted, seconds, self.clock, outcomes)
        finally:
            # In one step, between whose parts no Ctrl-C comes; what the runs were like is looked at later.
            self._taken.extend(map(TakenRun, places, repeat(warmup), outcomes))
            taken += islice(self._taken, len(self._taken) - len(outcomes), None)
        last = taken[-1]
        counts = all(map(self.counts, last.runs.values()))
        self._urgent |= not counts
        if not self._ignore_failure and not (counts and self._complete(last)):
            taken.pop()
            self.keep()
            raise self._fault(last.wanted, last.runs)

    def _complete(self, taken: TakenRun) -> bool:
        """Whether a run has all printed metrics; only the first runs of a version must have them."""
        version = taken.wanted.version.name
        return all(
            metric in run.metrics or self.tallies[name, version].runs
            for name, run in taken.runs.items()
            for metric in self.executor.printed
        )

    def due(self, patience: float) -> bool:
        """Whether the oldest unsaved run has waited this long."""
        return self._urgent or self._taken[-1].ended - self._taken[0].began >= patience

    def keep(self) -> list[TakenRun]:
        """Store and count what was taken: between two runs it takes several times as long, for want of caches."""
        kept = []
        while self._taken:
            taken = self._taken[0]
            wanted, runs, warmup = taken.wanted, taken.runs, taken.warmup
            place = (*taken.place[1:], round(taken.began - self.started, 6))
            lines = []
            for name in wanted.names:
                run = runs[name]
                ended = (run.metrics, run.exit, run.timed_out)
                who = (self.head.session, name, wanted.version.name)
                lines.append(RunLine(*who, *place, *ended, warmup, run.left_behind, wanted.build))
            # Before they are stored: Ctrl-C while the disk is waited for must not store them twice.
            kept.append(self._taken.popleft())
            for line in lines:
                self.append(line)
            for name in () if warmup else wanted.names:
                run, tally = runs[name], self.tallies[name, wanted.version.name]
                for metric in () if run.failed else self.head.units:
                    if metric not in run.metrics and metric not in tally.absent:
                        tally.absent[metric] = self.executor.explain(run, metric)
                tally.count(run, deciding=self.deciding(run))
        return kept

    def counted(self, session: StoredSession) -> Iterator[tuple[Tally, RunLine]]:
        """The runs of an earlier session, of versions that still take part, warm-up left out."""
        for run in session.runs:
            tally = self.tallies.get((run.benchmark, run.version))
            if tally is not None and not run.warmup:
                yield tally, run

    def blocks_of(
        self, session: StoredSession, groups: Sequence[Sequence[PlannedBenchmark]], repeats: int
    ) -> Iterator[tuple[int, Block]]:
        """Every block with its group's number; of one that was cut short, the versions with all their runs."""
        group_of = {benchmark.name: number for number, group in enumerate(groups) for benchmark in group}
        blocks: dict[tuple[int, int], Block] = {}
        for tally, run in self.counted(session):
            block = blocks.setdefault((group_of[tally.benchmark], run.block), {})
            block.setdefault(tally.benchmark, {}).setdefault(run.version, []).append(run)
        for (number, _), results in blocks.items():
            whole = {b: {v: r for v, r in runs.items() if len(r) >= repeats} for b, runs in results.items()}
            yield number, whole

    def counts(self, run: Run | RunLine) -> bool:
        """Whether a run succeeded and has the deciding metric."""
        return not run.failed and self.deciding(run)

    def deciding(self, run: Run | RunLine) -> bool:
        """Whether a run has the metric that decides, and a value that a speedup can be made of."""
        return self._least < run.metrics.get(self.metric, math.nan) < math.inf

    def _fault(self, wanted: Wanted, runs: Mapping[str, Run]) -> RunError:
        """The error for a run that failed or lacks the deciding metric."""
        name = next((name for name in wanted.names if not self.counts(runs[name])), wanted.names[0])
        run, without = runs[name], "leaves such runs out"
        of = f" ({name})" if self.executor.together and not run.failed else ""
        if run.failed:
            how = run.describe_failure()
        elif not self.counts(run) and self.metric in run.metrics:
            how = (
                f"has the value {run.metrics[self.metric]:g} of {self.metric!r}, which decides: a speedup is a "
                "ratio and needs positive values; decide by another metric, or let the programs do more"
            )
        else:
            metric, that = self.metric, " that decides"
            if self.counts(run):
                metric = next(name for name in self.executor.printed if name not in run.metrics)
                that, without = "", "goes on without it"
            why = self.executor.explain(run, metric)
            parts = (f"did not give the metric {metric!r}{that}", why, run.describe_output())
            how = "; ".join(part for part in parts if part)
        return RunError(
            f"{wanted.version.text!r}{of} {how}\n(",
            *(Parameter("ignore_failure", True), f" {without}; "),
            *(Parameter("output", "capture"), " also shows standard output)"),
        )
