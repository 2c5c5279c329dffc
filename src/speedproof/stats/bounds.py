"""Certified speedups: one-sided bounds that invert the tests which give the verdicts.

``low`` exceeds 1 exactly when the test of "X is larger" rejects at risk alpha, ``high`` lies below 1 exactly
when the test of "X is smaller" does; both p-values are those of `hypotests`, and p <= alpha rejects. A bound
that holds with nothing to spare, "more than 1", is the float next to 1. For P[X > Y] the same holds at 1/2,
with p-values of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from speedproof.stats.pair_ratios import ratio_order_statistic
from speedproof.stats.pooled import sample_ends, tie_excess
from speedproof.stats.ranks import brunner_munzel, rank_sum, rank_sum_normal, rank_sum_sd, rank_sum_tail
from speedproof.stats.special import normal_quantile, t_ppf, t_quantile, t_sf, t_sf_pdf
from speedproof.stats.ttests import Moments, TTest, common_moments, student_from, welch_from

__all__ = ["Interval", "SuperiorityBounds", "probability_greater", "ratio_of_means", "ratio_of_medians"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_MOST_RATIOS = 1 << 21  # above that they are not all made
_CACHED = 32_768  # ratios sorted at a time: they fit a core's cache


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
    pvalue, pvalue_less : ndarray
        The smallest alpha at which `low` exceeds 1/2, and at which `high` lies below 1/2: the p-values of the
        test that the bounds invert. 1 where no alpha does; NaN when a size is 1 and the samples are not
        separated, which leaves the spread unknown.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    pvalue: FloatArray
    pvalue_less: FloatArray


def _at_verdict(
    low: FloatArray, high: FloatArray, faster: BoolArray, slower: BoolArray, equal: float = 1.0
) -> Interval:
    """Hold the bounds on the side of `equal` that the verdicts say, where rounding or a tie there would not."""
    low = np.where(faster, np.maximum(low, np.nextafter(equal, np.inf)), np.minimum(low, equal))
    high = np.where(slower, np.minimum(high, np.nextafter(equal, 0.0)), np.maximum(high, equal))
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
    mx, my = common_moments(x, y)
    shape = np.broadcast_shapes(mx.mean.shape, my.mean.shape)
    equal = np.broadcast_to(np.asarray(equal_variances, dtype=np.bool_), shape)
    low, high = np.empty(shape), np.empty(shape)
    for rows, pooled in ((equal, True), (~equal, False)):
        if rows.any():
            part = _pooled_bounds if pooled else _welch_bounds
            bounds = part(_rows(mx, rows), _rows(my, rows), alpha)
            low[rows], high[rows] = bounds.low, bounds.high
    ratio = (mx.mean >= 0.0) & (my.mean >= 0.0)
    return Interval(np.where(ratio, low, np.nan), np.where(ratio, high, np.nan))


def _rows(of: Moments, rows: BoolArray) -> Moments:
    mean, variance = (np.broadcast_to(v, rows.shape)[rows] for v in (of.mean, of.variance))
    return Moments(of.n, mean, variance)


def _pooled_bounds(mx: Moments, my: Moments, alpha: float) -> Interval:
    test = student_from(mx, my)
    df = max(mx.n + my.n - 2, 1)
    pooled = ((mx.n - 1) * mx.variance + (my.n - 1) * my.variance) / df
    contrast = _Contrast(mx.mean, my.mean, pooled / mx.n, pooled / my.n)
    quantile = t_quantile(1.0 - alpha, float(df))
    return _certified(contrast.root(np.array([[quantile], [-quantile]])), test, alpha)


def _certified(roots: FloatArray, test: TTest, alpha: float) -> Interval:
    """Lower bounds roots[0], upper bounds roots[1], where the test is defined."""
    defined = ~np.isnan(test.statistic)
    low, high = np.where(defined, roots[0], 0.0), np.where(defined, roots[1], np.inf)
    return _at_verdict(low, high, test.pvalue <= alpha, test.pvalue_less <= alpha)


@dataclass(frozen=True, slots=True)
class _Contrast:
    """mean X - gamma mean Y: the means and their squared standard errors, shape (r,)."""

    x: FloatArray
    y: FloatArray
    squared_x: FloatArray
    squared_y: FloatArray

    def root(self, t: FloatArray) -> FloatArray:
        """Gamma at which the statistic, which falls in gamma, is t; 0 if it never is above t, infinity if always.

        (x - gamma y)^2 = t^2 (squared_x + gamma^2 squared_y) has two roots; for t > 0 the smaller one is
        meant, for t < 0 the larger, each in the form that does not cancel.
        """
        square = t * t
        spread = self.squared_x * self.y**2 + self.squared_y * (self.x**2 - square * self.squared_x)
        mixed = self.x * self.y + np.abs(t) * np.sqrt(np.maximum(spread, 0.0))
        from_zero = np.maximum(self.x**2 - square * self.squared_x, 0.0)
        to_infinity = np.maximum(self.y**2 - square * self.squared_y, 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            below = np.where(from_zero > 0.0, from_zero / mixed, 0.0)
            above = np.where(to_infinity > 0.0, mixed / to_infinity, np.inf)
        return np.where(t > 0.0, below, above)

    def welch(self, gamma: FloatArray, sizes: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
        """Welch's statistic and degrees of freedom from n - 1 and m - 1; gamma may be infinite."""
        # as (x / gamma - y) / ..., so that infinity is a number like others
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inverse = np.minimum(1.0 / gamma, 1.0)
            weight = np.minimum(gamma, 1.0)
            share_x, share_y = self.squared_x * inverse**2, self.squared_y * weight**2
            total = share_x + share_y
            share = np.where(total > 0.0, share_x / total, 0.5)
            t = (self.x * inverse - self.y * weight) / np.sqrt(total)
        t = np.where(np.isnan(t), 0.0, t)
        return t, 1.0 / (share**2 / sizes[0] + (1.0 - share) ** 2 / sizes[1])

    def rows(self, which: BoolArray) -> _Contrast:
        return _Contrast(self.x[which], self.y[which], self.squared_x[which], self.squared_y[which])


