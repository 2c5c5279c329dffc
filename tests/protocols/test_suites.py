"""Overall gain and proportion of accelerated benchmarks against R and the numbers that the article prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from speedproof.protocols.figures import state_of
from speedproof.protocols.mean import decide_mean, mean_tests
from speedproof.protocols.median import decide_median, median_tests
from speedproof.protocols.suites import accelerated, locate, overall_gain, weigh

Oracle = Callable[[str], Any]


def test_suites_against_r(oracle: Oracle) -> None:
    """Overall speedup and gain, all states and both proportions of every generated suite are R's."""
    for suite in oracle("suites")["suites"]:
        pairs = [(np.array(b["x"], float), np.array(b["y"], float)) for b in suite["benchmarks"]]
        weights = suite["weights"] if isinstance(suite["weights"], list) else [suite["weights"]]
        for location, expected in suite["overall"].items():
            found = overall_gain(
                [locate(x, location) for x, _ in pairs], [locate(y, location) for _, y in pairs], weights
            )
            assert found.speedup == pytest.approx(expected["speedup"], rel=1e-12)
            assert found.gain == pytest.approx(expected["gain"], rel=1e-12, abs=1e-15)
        alpha = suite["alpha"]
        states: dict[str, list[str]] = {"mean": [], "median": []}
        for (x, y), individual in zip(pairs, suite["individual"], strict=True):
            mean, median = decide_mean(mean_tests(x, y), alpha), decide_median(median_tests(x, y), alpha)
            for name, found_ in (("mean", mean), ("median", median)):
                lacking = bool(found_.lacking_x), bool(found_.lacking_y)
                state = state_of(float(found_.pvalue), alpha, lacking, together=name == "median")
                states[name].append(state.value)
            assert states["mean"][-1] == individual["mean"]["state"], (suite["id"], individual["name"])
            assert states["median"][-1] == individual["median"]["state"], (suite["id"], individual["name"])
        for protocol in ("mean", "median"):
            expected = suite[f"accelerated_{protocol}"]
            count = states[protocol].count("significant")
            assert count == expected["a"]
            found_share = accelerated(count, len(pairs), 1 - expected["confidence"], expected["precision"])
            interval = (found_share.proportion.low, found_share.proportion.high)
            assert interval == pytest.approx(tuple(expected["prop_test"]), abs=1e-10)
            assert found_share.validity == pytest.approx(expected["validity_value"], abs=1e-10)
            assert found_share.valid == expected["valid_2013"]
            assert found_share.benchmarks_needed == expected["benchmarks_needed"]


@pytest.mark.parametrize(
    ("a", "b", "confidence", "low", "high"),
    [
        (17, 30, 0.9, 0.4027157, 0.7184049),  # section 4
        (34, 34, 0.9, 0.901, 1.0),  # section 6.1
        (31, 45, 0.95, 0.532, 0.814),  # section 6.2
        (41, 54, 0.95, 0.621, 0.861),  # section 6.3
    ],
)
def test_published_intervals(a: int, b: int, confidence: float, low: float, high: float) -> None:
    """The intervals that the article prints."""
    found = accelerated(a, b, 1 - confidence, 0.05).proportion
    digits = 7 if a == 17 else 3
    assert (round(found.low, digits), round(found.high, digits)) == (low, high)


@pytest.mark.parametrize(("a", "b", "needed"), [(17, 30, 378), (31, 45, 330), (41, 54, 281)])
def test_published_numbers_of_benchmarks(a: int, b: int, needed: int) -> None:
    """The article's numbers of benchmarks for a precision of 0.05 at confidence 0.95."""
    assert accelerated(a, b, 0.05, 0.05).benchmarks_needed == needed


def test_published_validity() -> None:
    """Section 4: a - a^2/b is 7.37 for 17 of 30, which exceeds 5; for all of 34 it is 0."""
    assert round(accelerated(17, 30, 0.1, 0.05).validity, 2) == 7.37
    assert accelerated(17, 30, 0.1, 0.05).valid
    assert not accelerated(34, 34, 0.1, 0.05).valid


def test_custom_weights_fall_back_to_equal_ones() -> None:
    """Missing, negative and all-zero weights are replaced by equal ones, with a remark."""
    for custom in ([None, None], [1.0, None], [-1.0, 2.0], [0.0, 0.0], [float("nan"), 1.0]):
        weights, remark = weigh("custom", [2.0, 3.0], custom)
        assert weights == (1.0, 1.0)
        assert remark
    assert weigh("custom", [2.0, 3.0], [0.0, 2.0]) == ((0.0, 2.0), "")
    assert weigh("fraction", [2.0, 3.0], [None, None]) == ((2.0, 3.0), "")


def test_a_total_of_zero_has_no_speedup() -> None:
    """Counts may be zero on both sides; their ratio is not a number rather than a crash."""
    assert np.isnan(overall_gain([0.0], [0.0], [1.0]).speedup)
    assert np.isnan(overall_gain([1.0], [0.0], [1.0]).gain)
