"""Lilliefors' test of normality: Kolmogorov and Smirnov's distance with the mean and deviation of the sample."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray
from speedproof.stats.normality import TestResult
from speedproof.stats.scaling import usual
from speedproof.stats.special import ndtr

# Stephens' (1974) modified statistic against its upper tail, as polynomials of it; each holds up to its limit.
_TAILS = (
    (0.302, (1.0,)),
    (0.5, (2.76773, -19.828315, 80.709644, -138.55152, 81.218052)),
    (0.9, (-4.901232, 40.662806, -97.490286, 94.029866, -32.355711)),
    (1.31, (6.198765, -19.558097, 23.186922, -12.234627, 2.423045)),
    (np.inf, (0.0,)),
)
_TABLED = 100  # sizes up to which Dallal and Wilkinson's formula was fitted


def lilliefors(x: npt.ArrayLike) -> TestResult:
    """Test whether samples come from normal distributions of unknown mean and variance.

    The largest distance D and its p-value, shape (...). NaN for a constant sample and for n < 4.

    P-values up to 0.1 follow the analytic approximation of Dallal and Wilkinson [2], which they fitted for
    4 <= n <= 100 and extend beyond by D (n / 100)^0.49; larger ones follow Stephens' modified statistic [3].
    R's ``nortest::lillie.test`` does the same. See also :func:`shapiro_wilk`, which has more power.

    [1] H. W. Lilliefors, "On the Kolmogorov-Smirnov test for normality with mean and variance unknown", J.
    Am. Stat. Assoc. 62, 1967.
    [2] G. E. Dallal and L. Wilkinson, "An analytic approximation to the distribution of Lilliefors's test
    statistic for normality", The American Statistician 40, 1986.
    [3] M. A. Stephens, "EDF statistics for goodness of fit and some comparisons", J. Am. Stat. Assoc. 69,
    1974.
    """
    values = np.sort(usual(x), axis=-1)
    n = values.shape[-1]
    if n < 4:
        undefined = np.full(values.shape[:-1], np.nan)
        return TestResult(undefined, undefined)
    values = values - values[..., n // 2, None]
    constant = values[..., -1] <= values[..., 0]
    deviation = np.where(constant, np.nan, values.std(axis=-1, ddof=1))
    fitted = ndtr((values - values.mean(axis=-1, keepdims=True)) / deviation[..., None])
    ranks = np.arange(n + 1) / n
    distance = np.maximum((ranks[1:] - fitted).max(axis=-1), (fitted - ranks[:-1]).max(axis=-1))
    return TestResult(distance, _pvalue(distance, n))


def critical_distance(n: int, alpha: float = 0.05) -> float:
    """The distance that has a p-value of alpha, by bisection."""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(_pvalue(np.array(middle), n)) > alpha else (low, middle)
    return high


def _pvalue(distance: FloatArray, n: int) -> FloatArray:
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
    return np.where(np.isnan(distance), np.nan, np.where(small > 0.1, np.clip(large, 0.0, 1.0), small))
