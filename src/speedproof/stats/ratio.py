"""A ratio of two locations: the one place for the p-value at a ratio gamma and for its inversion.

``above`` is the p-value against H1: X / Y lies above gamma; ``low`` of risk alpha is where it passes alpha, and
so for ``below`` and ``high``. A hypothesis "at most gamma" contains every smaller ratio, so p-values and bounds
agree with the verdict at gamma = 1: what is proven above 1 is proven above every smaller gamma. A bound that
holds with nothing to spare, "more than 1", is the float next to 1.

The edge of a margin. Readings and margins are decimal fractions, of which doubles are roundings: 200 / 201 is
1 / 1.005, but not in doubles. A ratio that may equal gamma but for such rounding, within 16 units of the last
place, counts as equal, and what equals gamma speaks for neither side. So an edge belongs to neither side of its
margin: "above" and "below" are proven of what is strictly so, and a speedup exactly at the edge is proven
neither within the margin nor beyond it. At gamma = 1 nothing is multiplied, and values are compared as they are.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray, IntArray
from speedproof.stats.pair_ratios import ratio_order_statistics
from speedproof.stats.pooled import sample_ends, tie_excess
from speedproof.stats.rank_nulls import rank_sum_normal, rank_sum_sd, rank_sum_tail
from speedproof.stats.ranks import RankSum, rank_sum
from speedproof.stats.scaling import in_common_unit
from speedproof.stats.special import normal_quantile, t_quantile, t_sf, t_sf_pdf
from speedproof.stats.ttests import Moments, TTest, common_moments, student_from, welch_from

_MOST_RATIOS = 1 << 14  # of one pair; above that they are not all made
_CACHED = 32_768  # ratios sorted at a time: they fit a core's cache
_FEW = 512  # runs of both sides up to which rows are counted together
_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)


class Interval(Struct, frozen=True):
    """Two one-sided bounds, each at confidence 1 - alpha (both together: at least 1 - 2 alpha)."""

    # Shape of the leading axes. 0 and infinity where there is no bound, NaN where the quantity itself is not
    # defined.
    low: FloatArray
    high: FloatArray


class RatioTest(Struct, frozen=True):
    """Two one-sided p-values for a ratio against gamma."""

    # Against H1: X / Y > gamma. NaN where the test or the ratio is not defined. Shape of the leading axes.
    above: FloatArray
    below: FloatArray  # against H1: X / Y < gamma


def edges(gamma: float) -> tuple[float, float]:
    """What a ratio has to lie below, and above, to differ from gamma by more than rounding."""
    if not 0 < gamma < math.inf:
        raise ValueError(f"a ratio is tested against a positive gamma, not {gamma:g}")
    if gamma == 1.0:
        return 1.0, 1.0
    below, above = gamma * (1.0 - _ROUNDING), gamma * (1.0 + _ROUNDING)
    return (below, min(above, 1.0)) if gamma < 1.0 else (max(below, 1.0), above)


def hold(
    low: FloatArray, high: FloatArray, faster: BoolArray, slower: BoolArray, equal: float = 1.0
) -> Interval:
    """Bounds held on the side of `equal` that the verdicts say, where rounding or a tie there would not."""
    low = np.where(faster, np.maximum(low, np.nextafter(equal, np.inf)), np.minimum(low, equal))
    high = np.where(slower, np.minimum(high, np.nextafter(equal, 0.0)), np.maximum(high, equal))
    return Interval(low, high)


def monotone(gamma: float, shifted: RatioTest, at_one: RatioTest, defined: BoolArray) -> RatioTest:
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


def ratio_of_means(
    x: npt.ArrayLike, y: npt.ArrayLike, alpha: float, equal_variances: npt.ArrayLike
) -> Interval:
    """Bounds of mean X / mean Y by the inverted t-test.

    `low` is the largest gamma such that H0: mean X <= gamma' mean Y is rejected for the gamma' up to it;
    `high` the smallest such that H0: mean X >= gamma' mean Y is rejected from it on. 0 and infinity where no
    gamma is rejected or the test is undefined; NaN where a mean is negative.

    Student's statistic falls steadily in gamma. Welch's p-value can fall and rise again when a sample of two
    or three values has a standard error of tens of percents of its mean; the bound then is an end of the
    rejected stretch on the side of 1 that the verdict names.

    Source: E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society
    B 16(2), 1954.
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


