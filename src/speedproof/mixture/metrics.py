"""The report's four metrics of two or more versions, each for samples and for mixtures.

======  =============================================  ==============================================
I1      E|X - Y|                                       how far apart two runs are
I2      P[X < Y + delta]                               one run of X beats one run of Y by -delta
I3      P[X1 < min(X2, ..., Xr)]                       one run of the version beats one of each other
I4      number of modes                                :meth:`speedproof.mixture.model.MixtureModel.modes`
======  =============================================  ==============================================

A sample stands for its empirical distribution. Inequalities are strict; what ties would add is told apart.
The report calls "G" in its formula of I3 what is 1 - G: the survival functions are multiplied here.

Intervals of I3. Of samples: the chance is a U-statistic of r samples. Its standard error comes from the
projections on each sample (W. Hoeffding, Annals of Mathematical Statistics 19, 1948), summed within a process
where values are nested, its degrees of freedom from Satterthwaite's formula, and the interval is Student's on the
scale of log odds: for two versions it is that of Brunner and Munzel's test. Of mixtures: percentiles over mixtures
fitted anew to samples drawn from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, FloatArray, IntArray
from speedproof.data.checked import checked
from speedproof.data.given import sample
from speedproof.data.sample import Sample
from speedproof.errors import UsageError
from speedproof.mixture.fitting import MixtureFit
from speedproof.mixture.goodness import draw_samples, refitted
from speedproof.mixture.model import MixtureModel
from speedproof.stats.estimate import Estimate
from speedproof.stats.scaling import unbounded
from speedproof.stats.special import ndtr, ndtri, t_quantile

Ties = Literal["strict", "half", "equal"]

MOST_DRAWN = 4_000
"""Values of a redrawn sample at most: fitting anew takes as long as there are values."""

POINTS = 200_000
"""So many points stand for all redrawn mixtures together; a mixture has at least 32 of them."""

_TABLE = ndtri((np.arange(4096) + 0.5) / 4096)


class Metrics(Struct, frozen=True, eq=False):
    """I1 to I4 of versions, in one form."""

    gaps: FloatArray  # shape (r, r): I1 = E|X_i - X_j|
    below: FloatArray  # shape (r, r): I2 = P[X_i < X_j + delta]
    least: FloatArray  # shape (r,): I3 = P[X_i < min of the others]; 1 for a single version
    modes: tuple[int, ...] | None  # I4; None for samples, as only a model has a number of modes


@checked()
def compare(
    versions: Sequence[ArrayLike | Sample | MixtureModel | MixtureFit],
    *,
    delta: float = 0.0,
    ties: Ties = "strict",
) -> Metrics:
    """The report's four metrics of any set of versions: of their samples, or of their mixtures.

    Parameters
    ----------
    versions : sequence of array_like or Sample, or of MixtureModel or MixtureFit
        Samples, or mixtures.
    delta : float
        Head start in I2.
    ties : {"strict", "half", "equal"}
        What a tie counts in I2 of samples.

    Returns
    -------
    Metrics
        Every pair in both directions.

    Examples
    --------
    >>> import speedproof as sp
    >>> m = sp.mixture.compare([[1.0, 2.0], [2.0, 4.0]])
    >>> float(m.gaps[0, 1]), float(m.below[0, 1]), m.least.tolist()
    (1.5, 0.75, [0.75, 0.0])
    """
    if not versions or not np.isfinite(delta):
        raise UsageError(
            f"{len(versions)} versions, delta={delta:g}: expected one or more, and a finite number"
        )
    versions = [v.model if isinstance(v, MixtureFit) else v for v in versions]
    models = [v for v in versions if isinstance(v, MixtureModel)]
    if models and len(models) < len(versions):
        raise UsageError("give samples or mixtures, not both")
    r = len(versions)
    pairs = [(i, j) for i in range(r) for j in range(r)]
    if models:
        gaps = [mixture_gap(models[i], models[j]) for i, j in pairs]
        below = [mixture_probability_below(models[i], models[j], delta=delta) for i, j in pairs]
        least = least_of_mixtures(models)[0] if r > 1 else np.ones(1)
        counts = tuple(m.modes().count for m in models)
        return Metrics(np.reshape(gaps, (r, r)), np.reshape(below, (r, r)), least, counts)
    made = [sample(v, unit=None if isinstance(v, Sample) else "") for v in versions]
    if len(units := dict.fromkeys(s.unit or "plain numbers" for s in made)) > 1:
        raise UsageError(
            f"versions in {' and in '.join(units)}: give all in one unit, sp.sample(..., unit=...)"
        )
    samples = [s.values for s in made]
    gaps = [expected_gap(samples[i], samples[j]) for i, j in pairs]
    below = [probability_below(samples[i], samples[j], delta=delta, ties=ties) for i, j in pairs]
    least = least_of_samples(samples)[0] if r > 1 else np.ones(1)
    return Metrics(np.reshape(gaps, (r, r)), np.reshape(below, (r, r)), least, None)


def expected_gap(x: ArrayLike, y: ArrayLike) -> float:
    """I1 of two samples: the mean of ``|x_i - y_j|`` over all pairs, in O(N log N)."""
    a, b = np.sort(np.asarray(x, dtype=np.float64)), np.sort(np.asarray(y, dtype=np.float64))
    origin = a[0]  # sums of small differences lose no digits
    a, b = a - origin, b - origin
    below = np.searchsorted(a, b, side="left")
    sums = np.concatenate([[0.0], np.cumsum(a)])
    # for each y: sum of y - x over the x below it, plus sum of x - y over the others
    total = (b * below - sums[below]) + ((sums[-1] - sums[below]) - b * (a.size - below))
    return float(total.sum() / (a.size * b.size))


def mixture_gap(x: MixtureModel, y: MixtureModel) -> float:
    """I1 of two mixtures, closed form: the mean of a folded normal for every pair of components."""
    d = x.means[:, None] - y.means
    s = np.hypot(x.sds[:, None], y.sds)
    z = d / s
    folded = d * (2.0 * ndtr(z) - 1.0) + s * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z)
    return float(x.weights @ folded @ y.weights)


_ULPS = 4


def probability_below(x: ArrayLike, y: ArrayLike, *, delta: float = 0.0, ties: Ties = "strict") -> float:
    """I2 of two samples: the share of pairs with ``x_i < y_j + delta``, in O(N log N)."""
    # Searching for ascending values finds what it needs in the cache.
    a, b = np.sort(np.asarray(x, dtype=np.float64)), np.sort(np.asarray(y, dtype=np.float64)) + delta
    # Adding decimals rounds: what lies within a few last digits is equal. Without a delta equality is exact.
    apart = _ULPS * np.finfo(np.float64).eps * (np.abs(b) + abs(delta)) if delta else 0.0
    below = int(np.searchsorted(a, b - apart, side="left").sum())
    within = int(np.searchsorted(a, b + apart, side="right").sum())
    count = {"strict": below, "half": 0.5 * (below + within), "equal": within}[ties]
    return float(count / (a.size * b.size))


def mixture_probability_below(x: MixtureModel, y: MixtureModel, *, delta: float = 0.0) -> float:
    """I2 of two mixtures, closed form; ties have probability zero."""
    z = (delta + y.means - x.means[:, None]) / np.hypot(x.sds[:, None], y.sds)
    return float(x.weights @ ndtr(z) @ y.weights)


def least_of_samples(samples: Sequence[ArrayLike]) -> tuple[FloatArray, FloatArray]:
    """I3 of every sample at once: the share of tuples, one value of each, whose least is the version's.

    Alone, and with ties: ``P[X_j < min of the others]``, and the same with ``<=``.

    With S_l(v) the share of sample l above v, the chance of version j is the mean of the product of S_l,
    l != j, over the values of j. One sweep over all values in order keeps the sum of log S_l: O(N log N)
    for all versions together.
    """
    arrays = [np.sort(np.asarray(s, dtype=np.float64)) for s in samples]
    sizes = np.array([a.size for a in arrays])
    pooled = np.concatenate(arrays)
    version = np.repeat(np.arange(sizes.size), sizes)
    order = np.argsort(pooled, kind="stable")
    pooled, version = pooled[order], version[order]
    left = np.concatenate([np.arange(n, 0, -1) for n in sizes])[order]  # of its sample, itself included
    # Passing a value takes log S_l from log(left / n) to log((left - 1) / n); the last one makes S_l zero.
    last = left == 1
    change = np.log(np.where(last, 1, left - 1)) - np.log(left)
    logs = np.concatenate([[0.0], np.cumsum(change)])
    zeros = np.concatenate([[0], np.cumsum(last)])

    def chances(side: Literal["left", "right"]) -> FloatArray:
        """Mean over each version of the others' survival; equal values passed ("right") or not ("left")."""
        passed = np.searchsorted(pooled, pooled, side)
        own_left = np.empty(pooled.size)
        for j, a in enumerate(arrays):
            own_left[version == j] = a.size - np.searchsorted(a, a, side)
        others_alive = zeros[passed] == (own_left == 0)
        # Where a sample is used up the sum keeps log(1 / n) for it, so that is what is taken out.
        itself = np.log(np.maximum(own_left, 1.0)) - np.log(sizes[version])
        product = np.where(others_alive, np.exp(logs[passed] - itself), 0.0)
        return np.asarray(np.bincount(version, weights=product, minlength=sizes.size) / sizes)

    return chances("right"), chances("left")


