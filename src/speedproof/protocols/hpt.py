"""Hierarchical Performance Testing: whether one version outperforms another over a whole suite.

Two levels of rank tests, free of any assumption of normality: within each benchmark the rank-sum test decides
whether the runs differ at all; across the benchmarks the signed-rank test weighs the differences of medians
that are left. The result is a confidence for each direction, and the r-speedup: the largest factor by which
the winner still wins with confidence r.

T. Chen, Q. Guo, O. Temam, Y. Wu, Y. Bao, Z. Xu, Y. Chen: "Statistical performance comparisons of computers",
IEEE Transactions on Computers 64 (2015), published online in 2014; sections IV-A (confidence) and IV-B
(speedup).

Section IV-B is read the other way round, too: not the speedup at a confidence, but the confidence at a speedup,
whoever states it. Tables IV to VI put the geometric mean and the t test to that question. The *confidence loss* is
how far the confidence in their speedups lies from the one asked for, the *speedup error* how far these lie from
the speedup that HPT certifies. Both are relative: .18 for .95 is a loss of -81.1 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from shlex import quote
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike
from speedproof.data.names import enumerate_names
from speedproof.data.sample import Sample
from speedproof.data.suite import Pair
from speedproof.errors import DataError, Parameter
from speedproof.protocols import hpt_levels as levels
from speedproof.protocols.hpt_levels import Duel, HptRule
from speedproof.protocols.hpt_speedup import confidence_at, r_speedup
from speedproof.protocols.results import Hpt, HptBenchmark, RSpeedup, Winner
from speedproof.protocols.units import typical_units
from speedproof.stats.estimate import alpha_at
from speedproof.stats.scaling import MOST_APART
from speedproof.stats.special import halved, t_quantile, t_sf

CONFIDENCES = (0.95, 0.99)
RELATIVE, AS_GIVEN = "ratios of the two versions", "as given"


class HptEntry(NamedTuple):
    """A benchmark ready to be tested, the candidate as A."""

    name: str
    duel: Duel
    candidate_runs: int
    reference_runs: int


def entries_of_pairs(
    pairs: Sequence[Pair], level: float | None = None, *, given: bool = False
) -> list[HptEntry]:
    """Benchmarks by the ratios of both versions, so that every benchmark and both directions count alike.

    Ranking absolute seconds lets the benchmark with the longest times decide; ranking differences relative to
    one version favours the other, as 1.5 is farther from 1 than 1 / 1.5. Values that are ``given`` as scores are
    taken as they are, higher is better: the article's own input, ratios to a third machine such as SPEC ratios.
    These must be comparable between benchmarks; times or rates are not.
    """
    units: list[tuple[str, Sample, Sample]] = []
    for pair in pairs:
        name = pair.key.benchmark
        if (pair.reference.unit, pair.reference.direction) != (pair.candidate.unit, pair.candidate.direction):
            raise DataError(f"{name}: the samples have two units or directions")
        x, y = typical_units((pair.reference, pair.candidate))
        ends = [(float(sample.values.min()), float(sample.values.max())) for sample in (x, y)]
        for (least, most), sample in zip(ends, (x, y), strict=True):
            if not 0 < least <= most < math.inf:
                raise _not_positive(name, sample)
        if min(ends)[0] < max(most for _, most in ends) / MOST_APART:
            raise DataError(
                f"{name}: its values differ so much in size that no unit can hold them together; leave the "
                "benchmark out"
            )
        units.append((name, x, y))
    if not units:
        return []
    # All digits at once: of a few values at a time the calls cost more than the work.
    sides = [(y, x) if given or x.higher_is_better else (x, y) for _, x, y in units]
    digits, powers = levels.printed_digits(np.concatenate([side.values for both in sides for side in both]))
    entries, start = [], 0
    for (name, x, y), (upper, lower) in zip(units, sides, strict=True):
        of = slice(start, start + y.n + x.n)
        start, printed = of.stop, (digits[of], powers[of])
        duel = levels.duel_of(upper.values, lower.values, level=level, printed=printed, given=given)
        entries.append(HptEntry(name, duel, y.n, x.n))
    return entries


def _not_positive(name: str, sample: Sample) -> DataError:
    values, place = sample.values, f" ({sample.source})" if sample.source else ""
    at = int(np.argmin((values > 0) & np.isfinite(values)))
    return DataError(
        f"{name}, {sample.label}{place}: value {at + 1} of {values.size} is {values[at]:g}, but a score needs "
        "positive values; leave the benchmark out (",
        Parameter("skip", name, f"skip {quote(name)}"),
        ") or measure it in a finer unit",
    )


def hpt(
    entries: Sequence[HptEntry],
    confidences: Sequence[float] = CONFIDENCES,
    *,
    rule: HptRule = "exact",
    literal_signs: bool = False,
    scores: str = RELATIVE,
) -> Hpt:
    """Compare two versions over a suite; ``scores`` says which they are, for the report."""
    if not entries:
        raise DataError(
            "no benchmark was measured on both sides; Hierarchical Performance Testing needs some"
        )
    for r in confidences:
        if 1 - r == 1:
            raise DataError(f"a confidence of {r:g} is too close to 0")
    literal, duels = literal_signs, [entry.duel for entry in entries]
    rows = [levels.within_benchmark(duel, Fraction(1), rule, literal=literal) for duel in duels]
    across = levels.across_benchmarks([row.d for row in rows], rule)
    p, q = across.pvalue_positive, across.pvalue_negative
    better = Winner.CANDIDATE if p < q else Winner.REFERENCE if q < p else Winner.TIE
    ahead = [duel.reversed() for duel in duels] if better is Winner.REFERENCE else duels
    speedups = r_speedup(ahead, confidences, rule, literal=literal, at_one=min(p, q))
    benchmarks = tuple(
        HptBenchmark(
            benchmark=entry.name,
            winner=(Winner.TIE, Winner.CANDIDATE, Winner.REFERENCE)[row.state],
            difference=float(row.d),
            rank=rank,
            pvalue_candidate=row.pvalue_a,
            pvalue_reference=row.pvalue_b,
            level=entry.duel.level,
            reference_runs=entry.reference_runs,
            candidate_runs=entry.candidate_runs,
            conflict=row.conflict,
        )
        for entry, row, rank in zip(entries, rows, across.ranks.tolist(), strict=True)
    )
    return Hpt(
        benchmarks=benchmarks,
        rank_sum_candidate=across.positive,
        rank_sum_reference=across.negative,
        pvalue_candidate=p,
        pvalue_reference=q,
        winner=better,
        confidence=1 - min(p, q),
        speedups=speedups,
        scores=scores,
        method=f"rank-sum: {_first_method(duels, rule)}; signed-rank: {across.method}",
        notes=tuple(_notes(benchmarks, speedups, literal)),
    )


def _first_method(duels: Sequence[Duel], rule: HptRule) -> str:
    exact = "exact, conditional on ties" if rule == "exact" else "exact table"
    normal = "normal, corrected for ties and continuity" if rule == "exact" else "normal"
    kinds = dict.fromkeys(exact if duel.exact(rule) else normal for duel in duels if duel.level is not None)
    return " or ".join(kinds) if kinds else "not used"


def _notes(benchmarks: Sequence[HptBenchmark], speedups: Sequence[RSpeedup], literal: bool) -> list[str]:
    notes = []
    if untested := [row.benchmark for row in benchmarks if row.level is None]:
        notes.append(
            f"too few runs to test within {enumerate_names(untested, 3)}: the difference of medians was taken as "
            "it is; measure each version at least three times"
        )
    if conflicts := [row.benchmark for row in benchmarks if row.conflict]:
        treated = "was kept all the same" if literal else "so it counts as a tie"
        notes.append(
            f"the medians contradict the rank-sum test in {enumerate_names(conflicts, 3)}: the difference "
            f"{treated}"
        )
    if out_of_reach := [s.confidence for s in speedups if 1 - 2.0 ** -len(benchmarks) < s.confidence]:
        fewest = math.ceil(-math.log2(1 - min(out_of_reach)) - 1e-9)
        notes.append(
            f"with {len(benchmarks)} benchmark{'s' if len(benchmarks) > 1 else ''} the confidence cannot "
            f"exceed {1 - 2.0 ** -len(benchmarks):.4g}; "
            f"{min(out_of_reach):g} takes at least {fewest}"
        )
    notes += [
        f"at confidence {s.confidence:g} speedups between {s.certified:.6g} and {s.supremum:.6g} partly fail: "
        "only the former is certified"
        for s in speedups
        if s.certified != s.supremum and s.certified is not None and s.supremum is not None
    ]
    return notes


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
    answer: Hpt,
    *,
    speedups: Sequence[float] = (),
    rule: HptRule = "exact",
    literal_signs: bool,
) -> HptClaims:
    """Put the geometric mean, the paired t test and any speedups of interest to HPT, beside its first r-speedup.

    Both rivals are given the medians of the runs' scores, as HPT's second level is. The geometric mean is that
    of the ratios; the t test's speedup is the largest factor by which the other side's scores can be multiplied
    and the winner's still exceed them at risk alpha = 1 - r.
    """
    proven, candidate_wins = answer.speedups[0], answer.winner is not Winner.REFERENCE
    confidence, alpha = proven.confidence, alpha_at(proven.confidence)
    ahead = [entry.duel if candidate_wins else entry.duel.reversed() for entry in entries]
    power = ahead[0].power

    def claim(method: str, speedup: float | None) -> HptClaim:
        if speedup is None:
            return HptClaim(method, None, math.nan, math.nan, math.nan)
        reached = confidence_at(ahead, levels.decimal(speedup) ** power, rule, literal=literal_signs)
        error = math.nan if proven.certified is None else relative(speedup, proven.certified)
        return HptClaim(method, speedup, reached, relative(reached, confidence), error)

    # In units of the largest, since medians that were given may be of any size; t does not depend on the unit.
    unit = max(median for d in ahead for median in (d.a, d.b))
    a, b = (
        np.array([float(side / unit) for side in sides])
        for sides in zip(*((d.a, d.b) for d in ahead), strict=True)
    )
    t_confidence, t_factor = paired_t(a, b, alpha)
    t_certified = math.nan if proven.certified is None else paired_t(a, proven.certified**power * b, alpha)[0]
    # Of exact ratios, by their whole numbers.
    ratios = [d.a / d.b for d in ahead]
    logs = [math.log(ratio.numerator) - math.log(ratio.denominator) for ratio in ratios]
    return HptClaims(
        confidence=confidence,
        candidate_wins=candidate_wins,
        certified=proven.certified,
        t_confidence=t_confidence,
        t_certified=t_certified,
        claims=(
            claim("geometric mean", math.exp(math.fsum(logs) / len(logs) / power)),
            claim("paired t", None if t_factor is None else t_factor ** (1 / power)),
            *(claim("asked", speedup) for speedup in speedups),
        ),
    )


def relative(value: float, expected: float) -> float:
    """How far a value lies from what was expected, as a share of it."""
    return value / expected - 1


def paired_t(a: ArrayLike, b: ArrayLike, alpha: float) -> tuple[float, float | None]:
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
    equal = float(x.mean() / y.mean())  # where the statistic is 0
    first = halved(lambda factor: statistic(factor) < critical, 1.0, equal)  # that fails
    return reached, max(1.0, math.nextafter(first, 0.0))
