"""How many runs would decide a comparison, at the effect that was observed."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.stats.pooled import pooled_order, tie_excess
from speedproof.stats.ranks import brunner_munzel
from speedproof.stats.special import normal_quantile
from speedproof.stats.ttests import common_moments

_LEAST = 2.0


class RunsNeeded(Struct, frozen=True):
    """Runs of each side, in the ratio that the samples have now."""

    x: FloatArray  # whole numbers, at least 2; infinity when there is no effect. Shape of the leading axes.
    y: FloatArray


def _whole(total: FloatArray, n: int, m: int) -> RunsNeeded:
    return RunsNeeded(
        np.maximum(np.ceil(total * (n / (n + m))), _LEAST),
        np.maximum(np.ceil(total * (m / (n + m))), _LEAST),
    )


def runs_needed_means(x: npt.ArrayLike, y: npt.ArrayLike, alpha: float, power: float = 0.8) -> RunsNeeded:
    """Runs after which a one-sided t-test would find the observed difference of means, in its direction.

    N = (z(1 - alpha) + z(power))^2 (var X / q + var Y / (1 - q)) / d^2 + z(1 - alpha)^2 / 2, q the share of X: W.
    C. Guenther, The American Statistician 35, 1981. Infinity when the means are equal or a size is below 2.
    """
    mx, my = common_moments(x, y)
    n, m = mx.n, my.n
    effect = np.abs(mx.mean - my.mean)
    noise = mx.variance * ((n + m) / n) + my.variance * ((n + m) / m)
    known = (effect > 0.0) & (min(n, m) >= 2)
    z = normal_quantile(1.0 - alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = (z + normal_quantile(power)) ** 2 * (noise / effect**2) + 0.5 * z * z
    return _whole(np.where(known, total, np.inf), n, m)


def runs_needed_ranks(x: npt.ArrayLike, y: npt.ArrayLike, alpha: float, power: float = 0.8) -> RunsNeeded:
    """Runs after which a one-sided rank-sum test would find the observed superiority p, in its direction.

    N = (z(1 - alpha) s0 + z(power) s1)^2 / (p - 1/2)^2 with the variance of p by which the test goes, s0^2 / N =
    (1 - sum (t^3 - t) / (N^3 - N)) / (12 q (1 - q) N), ties t, share q of X, and the one that p has, s1^2 / N, by
    Brunner and Munzel; of a single run s0 stands for it. Without ties and for a small shift N is the number of G.
    E. Noether, Journal of the American Statistical Association 82, 1987. Never fewer than can reject; infinity
    when p is 1/2.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n, m = x.shape[-1], y.shape[-1]
    test = brunner_munzel(x, y)
    effect = np.abs(test.estimate - 0.5)
    known = effect > 0.0
    size = n + m
    untied = 1.0 - tie_excess(pooled_order(x, y).ends) / (size**3 - size)
    tested = np.sqrt(untied * (size * size / (12.0 * n * m)))
    spread = np.where(np.isnan(test.se), tested, test.se * np.sqrt(size))
    noise = normal_quantile(1.0 - alpha) * tested + normal_quantile(power) * spread
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.maximum((noise / effect) ** 2, fewest_that_can_reject(n / size, alpha))
    return _whole(np.where(known, total, np.inf), n, m)


def fewest_that_can_reject(share: float, alpha: float) -> float:
    """Fewest runs of both sides with which complete separation, one order of all, has a p-value up to alpha."""
    total = 2.0 * _LEAST
    while True:
        of_x, of_y = (max(math.ceil(total * part), int(_LEAST)) for part in (share, 1.0 - share))
        if alpha * math.comb(of_x + of_y, of_x) >= 1.0:
            return total
        total += 1.0
