"""The two levels of Hierarchical Performance Testing, decided exactly at one speedup.

Every comparison of two scores, and of two differences of medians, is made between rational numbers: a measured
value is read as the decimal of 15 significant digits that it prints as. A double holds every such decimal, and
a rounding error of the arithmetic that made the value does not reach its digits, so that ties stay ties:
0.53 * 1.76 and 0.54 * 1.76 differ by 0.01 * 1.76, whatever the doubles say.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import groupby
from math import comb, erfc, sqrt
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, FloatArray, IntArray, NDArray
from speedproof.errors import Parameter, UsageError
from speedproof.stats.ranks import EXACT_BELOW, merged_places, rank_sum_normal, rank_sum_sd, rank_sum_tails
from speedproof.stats.scaling import unbounded
from speedproof.stats.signed_rank import SignedRank, signs_of_ranks

HptRule = Literal["exact", "paper"]
WholeArray = IntArray | NDArray[np.object_]

Printed = tuple[IntArray, IntArray]

# Chen et al. (2015), section IV-A: tables for m < 12, the normal distribution from 12.
PAPER_EXACT_BELOW = 12
_DIGITS = 15

_MOST_POWER = 308  # of ten
_LARGEST = Fraction(float(np.finfo(np.float64).max))
_SURE = 0.5 - 10**_DIGITS * float(np.finfo(np.longdouble).eps)  # a power and its product are rounded
_UNSURE = 3e-14  # relative error of a value times a speedup, with room


class Side(Struct, frozen=True, eq=False, dict=True):
    """The runs of one side on one benchmark: each different value once, as a whole number, ascending.

    Whole numbers beyond 64 bits are Python's own, in an array of objects.
    """

    values: WholeArray
    counts: IntArray
    below: IntArray  # how many runs lie below the k-th value, and at last how many there are
    rounded: FloatArray  # the values as doubles, in a unit that both sides share
    n: int  # number of runs

    @cached_property
    def lists(self) -> tuple[list[int], list[int], list[int]]:
        """Values, counts and how many lie below each, for loops."""
        return self.values.tolist(), self.counts.tolist(), self.below.tolist()

    @cached_property
    def ties(self) -> int:
        """Sum of t^3 - t over groups of t equal runs."""
        sizes, groups = np.unique(self.counts, return_counts=True)
        return sum(k * (t**3 - t) for t, k in zip(sizes.tolist(), groups.tolist(), strict=True))

    def middle(self) -> list[int]:
        """The one or two values that make the median."""
        middle = [self.n // 2] if self.n % 2 else [self.n // 2 - 1, self.n // 2]
        return [int(self.values[self.below.searchsorted(run, "right") - 1]) for run in middle]

    def median(self, unit: Fraction = Fraction(1)) -> Fraction:
        """Of the whole numbers, times a unit."""
        middle = self.middle()
        return Fraction(sum(middle) * unit.numerator, len(middle) * unit.denominator)


class Duel(Struct, frozen=True, eq=False):
    """The runs of A and B on one benchmark, as exact numbers.

    A's run k beats B's run l at speedup g exactly when ``upper[.] > g * lower[.]``. For scores ``upper`` holds
    A's; for costs, such as times, it holds B's. ``level`` is the risk of the rank-sum test, None when there are
    too few runs for it ever to reject.

    Of scores that are given ``a`` and ``b`` are the medians, and what is ranked at speedup g is a - g b. Else, for
    r the ratio of the medians, they are r and 1 / r, and what is ranked is r - g^2 / r: over g it grows with the
    logarithm of r / g, and only changes its sign when A and B change places, so that neither is favoured.
    """

    upper: Side
    lower: Side
    a: Fraction
    b: Fraction
    level: float | None
    power: int = 1  # of the speedup, where it stands as a ``factor`` of ``b``

    def reversed(self) -> Duel:
        """The same runs with A and B changing places."""
        return Duel(self.lower, self.upper, self.b, self.a, self.level, self.power)

    def exact(self, rule: HptRule) -> bool:
        """Whether the rank-sum test counts splits, or takes the normal distribution."""
        most = max(self.upper.n, self.lower.n)
        return most < (EXACT_BELOW if rule == "exact" else PAPER_EXACT_BELOW)


class Level1(Struct, frozen=True):
    """What one benchmark says at one speedup."""

    # 1 when A is significantly better, -1 when B is, 0 for a tie; for too few runs the sign of ``d``
    state: int
    d: Fraction  # difference of the medians of the scores; 0 for a tie
    pvalue_a: float  # of the rank-sum test in either direction; NaN when it was skipped
    pvalue_b: float
    conflict: bool  # the test accepts one direction and the medians say the other


def decimal(value: float) -> Fraction:
    """Read a double as the decimal of 15 significant digits that it prints as."""
    return Fraction(format(value, f".{_DIGITS}g"))


def _sides(a: ArrayLike, b: ArrayLike, printed: Printed | None) -> tuple[Side, Side, Fraction]:
    """Both samples in whole numbers of one unit, and that unit."""
    given = [np.asarray(side, dtype=np.float64).ravel() for side in (a, b)]
    digits, powers = printed or printed_digits(np.concatenate(given))
    least = int(powers.min())
    fits = int(digits.max()) * 10 ** (int(powers.max()) - least) < 1 << 63
    kind: type[Any] = np.int64 if fits else np.object_
    every = digits.astype(kind) * 10 ** (powers - least).astype(kind)
    common = int(np.gcd.reduce(every))
    every //= common
    unit = 1 if (most := int(every.max())) < 1 << 63 else most
    every, n = every.astype(np.int64 if unit == 1 else np.object_, copy=False), given[0].size
    exact = common * Fraction(10) ** least
    return _side(every[:n], unit), _side(every[n:], unit), exact


def _side(whole: WholeArray, unit: int) -> Side:
    """Runs as whole numbers, which are sorted, and as doubles in a unit: 1 while they fit into 64 bits."""
    whole.sort()
    ends = (whole[1:] != whole[:-1]).nonzero()[0]
    below = np.zeros(ends.size + 2, dtype=np.int64)
    below[1:-1], below[-1] = ends + 1, whole.size
    values = whole[below[1:] - 1]
    rounded = np.asarray(values / unit, dtype=np.float64)
    return Side(values, below[1:] - below[:-1], below, rounded, whole.size)


def printed_digits(values: FloatArray) -> Printed:
    """The 15 digits that positive doubles print as, as whole numbers, and their powers of ten."""
    powers = np.floor(np.log10(values)).astype(np.int64) - (_DIGITS - 1)
    least, most = int(powers.min()), int(powers.max())
    # A long double may be a double: without its largest powers very small values are not sure below.
    scales = np.array([_power_of_ten(min(-power, _MOST_POWER)) for power in range(least, most + 1)])
    scaled = values * scales[powers - least]
    whole = np.rint(scaled)
    digits = whole.astype(np.int64)
    # The logarithm may be that of the next power of ten.
    sure = (np.abs(scaled - whole) < _SURE) & (scaled > 10 ** (_DIGITS - 1)) & (whole <= 10**_DIGITS)
    for i in (~sure).nonzero()[0].tolist():
        mantissa, power = format(float(values[i]), f".{_DIGITS - 1}e").split("e")
        digits[i], powers[i] = int(mantissa.replace(".", "")), int(power) - _DIGITS + 1
    return digits, powers


@lru_cache(maxsize=1024)
def _power_of_ten(power: int) -> np.longdouble:
    return np.longdouble(f"1e{power}")


def duel_of(
    upper: ArrayLike,
    lower: ArrayLike,
    *,
    level: float | None = None,
    printed: Printed | None = None,
    given: bool = False,
) -> Duel:
    """Prepare positive values, of A over those of B: scores, or costs of B over those of A.

    They may be ``given`` as scores, whose differences count, not their ratios. What :func:`printed_digits` says of
    both, one after the other, may be known.
    """
    over, under, unit = _sides(upper, lower, printed)
    a, b = over.median(unit), under.median(unit)
    if not given:
        a, b = a / b, b / a
    return Duel(over, under, a, b, _level(over.n, under.n, level), 1 if given else 2)


def _level(n: int, m: int, level: float | None) -> float | None:
    """By default the article's risk within a benchmark: 0.05 from five runs, 0.10 below (section IV-A)."""
    if level is not None and not 0 < level < 0.5:
        raise UsageError(Parameter("alpha_benchmark", level), ": expected a risk between 0 and 0.5")
    # n against m runs can never make the rank-sum test reject at 0.10: one or two each.
    if n + m < 10 and comb(n + m, n) < 10:
        return None
    return level or (0.05 if min(n, m) >= 5 else 0.10)


