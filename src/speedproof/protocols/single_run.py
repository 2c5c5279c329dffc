"""Whether a single run of the candidate beats a single run of the reference more often than not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from speedproof.protocols.figures import compared, fewest, forecasts, lists
from speedproof.protocols.pair import Batch, PreparedPairs, Rules, in_batches
from speedproof.protocols.results import Comparison, Needed
from speedproof.stats.power import runs_needed_ranks
from speedproof.stats.superiority import probability_greater


def single_runs(prepared: PreparedPairs) -> list[Comparison]:
    """Ask whether a single run of the candidate beats a single run of the reference more often than not.

    The probability is P[X > Y] + P[X = Y]/2 (X and Y exchanged where higher is better), tested against one
    half in the manner of Brunner and Munzel, which holds under unequal spread. With values nested in
    processes a "run" is a process.
    """
    return in_batches(prepared.sides("median"), partial(_answers, rules=prepared.rules))


def _answers(sides: Batch, rules: Rules) -> list[Comparison]:
    """Compare pairs of equal sizes."""
    slow, fast = sides.ordered
    chance = probability_greater(slow, fast, rules.alpha, order=sides.pooled)
    pvalues, ends = lists(chance.pvalue, chance.pvalue_less), lists(chance.estimate, chance.low, chance.high)
    # Even if all were won, alpha ** (1 / n) bounds the probability: n runs must be able to prove more than 1/2.
    least = math.floor(-math.log2(rules.alpha)) + 1

    def needed(undecided: Sequence[int]) -> dict[int, Needed]:
        if min(slow.shape[-1], fast.shape[-1]) < least:
            return fewest(sides, undecided, least)
        return forecasts(sides, slow, fast, rules, undecided, runs_needed_ranks)

    rows = len(sides)
    return compared(
        "single run",
        sides,
        rules,
        pvalues,
        ends,
        [None] * rows,
        needed,
        test=["Brunner-Munzel test on log odds"] * rows,
        checks=[side.checks for side in sides],
        quantity=["probability"] * rows,
        ties=sides.pooled.tied_share.tolist(),
    )
