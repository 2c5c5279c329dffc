"""What holds for one side, at one size, of one version, holds for the other, at another, of the next."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.protocols.asking import (
    article_mean,
    compare_single_runs,
    compare_typical,
    geometric_means,
    log_ratios,
    rank_suite,
    stop_rules,
)

from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair, Suite
from speedproof.errors import DataError
from speedproof.protocols import hpt_speedup, hpt_steps
from speedproof.protocols.bisection import Bisection
from speedproof.protocols.claims import Demand, Outcome
from speedproof.protocols.figures import fewest, forecasts
from speedproof.protocols.findings import article_median
from speedproof.protocols.hpt_levels import HptRule, decimal, score_duel
from speedproof.protocols.negative_controls import withheld
from speedproof.protocols.noise_floor import hides
from speedproof.protocols.original import original_mean, original_median
from speedproof.protocols.pair import Rules
from speedproof.protocols.ranking import rank_benchmark
from speedproof.protocols.results import SessionFloor, Verdict
from speedproof.protocols.sequential import CandidateResult, SequentialComparison
from speedproof.protocols.stopping import SessionQuestion
from speedproof.protocols.units import paired_units
from speedproof.stats import signed_rank
from speedproof.stats.power import RunsNeeded
from speedproof.stats.sequential import SequentialResult

ORDER = frozenset({Trait.ORDER_KNOWN})


@pytest.mark.parametrize("rule", ["exact", "paper"])
@pytest.mark.parametrize("digits", [1, 6])
def test_scores_a_million_times_as_large(rule: HptRule, digits: int) -> None:
    """What A certifies over B it certifies a million times over, where nothing below that fails."""
    rng = np.random.default_rng([digits, 7])
    for _ in range(4):
        a, b = (np.round(rng.lognormal(gain, 0.1, (7, 6)), digits) + 1.0 for gain in (0.9, 0.5))
        (plain,) = hpt_speedup.r_speedup(
            [score_duel(*p) for p in zip(a, b, strict=True)], [0.9], rule, literal=False
        )
        large = [score_duel(1e6 * x, y) for x, y in zip(a, b, strict=True)]
        (found,) = hpt_speedup.r_speedup(large, [0.9], rule, literal=False)
        assert plain.certified is not None
        assert Fraction(found.certified_exact) == 10**6 * Fraction(plain.certified_exact)
        assert Fraction(found.supremum_exact) == 10**6 * Fraction(plain.supremum_exact)
        assert found.certified_attained == plain.certified_attained


def test_numbers_of_any_span_keep_their_decimals() -> None:
    """Whole numbers of one unit are the printed decimals, within 64 bits and beyond; doubles are the nearest."""
    rng = np.random.default_rng(5)
    for a in ([0.1, 0.25, 3.0], [1e-9, 1.0, 1e9 + 0.125], (10 ** rng.uniform(-200, 200, 9)).tolist(), [7.0]):
        duel = score_duel(a, [a[0]])
        unit = decimal(a[0]) / int(duel.lower.values[0])
        assert [k * unit for k in duel.upper.values.tolist()] == sorted(decimal(v) for v in set(a))
        exact = [Fraction(k, int(duel.upper.values[-1])) for k in duel.upper.values.tolist()]
        share = duel.upper.rounded / duel.upper.rounded[-1] if duel.upper.rounded.any() else None
        assert share is None or share.tolist() == pytest.approx([float(e) for e in exact], rel=1e-15)


@pytest.mark.parametrize(("n", "m"), [(300, 3), (3, 300)])
def test_few_runs_against_many(n: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of a benchmark do not depend on how many ratios are listed."""
    rng = np.random.default_rng(n)
    duel = score_duel(rng.lognormal(0.3, 0.1, n), rng.lognormal(0.0, 0.1, m))
    found = []
    for listed in (1 << 30, 0):
        monkeypatch.setattr(hpt_steps, "LISTED", listed)
        steps = hpt_steps.level1_steps(duel, "paper")
        found.append((steps.start, steps.points.tolist(), steps.after.tolist()))
    assert found[0] == found[1]


