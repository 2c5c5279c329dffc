"""Run order: whether the observations of one sample depend on each other, whether they drift."""

from __future__ import annotations

import math

import numpy as np

from speedproof.arrays import ArrayLike, ArrayPair, BoolArray, FloatArray, IntArray
from speedproof.stats.estimate import TestResult
from speedproof.stats.ranks import midranks
from speedproof.stats.scaling import inner, usual
from speedproof.stats.special import betainc, t_sf

_FEW_PROCESSES = 5
_FEWEST_IN_ORDER, _ENOUGH_IN_ORDER = 8, 20
_MOST_ALIKE = 0.999
# Slow drift: the fewest runs of a side that show it, the cosine coefficients of a side that are looked at, which
# rise of the log-likelihood stands out (independent runs: in 2 %), how much variance few coefficients may hide.
_FEWEST_WALKING, _COEFFICIENTS = 20, 25
_WALKS = 2.0
_UNSURE = 1.5  # the square of Student's 95 % quantile with five degrees of freedom over that of the normal
_WALK_VARIANCES = np.concatenate([[0.0], np.geomspace(0.5, 5000.0, 30)])  # n m q^2 / s^2, see walk_inflation


def lag1(x: ArrayLike, ranks: FloatArray | None = None) -> TestResult:
    """The rank version of von Neumann's ratio test of independence, two-sided; NaN when n < 4 or constant.

    The ratio is about 2 when runs are independent, less when neighbours are alike. Its p-value is that of the beta
    distribution with the exact first two moments: R. Bartels, Journal of the American Statistical Association 77,
    1982. Ranks may be given.
    """
    x = np.asarray(x, dtype=np.float64)
    n = x.shape[-1]
    if n < 4:
        return TestResult.undefined(*x.shape[:-1])
    ranks = midranks(x) if ranks is None else ranks
    centred = ranks - 0.5 * (n + 1)
    squares = (centred * centred).sum(axis=-1)
    ratio = (np.diff(ranks, axis=-1) ** 2).sum(axis=-1) / np.where(squares > 0.0, squares, np.nan)
    # ratio / 4 as a symmetric beta variable whose variance is that of the ratio, 4 / (2 s + 1)
    s = 5.0 * n * (n + 1) * (n - 1) ** 2 / (2.0 * (n - 2) * (5.0 * n * n - 2.0 * n - 9.0)) - 0.5
    return TestResult(ratio, 2.0 * betainc(s, s, np.minimum(ratio, 4.0 - ratio) / 4.0))


