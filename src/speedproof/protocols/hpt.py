"""Hierarchical Performance Testing: whether one version outperforms another over a whole suite.

Two levels of rank tests, free of any assumption of normality: within each benchmark the rank-sum test decides
whether the runs differ at all; across the benchmarks the signed-rank test weighs the differences of medians
that are left. The result is a confidence for each direction, and the r-speedup: the largest factor by which
the winner still wins with confidence r.

T. Chen, Q. Guo, O. Temam, Y. Wu, Y. Bao, Z. Xu, Y. Chen: "Statistical performance comparisons of computers",
IEEE Transactions on Computers 64 (2015), published online in 2014; sections IV-A (confidence) and IV-B
(speedup).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.data.names import enumerate_names
from speedproof.data.suite import Pair
from speedproof.errors import DataError
from speedproof.protocols.hpt_levels import (
    Duel,
    HptRule,
    across_benchmarks,
    cost_duel,
    score_duel,
    within_benchmark,
)
from speedproof.protocols.hpt_speedup import RSpeedup, r_speedup
from speedproof.protocols.units import independent_units
from speedproof.stats.scaling import MOST_APART

CONFIDENCES = (0.95, 0.99)
RELATIVE, AS_GIVEN = "relative to the reference's median", "as given"


class Winner(StrEnum):
    """Who is better."""

    CANDIDATE = "candidate"
    REFERENCE = "reference"
    TIE = "tie"


class HptBenchmark(Struct, frozen=True):
    """What the first level says of one benchmark, and what the second makes of it."""

    benchmark: str  # its name
    winner: Winner  # by the rank-sum test; by the medians when there are too few runs to test
    difference: float  # median score of the candidate less that of the reference; 0 for a tie
    rank: float  # mid-rank of its size among all benchmarks
    # One-sided, for either side being better; NaN when not tested
    pvalue_candidate: float
    pvalue_reference: float
    level: float | None  # risk of that test; None when there are too few runs for it ever to reject
    # How many runs were compared
    reference_runs: int
    candidate_runs: int
    conflict: bool  # the test and the medians name different winners


class Hpt(Struct, frozen=True):
    """The answer of Hierarchical Performance Testing over a suite."""

    benchmarks: tuple[HptBenchmark, ...]  # one a benchmark, in order
    # Signed-rank sums, zeros giving half of their ranks to either side
    rank_sum_candidate: float
    rank_sum_reference: float
    # One-sided, each from its own tail: for either side being better over the suite
    pvalue_candidate: float
    pvalue_reference: float
    winner: Winner  # the side with the smaller p-value
    confidence: float  # 1 - p-value of the winner. It may be below one half
    speedups: tuple[RSpeedup, ...]  # of the winner over the other side, one a confidence asked for
    scores: str  # which scores were compared
    method: str  # null distributions of both levels
    notes: tuple[str, ...]  # what a reader must know

    def count(self, winner: Winner) -> int:
        """How many benchmarks one side won, or how many are ties."""
        return sum(row.winner is winner for row in self.benchmarks)


class HptEntry(NamedTuple):
    """A benchmark ready to be tested, the candidate as A."""

    name: str
    duel: Duel
    candidate_runs: int
    reference_runs: int


def entries_of_pairs(
    pairs: Sequence[Pair], level: float | None = None, *, given: bool = False
) -> list[HptEntry]:
    """Benchmarks by scores relative to the reference, so that every benchmark counts alike.

    The reference's median over the value where lower is better, the value over the reference's median where
    higher is. Ranking absolute seconds instead lets the benchmark with the longest times decide. Values that are
    ``given`` as scores are taken as they are, higher is better: the article's own input, ratios to a third machine
    such as SPEC ratios. These must be comparable between benchmarks; times or rates are not.
    """
    entries = []
    for pair in pairs:
        name = pair.key.benchmark
        if (pair.reference.unit, pair.reference.direction) != (pair.candidate.unit, pair.candidate.direction):
            raise DataError(f"{name}: the samples have two units or directions")
        x, y = independent_units((pair.reference, pair.candidate), "median")
        for sample in (x, y):
            _all_positive(sample.values, sample.source or f"{name}, {sample.label}")
        ends = [end(values) for values in (x.values, y.values) for end in (np.min, np.max)]
        if min(ends) < max(ends) / MOST_APART:
            raise DataError(
                f"{name}: its values differ so much in size that no unit can hold them together; leave the "
                "benchmark out"
            )
        if given or x.higher_is_better:
            duel = score_duel(y.values, x.values, level=level, relative=not given)
        else:
            duel = cost_duel(y.values, x.values, level=level)
        entries.append(HptEntry(name, duel, y.n, x.n))
    return entries


def _all_positive(values: FloatArray, place: str) -> None:
    wrong = ~((values > 0) & np.isfinite(values))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(
            f"{place}: value {at + 1} of {values.size} is {values[at]:g}, but a score needs positive values; "
            "leave the benchmark out or measure it in a finer unit"
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
    literal = literal_signs
    duels = duels_of(entries, confidences)
    rows = [within_benchmark(duel, Fraction(1), rule, literal=literal) for duel in duels]
    across = across_benchmarks([row.d for row in rows], rule)
    p, q = across.pvalue_positive, across.pvalue_negative
    better = Winner.CANDIDATE if p < q else Winner.REFERENCE if q < p else Winner.TIE
    ahead = [duel.reversed() for duel in duels] if better is Winner.REFERENCE else duels
    speedups = r_speedup(ahead, confidences, rule, literal=literal)
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


def duels_of(entries: Sequence[HptEntry], confidences: Sequence[float]) -> list[Duel]:
    """What is to be tested, at confidences that make sense."""
    if not entries:
        raise DataError(
            "no benchmark was measured on both sides; Hierarchical Performance Testing needs some"
        )
    for r in confidences:
        if 1 - r == 1:
            raise DataError(f"a confidence of {r:g} leaves every risk: give one that a double tells from 0")
    return [entry.duel for entry in entries]


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
