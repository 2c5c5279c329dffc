"""The loop with a fake executor and a fake clock: order, stopping, resuming, storing, without any time."""

import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from msgspec.structs import replace
from scipy import stats
from tests.command import speedproof
from tests.protocols.asking import stop_rules

import speedproof as sp
from speedproof.api.measurement import Measurement
from speedproof.api.run_plan import Request, present
from speedproof.api.run_start import completed, question_of
from speedproof.api.session_results import EndedSession, RaceResult
from speedproof.conclude.claims import Demand, SessionQuestion, StopRules
from speedproof.conclude.gate import gate as gate_of
from speedproof.conclude.looks import SequentialComparison
from speedproof.data.sample import Sample, Trait
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
    options_stored,
)
from speedproof.data.suite import Key, Suite
from speedproof.errors import SpeedproofError
from speedproof.measuring.execute import Run, RunError
from speedproof.measuring.runs import Executor, Progress, block_order
from speedproof.measuring.store import ResultsFile
from speedproof.measuring_options import Measuring
from speedproof.protocols.results import Verdict

Times = dict[str, float | Callable[[int], float]]
NEVER = 1e-12
"""A margin within which nothing is proven, not even of equal values: bounds have a rounding."""

# Measured until something is proven, or until the rules say so.
until = partial(stop_rules, stop_at_proof=True)


class FakeClock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class FakeExecutor(Executor):
    """Times by version: a number, or a function of the number of runs of that version so far."""

    def __init__(self, clock: FakeClock, times: Times) -> None:
        self.clock, self.times = clock, times
        self.calls, self.hooks = list[str](), list[str]()
        self.fail, self.interrupt_at = dict[float, int](), math.inf

    def begin(self, version: PlannedVersion) -> None:
        self.hooks.append(f"begin {version.name}")

    def finish(self, version: PlannedVersion) -> None:
        self.hooks.append(f"finish {version.name}")

    def explain(self, run: Run, metric: str) -> str:
        return f"no {metric} here"

    def measure(self, version: PlannedVersion) -> Run:
        if len(self.calls) >= self.interrupt_at:
            raise KeyboardInterrupt
        time = self.times[version.name]
        seconds = time(self.calls.count(version.name)) if callable(time) else time
        self.calls.append(version.name)
        self.clock.now += seconds
        return Run({"time": seconds}, exit=self.fail.get(len(self.calls) - 1, 0), stderr=b"broken")


def noisy(center: float, seed: int, sigma: float = 0.03) -> Callable[[int], float]:
    values = center * np.exp(sigma * np.random.default_rng(seed).standard_normal(5000))
    return lambda i: float(values[i])


def benchmark(*names: str, name: str = "b") -> PlannedBenchmark:
    return PlannedBenchmark(name, tuple(PlannedVersion(n, (n,), n) for n in names))


def head(*benchmarks: PlannedBenchmark, session: str = "s", seed: int = 7) -> SessionLine:
    return SessionLine(SCHEMA, session, "2026-01-01T00:00:00+00:00", seed, benchmarks)


class Bench:
    def __init__(
        self,
        times: Times,
        *benchmarks: PlannedBenchmark,
        rules: StopRules | None = None,
        warmup: int | None = 0,
        asked: Mapping[str, Any] | None = None,
        plan: SessionLine | None = None,
        **options: Any,
    ) -> None:
        self.executor = FakeExecutor(clock := FakeClock(), times)
        self.lines, self.seen = list[Line](), list[Progress]()
        self.session = Measurement(
            plan or head(*(benchmarks or (benchmark(*times),))), self.executor,
            SessionQuestion(rules or until(), **(asked or {})),
            clock=clock, append=self.lines.append, warmup=warmup, **options,
        )  # fmt: skip

    def run(self) -> RaceResult:
        return self.session.run(lambda progress, _: self.seen.append(progress))

    @property
    def runs(self) -> list[RunLine]:
        return [line for line in self.lines if isinstance(line, RunLine)]

    def stored(self) -> StoredSession:
        first, last = self.lines[0], self.lines[-1]
        assert isinstance(first, SessionLine)
        return StoredSession(first, tuple(self.runs), last if isinstance(last, EndLine) else None)

    def save(self, path: Path) -> Path:
        with ResultsFile(path) as store:
            for line in self.lines:
                store.append(line)
        return path


