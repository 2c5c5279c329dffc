"""The median protocol of the Speedup-Test, its figure 2: the location model, then Wilcoxon, Mann and Whitney."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.data.notes import Assumption, Note
from speedproof.protocols.figures import SMALL, Decision, at_margins, conclusions, lists
from speedproof.protocols.pair import Batch, KSRule, PreparedPairs, Rules, in_batches
from speedproof.protocols.results import Comparison
from speedproof.stats.power import runs_needed_ranks
from speedproof.stats.ranks import PooledOrder, RankSum, rank_sum
from speedproof.stats.ratio_medians import ratio_of_medians, ratio_of_medians_test
from speedproof.stats.scaling import location_ratio, location_ratios, median
from speedproof.stats.smirnov import KSResult, ks_location

_SHIFT = "the samples may differ by a shift only: the rank-sum test speaks of medians"
_FACTOR = "the samples may differ by a factor only, which is what the bounds of the ratio are for"
_NO_FACTOR = "the samples differ by more than a factor: the bounds are not those of the ratio of medians"


class MedianTests(Struct, frozen=True):
    """All tests of figure 2; fields of shape (...)."""

    n: int  # runs of X and of Y
    m: int
    # Kolmogorov-Smirnov on x - med(x) and y - med(y): do the samples differ by a shift only?
    location: KSResult
    ranks: RankSum  # the one-sided Wilcoxon-Mann-Whitney test

    @property
    def pvalues(self) -> tuple[FloatArray, ...]:
        """All that the figure compares with a risk."""
        return self.location.pvalue, self.ranks.pvalue


def median_tests(
    x: FloatArray, y: FloatArray, ks_rule: KSRule = "legacy", order: PooledOrder | None = None
) -> MedianTests:
    """Make all tests of figure 2."""
    location, ranks = ks_location(x, y, rule=ks_rule), rank_sum(x, y, order=order)
    return MedianTests(n=x.shape[-1], m=y.shape[-1], location=location, ranks=ranks)


def decide_median(tests: MedianTests, alpha: float | FloatArray) -> Decision:
    """Follow figure 2."""
    alpha = np.asarray(alpha, dtype=np.float64)
    model = np.asarray(tests.location.pvalue > alpha)
    lacking_x = ~model & (tests.n <= SMALL)
    lacking_y = ~model & (tests.m <= SMALL)
    lacking = lacking_x | lacking_y
    pvalue, slower = (np.where(lacking, np.nan, p) for p in (tests.ranks.pvalue, tests.ranks.pvalue_less))
    return Decision(lacking_x, lacking_y, pvalue, slower, (model,))


def medians(prepared: PreparedPairs) -> list[Comparison]:
    """Compare the medians of several pairs by the protocol of figure 2."""
    return in_batches(prepared.sides("median"), partial(_answers, rules=prepared.rules))


def _answers(sides: Batch, rules: Rules) -> list[Comparison]:
    """Compare pairs of equal sizes."""
    slow, fast = sides.ordered
    tests = median_tests(slow, fast, rules.ks_rule, sides.pooled)
    decision = decide_median(tests, rules.alpha)
    bounds = ratio_of_medians(slow, fast, rules.alpha, at_one=tests.ranks)
    return conclusions(
        "median",
        sides,
        (slow, fast),
        rules,
        decision,
        bounds=bounds,
        margins=at_margins(
            partial(map, lambda gamma: ratio_of_medians_test(slow, fast, gamma, at_one=tests.ranks)),
            rules.margin,
            ~np.isnan(decision.pvalue),
            decision.holds[0],
        ),
        observed=location_ratios(median, slow, fast, _observed),
        tests=["Wilcoxon-Mann-Whitney test"] * len(sides),
        checks=_checks(tests, decision, slow, fast, rules.alpha),
        runs_needed=runs_needed_ranks,
    )


def _observed(slow: FloatArray, fast: FloatArray) -> float:
    """The ratio of the medians; of two zeros 1, of a value to zero infinite, as in the rank-sum test."""
    above, below = median(slow), median(fast)
    if below == 0.0 <= above:
        return math.inf if above else 1.0
    return location_ratio(median, slow, fast)


def _checks(
    tests: MedianTests, decision: Decision, slow: FloatArray, fast: FloatArray, alpha: float
) -> list[list[Note]]:
    """Of each pair: the location model; the scale model behind the bounds; ties, when there are any."""
    location = tests.location
    notes: list[list[Note]] = []
    for statistic, pvalue, holds, lacking in zip(
        *lists(location.statistic, location.pvalue, *decision.holds),
        (decision.lacking_x | decision.lacking_y).tolist(),
        strict=True,
    ):
        if holds:
            message = _SHIFT
        elif lacking:
            message = f"the samples differ by more than a shift and one has at most {SMALL} runs"
        else:
            message = (
                "the samples differ by more than a shift: the rank-sum test says which tends to be larger, "
                "1 - alpha may not be the correct confidence level for medians"
            )
        notes.append([Note(Assumption.SHIFT, message, (), (), statistic, pvalue, holds)])
    positive = np.flatnonzero(np.minimum(slow.min(axis=-1), fast.min(axis=-1)) > 0)
    if positive.size:
        # The bounds of the ratio invert the test under scaling, which is a shift of the logarithms.
        whole = positive.size == len(slow)
        x, y = (slow, fast) if whole else (slow[positive], fast[positive])
        factor = ks_location(np.log(x), np.log(y))
        kind = Assumption.FACTOR
        columns = lists(positive, factor.statistic, factor.pvalue)
        for i, statistic, pvalue in zip(*columns, strict=True):
            common = pvalue > alpha
            message = _FACTOR if common else _NO_FACTOR
            notes[i].append(Note(kind, message, (), (), statistic, pvalue, common))
    for i in np.flatnonzero(tests.ranks.ties):
        distinct, size = int(tests.ranks.distinct[i]), tests.n + tests.m
        many = 2 * distinct > size
        message = f"{distinct} distinct values among {size}: the rank-sum test is approximate"
        if not many:
            message += ", and bounds cannot be finer than the steps of the values"
        notes[i].append(Note(Assumption.TIES, message, statistic=float(size - distinct), held=many))
    return notes
