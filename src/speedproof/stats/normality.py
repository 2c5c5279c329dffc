"""Tests of normality: Shapiro and Wilk's, after Royston's algorithm AS R94, and Lilliefors'."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.stats.estimate import TestResult
from speedproof.stats.ranks import ascending
from speedproof.stats.scaling import inner, middle, usual
from speedproof.stats.special import ndtr, ndtri

# Polynomials of AS R94, lowest power first, as printed by Royston (1995).
_WEIGHT_LAST = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)  # C1, in n^-1/2
_WEIGHT_NEXT = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)  # C2, in n^-1/2
_SMALL_MEAN = (0.544, -0.39978, 0.025054, -6.714e-4)  # C3, in n
_SMALL_LOG_SD = (1.3822, -0.77857, 0.062767, -0.0020322)  # C4, in n
_LARGE_MEAN = (-1.5861, -0.31082, -0.083751, 0.0038915)  # C5, in log n
_LARGE_LOG_SD = (-0.4803, -0.082676, 0.0030302)  # C6, in log n
_GAMMA = (-2.273, 0.459)  # G, in n


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    return sum(c * x**power for power, c in enumerate(coefficients))


@lru_cache(maxsize=256)
def _weights(n: int) -> FloatArray:
    """Weights of the order statistics: antisymmetric, of unit length; n >= 3."""
    if n == 3:
        return np.array([-math.sqrt(0.5), 0.0, math.sqrt(0.5)])
    m = ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    total = float(inner(m, m))
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
    return weights


def shapiro_wilk(x: ArrayLike) -> TestResult:
    """Test whether samples come from normal distributions.

    W and its p-value; NaN for a constant sample and for n < 3. Centred at the median and scaled by the range
    first, so a small spread costs no digits. P. Royston, "Remark AS R94", Applied Statistics 44(4), 1995, derived
    it for n <= 5000 and R refuses more; beyond, it is extrapolated, as SciPy does, and the p-value is a rough one.
    """
    values = ascending(usual(x))
    n = values.shape[-1]
    if n < 3:
        return TestResult.undefined(*values.shape[:-1])
    values = values - middle(values)[..., None]
    constant = values[..., -1] <= values[..., 0]
    values = values - values.mean(axis=-1, keepdims=True)
    length = np.where(constant, np.nan, np.sqrt((values * values).sum(axis=-1)))
    # 1 - W from sums and differences: W itself may round to 1.
    slope = inner(values, _weights(n))
    rest = (length - slope) * (length + slope) / (length * length)
    w = 1.0 - rest
    return TestResult(w, _pvalue(rest, w, n))


def _pvalue(rest: FloatArray, w: FloatArray, n: int) -> FloatArray:
    if n == 3:  # exact
        smallest = math.asin(math.sqrt(0.75))
        return np.maximum(6.0 / math.pi * (np.arcsin(np.sqrt(np.minimum(w, 1.0))) - smallest), 0.0)
    y = np.log(np.maximum(rest, 1e-300))
    if n <= 11:  # W is never so small that y reaches gamma
        y = -np.log(_polynomial(_GAMMA, n) - y)
        mean, sd = _polynomial(_SMALL_MEAN, n), math.exp(_polynomial(_SMALL_LOG_SD, n))
    else:
        mean, sd = _polynomial(_LARGE_MEAN, math.log(n)), math.exp(_polynomial(_LARGE_LOG_SD, math.log(n)))
    return ndtr((mean - y) / sd)


# Stephens' (1974) modified statistic against its upper tail, as polynomials of it; each holds up to its limit.
# From 0.9 on other ones follow there, but Dallal and Wilkinson's p-value is below 0.1 then, whatever the size is.
_TAILS = (
    (0.302, (1.0,)),
    (0.5, (2.76773, -19.828315, 80.709644, -138.55152, 81.218052)),
    (np.inf, (-4.901232, 40.662806, -97.490286, 94.029866, -32.355711)),
)
_TABLED = 100  # sizes up to which Dallal and Wilkinson's formula was fitted


def lilliefors(x: ArrayLike) -> TestResult:
    """Test whether samples come from normal distributions of unknown mean and variance.

    The largest distance D (H. W. Lilliefors, J. Am. Stat. Assoc. 62, 1967); NaN for a constant sample and for n <
    4. P-values up to 0.1 follow G. E. Dallal and L. Wilkinson (The American Statistician 40, 1986), fitted for n
    <= 100 and extended by D (n / 100)^0.49; larger ones M. A. Stephens' modified statistic (J. Am. Stat. Assoc.
    69, 1974). R's ``nortest::lillie.test`` does the same.
    """
    values = np.sort(usual(x), axis=-1)
    n = values.shape[-1]
    if n < 4:
        return TestResult.undefined(*values.shape[:-1])
    values = values - values[..., n // 2, None]
    constant = values[..., -1] <= values[..., 0]
    deviation = np.where(constant, np.nan, values.std(axis=-1, ddof=1))
    fitted = ndtr((values - values.mean(axis=-1, keepdims=True)) / deviation[..., None])
    ranks = np.arange(n + 1) / n
    distance = np.maximum((ranks[1:] - fitted).max(axis=-1), (fitted - ranks[:-1]).max(axis=-1))
    return TestResult(distance, lilliefors_pvalue(distance, n))


def lilliefors_pvalue(distance: FloatArray, n: int) -> FloatArray:
    """P-value of a distance: Dallal and Wilkinson (1986) up to 0.1, Stephens (1974) above."""
    d, size = (distance, n) if n <= _TABLED else (distance * (n / _TABLED) ** 0.49, _TABLED)
    small = np.exp(
        -7.01256 * d**2 * (size + 2.78019)
        + 2.99587 * d * np.sqrt(size + 2.78019)
        - 0.122119
        + 0.974598 / np.sqrt(size)
        + 1.67997 / size
    )
    modified = (np.sqrt(n) - 0.01 + 0.85 / np.sqrt(n)) * distance
    large = np.full(np.shape(distance), np.nan)
    for limit, coefficients in reversed(_TAILS):
        polynomial = np.polynomial.polynomial.polyval(modified, coefficients)
        large = np.where(modified <= limit, polynomial, large)
    return np.where(small > 0.1, large, small)
