"""The ratio of two quantiles, of samples of any shape: counts beyond a common place, by Fisher's product.

The k-th of n ascending values lies above the quantile of share q with a probability of at most P[B < k], B
binomial (n, q): so the limits of one quantile are order statistics, whatever the distribution (H. A. David, H. N.
Nagaraja, Order Statistics, 2003, section 7.1). Between two of them there is none, as runs may leave a gap there.

If the ratio of two quantiles is at most gamma, there is a place t with P[x > t] <= 1 - q and P[gamma y < t] <= q.
The evidence against a place is the product of the binomial tails of both counts (R. A. Fisher, Statistical Methods
for Research Workers, 1932, section 21.1), whose distribution is known; that against gamma is the least over all
places. Beyond all values of a side no place is possible: an upper limit takes log(alpha) / log(q) values. So the
risk holds for every two distributions, and verdict, p-value and bound agree, as they are read from one table.
Limits of both combined by MOVER (G. Y. Zou, A. Donner 2008) err in a third of the pairs where both have a gap.

An estimate lies above the quantile as often as below.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from itertools import count

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, ArrayPair, FloatArray, IntArray
from speedproof.stats.estimate import OneSided
from speedproof.stats.ratio import Interval, edges, hold
from speedproof.stats.scaling import unbounded
from speedproof.stats.special import ndtri, normal_quantile

# Evidence is counted in whole units, so that equal sums are equal.
_UNIT = 2.0**-20
_BEYOND = 10**15  # that of a place beyond all values


def least_runs(q: float, alpha: float) -> int:
    """The runs without which the largest (for q below one half the smallest) is no limit of the quantile.

    Examples
    --------
    >>> [least_runs(q, 0.05) for q in (0.9, 0.95, 0.99, 0.999)]  # Wilks 1941
    [29, 59, 299, 2995]
    """
    return math.ceil(math.log(alpha) / math.log(max(q, 1.0 - q)))


def least_of_each(q: float, alpha: float) -> int:
    """The runs of each side that a proof takes; near the median more than one limit."""
    return next(n for n in count(least_runs(q, alpha)) if least_pvalue(q, n, n) <= alpha)


def least_pvalue(q: float, n: int, m: int) -> float:
    """The smallest p-value that n and m runs can have: where no place is possible."""
    ends = ((q**k, (1.0 - q) ** (n + m - k)) for k in (n, m))
    return max(high + low - high * low for high, low in ends)


def quantile_limits(values: ArrayLike, q: float, alpha: float) -> tuple[float, float]:
    """A lower and an upper limit of one quantile, each of risk alpha; infinite where the values have none.

    Examples
    --------
    >>> quantile_limits(range(1, 101), 0.5, 0.05)
    (42.0, 59.0)
    """
    ascending = np.sort(np.asarray(values, dtype=np.float64))
    of_ends = np.concatenate([[-np.inf], ascending, [np.inf]])
    lower, upper = (int(np.searchsorted(-_tail(ascending.size, p), -alpha)) for p in (1.0 - q, q))
    return float(of_ends[-1 - lower]), float(of_ends[upper])


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
        of_x, of_y = _estimate(x, q), _estimate(y, q)
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
        """The p-values against "above gamma" and "below gamma"."""
        below, above = (math.log(edge) for edge in edges(gamma))
        defined = np.where(np.isnan(self.log_ratio), np.nan, 1.0)
        faster, slower = _pvalues(self.x, self.y + above, self.q), _pvalues(self.y, self.x - below, self.q)
        return OneSided(defined * faster, defined * slower)

    @np.errstate(divide="ignore", invalid="ignore")
    def runs_needed(self, alpha: float, power: float = 0.8) -> ArrayPair:
        """Runs of each side that would prove the observed ratio, in the proportion that there is now."""
        z = normal_quantile(1.0 - alpha)
        low, high = self._log_ends(alpha)
        width = np.where(self.log_ratio > 0.0, self.log_ratio - low, high - self.log_ratio)
        times = (width / z * (z + normal_quantile(power)) / self.log_ratio) ** 2
        factor = np.where(np.isnan(times), np.inf, times)
        n, m = self.x.shape[-1], self.y.shape[-1]
        least = least_of_each(self.q, alpha)
        return np.maximum(np.ceil(factor * n), least), np.maximum(np.ceil(factor * m), least)

    def _ends(self, alpha: float) -> ArrayPair:
        low, high = self._log_ends(alpha)
        return unbounded(np.exp, low), unbounded(np.exp, high)

    def _log_ends(self, alpha: float) -> ArrayPair:
        low, high = _low(self.x, self.y, self.q, alpha), -_low(self.y, self.x, self.q, alpha)
        return np.minimum(low, self.log_ratio), np.maximum(high, self.log_ratio)


def runs_needed_quantiles(
    x: ArrayLike, y: ArrayLike, alpha: float, power: float = 0.8, *, q: float
) -> ArrayPair:
    """Runs after which the test of the ratio of two quantiles would find what was observed, row by row."""
    return Quantiles.of(x, y, q).runs_needed(alpha, power)


def _ascending_logs(values: ArrayLike) -> FloatArray:
    ascending = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    return np.log(ascending, out=np.where(ascending == 0.0, -np.inf, np.nan), where=ascending > 0.0)


def _estimate(logs: FloatArray, q: float) -> FloatArray:
    """What lies above the quantile as often as below: linear in the normal deviate between two values."""
    below = 1.0 - _tail(logs.shape[-1], q)[1:]
    k = int(np.searchsorted(below, 0.5, side="right")) - 1
    if k < 0 or k + 1 == below.size:
        return np.asarray(logs[:, max(k, 0)])
    low, high = logs[:, k], logs[:, k + 1]
    near, far = ndtri(below[k : k + 2]).tolist()
    # Between the logarithm of 0 and another there is nothing.
    width = np.subtract(high, low, where=np.isfinite(low), out=np.full_like(high, np.nan))
    return np.asarray(np.where((near == 0.0) | (low == high), low, low - near / (far - near) * width))


@np.errstate(invalid="ignore")
def _low(x: FloatArray, y: FloatArray, q: float, alpha: float) -> FloatArray:
    """The lower bound of the logarithm of the ratio, row by row; minus infinity where there is none."""
    of_x, of_y = _corners(x.shape[-1], y.shape[-1], q, alpha)
    between = np.subtract(x[:, of_x], y[:, of_y]).min(axis=-1, initial=np.inf if of_x.size else -np.inf)
    return np.where(np.isnan(between), -np.inf, between)  # two values of 0 have no ratio


def _pvalues(x: FloatArray, y: FloatArray, q: float) -> FloatArray:
    """How often the evidence against every common place is as strong as that of each row."""
    n, m = x.shape[-1], y.shape[-1]
    # At the i-th value of x, from 0, n - 1 - i are larger; until the next one the evidence only grows.
    of_x, of_y = _evidence(n, 1.0 - q)[n - 1 :: -1], _evidence(m, q)
    least = [(of_x + of_y[fast.searchsorted(slow)]).min() for slow, fast in zip(x, y, strict=True)]
    return np.array([_risk(n, m, q, evidence) for evidence in least])


@lru_cache(maxsize=256)
def _corners(n: int, m: int, q: float, alpha: float) -> tuple[IntArray, IntArray]:
    """The places of x and y, from 0, the least difference of which is the lower bound; none if there is none."""
    least = bisect_left(range(_BEYOND + 1), True, key=lambda e: _risk(n, m, q, e) <= alpha)
    if least > _BEYOND:
        return np.array([], dtype=np.int64), np.array([], dtype=np.int64)
    # So many values of y must lie below the i-th of x; of places with one number the first binds.
    fewest = np.searchsorted(_evidence(m, q), least - _evidence(n, 1.0 - q)[n - 1 :: -1])
    of_x = np.flatnonzero(np.diff(fewest, prepend=0))
    return of_x, fewest[of_x] - 1


@lru_cache(maxsize=4096)
def _risk(n: int, m: int, q: float, evidence: float) -> float:
    """The probability of at least so much evidence against the place of the quantile."""
    tail = np.append(_tail(n, 1.0 - q), 0.0)
    mass = -np.diff(_tail(m, q), append=0.0)
    needed = min(evidence, _BEYOND) - _evidence(m, q)
    return min(float(mass @ tail[np.searchsorted(_evidence(n, 1.0 - q), needed)]), 1.0)


@lru_cache(maxsize=256)
def _evidence(n: int, p: float) -> FloatArray:
    """That of counts from 0 to n against a probability of at most p, in units; all of n are more than any."""
    units = np.rint(-unbounded(np.log, _tail(n, p)) / _UNIT)
    units[-1] = _BEYOND
    return np.minimum(units, _BEYOND)


@lru_cache(maxsize=256)
def _tail(n: int, p: float) -> FloatArray:
    """P[B >= k] for k from 0 to n, B binomial (n, p)."""
    k = np.arange(1.0, n + 1.0)
    log_mass = np.cumsum(np.log((n - k + 1.0) / k * (p / (1.0 - p))))
    mass = np.exp(np.append(0.0, log_mass) - log_mass.max(initial=0.0))
    return np.asarray(np.cumsum(mass[::-1])[::-1] / mass.sum())