def least_of_mixtures(models: Sequence[MixtureModel]) -> tuple[FloatArray, float]:
    """I3 of every mixture at once, by Gauss-Legendre quadrature, and a bound of its error."""
    low, width = _intervals(models)
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    x = (low[:, None] + 0.5 * width[:, None] * (1.0 + node)).ravel()
    mass = (0.5 * width[:, None] * weight).ravel() * np.stack([m.pdf(x) for m in models])
    survival = np.stack([m.sf(x) for m in models])
    before = np.cumprod(np.concatenate([np.ones((1, x.size)), survival[:-1]]), axis=0)
    after = np.cumprod(np.concatenate([np.ones((1, x.size)), survival[:0:-1]]), axis=0)[::-1]
    chances = (mass * before * after).sum(axis=1)
    error = abs(float(chances.sum()) - 1.0) + len(models) * 2.0 * float(ndtr(-_REACH))
    return chances, error + float(np.finfo(float).eps) * len(models)


_NODES = 20
_REACH = 10.0
"""Deviations within which a component is looked at."""


def _intervals(models: Sequence[MixtureModel]) -> tuple[FloatArray, FloatArray]:
    """Lower ends and widths of intervals that hold all mass which can win, about a deviation wide or less.

    Cuts lie at every component's deviations; where components crowd most of them are left out again.
    """
    means, sds = (np.concatenate([getattr(m, name) for m in models]) for name in ("means", "sds"))
    steps = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, _REACH])
    cuts = np.unique((means[:, None] + sds[:, None] * np.concatenate([-steps, steps])).ravel())
    # Beyond the end of the first version to end it has lost to none, and every other to it.
    cuts = cuts[cuts <= min(float((m.means + _REACH * m.sds).max()) for m in models)]
    low, width = cuts[:-1], np.diff(cuts)
    near = np.abs(low + 0.5 * width - means[:, None]) < _REACH * sds[:, None]
    narrowest = np.where(near, sds[:, None], np.inf).min(axis=0)
    held = np.isfinite(narrowest)  # elsewhere there is nothing
    low, width, narrowest = low[held], width[held], narrowest[held]
    lengths = np.cumsum(width / narrowest)
    apart = low[1:] > (low + width)[:-1]
    other = np.abs(np.log(narrowest[1:] / narrowest[:-1])) > 0.5
    first = np.concatenate([[True], apart | other | (np.diff(np.floor(lengths)) > 0)])
    starts = np.flatnonzero(first)
    ends = (low + width)[np.concatenate([starts[1:] - 1, [low.size - 1]])]
    return low[starts], ends - low[starts]


