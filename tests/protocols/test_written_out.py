"""Parts of the protocols written out: the noise floor by SciPy, forecasts, plans, what a suite leaves out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from tests.protocols.asking import plan_runs, stop_rules
from tests.protocols.test_symmetries import pairs, same

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Pairing, Record, Suite
from speedproof.errors import DataError
from speedproof.options import Multiplicity, QuestionName
from speedproof.protocols.claims import Demand, Outcome, overall
from speedproof.protocols.gate import GateRow, GateRules, gate
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import answers
from speedproof.protocols.results import Comparison, State, Verdict
from speedproof.protocols.sequential import SequentialComparison
from speedproof.protocols.stopping import StopRules
from speedproof.protocols.suite import compare_suite
from speedproof.stats.allocation import variance_components
from speedproof.stats.fixed_pairs import FixedPairs, blocks_needed
from speedproof.stats.sequential import SequentialResult
from speedproof.stats.session_spread import SessionSpread
from speedproof.stats.signed_rank import signed_rank

SPREADS = {
    "narrow": SessionSpread(1e-6, 9.0, 1e-9, 5),
    "wide": SessionSpread(2e-3, 4.5, 1e-4, 0),
    "explained": SessionSpread(3e-4, 30.0, 2.9e-4, 12),
}


def why(row: GateRow) -> str:
    needed = row.comparison.needed
    return needed.reason if needed else ""


def held(c: Comparison, spread: SessionSpread) -> dict[str, float]:
    """By definition: the error of sessions joins that of the runs, as the bounds tell it."""
    alpha, ratio = c.alpha, c.speedup.value
    at = math.log(ratio)
    share = 1.0 + 1.0  # one session a side
    reach = float(stats.t.ppf(1 - alpha, c.reference.n + c.candidate.n - 2))

    def error(end: float) -> float:
        if end in (0.0, math.inf):
            return math.inf
        runs = ((math.log(end) - at) / reach) ** 2
        more = max(runs - share * min(spread.within, spread.variance), 0.0)
        return math.sqrt(share * spread.variance + more)

    down, up = error(c.speedup.low), error(c.speedup.high)

    def p(gap: float, scale: float) -> float:
        return 1.0 if math.isinf(scale) else float(stats.t.sf(gap / scale, spread.degrees))

    t = float(stats.t.ppf(1 - alpha, spread.degrees))
    found = {
        "pvalue": max(c.pvalue, p(at, down)),
        "pvalue_slower": max(c.pvalue_slower, p(-at, up)),
        "low": min(c.speedup.low, 0.0 if math.isinf(down) else math.exp(at - t * down)),
        "high": max(c.speedup.high, math.inf if math.isinf(up) else math.exp(at + t * up)),
        "reach": math.expm1(t * math.sqrt(share * spread.variance)),
    }
    if c.at_margin is not None:
        edge, m = math.log1p(c.at_margin.margin), c.at_margin
        found["not_worse"] = max(m.not_worse, p(at + edge, down))
        found["worse"] = max(m.worse, p(-at - edge, up))
        found["not_better"] = max(m.not_better, p(edge - at, up))
        found["better"] = max(m.better, p(at - edge, down))
        both = max(found["not_worse"], found["not_better"])
        found["equivalent"] = math.nan if math.isnan(m.equivalent) else both
    return found


@pytest.mark.slow
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("protocol", ["typical", "mean", "median"])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_noise_floor(protocol: str, spread: str, alpha: float) -> None:
    """Of sides of one session each; several sessions a side and what has no test stay as they are."""
    floor = NoiseFloor("store", {}, {Key("").metric: SPREADS[spread]})
    own = [pair for pair in pairs() if pair.key.benchmark not in ("paired", "zeros")]
    plain = answers(protocol, PreparedPairs(own, Rules(alpha, margin=0.05)))
    found = answers(protocol, PreparedPairs(own, Rules(alpha, margin=0.05, floor=floor)))
    told = 0
    for before, after in zip(plain, found, strict=True):
        if math.isnan(before.pvalue):
            same(before, after)
            continue
        told += 1
        expected = held(before, SPREADS[spread])
        assert after.floor is not None
        assert after.at_margin is not None
        given = {
            "pvalue": after.pvalue,
            "pvalue_slower": after.pvalue_slower,
            "low": after.speedup.low,
            "high": after.speedup.high,
            "reach": after.floor.reach,
            **{name: getattr(after.at_margin, name) for name in expected if hasattr(after.at_margin, name)},
        }
        for name, value in expected.items():
            assert given[name] == pytest.approx(value, rel=1e-8, abs=1e-12, nan_ok=True), name
        assert after.floor.deviation == pytest.approx(math.sqrt(SPREADS[spread].variance))
        assert (after.floor.degrees, after.floor.sessions) == (
            SPREADS[spread].degrees,
            SPREADS[spread].sessions,
        )
        if after.at_margin.equivalent <= alpha:
            assert after.verdict is Verdict.EQUIVALENT
        else:
            faster, slower = after.pvalue <= alpha, after.pvalue_slower <= alpha
            assert after.verdict is (
                Verdict.FASTER if faster else Verdict.SLOWER if slower else Verdict.UNDECIDED
            )
        assert (after.state is State.SIGNIFICANT) == (after.pvalue <= alpha)
        if before.highest_confidence is not None and after.highest_confidence is not None:
            kept = [
                (max(low, after.pvalue), high)
                for low, high, *_ in before.highest_confidence.intervals
                if high > after.pvalue
            ]
            assert [(low, high) for low, high, *_ in after.highest_confidence.intervals] == kept
    assert told >= 8


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
    ratios = np.exp(0.05 * rng.standard_normal(200)).tolist()
    width = race(stop_rules(precision=1e-9), ratios).findings()[0].result.precision
    for factor in (2.0, 3.0, 7.5):
        found = to_go(race(stop_rules(precision=width / factor), ratios))
        assert found == pytest.approx(200 * (factor**2 - 1), rel=1e-9)
    assert to_go(race(stop_rules(precision=2 * width), ratios)) == 0.0
    assert math.isnan(to_go(race(stop_rules(precision=1e-3), ratios[:9])))


def test_forecasts_of_the_way_that_ends_first() -> None:
    """To a verdict on either side, or to equivalence, of which both bounds have to be there."""
    rng = np.random.default_rng(4)
    for shift, margin in itertools.product((0.0, 0.004, -0.004), (None, 0.005, 0.02)):
        ratios = np.exp(shift + 0.03 * rng.standard_normal(30)).tolist()
        found = race(stop_rules(margin=margin), ratios)
        sequence = found._sequences["Y"]
        if found.findings()[0].verdict is not Verdict.UNDECIDED:
            continue
        ways = [sequence.blocks_to_go(gamma=1.0, side=side) for side in (1, -1)]
        if margin is not None:
            above = sequence.blocks_to_go(gamma=1 / (1 + margin), side=1)
            ways.append(max(above, sequence.blocks_to_go(gamma=1 + margin, side=-1)))
        assert to_go(found) == min(ways)
        gate = race(stop_rules(demand=Demand(margin=0.05), family=3), ratios)
        if not gate.findings()[0].reason:
            gamma = 1 / 1.05
            expected = min(gate._sequences["Y"].blocks_to_go(gamma=gamma, side=side) for side in (1, -1))
            assert to_go(gate) == expected


def test_a_fixed_number_of_blocks_forecasts_a_larger_session() -> None:
    """The blocks that a signed-rank test of this effect takes, less those there are; one at least."""
    rng = np.random.default_rng(5)
    for shift in (0.005, 0.01, 0.02, 0.2):
        d = shift + 0.04 * rng.standard_normal(24)
        pairs_ = FixedPairs(alpha=0.05)
        for value in d.tolist():
            pairs_.add(math.exp(value), 1.0)
        assert math.isnan(pairs_.blocks_to_go(side=1))
        pairs_.close()
        spread = float(pairs_._rows[1, 23])
        for side in (1, -1):
            effect = side * math.log(pairs_.centre())
            if effect <= 0:
                assert pairs_.blocks_to_go(side=side) == math.inf
                continue
            whole = blocks_needed(effect / spread, alpha=0.05)
            assert pairs_.blocks_to_go(side=side) == pytest.approx(max(whole - 24, 1.0))
        low = pairs_.result().low
        assert pairs_.result().ties == 0
        if low > 0:
            assert signed_rank(d - math.log(low) + 1e-9).pvalue_positive <= 0.05
            assert signed_rank(d - math.log(low) - 1e-9).pvalue_positive > 0.05


def test_blocks_needed_by_the_normal_formula() -> None:
    """Guenther's (1981) correction, for ranks pi / 3 as many; 2^-n has to reach the risk."""
    for effect, alpha, power in itertools.product((0.2, 0.5, 1.0, 9.0), (0.05, 0.001), (0.8, 0.95)):
        z = stats.norm.ppf([1 - alpha, power])
        plain = (z.sum() / effect) ** 2 + z[0] ** 2 / 2
        expected = max(plain * math.pi / 3, math.log2(1 / alpha))
        assert blocks_needed(effect, alpha=alpha, power=power) == pytest.approx(expected, rel=1e-9)
    assert blocks_needed(0.3, alpha=0.05) == blocks_needed(0.3, alpha=0.05, power=0.8)
    assert blocks_needed(0.0, alpha=0.05) == blocks_needed(-1.0, alpha=0.05) == math.inf


