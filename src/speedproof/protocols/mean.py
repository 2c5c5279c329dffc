"""The mean protocol of the Speedup-Test, its figure 1: normality, equal variances, then Student or Welch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray, StateArray
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.confidence import highest_confidences
from speedproof.protocols.figures import (
    MORE_RUNS_X,
    MORE_RUNS_Y,
    SIGNIFICANT,
    SMALL,
    UNDEFINED,
    at_margins,
    codes,
    estimate,
    lists,
    needed_runs,
    state_of,
    verdict_of,
)
from speedproof.protocols.pair import DEFAULT, UNNAMED, PreparedPairs, Rules, Sides, in_batches
from speedproof.protocols.results import Check, Comparison
from speedproof.stats.normality import TestResult, shapiro_wilk
from speedproof.stats.power import runs_needed_means
from speedproof.stats.ratio_means import ratio_of_means, ratio_of_means_test
from speedproof.stats.scaling import location_ratio, mean
from speedproof.stats.ttests import TTest, VarianceRatio, student, variance_ratio, welch

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

    def columns(self) -> MeanTests:
        """The same with a last axis, to be read at several risks each."""
        x, y, f = self.shapiro_x, self.shapiro_y, self.variances
        student, welch = (
            TTest(t.statistic[..., None], t.df[..., None], t.pvalue[..., None], t.pvalue_less[..., None])
            for t in (self.student, self.welch)
        )
        return MeanTests(
            self.n,
            self.m,
            TestResult(x.statistic[..., None], x.pvalue[..., None]),
            TestResult(y.statistic[..., None], y.pvalue[..., None]),
            VarianceRatio(f.statistic[..., None], f.df, f.pvalue[..., None]),
            student,
            welch,
        )


class MeanDecision(Struct, frozen=True):
    """Figure 1 at one risk or at several; arrays of the common shape of tests and risk."""

    state: StateArray  # positions in :data:`STATES`, for "X takes longer than Y in mean"
    state_slower: StateArray  # the same for "Y takes longer than X"
    # Samples that are small and not normal. The figure names X first; both are told here.
    lacking_x: BoolArray
    lacking_y: BoolArray
    normal_x: BoolArray  # whether normality was not rejected
    normal_y: BoolArray
    equal_variances: BoolArray  # whether the pooled test decided
    pvalue: FloatArray  # of the test that decided; NaN when more runs are needed
    pvalue_slower: FloatArray

    @property
    def undermined(self) -> BoolArray:
        """Where the article remarks that 1 - alpha may not be the correct confidence level."""
        lacking = self.lacking_x | self.lacking_y
        return ~lacking & ~(self.normal_x & self.normal_y)


def mean_tests(x: FloatArray, y: FloatArray) -> MeanTests:
    """Make all tests of figure 1."""
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
    pvalue = np.where(lacking, np.nan, np.where(pooled, tests.student.pvalue, tests.welch.pvalue))
    pvalue_slower = np.where(
        lacking, np.nan, np.where(pooled, tests.student.pvalue_less, tests.welch.pvalue_less)
    )
    stop = np.where(lacking_x, MORE_RUNS_X, np.where(lacking_y, MORE_RUNS_Y, UNDEFINED))
    return MeanDecision(
        state=codes(pvalue, alpha, stop),
        state_slower=codes(pvalue_slower, alpha, stop),
        lacking_x=lacking_x,
        lacking_y=lacking_y,
        normal_x=normal_x,
        normal_y=normal_y,
        equal_variances=pooled,
        pvalue=pvalue,
        pvalue_slower=pvalue_slower,
    )


def means(prepared: PreparedPairs) -> list[Comparison]:
    """Compare the means of several pairs by the protocol of figure 1."""
    return in_batches(
        prepared.sides("mean"), lambda own, slow, fast: _answers(own, slow, fast, prepared.rules)
    )


def _answers(own: Sequence[Sides], slow: FloatArray, fast: FloatArray, rules: Rules) -> list[Comparison]:
    """Of pairs of equal sizes."""
    tests = mean_tests(slow, fast)
    decision = decide_mean(tests, rules.alpha, always_welch=rules.always_welch)
    pooled = decision.equal_variances
    bounds = ratio_of_means(slow, fast, rules.alpha, pooled)
    tested = ~np.isnan(decision.pvalue)
    margins = at_margins(lambda g: ratio_of_means_test(slow, fast, g, pooled), rules.margin, tested, tested)
    columns = tests.columns()
    numbers = (columns.shapiro_x, columns.shapiro_y, columns.variances, columns.student, columns.welch)
    highest = highest_confidences(
        np.concatenate([test.pvalue for test in numbers], axis=-1),
        lambda alpha: decide_mean(columns, alpha, always_welch=rules.always_welch).state == SIGNIFICANT,
    )
    pvalue, slower, low, high, equal = lists(
        decision.pvalue, decision.pvalue_slower, bounds.low, bounds.high, pooled
    )
    state, lacking_x, lacking_y = lists(decision.state, decision.lacking_x, decision.lacking_y)
    lacking = list(zip(lacking_x, lacking_y, strict=True))
    verdicts = [verdict_of(*p, rules.alpha) for p in zip(pvalue, slower, margins, strict=True)]
    observed = [location_ratio(mean, *pair) for pair in zip(slow, fast, strict=True)]
    needed = needed_runs(own, (slow, fast), rules, verdicts, lacking, runs_needed_means, observed)
    all_checks = _checks(tests, decision, [side.turned for side in own])
    return [
        Comparison(
            benchmark=side.key.benchmark,
            metric=side.key.metric,
            protocol="mean",
            question=f"is the mean of the candidate {side.better}?",
            alpha=rules.alpha,
            reference=side.summaries[0],
            candidate=side.summaries[1],
            state=state_of(state[i], lacking[i], side.turned),
            test="" if math.isnan(pvalue[i]) else "Student's t test" if equal[i] else "Welch's t test",
            pvalue=pvalue[i],
            pvalue_slower=slower[i],
            speedup=estimate(observed[i], low[i], high[i], pvalue[i], rules),
            verdict=verdicts[i],
            checks=(*all_checks[i], *side.checks),
            needed=needed[i],
            highest_confidence=highest[i],
            at_margin=margins[i],
        )
        for i, side in enumerate(own)
    ]


def compare_means(
    reference: Sample, candidate: Sample, rules: Rules = DEFAULT, key: Key = UNNAMED
) -> Comparison:
    """Compare means by the protocol of figure 1."""
    return means(PreparedPairs([Pair(key, reference, candidate)], rules))[0]


def _checks(tests: MeanTests, decision: MeanDecision, turned: Sequence[bool]) -> list[list[Check]]:
    """Of each pair: normality of X and of Y; equal variances where the F test had a say."""
    sides = []
    for test, normal, n in (
        (tests.shapiro_x, decision.normal_x, tests.n),
        (tests.shapiro_y, decision.normal_y, tests.m),
    ):
        columns = lists(test.statistic, test.pvalue, normal)
        sides.append([(*row, n) for row in zip(*columns, strict=True)])
    variances = lists(tests.variances.statistic, tests.variances.pvalue, decision.equal_variances)
    found = []
    for i, (of_x, of_y) in enumerate(zip(sides[0], sides[1], strict=True)):
        named = zip("XY", (of_y, of_x) if turned[i] else (of_x, of_y), strict=True)
        own = [
            Check(
                Assumption.NORMALITY, name, statistic, pvalue, normal, _said_of_normality(normal, pvalue, n)
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
            own.append(Check(Assumption.EQUAL_VARIANCES, "", statistic, pvalue, equal, message))
        found.append(own)
    return found


def _said_of_normality(normal: bool, pvalue: float, n: int) -> str:
    if normal:
        return "normality is not rejected"
    if n > SHAPIRO_MOST:
        return f"Shapiro-Wilk has no valid p-value for more than {SHAPIRO_MOST} values: taken as not normal"
    if n < _LEAST_FOR_SHAPIRO:
        return f"fewer than {_LEAST_FOR_SHAPIRO} values: no test of normality, measure more than {SMALL}"
    if math.isnan(pvalue):
        return "all values are equal, so normality cannot be tested: use a finer clock or longer runs"
    if n <= SMALL:
        return f"not normal and at most {SMALL} runs: measure more than {SMALL}, or rely on the median"
    return "not normal: the t test is approximate, 1 - alpha may not be the correct confidence level"
