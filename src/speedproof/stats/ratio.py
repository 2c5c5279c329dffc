"""Two means, by F, Student and Welch, and their ratio: what holds for the test of any ratio, and its inversion.

`ratio_medians`, `superiority` and `paired_ratio` hold both of other kinds of ratio.
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
from functools import lru_cache

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, ArrayPair, BoolArray, FloatArray
from speedproof.stats.estimate import OneSided, TestResult
from speedproof.stats.scaling import in_common_unit, unbounded
from speedproof.stats.special import bisected, f_tails, normal_quantile, t_quantile, t_sf, t_sf_pdf


class Moments(Struct, frozen=True):
    """Size, mean and variance of samples."""

    n: int  # observations of a sample
    mean: FloatArray  # shape of the leading axes
    variance: FloatArray  # with divisor n - 1; 0 when n = 1


class TTest(OneSided, frozen=True):
    """A t-test of two means."""

    statistic: FloatArray  # shape of the leading axes
    df: FloatArray


def moments(x: ArrayLike | Moments) -> Moments:
    """Mean and variance along the last axis, exact to rounding however far from zero the values lie."""
    if isinstance(x, Moments):
        return x
    x = np.asarray(x, dtype=np.float64)
    n = x.shape[-1]
    origin = x[..., 0]
    shifted = x - x[..., :1]
    offset = shifted.sum(axis=-1) / n
    shifted = shifted - offset[..., None]
    variance = np.einsum("...i,...i->...", shifted, shifted) / max(n - 1, 1)
    return Moments(n, origin + offset, variance)


def common_moments(x: ArrayLike | Moments, y: ArrayLike | Moments) -> tuple[Moments, Moments]:
    """Moments of two samples in one unit, in which no square or fourth power overflows or underflows.

    Moments stay as they are: what takes samples here takes what is known of them as well.
    """
    if isinstance(x, Moments) or isinstance(y, Moments):
        return moments(x), moments(y)
    x, y = in_common_unit(x, y)
    return moments(x), moments(y)


def variance_ratio(x: ArrayLike | Moments, y: ArrayLike | Moments) -> TestResult:
    """F test of H0: X and Y have one variance, two-sided; NaN when a size is below 2 or both are constant."""
    mx, my = common_moments(x, y)
    df = (mx.n - 1, my.n - 1)
    if min(df) < 1:
        return TestResult.undefined(*np.broadcast_shapes(mx.mean.shape, my.mean.shape))
    f = unbounded(np.divide, mx.variance, my.variance)
    return TestResult(f, 2.0 * np.minimum(*f_tails(f, *df)))


def student(x: ArrayLike | Moments, y: ArrayLike | Moments) -> TTest:
    """Student's t-test of two means with one pooled variance; NaN when n + m < 3.

    NaN also when the standard error is below 10 eps times the larger mean, as in R's t.test.
    """
    mx, my = common_moments(x, y)
    df = mx.n + my.n - 2
    if df < 1:
        return _undefined(mx, my)
    pooled = ((mx.n - 1) * mx.variance + (my.n - 1) * my.variance) / df
    return _ttest(mx, my, pooled * (1.0 / mx.n + 1.0 / my.n), float(df))


def welch(x: ArrayLike | Moments, y: ArrayLike | Moments) -> TTest:
    """Welch's t-test of two means, with the degrees of freedom of Welch and Satterthwaite.

    NaN when a size is below 2, or the standard error as small as for `student`.
    """
    mx, my = common_moments(x, y)
    if min(mx.n, my.n) < 2:
        return _undefined(mx, my)
    of_x, of_y = mx.variance / mx.n, my.variance / my.n
    total = of_x + of_y
    # in shares of the total, whose squares cannot underflow
    share = of_x / np.where(total > 0.0, total, np.nan)
    df = 1.0 / (share * share / (mx.n - 1) + (1.0 - share) ** 2 / (my.n - 1))
    return _ttest(mx, my, total, df)


def _undefined(mx: Moments, my: Moments) -> TTest:
    nan = np.full(np.broadcast_shapes(mx.mean.shape, my.mean.shape), np.nan)
    return TTest(nan, nan, nan, nan)


def _ttest(mx: Moments, my: Moments, squared_error: FloatArray, df: FloatArray | float) -> TTest:
    error = np.sqrt(squared_error)
    resolved = error >= 10.0 * np.finfo(np.float64).eps * np.maximum(np.abs(mx.mean), np.abs(my.mean))
    error = np.where(resolved & (error > 0.0), error, np.nan)
    t = (mx.mean - my.mean) / error
    df = np.where(np.isnan(t), np.nan, df)
    upper = t_sf(np.abs(t), df)
    return TTest(np.where(t > 0.0, upper, 1.0 - upper), np.where(t > 0.0, 1.0 - upper, upper), t, df)


_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
_LEAST = 5e-324  # the smallest double above 0
# Where nothing varies, or a mean is 0, statistics are infinite or undefined, and are then left out.
_UNDEFINED = np.errstate(divide="ignore", invalid="ignore", over="ignore")


class Interval(Struct, frozen=True):
    """Two one-sided bounds, each at confidence 1 - alpha (both together: at least 1 - 2 alpha)."""

    # Shape of the leading axes. 0 and infinity where there is no bound, NaN where the quantity itself is not
    # defined.
    low: FloatArray
    high: FloatArray


class LogErrors(Struct, frozen=True):
    """How uncertain the logarithms of ratios are; shape (rows,)."""

    error: FloatArray  # standard error; NaN where there is a single run or no finite ratio
    df: FloatArray  # its degrees of freedom; infinite where nothing random makes it
    bias: FloatArray  # by how much the logarithm is too large on average


@lru_cache
def edges(gamma: float) -> tuple[float, float]:
    """The limits below and above which a ratio differs from gamma by more than rounding."""
    if not 0 < gamma < math.inf:
        raise ValueError(f"a ratio is tested against a positive gamma, not {gamma:g}")
    if gamma == 1.0:
        return 1.0, 1.0
    below, above = gamma * (1.0 - _ROUNDING), gamma * (1.0 + _ROUNDING)
    return (below, min(above, 1.0)) if gamma < 1.0 else (max(below, 1.0), above)


def scaled(x: FloatArray, y: FloatArray, gamma: ArrayLike) -> ArrayPair:
    """X and gamma Y as they compare: the ratio of two zeros is 1, as of other equal values."""
    gamma = np.asarray(gamma)
    times_y = unbounded(np.multiply, gamma, y)
    if x.all():
        return x, times_y
    times_y = np.where(y > 0.0, np.maximum(times_y, 2.0 * _LEAST), times_y)  # nothing positive equals 0
    return np.where((x == 0.0) & (gamma < 1.0), _LEAST, x), np.where(
        (y == 0.0) & (gamma > 1.0), _LEAST, times_y
    )


def hold(
    low: FloatArray, high: FloatArray, faster: BoolArray, slower: BoolArray, equal: float = 1.0
) -> Interval:
    """Bounds held on the side of `equal` that the verdicts say, where rounding or a tie there would not."""
    low = np.where(faster, np.maximum(low, np.nextafter(equal, np.inf)), np.minimum(low, equal))
    high = np.where(slower, np.minimum(high, np.nextafter(equal, 0.0)), np.maximum(high, equal))
    return Interval(low, high)


def monotone(gamma: float, shifted: OneSided, at_one: OneSided, defined: BoolArray) -> OneSided:
    """Let no p-value contradict the verdict: what is proven above 1 is proven above every smaller gamma."""
    if gamma == 1.0:
        above, below = at_one.pvalue, at_one.pvalue_less
    elif gamma < 1.0:
        above = np.fmin(shifted.pvalue, at_one.pvalue)
        below = np.fmax(shifted.pvalue_less, at_one.pvalue_less)
    else:
        above = np.fmax(shifted.pvalue, at_one.pvalue)
        below = np.fmin(shifted.pvalue_less, at_one.pvalue_less)
    return OneSided(np.where(defined, above, np.nan), np.where(defined, below, np.nan))


@_UNDEFINED
def ratio_of_means(
    x: ArrayLike | Moments, y: ArrayLike | Moments, alpha: float, equal_variances: ArrayLike
) -> Interval:
    """Bounds of mean X / mean Y by the inverted t-test (E. C. Fieller, J. R. Stat. Soc. B 16(2), 1954).

    0 and infinity where no gamma is rejected or the test is undefined; NaN where a mean is negative. Welch's
    p-value can fall and rise again when a sample of two or three values has a standard error of tens of percents
    of its mean; the bound then is an end of the rejected stretch on the side of 1 that the verdict names.
    """
    mx, my = common_moments(x, y)
    shape = np.broadcast_shapes(mx.mean.shape, my.mean.shape)
    equal = np.broadcast_to(np.asarray(equal_variances, dtype=np.bool_), shape)
    low, high = np.empty(shape), np.empty(shape)
    for rows, bounds_of in ((equal, _pooled_bounds), (~equal, _welch_bounds)):
        if rows.any():
            bounds = bounds_of(_rows(mx, rows), _rows(my, rows), alpha)
            low[rows], high[rows] = bounds.low, bounds.high
    ratio = (mx.mean >= 0.0) & (my.mean >= 0.0)
    return Interval(np.where(ratio, low, np.nan), np.where(ratio, high, np.nan))


@_UNDEFINED
def ratio_of_means_test(
    x: ArrayLike | Moments, y: ArrayLike | Moments, gamma: float, equal_variances: ArrayLike
) -> OneSided:
    """Test mean X / mean Y against gamma; NaN where the test of gamma = 1 is undefined or a mean is negative."""
    edges(gamma)
    mx, my = common_moments(x, y)
    equal = np.asarray(equal_variances, dtype=np.bool_)
    pooled, separate = student(mx, my), welch(mx, my)
    sizes = (max(mx.n - 1, 1), max(my.n - 1, 1))
    t, _ = _pooled(mx, my).statistic(np.asarray(gamma), sizes)
    t_welch, df = _separate(mx, my).statistic(np.asarray(gamma), sizes)
    t = np.where(equal, t, t_welch)
    df = np.where(equal, float(max(mx.n + my.n - 2, 1)), df)
    defined = ~np.isnan(np.where(equal, pooled.statistic, separate.statistic))
    defined &= (mx.mean >= 0.0) & (my.mean >= 0.0)
    at_one = OneSided(
        np.where(equal, pooled.pvalue, separate.pvalue),
        np.where(equal, pooled.pvalue_less, separate.pvalue_less),
    )
    return monotone(gamma, OneSided(t_sf(t, df), t_sf(-t, df)), at_one, defined)


@_UNDEFINED
def log_ratio_of_means(x: ArrayLike | Moments, y: ArrayLike | Moments) -> LogErrors:
    """Errors of log(mean X / mean Y) by the delta method: Var log(mean) is s^2 / (n mean^2) to first order.

    At least with one relative variance for both, as Student's test has it: a few runs, none of them slow, know
    little of how often runs are. The logarithm of a mean with that variance v is too low by v / 2 on average.
    """
    mx, my = common_moments(x, y)
    of_x, of_y = (np.where(m.n > 1, (np.sqrt(m.variance) / m.mean) ** 2 / m.n, np.nan) for m in (mx, my))
    separate = of_x + of_y
    degrees = mx.n - 1, my.n - 1
    common = (degrees[0] * of_x * mx.n + degrees[1] * of_y * my.n) / max(sum(degrees), 1)
    total = np.maximum(separate, common * (1 / mx.n + 1 / my.n))
    share = of_x / separate
    df = 1.0 / (share**2 / max(mx.n - 1, 1) + (1.0 - share) ** 2 / max(my.n - 1, 1))
    bias = np.nan_to_num(of_y - of_x) / 2.0
    return LogErrors(np.sqrt(total), np.where(total > 0.0, df, np.inf), bias)


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
    return _certified(roots, student(mx, my), alpha)


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
        from_zero = self.x**2 - square * self.squared_x
        to_infinity = self.y**2 - square * self.squared_y
        below = np.where(from_zero > 0.0, from_zero / mixed, 0.0)
        above = np.where(to_infinity > 0.0, mixed / to_infinity, np.inf)
        return np.where(t > 0.0, below, above)

    def statistic(self, gamma: FloatArray, sizes: tuple[int, int]) -> ArrayPair:
        """The statistic, and Welch's degrees of freedom from n - 1 and m - 1; gamma may be infinite."""
        # as (x / gamma - y) / ..., so that infinity is a number like others
        inverse = np.minimum(1.0 / gamma, 1.0)
        weight = np.minimum(gamma, 1.0)
        share_x, share_y = self.squared_x * inverse**2, self.squared_y * weight**2
        total = share_x + share_y
        share = share_x / total  # NaN, and so the tail, where nothing varies
        t = (self.x * inverse - self.y * weight) / np.sqrt(total)
        return t, 1.0 / (share**2 / sizes[0] + (1.0 - share) ** 2 / sizes[1])

    def rows(self, which: BoolArray) -> _Contrast:
        return _Contrast(self.x[which], self.y[which], self.squared_x[which], self.squared_y[which])