def test_what_has_no_ratio_is_not_hidden_by_a_floor() -> None:
    """At the reach itself a speedup, and its inverse, is hidden, beyond it not; nothing is known of 0 or less."""
    floor = SessionFloor(0.01, 8.0, 4, 0.05)
    assert hides(SessionFloor(0.0, 8.0, 4, 0.0), 1.02, 1.02)
    for edge in (1.0, 1 / 1.02, 1.02):
        for speedup in (1.05 * (1 - 1e-12), 1 / 1.05 * (1 + 1e-12)):
            assert hides(floor, edge * speedup, edge)
        for speedup in (1.05 * (1 + 1e-12), 1 / 1.05 * (1 - 1e-12), 0.0, -0.5, math.nan):
            assert not hides(floor, edge * speedup, edge)


@pytest.mark.parametrize("drifting", ["a", "b", "c"])
def test_a_version_that_undermines_its_rank(drifting: str) -> None:
    """It and all that were compared with it are marked, and with stationary runs nobody is."""
    rng = np.random.default_rng(3)
    key = Key("sort")
    samples = {
        (key, v): Sample(at + 0.01 * rng.standard_normal(12))
        for v, at in zip("abc", (3.0, 2.0, 1.0), strict=True)
    }
    still = rank_benchmark(Suite(("a", "b", "c"), samples), key, "abc", Rules())
    assert not any(v.undermined for v in still.versions)
    assert [v.version for v in still.versions] == ["c", "b", "a"]
    assert [(p.reference, p.candidate, p.verdict) for p in still.pairs] == [
        (*pair, Verdict.FASTER) for pair in ("ab", "ac", "bc")
    ]
    samples[key, drifting] = Sample(samples[key, drifting].values, traits=frozenset({Trait.FAILED_RUNS}))
    found = rank_benchmark(Suite(("a", "b", "c"), samples), key, "abc", Rules())
    assert all(v.undermined == ("sort",) for v in found.versions)
    two = rank_benchmark(Suite(("a", "b", "c"), samples), key, [v for v in "abc" if v != drifting], Rules())
    assert not any(v.undermined for v in two.versions)
    with pytest.raises(DataError, match="sort was not measured in all of a, d"):
        rank_benchmark(Suite(("a", "b", "c"), samples), key, "ad", Rules())


def test_known_comparisons_are_not_made_again() -> None:
    """A ranking takes those that it is given, and gives the same with them as without."""
    rng = np.random.default_rng(4)
    key = Key("sort")
    samples = {
        (key, v): Sample(at + 0.1 * rng.standard_normal(12))
        for v, at in zip("abc", (1.2, 1.1, 1.0), strict=True)
    }
    suite = Suite(("a", "b", "c"), samples)
    known = {("a", "b"): compare_typical(samples[key, "a"], samples[key, "b"], Rules(), key)}
    assert rank_benchmark(suite, key, "abc", Rules(), known) == rank_benchmark(suite, key, "abc", Rules())


@pytest.mark.parametrize(("level", "agreed"), [(0.05, True), (0.004, False)])
def test_skewed_blocks_are_told_alike_of_either_side(level: float, agreed: bool) -> None:
    """Exchanged sides give the same words: a gain told of one is a loss told of the other."""
    rng = np.random.default_rng(12)
    skewed = rng.exponential(0.02, 60)
    ratios = np.exp(skewed - np.median(skewed) + (level if agreed else -level))
    told = []
    for x, y in ((ratios, np.ones(60)), (np.ones(60), ratios)):
        race = SequentialComparison("sort", ("X", "Y"), stop_rules(max_blocks=60))
        for one, other in zip(x.tolist(), y.tolist(), strict=True):
            race.add({"X": one, "Y": other})
        told.append([check.message for check in race.warnings("Y") if "skewed (p" in check.message])
    assert told[0] == told[1] != []
    assert ("agree on who is faster" in told[0][0]) is agreed


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_two_versions_rank_as_their_geometric_mean(alpha: float) -> None:
    """Its interval, and Holm's p-value of the direction observed: twice the smaller of the two."""
    rng = np.random.default_rng(8)
    for level in (1.01, 1.0, 0.99):
        samples = {
            (Key(f"b{k}"), v): Sample(at * (1 + 0.02 * rng.standard_normal(9)))
            for k in range(5)
            for v, at in (("a", level), ("b", 1.0))
        }
        suite = Suite(("a", "b"), samples)
        pairs = suite.pair("a", "b").pairs
        (found,) = rank_suite(suite, alpha=alpha).pairs
        assert found.estimate == geometric_means(pairs, alpha, question="typical").these
        mean = log_ratios(pairs, question="typical").mean(like_these=False)
        assert found.pvalue == pytest.approx(min(1.0, 2 * min(mean.pvalue(), mean.pvalue(less=True))))


