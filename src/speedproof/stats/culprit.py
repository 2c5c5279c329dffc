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

# Of the noise: heavier tails than the normal, at a loss of a few per cent where it is normal.
_DEGREES = 4.0
# Sizes as shares of the ends' difference: where several steps make it up, each is smaller.
_SIZES = np.linspace(0.05, 1.3, 26)
# Noise as multiples of what the ends' pairs scatter by.
_NOISES = 2.0 ** np.linspace(-2.5, 2.5, 16)
_PRIOR_NONE = 0.5
_MAD_OF_NORMAL = 1.4826


def step_probabilities(
    before: IntArray, after: IntArray, differences: FloatArray, positions: IntArray
) -> FloatArray:
    """The posterior of a step between neighbouring positions, and of none."""
    whole = differences[(before == positions[0]) & (after == positions[-1])]
    change = float(np.median(whole))
    pairs, group = np.unique(np.column_stack([before, after]), axis=0, return_inverse=True)
    group = group.reshape(-1)
    centres = np.array([np.median(differences[group == g]) for g in range(len(pairs))])
    scatter = _MAD_OF_NORMAL * float(np.median(np.abs(differences - centres[group])))
    # Readings in coarse steps may not scatter at all.
    scatter = max(scatter, 1e-3 * abs(change), 1e-12)
    noises = scatter * _NOISES
    still = _summed(differences[:, None] / noises, noises, group)  # (groups, noises)
    sizes = change * _SIZES
    moved = _summed(
        (differences[:, None, None] - sizes[:, None]) / noises, noises, group
    )  # (groups, sizes, noises)
    inside = (pairs[:, 0] < positions[1:, None]) & (positions[1:, None] <= pairs[:, 1])  # (steps, groups)
    gained = np.tensordot(inside.astype(np.float64), moved - still[:, None, :], axes=1) + still.sum(axis=0)
    steps = np.log(np.mean(np.exp(gained - gained.max()), axis=(1, 2))) + gained.max()
    none = still.sum(axis=0)
    lone = np.log(np.mean(np.exp(none - none.max()))) + none.max()
    prior = np.diff(positions) / (positions[-1] - positions[0])
    logs = np.append(np.log(prior * (1 - _PRIOR_NONE)) + steps, np.log(_PRIOR_NONE) + lone)
    weights = np.exp(logs - logs.max())
    result: FloatArray = weights / weights.sum()
    return result


def _summed(scaled: FloatArray, noises: FloatArray, group: IntArray) -> FloatArray:
    """Log-likelihoods of Student's t, summed over the pairs of a kind."""
    logs = -0.5 * (_DEGREES + 1) * np.log1p(scaled * scaled / _DEGREES) - np.log(noises)
    summed = np.zeros((int(group.max()) + 1, *logs.shape[1:]))
    np.add.at(summed, group, logs)
    return summed
