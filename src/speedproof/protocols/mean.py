"""The mean protocol of the Speedup-Test, its figure 1: normality, equal variances, then Student or Welch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import BoolArray, FloatArray
from speedproof.data.notes import Assumption, Note
from speedproof.protocols.figures import SMALL, Decision, at_margins, conclusions, lists
from speedproof.protocols.pair import PreparedPairs, Rules, Sides, in_batches, in_order
from speedproof.protocols.results import Comparison
from speedproof.stats.normality import TestResult, shapiro_wilk
from speedproof.stats.power import runs_needed_means
from speedproof.stats.ratio import log_ratio_of_means, ratio_of_means, ratio_of_means_test
from speedproof.stats.scaling import location_ratios, mean, middle
from speedproof.stats.ttests import (
    Moments,
    TTest,
    VarianceRatio,
    common_moments,
    student_from,
    variance_ratio_from,
    welch_from,
)

SHAPIRO_MOST = 5000
"""Royston's approximation of the Shapiro-Wilk p-value was made for at most this many values."""
_LEAST_FOR_SHAPIRO = 3


class MeanTests(Struct, frozen=True):
    """All tests of figure 1; fields of shape (...)."""

    n: int  # runs of X and of Y
    m: int
    shapiro_x: TestResult  # normality of each sample
    shapiro_y: TestResult
    variances: VarianceRatio  # the two-sided F test
    student: TTest  # the one-sided t tests with pooled and with separate variances
    welch: TTest

    @property
    def pvalues(self) -> tuple[FloatArray, ...]:
        """All that the figure compares with a risk."""
        tests = (self.shapiro_x, self.shapiro_y, self.variances, self.student, self.welch)
        return tuple(test.pvalue for test in tests)


class MeanDecision(Decision, frozen=True):
    """Figure 1."""

    normal_x: BoolArray  # whether normality was not rejected
    normal_y: BoolArray
    equal_variances: BoolArray  # whether the pooled test decides


def mean_tests(x: FloatArray, y: FloatArray, known: tuple[Moments, Moments] | None = None) -> MeanTests:
    """Make all tests of figure 1, of samples in any order; of large ones their moments may be known."""
    moments = known or common_moments(x, y)
    return MeanTests(
        n=x.shape[-1],
        m=y.shape[-1],
        shapiro_x=_normality(x),
        shapiro_y=_normality(y),
        variances=variance_ratio_from(*moments),
        student=student_from(*moments),
        welch=welch_from(*moments),
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
    """Follow figure 1."""
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
    pvalue, slower = (
        np.where(lacking, np.nan, np.where(pooled, *both))
        for both in (
            (tests.student.pvalue, tests.welch.pvalue),
            (tests.student.pvalue_less, tests.welch.pvalue_less),
        )
    )
    return MeanDecision(lacking_x, lacking_y, pvalue, slower, normal_x, normal_y, pooled)


def means(prepared: PreparedPairs) -> list[Comparison]:
    """Compare the means of several pairs by the protocol of figure 1."""
    return in_batches(prepared.sides("mean"), partial(_answers, rules=prepared.rules))


def _answers(sides: Sequence[Sides], slow: FloatArray, fast: FloatArray, rules: Rules) -> list[Comparison]:
    """Of pairs of equal sizes."""
    moments, ordered = common_moments(slow, fast), in_order(sides, slow, fast)
    tests = mean_tests(*ordered, moments)
    decide = partial(decide_mean, tests, always_welch=rules.always_welch)
    decision = decide(rules.alpha)
    pooled, tested = decision.equal_variances, ~np.isnan(decision.pvalue)
    comparisons = conclusions(
        "mean",
        sides,
        (slow, fast),
        rules,
        decision,
        bounds=ratio_of_means(slow, fast, rules.alpha, pooled, moments),
        margins=at_margins(
            lambda gamma: ratio_of_means_test(slow, fast, gamma, pooled, moments),
            rules.margin,
            tested,
            tested,
        ),
        observed=location_ratios(mean, slow, fast),
        tests=["Student's t test" if equal else "Welch's t test" for equal in pooled],
        checks=_checks(tests, decision, [side.turned for side in sides]),
        runs_needed=runs_needed_means,
        errors=log_ratio_of_means(slow, fast, moments),
    )
    return [
        c if seen is None else replace(c, slow_runs=seen)
        for c, seen in zip(comparisons, _slow_runs(sides, slow, fast, ordered), strict=True)
    ]


def _slow_runs(
    sides: Sequence[Sides], slow: FloatArray, fast: FloatArray, ordered: tuple[FloatArray, FloatArray]
) -> Iterator[tuple[float, float] | None]:
    """Of each pair, how many runs of the candidate take how long, where that alone makes its mean worse."""
    typical = middle(ordered[1])
    with np.errstate(over="ignore"):
        dearer = fast.mean(axis=-1) > slow.mean(axis=-1)
    turned = dearer & (typical > 0.0) & (typical < middle(ordered[0]))
    for side, other_way, median, x, y in zip(sides, turned, typical, slow, fast, strict=True):
        if side.turned or not other_way:
            yield None
            continue
        beyond = y > x.max()
        if not beyond.any() or mean(y[~beyond]) > mean(x):
            yield None
        else:
            with np.errstate(over="ignore"):
                times = float(middle(y[beyond]) / median)
            yield (float(beyond.mean()), times) if times < np.inf else None


def _checks(tests: MeanTests, decision: MeanDecision, turned: Sequence[bool]) -> list[list[Note]]:
    """Of each pair: normality of X and of Y; equal variances where the F test had a say."""
    sides = []
    for test, normal, n in (
        (tests.shapiro_x, decision.normal_x, tests.n),
        (tests.shapiro_y, decision.normal_y, tests.m),
    ):
        columns = lists(test.statistic, test.pvalue, normal)
        sides.append([(*row, n) for row in zip(*columns, strict=True)])
    variances = lists(tests.variances.statistic, tests.variances.pvalue, decision.equal_variances)
    notes = []
    for i, (of_x, of_y) in enumerate(zip(sides[0], sides[1], strict=True)):
        named = zip("XY", (of_y, of_x) if turned[i] else (of_x, of_y), strict=True)
        of_pair = [
            Note(
                Assumption.NORMALITY,
                _said_of_normality(normal, pvalue, n),
                (name,),
                (),
                statistic,
                pvalue,
                normal,
            )
            for name, (statistic, pvalue, normal, n) in named
        ]
        if of_x[2] and of_y[2]:
            statistic, pvalue, equal = (column[i] for column in variances)
            message = (
                "equal variances are not rejected: pooled t test"
                if equal
                else "unequal variances: Welch's t test"
            )
            of_pair.append(Note(Assumption.EQUAL_VARIANCES, message, (), (), statistic, pvalue, equal))
        notes.append(of_pair)
    return notes


def _said_of_normality(normal: bool, pvalue: float, n: int) -> str:
    if normal:
        return "normality is not rejected"
    if n > SHAPIRO_MOST:
        return f"Shapiro-Wilk has no valid p-value for more than {SHAPIRO_MOST} values: taken as not normal"
    if n < _LEAST_FOR_SHAPIRO:
        return f"fewer than {_LEAST_FOR_SHAPIRO} values: no test of normality, measure more than {SMALL}"
    if math.isnan(pvalue):
        return "all values are equal, so normality cannot be tested"
    if n <= SMALL:
        return f"not normal and at most {SMALL} runs: measure more than {SMALL}, or rely on the median"
    return "not normal: the t test is approximate, 1 - alpha may not be the correct confidence level"
