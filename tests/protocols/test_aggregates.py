"""Geometric means, controlled verdicts and rankings: SciPy, theorems, simulation with binomial bounds."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats
from tests.protocols.asking import compare_means, compare_medians, geometric_means, rank_suite

import speedproof as sp
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Record, Suite
from speedproof.data.units import Direction
from speedproof.errors import DataError
from speedproof.protocols.aggregates import MeanLogRatio
from speedproof.protocols.mean import means
from speedproof.protocols.median import medians
from speedproof.protocols.multiplicity import control_verdicts
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.results import Verdict
from speedproof.stats.special import t_quantile


def pair(x: np.ndarray, y: np.ndarray, name: str = "b", unit: str = "s") -> Pair:
    direction = Direction.HIGHER if unit.endswith("/s") else Direction.LOWER
    return Pair(Key(name), Sample(x, unit, direction, label="old"), Sample(y, unit, direction, label="new"))


def noisy(rng: np.random.Generator, gains: np.ndarray, n: int = 10, noise: float = 0.05) -> list[Pair]:
    return [
        pair(gain * rng.normal(1, noise, n), rng.normal(1, noise, n + 3), f"b{i}")
        for i, gain in enumerate(gains)
    ]


def test_a_single_run_gives_no_interval() -> None:
    pairs = [*noisy(np.random.default_rng(1), np.array([1.2, 1.3])), pair(np.ones(1), np.ones(5), "once")]
    found = geometric_means(pairs)
    assert (found.these.low, found.these.high, found.these.confidence) == (0.0, math.inf, 0.95)
    assert found.like_these.low > 0
    alone = geometric_means(noisy(np.random.default_rng(1), np.array([1.2])))
    assert (alone.like_these.low, alone.like_these.high) == (0.0, math.inf)


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
    p = pair(np.array([2.0, 2.1]), np.array([1.0, 1.1]))
    with pytest.raises(ValueError, match="one family a protocol"):
        control_verdicts(
            [compare_means(p.reference, p.candidate), compare_medians(p.reference, p.candidate)], 0.05
        )


@given(seed=st.integers(0, 10**6), margin=st.sampled_from([None, 0.005, 0.05]), runs=st.integers(3, 40))
@settings(max_examples=60, deadline=None)
def test_no_correction_claims_more(seed: int, margin: float | None, runs: int) -> None:
    """Of any suite, shifted or not, tied or not: a corrected verdict is the plain one, or undecided."""
    rng = np.random.default_rng(seed)
    pairs = [
        pair(
            rng.normal(100, 1 + 3 * rng.random(), runs).round(int(rng.integers(0, 4))),
            rng.normal(100 * (1 + 0.02 * rng.normal()), 1 + 3 * rng.random(), runs + 2).round(1),
        )
        for _ in range(6)
    ]
    prepared = PreparedPairs(pairs, Rules(margin=margin))
    for question in (means, medians):
        plain = question(prepared)
        for method in ("holm", "bh"):
            found = control_verdicts(plain, 0.05, method=method, margin=margin)
            for row, comparison in zip(found.verdicts, plain, strict=True):
                assert row.plain is comparison.verdict
                assert row.verdict in (row.plain, Verdict.UNDECIDED)
                assert not row.pvalue < 1 - row.plain_confidence - 1e-15


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
