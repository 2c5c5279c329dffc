"""The gate's decisions and later looks: SciPy, textbook corrections, symmetries, simulation."""

import importlib
import itertools
import math
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats as scipy_stats
from studies.sequential import sequence_of
from tests.protocols.asking import compare_means

import speedproof as sp
from speedproof.arrays import FloatArray
from speedproof.conclude.claims import Demand, Outcome, claim, judge, overall
from speedproof.conclude.gate import Absent, GateDecision, GateRow, GateRules, gate, next_of, together
from speedproof.conclude.suite import SuiteComparison
from speedproof.data.notes import Assumption, Note
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Record, Skipped, Suite
from speedproof.data.units import Direction
from speedproof.errors import DataError
from speedproof.options import SESSION_ASKS, Policy
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.protocols.results import Comparison, Verdict
from speedproof.stats.session_spread import SessionSpread

Samples = dict[str, tuple[FloatArray, FloatArray]]
REGRESSION, IMPROVEMENT, EQUIVALENCE = Policy


def judged(required: Sequence[float], contradicted: Sequence[float]) -> Outcome:
    """The whole from the adjusted p-values of all benchmarks, at 5 %."""
    return overall(
        judge(*(claim(name, 0.02, p, p, 0.05) for name, p in (("not worse", r), ("regression", c))))
        for r, c in zip(required, contradicted, strict=True)
    )


def why(c: Comparison) -> str:
    return c.needed.reason if c.needed else ""


def suite_of(samples: Samples, **fields: object) -> Suite:
    records = []
    for name, sides in samples.items():
        for version, values in zip(("old", "new"), sides, strict=True):
            records.append((version, Record(name, values, **fields)))  # type: ignore[arg-type]
    return Suite.from_records(records)


def hold(
    suite: Suite, policy: Policy = REGRESSION, margin: float = 0.02, rules: GateRules | None = None
) -> GateDecision:
    return gate(suite, ("old", "new"), lambda _: Demand(policy, margin), rules or GateRules())


def draws(seed: int, *ratios: float, n: int = 20, m: int = 20, noise: float = 0.02) -> Samples:
    rng = np.random.default_rng(seed)
    return {
        f"b{i}": (ratio * rng.normal(10, 10 * noise, n), rng.normal(10, 10 * noise, m))
        for i, ratio in enumerate(ratios)
    }


def grid(ratio: float, n: int, noise: float) -> tuple[FloatArray, FloatArray]:
    """Two samples without chance: quantiles of a normal distribution, X scaled by the ratio."""
    y = 10 * (1 + noise * scipy_stats.norm.ppf((np.arange(n) + 0.5) / n))
    return ratio * y, y


def by_name(result: GateDecision) -> dict[str, tuple[GateRow, Comparison]]:
    return {row.benchmark: (row, c) for row, c in result.judged}


def test_pvalues_and_corrections_against_scipy() -> None:
    """Rank-sum tests of X against gamma Y; Holm and Benjamini-Hochberg over the benchmarks."""
    samples = draws(1, 1.0, 0.975, 0.96, 0.9, 1.05, 1.01)
    c, k = 1 / 1.02, len(samples)

    def p(side: str, gamma: float) -> FloatArray:
        return np.array(
            [
                scipy_stats.mannwhitneyu(x, gamma * y, alternative=side, method="exact").pvalue
                for x, y in samples.values()
            ]
        )

    below = p("less", c)
    order = np.argsort(below)
    holm = np.empty(k)
    holm[order] = np.minimum(1, np.maximum.accumulate((k - np.arange(k)) * below[order]))
    bh = scipy_stats.false_discovery_control(below, method="bh")
    for multiplicity, oracle in (("holm", holm), ("bh", bh), ("none", below)):
        rows = hold(suite_of(samples), rules=GateRules(multiplicity=multiplicity, protocol="median")).rows  # type: ignore[arg-type]
        assert [row.required.adjusted for row in rows] == pytest.approx(p("greater", c))
        assert [row.contradicted.pvalue for row in rows] == pytest.approx(below)
        assert [row.contradicted.adjusted for row in rows] == pytest.approx(oracle)
        assert [row.contradicted.proven for row in rows] == list(oracle <= 0.05)
    by_median = GateRules(protocol="median")
    rows = hold(suite_of(samples), EQUIVALENCE, rules=by_median).rows
    tost = np.maximum(p("greater", c), p("less", 1.02))
    assert [row.required.pvalue for row in rows] == pytest.approx(tost)
    outside = np.minimum(1, 2 * np.minimum(below, p("greater", 1.02)))
    assert [row.contradicted.pvalue for row in rows] == pytest.approx(outside)
    rows = hold(suite_of(samples), IMPROVEMENT, rules=by_median).rows
    assert [row.required.pvalue for row in rows] == pytest.approx(p("greater", 1.0))
    assert [row.contradicted.pvalue for row in rows] == pytest.approx(p("less", 1.0))


