"""The Gaussian mixture of one variable: a distribution given by weights, means and standard deviations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import exp, isfinite, log, ulp
from operator import itemgetter
from reprlib import repr as shortened
from typing import overload

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, FloatArray, IntArray
from speedproof.data.checked import checked
from speedproof.data.given import numbers_given
from speedproof.data.sample import Alike
from speedproof.errors import DataError, UsageError
from speedproof.stats.special import ndtr, ndtri

Numbers = FloatArray | IntArray | Sequence[float]
"""What a distribution is asked at; of a single number the answer is one, too."""
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


class Modes(Struct, frozen=True, eq=False):
    """Where a density peaks.

    Attributes
    ----------
    places : ndarray, shape (m,)
        The peaks, ascending.
    log_densities : ndarray, shape (m,)
        Of the peaks.
    valleys : ndarray, shape (m - 1,)
        The lowest places between neighbouring peaks.
    dips : ndarray, shape (m - 1,)
        Depth of each valley: the log of the lower neighbouring peak's density over the valley's.
    """

    places: FloatArray
    log_densities: FloatArray
    valleys: FloatArray
    dips: FloatArray

    @property
    def count(self) -> int:
        """Number of modes (the report's I4)."""
        return int(self.places.size)

    def joined(self, first: int, last: int) -> Modes:
        """The modes from ``first`` to ``last`` as one, at the highest of their peaks."""
        heights = self.log_densities
        floors = np.minimum(heights[:-1], heights[1:]) - self.dips
        kept = np.ones(self.count, np.bool_)
        kept[first : last + 1] = False
        kept[first + int(heights[first : last + 1].argmax())] = True
        heights = heights[kept]
        floors = np.delete(floors, np.s_[first:last])
        dips = np.minimum(heights[:-1], heights[1:]) - floors
        return Modes(self.places[kept], heights, np.delete(self.valleys, np.s_[first:last]), dips)

    def parted(self, mode: int, parts: Modes) -> Modes:
        """These, with a mode as several."""
        return Modes(
            np.concatenate([self.places[:mode], parts.places, self.places[mode + 1 :]]),
            np.concatenate([self.log_densities[:mode], parts.log_densities, self.log_densities[mode + 1 :]]),
            np.concatenate([self.valleys[:mode], parts.valleys, self.valleys[mode:]]),
            np.concatenate([self.dips[:mode], parts.dips, self.dips[mode:]]),
        )

    def among(self, kept: IntArray) -> Modes:
        """Some of these; the lowest valley between two neighbours parts them."""
        heights = self.log_densities
        floors = np.minimum(heights[:-1], heights[1:]) - self.dips
        at = np.array([a + int(floors[a:b].argmin()) for a, b in pairwise(kept.tolist())], dtype=np.int64)
        heights = heights[kept]
        dips = np.minimum(heights[:-1], heights[1:]) - floors[at]
        return Modes(self.places[kept], heights, self.valleys[at], dips)

    def deeper_than(self, dip: float) -> Modes:
        """Join modes across valleys shallower than a log ratio, the shallowest first; lower peaks give way."""
        modes = self
        while modes.count > 1 and modes.dips.min() < dip:
            at = int(modes.dips.argmin())
            modes = modes.joined(at, at + 1)
        return modes


@dataclass(frozen=True, slots=True, eq=False)
class MixtureModel(Alike):
    """A mixture of K normal distributions.

    Parameters
    ----------
    weights, means, sds : array_like, shape (K,)
        Components in any order; kept in order of their means. Weights sum to one.

    Raises
    ------
    DataError
        Shapes differ, a weight or standard deviation is not positive, a number is not finite, or the
        weights do not sum to one.

    Examples
    --------
    >>> m = MixtureModel([0.25, 0.75], [4.0, 16.0], [1.5, 2.0])
    >>> round(float(m.mean), 6), m.modes().count
    (13.0, 2)
    >>> round(m.cdf(m.ppf(0.9)), 12)
    0.9
    """

    weights: FloatArray
    means: FloatArray
    sds: FloatArray

    def __init__(self, weights: ArrayLike, means: ArrayLike, sds: ArrayLike) -> None:
        w, mu, s = (numbers_given(a, None)[0] for a in (weights, means, sds))
        if w.ndim != 1 or w.size == 0 or not w.shape == mu.shape == s.shape:
            raise DataError("a mixture needs as many weights as means and standard deviations, at least one")
        shares, centres, deviations, total = w.tolist(), mu.tolist(), s.tolist(), float(np.add.reduce(w))
        if not all(map(isfinite, (*shares, *centres, *deviations))):
            raise DataError("the parameters of a mixture must be finite numbers")
        if min(shares) <= 0 or min(deviations) <= 0 or abs(total - 1.0) > 1e-6:
            raise DataError("the weights of a mixture are positive and sum to one, its deviations positive")
        in_order = sorted(zip(centres, deviations, shares, strict=True), key=itemgetter(0, 1))
        columns = np.array(list(zip(*in_order, strict=True)))
        columns[2] /= total
        columns.flags.writeable = False
        for name, column in zip(("means", "sds", "weights"), columns, strict=True):
            object.__setattr__(self, name, column)

    @property
    def components(self) -> int:
        """Number of components."""
        return int(self.weights.size)

    @property
    def mean(self) -> float:
        """Expectation."""
        return float(self.weights @ self.means)

    @property
    def sd(self) -> float:
        """Standard deviation of the whole."""
        # about the mean, so that a large mean costs no digits
        off = np.hypot(self.sds, self.means - self.mean)  # squares may be beyond the range of doubles
        return float(off.max() * np.sqrt(self.weights @ (off / off.max()) ** 2))

    def _standardised(self, x: ArrayLike) -> FloatArray:
        return (_numbers(x)[..., None] - self.means) / self.sds

    def _log_terms(self, x: ArrayLike) -> FloatArray:
        """Log of w_k N(x; mu_k, s_k^2), shape (..., K)."""
        z = self._standardised(x)
        return np.asarray(np.log(self.weights) - np.log(self.sds) - _HALF_LOG_2PI - 0.5 * z * z)

    @overload
    def logpdf(self, x: float) -> float: ...
    @overload
    def logpdf(self, x: Numbers) -> FloatArray: ...
    def logpdf(self, x: float | Numbers) -> float | FloatArray:
        """Logarithm of the density; does not underflow."""
        terms = self._log_terms(x)
        top = terms.max(axis=-1)
        return _as_asked(top + np.log(np.exp(terms - top[..., None]).sum(axis=-1)))

    @overload
    def pdf(self, x: float) -> float: ...
    @overload
    def pdf(self, x: Numbers) -> FloatArray: ...
    def pdf(self, x: float | Numbers) -> float | FloatArray:
        """Density."""
        return _as_asked(np.exp(self.logpdf(x)))

    @overload
    def cdf(self, x: float) -> float: ...
    @overload
    def cdf(self, x: Numbers) -> FloatArray: ...
    def cdf(self, x: float | Numbers) -> float | FloatArray:
        """P[X <= x], accurate also where it is tiny."""
        return _as_asked(ndtr(self._standardised(x)) @ self.weights)

    @overload
    def sf(self, x: float) -> float: ...
    @overload
    def sf(self, x: Numbers) -> FloatArray: ...
    def sf(self, x: float | Numbers) -> float | FloatArray:
        """P[X > x], accurate also where it is tiny."""
        return _as_asked(ndtr(-self._standardised(x)) @ self.weights)

    @overload
    def ppf(self, p: float) -> float: ...
    @overload
    def ppf(self, p: Numbers) -> FloatArray: ...
    def ppf(self, p: float | Numbers) -> float | FloatArray:
        """Quantiles; minus and plus infinity at 0 and 1, NaN outside [0, 1]."""
        probabilities = _numbers(p)
        # The quantile of a mixture lies between the least and the greatest of its components' quantiles.
        quantiles = np.array((self.means + self.sds * ndtri(probabilities)[..., None]).max(axis=-1))
        inside = (probabilities > 0.0) & (probabilities < 1.0)
        quantiles[inside] = self._bisect(probabilities[inside])
        return _as_asked(quantiles)

    def _bisect(self, p: FloatArray) -> FloatArray:
        ends = self.means + self.sds * ndtri(p)[:, None]
        low, high = ends.min(axis=1), ends.max(axis=1)
        lower_tail = p <= 0.5
        while True:
            middle = low + 0.5 * (high - low)
            apart = (low < middle) & (middle < high)
            if not apart.any():
                return np.asarray(high)
            below = np.where(lower_tail, self.cdf(middle) < p, self.sf(middle) > 1.0 - p)
            low = np.where(apart & below, middle, low)
            high = np.where(apart & ~below, middle, high)

    @checked()
    def rvs(self, n: int, seed: int | np.random.SeedSequence | np.random.Generator) -> FloatArray:
        """Draw n independent values; the same seed draws the same."""
        if n < 0:
            raise UsageError(f"n={n}: expected how many values to draw, 0 or more")
        rng = np.random.default_rng(seed)
        k = np.searchsorted(np.cumsum(self.weights)[:-1], rng.random(n), side="right")
        return np.asarray(self.means[k] + self.sds[k] * rng.standard_normal(n))

    def loglik(self, x: ArrayLike) -> float:
        """Log-likelihood of a sample."""
        return float(np.sum(self.logpdf(_numbers(x))))

    def responsibilities(self, x: ArrayLike) -> FloatArray:
        """Probability of each component given each value, shape (n, K)."""
        terms = self._log_terms(x)
        e = np.exp(terms - terms.max(axis=-1, keepdims=True))
        return np.asarray(e / e.sum(axis=-1, keepdims=True))

    def labels(self, x: ArrayLike) -> IntArray:
        """Most probable component of each value; the first of equals."""
        return np.asarray(self._log_terms(x).argmax(axis=-1), dtype=np.int64)

    def clusters(self, x: ArrayLike) -> tuple[FloatArray, ...]:
        """The values of a sample that fall into each component, possibly none, in their order."""
        values, labels = _numbers(x), self.labels(x)
        return tuple(values[labels == k] for k in range(self.components))

    def score(self, x: ArrayLike) -> FloatArray:
        """Derivative of the log density; its zeros are modes and valleys."""
        points = _numbers(x)
        # Components along the first axis: sums over a short last one are slow.
        w, mu, sd = np.stack([self.weights, self.means, self.sds]).reshape(3, -1, *(1,) * points.ndim)
        z = (mu - points) / sd
        e = np.log(w) - np.log(sd) - 0.5 * z * z
        np.exp(e - e.max(axis=0), out=e)
        return np.asarray((e * (z / sd)).sum(axis=0) / e.sum(axis=0))

    def modes(self) -> Modes:
        """Local maxima of the density, found as sign changes of the score.

        All lie between the least and the greatest mean. The grid follows every component at a hundredth of
        its deviation, finer than any peak or valley that double precision could tell from a shoulder.
        """
        if self.components == 1:
            place = self.means.copy()
            return Modes(place, self.logpdf(place), np.empty(0), np.empty(0))
        margin = 1e-3 * self.sds.max()
        a, b = float(self.means[0] - margin), float(self.means[-1] + margin)
        around = (self.means[:, None] + self.sds[:, None] * np.arange(-8.0, 8.005, 0.01)).ravel()
        grid = np.concatenate([around[(around > a) & (around < b)], np.linspace(a, b, 2001)])
        grid.sort()
        score = self.score(grid)
        grid, rising = grid[score != 0], score[score != 0] > 0
        at = np.flatnonzero(rising[:-1] != rising[1:])
        up, score = rising[at], score[score != 0]
        brackets = np.stack([grid[at], grid[at + 1], score[at], score[at + 1]], axis=1).tolist()
        roots = np.array([self._turn(*bracket) for bracket in brackets])
        places, valleys = roots[up], roots[~up]
        peaks = self.logpdf(places)
        dips = np.minimum(peaks[:-1], peaks[1:]) - self.logpdf(valleys)
        return Modes(places, peaks, valleys, dips)

    def _turn(self, low: float, high: float, before: float, after: float) -> float:
        """Where the score changes its sign, given it at both ends: regula falsi (Illinois) on plain numbers."""
        w, mu, sd = self.weights.tolist(), self.means.tolist(), self.sds.tolist()
        parts = [(log(w) - log(s), mu, s) for w, mu, s in zip(w, mu, sd, strict=True)]
        least, rises, last = ulp(max(abs(low), abs(high))), before > 0.0, 0
        while high - low > 2.0 * least:
            x = min(max(high - after * (high - low) / (after - before), low + least), high - least)
            pulls = [(z / s, c - 0.5 * z * z) for c, z, s in [(c, (mu - x) / s, s) for c, mu, s in parts]]
            top = max(height for _, height in pulls)
            shares = [exp(height - top) for _, height in pulls]
            score = sum(share * pull for share, (pull, _) in zip(shares, pulls, strict=True)) / sum(shares)
            if (score > 0.0) == rises:
                low, before, after, last = x, score, after * (0.5 if last > 0 else 1.0), 1
            else:
                high, after, before, last = x, score, before * (0.5 if last < 0 else 1.0), -1
        return low + 0.5 * (high - low)


def _numbers(x: ArrayLike) -> FloatArray:
    """What a distribution is asked at."""
    with suppress(TypeError, ValueError, OverflowError):
        array = np.asarray(x)
        if array.dtype.kind in "fiubO" and x is not None:
            return array.astype(np.float64, copy=False)
    raise UsageError(f"{shortened(x)}: expected a number, or an array or a list of numbers")


def _as_asked(values: FloatArray) -> float | FloatArray:
    """A number for a number, an array for an array."""
    return np.asarray(values) if np.ndim(values) else float(values)
