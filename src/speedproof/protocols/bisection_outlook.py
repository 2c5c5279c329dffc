"""Why a bisection is open: how much runs scatter, what that hides, and how many more would tell.

Forecasts carry what was seen into the future and have no part in any proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.stats.betting import scale_of
from speedproof.stats.forecast import blocks_for_proof, smallest_provable
from speedproof.stats.sequential import PairedSequence

# Pairs of a search for each halving of what is left, in pairs that prove the ends: studies.bisection.
_PER_HALVING = 0.4


class BisectionOutlook(Struct, frozen=True):
    """What a bisection would need."""

    noise: float
    """Standard deviation of a run, relative; robust. NaN before the second pair."""
    more_runs: float = 0.0
    """About how many more decide; 0 when nothing is open, NaN below 10 pairs, infinite where runs never do."""
    enough_noise: float = math.nan
    """The noise at which the runs so far would have decided; NaN where that is not known."""
    visible: float = math.nan
    """The smallest change that as many pairs of the ends show in half of all bisections; NaN when decided."""


def residuals_of(groups: Iterable[FloatArray]) -> FloatArray:
    """The differences of pairs about the median of their kind."""
    return np.concatenate([np.empty(0), *(group - np.median(group) for group in groups if group.size > 1)])


def noise_of(residuals: FloatArray) -> float:
    """Of one run; a pair has two."""
    return scale_of(np.sort(residuals)) / math.sqrt(2) if residuals.size > 1 else math.nan


def outlook_of_ends(ends: PairedSequence, noise: float, least: float, alpha: float) -> BisectionOutlook:
    """Of a comparison that may end with a difference, or with one that is proven to be below the least."""
    equal = (ends.blocks_to_go(gamma=1 / (1 + least), side=1), ends.blocks_to_go(gamma=1 + least, side=-1))
    pairs = min(ends.blocks_to_go(side=1), ends.blocks_to_go(side=-1), max(equal))
    centred = ends.differences - np.median(ends.differences)
    visible = smallest_provable(centred, ends.blocks, alpha=alpha) - 1 if ends.blocks > 1 else math.nan
    return BisectionOutlook(noise, 2 * pairs, _enough(noise, ends.blocks, pairs), visible)


def outlook_of_search(
    ends: PairedSequence,
    step: PairedSequence | None,
    left: int,
    pairs: int,
    residuals: FloatArray,
    alpha: float,
) -> BisectionOutlook:
    """Of a search with so many commits left and pairs done; the step is that of the confirmation under way."""
    change = float(np.median(ends.differences))
    proof = blocks_for_proof(abs(change) + residuals, alpha)
    missing = math.nan if step is None else step.blocks_to_go(side=1 if change > 0 else -1)
    if not math.isfinite(missing):
        missing = proof
    more = missing + _PER_HALVING * math.log2(left) * proof
    noise = noise_of(residuals)
    return BisectionOutlook(noise, 2 * more, _enough(noise, pairs, more))


def _enough(noise: float, pairs: int, more: float) -> float:
    """Runs needed grow with the square of the noise."""
    return noise * math.sqrt(pairs / (pairs + more)) if math.isfinite(more) else math.nan
