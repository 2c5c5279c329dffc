"""Does a series keep one level? A likelihood of several levels, or a rise, whose noise depends on its neighbours.

A step and its undoing look like dependence to a test that knows one step only. Here both are weighed at once:
the normal scores of the values are taken for levels, each with noise of its own that follows a first-order
autoregression, and the likelihood of the best few steps at the best coefficient is compared with that of no step
at its best coefficient, where noise, too, may begin afresh at the same places, each at the price of a parameter,
log(n) / 2: else a large innovation, which dies away, would speak for a step. Each further step costs 2 log n, as
in the Bayesian information criterion, and more where there are few values a level. Dependence costs where there
are steps, which keeps the null distribution nearly the same whatever the coefficient. Equal values share the mean
of their scores; the variance that the scores lack then counts as noise. A rise, which few steps explain badly and
much dependence well, is weighed likewise, at a few places; its end is a place more than a step has, log(n).

P-values come from simulation, the worst of independent values and of normal autoregressions with coefficients .3
and .6 (``studies/levels_null.py`` makes the table), and are never below the chance that values above and below a
border lie in so few runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from speedproof.arrays import ArrayLike, ArrayPair, FloatArray, IntArray, extension
from speedproof.stats.normal_scores import normal_scores, power
from speedproof.stats.two_levels import MARGIN, Levels, chance_of_runs, null_table, upper_tail

COMPILED = extension("stats._levels")
LEAST = 12
"""Fewest values of a series whose levels can be compared."""
_LEAST_FOR = LEAST, 30, 52, 52, 65  # values, for one step, two, three, ...: some 13 a level but the newest
_OF_FEWER = 5.0  # what more steps than these cost beyond that
MOST_SPLITS = 12
"""Steps that the levels of a series which changed are made of."""
_COEFFICIENTS = np.arange(9) / 10.0
_PRICE = 4.0  # of a coefficient of one, in logarithms of the likelihood
_RISES = (0.0, 1.0), (0.0, 0.5), (0.25, 0.75), (0.5, 1.0)  # begin and end, shares of a series
_Places = IntArray | slice | int
_CHANCE = 2e-3
"""Above the chance that 65 values or more on two sides of a border lie in so few runs, of three or more each."""
_PLACES = 80  # of longer series, where steps may be: those of the largest local contrasts


def cheap_steps(n: int) -> int:
    """Steps that n values have room for; those beyond cost more."""
    return sum(n >= least for least in _LEAST_FOR)


def least_squares(
    scores: FloatArray, places: IntArray, coefficients: FloatArray, most: int
) -> tuple[FloatArray, IntArray]:
    """Least sums of squares and splits for each row, coefficient and number of steps up to `most`.

    Shapes (rows, coefficients, steps) and (rows, coefficients, steps, most). Where they do not fit the sum is
    infinite.
    """
    rows, n = scores.shape
    sums = np.empty((rows, coefficients.size, most + 1))
    splits = np.zeros((rows, coefficients.size, most + 1, most), dtype=np.int64)
    if COMPILED is not None:
        COMPILED.levels(
            np.ascontiguousarray(scores),
            n,
            np.ascontiguousarray(places),
            coefficients,
            most,
            MARGIN,
            sums,
            splits,
        )
        return sums, splits
    for g, rho in enumerate(coefficients.tolist()):
        for row in range(rows):
            sums[row, g], splits[row, g] = _partition(scores[row], places[row], rho, most)
    return sums, splits


def _partition(x: FloatArray, places: IntArray, rho: float, most: int) -> tuple[FloatArray, IntArray]:
    """The same of one series at one coefficient: the best last step before every place, step after step."""
    ends = np.array([0, *places, x.size])
    a, b = ends[:-1, None], ends[None, :]
    of_level = _squares(x, rho)(a, b, np.maximum(b - a, 1))
    costs = np.where(b - a >= MARGIN, of_level, math.inf)  # of a level from one place to another
    sums, splits = np.full(most + 1, math.inf), np.zeros((most + 1, most), dtype=np.int64)
    least, chosen = costs[0].copy(), []
    sums[0] = least[-1]
    for k in range(1, most + 1):
        ways = np.concatenate([[math.inf], least[1:-1]])[:, None] + costs
        chosen.append(ways.argmin(axis=0))
        least = ways.min(axis=0)
        sums[k], at = least[-1], ends.size - 1
        for q in range(k, 0, -1):
            at = int(chosen[q - 1][at])
            splits[k, q - 1] = ends[at]
    return sums, splits


def _squares(x: FloatArray, rho: float) -> Callable[..., FloatArray]:
    """For the least sums of squares of levels from places to others, of an autoregression that begins there."""
    fresh = np.zeros(x.size)
    fresh[1:] = x[1:] - rho * x[:-1]
    total, square = np.zeros((2, x.size + 1))
    fresh.cumsum(out=total[1:])
    (fresh * fresh).cumsum(out=square[1:])
    first, start = (1.0 - rho * rho) * x * x - square[1:], (1.0 + rho) * x - total[1:]
    more = 2.0 * rho / (1.0 - rho)

    def squares(a: _Places, b: _Places, length: IntArray) -> FloatArray:
        level = start[a] + total[b]
        return np.asarray(first[a] - level * level / (length + more) + square[b])

    return squares


def step_places(scores: FloatArray, most: int) -> IntArray:
    """The places of possible steps in each row: all, or those of the largest local contrasts."""
    rows, n = scores.shape
    inside = np.arange(MARGIN, n - MARGIN + 1)
    if inside.size <= most:
        return np.tile(inside, (rows, 1))
    if COMPILED is not None:
        places: IntArray = np.empty((rows, most), dtype=np.int64)
        COMPILED.places(np.ascontiguousarray(scores), n, MARGIN, places)
        return places
    largest = np.argsort(-_contrasts(scores), axis=1, kind="stable")[:, :most]
    return np.asarray(inside[np.sort(largest, axis=1)])


def _contrasts(scores: FloatArray) -> FloatArray:
    """The largest contrast beside every place inside, over widths that double; of lower neighbours little."""
    rows, n = scores.shape
    inside = np.arange(MARGIN, n - MARGIN + 1)
    best = np.zeros((rows, inside.size))
    half = n // 2
    sums = np.zeros((rows, n + 1 + 2 * half))
    scores.cumsum(axis=1, out=sums[:, half + 1 : half + 1 + n])
    sums[:, half + 1 + n :] = sums[:, half + n, None]
    here = slice(half + MARGIN, half + n - MARGIN + 1)
    width = MARGIN
    while width <= half:
        before, after = np.minimum(width, inside), np.minimum(width, n - inside)
        contrast = sums[:, here.start + width : here.stop + width] - sums[:, here]
        contrast /= after
        contrast -= (sums[:, here] - sums[:, here.start - width : here.stop - width]) / before
        np.abs(contrast, out=contrast)
        contrast *= np.sqrt(before * after / (before + after))
        lower = np.zeros(contrast.shape, dtype=np.bool_)  # than a neighbour
        lower[:, 1:] |= contrast[:, 1:] < contrast[:, :-1]
        lower[:, :-1] |= contrast[:, :-1] <= contrast[:, 1:]
        contrast[lower] *= 1e-3
        np.maximum(best, contrast, out=best)
        width *= 2
    return best


def squares_of_one_level(scores: FloatArray, splits: IntArray, coefficients: FloatArray) -> FloatArray:
    """Least sums of squares of one level where noise begins afresh at splits: shape (rows, coefficients, ways).

    Splits have the shape (rows, ways, most); those of 0 are none.
    """
    row, there = np.arange(len(scores))[:, None, None], splits > 0
    before, after = (np.where(there, scores[row, splits + side], 0.0) for side in (-1, 0))
    first, last = scores[:, :1], scores[:, -1:]
    # Of the values beside a border: how many, their sum, that of their squares; products of neighbours within.
    many = 2.0 * there.sum(axis=-1) + 2.0
    total = (before + after).sum(axis=-1) + first + last
    squares = (before * before + after * after).sum(axis=-1) + first * first + last * last
    pairs = (scores[:, 1:] * scores[:, :-1]).sum(axis=1, keepdims=True) - (before * after).sum(axis=-1)
    rho = coefficients[:, None]
    level = (1.0 - rho) * scores.sum(axis=1)[:, None, None] + rho * total[:, None]
    sums: FloatArray = (
        (1.0 + rho * rho) * np.square(scores).sum(axis=1)[:, None, None]
        - rho * rho * squares[:, None]
        - 2.0 * rho * pairs[:, None]
        - (1.0 - rho) * level * level / ((1.0 - rho) * scores.shape[1] + rho * many[:, None])
    )
    return sums


def log_likelihoods(scores: FloatArray, sums: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Log-likelihoods from sums of squares, shape (rows, coefficients, steps)."""
    n, steps = scores.shape[-1], np.arange(sums.shape[-1])
    lack = np.maximum(power(n) - np.square(scores).sum(axis=-1), 0.0)[:, None, None]
    rho = coefficients[:, None]
    variance = np.maximum(sums + lack * (1.0 + rho * rho), 1e-12 * n) / n
    likelihood: FloatArray = -0.5 * n * np.log(variance) + 0.5 * (steps + 1) * np.log(1.0 - rho * rho)
    return likelihood