@pytest.mark.parametrize("warmup", [0, 1, None])
def test_a_candidate_that_has_left_is_not_warmed_up_again(warmup: int | None) -> None:
    """Neither in a later turn of a budget, nor when the session is gone on with, nor as a build."""
    plan = [benchmark("X", "clear", "close", name=n) for n in "ab"]
    times = {"X": noisy(1.0, 1, 0.02), "clear": noisy(0.5, 2, 0.02), "close": noisy(1.0, 3, 0.05)}
    rules = stop_rules(demand=Demand(margin=0.02), family=4, max_time=150.0)
    bench = Bench(dict(times), *plan, rules=rules, warmup=warmup)
    outcome = bench.session.run()
    assert {f.candidate: f.outcome for f in outcome.findings}["clear"] == "pass"
    again = Bench(dict(times), *plan, rules=rules, warmup=warmup)
    again.session.recall([bench.stored()])
    again.session.run()
    for session, counts in ((bench, dict.fromkeys("ab", 0)), (again, dict.fromkeys("ab", 10))):
        for run in session.runs:
            counts[run.benchmark] += run.version == "clear" and not run.warmup
            assert not (run.version == "clear" and run.warmup and counts[run.benchmark] >= 10)
    names = ("X", "bad", "good")
    rules = stop_rules(min_blocks=14, max_blocks=14, max_time=None, fixed=True)
    builds = built(*names, count=14)
    bench = Bench(dict.fromkeys(names, 1.0), builds, rules=rules, warmup=1, ignore_failure=True)
    measure = bench.executor.measure

    def failing(version: PlannedVersion) -> Run:
        return replace(measure(version), exit=int(version.name == "bad"))

    bench.executor.measure = failing  # type: ignore[method-assign]
    (reason,) = bench.session.run().measured.reasons
    assert reason == ("b", "14 builds of each version were measured")
    assert (bench.executor.calls.count("bad"), bench.executor.calls.count("good")) == (20, 28)


@pytest.mark.parametrize(("spent", "runs"), [({}, 22), ({"spent": 12.0}, 10), ({"spent": 60.0}, 2)])
def test_what_was_spent_before_is_part_of_the_time(spent: dict[str, Any], runs: int) -> None:
    """As by the first invocations of a tool; the first block is measured all the same."""
    bench = Bench({"X": 1.0, "Y": 1.0}, rules=until(max_time=21.0, margin=NEVER), **spent)
    outcome = bench.session.run()
    assert sum(tally.runs for tally in outcome.measured.tallies) == runs
    assert outcome.measured.reasons[0][1] == "21 s were allowed"


def built(*names: str, count: int) -> PlannedBenchmark:
    builds = {n: tuple(PlannedBuild(f"{n}{i}", 1, float(i * i)) for i in range(count)) for n in names}
    return PlannedBenchmark("b", tuple(PlannedVersion(n, (n,), n, builds=builds[n]) for n in names))


class LayoutExecutor(FakeExecutor):
    """The time of a build is its own, whenever it is measured."""

    def measure(self, version: PlannedVersion) -> Run:
        rng = np.random.default_rng([*map(ord, version.cwd)])
        self.times[version.name] = float(np.exp(0.01 * rng.standard_normal()))
        run = super().measure(version)
        self.calls[-1] = version.cwd
        return run


def in_pieces(
    plan: PlannedBenchmark, cuts: list[float], *, repeats: int, fails: bool = False
) -> tuple[Measurement, list[StoredSession]]:
    """A session of builds that Ctrl-C, or a failed run, ended at these runs, gone on with under other seeds."""
    count = len(plan.versions[0].builds)
    rules = stop_rules(min_blocks=count, max_blocks=count, max_time=None, fixed=True)
    stored: list[StoredSession] = []
    for number, cut in enumerate([*cuts, math.inf]):
        executor, lines = LayoutExecutor(FakeClock(), {}), list[Line]()
        executor.interrupt_at, executor.fail = (math.inf, {cut: 1}) if fails else (cut, {})
        first = head(plan, session=f"s{number}", seed=11 + number)
        question = SessionQuestion(rules, repeats=repeats)
        session = Measurement(first, executor, question, clock=FakeClock(), append=lines.append, warmup=0)
        session.recall(stored)
        with pytest.raises(RunError) if fails and math.isfinite(cut) else nullcontext():
            session.run()
        stored.append(StoredSession(first, tuple(line for line in lines if isinstance(line, RunLine))))
    return session, stored


