"""The null distributions of the rank sum, in one place: exact given the ties, and normal.

R's wilcox.test leaves the exact distribution as soon as two values tie, and so does `ranks.rank_sum`. Benchmark
scores of two or three decimals tie all the time and few runs are the rule, so for HPT's first level every split
of the mid-ranks is counted.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.stats.special import ndtr

EXACT_BELOW = 30  # values a side; the normal distribution is then off by less than 0.001 for p < 0.1.


class RankSumTails(Struct, frozen=True, eq=False):
    """Null distribution of twice the number of pairs won, ties counting half."""

    at_least: FloatArray  # P[2 U >= k] and P[2 U <= k] at k = 0, 1, ...; read-only
    at_most: FloatArray


@lru_cache(maxsize=4096)
def rank_sum_tails(sizes: tuple[int, ...], n: int) -> RankSumTails:
    """Count the splits of tied values into n of one side and the rest.

    Exact while the number of splits is below 2**53.
    """
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
    counts = np.zeros(2 * n * m + 1)
    # Twice U is the doubled rank sum less its least value without ties, n (n + 1).
    offset = n * lowest - n * (n + 1)
    at = offset + step * np.arange(ways.shape[1])
    inside = at >= 0
    counts[at[inside]] = ways[n, inside]
    splits = math.comb(total, n)
    at_least = np.minimum(np.cumsum(counts[::-1])[::-1] / splits, 1.0)
    at_most = np.minimum(np.cumsum(counts) / splits, 1.0)
    at_least.flags.writeable = at_most.flags.writeable = False
    return RankSumTails(at_least, at_most)


@lru_cache(maxsize=128)
def rank_sum_tail(n: int, m: int) -> FloatArray:
    """P[W >= w] for w = 0 ... n m + 1 when all orders of n + m distinct values are equally likely.

    Read-only. P[W <= w] is entry n m - w, by symmetry.
    """
    # Twice the pairs won by the smaller side, whose splits are fewer states, has their distribution.
    tail: FloatArray = np.append(rank_sum_tails((1,) * (n + m), min(n, m)).at_least[::2], 0.0)
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
