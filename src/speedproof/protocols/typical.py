"""The headline: how many times faster a typical run is, and whether that is proven.

The typical speedup is the gamma at which a run of the reference takes longer than gamma times a run of the
candidate as often as not, P[X > gamma Y] = 1/2: the median of X / Y over independent pairs of runs. The
studentised rank test of Brunner and Munzel asks for no normality, no common shape and no common variance, so that
no check of an assumption can refuse it (:mod:`speedproof.stats.superiority`). Where neighbouring runs are alike,
the test takes them for as many independent ones as tell as much: a verdict holds under what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import count, repeat
from typing import Any

import numpy as np
from msgspec.structs import replace

from speedproof.arrays import BoolArray, FloatArray, stacked
from speedproof.data.notes import Assumption, Note
from speedproof.data.record import Order, order_of_measuring
from speedproof.data.sample import Trait
from speedproof.protocols.figures import at_margins, compared, fewest, forecasts, lists, log_speedups
from speedproof.protocols.pair import Batch, PreparedPairs, Rules, Sides, in_batches
from speedproof.protocols.results import Comparison, Needed
from speedproof.protocols.units import paired_units, summarise_all
from speedproof.stats.dependence import drifting, variance_inflation, walk_inflation
from speedproof.stats.estimate import Estimate, OneSided
from speedproof.stats.permutation import few_separate, least_pvalue
from speedproof.stats.power import runs_needed_ranks, typical_error
from speedproof.stats.scaling import coarse_steps, middle, with_headroom
from speedproof.stats.superiority import typical_ratio, typical_ratio_test, typical_ratio_tests

_WITHIN = (
    "the same {0}s measured both sides: the ratios within each were tested, and the speedup is of two runs in one "
    "{0}"
)
ZEROS = Needed(None, None, Assumption.SOME_TIME.violated)
DRIFT = Needed(None, None, "the runs drift: measure in turns, with 'speedproof run'")
# What the test itself takes care of: by the effective sizes, by wider bounds, by units that both sides have.
ADJUSTED = frozenset(
    {
        Assumption.RUN_ORDER,
        Assumption.TREND,
        Assumption.STEADINESS,
        Assumption.RESOLUTION,
        Assumption.SEVERAL_PROCESSES,  # said once of a suite, by its caveats
    }
)


def typical_runs(prepared: PreparedPairs) -> list[Comparison]:
    """Ask how many times faster a typical run of the candidate is.

    ``speedup`` is the typical speedup with the bounds that the deciding test gives, ``chance``, where runs were
    not compared in pairs, the probability that a run of the candidate beats one of the reference. Bounds and
    estimate are NaN where a value is negative: the verdict stands, the ratio means nothing.
    """
    return in_batches(typical_sides(prepared), partial(_answers, rules=prepared.rules))


def single_runs(prepared: PreparedPairs) -> list[Comparison]:
    """Ask whether a single run of the candidate beats a single run of the reference more often than not.

    That such a chance exceeds one half is that the typical ratio exceeds 1: the hypothesis and the test are those
    of the typical run, and ``speedup`` is its chance. Sessions are not paired: ratios within pairs say something
    else of skewed values.
    """
    return in_batches(prepared.sides("median"), partial(_answers, rules=prepared.rules, of_chance=True))


def typical_sides(prepared: PreparedPairs) -> Sequence[Sides]:
    """The pairs, in order, with the units that this question tests: sessions in pairs, processes or runs."""
    pairs, whole = prepared.pairs, prepared.sides("median")
    if prepared.rules.nested == "pool":
        return whole
    sides = list(whole)
    # Of single runs, none of them in one of many sessions, only those of builds are paired.
    places = [i for i, pair in enumerate(pairs) if prepared.reduced or pair.reference.blocks is not None]
    same = {i: units for i in places if (units := paired_units(prepared.matched[i]))}
    measured = [sample for i in same for sample in (pairs[i].reference, pairs[i].candidate)]
    summaries = iter(summarise_all(measured, [sample for units in same.values() for sample in units]))
    for i, (x, y) in same.items():
        side = sides[i]
        slow, fast = with_headroom(*((y.values, x.values) if side.turned else (x.values, y.values)))
        within = "block" if Trait.BUILDS in x.traits else "session"
        sides[i] = replace(
            side,
            x=x,
            y=y,
            slow=slow,
            fast=fast,
            summaries=(next(summaries), next(summaries)),
            known=(*side.known, Note(Assumption.NESTING, _WITHIN.format(within), held=True)),
            ranks=None,
            paired=True,
        )
    return sides if same else whole


def _inflation(sides: Sequence[Sides], slow: FloatArray, fast: FloatArray) -> tuple[FloatArray, BoolArray]:
    """By how much dependence inflates the variances, where the order of the runs is known and was not drawn.

    And whether it is by slow drift, which counts unless the versions are known to have taken turns.
    """
    serial = np.array([_in_sequence(side.x.traits) and _in_sequence(side.y.traits) for side in sides])
    factors, walks = np.ones(len(sides)), np.ones(len(sides))
    if serial.any():
        ranked = [side.ranks for side, counts in zip(sides, serial, strict=True) if counts and side.ranks]
        all_known = len(ranked) == serial.sum()
        ranks = (stacked([r[0] for r in ranked]), stacked([r[1] for r in ranked])) if all_known else None
        factors[serial] = variance_inflation(slow[serial], fast[serial], ranks)
        walks[serial] = walk_inflation(slow[serial], fast[serial], ranks)
        doubted = np.flatnonzero(walks > 1.0).tolist()
        walks[[i for i in doubted if order_of_measuring(sides[i].x, sides[i].y) is Order.MIXED]] = 1.0
    return np.maximum(factors, walks), np.asarray(walks > factors)


@cache
def _in_sequence(traits: frozenset[Trait]) -> bool:
    return Trait.ORDER_KNOWN in traits and not traits & {Trait.SORTED, Trait.RANDOM_ORDER}


def _answers(sides: Batch, rules: Rules, *, of_chance: bool = False) -> list[Comparison]:
    """Compare pairs of equal sizes, all paired by session or none."""
    (slow, fast), ordered = sides.values, sides.ordered
    steps = coarse_steps(*ordered)
    # Where one typical value is 0 a step names no factor.
    counted = np.array([side.x.exact and side.y.exact for side in sides])
    typical = [middle(values) for values in ordered]
    steps[counted | ((np.minimum(*typical) <= 0.0) & (np.maximum(*typical) > 0.0))] = 0.0
    tests: Callable[[Sequence[float]], Iterable[OneSided]]
    if sides[0].paired:
        from speedproof.stats.paired_ratio import (
            paired_error,
            paired_ratio,
            paired_ratio_test,
            runs_needed_pairs,
        )

        factors, slowly = np.ones(len(sides)), np.zeros(len(sides), dtype=np.bool_)
        bounds = paired_ratio(slow, fast, rules.alpha, steps=steps)
        errors = paired_error(slow, fast)
        tests = partial(map, partial(paired_ratio_test, slow, fast, steps=steps))
        test_name, runs_needed = "signed-rank and t test of session ratios", runs_needed_pairs
    else:
        factors, slowly = _inflation(sides, slow, fast)
        slow, fast = ordered  # the order of measuring is not needed below
        inflation = np.repeat(factors[:, None], 2, axis=1)
        bounds = typical_ratio(slow, fast, rules.alpha, steps=steps, inflation=inflation, order=sides.pooled)
        errors = typical_error(slow, fast, factors, steps)
        tests = partial(typical_ratio_tests, slow, fast, steps=steps, inflation=inflation, at_one=bounds)
        test_name, runs_needed = "studentised rank test", runs_needed_ranks
    pvalues = lists(bounds.pvalue, bounds.pvalue_less)
    meant = ~np.isnan(bounds.low)
    margins = at_margins(tests, None if of_chance else rules.margin, meant, meant)
    ratios = lists(bounds.estimate, bounds.low, bounds.high)
    order = _of_order(sides, slow, fast, rules, pvalues, (factors, slowly))
    chances = lists(bounds.chance, bounds.chance_low, bounds.chance_high)

    def needed(undecided: Sequence[int]) -> Mapping[int, Needed | None]:
        """Runs that can decide at all, or that would find the difference that was observed."""
        n, m = slow.shape[-1], fast.shape[-1]
        if least_pvalue(n, m) > rules.alpha:
            counts = (
                k for k in count(2) if least_pvalue(k, k) <= rules.alpha and not few_separate(k, rules.alpha)
            )
            runs = fewest(sides, undecided, next(counts))
        elif rules.forecast:
            speedups = () if of_chance else ratios[0]
            runs = forecasts(sides, slow, fast, rules, undecided, runs_needed, speedups, factors)
        else:
            runs = {}
        # Of runs that drift more tell no more, nor of one that takes no time.
        drifts = (drifting(n, m, factors) | slowly).tolist()
        nothing = ((slow == 0.0).all(axis=1) ^ (fast == 0.0).all(axis=1)).tolist()
        return {i: ZEROS if nothing[i] else DRIFT if drifts[i] else runs.get(i) for i in undecided}

    only: dict[str, Sequence[Any]] = {"quantity": ["probability"] * len(sides)}
    if not of_chance:
        only = {"log": log_speedups(ratios[0], errors)}
    if not of_chance and not sides[0].paired:
        only["chance"] = [*map(Estimate, *chances, repeat(1 - rules.alpha))]
    return compared(
        "single run" if of_chance else "typical",
        sides,
        rules,
        pvalues,
        chances if of_chance else ratios,
        margins,
        needed,
        test=[test_name] * len(sides),
        checks=[
            (*[check for check in side.known if check.kind not in ADJUSTED], *order.get(i, ()))
            for i, side in enumerate(sides)
        ],
        ties=sides.pooled.tied_share.tolist(),
        **only,
    )


def _of_order(
    sides: Sequence[Sides],
    slow: FloatArray,
    fast: FloatArray,
    rules: Rules,
    pvalues: Sequence[Sequence[float]],
    inflation: tuple[FloatArray, BoolArray],
) -> dict[int, tuple[Note, ...]]:
    """What the likeness of neighbouring runs did: it holds when the answer at a ratio of 1 stayed what it was.

    It does not where the runs drift and there is no answer.
    """
    factors, slowly = inflation
    alike = np.flatnonzero(factors > 1.0)
    if not alike.size:
        return {}
    plain = typical_ratio_test(slow[alike], fast[alike], 1.0)
    decided = np.minimum(plain.pvalue, plain.pvalue_less) <= rules.alpha
    loose = drifting(slow.shape[-1], fast.shape[-1], factors[alike])
    notes: dict[int, tuple[Note, ...]] = {}
    for i, was_decided, drifts in zip(*lists(alike, decided, loose), strict=True):
        factor = float(factors[i])
        runs = f"{sides[i].x.n} and {sides[i].y.n} runs"
        sizes = " and ".join(f"{side.n / factor:.3g}" for side in (sides[i].x, sides[i].y))
        seen = "the runs drift" if drifts or slowly[i] else "neighbouring runs look alike"
        message = f"{seen}: the test takes {runs} for {sizes}"
        undecided = min(pvalues[0][i], pvalues[1][i]) > rules.alpha
        held = not (undecided and (was_decided or drifts or slowly[i]))
        likeness = (factor - 1.0) / (factor + 1.0)
        notes[i] = (Note(Assumption.EFFECTIVE_RUNS, message, statistic=likeness, held=held),)
    return notes
