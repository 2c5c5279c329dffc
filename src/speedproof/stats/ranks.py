"""Two samples pooled: their order, ranks and ties, the rank tests, and the null distributions of the rank sum.

The tests are those of Wilcoxon, Mann and Whitney, and of Brunner and Munzel. R's wilcox.test leaves the exact
distribution as soon as two values tie, and so does :func:`rank_sum`. Benchmark scores of two or three decimals tie
all the time and few runs are the rule, so for HPT's first level every split of the mid-ranks is counted.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, ArrayPair, BoolArray, FloatArray, IntArray, extension
from speedproof.stats.estimate import OneSided
from speedproof.stats.special import ndtr, t_sf

_EXACT_BELOW = 50  # of n and of m, as in R


class RankSum(OneSided, frozen=True):
    """The Wilcoxon-Mann-Whitney rank-sum test."""

    statistic: FloatArray  # W: the pairs with x > y, ties counting one half; shape of the leading axes
    exact: BoolArray  # whether the p-values are exact rather than normal with continuity and tie correction
    distinct: IntArray  # how many different values the pooled sample has
    ties: BoolArray  # whether values coincide in it


class BrunnerMunzel(OneSided, frozen=True):
    """The Brunner-Munzel test of P[X > Y] + P[X = Y] / 2 = 1/2, valid under unequal spread."""

    estimate: FloatArray  # of P[X > Y] + P[X = Y] / 2; shape of the leading axes
    se: FloatArray  # its standard error; NaN when a size is below 2
    df: FloatArray  # degrees of freedom of Student's distribution; NaN where the standard error is 0


def rank_sum(x: ArrayLike, y: ArrayLike, *, order: PooledOrder | None = None) -> RankSum:
    """Wilcoxon-Mann-Whitney test, one-sided both ways.

    Exact when n < 50, m < 50 and nothing ties, else normal with continuity and tie correction (the rule of
    R's wilcox.test). When all values are equal both p-values are 1.
    """
    order = pooled_order(x, y) if order is None else order
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
    return RankSum(pvalue, pvalue_less, w, exact, np.asarray(order.ends.sum(axis=-1)), ties)


def brunner_munzel(x: ArrayLike, y: ArrayLike, *, order: PooledOrder | None = None) -> BrunnerMunzel:
    """Brunner and Munzel's test with Student's distribution, one-sided both ways.

    Of separated samples the p-value is that of the worst case, 2^-min(n, m): min(n, m) disjoint pairs each agree
    with probability at most one half; 1 when all values are equal, NaN when a size is below 2 and they are not
    separated. E. Brunner, U. Munzel, "The nonparametric Behrens-Fisher problem", Biometrical Journal 42(1), 2000.
    """
    order = pooled_order(x, y) if order is None else order
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
    return BrunnerMunzel(upper, lower, estimate, se, df)


def _weighted_variance(values: FloatArray, weights: IntArray, mean: FloatArray, size: int) -> FloatArray:
    return np.asarray((weights * (values - mean[..., None]) ** 2).sum(axis=-1) / (size - 1))


EXACT_BELOW = 30  # values a side; the normal distribution is then off by less than 0.001 for p < 0.1.


@lru_cache(maxsize=4096)
def rank_sum_tails(sizes: tuple[int, ...], n: int) -> ArrayPair:
    """Count the splits of tied values into n of one side and the rest.

    Exact while the number of splits is below 2**53.
    """
    total = sum(sizes)
    m = total - n
    counts = np.zeros(2 * n * m + 1)
    if total == len(sizes):
        counts[::2] = _orders(n, m)
    else:
        _count_tied(sizes, n, counts)
    splits = math.comb(total, n)
    at_least = np.minimum(np.cumsum(counts[::-1])[::-1] / splits, 1.0)
    at_most = np.minimum(np.cumsum(counts) / splits, 1.0)
    at_least.flags.writeable = at_most.flags.writeable = False
    return at_least, at_most


def _orders(n: int, m: int) -> FloatArray:
    """Orders of n and m distinct values by the number of pairs won, a Gaussian binomial coefficient in q.

    That is a product of (1 - q^(m + i)) / (1 - q^i). Coefficients depend on lower ones only, so that those of the
    first half, of which the others are the mirror image, lose no digits to larger ones.
    """
    few, many = sorted((n, m))
    ways = np.zeros(n * m // 2 + 1)
    ways[0] = 1.0
    for i in range(1, few + 1):
        ways[many + i :] -= ways[: -many - i]
        by_step = np.append(ways, np.zeros(-ways.size % i)).reshape(-1, i)
        ways = np.cumsum(by_step, axis=0).ravel()[: ways.size]
    return np.append(ways, ways[: n * m + 1 - ways.size][::-1])


def _count_tied(sizes: tuple[int, ...], n: int, counts: FloatArray) -> None:
    """Fill in the splits by twice the pairs won."""
    total = sum(sizes)
    m = total - n
    ranks: list[int] = []
    below = 0
    for size in sizes:
        ranks += [2 * below + size + 1] * size
        below += size
    lowest = ranks[0]
    step = math.gcd(*(rank - lowest for rank in ranks)) or 1
    # ways[k, s]: choices of k values whose doubled ranks exceed k times the lowest by s steps.
    greatest = sum(ranks[m:]) - n * lowest
    width = greatest // step + 1
    ways = np.zeros((n + 1, width))
    ways[0, 0] = 1.0
    reach = 1  # steps that the values so far can make; of fewer rows n can be had from those that follow
    for seen, rank in enumerate(ranks):
        shift = (rank - lowest) // step
        first, last = max(n - total + seen, 0), min(seen + 1, n)
        before = ways[first:last, : min(reach, width - shift)].copy()
        ways[first + 1 : last + 1, shift : shift + before.shape[1]] += before
        reach = min(reach + shift, width)
    # Twice U is the doubled rank sum less its least value without ties, n (n + 1).
    offset = n * lowest - n * (n + 1)
    at = offset + step * np.arange(ways.shape[1])
    inside = at >= 0
    counts[at[inside]] = ways[n, inside]


@lru_cache(maxsize=128)
def rank_sum_tail(n: int, m: int) -> FloatArray:
    """P[W >= w] for w = 0 ... n m + 1 when all orders of n + m distinct values are equally likely.

    Read-only. P[W <= w] is entry n m - w, by symmetry.
    """
    # Twice the pairs won by the smaller side, whose splits are fewer states, has their distribution.
    tail: FloatArray = np.append(rank_sum_tails((1,) * (n + m), min(n, m))[0][::2], 0.0)
    tail.flags.writeable = False
    return tail


def rank_sum_sd(n: int, m: int, excess: FloatArray) -> FloatArray:
    """Standard deviation of W under the hypothesis when ties have the given `tie_excess`."""
    size = n + m
    variance = n * m / 12.0 * (size + 1.0 - excess / (size * (size - 1.0)))
    return np.sqrt(np.maximum(variance, 0.0))


def rank_sum_normal(centred: FloatArray, sd: FloatArray) -> FloatArray:
    """Upper p-value of W - n m / 2 by the normal distribution with continuity correction.

    Where sd is 0 all values are equal, W is at its centre, and the p-value is 1.
    """
    return ndtr((0.5 - centred) / np.where(sd > 0.0, sd, 1e-300))


class PooledOrder(Struct, frozen=True, dict=True):
    """How X and Y interleave, position by position of the pooled sorted sample.

    Positions inside a run of equal values repeat the counts from before the run, so sums of differences
    over positions see each distinct value once.
    """

    n: int  # sizes of X and Y
    m: int
    x_upto: IntArray  # observations of X (of Y) at or below the value that ends at this position
    y_upto: IntArray
    ends: BoolArray  # whether a distinct value ends at this position
    # Whether values that differ by no more than the tolerance were taken as equal
    merged: BoolArray

    def placements(self) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """Of every distinct value its x, the y below it (ties count half), its y and the x below it."""
        x_here, y_here = steps_of(self.x_upto), steps_of(self.y_upto)
        below_x, below_y = (np.multiply(here, 0.5, dtype=np.float64) for here in (y_here, x_here))
        np.subtract(self.y_upto, below_x, out=below_x)
        np.subtract(self.x_upto, below_y, out=below_y)
        return x_here, below_x, y_here, below_y

    @property
    def ties(self) -> BoolArray:
        """Whether some value occurs twice in the pooled sample."""
        return np.logical_not(self.ends.all(axis=-1))

    @cached_property
    def tied_share(self) -> FloatArray:
        """The share of the pairs of a value of each sample that are equal."""
        both = steps_of(self.x_upto)
        both *= steps_of(self.y_upto)
        return np.asarray(both.sum(axis=-1) / (self.n * self.m))


def pooled_order(x: ArrayLike, y: ArrayLike, tolerance: FloatArray | None = None) -> PooledOrder:
    """Sort two samples together."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n, m = x.shape[-1], y.shape[-1]
    leading = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = np.broadcast_to(x, (*leading, n)), np.broadcast_to(y, (*leading, m))
    # Sorting is far quicker than finding the order, and two ascending runs are merged in linear time.
    x, y = ascending(x).reshape(-1, n), ascending(y).reshape(-1, m)
    shape = (*leading, n + m)
    if COMPILED is None:
        return _pooled(x, y, shape, tolerance)
    x_upto, y_upto = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    ends, merged = np.empty(shape, dtype=np.bool_), np.empty(leading, dtype=np.bool_)
    least = np.zeros(leading) if tolerance is None else np.ascontiguousarray(tolerance)
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    COMPILED.pooled(x, n, y, m, least, x_upto, y_upto, ends, merged)
    return PooledOrder(n, m, x_upto, y_upto, ends, merged)


def _pooled(
    x: FloatArray, y: FloatArray, shape: tuple[int, ...], tolerance: FloatArray | None
) -> PooledOrder:
    n, m = x.shape[1], y.shape[1]
    pool = np.concatenate((x, y), axis=1)
    order = np.argsort(pool, axis=1, kind="stable")
    pool = np.take_along_axis(pool, order, axis=1).reshape(shape)
    x_upto = np.cumsum(order < n, axis=1).reshape(shape)
    steps = pool[..., 1:] - pool[..., :-1]
    ends = np.ones(shape, dtype=np.bool_)
    ends[..., :-1] = steps > (0.0 if tolerance is None else tolerance[..., None])
    merged: BoolArray = np.any((steps > 0.0) & ~ends[..., :-1], axis=-1)
    x_upto, y_upto = (
        np.maximum.accumulate(np.where(ends, upto, 0), axis=-1)
        for upto in (x_upto, np.arange(1, n + m + 1) - x_upto)
    )
    return PooledOrder(n, m, x_upto, y_upto, ends, merged)


def listed(first: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray]:
    """The places of x and of y of the pairs (first_j .. first_j + length_j, j)."""
    of_y = np.repeat(np.arange(first.size), lengths)
    return np.arange(of_y.size) - np.repeat(np.cumsum(lengths) - lengths - first, lengths), of_y


def steps_of(upto: IntArray) -> IntArray:
    """Differences of counts along the last axis, starting from 0."""
    steps = upto + 0
    np.subtract(upto[..., 1:], upto[..., :-1], out=steps[..., 1:])
    return steps


def tie_excess(ends: BoolArray) -> FloatArray:
    """Sum of t^3 - t over the runs of t equal values, which lessens the variance of rank statistics."""
    rows = ends.shape[:-1]
    if ends.all():
        return np.zeros(rows)
    # A run never goes on in the next row, for every row ends one.
    upto = np.flatnonzero(ends) + 1
    runs = steps_of(upto)
    tied = np.flatnonzero(runs > 1)
    sizes = runs[tied].astype(np.float64)
    excess = sizes * (sizes * sizes - 1.0)
    sums = np.bincount((upto[tied] - 1) // ends.shape[-1], excess, math.prod(rows))
    return np.asarray(sums.reshape(rows), dtype=np.float64)


def midranks(x: FloatArray) -> FloatArray:
    """Ranks 1 ... n along the last axis, equal values sharing their mean rank."""
    return ranked(x)[0]


def ranked(x: FloatArray) -> ArrayPair:
    """Ranks 1 ... n along the last axis, equal values sharing their mean rank, and the sorted values."""
    ranks, ordered = np.empty(x.shape), np.empty(x.shape)
    if COMPILED is not None and x.size:
        n = x.shape[-1]
        COMPILED.ranked(np.ascontiguousarray(x, dtype=np.float64), n, ranks, ordered, np.empty(4 * n))
        return ranks, ordered
    for row in np.ndindex(x.shape[:-1]):
        ordered[row] = np.sort(x[row])
        below, upto = (np.searchsorted(ordered[row], x[row], side) for side in ("left", "right"))
        ranks[row] = 0.5 * (below + upto + 1)
    return ranks, ordered


def sample_ends(x: FloatArray) -> BoolArray:
    """The ends of distinct values in one sorted sample, as `PooledOrder.ends`."""
    ends, x = np.ones(x.shape, dtype=np.bool_), ascending(x)
    np.greater(x[..., 1:], x[..., :-1], out=ends[..., :-1])
    return ends


def ascends(x: FloatArray) -> bool:
    """Whether values ascend along the last axis; much faster than sorting."""
    some = x[..., : 1 << 7]
    return bool((some[..., 1:] >= some[..., :-1]).all() and (x[..., 1:] >= x[..., :-1]).all())


def ascending(x: FloatArray) -> FloatArray:
    """Values sorted along the last axis; sorted input is returned as it is."""
    return x if ascends(x) else np.sort(x, axis=-1)


def distinct(x: FloatArray) -> tuple[FloatArray, IntArray]:
    """The different values of one sample, ascending, and how often each occurs."""
    x = ascending(x)
    ends = np.flatnonzero(sample_ends(x))
    return x[ends], steps_of(ends + 1)


COMPILED = extension("stats._merging")


def merged_places(x: FloatArray, y: FloatArray, x_first: bool) -> tuple[IntArray, IntArray]:
    """How many y come before each x, and x before each y; rows ascend. Of equal values X or Y comes first."""
    if COMPILED is None:
        return _merged(x, y, x_first)
    of_x, of_y = np.empty(x.shape, dtype=np.int64), np.empty(y.shape, dtype=np.int64)
    rows = np.ascontiguousarray(x), x.shape[1], np.ascontiguousarray(y), y.shape[1]
    COMPILED.merged(*rows, x_first, of_x, of_y)
    return of_x, of_y


def _merged(x: FloatArray, y: FloatArray, x_first: bool) -> tuple[IntArray, IntArray]:
    # Two ascending runs are merged in linear time, and of equal values the first comes first.
    order = np.argsort(np.concatenate((x, y) if x_first else (y, x), axis=1), axis=1, kind="stable")
    from_x = order < x.shape[1] if x_first else order >= y.shape[1]
    rows = np.arange(0, order.size, order.shape[1])[:, None]
    return (
        np.flatnonzero(from_x).reshape(x.shape) - (rows + np.arange(x.shape[1])),
        np.flatnonzero(~from_x).reshape(y.shape) - (rows + np.arange(y.shape[1])),
    )
