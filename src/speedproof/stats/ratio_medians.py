"""The ratio of two medians, by the rank-sum test: the p-value at gamma and its inversion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from speedproof.arrays import BoolArray, FloatArray, IntArray
from speedproof.stats import ranks
from speedproof.stats.estimate import OneSided
from speedproof.stats.pair_ratios import ratio_order_statistics
from speedproof.stats.ranks import (
    RankSum,
    ascending,
    merged_places,
    rank_sum,
    rank_sum_normal,
    rank_sum_sd,
    rank_sum_tail,
    sample_ends,
    tie_excess,
)
from speedproof.stats.ratio import Interval, edges, hold, monotone, scaled
from speedproof.stats.scaling import in_common_unit
from speedproof.stats.special import normal_quantile

# Of one pair; above that they are not all made, or not even where all may be equal
_MOST_RATIOS, _MOST_COMPILED = 1 << 14, 1 << 18
_CACHED = 32_768  # ratios sorted at a time: they fit a core's cache


def ratio_of_medians(
    x: npt.ArrayLike, y: npt.ArrayLike, alpha: float, *, at_one: RankSum | None = None
) -> Interval:
    """Bounds of the factor between X and Y by the inverted rank-sum test; NaN where a value is negative.

    The rank-sum test of X against gamma Y counts the ratios x_i / y_j above gamma: each bound is an order
    statistic of the n m ratios, the last gamma that is rejected as too small or the first as too large; 0 and
    infinity where there is none. The variant of the test (exact, or normal with continuity and tie correction) is
    the one of gamma = 1. There ties across the samples count; at nearly every other gamma they are gone. So the
    verdict decides on which side of 1 the bound lies, the test without ties across how far. The ratio of two zeros
    is 1.
    """
    x, y = map(ascending, in_common_unit(x, y))  # once for all that follows
    test = rank_sum(x, y) if at_one is None else at_one
    low, high = _extreme_ratios(x, y, _needed_ratios(x, y, alpha, test.exact))
    interval = hold(low, high, test.pvalue <= alpha, test.pvalue_less <= alpha)
    negative = (x < 0.0).any(axis=-1) | (y < 0.0).any(axis=-1)
    return Interval(np.where(negative, np.nan, interval.low), np.where(negative, np.nan, interval.high))


def ratio_of_medians_test(
    x: npt.ArrayLike, y: npt.ArrayLike, gamma: float, *, at_one: RankSum | None = None
) -> OneSided:
    """Test the factor between X and Y against gamma: the p-values that the bounds of `ratio_of_medians` invert.

    At a gamma other than 1 a value that may equal gamma times one of the other sample speaks for neither side,
    which can only make a p-value larger.
    """
    below_edge, above_edge = edges(gamma)
    x, y = in_common_unit(x, y)
    test = rank_sum(x, y) if at_one is None else at_one
    defined = np.asarray((x >= 0.0).all(axis=-1) & (y >= 0.0).all(axis=-1))
    shifted: OneSided = test
    if gamma != 1.0:
        n, m = x.shape[-1], y.shape[-1]
        greater = _pairs_greater(*scaled(x, y, above_edge))
        less = _pairs_greater(*scaled(x, y, below_edge)[::-1])
        sd = _without_ties_across(x, y)
        above, below = (rank_sum_normal(count - 0.5 * n * m, sd) for count in (greater, less))
        if test.exact.any():
            tail = rank_sum_tail(n, m)
            above = np.where(test.exact, tail[np.where(test.exact, greater, 0)], above)
            below = np.where(test.exact, tail[np.where(test.exact, less, 0)], below)
        shifted = OneSided(above, below)
    return monotone(gamma, shifted, test, defined)


def _pairs_greater(x: FloatArray, y: FloatArray) -> IntArray:
    """How many pairs have x > y, in n log n."""
    leading = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = (np.broadcast_to(ascending(v), (*leading, v.shape[-1])) for v in (x, y))
    below, _ = merged_places(x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), x_first=True)
    return np.asarray(below.sum(axis=-1).reshape(leading))


def _without_ties_across(x: FloatArray, y: FloatArray) -> FloatArray:
    """Standard deviation of the rank sum when no values tie across the samples."""
    excess = tie_excess(sample_ends(x)) + tie_excess(sample_ends(y))
    return rank_sum_sd(x.shape[-1], y.shape[-1], excess)


def _extreme_ratios(x: FloatArray, y: FloatArray, rank: IntArray) -> tuple[FloatArray, FloatArray]:
    """The rank-th largest and the rank-th smallest of the ratios x_i / y_j."""
    n, m = x.shape[-1], y.shape[-1]
    x = np.broadcast_to(x, (*rank.shape, n)).reshape(-1, n)
    y = np.broadcast_to(y, (*rank.shape, m)).reshape(-1, m)
    at = np.stack([n * m - rank.ravel(), rank.ravel() - 1], axis=-1)
    compiled = ranks.COMPILED if n * m <= _MOST_COMPILED else None
    if compiled is not None and (x > 0.0).all() and (y > 0.0).all():
        statistics: FloatArray = np.empty(at.shape)
        places = np.clip(at, 0, n * m - 1)
        x, y = (np.sort(np.ascontiguousarray(side), axis=1) for side in (x, y))  # row after row
        compiled.ratios(x, n, y, m, places, statistics)
    elif n * m <= _MOST_RATIOS:
        statistics = _of_all_ratios(x, y, np.clip(at, 0, n * m - 1))
    else:
        rows = zip(x, y, at.tolist(), strict=True)
        statistics = np.array([_two_of_many(*row) for row in rows]).reshape(-1, 2)
    statistics = np.where(at < 0, 0.0, np.where(at >= n * m, np.inf, statistics))
    return statistics[:, 0].reshape(rank.shape), statistics[:, 1].reshape(rank.shape)


def _of_all_ratios(x: FloatArray, y: FloatArray, places: IntArray) -> FloatArray:
    statistics = np.empty(places.shape)
    ratios_of_a_pair = x.shape[1] * y.shape[1]
    few = max(1, _CACHED // ratios_of_a_pair)
    for at in range(0, len(places), few):
        rows = slice(at, at + few)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = (x[rows, :, None] / y[rows, None, :]).reshape(-1, ratios_of_a_pair)
        if not x[rows].all():
            ratios[np.isnan(ratios)] = 1.0
        wanted = np.unique(places[rows], return_counts=True)[0]  # without counts, numpy.ma is imported
        statistics[rows] = np.take_along_axis(np.partition(ratios, wanted, axis=-1), places[rows], axis=-1)
    return statistics


def _two_of_many(x: FloatArray, y: FloatArray, ranks: Sequence[int]) -> tuple[float, float]:
    """Order statistics of the ratios; 0 below the smallest and infinity above the largest."""
    within = [rank for rank in ranks if 0 <= rank < x.size * y.size]
    by_rank = dict(zip(within, ratio_order_statistics(x, y, within), strict=True))
    low, high = (by_rank.get(rank, 0.0 if rank < 0 else np.inf) for rank in ranks)
    return low, high


def _needed_ratios(x: FloatArray, y: FloatArray, alpha: float, exact: BoolArray) -> IntArray:
    """How many ratios must exceed gamma for rejection at risk alpha, when none of them equals gamma."""
    n, m = x.shape[-1], y.shape[-1]
    needed = np.zeros(exact.shape, dtype=np.int64)
    if exact.any():
        needed[exact] = np.argmax(rank_sum_tail(n, m) <= alpha)
    rest = ~exact
    if rest.any():
        sd, half = np.broadcast_to(_without_ties_across(x, y), exact.shape)[rest], 0.5 * n * m
        # The quantile rounds: the p-value itself decides among the three counts around it.
        count = np.ceil(0.5 - normal_quantile(alpha) * sd + half) - 1.0
        for _ in range(2):
            count = count + (rank_sum_normal(count - half, sd) > alpha)
        needed[rest] = np.clip(count, 0, n * m + 1).astype(np.int64)
    return needed
