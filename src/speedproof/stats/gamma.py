"""The gamma distribution: digamma, its distribution function, and the shape of largest likelihood.

References: M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 6.3.18, 6.5.29; N. M. Temme, SIAM
Journal on Mathematical Analysis 10, 1979, 757-766; T. P. Minka, Estimating a gamma distribution, 2002.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray
from speedproof.stats.special import ndtr

_LARGE = 200.0  # a shape from which on Temme's expansion errs by less than 1e-6
_NEAR = 0.3
_SERIES = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515)
_MOST_TERMS = 2000


def digamma(x: npt.ArrayLike) -> FloatArray:
    """The derivative of log gamma, of positive numbers.

    Examples
    --------
    >>> round(float(digamma(1.0)), 6)
    -0.577216
    """
    x = np.asarray(x, dtype=np.float64)
    below = np.zeros_like(x)
    for _ in range(8):  # up to where the series is exact
        small = x < 8.0
        below, x = below - np.where(small, 1.0 / x, 0.0), x + small
    s = 1.0 / x**2
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s / 132))))
    return np.asarray(below + np.log(x) - 0.5 / x - series)


def gamma_cdf(x: npt.ArrayLike, shape: npt.ArrayLike) -> FloatArray:
    """P[X <= x] for scale 1, of positive x; shapes are broadcast.

    Examples
    --------
    >>> gamma_cdf([1.0, 2.0], 1.0).round(6).tolist()  # exponential
    [0.632121, 0.864665]
    """
    x, a = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(shape, dtype=np.float64))
    tail, large = np.empty(x.shape), a >= _LARGE
    tail[large] = _temme(x[large], a[large])
    tail[~large] = _summed(x[~large], a[~large])
    return tail


def _summed(x: FloatArray, a: FloatArray) -> FloatArray:
    """By the series e^-x x^a / Gamma(a + 1) (1 + x / (a + 1) + x^2 / (a + 1)(a + 2) + ...)."""
    far = a + 40.0 * np.sqrt(a) + 60.0  # beyond it nothing is left
    inside = np.minimum(x, far)
    term, total = np.ones_like(x), np.ones_like(x)
    for k in range(1, _MOST_TERMS):
        term = term * inside / (a + k)
        total += term
        if not (term > 1e-17 * total).any():
            break
    shapes, at = np.unique(a, return_inverse=True)
    constant = np.array([math.lgamma(s + 1.0) for s in shapes.tolist()])[at.reshape(a.shape)]
    return np.asarray(np.minimum(total * np.exp(a * np.log(inside) - inside - constant), 1.0))


def _temme(x: FloatArray, a: FloatArray) -> FloatArray:
    """By the normal distribution and the first term of its correction."""
    mu = (x - a) / a
    eta = np.sign(mu) * np.sqrt(2.0 * np.maximum(mu - np.log1p(mu), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.where(np.abs(eta) < _NEAR, np.polyval(_SERIES[::-1], eta), 1.0 / mu - 1.0 / eta)
    return np.asarray(
        ndtr(eta * np.sqrt(a)) - np.exp(-0.5 * a * eta**2) / np.sqrt(2.0 * np.pi * a) * correction
    )


def gamma_shape(gap: npt.ArrayLike) -> FloatArray:
    """The shape of largest likelihood, from log of the mean less mean of the logs, which is positive.

    Examples
    --------
    >>> round(float(gamma_shape(0.5772156649)), 6)  # an exponential's
    1.0
    """
    gap = np.asarray(gap, dtype=np.float64)
    shape = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(6):
        step = 1e-5 * shape
        slope = (digamma(shape + step) - digamma(shape - step)) / (2.0 * step)
        at = np.log(shape) - digamma(shape) - gap
        shape = 1.0 / (1.0 / shape + at / (shape**2 * (1.0 / shape - slope)))
    return shape
