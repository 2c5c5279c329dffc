"""The loop: draw the order of a block, execute it, store every run, ask whether it is enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from speedproof.data.session_file import (
    EndLine,
    PlannedBenchmark,
    PlannedVersion,
    RunLine,
    StoredSession,
)
from speedproof.measuring.earlier import Block, blocks_of, counted
from speedproof.measuring.execute import RunError
from speedproof.measuring.plan import as_built
from speedproof.measuring.results import Decider, Limits, Measured, Progress, Warmup
from speedproof.measuring.runs import RunLoop
from speedproof.measuring.schedule import BuildOrder, block_order

# "Steady": the median of the last three rounds is not below 98 % of that of the three before, for any version.
_STEADY_ROUNDS = 3
_STEADY_SHARE = 0.98
_STEADY_MAX = 30
# A version of which nothing else was seen in so many runs will not succeed in the next thousand.
_HOPELESS = 10
_ONE_ROUND = Warmup()
# With one budget for all, blocks that every open benchmark has after the first round; each round doubles them.
_FIRST_ROUND = 10
_LIMITS = Limits()


class _Turn(NamedTuple):
    """A group's turn to be measured: for so many seconds, up to so many blocks of it in this session."""

    number: int
    group: Sequence[PlannedBenchmark]
    seconds: float
    blocks: float


def _ignore(progress: Progress) -> None:
    """Watch nothing."""