def sample_intervals(
    samples: Sequence[ArrayLike],
    *,
    processes: Sequence[ArrayLike | None] | None = None,
    alpha: float = 0.05,
    ranked: bool = False,
) -> tuple[Estimate, ...]:
    """I3 of every sample with its two-sided interval.

    The best of several is so partly by chance. Where they are ``ranked``, estimates of three or more are drawn
    towards their mean, onto it where their spread is at most 2.5 times what their errors explain: whether
    versions are equal or far apart, the best then is on average what it says, to a point or two.
    """
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
    intervals = []
    for chance, variances, degrees in projected:
        low, high = 0.0, 1.0
        total = float(variances.sum())
        if 0.0 < chance < 1.0 and total > 0.0:
            df = total**2 / float((variances**2 / degrees).sum())
            odds = np.log(chance / (1.0 - chance))
            half = t_quantile(1.0 - 0.5 * alpha, df) * np.sqrt(total) / (chance * (1.0 - chance))
            low, high = (float(1.0 / (1.0 + unbounded(np.exp, shift - odds))) for shift in (half, -half))
        elif chance in (0.0, 1.0) and fewest > 1:
            low, high = (certain, 1.0) if chance else (0.0, 1.0 - certain)
        low, high = min(low, certain), max(high, 1.0 - certain)
        drawn = min(max(mean + kept * (chance - mean), low), high)
        intervals.append(Estimate(drawn, low, high, 1.0 - alpha))
    return tuple(intervals)


def _ranked(values: ArrayLike, processes: ArrayLike | None) -> tuple[FloatArray, IntArray]:
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
    itself = np.log(np.maximum(left - 1, 1)) - np.log(count)
    product = np.where(gone == last, np.exp(logs - itself), 0.0)
    place = (version + versions * np.arange(draws)[:, None]).ravel()
    chances = np.bincount(place, weights=product.ravel(), minlength=draws * versions)
    return np.asarray(chances.reshape(draws, versions) / count)
