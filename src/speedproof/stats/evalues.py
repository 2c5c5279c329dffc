"""Several hypotheses, one risk: the closed test on e-values.

References
----------
Vovk, V. and Wang, R. (2021). E-values: calibration, combination and applications. Ann. Statist. 49(3).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from speedproof.arrays import BoolArray

# exp(700) is near the edge of double precision; evidence beyond it decides nothing more.
_LOG_MAX = 700.0
# Held back from every rejection, far above the rounding of a mean.
_ROUNDING = 1e-9


def closed_test(log_evidence: npt.ArrayLike, *, alpha: float) -> BoolArray:
    """Which of several hypotheses are rejected together, with one risk for all of them.

    The closed test whose test of an intersection is the mean of its e-values (Vovk and Wang 2021): a
    hypothesis falls when every set that holds it has a mean of at least ``1 / alpha``. The mean of e-processes
    of one filtration is an e-process, so the union of what was rejected at any moment keeps the risk.
    """
    evidence = np.exp(np.minimum(np.asarray(log_evidence, dtype=np.float64), _LOG_MAX))
    order = np.sort(evidence)
    # The hardest set of each size is made of the hypothesis and the smallest of the others.
    sums = np.concatenate([[0.0], np.cumsum(order)])
    rejected = np.empty(evidence.size, dtype=np.bool_)
    for i, e in enumerate(evidence):
        position = int(np.searchsorted(order, e))
        others = np.concatenate([sums[: position + 1], sums[position + 2 :] - e])
        means = (others + e) / np.arange(1, evidence.size + 1)
        rejected[i] = bool(means.min() >= (1 + _ROUNDING) / alpha)
    return rejected