@pytest.mark.slow
@pytest.mark.parametrize("names", ["XY", "XYZ"])
@pytest.mark.parametrize("fails", [False, True])
def test_builds_of_a_session_in_pieces_are_those_of_one_in_one_piece(names: str, fails: bool) -> None:
    """Wherever it was cut: every build once, in the same pairs, so the same verdict, p-values and bounds."""
    plan = built(*names, count=7)
    whole, _ = in_pieces(plan, [], repeats=2)
    told = whole.comparisons["b"].findings()
    rng = np.random.default_rng(3)
    runs = 7 * 2 * len(names)
    cuts = [[k] for k in range(runs)] + [sorted(rng.integers(0, 12, 4).tolist()) for _ in range(12)]
    for cut in cuts:
        session, stored = in_pieces(plan, cut, repeats=2, fails=fails)
        found = session.comparisons["b"].findings()
        assert found[0].result.blocks == 7
        assert [f.result.pvalue_faster for f in found] == [f.result.pvalue_faster for f in told]
        assert [(f.result.low, f.result.high) for f in found] == [(f.result.low, f.result.high) for f in told]
        # Looked at again, all of it is there.
        question = SessionQuestion(stop_rules(min_blocks=7, max_blocks=7, fixed=True), repeats=2)
        again = Measurement(stored[-1].head, LayoutExecutor(FakeClock(), {}), question)
        assert again.recall(stored) == 7
        assert [f.result for f in again.review().findings] == [f.result for f in found]


def test_a_build_that_was_measured_before_does_not_count_again() -> None:
    """Of blocks with the same build, which a file of a program before this one may hold, the first counts."""
    plan = built("X", "Y", count=6)
    _, (session,) = in_pieces(plan, [], repeats=1)
    runs = [structs.replace(run, build=0) if run.version == "Y" else run for run in session.runs]
    rules = stop_rules(min_blocks=6, max_blocks=6, max_time=None, fixed=True)
    executor = LayoutExecutor(FakeClock(), {})
    later = Measurement(
        head(plan, session="t"), executor, SessionQuestion(rules), clock=FakeClock(), warmup=0
    )
    assert later.recall([structs.replace(session, runs=tuple(runs))]) == 1
    (finding,) = later.run().findings
    assert finding.result.blocks == 6
    assert sorted(build for build in executor.calls if build[0] == "Y") == [f"Y{i}" for i in range(1, 6)]


@pytest.mark.parametrize("lost", [0, 4, 9])
def test_a_failed_run_of_builds_costs_its_pair_alone(lost: int) -> None:
    """Whichever block lacks the reference, the last too: the exact test of the other nine, as SciPy has it."""
    rules = stop_rules(min_blocks=10, max_blocks=10, max_time=None, fixed=True)
    comparison = SequentialComparison("b", ["X", "Y"], rules)
    noise = np.random.default_rng(lost)
    pairs = np.exp(0.05 * noise.standard_normal((10, 2))) * [1.05, 1.0]
    for block, (x, y) in enumerate(pairs.tolist()):
        comparison.add({"Y": y} if block == lost else {"X": x, "Y": y})
    (finding,) = comparison.findings()
    x, y = np.delete(pairs, lost, axis=0).T
    expected = stats.wilcoxon(np.log(x / y), alternative="greater", method="exact").pvalue
    assert finding.result.pvalue_faster == pytest.approx(expected, rel=1e-9)
    assert not comparison.open()


def test_a_build_is_run_before_it_is_measured() -> None:
    """A fresh build is not in the machine's caches: each has the warm-up that the session has."""
    rules = stop_rules(min_blocks=4, max_blocks=4)
    bench = Bench({"X": 1.0, "Y": 1.0}, built("X", "Y", count=4), rules=rules, warmup=1)
    bench.session.run()
    kinds = [(r.block, r.warmup) for r in bench.runs]
    assert kinds == [(block, warm) for block in range(4) for warm in (True, True, False, False)]
    assert len({(r.version, r.build) for r in bench.runs if r.warmup}) == 8


@pytest.mark.slow
def test_the_positional_trap_stays_undecided() -> None:
    """A program whose second start in a row is always faster is not faster than itself."""
    faster = 0
    for seed in range(60):
        noise = np.random.default_rng(seed)
        place = itertools.count()

        def time(_: int, noise: np.random.Generator = noise, place: Iterator[int] = place) -> float:
            return float((0.9 if next(place) % 2 else 1.0) * np.exp(0.01 * noise.standard_normal()))

        plan = head(benchmark("X", "Y"), seed=seed)
        bench = Bench({"X": time, "Y": time}, rules=until(max_blocks=40), plan=plan)
        (finding,) = bench.session.run().findings
        faster += finding.verdict is not Verdict.UNDECIDED
    # Both directions at 5 % each: sessions that err are no more than that allows.
    assert faster <= stats.binom.ppf(0.999, 60, 0.1)


