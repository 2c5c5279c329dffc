"""Suites against R and the article's numbers: totals, geometric means, controlled verdicts and rankings."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats
from tests.protocols.asking import compare_means, compare_medians, geometric_means, hpt_of_pairs, rank_suite

import speedproof as sp
from speedproof.conclude.multiplicity import control_verdicts
from speedproof.conclude.suite import SuiteComparison, compare_suite
from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Pairing, Record, Suite
from speedproof.data.units import Direction
from speedproof.errors import DataError
from speedproof.options import DETAILS, QuestionName
from speedproof.protocols.aggregates import (
    Gain2009,
    LogRatios,
    MeanLogRatio,
    accelerated,
    accelerated_2009,
    gain_2009,
    locate,
    overall_gain,
    weigh,
)
from speedproof.protocols.mean import means
from speedproof.protocols.median import medians
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.results import LogSpeedup, Verdict
from speedproof.stats.multiplicity import benjamini_hochberg, clopper_pearson, holm, prop_test, wilson
from speedproof.stats.special import t_quantile
from studies import suite_inference as study

Oracle = Callable[[str], Any]


def test_suites_against_r(oracle: Oracle) -> None:
    """Overall speedup and gain and both proportions of every generated suite are R's."""
    for suite in oracle("suites")["suites"]:
        pairs = [(np.array(b["x"], float), np.array(b["y"], float)) for b in suite["benchmarks"]]
        weights = suite["weights"] if isinstance(suite["weights"], list) else [suite["weights"]]
        for location, expected in suite["overall"].items():
            found = overall_gain(
                [locate(x, location) for x, _ in pairs], [locate(y, location) for _, y in pairs], weights
            )
            assert found.speedup == pytest.approx(expected["speedup"], rel=1e-12)
            assert found.gain == pytest.approx(expected["gain"], rel=1e-12, abs=1e-15)
        for protocol in ("mean", "median"):
            expected = suite[f"accelerated_{protocol}"]
            count = [row[protocol]["state"] for row in suite["individual"]].count("significant")
            assert count == expected["a"]
            found_share = accelerated(count, len(pairs), 1 - expected["confidence"], expected["precision"])
            interval = (found_share.proportion.low, found_share.proportion.high)
            assert interval == pytest.approx(tuple(expected["prop_test"]), abs=1e-10)
            assert found_share.validity == pytest.approx(expected["validity_value"], abs=1e-10)
            assert found_share.valid == expected["valid_2013"]
            assert found_share.benchmarks_needed == expected["benchmarks_needed"]


def test_published_validity() -> None:
    """Section 4: a - a^2/b is 7.37 for 17 of 30, which exceeds 5; for all of 34 it is 0."""
    assert round(accelerated(17, 30, 0.1, 0.05).validity, 2) == 7.37
    assert accelerated(17, 30, 0.1, 0.05).valid
    assert not accelerated(34, 34, 0.1, 0.05).valid


def test_weights_and_what_is_wrong_with_them() -> None:
    """Zero is a weight, if not all are zero; each fault by its name."""
    equal, same = (1.0, 1.0), "; all benchmarks weigh the same"
    faults: list[tuple[list[float | None], str]] = [
        ([-1.0, 2.0], "a weight is negative or not a number"),
        ([2.0, math.nan], "a weight is negative or not a number"),
        ([math.inf, 1.0], "a weight is negative or not a number"),
        ([None, -math.inf], "a weight is negative or not a number"),
        ([None, 0.5], "a weight is missing"),
        ([None, None], "no weights are given"),
        ([0.0, 0.0], "all weights are zero"),
    ]
    for custom, fault in faults:
        assert weigh("custom", [2.0, 3.0], custom) == (equal, fault + same)
        assert weigh("equal", [2.0, 3.0], custom) == (equal, "")
        assert weigh("fraction", [2.0, 3.0], custom) == ((2.0, 3.0), "")
    for own in ([0.0, 0.5], [0.5, 0.0], [0.25, 3.0]):
        assert weigh("custom", [2.0, 3.0], own) == (tuple(own), "")