def test_parts_of_names_that_differ_are_paired_by_themselves() -> None:
    """``a1.json`` belongs to ``b1.txt``: what the names of a side begin and end with says nothing of a session."""
    rng = np.random.default_rng(9)
    values, sessions = rng.normal(10.0, 1.0, 12), np.repeat(np.arange(4), 3)
    one, other = (
        Sample(values + shift, sessions=sessions, session_names=tuple(form.format(k) for k in range(1, 5)))
        for shift, form in ((0.0, "a{}.json"), (1.0, "new-{}.txt"))
    )
    paired = paired_units(Pair(Key("b"), one, other))
    assert paired is not None
    assert (paired[1].values - paired[0].values).tolist() == pytest.approx([1.0] * 4)


def sequential(estimate: float, verdict: Verdict, **fields: Any) -> CandidateResult:
    nothing = SequentialResult(20, 0, 0.05, 0.0, math.inf, 0.0, 0.0, 1.0, 1.0)
    given = {"benchmark": "sort", "reference": "old", "candidate": "new", **fields}
    return CandidateResult(
        verdict=verdict, result=nothing, estimate=estimate, reason="", blocks_to_go=0.0, **given
    )


@pytest.mark.parametrize("untouched", [False, True])
@pytest.mark.parametrize("outcome", [None, *Outcome])
@pytest.mark.parametrize("verdict", Verdict)
def test_a_claim_stands_beyond_what_cannot_differ(
    verdict: Verdict, outcome: Outcome | None, untouched: bool
) -> None:
    """It has to be farther from its edge, 1, the margin's or the gate's, than the control is from 1."""
    rules = stop_rules(margin=0.05, demand=Demand(margin=0.02) if outcome else None)
    what = {"benchmark": "idle"} if untouched else {"candidate": "old (again)"}
    for size, estimate in itertools.product((0.97, 1.03), (0.8, 0.975, 0.995, 1.005, 1.025, 1.3)):
        control = sequential(size, Verdict.FASTER if size > 1 else Verdict.SLOWER, **what)
        question = SessionQuestion(rules, control=True, unaffected=["idle"])
        found, alone = withheld([sequential(estimate, verdict, outcome=outcome), control], question)
        assert alone == control
        floor = abs(math.log(size))
        within = 0.05 if verdict is Verdict.EQUIVALENT else 0.0
        near = min(abs(math.log(estimate * (1 + within))), abs(math.log(estimate / (1 + within)))) <= floor
        near_gate = outcome in (Outcome.PASS, Outcome.FAIL) and abs(math.log(estimate * 1.02)) <= floor
        assert found.verdict is (Verdict.UNDECIDED if near else verdict)
        assert found.outcome == (Outcome.UNDECIDED if near_gate else outcome)
        lost = near_gate if outcome else near and verdict is not Verdict.UNDECIDED
        assert found.reason == ("withheld" if lost else "")
        assert len(found.warnings) == lost
        for warning in found.warnings:
            assert warning.kind is Assumption.NOISE_FLOOR
            start = "its distance from the margin is" if outcome or within else "its difference is"
            where = (
                "where the change can have done nothing" if untouched else "of two builds of the reference"
            )
            assert warning.message.startswith(start)
            assert where in warning.message


@pytest.mark.parametrize("sizes", [(1.01, 1.04), (1.04, 1.01), (0.99, 0.96)])
def test_the_largest_difference_of_a_candidates_own_controls_counts(sizes: tuple[float, float]) -> None:
    """What another candidate does to a benchmark that no change can touch is its own affair."""
    question = SessionQuestion(stop_rules(), unaffected=["idle", "still"])
    moved = Verdict.FASTER if sizes[0] > 1 else Verdict.SLOWER
    controls = [sequential(v, moved, benchmark=b) for v, b in zip(sizes, question.unaffected, strict=True)]
    own, other = (sequential(1.02, Verdict.FASTER, candidate=name) for name in ("new", "newer"))
    found = withheld([own, other, *controls], question)
    assert [f.verdict for f in found[:2]] == [Verdict.UNDECIDED, Verdict.FASTER]
    assert withheld([*controls, own, other], question) == (*found[2:], *found[:2])


