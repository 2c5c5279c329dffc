"""The loop: draw the order of a block, execute it, store every run, ask whether it is enough."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from statistics import median
from typing import NamedTuple

from speedproof.data.names import plural
from speedproof.data.session_file import EndLine, PlannedBenchmark, PlannedVersion, StoredSession
from speedproof.measuring.execute import Run, RunError
from speedproof.measuring.plan import as_built
from speedproof.measuring.runs import (
    Block,
    BuildOrder,
    Decider,
    Measured,
    Place,
    Progress,
    RunLoop,
    TakenRun,
    Wanted,
    block_order,
)

# "Steady": the median of the last three rounds is not below 98 % of that of the three before, for any version.
_STEADY_ROUNDS = 3
_STEADY_SHARE = 0.98
_STEADY_MAX = 30
# A version of which nothing else was seen in so many runs will not succeed in the next thousand.
_HOPELESS = 10
# In rounds, blocks that every open benchmark has after the first round; each round doubles them.
_FIRST_ROUND = 10
# Blocks whose orders are drawn before the first of them: more than some ms of runs have.
_AHEAD = 64

_Built = tuple[PlannedVersion, int | None]
"""A version as the build that a block has of it, and which one that is."""


class _Turn(NamedTuple):
    """A time slice for a group: its start, seconds and maximum number of blocks."""

    number: int
    group: Sequence[PlannedBenchmark]
    start: float
    seconds: float
    blocks: float


class Session:
    """A session of measuring."""

    def __init__(
        self,
        runs: RunLoop,
        deciders: Mapping[str, Decider],
        *,
        max_blocks: int | None,
        max_time: float | None,
        in_rounds: bool = False,
        warmup: int | None,
        changed: Callable[[], Iterable[tuple[str, str, str]]],
        repeats: int,
        spent: float = 0.0,
    ) -> None:
        """A benchmark ends after ``max_blocks``, whatever was found; open ones share ``max_time`` seconds.

        ``in_rounds``, they take turns instead of one after the other; others took ``spent`` of the seconds before.
        """
        self._before = spent
        self._runs, self._head, self._clock = runs, runs.head, runs.clock
        self._groups = (
            [self._head.benchmarks] if runs.executor.together else [(b,) for b in self._head.benchmarks]
        )
        self._names = {b.name: [version.name for version in b.versions] for b in self._head.benchmarks}
        self._deciders = deciders
        self._max_blocks, self._max_time, self._in_rounds = max_blocks, max_time, in_rounds
        self._warmup = warmup
        self._changed = changed
        self._repeats = repeats
        self._replaced: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._unfinished: list[str] = []
        self.measured: Measured | None = None  # how it went, when it has ended
        self._recalled, self._cut = Counter[str](), Counter[str]()
        self._why: dict[str, str] = {}
        self._blocks = [0] * len(self._groups)
        self._drawn: list[dict[int, list[tuple[str, ...]]]] = [{} for _ in self._groups]
        self._builds = []
        for number, group in enumerate(self._groups):
            counts = {v.name: len(v.builds) for benchmark in group for v in benchmark.versions}
            self._builds.append(BuildOrder(counts, seed=self._head.seed, benchmark=number))

    def recall(self, sessions: Sequence[StoredSession]) -> int:
        """Take over the blocks of earlier sessions; blocks never cross sessions.

        Of a block that was cut short, the candidates count that had run, if the reference had. Where blocks have
        builds of their own, none of it does: the same builds are measured again, so that all of them count.
        """
        count = 0
        for order in self._builds if sessions else ():
            order.seed = sessions[0].head.seed
        for session in sessions:
            for name, versions in (session.end.changed if session.end else {}).items():
                self._replaced[name].update(dict.fromkeys(versions))
            for tally, run in self._runs.counted(session):
                tally.count(run, deciding=self._runs.deciding(run))
            for number, block in self._runs.blocks_of(session, self._groups, self._repeats):
                fresh = not self._builds[number] or self._used(number, block, session.options.ignore_failure)
                for benchmark, runs in block.items():
                    self._recalled[benchmark] += 1
                    if not fresh:
                        continue
                    reference, *candidates = self._names[benchmark]
                    if candidates and (reference not in runs or len(runs) == 1):
                        self._cut[benchmark] += 1
                        continue
                    self._deciders[benchmark].add(
                        {
                            name: median(run.metrics[self._runs.metric] for run in lines)
                            for name, lines in runs.items()
                            if all(map(self._runs.counts, lines))
                        }
                    )
                    count += 1
        return count

    def _used(self, number: int, block: Block, ignore_failure: bool) -> bool:
        """Whether an earlier block is whole, with builds that no block before it had; they have had their turn."""
        for benchmark in self._groups[number]:
            names = self._names[benchmark.name]
            left = [name for name in names if not self._hopeless(benchmark.name, name)]
            if names[0] in left and len(left) > 1 and not block.get(benchmark.name, {}).keys() >= {*left}:
                return False
        lines = [line for runs in block.values() for results in runs.values() for line in results]
        builds = {line.version: line.build for line in lines}
        sound = all(
            builds[line.version] == line.build and (ignore_failure or self._runs.counts(line))
            for line in lines
        )
        return sound and self._builds[number].use(builds)

    def review(self) -> Measured:
        """How what was taken over went, without measuring anything: of the benchmarks that have a run."""
        measured = {tally.benchmark for tally in self._runs.tallies.values() if tally.runs}
        return self._measured([(b.name, "") for b in self._head.benchmarks if b.name in measured], False)

    def steps(
        self, watch: Callable[[Progress], object] = lambda progress: None, *, patience: float = 0.0
    ) -> Generator[Progress, None, None]:
        """Measure until every benchmark is decided, meets a limit, or Ctrl-C; whoever leaves early ends it.

        Ctrl-C while somebody watches is one of the session, which ends as it does during a run. Runs are
        stored and told when one has waited ``patience`` seconds for that.
        """
        self._watch, self._patience = watch, patience
        self._runs.append(self._head)
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
                    self._replaced[name].setdefault(version)
            except KeyboardInterrupt:
                # Large files take a moment to be looked at; what was measured still gets its verdict.
                interrupted = True
            reasons = self._reasons(begun)
            self.measured = self._measured(reasons, interrupted)
            reason = "interrupted" if interrupted else "; ".join(sorted({why for _, why in reasons}))
            end = EndLine(self._head.session, reason, self.measured.on_result, self.measured.changed)
        except GeneratorExit:
            watched = self._measured([(name, "interrupted") for name, _ in self._reasons(begun)], True)
            end = EndLine(self._head.session, "left early", watched.on_result, watched.changed)
            raise
        finally:
            self._runs.append(end)

    def _reasons(self, begun: Collection[str]) -> list[tuple[str, str]]:
        """Why each benchmark ended, in this or an earlier session."""
        return [
            (name, self._why.get(name) or self._ended(name) or "interrupted")
            for name in self._names
            if name in begun or name in self._recalled
        ]

    def _measured(self, reasons: Sequence[tuple[str, str]], interrupted: bool) -> Measured:
        names = [name for name, _ in reasons]
        on_result: dict[str, tuple[str, ...]] = {}
        for name, reason in reasons:
            decider = self._deciders[name]
            # Whoever presses Ctrl-C may have seen the numbers.
            watched = decider.runners if interrupted and reason == "interrupted" else ()
            stopped = {*decider.stopped(), *watched}
            if left := tuple(candidate for candidate in self._names[name][1:] if candidate in stopped):
                on_result[name] = left
        tallies = tuple(tally for tally in self._runs.tallies.values() if tally.benchmark in names)
        replaced = {name: tuple(versions) for name, versions in self._replaced.items()}
        how = (tuple(reasons), interrupted, tallies, on_result, replaced)
        return Measured(*how, tuple(self._unfinished), dict(self._cut), dict(self._recalled))

    def _turns(self) -> Iterator[_Turn]:
        """One group after the other, each with its share of the time; in rounds, those that are still open."""
        longest, blocks = self._max_time, _FIRST_ROUND
        groups = list(enumerate(self._groups))
        while groups := [(number, group) for number, group in groups if self._still_open(group)]:
            most = blocks if self._in_rounds and len(groups) > 1 else math.inf
            for place, (number, group) in enumerate(groups):
                left = math.inf if longest is None else longest - self._spent()
                yield _Turn(number, group, self._clock(), left / (len(groups) - place), most)
            blocks *= 2

    def _spent(self) -> float:
        return self._before + self._clock() - self._runs.started

    def _still_open(self, group: Sequence[PlannedBenchmark]) -> list[PlannedBenchmark]:
        for benchmark in group:
            if benchmark.name not in self._why and (reason := self._ended(benchmark.name)):
                self._why[benchmark.name] = reason
        return [benchmark for benchmark in group if benchmark.name not in self._why]

    def _remaining(self, turn: _Turn, first: int) -> list[PlannedBenchmark]:
        """The benchmarks of a turn that the next block measures; ``first`` is the turn's first block."""
        done = self._blocks[turn.number]
        # The first block is always measured: without it there is nothing to say.
        some = all(self._deciders[benchmark.name].blocks for benchmark in turn.group)
        late = self._clock() - turn.start >= turn.seconds and some
        if late and not self._in_rounds:
            self._why.update({benchmark.name: self._late() for benchmark in self._still_open(turn.group)})
        return [] if done >= turn.blocks or (late and done > first) else self._still_open(turn.group)

    def _measure(self, turn: _Turn) -> Generator[Progress, None, None]:
        """Block by block, until every benchmark of the group has ended or its turn is over."""
        versions = {version.name: version for benchmark in turn.group for version in benchmark.versions}
        begun: list[PlannedVersion] = []
        first = self._blocks[turn.number]
        # What earlier sessions decided needs no setup.
        if not self._remaining(turn, first):
            return
        try:
            for version in versions.values():
                begun.append(version)
                self._runs.executor.begin(version)
            if not self._builds[turn.number]:
                yield from self._warm_up(turn, versions, again=first > 0)
            while wanting := self._remaining(turn, first):
                yield from self._stretch(turn, versions, wanting)
            yield from self._told(turn)
        except BaseException as error:
            self._runs.keep()
            problems = self._finish(begun)
            if isinstance(error, RunError):
                raise RunError(*error.args, *(f"\n{problem}" for problem in problems)) from None
            self._unfinished += problems
            raise
        # A failed cleanup leaves the measurements valid: it is reported with the verdict.
        self._unfinished += self._finish(begun)

    def _stretch(
        self, turn: _Turn, versions: Mapping[str, PlannedVersion], wanting: Sequence[PlannedBenchmark]
    ) -> Generator[Progress, None, None]:
        """Measure blocks that follow whatever they show, of some ms, or the next one; then let them be judged.

        Between two runs everything takes several times as long, for want of caches, and leaves the next run cold
        ones: what can be done for all of them is.
        """
        order, first = self._builds[turn.number], self._blocks[turn.number]
        built: dict[str, _Built] = {name: (version, None) for name, version in versions.items()}
        for name, build in (builds := order.upcoming()).items():
            built[name] = as_built(versions[name], versions[name].builds[build]), build
        wanted = self._wanted(built, wanting)
        if order and self._warmup != 0:
            for name in self._orders(turn, versions, first)[0]:
                # A build that has not run yet is not in the machine's caches.
                if name in wanted:
                    yield from self._run(turn, wanted[name], (first, 0))
        most = 1 if order else self._certain(turn, wanting)
        stop = min(self._clock() + self._patience, turn.start + turn.seconds)
        places = list[Place]()
        for block in range(first, first + most):
            # Those left of a random order are in random order.
            names = [name for name in chain(*self._orders(turn, versions, block)) if name in wanted]
            places += [(wanted[name], block, position) for position, name in enumerate(names)]
        size = len(places) // most
        runs: list[TakenRun] = []
        try:
            while len(runs) < len(places) and (len(runs) % size or not runs or runs[-1].ended < stop):
                self._runs.take(places[len(runs) :], runs, max(stop - self._clock(), 0.0))
                if self._runs.due(self._patience):
                    yield from self._told(turn)
        finally:
            for end in range(size, len(runs) + 1, size):
                self._judge(wanting, runs[end - size : end])
                order.use(builds)
                self._drawn[turn.number].pop(self._blocks[turn.number])
                self._blocks[turn.number] += 1

    def _wanted(self, built: Mapping[str, _Built], wanting: Sequence[PlannedBenchmark]) -> dict[str, Wanted]:
        """The requests for runs, by version."""
        runners = {benchmark.name: self._deciders[benchmark.name].runners for benchmark in wanting}
        of = {name: [b for b in wanting if name in runners[b.name]] for name in built}
        return {name: Wanted.of(built[name], of[name], wanting) for name in built if of[name]}

    def _certain(self, turn: _Turn, wanting: Sequence[PlannedBenchmark]) -> int:
        """How many blocks follow in any case, or so many that it does not matter."""
        deciders = [self._deciders[benchmark.name] for benchmark in wanting]
        ahead = _AHEAD if self._patience else 1
        left = turn.blocks - self._blocks[turn.number]
        most = min(left, *(decider.certain for decider in deciders), ahead)
        if self._max_blocks is not None:
            most = min(most, *(self._max_blocks - decider.blocks for decider in deciders))
        return int(most)

    def _judge(self, wanting: Sequence[PlannedBenchmark], block: Sequence[TakenRun]) -> None:
        """Pass a block's values to the deciders."""
        for benchmark in wanting:
            values: dict[str, list[float]] = {}
            for taken in block:
                run = taken.runs.get(benchmark.name)
                if run is not None and self._runs.counts(run):
                    values.setdefault(taken.wanted.version.name, []).append(run.metrics[self._runs.metric])
            whole = {name: median(of) for name, of in values.items() if len(of) == self._repeats}
            self._deciders[benchmark.name].add(whole)

    def _run(
        self, turn: _Turn, wanted: Wanted, place: tuple[int, int]
    ) -> Generator[Progress, None, Mapping[str, Run]]:
        """Run a version once to warm it up; the outcome for each benchmark."""
        taken: list[TakenRun] = []
        self._runs.take([(wanted, *place)], taken, warmup=True)
        yield from self._told(turn)
        return taken[0].runs

    def _told(self, turn: _Turn) -> Iterator[Progress]:
        """Save the pending runs and report progress."""
        for taken in self._runs.keep():
            wanted, elapsed = taken.wanted, taken.ended - turn.start
            for benchmark in wanted.benchmarks:
                place = (benchmark, wanted.version.name, taken.runs[benchmark.name], taken.warmup)
                self._watch(progress := Progress(*place, elapsed, len(wanted.asked)))
                yield progress

    def _finish(self, begun: Sequence[PlannedVersion]) -> list[str]:
        """Clean up after every version, even if one fails; return the errors."""
        problems = []
        for version in begun:
            try:
                self._runs.executor.finish(version)
            except RunError as error:
                problems.append(str(error))
            except KeyboardInterrupt:
                problems.append(
                    f"the cleanup of {version.name} was interrupted and may have left something behind"
                )
        return problems

    def _orders(self, turn: _Turn, versions: Iterable[str], block: int) -> Sequence[Sequence[str]]:
        """The random orders of a block, one for each repeat; drawn once and remembered."""
        drawn = self._drawn[turn.number]
        if block not in drawn:
            # A seed given again must not draw the orders of the earlier blocks again.
            before = max(self._recalled[benchmark.name] for benchmark in turn.group)
            names, place = [*versions], {"seed": self._head.seed, "benchmark": turn.number}
            first = (before + block) * self._repeats
            drawn[block] = [block_order(names, **place, block=first + i) for i in range(self._repeats)]
        return drawn[block]

    def _ended(self, benchmark: str) -> str:
        """Why a benchmark has ended; empty while it is still measured."""
        decider, names = self._deciders[benchmark], self._names[benchmark]
        most, longest = self._max_blocks, self._max_time
        whole = most is not None and decider.blocks >= most
        alone = len(names) > 1 or (decider.blocks and benchmark in self._head.absent)
        if alone and len(decider.runners) == 1 and not whole:
            return "decided"
        for name in decider.runners:
            if self._hopeless(benchmark, name):
                reason = f"none of the {self._runs.tallies[benchmark, name].runs} runs of {name} counts"
                if len(decider.runners) <= 2 or name == names[0]:
                    return reason
                decider.drop(name, reason)
        if most is not None and whole:
            each = " of each version" if len(names) > 1 else ""
            unit, done = ("build", "measured") if any(self._builds) else ("run", "allowed")
            return f"{plural(most, unit)}{each} {'was' if most == 1 else 'were'} {done}"
        if longest is not None and decider.blocks and self._spent() >= longest:
            return self._late()
        return ""

    def _late(self) -> str:
        together = " for all benchmarks" if len(self._names) > 1 else ""
        return f"{self._max_time:g} s were allowed{together}"

    def _hopeless(self, benchmark: str, version: str) -> bool:
        tally = self._runs.tallies[benchmark, version]
        return tally.useless and tally.runs >= _HOPELESS

    def _warm_up(
        self, turn: _Turn, versions: Mapping[str, PlannedVersion], *, again: bool
    ) -> Generator[Progress, None, None]:
        rounds = 1 if again and self._warmup is None else self._warmup
        times: list[list[float]] = []
        while not _steady(times) if rounds is None else len(times) < rounds:
            seconds: list[float] = []
            wanted = self._wanted({name: (version, None) for name, version in versions.items()}, turn.group)
            for position, name in enumerate(versions):
                if name in wanted:
                    runs = yield from self._run(turn, wanted[name], (len(times), position))
                    seconds += [runs[b].metrics.get("time", 0.0) for b in wanted[name].names]
            times.append(seconds)


def _steady(times: Sequence[Sequence[float]]) -> bool:
    """Whether the warm-up times have settled, or too many rounds have passed."""
    if len(times) < 2 * _STEADY_ROUNDS:
        return False
    recent = map(median, zip(*times[-_STEADY_ROUNDS:], strict=True))
    before = map(median, zip(*times[-2 * _STEADY_ROUNDS : -_STEADY_ROUNDS], strict=True))
    steady = all(now >= _STEADY_SHARE * then for now, then in zip(recent, before, strict=True))
    return steady or len(times) >= _STEADY_MAX