@pytest.mark.parametrize("policy", list(Policy))
def test_constants_exactly_at_the_edge(policy: Policy) -> None:
    """200 B against 201 B at 0.5 %, and 110 against 100 at 10 %, either way: on the edge, so nothing is proven."""
    for x, y, margin in ((200.0, 201.0, 0.005), (110.0, 100.0, 0.1), (100.0, 110.0, 0.1)):
        sides = {"b": (np.full(12, x), np.full(12, y))}
        ((row, c),) = hold(suite_of(sides, unit="B", metric="memory"), policy, margin).judged
        if policy is EQUIVALENCE or (policy is REGRESSION and x < y):
            assert row.outcome is Outcome.UNDECIDED
            assert "near the threshold" in why(c)
        assert "equivalence" not in proven_claims(row)
        assert "regression" not in proven_claims(row)


def proven_claims(row: GateRow) -> set[str]:
    return {claim.name for claim in (row.required, row.contradicted) if claim.proven}


def test_a_pass_needs_every_benchmark_and_no_correction() -> None:
    """Intersection-union: each requirement at alpha, also where Holm would refuse single claims."""
    assert judged([0.04] * 50, [1.0] * 50) is Outcome.PASS
    assert judged([0.04] * 50 + [0.06], [1.0] * 51) is Outcome.UNDECIDED
    assert judged([0.04, np.nan], [1.0, np.nan]) is Outcome.UNDECIDED
    assert judged([0.05], [1.0]) is Outcome.PASS  # p <= alpha rejects
    assert judged([0.95], [0.05]) is Outcome.FAIL
    result = hold(suite_of(draws(3, *[1.01] * 12, n=12, m=12)), margin=0.01)
    near = [row for row in result.rows if 0.05 / 12 < row.required.pvalue <= 0.05]
    assert near
    assert {row.outcome for row in near} == {Outcome.PASS}


def test_a_vanished_benchmark_fails() -> None:
    """What the candidate lacks, or measured in another unit, is named and fails, unless it is ignored."""
    kept = draws(9, 1.0, 1.0, n=40, m=40)
    records = [
        (v, Record(n, s)) for n, sides in kept.items() for v, s in zip(("old", "new"), sides, strict=True)
    ]
    gone = ("old", Record("gone", np.arange(1.0, 9.0)))
    odd = [("old", Record("odd", np.arange(1.0, 9.0))), ("new", Record("odd", np.arange(1.0, 9.0), unit="B"))]
    error = Skipped("new.json", "benchmarks[3]", "gone", "the run reported an error")
    lacking = [replace(error, benchmark=name, version="new", lacks=True) for name in ("gone", "never")]
    others = replace(error, benchmark="b0"), replace(error, expected=True), *lacking
    why = [("new", one) for one in (error, *others)]
    added = ("new", Record("fresh", np.arange(1.0, 9.0)))
    moved = [
        (v, Record("moved", np.arange(1.0, 9.0), metric=m)) for v, m in (("old", "time"), ("new", "work"))
    ]
    suite = Suite.from_records([gone, *records, *odd, *why, added, *moved])
    result = hold(suite)
    assert result.outcome is Outcome.FAIL
    assert [row.outcome for row in result.rows] == [Outcome.PASS] * 2
    reasons = {absent.benchmark: absent.reason for absent in result.absent}
    assert {absent.candidate for absent in result.absent} == {""}  # there is but one
    assert list(reasons) == ["gone", "odd", "moved", "never"]
    assert (reasons["moved"], reasons["never"]) == (
        "new has work of it, not time",
        "only the reference has it",
    )
    assert reasons["gone"].endswith(f"new has none; left out was {error}")
    assert "they cannot be compared" in reasons["odd"]
    assert [name for of in result.results for name in of.only_candidate] == ["fresh", "moved"]
    # Of another version what cannot differ is compared, and what it lacks is its own.
    third = [("third", Record(name, kept["b0"][0])) for name in ("b0", "extra")]
    fields = ((SESSION_ASKS, '{"decide_by": "time", "unaffected": ["b0"]}'),)
    asked = [(v, replace(r, tool="speedproof", fields=fields)) for v, r in (gone, *records, *third)]
    beside = hold(Suite.from_records(asked)).results[-1]
    assert (beside.candidate, *beside.only_reference) == ("third", "gone", "b1")
    assert beside.only_candidate == ("extra",)
    tolerant = gate(suite, ("old", "new"), lambda name: None if name in reasons else Demand())
    assert tolerant.outcome is Outcome.PASS
    assert set(tolerant.ignored) == set(reasons)
    assert not tolerant.absent


