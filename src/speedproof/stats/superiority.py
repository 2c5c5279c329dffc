"""How many times larger X typically is than Y: the studentised rank test at every ratio, and its inversion.

The ratio gamma is the median of X / Y over independent pairs of runs: P[X > gamma Y] + P[X = gamma Y] / 2 = 1/2.
The test at gamma is Brunner and Munzel's of X against gamma Y with its permutation distribution
(:mod:`speedproof.stats.permutation`). It asks for no common shape and no common variance. As gamma grows from 0,
pairs (x_i, y_j) go one by one from x > gamma y to x < gamma y, in the order of their ratios x_i / y_j, and each
changes the statistic's sums by what the ranks i and j tell. So one sort of the n m ratios gives the test at every
gamma; large samples are searched instead.

What may be a tie but for rounding is one, and a ratio that coincides with gamma speaks for nothing, except at
gamma = 1, where equal values count one half and the permutation distribution is that of these very ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from speedproof.stats.pair_ratios import ratio_order_statistics
from speedproof.stats.permutation import Null, Spread, null_distribution, one_order, studentised, tied_pvalue
from speedproof.stats.pooled import pooled_order
from speedproof.stats.ratio import RatioTest, edges, hold, monotone
from speedproof.stats.root import decreasing_root

__all__ = ["TypicalRatio", "typical_ratio", "typical_ratio_test"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_MOST_RATIOS = 1 << 17  # of a pair, all of which are sorted
_AT_ONCE = 1 << 15  # ratios, of several pairs: they fit a core's cache
_LISTED = 1 << 10  # ratios of a large pair that are listed near a bound
_LARGEST = math.log(1.7e308)
_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class TypicalRatio:
    """The typical ratio of X to Y and the chance that an X exceeds a Y, with one-sided bounds of risk alpha each.

    Attributes
    ----------
    estimate, low, high : ndarray
        The median of the ratios x / y, and its bounds: 0 and infinity where there is none, NaN where a value is
        negative. Shape of the leading axes.
    pvalue, pvalue_less : ndarray
        Against H1: the typical ratio exceeds 1, and against H1: it lies below 1.
    chance, chance_low, chance_high : ndarray
        P[X > Y] + P[X = Y] / 2 and its bounds, on the side of 1/2 that the p-values say.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    pvalue: FloatArray
    pvalue_less: FloatArray
    chance: FloatArray
    chance_low: FloatArray
    chance_high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Samples of equal sizes, flattened to rows, with what the test needs of each row."""

    x: FloatArray
    y: FloatArray
    step: FloatArray
    inflation: FloatArray
    shape: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, int]:
        return self.x.shape[1], self.y.shape[1]

    def rows(self, which: slice | BoolArray) -> _Pairs:
        return _Pairs(self.x[which], self.y[which], self.step[which], self.inflation[which], ())


def _pairs(x: npt.ArrayLike, y: npt.ArrayLike, steps: npt.ArrayLike, inflation: npt.ArrayLike) -> _Pairs:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    step, factors = np.asarray(steps, dtype=np.float64), np.asarray(inflation, dtype=np.float64)
    shape = np.broadcast_shapes(x.shape[:-1], y.shape[:-1], step.shape[:-1], factors.shape[:-1])

    def rows(a: FloatArray) -> FloatArray:
        return np.broadcast_to(a, (*shape, a.shape[-1])).reshape(-1, a.shape[-1])

    return _Pairs(rows(x), rows(y), rows(step), rows(factors), shape)


def typical_ratio(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    alpha: float,
    *,
    steps: npt.ArrayLike = (0.0, 0.0),
    inflation: npt.ArrayLike = (1.0, 1.0),
) -> TypicalRatio:
    """The median of X / Y over pairs of runs, with the bounds and p-values of one test.

    Parameters
    ----------
    x, y : array_like, shapes (..., n) and (..., m)
        Samples along the last axis, finite.
    alpha : float
        Risk of each bound.
    steps : array_like, shape (..., 2)
        The steps in which X and Y were read, where that is coarser than they scatter: the bounds then hold for
        every value that would have been read as these. The verdict at 1 does not change: what is rounded alike is
        equal or different as before.
    inflation : array_like, shape (..., 2)
        By how much dependence between runs multiplies the variance of each side.

    Returns
    -------
    TypicalRatio
        `low` is the supremum of the gamma up to which every one is rejected at risk alpha as too small, `high` the
        infimum of those from which on every one is rejected as too large. With a size of 1 nothing is rejected.

    Notes
    -----
    Bounds of the chance are Brunner and Munzel's on the scale of log odds with the quantile of the permutation
    distribution (Pauly, Asendorf and Konietschke 2016); however the samples fall they stay below
    alpha^(1 / min(n, m)), that of complete separation, because then min(n, m) disjoint pairs all have x > y.

    References
    ----------
    .. [1] E. Brunner, U. Munzel, "The nonparametric Behrens-Fisher problem: asymptotic theory and a small-sample
       approximation", Biometrical Journal 42(1), 2000.
    .. [2] M. Pauly, T. Asendorf, F. Konietschke, "Permutation-based inference for the AUC: a unified approach for
       continuous and discontinuous data", Biometrical Journal 58(6), 2016.

    Examples
    --------
    >>> r = typical_ratio([4.0, 5.0, 6.0, 7.0], [1.0, 2.0, 3.0, 3.5], 0.05)
    >>> float(r.estimate.round(4)), float(r.low.round(4)), float(r.pvalue.round(4)), float(r.chance)
    (2.1602, 1.3333, 0.0143, 1.0)
    """
    pairs = _pairs(x, y, steps, inflation)
    n, m = pairs.sizes
    results = np.full((8, pairs.x.shape[0]), np.nan)
    at_once = max(1, _AT_ONCE // (n * m)) if n * m <= _MOST_RATIOS else 1
    for start in range(0, pairs.x.shape[0], at_once):
        rows = slice(start, start + at_once)
        results[:, rows] = _solve(pairs.rows(rows), alpha)
    return TypicalRatio(*results.reshape(8, *pairs.shape))


def typical_ratio_test(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    gamma: float,
    *,
    steps: npt.ArrayLike = (0.0, 0.0),
    inflation: npt.ArrayLike = (1.0, 1.0),
) -> RatioTest:
    """Test the typical ratio of X to Y against gamma: the p-values that the bounds of `typical_ratio` invert.

    Parameters
    ----------
    x, y, steps, inflation
        As for `typical_ratio`.
    gamma : float
        Positive.

    Returns
    -------
    RatioTest
        `above` is at most alpha exactly when `low` exceeds gamma, `below` when `high` lies under it. NaN where a
        value is negative or half of a side is zero, except at gamma = 1.

    Raises
    ------
    ValueError
        A gamma that is not positive and finite.

    Examples
    --------
    >>> x, y = [4.0, 5.0, 6.0, 7.0], [1.0, 2.0, 3.0, 3.5]
    >>> [float(typical_ratio_test(x, y, gamma).above.round(4)) for gamma in (1.1, 1.2)]
    [0.0143, 0.0286]
    """
    pairs = _pairs(x, y, steps, inflation)
    n, m = pairs.sizes
    found = np.full((2, pairs.x.shape[0]), np.nan)
    at_once = max(1, _AT_ONCE // (n * m)) if n * m <= _MOST_RATIOS else 1
    for start in range(0, pairs.x.shape[0], at_once):
        rows = pairs.rows(slice(start, start + at_once))
        at_one = _at_one(rows)
        part = RatioTest(at_one.pvalue, at_one.pvalue_less)
        if gamma != 1.0:
            part = monotone(gamma, _shifted(rows, gamma), part, _positive(rows))
        found[:, start : start + at_once] = part.above, part.below
    return RatioTest(*found.reshape(2, *pairs.shape))


def _positive(pairs: _Pairs) -> BoolArray:
    """Rows whose ratios mean something: no negative values, and more than half of each side above zero."""
    sides = (pairs.x, pairs.y)
    told = [(side >= 0.0).all(axis=1) & (2 * (side > 0.0).sum(axis=1) > side.shape[1]) for side in sides]
    return np.asarray(told[0] & told[1])


@dataclass(frozen=True, slots=True, eq=False)
class _Score:
    """The null distribution of some rows, and how their outcomes are ordered by it."""

    null: Null
    independent: bool
    inflation: FloatArray
    effective: FloatArray
    least: FloatArray

    def of(self, spread: Spread) -> FloatArray:
        """The score of states, shape (rows, ...)."""
        columns = self._columns(np.ndim(spread.won) - 1)
        statistic, _, df = studentised(spread, self.null.n, self.null.m, (columns[0], columns[1]))
        return self.null.score(statistic, df, columns[2])

    def _columns(self, extra: int) -> list[FloatArray]:
        parts = (self.inflation[:, 0], self.inflation[:, 1], self.effective)
        return [part.reshape(part.shape + (1,) * extra) for part in parts]

    def pvalue(self, score: FloatArray) -> FloatArray:
        return np.maximum(self.null.pvalue(score), self.least)

    def rejects(self, score: FloatArray, alpha: float) -> BoolArray:
        """Whether the p-value of a score, shape (rows, ...), is at most alpha."""
        critical = self.null.critical(alpha)
        possible = (self.least <= alpha).reshape(self.least.shape + (1,) * (score.ndim - 1))
        return np.asarray((score >= critical) & possible)


def _scores(pairs: _Pairs) -> list[tuple[BoolArray, _Score]]:
    """Rows that share a null distribution: independent ones, and those with inflated variances."""
    n, m = pairs.sizes
    dependent: BoolArray = np.asarray((pairs.inflation > 1.0).any(axis=1))
    found = []
    for rows, independent in ((np.logical_not(dependent), True), (dependent, False)):
        if rows.any():
            inflation = pairs.inflation[rows]
            sizes = np.array([n, m]) / inflation
            least = np.full(inflation.shape[0], one_order(n, m))
            if not independent:
                few = np.maximum(sizes, 3.0)  # complete separation is decided from 3 + 3 on
                least = np.exp(-_log_orders(few[:, 0], few[:, 1]))
            null = null_distribution(n, m, independent)
            score = _Score(null, independent, inflation, sizes.min(axis=1), least)
            found.append((rows, score))
    return found


def _log_orders(n: FloatArray, m: FloatArray) -> FloatArray:
    """The logarithm of the number of orders of n and m values, which need not be whole."""
    log_factorial = np.vectorize(lambda k: math.lgamma(k + 1.0), otypes=[np.float64])
    return np.asarray(log_factorial(n + m) - log_factorial(n) - log_factorial(m))


@dataclass(frozen=True, slots=True, eq=False)
class _AtOne:
    """The test of equality, with ties that count one half; shape (rows,)."""

    pvalue: FloatArray
    pvalue_less: FloatArray
    chance: FloatArray
    se: FloatArray
    quantile: FloatArray


def _at_one(pairs: _Pairs, alpha: float = 0.05) -> _AtOne:
    n, m = pairs.sizes
    count = pairs.x.shape[0]
    order = pooled_order(pairs.x, pairs.y)
    x_here = np.diff(order.x_upto, axis=-1, prepend=0)
    y_here = np.diff(order.y_upto, axis=-1, prepend=0)
    below_x, below_y = order.y_upto - 0.5 * y_here, order.x_upto - 0.5 * x_here
    won = (x_here * below_x).sum(axis=1)
    chance = won / (n * m)
    if min(n, m) < 2:
        nothing = np.full(count, np.nan)
        return _AtOne(np.ones(count), np.ones(count), chance, nothing, nothing)
    spread = Spread(won, (x_here * below_x**2).sum(axis=1), (y_here * below_y**2).sum(axis=1))
    pvalue, pvalue_less, se, quantile = np.empty((4, count))
    for rows, score in _scores(pairs):
        part = Spread(won[rows], spread.square_x[rows], spread.square_y[rows])
        statistic, se[rows], df = studentised(part, n, m, (score.inflation[:, 0], score.inflation[:, 1]))
        scored = score.null.score(statistic, df, score.effective)
        upper, lower = score.pvalue(scored), score.pvalue(-scored)
        quantile[rows] = score.null.quantile(alpha, df, score.effective)
        if n * m <= _MOST_RATIOS and score.independent:
            for k, row in enumerate(np.flatnonzero(rows)):
                groups = np.diff(np.flatnonzero(order.ends[row]), prepend=-1)
                if groups.size < n + m:
                    t, sizes = float(statistic[k]), tuple(groups.tolist())
                    upper[k] = _known(tied_pvalue(sizes, n, t), float(upper[k]))
                    lower[k] = _known(tied_pvalue(sizes[::-1], n, -t), float(lower[k]))
        pvalue[rows], pvalue_less[rows] = upper, lower
    return _AtOne(pvalue, pvalue_less, chance, se, quantile)


def _known(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value


@dataclass(frozen=True, slots=True, eq=False)
class _States:
    """What the test says between each two neighbouring ratios.

    Attributes
    ----------
    edges : ndarray, shape (rows, n m + 2)
        0, the ratios in ascending order, infinity: state k lies between edges k and k + 1.
    scores : ndarray, shape (rows, n m + 1)
        Of each state.
    real : ndarray of bool, shape (rows, n m + 1)
        Whether gamma can lie there: between equal ratios, or such that may be equal, it cannot.
    """

    edges: FloatArray
    scores: FloatArray
    real: BoolArray

    def low(self, rejected: BoolArray) -> FloatArray:
        """The end of the rejected states that start at gamma = 0."""
        first = np.argmax(self.real & ~rejected, axis=1)
        return np.take_along_axis(self.edges, first[:, None], axis=1)[:, 0]

    def high(self, rejected: BoolArray) -> FloatArray:
        """The start of the rejected states that end at infinity."""
        count = self.scores.shape[1]
        last = count - 1 - np.argmax((self.real & ~rejected)[:, ::-1], axis=1)
        return np.take_along_axis(self.edges, last[:, None] + 1, axis=1)[:, 0]

    def least_upto(self, gamma: float) -> FloatArray:
        """The least score of a state that begins at gamma or below."""
        inside = self.real & (self.edges[:, :-1] <= edges(gamma)[1])
        return np.asarray(np.where(inside, self.scores, np.inf).min(axis=1))

    def greatest_from(self, gamma: float) -> FloatArray:
        """The greatest score of a state that ends at gamma or above."""
        inside = self.real & (self.edges[:, 1:] >= edges(gamma)[0])
        return np.asarray(np.where(inside, self.scores, -np.inf).max(axis=1))


def _states(ratios: FloatArray, n: int, m: int, score: _Score) -> _States:
    """Walk through the ratios of ascending x (rows) to descending y (columns), shape (rows, n, m)."""
    count = ratios.shape[0]
    flat = ratios.reshape(count, n * m)
    order = np.argsort(flat, axis=1)
    edges = np.zeros((count, n * m + 2))
    edges[:, 1:-1] = np.take_along_axis(flat, order, axis=1)
    edges[:, -1] = np.inf
    # Before the i-th x falls below the j-th y, m - j of the y were below it and i of the x below that y.
    won, square_x, square_y = (np.empty((count, n * m + 1)) for _ in range(3))
    won[:] = n * m - np.arange(n * m + 1.0)
    square_x[:, 0], square_y[:, 0] = n * m * m, 0.0
    np.cumsum(1.0 - 2.0 * (m - order % m), axis=1, out=square_x[:, 1:])
    square_x[:, 1:] += n * m * m
    np.cumsum(1.0 + 2.0 * (order // m), axis=1, out=square_y[:, 1:])
    real = np.empty((count, n * m + 1), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        real[:] = edges[:, 1:] > edges[:, :-1] * (1.0 + _ROUNDING)
    real[:, -1] |= True
    return _States(edges, score.of(Spread(won, square_x, square_y)), real)


def _ratios(pairs: _Pairs, sign: float) -> FloatArray:
    """The least (sign -1) or greatest (+1) ratios that the steps leave possible, 0 / 0 among them."""
    x = np.sort(pairs.x, axis=1) + sign * 0.5 * pairs.step[:, :1]
    y = np.sort(pairs.y, axis=1)[:, ::-1] - sign * 0.5 * pairs.step[:, 1:]
    x, y = np.maximum(x, 0.0), np.maximum(y, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = x[:, :, None] / y[:, None, :]
    return np.where(np.isnan(ratios), 0.0 if sign < 0 else np.inf, ratios)


def _both_states(pairs: _Pairs, score: _Score) -> tuple[_States, _States]:
    """States for the lower bound and for the upper one, mostly the same."""
    n, m = pairs.sizes
    low = _states(_ratios(pairs, -1.0), n, m, score)
    zeros = ((pairs.x == 0.0).any(axis=1) & (pairs.y == 0.0).any(axis=1)).any()
    if not zeros and not pairs.step.any():
        return low, low
    return low, _states(_ratios(pairs, 1.0), n, m, score)


def _shifted(pairs: _Pairs, gamma: float) -> RatioTest:
    n, m = pairs.sizes
    above, below = np.ones((2, pairs.x.shape[0]))
    if min(n, m) > 1:
        for rows, score in _scores(pairs):
            part = pairs.rows(rows)
            if n * m > _MOST_RATIOS:
                large = _Large(part, score)
                below_gamma, above_gamma = edges(gamma)
                scores = large.score(above_gamma, -1.0), large.score(below_gamma, 1.0)
            else:
                low, high = _both_states(part, score)
                scores = low.least_upto(gamma), high.greatest_from(gamma)
            above[rows], below[rows] = score.pvalue(scores[0]), score.pvalue(-scores[1])
    return RatioTest(above, below)


def _solve(pairs: _Pairs, alpha: float) -> tuple[FloatArray, ...]:
    """All answers of some rows, in the order of the fields of TypicalRatio."""
    n, m = pairs.sizes
    count = pairs.x.shape[0]
    at_one = _at_one(pairs, alpha)
    pvalue, pvalue_less = at_one.pvalue, at_one.pvalue_less
    estimate, low, high = np.empty(count), np.zeros(count), np.full(count, np.inf)
    if n * m > _MOST_RATIOS:
        (_, score), *_ = _scores(pairs) if min(n, m) > 1 else [(None, None)]
        large = _Large(pairs, score)
        estimate[:] = large.estimate()
        if score is not None:
            low[:], high[:] = large.bounds(alpha)
    else:
        estimate[:] = _middle(pairs)
        for rows, score in _scores(pairs) if min(n, m) > 1 else ():
            below, above = _both_states(pairs.rows(rows), score)
            low[rows] = below.low(score.rejects(below.scores, alpha))
            high[rows] = above.high(score.rejects(-above.scores, alpha))
    faster, slower = pvalue <= alpha, pvalue_less <= alpha
    held = hold(low, high, faster, slower)
    meant = _positive(pairs)
    estimate, low, high = (np.where(meant, v, np.nan) for v in (estimate, held.low, held.high))
    chance_low, chance_high = _chance_bounds(at_one, n, m, pairs, alpha)
    return estimate, low, high, pvalue, pvalue_less, at_one.chance, chance_low, chance_high


def _middle(pairs: _Pairs) -> FloatArray:
    """The median of the ratios: of two in the middle their geometric mean, as for 1 / ratios. 0 / 0 is none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = (pairs.x[:, :, None] / pairs.y[:, None, :]).reshape(pairs.x.shape[0], -1)
    if (pairs.x.min(initial=1.0) > 0.0) or (pairs.y.min(initial=1.0) > 0.0):
        half = ratios.shape[1] // 2
        ratios.partition((half - 1, half) if ratios.shape[1] % 2 == 0 else (half,), axis=1)
        known = np.full(ratios.shape[0], ratios.shape[1])
    else:
        ratios.sort(axis=1)
        known = np.sum(~np.isnan(ratios), axis=1)
    at = np.maximum(np.stack([(known - 1) // 2, known // 2], axis=1), 0)
    lower, upper = np.take_along_axis(ratios, at, axis=1).T
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(lower == upper, lower, np.sqrt(lower) * np.sqrt(upper)))


def _chance_bounds(
    at_one: _AtOne, n: int, m: int, pairs: _Pairs, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the chance on the scale of log odds, on the side of 1/2 that the p-values say."""
    fewer = (np.array([n, m]) / pairs.inflation).min(axis=1)
    separation = alpha ** (1.0 / fewer)
    known = at_one.se > 0.0
    p = np.where(known, at_one.chance, 0.5)
    odds = np.log(p / (1.0 - p))
    with np.errstate(over="ignore", invalid="ignore"):
        width = np.where(known, at_one.quantile * at_one.se / (p * (1.0 - p)), np.inf)
        low, high = 1.0 / (1.0 + np.exp(width - odds)), 1.0 / (1.0 + np.exp(-width - odds))
    low = np.where(at_one.chance == 1.0, separation, np.minimum(low, separation))
    high = np.where(at_one.chance == 0.0, 1.0 - separation, np.maximum(high, 1.0 - separation))
    faster, slower = at_one.pvalue <= alpha, at_one.pvalue_less <= alpha
    held = hold(low, high, faster, slower, equal=0.5)
    return held.low, held.high


class _Large:
    """One pair of samples with too many ratios to sort: the test is made where it is asked."""

    def __init__(self, pairs: _Pairs, score: _Score | None) -> None:
        self.x, self.y = np.sort(pairs.x[0]), np.sort(pairs.y[0])
        self.step = pairs.step[0]
        self.scorer = score

    def _read(self, sign: float) -> tuple[FloatArray, FloatArray]:
        """The values that the steps leave possible: the least x and greatest y (sign -1), or the reverse (+1)."""
        x = np.maximum(self.x + sign * 0.5 * self.step[0], 0.0)
        return x, np.maximum(self.y - sign * 0.5 * self.step[1], 0.0)

    def _below(self, gamma: float, sign: float) -> IntArray:
        """How many gamma y are below each x; ties count against X (sign -1) or for it (+1)."""
        x, y = self._read(sign)
        return np.asarray(np.searchsorted(gamma * y, x, side="left" if sign < 0 else "right"), dtype=np.int64)

    def _spread(self, below: IntArray) -> tuple[float, float, float]:
        n, m = self.x.size, self.y.size
        below_x = below.astype(np.float64)
        # The j-th y has below it every x that has at most j of the y below.
        below_y = np.cumsum(np.bincount(below, minlength=m + 1))[:m].astype(np.float64)
        # Sums of squares around the mean, so that nothing cancels when nearly all pairs are won.
        won = below_x.sum()
        square_x = ((below_x - won / n) ** 2).sum() + won**2 / n
        square_y = ((below_y - below_y.mean()) ** 2).sum() + below_y.sum() ** 2 / m
        return float(won), float(square_x), float(square_y)

    def score(self, gamma: float, sign: float) -> FloatArray:
        """The score at gamma; ties count against X (sign -1) or for it (+1)."""
        if self.scorer is None:
            raise AssertionError
        return self.scorer.of(Spread(*(np.array([v]) for v in self._spread(self._below(gamma, sign)))))

    def estimate(self) -> float:
        """The median of the ratios: of two in the middle their geometric mean; 0 / 0 is none."""
        known = self.x.size * self.y.size - int((self.x == 0.0).sum()) * int((self.y == 0.0).sum())
        if not known:
            return math.nan
        lower, upper = ratio_order_statistics(self.x, self.y, ((known - 1) // 2, known // 2))
        return lower if lower == upper else math.sqrt(lower) * math.sqrt(upper)

    def bounds(self, alpha: float) -> tuple[float, float]:
        """The last gamma that is rejected as too small, and the first that is rejected as too large."""
        if self.scorer is None:
            raise AssertionError
        critical = self.scorer.null.critical(alpha)

        def above(log_gamma: float) -> float:
            return _finite(float(self.score(math.exp(log_gamma), -1.0)[0]) - critical)

        def below(log_gamma: float) -> float:
            return _finite(float(self.score(math.exp(log_gamma), 1.0)[0]) + critical)

        # The score falls nearly evenly between two quantiles of the ratios: start next to where it passes.
        start, end = self._range()
        steep = (above(end) - above(start)) / (end - start)
        few = _LISTED * (end - start) / (0.1 * self.x.size * self.y.size)
        found = []
        for side, sign in ((above, -1.0), (below, 1.0)):
            at = start - side(start) / steep if steep < 0.0 else start
            near = max(0.02 * abs(at - 0.5 * (start + end)), few)
            found.append(self._crossing(side, sign, critical, (at - near, at + near), few))
        return found[0], found[1]

    def _crossing(
        self,
        side: Callable[[float], float],
        sign: float,
        critical: float,
        probably: tuple[float, float],
        few: float,
    ) -> float:
        """The bound: first a narrow interval, then a walk through the ratios in it, as in `_states`."""
        start, end = decreasing_root(side, *probably, narrow=few)
        low, high = math.exp(start), math.exp(end) if end < _LARGEST else math.inf
        if not 0.0 < low < high < math.inf or self.scorer is None:
            return low if sign < 0 else high
        upto, downto = self._below(low, sign), self._below(high, sign)
        crossed = np.maximum(upto - downto, 0)
        count = int(crossed.sum())
        if count > 64 * _LISTED:
            precise = decreasing_root(side, start, end)
            return math.exp(precise[0] if sign < 0 else precise[1])
        i = np.repeat(np.arange(self.x.size), crossed)
        j = np.arange(count) - np.repeat(np.cumsum(crossed) - crossed, crossed) + downto[i]
        x, y = self._read(sign)
        ratios = x[i] / y[j]
        order = np.argsort(ratios, kind="stable")
        won, square_x, square_y = self._spread(upto)
        states = Spread(
            won - np.arange(count + 1.0)[None],
            square_x + np.concatenate([[0.0], np.cumsum(-1.0 - 2.0 * j[order])])[None],
            square_y + np.concatenate([[0.0], np.cumsum(1.0 + 2.0 * i[order])])[None],
        )
        rejected = -sign * self.scorer.of(states)[0] >= critical
        ends = np.concatenate([[low], ratios[order], [high]])
        kept = np.flatnonzero((ends[1:] > ends[:-1] * (1.0 + _ROUNDING)) & ~rejected)
        if not kept.size:
            return high if sign < 0 else low
        return float(ends[kept[0]] if sign < 0 else ends[kept[-1] + 1])

    def _range(self) -> tuple[float, float]:
        """Logarithms of ratios between which the typical one probably lies, from quantiles."""
        x, y = self.x[self.x > 0.0], self.y[self.y > 0.0]
        if not x.size or not y.size:
            return 0.0, 1.0
        low, high = (math.log(np.quantile(x, p)) - math.log(np.quantile(y, 1.0 - p)) for p in (0.45, 0.55))
        return low - 1e-9, high + 1e-9


def _finite(value: float) -> float:
    return max(min(value, 1e9), -1e9)
