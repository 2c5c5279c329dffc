"""The signed-rank test with ties and zeros kept: Wilcoxon's test over the benchmarks of a suite.

Zeros are ranked like all other differences and give half of their ranks to either side, as in T. Chen et al.,
"Statistical performance comparisons of computers", IEEE Transactions on Computers 64, 2015, section 3.2. Two null
distributions are offered:

- ``"conditional"``: every one of the sign changes of the differences that are not zero is equally likely,
  given their mid-ranks; the halves that zeros gave away stay where they are. Exact at any size.
- ``"table"``: what the article does. The distribution without ties or zeros for fewer than 25 differences,
  half-integer sums read against significance; from 25 on the normal distribution without any correction.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from speedproof.stats.scaling import unbounded

SignedRankRule = Literal["conditional", "table"]

TABLE_BELOW = 25  # Chen et al. (2014), section 3.2: the normal approximation from n = 25.
COUNTS_BELOW = 1000  # 2**n must be a double.


class SignedRank(Struct, frozen=True, eq=False):
    """Outcome of the signed-rank test, for both directions."""

    # Rank sums of either sign, each with half of the ranks of the zeros; they add up to n (n + 1) / 2
    positive: float
    negative: float
    ranks: FloatArray  # mid-rank of every ``abs(d)``
    pvalue_positive: float  # one-sided: for "d tends to be positive", and for "d tends to be negative"
    pvalue_negative: float
    method: str  # the null distribution used, in words


def signed_rank(d: ArrayLike, *, rule: SignedRankRule = "conditional") -> SignedRank:
    """Test whether differences tend to one side of zero; both p-values are 1 where none differs from it.

    Only the order of ``abs(d)`` and the signs matter. The conditional distribution is counted over doubled
    mid-ranks; from 1000 differences on the normal distribution with the variance of the mid-ranks and a continuity
    correction takes its place.
    """
    values = np.asarray(d, dtype=np.float64)
    if np.isnan(values).any():
        raise ValueError("a difference is NaN; leave the benchmark out and say so")
    return signs_of_ranks(_doubled_midranks(np.abs(values)), np.sign(values), rule)


def signs_of_ranks(
    doubled: IntArray, signs: FloatArray | IntArray, rule: SignedRankRule = "conditional"
) -> SignedRank:
    """The same of twice the mid-ranks, and the signs."""
    up, down, zero = (int(doubled[signs == sign].sum()) for sign in (1, -1, 0))
    # In units of a quarter rank, so that halves of mid-ranks are whole numbers.
    positive, negative = (2 * up + zero) / 4, (2 * down + zero) / 4
    if rule == "table":
        n = doubled.size
        p_up, p_down = table_pvalue(positive, n), table_pvalue(negative, n)
        method = "exact table" if n < TABLE_BELOW else "normal"
    else:
        moving = doubled[signs != 0]
        if moving.size < COUNTS_BELOW:
            tail = upper_tail(tuple(sorted(moving.tolist())))
            p_up, p_down = float(tail[up]), float(tail[down])
            method = "exact, conditional on ties and zeros"
        else:
            p_up, p_down = _corrected_normal(up, moving), _corrected_normal(down, moving)
            method = "normal, conditional on ties and zeros"
    return SignedRank(positive, negative, doubled / 2, p_up, p_down, method)


def _doubled_midranks(magnitudes: FloatArray) -> IntArray:
    _, code, count = np.unique(magnitudes, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray(2 * last - count + 1, dtype=np.int64)[code]


@lru_cache(maxsize=64)  # of 1,000 ranks that tie one takes 8 MB
def upper_tail(doubled_ranks: tuple[int, ...]) -> FloatArray:
    """P[S >= s] for s = 0, 1, ..., where S sums doubled ranks, each kept with probability one half.

    Exact while there are at most 53 ranks; read-only.
    """
    step = math.gcd(*doubled_ranks) or 1
    most = sum(doubled_ranks) // step
    ways, others = np.zeros((2, most // 2 + 1))
    ways[0], reached = 1.0, 0
    for rank in doubled_ranks:
        reached += rank // step
        _add_rank(ways[: reached + 1], others[: reached + 1], rank // step)
        ways, others = others, ways
    tail = _tail(ways, most, len(doubled_ranks))
    # Between two multiples of the step lies no sum: there the tail is that of the next multiple.
    sparse: FloatArray = np.repeat(tail, step)[step - 1 :]
    sparse.flags.writeable = False
    return sparse


def untied_tail(n: int) -> FloatArray:
    """P[T >= t] for t = 0, 1, ...: of the positive Walsh averages of n values that are symmetric about 0."""
    return upper_tail(tuple(range(2, 2 * n + 1, 2)))[::2]


def walsh_averages(d: FloatArray) -> FloatArray:
    """The means of two values along the last axis, each with itself included, in order; NaN of two infinities."""
    i, j = np.triu_indices(d.shape[-1])
    return np.sort(0.5 * unbounded(np.add, d[..., i], d[..., j]), axis=-1)


def tail_bounds(doubled_ranks: IntArray, total: int, others: IntArray) -> tuple[float, float]:
    """Bounds of P[S >= total] of ascending ranks, from the distribution of as many others, zeros first.

    Kept at the same places, the sums differ by no more than what the ranks exceed the others by, or fall short.
    """
    tail = upper_tail(tuple(others[others > 0].tolist()))
    change = doubled_ranks - others
    more, less = int(change.clip(min=0).sum()), int((-change).clip(min=0).sum())
    least = float(tail[total + less]) if total + less < tail.size else 0.0
    return least, float(tail[max(total - more, 0)]) if total - more < tail.size else 0.0


def _add_rank(ways: FloatArray, more: FloatArray, rank: int) -> None:
    """Let every sum be kept with a rank and without."""
    more[:rank] = ways[:rank]
    np.add(ways[rank:], ways[: max(ways.size - rank, 0)], out=more[rank:])


def _tail(ways: FloatArray, most: int, n: int) -> FloatArray:
    """P[S >= s] for s = 0 ... most, from the ways to reach each sum up to the middle; the others mirror them."""
    lower = ways[: most // 2 + 1]
    below = np.cumsum(np.concatenate((lower, lower[: most - most // 2][::-1])))
    return np.minimum(np.ldexp(below[::-1], -n), 1.0)


def table_pvalue(rank_sum: float, n: int) -> float:
    """One-sided p-value of a rank sum as the article's tables give it: no regard to ties or zeros."""
    if n < TABLE_BELOW:
        return float(upper_tail(tuple(range(1, n + 1)))[math.floor(rank_sum)])
    centre, deviation = n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return 0.5 * math.erfc((rank_sum - centre) / deviation / math.sqrt(2))


