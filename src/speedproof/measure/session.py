"""The loop: draw the order of a block, execute it, store every run, decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from speedproof.data.runs import EndLine, Line, PlannedBenchmark, PlannedVersion, RunLine, SessionLine
from speedproof.measure.execute import Run, RunError
from speedproof.measure.race import Finding, Race, StopRules
from speedproof.measure.schedule import block_order
from speedproof.measure.store import StoredSession

__all__ = ["Executor", "Outcome", "Progress", "Session", "Warmup"]

# "Steady": the median of the last three rounds is not below 98 % of that of the three before, for any version.
_STEADY_ROUNDS = 3
_STEADY_SHARE = 0.98
_STEADY_MAX = 30


class Executor(Protocol):
    """What executes; a fake one makes order, stopping and resuming testable without time."""

    def begin(self, version: PlannedVersion) -> None:
        """Called once before the runs of a version."""

    def measure(self, version: PlannedVersion) -> Run:
        """Execute once."""

    def finish(self, version: PlannedVersion) -> None:
        """Called once after the runs of a version, also after an interrupt or an error."""


@dataclass(frozen=True, slots=True)
class Warmup:
    """Runs before those that count.

    Attributes
    ----------
    rounds : int or None
        How many of every version; None for "until steady": until, for no version, the median time of the
        last three rounds is less than 98 % of that of the three before, at most 30 rounds.
    """

    rounds: int | None = 1


@dataclass(frozen=True, slots=True)
class Progress:
    """What a watcher is told after each run.

    Attributes
    ----------
    benchmark : PlannedBenchmark
        What is measured.
    version : str
        What ran.
    run : Run
        Its measurements.
    warmup : bool
        Whether it was a warm-up run.
    elapsed : float
        Seconds since the benchmark's start.
    race : Race
        The comparisons so far; blocks under way not included.
    """

    benchmark: PlannedBenchmark
    version: str
    run: Run
    warmup: bool
    elapsed: float
    race: Race


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a session found.

    Attributes
    ----------
    findings : tuple of Finding
        For every candidate of every benchmark that was measured.
    reasons : tuple of (str, str)
        Why each benchmark ended.
    interrupted : bool
        Whether Ctrl-C ended the session.
    missing : dict of str to int
        Runs whose deciding metric was absent, by version.
    failed : dict of str to int
        Runs that failed and were left out, by version.
    """

    findings: tuple[Finding, ...]
    reasons: tuple[tuple[str, str], ...]
    interrupted: bool
    missing: dict[str, int]
    failed: dict[str, int]


def _ignore(progress: Progress) -> None:
    """Watch nothing."""


