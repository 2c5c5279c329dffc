"""Three versions or more over a suite: who beats whom, all verdicts together at one risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

from speedproof.data.suite import Key, Pair, Suite
from speedproof.errors import DataError
from speedproof.protocols.aggregates import LogRatio, MeanLogRatio, log_ratio, mean_log_ratio
from speedproof.protocols.assumptions import UNDERMINING
from speedproof.protocols.checks import of_sample
from speedproof.protocols.results import Verdict
from speedproof.stats.estimate import Estimate
from speedproof.stats.multiplicity import holm

__all__ = ["PairVerdict", "RankedVersion", "Ranking", "Scope", "places", "rank_versions"]

Scope = Literal["these", "like these"]


@dataclass(frozen=True, slots=True)
class RankedVersion:
    """One version's place.

    Attributes
    ----------
    version : str
        Its name.
    speedup : Estimate
        Geometric mean of its speedups over the reference, with the two-sided interval by itself.
    best_rank, worst_rank : int
        1 is the fastest. Between them lies every rank that the proven verdicts allow.
    tied : bool
        Whether it is not told apart from a neighbour in the order of the ranking.
    doubtful : tuple of str
        Benchmarks on which its runs are not what the verdicts assume: the true risk is unknown.
    """

    version: str
    speedup: Estimate
    best_rank: int
    worst_rank: int
    tied: bool = False
    doubtful: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """Two versions.

    Attributes
    ----------
    reference, candidate : str
        The versions.
    speedup : Estimate
        Geometric mean of the candidate's speedups over the reference, with the two-sided interval by itself.
    verdict : Verdict
        After Holm's control over all pairs and both directions.
    pvalue : float
        Adjusted, of the direction observed; NaN when a benchmark has a single independent run.
    """

    reference: str
    candidate: str
    speedup: Estimate
    verdict: Verdict
    pvalue: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Versions in order of their geometric mean speedup, fastest first.

    Attributes
    ----------
    scope : {"these", "like these"}
        Which benchmarks the verdicts speak of.
    alpha : float
        The risk of all verdicts together.
    versions : tuple of RankedVersion
        Fastest first.
    pairs : tuple of PairVerdict
        Every two versions, in the order given.
    benchmarks : tuple of str
        Those that all versions have.
    left_out : tuple of str
        Those that some version lacks, or without a speedup.
    """

    scope: Scope
    alpha: float
    versions: tuple[RankedVersion, ...]
    pairs: tuple[PairVerdict, ...]
    benchmarks: tuple[str, ...]
    left_out: tuple[str, ...]


def rank_versions(
    suite: Suite,
    *,
    metric: str = "time",
    versions: Sequence[str] | None = None,
    alpha: float = 0.05,
    scope: Scope = "these",
) -> Ranking:
    """Rank versions by their speedups in mean over the benchmarks that all of them have.

    Parameters
    ----------
    suite : Suite
        With two versions or more.
    metric : str
        The metric to compare.
    versions : sequence of str, optional
        Which, the reference first; all by default.
    alpha : float
        The risk that any of the pairwise verdicts is false, 0 < alpha < 1.
    scope : {"these", "like these"}
        Whether the benchmarks are given, or a random sample of others.

    Returns
    -------
    Ranking
        Ranks that the verdicts leave open are given as a range.

    Raises
    ------
    DataError
        Fewer than two versions, or no benchmark that all have.

    Notes
    -----
    All r (r - 1) claims "i is faster than j" are one family under Holm's procedure. The pairs share samples;
    that procedure holds under any dependence.

    Examples
    --------
    >>> import numpy as np
    >>> from speedproof.data.suite import Record
    >>> rng = np.random.default_rng(1)
    >>> suite = Suite.from_records(
    ...     (v, Record(b, t * rng.normal(1, 0.01, 10)))
    ...     for v, t in (("a", 3.0), ("b", 2.0), ("c", 2.0)) for b in ("sort", "hash")
    ... )
    >>> [(v.version, v.best_rank, v.worst_rank) for v in sorted(rank_versions(suite).versions, key=str)]
    [('a', 3, 3), ('b', 1, 2), ('c', 1, 2)]
    """
    chosen = tuple(suite.versions if versions is None else versions)
    if len(chosen) < 2:
        raise DataError("a ranking needs at least two versions")
    keys = [key for key in suite.keys if key.metric == metric]
    ratios = {key: _ratios(suite, key, chosen) for key in keys}
    common = [key for key in keys if ratios[key]]
    if not common:
        raise DataError(f"no benchmark was measured ({metric}) in all of {', '.join(chosen)}")
    like = scope == "like these"
    duels = list(combinations(range(len(chosen)), 2))
    means = [mean_log_ratio([ratios[key][duel] for key in common], like_these=like) for duel in duels]
    adjusted = holm([p for mean in means for p in (mean.pvalue(), mean.pvalue(less=True))]).reshape(-1, 2)
    pairs = tuple(
        _verdict(chosen[i], chosen[j], mean, p, alpha)
        for (i, j), mean, p in zip(duels, means, adjusted.tolist(), strict=True)
    )
    log_speedups = [0.0, *(mean.value for (i, _), mean in zip(duels, means, strict=True) if i == 0)]
    estimates = [Estimate(1.0, 1.0, 1.0, 1 - alpha), *(p.speedup for p in pairs if p.reference == chosen[0])]
    order = sorted(range(len(chosen)), key=lambda v: -log_speedups[v])
    ranks = places(chosen, [(p.reference, p.candidate, p.verdict) for p in pairs])
    undecided = {frozenset((p.reference, p.candidate)) for p in pairs if p.verdict is Verdict.UNDECIDED}
    tied = {v for pair in pairwise(chosen[v] for v in order) if frozenset(pair) in undecided for v in pair}
    return Ranking(
        scope=scope,
        alpha=alpha,
        versions=tuple(
            RankedVersion(
                chosen[v],
                estimates[v],
                *ranks[chosen[v]],
                chosen[v] in tied,
                tuple(key.benchmark for key in common if _doubtful(suite, key, chosen[v], chosen)),
            )
            for v in order
        ),
        pairs=pairs,
        benchmarks=tuple(key.benchmark for key in common),
        left_out=tuple(key.benchmark for key in keys if not ratios[key]),
    )


