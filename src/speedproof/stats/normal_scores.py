"""Normal scores of ranks: the same for every continuous distribution, and bounded for outliers.

Equal values share the mean of theirs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from speedproof.arrays import FloatArray, extension
from speedproof.stats.special import ndtri

COMPILED = extension("stats._scores")


@lru_cache(maxsize=1024)
def _score_table(n: int) -> FloatArray:
    """Normal scores of the ranks 1, 1.5, 2, ... n; the upper half mirrors the lower."""
    lower = ndtri((np.arange(2, n + 2) / 2.0 - 0.5) / max(n, 1))
    return np.concatenate([lower, -lower[-2::-1]])


def normal_scores(x: FloatArray) -> FloatArray:
    """Normal scores of the ranks along the last axis; equal values share the mean of theirs."""
    n = x.shape[-1]
    table = _score_table(n)
    if COMPILED is not None:
        rows = np.ascontiguousarray(x)
        scores: FloatArray = np.sort(rows, axis=-1)
        COMPILED.scores(rows, n, table, scores)
        return scores
    scores, sums = np.empty(x.shape), np.concatenate([[0.0], table[::2].cumsum()])
    for row in np.ndindex(x.shape[:-1]):
        _, code, counts = np.unique(x[row], return_inverse=True, return_counts=True)
        upto = counts.cumsum()
        first = upto - counts
        means = np.where(counts > 1, (sums[upto] - sums[first]) / counts, table[2 * first])
        scores[row] = means[code]
    return scores


@lru_cache(maxsize=1024)
def power(n: int) -> float:
    """Sum of the squared scores of n values of which none are equal."""
    return float(np.square(_score_table(n)[::2]).cumsum()[-1])
