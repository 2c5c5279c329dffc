"""Races of blocks: when a benchmark was measured enough, and the same answer wherever it is asked."""

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import astuple
from scipy import stats
from studies.sequential import sequence_of
from tests.command import speedproof
from tests.protocols.asking import stop_rules

import speedproof as sp
from speedproof.conclude.claims import Demand, Outcome, SessionQuestion, StopRules
from speedproof.conclude.looks import ALL_MEASURED, WORSE_ON_AVERAGE, SequentialComparison, mean_of_blocks
from speedproof.data.sample import above_zero
from speedproof.data.session_file import SCHEMA, Line, PlannedBenchmark, PlannedVersion, RunLine, SessionLine
from speedproof.errors import DataError, UsageError
from speedproof.options import Policy
from speedproof.protocols.in_blocks import forecast
from speedproof.protocols.results import Needed, Verdict


def test_what_is_asked_by_default() -> None:
    """docs/sequential.md: a verdict with a useful bound, of ten blocks at least, however many it takes."""
    rules = StopRules(0.05)
    assert astuple(rules) == (0.05, None, None, 10, None, None, False, None, False, 1, None)
    assert astuple(SessionQuestion(rules))[1:] == ("time", False, False, (), 1, ())
    assert Demand(margin=0.25).edges == (0.8,)


@pytest.mark.parametrize(("least", "most", "told"), [
    (0, None, "min_runs=0: at least 1"), (-1, 5, "min_runs=-1: at least 1"),
    (5, 4, "min_runs=5 and max_runs=4 leave nothing to measure"),
    (1, 0, "min_runs=1 and max_runs=0 leave nothing to measure"),
])  # fmt: skip
def test_blocks_that_cannot_be_measured(least: int, most: int | None, told: str) -> None:
    with pytest.raises(UsageError) as error:
        StopRules(0.05, min_blocks=least, max_blocks=most)
    assert str(error.value) == told


def race(rules: StopRules, ratios: list[float]) -> SequentialComparison:
    found = SequentialComparison("b", ["X", "Y"], rules)
    for k, ratio in enumerate(ratios):
        found.add({"X": (1.0 + 0.1 * (k % 3)) * ratio, "Y": 1.0 + 0.1 * (k % 3)})
    return found


def to_go(race: SequentialComparison) -> float:
    return race.findings()[0].blocks_to_go


def test_a_precision_takes_blocks_by_the_square_of_it() -> None:
    """The width shrinks with the root of the number of blocks: half of it takes four times as many in all."""
    rng = np.random.default_rng(3)
    ratios = np.exp(0.05 * rng.standard_normal(60)).tolist()

    def forecast(precision: float, count: int = 60) -> float:
        return to_go(race(stop_rules(precision=precision, min_blocks=count), ratios[:count]))

    width = race(stop_rules(precision=1e-9, min_blocks=61), ratios).findings()[0].result.precision
    for factor in (2.0, 3.0, 7.5):
        assert forecast(width / factor) == pytest.approx(60 * (factor**2 - 1), rel=1e-9)
    for found in (forecast(2 * width), to_go(race(stop_rules(precision=width, min_blocks=99), ratios))):
        assert found == 0.0
    assert [math.isnan(forecast(1e-3, count)) for count in (6, 9, 10)] == [True, True, False]


