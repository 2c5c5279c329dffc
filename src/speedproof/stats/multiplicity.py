"""Many benchmarks at once: p-values adjusted so that all claims keep one risk; the proportion accelerated."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.errors import UsageError
from speedproof.stats.estimate import Estimate
from speedproof.stats.special import beta_ppf, normal_quantile


def holm(pvalues: ArrayLike, family: int | None = None) -> FloatArray:
    """Adjust p-values for the family-wise error rate, by Holm's step-down procedure.

    However the tests depend on each other. S. Holm: "A simple sequentially rejective multiple test procedure",
    Scandinavian Journal of Statistics 6, 1979. Of a larger ``family`` the smallest p-values suffice.
    """
    return _adjusted(pvalues, family, lambda p, m: np.maximum.accumulate((m - np.arange(p.size)) * p))


def benjamini_hochberg(pvalues: ArrayLike, family: int | None = None) -> FloatArray:
    """Adjust p-values for the false discovery rate, by the step-up procedure of Benjamini and Hochberg.

    For tests that are independent or depend on each other positively. Journal of the Royal Statistical Society B
    57, 1995. Of a larger ``family`` those that are at most the risk suffice for a decision at that risk.
    """
    return _adjusted(
        pvalues, family, lambda p, m: np.minimum.accumulate((p * m / np.arange(1, p.size + 1))[::-1])[::-1]
    )


def _adjusted(
    pvalues: ArrayLike, family: int | None, procedure: Callable[[FloatArray, int], FloatArray]
) -> FloatArray:
    """Apply a procedure to sorted p-values, at most 1; NaN stays NaN."""
    p = np.asarray(pvalues, dtype=np.float64)
    tested = ~np.isnan(p)
    valid = p[tested]
    if ((valid < 0) | (valid > 1)).any():
        raise ValueError("a p-value lies between 0 and 1")
    order = np.argsort(valid, kind="stable")
    valid[order] = np.minimum(procedure(valid[order], valid.size if family is None else family), 1.0)
    adjusted = np.full(p.shape, np.nan)
    adjusted[tested] = valid
    return adjusted


def _share(a: int, b: int) -> float:
    if b < 1 or not 0 <= a <= b:
        raise UsageError(f"a proportion of {a} out of {b}: needs 0 <= a <= b and b >= 1")
    return a / b


def _score_bound(shifted: float, b: int, z: float) -> float:
    """End of the score interval (Wilson) on the side of z's sign, for a proportion already shifted."""
    square = z * z / b
    root = z * math.sqrt(shifted * (1.0 - shifted) / b + square / (4.0 * b))
    return (shifted + 0.5 * square + root) / (1.0 + square)


def _score_interval(a: int, b: int, alpha: float, correction: float) -> Estimate:
    share, z = _share(a, b), normal_quantile(1.0 - 0.5 * alpha)
    below, above = (a - correction) / b, (a + correction) / b
    low = _score_bound(below, b, -z) if below > 0.0 else 0.0
    high = _score_bound(above, b, z) if above < 1.0 else 1.0
    return Estimate(share, low, high, 1.0 - alpha)


def prop_test(a: int, b: int, alpha: float) -> Estimate:
    """Score interval with continuity correction: what R's prop.test and the Speedup-Test article give.

    R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998,
    method 4.
    """
    return _score_interval(a, b, alpha, min(0.5, abs(a - 0.5 * b)))


def wilson(a: int, b: int, alpha: float) -> Estimate:
    """Wilson's score interval: `prop_test` without the continuity correction."""
    return _score_interval(a, b, alpha, 0.0)


def clopper_pearson(a: int, b: int, alpha: float) -> Estimate:
    """Interval of Clopper and Pearson, which never covers less than it says."""
    share = _share(a, b)
    low = beta_ppf(0.5 * alpha, a, b - a + 1) if a > 0 else 0.0
    high = 1.0 - beta_ppf(0.5 * alpha, b - a, a + 1) if a < b else 1.0
    return Estimate(share, low, high, 1.0 - alpha)


def validity_2013(a: int, b: int) -> float:
    """Value of a - a^2 / b, which the Speedup-Test article wants above 5 for the normal approximation."""
    return a - a * a / b


def benchmarks_needed(a: int, b: int, precision: float, alpha: float) -> int:
    """Benchmarks needed to know a proportion like a out of b within +- `precision`.

    The ceiling of z^2 C (1 - C) / precision^2; 0 when C is 0 or 1.
    """
    share = _share(a, b)
    if not 0.0 < precision < 1.0:
        raise UsageError(f"a precision of {precision:g}: give one between 0 and 1, such as 0.05")
    needed = (normal_quantile(1.0 - 0.5 * alpha) / precision) ** 2 * share * (1.0 - share)
    return math.ceil(needed)
