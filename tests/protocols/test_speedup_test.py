"""Figures 1 and 2 of the Speedup-Test article against R, pair by pair and risk by risk."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from msgspec.structs import astuple

from speedproof.protocols.figures import Decision, highest_of, state_of
from speedproof.protocols.mean import decide_mean, mean_tests
from speedproof.protocols.median import MedianDecision, decide_median, median_tests
from speedproof.protocols.results import HighestConfidence

Oracle = Callable[[str], Any]

# R's Shapiro-Wilk test loses its digits on this sample, whose spread is near the resolution of doubles. The
# oracle keeps the exact p-value under "centred", and that is ours.
INEXACT_IN_R = {"pe18"}


def cases(oracle: Oracle) -> list[dict[str, Any]]:
    return [case for name in ("pairs", "pairs_edges") for case in oracle(name)["cases"]]


def arrays(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(case["x"], dtype=float), np.array(case["y"], dtype=float)


def state(found: Decision, alpha: str | float) -> str:
    lacking = bool(found.lacking_x), bool(found.lacking_y)
    figure_2 = isinstance(found, MedianDecision)
    return state_of(float(found.pvalue), float(alpha), lacking, together=figure_2).value


def test_mean_protocol_against_r(oracle: Oracle) -> None:
    """Every state, side at fault, deciding test, p-value and warning of figure 1 is R's."""
    seen = 0
    for case in cases(oracle):
        tests = mean_tests(*arrays(case))
        if case["id"] in INEXACT_IN_R:
            centred = case["shapiro_y"]["centred"]["p"]
            assert float(tests.shapiro_y.pvalue) == pytest.approx(centred, abs=1e-8)
            continue
        for alpha, expected in case["mean_protocol"].items():
            found = decide_mean(tests, float(alpha))
            where = f"{case['id']} at {alpha}"
            assert state(found, alpha) == expected["state"], where
            lacking = [s for s, bad in (("X", found.lacking_x), ("Y", found.lacking_y)) if bad]
            assert lacking == expected["samples_lacking_runs"], where
            undermined = not (lacking or (found.normal_x and found.normal_y))
            assert undermined == expected["warning"], where
            assert bool(found.normal_x) == expected["x_normal"], where
            assert bool(found.normal_y) == expected["y_normal"], where
            if expected["test"] is not None and isinstance(expected["p"], float):
                assert bool(found.equal_variances) == (expected["test"] == "student"), where
                scale = abs(case["observed"]["mean_x"]) or 1.0
                tight = math.sqrt(case["observed"]["var_x"] or 0) < 1e-6 * scale
                assert float(found.pvalue) == pytest.approx(expected["p"], abs=1e-6 if tight else 1e-8), where
            seen += 1
    assert seen > 500


def test_median_protocol_against_r(oracle: Oracle) -> None:
    """Every state of figure 2 is R's, with the Kolmogorov-Smirnov rule of old and of new R."""
    seen = 0
    for case in cases(oracle):
        x, y = arrays(case)
        old, new = median_tests(x, y), median_tests(x, y, "r422")
        for alpha, expected in case["median_protocol"].items():
            where = f"{case['id']} at {alpha}"
            found = decide_median(old, float(alpha))
            assert state(found, alpha) == expected["state"], where
            under_new = decide_median(new, float(alpha))
            assert state(under_new, alpha) == case["median_state_with_r422_ks"][alpha], where
            if case["ks"]["near_ties"]:  # either set of Kolmogorov-Smirnov values is right
                continue
            lacking = [s for s, bad in (("X", found.lacking_x), ("Y", found.lacking_y)) if bad]
            assert lacking == expected["samples_lacking_runs"], where
            for decision, warning in (
                (found, expected["warning"]),
                (under_new, case["median_warning_with_r422_ks"][alpha]),
            ):
                stops = bool(decision.lacking_x | decision.lacking_y)
                assert (not (decision.location_model or stops)) == warning, where
            seen += 1
    assert seen > 400