@pytest.mark.parametrize(("noise", "beyond"), [(0.02, False), (0.06, True)])
def test_a_precision_ends_a_race_where_it_is_reached(noise: float, beyond: bool) -> None:
    """From a hundred blocks on every second number of them is looked at, not the 153 at which it is reached."""
    x, y = np.exp(noise * np.random.default_rng(7).standard_normal((2, 300)))
    race = SequentialComparison("b", ["X", "Y"], stop_rules(precision=0.02))
    while race.open():
        race.add({"X": float(x[race.blocks]), "Y": float(y[race.blocks])})
    precisions = {
        n: sequence_of(x[:n], y[:n]).result().precision for n in range(race.blocks - 9, race.blocks + 1)
    }
    looked = [n for n in precisions if n % (1 + n // 100) == 0]
    assert next(n for n in looked if precisions[n] <= 0.02) == race.blocks
    assert (race.findings()[0].reason, race.blocks > 100) == ("the precision is reached", beyond)


@pytest.mark.parametrize("rules", [
    {}, {"margin": 0.03}, {"stop_at_proof": True, "min_blocks": 61}, {"demand": Demand(margin=0.02)},
    {"demand": Demand(Policy.PROVEN_IMPROVEMENT), "family": 9},
])  # fmt: skip
@pytest.mark.parametrize("level", [0.02, 0.0, -0.02])
def test_blocks_to_go_are_those_of_the_nearest_proof(rules: dict[str, Any], level: float) -> None:
    """That it differs or is the same, or of what a policy asks and denies; then of half the median difference.

    That ends a race: of the median and the Hodges-Lehmann estimate the larger, where no block lowered it.
    """
    x, y = np.exp(0.01 * np.random.default_rng(2).standard_normal((2, 60)) + [[level], [0.0]])
    asked, logs = stop_rules(**rules), np.log(x / y)
    compared, seen, before = SequentialComparison("b", ["X", "Y"], asked), set(), 0.0
    for n in range(1, 61):
        sequence = sequence_of(x[:n], y[:n])
        compared.add({"X": float(x[n - 1]), "Y": float(y[n - 1])})
        result, m = sequence.result(), asked.within
        edges, ended = [(asked.demand.edges[0] if asked.demand else 1.0, side) for side in (1, -1)], False
        if not (asked.demand or asked.stop_at_proof) and (result.faster or result.slower):
            side, middle = 1 if result.faster else -1, float(np.median(logs[:n]))
            edges = [(math.exp(middle / 2), side)]
            if n >= 10:
                most = max(side * middle, side * math.log(sequence.centre()))
                ended = side * middle >= before and sequence.rejects(math.exp(side * most / 2), side=side)
                before = max(side * middle, 0.0)
        elif m is not None:
            edges += [((1 + m) ** -side, side) for side in (1, -1)]
        ways = [sequence.blocks_to_go(gamma=gamma, side=side) for gamma, side in edges]
        told = [way for way in (*ways[:2], float(np.max(ways[2:] or [math.nan]))) if not math.isnan(way)]
        assert to_go(compared) == pytest.approx(
            min(told, default=math.nan) if compared.open() else 0.0, nan_ok=True
        )
        if not asked.demand:
            assert bool(compared.open()) is not (
                n >= asked.min_blocks and (ended or result.equivalent(m or 0.0))
            )
        seen |= {math.isnan(to_go(compared)), to_go(compared) > 0}
        if not compared.open():
            break
    assert seen == {True, False}


def test_a_bound_that_can_never_hold_half_is_not_waited_for() -> None:
    """Bounds bet on the worst that a reading may have been: 1.5 against 1.5 of a step that may be 1."""
    ended = []
    # Steps of 1 are known where 40 and 41 occur: the bound may come to 39.5 against 20.5.
    for x, y in ((2.0, 1.0), (40.0, 20.0)):
        race = SequentialComparison("b", ["X", "Y"], stop_rules())
        while race.open():
            race.add({"X": x + (x > 2) * (race.blocks % 2), "Y": y})
        ended.append(race.findings()[0])
    assert [(one.verdict, one.reason) for one in ended] == [(Verdict.FASTER, "proven")] * 2
    assert (ended[0].result.blocks, 2**0.5 <= ended[1].result.low <= 39.5 / 20.5) == (10, True)


@pytest.mark.parametrize("rules", [stop_rules(), stop_rules(quantile=0.5)])
def test_what_no_number_holds_ends_a_race_alike_of_either_side(rules: StopRules) -> None:
    """Times that are 1e600 times as long as others: as much is proven of what is faster and of what is slower."""
    ended = []
    for sides in ((1e300, 1e-300), (1e-300, 1e300)):
        race = SequentialComparison("b", ["X", "Y"], rules)
        while race.open() and race.blocks < 60:
            race.add(dict(zip("XY", (side * (1.0 + 0.1 * (race.blocks % 3)) for side in sides), strict=True)))
        (found,) = race.findings()
        ended.append((race.blocks, found.reason, found.blocks_to_go))
        assert 0.0 < found.estimate < math.inf
    assert ended[0] == ended[1]


def test_what_is_said_of_blocks_that_nobody_can_forecast() -> None:
    near, early = "so near the threshold that no number of runs can be named", "too early to say"
    for more, total, reason in ((math.inf, None, near), (math.nan, None, early), (3.2, 16, early)):
        assert forecast(12, more) == Needed(total, total, reason)


def test_a_number_of_blocks_that_is_reached_ends_a_race_whatever_was_found() -> None:
    ratios = [1.5 + k / 100 for k in range(10)]
    for most, reason, left in ((10, "", 0), (11, "proven", None)):
        found = race(stop_rules(max_blocks=most), ratios)
        assert (found.findings()[0].reason, found.left, found.stopped()) == (
            reason,
            left,
            ("Y",) * bool(reason),
        )
    alone = SequentialComparison("b", ["X"], stop_rules())
    alone.add({"X": 1.0})
    assert (alone.certain, alone.blocks, alone.runners, alone.findings()) == (math.inf, 1, ("X",), ())


@pytest.mark.parametrize("candidates", [1, 3])
def test_a_policy_that_the_mean_of_the_blocks_misses_is_not_met(candidates: int) -> None:
    """Every fifth block is slower: Student's t test of the logarithms withholds a pass at a candidate's risk."""
    rng, seen = np.random.default_rng(6), set()
    noise = 0.02 * rng.standard_normal(60)
    for spike in np.linspace(0.0, 0.4, 9):
        logs = noise - spike * (np.arange(60) % 5 == 2)
        race = SequentialComparison(
            "b", "ABCD"[: candidates + 1], stop_rules(demand=Demand(margin=0.03), min_blocks=61)
        )
        for d in logs.tolist():
            race.add({"A": math.exp(d)} | dict.fromkeys("BCD", 1.0))
        p = stats.ttest_1samp(logs, -math.log(1.03), alternative="less").pvalue
        assert mean_of_blocks(logs).pvalue(-math.log(1.03), less=True) == pytest.approx(p)
        found = race.findings()[-1]
        assert found.result.low > 1 / 1.03
        expected = p <= 0.05 / candidates
        assert (found.outcome, found.reason) == (
            ("undecided", WORSE_ON_AVERAGE) if expected else ("pass", "")
        )
        seen.add(expected)
    assert seen == {True, False}


@pytest.mark.parametrize("speedup", [1.0, 1.01, 1.05, 1 / 1.05])
@pytest.mark.parametrize("rules", [
    {"stop_at_proof": True}, {"margin": 0.03, "stop_at_proof": True}, {"precision": 0.01},
    {"demand": Demand(margin=0.02)}, {"demand": Demand(margin=0.02), "family": 20},
    {"quantile": 0.5, "stop_at_proof": True},
])  # fmt: skip
def test_a_candidate_ends_as_if_every_block_were_looked_at(speedup: float, rules: dict[str, Any]) -> None:
    """At the first number of blocks that ends one looked at then alone; before, it says that it will not."""
    for candidates in (1, 2):
        runs = np.exp(0.02 * np.random.default_rng(3).standard_normal((50, 1 + candidates)))
        runs[:, 0] *= speedup
        names = "XYZ"[: 1 + candidates]
        blocks = [dict(zip(names, row, strict=True)) for row in runs.tolist()]
        race = SequentialComparison("b", names, stop_rules(min_blocks=5, **rules))
        for n, block in enumerate(blocks, 1):
            certain = race.certain
            assert certain >= 1
            race.add(block)
            once = SequentialComparison("b", names, stop_rules(min_blocks=n, **rules))
            for earlier in blocks[:n]:
                once.add(earlier)
            still = names[1:] if n < 5 else once.open()
            assert race.open() == tuple(still)
            assert certain == 1 or race.open() == tuple(names[1:])
            if len(race.open()) < candidates:
                break


@pytest.mark.parametrize(("n", "level", "agreed"), [(60, 0.05, True), (28, 0.05, True), (28, 0.004, False)])
def test_skewed_blocks_are_told_alike_of_either_side(n: int, level: float, agreed: bool) -> None:
    """Exchanged sides give the same words; where mean and median agree, p = 0.03 is not enough for any."""
    rng = np.random.default_rng(12)
    skewed = rng.exponential(0.02, 60)[:n]
    ratios = np.exp(skewed - np.median(skewed) + (level if agreed else -level))
    told = []
    for x, y in ((ratios, np.ones(n)), (np.ones(n), ratios)):
        race = SequentialComparison("sort", ("X", "Y"), stop_rules(max_blocks=60))
        for one, other in zip(x.tolist(), y.tolist(), strict=True):
            race.add({"X": one, "Y": other})
        told.append([check.message for check in race.warnings("Y")])
    assert told[0] == told[1]
    assert ["agree on who is faster" in one for one in told[0]] == [agreed] * (n == 60 or not agreed)


@pytest.mark.parametrize("family", [1, 4])
def test_a_gate_over_a_fixed_number_of_blocks_is_wilcoxons(family: int) -> None:
    """It passes at the risk, and fails at the benchmark's part of it, against the margin's end; of rates, too."""
    rng, seen = np.random.default_rng(family), set()
    demand = Demand(margin=0.02)
    rules = stop_rules(alpha=0.1, min_blocks=14, max_blocks=14, fixed=True, demand=demand, family=family)
    for shift in np.linspace(-0.07, 0.03, 21):
        logs = shift + 0.02 * rng.standard_normal(14)
        for higher in (False, True):
            race = SequentialComparison("b", ["X", "Y"], rules, metric="rate", higher_is_better=higher)
            for d in logs.tolist():
                assert race.open() == ("Y",)
                race.add({"X": math.exp(-d if higher else d), "Y": 1.0})
            (found,) = race.findings()
            kept, lost = (
                stats.wilcoxon(logs + math.log(1.02), alternative=side, method="exact").pvalue
                for side in ("greater", "less")
            )
            assert (found.reason, race.open()) == (ALL_MEASURED, ())
            assert found.outcome != "pass" or kept <= 0.1
            assert found.outcome != "fail" or lost <= 0.1 / family
            assert found.outcome == ("pass" if kept < lost else "fail") or min(kept, lost) > 0.01
            seen.add(found.outcome)
    assert seen == set(Outcome)


@pytest.mark.parametrize(
    "rules", [stop_rules(), stop_rules(precision=0.05), stop_rules(margin=0.05), stop_rules(quantile=0.75)]
)
def test_a_race_of_rates_is_one_of_times_with_the_sides_changed(rules: StopRules) -> None:
    """After every block; a value of 0 is refused with its place, and a candidate that is dropped says why."""
    rng = np.random.default_rng(3)
    times = SequentialComparison("sort", ["X", "Y"], rules, metric="rate")
    rates = SequentialComparison("sort", ["X", "Y"], rules, metric="rate", higher_is_better=True)
    for x, y in np.exp(0.03 * rng.standard_normal((30, 2)) + [0.05, 0.0]).tolist():
        if rules.quantile is not None:  # of rates, of the time that one takes: of powers of two exactly
            x, y = (2.0 ** round(100 * math.log(value)) for value in (x, y))
        times.add({"X": x, "Y": y})
        rates.add({"X": 1 / x, "Y": 1 / y} if rules.quantile is not None else {"X": y, "Y": x})
        assert (repr(times.findings()), times.stopped()) == (repr(rates.findings()), rates.stopped())
    with pytest.raises(DataError, match=r"sort, Y against X, rate: .*decide by a metric"):
        times.add({"X": 1.0, "Y": 0.0})
    rates.drop("Y", "it failed")
    assert rates.open() == ()


GZIP = Path(__file__).parents[2] / "examples" / "gzip" / "session.jsonl"
VERSIONS = (PlannedVersion("old", ("a",), "a"), PlannedVersion("new", ("b",), "b"))


def session(name: str = "s", **more: object) -> SessionLine:
    benchmarks = (PlannedBenchmark("b", VERSIONS, {}),)
    return SessionLine(SCHEMA, name, "2026-01-01T00:00:00+00:00", 1, benchmarks, **more)  # type: ignore[arg-type]


def run(version: str, block: int, seconds: float, name: str = "s", **more: object) -> RunLine:
    return RunLine(name, "b", version, block, 0, 0.0, {"time": seconds}, **more)  # type: ignore[arg-type]


def write(path: Path, *lines: Line) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path


def blocks(count: int, speedup: float, seed: int = 1) -> list[tuple[float, float]]:
    noise = np.exp(0.05 * np.random.default_rng(seed).standard_normal((count, 2)))
    return [(x * speedup, y) for x, y in noise.tolist()]


def runs(pairs: list[tuple[float, float]], name: str = "s", metric: str = "time") -> list[RunLine]:
    return [
        RunLine(name, "b", v, i, 0, 0.0, {"time": 1.0, metric: t})
        for i, both in enumerate(pairs)
        for v, t in zip(("old", "new"), both, strict=True)
    ]


def answer(path: Path) -> tuple[str, float, float, float, float]:
    c = sp.compare_suite(sp.read(path), protocols=["typical"]).results[0].headlines[0]
    return c.verdict.value, c.speedup.value, c.speedup.low, c.speedup.high, c.pvalue


def twin(pairs: list[tuple[float, float]]) -> tuple[float, float, float, float]:
    sequence = sequence_of([x for x, _ in pairs], [y for _, y in pairs])
    result = sequence.result()
    return sequence.estimate(), result.low, result.high, result.pvalue_faster


@pytest.mark.parametrize("speedup", [1.0, 1.1, 0.8])
def test_a_file_is_answered_by_its_blocks(tmp_path: Path, speedup: float) -> None:
    """Against the sequence of the blocks, put together by hand: runs stand in any order within a block."""
    pairs = blocks(40, speedup)
    lines: list[Line] = []
    for i, (x, y) in enumerate(pairs):
        both = [run("old", i, x), run("new", i, y)]
        lines += both if i % 3 else both[::-1]
    found = answer(write(tmp_path / "s.jsonl", session(), *lines))
    assert found[1:] == pytest.approx(twin(pairs), rel=1e-12)


def test_only_whole_blocks_of_all_sessions_count(tmp_path: Path) -> None:
    """One of which a run failed or never came is in no pair; a session that went on has blocks of its own."""
    first, second = blocks(30, 1.2), blocks(12, 1.1, 3)
    lines: list[Line] = [session(), *runs(first)[:-1], session("t", resumes=("s",)), *runs(second, "t")]
    lines[9] = run("old", 4, first[4][0], exit=1)
    kept = [pair for i, pair in enumerate(first[:-1]) if i != 4]
    assert answer(write(tmp_path / "s.jsonl", *lines))[1:] == pytest.approx(twin(kept + second), rel=1e-12)


def test_a_number_of_runs_that_was_fixed_is_tested_once(tmp_path: Path) -> None:
    """As the same values in a file that knows no blocks; one run fewer, and it may have been stopped."""
    pairs = blocks(20, 1.1)
    head = session(options={"runs": "20"})
    lines = runs(pairs)
    plain = sp.Suite.of_samples(
        {"b": {v: sp.sample([p[k] for p in pairs], unit="s") for k, v in enumerate(("old", "new"))}}
    )
    fixed = sp.compare_suite(plain, protocols=["typical"]).results[0].headlines[0]
    found = answer(write(tmp_path / "s.jsonl", head, *lines))
    assert found[1] == pytest.approx(fixed.speedup.value, rel=1e-12)
    assert found[1:] != pytest.approx(twin(pairs), rel=1e-6)
    cut = answer(write(tmp_path / "t.jsonl", head, *lines[:-2]))
    assert cut[1:] == pytest.approx(twin(pairs[:-1]), rel=1e-12)


def test_every_command_shows_the_same_of_a_session() -> None:
    """The sheet of run --review, of a real session, is that of compare."""
    sheet, again = (
        text.splitlines() for _, text, _ in (speedproof("compare", GZIP), speedproof("run", "--review", GZIP))
    )
    assert sheet[:12] == again[:12]


def test_equal_versions_are_the_same_in_a_file_as_in_its_session(tmp_path: Path) -> None:
    """Within 1 % without a margin; of one that is asked for, that."""
    noise = np.exp(0.01 * np.random.default_rng(1).standard_normal((200, 2))).tolist()
    suite = sp.read(write(tmp_path / "s.jsonl", session(), *runs(noise)))
    low, high = twin([(x, y) for x, y in noise])[1:3]
    assert 1 / 1.01 < low < high < 1.01
    found = sp.compare_suite(suite)
    assert str(found).startswith("new and old are the same within 1 %")
    assert [r.verdict.value for r in sp.compare_suite(suite, margin=0.001)] == ["undecided"]
    (at,) = [c.at_margin for c in sp.compare_suite(suite, margin=0.01).result.headlines if c.at_margin]
    assert max(at.not_worse, at.not_better) <= 0.05 < min(at.worse, at.better)
    path = str(tmp_path / "s.jsonl")
    assert speedproof("run", "--review", path)[1].splitlines()[0] == str(found).splitlines()[0]


@pytest.mark.parametrize("count", [10, 12])
def test_candidates_show_the_confidence_of_their_bounds(tmp_path: Path, count: int) -> None:
    """Two candidates share a risk of 1 %: bounds hold at 99.5 %, and no proven row lacks its bound or a word."""
    names = ("old", "much", "more")
    versions = tuple(PlannedVersion(name, (name,), name) for name in names)
    head = SessionLine(SCHEMA, "s", "2026-01-01T00:00:00+00:00", 1, (PlannedBenchmark("b", versions, {}),))
    noise = np.exp(0.05 * np.random.default_rng(1).standard_normal((count, 3)))
    lines = [
        run(name, i, factor * float(e))
        for i, errors in enumerate(noise)
        for name, factor, e in zip(names, (1.0, 2.0, 1.6), errors, strict=True)
    ]
    path = str(write(tmp_path / "s.jsonl", head, *lines))
    asked = ["run", "--review", path, "--alpha", ".01"]
    out, results = speedproof(*asked)[1], json.loads(speedproof(*asked, "--json")[1])["results"]
    assert "(typical run, 99.5 %)" in out.splitlines()[0]
    heads = [c for result in results for c in result["comparisons"] if c["protocol"] == "typical"]
    for c in heads:
        assert (c["alpha"], c["speedup"]["confidence"]) == (0.005, 0.995)
        row = next(line for line in out.splitlines() if c["candidate"]["label"] in line.split())
        assert ("size not proven" in row) == (c["verdict"] == "slower" and c["speedup"]["high"] is None)
    # Of versions that are measured as often as each other the medians are those of the same blocks.
    unequal = str(
        write(tmp_path / "more.jsonl", head, *lines, run("old", count, 1.0), run("much", count, 2.0))
    )
    for file, said in ((path, False), (unequal, True)):
        assert ("medians of all runs" in speedproof("compare", file)[1]) is said
    compared = json.loads(speedproof("compare", path, "--confidence", ".99", "--json")[1])["results"]
    rows = [c for r in compared for c in r["comparisons"] if c["protocol"] == "typical"]
    told = ("alpha", "verdict", "speedup", "pvalue", "needed")
    assert [{k: c.get(k) for k in told} for c in rows] == [{k: c.get(k) for k in told} for c in heads]


def test_a_clock_that_has_not_moved_is_below_its_unit(tmp_path: Path) -> None:
    """Zeros of user time are in their blocks, as half a microsecond; a session does not end for one."""
    times = np.round(0.008 * np.exp(0.1 * np.random.default_rng(3).standard_normal((60, 2))), 6)
    times[[5, 20], [0, 1]] = 0.0
    path = write(tmp_path / "s.jsonl", session(), *runs(times.tolist(), metric="user"))
    (head,) = sp.compare_suite(sp.read(path), metric="user", protocols=["typical"]).results[0].headlines
    filled = [(x or 5e-7, y or 5e-7) for x, y in times.tolist()]
    assert head.speedup.value == pytest.approx(twin(filled)[0])
    assert above_zero(0.0, 1.0) == 0.0  # a metric of one's own may mean it
    race = SequentialComparison("b", ["old", "new"], StopRules(0.05), metric="user")
    for x, y in times.tolist():
        race.add({"old": x, "new": y})
    assert race.findings()[0].result.low == pytest.approx(head.speedup.low)
