"""The permutation distribution of Brunner and Munzel's test of P[X > Y] = 1/2, which few runs cannot fool.

Outcomes are ordered by a deviate. With the normal deviate z of the p-value that Student's distribution gives to
Brunner and Munzel's statistic, by 0.57 of their degrees of freedom, it is

    z* = z / sqrt(1 + 2 k (z^2 - 5.0)),    k = 0.13 / min(n, m),

or the deviate of the rank sum over sqrt(0.85), where that is smaller: with few runs of a side the estimated
variance of P[X > Y] is small by chance far from 1/2 (without this floor 4 + 100 unlike runs err in 17 %). Five of
six widely scattered runs beyond a narrow other side are 7 of the 64 cases that are equally likely, seven of nine
46 of 512: with all degrees of freedom both are proofs, and such runs err in 10.9 and 9.0 %.

Where both samples have one distribution all orders of the n + m values are equally likely: a test against the
deviate's distribution is exact (K. Neubert, E. Brunner, Computational Statistics & Data Analysis 51(10), 2007).
Up to 200,000 orders are enumerated, of few runs beside many those of three times as many (with all, 4 + 100 unlike
runs err in 9.5 % instead of 9.0). Beyond, it is the normal one between p = 0.2 and 0.0001 to 8 % (3 % from
p = 0.01 up) for sizes from 7 to 60, or its p-values are larger. Values that tie have orders of their own: by those
of different values, two-valued runs of one distribution err in 8.2 % with 5 + 100. Of fewer than four runs of a
side only complete separation is proof: with other orders, 3 + 10 unlike runs err in 10.9 %. No p-value is below
four fifths of 2^-min(n, m), the chance that all of a scattered side lie on one side of a narrow one; else Holm's
procedure claims something in 46 % of suites of twenty such benchmarks with 5 + 15 runs.
``studies/typical.py`` prints what these are worth.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import lru_cache
from itertools import count

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, ArrayPair, BoolArray, FloatArray, IntArray
from speedproof.stats.ranks import COMPILED as COMPILED
from speedproof.stats.special import ndtr, normal_quantile, t_ppf

_MOST_ORDERS = 200_000  # that are enumerated: 10 + 10, 8 + 12, 6 + 18
_MOST_TIED = 5_000  # of one pattern of ties, which is made for one pair only
_TIMES = 3  # the smaller side, to which the larger one is cut
_CURVATURE, _CENTRE = 0.13, 5.0
_DEGREES = 0.57  # the share that is left of theirs
_FLOOR = 0.85  # of the variance under equality, below which none is taken
_UNLIKE = 0.8  # of the probability that all runs of a scattered version are on one side of a narrow one
_MANY = 500  # runs, of which one order has a probability below 1e-300
_AT_ONCE = 1 << 12  # orders whose statistics fit a core's cache
_SAME = 1e-9  # statistics that differ by less are equal but for rounding
_LARGEST = float(np.finfo(np.float64).max)
PROVING = 4
"""Runs of each side from which on more than complete separation is proof."""


def few_separate(n: int, alpha: float) -> bool:
    """Whether so few runs of a side are only shown to differ, if all lie on one side of the others."""
    return n < PROVING and 0.5**n > alpha


@lru_cache
def one_order(n: int, m: int) -> float:
    """The probability of one order of n + m values, which is the smallest possible p-value of ranks."""
    return 1 / math.comb(n + m, n) if min(n, m) < _MANY else 0.0


def of_unlike(fewer: ArrayLike) -> FloatArray:
    """The p-value below which no outcome has one where versions scatter unlike, by the size of the smaller side.

    All k disjoint pairs of a run of each fall the same way with probability 2^-k where either way is as likely, as
    when one version lies in the middle of the other; ranks cannot tell. It is four fifths of that, so that four
    runs are proof at 5 %.
    """
    return np.where(np.asarray(fewer) < PROVING, 0.0, _UNLIKE * 0.5 ** np.asarray(fewer, dtype=np.float64))


@lru_cache
def least_pvalue(n: int, m: int) -> float:
    """The smallest possible p-value."""
    return max(one_order(n, m), float(of_unlike(min(n, m))))


class Spread(Struct, frozen=True):
    """The placement sums of two samples: counts of the pairs with x > y, ties counting half."""

    won: FloatArray  # sum over x of the y below it
    square_x: FloatArray  # sum over x of the squared number of y below it
    square_y: FloatArray  # sum over y of the squared number of x below it


class Studentised(Struct, frozen=True):
    """The statistic of P[X > Y] = 1/2 for a pair."""

    # Brunner and Munzel's statistic, its standard error and its degrees of freedom. The statistic is infinite
    # where one side won every pair, NaN where all values are equal (both have a standard error of 0; the
    # degrees of freedom are the smallest possible).
    statistic: FloatArray
    se: FloatArray
    df: FloatArray
    most: FloatArray  # the largest absolute statistic that the floor of the standard error leaves

    def floored(self, deviate: FloatArray) -> FloatArray:
        """The deviate of a statistic with the floor, with its sign; infinite where one side won every pair."""
        size = np.abs(deviate)
        return np.where(np.isinf(size), deviate, np.copysign(np.minimum(size, self.most), deviate))


def studentised(
    spread: Spread, n: int, m: int, inflation: tuple[ArrayLike, ArrayLike] = (1.0, 1.0), tied: ArrayLike = 0.0
) -> Studentised:
    """Brunner and Munzel's statistic and what goes with it, for two sizes of 2 or more.

    Dependence divides the effective size of each side by its `inflation`; ties lessen the variance of ranks by
    `tied`.
    """
    factor_x, factor_y = (np.asarray(f, dtype=np.float64) for f in inflation)
    lost = n * m - spread.won
    # The products are whole numbers (or quarters) below 2^53 wherever the difference could cancel.
    of_x = np.maximum(n * spread.square_x - spread.won**2, 0.0) / (n * (n - 1.0) * m**2)
    of_y = np.maximum(m * spread.square_y - lost**2, 0.0) / (m * (m - 1.0) * n**2)
    share_x, share_y = of_x * factor_x / n, of_y * factor_y / m
    total = share_x + share_y
    free_x, free_y = _free(n, factor_x), _free(m, factor_y)
    least = np.minimum(free_x, free_y)
    equal = _equal(n, m, factor_x, factor_y) * (1.0 - np.asarray(tied, dtype=np.float64))
    effect = spread.won / (n * m) - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.sqrt(total)
        statistic = effect / se
        df = total**2 / (share_x**2 / free_x + share_y**2 / free_y)
        most = np.abs(effect) / np.sqrt(_FLOOR * equal)
    return Studentised(statistic, se, np.where(total > 0.0, df, least), np.where(equal > 0.0, most, np.inf))


def _free(n: int, factor: FloatArray) -> FloatArray:
    return np.maximum(_DEGREES * (n / factor - 1.0), 1.0)


def _equal(n: int, m: int, factor_x: FloatArray, factor_y: FloatArray) -> FloatArray:
    """The variance of the share of pairs won where both samples have one distribution."""
    return np.asarray((m * factor_x + n * factor_y + 1.0) / (12.0 * n * m))


def walked(order: IntArray, n: int, m: int, inflation: FloatArray, effective: FloatArray) -> FloatArray:
    """`Null.score` of all states of each row while pairs, of ascending x to descending y, are lost in an order."""
    scores = np.empty((len(order), n * m + 1))
    # Before the i-th x falls below the j-th y, m - j of the y were below it and i of the x below that y.
    square_x, square_y = np.empty_like(scores), np.zeros_like(scores)
    square_x[:, 0] = n * m * m
    square_x[:, 1:] = n * m * m + np.cumsum(1.0 - 2.0 * (m - order % m), axis=1)
    np.cumsum(1.0 + 2.0 * (order // m), axis=1, out=square_y[:, 1:])
    scores[:] = n * m - np.arange(n * m + 1.0)
    factors = inflation[:, :1], inflation[:, 1:]
    return _deviate(studentised(Spread(scores, square_x, square_y), n, m, factors), effective[:, None])


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def states_between(
    x: FloatArray, y: FloatArray, constants: ArrayPair, slack: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The states of each row, of ascending x to descending y: their ends, their scores, and which ones are real.

    State k lies between ends k and k + 1: 0, the ratios in ascending order (of two zeros 1), infinity. There is
    none between such as may be equal.
    """
    (count, n), m = x.shape, y.shape[1]
    ratios = (x[:, :, None] / y[:, None, :]).reshape(count, n * m)
    ratios[np.isnan(ratios)] = 1.0
    order = np.argsort(ratios, axis=1)
    ends = np.pad(np.take_along_axis(ratios, order, axis=1), ((0, 0), (1, 1)), constant_values=(0.0, np.inf))
    real: BoolArray = ends[:, 1:] > ends[:, :-1] * (1.0 + slack)
    real[:, [0, -1]] = True  # below every ratio and above, where these are 0 or infinite, too
    return ends, walked(order, n, m, *constants), real


