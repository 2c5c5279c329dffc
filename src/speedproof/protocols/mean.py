"""The mean protocol of the Speedup-Test, its figure 1: normality, equal variances, then Student or Welch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.notes import Assumption, Note
from speedproof.protocols.figures import SMALL, Decision, at_margins, conclusions, lists, log_speedups
from speedproof.protocols.pair import Batch, PreparedPairs, Rules, in_batches
from speedproof.protocols.results import Comparison, LogSpeedup
from speedproof.stats.estimate import TestResult
from speedproof.stats.normality import shapiro_wilk
from speedproof.stats.power import runs_needed_means
from speedproof.stats.ratio import (
    Moments,
    TTest,
    common_moments,
    log_ratio_of_means,
    ratio_of_means,
    ratio_of_means_test,
    student,
    variance_ratio,
    welch,
)
from speedproof.stats.scaling import in_common_unit, location_ratios, mean, middle

SHAPIRO_MOST = 5000
"""Royston's approximation of the Shapiro-Wilk p-value was made for at most this many values."""
_LEFT = 0.1  # of what a mean is worse, what the slow runs that explain it may leave
_EQUAL = "equal variances are not rejected: pooled t test"
_UNEQUAL = "unequal variances: Welch's t test"


class MeanTests(Struct, frozen=True):
    """All tests of figure 1; fields of shape (...)."""

    n: int  # runs of X and of Y
    m: int
    shapiro_x: TestResult  # normality of each sample
    shapiro_y: TestResult
    variances: TestResult  # the two-sided F test
    student: TTest  # the one-sided t tests with pooled and with separate variances
    welch: TTest

    @property
    def pvalues(self) -> tuple[FloatArray, ...]:
        """All that the figure compares with a risk."""
        tests = (self.shapiro_x, self.shapiro_y, self.variances, self.student, self.welch)
        return tuple(test.pvalue for test in tests)


def mean_tests(x: FloatArray, y: FloatArray, known: tuple[Moments, Moments] | None = None) -> MeanTests:
    """Make all tests of figure 1, of samples in any order; of large ones their moments may be known."""
    moments = known or common_moments(x, y)
    return MeanTests(
        n=x.shape[-1],
        m=y.shape[-1],
        shapiro_x=_normality(x),
        shapiro_y=_normality(y),
        variances=variance_ratio(*moments),
        student=student(*moments),
        welch=welch(*moments),
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
) -> Decision:
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
    return Decision(lacking_x, lacking_y, pvalue, slower, (normal_x, normal_y, pooled))


def means(prepared: PreparedPairs) -> list[Comparison]:
    """Compare the means of several pairs, by the protocol of figure 1."""
    return in_batches(prepared.sides("mean"), partial(_answers, rules=prepared.rules))


def apart(prepared: PreparedPairs) -> list[tuple[float, LogSpeedup] | None]:
    """The ratios of means, with their logarithms, where there is one."""
    return in_batches(prepared.sides("mean"), _apart)


def _apart(sides: Batch) -> list[tuple[float, LogSpeedup] | None]:
    ratios, errors = location_ratios(mean, *sides.values), log_ratio_of_means(*sides.values)
    logs = log_speedups(ratios, errors)
    return [None if log is None else (ratio, log) for ratio, log in zip(ratios, logs, strict=True)]


def _answers(sides: Batch, rules: Rules) -> list[Comparison]:
    """Compare pairs of equal sizes."""
    (slow, fast), ordered = sides.values, sides.ordered
    moments = common_moments(slow, fast)
    tests = mean_tests(*ordered, moments)
    decision = decide_mean(tests, rules.alpha, always_welch=rules.always_welch)
    (*_, pooled), tested = decision.holds, ~np.isnan(decision.pvalue)
    comparisons = conclusions(
        "mean",
        sides,
        (slow, fast),
        rules,
        decision,
        bounds=ratio_of_means(*moments, rules.alpha, pooled),
        margins=at_margins(
            partial(map, lambda gamma: ratio_of_means_test(*moments, gamma, pooled)),
            rules.margin,
            tested,
            tested,
        ),
        observed=location_ratios(mean, slow, fast),
        tests=["Student's t test" if equal else "Welch's t test" for equal in pooled],
        checks=_checks(tests, decision, [side.turned for side in sides]),
        runs_needed=runs_needed_means,
        errors=log_ratio_of_means(*moments),
    )
    for i, seen in _slow_runs(sides):
        comparisons[i] = replace(comparisons[i], slow_runs=seen)
    return comparisons