def test_a_gate_without_benchmarks_is_an_error() -> None:
    """It would pass whatever the candidate does."""
    suite = suite_of(draws(10, 1.0))
    with pytest.raises(DataError, match="all 1 are ignored"):
        gate(suite, ("old", "new"), lambda _: None)
    with pytest.raises(DataError, match="no benchmark to compare"):
        gate(suite, ("older", "new"), lambda _: Demand())


def test_policies_and_margins_by_benchmark() -> None:
    """Each benchmark has its own demand; a contradiction of any fails."""
    samples = draws(11, 1.3, 0.96, n=40, m=40)
    demands = {"b0": Demand(IMPROVEMENT), "b1": Demand(REGRESSION, 0.10)}
    result = gate(suite_of(samples), ("old", "new"), demands.get)
    assert result.outcome is Outcome.PASS
    assert [row.required.name for row in result.rows] == ["improvement", "not worse"]
    strict = {**demands, "b1": Demand(REGRESSION, 0.01)}
    assert gate(suite_of(samples), ("old", "new"), strict.get).outcome is Outcome.FAIL


def test_no_equivalence_of_medians_from_other_shapes() -> None:
    """Equal medians, ten times the spread: not a shift, so the ranks bound no ratio of medians."""
    (x, wide), (y, _) = grid(1.0001, 60, 0.01), grid(1.0, 60, 0.001)
    del wide
    ((row, c),) = hold(suite_of({"b": (x, y)}), EQUIVALENCE, 0.05, GateRules(protocol="median")).judged
    assert row.outcome is Outcome.UNDECIDED
    assert "more than a shift" in why(c)
    # The typical run needs no common shape.
    assert hold(suite_of({"b": (x, y)}), EQUIVALENCE, 0.05).outcome is Outcome.PASS
    assert hold(suite_of({"b": (x, y)}), REGRESSION, 0.05).outcome is Outcome.PASS


@pytest.mark.parametrize(("k", "enough", "policy", "rules"), [
    (1, 4, REGRESSION, {}), (20, 9, REGRESSION, {}), (500, 13, REGRESSION, {}), (20, 10, EQUIVALENCE, {}),
    (20, 4, REGRESSION, {"multiplicity": "none"}), (20, 11, REGRESSION, {"share": 4}),
    (20, 4, IMPROVEMENT, {"multiplicity": "none", "alpha": 0.1}),
])  # fmt: skip
def test_runs_that_are_enough(k: int, enough: int, policy: Policy, rules: dict[str, Any]) -> None:
    """The number named is the least at which complete separation survives Holm's correction: 4 k / 5 2^n.

    Of a policy with two sides twice that; what meets the policy is in no family. Three runs prove nothing.
    """
    faster = 4 if policy is IMPROVEMENT else 1
    for n in (enough - 1, enough):
        y = np.linspace(1, 1.001, n)
        samples = {f"b{i}": (faster * y + 1e-9, y) for i in range(k - 1)} | {"slower": (y / 4, y)}
        (*others, (row, c)) = hold(suite_of(samples), policy, 1.0, GateRules(**rules)).judged
        family = rules.get("share", 1) * (1 if "multiplicity" in rules else k) * (1 + (policy is EQUIVALENCE))
        assert row.contradicted.adjusted == pytest.approx(min(1, family * (0.8 / 2**n if n > 3 else 1 / 20)))
        assert row.contradicted.proven == (n == enough)
        assert (f"measure at least {enough} of each" in why(c)) == (n < enough)
        assert n > 3 or c.verdict is Verdict.UNDECIDED
        for row, c in others:
            passes = 0.8 / 2**n <= 0.05 / rules.get("share", 1) and n > 3
            assert (row.outcome is Outcome.PASS, "measure at least 4" in why(c)) == (passes, not passes)