@pytest.mark.parametrize(("slower", "outcome"), [(1.0, "pass"), (1.1, "fail"), (1.02, "undecided")])
def test_a_gate_measures_until_the_margin_is_proven_lost_or_kept(slower: float, outcome: str) -> None:
    """At 2 % noise and a margin of 2 %: nothing lost passes, 10 % fails, and 2 % stays open."""
    rules = stop_rules(demand=Demand(margin=0.02), family=4, max_blocks=150, max_time=None)
    bench = Bench({"X": noisy(1.0, 1, 0.02), "Y": noisy(slower, 2, 0.02)}, rules=rules)
    (finding,) = bench.session.run().findings
    assert finding.outcome == outcome
    assert (finding.result.blocks < 150) is (outcome != "undecided")


def test_a_gate_does_not_pass_what_is_slower_on_average() -> None:
    """Typically 2 % faster, one run in five takes 1.5x: proven by SciPy's test of the mean, so no pass.

    It is told of blocks, of which looks allow for no such test, where it withholds one alone.
    """
    rng = np.random.default_rng(3)
    x, y = np.exp(0.005 * rng.standard_normal((2, 150)))
    for share, margin, outcome in ((0.2, 0.02, "undecided"), (0.0, 0.02, "pass"), (0.2, 0.4, "pass")):
        now = 0.98 * y * np.where(np.arange(150) % 5 == 4, 1.0 + 2.5 * share, 1.0)
        lost = stats.ttest_1samp(np.log(x / now), -math.log1p(margin), alternative="less").pvalue
        assert (lost <= 0.05) == (outcome == "undecided")
        traits = frozenset({Trait.RANDOM_ORDER, Trait.ORDER_KNOWN, Trait.STOPPED_ON_RESULT})
        suite = Suite(("X", "Y"), {
            (Key("b"), version): Sample(values, label=version, traits=traits, blocks=np.arange(150))
            for version, values in (("X", x), ("Y", now))
        })  # fmt: skip
        found = gate_of(suite, ("X", "Y"), lambda name, margin=margin: Demand(margin=margin))  # type: ignore[misc]
        ((r, c),) = found.judged
        assert found.outcome == r.outcome == outcome
        assert (c.needed.reason if c.needed else "") == "on average it misses its limit" * (outcome != "pass")
        assert (r.average is None) == (c.slow_runs is None) == (outcome == "pass")
        if r.average and c.slow_runs:
            assert r.average.value == pytest.approx(x.mean() / now.mean())
            assert c.slow_runs == pytest.approx((0.2, np.median(now[4::5]) / np.median(now)))


def test_decided_candidates_leave_the_race() -> None:
    """The clear one is proven and no longer measured; the others go on in the order drawn for all."""
    times = {"X": noisy(1.0, 1), "clear": noisy(0.5, 2), "close": noisy(1.0, 3)}
    bench = Bench({**times}, rules=until(max_blocks=40, max_time=None))
    clear, close = bench.session.run().findings
    assert (clear.verdict, clear.reason) == (Verdict.FASTER, "proven")
    assert close.verdict is Verdict.UNDECIDED
    assert bench.executor.calls.count("clear") < bench.executor.calls.count("close") == 40
    assert clear.result.alpha == pytest.approx(0.025)
    blocks = [[run.version for run in bench.runs if run.block == k] for k in range(40)]
    assert {len(names) for names in blocks} == {2, 3}
    for k, names in enumerate(blocks):
        drawn = block_order(("X", "clear", "close"), seed=7, benchmark=0, block=k)
        assert names == [name for name in drawn if name in names]


@pytest.mark.parametrize("untidy", [False, True])
def test_failure_stops_with_the_output(untidy: bool) -> None:
    """And with what a failed cleanup says."""
    bench = Bench({"X": 1.0, "Y": 1.0})
    bench.executor.fail, finish = {3: 1}, bench.executor.finish

    def finished(version: PlannedVersion) -> None:
        finish(version)
        if untidy:
            raise RunError(f"cleanup of {version.name}")

    bench.executor.finish = finished  # type: ignore[method-assign]
    told = r"(?s)exited with code 1; its output:.*broken.*ignore_failure=True"
    with pytest.raises(RunError, match=rf"{told}.*\ncleanup of X\ncleanup of Y$" if untidy else told):
        bench.session.run()
    assert [run.exit for run in bench.runs] == [0, 0, 0, 1]
    assert bench.lines[-1] == EndLine("s", "error")
    assert bench.executor.hooks[-2:] == ["finish X", "finish Y"]


