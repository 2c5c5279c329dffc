"""What a row of the Speedup-Test's output says of the mean or the median: significant or not, at which level.

With a confidence level the protocol is read at it. Without one the highest level is reported at which
the whole protocol says "significant": exactly here, by bisection in the original tool
(:mod:`speedproof.protocols.original`). Levels under one half are not reported, as there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from speedproof.data.sample import FloatArray
from speedproof.protocols.comparison import HighestConfidence
from speedproof.protocols.confidence import highest_confidence
from speedproof.protocols.speedup_test import (
    SIGNIFICANT,
    SMALL,
    KSRule,
    MeanDecision,
    MedianDecision,
    decide_mean,
    decide_median,
    mean_tests,
    median_tests,
)

__all__ = ["Finding", "article_mean", "article_median", "mean_remarks", "median_remarks", "no_level_remark"]

_LEAST_LEVEL = 0.5


@dataclass(frozen=True, slots=True)
class Finding:
    """What a row of the tool's output says of one location.

    Attributes
    ----------
    significant : bool
        Whether the speedup is; False also when the protocol could not conclude.
    confidence : float
        Its confidence level; NaN when the protocol could not conclude and none was given.
    remarks : tuple of str
        Warnings.
    """

    significant: bool
    confidence: float
    remarks: tuple[str, ...]


def mean_remarks(decision: MeanDecision, n: int, m: int) -> tuple[str, ...]:
    """The warnings of the mean protocol on one pair.

    Parameters
    ----------
    decision : MeanDecision
        At one risk.
    n, m : int
        The sizes of sample 1 and sample 2.
    """
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
    """The warnings of the median protocol on one pair.

    Parameters
    ----------
    decision : MedianDecision
        At one risk.
    """
    if bool(decision.doubtful):
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
) -> Finding:
    """The row for the mean by figure 1 of the article.

    Parameters
    ----------
    x, y : ndarray, shapes (n,) and (m,)
        The samples.
    confidence : float or None
        The level; None for the highest one.
    always_welch : bool
        Leave the pre-test on variances out.

    Returns
    -------
    Finding
        With NaN as its confidence when no level of one half or more is found.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([2.799, 2.046, 1.259, 1.877, 2.244])
    >>> found = article_mean(x, np.array([1.046, 0.259, 0.877, 1.244, 1.799]), None)
    >>> found.significant, round(found.confidence, 4)
    (True, 0.9888)
    """
    tests = mean_tests(x, y)

    def decide(alpha: float | FloatArray) -> MeanDecision:
        return decide_mean(tests, alpha, always_welch=always_welch)

    pvalues = (
        tests.shapiro_x.pvalue,
        tests.shapiro_y.pvalue,
        tests.variances.pvalue,
        tests.student.pvalue,
        tests.welch.pvalue,
    )
    return _finding(
        "mean",
        confidence,
        lambda alpha: bool(decide(alpha).state == SIGNIFICANT),
        lambda: highest_confidence(map(float, pvalues), lambda alpha: decide(alpha).state == SIGNIFICANT),
        lambda alpha: mean_remarks(decide(alpha), tests.n, tests.m),
    )


def article_median(
    x: FloatArray, y: FloatArray, confidence: float | None, ks_rule: KSRule = "legacy"
) -> Finding:
    """The row for the median by figure 2 of the article.

    Parameters
    ----------
    x, y : ndarray, shapes (n,) and (m,)
        The samples.
    confidence : float or None
        The level; None for the highest one.
    ks_rule : {"legacy", "r422"}
        When the Kolmogorov-Smirnov p-value is exact.

    Returns
    -------
    Finding
        With NaN as its confidence when no level of one half or more is found.
    """
    tests = median_tests(x, y, ks_rule)
    pvalues = (tests.location.pvalue, tests.ranks.pvalue)
    return _finding(
        "median",
        confidence,
        lambda alpha: bool(decide_median(tests, alpha).state == SIGNIFICANT),
        lambda: highest_confidence(
            map(float, pvalues), lambda alpha: decide_median(tests, alpha).state == SIGNIFICANT
        ),
        lambda alpha: median_remarks(decide_median(tests, alpha)),
    )


def _finding(
    location: str,
    confidence: float | None,
    significant: Callable[[float], bool],
    highest: Callable[[], HighestConfidence],
    remarks: Callable[[float], tuple[str, ...]],
) -> Finding:
    if confidence is not None:
        alpha = 1 - confidence
        return Finding(significant(alpha), confidence, remarks(alpha))
    found = highest()
    if not found.value >= _LEAST_LEVEL:
        return Finding(False, math.nan, (*remarks(1 - _LEAST_LEVEL), no_level_remark(location)))
    return Finding(True, found.value, remarks(1 - found.value))