class Session:
    """A session of measuring."""

    def __init__(
        self,
        runs: RunLoop,
        deciders: Mapping[str, Decider],
        *,
        limits: Limits = _LIMITS,
        watch: Callable[[Progress], None] = _ignore,
        warmup: Warmup = _ONE_ROUND,
        changed: Callable[[], Iterable[tuple[str, str, str]]] = tuple,
        repeats: int = 1,
    ) -> None:
        self._runs = runs
        self._head = runs.head
        self._executor = runs.executor
        self._clock = runs.clock
        self._append = runs.append
        self._metric = runs.metric
        self._groups = [self._head.benchmarks] if runs.harness else [(b,) for b in self._head.benchmarks]
        self._deciders = deciders
        self._limits = limits
        self._watch = watch
        self._warmup = warmup
        self._changed = changed
        self._repeats = repeats
        self._replaced: dict[str, dict[str, None]] = {}
        self._unfinished: list[str] = []
        self._recalled: dict[str, int] = {}
        self._cut: dict[str, int] = {}
        self._why: dict[str, str] = {}
        self._blocks = [0] * len(self._groups)
        self._builds = [
            BuildOrder(
                {version.name: len(version.builds) for benchmark in group for version in benchmark.versions},
                seed=self._head.seed,
                benchmark=number,
            )
            for number, group in enumerate(self._groups)
        ]

    def recall(self, sessions: Iterable[StoredSession]) -> int:
        """Take over the blocks of earlier sessions; blocks never cross sessions.

        Of a block that was cut short, the candidates count that had run, if the reference had. Where blocks have
        builds of their own, none of it does: the same builds are measured again, so that all of them count.
        """
        count = 0
        for place, session in enumerate(sessions):
            if place == 0:
                for order in self._builds:
                    order.seed = session.head.seed
            for name, versions in (session.end.changed if session.end else {}).items():
                self._replaced.setdefault(name, {}).update(dict.fromkeys(versions))
            for tally, run in counted(session, self._runs.tallies):
                tally.count(
                    run.metrics,
                    failed=run.exit != 0 or run.timed_out,
                    left=run.left_behind,
                    deciding=self._runs.deciding(run.metrics),
                )
            for number, block in blocks_of(session, self._runs.tallies, self._groups, self._repeats):
                fresh = not self._builds[number] or self._used(number, block, session.options.ignore_failure)
                for benchmark, runs in block.items():
                    decider = self._deciders[benchmark]
                    self._recalled[benchmark] = self._recalled.get(benchmark, 0) + 1
                    if not fresh:
                        continue
                    if decider.candidates and (decider.reference not in runs or len(runs) == 1):
                        self._cut[benchmark] = self._cut.get(benchmark, 0) + 1
                        continue
                    decider.add(
                        {
                            name: float(np.median([run.metrics[self._metric] for run in lines]))
                            for name, lines in runs.items()
                            if all(map(self._succeeded, lines))
                        }
                    )
                    count += 1
        return count

    def _used(self, number: int, block: Block, ignore_failure: bool) -> bool:
        """Whether an earlier block is whole, with builds that no block before it had; they have had their turn."""
        for benchmark in self._groups[number]:
            names = [v.name for v in benchmark.versions]
            left = [name for name in names if not self._hopeless(benchmark.name, name)]
            if names[0] in left and len(left) > 1 and not block.get(benchmark.name, {}).keys() >= {*left}:
                return False
        lines = [line for runs in block.values() for found in runs.values() for line in found]
        builds = {line.version: line.build for line in lines}
        sound = all(
            builds[line.version] == line.build and (ignore_failure or self._succeeded(line)) for line in lines
        )
        return sound and self._builds[number].use(builds)

    def _succeeded(self, line: RunLine) -> bool:
        return line.exit == 0 and not line.timed_out and self._runs.deciding(line.metrics)

    def review(self) -> Measured:
        """How what was taken over went, without measuring anything: of the benchmarks that have a run."""
        measured = {tally.benchmark for tally in self._runs.tallies.values() if tally.runs}
        return self._measured([(b.name, "") for b in self._head.benchmarks if b.name in measured], False)

    def run(self) -> Measured:
        """Measure until every benchmark is decided, meets a limit, or Ctrl-C."""
        steps = self.steps()
        try:
            progress = next(steps)
            while True:
                try:
                    self._watch(progress)
                except KeyboardInterrupt:
                    progress = steps.throw(KeyboardInterrupt())
                else:
                    progress = next(steps)
        except StopIteration as end:
            measured: Measured = end.value
            return measured

    def steps(self) -> Generator[Progress, None, Measured]:
        """The same, run by run; whoever leaves early ends the session."""
        self._append(self._head)
        self._runs.started = self._clock()
        begun: dict[str, None] = {}
        interrupted = False
        end = EndLine(self._head.session, "error")
        try:
            for turn in self._turns():
                begun.update(dict.fromkeys(benchmark.name for benchmark in turn.group))
                try:
                    yield from self._measure(turn)
                except KeyboardInterrupt:
                    interrupted = True
                    break
            try:
                for name, version, _ in self._changed():
                    self._replaced.setdefault(name, {}).setdefault(version)
            except KeyboardInterrupt:
                # Large files take a moment to be looked at; what was measured still gets its verdict.
                interrupted = True
            reasons = self._reasons(begun)
            measured = self._measured(reasons, interrupted)
            reason = "interrupted" if interrupted else reasons[-1][1]
            end = EndLine(self._head.session, reason, measured.on_result, measured.changed)
        except GeneratorExit:
            watched = self._measured([(name, "interrupted") for name, _ in self._reasons(begun)], True)
            end = EndLine(self._head.session, "left early", watched.on_result, watched.changed)
            raise
        finally:
            self._append(end)
        return measured

    def _reasons(self, begun: Collection[str]) -> list[tuple[str, str]]:
        """By benchmark, why it ended, now or in an earlier session: what was proven then is part of the answer."""
        return [
            (b.name, self._why.get(b.name) or self._ended(b.name) or "interrupted")
            for b in self._head.benchmarks
            if b.name in begun or b.name in self._recalled
        ]

    def _measured(self, reasons: Sequence[tuple[str, str]], interrupted: bool) -> Measured:
        names = [name for name, _ in reasons]
        on_result: dict[str, tuple[str, ...]] = {}
        for name, reason in reasons:
            decider = self._deciders[name]
            # Ctrl-C comes from somebody who may have seen the numbers.
            watched = decider.open() if interrupted and reason == "interrupted" else ()
            stopped = {*decider.stopped(), *watched}
            if left := tuple(candidate for candidate in decider.candidates if candidate in stopped):
                on_result[name] = left
        return Measured(
            tuple(reasons),
            interrupted,
            tuple(tally for tally in self._runs.tallies.values() if tally.benchmark in names),
            on_result,
            {name: tuple(versions) for name, versions in self._replaced.items()},
            tuple(self._unfinished),
            dict(self._cut),
            dict(self._recalled),
            self._head.absent,
        )

    def _turns(self) -> Iterator[_Turn]:
        """One group after the other; with one budget for all, in rounds, among those that are still open."""
        budget, longest = self._limits.budget, self._limits.max_time
        if budget is None:
            for number, group in enumerate(self._groups):
                yield _Turn(number, group, math.inf if longest is None else longest * len(group), math.inf)
            return
        blocks = _FIRST_ROUND
        groups = list(enumerate(self._groups))
        while groups := [(number, group) for number, group in groups if self._still_open(group)]:
            for place, (number, group) in enumerate(groups):
                share = (budget - self._spent()) / (len(groups) - place)
                yield _Turn(number, group, share, blocks if len(groups) > 1 else math.inf)
            blocks *= 2

    def _spent(self) -> float:
        return self._clock() - self._runs.started

    def _still_open(self, group: Sequence[PlannedBenchmark]) -> list[PlannedBenchmark]:
        for benchmark in group:
            if benchmark.name not in self._why and (reason := self._ended(benchmark.name)):
                self._why[benchmark.name] = reason
        return [benchmark for benchmark in group if benchmark.name not in self._why]

    def _measure(self, turn: _Turn) -> Generator[Progress, None, None]:
        """Block by block, until every benchmark of the group has ended or its turn is over."""
        number, group = turn.number, turn.group
        versions = {version.name: version for benchmark in group for version in benchmark.versions}
        begun: list[PlannedVersion] = []
        start = self._clock()

        first = self._blocks[number]

        def remaining() -> list[PlannedBenchmark]:
            done = self._blocks[number]
            # The first block is always measured: without it there is nothing to say.
            late = self._clock() - start >= turn.seconds and all(self._deciders[b.name].blocks for b in group)
            if late and self._limits.budget is None:
                told = f"{turn.seconds:g} s were allowed"
                self._why.update({b.name: told for b in self._still_open(group)})
            return [] if done >= turn.blocks or (late and done > first) else self._still_open(group)

        # What earlier sessions decided needs no setup.
        if not remaining():
            return
        try:
            for version in versions.values():
                begun.append(version)
                self._executor.begin(version)
            if not any(version.builds for version in versions.values()):
                yield from self._warm_up(group, versions, start, again=first > 0)
            # A seed given again must not draw the orders of the earlier blocks again.
            before = max(self._recalled.get(benchmark.name, 0) for benchmark in group)
            upcoming = self._drawn(number, versions, (before + first) * self._repeats)
            while wanting := remaining():
                block = self._blocks[number]
                values: dict[str, dict[str, list[float]]] = {benchmark.name: {} for benchmark in wanting}
                wanted = {
                    name: [b for b in wanting if name in self._deciders[b.name].runners] for name in upcoming
                }
                place = 0
                builds = self._builds[number].upcoming()
                now = {name: _as_built(version, builds[name]) for name, version in versions.items()}
                if any(version.builds for version in versions.values()):
                    for name in upcoming if self._warmup.rounds != 0 else ():
                        # A build that has not run yet is not in the machine's caches.
                        for benchmark, run in self._runs.execute(
                            wanted[name], now[name], (block, 0), warmup=True, asked=wanting
                        ):
                            yield Progress(benchmark, name, run, True, self._clock() - start, len(wanting))
                for repeat in range(self._repeats):
                    # Those left of a random order are in random order.
                    order = [name for name in upcoming if wanted[name]]
                    for name in order:
                        if name == order[-1]:
                            # The comparison leaves the next run cold caches: drawing is for the last one.
                            following = (before + block) * self._repeats + repeat + 1
                            upcoming = self._drawn(number, versions, following)
                        for benchmark, run in self._runs.execute(
                            wanted[name], now[name], (block, place), warmup=False, asked=wanting
                        ):
                            elapsed = self._clock() - start
                            yield Progress(benchmark, name, run, False, elapsed, len(wanting))
                            if not run.failed and self._runs.deciding(run.metrics):
                                of = values[benchmark.name].setdefault(name, [])
                                of.append(run.metrics[self._metric])
                        place += 1
                for benchmark in wanting:
                    complete = {
                        name: float(np.median(found))
                        for name, found in values[benchmark.name].items()
                        if len(found) == self._repeats
                    }
                    self._deciders[benchmark.name].add(complete)
                self._builds[number].use(builds)
                self._blocks[number] += 1
        except RunError as error:
            raise RunError("\n".join([str(error), *self._finish(begun)])) from None
        except BaseException:
            self._unfinished += self._finish(begun)
            raise
        # What was measured is as good as it was: a failed cleanup is told, and the verdict given.
        self._unfinished += self._finish(begun)

    def _finish(self, begun: Sequence[PlannedVersion]) -> list[str]:
        """Clean up after every version, whatever becomes of the others; what went wrong."""
        problems = []
        for version in begun:
            try:
                self._executor.finish(version)
            except RunError as error:
                problems.append(str(error))
            except KeyboardInterrupt:
                problems.append(
                    f"the cleanup of {version.name} was interrupted and may have left something behind"
                )
        return problems

    def _drawn(self, number: int, versions: Iterable[str], block: int) -> tuple[str, ...]:
        return block_order(list(versions), seed=self._head.seed, benchmark=number, block=block)

    def _ended(self, benchmark: str) -> str:
        """Why a benchmark is measured no longer; empty while it is."""
        decider = self._deciders[benchmark]
        if decider.decided:
            return "decided"
        for name in decider.runners:
            if self._hopeless(benchmark, name):
                reason = f"none of the {self._runs.tallies[benchmark, name].runs} runs of {name} counts"
                if len(decider.runners) <= 2 or name == decider.reference:
                    return reason
                decider.drop(name, reason)
        most, budget = self._limits.max_blocks, self._limits.budget
        if most is not None and decider.blocks >= most:
            return f"{most} runs of each version were allowed"
        if budget is not None and decider.blocks and self._spent() >= budget:
            return f"{budget:g} s were allowed for all benchmarks"
        return ""

    def _hopeless(self, benchmark: str, version: str) -> bool:
        tally = self._runs.tallies[benchmark, version]
        return tally.useless and tally.runs >= _HOPELESS

    def _warm_up(
        self,
        group: Sequence[PlannedBenchmark],
        versions: Mapping[str, PlannedVersion],
        start: float,
        *,
        again: bool,
    ) -> Generator[Progress, None, None]:
        rounds = 1 if again and self._warmup.rounds is None else self._warmup.rounds
        times: list[list[float]] = []
        while len(times) < (_STEADY_MAX if rounds is None else rounds):
            if rounds is None and _steady(times):
                return
            times.append([])
            for position, version in enumerate(versions.values()):
                own = [b for b in group if version.name in self._deciders[b.name].runners]
                for benchmark, run in self._runs.execute(
                    own, (version, None), (len(times) - 1, position), warmup=True, asked=group
                ):
                    yield Progress(benchmark, version.name, run, True, self._clock() - start, len(group))
                    times[-1].append(run.metrics.get("time", 0.0))


def _as_built(version: PlannedVersion, build: int | None) -> tuple[PlannedVersion, int | None]:
    """A version as the build that a block has of it, and which one that is."""
    return (version if build is None else as_built(version, version.builds[build])), build


def _steady(times: Sequence[Sequence[float]]) -> bool:
    if len(times) < 2 * _STEADY_ROUNDS:
        return False
    recent = np.median(times[-_STEADY_ROUNDS:], axis=0)
    before = np.median(times[-2 * _STEADY_ROUNDS : -_STEADY_ROUNDS], axis=0)
    return bool(np.all(recent >= _STEADY_SHARE * before))