def test_ignored_failures_leave_their_block_out_and_warn() -> None:
    bench = Bench({"X": 1.0, "Y": 1.0}, rules=until(max_blocks=20, margin=NEVER), ignore_failure=True)
    bench.executor.fail = {3: 1, 10: 2}
    outcome = bench.session.run()
    (finding,) = outcome.findings
    assert (finding.result.blocks, sum(tally.failed for tally in outcome.measured.tallies)) == (18, 2)
    assert all(tally.runs == 20 for tally in outcome.measured.tallies)
    expected = [f"{t.failed} of 20 runs of {t.version} failed" for t in outcome.measured.tallies if t.failed]
    assert [check.message.partition(":")[0] for check in finding.warnings] == expected
    assert not outcome.measured.fruitless


def test_a_run_without_the_deciding_metric_stops_the_session() -> None:
    """As a failure does: a minute of runs without a value would tell nothing. Ignored, they are counted."""
    bench, ignoring = (
        Bench({"X": 1.0, "Y": 1.0}, asked={"metric": "score"}, warmup=1 - ignored, ignore_failure=ignored)
        for ignored in (False, True)
    )
    told = r"(?s)'score' that decides; no score here; its output:\nbroken.*ignore_failure=True"
    with pytest.raises(RunError, match=told):
        bench.session.run()
    assert len(bench.runs) == 1
    outcome = ignoring.session.run()
    assert [(t.version, t.runs, t.lacking) for t in outcome.measured.tallies] == [
        ("X", 10, 10),
        ("Y", 10, 10),
    ]
    assert (outcome.findings[0].result.blocks, len(outcome.measured.fruitless)) == (0, 2)


def test_a_replaced_program_warns_that_a_later_session_keeps() -> None:
    rules = until(max_blocks=20)
    first = Bench({"X": 1.0, "Y": 1.0}, rules=rules, changed=lambda: [("b", "Y", "/bin/y")])
    outcome = first.session.run()
    assert outcome.measured.changed == {"b": ("Y",)}
    assert "the program of Y was replaced" in outcome.findings[0].warnings[0].message
    second = Bench({"X": 1.0, "Y": 1.0}, rules=until(max_blocks=25))
    second.session.recall([first.stored()])
    assert "the program of Y was replaced" in second.session.run().findings[0].warnings[0].message


def test_a_proof_that_later_runs_take_back_is_named() -> None:
    rules = stop_rules(min_blocks=12, max_blocks=12, max_time=None)
    first = Bench({"X": noisy(1.1, 1), "Y": noisy(1.0, 2)}, rules=rules)
    (before,) = first.session.run().findings
    assert (before.verdict, before.warnings) == (Verdict.FASTER, ())
    later, plan = (
        stop_rules(min_blocks=26, max_blocks=26, max_time=None),
        head(benchmark("X", "Y"), session="t"),
    )
    second = Bench({"X": noisy(1.0, 3), "Y": noisy(1.1, 4)}, rules=later, plan=plan)
    second.session.recall([first.stored()])
    (after,) = second.session.run().findings
    assert after.verdict is Verdict.UNDECIDED
    told = "faster was proven by 12 pairs; the runs since speak against it"
    assert told in [note.message for note in after.warnings]


def test_every_cleanup_is_tried_whatever_becomes_of_the_others() -> None:
    """One that fails, one that is interrupted itself: the rest still happens, and it is told."""
    bench = Bench({"X": 1.0, "Y": 1.0, "Z": 1.0})
    bench.executor.interrupt_at = 7
    finish = bench.executor.finish

    def failing(version: PlannedVersion) -> None:
        finish(version)
        if version.name == "X":
            raise KeyboardInterrupt
        if version.name == "Y":
            raise RunError("cleanup command 'rm' failed")

    bench.executor.finish = failing  # type: ignore[method-assign]
    outcome = bench.session.run()
    assert (bench.executor.hooks[-3:], outcome.measured.interrupted) == ([f"finish {v}" for v in "XYZ"], True)
    interrupted, failed = outcome.measured.unfinished
    assert interrupted.startswith("the cleanup of X was interrupted")
    assert failed == "cleanup command 'rm' failed"


