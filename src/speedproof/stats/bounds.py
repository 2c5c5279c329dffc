"""Certified speedups: one-sided bounds that invert the tests which give the verdicts.

``low`` exceeds 1 exactly when the test of "X is larger" rejects at risk alpha, ``high`` lies below 1 exactly
when the test of "X is smaller" does; both p-values are those of `hypotests`, and p <= alpha rejects. A bound
that holds with nothing to spare, "more than 1", is the float next to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from speedproof.stats.pooled import sample_ends, tie_excess
from speedproof.stats.ranks import brunner_munzel, rank_sum, rank_sum_normal, rank_sum_sd, rank_sum_tail
from speedproof.stats.special import ndtri, t_ppf, t_sf, t_sf_pdf
from speedproof.stats.ttests import moments, student, welch

__all__ = ["Interval", "SuperiorityBounds", "probability_greater", "ratio_of_means", "ratio_of_medians"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

JUST_ABOVE_1 = float(np.nextafter(1.0, 2.0))
JUST_BELOW_1 = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True, slots=True)
class Interval:
    """Two one-sided bounds, each at confidence 1 - alpha (both together: at least 1 - 2 alpha).

    Attributes
    ----------
    low, high : ndarray
        Shape of the leading axes. 0 and infinity where there is no bound, NaN where the quantity itself is
        not defined.
    """

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True)
class SuperiorityBounds:
    """P[X > Y] + P[X = Y] / 2 with two one-sided bounds, each at confidence 1 - alpha.

    Attributes
    ----------
    estimate, low, high : ndarray
        Shape of the leading axes.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray


def _at_verdict(low: FloatArray, high: FloatArray, faster: BoolArray, slower: BoolArray) -> Interval:
    """Hold the bounds on the side of 1 that the verdicts say, where rounding or a tie at 1 would not."""
    low = np.where(faster, np.maximum(low, JUST_ABOVE_1), np.minimum(low, 1.0))
    high = np.where(slower, np.minimum(high, JUST_BELOW_1), np.maximum(high, 1.0))
    return Interval(low, high)


def ratio_of_means(
    x: npt.ArrayLike, y: npt.ArrayLike, alpha: float, equal_variances: npt.ArrayLike
) -> Interval:
    """Bounds of mean X / mean Y by the inverted t-test.

    Parameters
    ----------
    x, y : array_like, shapes (..., n) and (..., m)
        Samples along the last axis, finite.
    alpha : float
        Risk of each bound.
    equal_variances : array_like of bool, shape (...)
        Where true Student's test with the pooled variance is inverted (Fieller's theorem, exact for normal
        samples of one variance), elsewhere Welch's test with its degrees of freedom at the tested ratio.

    Returns
    -------
    Interval
        `low` is the largest gamma such that H0: mean X <= gamma' mean Y is rejected for the gamma' up to it;
        `high` the smallest such that H0: mean X >= gamma' mean Y is rejected from it on. 0 and infinity
        where no gamma is rejected or the test is undefined; NaN where a mean is negative.

    Notes
    -----
    Student's statistic falls steadily in gamma. Welch's p-value can fall and rise again when a sample of two
    or three values has a standard error of tens of percents of its mean; the bound then is an end of the
    rejected stretch on the side of 1 that the verdict names.

    References
    ----------
    .. [1] E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society
       B 16(2), 1954.

    Examples
    --------
    >>> x, y = [12.1, 11.8, 12.3, 12.0], [10.0, 9.9, 10.2, 10.1]
    >>> bounds = ratio_of_means(x, y, 0.05, True)
    >>> float(bounds.low.round(4)), float(bounds.high.round(4))
    (1.1732, 1.2255)
    """
    mx, my = moments(x), moments(y)
    pooled, apart = student(x, y), welch(x, y)
    equal = np.broadcast_to(np.asarray(equal_variances, dtype=np.bool_), pooled.pvalue.shape)
    faster = np.where(equal, pooled.pvalue, apart.pvalue) <= alpha
    slower = np.where(equal, pooled.pvalue_less, apart.pvalue_less) <= alpha
    df = np.where(equal, pooled.df, apart.df)
    defined = ~np.isnan(df)
    common = ((mx.n - 1) * mx.variance + (my.n - 1) * my.variance) / max(mx.n + my.n - 2, 1)
    squared_x = np.where(equal, common, mx.variance) / mx.n
    squared_y = np.where(equal, common, my.variance) / my.n
    contrast = _Contrast(*np.broadcast_arrays(mx.mean, my.mean, squared_x, squared_y), mx.n, my.n)
    quantile = t_ppf(1.0 - alpha, np.where(defined, df, 1.0))
    low, high = contrast.root(quantile), contrast.root(-quantile)
    unequal = defined & ~equal
    if unequal.any():
        part = contrast.at(unequal)
        low[unequal] = _welch_root(part, low[unequal], alpha, 1.0, faster[unequal])
        high[unequal] = _welch_root(part, high[unequal], alpha, -1.0, ~slower[unequal])
    low, high = np.where(defined, low, 0.0), np.where(defined, high, np.inf)
    interval = _at_verdict(low, high, faster, slower)
    ratio = (contrast.x >= 0.0) & (contrast.y >= 0.0)
    return Interval(np.where(ratio, interval.low, np.nan), np.where(ratio, interval.high, np.nan))


