"""Shapiro-Wilk's test of normality, after Royston's algorithm AS R94."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.stats.scaling import usual
from speedproof.stats.special import ndtr, ndtri

# Polynomials of AS R94, lowest power first, as printed by Royston (1995).
_WEIGHT_LAST = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)  # C1, in n^-1/2
_WEIGHT_NEXT = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)  # C2, in n^-1/2
_SMALL_MEAN = (0.544, -0.39978, 0.025054, -6.714e-4)  # C3, in n
_SMALL_LOG_SD = (1.3822, -0.77857, 0.062767, -0.0020322)  # C4, in n
_LARGE_MEAN = (-1.5861, -0.31082, -0.083751, 0.0038915)  # C5, in log n
_LARGE_LOG_SD = (-0.4803, -0.082676, 0.0030302)  # C6, in log n
_GAMMA = (-2.273, 0.459)  # G, in n


class TestResult(Struct, frozen=True):
    """A test's statistic and p-value."""

    __test__ = False  # not a test class, whatever its name makes pytest think

    statistic: FloatArray  # shape of the leading axes
    pvalue: FloatArray  # the same shape; NaN where the test is not defined


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    return sum(c * x**power for power, c in enumerate(coefficients))


@lru_cache(maxsize=256)
def _weights(n: int) -> FloatArray:
    """Weights of the order statistics: antisymmetric, of unit length; n >= 3."""
    if n == 3:
        return np.array([-math.sqrt(0.5), 0.0, math.sqrt(0.5)])
    m = ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    total = float(m @ m)
    root = 1.0 / math.sqrt(n)
    last = _polynomial(_WEIGHT_LAST, root) + m[-1] / math.sqrt(total)
    if n <= 5:
        weights = m / math.sqrt((total - 2.0 * m[-1] ** 2) / (1.0 - 2.0 * last**2))
    else:
        following = _polynomial(_WEIGHT_NEXT, root) + m[-2] / math.sqrt(total)
        rest = 1.0 - 2.0 * last**2 - 2.0 * following**2
        weights = m / math.sqrt((total - 2.0 * m[-1] ** 2 - 2.0 * m[-2] ** 2) / rest)
        weights[[1, -2]] = -following, following
    weights[[0, -1]] = -last, last
    weights.flags.writeable = False
    return weights


def shapiro_wilk(x: npt.ArrayLike) -> TestResult:
    """Test whether samples come from normal distributions.

    W and its p-value, shape (...). NaN for a constant sample and for n < 3.

    The sample is centred at its median and scaled by its range first, so a spread that is tiny next to
    the location costs no digits. Royston derived the normalising transformation for n <= 5000 and R refuses
    more; beyond, it is extrapolated, as SciPy does, and the p-value is a rough one.

    Source: P. Royston, "Remark AS R94: A remark on algorithm AS 181: The W-test for normality", Applied
    Statistics 44(4), 1995.
    """
    values = np.sort(usual(x), axis=-1)
    n = values.shape[-1]
    if n < 3:
        undefined = np.full(values.shape[:-1], np.nan)
        return TestResult(undefined, undefined)
    values = values - 0.5 * (values[..., (n - 1) // 2, None] + values[..., n // 2, None])
    spread = values[..., -1] - values[..., 0]
    constant = spread <= 0.0
    values = values / np.where(constant, 1.0, spread)[..., None]
    values = values - values.mean(axis=-1, keepdims=True)
    length = np.sqrt((values * values).sum(axis=-1))
    length = np.where(constant, np.nan, length)
    # 1 - W from sums and differences: W itself may round to 1.
    slope = values @ _weights(n)
    rest = (length - slope) * (length + slope) / (length * length)
    w = 1.0 - rest
    return TestResult(w, _pvalue(rest, w, n))


def _pvalue(rest: FloatArray, w: FloatArray, n: int) -> FloatArray:
    if n == 3:  # exact
        smallest = math.asin(math.sqrt(0.75))
        return np.maximum(6.0 / math.pi * (np.arcsin(np.sqrt(np.clip(w, 0.75, 1.0))) - smallest), 0.0)
    y = np.log(np.maximum(rest, 1e-300))
    if n <= 11:
        gamma = _polynomial(_GAMMA, n)
        beyond = y >= gamma
        y = -np.log(np.where(beyond, 1.0, gamma - y))
        mean, sd = _polynomial(_SMALL_MEAN, n), math.exp(_polynomial(_SMALL_LOG_SD, n))
    else:
        beyond = np.zeros(np.shape(y), dtype=np.bool_)
        mean, sd = _polynomial(_LARGE_MEAN, math.log(n)), math.exp(_polynomial(_LARGE_LOG_SD, math.log(n)))
    return np.where(beyond, 1e-99, ndtr((mean - y) / sd))