def test_a_contradiction_needs_more_runs_in_a_larger_family() -> None:
    """What must be proven after correction over k benchmarks must be so at alpha / k: the normal formula says."""
    x, y = grid(0.975, 12, 0.02)
    needed = []
    for k in (1, 25):
        quiet = {f"quiet{i}": grid(1.0, 12, 1e-4) for i in range(k - 1)}
        row, c = by_name(hold(suite_of({"b": (x, y), **quiet}), rules=GateRules(protocol="mean")))["b"]
        assert row.outcome is Outcome.UNDECIDED
        assert c.needed is not None
        assert c.needed.reference is not None
        needed.append(c.needed.reference)
        d = (y.mean() / 1.02 - x.mean()) / np.sqrt((x.var(ddof=1) + y.var(ddof=1) / 1.02**2) / 2)
        z = scipy_stats.norm.isf(0.05 / k)
        oracle = 2 * (z + scipy_stats.norm.ppf(0.8)) ** 2 / d**2 + z**2 / 4
        assert needed[-1] == pytest.approx(oracle, abs=2)
    assert needed[1] > 2 * needed[0]
    for ratio in (0.99, 1.01):  # of equivalence either edge may take more, of each side as many as it has now
        sides = grid(ratio, 12, 0.02)[0], grid(1.0, 24, 0.02)[1]
        ((_, c),) = hold(suite_of({"b": sides}), EQUIVALENCE, rules=GateRules(protocol="mean")).judged
        assert (more := c.needed) is not None
        assert more.candidate == pytest.approx(2 * (more.reference or 0), rel=0.05)


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return importlib.import_module("studies.gate")


@pytest.mark.slow
def test_false_alarms_within_binomial_bounds(study: ModuleType) -> None:
    """No policy and correction errs more often than its stated risk explains, on A/A suites and at the edge."""
    shares = list(study.simulate(200, ("mean", "median"), seed=3, sizes=(20,)))
    assert (len(shares), [share for share in shares if share.excessive]) == (3 * 3 * 3 * 2 * 3, [])
    uncorrected = [
        s for s in shares if (s.multiplicity, s.situation, s.shape) == ("none", "edge, fail", "normal")
    ]
    # The correction is not idle: without it the risk is that of ten chances.
    assert max(s.errors / s.gates for s in uncorrected) > 0.25
    assert len(study.table(shares).splitlines()) == 2 + 3 * 3 * 3 * 2
    assert len(study.summary(shares).splitlines()) == 2 + 9


def paired_sessions(count: int) -> Suite:
    """Forty benchmarks, of which each is 1.3 times as slow in all of so many sessions of two runs."""
    rng, samples = np.random.default_rng(2), {}
    for k in range(40):
        session = np.exp(rng.normal(0, 0.05, count))
        samples[f"b{k}"] = {
            version: Sample(
                np.repeat(level * session * np.exp(rng.normal(0, 0.005, count)), 2), label=version,
                sessions=np.repeat(np.arange(count), 2),
                session_names=tuple(f"{version}/{i}" for i in range(count)),
            )
            for version, level in (("old", 1.0), ("new", 1.3))
        }  # fmt: skip
    return Suite.of_samples(samples)


def test_too_few_paired_sessions_are_told_in_sessions() -> None:
    """Forty benchmarks at 5 % take ten sessions, 32 / 2^10; with five none can be proven worse."""
    ((_, c), *_) = hold(paired_sessions(5)).judged
    assert why(c) == "5 and 5 sessions are too few for a proof: measure at least 10 of each"
    assert hold(paired_sessions(10)).outcome is Outcome.FAIL


UP, DOWN = np.linspace(3.0, 3.1, 12), np.linspace(-3.1, -3.0, 12)


@pytest.mark.parametrize(("samples", "policy", "spread", "asked", "reason"), [
    # Sessions may differ by as much as from every limit, or from one of two.
    (grid(0.97, 20, 0.01), REGRESSION, 0.03, {}, "sessions of the same code differ that much"),
    (grid(1.15, 20, 0.01), EQUIVALENCE, 0.03, {"margin": 0.2}, "to decide with power 0.8"),
    ((UP, DOWN), REGRESSION, 0.0, {"unit": "B"}, "a ratio to a negative value means nothing"),
    ((DOWN, UP), REGRESSION, 0.0, {"unit": "B"}, "a ratio to a negative value means nothing"),
    ((UP, 0 * UP), REGRESSION, 0.0, {}, "all runs of a side are 0"),
    (grid(1.0001, 20, 0.05), IMPROVEMENT, 0.0, {"protocol": "mean"}, "more than 100,000 runs would be needed"),
])  # fmt: skip
def test_why_more_runs_alone_do_not_decide(
    samples: tuple[FloatArray, FloatArray], policy: Policy, spread: float, asked: dict[str, Any], reason: str
) -> None:
    demand, by = (
        Demand(policy, asked.get("margin", 0.02)),
        GateRules(protocol=asked.get("protocol", "typical")),
    )
    unit = asked.get("unit", "s")
    suite = suite_of({"b": samples}, unit=unit, metric="time" if unit == "s" else "size")
    floor = NoiseFloor("", {}, {"time": SessionSpread(spread**2, 8.0, 0.0, 5)})
    ((row, c),) = gate(suite, ("old", "new"), lambda _: demand, by, floor=floor).judged
    assert (row.outcome, why(c)[: len(reason)]) == (UNDECIDED, reason)


