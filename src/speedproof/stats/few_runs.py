"""A side of fewer than five runs against five or more, or of six: Welch's t test, asked beside the ranks.

Ranks alone cannot hold the risk there. Let k runs of a widely scattered side meet many runs of a narrow one,
with P[X > Y] = 1/2. Each of the k exceeds the whole other side with a probability near one half, so all do with
one near 2^-k, that is 1/8 for three: and that outcome is complete separation, the strongest that ranks know. How
widely the k scatter has to count, too. So a ratio is rejected only where Welch's test of the mean logarithms
also rejects it, at 4/3 of the risk: for k normal runs against a point it errs in exactly that many cases, 6.7 %
instead of 5, and of the power that a rank-sum test has it costs less than with the risk itself. Complete
separation of four runs or more proves by itself (2^-4 is 6.3 %). Of five only that is proof against a narrow side
(3.1 %), but of six so are five that exceed it (7 of 64 cases, 10.9 %): six are asked twice, too.

Welch's statistic falls steadily with the logarithm of the ratio, and so does that of the ranks: where both
reject is an interval again, and its end is the bound. Where a value is not positive there are no logarithms;
then the values themselves are taken, at a ratio of 1 only.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray
from speedproof.stats.rank_states import Pairs
from speedproof.stats.ratio import RatioTest, edges
from speedproof.stats.special import t_ppf, t_sf
from speedproof.stats.ttests import common_moments

ENOUGH = 5
"""Runs of each side with which the ranks hold the risk, but for six."""
_SIX = 6
_SEPARABLE = 4  # runs whose complete separation is proof
_SHARE = 0.75  # of Welch's p-value that counts


def too_few(n: int, m: int) -> bool:
    """Whether the ranks need a second opinion. With fewer than five of both sides they decide alone."""
    return max(n, m) >= ENOUGH and (min(n, m) < ENOUGH or _SIX in (n, m))


class _Means(Struct, frozen=True, eq=False):
    """The difference of two means, its standard error and its degrees of freedom; shape (rows,)."""

    difference: FloatArray
    error: FloatArray
    df: FloatArray

    def tails(self, difference: float) -> tuple[FloatArray, FloatArray]:
        """The p-values against "more than a difference" and "less than it", as far as they count."""
        off = self.difference - difference
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(off == 0.0, 0.0, off / self.error)
        tail = t_sf(np.abs(t), self.df)
        return _SHARE * np.where(t > 0.0, tail, 1.0 - tail), _SHARE * np.where(t > 0.0, 1.0 - tail, tail)


def _means(x: FloatArray, y: FloatArray) -> _Means:
    mx, my = common_moments(x, y)
    of_x, of_y = mx.variance / mx.n, my.variance / my.n
    total = of_x + of_y
    share = of_x / np.where(total > 0.0, total, 1.0)
    df = 1.0 / (share**2 / max(mx.n - 1, 1) + (1.0 - share) ** 2 / max(my.n - 1, 1))
    return _Means(mx.mean - my.mean, np.sqrt(total), df)


def _logarithms(pairs: Pairs, sign: float) -> tuple[_Means, BoolArray]:
    """Mean logarithms of the least (sign -1) or greatest (+1) values that the steps leave; where there are any."""
    x, y = pairs.x + sign * 0.5 * pairs.step[:, :1], pairs.y - sign * 0.5 * pairs.step[:, 1:]
    positive = np.asarray((x > 0.0).all(axis=1) & (y > 0.0).all(axis=1))
    logs = (np.log(np.where(positive[:, None], side, 1.0)) for side in (x, y))
    return _means(*logs), positive


def _gaps(pairs: Pairs) -> tuple[FloatArray, FloatArray]:
    """The ratios below, and above, which complete separation is proof."""
    count = pairs.x.shape[0]
    if min(pairs.sizes) < _SEPARABLE:
        return np.zeros(count), np.full(count, np.inf)
    half = 0.5 * pairs.step
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low = np.maximum(pairs.x.min(axis=1) - half[:, 0], 0.0) / (pairs.y.max(axis=1) + half[:, 1])
        high = (pairs.x.max(axis=1) + half[:, 0]) / np.maximum(pairs.y.min(axis=1) - half[:, 1], 0.0)
    return np.where(np.isnan(low), 1.0, low), np.where(np.isnan(high), 1.0, high)


def held_back(gamma: float, found: RatioTest, pairs: Pairs) -> RatioTest:
    """The larger of both tests' p-values, but for complete separation."""
    if gamma == 1.0:
        means, positive = _logarithms(pairs, 0.0)
        logs, plain = means.tails(0.0), _means(pairs.x, pairs.y).tails(0.0)
        above, below = (np.where(positive, own, other) for own, other in zip(logs, plain, strict=True))
        apart = pairs.x.min(axis=1) > pairs.y.max(axis=1), pairs.x.max(axis=1) < pairs.y.min(axis=1)
        proof = [gap & (min(pairs.sizes) >= _SEPARABLE) for gap in apart]
    else:
        (low, low_known), (high, high_known) = _logarithms(pairs, -1.0), _logarithms(pairs, 1.0)
        above = np.where(low_known, low.tails(np.log(gamma))[0], 1.0)
        below = np.where(high_known, high.tails(np.log(gamma))[1], 1.0)
        gaps, ends = _gaps(pairs), edges(gamma)
        proof = [gaps[0] > ends[1], gaps[1] < ends[0]]
    return RatioTest(
        np.where(proof[0], found.above, np.maximum(found.above, above)),
        np.where(proof[1], found.below, np.maximum(found.below, below)),
    )


def held_bounds(
    low: FloatArray, high: FloatArray, pairs: Pairs, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """The bounds of the ranks, as far as Welch's test or complete separation bears them out."""
    if alpha >= _SHARE:
        return low, high
    gaps = _gaps(pairs)
    (least, least_known), (most, most_known) = _logarithms(pairs, -1.0), _logarithms(pairs, 1.0)
    with np.errstate(over="ignore"):
        from_low = np.exp(least.difference - t_ppf(1.0 - alpha / _SHARE, least.df) * least.error)
        from_high = np.exp(most.difference + t_ppf(1.0 - alpha / _SHARE, most.df) * most.error)
    return (
        np.minimum(low, np.maximum(gaps[0], np.where(least_known, from_low, 0.0))),
        np.maximum(high, np.minimum(gaps[1], np.where(most_known, from_high, np.inf))),
    )
