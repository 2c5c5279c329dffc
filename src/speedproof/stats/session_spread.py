"""How much sessions of identical code differ, estimated from few of them, and a ratio judged against it.

Each series (a benchmark on a metric) has a variance between its sessions, known from few degrees of freedom. The
variances of many series are drawn towards their common value by as much as they scatter no more than so few
degrees make them (G. K. Smyth, Statistical Applications in Genetics and Molecular Biology 3(1), 2004). Sessions
move many series together: the degrees of freedom of the common value are limited by the correlation between
series.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.special import digamma, halved, t_ppf, t_sf

_LEAST_SHARE = 1e-5  # of the median variance: no series is without any noise


class SessionSpread(Struct, frozen=True):
    """How much sessions of one version differ."""

    variance: float  # of the logarithm of a session's location about that of the version
    degrees: float  # degrees of freedom behind it
    within: float  # the part of it that the runs of one session explain, as they stand in the store
    sessions: int  # how many sessions of this very series were seen; 0 where others speak for it


def session_spreads(
    series: IntArray, group: IntArray, session: IntArray, location: FloatArray, within: FloatArray
) -> tuple[dict[int, SessionSpread], SessionSpread | None]:
    """The spread of every series whose versions were measured in several sessions, and of one not seen yet.

    None when no group has two sessions; of a single series nothing is told of others.
    """
    cells, cell, counts = np.unique(
        np.stack([series, group], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    cell = cell.reshape(-1)
    used = counts[cell] > 1
    if not used.any():
        return {}, None
    means = np.bincount(cell, location, minlength=counts.size) / counts
    rest = (location - means[cell])[used]
    names, column = np.unique(series[used], return_inverse=True)
    several = counts > 1
    at = np.searchsorted(names, cells[several, 0])
    degrees = np.bincount(at, counts[several] - 1.0, minlength=names.size).astype(np.float64)
    sessions = np.bincount(at, counts[several], minlength=names.size)
    variance = np.bincount(column, rest**2, minlength=names.size) / degrees
    parts = np.where(np.isnan(within[used]), 0.0, within[used])
    inside = np.bincount(column, parts, minlength=names.size) / np.bincount(column, minlength=names.size)
    _, row = np.unique(np.stack([session[used], group[used]], axis=1), axis=0, return_inverse=True)
    total = int(row.max()) + 1 - np.unique(group[used]).size
    most = _degrees_together(rest, row.reshape(-1), column, total)
    prior, weight = _prior(variance, degrees)
    if math.isinf(weight):
        common, of_each = np.full(names.size, prior), np.full(names.size, most)
    else:
        common = (weight * prior + degrees * variance) / (weight + degrees)
        # What others tell of a series comes from the same sessions, too
        of_each = np.minimum(weight, (most - degrees) * weight / (weight + degrees)) + degrees
    spreads = {
        int(names[i]): SessionSpread(float(common[i]), float(of_each[i]), float(inside[i]), int(sessions[i]))
        for i in range(names.size)
    }
    other = SessionSpread(prior, min(weight, most), float(inside.min()), 0) if weight > 0.0 else None
    return spreads, other


def _degrees_together(rest: FloatArray, row: IntArray, column: IntArray, degrees: int) -> float:
    """Degrees of freedom of what all series tell together: as many more as their correlation leaves."""
    table = np.zeros((int(row.max()) + 1, int(column.max()) + 1))
    table[row, column] = rest
    norms = np.sqrt(np.square(table).sum(axis=0))
    table = table[:, norms > 0.0] / norms[norms > 0.0]
    count = table.shape[1]
    if count < 2 or degrees < 2:
        return float(degrees)
    inner = table @ table.T if table.shape[0] < count else table.T @ table
    # The mean square of the correlations, less what uncorrelated series of so few degrees would show
    seen = (float(np.square(inner).sum()) - count) / (count * (count - 1))
    shared = max((seen - 1.0 / degrees) / (1.0 - 1.0 / degrees), 0.0)
    return float(degrees * count / (1.0 + (count - 1) * shared))


def _prior(variance: FloatArray, degrees: FloatArray) -> tuple[float, float]:
    """The common variance and its weight in degrees of freedom, by the moments of the logarithms (Smyth 2004)."""
    if variance.size < 2 or not variance.any():
        return (float(variance[0]), 0.0) if variance.size < 2 else (0.0, math.inf)
    least = _LEAST_SHARE * float(np.median(variance[variance > 0.0]))
    half = degrees / 2.0
    logs = np.log(np.maximum(variance, least)) - digamma(half) + np.log(half)
    excess = float(logs.var(ddof=1)) - float(_trigamma(half).mean())
    if excess <= 0.0:
        return float(np.exp(logs.mean())), math.inf
    weight: float = 2.0 * _inverse_trigamma(excess)
    at = np.full(1, weight / 2.0)
    return float(np.exp(logs.mean() + digamma(at)[0] - np.log(at[0]))), weight


def _trigamma(x: FloatArray) -> FloatArray:
    """Trigamma of positive numbers: recurrence, then the asymptotic series (Abramowitz and Stegun 6.4.12)."""
    shift = sum((1.0 / (x + k) ** 2 for k in range(6)), np.zeros_like(x))
    z = x + 6.0
    square = 1.0 / (z * z)
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    return np.asarray(1.0 / z + 0.5 * square + series / z + shift)


def _inverse_trigamma(value: float) -> float:
    """Inverse of trigamma, by bisection on the logarithm."""
    return math.exp(halved(lambda x: float(_trigamma(np.array([math.exp(x)]))[0]) <= value, -20.0, 20.0))


class Widened(Struct, frozen=True):
    """The uncertainty of a logarithm of a ratio, the sessions' counted in."""

    error: float  # its standard error; infinite where the runs alone bound nothing
    # Those of the sessions: Satterthwaite's, for the sum, come out too many where the sessions' are few
    degrees: float

    def reach(self, alpha: float) -> float:
        """The distance from the estimate to its bound at risk alpha."""
        return math.inf if math.isinf(self.error) else float(t_ppf(1.0 - alpha, self.degrees)) * self.error

    def pvalue(self, gap: float) -> float:
        """The p-value of a gap between the logarithm and a hypothesis; one-sided."""
        if math.isinf(self.error) or self.error == 0.0:
            return 1.0 if math.isinf(self.error) or gap <= 0.0 else 0.0
        return float(t_sf(gap / self.error, self.degrees))


def widened(
    width: float, alpha: float, runs: tuple[float, float], spread: SessionSpread, sessions: tuple[int, int]
) -> Widened:
    """The uncertainty of a ratio of two sides that were measured in few sessions each."""
    if math.isinf(width):
        return Widened(math.inf, 1.0)
    quantile = float(t_ppf(1.0 - alpha, max(sum(runs) - 2.0, 1.0)))
    runs_alone = (width / quantile) ** 2 if quantile > 0.0 else 0.0
    share = sum(1.0 / count for count in sessions)
    between = share * spread.variance
    more = max(runs_alone - share * min(spread.within, spread.variance), 0.0)
    return Widened(math.sqrt(between + more), spread.degrees)