def test_runs_that_depend_on_each_other_take_as_many_more() -> None:
    """As one independent run stands for, whatever a policy asks; none is needed where nothing is open."""
    noise = np.random.default_rng(1).standard_normal((2, 60))
    for k in range(1, 60):
        noise[:, k] += 0.4 * noise[:, k - 1]
    x, y = np.exp(0.02 * noise) / np.array([[1.0], [1.005]])
    needed = []
    for known in (False, True):
        traits = frozenset({Trait.ORDER_KNOWN} if known else ())
        ((_, c),) = hold(suite_of({"b": (x, y)}, traits=traits), IMPROVEMENT).judged
        assert c.needed is not None
        assert c.needed.reference == c.needed.candidate
        needed.append(c.needed.reference or 0)
        assert (c.inflation > 1.5) is known
    assert needed[1] == pytest.approx(c.inflation * needed[0], abs=c.inflation)


@pytest.mark.parametrize("higher", [False, True])
@pytest.mark.parametrize("policy", Policy)
def test_blocks_of_several_candidates_are_held_by_their_sequence(policy: Policy, higher: bool) -> None:
    """A requirement at each candidate's share of the risk, a contradiction at its part of all that will come."""
    rng, m, n = np.random.default_rng(5), 0.05, 30
    levels = {"old": (1.0, 1.0, 1.0), "new": (1.02, 0.98, 1.1), "newer": (0.85, 1.0, 1.04)}
    noise = np.array([[0.05], [0.01], [0.05]])
    times = {v: np.array([of]).T * np.exp(noise * rng.standard_normal((3, n))) for v, of in levels.items()}
    fields: dict[str, Any] = {"blocks": np.arange(n), "traits": frozenset({Trait.RANDOM_ORDER})}
    fields |= {"unit": "op/s", "direction": Direction.HIGHER} if higher else {}
    records = [
        (v, Record(name, 1 / row if higher else row, **fields))
        for v, rows in times.items()
        for name, row in zip("abc", rows, strict=True)
    ]
    late = [(v, Skipped("s.jsonl", "", "d", "not measured", version=v)) for v in ("new", "newer")]
    found = gate(
        Suite.from_records([*records, *late]),
        tuple(levels),
        lambda _: Demand(policy, m),
        GateRules(anytime=True, share=2),
    )
    absent = {(one.benchmark, one.candidate, one.outcome) for one in found.absent}
    assert absent == {("d", "new", UNDECIDED), ("d", "newer", UNDECIDED)}
    seen = set()
    for row, c in found.judged:
        x, y = (times[v]["abc".index(row.benchmark)] for v in ("old", row.candidate))
        sequence = sequence_of(x, y, alpha=0.025)
        low, high, above, below = (
            math.exp(-max(sequence.log_evidence(edge, side=side), 0.0))
            for edge, side in ((1 / (1 + m), -1), (1 + m, 1), (1 / (1 + m), 1), (1 + m, -1))
        )
        faster, slower = (math.exp(-max(sequence.evidence(side), 0.0)) for side in (1, -1))
        asks, denies = {
            REGRESSION: (above, low), IMPROVEMENT: (faster, slower),
            EQUIVALENCE: (max(above, below), min(1.0, 2 * min(low, high))),
        }[policy]  # fmt: skip
        assert (row.required.pvalue, row.contradicted.pvalue) == pytest.approx((asks, denies))
        assert row.required.adjusted == pytest.approx(min(1.0, 2 * asks))
        assert row.contradicted.adjusted == pytest.approx(min(1.0, 8 * denies))
        outcome = FAIL if 8 * denies <= 0.05 else PASS if 2 * asks <= 0.05 else UNDECIDED
        assert row.outcome is outcome
        seen.add(outcome)
        if outcome is UNDECIDED:
            edges, speedup = row.demand.edges, c.speedup.value
            within = edges[0] < speedup < (*edges, math.inf)[1]
            again = sequence_of(x, y, alpha=0.025 if within else 0.025 / 8)
            more = max(again.blocks_to_go(gamma=g, side=1 if speedup > g else -1) for g in edges)
            alone = (
                f"the {row.contradicted.name} is significant by itself, but not after the correction over 8"
            )
            assert (c.needed is not None and c.needed.reason.startswith(alone)) is (denies <= 0.025)
            if denies > 0.025:
                assert c.needed is not None
                assert c.needed.reference == (None if math.isinf(more) else math.ceil(n + more))
    assert seen == {PASS, FAIL, UNDECIDED}


