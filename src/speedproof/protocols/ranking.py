"""Several versions in order by their speedups over a suite; by single runs, see `run_ranking`.

Either way every pair of versions is tested in both directions, all claims together at one risk (Holm's
procedure, which holds under any dependence), and a version's place is the range of ranks that the proven
verdicts leave to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from types import MappingProxyType
from typing import TypeVar

from msgspec.structs import replace

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Suite
from speedproof.errors import DataError
from speedproof.options import HEADLINE
from speedproof.protocols.aggregates import log_ratios
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.results import Comparison, PairVerdict, RankedVersion, SuiteRanking, Verdict
from speedproof.stats.estimate import Estimate
from speedproof.stats.multiplicity import holm

K = TypeVar("K")
# Of a pair: its estimate, whether its candidate is ahead, and the p-values for faster and for slower
Claims = tuple[Estimate, bool, float, float]


def decide(ahead: bool, adjusted: Sequence[float], alpha: float) -> tuple[Verdict, float]:
    """A pair's verdict by its adjusted p-values, and the p-value of the direction that was observed."""
    faster, slower = adjusted
    verdict = Verdict.FASTER if faster <= alpha else Verdict.SLOWER if slower <= alpha else Verdict.UNDECIDED
    return verdict, faster if ahead else slower


def verdicts(claims: Mapping[tuple[str, str], Claims], alpha: float) -> tuple[PairVerdict, ...]:
    """What is proven of each pair by Holm's procedure: pairs share samples, and it holds under any dependence."""
    adjusted = holm([p for *_, faster, slower in claims.values() for p in (faster, slower)]).reshape(-1, 2)
    return tuple(
        PairVerdict(*pair, estimate, *decide(ahead, p, alpha))
        for (pair, (estimate, ahead, *_)), p in zip(claims.items(), adjusted.tolist(), strict=True)
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


def all_answers(
    question: str, pairs: Mapping[K, Pair], known: Mapping[K, Comparison], rules: Rules
) -> dict[K, Comparison]:
    """What a question says of every pair, by its key: some answers are known, the others are made."""
    from speedproof.protocols.questions import answers

    missing = [key for key in pairs if key not in known]
    prepared = PreparedPairs([pairs[key] for key in missing], replace(rules, margin=None))
    return {**known, **dict(zip(missing, answers(question, prepared) if missing else (), strict=True))}


def rank_suite(
    suite: Suite,
    metric: str,
    versions: Sequence[str],
    rules: Rules,
    known: Mapping[tuple[str, str, str], Comparison] = MappingProxyType({}),
    question: str = "typical",
) -> SuiteRanking:
    """Rank versions by the geometric means of their speedups over the benchmarks that all of them have.

    `known` are answers to the question, by these rules, of a benchmark in two versions.
    """
    if len(versions) < 2:
        raise DataError("a ranking needs at least two versions")
    keys, duels = [key for key in suite.keys if key.metric == metric], list(combinations(versions, 2))
    pairs = {
        (key.benchmark, *duel): Pair(key, *(suite.samples[key, v] for v in duel))
        for key in keys
        if _comparable([suite.samples.get((key, v)) for v in versions])
        for duel in duels
    }
    made = all_answers(question, pairs, known, rules)
    common: list[str] = []
    left_out: list[str] = []
    for name in (key.benchmark for key in keys):
        rated = all((at := (name, *duel)) in pairs and made[at].log is not None for duel in duels)
        (common if rated else left_out).append(name)
    if not common:
        raise DataError(f"no benchmark was measured ({metric}) in all of {', '.join(versions)}")
    claims, undermined = {}, {v: dict[str, None]() for v in versions}
    for duel in duels:
        keys_of_duel = [(name, *duel) for name in common]
        mean = log_ratios(
            (made[at] for at in keys_of_duel), (pairs[at] for at in keys_of_duel), rules.floor
        ).mean(like_these=False)
        claims[duel] = mean.estimate(rules.alpha), mean.centre >= 0, mean.pvalue(), mean.pvalue(less=True)
        for at in keys_of_duel:
            for check in made[at].undermining:
                undermined[duel[check.versions == ("Y",)]][at[0]] = None
    by_version = {v: tuple(names) for v, names in undermined.items()}
    return _in_order(versions, claims, rules.alpha, by_version, tuple(common), tuple(left_out))


def rank_benchmark(
    suite: Suite,
    key: Key,
    versions: Sequence[str],
    rules: Rules,
    known: Mapping[tuple[str, str], Comparison] = MappingProxyType({}),
) -> SuiteRanking:
    """Rank the versions of one benchmark by the typical run: every pair by the headline's test, at one risk.

    `known` are comparisons by that test and these rules that have been made.
    """
    samples = {v: suite.samples[key, v] for v in versions if (key, v) in suite.samples}
    if len(samples) < len(versions):
        raise DataError(f"{key.benchmark} was not measured in all of {', '.join(versions)}")
    pairs = {(i, j): Pair(key, samples[i], samples[j]) for i, j in combinations(versions, 2)}
    made = all_answers(HEADLINE, pairs, known, rules)
    claims = {
        # What is shown without being proven is no claim.
        duel: (
            c.speedup,
            c.speedup.value >= 1,
            *((1.0, 1.0) if c.undermining else (c.pvalue, c.pvalue_slower)),
        )
        for duel, c in ((duel, made[duel]) for duel in pairs)
    }
    undermined = {v: (key.benchmark,) for duel in pairs if made[duel].undermining for v in duel}
    return _in_order(versions, claims, rules.alpha, undermined, (key.benchmark,))


def _in_order(
    versions: Sequence[str],
    claims: Mapping[tuple[str, str], Claims],
    alpha: float,
    undermined: Mapping[str, tuple[str, ...]],
    benchmarks: tuple[str, ...],
    left_out: tuple[str, ...] = (),
) -> SuiteRanking:
    """By their speedups over the first."""
    pairs = verdicts(claims, alpha)
    speedups = {versions[0]: Estimate(1.0, 1.0, 1.0, 1 - alpha)}
    speedups |= {p.candidate: p.estimate for p in pairs if p.reference == versions[0]}
    order = sorted(versions, key=lambda v: -speedups[v].value)
    ranks, tied = places(versions, pairs), tied_in(order, pairs)
    rows = (RankedVersion(v, speedups[v], *ranks[v], v in tied, undermined.get(v, ())) for v in order)
    return SuiteRanking("these", alpha, tuple(rows), pairs, benchmarks, left_out)


def _comparable(samples: Sequence[Sample | None]) -> bool:
    """Whether every version has one, all in one unit."""
    return None not in samples and len({(s.unit, s.direction) for s in samples if s}) == 1