def _corrected_normal(doubled_sum: int, doubled_ranks: IntArray) -> float:
    ranks = doubled_ranks / 2
    deviation = math.sqrt(float(np.square(ranks).sum())) / 2
    z = (doubled_sum / 2 - ranks.sum() / 2 - 0.5) / deviation
    return 0.5 * math.erfc(z / math.sqrt(2))


def squares_of_runs(marks: BoolArray, apart: BoolArray | None = None) -> FloatArray:
    """Per row the sum of t squared over groups of t neighbours that t - 1 marks in a row join.

    Of all groups, or of those alone in which some neighbours stand apart.
    """
    rows, columns = marks.shape
    edged = np.zeros((rows, columns + 2), dtype=np.int8)
    edged[:, 1:-1] = marks
    steps = np.diff(edged.ravel())
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    if apart is not None:
        edged[:, 1:-1] = marks & apart
        upto = np.cumsum(edged.ravel(), dtype=np.int64)
        held = upto[ends] > upto[starts]
        starts, ends = starts[held], ends[held]
    squares = np.square(ends - starts + 1.0)
    return np.bincount(starts // (columns + 2), weights=squares, minlength=rows).astype(np.float64)


@lru_cache(maxsize=64)
def least_sums(n: int, most: int, alphas: tuple[float, ...]) -> IntArray:
    """For z = n, n - 1, ..., n - most zeros the least sums s of the ranks above them with P[S >= s] <= alpha.

    A row for each alpha; beyond the largest sum where even that has too large a share.
    """
    every = (n * (n + 1) - (n - most) * (n - most + 1)) // 2
    below = np.ones((every // 2 if max(alphas) <= 0.5 else every) + 1)  # ways to reach a sum at most
    others = np.empty_like(below)
    table = np.empty((len(alphas), most + 1), dtype=np.int64)
    largest = 0
    for count in range(most + 1):
        if count:
            _add_rank(below, others, n + 1 - count)
            below, others = others, below
            largest += n + 1 - count
        table[:, count] = largest + 1 - np.searchsorted(below, np.ldexp(alphas, count), "right")
    table.flags.writeable = False
    return table