def now_and_then(n: int, seed: int, slow: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    """A candidate that is 2 % faster, but `slow` times as slow in every fifth run."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(10.0, 0.1, n), 0.98 * rng.normal(10.0, 0.1, n)
    return x, y * np.where(np.arange(n) % 5 == 0, slow, 1.0)


def of_means(x: FloatArray, y: FloatArray, margin: float) -> float:
    """How surely the mean of Y is longer than so many times that of X: Student's t of what it is longer by."""
    mine = scipy_stats.ttest_ind(x / x.mean(), y / y.mean(), equal_var=False)
    error = math.hypot(scipy_stats.sem(x) / x.mean(), scipy_stats.sem(y) / y.mean())
    bias = (scipy_stats.sem(y) ** 2 / y.mean() ** 2 - scipy_stats.sem(x) ** 2 / x.mean() ** 2) / 2
    centre = math.log(x.mean() / y.mean()) - bias
    short = 1.0 - (1.0 + margin) * math.exp(
        centre
    )  # of the margin, of which the larger mean alone scatters much
    return float(scipy_stats.t.sf(short / error, mine.df))


def test_what_is_slow_now_and_then_does_not_pass() -> None:
    """Typically faster, on average proven slower beyond the margin: the gate fails, and says of what."""
    samples = {"steady": draws(3, 1.0, 1.0, n=40)["b0"], "spiky": now_and_then(60, 1)}
    found = sp.gate(suite_of(samples))
    assert found.outcome is Outcome.FAIL
    row, c = by_name(found.decision)["spiky"]
    x, y = samples["spiky"]
    assert row.required.proven
    typical = found.decision.results[0].headlines[1]
    assert (typical.protocol, typical.verdict, c) == ("typical", Verdict.FASTER, row.mean)
    assert c.speedup.value == pytest.approx(x.mean() / y.mean())
    assert row.contradicted.pvalue == pytest.approx(of_means(x, y, 0.02))
    assert "1 of 2 benchmarks is slower by more than 2 % on average" in str(found)
    (lines,) = rows_of(str(found), "FAIL  spiky")
    told = sp.compare_suite(suite_of({"spiky": samples["spiky"]}))
    assert told.result.headlines[0].verdict is Verdict.FASTER
    beyond = y > x.max()
    how = f"{100 * beyond.mean():.0f} % of runs take {np.median(y[beyond]) / np.median(y):.2f}x"
    assert f"{y.mean() / x.mean():.2f}x slower on average" in lines
    assert lines.endswith(f" {how}")
    assert f"But on average new is {y.mean() / x.mean():.2f}x slower than old: {how}." in str(told)


@pytest.mark.parametrize("known", [False, True])
def test_a_mean_whose_risk_is_unknown_withholds_a_pass_and_proves_nothing(known: bool) -> None:
    """Slow runs that follow one another may be one event: typical runs allow for that, the mean does not."""
    x, _ = now_and_then(60, 1)
    y = 0.98 * x[::-1] * np.where(np.arange(60) % 30 < 6, 1.5, 1.0)
    traits = frozenset({Trait.ORDER_KNOWN} if known else ())
    ((row, c),) = hold(suite_of({"b": (x, y)}, traits=traits)).judged
    assert (row.outcome, row.mean is None) == ((UNDECIDED, True) if known else (FAIL, False))
    unknown = "on average it misses its limit, at a risk that is unknown: dependent neighbouring runs"
    assert why(c).startswith(unknown) is known


@pytest.mark.parametrize("slow", [1.0, 1.5])
def test_a_mean_that_goes_the_other_way_is_told(slow: float) -> None:
    """Of either side, with its ratio, though it contradicts no policy."""
    x, y = now_and_then(60, 1, slow)
    for one, other in ((x, y), (y, x)):
        ((row, c),) = hold(suite_of({"b": (one, other)}), margin=0.3).judged
        assert (row.outcome, row.average is None) == (Outcome.PASS, slow == 1.0)
        if row.average is not None:
            assert row.average.value == pytest.approx(one.mean() / other.mean())
            assert (row.average.high < 1.0) is (c.speedup.value > 1.0)
    tied = 10 + 0.01 * (np.arange(60) % 7 == 0)  # of which typical runs are the same: there is no other way
    ((row, c),) = hold(
        suite_of({"b": (tied, np.where(np.arange(60) % 5, tied, 12 * slow))}), margin=0.9
    ).judged
    assert (c.speedup.value, row.average) == (1.0, None)


def test_the_joint_risk_of_typical_runs_and_means(study: ModuleType) -> None:
    """Means exactly at the margin, typical runs there or faster: at most 5 % of gates fail; beyond it they do."""
    for jump in (0.0, 0.1, 0.3):
        false, _, true = study.average_at_edge(300, 12, jump, 0.01, 4)
        assert 300 * false <= scipy_stats.binom.ppf(0.999, 300, 0.05)
        assert true >= (0.9 if jump < 0.2 else false)


@pytest.mark.parametrize("factor", [1.0, 0.98, 0.96])
def test_what_fails_on_average_fails_at_every_smaller_margin(factor: float) -> None:
    """A slow mode of 40 % of runs, 10 % before: typical runs neither meet nor contradict the small margins.

    A p-value counts three times unless they meet the policy; where they are no regression its p-value will do.
    """
    rng, seen = np.random.default_rng(8), set()
    x, y = (10 * rng.normal(1, 0.02, 80) * np.where(np.arange(80) % 10 < k, 1.4, 1) for k in (1, 4))
    y *= factor
    for margin in (0.01, 0.02, 0.05, 0.1):
        rows = {policy: hold(suite_of({"b": (x, y)}), policy, margin).rows[0] for policy in Policy}
        p, met = of_means(x, y, margin), rows[REGRESSION].required.proven
        for policy, own in ((REGRESSION, p), (IMPROVEMENT, of_means(x, y, 0.0)), (EQUIVALENCE, 2 * p)):
            row = rows[policy]
            expected = min(own * (1 if row.required.proven else 3), p if met else 1)
            seen.add((policy, row.required.proven, row.mean is not None))
            if row.mean is not None:
                assert row.outcome is FAIL
                assert row.contradicted.pvalue == pytest.approx(expected)
            else:  # typical runs themselves are no improvement, at first
                assert expected > 0.05 or (policy, factor) == (IMPROVEMENT, 1.0)
        assert rows[REGRESSION].outcome is (PASS if rows[REGRESSION].mean is None else FAIL)
    assert {(REGRESSION, True, False), (REGRESSION, True, True), (EQUIVALENCE, False, True)} <= seen
    assert factor == 1.0 or (IMPROVEMENT, factor < 0.98, True) in seen


@pytest.mark.parametrize(("times", "n"), [(30.0, 10), (100.0, 20), (1000.0, 40)])
def test_one_far_run_proves_nothing_on_average(times: float, n: int) -> None:
    """However far it is, its error grows with it: the logarithm of the means' ratio took it for proof."""
    rng = np.random.default_rng(n)
    x, y = 10 + 0.1 * rng.standard_normal((2, n))
    y[n // 2] *= times
    found = sp.gate(suite_of({"once": (x, y)}), margin=0.02)
    assert found.outcome is Outcome.UNDECIDED
    assert "on average it misses its limit, which is not proven" in " ".join(str(found).split())
    assert scipy_stats.ttest_ind(1.02 * x, y, equal_var=False, alternative="less").pvalue > 0.05
    assert "on average" not in str(sp.compare_suite(suite_of({"once": (x, y)})))


@pytest.mark.parametrize("seed", range(12))
def test_slow_runs_begin_at_the_widest_gap(seed: int) -> None:
    """Longer than any run of the reference; without them at most a tenth of what the mean is worse is left."""
    rng = np.random.default_rng(seed)
    x, y = rng.lognormal(0.0, 0.05, (2, 30))
    y[: 1 + seed // 3] *= rng.uniform(1.2, 40.0, 1 + seed // 3)
    found = compare_means(Sample(x), Sample(y))
    run, excess = np.sort(y), y.mean() - x.mean()
    cuts = [k for k in range(1, 30) if run[k] > x.max() and run[:k].mean() - x.mean() <= 0.1 * excess]
    if excess <= 0.0 or not cuts:
        assert found.slow_runs is None
    else:
        at = max(cuts, key=lambda k: run[k] - run[k - 1])
        assert found.slow_runs == pytest.approx((1 - at / 30, np.median(run[at:]) / np.median(y)))


def rows_of(sheet: str, start: str) -> list[str]:
    """The rows that begin so, with the remark on the line below."""
    lines = sheet.splitlines()
    return [" ".join(lines[i : i + 2]) for i, line in enumerate(lines) if line.startswith(start)]


PASS, FAIL, UNDECIDED = Outcome


def row(name: str, outcome: Outcome, margin: float = 0.02, metric: str = "time") -> GateRow:
    nothing: Any = None
    return GateRow(name, metric, "new", Demand(margin=margin), outcome, nothing, nothing)


def decision(rows: list[GateRow], **fields: Any) -> GateDecision:
    """A decision of these rows, each with a comparison of its name, and of each metric what a result says."""
    given: dict[str, Any] = {"versions": ("old", "new"), "rules": GateRules(), "outcome": UNDECIDED, "absent": (),
                             "rows": tuple(rows)}  # fmt: skip
    of: dict[str, Any] = {
        name: fields.pop(name) for name in ("only_candidate", "caveats", "machine") if name in fields
    }
    compared: dict[str, list[Any]] = {"time": []}
    for r in rows:
        compared.setdefault(r.metric, []).append(SimpleNamespace(benchmark=r.benchmark, metric=r.metric))
    results = (
        SuiteComparison("old", "new", metric, 0.05, None, "process", tuple(made), **of)
        for metric, made in compared.items()
    )
    return GateDecision(tuple(results), **given | fields)


def test_looks_together() -> None:
    """A pass stays unless it is contradicted, the rest is the last look's; all pass, any fails, else undecided."""
    for first, again, other, fresh in itertools.product(Outcome, (*Outcome, None), Outcome, (*Outcome, None)):
        before = decision([row("a", first), row("b", other)])
        now = decision(
            ([row("a", again)] if again else []) + ([row("a", fresh, metric="memory")] if fresh else [])
        )
        kept = again is None or (first is PASS and again is UNDECIDED)
        last = first if kept or again is None else again
        expected = [("a", "time", last), ("b", "time", other)] + ([("a", "memory", fresh)] if fresh else [])
        found = together(before, now)
        assert [(r.benchmark, r.metric, r.outcome) for r in found.rows] == expected
        assert (found.rows[0] is before.rows[0]) is kept
        outcomes = [outcome for *_, outcome in expected]
        whole = FAIL if FAIL in outcomes else PASS if set(outcomes) == {PASS} else UNDECIDED
        assert found.outcome is whole
        counted = {(c.benchmark, c.metric) for of in found.results for c in of.comparisons}
        assert counted == {(name, metric) for name, metric, _ in expected}
        assert (
            together(before, decision(list(now.rows), absent=(Absent("gone", "time", ""),))).outcome is FAIL
        )
    with pytest.raises(DataError, match=r"a: policy and margin are chosen once, .* no-regression, 0\.02"):
        together(decision([row("a", UNDECIDED)]), decision([row("a", PASS, 0.03)]))


@pytest.mark.parametrize("looks", [1, 2, 4])
def test_rules_of_the_next_look(looks: int) -> None:
    """Each has an equal part of the risk, and the family of the look before; what is asked for is asked once."""
    first = GateRules(alpha=0.1 / looks, looks=looks)
    before = decision([row("a", PASS), row("b", UNDECIDED)], rules=first)
    given: Any
    for given in itertools.product((None, 0.1), (None, "holm"), (None, "typical")):
        assert next_of(before, *given) == GateRules(alpha=0.1 / looks, looks=looks, look=2, family=2)
    for given in ((0.2, None, None), (None, "bh", None), (None, None, "mean"), (0.1, "holm", "median")):
        with pytest.raises(DataError, match="chosen once"):
            next_of(before, *given)


def test_what_looks_leave_of_each_other() -> None:
    """What was added or ignored is the first look's; speeds of either; caveats where seen."""
    one: dict[str, Any] = {"only_candidate": ("x",), "ignored": ("y",), "machine": "first"}
    other: dict[str, Any] = {"machine": "second"}
    before, now = decision([row("a", PASS)], **one), decision([row("a", PASS)], **other)
    found = together(before, now)
    assert (found.results[0].only_candidate, found.ignored) == (("x",), ("y",))
    machines = [str(of.results[0].machine) for of in (found, together(decision([]), now))]
    assert machines == ["first", "second"]
    kind, versions = Assumption.SEVERAL_RUNS, ("old", "new")
    plain, detailed = Note(kind, "", versions), Note(kind, "processes", versions, ("c",))
    first = decision([row(n, o) for n, o in zip("abc", (PASS, UNDECIDED, PASS), strict=True)],
                     caveats=(plain, detailed, Note(kind, "", versions[:1], ("b",))))  # fmt: skip
    for caveats, expected in (
        ((), (Note(kind, "", versions, ("a", "c")), detailed)),
        ((plain,), (plain, detailed)),
        ((Note(kind, "", versions[:1], ("b",)),),
         (Note(kind, "", versions, ("a", "c")), detailed, Note(kind, "", versions[:1], ("b",)))),
    ):  # fmt: skip
        (whole,) = together(first, decision([row("b", PASS)], caveats=caveats)).results
        assert whole.caveats == expected