def test_from_when_on_a_share_is_valid() -> None:
    """Above 5 of a - a^2 / b, as 11 of 22 are and 10 of 20 are not; in 2009 from ten accelerated programs on."""
    for a, b in itertools.product((0, 1, 9, 10, 11, 15), (15, 20, 22, 400)):
        found, then = accelerated(a, b, 0.1, 0.02), accelerated_2009(a, b, 0.1, 0.02)
        validity = Fraction(a) - Fraction(a * a, b)
        assert (found.accelerated, found.benchmarks, found.precision) == (a, b, 0.02)
        assert found.validity == pytest.approx(float(validity))
        assert found.valid is (validity > 5)
        assert (then.validity, then.valid) == (a, a >= 10)
        for told in (found, then):
            assert told.proportion == prop_test(a, b, 0.1)
            assert (told.wilson, told.clopper_pearson) == (wilson(a, b, 0.1), clopper_pearson(a, b, 0.1))


def pair(name: str, x: list[float], y: list[float], unit: str = "B", higher: bool = False) -> Pair:
    direction = Direction.HIGHER if higher else Direction.LOWER
    return Pair(Key(name), *(Sample(np.array(v), unit, direction) for v in (x, y)))


def compared(pairs: list[Pair], asked: tuple[QuestionName, ...], alpha: float = 0.05) -> SuiteComparison:
    return compare_suite(
        Pairing(tuple(pairs), (), (), ()), ("old", "new"), Key("").metric, Rules(alpha), asked
    )


def made(count: int) -> list[Pair]:
    rng = np.random.default_rng(3)
    return [
        pair(str(k), (gain * rng.normal(1, 0.05, 9)).tolist(), rng.normal(1, 0.05, 8).tolist())
        for k, gain in zip(range(count), itertools.cycle((0.2, 1.5, 1.0, 0.5)), strict=False)
    ]


def test_totals_of_a_suite_by_numpy() -> None:
    """Minima, means and medians of all benchmarks; none where in any of them more is better."""
    own = made(4)
    found = compared(own, ("mean",))
    assert [name for name, _ in found.overall] == ["min", "mean", "median"]
    for location, gain in found.overall:
        at: Any = getattr(np, location)
        before, after = (
            sum(float(at(side.values)) for side in sides)
            for sides in ([p.reference for p in own], [p.candidate for p in own])
        )
        assert (gain.speedup, gain.gain) == pytest.approx((before / after, 1 - after / before))
    rate = pair("rate", [1.0, 2.0, 3.0], [2.0, 3.0, 4.0], "op/s", higher=True)
    for some in ([rate, *own], [*own, rate], [rate]):
        assert compared(some, ("mean",)).overall == ()
    assert compared([], ("mean",)).overall == ()


@pytest.mark.parametrize(("count", "asked", "told"), [
    (4, DETAILS, False), (5, DETAILS, True), (5, (*DETAILS, "touati2009"), True), (5, DETAILS[1:], False),
])  # fmt: skip
def test_a_suite_of_five_is_tested_as_a_whole_where_all_is_asked(
    count: int, asked: tuple[QuestionName, ...], told: bool
) -> None:
    own = made(count)
    found = compared(own, asked, 0.1).hpt
    assert repr(found) == (repr(hpt_of_pairs(own, confidences=[0.9])) if told else "None")


def test_few_runs_are_told_of_what_they_decided() -> None:
    own = [pair("apart", [2, 2.1, 2.2], [1, 1.1, 1.2]), pair("mixed", [1, 1.2, 1.4], [1.1, 1.3, 1.5])]
    for some, told in ((own, [("apart",)]), (own[:1], [()]), (own[1:], [])):
        notes = compared(some, ("typical",)).caveats
        assert [note.benchmarks for note in notes if note.kind is Assumption.SEVERAL_RUNS] == told