def _welch_bounds(mx: Moments, my: Moments, alpha: float) -> Interval:
    test = welch_from(mx, my)
    defined = ~np.isnan(test.statistic)
    roots = np.zeros((2, *defined.shape))
    if defined.any():
        contrast = _Contrast(mx.mean, my.mean, mx.variance / mx.n, my.variance / my.n).rows(defined)
        # On which side of 1 a crossing lies is for the verdicts to say.
        beyond_1 = np.stack([test.pvalue <= alpha, ~(test.pvalue_less <= alpha)])[:, defined]
        roots[:, defined] = _welch_roots(contrast, (mx.n - 1, my.n - 1), test.df[defined], alpha, beyond_1)
    return _certified(roots, test, alpha)


_SIGN = np.array([[1.0], [-1.0]])  # of the statistic at the lower and at the upper bound


def _welch_roots(
    contrast: _Contrast, sizes: tuple[int, int], df: FloatArray, alpha: float, beyond_1: BoolArray
) -> FloatArray:
    """Gamma where Welch's statistic crosses the quantile at gamma's degrees of freedom, shape (2, r).

    The quantile hardly moves with gamma: a step of Newton's method for the quantile at the present degrees
    of freedom, then Fieller's root for it, settles in a few rounds. What does not settle is bisected.
    """
    z = normal_quantile(1.0 - alpha)
    gamma = contrast.root(_SIGN * (z + z * (z * z + 1.0) / (4.0 * df)))
    for _ in range(12):
        t, df = contrast.welch(gamma, sizes)
        tail, density = t_sf_pdf(_SIGN * t, df)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            following = contrast.root(t + _SIGN * (tail - alpha) / density)
            settled = (following == gamma) | (np.abs(following - gamma) <= 1e-13 * gamma)
        gamma = following
        if settled.all():
            break
    settled &= np.where(beyond_1, gamma >= 1.0, gamma <= 1.0)
    rest = ~settled.all(axis=0)
    if rest.any():
        bisected = _bisect(contrast.rows(rest), sizes, alpha, beyond_1[:, rest])
        gamma[:, rest] = np.where(settled[:, rest], gamma[:, rest], bisected)
    return gamma


def _bisect(contrast: _Contrast, sizes: tuple[int, int], alpha: float, beyond_1: BoolArray) -> FloatArray:
    """The crossing by halving w in gamma = w / (1 - w), from [1/2, 1] or [0, 1/2] down to rounding."""
    low, high = np.where(beyond_1, 0.5, 0.0), np.where(beyond_1, 1.0, 0.5)
    for _ in range(52):
        middle = 0.5 * (low + high)
        t, df = contrast.welch(middle / (1.0 - middle), sizes)
        tail = t_sf(_SIGN * t, df)
        up = np.where(_SIGN > 0.0, tail <= alpha, tail > alpha)
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    with np.errstate(divide="ignore"):
        return np.where(high >= 1.0, np.inf, low / (1.0 - low))


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
    test = rank_sum(x, y)
    zeros = np.sum(x == 0.0, axis=-1) * np.sum(y == 0.0, axis=-1)
    rank = _needed_ratios(x, y, alpha, test.exact, zeros)
    low, high = _extreme_ratios(x, y, rank, zeros)
    interval = _at_verdict(low, high, test.pvalue <= alpha, test.pvalue_less <= alpha)
    negative = (x < 0.0).any(axis=-1) | (y < 0.0).any(axis=-1)
    return Interval(np.where(negative, np.nan, interval.low), np.where(negative, np.nan, interval.high))


