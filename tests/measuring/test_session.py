"""The loop by itself, and its order: with deciders, executors and a clock that the test says all of."""

import hashlib
import itertools
import math
import os
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from msgspec import structs
from scipy import stats

from speedproof.data.session_file import (
    SCHEMA,
    EndLine,
    Line,
    PlannedBenchmark,
    PlannedBuild,
    PlannedVersion,
    RunLine,
    SessionLine,
    StoredSession,
)
from speedproof.measuring.execute import Run, RunError
from speedproof.measuring.runs import BuildOrder, Executor, Progress, RunLoop, Tally, block_order, seed_or_new
from speedproof.measuring.session import Session
from speedproof.measuring_options import Measuring


class Judge:
    """Decides by the number of blocks alone; its candidates stay."""

    certain: float = 1

    def __init__(self, names: Sequence[str], most: float = math.inf) -> None:
        self.names, self.most = tuple(names), most
        self.added: list[Mapping[str, float]] = []
        self.dropped: list[str] = []

    @property
    def blocks(self) -> int:
        return len(self.added)

    @property
    def runners(self) -> tuple[str, ...]:
        left = self.names[:1] if self.blocks >= self.most else self.names
        return tuple(name for name in left if name not in self.dropped)

    def add(self, block: Mapping[str, float]) -> None:
        self.added.append(dict(block))

    def drop(self, candidate: str, reason: str) -> None:
        self.dropped.append(candidate)

    def stopped(self) -> tuple[str, ...]:
        return ()


class Certain(Judge):
    """One who says so beforehand."""

    @property
    def certain(self) -> float:  # type: ignore[override]
        return self.most - self.blocks


class Alone(Executor):
    """Runs that take what they say, and nothing else."""

    def __init__(self, seconds: Callable[[str], Mapping[str, float]]) -> None:
        self.seconds, self.now = seconds, 0.0
        self.ran: list[str] = []

    def measure(self, version: PlannedVersion) -> Run:
        self.ran.append(version.name)
        metrics = dict(self.seconds(version.name))
        self.now += metrics.get("time", 1.0)
        return Run(metrics)


def plan(*names: str, versions: str = "XY", builds: int = 0) -> list[PlannedBenchmark]:
    made = tuple(
        PlannedVersion(v, (v,), v, builds=tuple(PlannedBuild(f"{v}{i}", 1) for i in range(builds)))
        for v in versions
    )
    return [PlannedBenchmark(name, made) for name in names]


def session(
    benchmarks: Sequence[PlannedBenchmark],
    executor: Alone,
    judges: Mapping[str, Judge],
    *,
    metric: str = "time",
    ignore_failure: bool = False,
    **options: Any,
) -> tuple[Session, list[Line]]:
    lines: list[Line] = []
    head = SessionLine(SCHEMA, "s", "2026-01-01T00:00:00+00:00", 5, tuple(benchmarks))
    loop = RunLoop(head, executor, lambda: executor.now, lines.append, metric, ignore_failure)
    usual = {"max_blocks": None, "max_time": None, "in_rounds": False, "warmup": 0, "repeats": 1}
    return Session(loop, judges, changed=lambda: [("b", "Y", "./y")], **{**usual, **options}), lines


def stored(benchmarks: Sequence[PlannedBenchmark], *runs: RunLine) -> StoredSession:
    head = SessionLine(SCHEMA, "before", "2026-01-01T00:00:00+00:00", 9, tuple(benchmarks))
    return StoredSession(head, runs, EndLine("before", "", changed={"b": ("X",)}))