@dataclass(frozen=True, slots=True)
class _Contrast:
    """mean X - gamma mean Y: the means, their squared standard errors, the sizes."""

    x: FloatArray
    y: FloatArray
    squared_x: FloatArray
    squared_y: FloatArray
    n: int
    m: int

    def at(self, rows: BoolArray) -> _Contrast:
        return _Contrast(
            self.x[rows], self.y[rows], self.squared_x[rows], self.squared_y[rows], self.n, self.m
        )

    def root(self, t: FloatArray) -> FloatArray:
        """Gamma at which the statistic, which falls in gamma, is t: 0 (infinity) when it starts (stays) below (above).

        (x - gamma y)^2 = t^2 (squared_x + gamma^2 squared_y) has two roots; for t > 0 the smaller one is meant,
        for t < 0 the larger, each in the form that does not cancel.
        """
        square = t * t
        spread = self.squared_x * self.y**2 + self.squared_y * (self.x**2 - square * self.squared_x)
        mixed = self.x * self.y + np.abs(t) * np.sqrt(np.maximum(spread, 0.0))
        from_zero = np.maximum(self.x**2 - square * self.squared_x, 0.0)
        to_infinity = np.maximum(self.y**2 - square * self.squared_y, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.where(from_zero > 0.0, from_zero / mixed, 0.0)
            above = np.where(to_infinity > 0.0, mixed / to_infinity, np.inf)
        return np.where(t > 0.0, below, above)

    def statistic(self, gamma: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Welch's statistic and degrees of freedom at gamma, which may be infinite."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            total = self.squared_x + gamma**2 * self.squared_y
            t = np.where(
                np.isinf(gamma), -self.y / np.sqrt(self.squared_y), (self.x - gamma * self.y) / np.sqrt(total)
            )
            share = np.where(np.isinf(gamma), 0.0, self.squared_x / total)
        return t, 1.0 / (share**2 / (self.n - 1) + (1.0 - share) ** 2 / (self.m - 1))


def _welch_root(
    contrast: _Contrast, start: FloatArray, alpha: float, sign: float, beyond_1: BoolArray
) -> FloatArray:
    """Gamma at which Welch's statistic crosses sign * t(1 - alpha, df(gamma)), on the stated side of 1.

    The quantile hardly moves with gamma: a step of Newton's method for the quantile at the present degrees
    of freedom, then Fieller's root for it, settles in a few rounds. What does not settle is bisected.
    """
    gamma = start
    settled = np.zeros(gamma.shape, dtype=np.bool_)
    for _ in range(12):
        t, df = contrast.statistic(gamma)
        tail, density = t_sf_pdf(sign * t, df)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            following = contrast.root(sign * (sign * t + (tail - alpha) / density))
            settled = np.abs(following - gamma) <= 1e-14 * gamma
        gamma = following
        if settled.all():
            break
    settled &= np.where(beyond_1, gamma >= 1.0, gamma <= 1.0)
    if not settled.all():
        rest = ~settled
        gamma = gamma.copy()
        gamma[rest] = _bisect(contrast.at(rest), alpha, sign, beyond_1[rest])
    return gamma


def _bisect(contrast: _Contrast, alpha: float, sign: float, beyond_1: BoolArray) -> FloatArray:
    """The same crossing by halving w in gamma = w / (1 - w), from [1/2, 1] or [0, 1/2] down to rounding."""

    def above(gamma: FloatArray) -> BoolArray:
        t, df = contrast.statistic(gamma)
        tail = t_sf(sign * t, df)
        return tail <= alpha if sign > 0.0 else tail > alpha

    low, high = np.where(beyond_1, 0.5, 0.0), np.where(beyond_1, 1.0, 0.5)
    for _ in range(60):
        middle = 0.5 * (low + high)
        up = above(middle / (1.0 - middle))
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    return low / (1.0 - low)


def ratio_of_medians(x: npt.ArrayLike, y: npt.ArrayLike, alpha: float) -> Interval:
    """Bounds of the factor between X and Y by the inverted rank-sum test.

    When X is distributed as gamma Y, gamma is the ratio of the medians (and of all quantiles), and the
    rank-sum test of X against gamma Y counts the ratios x_i / y_j above gamma. Each bound is therefore an
    order statistic of the n m ratios.

    Parameters
    ----------
    x, y : array_like, shapes (..., n) and (..., m)
        Samples along the last axis, finite.
    alpha : float
        Risk of each bound.

    Returns
    -------
    Interval
        `low` is the supremum of the gamma that the test rejects as too small, `high` the infimum of those that
        it rejects as too large; 0 and infinity where there is none. NaN where a value is negative.

    Notes
    -----
    The variant of the test (exact, or normal with continuity and tie correction) is the one that `rank_sum`
    uses at gamma = 1. In the normal variant the ties inside each sample stay whatever gamma is, and those
    across the samples are gone at all but n m values of gamma, of which 1 is where the verdict was found: the
    verdict decides on which side of 1 the bound lies, the test without ties across how far.
    Pairs of zeros count one half at every gamma.

    Examples
    --------
    >>> bounds = ratio_of_medians([4.0, 5.0, 6.0], [1.0, 2.0, 3.0], 0.05)
    >>> float(bounds.low.round(4)), float(bounds.high)  # p = 1/20: the smallest and the largest ratio
    (1.3333, 6.0)
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n, m = x.shape[-1], y.shape[-1]
    test = rank_sum(x, y)
    zeros = np.sum(x == 0.0, axis=-1) * np.sum(y == 0.0, axis=-1)
    rank = _needed_ratios(x, y, alpha, test.exact, zeros)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        ratios = (x[..., :, None] / y[..., None, :]).reshape(*test.exact.shape, n * m)
    ratios.sort(axis=-1)  # NaN, the pairs of zeros, come last
    # The rank-th largest and the rank-th smallest ratio.
    low = _order_statistic(ratios, n * m - zeros - rank, n * m - zeros)
    high = _order_statistic(ratios, rank - 1, n * m - zeros)
    interval = _at_verdict(low, high, test.pvalue <= alpha, test.pvalue_less <= alpha)
    negative = (x < 0.0).any(axis=-1) | (y < 0.0).any(axis=-1)
    return Interval(np.where(negative, np.nan, interval.low), np.where(negative, np.nan, interval.high))


def _order_statistic(ratios: FloatArray, at: IntArray, count: IntArray) -> FloatArray:
    """Entry `at` of the `count` sorted ratios; 0 before the first, infinity after the last."""
    index = np.clip(at, 0, ratios.shape[-1] - 1)[..., None]
    value = np.take_along_axis(ratios, index, axis=-1)[..., 0]
    return np.where(at < 0, 0.0, np.where(at >= count, np.inf, value))


def _needed_ratios(x: FloatArray, y: FloatArray, alpha: float, exact: BoolArray, zeros: IntArray) -> IntArray:
    """How many ratios must exceed gamma for rejection at risk alpha, when none of them equals gamma."""
    n, m = x.shape[-1], y.shape[-1]
    needed = np.zeros(exact.shape, dtype=np.int64)
    if exact.any():
        needed[exact] = np.argmax(rank_sum_tail(n, m) <= alpha)
    rest = ~exact
    if rest.any():
        excess = tie_excess(sample_ends(x)) + tie_excess(sample_ends(y))
        # the zeros of both samples are one run at every gamma
        of_x, of_y = np.sum(x == 0.0, axis=-1), np.sum(y == 0.0, axis=-1)
        excess = excess + 3.0 * of_x * of_y * (of_x + of_y)
        sd = np.broadcast_to(rank_sum_sd(n, m, excess), exact.shape)[rest]
        offset = np.broadcast_to(0.5 * zeros, exact.shape)[rest] - 0.5 * n * m
        # The quantile rounds: the p-value itself decides among the three counts around it.
        count = np.ceil(0.5 + ndtri(1.0 - alpha) * sd - offset) - 1.0
        for _ in range(2):
            count = count + (rank_sum_normal(count + offset, sd) > alpha)
        needed[rest] = np.clip(count, 0, n * m + 1).astype(np.int64)
    return needed


def probability_greater(x: npt.ArrayLike, y: npt.ArrayLike, alpha: float) -> SuperiorityBounds:
    """P[X > Y] + P[X = Y] / 2 with one-sided bounds that hold under unequal spread.

    Parameters
    ----------
    x, y : array_like, shapes (..., n) and (..., m)
        Samples along the last axis, finite.
    alpha : float
        Risk of each bound.

    Returns
    -------
    SuperiorityBounds
        Within [0, 1].

    Examples
    --------
    >>> r = probability_greater([3.0, 5.0, 6.0, 9.0], [1.0, 2.0, 4.0, 7.0], 0.05)
    >>> float(r.estimate), float(r.low.round(2))
    (0.75, 0.33)
    """
    r = brunner_munzel(x, y)
    defined = r.se > 0.0
    df = np.where(defined, r.df, 1.0)
    width = t_ppf(1.0 - alpha, df) * r.se
    best = alpha ** (1.0 / min(np.shape(x)[-1], np.shape(y)[-1]))
    low = np.where(defined, r.estimate - width, np.where(r.estimate == 1.0, best, 0.0))
    high = np.where(defined, r.estimate + width, np.where(r.estimate == 0.0, 1.0 - best, 1.0))
    return SuperiorityBounds(r.estimate, np.clip(low, 0.0, best), np.clip(high, 1.0 - best, 1.0))
