"""Tests of two means and two variances: F, Student and Welch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.stats.estimate import OneSided, TestResult
from speedproof.stats.scaling import in_common_unit
from speedproof.stats.special import f_tails, t_sf


class Moments(Struct, frozen=True):
    """Size, mean and variance of samples."""

    n: int  # observations of a sample
    mean: FloatArray  # shape of the leading axes
    variance: FloatArray  # with divisor n - 1; 0 when n = 1


class TTest(OneSided, frozen=True):
    """A t-test of two means."""

    statistic: FloatArray  # shape of the leading axes
    df: FloatArray


def moments(x: npt.ArrayLike) -> Moments:
    """Mean and variance along the last axis, exact to rounding however far from zero the values lie."""
    x = np.asarray(x, dtype=np.float64)
    n = x.shape[-1]
    origin = x[..., 0]
    shifted = x - x[..., :1]
    offset = shifted.sum(axis=-1) / n
    shifted = shifted - offset[..., None]
    variance = np.einsum("...i,...i->...", shifted, shifted) / max(n - 1, 1)
    return Moments(n, origin + offset, variance)


def common_moments(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Moments, Moments]:
    """Moments of two samples in one unit, in which no square or fourth power overflows or underflows."""
    x, y = in_common_unit(x, y)
    return moments(x), moments(y)


def variance_ratio(x: npt.ArrayLike, y: npt.ArrayLike) -> TestResult:
    """F test of H0: X and Y have one variance, two-sided; NaN when a size is below 2 or both are constant."""
    return variance_ratio_from(*common_moments(x, y))


def variance_ratio_from(mx: Moments, my: Moments) -> TestResult:
    """`variance_ratio` for samples whose moments are known."""
    df = (mx.n - 1, my.n - 1)
    if min(df) < 1:
        undefined = np.full(np.broadcast_shapes(mx.mean.shape, my.mean.shape), np.nan)
        return TestResult(undefined, undefined)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        f = np.divide(mx.variance, my.variance)
    return TestResult(f, 2.0 * np.minimum(*f_tails(f, *df)))


def student(x: npt.ArrayLike, y: npt.ArrayLike) -> TTest:
    """Student's t-test of two means with one pooled variance; NaN when n + m < 3.

    NaN also when the standard error is below 10 eps times the larger mean, as in R's t.test.
    """
    return student_from(*common_moments(x, y))


def student_from(mx: Moments, my: Moments) -> TTest:
    """`student` for samples whose moments are known."""
    df = mx.n + my.n - 2
    if df < 1:
        return _undefined(mx, my)
    pooled = ((mx.n - 1) * mx.variance + (my.n - 1) * my.variance) / df
    return _ttest(mx, my, pooled * (1.0 / mx.n + 1.0 / my.n), float(df))


def welch(x: npt.ArrayLike, y: npt.ArrayLike) -> TTest:
    """Welch's t-test of two means, with the degrees of freedom of Welch and Satterthwaite.

    NaN when a size is below 2, or the standard error as small as for `student`.
    """
    return welch_from(*common_moments(x, y))


def welch_from(mx: Moments, my: Moments) -> TTest:
    """`welch` for samples whose moments are known."""
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
