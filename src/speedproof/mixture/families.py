"""Four families with two parameters beside the mixtures: the largest likelihood, BIC, and a test of the fit.

Log-normal, gamma and Weibull begin at zero; a shifted exponential begins at the smallest value. The test is that
of mixtures: the distance of Kolmogorov and Smirnov against samples drawn from the fit, each fitted anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.mixture.results import Family
from speedproof.stats.gamma import gamma_cdf, gamma_shape
from speedproof.stats.special import ndtr

_STEPS = 60
_LEAST = 1e-12  # a spread of logarithms below which values are the same


class _Kind(Struct, frozen=True):
    """What is known of a family; rows are samples with a mean of about 1, parameters two columns."""

    names: tuple[str, str]
    sized: tuple[bool, bool]  # which parameters are in the unit of the values
    fit: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    log_density: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    cdf: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    draw: Callable[[np.random.Generator, float, float, tuple[int, int]], FloatArray]


def _fit_lognormal(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    logs = np.log(x)
    return np.exp(logs.mean(axis=1, keepdims=True)), logs.std(axis=1, keepdims=True)


def _fit_gamma(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = x.mean(axis=1, keepdims=True)
    shape = gamma_shape(-np.log(x / mean).mean(axis=1, keepdims=True))
    return mean / shape, shape


def _fit_exponential(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    start = x.min(axis=1, keepdims=True)
    return start, x.mean(axis=1, keepdims=True) - start


def _fit_weibull(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The shape by bisection on the score, whose sign changes once; the scale follows."""
    logs = np.log(x / x.max(axis=1, keepdims=True))
    mean = logs.mean(axis=1, keepdims=True)
    middle = 1.2825 / np.maximum(logs.std(axis=1, keepdims=True), _LEAST)  # of moments
    low, high = np.log(middle / 30.0), np.log(middle * 30.0)
    for _ in range(_STEPS):
        at = 0.5 * (low + high)
        powers = np.exp(np.exp(at) * logs)
        weighted = (powers * logs).sum(axis=1, keepdims=True) / powers.sum(axis=1, keepdims=True)
        above = weighted - mean > np.exp(-at)
        low, high = np.where(above, low, at), np.where(above, at, high)
    shape = np.exp(0.5 * (low + high))
    scale = np.exp(shape * logs).mean(axis=1, keepdims=True) ** (1.0 / shape)
    return scale * x.max(axis=1, keepdims=True), shape


def _log_lognormal(x: FloatArray, median: FloatArray, sigma: FloatArray) -> FloatArray:
    return -0.5 * (np.log(x / median) / sigma) ** 2 - np.log(x * sigma) - 0.5 * math.log(2.0 * math.pi)


def _log_gamma(x: FloatArray, scale: FloatArray, shape: FloatArray) -> FloatArray:
    constant = math.lgamma(float(shape[0, 0]))
    return (shape - 1.0) * np.log(x / scale) - x / scale - np.log(scale) - constant


def _log_exponential(x: FloatArray, start: FloatArray, scale: FloatArray) -> FloatArray:
    return -(x - start) / scale - np.log(scale)


def _log_weibull(x: FloatArray, scale: FloatArray, shape: FloatArray) -> FloatArray:
    return np.log(shape / scale) + (shape - 1.0) * np.log(x / scale) - (x / scale) ** shape


_KINDS = {
    "log-normal": _Kind(
        ("median", "sigma"), (True, False), _fit_lognormal, _log_lognormal,
        lambda x, median, sigma: ndtr(np.log(x / median) / sigma),
        lambda rng, median, sigma, size: median * rng.lognormal(0.0, sigma, size),
    ),
    "gamma": _Kind(
        ("scale", "shape"), (True, False), _fit_gamma, _log_gamma,
        lambda x, scale, shape: gamma_cdf(x / scale, shape),
        lambda rng, scale, shape, size: scale * rng.gamma(shape, size=size),
    ),
    "shifted exponential": _Kind(
        ("start", "scale"), (True, True), _fit_exponential, _log_exponential,
        lambda x, start, scale: np.asarray(-np.expm1((start - x) / scale)),
        lambda rng, start, scale, size: start + rng.exponential(scale, size),
    ),
    "Weibull": _Kind(
        ("scale", "shape"), (True, False), _fit_weibull, _log_weibull,
        lambda x, scale, shape: np.asarray(-np.expm1(-((x / scale) ** shape))),
        lambda rng, scale, shape, size: scale * rng.weibull(shape, size),
    ),
}  # fmt: skip


def families(
    values: FloatArray, *, N: int = 0, seed: int = 0, tested: FloatArray | None = None
) -> tuple[Family, ...]:
    """Every family that values above zero can be of, the largest BIC first.

    ``N`` bootstrap samples test each, 0 for no test, of the values ``tested`` where these are others.
    """
    unit = float(values.mean())
    if not (values.min() > 0.0 and np.log(values / unit).std() > _LEAST):
        return ()
    rows, some = ((x / unit)[None] for x in (values, values if tested is None else tested))
    results = []
    for number, (name, kind) in enumerate(_KINDS.items()):
        parameters = kind.fit(rows)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            loglik = float(kind.log_density(rows, *parameters).sum()) - values.size * math.log(unit)
        fitted = zip(kind.names, parameters, kind.sized, strict=True)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        results.append(
            Family(
                name,
                tuple((of, float(p[0, 0]) * (unit if sized else 1.0)) for of, p, sized in fitted),
                loglik,
                2.0 * loglik - 2.0 * math.log(values.size),
                _pvalue(kind, some, N, rng) if N else None,
            )
        )
    return tuple(sorted(results, key=lambda family: -family.bic))


def _pvalue(kind: _Kind, row: FloatArray, N: int, rng: np.random.Generator) -> float:
    """The share of samples drawn from the fit that lie farther from theirs."""
    a, b = (float(p[0, 0]) for p in kind.fit(row))
    drawn = kind.draw(rng, a, b, (N, row.shape[1]))
    observed, others = _distances(kind, row), _distances(kind, np.maximum(drawn, np.finfo(float).tiny))
    return float((others > observed[0] * (1.0 - 1e-9)).mean())


def _distances(kind: _Kind, rows: FloatArray) -> FloatArray:
    """Kolmogorov and Smirnov's, of each row to its own fit."""
    rows = np.sort(rows, axis=1)
    n = rows.shape[1]
    F = kind.cdf(rows, *kind.fit(rows))
    steps = np.arange(n + 1) / n
    # Of equal values the last has the step above, the first that below: the rest only lie between.
    return np.asarray(np.maximum((steps[1:] - F).max(axis=1), (F - steps[:-1]).max(axis=1)))
