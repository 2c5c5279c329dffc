"""Many tests at once: p-values adjusted so that all claims together keep one risk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from speedproof.arrays import BoolArray, FloatArray


def holm(pvalues: npt.ArrayLike) -> FloatArray:
    """Adjust p-values for the family-wise error rate, by Holm's step-down procedure.

    Rejecting what is at most alpha makes even one false claim with a probability of at most alpha, however
    the tests depend on each other.

    Adjusted p-values, at most 1; NaN where there was none.

    Source: S. Holm: "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979).
    """
    p, tested, order = _ordered(pvalues)
    k = order.size
    stepped = np.maximum.accumulate((k - np.arange(k)) * p[tested][order])
    return _put_back(p, tested, order, stepped)


def benjamini_hochberg(pvalues: npt.ArrayLike) -> FloatArray:
    """Adjust p-values for the false discovery rate, by the step-up procedure of Benjamini and Hochberg.

    Of the claims with at most alpha, an expected share of at most alpha is false, if the tests are
    independent or depend on each other positively.

    Adjusted p-values, at most 1; NaN where there was none.

    Source: Y. Benjamini, Y. Hochberg: "Controlling the false discovery rate", Journal of the Royal
    Statistical Society B 57 (1995).
    """
    p, tested, order = _ordered(pvalues)
    k = order.size
    stepped = p[tested][order] * k / np.arange(1, k + 1)
    return _put_back(p, tested, order, np.minimum.accumulate(stepped[::-1])[::-1])


def _ordered(pvalues: npt.ArrayLike) -> tuple[FloatArray, BoolArray, npt.NDArray[np.intp]]:
    p = np.asarray(pvalues, dtype=np.float64)
    tested = ~np.isnan(p)
    if ((p[tested] < 0) | (p[tested] > 1)).any():
        raise ValueError("a p-value lies between 0 and 1")
    return p, tested, np.argsort(p[tested], kind="stable")


def _put_back(
    p: FloatArray, tested: BoolArray, order: npt.NDArray[np.intp], stepped: FloatArray
) -> FloatArray:
    adjusted = np.full(p.shape, np.nan)
    back = np.empty(order.size)
    back[order] = np.minimum(stepped, 1.0)
    adjusted[tested] = back
    return adjusted
