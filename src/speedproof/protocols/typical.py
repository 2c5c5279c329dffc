"""The headline: how many times faster a typical run is, and whether that is proven.

The typical speedup is the gamma at which a run of the reference takes longer than gamma times a run of the
candidate as often as not, P[X > gamma Y] = 1/2: the median of X / Y over independent pairs of runs. The
studentised rank test of Brunner and Munzel asks for no normality, no common shape and no common variance, so that
no check of an assumption can refuse it (:mod:`speedproof.stats.superiority`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from speedproof.data.sample import FloatArray, Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols.figures import at_margins, forecasts, lists, verdict_of
from speedproof.protocols.pair import DEFAULT, UNNAMED, PreparedPairs, Rules, Sides, in_batches
from speedproof.protocols.results import Comparison, HighestConfidence, Needed, State, Verdict
from speedproof.stats.estimate import Estimate
from speedproof.stats.permutation import one_order
from speedproof.stats.power import runs_needed_ranks
from speedproof.stats.resolution import coarse_step
from speedproof.stats.superiority import typical_ratio, typical_ratio_test

__all__ = ["compare_typical", "typical_runs"]


def typical_runs(prepared: PreparedPairs) -> list[Comparison]:
    """Ask :func:`compare_typical` of several pairs.

    Parameters
    ----------
    prepared : PreparedPairs
        The pairs with the rules.

    Returns
    -------
    list of Comparison
        In the order of the pairs.
    """
    return in_batches(
        prepared.sides("median"), lambda own, slow, fast: _answers(own, slow, fast, prepared.rules)
    )


def _answers(own: Sequence[Sides], slow: FloatArray, fast: FloatArray, rules: Rules) -> list[Comparison]:
    """Of pairs of equal sizes."""
    steps = np.array([[coarse_step(side.slow), coarse_step(side.fast)] for side in own])
    found = typical_ratio(slow, fast, rules.alpha, steps=steps)
    pvalues = lists(found.pvalue, found.pvalue_less)
    meant = ~np.isnan(found.low)
    margins = at_margins(
        lambda gamma: typical_ratio_test(slow, fast, gamma, steps=steps), rules.margin, meant, meant
    )
    verdicts = [
        verdict_of(pvalue, slower, margin, rules.alpha)
        for pvalue, slower, margin in zip(*pvalues, margins, strict=True)
    ]
    needed = _needed(own, slow, fast, rules, verdicts)
    ratios = lists(found.estimate, found.low, found.high)
    chances = lists(found.chance, found.chance_low, found.chance_high)
    return [
        Comparison(
            benchmark=side.key.benchmark,
            metric=side.key.metric,
            protocol="typical",
            question=f"is a typical run of the candidate {side.better}?",
            alpha=rules.alpha,
            reference=side.summaries[0],
            candidate=side.summaries[1],
            state=State.SIGNIFICANT if pvalues[0][i] <= rules.alpha else State.NOT_SIGNIFICANT,
            test="studentised rank test",
            pvalue=pvalues[0][i],
            pvalue_slower=pvalues[1][i],
            speedup=Estimate(ratios[0][i], ratios[1][i], ratios[2][i], 1 - rules.alpha),
            verdict=verdicts[i],
            checks=side.checks,
            needed=needed.get(i),
            highest_confidence=_highest(pvalues[0][i]),
            chance=Estimate(chances[0][i], chances[1][i], chances[2][i], 1 - rules.alpha),
            at_margin=margins[i],
        )
        for i, side in enumerate(own)
    ]


def _highest(pvalue: float) -> HighestConfidence:
    """One test decides: it says "significant" at its p-value and at every larger risk."""
    intervals = ((pvalue, 1.0, True, False),) if pvalue < 1.0 else ()
    return HighestConfidence(1 - pvalue if intervals else math.nan, bool(intervals), True, intervals)


def _needed(
    own: Sequence[Sides], slow: FloatArray, fast: FloatArray, rules: Rules, verdicts: Sequence[Verdict]
) -> dict[int, Needed]:
    """Runs that can decide at all, or that would find the difference that was observed."""
    undecided = [i for i, verdict in enumerate(verdicts) if verdict is Verdict.UNDECIDED]
    n, m = slow.shape[-1], fast.shape[-1]
    if one_order(n, m) <= rules.alpha:
        return forecasts(own, slow, fast, rules, undecided, runs_needed_ranks)
    enough = next(k for k in range(2, 100) if one_order(k, k) <= rules.alpha)
    reason = "fewer runs can never decide at this risk, even if all of them are won"
    found = {}
    for i in undecided:
        x, y = (enough if side.n < enough else None for side in (own[i].x, own[i].y))
        found[i] = Needed(x, y, reason)
    return found


def compare_typical(
    reference: Sample, candidate: Sample, rules: Rules = DEFAULT, key: Key = UNNAMED
) -> Comparison:
    """Ask how many times faster a typical run of the candidate is.

    Parameters
    ----------
    reference, candidate : Sample
        X and Y, in one unit and direction.
    rules : Rules
        The risk of each side; whether processes are the unit; the margin of equivalence.
    key : Key
        Names of benchmark and metric for the result.

    Returns
    -------
    Comparison
        ``speedup`` is the typical speedup with the bounds that the deciding test gives, ``chance`` the probability
        that a run of the candidate beats one of the reference. Bounds and estimate are NaN where a value is
        negative: the verdict stands, the ratio means nothing.

    Raises
    ------
    ValueError
        Samples of two units or directions.

    Examples
    --------
    >>> x = Sample(np.array([10.1, 10.3, 9.9, 10.0, 10.2]), label="old")
    >>> y = Sample(np.array([9.1, 9.0, 9.3, 9.2, 8.9]), label="new")
    >>> result = compare_typical(x, y)
    >>> result.verdict.value, round(result.speedup.value, 3), round(result.speedup.low, 3), result.chance.value
    ('faster', 1.11, 1.087, 1.0)
    """
    return typical_runs(PreparedPairs([Pair(key, reference, candidate)], rules))[0]
