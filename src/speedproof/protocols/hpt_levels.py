"""The two levels of Hierarchical Performance Testing, decided exactly at one speedup.

Every comparison of two scores, and of two differences of medians, is made between rational numbers: a measured
value is read as the decimal of 15 significant digits that it prints as. A double holds every such decimal, and
a rounding error of the arithmetic that made the value does not reach its digits, so that ties stay ties:
0.53 * 1.76 and 0.54 * 1.76 differ by 0.01 * 1.76, whatever the doubles say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, erfc, sqrt
from typing import Literal

import numpy as np

from speedproof.stats.conditional_rank_sum import EXACT_BELOW, normal_pvalue, rank_sum_tails
from speedproof.stats.signed_rank import SignedRank, signed_rank

__all__ = [
    "PAPER_EXACT_BELOW",
    "Duel",
    "HptRule",
    "Level1",
    "across_benchmarks",
    "cost_duel",
    "decimal",
    "score_duel",
    "tested_state",
    "too_few_runs",
    "usual_level",
    "within_benchmark",
]

HptRule = Literal["exact", "paper"]

PAPER_EXACT_BELOW = (
    12  # Chen et al. (2015), section IV-A: tables for m < 12, the normal distribution from 12.
)
_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Duel:
    """The runs of A and B on one benchmark, as exact numbers.

    Attributes
    ----------
    upper, lower : tuple of int
        A's run k beats B's run l at speedup g exactly when ``upper[.] > g * lower[.]``. For scores ``upper``
        holds A's; for costs, such as times, it holds B's.
    a, b : Fraction
        Medians of the scores of A and of B.
    level : float or None
        Risk of the rank-sum test; None when there are too few runs for it ever to reject.
    """

    upper: tuple[int, ...]
    lower: tuple[int, ...]
    a: Fraction
    b: Fraction
    level: float | None

    def reversed(self) -> Duel:
        """The same runs with A and B changing places."""
        return Duel(self.lower, self.upper, self.b, self.a, self.level)

    def exact(self, rule: HptRule) -> bool:
        """Whether the rank-sum test counts splits, or takes the normal distribution."""
        most = max(len(self.upper), len(self.lower))
        return most < (EXACT_BELOW if rule == "exact" else PAPER_EXACT_BELOW)


@dataclass(frozen=True, slots=True)
class Level1:
    """What one benchmark says at one speedup.

    Attributes
    ----------
    state : int
        1 when A is significantly better, -1 when B is, 0 for a tie; for too few runs the sign of ``d``.
    d : Fraction
        Difference of the medians of the scores; 0 for a tie.
    pvalue_a, pvalue_b : float
        Of the rank-sum test in either direction; NaN when it was skipped.
    conflict : bool
        The test accepts one direction and the medians say the other.
    """

    state: int
    d: Fraction
    pvalue_a: float
    pvalue_b: float
    conflict: bool


def decimal(value: float) -> Fraction:
    """Read a double as the decimal of 15 significant digits that it prints as.

    Examples
    --------
    >>> decimal(1.76), decimal(0.1 + 0.2)
    (Fraction(44, 25), Fraction(3, 10))
    """
    return Fraction(format(value, f".{_DIGITS}g"))


def _whole(values: Sequence[float]) -> tuple[list[int], int]:
    """Decimals as whole numbers of ten to a common power."""
    given = np.asarray(values, dtype=np.float64)
    for places in range(_DIGITS + 1):  # the common case, at once: decimals of few places
        whole = np.rint(given * 10.0**places)
        if not np.abs(whole).max(initial=0.0) < 10.0**_DIGITS:
            break
        # Of at most 15 digits, so it is the decimal that the double prints as when it rounds to it.
        if np.array_equal(whole / 10.0**places, given):
            return whole.astype(np.int64).tolist(), -places
    mantissas, exponents = [], []
    for value in values:
        digits, _, exponent = format(value, f".{_DIGITS - 1}e").partition("e")
        mantissas.append(int(digits.replace(".", "")))
        exponents.append(int(exponent) - _DIGITS + 1)
    least = min(exponents)
    return [m * 10 ** (e - least) for m, e in zip(mantissas, exponents, strict=True)], least


def _middle(values: Sequence[int]) -> list[int]:
    """The one or two values that make the median."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]


def _median(values: Sequence[int]) -> Fraction:
    middle = _middle(values)
    return Fraction(sum(middle), len(middle))


def usual_level(n: int, m: int) -> float:
    """The article's risk within a benchmark: 0.05 from five runs, 0.10 below (section IV-A)."""
    return 0.05 if min(n, m) >= 5 else 0.10


def too_few_runs(n: int, m: int) -> bool:
    """Whether n against m runs can never make the rank-sum test reject at 0.10: one or two each.

    Examples
    --------
    >>> too_few_runs(2, 2), too_few_runs(3, 3), too_few_runs(2, 3)
    (True, False, False)
    """
    return n + m < 10 and comb(n + m, n) < 10


def score_duel(
    a: Sequence[float], b: Sequence[float], *, level: float | None = None, relative: bool = False
) -> Duel:
    """Prepare scores, higher is better.

    Parameters
    ----------
    a, b : sequence of float
        Positive scores of A and B.
    level : float, optional
        Risk of the rank-sum test; :func:`usual_level` by default.
    relative : bool
        Divide all scores by B's median.
    """
    whole, exponent = _whole([*a, *b])
    upper, lower = whole[: len(a)], whole[len(a) :]
    top, bottom = _median(upper), _median(lower)
    unit = 1 / bottom if relative else Fraction(10) ** exponent
    return Duel(tuple(upper), tuple(lower), top * unit, bottom * unit, _level(a, b, level))


