"""Which version to run: the metrics of all versions with bootstrap intervals, and advice in plain words.

Intervals of the empirical form resample the observations; those of the mixture form draw from the fitted
mixtures and fit each draw anew with the choice of K and model. Both are percentile intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from speedproof.errors import UsageError
from speedproof.mixture.fit import MixtureFit
from speedproof.mixture.goodness import draw_samples, refitted_models
from speedproof.mixture.metrics import Chances, least_of_mixtures, least_of_samples
from speedproof.mixture.model import MixtureModel
from speedproof.stats.estimate import Estimate

__all__ = ["Advice", "Ranked", "Ranking", "advise", "mixture_intervals", "rank", "sample_intervals"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One version among the others.

    Attributes
    ----------
    version : str
        Its name.
    n : int
        Observations.
    mean, median : float
        Of the sample.
    modes : int
        I4 of its mixture.
    least : Estimate
        I3 of the samples: a run of this version beats one run of every other.
    ties : float
        What ties would add to it.
    mixture_least : Estimate
        I3 of the mixtures.
    """

    version: str
    n: int
    mean: float
    median: float
    modes: int
    least: Estimate
    ties: float
    mixture_least: Estimate


@dataclass(frozen=True, slots=True)
class Ranking:
    """All versions, the most likely winner of a single run first.

    Attributes
    ----------
    versions : tuple of Ranked
        By descending I3 of the samples; of equals the better median first.
    error : float
        Bound of the quadrature error of the mixture form.
    resamples : int
        Bootstrap samples behind each interval.
    confidence : float
        Of each interval by itself.
    higher_is_better : bool
        Whether a run wins by the largest value.
    """

    versions: tuple[Ranked, ...]
    error: float
    resamples: int
    confidence: float
    higher_is_better: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """What to run, as section 8.3 of the report discusses.

    Attributes
    ----------
    often_by_mean, often_by_median, rarely : str
        The best version in mean, in median, on a single run.
    text : str
        The same in a sentence or two.
    """

    often_by_mean: str
    often_by_median: str
    rarely: str
    text: str


def _capped(chance: Estimate, tuples: int) -> Estimate:
    """The interval of a chance, never narrower than so many independent tuples allow if all were won or lost.

    Resampling separated samples gives the same answer every time, which is no certainty.
    """
    most = ((1 - chance.confidence) / 2) ** (1 / tuples)
    return replace(chance, low=min(chance.low, most), high=max(chance.high, 1 - most))


def sample_intervals(
    statistic: Callable[[Sequence[Floats]], npt.ArrayLike],
    samples: Sequence[npt.ArrayLike],
    *,
    resamples: int = 200,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[Estimate, ...]:
    """Percentile intervals of a statistic of several samples, by resampling the observations of each.

    Parameters
    ----------
    statistic : callable
        From samples to one number or a vector of numbers.
    samples : sequence of array_like
        Independent samples of independent observations.
    resamples : int
        Bootstrap samples.
    seed : int
        The same seed gives the same intervals.
    confidence : float
        Of each interval by itself.

    Returns
    -------
    tuple of Estimate
        One for each number of the statistic.

    Examples
    --------
    >>> from speedproof.mixture.metrics import expected_gap
    >>> (gap,) = sample_intervals(lambda s: expected_gap(*s), [[1.0, 2.0], [4.0, 4.5]], seed=1)
    >>> gap.value, gap.low <= gap.value <= gap.high
    (2.75, True)
    """
    arrays = [np.asarray(s, dtype=np.float64) for s in samples]
    value = np.atleast_1d(np.asarray(statistic(arrays), dtype=np.float64))
    draws = np.empty((resamples, value.size))
    for i, child in enumerate(np.random.SeedSequence(seed).spawn(resamples)):
        rng = np.random.default_rng(child)
        draws[i] = statistic([a[rng.integers(0, a.size, a.size)] for a in arrays])
    return _percentiles(value, draws, confidence)


def mixture_intervals(
    statistic: Callable[[Sequence[MixtureModel]], npt.ArrayLike],
    fits: Sequence[MixtureFit],
    *,
    resamples: int = 200,
    seed: int = 0,
    confidence: float = 0.95,
    jobs: int = 1,
) -> tuple[Estimate, ...]:
    """Percentile intervals of a statistic of several mixtures, by drawing from each and fitting anew.

    Parameters
    ----------
    statistic : callable
        From mixtures to one number or a vector of numbers.
    fits : sequence of MixtureFit
        Of independent samples.
    resamples : int
        Bootstrap samples.
    seed : int
        The same seed gives the same intervals, whatever ``jobs``.
    confidence : float
        Of each interval by itself.
    jobs : int
        Threads.

    Returns
    -------
    tuple of Estimate
        One for each number of the statistic.
    """
    value = np.atleast_1d(np.asarray(statistic([f.model for f in fits]), dtype=np.float64))
    seeds = np.random.SeedSequence(seed).spawn(len(fits))
    redrawn = [
        refitted_models(draw_samples(f.model, f.n, resamples, child, jobs=jobs), f.K_max, jobs=jobs)
        for f, child in zip(fits, seeds, strict=True)
    ]
    draws = np.array([np.atleast_1d(statistic(models)) for models in zip(*redrawn, strict=True)])
    return _percentiles(value, draws.reshape(-1, value.size), confidence)


def _percentiles(value: Floats, draws: Floats, confidence: float) -> tuple[Estimate, ...]:
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"a confidence lies between 0 and 1, not at {confidence:g}")
    low, high = np.quantile(draws, [0.5 * (1 - confidence), 0.5 * (1 + confidence)], axis=0)
    return tuple(
        Estimate(v, a, b, confidence)
        for v, a, b in zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
    )


