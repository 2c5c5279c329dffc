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
from functools import partial

from speedproof.arrays import FloatArray
from speedproof.protocols.findings import D, RowFinding, mean_remarks, median_remarks, no_level_remark
from speedproof.protocols.mean import decide_mean, mean_tests
from speedproof.protocols.median import decide_median, median_tests
from speedproof.stats.estimate import alpha_at

_SEARCHED = (0.01, 0.5)
_WIDTH = 0.01


def original_mean(x: FloatArray, y: FloatArray, alpha: float | None) -> RowFinding:
    """The tool's row for the mean."""
    tests = mean_tests(x, y)
    decide = partial(decide_mean, tests, f_test_when_not_normal=True)
    defined = not math.isnan(float(tests.variances.pvalue))  # without an F test the tool gives up, too
    return _finding("mean", alpha, decide, lambda d: mean_remarks(d, tests.n, tests.m), defined)


def original_median(x: FloatArray, y: FloatArray, alpha: float | None) -> RowFinding:
    """The tool's row for the median."""
    return _finding("median", alpha, partial(decide_median, median_tests(x, y, "r422")), median_remarks)


def _finding(
    location: str,
    alpha: float | None,
    decide: Callable[[float], D],
    remarks: Callable[[D], tuple[str, ...]],
    defined: bool = True,
) -> RowFinding:
    def significant(alpha: float) -> bool:
        return defined and bool(decide(alpha).pvalue <= alpha)

    if alpha is not None:
        return RowFinding(significant(alpha), alpha_at(alpha), remarks(decide(alpha)))
    low, high = _SEARCHED
    if not significant(low):
        if not significant(high):
            at_most = decide(high)
            concluded = defined and not math.isnan(float(at_most.pvalue))
            missing = (*remarks(at_most), no_level_remark(location))
            return RowFinding(False, 1 - low if concluded else math.nan, missing)
        while high - low > _WIDTH:
            middle = (low + high) / 2
            low, high = (low, middle) if significant(middle) else (middle, high)
        low = math.ceil(100 * high) / 100
    return RowFinding(significant(low), round(1 - low, 2), remarks(decide(low)))