def highest(protocol: str, x: np.ndarray, y: np.ndarray) -> HighestConfidence:
    if protocol == "mean":
        m = mean_tests(x, y)
        return highest_of(partial(decide_mean, m), m.pvalues)[0]
    d = median_tests(x, y, "legacy" if protocol == "median" else "r422")
    return highest_of(partial(decide_median, d), d.pvalues)[0]


@pytest.mark.parametrize("protocol", ["mean", "median", "median_with_r422_ks"])
def test_highest_confidence_against_r(oracle: Oracle, protocol: str) -> None:
    """The set of risks at which the whole protocol says "significant" is the oracle's, end points included."""
    for case in cases(oracle):
        if case["id"] in INEXACT_IN_R or (protocol != "mean" and case["ks"]["near_ties"]):
            continue
        expected = case["highest_confidence"][protocol]
        found = highest(protocol, *arrays(case))
        where = case["id"]
        if expected["highest_confidence"] is None:
            assert math.isnan(found.value), where
            assert found.intervals == (), where
            continue
        assert found.value == pytest.approx(expected["highest_confidence"], abs=1e-6), where
        assert found.attained == expected["attained"], where
        assert found.upward_closed == expected["upward_closed"], where
        ours = [(a, b) for a, b, _, _ in found.intervals]
        theirs = [(i["from"], i["to"]) for i in expected["significant_alphas"]]
        assert ours == [pytest.approx(pair, abs=1e-6) for pair in theirs], where
        included = [(c, d) for _, _, c, d in found.intervals]
        assert included == [(i["from_included"], i["to_included"]) for i in expected["significant_alphas"]], (
            where
        )


def test_student_for_samples_that_are_not_normal_is_a_variant(oracle: Oracle) -> None:
    """Where the deciding test matters, the article's Welch and the variant with Student differ as in R."""
    differing = 0
    for case in cases(oracle):
        if case["id"] in INEXACT_IN_R:
            continue
        for alpha, expected in case["mean_protocol"].items():
            if case["mean_state_if_student_when_not_normal"][alpha] != expected["state"]:
                assert expected["test"] == "welch"
                differing += 1
    assert differing > 0


def test_directions_mirror_each_other(oracle: Oracle) -> None:
    """A slowdown of Y is a speedup with X and Y exchanged: same states, same p-values."""
    for case in cases(oracle)[:60]:
        x, y = arrays(case)
        one, other = decide_mean(mean_tests(x, y), 0.05), decide_mean(mean_tests(y, x), 0.05)
        assert float(one.pvalue_slower) == pytest.approx(float(other.pvalue), rel=1e-9, nan_ok=True)
        ranks, mirrored = decide_median(median_tests(x, y), 0.05), decide_median(median_tests(y, x), 0.05)
        assert float(ranks.pvalue_slower) == pytest.approx(float(mirrored.pvalue), rel=1e-9, nan_ok=True)


def test_arrays_decide_as_single_pairs() -> None:
    """Leading axes change nothing: a batch gives what its pairs give one by one."""
    rng = np.random.default_rng(20130601)
    x = rng.lognormal(0.0, 0.2, (40, 33))
    y = rng.lognormal(-0.05, 0.3, (40, 25))
    means, medians = decide_mean(mean_tests(x, y), 0.05), decide_median(median_tests(x, y), 0.05)
    for i in range(40):
        for batch, alone in (
            (means, decide_mean(mean_tests(x[i], y[i]), 0.05)),
            (medians, decide_median(median_tests(x[i], y[i]), 0.05)),
        ):
            for one, other in zip(astuple(batch), astuple(alone), strict=True):
                np.testing.assert_allclose(one[i], other, rtol=1e-12)


def test_more_values_than_shapiro_wilk_was_made_for() -> None:
    """Above 5000 values normality counts as not established, as where R refuses the test: Welch decides."""
    rng = np.random.default_rng(5001)
    x, y = rng.normal(10, 1, 5001), rng.normal(9.9, 1, 5001)
    found = decide_mean(mean_tests(x, y), 0.05)
    assert not found.normal_x
    assert not found.equal_variances
