"""The Speedup-Test: the protocols for the mean (figure 1) and for the median (figure 2).

S. Touati, J. Worms, S. Briais, "The Speedup-Test: a statistical methodology for programme speedup analysis
and computation", Concurrency and Computation: Practice and Experience 25(10), 2013.

Each protocol comes in two steps. The tests do not depend on the risk, so they are made once, for a single
pair of samples or for arrays of them; the figure is then a function of their p-values and of the risk.
That is also what makes the highest confidence level exact: the figure can be read at every risk that matters.

X is the reference and Y the candidate; "significant" means that X takes longer. The other direction, a
slowdown, is read from the same tests with the other tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from speedproof.protocols.results import State
from speedproof.stats.hypotests import (
    KSResult,
    RankSum,
    TestResult,
    TTest,
    VarianceRatio,
    ks_location,
    rank_sum,
    shapiro_wilk,
    student,
    variance_ratio,
    welch,
)

__all__ = [
    "SMALL",
    "STATES",
    "KSRule",
    "MeanDecision",
    "MeanTests",
    "MedianDecision",
    "MedianTests",
    "decide_mean",
    "decide_median",
    "mean_tests",
    "median_tests",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
StateArray = npt.NDArray[np.int8]
KSRule = Literal["legacy", "r422"]

SMALL = 30
"""A sample of at most this many runs is small (section 3.1)."""

SHAPIRO_MOST = 5000
"""Royston's approximation of the Shapiro-Wilk p-value was made for at most this many values."""

STATES = tuple(State)
"""The states, at the positions that the decisions use as codes."""

UNDEFINED = STATES.index(State.UNDEFINED)
NOT_SIGNIFICANT = STATES.index(State.NOT_SIGNIFICANT)
SIGNIFICANT = STATES.index(State.SIGNIFICANT)
MORE_RUNS_X = STATES.index(State.MORE_RUNS_X)
MORE_RUNS_Y = STATES.index(State.MORE_RUNS_Y)
MORE_RUNS = STATES.index(State.MORE_RUNS)


@dataclass(frozen=True, slots=True)
class MeanTests:
    """All tests of figure 1; fields of shape (...).

    Attributes
    ----------
    n, m : int
        Runs of X and of Y.
    shapiro_x, shapiro_y : TestResult
        Normality of each sample.
    variances : VarianceRatio
        The two-sided F test.
    student, welch : TTest
        The one-sided t tests with pooled and with separate variances.
    """

    n: int
    m: int
    shapiro_x: TestResult
    shapiro_y: TestResult
    variances: VarianceRatio
    student: TTest
    welch: TTest


@dataclass(frozen=True, slots=True)
class MeanDecision:
    """Figure 1 at one risk or at several; arrays of the common shape of tests and risk.

    Attributes
    ----------
    state : ndarray of int8
        Positions in :data:`STATES`, for "X takes longer than Y in mean".
    state_slower : ndarray of int8
        The same for "Y takes longer than X".
    lacking_x, lacking_y : ndarray of bool
        Samples that are small and not normal. The figure names X first; both are told here.
    normal_x, normal_y : ndarray of bool
        Whether normality was not rejected.
    equal_variances : ndarray of bool
        Whether the pooled test decided.
    pvalue, pvalue_slower : ndarray of float64
        Of the test that decided; NaN when more runs are needed.
    """

    state: StateArray
    state_slower: StateArray
    lacking_x: BoolArray
    lacking_y: BoolArray
    normal_x: BoolArray
    normal_y: BoolArray
    equal_variances: BoolArray
    pvalue: FloatArray
    pvalue_slower: FloatArray

    @property
    def doubtful(self) -> BoolArray:
        """Where the article remarks that 1 - alpha may not be the correct confidence level."""
        lacking = self.lacking_x | self.lacking_y
        return ~lacking & ~(self.normal_x & self.normal_y)


def mean_tests(x: FloatArray, y: FloatArray) -> MeanTests:
    """Make all tests of figure 1.

    Parameters
    ----------
    x, y : ndarray of float64, shapes (..., n) and (..., m)
        Samples along the last axis.

    Returns
    -------
    MeanTests
        With fields of the leading shape.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([2.799, 2.046, 1.259, 1.877, 2.244])
    >>> tests = mean_tests(x, x - 1)
    >>> round(float(tests.student.pvalue), 6) == round(float(tests.welch.pvalue), 6)
    True
    """
    return MeanTests(
        n=x.shape[-1],
        m=y.shape[-1],
        shapiro_x=_normality(x),
        shapiro_y=_normality(y),
        variances=variance_ratio(x, y),
        student=student(x, y),
        welch=welch(x, y),
    )


def _normality(x: FloatArray) -> TestResult:
    """Shapiro-Wilk, undefined above the size that its p-values were made for (as in R)."""
    test = shapiro_wilk(x)
    if x.shape[-1] <= SHAPIRO_MOST:
        return test
    return TestResult(test.statistic, np.full_like(test.pvalue, np.nan))