def naive_components(values: np.ndarray) -> list[float]:
    """Of three levels, in loops."""
    within = np.mean([np.var(values[i, j], ddof=1) for i in range(4) for j in range(3)])
    processes = np.mean([np.var([values[i, j].mean() for j in range(3)], ddof=1) for i in range(4)])
    builds = np.var([values[i].mean() for i in range(4)], ddof=1)
    return [max(builds - processes / 3, 0.0), max(processes - within / 5, 0.0), float(within)]


def test_components_of_unequal_numbers() -> None:
    rng = np.random.default_rng(6)
    for _ in range(5):
        values = (
            rng.standard_normal((4, 1, 1))
            + rng.standard_normal((4, 3, 1))
            + 2 * rng.standard_normal((4, 3, 5))
        )
        assert variance_components(values) == pytest.approx(naive_components(values))


def test_a_plan_written_out() -> None:
    """Two versions, 12 builds of 4 runs: spreads in logarithms, costs of both versions, medians of the runs."""
    rng = np.random.default_rng(7)
    pilot = [
        np.exp(0.02 * rng.standard_normal((12, 1)) + 0.03 * rng.standard_normal((12, 4))) for _ in range(2)
    ]
    plan = plan_runs(pilot, 30.0, 0.5, alpha=0.01)
    parts = np.mean([variance_components(np.log(v)) for v in pilot], axis=0)
    assert (plan.between, plan.within) == pytest.approx(tuple(np.sqrt(parts)))
    assert (plan.builds, plan.runs, plan.build_seconds, plan.run_seconds, plan.alpha) == (
        12,
        4,
        30.0,
        0.5,
        0.01,
    )
    assert plan.runs_per_build > 2
    spread = math.sqrt(2 * (parts[0] + math.pi / 2 * parts[1] / plan.runs_per_build))
    assert [size.speedup for size in plan.sizes] == [1.05, 1.02, 1.01, 1.005]
    for size in plan.sizes:
        builds = max(math.ceil(blocks_needed(math.log(size.speedup) / spread, alpha=0.01)), 10)
        assert size.builds == builds
        assert size.building == 2 * builds * 30.0
        assert size.measuring == 2 * builds * plan.runs_per_build * 0.5
    still = plan_runs([np.ones((3, 2)), np.ones((2, 5))], 1.0, 1.0)
    assert (still.builds, still.runs, [size.builds for size in still.sizes]) == (2, 2, [10] * 4)