def test_a_warm_up_without_times_ends_after_six_rounds() -> None:
    """Nothing gets faster where nothing is told; twice three rounds are compared. No time is a time of 0."""
    count = itertools.count()
    for seconds in ({}, {"time": 0.5}):
        executor = Alone(lambda name, s=seconds: {"cycles": 5.0} | (s if next(count) > 23 else {}))  # type: ignore[misc]
        found, lines = session(plan("b"), executor, {"b": Judge("XY", 4)}, warmup=None, metric="cycles")
        steps = list(found.steps())
        assert [step.warmup for step in steps] == [True] * 12 + [False] * 8
        runs = [(r.block, r.position) for r in lines if isinstance(r, RunLine)]
        assert runs == [*itertools.product(range(6), range(2)), *itertools.product(range(4), range(2))]
        if not seconds:
            assert [step.elapsed for step in steps] == [float(k) for k in range(1, 21)]


@pytest.mark.parametrize(
    ("share", "last", "rounds"), [(0.9, 15, 20), (0.9, 99, 30), (0.994, 99, 6), (0.993, 99, 30)]
)
def test_a_warm_up_lasts_while_some_version_gets_faster(share: float, last: int, rounds: int) -> None:
    """By 2 % or more from three rounds to the next three, for 30 of them at most."""
    falling = itertools.count()
    executor = Alone(lambda name: {"time": share ** min(next(falling), last) if name == "X" else 1.0})
    found, _ = session(plan("b"), executor, {"b": Judge("XY", 1)}, warmup=None)
    assert sum(step.warmup for step in found.steps()) == 2 * rounds


@pytest.mark.parametrize("left", [0, 1, 5])
def test_who_leaves_early_has_seen_the_candidates(left: int) -> None:
    """The file says so, and what was replaced before."""
    found, lines = session(plan("b", versions="XYZ"), Alone(lambda name: {"time": 1.0}), {"b": Judge("XYZ")})
    found.recall([stored(plan("b", versions="XYZ"))])
    steps = found.steps()
    for _ in range(left):
        next(steps)
    steps.close()
    ends = [line for line in lines if isinstance(line, EndLine)]
    expected = [EndLine("s", "left early", {"b": ("Y", "Z")}, {"b": ("X",)})]
    assert ends == (expected if left else [])


def test_rounds_share_one_budget() -> None:
    """Ten blocks each, then twenty, then forty in all, of those that are open; the last one takes what is left."""
    executor = Alone(lambda name: {"time": 0.5})
    judges = {"a": Judge("XY", 10), "b": Judge("XY", 30), "c": Judge("XY")}
    found, lines = session(plan("a", "b", "c"), executor, judges, max_time=100.0, in_rounds=True)
    assert [*found.steps()]
    order = [r.benchmark for r in lines if isinstance(r, RunLine) and r.position == 0]
    turns = [(name, len([*some])) for name, some in itertools.groupby(order)]
    assert turns == [*((name, 10) for name in "abcbcb"), ("c", 40)]
    assert executor.now == 100.0
    assert [line.reason for line in lines if isinstance(line, EndLine)] == [
        "100 s were allowed for all benchmarks; decided"
    ]
    # In turns each has its share, and what one leaves is nobody's who had his turn.
    executor = Alone(lambda name: {"time": 0.5})
    found, _ = session(plan("a", "b"), executor, {"a": Judge("XY"), "b": Judge("XY", 4)}, max_time=100.0)
    assert [*found.steps()]
    assert executor.now == 54.0


@pytest.mark.parametrize(("hopeless", "last", "counted", "cut"), [
    ("", "XYZ", 11, 0), ("", "XY", 10, 0), ("Z", "XY", 11, 0), ("Z", "X", 10, 0), ("Y", "XZ", 11, 0),
    ("Y", "X", 10, 0), ("YZ", "X", 10, 1), ("X", "YZ", 10, 1), ("X", "Y", 10, 1),
])  # fmt: skip
def test_a_block_of_builds_is_whole_without_what_is_hopeless(
    hopeless: str, last: str, counted: int, cut: int
) -> None:
    """Ten runs of it failed and none counts; of what is left all must be there, or it is measured again."""
    plans = plan("b", versions="XYZ", builds=14)
    order = BuildOrder(dict.fromkeys("XYZ", 14), seed=9, benchmark=0)
    runs = []
    for block in range(11):
        drawn = order.upcoming()
        for name in "XYZ" if block < 10 else last:
            run = RunLine("before", "b", name, block, 0, 0.0, {"time": 1.0}, build=drawn[name])
            runs.append(structs.replace(run, exit=int(name in hopeless)))
        order.use(drawn)
    before = structs.replace(stored(plans, *runs), options=Measuring(ignore_failure=True))
    judge = Judge("XYZ")
    found, _ = session(plans, Alone(lambda name: {}), {"b": judge})
    assert found.recall([before]) == judge.blocks == counted
    assert found.review().cut == ({"b": cut} if cut else {})