def _welch_bounds(mx: Moments, my: Moments, alpha: float) -> Interval:
    test = welch(mx, my)
    defined = ~np.isnan(test.statistic)
    roots = np.zeros((2, *defined.shape))
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
    of freedom, then Fieller's root for it, settles most rows in a few rounds, after which they are left alone.
    What does not settle is bisected.
    """
    z = normal_quantile(1.0 - alpha)
    gamma = contrast.root(_SIGN * (z + z * (z * z + 1.0) / (4.0 * df)))
    settled = np.zeros(gamma.shape, dtype=np.bool_)
    for _ in range(12):
        moving = np.asarray(~settled.all(axis=0))
        if not moving.any():
            break
        some, before = contrast.rows(moving), gamma[:, moving]
        t, df = some.statistic(before, sizes)
        tail, density = t_sf_pdf(_SIGN * t, df)
        following = some.root(t + _SIGN * (tail - alpha) / density)
        # By the smaller one, which is not infinite where the other is.
        near = np.abs(following - before) <= 1e-13 * np.minimum(following, before)
        gamma[:, moving], settled[:, moving] = following, (following == before) | near
    settled &= np.where(beyond_1, gamma >= 1.0, gamma <= 1.0)
    rest = np.asarray(~settled.all(axis=0))
    if rest.any():
        bisected = _bisect(contrast.rows(rest), sizes, alpha, beyond_1[:, rest])
        gamma[:, rest] = np.where(settled[:, rest], gamma[:, rest], bisected)
    return gamma


def _bisect(contrast: _Contrast, sizes: tuple[int, int], alpha: float, beyond_1: BoolArray) -> FloatArray:
    """The crossing by halving w in gamma = w / (1 - w), from [1/2, 1] or [0, 1/2] down to rounding."""

    def crossed(w: FloatArray) -> BoolArray:
        t, df = contrast.statistic(w / (1.0 - w), sizes)
        tail = t_sf(_SIGN * t, df)
        return ~np.where(_SIGN > 0.0, tail <= alpha, tail > alpha)

    low, high = bisected(crossed, np.where(beyond_1, 0.5, 0.0), np.where(beyond_1, 1.0, 0.5), 52)
    return np.where(high >= 1.0, np.inf, low / (1.0 - low))