def _ratios(suite: Suite, key: Key, versions: Sequence[str]) -> dict[tuple[int, int], LogRatio]:
    """Logarithms of the speedups of every two versions on a benchmark; empty when one cannot be had."""
    found: dict[tuple[int, int], LogRatio] = {}
    for i, j in combinations(range(len(versions)), 2):
        x, y = (suite.samples.get((key, versions[v])) for v in (i, j))
        if x is None or y is None or x.unit != y.unit or x.direction is not y.direction:
            return {}
        ratio = log_ratio(Pair(key, x, y))
        if ratio is None:
            return {}
        found[i, j] = ratio
    return found


def _doubtful(suite: Suite, key: Key, version: str, versions: Sequence[str]) -> bool:
    """Whether the runs of a version on a benchmark undermine every verdict on it."""
    sample = suite.samples[key, version]
    nested = any(suite.samples[key, other].nested for other in versions if other != version)
    checks = of_sample(sample, sample.per_process("mean"), version, other_nested=nested)
    return any(not check.held and check.kind in UNDERMINING for check in checks)


def _verdict(
    reference: str, candidate: str, mean: MeanLogRatio, adjusted: Sequence[float], alpha: float
) -> PairVerdict:
    faster, slower = adjusted
    verdict = Verdict.FASTER if faster <= alpha else Verdict.SLOWER if slower <= alpha else Verdict.UNDECIDED
    return PairVerdict(
        reference, candidate, mean.estimate(1 - alpha), verdict, faster if mean.centre >= 0 else slower
    )


def places(
    versions: Sequence[str], verdicts: Sequence[tuple[str, str, Verdict]]
) -> dict[str, tuple[int, int]]:
    """The best and the worst rank that verdicts on pairs leave to each version.

    Parameters
    ----------
    versions : sequence of str
        All of them.
    verdicts : sequence of (str, str, Verdict)
        Reference, candidate, and whether the candidate is faster.

    Returns
    -------
    dict of str to (int, int)
        1 is the fastest.

    Examples
    --------
    >>> places(["a", "b", "c"], [("a", "b", Verdict.FASTER), ("a", "c", Verdict.UNDECIDED)])
    {'a': (2, 3), 'b': (1, 2), 'c': (1, 3)}
    """
    beaten_by, beats = dict.fromkeys(versions, 0), dict.fromkeys(versions, 0)
    for reference, candidate, verdict in verdicts:
        if verdict in (Verdict.FASTER, Verdict.SLOWER):
            ahead, behind = (candidate, reference)[:: 1 if verdict is Verdict.FASTER else -1]
            beats[ahead] += 1
            beaten_by[behind] += 1
    return {v: (1 + beaten_by[v], len(versions) - beats[v]) for v in versions}
