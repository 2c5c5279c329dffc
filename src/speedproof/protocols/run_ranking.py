"""The versions of one benchmark in order, by the chance that a single run beats one run of every other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations, count
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from speedproof.data.notes import Assumption, Note
from speedproof.data.sample import Sample
from speedproof.data.suite import Pair
from speedproof.errors import DataError
from speedproof.options import HEADLINE
from speedproof.protocols.checks import same_values, undermining
from speedproof.protocols.pair import UNNAMED, Rules
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.ranking import all_answers, open_pairs, places, tied_in, verdicts
from speedproof.protocols.results import Comparison, InOrder, PairVerdict, Placed
from speedproof.protocols.typical import ADJUSTED
from speedproof.protocols.units import clusters_of, independent_units, matched, repeated_in
from speedproof.stats.estimate import Estimate
from speedproof.stats.scaling import MOST_APART, exponent
from speedproof.stats.scaling import mean as mean_of
from speedproof.stats.scaling import median as median_of
from speedproof.stats.superiority import fewest_for_chance

if TYPE_CHECKING:
    from speedproof.mixture.fitting import MixtureFit


class RankedRun(Placed, Struct, frozen=True):
    """One version among the others of a benchmark."""

    version: str  # its name
    n: int  # observations
    # Independent ones: as many, or processes, or sessions, where values are nested; and which of these,
    # ``"run"``, ``"process"`` or ``"session"``
    units: int
    repeated: str
    # Of the sample; of one value a process, or a session, where values are nested, as in comparisons
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
    tied: bool  # whether it is not told apart from a neighbour
    # What makes the true risk of its verdicts another one than stated, mostly a larger one
    undermining: tuple[Note, ...]


class RunRanking(InOrder, Struct, frozen=True):
    """The versions of one benchmark, the most likely winner of a single run first."""

    alpha: float  # the risk of all verdicts together, of each interval by itself, of two versions each bound
    versions: tuple[RankedRun, ...]  # by descending chance; of equals the better median first
    pairs: tuple[PairVerdict, ...]  # every two versions, in the order given
    # Neighbours of which no two are told apart, as many as go together; they may overlap
    groups: tuple[tuple[str, ...], ...]
    # With fewer runs (processes or sessions, where values are nested) than this, no two versions can be told
    # apart at this risk, even if one wins every time
    least_runs: int
    enough_runs: bool  # whether at least two versions have as many
    in_blocks: bool  # whether runs of the same block were compared, which says nothing of the chances' limits
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
    def winner(self) -> str:
        """The version that is proven to be first; empty where none is."""
        return self.leading[0] if len(self.leading) == 1 else ""

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
        raise DataError(f"only {', '.join(samples) or 'nothing'} to rank: it takes two versions")
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
        counted = least_of_samples(values)
        ties = (counted.or_equal - counted.strict).tolist()
    units = dict(zip(samples, independent_units(at_places, "median"), strict=True))
    means, medians = ({v: at(s.values) for v, s in units.items()} for at in (mean_of, median_of))
    order = sorted(range(len(values)), key=lambda i: (-chances[i].value, float(np.median(values[i]))))
    names = [list(samples)[i] for i in order]
    fits: list[MixtureFit | None] = [None] * len(values)
    for i, v in enumerate(values if resamples else ()):
        with suppress(DataError):  # a single value, many times
            fits[i] = fit(v, K_max=K_max)
    by_mixtures, error = _of_mixtures(fits, alpha, resamples, seed, jobs)
    fewest = fewest_for_chance(alpha)
    claims = {
        duel: (chance, chance.value >= 0.5, c.pvalue, c.pvalue_slower)
        if min(c.reference.n, c.candidate.n) >= fewest
        else (chance, chance.value >= 0.5, 1.0, 1.0)
        for duel, (c, chance) in made.items()
    }
    pairs = verdicts(claims, alpha)
    groups = _groups(names, open_pairs(pairs))
    ranks, tied = places(names, pairs), tied_in(names, pairs)
    # Holm's first step holds the p-value of separated samples against all 2 k claims.
    smallest = QUESTIONS[HEADLINE].least_pvalue
    least = next(n for n in count(fewest) if 2 * len(pairs) * smallest(n, n) <= alpha)
    best = max if higher else min
    return RunRanking(
        alpha=alpha,
        versions=tuple(
            RankedRun(
                name, samples[name].n, units[name].n, repeated_in(samples[name], units[name].n),
                means[name], medians[name], number_of_modes(f) if f else None,
                chance, tied_share, by_mixture, *ranks[name], name in tied, _undermining(samples, units, name),
            )
            for name, f, chance, tied_share, by_mixture in (
                (n, fits[i], chances[i], ties[i], by_mixtures[i]) for n, i in zip(names, order, strict=True)
            )
        ),
        pairs=pairs,
        groups=groups,
        least_runs=least,
        enough_runs=sum(unit.n >= least for unit in units.values()) > 1,
        in_blocks=all(c.chance is None for c, _ in made.values()),
        best_in_mean=best(names, key=lambda v: means[v]),
        best_in_median=best(names, key=lambda v: medians[v]),
        error=error,
    )  # fmt: skip


def _of_mixtures(
    fits: Sequence[MixtureFit | None], alpha: float, resamples: int, seed: int, jobs: int
) -> tuple[Sequence[Estimate | None], float]:
    """I3 of the mixtures and the bound of its numerical error; None everywhere when one mixture is missing."""
    from speedproof.mixture.metrics import least_of_mixtures, mixture_intervals

    known = [f for f in fits if f is not None]
    if len(known) < len(fits):
        return [None] * len(fits), 0.0
    least = least_of_mixtures([f.model for f in known])
    intervals = mixture_intervals(
        known, least.strict.tolist(), resamples=resamples, seed=seed, alpha=alpha, jobs=jobs
    )
    return intervals, least.error


def _duels(
    samples: Mapping[str, Sample], alpha: float, known: Mapping[tuple[str, str], Comparison]
) -> dict[tuple[str, str], tuple[Comparison, Estimate]]:
    """Every pair by the headline's test, which allows for runs that are alike, drift or warm up; its chance."""
    pairs = {(i, j): Pair(UNNAMED, samples[i], samples[j]) for i, j in combinations(samples, 2)}
    made = all_answers(HEADLINE, pairs, known, Rules(alpha))
    no_chance = {duel: pair for duel, pair in pairs.items() if made[duel].chance is None}
    single = all_answers("single run", no_chance, {}, Rules(alpha))
    return {duel: (made[duel], made[duel].chance or single[duel].speedup) for duel in pairs}


def _undermining(
    samples: Mapping[str, Sample], units: Mapping[str, Sample], version: str
) -> tuple[Note, ...]:
    """Failed checks that make the true risk of what is said of one of several versions unknown.

    Not what the test takes care of itself; that a version is one process is said nowhere else.
    """
    others = [sample for name, sample in samples.items() if name != version]
    checks = undermining(samples[version], units[version], version, others)
    for other in others:
        checks += same_values(samples[version], other)
    adjusted = ADJUSTED - {Assumption.SEVERAL_PROCESSES}
    return tuple({(c.kind, c.message): c for c in checks if c.kind not in adjusted}.values())


def _groups(names: Sequence[str], undecided: set[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """The longest stretches of the order in which no two are told apart, none inside another."""
    ties: list[tuple[int, int]] = []
    for start in range(len(names)):
        end = start + 1
        while end < len(names) and all(frozenset((names[end], v)) in undecided for v in names[start:end]):
            end += 1
        if end - start > 1 and (not ties or end > ties[-1][1]):
            ties.append((start, end))
    return tuple(tuple(names[start:end]) for start, end in ties)