class Session:
    """A session of measuring.

    Parameters
    ----------
    head : SessionLine
        The plan; stored first.
    rules : StopRules
        When each benchmark ends.
    executor : Executor
        What executes.
    clock : callable
        Seconds, monotonic.
    append : callable
        Stores a line.
    watch : callable
        Told after each run.
    warmup : Warmup
        Runs before those that count.
    metric : str
        The metric that decides.
    higher_is_better : bool
        Its direction.
    ignore_failure : bool
        Leave failed runs out instead of stopping at the first.
    """

    def __init__(
        self,
        head: SessionLine,
        rules: StopRules,
        executor: Executor,
        *,
        clock: Callable[[], float],
        append: Callable[[Line], None],
        watch: Callable[[Progress], None] = _ignore,
        warmup: Warmup = Warmup(),
        metric: str = "time",
        higher_is_better: bool = False,
        ignore_failure: bool = False,
    ) -> None:
        self._head = head
        self._rules = rules
        self._executor = executor
        self._clock = clock
        self._append = append
        self._watch = watch
        self._warmup = warmup
        self._metric = metric
        self._ignore_failure = ignore_failure
        self._races = {
            b.name: Race(b.name, [v.name for v in b.versions], rules, higher_is_better=higher_is_better)
            for b in head.benchmarks
        }
        self._missing: dict[str, int] = {}
        self._failed: dict[str, int] = {}
        self._started = clock()

    def recall(self, sessions: Iterable[StoredSession]) -> int:
        """Take over the complete blocks of earlier sessions; blocks never cross sessions.

        Parameters
        ----------
        sessions : iterable of StoredSession
            In the order in which they were measured.

        Returns
        -------
        int
            Number of blocks taken over.
        """
        count = 0
        for session in sessions:
            blocks: dict[tuple[str, int], dict[str, RunLine]] = {}
            for run in session.runs:
                if not run.warmup and run.benchmark in self._races:
                    blocks.setdefault((run.benchmark, run.block), {})[run.version] = run
            for (benchmark, _), runs in blocks.items():
                race = self._races[benchmark]
                if race.decided or not set(race.runners) <= set(runs):
                    continue
                race.add(
                    {
                        name: run.metrics[self._metric]
                        for name, run in runs.items()
                        if run.exit == 0 and not run.timed_out and self._metric in run.metrics
                    }
                )
                count += 1
        return count

    def run(self) -> Outcome:
        """Measure until every benchmark ends by the rules or by Ctrl-C.

        Returns
        -------
        Outcome
            The findings on what there is.

        Raises
        ------
        RunError
            A command failed, unless failures are ignored. All runs before it are stored.
        DataError
            A deciding value that is not positive.
        """
        self._append(self._head)
        self._started = self._clock()
        reasons: list[tuple[str, str]] = []
        findings: list[Finding] = []
        interrupted = False
        end = "error"
        try:
            for number, benchmark in enumerate(self._head.benchmarks):
                try:
                    reason = self._measure(number, benchmark)
                except KeyboardInterrupt:
                    reason, interrupted = "interrupted", True
                reasons.append((benchmark.name, reason))
                findings.extend(self._races[benchmark.name].findings())
                if interrupted:
                    break
            end = reasons[-1][1] if reasons else "nothing to measure"
        finally:
            self._append(EndLine(self._head.session, end))
        return Outcome(tuple(findings), tuple(reasons), interrupted, self._missing, self._failed)

    def _measure(self, number: int, benchmark: PlannedBenchmark) -> str:
        race = self._races[benchmark.name]
        versions = {version.name: version for version in benchmark.versions}
        begun: list[PlannedVersion] = []
        start = self._clock()
        # What earlier sessions decided needs no setup.
        if reason := self._ended(race, start):
            return reason
        try:
            for version in benchmark.versions:
                begun.append(version)
                self._executor.begin(version)
            self._warm_up(number, benchmark, race, start)
            block = 0
            while not (reason := self._ended(race, start)):
                values: dict[str, float] = {}
                order = block_order(race.runners, seed=self._head.seed, benchmark=number, block=block)
                for position, name in enumerate(order):
                    run = self._execute(benchmark, versions[name], block, position, warmup=False)
                    self._watch(Progress(benchmark, name, run, False, self._clock() - start, race))
                    if not run.failed and self._metric in run.metrics:
                        values[name] = run.metrics[self._metric]
                    elif not run.failed:
                        self._missing[name] = self._missing.get(name, 0) + 1
                race.add(values)
                block += 1
            return reason
        finally:
            for version in begun:
                self._executor.finish(version)

    def _ended(self, race: Race, start: float) -> str:
        if race.decided:
            return "decided"
        if self._rules.max_blocks is not None and race.blocks >= self._rules.max_blocks:
            return f"{self._rules.max_blocks} runs of each version were allowed"
        # The first block is always measured: without it there is nothing to say.
        if self._rules.max_time is not None and race.blocks and self._clock() - start >= self._rules.max_time:
            return f"{self._rules.max_time:g} s were allowed"
        return ""

    def _warm_up(self, number: int, benchmark: PlannedBenchmark, race: Race, start: float) -> None:
        rounds = self._warmup.rounds
        times: list[list[float]] = []
        while len(times) < (_STEADY_MAX if rounds is None else rounds):
            if rounds is None and _steady(times):
                return
            times.append([])
            for position, version in enumerate(benchmark.versions):
                run = self._execute(benchmark, version, len(times) - 1, position, warmup=True)
                self._watch(Progress(benchmark, version.name, run, True, self._clock() - start, race))
                times[-1].append(run.metrics["time"])

    def _execute(
        self, benchmark: PlannedBenchmark, version: PlannedVersion, block: int, position: int, *, warmup: bool
    ) -> Run:
        at = self._clock() - self._started
        run = self._executor.measure(version)
        self._append(
            RunLine(
                self._head.session,
                benchmark.name,
                version.name,
                block,
                position,
                round(at, 6),
                run.metrics,
                run.exit,
                run.timed_out,
                warmup,
            )
        )
        if run.failed:
            if not self._ignore_failure:
                raise RunError(
                    f"{version.text!r} {run.describe_failure()}\n"
                    "(--ignore-failure leaves such runs out; --output capture also shows standard output)"
                )
            self._failed[version.name] = self._failed.get(version.name, 0) + 1
        return run


def _steady(times: Sequence[Sequence[float]]) -> bool:
    if len(times) < 2 * _STEADY_ROUNDS:
        return False
    recent = np.median(times[-_STEADY_ROUNDS:], axis=0)
    before = np.median(times[-2 * _STEADY_ROUNDS : -_STEADY_ROUNDS], axis=0)
    return bool(np.all(recent >= _STEADY_SHARE * before))