def test_a_tally_counts_what_became_of_runs() -> None:
    """One run may leave several processes behind; metrics in the order in which they first appeared."""
    tally = Tally("b", "X")
    assert (tally.useless, tally) == (False, Tally("b", "X", 0, 0, 0, 0, (), {}))
    for run, deciding, useless in (
        (Run({"time": 1.0}, exit=1, left_behind=1), True, True),
        (Run({"user": 1.0, "time": 1.0}, left_behind=2), False, True),
        (Run({}, timed_out=True), False, True),
        (Run({"time": 1.0, "cycles": 2.0}), True, False),
        (Run({"time": 1.0}, exit=2), False, False),
    ):
        tally.count(run, deciding=deciding)
        assert tally.useless is useless
    assert tally == Tally("b", "X", 5, 3, 1, 2, ("time", "user", "cycles"), {})


def test_a_session_that_goes_on_has_no_more_blocks_in_all() -> None:
    """Also where many would follow whatever they show."""
    runs = [RunLine("before", "b", version, k, 0, 0.0, {"time": 1.0}) for k in range(3) for version in "XY"]
    judge = Certain("XY")
    found, _ = session(plan("b"), Alone(lambda name: {"time": 1.0}), {"b": judge}, max_blocks=5)
    assert found.recall([stored(plan("b"), *runs)]) == 3
    assert (len([*found.steps(patience=math.inf)]), judge.blocks) == (4, 5)


def test_of_an_earlier_block_a_side_counts_if_all_its_runs_do() -> None:
    """By their median; a block without the reference, or with nothing else, is cut."""
    sides = [("XXYY", ""), ("XXYY", "Y"), ("XXYY", "X"), ("XXY", ""), ("XYY", "")]
    runs = [
        RunLine(
            "before", "b", version, k, i, 0.0, {"time": 1.0 + i + k}, exit=int(version in failing and i % 2)
        )
        for k, (versions, failing) in enumerate(sides)
        for i, version in enumerate(versions)
    ]
    judge = Judge("XY")
    found, _ = session(plan("b"), Alone(lambda name: {}), {"b": judge}, repeats=2)
    assert found.recall([stored(plan("b"), *runs)]) == 3
    assert judge.added == [{"X": 1.5, "Y": 3.5}, {"X": 2.5}, {"Y": 5.5}]
    assert found.review().cut == {"b": 2}


def test_the_first_run_that_lacks_a_metric_says_why() -> None:
    """Warm-up left out."""

    class Explaining(Alone):
        def explain(self, run: Run, metric: str) -> str:
            return f"{metric} {run.metrics['time']:g}"

    times = itertools.count(1.0)
    executor = Explaining(lambda name: {"time": next(times)} | ({} if name == "X" else {"rate": 1.0}))
    (benchmark,) = plan("b")
    head = SessionLine(
        SCHEMA, "s", "2026-01-01T00:00:00+00:00", 5, (benchmark,), units={"rate": ("", "higher")}
    )
    loop = RunLoop(head, executor, lambda: executor.now, lambda line: None)
    for warmup in (True, False, False):
        for version in benchmark.versions:
            loop.execute([benchmark], (version, None), (0, 0), warmup=warmup, asked=[benchmark])
    assert [tally.absent for tally in loop.tallies.values()] == [{"rate": "rate 3"}, {}]


