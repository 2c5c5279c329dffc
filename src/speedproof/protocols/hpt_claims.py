"""What a claim about a whole suite is worth: the confidence that HPT has in a speedup, whoever states it.

Section IV-B of the article, read the other way round: not the speedup at a confidence, but the confidence at a
speedup. Tables IV to VI put the geometric mean and the t test to that question. Their speedups are single
numbers; the *confidence loss* is how far the confidence in them lies from the one asked for, the *speedup error*
how far they lie from the speedup that HPT certifies. Both are relative: .18 for .95 is a loss of -81.1 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.errors import UsageError
from speedproof.protocols.hpt import HptEntry, duels_of
from speedproof.protocols.hpt_levels import HptRule, decimal
from speedproof.protocols.hpt_speedup import confidence_at, r_speedup
from speedproof.stats.estimate import alpha_at
from speedproof.stats.special import t_quantile, t_sf


class HptClaim(Struct, frozen=True):
    """A speedup of the winner over the other side, and what HPT thinks of it."""

    method: str  # who states it: ``"asked"``, ``"geometric mean"`` or ``"paired t"``
    speedup: float | None  # the speedup; None where the t test does not reject equality
    confidence: float  # of HPT, that the winner is more than so much faster; NaN without a speedup
    loss: float  # ``confidence`` over the confidence asked for, less one; negative where it falls short
    # Speedup over the one that HPT certifies at the confidence asked for, less one; NaN where there is none
    error: float


class HptClaims(Struct, frozen=True):
    """Claims about a suite at one confidence."""

    confidence: float  # the confidence asked for, r
    candidate_wins: bool  # whether the speedups are the candidate's over the reference; else the reverse
    certified: float | None  # HPT's r-speedup; None when even a factor of 1 fails
    # One minus the p-value of the one-sided paired t test of the median scores, for the winner; NaN for one
    # benchmark
    t_confidence: float
    t_certified: float  # the same for the speedup that HPT certifies; NaN where there is none
    claims: tuple[HptClaim, ...]  # the geometric mean's, the t test's, and those that were asked for


def claims(
    entries: Sequence[HptEntry],
    *,
    alpha: float,
    speedups: Sequence[float] = (),
    rule: HptRule = "exact",
    literal_signs: bool,
) -> HptClaims:
    """Put the geometric mean, the paired t test and any speedups of interest to HPT.

    Both rivals are given the medians of the runs' scores, as HPT's second level is. The geometric mean is that
    of the ratios; the t test's speedup is the largest factor by which the other side's scores can be multiplied
    and the winner's still exceed them at risk alpha = 1 - r.
    """
    confidence = alpha_at(alpha)
    duels = duels_of(entries, [confidence])
    for speedup in speedups:
        if not 0 < speedup < math.inf:
            raise UsageError(f"speedups={speedup}: expected factors, positive and finite")
    turned = [duel.reversed() for duel in duels]
    of_candidate, of_reference = (
        confidence_at(sides, Fraction(1), rule, literal=literal_signs) for sides in (duels, turned)
    )
    candidate_wins = of_candidate >= of_reference
    ahead = duels if candidate_wins else turned
    (found,) = r_speedup(ahead, [confidence], rule, literal=literal_signs)

    def claim(method: str, speedup: float | None) -> HptClaim:
        if speedup is None:
            return HptClaim(method, None, math.nan, math.nan, math.nan)
        reached = confidence_at(ahead, decimal(speedup), rule, literal=literal_signs)
        error = math.nan if found.certified is None else relative(speedup, found.certified)
        return HptClaim(method, speedup, reached, relative(reached, confidence), error)

    # In units of the largest, since medians that were given may be of any size; t does not depend on the unit.
    unit = max(median for d in ahead for median in (d.a, d.b))
    a, b = (
        np.array([float(side / unit) for side in sides])
        for sides in zip(*((d.a, d.b) for d in ahead), strict=True)
    )
    t_confidence, t_speedup = paired_t(a, b, alpha)
    t_certified = math.nan if found.certified is None else paired_t(a, found.certified * b, alpha)[0]
    # Of exact ratios, by their whole numbers.
    ratios = [d.a / d.b for d in ahead]
    logs = [math.log(ratio.numerator) - math.log(ratio.denominator) for ratio in ratios]
    return HptClaims(
        confidence=confidence,
        candidate_wins=candidate_wins,
        certified=found.certified,
        t_confidence=t_confidence,
        t_certified=t_certified,
        claims=(
            claim("geometric mean", math.exp(math.fsum(logs) / len(logs))),
            claim("paired t", t_speedup),
            *(claim("asked", speedup) for speedup in speedups),
        ),
    )


def relative(value: float, expected: float) -> float:
    """How far a value lies from what was expected, as a share of it."""
    return value / expected - 1


def paired_t(a: npt.ArrayLike, b: npt.ArrayLike, alpha: float) -> tuple[float, float | None]:
    """The one-sided paired t test of A's scores against B's, and the speedup that it certifies."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    n = x.size
    if n < 2:
        return math.nan, None

    def statistic(factor: float) -> float:
        d = x - factor * y
        error = float(d.std(ddof=1)) / math.sqrt(n)
        mean = float(d.mean())
        return mean / error if error > 0 else math.copysign(math.inf, mean) if mean else 0.0

    at_one = statistic(1.0)
    critical = t_quantile(1 - alpha, n - 1)
    reached = 1.0 - float(t_sf(at_one, n - 1)) if math.isfinite(at_one) else float(at_one > 0)
    if at_one < critical:
        return reached, None
    passes, fails = 1.0, float(x.mean() / y.mean())  # where the statistic is 0
    while True:
        middle = 0.5 * (passes + fails)
        if not passes < middle < fails:
            return reached, passes
        passes, fails = (middle, fails) if statistic(middle) >= critical else (passes, middle)