def variance_inflation(x: ArrayLike, y: ArrayLike, ranks: ArrayPair | None = None) -> FloatArray:
    """The factor by which correlation of neighbouring runs inflates the variance of two series.

    (1 + r) / (1 - r), the long-run variance of a first-order autoregressive series over its variance, at most half
    the smaller size; 1 where r does not stand out, and with fewer than eight runs of a side. r is the
    autocorrelation of the ranks at lag 1, of both series together, each corrected for its bias, -(1 + 4 r) / n (F.
    H. C. Marriott, J. A. Pope, Biometrika 41, 1954). It stands out when it exceeds half of its standard error;
    with fewer than 20 runs a side, where the correction would cost much power, more (docs/typical-run.md).
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n, m = x.shape[-1], y.shape[-1]
    shape = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    if min(n, m) < _FEWEST_IN_ORDER:
        return np.ones(shape)
    shares = []
    for series in ranks or (midranks(x), midranks(y)):
        size = series.shape[-1]
        centred = series - 0.5 * (size + 1)
        squares = (centred * centred).sum(axis=-1)
        lagged = (centred[..., 1:] * centred[..., :-1]).sum(axis=-1) / np.where(
            squares > 0.0, squares, np.inf
        )
        shares.append(size * lagged + np.where(squares > 0.0, 1.0 + 4.0 * lagged, 0.0))
    r = (shares[0] + shares[1]) / (n + m)
    least = 0.5 * max(1.0, (2.0 * _ENOUGH_IN_ORDER / (n + m)) ** (4.0 / 3.0)) / np.sqrt(n + m)
    r = np.where(r > least, np.minimum(r, _MOST_ALIKE), 0.0)
    return np.asarray(np.minimum((1.0 + r) / (1.0 - r), 0.5 * min(n, m)))


def walk_inflation(x: ArrayLike, y: ArrayLike, ranks: ArrayPair | None = None) -> FloatArray:
    """The factor by which slow drift inflates the variance of two series measured one after the other.

    Of noise of variance s^2 on a random walk of variance q^2 a step, the j-th cosine coefficient of n values
    (DCT-II) has about the variance s^2 + (n q / pi j)^2, whatever the mean; the means of two adjacent series of n
    and m differ by a variance of (1 / n + 1 / m) s^2 + q^2 (n + m) / 3. The ranks of both sides together give the
    most likely q, at least that of their first coefficients, so that a trend is covered, too. 1 where a walk is
    not likelier than noise by far, and with fewer than 20 runs of a side; at most half the smaller size.
    """
    sides = ranks or (midranks(np.asarray(x, dtype=np.float64)), midranks(np.asarray(y, dtype=np.float64)))
    n, m = (side.shape[-1] for side in sides)
    shape = np.broadcast_shapes(*(side.shape[:-1] for side in sides))
    if min(n, m) < _FEWEST_WALKING:
        return np.ones(shape)
    powers, shares = [], []
    for side, other in zip(sides, (m, n), strict=True):
        size = side.shape[-1]
        j = np.arange(1, min(_COEFFICIENTS, size // 4) + 1)
        centred = side - 0.5 * (size + 1)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        power = _cosine_coefficients(centred, j) ** 2 / np.where(variance > 0.0, variance, np.inf)
        powers.append(np.broadcast_to(power, (*shape, j.size)))
        shares.append(size / other / (np.pi * j) ** 2)
    power, share = np.concatenate(powers, axis=-1), np.concatenate(shares)
    expected = 1.0 + _WALK_VARIANCES[:, None] * share
    noise = np.stack([(power / spectrum).mean(axis=-1) for spectrum in expected], axis=-1)
    noise = np.maximum(noise, np.finfo(np.float64).tiny)
    likelihood = -0.5 * (share.size * np.log(noise) + np.log(expected).sum(axis=-1))
    best = likelihood.argmax(axis=-1)
    level = np.take_along_axis(noise, best[..., None], axis=-1)[..., 0]
    gain = likelihood.max(axis=-1) - likelihood[..., 0]
    first = [0, powers[0].shape[-1]]
    rise = (power[..., first].sum(axis=-1) / level - 2.0) / share[first].sum()
    inflation = level * (1.0 + _UNSURE / 3.0 * np.maximum(_WALK_VARIANCES[best], rise))
    return np.where(gain > _WALKS, np.clip(inflation, 1.0, 0.5 * min(n, m)), 1.0)


def _cosine_coefficients(x: FloatArray, j: IntArray) -> FloatArray:
    """The requested coefficients of the type-II cosine transform, as one matrix product.

    Of x in lines of `width` the cosine at each place is that of a sum: of the line's begin and of the place in it.
    """
    size = x.shape[-1]
    width = math.isqrt(size)
    lines = np.zeros((*x.shape[:-1], -(-size // width) * width))
    lines[..., :size] = x
    lines = lines.reshape(*x.shape[:-1], -1, width)
    place, begin = (
        np.pi / size * at[:, None] * j for at in (np.arange(width) + 0.5, np.arange(lines.shape[-2]) * width)
    )
    sums = lines @ np.concatenate([np.cos(place), np.sin(place)], axis=-1)
    parts = sums[..., : j.size] * np.cos(begin) - sums[..., j.size :] * np.sin(begin)
    return np.asarray(np.sqrt(2.0 / size) * parts.sum(axis=-2))


def drifting(n: int, m: int, inflation: ArrayLike) -> BoolArray:
    """Whether runs are so alike that the series may be a random walk: an effective size below 3 to 4.

    Below 3 up to 15 runs a side, where independent runs are that alike by chance in 4 % of pairs, too.
    """
    smaller, factor = min(n, m), np.asarray(inflation)
    return np.asarray((factor > 1.0) & (smaller / factor < min(max(smaller / 5.0, 3.0), 4.0)))


def drift(x: ArrayLike, ranks: FloatArray | None = None) -> TestResult:
    """Spearman's correlation of value and order, above 0 when values grow, by Student's t with n - 2 degrees.

    NaN when n < 4 or constant.
    """
    x = np.asarray(x, dtype=np.float64)
    n = x.shape[-1]
    if n < 4:
        return TestResult.undefined(*x.shape[:-1])
    centred = (midranks(x) if ranks is None else ranks) - 0.5 * (n + 1)
    order = np.arange(n) - 0.5 * (n - 1)
    squares = (centred * centred).sum(axis=-1)
    squares = np.where(squares > 0.0, squares, np.nan)
    correlation = np.clip(inner(centred, order) / np.sqrt(squares * (n * (n * n - 1.0) / 12.0)), -1.0, 1.0)
    rest = 1.0 - correlation * correlation
    t = np.abs(correlation) * np.sqrt((n - 2) / np.where(rest > 0.0, rest, 1.0))
    tail = t_sf(t, float(n - 2))
    return TestResult(correlation, np.where(rest > 0.0, 2.0 * tail, np.where(rest == 0.0, 0.0, np.nan)))


def drift_within(x: ArrayLike, processes: ArrayLike) -> TestResult:
    """Trend of the values, shape (..., n), with their position in a process: a warm-up that every one repeats.

    The mean correlation of value and position, and the p-value of the one-sample t test that the mean slope of a
    process is 0; NaN with fewer than five processes of two values or more, or when all values are equal.
    """
    values = usual(x)
    labels = np.asarray(processes)
    if np.any(labels[1:] < labels[:-1]):
        order = np.argsort(labels, kind="stable")
        values, labels = values[..., order], labels[order]
    starts = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]]))
    sizes = np.diff(np.append(starts, labels.size))
    slopes, correlations = np.empty((2, *values.shape[:-1], sizes.size))
    for size in sorted({int(size) for size in sizes.tolist() if size > 1}):
        members = np.flatnonzero(sizes == size)
        rows = np.take(values, starts[members, None] + np.arange(size), axis=-1)
        position = np.arange(size) - 0.5 * (size - 1)
        centred = rows - rows.mean(axis=-1, keepdims=True)
        # Per step of the position, so that processes of different lengths speak of the same thing.
        slopes[..., members] = (centred @ position) / float(position @ position)
        centred = usual(centred)  # of a process with far smaller values than the others
        spread = np.sqrt((position @ position) * (centred * centred).sum(axis=-1))
        correlations[..., members] = np.divide(
            centred @ position, spread, out=np.zeros(spread.shape), where=spread > 0.0
        )
    slopes, correlations = slopes[..., sizes > 1], correlations[..., sizes > 1]
    k = slopes.shape[-1]
    if k < _FEW_PROCESSES:
        return TestResult.undefined(*values.shape[:-1])
    error = np.asarray(slopes.std(axis=-1, ddof=1) / np.sqrt(k))
    spread_out = error > 0.0
    tail = t_sf(np.abs(slopes.mean(axis=-1)) / np.where(spread_out, error, 1.0), float(k - 1))
    exact = np.where(slopes[..., 0] == 0.0, np.nan, 0.0)
    return TestResult(np.asarray(correlations.mean(axis=-1)), np.where(spread_out, 2.0 * tail, exact))


def hurst_factor(x: ArrayLike) -> FloatArray:
    """Hurst factor log(R / S) / log(n / 2) of the 2009 protocol; independent runs are near 1/2.

    R is the range of the cumulated deviations from the mean, S the standard deviation with divisor n. NaN for a
    constant sample and for n <= 2.
    """
    x = usual(x)
    n = x.shape[-1]
    if n <= 2:
        return np.full(x.shape[:-1], np.nan)
    shifted = x - x[..., :1]
    deviations = shifted - shifted.mean(axis=-1, keepdims=True)
    constant = np.ptp(x, axis=-1) == 0.0
    scale = np.sqrt((deviations * deviations).mean(axis=-1))
    walk = np.ptp(np.cumsum(deviations, axis=-1), axis=-1)
    scale, walk = np.where(constant, np.nan, scale), np.where(constant, np.nan, walk)
    return np.asarray(np.log(walk / scale) / np.log(n / 2.0))
