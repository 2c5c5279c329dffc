"""The typical run, or a quantile, of versions that took turns, block by block, and were looked at after each.

What was looked at while it was measured is tested by what allows for that, wherever it is asked: the test that
the session itself looks at (:mod:`speedproof.stats.sequential`) gives verdict and bounds, of the same blocks.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.notes import Assumption, Note
from speedproof.options import HEADLINE, WORTH_KNOWING, quantile_name
from speedproof.protocols.figures import log_speedups
from speedproof.protocols.pair import Rules, Sides
from speedproof.protocols.quantile import quantiles_of
from speedproof.protocols.results import CHANGED, SEQUENTIAL, AtMargin, Comparison, Needed, State, Verdict
from speedproof.stats.dependence import drift
from speedproof.stats.estimate import Estimate
from speedproof.stats.location import symmetry
from speedproof.stats.paired_ratio import paired_error
from speedproof.stats.ranks import pooled_order
from speedproof.stats.scaling import Resolution, middle
from speedproof.stats.sequential import PairedSequence, QuantileSequence, SequentialResult

NO_NUMBER = "so near the threshold that no number of runs can be named"
"""Why nobody can say when measuring will end."""
# The rounding of a sum of logarithms is far below this.
_ROUNDING = 1e-9
# A skew that changes no answer is told when it is beyond doubt, one that does as soon as it shows.
_SKEW_LEVEL_AGREED = 0.01
_SKEW_LEVEL = 0.05
_DRIFT_LEVEL = 0.01
# What order and planning cannot do to a comparison within blocks that allows for looks.
_ALLOWED_FOR = frozenset(
    {
        Assumption.PLANNED_SIZE,
        Assumption.RUN_ORDER,
        Assumption.TREND,
        Assumption.STEADINESS,
        Assumption.RESOLUTION,
        Assumption.SEVERAL_RUNS,
    }
)


# Of these, what looking at one quantile of each side does not depend on.
_LOOKS = frozenset({Assumption.PLANNED_SIZE, Assumption.SEVERAL_RUNS})


def in_blocks(
    side: Sides, blocks: tuple[FloatArray, FloatArray], rules: Rules, q: float | None = None
) -> Comparison:
    """How many times faster a typical run of the candidate is, by the test that may be looked at at any time.

    With a share, in place of the typical run its quantile.
    """
    sequence, slow, fast = sequence_of(side, blocks, rules.alpha, q)
    result = sequence.result()
    margin, within = _at_margin(sequence, rules.margin), rules.margin or WORTH_KNOWING
    verdict = verdict_on(result, rules.margin, within)
    needed = needed_of(sequence, within) if verdict is Verdict.UNDECIDED else None
    return side.answer(
        HEADLINE if q is None else quantile_name(q),
        rules,
        state=State.SIGNIFICANT if verdict in CHANGED else State.NOT_SIGNIFICANT,
        test=SEQUENTIAL,
        pvalue=result.pvalue_faster,
        pvalue_slower=result.pvalue_slower,
        speedup=Estimate(sequence.estimate(), result.low, result.high, 1 - rules.alpha),
        verdict=verdict,
        checks=(
            *(check for check in side.checks if check.kind not in (_ALLOWED_FOR if q is None else _LOOKS)),
            *(block_checks(sequence.differences) if q is None else ()),
        ),
        needed=needed,
        ties=float(pooled_order(slow, fast).tied_share),
        at_margin=margin,
        quantiles=None if q is None else quantiles_of(side, slow, fast, q),
        log=None if q else log_speedups([sequence.estimate()], paired_error(slow[None], fast[None]))[0],
    )


def sequence_of(
    side: Sides, blocks: tuple[FloatArray, FloatArray], alpha: float, q: float | None
) -> tuple[PairedSequence, FloatArray, FloatArray]:
    """The sequential test fed with all blocks, and the values of the slow and of the fast side."""
    slow, fast = blocks[::-1] if side.turned else blocks
    sequence = PairedSequence(alpha=alpha)
    if q is not None:  # of rates, of the time that one takes
        slow, fast = (1.0 / values if side.x.higher_is_better else values for values in blocks)
        sequence = QuantileSequence(q, alpha=alpha)
    resolution = Resolution()
    for x, y in zip(slow.tolist(), fast.tolist(), strict=True):
        resolution.add(x, "x")
        resolution.add(y, "y")
        sequence.add(x, y, resolution=resolution.step)
    return sequence, slow, fast


def _at_margin(sequence: PairedSequence, margin: float | None) -> AtMargin | None:
    """P-values at both edges."""
    if margin is None:
        return None
    low, high = 1 / (1 + margin), 1 + margin
    edges = ((low, 1), (low, -1), (high, -1), (high, 1))
    not_worse, worse, not_better, better = (pvalue_at(sequence, *edge) for edge in edges)
    return AtMargin(margin, not_worse, worse, not_better, better, max(not_worse, not_better))


def verdict_on(result: SequentialResult, margin: float | None, within: float | None) -> Verdict:
    """What blocks say: a difference that is proven is told, unless a margin was asked for that says it is none.

    `within` is how close two versions are the same, asked for or not.
    """
    if result.faster and result.slower:
        return Verdict.UNDECIDED
    differ = Verdict.FASTER if result.faster else Verdict.SLOWER if result.slower else Verdict.UNDECIDED
    same = within is not None and result.equivalent(within)
    return Verdict.EQUIVALENT if same and (margin is not None or differ is Verdict.UNDECIDED) else differ


def pvalue_at(sequence: PairedSequence, edge: float, side: int) -> float:
    """Against "the speedup is at most the edge" (side -1: at least): one over the e-value that bounds invert."""
    return math.exp(-max(sequence.log_evidence(edge, side=side) - _ROUNDING, 0.0))


def blocks_to_differ(sequence: PairedSequence) -> float:
    """About how many more blocks prove a difference; NaN when it is too early to say, infinity for never."""
    return float(np.fmin.reduce([sequence.blocks_to_go(side=side) for side in (1, -1)]))


def blocks_to_same(sequence: PairedSequence, margin: float) -> float:
    """About how many more blocks prove both the same within a margin; as :func:`blocks_to_differ`."""
    ways = [sequence.blocks_to_go(gamma=(1 + margin) ** -side, side=side) for side in (1, -1)]
    return float(np.max(ways))


def needed_of(sequence: PairedSequence, margin: float | None) -> Needed:
    """What would decide: a difference, or sameness within the margin, whichever takes fewer blocks."""
    differ = blocks_to_differ(sequence)
    same = math.inf if margin is None else blocks_to_same(sequence, margin)
    if not same < (math.inf if math.isnan(differ) else differ):
        return forecast(sequence.blocks, differ)
    return replace(forecast(sequence.blocks, same), within=margin)


def forecast(blocks: int, more: float) -> Needed:
    """How many blocks are needed in all, as far as that is known."""
    total = math.ceil(blocks + more) if math.isfinite(more) else None
    return Needed(total, total, NO_NUMBER if more == math.inf else "too early to say")


def block_checks(differences: FloatArray, *candidate: str) -> tuple[Note, ...]:
    """Whether the blocks are what the comparison assumes; in sentences, and costly for long sessions."""
    notes = []
    if differences.size:
        signs = np.sign([differences.mean(), middle(differences), np.sign(differences).sum()])
        agreed = bool(np.all(signs == 1.0) or np.all(signs == -1.0))
        skewed = float(symmetry(differences).pvalue)
        if skewed <= (_SKEW_LEVEL_AGREED if agreed else _SKEW_LEVEL):
            message = f"the ratios of the blocks are skewed (p = {skewed:.2g}): " + (
                "mean, median and most blocks agree on who is faster; the bounds are approximate"
                if agreed
                else "who is faster depends on what is asked, mean, median or a single run"
            )
            notes.append(Note(Assumption.BLOCK_SYMMETRY, message, candidate, pvalue=skewed))
        changing = float(drift(differences).pvalue)
        if changing <= _DRIFT_LEVEL:
            message = f"the speedup changed while it was measured (p = {changing:.2g})"
            notes.append(Note(Assumption.STEADY_SPEEDUP, message, candidate, pvalue=changing))
    return tuple(notes)
