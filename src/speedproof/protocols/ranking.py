"""Several versions in order: by single runs of one benchmark, or by their speedups over a suite.

Either way every pair of versions is tested in both directions, all claims together at one risk (Holm's
procedure, which holds under any dependence), and a version's place is the range of ranks that the proven
verdicts leave to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Suite
from speedproof.errors import DataError
from speedproof.protocols.aggregates import LogRatio, log_ratio, mean_log_ratio
from speedproof.protocols.assumptions import UNDERMINING
from speedproof.protocols.checks import of_sample, same_values
from speedproof.protocols.noise_floor import NoiseFloor, over_the_floor
from speedproof.protocols.pair import DEFAULT, PreparedPairs, Rules
from speedproof.protocols.results import Check, Comparison, Verdict
from speedproof.protocols.units import clusters_of, independent_units
from speedproof.stats.bounds import probability_greater
from speedproof.stats.estimate import Estimate
from speedproof.stats.multiplicity import holm
from speedproof.stats.scaling import MOST_APART, exponent
from speedproof.stats.scaling import mean as mean_of
from speedproof.stats.scaling import median as median_of

if TYPE_CHECKING:
    from speedproof.mixture.fitting import MixtureFit

Scope = Literal["these", "like these"]


class PairVerdict(Struct, frozen=True):
    """Two versions.

    Attributes
    ----------
    reference, candidate : str
        The versions.
    estimate : Estimate
        By single runs the chance that a run of the candidate beats a run of the reference, ties counting half,
        each bound at risk alpha by itself; over a suite the geometric mean of the candidate's speedups, with
        its two-sided interval.
    verdict : Verdict
        After Holm's control over all pairs and both directions.
    pvalue : float
        Adjusted, of the direction observed; NaN when the test is not defined.
    """

    reference: str
    candidate: str
    estimate: Estimate
    verdict: Verdict
    pvalue: float


class RankedRun(Struct, frozen=True):
    """One version among the others of a benchmark.

    Attributes
    ----------
    version : str
        Its name.
    n : int
        Observations.
    mean, median : float
        Of the sample.
    modes : int or None
        Peaks of its mixture told apart by a clear valley; None when no mixture could be fitted.
    chance : Estimate
        I3 of the samples: one run of this version beats one run of every other. Values nested in processes
        widen the interval as they must.
    ties : float
        What ties would add to it.
    mixture_chance : Estimate or None
        I3 of the mixtures; None when some version has none.
    best_rank, worst_rank : int
        1 wins most single runs. Between them lies every rank that the proven verdicts allow.
    tied : bool
        Whether it is not told apart from a neighbour.
    doubts : tuple of Check
        What makes the true risk of its verdicts another one than stated, mostly a larger one.
    """

    version: str
    n: int
    mean: float
    median: float
    modes: int | None
    chance: Estimate
    ties: float
    mixture_chance: Estimate | None
    best_rank: int
    worst_rank: int
    tied: bool
    doubts: tuple[Check, ...]


class RunRanking(Struct, frozen=True):
    """The versions of one benchmark, the most likely winner of a single run first.

    Attributes
    ----------
    alpha : float
        The risk of all verdicts together, and of each interval by itself.
    versions : tuple of RankedRun
        By descending chance; of equals the better median first.
    pairs : tuple of PairVerdict
        Every two versions.
    groups : tuple of tuple of str
        Neighbours of which no two are told apart, as many as go together; they may overlap.
    least_runs : int
        With fewer runs (processes or sessions, where values are nested) than this, no two versions can be told
        apart at this risk, even if one wins every time.
    enough_runs : bool
        Whether at least two versions have as many.
    best_in_mean, best_in_median : str
        The best versions observed; nothing is proven of them here.
    error : float
        Bound of the numerical error of the mixtures' chances.
    """

    alpha: float
    versions: tuple[RankedRun, ...]
    pairs: tuple[PairVerdict, ...]
    groups: tuple[tuple[str, ...], ...]
    least_runs: int
    enough_runs: bool
    best_in_mean: str
    best_in_median: str
    error: float


def rank_runs(
    samples: Mapping[str, Sample],
    *,
    alpha: float = 0.05,
    K_max: int = 9,
    resamples: int = 200,
    seed: int = 0,
    jobs: int = 1,
) -> RunRanking:
    """Rank the versions of one benchmark by the chance that a single run beats one run of every other.

    Two versions are compared by the test of :func:`speedproof.stats.bounds.probability_greater`: does a run of
    one beat a run of the other more often than not? Of values nested in processes, or in four sessions of every
    version or more, the median of each counts.
    """
    from speedproof.mixture.intervals import sample_intervals  # a ranking of suites need not load mixtures
    from speedproof.mixture.metrics import least_of_samples
    from speedproof.mixture.modes import clear_modes

    if len(samples) < 2:
        raise DataError(f"only {', '.join(samples) or 'nothing'} to rank: it takes two versions")
    if len({(s.unit, s.direction) for s in samples.values()}) > 1:
        raise DataError("its versions have different units or directions")
    sizes = [float(np.abs(s.values).max()) for s in samples.values()]
    if min(sizes) < max(sizes) / MOST_APART:
        raise DataError("its versions differ so much in size that no unit can hold them together")
    higher = next(iter(samples.values())).higher_is_better
    sign = -1.0 if higher else 1.0
    shift = exponent(*(s.values for s in samples.values()))  # chances do not depend on the unit
    values = [np.ldexp(sign * s.values, shift) for s in samples.values()]
    chances = sample_intervals(values, processes=clusters_of(list(samples.values())), alpha=alpha)
    counted = least_of_samples(values)
    ties_add = (counted.or_equal - counted.strict).tolist()
    means, medians = ({v: at(s.values) for v, s in samples.items()} for at in (mean_of, median_of))
    order = sorted(range(len(values)), key=lambda i: (-chances[i].value, float(np.median(values[i]))))
    names = [list(samples)[i] for i in order]
    fits = [_fit(v, K_max) if resamples else None for v in values]
    by_mixtures, error = _of_mixtures(fits, alpha, resamples, seed, jobs)
    units = independent_units(list(samples.values()), "median")
    pairs = _duels(names, dict(zip(samples, units, strict=True)), alpha)
    groups = _groups(names, _open(pairs))
    grouped = {name for group in groups for name in group}
    ranks = places(names, pairs)
    # Separated samples have the p-value 2^-runs, which Holm's first step holds against all 2 k claims.
    least = math.ceil(math.log2(2 * len(pairs) / alpha))
    best = max if higher else min
    return RunRanking(
        alpha=alpha,
        versions=tuple(
            RankedRun(
                name, samples[name].n, means[name], medians[name], clear_modes(f.model).count if f else None,
                chance, ties, by_mixture, *ranks[name], name in grouped, _doubts(samples, name),
            )
            for name, f, chance, ties, by_mixture in (
                (n, fits[i], chances[i], ties_add[i], by_mixtures[i]) for n, i in zip(names, order, strict=True)
            )
        ),
        pairs=pairs,
        groups=groups,
        least_runs=least,
        enough_runs=sum(unit.n >= least for unit in units) > 1,
        best_in_mean=best(names, key=lambda v: means[v]),
        best_in_median=best(names, key=lambda v: medians[v]),
        error=error,
    )  # fmt: skip


def _fit(values: FloatArray, K_max: int) -> MixtureFit | None:
    from speedproof.mixture.fitting import fit

    try:
        return fit(values, K_max=K_max)
    except DataError:  # a single value, many times
        return None


def _of_mixtures(
    fits: Sequence[MixtureFit | None], alpha: float, resamples: int, seed: int, jobs: int
) -> tuple[Sequence[Estimate | None], float]:
    """I3 of the mixtures and the bound of its numerical error; None everywhere when one mixture is missing."""
    from speedproof.mixture.intervals import mixture_intervals
    from speedproof.mixture.metrics import least_of_mixtures

    known = [f for f in fits if f is not None]
    if len(known) < len(fits):
        return [None] * len(fits), 0.0
    found = least_of_mixtures([f.model for f in known])
    intervals = mixture_intervals(
        known, found.strict.tolist(), resamples=resamples, seed=seed, alpha=alpha, jobs=jobs
    )
    return intervals, found.error


def _duels(names: Sequence[str], units: Mapping[str, Sample], alpha: float) -> tuple[PairVerdict, ...]:
    """Test every pair; pairs of equal sizes go through the test together."""
    values = {v: units[v].values for v in names}
    pairs = list(combinations(names, 2))
    of_size: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for pair in pairs:
        of_size.setdefault((values[pair[0]].size, values[pair[1]].size), []).append(pair)
    found: dict[tuple[str, str], tuple[Estimate, float, float]] = {}
    higher = units[names[0]].higher_is_better
    for alike in of_size.values():
        x, y = (np.stack([values[pair[side]] for pair in alike]) for side in (0, 1))
        test = probability_greater(y, x, alpha) if higher else probability_greater(x, y, alpha)
        fields = (test.estimate, test.low, test.high, test.pvalue, test.pvalue_less)
        rows = np.stack(np.broadcast_arrays(*fields), axis=1).reshape(len(alike), -1).tolist()
        for pair, (value, low, high, p, p_less) in zip(alike, rows, strict=True):
            found[pair] = Estimate(value, low, high, 1 - alpha), p, p_less
    adjusted = holm([p for pair in pairs for p in found[pair][1:]]).reshape(-1, 2).tolist()
    return tuple(
        PairVerdict(*pair, found[pair][0], *_decide(found[pair][0].value >= 0.5, p, alpha))
        for pair, p in zip(pairs, adjusted, strict=True)
    )


def _decide(ahead: bool, adjusted: Sequence[float], alpha: float) -> tuple[Verdict, float]:
    faster, slower = adjusted
    verdict = Verdict.FASTER if faster <= alpha else Verdict.SLOWER if slower <= alpha else Verdict.UNDECIDED
    return verdict, faster if ahead else slower


def _doubts(samples: Mapping[str, Sample], version: str) -> tuple[Check, ...]:
    """Failed checks that make the true risk of what is said of one of several versions unknown."""
    own = samples[version]
    others = [sample for name, sample in samples.items() if name != version]
    used = independent_units(list(samples.values()), "median")[list(samples).index(version)]
    checks = [*of_sample(own, used, version, other_nested=any(sample.nested for sample in others))]
    for other in others:
        checks += same_values(own, other)
    failed = (check for check in checks if not check.held and check.kind in UNDERMINING)
    return tuple({(check.kind, check.message): check for check in failed}.values())


def _open(pairs: Sequence[PairVerdict]) -> set[frozenset[str]]:
    return {frozenset((p.reference, p.candidate)) for p in pairs if p.verdict is Verdict.UNDECIDED}


def _groups(names: Sequence[str], undecided: set[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """The longest stretches of the order in which no two are told apart, none inside another."""
    found: list[tuple[int, int]] = []
    for start in range(len(names)):
        end = start + 1
        while end < len(names) and all(frozenset((names[end], v)) in undecided for v in names[start:end]):
            end += 1
        if end - start > 1 and (not found or end > found[-1][1]):
            found.append((start, end))
    return tuple(tuple(names[start:end]) for start, end in found)


def places(versions: Sequence[str], pairs: Sequence[PairVerdict]) -> dict[str, tuple[int, int]]:
    """The best and the worst rank that verdicts on pairs leave to each version."""
    beaten_by, beats = dict.fromkeys(versions, 0), dict.fromkeys(versions, 0)
    for p in pairs:
        if p.verdict in (Verdict.FASTER, Verdict.SLOWER):
            ahead, behind = (p.candidate, p.reference)[:: 1 if p.verdict is Verdict.FASTER else -1]
            beats[ahead] += 1
            beaten_by[behind] += 1
    return {v: (1 + beaten_by[v], len(versions) - beats[v]) for v in versions}


class RankedVersion(Struct, frozen=True):
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


class SuiteRanking(Struct, frozen=True):
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


def rank_suite(
    suite: Suite,
    *,
    metric: str = "time",
    versions: Sequence[str] | None = None,
    alpha: float = 0.05,
    scope: Scope = "these",
    floor: NoiseFloor | None = None,
) -> SuiteRanking:
    """Rank versions by their speedups in mean over the benchmarks that all of them have.

    All r (r - 1) claims "i is faster than j" are one family under Holm's procedure. The pairs share samples;
    that procedure holds under any dependence.
    """
    chosen = tuple(suite.versions if versions is None else versions)
    if len(chosen) < 2:
        raise DataError("a ranking needs at least two versions")
    keys = [key for key in suite.keys if key.metric == metric]
    ratios = {key: _ratios(suite, key, chosen, floor) for key in keys}
    common = [key for key in keys if ratios[key]]
    if not common:
        raise DataError(f"no benchmark was measured ({metric}) in all of {', '.join(chosen)}")
    like = scope == "like these"
    duels = list(combinations(range(len(chosen)), 2))
    means = [mean_log_ratio([ratios[key][duel] for key in common], like_these=like) for duel in duels]
    adjusted = holm([p for mean in means for p in (mean.pvalue(), mean.pvalue(less=True))]).reshape(-1, 2)
    pairs = tuple(
        PairVerdict(chosen[i], chosen[j], mean.estimate(1 - alpha), *_decide(mean.centre >= 0, p, alpha))
        for (i, j), mean, p in zip(duels, means, adjusted.tolist(), strict=True)
    )
    log_speedups = [0.0, *(mean.value for (i, _), mean in zip(duels, means, strict=True) if i == 0)]
    estimates = [Estimate(1.0, 1.0, 1.0, 1 - alpha), *(p.estimate for p in pairs if p.reference == chosen[0])]
    order = sorted(range(len(chosen)), key=lambda v: -log_speedups[v])
    ranks = places(chosen, pairs)
    undecided = _open(pairs)
    tied = {v for pair in pairwise(chosen[v] for v in order) if frozenset(pair) in undecided for v in pair}
    return SuiteRanking(
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


def rank_benchmark(
    suite: Suite,
    key: Key,
    versions: Sequence[str],
    rules: Rules = DEFAULT,
    known: Mapping[tuple[str, str], Comparison] | None = None,
) -> SuiteRanking:
    """Rank the versions of one benchmark by the typical run: every pair by the headline's test, at one risk.

    `known` are comparisons by that test and these rules that have been made.
    """
    from speedproof.protocols.typical import typical_runs

    samples = {v: suite.samples[key, v] for v in versions if (key, v) in suite.samples}
    if len(samples) < len(versions):
        raise DataError(f"{key.benchmark} was not measured in all of {', '.join(versions)}")
    alpha, made, duels = rules.alpha, known or {}, list(combinations(versions, 2))
    missing = [duel for duel in duels if duel not in made]
    pairs_of = [Pair(key, samples[i], samples[j]) for i, j in missing]
    asked = typical_runs(PreparedPairs(pairs_of, replace(rules, margin=None))) if missing else []
    of_missing = dict(zip(missing, over_the_floor(asked, pairs_of, rules.floor), strict=True))
    found = {duel: made[duel] if duel in made else of_missing[duel] for duel in duels}
    adjusted = holm([p for c in found.values() for p in (c.pvalue, c.pvalue_slower)]).reshape(-1, 2)
    pairs = tuple(
        PairVerdict(i, j, c.speedup, *_decide(c.speedup.value >= 1, p, alpha))
        for ((i, j), c), p in zip(found.items(), adjusted.tolist(), strict=True)
    )
    own = Estimate(1.0, 1.0, 1.0, 1 - alpha)
    speedups = {v: found[versions[0], v].speedup if v != versions[0] else own for v in versions}
    order = sorted(versions, key=lambda v: -speedups[v].value)
    ranks = places(versions, pairs)
    undecided = _open(pairs)
    tied = {v for pair in pairwise(order) if frozenset(pair) in undecided for v in pair}
    doubted = {v for (i, j), c in found.items() if c.doubts for v in (i, j)}
    return SuiteRanking(
        "these",
        alpha,
        tuple(
            RankedVersion(v, speedups[v], *ranks[v], v in tied, (key.benchmark,) if v in doubted else ())
            for v in order
        ),
        pairs,
        (key.benchmark,),
        (),
    )


def _ratios(
    suite: Suite, key: Key, versions: Sequence[str], floor: NoiseFloor | None
) -> dict[tuple[int, int], LogRatio]:
    """Logarithms of the speedups of every two versions on a benchmark; empty when one cannot be had."""
    found: dict[tuple[int, int], LogRatio] = {}
    for i, j in combinations(range(len(versions)), 2):
        x, y = (suite.samples.get((key, versions[v])) for v in (i, j))
        if x is None or y is None or x.unit != y.unit or x.direction is not y.direction:
            return {}
        ratio = log_ratio(Pair(key, x, y), floor)
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