def test_gains_of_2009_of_a_suite() -> None:
    """Of the benchmarks with positive medians, however small, and of those that are faster."""
    own = [
        *made(4),
        pair("no reference", [0.0, 0.0, 1.0], [0.5, 0.6, 0.7]),
        pair("no candidate", [0.5, 0.6, 0.7], [0.0, 0.0, 1.0]),
        pair("small", [0.4, 0.5, 0.6, 0.45], [0.1, 0.12, 0.11, 0.13]),
    ]
    found = compared(own, ("typical", "touati2009"), 0.1)
    by_it = [c for c in found.comparisons if c.protocol == "touati2009"]
    usable = [c for c in by_it if not c.benchmark.startswith("no ")]
    faster = [c for c in usable if c.verdict is Verdict.FASTER]
    assert 0 < len(faster) < len(usable) == 5
    assert [name for name, _ in found.gain_2009] == ["all", "accelerated"]
    for (_, told), some in zip(found.gain_2009, (usable, faster), strict=True):
        before, after = [c.reference.median for c in some], [c.candidate.median for c in some]
        assert told == gain_2009(before, after, [0.9] * len(some))
        assert isinstance(told, Gain2009)
    counts = dict(found.accelerated)
    assert counts["touati2009"] == accelerated_2009(
        sum(c.proven_verdict is Verdict.FASTER for c in by_it), 7, 0.1, 0.05
    )
    others = [c for c in found.comparisons if c.protocol == "typical"]
    assert counts["typical"] == accelerated(
        sum(c.proven_verdict is Verdict.FASTER for c in others), 7, 0.1, 0.05
    )
    assert compared(own, ("typical",)).gain_2009 == ()


def test_what_is_counted_over_a_suite_leaves_out_single_runs() -> None:
    """Shares and controlled verdicts are of speedups; of one benchmark nothing is controlled, of none counted."""
    rng = np.random.default_rng(9)
    own = [Pair(Key(k), Sample(rng.normal(11, 1, 9)), Sample(rng.normal(10, 1, 9))) for k in "abc"]
    asked: tuple[QuestionName, ...] = ("typical", "single run", "mean")
    both = ["typical", "mean"]
    for count, told, controlled in ((3, both, both), (1, both, []), (0, [], [])):
        found = compared(own[:count], asked)
        assert [protocol for protocol, _ in found.accelerated] == told
        assert {c.protocol for c in found.controlled} == set(controlled)
        assert (found.geometric_means is not None) == (count > 1)
        assert [c.protocol for c in found.comparisons] == list(asked) * count


@pytest.mark.slow
@pytest.mark.parametrize(("benchmarks", "runs", "options"), [
    (4, (3, 5), {}), (12, (8, 8), {"noise": "two modes"}), (6, (6, 6), {"nested": 8}),
    pytest.param(122, (30, 5), {"noise": "exponential"}, id="uneven and skewed"),
])  # fmt: skip
def test_coverage_of_both_geometric_means(
    benchmarks: int, runs: tuple[int, int], options: dict[str, Any]
) -> None:
    """Each interval holds its own truth in 95 % of suites; the bias of skewed runs does not add up."""
    repeats = 250 if benchmarks < 100 else 60
    for share in study.coverage((benchmarks,), runs, repeats, 1, drawn=3000, **options)[benchmarks]:
        assert share.repeats - share.count <= stats.binom.ppf(0.999, share.repeats, 0.05)


def test_the_interval_is_no_wider_than_it_must_be() -> None:
    """With 5 + 5 runs it misses in 3 % at least: a mean over 6 benchmarks is not told as less than it is."""
    these, _ = study.coverage((6,), (5, 5), 500, 3, drawn=3000)[6]
    assert these.repeats - these.count >= stats.binom.ppf(0.001, 500, 0.03)


def timed(x: np.ndarray, y: np.ndarray, name: str = "b") -> Pair:
    return Pair(Key(name), Sample(x, "s", label="old"), Sample(y, "s", label="new"))


def noisy(rng: np.random.Generator, gains: np.ndarray, n: int = 10, noise: float = 0.05) -> list[Pair]:
    return [
        timed(gain * rng.normal(1, noise, n), rng.normal(1, noise, n + 3), f"b{i}")
        for i, gain in enumerate(gains)
    ]


def test_a_single_run_gives_no_interval() -> None:
    pairs = [*noisy(np.random.default_rng(1), np.array([1.2, 1.3])), timed(np.ones(1), np.ones(5), "once")]
    found = geometric_means(pairs)
    assert (found.these.low, found.these.high, found.these.confidence) == (0.0, math.inf, 0.95)
    assert found.like_these.low > 0
    for error in (math.nan, 1e100):  # whose square no number holds
        assert math.isnan(LogRatios.of(2.0, LogSpeedup(0.7, error, 3.0)).mean(like_these=False).error)
    alone = sp.Suite.of_samples({"b": {"old": [1.2, 1.3, 1.25], "new": [1.0, 1.1, 1.05]}})
    assert sp.compare_suite(alone, protocols="mean").result.geometric_means is None