@pytest.mark.parametrize(("ratio", "candidate", "asked", "told"), [
    (1.2, "Y", {}, True), (1 / 1.2, "Y", {}, True), (1.29, "Y", {}, True), (1.6, "Y", {}, False),
    (1 / 1.6, "Y", {}, False), (1.0, "Y", {}, False), (1.2, "Z", {}, False),
    (1.2, "Y", {"control": True}, False),
])  # fmt: skip
def test_what_the_layout_of_the_code_may_explain(
    ratio: float, candidate: str, asked: dict[str, Any], told: bool, tmp_path: Path
) -> None:
    """Of other executables below 1.3x, not where builds tell it; by session, review and file, which lacks them."""
    times: Times = {"X": noisy(ratio, 1, 0.005), "Y": noisy(1.0, 2, 0.005)}
    plan = replace(head(benchmark("X", "Y")), executables={"b": (candidate,)})
    bench, again = (
        Bench(t, rules=until(min_blocks=20, max_blocks=60), asked=asked, plan=plan) for t in (times, {})
    )
    (finding,) = bench.session.run().findings
    again.session.recall([bench.stored()])
    (reviewed,) = again.session.review().findings
    for found in (finding, reviewed):
        assert any("layout" in check.message for check in found.warnings) is told
    path = bench.save(tmp_path / "s.jsonl")
    for said in (speedproof("compare", str(path))[1], str(sp.gate(sp.read(path)))):
        assert " ".join(said.split()).count("run --builds tells code from layout") == (told or bool(asked)), (
            said
        )


def test_an_interrupt_at_the_last_look_keeps_the_verdict() -> None:
    """Ctrl-C while large programs are looked at again: measured is measured."""

    def interrupted() -> list[tuple[str, str, str]]:
        raise KeyboardInterrupt

    outcome = Bench({"X": noisy(1.3, 1), "Y": noisy(1.0, 2)}, changed=interrupted).session.run()
    assert outcome.measured.interrupted
    assert outcome.findings[0].verdict is Verdict.FASTER


def test_review_finds_what_the_session_found() -> None:
    """From the stored runs alone, failed ones among them, and why it ended then; it is not measured again."""
    bench = Bench({"X": noisy(1.05, 1), "Y": noisy(1.0, 2), "Z": noisy(0.8, 3)}, ignore_failure=True)
    bench.executor.fail = {3: 1, 4: 1, 9: 1}
    found = bench.session.run()
    again = Bench({"X": 1.0, "Y": 1.0, "Z": 1.0})
    again.session.recall([bench.stored()])
    review = again.session.review()
    told, before = (
        (
            [(f.candidate, f.verdict, f.result) for f in of.findings], of.measured.on_result,
            [(t.version, t.runs, t.failed) for t in of.measured.tallies],
        )
        for of in (review, found)
    )  # fmt: skip
    assert told == before
    assert sum(t.failed for t in review.measured.tallies) == 3
    assert not review.measured.interrupted
    assert [f.verdict for f in again.session.run().findings] == [f.verdict for f in found.findings]
    assert (again.runs, again.executor.hooks) == ([], [])


def test_what_was_measured_before_a_zero_can_be_reviewed() -> None:
    """The zero is left out, counted, and warns; ignored, measuring goes on."""
    times: Times = {"X": 1.0, "Y": lambda i: 0.0 if i == 4 else 0.5}
    bench = Bench(times, rules=until(min_blocks=30, max_time=None))
    with pytest.raises(RunError, match="'Y' has the value 0 of 'time', which decides: a speedup is a ratio"):
        bench.session.run()
    again = Bench({"X": 1.0, "Y": 1.0})
    again.session.recall([bench.stored()])
    (finding,) = again.session.review().findings
    assert finding.result.blocks == 4
    assert "1 of 5 runs of Y had no value of 'time' to compare" in finding.warnings[0].message
    ignoring = Bench(times, rules=until(min_blocks=12, max_blocks=12), ignore_failure=True)
    assert ignoring.session.run().findings[0].result.blocks == 11


