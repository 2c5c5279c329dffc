"""Versions in order: what a ranking says of each, and the ranks that verdicts on pairs leave to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from speedproof.protocols.results import Verdict
from speedproof.stats.estimate import Estimate
from speedproof.stats.multiplicity import holm

Scope = Literal["these", "like these"]


class PairVerdict(Struct, frozen=True):
    """Two versions."""

    # The versions
    reference: str
    candidate: str
    # By single runs the chance that a run of the candidate beats a run of the reference, ties counting half,
    # each bound at risk alpha by itself; over a suite the geometric mean of the candidate's speedups, with
    # its two-sided interval
    estimate: Estimate
    verdict: Verdict  # after Holm's control over all pairs and both directions
    pvalue: float  # adjusted, of the direction observed; NaN when the test is not defined


def decide(ahead: bool, adjusted: Sequence[float], alpha: float) -> tuple[Verdict, float]:
    """A pair's verdict by its adjusted p-values, and the p-value of the direction that was observed."""
    faster, slower = adjusted
    verdict = Verdict.FASTER if faster <= alpha else Verdict.SLOWER if slower <= alpha else Verdict.UNDECIDED
    return verdict, faster if ahead else slower


def verdicts(
    found: Mapping[tuple[str, str], tuple[Estimate, bool, float, float]], alpha: float
) -> tuple[PairVerdict, ...]:
    """From the estimate of each pair, whether its candidate is ahead, and both p-values, by Holm's procedure.

    Pairs share samples; that procedure holds under any dependence.
    """
    adjusted = holm([p for *_, faster, slower in found.values() for p in (faster, slower)]).reshape(-1, 2)
    return tuple(
        PairVerdict(*pair, estimate, *decide(ahead, p, alpha))
        for (pair, (estimate, ahead, *_)), p in zip(found.items(), adjusted.tolist(), strict=True)
    )


def open_pairs(pairs: Sequence[PairVerdict]) -> set[frozenset[str]]:
    """The pairs that no verdict tells apart."""
    return {frozenset((p.reference, p.candidate)) for p in pairs if p.verdict is Verdict.UNDECIDED}


def tied_in(order: Sequence[str], pairs: Sequence[PairVerdict]) -> set[str]:
    """What is not told apart from a neighbour."""
    undecided = open_pairs(pairs)
    return {v for pair in pairwise(order) if frozenset(pair) in undecided for v in pair}


def places(versions: Sequence[str], pairs: Sequence[PairVerdict]) -> dict[str, tuple[int, int]]:
    """The best and the worst rank that verdicts on pairs leave to each version."""
    beaten_by, beats = dict.fromkeys(versions, 0), dict.fromkeys(versions, 0)
    for p in pairs:
        if p.verdict in (Verdict.FASTER, Verdict.SLOWER):
            ahead, behind = (p.candidate, p.reference)[:: 1 if p.verdict is Verdict.FASTER else -1]
            beats[ahead] += 1
            beaten_by[behind] += 1
    return {v: (1 + beaten_by[v], len(versions) - beats[v]) for v in versions}


class Placed:
    """What has a range of ranks."""

    __slots__ = ()
    best_rank: int
    worst_rank: int

    @property
    def place(self) -> str:
        """The rank, or the range of ranks: ``"2-4"``."""
        return f"{self.best_rank}" + f"-{self.worst_rank}" * (self.worst_rank > self.best_rank)


class InOrder:
    """Versions in order, the best first."""

    __slots__ = ()
    versions: tuple[Any, ...]

    @property
    def leading(self) -> list[str]:
        """Those of which none is proven to be behind another."""
        return [v.version for v in self.versions if v.best_rank == 1]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(v.version for v in self.versions)}>"


class RankedVersion(Placed, Struct, frozen=True):
    """One version's place."""

    version: str  # its name
    # Geometric mean of its speedups over the reference, with the two-sided interval by itself
    speedup: Estimate
    # 1 is the fastest. Between them lies every rank that the proven verdicts allow
    best_rank: int
    worst_rank: int
    tied: bool = False  # whether it is not told apart from a neighbour in the order of the ranking
    # Benchmarks on which its runs are not what the verdicts assume: the true risk is unknown
    undermined: tuple[str, ...] = ()


class SuiteRanking(InOrder, Struct, frozen=True):
    """Versions in order of their geometric mean speedup, fastest first."""

    scope: Scope  # which benchmarks the verdicts speak of
    alpha: float  # the risk of all verdicts together
    versions: tuple[RankedVersion, ...]  # fastest first
    pairs: tuple[PairVerdict, ...]  # every two versions, in the order given
    benchmarks: tuple[str, ...]  # those that all versions have
    left_out: tuple[str, ...]  # those that some version lacks, or without a speedup

    def __str__(self) -> str:
        return "\n".join(f"{v.place}. {v.version}: speedup {v.speedup}" for v in self.versions)
