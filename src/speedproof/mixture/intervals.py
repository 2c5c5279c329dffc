"""Intervals of I3, the chance that one run of a version beats one run of every other.

Of samples: the chance is a U-statistic of r samples. Its standard error comes from the projections on each sample
(W. Hoeffding, Annals of Mathematical Statistics 19, 1948), summed within a process where values are nested, its
degrees of freedom from Satterthwaite's formula, and the interval is Student's on the scale of log odds: for two
versions it is that of Brunner and Munzel's test. Of mixtures: percentiles over mixtures fitted anew to samples
drawn from them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray, IntArray
from speedproof.errors import UsageError
from speedproof.mixture.fitting import MixtureFit
from speedproof.mixture.goodness import draw_samples, refitted
from speedproof.stats.estimate import Estimate
from speedproof.stats.special import ndtri, t_quantile

MOST_DRAWN = 4_000
"""Values of a redrawn sample at most: fitting anew takes as long as there are values."""

POINTS = 200_000
"""So many points stand for all redrawn mixtures together; a mixture has at least 32 of them."""

_TABLE = ndtri((np.arange(4096) + 0.5) / 4096)


def sample_intervals(
    samples: Sequence[npt.ArrayLike],
    *,
    processes: Sequence[npt.ArrayLike | None] | None = None,
    alpha: float = 0.05,
    ranked: bool = False,
) -> tuple[Estimate, ...]:
    """I3 of every sample with its two-sided interval.

    The best of several is so partly by chance. Where they are ``ranked``, estimates of three or more are drawn
    towards their mean, onto it where their spread is at most 2.5 times what their errors explain: whether
    versions are equal or far apart, the best then is on average what it says, to a point or two.
    """
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"a risk lies between 0 and 1, not at {alpha:g}")
    pairs = [_ranked(s, p) for s, p in zip(samples, processes or [None] * len(samples), strict=True)]
    ordered, inside = [a for a, _ in pairs], [p for _, p in pairs]
    fewest = min(int(p.max()) + 1 for p in inside)
    certain = (0.5 * alpha) ** (1.0 / fewest)
    projected = [_projected(j, ordered, inside) for j in range(len(ordered))]
    mean, kept = sum(chance for chance, *_ in projected) / len(ordered), 1.0
    if ranked and len(ordered) > 2:
        spread = sum((chance - mean) ** 2 for chance, *_ in projected)
        errors = sum(float(variances.sum()) for _, variances, _ in projected)
        kept = 1.0 - min(2.5 * errors / spread, 1.0) ** 2 if spread > 0.0 else 0.0
    found = []
    for chance, variances, degrees in projected:
        low, high = 0.0, 1.0
        total = float(variances.sum())
        if 0.0 < chance < 1.0 and total > 0.0:
            df = total**2 / float((variances**2 / degrees).sum())
            odds = np.log(chance / (1.0 - chance))
            half = t_quantile(1.0 - 0.5 * alpha, df) * np.sqrt(total) / (chance * (1.0 - chance))
            with np.errstate(over="ignore"):
                low, high = (float(1.0 / (1.0 + np.exp(shift - odds))) for shift in (half, -half))
        elif chance in (0.0, 1.0) and fewest > 1:
            low, high = (certain, 1.0) if chance else (0.0, 1.0 - certain)
        low, high = min(low, certain), max(high, 1.0 - certain)
        drawn = min(max(mean + kept * (chance - mean), low), high)
        found.append(Estimate(drawn, low, high, 1.0 - alpha))
    return tuple(found)


def _ranked(values: npt.ArrayLike, processes: npt.ArrayLike | None) -> tuple[FloatArray, IntArray]:
    """The values in order, and the numbers of their processes from 0 on."""
    x = np.asarray(values, dtype=np.float64)
    if processes is None:
        return np.sort(x), np.arange(x.size)
    order = np.argsort(x, kind="stable")
    return x[order], np.unique(np.asarray(processes), return_inverse=True)[1][order]


def _projected(
    j: int, ranked: Sequence[FloatArray], inside: Sequence[IntArray]
) -> tuple[float, FloatArray, FloatArray]:
    """The chance of version j, what each sample adds to its variance, and that one's degrees of freedom.

    The projection on the version itself is the chance of each of its values; that on another sample is the
    chance that a value lets the version win, which is the sum over the version's values below it.
    """
    x = ranked[j]
    survival = {m: (a.size - np.searchsorted(a, x, "right")) / a.size for m, a in enumerate(ranked) if m != j}
    of_value = np.prod(list(survival.values()), axis=0)
    chance = float(of_value.mean())
    variances, degrees = np.zeros(len(ranked)), np.ones(len(ranked))
    for m, values in enumerate(ranked):
        if m == j:
            of_run = of_value
        else:
            others = np.divide(of_value, survival[m], out=np.zeros_like(of_value), where=survival[m] > 0.0)
            of_run = np.concatenate([[0.0], np.cumsum(others)])[np.searchsorted(x, values)] / x.size
        sums = np.bincount(inside[m], weights=of_run - chance)
        if sums.size > 1:
            degrees[m] = sums.size - 1
            variances[m] = (sums**2).sum() / values.size**2 * sums.size / degrees[m]
    return chance, variances, degrees


def mixture_intervals(
    fits: Sequence[MixtureFit],
    chances: Sequence[float],
    *,
    resamples: int = 200,
    seed: int = 0,
    alpha: float = 0.05,
    jobs: int = 1,
) -> tuple[Estimate, ...]:
    """Percentile intervals of I3 of mixtures, by drawing from each and fitting anew."""
    seeds = np.random.SeedSequence(seed).spawn(len(fits))
    points = int(np.clip(POINTS // (resamples * len(fits)), 32, 1024))

    def redrawn(f: MixtureFit, child: np.random.SeedSequence) -> FloatArray:
        samples = draw_samples(f.model, min(f.n, MOST_DRAWN), resamples, child, jobs=jobs)
        return points_of_weight(*refitted(samples, f.K_max, jobs=jobs), points)

    drawn = np.stack([redrawn(f, child) for f, child in zip(fits, seeds, strict=True)], axis=1)
    low, high = np.quantile(least_of_points(drawn), [0.5 * alpha, 1.0 - 0.5 * alpha], axis=0)
    certain = (0.5 * alpha) ** (1.0 / min(f.n for f in fits))
    return tuple(
        Estimate(value, min(a, value, certain), max(b, value, 1.0 - certain), 1.0 - alpha)
        for value, a, b in zip(chances, low.tolist(), high.tolist(), strict=True)
    )


def points_of_weight(weights: FloatArray, means: FloatArray, sds: FloatArray, count: int) -> FloatArray:
    """Every mixture as so many values of equal weight, shape (N, count).

    Of equal parts of the unit interval the place of the middle among the cumulated weights names the component,
    the place within that component's share its quantile.
    """
    ends = np.cumsum(weights, axis=1)
    place = (np.arange(count) + 0.5) / count * ends[:, -1:]
    k = np.minimum((place[:, :, None] >= ends[:, None]).sum(axis=2), weights.shape[1] - 1)
    weight, mean, sd, end = (np.take_along_axis(a, k, axis=1) for a in (weights, means, sds, ends))
    inside = 1.0 - (end - place) / np.where(weight > 0.0, weight, 1.0)
    return np.asarray(mean + sd * _TABLE[np.clip(inside * 4096, 0, 4095).astype(int)])


def least_of_points(values: FloatArray) -> FloatArray:
    """I3 of each of r versions of P values of equal weight, shape (N, r, P) -> (N, r); see `least_of_samples`."""
    draws, versions, count = values.shape
    order = np.argsort(np.sort(values, axis=2).reshape(draws, -1), axis=1)
    version, passed = np.divmod(order, count)
    left = count - passed
    last = left == 1
    logs = np.cumsum(np.log(np.where(last, 1, left - 1)) - np.log(left), axis=1)
    gone = np.cumsum(last, axis=1)
    own = np.log(np.maximum(left - 1, 1)) - np.log(count)
    product = np.where(gone == last, np.exp(logs - own), 0.0)
    place = (version + versions * np.arange(draws)[:, None]).ravel()
    chances = np.bincount(place, weights=product.ravel(), minlength=draws * versions)
    return np.asarray(chances.reshape(draws, versions) / count)