def test_resumed_session_equals_an_unbroken_one() -> None:
    """Interrupted after any run and resumed: the evidence of all complete blocks, in orders that go on."""
    times = {"X": noisy(1.03, 1), "Y": noisy(1.0, 2)}
    whole = Bench(dict(times), rules=until(min_blocks=40, max_blocks=40, max_time=None))
    whole.session.run()
    first = Bench(dict(times), rules=until(max_blocks=40, max_time=None))
    first.executor.interrupt_at = 13
    first.session.run()
    second = Bench(dict(times), rules=until(max_blocks=40, max_time=None))
    assert second.session.recall([first.stored()]) == 6
    resumed = second.session.run().findings[0]
    calls = second.executor.calls
    assert calls == whole.executor.calls[14 : 14 + len(calls)]  # the block that was cut is begun
    race = SequentialComparison("b", ["X", "Y"], until())
    for runs in (first.runs[:12], second.runs):
        for i in range(0, len(runs), 2):
            race.add({r.version: r.metrics["time"] for r in runs[i : i + 2]})
    assert race.findings()[0].result == resumed.result
    assert race.blocks == 6 + len(second.runs) // 2


@pytest.mark.parametrize(("whole", "told"), [(8, "1 of 9 earlier blocks was cut short"), (9, "")])
def test_many_blocks_that_were_cut_are_told(whole: int, told: str) -> None:
    """More than a tenth: a session that ended within its ninth block, and one within its tenth."""
    bench, again = (Bench({"X": noisy(1.0, 1), "Y": noisy(1.0, 2)}) for _ in range(2))
    bench.executor.interrupt_at = 2 * whole + 1
    bench.session.run()
    assert again.session.recall([bench.stored()]) == whole
    (finding,) = again.session.review().findings
    assert [told in note.message for note in finding.warnings] == [True] * bool(told)


@pytest.mark.parametrize(("names", "most", "why"), [
    ("X", 1, "1 run was allowed"), ("X", 12, "12 runs were allowed"),
    ("XY", 12, "12 runs of each version were allowed"),
])  # fmt: skip
def test_runs_that_were_allowed(names: str, most: int, why: str) -> None:
    """Of a single version nothing is found."""
    bench = Bench(dict.fromkeys(names, 1.0), rules=until(min_blocks=1, max_blocks=most, margin=NEVER))
    outcome = bench.session.run()
    assert [reason for _, reason in outcome.measured.reasons] == [why]
    assert (len(outcome.findings), len(bench.runs)) == (len(names) - 1, most * len(names))
    assert (SequentialComparison("b", names, until()).certain == math.inf) is (names == "X")


def test_runs_are_stored_with_their_moments_and_shown() -> None:
    """In seconds from the start of the session, to the microsecond; whatever the clock showed then."""
    times: Times = {"X": 1 / 3, "Y": 2 / 7}
    bench = Bench(times, warmup=1, rules=stop_rules(min_blocks=5, max_blocks=5, max_time=None))
    bench.executor.clock.now += 55.5
    assert bench.run().findings[0].result.blocks == 5
    ends = np.cumsum([times[name] for name in bench.executor.calls]).tolist()
    assert [run.at for run in bench.runs] == [round(at, 6) for at in [0.0, *ends[:-1]]]
    assert [run.warmup for run in bench.runs] == [True] * 2 + [False] * 10
    assert [p.version for p in bench.seen] == bench.executor.calls
    assert [p.elapsed for p in bench.seen] == pytest.approx(ends)


def test_bounds_that_contradict_each_other_leave_no_verdict() -> None:
    """A little slower in most blocks and three times as fast in the others: proven both ways, so neither.

    Nor does a policy, though all bounds are on one side of its margin.
    """
    race = SequentialComparison("b", ["X", "Y"], until(min_blocks=10**6, demand=Demand(margin=0.005)))
    rng = np.random.default_rng(2)
    for _ in range(400):
        noise = np.exp(0.001 * rng.standard_normal(2))
        race.add({"X": float(noise[0]), "Y": float(noise[1]) * (0.3 if rng.random() < 0.3 else 1.01)})
    (finding,) = race.findings()
    assert finding.result.contradictory
    assert (finding.verdict, finding.outcome) == (Verdict.UNDECIDED, "undecided")
    assert math.isnan(finding.estimate)


