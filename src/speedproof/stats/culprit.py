"""Where a level first changed: the posterior over the places of one step or two, from noisy differences of pairs.

A pair (a, b) with ``a < b`` says the steps in ``(a, b]`` plus noise. Sizes and noise are integrated out on a grid;
Student's t with few degrees of freedom keeps a spike from deciding. Two steps, because what lies between them fits
nowhere in a model of one: a search that trusts that wanders there. After R. Waeber, P. I. Frazier, S. G.
Henderson, "Bisection search with noisy responses", SIAM J. Control Optim. 51(3), 2013.
"""

from __future__ import annotations

import numpy as np

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.scaling import NORMAL_DEVIATION

# Of the noise: tails so heavy that spikes in a fifth of the pairs cost a third of the runs, and a few per cent
# where it is normal (studies.bisection).
_DEGREES = 2.5
# Levels in tenths of the ends' difference: those of a single step, and of two that go one way and make it up.
_LEVELS = np.arange(14.0)
_SINGLE = np.arange(5, 14)
_FIRST, _SECOND = np.array([(i, j) for i in range(3, 11) for j in range(3, 11) if 8 <= i + j <= 13]).T
# Noise as multiples of what the ends' pairs scatter by.
_NOISES = 2.0 ** np.linspace(-2.0, 2.0, 11)
_PRIOR_NONE, _PRIOR_TWO = 0.5, 0.05


def step_posterior(
    before: IntArray, after: IntArray, differences: FloatArray, positions: IntArray
) -> tuple[FloatArray, float, float]:
    """The posterior, from pairs ``before < after`` and logarithms of their ratios.

    Entry j of the first is the probability that the step lies in ``(positions[j], positions[j + 1]]``, the second
    that there is none; all of them add up to 1. The third is that there are two, given that there is one.

    A pair has an end or is of neighbours, and some are of both ends. ``positions`` can be looked at, ascending,
    the ends included. Nothing tells places between two of them apart, nor two steps that the same pairs enclose:
    these count as one.
    """
    # Sorted by pair, then by difference: medians and sums of every pair without a loop.
    order = np.lexsort((differences, after, before))
    before, after, differences = before[order], after[order], differences[order]
    starts = np.flatnonzero(np.append(True, (np.diff(before) != 0) | (np.diff(after) != 0)))
    counts = np.diff(np.append(starts, before.size))
    medians = 0.5 * (differences[starts + (counts - 1) // 2] + differences[starts + counts // 2])
    before, after = before[starts], after[starts]
    change = float(medians[(before == positions[0]) & (after == positions[-1])][0])
    residuals = np.abs(differences - np.repeat(medians, counts))
    whole = np.repeat((before == positions[0]) & (after == positions[-1]), counts)
    # Of the ends' pairs, too: where most kinds of pairs were met once, most residuals are 0.
    scatter = NORMAL_DEVIATION * max(float(np.median(residuals)), float(np.median(residuals[whole])))
    # Readings in coarse steps may not scatter at all.
    scatter = max(scatter, 1e-3 * abs(change), 1e-12)
    # (pairs, levels, noises)
    logs = _summed(differences, _LEVELS * (0.1 * change), scatter * _NOISES, starts)
    still, gained = logs[:, 0].sum(axis=0), logs - logs[:, :1]
    # Steps that the same pairs enclose are a group.
    inside = (before < positions[1:, None]) & (positions[1:, None] <= after)  # (steps, pairs)
    groups = np.flatnonzero(np.append(True, (inside[1:] != inside[:-1]).any(axis=1)))
    held = inside[groups].astype(np.float64)
    one = np.tensordot(held, gained, axes=1)  # (groups, levels, noises)
    # A pair that encloses both of two steps says their sum. It begins at the old end, and then encloses all before
    # the second; or it ends at the new end, and encloses all after the first; or it is of neighbours.
    old = before == positions[0]
    new = ~old & (after == positions[-1])
    from_old, to_new = (np.tensordot(held * which, gained, axes=1) for which in (old, new))
    first, second = one[:, _FIRST] + _both(to_new), one[:, _SECOND] + _both(from_old)
    share = np.diff(positions) / (positions[-1] - positions[0])
    shares = np.add.reduceat(share, groups)
    r, s = np.triu_indices(groups.size, 1)
    weights = _weights(
        np.concatenate([
            [_PRIOR_NONE],
            (1 - _PRIOR_NONE) * (1 - _PRIOR_TWO) * shares,
            (1 - _PRIOR_NONE) * _PRIOR_TWO * 2 * shares[r] * shares[s],
        ]),
        np.concatenate([
            _log_sum(still[None], axis=1),
            _log_sum(_log_sum(one[:, _SINGLE], axis=1) - np.log(_SINGLE.size) + still, axis=1),
            _log_sum(_log_sum(first[r] + second[s], axis=1) - np.log(_FIRST.size) + still, axis=1),
        ]),
    )  # fmt: skip
    none, single, double = np.split(weights, [1, 1 + groups.size])
    masses = (single + np.bincount(r, double, groups.size)) / shares
    chances = np.repeat(masses, np.diff(np.append(groups, share.size))) * share
    return chances, float(none[0]), float(double.sum() / (single.sum() + double.sum()))


def _both(logs: FloatArray) -> FloatArray:
    """The additional log-likelihood of pairs that span both steps."""
    return np.asarray(logs[:, _FIRST + _SECOND] - logs[:, _FIRST] - logs[:, _SECOND])


def _weights(prior: FloatArray, logs: FloatArray) -> FloatArray:
    """Posterior probabilities; what all logarithms have in common, such as how many noises there are, cancels."""
    weights = prior * np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _summed(differences: FloatArray, sizes: FloatArray, noises: FloatArray, starts: IntArray) -> FloatArray:
    """Log-likelihoods of Student's t at every size and noise, summed over the runs of a pair."""
    scaled = ((differences[:, None] - sizes)[:, :, None] / noises) ** 2
    logs = -0.5 * (_DEGREES + 1) * np.log1p(scaled / _DEGREES) - np.log(noises)
    return np.asarray(np.add.reduceat(logs, starts, axis=0))


def _log_sum(logs: FloatArray, axis: int) -> FloatArray:
    top = logs.max(axis=axis, keepdims=True)
    return np.asarray(np.log(np.exp(logs - top).sum(axis=axis)) + top.squeeze(axis))
