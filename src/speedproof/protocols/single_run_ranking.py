"""Which versions a single run tells apart: every pair of one benchmark's samples, all verdicts at one risk."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from speedproof.data.sample import Sample
from speedproof.protocols.assumptions import UNDERMINING, Assumption
from speedproof.protocols.checks import of_sample, same_values
from speedproof.protocols.results import Check, Verdict
from speedproof.protocols.version_ranking import places
from speedproof.stats.bounds import probability_greater
from speedproof.stats.estimate import Estimate
from speedproof.stats.multiplicity import holm

__all__ = ["Duel", "Place", "Separation", "doubts_of", "separate"]

_NESTED = (
    "several values come from one process: the tests take one value a process, but the intervals take all values "
    "as independent and may be far too narrow"
)


@dataclass(frozen=True, slots=True)
class Duel:
    """Two versions on a single run.

    Attributes
    ----------
    reference, candidate : str
        The versions.
    chance : Estimate
        That a run of the candidate beats a run of the reference, ties counting half; each bound by itself.
    verdict : Verdict
        After Holm's control over all pairs and both directions.
    pvalue : float
        Adjusted, of the direction observed; NaN when the test is not defined.
    """

    reference: str
    candidate: str
    chance: Estimate
    verdict: Verdict
    pvalue: float


@dataclass(frozen=True, slots=True)
class Place:
    """One version's place.

    Attributes
    ----------
    version : str
        Its name.
    best_rank, worst_rank : int
        1 wins most single runs. Between them lies every rank that the proven verdicts allow.
    tied : bool
        Whether it is not told apart from a neighbour in the order of the ranking.
    doubts : tuple of Check
        What makes the true risk of its verdicts and intervals another one than stated, mostly a larger one.
    """

    version: str
    best_rank: int
    worst_rank: int
    tied: bool
    doubts: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Separation:
    """What is proven of the order of several versions.

    Attributes
    ----------
    alpha : float
        The risk of all verdicts together.
    places : tuple of Place
        In the order given.
    duels : tuple of Duel
        Every two versions.
    groups : tuple of tuple of str
        Neighbours in the order given of which no two are told apart, as many as go together; they may overlap.
    least_runs : int
        With fewer runs (processes, where values are nested) than this, no two versions can be told apart at
        this risk, even if one wins every time.
    enough_runs : bool
        Whether at least two versions have as many.
    """

    alpha: float
    places: tuple[Place, ...]
    duels: tuple[Duel, ...]
    groups: tuple[tuple[str, ...], ...]
    least_runs: int
    enough_runs: bool


def separate(samples: Mapping[str, Sample], alpha: float = 0.05) -> Separation:
    """Tell versions apart by whether a run of one beats a run of the other more often than not.

    Parameters
    ----------
    samples : mapping of str to Sample
        By version, in the order of a ranking, in one unit and direction.
    alpha : float
        The risk that any verdict is false, 0 < alpha < 1.

    Returns
    -------
    Separation
        Versions that no verdict separates share their places.

    Notes
    -----
    All r (r - 1) claims "i beats j" are one family under Holm's procedure, by the tests of
    :func:`speedproof.stats.bounds.probability_greater`. The pairs share samples; that procedure holds under
    any dependence. Of values nested in processes the median of each process counts.

    Examples
    --------
    >>> import numpy as np
    >>> fast, slow = np.linspace(1, 2, 12), np.linspace(3, 4, 12)
    >>> found = separate({"a": Sample(fast), "b": Sample(fast + 0.01), "c": Sample(slow)})
    >>> [(p.version, p.best_rank, p.worst_rank) for p in found.places], found.groups
    ([('a', 1, 2), ('b', 1, 2), ('c', 3, 3)], (('a', 'b'),))
    """
    names = tuple(samples)
    pairs = list(combinations(names, 2))
    tests = [_test(samples[reference], samples[candidate], alpha) for reference, candidate in pairs]
    adjusted = holm([p for _, faster, slower in tests for p in (faster, slower)]).reshape(-1, 2).tolist()
    duels = tuple(
        Duel(reference, candidate, chance, *_decide(chance, adjusted_pair, alpha))
        for (reference, candidate), (chance, _, _), adjusted_pair in zip(pairs, tests, adjusted, strict=True)
    )
    open_pairs = {frozenset((d.reference, d.candidate)) for d in duels if d.verdict is Verdict.UNDECIDED}
    ranks = places(names, [(d.reference, d.candidate, d.verdict) for d in duels])
    groups = _groups(names, open_pairs)
    # Separated samples have the p-value 2^-runs, which Holm's first step holds against all 2 k claims.
    least = math.ceil(math.log2(2 * len(pairs) / alpha))
    grouped = {name for group in groups for name in group}
    return Separation(
        alpha=alpha,
        places=tuple(Place(v, *ranks[v], v in grouped, doubts_of(samples, v)) for v in names),
        duels=duels,
        groups=groups,
        least_runs=least,
        enough_runs=sum(sample.process_count >= least for sample in samples.values()) > 1,
    )


def doubts_of(samples: Mapping[str, Sample], version: str) -> tuple[Check, ...]:
    """What undermines statements about one of several versions.

    Parameters
    ----------
    samples : mapping of str to Sample
        By version.
    version : str
        One of them.

    Returns
    -------
    tuple of Check
        Failed ones that make the true risk unknown. Values nested in processes are among them: intervals that
        resample single values take them as independent.
    """
    own = samples[version]
    others = [sample for name, sample in samples.items() if name != version]
    other_nested = any(sample.nested for sample in others)
    used = own.per_process("median")
    checks = [*of_sample(own, used, version, other_nested=other_nested)]
    if own.nested:
        checks.append(Check(Assumption.NESTING, version, math.nan, math.nan, False, _NESTED))
    for other in others:
        checks += same_values(own, other)
    failed = (check for check in checks if not check.held and check.kind in UNDERMINING)
    return tuple({(check.kind, check.message): check for check in failed}.values())


def _test(reference: Sample, candidate: Sample, alpha: float) -> tuple[Estimate, float, float]:
    """The chance that the candidate wins, and the p-values of "more often than not" and of its opposite."""
    slow, fast = (sample.per_process("median").values for sample in (reference, candidate))
    if reference.higher_is_better:
        slow, fast = fast, slow
    found = probability_greater(slow, fast, alpha)
    chance = Estimate(float(found.estimate), float(found.low), float(found.high), 1 - alpha)
    return chance, float(found.pvalue), float(found.pvalue_less)


def _decide(chance: Estimate, adjusted: Sequence[float], alpha: float) -> tuple[Verdict, float]:
    faster, slower = adjusted
    verdict = Verdict.FASTER if faster <= alpha else Verdict.SLOWER if slower <= alpha else Verdict.UNDECIDED
    observed = faster if chance.value >= 0.5 else slower
    return verdict, observed


def _groups(names: Sequence[str], open_pairs: set[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """The longest stretches of the order in which no two are told apart, none inside another."""
    found: list[tuple[int, int]] = []
    for start in range(len(names)):
        end = start + 1
        while end < len(names) and all(
            frozenset((names[end], other)) in open_pairs for other in names[start:end]
        ):
            end += 1
        if end - start > 1 and (not found or end > found[-1][1]):
            found.append((start, end))
    return tuple(tuple(names[start:end]) for start, end in found)
