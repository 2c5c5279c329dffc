"""Several versions in order by their speedups over a suite; by single runs, see `run_ranking`.

Either way every pair of versions is tested in both directions, all claims together at one risk (Holm's
procedure, which holds under any dependence), and a version's place is the range of ranks that the proven
verdicts leave to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from msgspec.structs import replace

from speedproof.data.suite import Key, Pair, Suite
from speedproof.errors import DataError
from speedproof.protocols.aggregates import LogRatio, log_ratio, mean_log_ratio
from speedproof.protocols.checks import undermining
from speedproof.protocols.noise_floor import NoiseFloor, over_the_floor
from speedproof.protocols.pair import DEFAULT, PreparedPairs, Rules
from speedproof.protocols.ranks import (
    PairVerdict,
    RankedVersion,
    Scope,
    SuiteRanking,
    places,
    tied_in,
    verdicts,
)
from speedproof.protocols.results import Comparison
from speedproof.stats.estimate import Estimate


def rank_suite(
    suite: Suite,
    *,
    metric: str = "time",
    versions: Sequence[str] | None = None,
    alpha: float,
    scope: Scope = "these",
    floor: NoiseFloor | None = None,
) -> SuiteRanking:
    """Rank versions by their speedups in mean over the benchmarks that all of them have."""
    chosen = tuple(suite.versions if versions is None else versions)
    if len(chosen) < 2:
        raise DataError("a ranking needs at least two versions")
    keys = [key for key in suite.keys if key.metric == metric]
    ratios = {key: _ratios(suite, key, chosen, floor) for key in keys}
    common = [key for key in keys if ratios[key]]
    if not common:
        raise DataError(f"no benchmark was measured ({metric}) in all of {', '.join(chosen)}")
    means = {
        duel: mean_log_ratio([ratios[key][duel] for key in common], like_these=scope == "like these")
        for duel in combinations(chosen, 2)
    }
    pairs = verdicts(
        {
            duel: (mean.estimate(alpha), mean.centre >= 0, mean.pvalue(), mean.pvalue(less=True))
            for duel, mean in means.items()
        },
        alpha,
    )
    undermined = {
        v: tuple(key.benchmark for key in common if _undermined(suite, key, v, chosen)) for v in chosen
    }
    names, left_out = (
        [key.benchmark for key in some] for some in (common, [k for k in keys if not ratios[k]])
    )
    return SuiteRanking(
        scope, alpha, _in_order(chosen, pairs, alpha, undermined), pairs, tuple(names), tuple(left_out)
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
    duels, found = list(combinations(versions, 2)), dict(known or {})
    missing = [duel for duel in duels if duel not in found]
    pairs_of = [Pair(key, samples[i], samples[j]) for i, j in missing]
    asked = typical_runs(PreparedPairs(pairs_of, replace(rules, margin=None))) if missing else []
    found.update(zip(missing, over_the_floor(asked, pairs_of, rules.floor), strict=True))
    pairs = verdicts(
        {
            duel: (c.speedup, c.speedup.value >= 1, c.pvalue, c.pvalue_slower)
            for duel, c in ((duel, found[duel]) for duel in duels)
        },
        rules.alpha,
    )
    undermined = {v: (key.benchmark,) for duel in duels if found[duel].undermining for v in duel}
    rows = _in_order(versions, pairs, rules.alpha, undermined)
    return SuiteRanking("these", rules.alpha, rows, pairs, (key.benchmark,), ())


def _in_order(
    versions: Sequence[str],
    pairs: Sequence[PairVerdict],
    alpha: float,
    undermined: Mapping[str, tuple[str, ...]],
) -> tuple[RankedVersion, ...]:
    """By their speedups over the first."""
    speedups = {versions[0]: Estimate(1.0, 1.0, 1.0, 1 - alpha)}
    speedups |= {p.candidate: p.estimate for p in pairs if p.reference == versions[0]}
    order = sorted(versions, key=lambda v: -speedups[v].value)
    ranks, tied = places(versions, pairs), tied_in(order, pairs)
    return tuple(RankedVersion(v, speedups[v], *ranks[v], v in tied, undermined.get(v, ())) for v in order)


def _ratios(
    suite: Suite, key: Key, versions: Sequence[str], floor: NoiseFloor | None
) -> dict[tuple[str, str], LogRatio]:
    """Logarithms of the speedups of every two versions on a benchmark; empty when one cannot be had."""
    found: dict[tuple[str, str], LogRatio] = {}
    for duel in combinations(versions, 2):
        x, y = (suite.samples.get((key, version)) for version in duel)
        if x is None or y is None or x.unit != y.unit or x.direction is not y.direction:
            return {}
        ratio = log_ratio(Pair(key, x, y), floor)
        if ratio is None:
            return {}
        found[duel] = ratio
    return found


def _undermined(suite: Suite, key: Key, version: str, versions: Sequence[str]) -> bool:
    """Whether the runs of a version on a benchmark undermine every verdict on it."""
    sample = suite.samples[key, version]
    others = [suite.samples[key, other] for other in versions if other != version]
    return bool(undermining(sample, sample.per_process("mean"), version, others))
