"""How many runs would decide a comparison, at the effect that was observed; how uncertain a typical ratio is.

A mean over many benchmarks needs the error of the logarithm of each typical ratio. It is the studentised rank
test's statistic, inverted at one standard error to either side of its estimate: s is Brunner and Munzel's standard
error of the share of ratios x / y below their median T, and half the distance between the quantiles 1/2 - s and
1/2 + s of log(x / y) is that of log T (E. L. Lehmann, "Nonparametric confidence intervals for a shift parameter",
Annals of Mathematical Statistics 34(4), 1963). Of few runs both are too large on average: the one counts twice
what depends on both runs of a pair, the square of the other exceeds that of its mean. Corrected by (n + m) / (n +
m + 2) and 1 / (1 + (1/n + 1/m) / 2) the variance is right to some percent for normal runs from 4 + 4 on, and too
large for skewed ones: 1.2 times with 5 + 5 exponential runs (``studies/suite_inference.py``).

Of few runs of unlike shapes, or of skewed ones where one side has more of them, T is biased, by about c / n: too
little for one benchmark to show, and many show it. To the second order log T exceeds its aim by half of Q'' V, by
which the quantile bends, and half of V' Q'^2, by which the variance V of the share grows with its place; what the
test tells one standard error to either side gives both. It counts as an error, too, which widens every interval.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from speedproof.arrays import ArrayLike, ArrayPair, FloatArray
from speedproof.stats.ranks import (
    COMPILED,
    ascending,
    brunner_munzel,
    merged_places,
    pooled_order,
    tie_excess,
)
from speedproof.stats.ratio import LogErrors, common_moments
from speedproof.stats.scaling import middle
from speedproof.stats.special import normal_quantile

_LEAST = 2.0


def _whole(total: FloatArray, n: int, m: int) -> ArrayPair:
    """Runs of each side in the ratio of now: whole numbers, at least 2; infinity when there is no effect."""
    of_x, of_y = (np.maximum(np.ceil(total * (size / (n + m))), _LEAST) for size in (n, m))
    return of_x, of_y


def _over(noise: FloatArray, effect: FloatArray) -> FloatArray:
    return np.divide(noise, effect, out=np.full_like(noise, np.inf), where=effect > 0.0)


def runs_needed_means(x: ArrayLike, y: ArrayLike, alpha: float, power: float = 0.8) -> ArrayPair:
    """Runs after which a one-sided t-test would find the observed difference of means, in its direction.

    N = (z(1 - alpha) + z(power))^2 (var X / q + var Y / (1 - q)) / d^2 + z(1 - alpha)^2 / 2, q the share of X: W.
    C. Guenther, The American Statistician 35, 1981. Infinity when the means are equal or a size is below 2.
    """
    mx, my = common_moments(x, y)
    n, m = mx.n, my.n
    effect = np.abs(mx.mean - my.mean)
    noise = mx.variance * ((n + m) / n) + my.variance * ((n + m) / m)
    z = normal_quantile(1.0 - alpha)
    of_effect = _over(noise, effect**2) if min(n, m) >= 2 else np.full_like(noise, np.inf)
    return _whole((z + normal_quantile(power)) ** 2 * of_effect + 0.5 * z * z, n, m)


def runs_needed_ranks(x: ArrayLike, y: ArrayLike, alpha: float, power: float = 0.8) -> ArrayPair:
    """Runs after which a one-sided rank-sum test would find the observed superiority p, in its direction.

    N = (z(1 - alpha) s0 + z(power) s1)^2 / (p - 1/2)^2 with the variance of p by which the test goes, s0^2 / N =
    (1 - sum (t^3 - t) / (N^3 - N)) / (12 q (1 - q) N), ties t, share q of X, and the one that p has, s1^2 / N, by
    Brunner and Munzel; of a single run s0 stands for it. Without ties and for a small shift N is the number of G.
    E. Noether, Journal of the American Statistical Association 82, 1987. Never fewer than can reject; infinity
    when p is 1/2.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n, m, order = x.shape[-1], y.shape[-1], pooled_order(x, y)
    test = brunner_munzel(x, y, order=order)
    effect = np.abs(test.estimate - 0.5)
    size = n + m
    untied = 1.0 - tie_excess(order.ends) / (size**3 - size)
    tested = np.sqrt(untied * (size * size / (12.0 * n * m)))
    spread = np.where(np.isnan(test.se), tested, test.se * np.sqrt(size))
    noise = normal_quantile(1.0 - alpha) * tested + normal_quantile(power) * spread
    return _whole(np.maximum(_over(noise, effect) ** 2, fewest_that_can_reject(n / size, alpha)), n, m)