@pytest.mark.parametrize("short", [(1, 4), (4, 1)])
@pytest.mark.parametrize("side", [0, 1])
def test_a_plan_needs_two_of_everything(short: tuple[int, int], side: int) -> None:
    """Of either side."""
    pilot = [np.ones((4, 4)), np.ones((4, 4))]
    pilot[side] = np.ones(short)
    with pytest.raises(DataError, match="two builds of each version and two runs of each"):
        plan_runs(pilot, 1.0, 1.0)


def test_a_suite_tells_what_one_side_lacks_of_its_own_metric() -> None:
    rng = np.random.default_rng(8)

    def record(name: str, metric: str) -> Record:
        return Record(name, 10 + rng.standard_normal(8), metric=metric)

    suite = Suite.from_records(
        [("old", record(b, m)) for b, m in (("a", "time"), ("b", "time"), ("c", "memory"), ("a", "memory"))]
        + [("new", record(b, m)) for b, m in (("a", "time"), ("d", "time"), ("e", "memory"), ("a", "memory"))]
    )
    for metric, lacks in (("time", ("b", "d")), ("memory", ("c", "e"))):
        found = compare_suite(suite.pair("old", "new"), ("old", "new"), metric, Rules())
        assert (found.only_reference, found.only_candidate) == ((lacks[0],), (lacks[1],))


