"""What a row of the Speedup-Test's output says of the mean or the median: significant or not, at which level.

With a confidence level the protocol is read at it. Without one the highest level is reported at which
the whole protocol says "significant": exactly here, by bisection in the original tool
(:mod:`speedproof.protocols.original`). Levels under one half are not reported, as there.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.protocols.confidence import highest_confidence
from speedproof.protocols.figures import SIGNIFICANT, SMALL
from speedproof.protocols.mean import MeanDecision, decide_mean, mean_tests
from speedproof.protocols.median import KSRule, MedianDecision, decide_median, median_tests
from speedproof.protocols.results import HighestConfidence
from speedproof.stats.estimate import Estimate, alpha_at
from speedproof.stats.ratio_means import ratio_of_means
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.scaling import location_ratio, mean, median

DEFAULT_LEVEL = 0.95
_LEAST_LEVEL = 0.5


class RowFinding(Struct, frozen=True):
    """What a row of the tool's output says of one location."""

    significant: bool  # whether the speedup is; False also when the protocol could not conclude
    confidence: float  # its confidence level; NaN when the protocol could not conclude and none was given
    remarks: tuple[str, ...]  # warnings
    # The speedup with certified bounds at the stated level, or at 0.95 when none was given; None when the
    # protocol stopped before a test. The original tool has none
    bounds: Estimate | None = None
    slower: bool = False  # whether a slowdown is significant at the level of the bounds


def mean_remarks(decision: MeanDecision, n: int, m: int) -> tuple[str, ...]:
    """The warnings of the mean protocol on one pair."""
    remarks = []
    for side, normal, size in ((1, decision.normal_x, n), (2, decision.normal_y, m)):
        if bool(normal):
            continue
        if size <= SMALL:
            remarks.append(f"mean: more than {SMALL} runs needed for sample {side}")
        else:
            remarks.append(f"mean: sample {side} not normal, confidence may be inaccurate")
    return tuple(remarks)


def median_remarks(decision: MedianDecision) -> tuple[str, ...]:
    """The warnings of the median protocol on one pair."""
    if bool(decision.undermined):
        return ("median: no location shift, confidence may be inaccurate",)
    return tuple(
        f"median: more than {SMALL} runs needed for sample {side}"
        for side, lacking in ((1, decision.lacking_x), (2, decision.lacking_y))
        if bool(lacking)
    )


def no_level_remark(location: str) -> str:
    """The warning that no level worth reporting makes the protocol say "significant"."""
    return f"{location}: no confidence level of {_LEAST_LEVEL:g} or more"


def article_mean(
    x: FloatArray, y: FloatArray, confidence: float | None, *, always_welch: bool = False
) -> RowFinding:
    """The row for the mean by figure 1 of the article."""
    tests = mean_tests(x, y)

    def decide(alpha: float | FloatArray) -> MeanDecision:
        return decide_mean(tests, alpha, always_welch=always_welch)

    level, alpha = _level_and_alpha(confidence)
    at_level = decide(alpha)
    bounds = None
    if not math.isnan(float(at_level.pvalue)):
        interval = ratio_of_means(x, y, alpha, equal_variances=at_level.equal_variances)
        bounds = Estimate(location_ratio(mean, x, y), float(interval.low), float(interval.high), level)
    slower = bool(at_level.state_slower == SIGNIFICANT)
    if confidence is not None:
        significant = bool(at_level.state == SIGNIFICANT)
        return RowFinding(significant, confidence, mean_remarks(at_level, tests.n, tests.m), bounds, slower)
    pvalues = (
        tests.shapiro_x.pvalue,
        tests.shapiro_y.pvalue,
        tests.variances.pvalue,
        tests.student.pvalue,
        tests.welch.pvalue,
    )
    highest = highest_confidence(map(float, pvalues), lambda alpha: decide(alpha).state == SIGNIFICANT)
    return _at_highest(
        "mean", highest, lambda alpha: mean_remarks(decide(alpha), tests.n, tests.m), bounds, slower
    )


def article_median(
    x: FloatArray, y: FloatArray, confidence: float | None, ks_rule: KSRule = "legacy"
) -> RowFinding:
    """The row for the median by figure 2 of the article."""
    tests = median_tests(x, y, ks_rule)
    level, alpha = _level_and_alpha(confidence)
    at_level = decide_median(tests, alpha)
    bounds = None
    if not math.isnan(float(at_level.pvalue)):
        interval = ratio_of_medians(x, y, alpha)
        observed = location_ratio(median, x, y)
        bounds = Estimate(observed, float(interval.low), float(interval.high), level)
    slower = bool(at_level.state_slower == SIGNIFICANT)
    if confidence is not None:
        significant = bool(at_level.state == SIGNIFICANT)
        return RowFinding(significant, confidence, median_remarks(at_level), bounds, slower)
    highest = highest_confidence(
        (float(tests.location.pvalue), float(tests.ranks.pvalue)),
        lambda alpha: decide_median(tests, alpha).state == SIGNIFICANT,
    )
    return _at_highest(
        "median", highest, lambda alpha: median_remarks(decide_median(tests, alpha)), bounds, slower
    )


def _level_and_alpha(confidence: float | None) -> tuple[float, float]:
    """The level of the bounds and its risk."""
    level = DEFAULT_LEVEL if confidence is None else confidence
    return level, alpha_at(level)


def _at_highest(
    location: str,
    highest: HighestConfidence,
    remarks: Callable[[float], tuple[str, ...]],
    bounds: Estimate | None,
    slower: bool,
) -> RowFinding:
    if not highest.value >= _LEAST_LEVEL:
        missing = (*remarks(1 - _LEAST_LEVEL), no_level_remark(location))
        return RowFinding(False, math.nan, missing, bounds, slower)
    # At the infimum itself, not at 1 minus the rounded level.
    infimum = highest.intervals[0][0]
    return RowFinding(True, highest.value, remarks(infimum), bounds, slower)