def within_benchmark(duel: Duel, factor: Fraction, rule: HptRule, *, literal: bool = False) -> Level1:
    """First level: the rank-sum test of A's scores against B's times a speedup, of which this is the power."""
    d = duel.a - factor * duel.b
    sign = (d > 0) - (d < 0)
    if duel.level is None:
        return Level1(sign, d, float("nan"), float("nan"), False)
    state, p_a, p_b = tested_state(duel, factor, rule)
    conflict = state * sign < 0
    if state == 0 or (conflict and not literal):
        d = Fraction(0)
    return Level1(state, d, p_a, p_b, conflict)


def tested_state(duel: Duel, factor: Fraction, rule: HptRule) -> tuple[int, float, float]:
    """The rank-sum test by itself: 1, -1 or 0 as A is better, B is, or neither; and both p-values."""
    assert duel.level is not None
    p_a, p_b = _rank_sum(duel, factor, rule)
    return 1 if p_a <= duel.level else -1 if p_b <= duel.level else 0, p_a, p_b


def _rank_sum(duel: Duel, factor: Fraction, rule: HptRule) -> tuple[float, float]:
    n, m = duel.upper.n, duel.lower.n
    if duel.exact(rule):
        twice_u, groups = merged(duel, factor)
        if rule == "exact":
            at_least, at_most = rank_sum_tails(groups, n)
            return float(at_least[twice_u]), float(at_most[twice_u])
        # A table has neither ties nor half-integers: read against significance.
        table, _ = rank_sum_tails((1,) * (n + m), n)
        return float(table[twice_u - twice_u % 2]), float(table[2 * n * m - twice_u - twice_u % 2])
    twice_u, beaten, met = pairs_won(duel, factor)
    if rule == "exact":
        # p runs of one side that equal q of the other add 3 p q (p + q) to the sum of t^3 - t.
        both = duel.upper.counts[met] * (m + 1) + duel.lower.counts[beaten[met]]
        joined = zip(*(part.tolist() for part in np.unique(both, return_counts=True)), strict=True)
        parts = (3 * k * p * q * (p + q) for code, k in joined for p, q in [divmod(code, m + 1)])
        ties = duel.upper.ties + duel.lower.ties + sum(parts)
        sd, centred = rank_sum_sd(n, m, np.asarray(float(ties))), (twice_u - n * m) / 2
        return float(rank_sum_normal(np.asarray(centred), sd)), float(
            rank_sum_normal(np.asarray(-centred), sd)
        )
    z = (twice_u / 2 - n * m / 2) / sqrt(n * m * (n + m + 1) / 12)
    return 0.5 * erfc(z / sqrt(2)), 0.5 * erfc(-z / sqrt(2))


