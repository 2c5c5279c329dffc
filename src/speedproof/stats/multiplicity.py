"""Many tests at once: p-values, or e-values, so that all claims together keep one risk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from speedproof.arrays import BoolArray, FloatArray

# exp(700) is near the edge of double precision; evidence beyond it decides nothing more.
_LOG_MAX = 700.0
# Held back from every rejection, far above the rounding of a mean.
_ROUNDING = 1e-9


def holm(pvalues: npt.ArrayLike, family: int | None = None) -> FloatArray:
    """Adjust p-values for the family-wise error rate, by Holm's step-down procedure.

    However the tests depend on each other. S. Holm: "A simple sequentially rejective multiple test procedure",
    Scandinavian Journal of Statistics 6, 1979. Of a larger ``family`` the smallest p-values suffice.
    """
    return _adjusted(pvalues, family, lambda p, m: np.maximum.accumulate((m - np.arange(p.size)) * p))


def benjamini_hochberg(pvalues: npt.ArrayLike, family: int | None = None) -> FloatArray:
    """Adjust p-values for the false discovery rate, by the step-up procedure of Benjamini and Hochberg.

    For tests that are independent or depend on each other positively. Journal of the Royal Statistical Society B
    57, 1995. Of a larger ``family`` those that are at most the risk suffice for a decision at that risk.
    """
    return _adjusted(
        pvalues,
        family,
        lambda p, m: np.minimum.accumulate((p * m / np.arange(1, p.size + 1))[::-1])[::-1],
    )


def _adjusted(
    pvalues: npt.ArrayLike, family: int | None, procedure: Callable[[FloatArray, int], FloatArray]
) -> FloatArray:
    """What a procedure makes of p-values in order, at most 1; NaN where there was none."""
    p = np.asarray(pvalues, dtype=np.float64)
    tested = ~np.isnan(p)
    known = p[tested]
    if ((known < 0) | (known > 1)).any():
        raise ValueError("a p-value lies between 0 and 1")
    order = np.argsort(known, kind="stable")
    known[order] = np.minimum(procedure(known[order], known.size if family is None else family), 1.0)
    adjusted = np.full(p.shape, np.nan)
    adjusted[tested] = known
    return adjusted


def closed_test(log_evidence: npt.ArrayLike, *, alpha: float) -> BoolArray:
    """Which of several hypotheses are rejected together, with one risk for all of them.

    The closed test whose test of an intersection is the mean of its e-values (V. Vovk, R. Wang, "E-values:
    calibration, combination and applications", Ann. Statist. 49(3), 2021): a hypothesis falls when every set that
    holds it has a mean of at least ``1 / alpha``. The mean of e-processes of one filtration is an e-process, so
    the union of what was rejected at any moment keeps the risk.
    """
    evidence = np.exp(np.minimum(np.asarray(log_evidence, dtype=np.float64), _LOG_MAX))
    order = np.sort(evidence)
    # The hardest sets are made of the hypothesis and some of the smallest below it: any other raises the mean.
    sums = np.concatenate([[0.0], np.cumsum(order)])
    rejected = np.empty(evidence.size, dtype=np.bool_)
    for i, e in enumerate(evidence):
        position = int(np.searchsorted(order, e))
        means = (sums[: position + 1] + e) / np.arange(1, position + 2)
        rejected[i] = bool(means.min() >= (1 + _ROUNDING) / alpha)
    return rejected
