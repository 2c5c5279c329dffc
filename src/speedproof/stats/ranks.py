"""Rank tests of two samples: Wilcoxon, Mann and Whitney; Brunner and Munzel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray, IntArray
from speedproof.stats.merging import merged_places
from speedproof.stats.pooled import ascending, pooled_order, tie_excess
from speedproof.stats.rank_nulls import rank_sum_normal, rank_sum_sd, rank_sum_tail
from speedproof.stats.special import t_sf

_EXACT_BELOW = 50  # of n and of m, as in R


class RankSum(Struct, frozen=True):
    """The Wilcoxon-Mann-Whitney rank-sum test."""

    statistic: FloatArray  # W: the pairs with x > y, ties counting one half; shape of the leading axes
    pvalue: FloatArray  # against H1: X tends to be larger than Y
    pvalue_less: FloatArray  # against H1: X tends to be smaller than Y; its own tail, not 1 - `pvalue`
    exact: BoolArray  # whether the p-values are exact rather than normal with continuity and tie correction
    ties: BoolArray  # whether values coincide in the pooled sample
    superiority: FloatArray  # W / (n m), the estimate of P[X > Y] + P[X = Y] / 2


class BrunnerMunzel(Struct, frozen=True):
    """The Brunner-Munzel test of P[X > Y] + P[X = Y] / 2 = 1/2, valid under unequal spread."""

    estimate: FloatArray  # of P[X > Y] + P[X = Y] / 2; shape of the leading axes
    se: FloatArray  # its standard error; NaN when a size is below 2
    df: FloatArray  # degrees of freedom of Student's distribution; NaN where the standard error is 0
    pvalue: FloatArray  # against H1: the estimand exceeds (is below) 1/2
    pvalue_less: FloatArray


def rank_sum(x: npt.ArrayLike, y: npt.ArrayLike) -> RankSum:
    """Wilcoxon-Mann-Whitney test, one-sided both ways.

    Exact when n < 50, m < 50 and nothing ties, else normal with continuity and tie correction (the rule of
    R's wilcox.test). When all values are equal both p-values are 1.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    order = pooled_order(x, y)
    n, m, ties = order.n, order.m, order.ties
    x_here, below_x, _, _ = order.placements()
    w = (x_here * below_x).sum(axis=-1)
    exact = ~ties & (max(n, m) < _EXACT_BELOW)
    pvalue, pvalue_less = np.empty(w.shape), np.empty(w.shape)
    if exact.any():
        tail = rank_sum_tail(n, m)
        at = w[exact].astype(np.intp)
        pvalue[exact], pvalue_less[exact] = tail[at], tail[n * m - at]
    rest = ~exact
    if rest.any():
        sd = rank_sum_sd(n, m, tie_excess(order.ends[rest]))
        pvalue[rest] = rank_sum_normal(w[rest] - 0.5 * n * m, sd)
        pvalue_less[rest] = rank_sum_normal(0.5 * n * m - w[rest], sd)
    return RankSum(w, pvalue, pvalue_less, exact, ties, w / (n * m))


def brunner_munzel(x: npt.ArrayLike, y: npt.ArrayLike) -> BrunnerMunzel:
    """Brunner and Munzel's test with Student's distribution, one-sided both ways.

    Of separated samples the p-value is that of the worst case, 2^-min(n, m): min(n, m) disjoint pairs each agree
    with probability at most one half; 1 when all values are equal, NaN when a size is below 2 and they are not
    separated. E. Brunner, U. Munzel, "The nonparametric Behrens-Fisher problem", Biometrical Journal 42(1), 2000.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    order = pooled_order(x, y)
    n, m = order.n, order.m
    x_here, below_x, y_here, below_y = order.placements()
    of_x, of_y = below_x / m, below_y / n
    estimate = (x_here * of_x).sum(axis=-1) / n
    separated = (estimate == 0.0) | (estimate == 1.0)
    if min(n, m) < 2:
        se = df = np.full(estimate.shape, np.nan)
        upper = lower = se
    else:
        share_x = _weighted_variance(of_x, x_here, estimate, n) / n
        share_y = _weighted_variance(of_y, y_here, 1.0 - estimate, m) / m
        total = share_x + share_y
        se = np.sqrt(total)
        total = np.where(total > 0.0, total, np.nan)
        df = 1.0 / ((share_x / total) ** 2 / (n - 1) + (share_y / total) ** 2 / (m - 1))
        t = (estimate - 0.5) / np.sqrt(total)
        tail = t_sf(np.abs(t), df)
        tail = np.where(se > 0.0, tail, 1.0)  # every value equal; separated samples follow
        upper = np.where(t < 0.0, 1.0 - tail, tail)
        lower = np.where(t > 0.0, 1.0 - tail, tail)
    worst = 0.5 ** min(n, m)
    upper = np.where(separated, np.where(estimate > 0.5, worst, 1.0), upper)
    lower = np.where(separated, np.where(estimate > 0.5, 1.0, worst), lower)
    return BrunnerMunzel(estimate, se, df, upper, lower)


def tied_share(x: FloatArray, y: FloatArray) -> float:
    """The share of the pairs of a value of each sample that are equal."""
    x, y = ascending(x)[None], ascending(y)[None]
    upto, below = (int(merged_places(x, y, first)[0].sum()) for first in (False, True))
    return (upto - below) / (x.size * y.size)


def _weighted_variance(values: FloatArray, weights: IntArray, mean: FloatArray, size: int) -> FloatArray:
    return np.asarray((weights * (values - mean[..., None]) ** 2).sum(axis=-1) / (size - 1))