def pairs_won(duel: Duel, factor: Fraction) -> tuple[int, IntArray, IntArray]:
    """Twice the number of pairs that A wins, ties counting one half.

    Also how many of B's different values lie below each of A's, and which of A's meet one of B's.
    """
    upper, lower, power = duel.upper, duel.lower, duel.power
    # In doubles first: what is nearer than their error is decided in whole numbers.
    reach = unbounded(np.multiply, upper.rounded, float(min(1 / factor, _LARGEST)) ** (1 / power))
    beaten, upto = (
        merged_places(lower.rounded[None], (reach * (1 + side * _UNSURE))[None], x_first=side > 0)[1][0]
        for side in (-1, 1)
    )
    unsure = np.flatnonzero(upto > beaten)
    equal = np.zeros(upper.values.size, dtype=bool)
    top, bottom = factor.denominator, factor.numerator
    largest = max(int(upper.values[-1]) ** power * top, int(lower.values[-1]) ** power * bottom)
    whole = np.int64 if largest < 2**63 else np.object_
    reached, steps = (side.values.astype(whole) for side in (upper, lower))
    reached, steps = reached[unsure] ** power * top, steps**power * bottom
    beaten[unsure] = np.searchsorted(steps, reached, "left")
    equal[unsure] = steps[np.minimum(beaten[unsure], steps.size - 1)] == reached
    met = np.flatnonzero(equal)
    won = 2 * lower.below[beaten]
    won[met] += lower.counts[beaten[met]]
    return int((upper.counts * won).sum()), beaten, met


