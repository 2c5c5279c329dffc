"""The 2009 protocol: R's values case by case, the text's examples, enumeration of the bootstrap."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.protocols.asking import compare_2009

from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample, Trait
from speedproof.protocols.aggregates import accelerated_2009, gain_2009
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Comparison, State, Verdict
from speedproof.protocols.touati2009 import State2009, bootstrap_means, decide_2009

Oracle = Callable[[str], Any]
# The samples of the text's examples 2.1 and 2.2.
T1, T2 = [2.799, 2.046, 1.259, 1.877, 2.244], [1.046, 0.259, 0.877, 1.244, 1.799]


def test_preconditions_against_r(oracle: Oracle) -> None:
    """Normality is asked of three to 29 values."""
    for case in oracle("protocol2009")["cases"]:
        found = decide_2009(case["t1"], case["t2"], 0.05)
        sides = zip(found.hurst, found.w, found.normality, strict=True)
        for (hurst, w, p), name in zip(sides, ("t1", "t2"), strict=True):
            assert hurst == pytest.approx(case[f"hurst_{name}"], abs=1e-9, nan_ok=True), case["id"]
            shapiro = case[f"shapiro_{name}"]
            if 3 <= len(case[name]) < 30 and shapiro["W"] is not None:
                assert w == pytest.approx(shapiro["W"], abs=1e-7), case["id"]
                assert p == pytest.approx(shapiro["p"], abs=1e-6), case["id"]


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.99, 0.01])
def test_states_against_r(oracle: Oracle, confidence: float) -> None:
    for case in oracle("protocol2009")["cases"]:
        expected, where = case["protocol"][f"{confidence:g}"], case["id"]
        found = decide_2009(case["t1"], case["t2"], 1 - confidence)
        assert found.state == expected["state"], where
        failing = expected.get("programs_failing", [])
        assert found.failing == ("P" in failing, "P'" in failing), where
        if "interval_lower" in expected:
            scale = abs(np.mean(case["t1"]))
            assert found.difference[1] == pytest.approx(expected["interval_lower"], abs=1e-8 * scale), where
        comparison = compare(case["t1"], case["t2"], 1 - confidence)
        if "speedup" in expected:
            assert comparison.speedup.value == pytest.approx(expected["speedup"], rel=1e-12), where
            assert comparison.state is State.SIGNIFICANT
        runs = {State2009.HUNDRED_NEEDED: 100, State2009.NOT_NORMAL: 30}.get(found.state)
        if runs is not None and confidence == 0.95:
            assert comparison.needed is not None
            assert {comparison.needed.reference, comparison.needed.candidate} <= {None, runs}
            assert str(found.state) in comparison.needed.reason


def compare(x: list[float], y: list[float], alpha: float = 0.05, *, bootstrap: bool = False) -> Comparison:
    return compare_2009(
        Sample(np.array(x), label="P"), Sample(np.array(y), label="P'"), Rules(alpha, bootstrap=bootstrap)
    )


def test_example_2_1() -> None:
    """A speedup at 95 % and none at 99 %; of the minima 4.86, of the medians 1.95 (cut from 1.956)."""
    assert compare(T1, T2, 0.01).verdict is Verdict.UNDECIDED
    found = compare(T1, T2, 0.05)
    assert found.verdict is Verdict.FASTER
    assert math.floor(found.speedup.value * 100) / 100 == 1.95
    assert round(found.reference.minimum / found.candidate.minimum, 2) == 4.86
    assert [round(c.statistic, 7) for c in found.checks[:2]] == [0.7032736, 0.7032736]


@pytest.mark.parametrize("trait", [Trait.FAILED_RUNS, Trait.STOPPED_ON_RESULT, Trait.TRIMMED])
def test_what_undermines_other_protocols_undermines_it(trait: Trait) -> None:
    x, y = Sample(np.array(T1), traits=frozenset({trait})), Sample(np.array(T2))
    found = compare_2009(x, y, Rules(0.05))
    assert (found.verdict, found.proven) == (Verdict.FASTER, False)


def test_example_2_2() -> None:
    """At a confidence of 1 % the slower program is 'faster': said as a check that does not hold."""
    found = compare(T2, T1, 0.99)
    assert decide_2009(T2, T1, 0.99).difference[1] == pytest.approx(0.02574667, abs=5e-9)
    assert found.state is State.SIGNIFICANT
    assert found.verdict is Verdict.SLOWER
    (told,) = (c for c in found.failed_checks if c.kind is Assumption.USUAL_CONFIDENCE)
    assert told.name == "confidence level"
    assert told.statistic == pytest.approx(0.01)
    assert not any(c.kind is Assumption.USUAL_CONFIDENCE for c in compare(T2, T1, 0.4999).checks)
    assert any(c.kind is Assumption.USUAL_CONFIDENCE for c in compare(T2, T1, 0.5).checks)


def test_example_3_1() -> None:
    """W(P1) is 0.0008 (printed 0.008), g(P2) is 179.85 and G is 5 %."""
    found = gain_2009([3.0, 3600.0], [1.0, 3420.0], [0.95, 0.95])
    assert [round(w, 4) for w in found.weights] == [0.0008, 0.9992]
    assert round(found.weighted_gains[1], 2) == 179.85
    assert found.gain == pytest.approx(0.050000428240443345, rel=1e-13)


def test_example_4_1() -> None:
    found = accelerated_2009(17, 30, 0.1, 0.05)
    assert (round(found.proportion.low, 7), round(found.proportion.high, 7)) == (0.4027157, 0.7184049)
    assert accelerated_2009(17, 30, 0.05, 0.05).benchmarks_needed == 378


def test_gain_against_r(oracle: Oracle) -> None:
    for suite in oracle("suites")["suites"]:
        before, after = (np.array([np.median(b[side]) for b in suite["benchmarks"]]) for side in "xy")
        significant = [row["mean"]["state"] == "significant" for row in suite["individual"]]
        for name, expected in suite["gain_2009"].items():
            chosen = np.array(
                significant if name == "accelerated_by_mean_protocol_only" else [True] * before.size
            )
            if expected is not None:
                found = gain_2009(before[chosen], after[chosen], [0.95] * int(chosen.sum()))
                assert found.weights == pytest.approx(expected["weights"], rel=1e-13), suite["id"]
                assert found.weighted_gains == pytest.approx(expected["weighted_gains"], rel=1e-12), suite[
                    "id"
                ]
                assert found.gain == pytest.approx(expected["gain"], rel=1e-12), suite["id"]


@pytest.mark.parametrize(("before", "after"), [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (1.0, math.nan)])
def test_times_that_give_no_gain(before: float, after: float) -> None:
    """Zeros in either version, and among others that are positive; times of one version only."""
    for others in ([], [2.0]):
        with pytest.raises(ValueError, match="positive"):
            gain_2009([*others, before], [*others, after], [0.9] * (len(others) + 1))
    with pytest.raises(ValueError, match="as many"):
        gain_2009([1.0], [1.0, 2.0], [0.9])


def test_the_difference_of_the_means_in_base_units() -> None:
    """Example 2.1's interval, whatever the unit; the upper bound is the mirror image's lower one."""
    for scale in (1.0, 1e-300, 1e200):
        found = compare([t * scale for t in T1], [t * scale for t in T2], 0.01).difference
        mirrored = compare([t * scale for t in T2], [t * scale for t in T1], 0.01).difference
        assert found is not None
        assert mirrored is not None
        assert found.low == pytest.approx(-0.02574667 * scale, rel=1e-6)
        assert found.value == pytest.approx(scale, rel=1e-12)
        assert found.high == pytest.approx(-mirrored.low, rel=1e-12)


def test_against_enumeration() -> None:
    """All 27 x 27 resamples of three runs each, counted, against the drawn ones."""
    x, y = [1.0, 2.0, 4.0], [1.0, 1.5, 3.0]
    means = [[np.mean(s) for s in itertools.product(v, repeat=3)] for v in (x, y)]
    exact = np.sort([a / b for a, b in itertools.product(*means)])
    drawn = np.divide(*bootstrap_means(x, y, resamples=20000, seed=3))
    for at in (0.8, 1.0, 1.3, 1.9):
        share = np.mean(exact <= at + 1e-12)
        error = 4 * math.sqrt(share * (1 - share) / 20000)
        assert np.mean(drawn <= at + 1e-12) == pytest.approx(share, abs=error)


def test_it_is_used_only_where_the_text_allows_it() -> None:
    assert compare(T1, T2, bootstrap=True).test == "Welch's t test"
    dependent = list(np.tile([1.0, 2.0], 10) + np.arange(20) * 1e-6)
    assert compare(dependent, T2 * 4, bootstrap=True).test == ""


def test_medians_and_means_that_contradict_each_other() -> None:
    """The means differ by the rare slow mode of X, the medians not at all."""
    rng = np.random.default_rng(1)
    slow = rng.random(400) < 0.3
    x, y = 10 + rng.normal(0, 0.1, 400) + 10 * slow, 10 + rng.normal(0, 0.1, 400)
    found = compare(x.tolist(), y.tolist())
    assert found.verdict is Verdict.FASTER
    assert found.speedup.value < found.speedup.low
    assert "medians and means agree" in [c.name for c in found.failed_checks]


@pytest.mark.parametrize("x", [[1.0], [1.0, 2.0], [3.0] * 10])
def test_undefined(x: list[float]) -> None:
    found = compare(x, T2)
    assert (found.state, found.verdict) == (State.UNDEFINED, Verdict.UNDECIDED)
    assert any("undefined" in c.message for c in found.failed_checks)


def test_a_spread_that_doubles_do_not_resolve() -> None:
    """Like R's t.test on data that are essentially constant: no statement."""
    x = [1.0] * 20 + [1.0 + 2.0**-52] * 20
    found = compare(x, x[::-1])
    assert found.state is State.UNDEFINED
    assert found.checks[0].held


