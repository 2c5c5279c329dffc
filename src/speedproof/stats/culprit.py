"""Where a level changed: the posterior over the places of one step, from noisy differences of pairs.

Position i lies at level 0 before the step and at level ``delta`` from it on. A pair (a, b) with ``a < b`` says
``delta`` plus noise when the step is in ``(a, b]``, and noise otherwise. Size and noise are integrated out on a
grid; Student's t with few degrees of freedom keeps a spike from deciding.

References
----------
Horstein, M. (1963). Sequential transmission using noiseless feedback. IEEE Trans. Inform. Theory 9(3).
Waeber, R., Frazier, P. I. and Henderson, S. G. (2013). Bisection search with noisy responses. SIAM J. Control
Optim. 51(3).
"""

from __future__ import annotations

import numpy as np

from speedproof.arrays import FloatArray, IntArray

# Of the noise: tails so heavy that spikes in a fifth of the pairs cost a third of the runs, and a few per cent
# where it is normal (studies.bisection).
_DEGREES = 2.5
# Sizes as shares of the ends' difference: where several steps make it up, each is smaller.
_SIZES = np.linspace(0.1, 1.3, 16)
# Noise as multiples of what the ends' pairs scatter by.
_NOISES = 2.0 ** np.linspace(-2.0, 2.0, 11)
_PRIOR_NONE = 0.5
_MAD_OF_NORMAL = 1.4826


def step_probabilities(
    before: IntArray, after: IntArray, differences: FloatArray, positions: IntArray
) -> FloatArray:
    """The posterior of a step between neighbouring positions, and of none.

    Pairs ``before < after``, one of the two ends among them, and logarithms of their ratios; ``positions``
    can be looked at, ascending, the ends included. Steps at what lies between are told apart by nothing, so their
    probabilities are given together: entry j is of ``(positions[j], positions[j + 1]]``, the last of no step.
    """
    # Sorted by pair, then by difference: medians and sums of every pair without a loop.
    order = np.lexsort((differences, after, before))
    before, after, differences = before[order], after[order], differences[order]
    new = np.append(True, (np.diff(before) != 0) | (np.diff(after) != 0))
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, new.size))
    medians = 0.5 * (differences[starts + (counts - 1) // 2] + differences[starts + counts // 2])
    before, after = before[starts], after[starts]
    change = float(medians[(before == positions[0]) & (after == positions[-1])][0])
    scatter = _MAD_OF_NORMAL * float(np.median(np.abs(differences - np.repeat(medians, counts))))
    # Readings in coarse steps may not scatter at all.
    scatter = max(scatter, 1e-3 * abs(change), 1e-12)
    noises = scatter * _NOISES
    still = _summed(differences, np.zeros(1), noises, starts)  # (pairs, 1, noises)
    moved = _summed(differences, change * _SIZES, noises, starts)  # (pairs, sizes, noises)
    # Steps that the same pairs enclose are told apart by nothing yet.
    inside = (before < positions[1:, None]) & (positions[1:, None] <= after)  # (steps, pairs)
    runs = np.flatnonzero(np.append(True, (inside[1:] != inside[:-1]).any(axis=1)))
    none = still.sum(axis=0)
    gained = np.tensordot(inside[runs].astype(np.float64), moved - still, axes=1) + none
    steps = np.repeat(_log_mean(gained), np.diff(np.append(runs, len(inside))))
    prior = np.diff(positions) / (positions[-1] - positions[0])
    logs = np.append(np.log(prior * (1 - _PRIOR_NONE)) + steps, np.log(_PRIOR_NONE) + _log_mean(none[None]))
    weights = np.exp(logs - logs.max())
    result: FloatArray = weights / weights.sum()
    return result


def _summed(differences: FloatArray, sizes: FloatArray, noises: FloatArray, starts: IntArray) -> FloatArray:
    """Log-likelihoods of Student's t at every size and noise, summed over the runs of a pair."""
    scaled = ((differences[:, None] - sizes)[:, :, None] / noises) ** 2
    logs = -0.5 * (_DEGREES + 1) * np.log1p(scaled / _DEGREES) - np.log(noises)
    summed: FloatArray = np.add.reduceat(logs, starts, axis=0)
    return summed


def _log_mean(logs: FloatArray) -> FloatArray:
    """Of likelihoods given by their logarithms, over sizes and noises."""
    top = logs.max()
    mean: FloatArray = np.log(np.mean(np.exp(logs - top), axis=(1, 2))) + top
    return mean
