"""What a row of the Speedup-Test's output says of the mean or the median: significant or not, at which level.

With a confidence level the protocol is read at it. Without one the highest level is reported at which
the whole protocol says "significant": exactly here, by bisection in the original tool
(:mod:`speedproof.protocols.original`). Levels under one half are not reported, as there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.protocols.figures import SMALL, Decision, highest_of
from speedproof.protocols.mean import MeanDecision, decide_mean, mean_tests
from speedproof.protocols.median import MedianDecision, decide_median, median_tests
from speedproof.protocols.pair import KSRule
from speedproof.stats.estimate import Estimate, alpha_at
from speedproof.stats.ratio_means import ratio_of_means
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.scaling import location_ratio, mean, median

D = TypeVar("D", bound=Decision)
DEFAULT_ALPHA = 0.05
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
    lacking = [side for side, lacks in ((1, decision.lacking_x), (2, decision.lacking_y)) if bool(lacks)]
    if not (lacking or bool(decision.location_model)):
        return ("median: no location shift, confidence may be inaccurate",)
    return tuple(f"median: more than {SMALL} runs needed for sample {side}" for side in lacking)


def no_level_remark(location: str) -> str:
    """The warning that no level worth reporting makes the protocol say "significant"."""
    return f"{location}: no confidence level of {_LEAST_LEVEL:g} or more"


def article_mean(x: FloatArray, y: FloatArray, alpha: float | None, *, always_welch: bool) -> RowFinding:
    """The row for the mean by figure 1 of the article."""
    tests = mean_tests(x, y)
    decide = partial(decide_mean, tests, always_welch=always_welch)
    at = DEFAULT_ALPHA if alpha is None else alpha
    bounds = ratio_of_means(x, y, at, decide(at).equal_variances)
    told = Estimate(location_ratio(mean, x, y), float(bounds.low), float(bounds.high), alpha_at(at))
    return _row("mean", alpha, decide, tests.pvalues, lambda d: mean_remarks(d, tests.n, tests.m), told)


def article_median(x: FloatArray, y: FloatArray, alpha: float | None, ks_rule: KSRule) -> RowFinding:
    """The row for the median by figure 2 of the article."""
    tests = median_tests(x, y, ks_rule)
    at = DEFAULT_ALPHA if alpha is None else alpha
    bounds = ratio_of_medians(x, y, at)
    told = Estimate(location_ratio(median, x, y), float(bounds.low), float(bounds.high), alpha_at(at))
    return _row("median", alpha, partial(decide_median, tests), tests.pvalues, median_remarks, told)


def _row(
    location: str,
    alpha: float | None,
    decide: Callable[[Any], D],
    pvalues: Sequence[FloatArray],
    remarks: Callable[[D], tuple[str, ...]],
    speedup: Estimate,
) -> RowFinding:
    at = DEFAULT_ALPHA if alpha is None else alpha
    at_level = decide(at)
    bounds = None if math.isnan(float(at_level.pvalue)) else speedup
    slower = bool(at_level.pvalue_slower <= at)
    if alpha is not None:
        return RowFinding(
            bool(at_level.pvalue <= alpha), speedup.confidence, remarks(at_level), bounds, slower
        )
    (highest,) = highest_of(decide, pvalues)
    if not highest.value >= _LEAST_LEVEL:
        missing = (*remarks(decide(1 - _LEAST_LEVEL)), no_level_remark(location))
        return RowFinding(False, math.nan, missing, bounds, slower)
    # At the infimum itself, not at 1 minus the rounded level.
    return RowFinding(True, highest.value, remarks(decide(highest.intervals[0][0])), bounds, slower)