def _extreme_ratios(
    x: FloatArray, y: FloatArray, rank: IntArray, zeros: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The rank-th largest and the rank-th smallest of the ratios x_i / y_j that are not 0 / 0."""
    n, m = x.shape[-1], y.shape[-1]
    x = np.broadcast_to(x, (*rank.shape, n)).reshape(-1, n, 1)
    y = np.broadcast_to(y, (*rank.shape, m)).reshape(-1, 1, m)
    count = np.broadcast_to(n * m - zeros, rank.shape).ravel()
    low_at, high_at = count - rank.ravel(), rank.ravel() - 1
    low, high = np.empty(count.shape), np.empty(count.shape)
    if n * m > _MOST_RATIOS:
        for i, (of_x, of_y) in enumerate(zip(x[:, :, 0], y[:, 0, :], strict=True)):
            low[i] = _clipped(of_x, of_y, int(low_at[i]), int(count[i]))
            high[i] = _clipped(of_x, of_y, int(high_at[i]), int(count[i]))
        return low.reshape(rank.shape), high.reshape(rank.shape)
    few = max(1, _CACHED // (n * m))
    for at in range(0, count.size, few):
        rows = slice(at, at + few)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = (x[rows] / y[rows]).reshape(-1, n * m)
        index = np.stack([low_at[rows], high_at[rows]], axis=-1)
        value = _select(ratios, np.clip(index, 0, n * m - 1))
        value = np.where(index < 0, 0.0, np.where(index >= count[rows, None], np.inf, value))
        low[rows], high[rows] = value[:, 0], value[:, 1]
    return low.reshape(rank.shape), high.reshape(rank.shape)


def _clipped(x: FloatArray, y: FloatArray, index: int, count: int) -> float:
    """An order statistic of the ratios; 0 below the smallest and infinity above the largest."""
    if not 0 <= index < count:
        return 0.0 if index < 0 else np.inf
    return ratio_order_statistic(x, y, index)


def _select(values: FloatArray, index: IntArray) -> FloatArray:
    """Order statistics `index`, shape (r, k), of the rows of `values`, shape (r, N); NaN counts as largest.

    Rounding to single precision keeps the order and sorts in half the time. The doubles behind a rounded order
    statistic are nearly always one value, met once or several times; where they differ, the doubles are sorted.
    """
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    pivot = np.take_along_axis(np.sort(rounded, axis=-1), index, axis=-1)
    selected = np.empty(index.shape)
    settled = np.ones(index.shape[0], dtype=np.bool_)
    for k in range(index.shape[-1]):
        behind = rounded == pivot[:, [k]]
        selected[:, k] = np.where(behind, values, -np.inf).max(axis=-1)
        settled &= selected[:, k] == np.where(behind, values, np.inf).min(axis=-1)
    rest = ~settled
    if rest.any():
        selected[rest] = np.take_along_axis(np.sort(values[rest], axis=-1), index[rest], axis=-1)
    return selected


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
        count = np.ceil(0.5 + normal_quantile(1.0 - alpha) * sd - offset) - 1.0
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
        Within [0, 1]; 0 and 1 where nothing is known, such as for a single value that is not separated.

    Notes
    -----
    Brunner and Munzel's standard error and degrees of freedom, with Student's quantile, on the scale of log
    odds: on the scale of the probability the bound misses in up to 18 % of samples instead of 5 % when
    P[X > Y] is near 1. However the samples fall, the bound stays below alpha^(1 / min(n, m)), that of complete
    separation: then min(n, m) disjoint pairs all have x > y, which happens with probability at most
    P[X > Y]^min(n, m). So `pvalue` is the tail of Student's distribution at the log odds over their standard
    error, but at least 2^-min(n, m). `low` above 1/2 implies that `brunner_munzel` rejects at alpha. The
    simulated coverage is in docs/size-and-coverage.md.

    Examples
    --------
    >>> r = probability_greater([3.0, 5.0, 6.0, 9.0], [1.0, 2.0, 4.0, 7.0], 0.05)
    >>> float(r.estimate), float(r.low.round(2)), float(r.pvalue.round(2))
    (0.75, 0.25, 0.18)
    """
    r = brunner_munzel(x, y)
    fewer = min(np.shape(x)[-1], np.shape(y)[-1])
    known = r.se > 0.0
    p, df = np.where(known, r.estimate, 0.5), np.where(known, r.df, 1.0)
    odds = np.log(p / (1.0 - p))
    se = np.where(known, r.se, 1.0) / (p * (1.0 - p))  # of the log odds, by the delta method
    upper = np.maximum(t_sf(odds / se, df), 0.5**fewer)
    lower = np.maximum(t_sf(-odds / se, df), 0.5**fewer)
    pvalue, pvalue_less = np.where(known, upper, r.pvalue), np.where(known, lower, r.pvalue_less)
    width = t_ppf(1.0 - alpha, df) * se
    with np.errstate(over="ignore"):
        low, high = (1.0 / (1.0 + np.exp(shift - odds)) for shift in (width, -width))
    separation = alpha ** (1.0 / fewer)
    low = np.where(known, low, np.where(r.estimate == 1.0, separation, 0.0))
    high = np.where(known, high, np.where(r.estimate == 0.0, 1.0 - separation, 1.0))
    low, high = np.minimum(low, separation), np.maximum(high, 1.0 - separation)
    bounds = _at_verdict(low, high, pvalue <= alpha, pvalue_less <= alpha, equal=0.5)
    return SuperiorityBounds(r.estimate, bounds.low, bounds.high, pvalue, pvalue_less)