def levels_statistic(x: FloatArray, most: int | None = None) -> tuple[FloatArray, IntArray, IntArray]:
    """Statistic, number of steps and splits of series, shape (rows, n), with no more steps than `most`.

    Where a rise is likelier, the statistic is that of the rise.
    """
    scores = normal_scores(x)
    return _statistic(scores, step_places(scores, _PLACES), len(_LEAST_FOR) if most is None else most)


def _statistic(scores: FloatArray, places: IntArray, most: int) -> tuple[FloatArray, IntArray, IntArray]:
    """The same of scores, with steps at places; never less with more steps."""
    rows, n = scores.shape
    sums, splits = least_squares(scores, places, _COEFFICIENTS, most)
    best, at = _best(scores, sums)
    ways = np.take_along_axis(splits, at[:, None, :, None], axis=1)[:, 0]
    afresh = log_likelihoods(scores, squares_of_one_level(scores, ways, _COEFFICIENTS), _COEFFICIENTS)
    one_level = afresh.max(axis=1) - 0.5 * math.log(n) * np.arange(most + 1)
    least = np.maximum(one_level[:, 1:], one_level[:, :1])
    gains = 2.0 * (best[:, 1:] - least - math.log(n) * np.arange(most))
    gains[:, cheap_steps(n) :] -= _OF_FEWER
    steps = gains.argmax(axis=1)
    row = np.arange(rows)
    least = squares_of_rises(scores, sums[:, :, 0], _COEFFICIENTS).min(axis=2)[:, :, None]
    rise = (log_likelihoods(scores, least, _COEFFICIENTS)[:, :, 0] - _PRICE * _COEFFICIENTS).max(axis=1)
    statistic = np.maximum(gains[row, steps], 2.0 * (rise - one_level[:, 0]) - math.log(n))
    return statistic, steps + 1, ways[row, steps + 1]


