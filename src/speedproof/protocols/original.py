"""The variant of the Speedup-Test that its command-line tool of 2010 computed, for published results.

It differs from the 2013 article in three ways. Large samples that are not normal still go through the F test
and may get Student's t test where figure 1 says Welch. Without a confidence level it searches one by bisection
of alpha in [0.01, 0.5] until the bracket is at most 0.01 wide and rounds alpha up to a hundredth, where the
article's protocol has an exact answer; and since the search asks at 0.5 whether to go on, a small sample that
is normal at 0.05 but not at 0.5 is refused. Its Kolmogorov-Smirnov test is that of the R it runs under.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from speedproof.arrays import FloatArray
from speedproof.protocols.figures import STATES
from speedproof.protocols.findings import RowFinding, mean_remarks, median_remarks, no_level_remark
from speedproof.protocols.mean import MeanDecision, decide_mean, mean_tests
from speedproof.protocols.median import KSRule, MedianDecision, decide_median, median_tests
from speedproof.protocols.results import State

_SEARCHED = (0.01, 0.5)
_WIDTH = 0.01


def original_mean(x: FloatArray, y: FloatArray, confidence: float | None) -> RowFinding:
    """The tool's row for the mean."""
    tests = mean_tests(x, y)

    def decide(alpha: float) -> MeanDecision:
        return decide_mean(tests, alpha, f_test_when_not_normal=True)

    def state(alpha: float) -> State:
        # The tool gives up without an F test, too.
        return (
            State.UNDEFINED if math.isnan(float(tests.variances.pvalue)) else STATES[int(decide(alpha).state)]
        )

    return _finding("mean", confidence, state, lambda alpha: mean_remarks(decide(alpha), tests.n, tests.m))


def original_median(
    x: FloatArray, y: FloatArray, confidence: float | None, ks_rule: KSRule = "r422"
) -> RowFinding:
    """The tool's row for the median."""
    tests = median_tests(x, y, ks_rule)

    def decide(alpha: float) -> MedianDecision:
        return decide_median(tests, alpha)

    return _finding(
        "median",
        confidence,
        lambda alpha: STATES[int(decide(alpha).state)],
        lambda alpha: median_remarks(decide(alpha)),
    )


def _finding(
    location: str,
    confidence: float | None,
    state: Callable[[float], State],
    remarks: Callable[[float], tuple[str, ...]],
) -> RowFinding:
    if confidence is not None:
        alpha = 1 - confidence
        return RowFinding(state(alpha) is State.SIGNIFICANT, confidence, remarks(alpha))
    low, high = _SEARCHED
    if state(low) is not State.SIGNIFICANT:
        at_most = state(high)
        if at_most is not State.SIGNIFICANT:
            level = 1 - low if at_most is State.NOT_SIGNIFICANT else math.nan
            return RowFinding(False, level, (*remarks(high), no_level_remark(location)))
        while high - low > _WIDTH:
            middle = (low + high) / 2
            if state(middle) is State.SIGNIFICANT:
                high = middle
            else:
                low = middle
        low = math.ceil(100 * high) / 100
    return RowFinding(state(low) is State.SIGNIFICANT, round(1 - low, 2), remarks(low))
