"""Several versions in order, by their speedups over a suite or by the chance that a single run beats all others.

Either way every pair of versions is tested in both directions, all claims together at one risk (Holm's
procedure, which holds under any dependence), and a version's place is the range of ranks that the proven
verdicts leave to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations, count
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.notes import Note
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Suite
from speedproof.errors import DataError
from speedproof.options import HEADLINE
from speedproof.protocols.aggregates import log_ratios
from speedproof.protocols.checks import same_values, undermining
from speedproof.protocols.pair import UNNAMED, PreparedPairs, Rules
from speedproof.protocols.questions import QUESTIONS, answers
from speedproof.protocols.results import (
    CHANGED,
    Comparison,
    InOrder,
    PairVerdict,
    Placed,
    RankedVersion,
    SuiteRanking,
    Verdict,
)
from speedproof.protocols.typical import ADJUSTED, single_runs
from speedproof.protocols.units import clusters_of, matched, repeated_in, typical_units, units_of
from speedproof.stats.estimate import Estimate
from speedproof.stats.multiplicity import holm
from speedproof.stats.permutation import few_separate
from speedproof.stats.scaling import MOST_APART, exponent
from speedproof.stats.scaling import mean as mean_of
from speedproof.stats.scaling import median as median_of

if TYPE_CHECKING:
    from speedproof.mixture.fitting import MixtureFit

K = TypeVar("K")
# Of a pair: its estimate, whether its candidate is ahead, and the p-values for faster and for slower
Claims = tuple[Estimate, bool, float, float]


def verdicts(claims: Mapping[tuple[str, str], Claims], alpha: float) -> tuple[PairVerdict, ...]:
    """What is proven of each pair by Holm's procedure: pairs share samples, and it holds under any dependence."""
    adjusted = holm([p for *_, faster, slower in claims.values() for p in (faster, slower)]).reshape(-1, 2)
    pairs = []
    for (pair, (estimate, ahead, *_)), (faster, slower) in zip(
        claims.items(), adjusted.tolist(), strict=True
    ):
        won, lost = faster <= alpha, slower <= alpha
        verdict = Verdict.FASTER if won else Verdict.SLOWER if lost else Verdict.UNDECIDED
        pairs.append(PairVerdict(*pair, estimate, verdict, faster if ahead else slower))
    return tuple(pairs)


def places(versions: Sequence[str], pairs: Sequence[PairVerdict]) -> dict[str, tuple[int, int]]:
    """The best and the worst rank that verdicts on pairs leave to each version.

    By what is proven directly: that A beats B and B beats C more often than not does not make A beat C so, nor do
    means of typical speedups over benchmarks.
    """
    beaten_by, beats = dict.fromkeys(versions, 0), dict.fromkeys(versions, 0)
    for p in pairs:
        if p.verdict in CHANGED:
            ahead, behind = (p.candidate, p.reference)[:: 1 if p.verdict is Verdict.FASTER else -1]
            beats[ahead] += 1
            beaten_by[behind] += 1
    return {v: (1 + beaten_by[v], len(versions) - beats[v]) for v in versions}


def all_answers(
    question: str, pairs: Mapping[K, Pair], known: Mapping[K, Comparison], rules: Rules
) -> dict[K, Comparison]:
    """The answers to a question for every pair: the given ones, and new ones for the others."""
    missing = [key for key in pairs if key not in known]
    prepared = PreparedPairs([pairs[key] for key in missing], replace(rules, margin=None))
    return {**known, **dict(zip(missing, answers(question, prepared) if missing else (), strict=True))}


