"""Which of several metrics of a run go with another, at one risk for all of them.

A metric goes with time by the larger of two shares of the variance of its ranks: Spearman's correlation squared,
and the share that lies between the states that time falls into. Runs are ranked within strata, those of one
version and one sitting, so that what differs between strata counts for nothing.

Under the hypothesis that a metric has nothing to do with time, every order of time within a stratum is as
likely. Orders are drawn, and each gives the largest statistic of all metrics; the step-down p-values of Westfall
and Young (P. H. Westfall, S. S. Young, Resampling-Based Multiple Testing, 1993, algorithm 2.8, with maxima for
minima) keep one risk over all metrics, however these depend on each other. An order that was observed counts as
drawn (B. Phipson, G. K. Smyth, Statistical Applications in Genetics and Molecular Biology 9, 2010).

Runs that resemble their neighbours are no permutation of each other: two slow drifts go together by chance. Then
time is shifted in a circle within each stratum, which leaves it as smooth as it was.

A straight line through estimates that each have an error of their own, and scatter about it besides.

y_i = a + b x_i + u_i + e_i, with Var e_i known and Var u_i = t^2 common: regression with random effects. t^2 is
that of R. C. Paule and J. Mandel (Journal of Research of the National Bureau of Standards 87, 1982), at which the
weighted squares about the line are k - 2, or 0 where they never exceed it. Intervals take Student's t with k - 2
degrees of freedom (G. Knapp, J. Hartung, Statistics in Medicine 22, 2003; their factor is 1 here, or would make
errors smaller than they are known to be where t^2 is 0).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, ArrayPair, FloatArray, IntArray
from speedproof.stats.ranks import midranks
from speedproof.stats.special import halved, t_quantile

_AT_A_TIME = 2_000_000  # drawn places in memory
_ROUNDING = 1e-9  # statistics that differ by less are equal


def associations(
    time: ArrayLike,
    metrics: ArrayLike,
    *,
    states: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    circular: bool = False,
    permutations: int = 999,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Test which metrics of the same runs go with time.

    Parameters
    ----------
    time : array_like, shape (n,)
        Of every run, in run order.
    metrics : array_like, shape (n, metrics)
        Of the same runs.
    states : array_like of int, shape (n,), optional
        The state of time that a run is in; states of one number in two strata are two. One by default.
    strata : array_like of int, shape (n,), optional
        Runs of one number are exchangeable. All by default.
    circular : bool
        Shift time in a circle instead of drawing its order.
    permutations, seed : int
        How many orders are drawn, and the seed of all of them.

    Returns
    -------
    correlation, between, pvalue : ndarray, shape (metrics,)
        Spearman's correlation within strata, the share of variance of the ranks between the states of time within
        strata, and the p-value adjusted over the metrics. All are NaN of a metric that never varies in a stratum.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> slow = rng.random(50) < 0.3
    >>> time, faults, switches = slow + rng.normal(10, 0.2, 50), 2000.0 * slow, rng.poisson(3, 50)
    >>> *_, pvalue = associations(time, np.column_stack((faults, switches)), states=slow)
    >>> (pvalue <= 0.05).tolist()
    [True, False]
    """
    t = np.asarray(time, dtype=np.float64)
    n = t.size
    of = np.zeros(n, dtype=np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
    places = [np.flatnonzero(of == k) for k in range(int(of.max(initial=-1)) + 1)]
    labels = np.zeros(n, dtype=np.int64) if states is None else np.unique(states, return_inverse=True)[1]
    ranks = _ranked(np.column_stack((t, np.asarray(metrics, dtype=np.float64))), places)
    r, m = ranks[:, 0], ranks[:, 1:]
    # Where a metric never varies in a stratum, time counts for nothing there either.
    varies = np.array([(m[at] != 0.0).any(axis=0) for at in places])
    squares = (m * m).sum(axis=0), np.array([(r[at] @ r[at]) for at in places]) @ varies
    lengths_m, length_r = (np.sqrt(np.where(square > 0.0, square, np.nan)) for square in squares)
    scaled, against = m / lengths_m, 1.0 / length_r
    # Directions of unit length that span the means of the states within their strata.
    sets = np.unique(of * (int(labels.max(initial=0)) + 1) + labels, return_inverse=True)[1]
    groups = np.eye(int(sets.max(initial=0)) + 1)[sets]
    for at in places:
        groups[at] -= groups[at].mean(axis=0)
    basis, lengths, _ = np.linalg.svd(groups, full_matrices=False)
    directions = basis.T[lengths > _ROUNDING * n]

    def statistics(order: IntArray) -> ArrayPair:
        """Of orders, shape (draws, n): correlations and shares between states, shape (draws, metrics)."""
        correlation = (r[order] @ scaled) * against
        between = np.zeros_like(correlation)
        for direction in directions:
            between += (direction[order] @ scaled) ** 2
        return correlation, between

    (correlation,), (between,) = statistics(np.arange(n)[None])
    observed = np.maximum(correlation**2, between)
    defined = np.flatnonzero(~np.isnan(correlation))
    by_strength = defined[np.argsort(-observed[defined], kind="stable")]
    exceeded = np.zeros(defined.size)
    rng = np.random.default_rng(seed)
    for order in _orders(places, n, permutations, rng, circular):
        correlations, shares = statistics(order)
        drawn = np.fmax(correlations**2, shares)[:, by_strength]
        # From the weakest metric on, the largest of those no stronger.
        largest = np.maximum.accumulate(drawn[:, ::-1], axis=1)[:, ::-1]
        exceeded += (largest >= observed[by_strength] * (1.0 - _ROUNDING)).sum(axis=0)
    pvalue = np.full(m.shape[1], np.nan)
    pvalue[by_strength] = np.maximum.accumulate((exceeded + 1.0) / (permutations + 1.0))
    missing = np.isnan(pvalue)
    return np.where(missing, np.nan, correlation), np.where(missing, np.nan, between), pvalue


def _ranked(columns: FloatArray, places: list[IntArray]) -> FloatArray:
    """Ranks within strata less their mean, over the number of runs, so that a run of any stratum counts alike."""
    ranks = np.zeros(columns.shape)
    for at in places:
        ranks[at] = (midranks(columns[at].T).T - 0.5 * (at.size + 1)) / at.size
    return ranks


def _orders(
    places: list[IntArray], n: int, draws: int, rng: np.random.Generator, circular: bool
) -> Iterator[IntArray]:
    """Orders of the runs, each within its stratum, some at a time."""
    step = max(1, _AT_A_TIME // max(n, 1))
    for start in range(0, draws, step):
        some = min(step, draws - start)
        order = np.empty((some, n), dtype=np.int64)
        for at in places:
            if circular:
                shift = rng.integers(at.size, size=(some, 1))
                order[:, at] = at[(np.arange(at.size) + shift) % at.size]
            else:
                order[:, at] = rng.permuted(np.broadcast_to(at, (some, at.size)), axis=1)
        yield order


LEAST_POINTS = 3
_EXACT = 1e-24  # a variance of logarithms below which nothing is measured


class Trend(Struct, frozen=True):
    """A line with the errors of its height at ``centre``, where the two are uncorrelated, and of its slope."""

    centre: float
    height: float
    slope: float
    height_error: float
    slope_error: float
    between: float  # standard deviation of the points about the line, beyond their own errors
    df: int

    def slope_interval(self, alpha: float) -> tuple[float, float]:
        """Two-sided."""
        half = t_quantile(1.0 - alpha / 2.0, self.df) * self.slope_error
        return self.slope - half, self.slope + half

    def crossing(self, alpha: float) -> tuple[float, float, float] | None:
        """The zero of the line with its two-sided interval (Fieller 1954); None where no slope is shown."""
        low, high = self.slope_interval(alpha)
        if low <= 0.0 <= high:
            return None
        t = t_quantile(1.0 - alpha / 2.0, self.df)
        a = self.slope**2 - (t * self.slope_error) ** 2
        b = self.height * self.slope
        c = self.height**2 - (t * self.height_error) ** 2
        root = math.sqrt(max(b * b - a * c, 0.0))
        ends = sorted(((-b - root) / a, (-b + root) / a))
        return self.centre - self.height / self.slope, self.centre + ends[0], self.centre + ends[1]


def trend(x: ArrayLike, y: ArrayLike, errors: ArrayLike) -> Trend:
    """The line through three points or more that are not all at one place; unknown errors (NaN) count as equal.

    Examples
    --------
    >>> line = trend([0, 1, 2, 3], [0.0, 0.9, 2.1, 3.0], [0.1] * 4)
    >>> round(line.slope, 2), round(line.slope_error, 4), line.between
    (1.02, 0.0447, 0.0)
    """
    x, y, errors = (np.asarray(given, dtype=np.float64) for given in (x, y, errors))
    if x.size < LEAST_POINTS or np.ptp(x) == 0.0:
        raise ValueError("a trend takes three points, not all at one place")
    noise = np.zeros(x.size) if np.isnan(errors).any() else errors**2
    noise = np.maximum(noise, _EXACT)
    df = x.size - 2

    def line(between: float) -> tuple[Trend, float]:
        weights = 1.0 / (noise + between)
        total = float(weights.sum())
        centre, height = float(weights @ x / total), float(weights @ y / total)
        apart = x - centre
        spread = float(weights @ apart**2)
        slope = float(weights @ (apart * y)) / spread
        squares = float(weights @ (y - height - slope * apart) ** 2)
        fitted = Trend(centre, height, slope, total**-0.5, spread**-0.5, math.sqrt(between), df)
        return fitted, squares

    line_at_zero, squares = line(0.0)
    if squares <= df:
        return line_at_zero
    # At the variance about the line without weights the weighted squares are no more than their number.
    residuals = y - np.polyval(np.polyfit(x, y, 1), x)
    high = float(residuals @ residuals) / df
    return line(halved(lambda between: line(between)[1] <= df, 0.0, high))[0]