def extremes(
    x: FloatArray, y: FloatArray, constants: ArrayPair, gamma: float, slack: float, *, least: bool
) -> FloatArray:
    """As of `bounded`: the least `Null.score` of states up to the ratio gamma, or the greatest from it on."""
    if COMPILED is None:
        ends, scores, real = states_between(x, y, constants, slack)
        real &= ends[:, :-1] <= gamma if least else ends[:, 1:] > gamma
        some = np.where(real, scores, np.inf if least else -np.inf)
        return np.asarray(some.min(axis=1) if least else some.max(axis=1))
    n, m, reached = x.shape[1], y.shape[1], np.empty(len(x))
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    COMPILED.extremes(x, n, y, m, _constants(n, m, *constants), 1.0 + slack, gamma, least, reached)
    return reached


def bounded(
    x: FloatArray, y: FloatArray, constants: ArrayPair, critical: FloatArray, slack: float
) -> FloatArray:
    """Of the ratios of ascending x to descending y, rows, the two in the middle, and the ends of what is kept.

    Kept is what lies between the first and the last state whose `Null.score` does not reach the critical one, by
    inflation and effective size; ratios are equal that differ by so small a factor.
    """
    n, m, ratios = x.shape[1], y.shape[1], np.empty((len(x), 4))
    if COMPILED is None:
        ends, scores, real = states_between(x, y, constants, slack)
        first = np.argmax(real & ~(scores >= critical[:, None]), axis=1)
        last = n * m - np.argmax((real & ~(-scores >= critical[:, None]))[:, ::-1], axis=1)
        middle = np.full((len(x), 2), (1 + (n * m - 1) // 2, 1 + n * m // 2))
        return np.take_along_axis(ends, np.column_stack((middle, first, last + 1)), axis=1)
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    COMPILED.bounded(x, n, y, m, _constants(n, m, *constants), critical, 1.0 + slack, ratios)
    return ratios


def _constants(n: int, m: int, inflation: FloatArray, effective: FloatArray) -> FloatArray:
    """The constants that define the order of states in each row, as _merging.c takes them."""
    fx, fy = inflation.T
    free, floor = (_free(n, fx), _free(m, fy)), np.sqrt(_FLOOR * _equal(n, m, fx, fy))
    columns = np.broadcast_arrays(n, m, fx, fy, *free, _curvature(effective), _CENTRE, floor)
    return np.stack(columns, axis=1).astype(float)


def _orders(groups: tuple[int, ...], n: int, tied: float = 0.0) -> ArrayPair:
    """Every way to call n of the tied values x and the rest y: its score, with multiplicities.

    Where none tie, those by which X wins half of the pairs or more: the others are the same in reverse.
    The three sums are packed into one integer: twice `won`, and four times each sum of squares, are whole. Of many
    values that tie it has more than 64 bits.
    """
    m = sum(groups) - n
    bits = _bits(n, m)
    if bits[0] + bits[1] + (2 * n * m).bit_length() >= 64:
        packed, ways = _merged(*_listed(groups, n, m, bits, object)[n])
    elif len(groups) < n + m:
        packed, ways = _merged(*_listed(groups, n, m, bits)[n])
    else:
        every = _joined(n, m, bits)
        every = every[every >= n * m << sum(bits)]
        every.sort()  # in its place: memory that is taken anew costs as much as the work
        first = np.flatnonzero(np.append(True, every[1:] != every[:-1]))
        packed, ways = every[first], np.diff(first, append=every.size).astype(np.float64)
    scores = np.empty(packed.size)
    for at in range(0, packed.size, _AT_ONCE):
        some = slice(at, at + _AT_ONCE)
        won, *squares = (part.astype(np.float64) for part in _unpacked(packed[some], bits))
        spread = Spread(won / 2.0, *(square / 4.0 for square in squares))
        scores[some] = _deviate(studentised(spread, n, m, tied=tied), min(n, m))
    return scores, ways


def _bits(n: int, m: int) -> tuple[int, int]:
    """Bits needed for the sums of squares."""
    bits_x, bits_y = ((4 * size * other**2).bit_length() for size, other in ((n, m), (m, n)))
    return bits_x, bits_y


def _unpacked(packed: IntArray, bits: tuple[int, int]) -> tuple[IntArray, IntArray, IntArray]:
    masks = ((1 << of) - 1 for of in bits)
    return packed >> sum(bits), (packed >> bits[1]) & next(masks), packed & next(masks)


def _joined(n: int, m: int, bits: tuple[int, int]) -> IntArray:
    """Of values that do not tie: the orders of the lower half, each before every order of the upper one."""
    before = (n + m) // 2
    lower, upper = (_listed((1,) * size, n, m, bits) for size in (before, n + m - before))
    joined, end = np.empty(math.comb(n + m, n), dtype=np.int64), 0
    for i, (one, _) in lower.items():
        if n - i in upper:
            # Each of the upper x has j more y below it, and each of the upper y i more x.
            j, of_x, of_y = before - i, n - i, m - (before - i)
            won, square_x, square_y = _unpacked(upper[n - i][0], bits)
            square_x += 4 * j * won + 4 * of_x * j**2
            square_y += 4 * i * (2 * of_x * of_y - won) + 4 * of_y * i**2
            other = ((won + 2 * of_x * j) << sum(bits)) + (square_x << bits[1]) + square_y
            size = one.size * other.size
            np.add.outer(one, other, out=joined[end : end + size].reshape(one.size, other.size))
            end += size
    return joined


def _listed(
    groups: tuple[int, ...], n: int, m: int, bits: tuple[int, int], kind: type = np.int64
) -> dict[int, tuple[IntArray, FloatArray]]:
    """By how many of the values are called x: the sums, packed, and their multiplicities."""
    bits_x, bits_y = bits
    states: dict[int, tuple[IntArray, FloatArray]] = {0: (np.zeros(1, dtype=kind), np.ones(1))}
    before = 0
    for size in groups:
        following: dict[int, list[tuple[IntArray, FloatArray]]] = defaultdict(list)
        for i, (packed, ways) in states.items():
            j = before - i
            for k in range(max(0, size - (m - j)), min(size, n - i) + 1):
                below_x, below_y = 2 * j + size - k, 2 * i + k
                step = (k * below_x) << (bits_x + bits_y)
                step += (k * below_x**2) << bits_y
                step += (size - k) * below_y**2
                following[i + k].append((packed + step, ways * float(math.comb(size, k))))
        states = {
            i: (np.concatenate([p for p, _ in parts]), np.concatenate([w for _, w in parts]))
            for i, parts in following.items()
        }
        before += size
    return states


def _merged(packed: IntArray, ways: FloatArray) -> tuple[IntArray, FloatArray]:
    """Each state once, with the sum of its multiplicities."""
    packed, place = np.unique(packed, return_inverse=True)
    return packed, np.bincount(place, ways).astype(np.float64)


Table = ArrayPair
"""The ends from which each score is reached but for rounding, in ascending order, and P[a score >= it] of each."""


def _deviate(statistic: Studentised, effective: ArrayLike) -> FloatArray:
    """What orders outcomes from "X is smaller" to "X is larger"; 0 of equal values, infinite when separated."""
    t = np.where(np.isnan(statistic.statistic), 0.0, statistic.statistic)
    z = _normal_deviate(np.minimum(np.abs(t), 1e150), statistic.df)
    stretched = z / np.sqrt(np.maximum(1.0 + 2.0 * _curvature(effective) * (z * z - _CENTRE), 0.1))
    return statistic.floored(np.where(np.isinf(t), np.inf, stretched) * np.sign(t))


def _curvature(effective: ArrayLike) -> FloatArray:
    return _CURVATURE / np.asarray(effective, dtype=np.float64)


def _tails(statistic: FloatArray, ways: FloatArray, *, both: bool = False) -> Table:
    """All scores, or those above 0 with their opposites; what is equal but for rounding is one."""
    order = np.argsort(statistic)
    ascending, ways = statistic[order], ways[order]
    if both:
        above = int(np.searchsorted(ascending, 0.0, side="right"))
        ascending = np.concatenate((-ascending[above:][::-1], ascending))
        ways = np.concatenate((ways[above:][::-1], ways))
    upper = np.cumsum(ways[::-1])[::-1]
    upper /= upper[0]
    finite = np.nan_to_num(ascending, posinf=1e300, neginf=-1e300)
    new = np.flatnonzero(np.diff(finite) > _SAME * np.maximum(np.abs(finite[1:]), 1.0))
    first = np.append(0, new + 1)
    return _just_below(ascending[first]), upper[first]


class Null(Struct, frozen=True, eq=False):
    """The distribution of the statistic when both samples have one continuous distribution."""

    n: int  # sizes
    m: int
    scores: Table | None = None  # None where the distribution is approximated

    @property
    def exact(self) -> bool:
        """Whether every order was enumerated."""
        return self.scores is not None

    def score(self, statistic: Studentised, effective: ArrayLike | None = None) -> FloatArray:
        """What orders outcomes from "X is smaller" to "X is larger" by their p-values; NaN counts as 0.

        `effective` is the smaller effective size where it is not min(n, m).
        """
        return _deviate(statistic, min(self.n, self.m) if effective is None else effective)

    def pvalue(self, score: FloatArray) -> FloatArray:
        """P[a score at least as large], at most alpha exactly from ``critical(alpha)`` on.

        A score between two that an order can have, which ties may give, is no better than the smaller one.
        """
        least = least_pvalue(self.n, self.m)
        if min(self.n, self.m) < PROVING:
            tail = np.where(np.isneginf(score), 1.0, 0.5)
        else:
            tail = np.maximum(ndtr(-score) if self.scores is None else _tail(self.scores, score), least)
        return np.where(np.isposinf(score), least, tail)

    def critical(self, alpha: float) -> float:
        """Scores from here on have a p-value of at most alpha; infinite when only separation has, if that has."""
        if min(self.n, self.m) < PROVING:
            return math.inf if alpha < 0.5 else -_LARGEST
        return normal_quantile(1.0 - alpha) if self.scores is None else _critical(self.scores, alpha)

    def quantile(self, alpha: float, df: FloatArray, effective: ArrayLike | None = None) -> FloatArray:
        """The statistic without a floor that has the risk alpha at some degrees of freedom; infinite of few."""
        if min(self.n, self.m) < PROVING:
            return np.full(np.shape(df), math.inf)
        k = _curvature(min(self.n, self.m) if effective is None else effective)
        critical = normal_quantile(1.0 - alpha)
        square = critical**2 * (1.0 - 2.0 * k * _CENTRE) / np.maximum(1.0 - 2.0 * k * critical**2, 0.1)
        z = math.copysign(1.0, critical) * np.sqrt(np.maximum(square, 0.0))
        return t_ppf(ndtr(z), df)


def _critical(table: Table, alpha: float) -> float:
    reached, tails = table
    at = int(np.searchsorted(-tails, -alpha))
    return float(reached[at]) if at < reached.size else math.inf


def _tail(table: Table, score: FloatArray) -> FloatArray:
    """The tail of the last statistic that a score reaches: at most alpha from `_critical` of alpha on."""
    reached, tails = table
    return np.asarray(tails[np.maximum(np.searchsorted(reached, score, side="right") - 1, 0)])


def _just_below(statistic: FloatArray) -> FloatArray:
    """A bound below everything that equals the statistic but for rounding."""
    finite = np.where(np.isinf(statistic), 0.0, statistic)
    return np.where(np.isinf(statistic), statistic, finite - 2.0 * _SAME * np.maximum(np.abs(finite), 1.0))


def _normal_deviate(t: FloatArray, df: FloatArray) -> FloatArray:
    """Normal deviate with the p-value of Student's t >= 0, to 0.1 % from 3 degrees on (Hill, Algorithm 395)."""
    a = df - 0.5
    b = 48.0 * a * a
    square = a * np.log1p(t * t / df)
    z = np.sqrt(square)
    first = z * (square + 3.0) / b
    second = z * (((4.0 * square + 33.0) * square + 240.0) * square + 855.0)
    return np.asarray(z + first - second / (10.0 * b * (b + 0.8 * square * square + 100.0)))


@lru_cache(maxsize=256)
def null_distribution(n: int, m: int, independent: bool) -> Null:
    """The distribution for two sizes, of 2 or more.

    It is approximated where the variance is inflated for dependence, too: orders are not equally likely then.
    """
    small = min(n, m)
    large = min(max(n, m), _TIMES * small)
    if not independent or one_order(small, large) * _MOST_ORDERS < 1.0:
        return Null(n, m)
    return Null(n, m, _tails(*_orders((1,) * (small + large), small), both=True))


@lru_cache(maxsize=256)
def most_single(fewer: int) -> int:
    """Values that equal no other from which on `tied_pvalue` knows nothing, by the size of the smaller sample."""
    return next(k for k in count() if math.comb(k, min(fewer, k // 2)) > _MOST_TIED)


@lru_cache(maxsize=4096)
def _tied(groups: tuple[int, ...], n: int) -> Table | None:
    size = sum(groups)
    # The number of compositions, which heavy ties keep small: with more groups it never falls.
    most, single = min(n, size - n), groups.count(1)
    if single >= most_single(most):
        return None
    counts = np.array([math.comb(single, k) for k in range(min(most, single) + 1)], dtype=np.float64)
    for group in groups:
        if group > 1:
            counts = np.convolve(counts, np.ones(group + 1))[: most + 1]
        if counts.max() > _MOST_TIED:
            return None
    orders = _orders(groups, n, sum(t**3 - t for t in groups) / (size**3 - size))
    return _tails(*orders, both=len(groups) == size)


def tied_pvalue(groups: tuple[int, ...], n: int, score: float) -> float:
    """P[a score at least as large] over all orders of values that tie; NaN where they are too many.

    `groups` says how many values are equal, in ascending order.
    """
    table = _tied(groups, n)
    return math.nan if table is None else float(_tail(table, np.array(score)))