def ratio_of_means_test(
    x: npt.ArrayLike, y: npt.ArrayLike, gamma: float, equal_variances: npt.ArrayLike
) -> RatioTest:
    """Test mean X / mean Y against gamma by the t test of X against gamma Y.

    NaN where the test of gamma = 1 is undefined or a mean is negative.
    """
    edges(gamma)
    mx, my = common_moments(x, y)
    equal = np.asarray(equal_variances, dtype=np.bool_)
    pooled, separate = student_from(mx, my), welch_from(mx, my)
    sizes = (max(mx.n - 1, 1), max(my.n - 1, 1))
    t, _ = _pooled(mx, my).statistic(np.asarray(gamma), sizes)
    t_welch, df = _separate(mx, my).statistic(np.asarray(gamma), sizes)
    t = np.where(equal, t, t_welch)
    df = np.where(equal, float(max(mx.n + my.n - 2, 1)), df)
    defined = ~np.isnan(np.where(equal, pooled.statistic, separate.statistic))
    defined &= (mx.mean >= 0.0) & (my.mean >= 0.0)
    at_one = RatioTest(
        np.where(equal, pooled.pvalue, separate.pvalue),
        np.where(equal, pooled.pvalue_less, separate.pvalue_less),
    )
    return monotone(gamma, RatioTest(t_sf(t, df), t_sf(-t, df)), at_one, defined)


def _rows(of: Moments, rows: BoolArray) -> Moments:
    mean, variance = (np.broadcast_to(v, rows.shape)[rows] for v in (of.mean, of.variance))
    return Moments(of.n, mean, variance)


def _pooled(mx: Moments, my: Moments) -> _Contrast:
    variance = ((mx.n - 1) * mx.variance + (my.n - 1) * my.variance) / max(mx.n + my.n - 2, 1)
    return _Contrast(mx.mean, my.mean, variance / mx.n, variance / my.n)


def _separate(mx: Moments, my: Moments) -> _Contrast:
    return _Contrast(mx.mean, my.mean, mx.variance / mx.n, my.variance / my.n)


def _pooled_bounds(mx: Moments, my: Moments, alpha: float) -> Interval:
    quantile = t_quantile(1.0 - alpha, float(max(mx.n + my.n - 2, 1)))
    roots = _pooled(mx, my).root(np.array([[quantile], [-quantile]]))
    return _certified(roots, student_from(mx, my), alpha)


def _certified(roots: FloatArray, test: TTest, alpha: float) -> Interval:
    """Lower bounds roots[0], upper bounds roots[1], where the test is defined."""
    defined = ~np.isnan(test.statistic)
    low, high = np.where(defined, roots[0], 0.0), np.where(defined, roots[1], np.inf)
    return hold(low, high, test.pvalue <= alpha, test.pvalue_less <= alpha)