def merged(duel: Duel, factor: Fraction) -> tuple[int, tuple[int, ...]]:
    """Twice the pairs that A wins, and the sizes of the groups of equal values of both sides, ascending.

    Of few runs, for which lists are faster than arrays.
    """
    top, bottom, power = factor.denominator, factor.numerator, duel.power
    (ups, of_ups, _), (lows, of_lows, below) = duel.upper.lists, duel.lower.lists
    lows = [value**power * bottom for value in lows]
    won = low = 0
    sizes: list[int] = []
    for up, count in zip(ups, of_ups, strict=True):
        up = up**power * top
        at = bisect_left(lows, up, low)
        sizes += of_lows[low:at]
        met = of_lows[at] if at < len(lows) and lows[at] == up else 0
        won += count * (2 * below[at] + met)
        sizes.append(count + met)
        low = at + (met > 0)
    return won, (*sizes, *of_lows[low:])


def across_benchmarks(differences: Sequence[Fraction | int], rule: HptRule) -> SignedRank:
    """Second level: the signed-rank test of the differences, ties decided exactly."""
    return across_quotients([d.numerator for d in differences], [d.denominator for d in differences], rule)


def across_quotients(tops: Sequence[int], bottoms: Sequence[int], rule: HptRule) -> SignedRank:
    """The same of differences that are quotients of whole numbers."""
    return signs_of_ranks(*ranked_quotients(tops, bottoms), "conditional" if rule == "exact" else "table")


def ranked_quotients(tops: Sequence[int], bottoms: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Twice the mid-ranks of their sizes, and their signs."""
    sizes = [_rounded(abs(top), bottom) for top, bottom in zip(tops, bottoms, strict=True)]
    # Quotients that are one to doubles may differ; of different doubles the order is that of the quotients.
    shared = Counter(sizes)
    keys = [
        (size, Fraction(abs(top), bottom) if top and shared[size] > 1 else 0)
        for size, top, bottom in zip(sizes, tops, bottoms, strict=True)
    ]
    doubled, upto = [0] * len(keys), 0
    for _, group in groupby(sorted(range(len(keys)), key=keys.__getitem__), keys.__getitem__):
        alike = list(group)
        upto += len(alike)
        for at in alike:
            doubled[at] = 2 * upto - len(alike) + 1
    return np.array(doubled), np.array([(top > 0) - (top < 0) for top in tops])


def _rounded(top: int, bottom: int) -> float:
    try:
        return top / bottom
    except OverflowError:
        return float("inf")