@pytest.mark.parametrize(("asked", "repeats", "plan"), [
    ("plan", 2, built("X", "Y", count=8)), ("calibrate", 1, benchmark("X", "Y")),
])  # fmt: skip
def test_a_pilot_costs_what_its_runs_took(
    asked: str, repeats: int, plan: PlannedBenchmark, tmp_path: Path
) -> None:
    """Of runs of about half a second in a row; a warm-up, which takes nine, is none of them."""
    half, warm = noisy(0.5, 3), range(0, 99, 3 if asked == "plan" else 99)
    bench = Bench(
        dict.fromkeys("XY", lambda i: 9.0 if i in warm else half(i)), warmup=1, asked={"repeats": repeats},
        plan=replace(head(plan), options=options_stored(replace(Measuring(), **{asked: True}))),
        rules=stop_rules(min_blocks=8, max_blocks=8, max_time=None),
    )  # fmt: skip
    result = bench.run()
    found = json.loads(EndedSession(bench.save(tmp_path / "s.jsonl"), {"s"}, result).to_json(0))
    mean = np.mean([run.metrics["time"] for run in bench.runs if not run.warmup])
    if asked == "plan":
        assert found["plan"]["run_seconds"] == pytest.approx(mean)
        assert found["plan"]["build_seconds"] == sum(i * i for i in range(8)) / 8
    else:  # how many pairs of runs ten seconds allow
        assert found["calibration"]["provable"][0][:2] == [10.0, pytest.approx(10.0 / (2.0 * mean))]


@pytest.mark.parametrize(("programs", "left"), [
    ("sh sh sh", "abc"), ("sh none sh", "ac"), ("sh sh none", "ab"), ("none sh sh", ""), ("sh none none", "a"),
    ("sh none", "a"),
])  # fmt: skip
def test_a_revision_without_the_program_is_left_out(programs: str, left: str) -> None:
    """And told, but the reference, which all others need."""
    told: list[str] = []
    versions = tuple(PlannedVersion(name, (p,), p) for name, p in zip("abc", programs.split(), strict=False))
    with nullcontext() if left else pytest.raises(SpeedproofError, match="has no none"):
        found = present(PlannedBenchmark("b", versions), "", told.append)
        assert ("".join(v.name for v in found.versions), len(told)) == (left, len(versions) - len(left))


@pytest.mark.parametrize(("more", "given", "plan", "least", "most", "seconds"), [
    ({}, "", "XY", 10, None, 60), ({}, "", "X XY", 10, None, 120), ({}, "max_time", "XY XY", 10, None, 60),
    ({}, "", "X", 10, 30, 60), ({"min_runs": 40}, "", "X", 40, 40, 60), ({"min_runs": 9}, "", "X", 9, 30, 60),
    ({"max_runs": 7}, "", "XY", 7, 7, 60), ({"max_runs": 70}, "", "X", 10, 70, 60),
    ({"runs": 7}, "", "XY", 7, 7, None), ({"runs": 7}, "max_time", "XY XY", 7, 7, 60),
    *((more, "", "XY", builds, builds, None) for more, builds in (
        ({"builds": 8}, 8), ({"builds": 8, "runs": 3}, 8), ({"plan": True}, 3), ({"plan": True, "builds": 4}, 4))),
    ({"calibrate": True, "max_runs": 7}, "", "XY", 7, 7, 60),
    ({"calibrate": True}, "", "XY", sys.maxsize, None, 60),
])  # fmt: skip
def test_how_many_runs_and_how_long(
    more: dict[str, Any], given: str, plan: str, least: int, most: int | None, seconds: float | None
) -> None:
    """10 runs or more of each version, 30 of one alone; a minute for each benchmark, or what is given for all.

    Of every build 5 runs, and 3 builds for a plan.
    """
    asked = completed(Request(replace(Measuring(), **more), given=dict.fromkeys(given.split(), "")))
    question = question_of(asked, tuple(benchmark(*names, name=names) for names in plan.split()), {})
    rules = question.rules
    assert (rules.min_blocks, rules.max_blocks, rules.max_time) == (least, most, seconds)
    built = not more.keys().isdisjoint(("builds", "plan"))
    assert (question.repeats, rules.fixed) == (more.get("runs", 5) if built else 1, built)


@pytest.mark.parametrize(("more", "family"), [({}, 6), ({"unaffected": ("c*",)}, 4), ({"control": True}, 3)])
def test_a_policy_shares_its_risk_among_what_it_judges(more: dict[str, Any], family: int) -> None:
    """Two candidates of three benchmarks; not what cannot differ, nor the reference's second build."""
    asked = Request(replace(Measuring(gate=True), **more))
    plan = tuple(benchmark(*"XYZ", name=name) for name in "abc")
    question = question_of(asked, plan, {})
    assert (question.rules.family, "".join(question.unaffected)) == (family, "c" * ("unaffected" in more))