def _slow_runs(sides: Batch) -> Iterator[tuple[int, tuple[float, float]]]:
    """By row, how many runs of the candidate take how long, where they alone make its mean worse.

    They are longer than any of the reference, begin at the widest gap, and leave little of what the mean is worse.
    """
    slow, fast, ascending_slow, ascending_fast = in_common_unit(*sides.values, *sides.ordered)
    if (m := fast.shape[-1]) < 2:
        return
    typical, most = middle(ascending_fast), ascending_slow[:, -1]
    usual, worse = slow.mean(axis=-1), fast.mean(axis=-1)
    perhaps = (worse > usual) & (typical > 0.0) & (typical <= most) & (ascending_fast[:, -1] > most)
    (rows,) = np.nonzero(perhaps)
    values, left = ascending_fast[rows], (usual + _LEFT * (worse - usual))[rows, None]
    others = values.cumsum(axis=-1)[:, :-1] / np.arange(1, m)
    gaps = np.where((others <= left) & (values[:, 1:] > most[rows, None]), np.diff(values), 0.0)
    for i, run, at, of_row in zip(rows.tolist(), values, gaps.argmax(axis=-1).tolist(), gaps, strict=True):
        if of_row[at] > 0.0 and not sides[i].turned:
            times = float(middle(run[at + 1 :])) / float(typical[i])
            if times < math.inf:
                yield i, ((m - 1 - at) / m, times)


def _checks(tests: MeanTests, decision: Decision, turned: Sequence[bool]) -> list[list[Note]]:
    """Of each pair: normality of X and of Y; equal variances where the F test had a say."""
    turns, (normal_x, normal_y, pooled) = np.asarray(turned), decision.holds
    both = [
        (test.statistic, test.pvalue, normal, np.full(turns.shape, n))
        for test, normal, n in ((tests.shapiro_x, normal_x, tests.n), (tests.shapiro_y, normal_y, tests.m))
    ]
    notes: list[list[Note]] = [[] for _ in turned]
    for whose, swapped in ((("X",), turns), (("Y",), ~turns)):
        columns = lists(*(np.where(swapped, of_y, of_x) for of_x, of_y in zip(*both, strict=True)))
        for of_pair, statistic, p, normal, n in zip(notes, *columns, strict=True):
            said = _said_of_normality(normal, p, n)
            of_pair.append(Note(Assumption.NORMALITY, said, whose, (), statistic, p, normal))
    variances = tests.variances.statistic, tests.variances.pvalue, pooled
    both_normal = np.flatnonzero(normal_x & normal_y)
    for i, statistic, p, equal in zip(*lists(both_normal, *(v[both_normal] for v in variances)), strict=True):
        message = _EQUAL if equal else _UNEQUAL
        notes[i].append(Note(Assumption.EQUAL_VARIANCES, message, (), (), statistic, p, equal))
    return notes


def _said_of_normality(normal: bool, pvalue: float, n: int) -> str:
    if normal:
        return "normality is not rejected"
    if n > SHAPIRO_MOST:
        return f"Shapiro-Wilk has no valid p-value for more than {SHAPIRO_MOST} values: taken as not normal"
    if math.isnan(pvalue):
        return "fewer than 3 values or all equal: normality cannot be tested"
    if n <= SMALL:
        return f"not normal, and figure 1 then asks for more than {SMALL} runs"
    return "not normal: the t test is approximate, 1 - alpha may not be the correct confidence level"
