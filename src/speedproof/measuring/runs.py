"""The runs of a session: each is executed at its place, stored, and counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

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
from speedproof.measuring.execute import Run, RunError
from speedproof.measuring.results import Tally

Block = dict[str, dict[str, list[RunLine]]]
"""The runs of one block, by benchmark and version."""


class _Executor(Protocol):
    def begin(self, version: PlannedVersion) -> None:
        """Called once before the runs of a version."""

    def finish(self, version: PlannedVersion) -> None:
        """Called once after the runs of a version, also after an interrupt or an error."""

    def explain(self, run: Run, metric: str) -> str:
        """Why a run has no value of a metric; empty when nothing is known."""


class Executor(_Executor, Protocol):
    """What executes; a fake one makes order, stopping and resuming testable without time."""

    def measure(self, version: PlannedVersion) -> Run:
        """Execute once."""


@runtime_checkable
class Harness(_Executor, Protocol):
    """What measures several benchmarks at once: another tool, which may be asked for some of them only."""

    def measure_all(
        self, version: PlannedVersion, wanted: Sequence[str], asked: Sequence[str]
    ) -> Mapping[str, Run]:
        """Execute once, for all benchmarks that are asked for; a run for every one that is wanted of it."""


_Measure = Callable[[PlannedVersion, Sequence[str], Sequence[str]], Mapping[str, Run]]


class RunLoop:
    """Executes, stores and counts the runs of a session."""

    def __init__(
        self,
        head: SessionLine,
        executor: Executor | Harness,
        clock: Callable[[], float],
        append: Callable[[Line], None],
        metric: str = "time",
        ignore_failure: bool = False,
    ) -> None:
        self.head, self.executor, self.clock, self.append = head, executor, clock, append
        self.metric, self._ignore_failure = metric, ignore_failure
        self.started = clock()
        self.tallies = {(b.name, v.name): Tally(b.name, v.name) for b in head.benchmarks for v in b.versions}
        self.together = isinstance(executor, Harness)  # whether all benchmarks are measured at once
        self._measure: _Measure = (
            executor.measure_all
            if isinstance(executor, Harness)
            else lambda version, wanted, asked: dict.fromkeys(wanted, executor.measure(version))
        )

    def now(self) -> float:
        """Seconds since the start, as a run's line has them."""
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
        """Run a version once, at its place in its block, for the benchmarks that want it.

        What a tool measures in one process may disturb what it measures next there: all versions of a block are
        asked for the same benchmarks, and what is not wanted of one is discarded.
        """
        (version, build), (block, position) = built, place
        at = self.now()
        measured = self._measure(version, [b.name for b in wanted], [b.name for b in asked])
        for benchmark in wanted:
            run = measured[benchmark.name]
            kept = (run.metrics, run.exit, run.timed_out, warmup, run.left_behind, build)
            self.append(RunLine(self.head.session, benchmark.name, version.name, block, position, at, *kept))
            if not (self._ignore_failure or self.counts(run)):
                raise self._fault(benchmark, version, run)
            if not warmup:
                tally = self.tallies[benchmark.name, version.name]
                for metric in () if run.failed else self.head.units:
                    if metric not in run.metrics and metric not in tally.absent:
                        tally.absent[metric] = self.executor.explain(run, metric)
                tally.count(run, deciding=self.deciding(run))
        return [(benchmark, measured[benchmark.name]) for benchmark in wanted]

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
        for (number, _), found in blocks.items():
            whole = {b: {v: r for v, r in runs.items() if len(r) >= repeats} for b, runs in found.items()}
            yield number, whole

    def counts(self, run: Run | RunLine) -> bool:
        """Whether a run did not fail, and decides."""
        return not run.failed and self.deciding(run)

    def deciding(self, run: Run | RunLine) -> bool:
        """Whether a run has the metric that decides, and a value that a speedup can be made of."""
        value = run.metrics.get(self.metric, math.nan)
        least = -math.ulp(0.0) if self.metric in PROCESSOR_TIMES else 0.0
        return least < value < math.inf

    def _fault(self, benchmark: PlannedBenchmark, version: PlannedVersion, run: Run) -> RunError:
        """A run that failed, or does not decide, ends the session, unless that is ignored."""
        of = f" ({benchmark.name})" if self.together and not run.failed else ""
        if run.failed:
            how = run.describe_failure()
        elif self.metric in run.metrics:
            how = (
                f"has the value {run.metrics[self.metric]:g} of {self.metric!r}, which decides: a speedup is a "
                "ratio and needs positive values; decide by another metric, or let the programs do more"
            )
        else:
            why = self.executor.explain(run, self.metric)
            parts = (f"did not give the metric {self.metric!r} that decides", why, run.describe_output())
            how = "; ".join(part for part in parts if part)
        return RunError(
            f"{version.text!r}{of} {how}\n(",
            *(Parameter("ignore_failure", True), " leaves such runs out; "),
            *(Parameter("output", "capture"), " also shows standard output)"),
        )