def fewest_that_can_reject(share: float, alpha: float) -> float:
    """Fewest runs of both sides with which complete separation, one order of all, has a p-value up to alpha."""
    total = 2.0 * _LEAST
    while True:
        of_x, of_y = (max(math.ceil(total * part), int(_LEAST)) for part in (share, 1.0 - share))
        if alpha * math.comb(of_x + of_y, of_x) >= 1.0:
            return total
        total += 1.0


_TOGETHER = 1.5  # the estimate and its bias vary together
_MOST = 256  # values of a side; of more, so many of their quantiles
_AT_ONCE = 1 << 18  # ratios, of several pairs: so many that calls cost little
_SAME = 1e-14  # logarithms that differ by less may be equal
_WIDEST, _OF_ZERO = 1e4, -1e5  # beyond the logarithms of ratios, and of values


def typical_error(x: FloatArray, y: FloatArray, inflation: FloatArray, steps: FloatArray) -> LogErrors:
    """The standard error of the log of the median ratio X / Y, row by row.

    Dependence inflates the variances as in the test; a reading lies anywhere in its step, if that is coarse.
    """
    columns = np.full((3, len(x)), np.nan)
    n, m = x.shape[1], y.shape[1]
    at_once = max(1, _AT_ONCE // min(n * m if COMPILED is None else 8 * (n + m), _MOST**2))
    for start in range(0, len(x) if min(n, m) > 1 else 0, at_once):
        rows = slice(start, start + at_once)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            medians = np.stack([middle(side[rows]) for side in (x, y)], axis=1)
            of_steps = ((steps[rows] / medians) ** 2).sum(axis=1) / 12.0
            columns[:, rows] = _error(x[rows], y[rows], inflation[rows], of_steps)
    return LogErrors(*columns)


def _error(
    x: FloatArray, y: FloatArray, inflation: FloatArray, of_steps: FloatArray
) -> tuple[FloatArray, ...]:
    n, m = x.shape[1], y.shape[1]
    log_x, log_y = _logarithms(_thinned(x), _thinned(y))
    quantile = _quantiles(log_x, log_y)
    middle = quantile(np.full(len(log_x), 0.5))
    log_x, log_y = np.maximum(log_x, _OF_ZERO), np.maximum(log_y, _OF_ZERO)

    def variances(at: FloatArray) -> tuple[FloatArray, ...]:
        """The variance that each side adds to the share of ratios above a place."""
        ends = np.clip(at, -_WIDEST, _WIDEST)[:, None]
        upto, below = (
            merged_places(log_x - (ends + side * _SAME), log_y, side > 0.0) for side in (1.0, -1.0)
        )
        return tuple(
            (0.5 * (upto[i] + below[i]) / others).var(axis=1) * inflation / (k - 1.0)
            for i, others, k in ((0, log_y.shape[1], n), (1, log_x.shape[1], m))
        )

    of_x, of_y = variances(middle)
    total = of_x + of_y
    s = np.minimum(np.sqrt(total * (n + m) / (n + m + 2.0)), 0.5)
    low, high = quantile(0.5 - s), quantile(0.5 + s)
    noise = (0.5 * (high - low)) ** 2 / (1.0 + 0.5 * (1.0 / n + 1.0 / m))
    grown = np.where(total > 0.0, (sum(variances(high)) - sum(variances(low))) / total, 0.0)
    bias = 0.5 * (high + low) - middle + (high - low) * grown / 8.0
    free_x, free_y = (np.maximum(k / inflation - 1.0, 1.0) for k in (n, m))
    df = total**2 / (of_x**2 / free_x + of_y**2 / free_y)
    variance = noise + of_steps + _TOGETHER * bias**2
    return np.sqrt(variance), np.where(noise > 0.0, df * (variance / noise) ** 2, np.inf), bias


def _logarithms(x: FloatArray, y: FloatArray) -> ArrayPair:
    # In a unit in which they are near 1, so that rounding them makes equal ratios differ by little.
    unit = -np.frexp(np.maximum(x[:, -1], y[:, -1]))[1][:, None]
    return np.log(np.ldexp(x, unit)), np.log(np.ldexp(y, unit))


def _quantiles(x: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Of the differences of all pairs, by share, between two values the one in proportion."""
    (rows, n), m = x.shape, y.shape[1]
    ascending, descending = np.ascontiguousarray(x), np.ascontiguousarray(y[:, ::-1])
    last = n * m - 1
    flat = np.empty(0)
    if COMPILED is None:
        flat = np.nan_to_num((x[:, :, None] - y[:, None, :]).reshape(rows, -1), posinf=np.inf, neginf=-np.inf)
        flat.sort(axis=1)  # the ratio of two zeros is 1

    def quantile(share: FloatArray) -> FloatArray:
        at = np.clip(share * (last + 1) - 0.5, 0.0, last)
        below = np.minimum(at.astype(np.int64), max(last - 1, 0))
        two = np.empty((rows, 2))
        if COMPILED is None:
            two[:] = np.take_along_axis(flat, below[:, None] + np.arange(2), axis=1)
        else:
            COMPILED.differences(ascending, n, descending, m, below, two)
        low, high = two.T
        return np.asarray(low + (high - low) * (at - below))

    return quantile


def _thinned(values: FloatArray) -> FloatArray:
    """Values in ascending order, thinned evenly to a maximum number."""
    n, values = values.shape[1], ascending(values)
    return values if n <= _MOST else values[:, ((np.arange(_MOST) + 0.5) * n / _MOST).astype(np.intp)]


# A level above that adds nothing would ask for any number of units below: one more is then never wasted by much.
_MOST_UNITS = 1000


def variance_components(values: ArrayLike) -> tuple[float, ...]:
    """The variance that each level adds to one value, the highest level first."""
    means = np.asarray(values, dtype=np.float64)
    components: list[float] = []
    below = 0.0  # the variance that the levels below give to the mean of one unit
    while means.ndim:
        variance = float(np.var(means, axis=-1, ddof=1).mean())
        components.append(max(variance - below, 0.0))
        below = variance / means.shape[-1]
        means = means.mean(axis=-1)
    return tuple(reversed(components))


def repetitions(variances: Sequence[float], costs: Sequence[float]) -> tuple[int, ...]:
    """How many units of each lower level one unit of the level above it gets.

    A measurement has levels, the highest first: builds, processes of a build, iterations of a process. The grand
    mean of ``N[0]`` builds with ``N[1]`` processes in all and ``N[2]`` iterations in all has the variance
    ``V = sum_i s[i]**2 / N[i]``, where ``s[i]**2`` is what level i adds, and costs ``C = sum_i c[i] N[i]`` where
    ``c[i]`` is what one more unit of level i costs beside the levels below it.

    By the inequality of Cauchy and Schwarz ``V C >= (sum_i s[i] sqrt(c[i]))**2``, with equality exactly when
    ``N[i]`` is proportional to ``s[i] / sqrt(c[i])``. So each unit of level i - 1 gets
    ``r[i] = N[i] / N[i - 1] = (s[i] / s[i - 1]) sqrt(c[i - 1] / c[i])`` units of level i, whatever precision is
    asked (T. Kalibera, R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, equation 6); the number
    of the highest level follows from the precision. Whole numbers are the better of the neighbours.
    """
    choices = []
    for i in range(1, len(variances)):
        above, here = variances[i - 1], variances[i]
        exact = math.sqrt(here / above * costs[i - 1] / costs[i]) if above > 0 else _MOST_UNITS * (here > 0)
        low = max(1, min(math.floor(exact), _MOST_UNITS))
        choices.append((low, min(low + 1, _MOST_UNITS)))

    def product(counts: tuple[int, ...]) -> float:
        units = np.cumprod((1, *counts))
        return float((np.asarray(variances) / units).sum() * (np.asarray(costs) * units).sum())

    return min(itertools.product(*choices), key=product)