def rank_suite(
    suite: Suite,
    metric: str,
    versions: Sequence[str],
    rules: Rules,
    known: Mapping[tuple[str, str, str], Comparison] = MappingProxyType({}),
    question: str = HEADLINE,
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
        mean = log_ratios(made[at] for at in keys_of_duel).mean(like_these=False)
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
    ranks = places(versions, pairs)
    rows = (RankedVersion(v, speedups[v], *ranks[v], undermined.get(v, ())) for v in order)
    return SuiteRanking(alpha, tuple(rows), pairs, benchmarks, left_out)


def _comparable(samples: Sequence[Sample | None]) -> bool:
    """Whether every version has a sample, all in one unit."""
    return None not in samples and len({(s.unit, s.direction) for s in samples if s}) == 1


class RankedRun(Placed, Struct, frozen=True):
    """One version among the others of a benchmark."""

    version: str  # its name
    n: int  # observations
    # Independent ones: as many, or processes, or sessions, where values are nested; and which of these,
    # ``"run"``, ``"process"`` or ``"session"``
    units: int
    repeated: str
    # Of the sample; of one mean, or median, a process or session where values are nested, as in comparisons
    mean: float
    median: float
    # Peaks of its mixture told apart by a clear valley; None when no mixture could be fitted
    modes: int | None
    # Of two versions that of a comparison: a run (process, session) of this one beats one of the other, ties
    # counting half. Of more I3 of the samples: one run of this version beats one run of every other. Values nested
    # in processes widen its interval as they must, and it is drawn towards the mean of all, as the best of several
    # looks better than it is
    chance: Estimate
    ties: float  # the share of ties of two versions; what ties would add to the chance of more
    mixture_chance: Estimate | None  # I3 of the mixtures; None when some version has none
    # 1 wins most single runs. Between them lies every rank that the proven verdicts allow
    best_rank: int
    worst_rank: int
    # What makes the true risk of its verdicts another one than stated, mostly a larger one
    undermining: tuple[Note, ...]


class RunRanking(InOrder, Struct, frozen=True):
    """The versions of one benchmark, the most likely winner of a single run first."""

    alpha: float  # the risk of all verdicts together, of each interval by itself, of two versions each bound
    versions: tuple[RankedRun, ...]  # by descending chance; of equals the better median first
    pairs: tuple[PairVerdict, ...]  # every two versions, in the order given
    # With fewer runs (processes or sessions, where values are nested) than this, no two versions can be told
    # apart at this risk, even if one wins every time
    least_runs: int
    enough_runs: bool  # whether at least two versions have as many
    # The best versions observed; nothing is proven of them here
    best_in_mean: str
    best_in_median: str
    error: float  # bound of the numerical error of the mixtures' chances

    def __str__(self) -> str:
        return "\n".join(
            f"{v.place}. {v.version}: wins {100 * v.chance.value:.3g} % "
            f"[{100 * v.chance.low:.3g} %, {100 * v.chance.high:.3g} %]"
            for v in self.versions
        )

    @property
    def undermined(self) -> bool:
        """Whether the runs of a version are not what the tests assume."""
        return any(v.undermining for v in self.versions)


def rank_runs(
    samples: Mapping[str, Sample],
    *,
    alpha: float,
    K_max: int,
    resamples: int,
    seed: int,
    jobs: int,
    known: Mapping[tuple[str, str], Comparison] = MappingProxyType({}),
) -> RunRanking:
    """Rank the versions of one benchmark by the chance that a single run beats one run of every other.

    Two versions are compared by the headline's test, of :mod:`speedproof.protocols.typical`: does a run of one
    beat a run of the other more often than not? Of values nested in processes, or in four sessions of every
    version or more, the median of each counts. ``known`` are answers of that test at this risk.
    """
    from speedproof.mixture.fitting import fit  # a ranking of suites need not load mixtures
    from speedproof.mixture.metrics import least_of_samples, sample_intervals
    from speedproof.mixture.modes import number_of_modes

    if len(samples) < 2:
        raise DataError(f"only {', '.join(samples) or 'no version'} has it; a ranking takes two")
    if len({(s.unit, s.direction) for s in samples.values()}) > 1:
        raise DataError("its versions have different units or directions")
    largest = [float(np.abs(s.values).max()) for s in samples.values()]
    sizes = [size for size in largest if size]  # zero is so in any unit
    if sizes and min(sizes) < max(sizes) / MOST_APART:
        raise DataError("its versions differ so much in size that no unit can hold them together")
    higher = next(iter(samples.values())).higher_is_better
    shift = exponent(*(s.values for s in samples.values()))  # chances do not depend on the unit
    at_places = matched(list(samples.values()))
    values = [np.ldexp(-s.values if higher else s.values, shift) for s in at_places]
    made = _duels(samples, alpha, known)
    if len(values) == 2:
        ((c, second),) = made.values()
        first = Estimate(1 - second.value, 1 - second.high, 1 - second.low, second.confidence)
        chances, ties = [first, second], [c.ties] * 2
    else:
        chances = [*sample_intervals(values, processes=clusters_of(at_places), alpha=alpha, ranked=True)]
        strict, or_equal = least_of_samples(values)
        ties = (or_equal - strict).tolist()
    units = dict(zip(samples, typical_units(at_places), strict=True))
    averaged = dict(zip(samples, units_of(at_places, "mean"), strict=True))
    means = {v: mean_of(sample.values) for v, sample in averaged.items()}
    medians = {v: median_of(sample.values) for v, sample in units.items()}
    order = sorted(range(len(values)), key=lambda i: (-chances[i].value, float(np.median(values[i]))))
    names = [list(samples)[i] for i in order]
    fits: list[MixtureFit | None] = [None] * len(values)
    for i, v in enumerate(values if resamples else ()):
        with suppress(DataError):  # a single value, many times
            fits[i] = fit(v, K_max=K_max)
    by_mixtures, error = _of_mixtures(fits, alpha, resamples, seed, jobs)
    claims = {
        duel: (chance, chance.value >= 0.5, *((1.0, 1.0) if c.by_few_runs else (c.pvalue, c.pvalue_slower)))
        for duel, (c, chance) in made.items()
    }
    pairs = verdicts(claims, alpha)
    ranks = places(names, pairs)
    # Holm's first step holds the p-value of separated samples against all 2 k claims.
    smallest = QUESTIONS[HEADLINE].least_pvalue
    enough = (n for n in count(2) if not few_separate(n, alpha))
    least = next(n for n in enough if 2 * len(pairs) * smallest(n, n) <= alpha)
    best = max if higher else min
    return RunRanking(
        alpha=alpha,
        versions=tuple(
            RankedRun(
                name, samples[name].n, units[name].n, repeated_in(samples[name], units[name].n),
                means[name], medians[name], number_of_modes(f) if f else None,
                chance, tied_share, by_mixture, *ranks[name], _undermining(samples, units, name),
            )
            for name, f, chance, tied_share, by_mixture in (
                (n, fits[i], chances[i], ties[i], by_mixtures[i]) for n, i in zip(names, order, strict=True)
            )
        ),
        pairs=pairs,
        least_runs=least,
        enough_runs=sum(unit.n >= least for unit in units.values()) > 1,
        best_in_mean=best(names, key=lambda v: means[v]),
        best_in_median=best(names, key=lambda v: medians[v]),
        error=error,
    )  # fmt: skip


def _of_mixtures(
    fits: Sequence[MixtureFit | None], alpha: float, resamples: int, seed: int, jobs: int
) -> tuple[Sequence[Estimate | None], float]:
    """I3 of the mixtures and the bound of its numerical error; None everywhere when one mixture is missing."""
    from speedproof.mixture.metrics import least_of_mixtures, mixture_intervals

    fitted = [f for f in fits if f is not None]
    if len(fitted) < len(fits):
        return [None] * len(fits), 0.0
    chances, error = least_of_mixtures([f.model for f in fitted])
    intervals = mixture_intervals(
        fitted, chances.tolist(), resamples=resamples, seed=seed, alpha=alpha, jobs=jobs
    )
    return intervals, error


def _duels(
    samples: Mapping[str, Sample], alpha: float, known: Mapping[tuple[str, str], Comparison]
) -> dict[tuple[str, str], tuple[Comparison, Estimate]]:
    """Every pair by the headline's test, which allows for runs that are alike, drift or warm up; its chance."""
    pairs = {(i, j): Pair(UNNAMED, samples[i], samples[j]) for i, j in combinations(samples, 2)}
    made = all_answers(HEADLINE, pairs, known, Rules(alpha))
    no_chance = [duel for duel in pairs if made[duel].chance is None]
    single = single_runs(PreparedPairs([pairs[duel] for duel in no_chance], Rules(alpha)))
    chances = {duel: c.speedup for duel, c in zip(no_chance, single, strict=True)}
    return {duel: (made[duel], made[duel].chance or chances[duel]) for duel in pairs}


def _undermining(
    samples: Mapping[str, Sample], units: Mapping[str, Sample], version: str
) -> tuple[Note, ...]:
    """Failed checks that make the true risk of what is said of one of several versions unknown.

    Not what the test takes care of itself, or is said once of all.
    """
    others = [sample for name, sample in samples.items() if name != version]
    checks = undermining(samples[version], units[version], version, others)
    for other in others:
        checks += same_values(samples[version], other)
    return tuple({(c.kind, c.message): c for c in checks if c.kind not in ADJUSTED}.values())
