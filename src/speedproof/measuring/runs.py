"""The runs of a session: each is executed at its place, stored, and counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from speedproof.data.session_file import Line, PlannedBenchmark, PlannedVersion, RunLine, SessionLine
from speedproof.measuring.execute import Run, RunError
from speedproof.measuring.results import Tally


class Executor(Protocol):
    """What executes; a fake one makes order, stopping and resuming testable without time."""

    def begin(self, version: PlannedVersion) -> None:
        """Called once before the runs of a version."""

    def measure(self, version: PlannedVersion) -> Run:
        """Execute once."""

    def finish(self, version: PlannedVersion) -> None:
        """Called once after the runs of a version, also after an interrupt or an error."""

    def explain(self, run: Run, metric: str) -> str:
        """Why a run has no value of a metric; empty when nothing is known."""


class Harness(Executor, Protocol):
    """What measures several benchmarks at once: another tool, which may be asked for some of them only."""

    def measure_all(
        self, version: PlannedVersion, wanted: Sequence[str], asked: Sequence[str]
    ) -> Mapping[str, Run]:
        """Execute once, for all benchmarks that are asked for; a run for every one that is wanted of it."""


class RunLoop(Struct):
    """Executes, stores and counts the runs of a session."""

    head: SessionLine
    executor: Executor
    clock: Callable[[], float]
    append: Callable[[Line], None]
    metric: str = "time"
    ignore_failure: bool = False
    harness: Harness | None = None
    started: float = 0.0  # found at the start
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self.tallies = {
            (b.name, v.name): Tally(b.name, v.name) for b in self.head.benchmarks for v in b.versions
        }

    def execute(
        self,
        wanted: Sequence[PlannedBenchmark],
        built: tuple[PlannedVersion, int | None],
        place: tuple[int, int],
        *,
        warmup: bool,
        asked: Sequence[PlannedBenchmark] = (),
    ) -> list[tuple[PlannedBenchmark, Run]]:
        """Run a version once, at its place in its block, for the benchmarks that want it.

        What a tool measures in one process may disturb what it measures next there: all versions of a block are
        asked for the same benchmarks, and what is not wanted of one is discarded.
        """
        version = built[0]
        at = self.clock() - self.started
        if self.harness is None:
            runs = [self.executor.measure(version)]
        else:
            found = self.harness.measure_all(version, [b.name for b in wanted], [b.name for b in asked])
            runs = [found[benchmark.name] for benchmark in wanted]
        for benchmark, run in zip(wanted, runs, strict=True):
            self._keep(benchmark, built, run, place, at, warmup=warmup)
        return list(zip(wanted, runs, strict=True))

    def _keep(
        self,
        benchmark: PlannedBenchmark,
        built: tuple[PlannedVersion, int | None],
        run: Run,
        place: tuple[int, int],
        at: float,
        *,
        warmup: bool,
    ) -> None:
        """Store a run; one that failed ends the session, unless that is ignored."""
        version, build = built
        self.append(
            RunLine(
                self.head.session,
                benchmark.name,
                version.name,
                *place,
                round(at, 6),
                run.metrics,
                run.exit,
                run.timed_out,
                warmup,
                run.left_behind,
                build,
            )
        )
        lacks = not self.deciding(run.metrics)
        if (run.failed or lacks) and not self.ignore_failure:
            how = run.describe_failure() if run.failed else self._describe_lack(run)
            of = f" ({benchmark.name})" if self.harness and not run.failed else ""
            raise RunError(
                f"{version.text!r}{of} {how}\n"
                "(--ignore-failure leaves such runs out; --output capture also shows standard output)"
            )
        if not warmup:
            tally = self.tallies[benchmark.name, version.name]
            for metric in () if run.failed else self.head.units:
                if metric not in run.metrics and metric not in tally.absent:
                    tally.absent[metric] = self.executor.explain(run, metric)
            tally.count(run.metrics, failed=run.failed, left=run.left_behind, deciding=not lacks)

    def deciding(self, metrics: Mapping[str, float]) -> bool:
        """Whether a run has the metric that decides, and a value that a speedup can be made of."""
        value = metrics.get(self.metric, 0.0)
        return value > 0.0 and math.isfinite(value)

    def _describe_lack(self, run: Run) -> str:
        if self.metric in run.metrics:
            return (
                f"has the value {run.metrics[self.metric]:g} of {self.metric!r}, which decides: a speedup is a "
                "ratio and needs positive values; decide by another metric, or let the programs do more"
            )
        why = self.executor.explain(run, self.metric)
        parts = (f"did not give the metric {self.metric!r} that decides", why, run.describe_output())
        return "; ".join(part for part in parts if part)