class _Contrast(Struct, frozen=True):
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

    def statistic(self, gamma: FloatArray, sizes: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
        """The statistic, and Welch's degrees of freedom from n - 1 and m - 1; gamma may be infinite."""
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
        contrast = _separate(mx, my).rows(defined)
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
        t, df = contrast.statistic(gamma, sizes)
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
        t, df = contrast.statistic(middle / (1.0 - middle), sizes)
        tail = t_sf(_SIGN * t, df)
        up = np.where(_SIGN > 0.0, tail <= alpha, tail > alpha)
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    with np.errstate(divide="ignore"):
        return np.where(high >= 1.0, np.inf, low / (1.0 - low))


def ratio_of_medians(
    x: npt.ArrayLike, y: npt.ArrayLike, alpha: float, *, at_one: RankSum | None = None
) -> Interval:
    """Bounds of the factor between X and Y by the inverted rank-sum test.

    When X is distributed as gamma Y, gamma is the ratio of the medians (and of all quantiles), and the
    rank-sum test of X against gamma Y counts the ratios x_i / y_j above gamma. Each bound is therefore an
    order statistic of the n m ratios.

    `low` is the supremum of the gamma that the test rejects as too small, `high` the infimum of those that it
    rejects as too large; 0 and infinity where there is none. NaN where a value is negative.

    The variant of the test (exact, or normal with continuity and tie correction) is the one that `rank_sum`
    uses at gamma = 1. In the normal variant the ties inside each sample stay whatever gamma is, and those
    across the samples are gone at all but n m values of gamma, of which 1 is where the verdict was found: the
    verdict decides on which side of 1 the bound lies, the test without ties across how far.
    Pairs of zeros count one half at every gamma.
    """
    x, y = in_common_unit(x, y)
    test = rank_sum(x, y) if at_one is None else at_one
    zeros = np.sum(x == 0.0, axis=-1) * np.sum(y == 0.0, axis=-1)
    rank = _needed_ratios(x, y, alpha, test.exact, zeros)
    low, high = _extreme_ratios(x, y, rank, zeros)
    interval = hold(low, high, test.pvalue <= alpha, test.pvalue_less <= alpha)
    negative = (x < 0.0).any(axis=-1) | (y < 0.0).any(axis=-1)
    return Interval(np.where(negative, np.nan, interval.low), np.where(negative, np.nan, interval.high))


def ratio_of_medians_test(
    x: npt.ArrayLike, y: npt.ArrayLike, gamma: float, *, at_one: RankSum | None = None
) -> RatioTest:
    """Test the factor between X and Y against gamma by the rank-sum test of X against gamma Y.

    NaN where a value is negative.

    The variant of the test, exact or normal, is the one of gamma = 1. At any other gamma a value that may equal
    gamma times one of the other sample speaks for neither side, which can only make a p-value larger; pairs of
    zeros count one half at every gamma.
    """
    below_edge, above_edge = edges(gamma)
    x, y = in_common_unit(x, y)
    test = rank_sum(x, y) if at_one is None else at_one
    defined = np.asarray((x >= 0.0).all(axis=-1) & (y >= 0.0).all(axis=-1))
    shifted = RatioTest(test.pvalue, test.pvalue_less)
    if gamma != 1.0:
        n, m = x.shape[-1], y.shape[-1]
        with np.errstate(over="ignore", under="ignore"):
            greater = _pairs_greater(x, above_edge * y)
            less = _pairs_greater(below_edge * y, x)
        sd, zeros = _without_ties_across(x, y)
        offset = 0.5 * zeros - 0.5 * n * m
        above, below = rank_sum_normal(greater + offset, sd), rank_sum_normal(less + offset, sd)
        if test.exact.any():
            tail = rank_sum_tail(n, m)
            above = np.where(test.exact, tail[np.where(test.exact, greater, 0)], above)
            below = np.where(test.exact, tail[np.where(test.exact, less, 0)], below)
        shifted = RatioTest(above, below)
    return monotone(gamma, shifted, RatioTest(test.pvalue, test.pvalue_less), defined)


def _pairs_greater(x: FloatArray, y: FloatArray) -> IntArray:
    """How many pairs have x > y, in n log n."""
    n, m = x.shape[-1], y.shape[-1]
    leading = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = np.broadcast_to(x, (*leading, n)), np.broadcast_to(y, (*leading, m))
    if n + m > _FEW:
        counts = np.empty(leading, dtype=np.int64)
        for at in np.ndindex(leading):
            counts[at] = np.searchsorted(np.sort(y[at]), np.sort(x[at])).sum()
        return counts
    order = np.argsort(np.concatenate([x, y], axis=-1), axis=-1, kind="stable")  # of equal values x first
    of_x = order < n
    return np.asarray(np.where(of_x, np.cumsum(~of_x, axis=-1), 0).sum(axis=-1), dtype=np.int64)


def _without_ties_across(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standard deviation of the rank sum when only zeros tie across the samples, and the pairs of zeros."""
    of_x, of_y = np.sum(x == 0.0, axis=-1), np.sum(y == 0.0, axis=-1)
    excess = tie_excess(sample_ends(x)) + tie_excess(sample_ends(y))
    excess = excess + 3.0 * of_x * of_y * (of_x + of_y)  # the zeros of both are one run at every gamma
    return rank_sum_sd(x.shape[-1], y.shape[-1], excess), np.asarray(of_x * of_y, dtype=np.float64)


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
            low[i], high[i] = _two_of_many(of_x, of_y, (int(low_at[i]), int(high_at[i])), int(count[i]))
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


def _two_of_many(x: FloatArray, y: FloatArray, ranks: tuple[int, int], count: int) -> tuple[float, float]:
    """Order statistics of the ratios; 0 below the smallest and infinity above the largest."""
    within = [rank for rank in ranks if 0 <= rank < count]
    found = dict(zip(within, ratio_order_statistics(x, y, within), strict=True))
    low, high = (found.get(rank, 0.0 if rank < 0 else np.inf) for rank in ranks)
    return low, high


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
        sd = np.broadcast_to(_without_ties_across(x, y)[0], exact.shape)[rest]
        offset = np.broadcast_to(0.5 * zeros, exact.shape)[rest] - 0.5 * n * m
        # The quantile rounds: the p-value itself decides among the three counts around it.
        count = np.ceil(0.5 + normal_quantile(1.0 - alpha) * sd - offset) - 1.0
        for _ in range(2):
            count = count + (rank_sum_normal(count + offset, sd) > alpha)
        needed[rest] = np.clip(count, 0, n * m + 1).astype(np.int64)
    return needed
