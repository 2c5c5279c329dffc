"""Several versions in order by their speedups over a suite; by single runs, see `run_ranking`.

Either way every pair of versions is tested in both directions, all claims together at one risk (Holm's
procedure, which holds under any dependence), and a version's place is the range of ranks that the proven
verdicts leave to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

from msgspec.structs import replace

from speedproof.data.suite import Key, Pair, Suite
from speedproof.errors import DataError
from speedproof.protocols.aggregates import LogRatio, log_ratio, mean_log_ratio
from speedproof.protocols.assumptions import UNDERMINING
from speedproof.protocols.checks import of_sample
from speedproof.protocols.noise_floor import NoiseFloor, over_the_floor
from speedproof.protocols.pair import DEFAULT, PreparedPairs, Rules
from speedproof.protocols.ranks import (
    PairVerdict,
    RankedVersion,
    Scope,
    SuiteRanking,
    decide,
    open_pairs,
    places,
)
from speedproof.protocols.results import Comparison
from speedproof.stats.estimate import Estimate
from speedproof.stats.multiplicity import holm


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
        PairVerdict(chosen[i], chosen[j], mean.estimate(1 - alpha), *decide(mean.centre >= 0, p, alpha))
        for (i, j), mean, p in zip(duels, means, adjusted.tolist(), strict=True)
    )
    log_speedups = [0.0, *(mean.value for (i, _), mean in zip(duels, means, strict=True) if i == 0)]
    estimates = [Estimate(1.0, 1.0, 1.0, 1 - alpha), *(p.estimate for p in pairs if p.reference == chosen[0])]
    order = sorted(range(len(chosen)), key=lambda v: -log_speedups[v])
    ranks = places(chosen, pairs)
    undecided = open_pairs(pairs)
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
                tuple(key.benchmark for key in common if _undermined(suite, key, chosen[v], chosen)),
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
        PairVerdict(i, j, c.speedup, *decide(c.speedup.value >= 1, p, alpha))
        for ((i, j), c), p in zip(found.items(), adjusted.tolist(), strict=True)
    )
    own = Estimate(1.0, 1.0, 1.0, 1 - alpha)
    speedups = {v: found[versions[0], v].speedup if v != versions[0] else own for v in versions}
    order = sorted(versions, key=lambda v: -speedups[v].value)
    ranks = places(versions, pairs)
    undecided = open_pairs(pairs)
    tied = {v for pair in pairwise(order) if frozenset(pair) in undecided for v in pair}
    undermined = {v for (i, j), c in found.items() if c.undermining for v in (i, j)}
    return SuiteRanking(
        "these",
        alpha,
        tuple(
            RankedVersion(v, speedups[v], *ranks[v], v in tied, (key.benchmark,) if v in undermined else ())
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


def _undermined(suite: Suite, key: Key, version: str, versions: Sequence[str]) -> bool:
    """Whether the runs of a version on a benchmark undermine every verdict on it."""
    sample = suite.samples[key, version]
    nested = any(suite.samples[key, other].nested for other in versions if other != version)
    checks = of_sample(sample, sample.per_process("mean"), version, other_nested=nested)
    return any(not check.held and check.kind in UNDERMINING for check in checks)