@given(st.floats(-9, 9), st.floats(0.5, 1e12), st.floats(1e-9, 0.9))
def test_what_is_not_apart_is_proven_by_neither_tail(t: float, df: float, alpha: float) -> None:
    """Against SciPy: a quick look never hides what the test proves, and hides most of what it does not."""
    mean = MeanLogRatio(0.01 * t, 0.01 * t, 0.01, df)
    if stats.t.sf(abs(t), df) <= alpha:
        assert mean.apart(alpha)
    if stats.norm.sf(abs(t)) > 1.01 * alpha:
        assert not mean.apart(alpha)
    assert replace(mean, error=0.0).apart(alpha)
    assert not replace(mean, error=math.nan).apart(alpha)


@given(st.floats(1e-6, 0.5), st.floats(0.5, 1.9), st.floats(2, 1e6), st.floats(0.001, 0.4))
def test_a_ratio_of_means_against_one_that_is_known(
    error: float, ratio: float, df: float, alpha: float
) -> None:
    """Where the smaller one is exact it is SciPy's t test of one mean; the bounds are where that has the risk."""
    mean = MeanLogRatio(math.log(ratio), math.log(ratio), error, df)
    for margin, less in ((math.log(0.9 * ratio), False), (math.log(1.1 * ratio), True)):
        share = 1.0 - 0.9 if not less else 1.0 - 1.0 / 1.1
        expected = stats.t.sf(share / error, df)
        assert mean.pvalue_of_means(margin, less=less) == pytest.approx(expected, rel=1e-6, abs=1e-300)
        assert expected >= mean.pvalue(margin, less=less) * (1.0 - 1e-9)
    found = mean.estimate_of_means(alpha)
    for bound, less in ((found.low, False), (found.high, True)):
        if 0.0 < bound < math.inf:
            assert mean.pvalue_of_means(math.log(bound), less=less) == pytest.approx(alpha, rel=1e-5)
    assert (found.low > 0.0) == (stats.t.sf(1.0 / error, df) < alpha), "nothing is too small to be shown"
    whole = replace(mean, error=1.0 / t_quantile(1.0 - alpha, df)).estimate_of_means(alpha)
    assert whole.high > 1e15
    assert replace(mean, error=0.0).estimate_of_means(alpha).ends == pytest.approx((ratio, ratio))


def test_it_is_of_what_the_rows_show() -> None:
    """Of typical speedups, also where the means go another way; the same in Python, JSON and the sheet."""
    rng = np.random.default_rng(8)
    records = [
        (version, Record(name, at * (1 + 0.01 * rng.normal(size=20) + slow * (rng.random(20) < 0.3))))
        for name in "abc"
        for version, at, slow in (("old", 1.0, 0.0), ("new", 0.97, 0.5))
    ]
    found = sp.compare_suite(Suite.from_records(records))
    means = found.geometric_mean
    assert means is not None
    heads = found.result.headlines
    assert means.these.value == pytest.approx(stats.gmean([c.speedup.value for c in heads]))
    assert means.these.value > 1 > stats.gmean([c.reference.mean / c.candidate.mean for c in heads])
    told = json.loads(found.to_json())["results"][0]["geometric_means"]["these"]
    assert (told["value"], told["low"], told["high"]) == (
        means.these.value, means.these.low, means.these.high,
    )  # fmt: skip
    assert f"Geometric mean: {means.these.value:.2f}x faster [" in str(found)
    by_means = sp.compare_suite(Suite.from_records(records), protocols="mean").geometric_mean
    assert by_means is not None
    assert by_means.these.value < 1


def test_one_protocol_a_family() -> None:
    p = timed(np.array([2.0, 2.1]), np.array([1.0, 1.1]))
    with pytest.raises(ValueError, match="one family a protocol"):
        control_verdicts(
            [compare_means(p.reference, p.candidate), compare_medians(p.reference, p.candidate)], 0.05
        )