def test_what_is_counted_over_a_suite_leaves_out_single_runs() -> None:
    """Shares and controlled verdicts are of speedups; of one benchmark nothing is controlled, of none counted."""
    rng = np.random.default_rng(9)
    own = [Pair(Key(k), Sample(rng.normal(11, 1, 9)), Sample(rng.normal(10, 1, 9))) for k in "abc"]
    asked: tuple[QuestionName, ...] = ("typical", "single run", "mean")
    both = ["typical", "mean"]
    for count, told, controlled in ((3, both, both), (1, both, []), (0, [], [])):
        found = compare_suite(
            Pairing(tuple(own[:count]), (), (), ()), ("x", "y"), Key("").metric, Rules(), asked
        )
        assert [protocol for protocol, _ in found.accelerated] == told
        assert {c.protocol for c in found.controlled} == set(controlled)
        assert (found.geometric_means is not None) == (count > 1)
        assert [c.protocol for c in found.comparisons] == list(asked) * count


@pytest.mark.parametrize("asked", [("typical",), ("typical", "single run", "mean")])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_suite_tells_its_caller_of_each_benchmark_once(
    monkeypatch: pytest.MonkeyPatch, count: int, asked: tuple[QuestionName, ...]
) -> None:
    """However many questions are asked of it, and however many benchmarks are looked at together."""
    monkeypatch.setattr("speedproof.protocols.suite._AT_A_TIME", 2)
    own = [Pair(Key(str(i)), Sample(np.arange(3.0, 9.0)), Sample(np.arange(2.0, 8.0))) for i in range(count)]
    told: list[int] = []
    found = compare_suite(
        Pairing(tuple(own), (), (), ()),
        ("x", "y"),
        Key("").metric,
        Rules(),
        asked,
        done=lambda: told.append(1),
    )
    assert len(told) == count
    assert len(found.comparisons) == count * len(asked)


@pytest.mark.parametrize("ratio", [1.01, 1 / 1.01])
def test_what_is_proven_equivalent_is_so_though_a_difference_is_proven_too(ratio: float) -> None:
    """Without noise both bounds are at 1.01: within 5 %, beyond 1, and no longer within half a per cent."""
    for margin, expected in ((0.05, Verdict.EQUIVALENT), (0.005, None), (None, None)):
        found = race(stop_rules(margin=margin), [ratio] * 30)
        decided = Verdict.FASTER if ratio > 1 else Verdict.SLOWER
        assert found.findings()[0].verdict is (expected or decided)
        assert (found.findings()[0].result.pvalue_faster <= 0.05) == (ratio > 1)