def test_the_tool_of_2010_tells_of_no_slowdown() -> None:
    """Nor of bounds; the article's rows do both."""
    rng = np.random.default_rng(6)
    fast, slow = rng.normal(1.0, 0.01, 40), rng.normal(2.0, 0.01, 40)
    for alpha in (0.05, None):
        for found in (original_mean(fast, slow, alpha), original_median(fast, slow, alpha)):
            assert (found.significant, found.slower, found.bounds) == (False, False, None)
        for found in (
            article_mean(fast, slow, alpha, always_welch=False),
            article_median(fast, slow, alpha, "legacy"),
        ):
            assert (found.significant, found.slower) == (False, True)
            assert found.bounds is not None
            assert found.bounds.high < 1


def test_a_bisection_knows_nothing_before_its_first_pair() -> None:
    found = Bisection(5).finding()
    nothing = [math.nan, 0.0, math.inf]
    np.testing.assert_equal([found.change, found.change_low, found.change_high], nothing)
    np.testing.assert_equal([found.step, found.step_low, found.step_high], nothing)
    np.testing.assert_equal([found.rest_low, found.rest_high, found.probability], [math.nan] * 3)
    assert (found.parent, found.culprit, found.credible, found.second, found.pairs) == (
        None,
        None,
        (),
        0.0,
        0,
    )


@pytest.mark.slow
@pytest.mark.parametrize("digits", [0, None])
def test_bounds_of_the_normal_pvalue(digits: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of the exact one: in every cell they hold what exact arithmetic finds, from four benchmarks on."""
    for module in (hpt_speedup, signed_rank):
        monkeypatch.setattr(module, "COUNTS_BELOW", 4)
    rng = np.random.default_rng(13)
    for _ in range(8):
        a, b = (rng.lognormal(gain, 0.25, (8, 4)) for gain in (1.6, 1.5))
        if digits is not None:
            a, b = (np.maximum(np.round(v), 1.0) for v in (a, b))
        line = hpt_speedup._Line([score_duel(*p) for p in zip(a, b, strict=True)], "exact", False, [0.05])
        for cell in range(line._lower.size):
            for *_, inside in line._split(cell):
                exact = hpt_speedup._pvalue_at(line.duels, inside, "exact", False)
                assert line._lower[cell] - 1e-12 <= exact <= line._upper[cell] + 1e-12
        if digits is None:
            np.testing.assert_allclose(line._lower[1:-1:2], line._upper[1:-1:2], rtol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 40), (40, 2), (3, 5), (5, 3), (4, 5), (5, 4), (40, 40)])
def test_the_side_with_too_few_runs_is_named(n: int, m: int) -> None:
    """A single run takes five a side at 5 %, since 2^-5 is below it, a typical run three: C(6, 3) = 20 orders."""
    rng = np.random.default_rng(10)
    x, y = (Sample(10.0 + (rng.permutation(size) - (size - 1) / 2) / 100) for size in (n, m))
    for found, least in ((compare_single_runs(x, y), 5), (compare_typical(x, y), 3)):
        assert found.verdict is Verdict.UNDECIDED
        assert found.needed is not None
        lacking = 1 / math.comb(n + m, n) > 0.05 if least == 3 else min(n, m) < 5
        assert found.needed.least is lacking
        if lacking:
            expected = [least if size < least else None for size in (n, m)]
            assert [found.needed.reference, found.needed.candidate] == expected
    sides = [SimpleNamespace(x=SimpleNamespace(n=n), y=SimpleNamespace(n=m))]
    for least in (2, 3, 4, 5, 40, 41):
        told = fewest(sides, [0], least)[0]  # type: ignore[arg-type]
        runs = [None if size >= least else least for size in (n, m)]
        assert ([told.reference, told.candidate], told.least) == (runs, True)


@pytest.mark.parametrize(("x", "y"), [(math.inf, 5.0), (5.0, math.inf), (math.nan, 5.0), (5.0, math.nan)])
def test_a_side_that_never_has_enough_runs_has_no_number(x: float, y: float) -> None:
    sides = [SimpleNamespace(turned=False, x=SimpleNamespace(n=4), y=SimpleNamespace(n=4))]
    values = np.array([[1.0, 2.0, 3.0, 4.0]])
    needed = RunsNeeded(np.array([x]), np.array([y]))
    told = forecasts(sides, values, values, Rules(), [0], lambda *_: needed)[0]  # type: ignore[arg-type]
    assert (told.reference, told.candidate) == (None, None)
    assert told.reason == "no difference was observed, so no number of runs can be named"
