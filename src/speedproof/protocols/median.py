"""The median protocol of the Speedup-Test, its figure 2: the location model, then Wilcoxon, Mann and Whitney."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from speedproof.arrays import BoolArray, FloatArray, StateArray
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.confidence import highest_confidences
from speedproof.protocols.figures import (
    MORE_RUNS,
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
from speedproof.stats.pair_ratios import ratio_order_statistics
from speedproof.stats.power import runs_needed_ranks
from speedproof.stats.ranks import RankSum, rank_sum
from speedproof.stats.ratio_medians import ratio_of_medians, ratio_of_medians_test
from speedproof.stats.scaling import location_ratio, median
from speedproof.stats.smirnov import KSResult, ks_location

KSRule = Literal["legacy", "r422"]


class MedianTests(Struct, frozen=True):
    """All tests of figure 2; fields of shape (...)."""

    n: int  # runs of X and of Y
    m: int
    # Kolmogorov-Smirnov on x - med(x) and y - med(y): do the samples differ by a shift only?
    location: KSResult
    ranks: RankSum  # the one-sided Wilcoxon-Mann-Whitney test

    def columns(self) -> MedianTests:
        """The same with a last axis, to be read at several risks each."""
        return MedianTests(
            self.n,
            self.m,
            KSResult(*_deeper(self.location)),
            RankSum(*_deeper(self.ranks)),
        )


class MedianDecision(Struct, frozen=True):
    """Figure 2 at one risk or at several; arrays of the common shape of tests and risk."""

    state: StateArray  # positions in :data:`STATES`, for "X takes longer" and for "Y takes longer"
    state_slower: StateArray
    lacking_x: BoolArray  # small samples where the location model failed
    lacking_y: BoolArray
    location_model: BoolArray  # whether the location model was not rejected
    pvalue: FloatArray  # of the rank-sum test; NaN when more runs are needed
    pvalue_slower: FloatArray

    @property
    def undermined(self) -> BoolArray:
        """Where the article remarks that 1 - alpha may not be the correct confidence level."""
        return ~self.location_model & ~(self.lacking_x | self.lacking_y)


def median_tests(x: FloatArray, y: FloatArray, ks_rule: KSRule = "legacy") -> MedianTests:
    """Make all tests of figure 2."""
    return MedianTests(
        n=x.shape[-1],
        m=y.shape[-1],
        location=ks_location(x, y, rule=ks_rule),
        ranks=rank_sum(x, y),
    )


def decide_median(tests: MedianTests, alpha: float | FloatArray) -> MedianDecision:
    """Follow figure 2."""
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
        state=codes(pvalue, alpha, stop),
        state_slower=codes(pvalue_slower, alpha, stop),
        lacking_x=lacking_x,
        lacking_y=lacking_y,
        location_model=model,
        pvalue=pvalue,
        pvalue_slower=pvalue_slower,
    )


def _deeper(test: KSResult | RankSum) -> list[Any]:
    return [part[..., None] for part in astuple(test)]


def medians(prepared: PreparedPairs) -> list[Comparison]:
    """Compare the medians of several pairs by the protocol of figure 2."""
    return in_batches(
        prepared.sides("median"), lambda own, slow, fast: _answers(own, slow, fast, prepared.rules)
    )


def _answers(own: Sequence[Sides], slow: FloatArray, fast: FloatArray, rules: Rules) -> list[Comparison]:
    """Of pairs of equal sizes."""
    tests = median_tests(slow, fast, rules.ks_rule)
    decision = decide_median(tests, rules.alpha)
    bounds = ratio_of_medians(slow, fast, rules.alpha, at_one=tests.ranks)
    margins = at_margins(
        lambda gamma: ratio_of_medians_test(slow, fast, gamma, at_one=tests.ranks),
        rules.margin,
        ~np.isnan(decision.pvalue),
        decision.location_model,
    )
    columns = tests.columns()
    highest = highest_confidences(
        np.concatenate([columns.location.pvalue, columns.ranks.pvalue], axis=-1),
        lambda alpha: decide_median(columns, alpha).state == SIGNIFICANT,
    )
    pvalue, slower, low, high = lists(decision.pvalue, decision.pvalue_slower, bounds.low, bounds.high)
    state, lacking_x, lacking_y = lists(decision.state, decision.lacking_x, decision.lacking_y)
    lacking = list(zip(lacking_x, lacking_y, strict=True))
    verdicts = [verdict_of(*p, rules.alpha) for p in zip(pvalue, slower, margins, strict=True)]
    observed = [location_ratio(median, *pair) for pair in zip(slow, fast, strict=True)]
    needed = needed_runs(own, (slow, fast), rules, verdicts, lacking, runs_needed_ranks, observed)
    all_checks = _checks(tests, decision, slow, fast, rules.alpha)
    return [
        Comparison(
            benchmark=side.key.benchmark,
            metric=side.key.metric,
            protocol="median",
            question=f"is the median of the candidate {side.better}?",
            alpha=rules.alpha,
            reference=side.summaries[0],
            candidate=side.summaries[1],
            state=state_of(state[i], lacking[i], side.turned),
            test="" if math.isnan(pvalue[i]) else "Wilcoxon-Mann-Whitney test",
            pvalue=pvalue[i],
            pvalue_slower=slower[i],
            speedup=estimate(_observed(slow[i], fast[i], low[i], high[i]), low[i], high[i], pvalue[i], rules),
            verdict=verdicts[i],
            checks=(*all_checks[i], *side.checks),
            needed=needed[i],
            highest_confidence=highest[i],
            at_margin=margins[i],
        )
        for i, side in enumerate(own)
    ]


def _observed(slow: FloatArray, fast: FloatArray, low: float, high: float) -> float:
    """The ratio of the medians; where the bounds exclude it, the median of the ratios, of which the test speaks.

    Both are one number where the samples differ by a factor. Where they do not, the ratio of the medians may lie
    on the other side of 1 than what the rank-sum test proves.
    """
    observed = location_ratio(median, slow, fast)
    if not math.isnan(low) and not math.isnan(observed) and not low <= observed <= high:
        known = slow.size * fast.size - int((slow == 0.0).sum()) * int((fast == 0.0).sum())
        lower, upper = ratio_order_statistics(slow, fast, ((known - 1) // 2, known // 2))
        return lower if lower == upper else math.sqrt(lower) * math.sqrt(upper)
    return observed


def compare_medians(
    reference: Sample, candidate: Sample, rules: Rules = DEFAULT, key: Key = UNNAMED
) -> Comparison:
    """Compare medians by the protocol of figure 2."""
    return medians(PreparedPairs([Pair(key, reference, candidate)], rules))[0]


def _checks(
    tests: MedianTests, decision: MedianDecision, slow: FloatArray, fast: FloatArray, alpha: float
) -> list[list[Check]]:
    """Of each pair: the location model; the scale model behind the bounds; ties, when there are any."""
    location = tests.location
    found: list[list[Check]] = []
    for statistic, pvalue, holds, lacking in zip(
        *lists(location.statistic, location.pvalue, decision.location_model),
        (decision.lacking_x | decision.lacking_y).tolist(),
        strict=True,
    ):
        if holds:
            message = "the samples may differ by a shift only: the rank-sum test speaks of medians"
        elif lacking:
            message = (
                f"the samples differ by more than a shift and one has at most {SMALL} runs: measure more"
            )
        else:
            message = (
                "the samples differ by more than a shift: the rank-sum test says which tends to be larger, "
                "1 - alpha may not be the correct confidence level for medians"
            )
        found.append([Check(Assumption.SHIFT, "", statistic, pvalue, holds, message)])
    positive = np.flatnonzero(np.minimum(slow.min(axis=-1), fast.min(axis=-1)) > 0)
    if positive.size:
        # The bounds of the ratio invert the test under scaling, which is a shift of the logarithms.
        factor = ks_location(np.log(slow[positive]), np.log(fast[positive]))
        for i, statistic, pvalue in zip(positive, *lists(factor.statistic, factor.pvalue), strict=True):
            common = pvalue > alpha
            message = (
                "the samples may differ by a factor only, which is what the bounds of the ratio are for"
                if common
                else "the samples differ by more than a factor: the bounds are not those of the ratio of medians"
            )
            found[i].append(Check(Assumption.FACTOR, "", statistic, pvalue, common, message))
    for i in np.flatnonzero(tests.ranks.ties):
        pooled = np.concatenate([slow[i], fast[i]])
        distinct = int(np.unique(pooled).size)
        many = 2 * distinct > pooled.size
        message = f"{distinct} distinct values among {pooled.size}: the rank-sum test is approximate"
        if not many:
            message += ", and bounds cannot be finer than the clock; a finer clock or longer runs help"
        found[i].append(Check(Assumption.TIES, "", float(pooled.size - distinct), math.nan, many, message))
    return found