def decide_mean(
    tests: MeanTests,
    alpha: float | FloatArray,
    *,
    always_welch: bool = False,
    f_test_when_not_normal: bool = False,
) -> MeanDecision:
    """Follow figure 1.

    Parameters
    ----------
    tests : MeanTests
        From :func:`mean_tests`.
    alpha : float or ndarray
        The risk, which drives every test of the figure; broadcast against the tests.
    always_welch : bool
        Leave the F test out and let Welch decide whenever a t test does.
    f_test_when_not_normal : bool
        What the tool of 2010 did: large samples that are not normal go through the F test, too.

    Returns
    -------
    MeanDecision
        A hypothesis is rejected when p <= alpha; an undefined test (constant sample) establishes nothing.
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    # Comparisons with NaN are false: an undefined Shapiro-Wilk test counts as "normality not established".
    normal_x = np.asarray(tests.shapiro_x.pvalue > alpha)
    normal_y = np.asarray(tests.shapiro_y.pvalue > alpha)
    lacking_x = ~normal_x & (tests.n <= SMALL)
    lacking_y = ~normal_y & (tests.m <= SMALL)
    pooled = np.asarray(tests.variances.pvalue > alpha)
    if not f_test_when_not_normal:
        pooled = pooled & normal_x & normal_y
    if always_welch:
        pooled = np.zeros_like(pooled)
    lacking = lacking_x | lacking_y
    pvalue = np.where(lacking, np.nan, np.where(pooled, tests.student.pvalue, tests.welch.pvalue))
    pvalue_slower = np.where(
        lacking, np.nan, np.where(pooled, tests.student.pvalue_less, tests.welch.pvalue_less)
    )
    stop = np.where(lacking_x, MORE_RUNS_X, np.where(lacking_y, MORE_RUNS_Y, UNDEFINED))
    return MeanDecision(
        state=_state(pvalue, alpha, stop),
        state_slower=_state(pvalue_slower, alpha, stop),
        lacking_x=lacking_x,
        lacking_y=lacking_y,
        normal_x=normal_x,
        normal_y=normal_y,
        equal_variances=pooled,
        pvalue=pvalue,
        pvalue_slower=pvalue_slower,
    )


@dataclass(frozen=True, slots=True)
class MedianTests:
    """All tests of figure 2; fields of shape (...).

    Attributes
    ----------
    n, m : int
        Runs of X and of Y.
    location : KSResult
        Kolmogorov-Smirnov on x - med(x) and y - med(y): do the samples differ by a shift only?
    ranks : RankSum
        The one-sided Wilcoxon-Mann-Whitney test.
    """

    n: int
    m: int
    location: KSResult
    ranks: RankSum


@dataclass(frozen=True, slots=True)
class MedianDecision:
    """Figure 2 at one risk or at several; arrays of the common shape of tests and risk.

    Attributes
    ----------
    state, state_slower : ndarray of int8
        Positions in :data:`STATES`, for "X takes longer" and for "Y takes longer".
    lacking_x, lacking_y : ndarray of bool
        Small samples where the location model failed.
    location_model : ndarray of bool
        Whether the location model was not rejected.
    pvalue, pvalue_slower : ndarray of float64
        Of the rank-sum test; NaN when more runs are needed.
    """

    state: StateArray
    state_slower: StateArray
    lacking_x: BoolArray
    lacking_y: BoolArray
    location_model: BoolArray
    pvalue: FloatArray
    pvalue_slower: FloatArray

    @property
    def doubtful(self) -> BoolArray:
        """Where the article remarks that 1 - alpha may not be the correct confidence level."""
        return ~self.location_model & ~(self.lacking_x | self.lacking_y)


def median_tests(x: FloatArray, y: FloatArray, ks_rule: KSRule = "legacy") -> MedianTests:
    """Make all tests of figure 2.

    Parameters
    ----------
    x, y : ndarray of float64, shapes (..., n) and (..., m)
        Samples along the last axis.
    ks_rule : {"legacy", "r422"}
        When the Kolmogorov-Smirnov p-value is exact: as in the article's R, or as in R >= 4.2.

    Returns
    -------
    MedianTests
        With fields of the leading shape.
    """
    return MedianTests(
        n=x.shape[-1],
        m=y.shape[-1],
        location=ks_location(x, y, rule=ks_rule),
        ranks=rank_sum(x, y),
    )


def decide_median(tests: MedianTests, alpha: float | FloatArray) -> MedianDecision:
    """Follow figure 2.

    Parameters
    ----------
    tests : MedianTests
        From :func:`median_tests`.
    alpha : float or ndarray
        The risk, which drives both tests; broadcast against them.

    Returns
    -------
    MedianDecision
        A hypothesis is rejected when p <= alpha.
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    model = np.asarray(tests.location.pvalue > alpha)
    lacking_x = ~model & (tests.n <= SMALL)
    lacking_y = ~model & (tests.m <= SMALL)
    lacking = lacking_x | lacking_y
    pvalue = np.where(lacking, np.nan, tests.ranks.pvalue)
    pvalue_slower = np.where(lacking, np.nan, tests.ranks.pvalue_less)
    # The figure asks for more runs of both samples even when one of them is large.
    stop = np.where(lacking, MORE_RUNS, UNDEFINED)
    return MedianDecision(
        state=_state(pvalue, alpha, stop),
        state_slower=_state(pvalue_slower, alpha, stop),
        lacking_x=lacking_x,
        lacking_y=lacking_y,
        location_model=model,
        pvalue=pvalue,
        pvalue_slower=pvalue_slower,
    )


def _state(pvalue: FloatArray, alpha: FloatArray, stop: npt.NDArray[np.int_]) -> StateArray:
    """The code of a state: from the p-value where there is one, else ``stop``."""
    decided = np.where(pvalue <= alpha, SIGNIFICANT, NOT_SIGNIFICANT)
    return np.where(np.isnan(pvalue), stop, decided).astype(np.int8)