def cost_duel(a: Sequence[float], b: Sequence[float], *, level: float | None = None) -> Duel:
    """Prepare costs, lower is better: the score of a run is B's median cost over its own.

    Parameters
    ----------
    a, b : sequence of float
        Positive costs of A and B.
    level : float, optional
        Risk of the rank-sum test; :func:`usual_level` by default.
    """
    whole, _ = _whole([*a, *b])
    own, other = whole[: len(a)], whole[len(a) :]
    unit = _median(other)
    return Duel(
        tuple(other),
        tuple(own),
        _median_score(unit, own),
        _median_score(unit, other),
        _level(a, b, level),
    )


def _median_score(unit: Fraction, costs: Sequence[int]) -> Fraction:
    """Median of ``unit / cost``; for an even number of runs that is not ``unit`` over the median cost."""
    middle = _middle(costs)
    return sum((unit / cost for cost in middle), Fraction(0)) / len(middle)


def _level(a: Sequence[float], b: Sequence[float], level: float | None) -> float | None:
    if too_few_runs(len(a), len(b)):
        return None
    return usual_level(len(a), len(b)) if level is None else level


def within_benchmark(duel: Duel, speedup: Fraction, rule: HptRule, *, literal: bool = False) -> Level1:
    """First level: the rank-sum test of A's scores against B's times a speedup.

    Parameters
    ----------
    duel : Duel
        One benchmark.
    speedup : Fraction
        Positive.
    rule : {"exact", "paper"}
        The null distributions, see :func:`speedproof.protocols.hpt.hpt`.
    literal : bool
        Keep the difference of medians when the test accepts the other direction.
    """
    d = duel.a - speedup * duel.b
    sign = (d > 0) - (d < 0)
    if duel.level is None:
        return Level1(sign, d, float("nan"), float("nan"), False)
    state, p_a, p_b = tested_state(duel, speedup, rule)
    conflict = state * sign < 0
    if state == 0 or (conflict and not literal):
        d = Fraction(0)
    return Level1(state, d, p_a, p_b, conflict)


def tested_state(duel: Duel, speedup: Fraction, rule: HptRule) -> tuple[int, float, float]:
    """The rank-sum test by itself: 1, -1 or 0 as A is better, B is, or neither; and both p-values.

    Parameters
    ----------
    duel : Duel
        One benchmark, with enough runs to test.
    speedup, rule
        As for :func:`within_benchmark`.
    """
    assert duel.level is not None
    p_a, p_b = _rank_sum(duel, speedup, rule)
    return 1 if p_a <= duel.level else -1 if p_b <= duel.level else 0, p_a, p_b


def _rank_sum(duel: Duel, speedup: Fraction, rule: HptRule) -> tuple[float, float]:
    n, m = len(duel.upper), len(duel.lower)
    twice_u, sizes = _wins(duel, speedup)
    if rule == "exact":
        if duel.exact(rule):
            tails = rank_sum_tails(tuple(sizes), n)
            return float(tails.at_least[twice_u]), float(tails.at_most[twice_u])
        ties = sum(size**3 - size for size in sizes)
        return normal_pvalue(twice_u / 2, n, m, ties), normal_pvalue(n * m - twice_u / 2, n, m, ties)
    if duel.exact(rule):
        # A table has neither ties nor half-integers: read against significance.
        table = rank_sum_tails((1,) * (n + m), n).at_least
        return float(table[twice_u - twice_u % 2]), float(table[2 * n * m - twice_u - twice_u % 2])
    z = (twice_u / 2 - n * m / 2) / sqrt(n * m * (n + m + 1) / 12)
    return 0.5 * erfc(z / sqrt(2)), 0.5 * erfc(-z / sqrt(2))


def _wins(duel: Duel, speedup: Fraction) -> tuple[int, list[int]]:
    """Twice the number of pairs that A wins, ties counting one half, and the sizes of groups of equal values."""
    largest = max(
        max(map(abs, duel.upper)) * speedup.denominator, max(map(abs, duel.lower)) * speedup.numerator
    )
    exact = np.int64 if largest < 2**63 else np.object_
    upper = np.array(duel.upper, dtype=exact) * speedup.denominator
    lower = np.sort(np.array(duel.lower, dtype=exact) * speedup.numerator)
    before, upto = (np.searchsorted(lower, upper, side).sum() for side in ("left", "right"))
    counts = np.unique(np.concatenate([upper, lower]), return_counts=True)[1]
    return int(before) + int(upto), counts.tolist()


def across_benchmarks(differences: Sequence[Fraction | int], rule: HptRule) -> SignedRank:
    """Second level: the signed-rank test of the differences, ties decided exactly.

    Parameters
    ----------
    differences : sequence of Fraction or of int
        One a benchmark, 0 for a tie; at least one.
    rule : {"exact", "paper"}
        The null distributions, see :func:`speedproof.protocols.hpt.hpt`.
    """
    sizes: list[Fraction | int] = [d if d >= 0 else -d for d in differences]
    codes = [0] * len(sizes)
    code, last = 0, sizes[0] * 0
    for at in sorted(range(len(sizes)), key=lambda i: sizes[i]):
        code += sizes[at] != last
        last = sizes[at]
        codes[at] = code if differences[at] > 0 else -code
    return signed_rank(codes, rule="conditional" if rule == "exact" else "table")