def rank(
    versions: Sequence[str],
    samples: Sequence[npt.ArrayLike],
    fits: Sequence[MixtureFit],
    *,
    higher_is_better: bool = False,
    resamples: int = 200,
    seed: int = 0,
    confidence: float = 0.95,
    jobs: int = 1,
) -> Ranking:
    """Rank versions by the chance that a single run beats one run of every other.

    Parameters
    ----------
    versions : sequence of str
        Names, at least two.
    samples : sequence of array_like
        A sample of each.
    fits : sequence of MixtureFit
        A mixture of each.
    higher_is_better : bool
        Whether the largest value wins.
    resamples : int
        Bootstrap samples behind the intervals.
    seed : int
        The same seed gives the same intervals, whatever ``jobs``.
    confidence : float
        Of each interval by itself.
    jobs : int
        Threads.

    Returns
    -------
    Ranking
        The likeliest winner first.

    Raises
    ------
    UsageError
        Fewer than two versions.

    Examples
    --------
    >>> from speedproof.mixture.fit import fit
    >>> x, y = [5.0, 5.1, 5.2, 5.4, 5.3], [6.1, 6.0, 5.2, 6.3, 6.2]
    >>> r = rank(["old", "new"], [y, x], [fit(y), fit(x)], resamples=20)
    >>> [(v.version, round(v.least.value, 2)) for v in r.versions]
    [('new', 0.88), ('old', 0.08)]
    """
    sign = -1.0 if higher_is_better else 1.0
    arrays = [np.asarray(s, dtype=np.float64) for s in samples]

    def of_samples(some: Sequence[Floats]) -> Floats:
        return least_of_samples([sign * a for a in some]).strict

    def chances(some: Sequence[MixtureModel]) -> Chances:
        return least_of_mixtures([MixtureModel(m.weights, sign * m.means, m.sds) for m in some])

    counted = least_of_samples([sign * a for a in arrays])
    error = chances([f.model for f in fits]).error
    resampled = sample_intervals(of_samples, arrays, resamples=resamples, seed=seed, confidence=confidence)
    empirical = tuple(_capped(chance, min(a.size for a in arrays)) for chance in resampled)
    parametric = mixture_intervals(
        lambda some: chances(some).strict,
        fits,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        jobs=jobs,
    )
    ranked = [
        Ranked(
            name, a.size, float(a.mean()), float(np.median(a)), f.model.modes().count, least,
            float(equal - strict), mixture_least,
        )
        for name, a, f, least, strict, equal, mixture_least in zip(
            versions, arrays, fits, empirical, counted.strict, counted.or_equal, parametric, strict=True
        )
    ]  # fmt: skip
    ranked.sort(key=lambda v: (-v.least.value, sign * v.median))  # many may win nothing against the first
    return Ranking(tuple(ranked), error, resamples, confidence, higher_is_better)


def advise(ranking: Ranking) -> Advice:
    """Say which version to run often and which to run rarely.

    A program that runs often is paid for by its mean (the sum of all runs) or lived with by its median; one
    that runs rarely should win the single run. What is named is the best observed, not proven the best.

    Parameters
    ----------
    ranking : Ranking
        From :func:`rank`.

    Returns
    -------
    Advice
        Three names and a text.
    """
    best = max if ranking.higher_is_better else min
    mean = best(ranking.versions, key=lambda v: v.mean).version
    median = best(ranking.versions, key=lambda v: v.median).version
    first = ranking.versions[0]
    rarely = first.version
    chance = f"{100 * first.least.value:.0f} %"
    rivals = [v.version for v in ranking.versions if v.version != rarely]
    against = rivals[0] if len(rivals) == 1 else f"each of the {len(rivals)} other versions"
    if mean == median == rarely:
        text = (
            f"Run {mean}: it has the best mean and the best median, and a single run of it beats one run of "
            f"{against} with probability {chance}."
        )
    else:
        text = (
            f"Run often, total cost counts: {mean} (best mean). Run often, the usual run counts: {median} "
            f"(best median). Run rarely: {rarely}, whose single run beats one run of {against} with "
            f"probability {chance}."
        )
    return Advice(mean, median, rarely, text)