def test_a_margin_has_its_inverse_below() -> None:
    """A quarter more, and four fifths: 1 / 1.25; strictly within, and only where no bound contradicts another."""
    assert Demand(margin=0.25).edges == (0.8,)
    for low, high, expected in (
        (0.81, 1.24, True),
        (0.78, 1.1, False),
        (0.8, 1.1, False),
        (0.9, 1.25, False),
        (0.9, 1.26, False),
        (1.1, 1.05, False),
    ):
        result = SequentialResult(30, 0, 0.05, low, high, 0.0, 0.0, 1.0, 1.0)
        assert result.equivalent(0.25) is expected
        assert result.contradictory is (low > high)
    for p, q, found in (
        (0.05, 1.0, (True, False)),
        (1.0, 0.05, (False, True)),
        (0.0501, 0.0501, (False, False)),
    ):
        result = SequentialResult(30, 0, 0.05, 0.9, 1.1, 0.0, 0.0, p, q)
        assert (result.faster, result.slower) == found
    assert SequentialResult(30, 0, 0.05, 0.0, 1.1, 0.0, 0.0, 1.0, 1.0).precision == math.inf
    assert SequentialResult(30, 0, 0.05, 0.8, 1.25, 0.0, 0.0, 1.0, 1.0).precision == pytest.approx(0.25)


def test_a_gate_corrects_for_those_that_were_decided_before() -> None:
    """Holm over the whole family: of one benchmark that is left of ten the p-value counts ten times."""
    rng = np.random.default_rng(10)
    x, y = 10 + 0.2 * rng.standard_normal(8), 10.55 + 0.2 * rng.standard_normal(8)
    suite = Suite.from_records([("old", Record("b", x)), ("new", Record("b", y))])

    def held_to(family: int, multiplicity: Multiplicity = "holm") -> GateRow:
        rules = GateRules(family=family, multiplicity=multiplicity)
        return gate(suite, ("old", "new"), lambda _: Demand(margin=0.02), rules).rows[0]

    alone = held_to(0).contradicted
    assert alone.adjusted == alone.pvalue
    assert 0.05 / 400 < alone.pvalue < 0.05 / 10
    for family, outcome in ((1, Outcome.FAIL), (10, Outcome.FAIL), (400, Outcome.UNDECIDED)):
        row = held_to(family)
        assert row.contradicted.pvalue == alone.pvalue
        assert row.contradicted.adjusted == pytest.approx(min(1.0, family * alone.pvalue))
        assert row.outcome is outcome
    assert "after the correction over 400 benchmarks" in why(held_to(400))
    assert held_to(400, "none").contradicted.adjusted == alone.pvalue
    few = Suite.from_records([("old", Record("b", x[:5])), ("new", Record("b", y[:5]))])
    row = gate(few, ("old", "new"), lambda _: Demand(margin=0.02), GateRules(family=100)).rows[0]
    # One order of 6 + 6 is 1 / 924, of 7 + 7 1 / 3432: with 100 tests at 5 % the first cannot do.
    assert "at least 7 of each" in why(row)


def test_a_gate_over_many_benchmarks_asks_for_more_to_fail() -> None:
    """A pass needs all of them; one false fail is enough, so it has the risk over their number."""
    ratios = [0.9] * 14
    evidence = race(stop_rules(min_blocks=100), ratios)._sequences["Y"].log_evidence(1 / 1.05, side=-1)
    assert math.log(20) < evidence < math.log(20 * 10_000)
    for family, expected in ((1, "fail"), (10_000, "undecided")):
        found = race(stop_rules(demand=Demand(margin=0.05), family=family), ratios)
        assert found.findings()[0].outcome == expected
    assert (
        race(stop_rules(demand=Demand(margin=0.05), family=10_000), [1.1] * 14).findings()[0].outcome
        == "pass"
    )


@pytest.mark.parametrize("absent", [(), ("sort",)])
@pytest.mark.parametrize(
    "outcomes", [c for n in range(4) for c in itertools.combinations(("pass", "fail", "undecided"), n)]
)
def test_a_gate_passes_when_something_is_judged_and_all_of_it_passes(
    outcomes: tuple[str, ...], absent: tuple[str, ...]
) -> None:
    """What fails, or is not there, fails all; otherwise whatever is not a pass leaves it open."""
    passes = len(outcomes) > 0 and all(o == "pass" for o in outcomes)
    expected = "fail" if len(absent) or outcomes.count("fail") else "pass" if passes else "undecided"
    assert overall(map(Outcome, outcomes), incomplete=len(absent) > 0) == expected
