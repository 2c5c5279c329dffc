"""The typical run, or a quantile, of versions that took turns, block by block, and were looked at after each.

What was looked at while it was measured is tested by what allows for that, wherever it is asked: the test that
the session itself looks at (:mod:`speedproof.stats.sequential`) gives verdict and bounds, of the same blocks.
"""

from __future__ import annotations

from speedproof.arrays import FloatArray
from speedproof.data.notes import Assumption
from speedproof.options import HEADLINE, WORTH_KNOWING, quantile_name
from speedproof.protocols.figures import log_speedups
from speedproof.protocols.pair import Rules, Sides
from speedproof.protocols.quantile import quantiles_of
from speedproof.protocols.results import CHANGED, SEQUENTIAL, AtMargin, Comparison, State, Verdict
from speedproof.protocols.sequential import block_checks, needed_of, pvalue_at, verdict_on
from speedproof.stats.estimate import Estimate
from speedproof.stats.paired_ratio import paired_error
from speedproof.stats.ranks import pooled_order
from speedproof.stats.scaling import Resolution
from speedproof.stats.sequential import PairedSequence, QuantileSequence

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
_LOOKS = frozenset({Assumption.PLANNED_SIZE, Assumption.RESOLUTION, Assumption.SEVERAL_RUNS})


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
    resolution = Resolution(max(side.x.written_unit, side.y.written_unit))
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
