"""How many times faster the candidate is in its slowest runs: the ratio of one quantile of each side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.options import quantile_name
from speedproof.protocols.figures import at_margins, compared, fewest, forecasts, lists
from speedproof.protocols.pair import Batch, PreparedPairs, Rules, Sides, in_batches
from speedproof.protocols.results import Comparison, Needed
from speedproof.stats.quantile_ratio import Quantiles, least_of_each, runs_needed_quantiles
from speedproof.stats.scaling import unbounded


def quantile_question(q: float, prepared: PreparedPairs) -> list[Comparison]:
    """Compare a quantile of several pairs, whatever their distributions; of nested values the unit is the process.

    Of times it is the quantile of share q, of rates that of share 1 - q: the slowest runs in both cases.
    """
    return in_batches(quantile_sides(prepared), partial(_answers, q=q, rules=prepared.rules))


def quantile_sides(prepared: PreparedPairs) -> list[Sides]:
    """What is tested of every pair: rates as the time that one of it takes, so that slow is large."""
    sides = []
    for side in prepared.sides("median"):
        if side.turned:
            slow, fast = (unbounded(np.reciprocal, rates) for rates in (side.fast, side.slow))
            side = replace(side, slow=slow, fast=fast, turned=False)
        sides.append(side)
    return sides


def _answers(sides: Batch, q: float, rules: Rules) -> list[Comparison]:
    """Compare pairs of equal sizes."""
    slow, fast = sides.ordered
    quantiles = Quantiles.of(slow, fast, q)
    at_one, bounds = quantiles.test(), quantiles.bounds(rules.alpha)
    defined = ~np.isnan(at_one.pvalue)
    pvalues = lists(at_one.pvalue, at_one.pvalue_less)
    margins = at_margins(partial(map, quantiles.test), rules.margin, defined, defined)
    ratios, least = lists(quantiles.ratio, bounds.low, bounds.high), least_of_each(q, rules.alpha)

    def needed(undecided: Sequence[int]) -> dict[int, Needed]:
        if min(slow.shape[-1], fast.shape[-1]) < least:
            return fewest(sides, undecided, least)
        runs_needed = partial(runs_needed_quantiles, q=q)
        return forecasts(sides, slow, fast, rules, undecided, runs_needed, ratios[0])

    observed = zip(sides, *lists(np.exp(quantiles.of_x), np.exp(quantiles.of_y)), strict=True)
    return compared(
        quantile_name(q),
        sides,
        rules,
        pvalues,
        ratios,
        margins,
        needed,
        test=["counts beyond every place, by Fisher's product"] * len(sides),
        checks=[side.checks for side in sides],
        quantiles=[_as_measured(*of_pair) for of_pair in observed],
    )


def quantiles_of(side: Sides, slow: FloatArray, fast: FloatArray, q: float) -> tuple[float, float]:
    """Of reference and candidate of one pair, as observed."""
    quantiles = Quantiles.of(slow[None], fast[None], q)
    return _as_measured(side, math.exp(quantiles.of_x[0]), math.exp(quantiles.of_y[0]))


def _as_measured(side: Sides, slow: float, fast: float) -> tuple[float, float]:
    """Convert the quantiles of both sides back to rates, if rates were measured."""
    if side.x.higher_is_better:
        return 1.0 / slow if slow else np.inf, 1.0 / fast if fast else np.inf
    return slow, fast