def squares_of_rises(scores: FloatArray, level: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Least sums of squares of two levels with a rise from one to the other, from those of one level.

    Shape (rows, coefficients, rises): over all, the first half, the middle, the last half.
    """
    weights = _of_rises(scores.shape[1], tuple(coefficients.tolist()))
    explained = np.matmul(weights, scores[:, :, None])  # row by row, so that a row does not depend on others
    return np.asarray(level[:, :, None] - np.square(explained).reshape(*level.shape, -1))


@lru_cache(maxsize=64)
def _of_rises(n: int, coefficients: tuple[float, ...]) -> FloatArray:
    """Of each coefficient and rise what times the scores, squared, a rise explains: shape (ways, n)."""
    share = (np.arange(n) + 0.5) / n
    rises = np.stack([np.clip((share - a) / (b - a), 0.0, 1.0) for a, b in _RISES])
    shapes = np.concatenate([np.ones((1, n)), rises])
    weights = np.empty((len(coefficients), len(_RISES), n))
    for at_rho, rho in zip(weights, coefficients, strict=True):
        weighed = (1.0 + rho * rho) * shapes
        weighed[:, [0, -1]] = shapes[:, [0, -1]]
        weighed[:, 1:] -= rho * shapes[:, :-1]
        weighed[:, :-1] -= rho * shapes[:, 1:]
        one, level = weighed[0], weighed[1:]
        level = level - (rises @ one / one.sum())[:, None] * one
        at_rho[:] = level / np.sqrt((level * rises).sum(axis=1))[:, None]
    return weights.reshape(-1, n)


def _best(scores: FloatArray, sums: FloatArray) -> tuple[FloatArray, IntArray]:
    """Of no step and more: the largest likelihood less the price of dependence, at which coefficient."""
    steps = np.arange(sums.shape[-1])
    price = np.where(steps > 0, _PRICE * _COEFFICIENTS[:, None], 0.0)
    likelihood = log_likelihoods(scores, sums, _COEFFICIENTS) - price
    return likelihood.max(axis=1), likelihood.argmax(axis=1)


def best_levels(x: FloatArray, upto: int = MOST_SPLITS) -> list[list[list[int]]]:
    """The splits that explain each row best, for one step and more."""
    scores = normal_scores(x)
    most = max(1, min(upto, x.shape[1] // (2 * MARGIN) - 1))
    sums, splits = least_squares(scores, step_places(scores, 3 * _PLACES // 2), _COEFFICIENTS, most)
    _, at = _best(scores, sums)
    return [
        [splits[row, g, k, :k].tolist() for k, g in enumerate(coefficients_of, 1)]
        for row, coefficients_of in enumerate(at[:, 1:].tolist())
    ]


def places_of_step(x: FloatArray, split: int, rho: float, alpha: float) -> tuple[int, int]:
    """The first and last split that one step of values or scores leaves possible at risk alpha.

    B. E. Hansen, "Sample splitting and threshold estimation", Econometrica 68(3), 2000: equation 10.
    """
    n = x.size
    limit = -2.0 * math.log(1.0 - math.sqrt(1.0 - alpha))
    places = np.arange(1, n)
    squares, inside = _squares(x, rho), slice(1, n)
    left = np.maximum(squares(0, inside, places) + squares(inside, n, n - places), 0.0)
    possible = places[(n - 2) * (left - left[split - 1]) <= limit * left[split - 1]]
    return int(possible[0]), int(possible[-1])


def levels(x: ArrayLike, *, most: int | None = None, enough: float = 0.0) -> Levels:
    """Test each of several series of equal length, shape (rows, n), for steps between levels.

    Where one step makes a p-value that is small `enough`, none is added, and a bound from above is told.

    S. Chakar, E. Lebarbier, C. Levy-Leduc, S. Robin, "A robust approach for estimating change-points in the mean
    of an AR(1) process", Bernoulli 23(2), 2017; the criterion: Y.-C. Yao, "Estimating the number of change-points
    via Schwarz' criterion", Statistics & Probability Letters 6(3), 1988.
    """
    series = np.asarray(x, dtype=np.float64)
    rows, n = series.shape
    if n < LEAST or rows == 0:
        return Levels(np.zeros(rows), np.full((rows, 1), n), np.ones(rows))
    most = len(_LEAST_FOR) if most is None else most
    scores = normal_scores(series)
    places = step_places(scores, _PLACES)
    if n < _LEAST_FOR[-1] or most == 1 or enough < _CHANCE:
        return _levels(n, *_statistic(scores, places, most))
    one = _levels(n, *_statistic(scores, places, 1))
    pvalue, splits = np.maximum(one.pvalue, _CHANCE), np.zeros((rows, most), dtype=np.int64)
    splits[:, :1] = one.splits
    if (left := np.flatnonzero(pvalue > enough)).size:
        more = _levels(n, *_statistic(scores[left], places[left], most))
        one.statistic[left], splits[left], pvalue[left] = more.statistic, more.splits, more.pvalue
    return Levels(one.statistic, splits, pvalue)


def _levels(n: int, statistic: FloatArray, steps: IntArray, splits: IntArray) -> Levels:
    return Levels(statistic, splits, np.maximum(levels_pvalue(statistic, n), _chance(n, steps, splits)))


def _chance(n: int, steps: IntArray, splits: IntArray) -> FloatArray:
    """The chance that values on two sides of a border lie in so few runs (A. Wald, J. Wolfowitz, 1940)."""
    upto = np.where(np.arange(splits.shape[1]) < steps[:, None], splits, n)
    one_side = np.diff(upto, prepend=0, append=n)[:, ::2].sum(axis=1).tolist()
    return np.array(
        [chance_of_runs(n, k, count + 1) for k, count in zip(one_side, steps.tolist(), strict=True)]
    )


def levels_pvalue(statistic: ArrayLike, n: int) -> FloatArray:
    """Probability that a series of n values without a step shows such a statistic or a larger one."""
    return upper_tail(np.asarray(statistic, dtype=np.float64), *_row(n), 2)


@lru_cache(maxsize=4096)
def _row(n: int) -> ArrayPair:
    """Quantiles for series of n values, ascending, and the logarithms of their levels."""
    sizes, risks, quantiles = null_table("levels_null.json").values()
    k = int(np.clip(np.searchsorted(sizes, n), 1, sizes.size - 1))
    share = float(np.clip(math.log(n / sizes[k - 1]) / math.log(sizes[k] / sizes[k - 1]), 0.0, 1.0))
    return quantiles[k - 1] + share * (quantiles[k] - quantiles[k - 1]), np.log(risks)
