"""The noise floor and negative controls: Student's distribution, rankings, geometric means."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats
from tests.protocols.asking import log_ratios
from tests.protocols.test_symmetries import asked

import speedproof as sp
from speedproof.conclude.claims import Demand
from speedproof.conclude.controls import Controls, withheld
from speedproof.conclude.gate import gate
from speedproof.conclude.suite import SuiteComparison
from speedproof.data.notes import Assumption, Note
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Record, Suite
from speedproof.options import DETAILS, SESSION_ASKS, SessionAsked
from speedproof.protocols.aggregates import MeanLogRatio, with_sessions
from speedproof.protocols.noise_floor import NoiseFloor, hides
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import answers
from speedproof.protocols.results import SEQUENTIAL, WITHHELD, AtMargin, Comparison, Verdict
from speedproof.reporting.notes import up_to
from speedproof.stats.estimate import Estimate
from speedproof.stats.session_spread import SessionSpread


def floor(deviation: float, degrees: float = 8.0) -> NoiseFloor:
    return NoiseFloor("x", {}, {"time": SessionSpread(deviation**2, degrees, 0.0, 5)})


def versions_of(
    locations: Mapping[str, float], benchmarks: int, seed: int = 1, sd: float = 0.005, runs: int = 10
) -> Suite:
    rng = np.random.default_rng(seed)
    return Suite.of_samples(
        {
            f"b{i}": {v: at * (1 + sd * rng.standard_normal(runs)) for v, at in locations.items()}
            for i in range(benchmarks)
        }
    )


THREE = {"a": 10.0, "b": 9.8, "c": 9.0}


@pytest.mark.parametrize("benchmarks", [1, 2, 5])
def test_a_ranking_holds_against_the_floor(benchmarks: int) -> None:
    """Rows that are all undecided leave every place open; without the floor all three are told apart."""
    suite = versions_of(THREE, benchmarks)
    plain, held = (sp.compare_suite(suite, rules=Rules(floor=f)) for f in (None, floor(0.05)))
    assert [v.version for v in plain.rankings["time"].versions if v.best_rank == v.worst_rank] == [*"cba"]
    assert {c.verdict for r in held.results for c in r.headlines} == {Verdict.UNDECIDED}
    assert [(v.best_rank, v.worst_rank) for v in held.rankings["time"].versions] == [(1, 3)] * 3
    undecided = "Undecided which is fastest: " if benchmarks > 1 else "2 undecided of 2 comparisons with a"
    assert undecided in str(held)


def pairs_of(suite: Suite) -> list[Pair]:
    return list(suite.pair("a", "b").pairs)


def test_a_geometric_mean_takes_each_benchmark_at_its_own_floor() -> None:
    """Standard deviations are averaged: that is the most that effects of sessions can move a mean by."""
    pairs = pairs_of(versions_of({"a": 1.0, "b": 1.0}, 3))
    spreads = [SessionSpread(s**2, d, 0.0, 5) for s, d in ((0.02, 9.0), (0.06, 5.0))]
    known = NoiseFloor("x", {pair.key: spread for pair, spread in zip(pairs, spreads, strict=False)})
    for like_these in (False, True):
        held, own = (log_ratios(pairs, f).mean(like_these=like_these) for f in (known, None))
        assert held.error**2 - own.error**2 == pytest.approx(2 * (0.08 / 3) ** 2)
        assert held.df == min(own.df, 5.0)
        assert log_ratios(pairs, floor(0.0, 3.0)).mean(like_these=like_these) == own
    # Runs without any error take no degrees of freedom.
    assert with_sessions(MeanLogRatio(0.1, 0.1, 0.0, 1.0), 0.02, 8.0) == MeanLogRatio(0.1, 0.1, 0.02, 8.0)


@pytest.mark.parametrize(("x", "y"), [
    (np.linspace(3.0, 3.1, 12), np.zeros(12)), (np.zeros(12), np.linspace(3.0, 3.1, 12)),
    (np.linspace(-3.1, -3.0, 12), np.linspace(3.0, 3.1, 12)),
    (np.linspace(3.0, 3.1, 12), np.linspace(-3.1, -3.0, 12)),
])  # fmt: skip
@pytest.mark.parametrize("margin", [None, 0.05])
def test_without_a_ratio_nothing_is_proven(x: np.ndarray, y: np.ndarray, margin: float | None) -> None:
    """How much sessions differ is known as a ratio: what has none cannot be held against it."""
    pair = [Pair(Key("b"), Sample(x, "B"), Sample(y, "B"))]
    changed = 0
    for name in DETAILS:
        plain, held = (
            answers(name, PreparedPairs(pair, Rules(margin=margin, floor=f)))[0] for f in (None, floor(0.02))
        )
        changed += plain.verdict is not Verdict.UNDECIDED
        assert held.verdict is Verdict.UNDECIDED
        for p in (held.pvalue, held.pvalue_slower):
            assert math.isnan(p) or p == 1.0
        assert (not held.speedup.low > 1 and not held.speedup.high < 1) or held.quantity == "probability"
        if plain.verdict is not Verdict.UNDECIDED:
            assert held.needed is not None
            assert "sessions of the same code" in held.needed.reason
    assert changed


def in_sessions(counts: tuple[int, int], ratio: float, seed: int, **fields: Any) -> Pair:
    """Twelve runs of the reference, ten of the candidate, in so many sessions of each."""
    rng = np.random.default_rng(seed)
    sides = []
    for n, count, level in ((12, counts[0], ratio), (10, counts[1], 1.0)):
        values = level * (1 + 0.01 * rng.standard_normal(n))
        sides.append(Sample(values, sessions=np.arange(n) * count // n, **fields))
    return Pair(Key("b"), *sides)


@pytest.mark.parametrize(("alpha", "finite"), [(0.05, True), (1e-3, True), (1e-5, False), (1e-9, False)])
@pytest.mark.parametrize("counts", [(1, 1), (1, 3), (2, 1)])
def test_bounds_beyond_the_largest_number(counts: tuple[int, int], alpha: float, finite: bool) -> None:
    """Two sessions 5 % apart are one degree of freedom: at a risk of 1e-5 they may differ by any factor."""
    pair = in_sessions(counts, 1.05, 5)
    floor = NoiseFloor("", {}, {"time": SessionSpread(0.05**2, 1.0, 0.0, 2)})
    for protocol in DETAILS:
        (plain,), (found,) = (asked(protocol, [pair], Rules(alpha, floor=f)) for f in (None, floor))
        assert found.verdict is Verdict.UNDECIDED
        if math.isnan(found.pvalue):
            continue
        assert found.floor is not None
        assert not hides(found.floor, 0.0)
        assert found.needed is not None
        away = float(stats.t.isf(alpha, 1.0)) * 0.05 * math.sqrt(1 / counts[0] + 1 / counts[1])
        assert found.needed.reason.startswith(
            "sessions of the same code differ by up to "
            if finite
            else "sessions of the same code differ by any factor"
        )
        assert found.floor.reach == pytest.approx(math.expm1(away) if finite else math.inf)
        told = up_to([0.01, found.floor.reach], 1 - alpha)
        assert told.startswith("up to " if finite else "any factor (")
        if found.quantity == "speedup":
            assert (found.speedup.high < math.inf) == (finite and plain.speedup.high < math.inf)
            assert (found.speedup.low > 0.0) == (finite and plain.speedup.low > 0.0)


def of_blocks(
    speedup: float, verdict: Verdict, bounds: tuple[float, float] = (0.0, math.inf), **fields: str
) -> Comparison:
    """What blocks of runs say of a candidate."""
    x, named = (
        np.linspace(0.9, 1.1, 20),
        {"benchmark": "sort", "reference": "old", "candidate": "new", **fields},
    )
    sides = Sample(x * speedup, "s", label=named["reference"]), Sample(x, "s", label=named["candidate"])
    (made,) = answers("typical", PreparedPairs([Pair(Key(named["benchmark"]), *sides)]))
    estimate = Estimate(speedup, *bounds, 0.95)
    return replace(made, verdict=verdict, speedup=estimate, test=SEQUENTIAL, checks=(), log=None, needed=None)


def sheet_of(*heads: Comparison) -> SuiteComparison:
    sides = heads[0].reference.label, heads[0].candidate.label
    return SuiteComparison(*sides, heads[0].metric, 0.05, None, "process", heads)


@pytest.mark.parametrize("sizes", [(1.01, 1.04), (1.04, 1.01), (0.99, 0.96), (1.02, 1.01)])
def test_the_largest_difference_of_a_candidates_own_controls_counts(sizes: tuple[float, float]) -> None:
    """What another candidate does to a benchmark that no change can touch is its own affair."""
    moved = Verdict.FASTER if sizes[0] > 1 else Verdict.SLOWER
    idle = [of_blocks(v, moved, benchmark=b) for v, b in zip(sizes, ("idle", "still"), strict=True)]
    controls = Controls(SessionAsked("time", unaffected=("idle", "still")), tuple(idle))
    own, other = (
        withheld(sheet_of(of_blocks(1.02, Verdict.FASTER, candidate=name), *idle * (name == "new")), controls)
        for name in ("new", "newer")
    )
    assert [c.verdict for c in own.headlines] == [Verdict.UNDECIDED, moved, moved]
    assert own.controls == ("idle", "still")
    counts = [dict(of.accelerated)["typical"].accelerated for of in (own, other)]
    assert counts == [2 * (moved is Verdict.FASTER), 1]
    assert own.controlled == ()
    assert [c.verdict for c in other.headlines] == [Verdict.FASTER]


UNTOUCHED, AGAIN = "which the change cannot touch", "old (again)"


@pytest.mark.parametrize(("low", "high"), [(1.002, 1.008), (0.992, 0.998), (0.999, 1.001), (1.0, 1.01)])
def test_a_control_that_is_the_same_within_a_margin_may_differ(low: float, high: float) -> None:
    """Where its bounds leave 1 out: a smaller difference of the candidate is then no proof."""
    control = of_blocks((low * high) ** 0.5, Verdict.EQUIVALENT, (low, high), benchmark="idle")
    controls = Controls(SessionAsked("time", unaffected=("idle",)), (control,))
    found, _ = controls.hold(of_blocks(1.001, Verdict.FASTER))
    doubted = not low <= 1.0 <= high
    assert found.verdict is (Verdict.UNDECIDED if doubted else Verdict.FASTER)
    assert [note.versions for note in found.checks] == [(found.candidate.label,)] * doubted
    assert [note.message for note in controls.notes("new")] == [f"idle, {UNTOUCHED}, differs"] * doubted


FASTER, SLOWER, SAME, OPEN = Verdict


@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize(("speedup", "verdict", "margin", "edges", "kept", "lost"), [
    (1.02, FASTER, None, None, OPEN, "difference"), (1.021, FASTER, None, None, FASTER, ""),
    (0.981, SLOWER, None, None, OPEN, "difference"), (0.979, SLOWER, 0.05, None, SLOWER, ""),
    (1.0, OPEN, None, None, OPEN, ""), (1.0, SAME, 0.05, None, SAME, ""), (1.0, SAME, None, None, OPEN, "margin"),
    (1.035, SAME, 0.05, None, OPEN, "margin"), (1 / 1.035, SAME, 0.05, None, OPEN, "margin"),
    # A policy's limits decide where there are any, also of what has no verdict.
    (1.01, FASTER, 0.05, (), OPEN, ""), (1.01, FASTER, 0.05, (1 / 1.05,), OPEN, ""),
    (0.96, OPEN, 0.05, (1 / 1.05,), OPEN, "margin"), (0.96, SLOWER, 0.05, (1 / 1.05, 1.05), SLOWER, "margin"),
    (1.04, FASTER, 0.05, (1 / 1.05, 1.05), FASTER, "margin"), (1.1, FASTER, 0.05, (1 / 1.05, 1.05), FASTER, ""),
])  # fmt: skip
def test_nothing_is_claimed_that_is_no_farther_from_its_limit_than_a_control_moved(
    built: bool, speedup: float, verdict: Verdict, margin: float | None, edges: Sequence[float] | None,
    kept: Verdict, lost: str,
) -> None:  # fmt: skip
    """By 2 %, in logarithms: from 1 what is faster or slower, from the margin what is the same."""
    control = of_blocks(1.02, FASTER, candidate=AGAIN) if built else of_blocks(1.02, FASTER, benchmark="idle")
    controls = Controls(SessionAsked("time", control=built, unaffected=("idle",)), (control,))
    at_margin = margin and AtMargin(margin, *[0.5] * 5)
    found, gone = controls.hold(replace(of_blocks(speedup, verdict), at_margin=at_margin), edges)
    assert (found.verdict, gone) == (kept, bool(lost))
    size = "distance from the margin" if lost == "margin" else lost
    what = "of two builds of the reference" if built else "where the change can have done nothing"
    said = [f"its {size} is no larger than the difference {what}: the verdict is withheld"] * gone
    assert [note.message for note in found.checks] == said
    assert (found.needed == WITHHELD) is gone


@pytest.mark.parametrize(
    ("builds", "failed", "tested"), [(30, False, False), (30, True, True), (20, False, True)]
)
def test_what_is_tested_once_waits_for_all_of_its_builds(builds: int, failed: bool, tested: bool) -> None:
    """Not for those of which a run failed."""
    whole = of_blocks(1.1, Verdict.FASTER, (1.05, 1.2))
    lost = (Note(Assumption.SUCCESSFUL_RUNS, "runs failed"),) * failed
    # Builds of one run each are blocks that are compared; so many runs without blocks are of one build.
    for unit, paired in (("build", False), ("run", True), ("run", False)):
        sides = (replace(side, repeated=unit) for side in (whole.reference, whole.candidate))
        both = dict(zip(("reference", "candidate"), sides, strict=True))
        head = replace(whole, **both, checks=lost, paired=paired)
        found = withheld(sheet_of(head), Controls(SessionAsked("time", builds=builds))).headlines[0]
        expected = tested and (unit == "build" or paired or failed)
        assert (found.verdict is Verdict.FASTER, found.needed is None) == (expected, expected)


def measured(asks: str, levels: Mapping[str, Mapping[str, float]], metrics: str = "t") -> Suite:
    """What the file of a session holds: of every version a level of each benchmark, in twenty runs."""
    runs, fields = 1 + np.arange(20) % 7 / 999, ((SESSION_ASKS, f'{{"decide_by": "time"{asks}}}'),)
    return Suite.from_records(
        (v, Record(name, level * runs, metric=m, tool="speedproof", fields=fields))
        for v, of in levels.items()
        for name, level in of.items()
        for m in metrics
    )


LEVELS = {
    "old": (1.0, 1.0, 1.0),
    AGAIN: (1.01, 1.0, 1.0),
    "new": (1.001, 1.02, 1.0),
    "newer": (1.005, 1.0, 1.0),
}


@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize("idle", [(), ("idle", "still"), ("still",)])
def test_what_of_a_session_cannot_differ(built: bool, idle: tuple[str, ...]) -> None:
    """All of a second build, at the whole risk; what no change can touch of every candidate, at a part each."""
    names, candidates = ("sort", "idle", "still"), list(LEVELS)[1:]
    asks = f', "control": {str(built).lower()}, "unaffected": {json.dumps(idle)}'
    suite = measured(asks, {v: dict(zip(names, of, strict=True)) for v, of in LEVELS.items()}, "tu")
    controls = Controls.of(suite, "u", "old", candidates, "typical", Rules(0.04))
    assert sorted(
        (c.benchmark, c.candidate.label, c.alpha, c.metric) for c in controls.comparisons
    ) == sorted(
        (name, v, 0.04 / len(idle) if name in idle else 0.04, "u")
        for name, v in itertools.product(names, candidates)
        if name in idle or (built and v == AGAIN)
    )
    found = gate(suite, ("old", "new", "newer"), lambda _: Demand(margin=0.005))
    row, c = found.judged[0]
    held = built or "idle" in idle
    assert (row.candidate, row.benchmark, row.outcome) == ("new", "sort", "undecided" if held else "pass")
    assert (row.required.proven, c.needed == WITHHELD) == (not held, held)
    results = found.results
    apart = {(c.benchmark, c.candidate.label) for c in controls.comparisons}
    assert [(r.candidate, r.metric) for r in results] == [
        *itertools.product(("new", "newer", *[AGAIN] * bool(apart)), "tu")
    ]
    for r in results:
        assert {*r.controls} == {name for name, v in apart if v == r.candidate}
        assert sorted(r.benchmarks) == sorted(r.controls if r.candidate == AGAIN else names)
    again = "old, built again from the same source, differs", ("old",), ("sort",), 1 / 1.01
    touched = f"idle, {UNTOUCHED}, differs", (), ("idle",), 1 / 1.02
    for name in ("new", "newer"):
        told = controls.added_to((Note(Assumption.ONE_LAYOUT, "", statistic=0.0),), name)
        expected: list[Any] = [("", (), (), 0.0)] * (not built) + [again] * built
        expected += [touched] * ("idle" in idle and name == "new")
        assert [(n.message, n.versions, n.benchmarks) for n in told] == [one[:3] for one in expected]
        assert [n.statistic for n in told] == pytest.approx([one[3] for one in expected])


@pytest.mark.parametrize(("moved", "ranked"), [(1.0, True), (1.5, False)])
def test_no_places_are_told_where_what_cannot_differ_does(moved: float, ranked: bool) -> None:
    levels = {v: {"sort": of, "idle": moved if v == "c" else 1.0} for v, of in (("a", 1), ("b", 2), ("c", 3))}
    assert bool(sp.compare_suite(measured(', "unaffected": ["idle"]', levels)).rankings) is ranked