def test_versions_of_a_block_are_asked_for_the_same_benchmarks() -> None:
    """One candidate is decided on a benchmark, the other not: all go on measuring it, or what it does to the next
    one in its process would be a difference of versions."""
    made = []

    class Together(Alone):
        together = True

        def measure_all(
            self, version: PlannedVersion, wanted: Sequence[str], asked: Sequence[str]
        ) -> dict[str, Run]:
            made.append((version.name, "".join(wanted), "".join(asked)))
            return dict.fromkeys(wanted, self.measure(version))

    judges = {"a": Judge("XYZ", 3), "b": Judge("XYZ", 2)}
    judges["a"].drop("Y", "")
    found, _ = session(plan("a", "b", versions="XYZ"), Together(lambda name: {"time": 1.0}), judges)
    assert [*found.steps()]
    both, last = [("X", "ab", "ab"), ("Y", "b", "ab"), ("Z", "ab", "ab")], [("X", "a", "a"), ("Z", "a", "a")]
    assert [sorted(made[:3]), sorted(made[3:6]), sorted(made[6:])] == [both, both, last]


def test_the_benchmark_of_a_run_that_lacks_its_value_is_named() -> None:
    class Together(Alone):
        together = True

        def measure_all(self, version: PlannedVersion, *names: Sequence[str]) -> dict[str, Run]:
            return {"a": Run({"time": 1.0}), "b": Run({})}

    found, _ = session(plan("a", "b"), Together(lambda name: {}), {name: Judge("XY") for name in "ab"})
    with pytest.raises(RunError, match=r"^'[XY]' \(b\) did not give the metric 'time' that decides"):
        list(found.steps())


def test_one_round_warms_up_again_whatever_was_measured_before() -> None:
    """Six rounds in the first turn, which has time for one block; one in the next turn."""
    plans = [
        PlannedBenchmark(name, tuple(PlannedVersion(f"{name}{v}", ("x",), "x") for v in "XY"))
        for name in "ab"
    ]
    executor = Alone(lambda name: {"time": 5.0 if name[0] == "a" else 0.1})
    judges = {"a": Judge(["aX", "aY"], 4), "b": Judge(["bX", "bY"], 1)}
    found, lines = session(plans, executor, judges, max_time=130.0, in_rounds=True, warmup=None)
    assert [*found.steps()]
    runs = [(line.benchmark, line.warmup) for line in lines if isinstance(line, RunLine)]
    turns = [(("a", True), 12), (("a", False), 2), (("b", True), 12), (("b", False), 2)]
    turns += [(("a", True), 2), (("a", False), 6)]
    assert [(key, len([*some])) for key, some in itertools.groupby(runs)] == turns


def test_every_build_has_one_turn_after_the_other() -> None:
    """Against counts: a block that lacks a build, or has one out of turn or of a longer plan, is not taken."""
    counts = {"X": 3, "Y": 5, "Z": 0}
    order, rng = BuildOrder(counts, seed=3, benchmark=1), random.Random(5)
    assert [bool(order), bool(BuildOrder({"Z": 0}, seed=3, benchmark=1))] == [True, False]
    uses = {name: Counter(dict.fromkeys(range(count), 0)) for name, count in counts.items()}
    for _ in range(400):
        due = {name: [b for b, n in of.items() if n == min(of.values())] for name, of in uses.items()}
        builds: dict[str, int | None] = {
            name: rng.choice([*due[name], *due[name], None, rng.randrange(7)]) for name in counts
        }
        if rng.random() < 0.2:
            builds = {**order.upcoming()}
            assert builds.keys() == {"X", "Y"}
        else:
            builds["Z"] = None
        taken = all(build in due[name] for name, build in builds.items() if name != "Z")
        assert order.use(builds) is taken
        for name, build in builds.items():
            uses[name].update([build] if taken and build is not None else [])


def drawn(n: int, *place: int) -> list[int]:
    digests = [hashlib.blake2b(" ".join(map(str, (*place, i))).encode()).digest() for i in range(n)]
    return [digests.index(digest) for digest in sorted(digests)]


