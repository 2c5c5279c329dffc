"""Whether a single run of the candidate beats a single run of the reference more often than not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols.figures import forecasts, lists
from speedproof.protocols.pair import DEFAULT, UNNAMED, PreparedPairs, Rules, Sides, in_batches
from speedproof.protocols.results import Comparison, Needed, State, Verdict
from speedproof.stats.bounds import probability_greater
from speedproof.stats.estimate import Estimate
from speedproof.stats.power import runs_needed_ranks


def single_runs(prepared: PreparedPairs) -> list[Comparison]:
    """Ask :func:`compare_single_runs` of several pairs."""
    return in_batches(
        prepared.sides("median"), lambda own, slow, fast: _answers(own, slow, fast, prepared.rules)
    )


def _answers(own: Sequence[Sides], slow: FloatArray, fast: FloatArray, rules: Rules) -> list[Comparison]:
    """Of pairs of equal sizes."""
    found = probability_greater(slow, fast, rules.alpha)
    columns = (found.estimate, found.low, found.high, found.pvalue, found.pvalue_less)
    # Even if all were won, alpha ** (1 / n) bounds the probability: n runs must be able to prove more than 1/2.
    least = math.floor(-math.log2(rules.alpha)) + 1
    verdicts = [
        Verdict.FASTER if low > 0.5 else Verdict.SLOWER if high < 0.5 else Verdict.UNDECIDED
        for low, high in zip(*lists(found.low, found.high), strict=True)
    ]
    undecided = [i for i, verdict in enumerate(verdicts) if verdict is Verdict.UNDECIDED]
    needed: dict[int, Needed] = {}
    if min(slow.shape[-1], fast.shape[-1]) < least:
        reason = "fewer runs can never decide at this risk, even if all of them are won"
        for i in undecided:
            x, y = (least if side.n < least else None for side in (own[i].x, own[i].y))
            needed[i] = Needed(x, y, reason, least=True)
    else:
        needed = forecasts(own, slow, fast, rules, undecided, runs_needed_ranks)
    return [
        Comparison(
            benchmark=side.key.benchmark,
            metric=side.key.metric,
            protocol="single run",
            question=f"is a single run of the candidate {side.better} more often than not?",
            alpha=rules.alpha,
            reference=side.summaries[0],
            candidate=side.summaries[1],
            state=State.UNDEFINED
            if math.isnan(pvalue)
            else State.SIGNIFICANT
            if verdicts[i] is Verdict.FASTER
            else State.NOT_SIGNIFICANT,
            test="Brunner-Munzel test on log odds",
            pvalue=pvalue,
            pvalue_slower=slower,
            speedup=Estimate(value, low, high, 1 - rules.alpha),
            verdict=verdicts[i],
            checks=side.checks,
            needed=needed.get(i),
            quantity="probability",
        )
        for i, (side, value, low, high, pvalue, slower) in enumerate(zip(own, *lists(*columns), strict=True))
    ]


def compare_single_runs(
    reference: Sample, candidate: Sample, rules: Rules = DEFAULT, key: Key = UNNAMED
) -> Comparison:
    """Ask whether a single run of the candidate beats a single run of the reference more often than not.

    The probability is P[X > Y] + P[X = Y]/2 (X and Y exchanged where higher is better), tested against one
    half in the manner of Brunner and Munzel, which holds under unequal spread. With values nested in
    processes a "run" is a process.
    """
    return single_runs(PreparedPairs([Pair(key, reference, candidate)], rules))[0]
