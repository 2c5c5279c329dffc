"""The ratio of two quantiles, of samples of any shape: order statistics, combined by MOVER.

The k-th of n ascending values lies above the quantile of share q with the probability P[B < k], B binomial (n, q):
so the limits of one quantile are order statistics, exact for every continuous distribution (H. A. David, H. N.
Nagaraja, Order Statistics, 2003, section 7.1). Between two of them a limit is linear in the normal deviate of its
probability. Beyond the last there is none: a limit above the quantile takes log(alpha) / log(q) values.

MOVER (G. Y. Zou, A. Donner, Statistics in Medicine 27, 2008) makes limits of a difference of those of its parts,
here of the logarithms: with the estimates a and b, a lower limit l of a and an upper limit u of b, both of risk
alpha, that of a - b is a - b - sqrt((a - l)^2 + (u - b)^2). The p-value at gamma is the risk whose limit is log
gamma, so that verdict and bound agree. An estimate is the limit of risk one half, which lies above the quantile
as often as below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, ArrayPair, BoolArray, FloatArray
from speedproof.stats.estimate import OneSided
from speedproof.stats.ratio import Interval, edges, hold
from speedproof.stats.scaling import unbounded
from speedproof.stats.special import betainc, bisected, ndtr, ndtri, normal_quantile

_FARTHEST = 38.0  # deviates beyond which a tail is no double any more
_HALVINGS = 60


def least_runs(q: float, alpha: float) -> int:
    """The runs without which the largest (for q below one half the smallest) is no limit of the quantile.

    Examples
    --------
    >>> [least_runs(q, 0.05) for q in (0.9, 0.95, 0.99, 0.999)]  # Wilks 1941
    [29, 59, 299, 2995]
    """
    return math.ceil(math.log(alpha) / math.log(max(q, 1.0 - q)))


def least_pvalue(q: float, n: int, m: int) -> float:
    """The smallest p-value that n and m runs can have: below it the largest value is no limit."""
    return max(q, 1.0 - q) ** min(n, m)


def quantile_limits(values: ArrayLike, q: float, alpha: float) -> tuple[float, float]:
    """A lower and an upper limit of one quantile, each of risk alpha; infinite where the values have none.

    Examples
    --------
    >>> quantile_limits(range(1, 101), 0.5, 0.05)
    (42.287..., 58.712...)
    """
    ascending = np.sort(np.asarray(values, dtype=np.float64))[None]
    z = normal_quantile(1.0 - alpha)
    low, high = (_limit(ascending, np.array([end]), q) for end in (-z, z))
    return float(low[0]), float(high[0])


def shift_function(x: ArrayLike, y: ArrayLike, alpha: float) -> FloatArray:
    """The ratio of two samples at each of nine deciles with a lower and an upper bound, shape (9, 3).

    All nine lower bounds hold together with a risk of alpha, and so do the upper ones (Bonferroni). They are 0
    and infinite where there are too few values for a bound.

    References
    ----------
    R. R. Wilcox: "Comparing two independent groups via multiple quantiles", The Statistician 44(1), 1995.

    Examples
    --------
    >>> x = np.arange(100.0, 300.0)
    >>> ratio, low, high = shift_function(x, x / 2, 0.05).T
    >>> ratio.round(6).tolist(), bool(np.all((low < 2) & (high > 2)))
    ([2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0], True)
    """
    of_x, of_y = (_ascending_logs(np.asarray(side)[None]) for side in (x, y))
    deciles = [Quantiles.of_logs(of_x, of_y, k / 10) for k in range(1, 10)]
    return np.array([[q.ratio[0], *(end[0] for end in q._ends(alpha / 9))] for q in deciles])


class Quantiles(Struct, frozen=True):
    """The quantiles of one share of many pairs of samples; logarithms of ascending values, shape (rows, n)."""

    x: FloatArray
    y: FloatArray
    q: float
    # Estimates, shape (rows,): of x, of y, and the logarithm of their ratio.
    of_x: FloatArray
    of_y: FloatArray
    log_ratio: FloatArray

    @classmethod
    def of(cls, x: ArrayLike, y: ArrayLike, q: float) -> Quantiles:
        """Quantiles of samples along the last axis; NaN where one is not positive."""
        if not 0.0 < q < 1.0:
            raise ValueError(f"a quantile has a share between 0 and 1, not {q:g}")
        return cls.of_logs(_ascending_logs(x), _ascending_logs(y), q)

    @classmethod
    def of_logs(cls, x: FloatArray, y: FloatArray, q: float) -> Quantiles:
        """Quantiles from the logarithms of ascending values."""
        of_x, of_y = (_limit(side, np.zeros(len(side)), q, clipped=True) for side in (x, y))
        return cls(x, y, q, of_x, of_y, unbounded(np.subtract, of_x, of_y))

    @property
    def ratio(self) -> FloatArray:
        """The quantile of x over that of y, as observed."""
        return unbounded(np.exp, self.log_ratio)

    def bounds(self, alpha: float) -> Interval:
        """Two bounds of the ratio of the quantiles, each of risk alpha."""
        test, (low, high) = self.test(), self._ends(alpha)
        return hold(low, high, test.pvalue <= alpha, test.pvalue_less <= alpha)

    def test(self, gamma: float = 1.0) -> OneSided:
        """The p-values against "above gamma" and "below gamma": where the limits pass it."""
        below, above = (math.log(edge) for edge in edges(gamma))
        deviate_above = _farthest(lambda z: self._end(z, -1) > above, len(self.x))
        deviate_below = _farthest(lambda z: self._end(z, 1) < below, len(self.x))
        defined = np.where(np.isnan(self.log_ratio), np.nan, 1.0)
        # What lies on the other side of gamma is as far from being proven as its opposite is near.
        return OneSided(
            defined * np.where(self.log_ratio > above, ndtr(-deviate_above), ndtr(deviate_below)),
            defined * np.where(self.log_ratio < below, ndtr(-deviate_below), ndtr(deviate_above)),
        )

    @np.errstate(divide="ignore", invalid="ignore")
    def runs_needed(self, alpha: float, power: float = 0.8) -> ArrayPair:
        """Runs of each side that would prove the observed ratio, in the proportion that there is now."""
        z = normal_quantile(1.0 - alpha)
        at_z = np.full(len(self.x), z)
        faster = self.log_ratio > 0.0
        width = np.where(faster, self.log_ratio - self._end(at_z, -1), self._end(at_z, 1) - self.log_ratio)
        times = (width / z * (z + normal_quantile(power)) / self.log_ratio) ** 2
        factor = np.where(np.isnan(times), np.inf, times)
        n, m = self.x.shape[-1], self.y.shape[-1]
        least = least_runs(self.q, alpha)
        return np.maximum(np.ceil(factor * n), least), np.maximum(np.ceil(factor * m), least)

    def _ends(self, alpha: float) -> ArrayPair:
        z = np.full(len(self.x), normal_quantile(1.0 - alpha))
        return unbounded(np.exp, self._end(z, -1)), unbounded(np.exp, self._end(z, 1))

    @np.errstate(invalid="ignore")
    def _end(self, z: FloatArray, side: int) -> FloatArray:
        """The logarithm of the lower (-1) or the upper end (1) that lies so many deviates away."""
        of_x = self.of_x - _limit(self.x, side * z, self.q)
        of_y = self.of_y - _limit(self.y, -side * z, self.q)
        return np.asarray(self.log_ratio + side * np.hypot(of_x, of_y))


def runs_needed_quantiles(
    x: ArrayLike, y: ArrayLike, alpha: float, power: float = 0.8, *, q: float
) -> ArrayPair:
    """Runs after which the test of the ratio of two quantiles would find what was observed, row by row."""
    return Quantiles.of(x, y, q).runs_needed(alpha, power)


def _ascending_logs(values: ArrayLike) -> FloatArray:
    ascending = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    return np.log(ascending, out=np.where(ascending == 0.0, -np.inf, np.nan), where=ascending > 0.0)


def _farthest(proven: Callable[[FloatArray], BoolArray], rows: int) -> FloatArray:
    """The largest deviates at which something is still proven; 0 where it is not at 0."""
    return bisected(lambda z: ~proven(z), np.zeros(rows), np.full(rows, _FARTHEST), _HALVINGS)[0]


def _limit(logs: FloatArray, z: FloatArray, q: float, *, clipped: bool = False) -> FloatArray:
    """What lies above the quantile with the deviate z, row by row; infinite beyond the values, unless clipped."""
    first, deviates = _deviates(logs.shape[-1], q)
    at = np.interp(z, deviates, np.arange(first, first + deviates.size))
    k = np.minimum(at.astype(np.int64), logs.shape[-1] - 2 if logs.shape[-1] > 1 else 0)
    below = np.take_along_axis(logs, k[:, None], axis=-1)[:, 0]
    above = np.take_along_axis(logs, np.minimum(k + 1, logs.shape[-1] - 1)[:, None], axis=-1)[:, 0]
    share = at - k
    # Between the logarithm of 0 and another there is nothing.
    width = np.subtract(above, below, where=np.isfinite(below), out=np.full_like(above, np.nan))
    value = np.where(share == 1.0, above, below + share * width)
    value = np.where((share == 0.0) | (below == above), below, value)
    if clipped:
        return value
    return np.where(z < deviates[0], -np.inf, np.where(z > deviates[-1], np.inf, value))


@lru_cache(maxsize=256)
def _deviates(n: int, q: float) -> tuple[int, FloatArray]:
    """The deviate of P[X_(k) above the quantile] for each k from `first` + 1 on; what lies farther is left out."""
    reach = 10.0 * math.sqrt(n * q * (1.0 - q)) + 50.0
    first = max(math.floor(n * q - reach), 0)
    last = min(math.ceil(n * q + reach), n)
    # P[B < k] and its complement, each accurate where it is small: sums of P[B = k] from the ends on.
    above = float(betainc(n - first, first + 1, 1.0 - q))
    below = float(betainc(last, n - last + 1, q))
    k = np.arange(first + 1, last, dtype=np.float64)
    log_mass = np.cumsum(np.log((n - k + 1.0) / k * (q / (1.0 - q))))
    mass = np.exp(log_mass - log_mass.max(initial=-np.inf))
    mass = mass / mass.sum() * (1.0 - above - below)
    from_first, from_last = np.cumsum([above, *mass]), np.cumsum([below, *mass[::-1]])[::-1]
    return first, np.where(from_first < 0.5, ndtri(from_first), -ndtri(from_last))