@given(seed=st.integers(0, 10**6), margin=st.sampled_from([None, 0.005, 0.05]), runs=st.integers(3, 40))
@settings(max_examples=60, deadline=None)
def test_no_correction_claims_more(seed: int, margin: float | None, runs: int) -> None:
    """Of any suite, shifted or not, tied or not: a corrected verdict is the plain one, or undecided.

    It has the adjusted p-value of its claim; of what is undecided the nearest one is told.
    """
    rng = np.random.default_rng(seed)
    pairs = [
        timed(
            rng.normal(100, 1 + 3 * rng.random(), runs).round(int(rng.integers(0, 4))),
            rng.normal(100 * (1 + 0.02 * rng.normal()), 1 + 3 * rng.random(), runs + 2).round(1),
        )
        for _ in range(6)
    ]
    prepared = PreparedPairs(pairs, Rules(margin=margin))
    for question, (method, adjust) in itertools.product(
        (means, medians), (("holm", holm), ("bh", benjamini_hochberg))
    ):
        compared = question(prepared)
        claims = np.array(
            [
                [c.pvalue, c.pvalue_slower, c.at_margin.equivalent if c.at_margin else math.nan]
                for c in compared
            ]
        )
        adjusted, total = adjust(claims.ravel()).reshape(6, 3), Counter[Verdict]()
        found = control_verdicts(compared, 0.05, method=method, margin=margin)  # type: ignore[arg-type]
        for row, c, plain, told in zip(found.verdicts, compared, claims, adjusted, strict=True):
            of = [*Verdict].index(c.proven_verdict)
            at = of if of < 3 else 0 if np.isnan(plain).all() else int(np.nanargmin(told))
            kept = of < 3 and told[at] <= 0.05
            assert (row.plain, row.verdict) == (c.verdict, c.verdict if kept else Verdict.UNDECIDED)
            told_of_it = row.pvalue, row.confidence, row.plain_confidence
            assert told_of_it == pytest.approx((told[at], 1 - told[at], 1 - plain[at]), nan_ok=True)
            total[row.verdict] += 1
        assert (found.family, found.counts) == ((~np.isnan(claims)).sum(), {v: total[v] for v in Verdict})


def versions_suite(rng: np.random.Generator, times: dict[str, float], n: int = 12) -> Suite:
    return Suite.from_records(
        (version, Record(name, time * rng.normal(1, 0.02, n)))
        for name in ("sort", "hash", "json")
        for version, time in times.items()
    )


@pytest.mark.parametrize("question", ["typical", "mean"])
def test_clear_order(question: str) -> None:
    suite = versions_suite(np.random.default_rng(1), {"a": 3.0, "b": 1.0, "c": 2.0, "d": 1.0})
    found = rank_suite(suite, question=question)
    assert {v.version: (v.best_rank, v.worst_rank) for v in found.versions} == {
        "a": (4, 4), "b": (1, 2), "c": (3, 3), "d": (1, 2),
    }  # fmt: skip
    assert found.versions[-1].speedup.value == 1.0
    assert {v.version: round(v.speedup.value, 1) for v in found.versions} == {
        "a": 1, "b": 3, "c": 1.5, "d": 3,
    }  # fmt: skip
    assert {p.verdict for p in found.pairs} == {Verdict.FASTER, Verdict.SLOWER, Verdict.UNDECIDED}


def test_only_benchmarks_of_all() -> None:
    suite = versions_suite(np.random.default_rng(4), {"a": 1.0, "b": 2.0, "c": 3.0})
    partial = Suite(suite.versions, {k: v for k, v in suite.samples.items() if k != (Key("json"), "c")})
    found = rank_suite(partial)
    assert (found.benchmarks, found.left_out) == (("sort", "hash"), ("json",))
    samples = {**suite.samples, (Key("json"), "c"): Sample(np.zeros(3))}
    assert rank_suite(Suite(suite.versions, samples)).left_out == ("json",)
    with pytest.raises(DataError, match="at least two versions"):
        rank_suite(suite, versions=["a"])
    with pytest.raises(DataError, match=r"no benchmark was measured \(memory\)"):
        rank_suite(suite, metric="memory")