def test_the_risk_itself_proves_a_speedup() -> None:
    pvalue = decide_2009(T1, T2, 0.05).pvalue
    for alpha, state in ((pvalue, State2009.SPEEDUP), (pvalue * (1 - 1e-9), State2009.NO_SPEEDUP)):
        assert decide_2009(T1, T2, alpha).state is state


@pytest.mark.parametrize("n", [0, 1, 2, 3, 29, 30, 31])
def test_normality_is_asked_of_fewer_than_thirty(n: int) -> None:
    """And of three at least, as SciPy says; on either side."""
    values = np.arange(float(n)) ** 2
    for k, found in enumerate((decide_2009(values, T1, 0.05), decide_2009(T1, values, 0.05))):
        told = found.w[k], found.normality[k]
        expected = stats.shapiro(values) if 3 <= n < 30 else (math.nan, math.nan)
        assert told == pytest.approx(tuple(expected), rel=1e-6, nan_ok=True)
        assert not math.isnan(found.w[1 - k])


@pytest.mark.parametrize("alpha", [0.0001, 0.00009, 0.05, 0.3])
def test_the_bootstrap_of_2009_in_ranks(alpha: float) -> None:
    """9,999 resamples: the k-th of them from either end bounds, k = 10,000 alpha; below k = 1 nothing does."""
    rng = np.random.default_rng(3)
    while True:
        x, y = 10.4 + rng.pareto(2.5, 12), 10 + rng.pareto(2.5, 15)
        if decide_2009(x, y, alpha).state is State2009.NOT_NORMAL:
            break
    found = compare(x.tolist(), y.tolist(), alpha, bootstrap=True)
    a, b = bootstrap_means(x, y)
    ratios, differences = np.sort(a / b), np.sort(a - b)
    expected = [(1 + np.sum(side)) / 10_000 for side in (ratios <= 1, ratios >= 1)]
    assert (found.pvalue, found.pvalue_slower) == pytest.approx(expected)
    k = {0.0001: 1, 0.00009: 0, 0.05: 500, 0.3: 3000}[alpha]
    assert found.difference is not None
    told = (found.speedup.low, found.speedup.high, found.difference.low, found.difference.high)
    ends = [v for sample in (ratios, differences) for v in (sample[k - 1], sample[min(9999 - k, 9998)])]
    assert told == pytest.approx(tuple(ends) if k else (0.0, math.inf, -math.inf, math.inf))
    assert found.speedup.value == pytest.approx(np.median(x) / np.median(y))
