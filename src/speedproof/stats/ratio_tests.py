"""The tests of the protocols at a ratio other than 1, of H1: X / Y lies above gamma, and of H1: below gamma.

These are the p-values that the certified bounds of :mod:`speedproof.stats.bounds` invert: ``above`` is at most
alpha exactly when the lower bound of risk alpha exceeds gamma, ``below`` when the upper bound lies under it.
A hypothesis "at most gamma" contains every smaller ratio, so the p-values are kept monotone in gamma with
respect to the verdict at gamma = 1, as the bounds are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from speedproof.stats.pooled import pooled_order, sample_ends, tie_excess
from speedproof.stats.ranks import rank_sum, rank_sum_normal, rank_sum_sd, rank_sum_tail
from speedproof.stats.special import t_sf
from speedproof.stats.ttests import Moments, common_moments, student_from, welch_from

__all__ = ["RatioTest", "ratio_of_means_test", "ratio_of_medians_test"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RatioTest:
    """Two one-sided p-values for a ratio against gamma.

    Attributes
    ----------
    above : ndarray
        Against H1: X / Y > gamma. NaN where the test or the ratio is not defined. Shape of the leading axes.
    below : ndarray
        Against H1: X / Y < gamma.
    """

    above: FloatArray
    below: FloatArray


def ratio_of_means_test(
    x: npt.ArrayLike, y: npt.ArrayLike, gamma: float, equal_variances: npt.ArrayLike
) -> RatioTest:
    """Test mean X / mean Y against gamma by the t test of X against gamma Y.

    Parameters
    ----------
    x, y : array_like, shapes (..., n) and (..., m)
        Samples along the last axis, finite.
    gamma : float
        Positive.
    equal_variances : array_like of bool, shape (...)
        Where true Student's test: X and Y as measured share one variance, so gamma Y has gamma^2 times as much
        (Fieller's theorem). Elsewhere Welch's test.

    Returns
    -------
    RatioTest
        NaN where the test of gamma = 1 is undefined or a mean is negative.

    Raises
    ------
    ValueError
        A gamma that is not positive.

    References
    ----------
    .. [1] E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society
       B 16(2), 1954.

    Examples
    --------
    The p-value at a certified bound is its risk:

    >>> from speedproof.stats.bounds import ratio_of_means
    >>> x, y = [12.1, 11.8, 12.3, 12.0], [10.0, 9.9, 10.2, 10.1]
    >>> low = float(ratio_of_means(x, y, 0.05, True).low)
    >>> float(ratio_of_means_test(x, y, low, True).above.round(9))
    0.05
    """
    _refuse(gamma)
    mx, my = common_moments(x, y)
    equal = np.asarray(equal_variances, dtype=np.bool_)
    pooled, separate = student_from(mx, my), welch_from(mx, my)
    df = max(mx.n + my.n - 2, 1)
    variance = ((mx.n - 1) * mx.variance + (my.n - 1) * my.variance) / df
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (mx.mean - gamma * my.mean) / np.sqrt(variance * (1.0 / mx.n + gamma**2 / my.n))
    shifted = welch_from(mx, Moments(my.n, gamma * my.mean, gamma**2 * my.variance))
    defined = ~np.isnan(np.where(equal, pooled.statistic, separate.statistic))
    defined &= (mx.mean >= 0.0) & (my.mean >= 0.0)
    freedom = np.full(t.shape, float(df))
    return _monotone(
        gamma,
        RatioTest(
            np.where(equal, t_sf(t, freedom), shifted.pvalue),
            np.where(equal, t_sf(-t, freedom), shifted.pvalue_less),
        ),
        RatioTest(
            np.where(equal, pooled.pvalue, separate.pvalue),
            np.where(equal, pooled.pvalue_less, separate.pvalue_less),
        ),
        defined,
    )


def ratio_of_medians_test(x: npt.ArrayLike, y: npt.ArrayLike, gamma: float) -> RatioTest:
    """Test the factor between X and Y against gamma by the rank-sum test of X against gamma Y.

    Parameters
    ----------
    x, y : array_like, shapes (..., n) and (..., m)
        Samples along the last axis, finite.
    gamma : float
        Positive.

    Returns
    -------
    RatioTest
        NaN where a value is negative.

    Raises
    ------
    ValueError
        A gamma that is not positive.

    Notes
    -----
    The variant of the test, exact or normal, is the one of gamma = 1. At any other gamma a value that happens
    to equal gamma times one of the other sample speaks for neither side, which can only make a p-value larger;
    pairs of zeros count one half at every gamma.

    Examples
    --------
    All nine pairs have x > 1.3 y, so p = 1/20; not all have x > 1.4 y:

    >>> x, y = [4.0, 5.0, 6.0], [1.0, 2.0, 3.0]
    >>> [float(ratio_of_medians_test(x, y, gamma).above.round(4)) for gamma in (1.3, 1.4)]
    [0.05, 0.1]
    """
    _refuse(gamma)
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n, m = x.shape[-1], y.shape[-1]
    order = pooled_order(x, gamma * y)
    x_here = np.diff(order.x_upto, axis=-1, prepend=0)
    y_before = order.y_upto - np.diff(order.y_upto, axis=-1, prepend=0)
    greater = (x_here * y_before).sum(axis=-1)
    less = (x_here * (m - order.y_upto)).sum(axis=-1)
    at_one = rank_sum(x, y)
    tail = rank_sum_tail(n, m) if at_one.exact.any() else np.ones(n * m + 1)
    of_x, of_y = np.sum(x == 0.0, axis=-1), np.sum(y == 0.0, axis=-1)
    excess = tie_excess(sample_ends(x)) + tie_excess(sample_ends(y))
    sd = rank_sum_sd(n, m, excess + 3.0 * of_x * of_y * (of_x + of_y))  # the zeros of both are one run
    offset = 0.5 * of_x * of_y - 0.5 * n * m
    defined = np.asarray((x >= 0.0).all(axis=-1) & (y >= 0.0).all(axis=-1))
    return _monotone(
        gamma,
        RatioTest(
            np.where(at_one.exact, tail[greater], rank_sum_normal(greater + offset, sd)),
            np.where(at_one.exact, tail[less], rank_sum_normal(less + offset, sd)),
        ),
        RatioTest(at_one.pvalue, at_one.pvalue_less),
        defined,
    )


def _refuse(gamma: float) -> None:
    if not gamma > 0:
        raise ValueError(f"a ratio is tested against a positive gamma, not {gamma:g}")


def _monotone(
    gamma: float, shifted: RatioTest, at_one: RatioTest, defined: npt.NDArray[np.bool_]
) -> RatioTest:
    """Let no p-value contradict the verdict: what is proven above 1 is proven above every smaller gamma."""
    if gamma == 1.0:
        above, below = at_one.above, at_one.below
    elif gamma < 1.0:
        above = np.fmin(shifted.above, at_one.above)
        below = np.fmax(shifted.below, at_one.below)
    else:
        above = np.fmax(shifted.above, at_one.above)
        below = np.fmin(shifted.below, at_one.below)
    return RatioTest(np.where(defined, above, np.nan), np.where(defined, below, np.nan))