def test_an_order_is_that_of_digests() -> None:
    """Of seed, benchmark, block and place, anywhere; by chi-square all orders and pairs of them are as likely."""
    for seed, benchmark, block, names in ((5, 0, 0, "XY"), (0, 2, 1, "XYZ"), (2**32 - 1, 1, 3, "ABCDE")):
        order = block_order(names, seed=seed, benchmark=benchmark, block=block)
        assert order == tuple(names[i] for i in drawn(len(names), seed, benchmark, block))
    blocks = [block_order("XYZ", seed=5, benchmark=0, block=b) for b in range(4000)]
    orders = [*itertools.permutations("XYZ")]
    for seen, possible in (
        (blocks, orders),
        (itertools.pairwise(blocks), itertools.product(orders, repeat=2)),
    ):
        counts = Counter(seen)
        assert stats.chisquare([counts[one] for one in possible]).pvalue > 0.001


def test_a_seed_is_any_number_of_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the least that the system draws to the largest; one that is given is kept, 0 too."""
    for byte, drawn in ((0, 0), (255, 2**32 - 1)):
        monkeypatch.setattr(os, "urandom", lambda size, byte=byte: bytes([byte]) * size)
        assert [seed_or_new(seed) for seed in (None, 0, 7)] == [drawn, 0, 7]


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("all_at_once", [False, True])
@pytest.mark.parametrize("builds", [0, 7])
@pytest.mark.parametrize(
    ("leave_at", "why"), [(math.inf, None), *itertools.product((5, 12, 29), (KeyboardInterrupt, RunError))]
)
def test_runs_kept_together_are_those_kept_one_by_one(
    ignored: bool, all_at_once: bool, builds: int, leave_at: float, why: type[BaseException]
) -> None:
    """Lines, tallies, blocks and what is told; also where a run fails or cannot start, and after Ctrl-C in one."""
    found = []
    for patience in (0.0, 2.0, 9.5, math.inf):

        class Failing(Alone):
            together = all_at_once

            def measure(self, version: PlannedVersion) -> Run:
                if len(self.ran) == leave_at:
                    raise why
                run = super().measure(version)
                return Run(run.metrics, exit=int(len(self.ran) % 11 == 0))

        benchmarks = plan("a", "b", versions="XYZ", builds=builds)
        executor = Failing(lambda name: {"time": 1.0})
        judges = {name: Certain("XYZ", 10) for name in "ab"}
        tried, lines = session(benchmarks, executor, judges, repeats=2, ignore_failure=ignored)
        told: list[Progress] = []
        error = ""
        try:
            steps = list(tried.steps(told.append, patience=patience))
            if leave_at == math.inf:
                assert told == steps
        except RunError as fault:
            error = str(fault)
        # What was not told when it ended is in the file.
        complete = told if leave_at == math.inf and not error else None
        found.append((lines, complete, error, tried.measured, [judge.added for judge in judges.values()]))
    assert all(other == found[0] for other in found[1:])
    assert sum(isinstance(line, RunLine) for line in found[0][0]) > 4


def test_runs_of_some_time_are_told_together() -> None:
    """Told and stored after each where that is asked for, else when the first has waited so long; at the end."""
    for patience, expected in (
        (0.0, [1] * 10), (1.0, [1] * 10), (1.5, [2] * 5), (3.0, [3, 3, 3, 1]), (math.inf, [10]),
    ):  # fmt: skip
        executor = Alone(lambda name: {"time": 1.0})
        found, lines = session(plan("b"), executor, {"b": Certain("XY", 5)})
        stored: list[int] = []
        for progress in found.steps(patience=patience):
            stored.append(sum(isinstance(line, RunLine) for line in lines))
            assert progress.elapsed <= executor.now
        ends = sorted({*stored})
        assert [end - before for before, end in zip([0, *ends], ends, strict=False)] == expected
        assert len(stored) == 10
