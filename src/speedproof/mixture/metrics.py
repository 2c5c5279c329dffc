"""The report's four metrics of two or more versions, each for samples and for mixtures.

======  =============================================  ==============================================
I1      E|X - Y|                                       how far apart two runs are
I2      P[X < Y + delta]                               one run of X beats one run of Y by -delta
I3      P[X1 < min(X2, ..., Xr)]                       one run of the version beats one of each other
I4      number of modes                                :meth:`speedproof.mixture.model.MixtureModel.modes`
======  =============================================  ==============================================

A sample stands for its empirical distribution. Inequalities are strict; what ties would add is told apart.
The report calls "G" in its formula of I3 what is 1 - G: the survival functions are multiplied here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.data.given import sample
from speedproof.data.sample import Sample
from speedproof.errors import UsageError
from speedproof.mixture.fitting import MixtureFit
from speedproof.mixture.model import MixtureModel
from speedproof.stats.special import ndtr

Ties = Literal["strict", "half", "equal"]


class Metrics(Struct, frozen=True, eq=False):
    """I1 to I4 of versions, in one form."""

    gaps: FloatArray  # shape (r, r): I1 = E|X_i - X_j|
    below: FloatArray  # shape (r, r): I2 = P[X_i < X_j + delta]
    least: FloatArray  # shape (r,): I3 = P[X_i < min of the others]; 1 for a single version
    modes: tuple[int, ...] | None  # I4; None for samples, whose number of modes only a model tells


def compare(
    versions: Sequence[npt.ArrayLike | Sample | MixtureModel | MixtureFit],
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
    versions = [v.model if isinstance(v, MixtureFit) else v for v in versions]
    models = [v for v in versions if isinstance(v, MixtureModel)]
    if models and len(models) < len(versions):
        raise UsageError("give samples or mixtures, not both")
    r = len(versions)
    pairs = [(i, j) for i in range(r) for j in range(r)]
    if models:
        gaps = [mixture_gap(models[i], models[j]) for i, j in pairs]
        below = [mixture_probability_below(models[i], models[j], delta=delta) for i, j in pairs]
        least = least_of_mixtures(models).strict if r > 1 else np.ones(1)
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
    least = least_of_samples(samples).strict if r > 1 else np.ones(1)
    return Metrics(np.reshape(gaps, (r, r)), np.reshape(below, (r, r)), least, None)


def expected_gap(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
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


def probability_below(
    x: npt.ArrayLike, y: npt.ArrayLike, *, delta: float = 0.0, ties: Ties = "strict"
) -> float:
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


class Chances(Struct, frozen=True, eq=False):
    """I3 of every version."""

    strict: FloatArray  # P[X_j < min of the others]
    or_equal: FloatArray  # the same with ``<=``: what ties add. Equal to ``strict`` for mixtures.
    error: float  # bound of the numerical error; of quadrature for mixtures, of rounding for samples


def least_of_samples(samples: Sequence[npt.ArrayLike]) -> Chances:
    """I3 of every sample at once: the share of tuples, one value of each, whose least is the version's.

    With S_l(v) the share of sample l above v, the chance of version j is the mean of the product of S_l,
    l != j, over the values of j. One sweep over all values in order keeps the sum of log S_l: O(N log N)
    for all versions together.
    """
    if len(samples) < 2:
        raise UsageError("the least of one version says nothing: give at least two")
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
        own = np.log(np.maximum(own_left, 1.0)) - np.log(sizes[version])
        product = np.where(others_alive, np.exp(logs[passed] - own), 0.0)
        return np.asarray(np.bincount(version, weights=product, minlength=sizes.size) / sizes)

    rounding = float(pooled.size * np.finfo(float).eps * (1.0 - logs[-1]))
    return Chances(chances("right"), chances("left"), rounding)


def least_of_mixtures(models: Sequence[MixtureModel]) -> Chances:
    """I3 of every mixture at once, by Gauss-Legendre quadrature."""
    if len(models) < 2:
        raise UsageError("the least of one version says nothing: give at least two")
    low, width = _intervals(models)
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    x = (low[:, None] + 0.5 * width[:, None] * (1.0 + node)).ravel()
    mass = (0.5 * width[:, None] * weight).ravel() * np.stack([m.pdf(x) for m in models])
    survival = np.stack([m.sf(x) for m in models])
    before = np.cumprod(np.concatenate([np.ones((1, x.size)), survival[:-1]]), axis=0)
    after = np.cumprod(np.concatenate([np.ones((1, x.size)), survival[:0:-1]]), axis=0)[::-1]
    chances = (mass * before * after).sum(axis=1)
    error = abs(float(chances.sum()) - 1.0) + len(models) * 2.0 * float(ndtr(-_REACH))
    return Chances(chances, chances, error + float(np.finfo(float).eps) * len(models))


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
