"""Do the values of a short series lie on two levels, in turn? A test for large steps in few commits.

A scan of ranks cannot tell a step, or one undone, from neighbours that depend on each other before there are some
20 values a level, however large it is. How far the two groups lie apart can: the values are parted into the two
groups of least variance, whatever their order. If then the groups take few turns, each for three values or more,
the distance of their means in deviations of the more scattered group is the statistic. The two largest and the two
smallest values may be outliers: they may lie anywhere, and in groups of four or more count as the next ones.

The grouping knows nothing of the order, so for exchangeable values of any distribution the probability that
groups of k and n - k alternate in so few runs is that of A. Wald and J. Wolfowitz: the p-value is never below
it, and the statistic is the less the likelier that is. For values that depend on each other it is the tail of
the statistic in simulated autoregressions (``studies/two_levels_null.py``). Where many values are equal their
distance says nothing: there it is the chance of one turn in a chain of two states, a normal autoregression of
coefficient .6 above or below a border.
"""

from __future__ import annotations

import json
import math
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray, extension
from speedproof.stats.scaling import usual
from speedproof.stats.special import ndtr, ndtri

COMPILED = extension("stats._levels")
MARGIN = 3
"""Fewest values of a level; two of a series may be odd."""
_MOST, _A_TURN = 5, 10  # turns; values for each
_DEPENDENT, _FAR = 0.6, 8.0  # of the chain; deviations
_SHARES = np.linspace(0.02, 0.5, 49)
LEAST = 8
"""Fewest values of a series that can show a change."""


class Levels(Struct, frozen=True):
    """Evidence for steps in each of several series."""

    statistic: (
        FloatArray  # how far they lie apart, 0 where they mix; or twice a log-likelihood ratio less its price
    )
    splits: IntArray  # number of values before each step that explains the series best, of several then zeros
    pvalue: FloatArray  # probability of such a statistic where there is no step


def share(n: int) -> float:
    """The share of the risk that this test gets: all for few values, at least 15 % for many."""
    return min(1.0, max(0.15, 2.0 / math.comb(n, 3) / 0.01)) if n >= LEAST else 1.0


def two_levels(x: FloatArray) -> Levels:
    """Test each of several series of equal length, shape (rows, n), for two levels that follow each other."""
    rows, n = x.shape
    if n < LEAST:
        return Levels(np.zeros(rows), np.zeros((rows, _MOST), dtype=np.int64), np.ones(rows))
    distance, splits, chance = separation(usual(x))
    apart, pvalues = np.flatnonzero(distance > 0.0), np.ones(rows)
    pvalues[apart] = np.maximum(chance[apart], _tail(distance[apart], n))
    return Levels(distance, splits, pvalues)


def separation(x: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """Distance of the levels, 0 where they mix, splits, and their chance; a row a series."""
    rows, n = x.shape
    values = x - x.mean(axis=1, keepdims=True)
    ordered = np.sort(values, axis=1)
    coarse = (2 * (1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)) < n).tolist()
    distance, chance = np.zeros(rows), np.ones(rows)
    splits, counts = np.zeros((rows, _MOST), dtype=np.int64), np.zeros((rows, 2), dtype=np.int64)
    if COMPILED is not None:
        COMPILED.apart(values, ordered, n, MARGIN, _MOST, distance, splits, counts)
    else:
        for row in range(rows):
            distance[row], counts[row] = _apart(values[row], ordered[row], splits[row])
    distance[(splits > 0).sum(axis=1) > max(1, n // _A_TURN)] = 0.0
    for row in np.flatnonzero(distance > 0.0).tolist():
        few, runs = counts[row].tolist()
        chance[row] = _of_order(n, few, runs)
        if coarse[row]:
            chance[row] = max(chance[row], _of_chain(n, min(few, n - few)) if runs == 2 else 1.0)
    # What is likelier than that three come first or last has to lie as much further apart.
    distance *= np.sqrt(np.minimum(1.0, _of_order(n, MARGIN, 2) / chance))
    splits[distance == 0.0] = 0
    return distance, splits, chance


def _apart(x: FloatArray, ordered: FloatArray, splits: IntArray) -> tuple[float, tuple[int, int]]:
    """The distance of one series, whose splits it sets, how many values are low, and in how many runs."""
    n, sizes = x.size, np.arange(MARGIN, x.size - MARGIN + 1)
    drawn = ordered.clip(ordered[MARGIN - 1], ordered[-MARGIN])
    sums = (drawn - drawn.mean()).cumsum()[MARGIN - 1 : n - MARGIN]
    border = ordered[
        MARGIN - 1 + (sums * sums / (sizes * (n - sizes))).argmax()
    ]  # what lies between is largest
    low = x <= border
    mostly = (low[:-2].astype(int) + low[1:-1] + low[2:] > 1)[[0, *range(n - 2), -1]]
    turns, few = np.flatnonzero(mostly[1:] != mostly[:-1]) + 1, int(low.sum())
    counts = few, 1 + int((low[1:] != low[:-1]).sum())
    lengths = np.diff(turns, prepend=0, append=n)
    if not (0 < turns.size <= _MOST and lengths.min() >= MARGIN and MARGIN <= few <= n - MARGIN):
        return 0.0, counts
    odd = x[low != mostly]
    if ((odd > ordered[MARGIN - 2]) & (odd < ordered[1 - MARGIN])).any():
        return 0.0, counts
    splits[: turns.size] = turns
    lower, upper = ordered[:few], ordered[few:]
    lower = lower.clip(lower[min(few // 4, MARGIN - 1)], None)
    upper = upper.clip(None, upper[-1 - min(upper.size // 4, MARGIN - 1)])
    spread = math.sqrt(
        max(float((level - level[0]).var(ddof=1)) for level in (lower, upper))
    )  # of equal ones 0
    return (float(upper.mean() - lower.mean()) / spread if spread > 0.0 else math.inf), counts


@cache
def null_table(name: str) -> dict[str, FloatArray]:
    """Sizes, levels, quantiles (sizes x levels) of a statistic where there is no step, by simulation."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return {name: np.array(values, float) for name, values in json.loads(text).items()}


def upper_tail(at: FloatArray, quantiles: FloatArray, log_p: FloatArray, back: int) -> FloatArray:
    """Between the quantiles log p is linear, and beyond as it was over so many of the last ones."""
    slope = (log_p[-1] - log_p[-back]) / (quantiles[-1] - quantiles[-back])
    beyond = log_p[-1] + slope * (at - quantiles[-1])
    return np.asarray(np.exp(np.where(at > quantiles[-1], beyond, np.interp(at, quantiles, log_p, left=0.0))))


def _tail(distance: FloatArray, n: int) -> FloatArray:
    """Probability of such a distance or a larger one: between the levels log p is linear in log distance."""
    table = null_table("two_levels_null.json")
    # Of the sizes around it the worse.
    first, last = np.searchsorted(table["sizes"], n, side="right") - 1, np.searchsorted(table["sizes"], n)
    quantiles, log_p = np.log(table["quantiles"][first : last + 1].max(axis=0)), np.log(table["levels"])
    return upper_tail(np.log(np.maximum(distance, 1e-300)), quantiles, log_p, 3)


@lru_cache(maxsize=4096)
def _of_order(n: int, k: int, runs: int) -> float:
    """The probability that k of n exchangeable values and the others lie in so many runs or fewer."""
    return sum(chance_of_runs(n, k, fewer) for fewer in range(2, runs + 1))


@lru_cache(maxsize=4096)
def chance_of_runs(n: int, k: int, runs: int) -> float:
    """Probability that k of n values and the others alternate in exactly so many runs."""

    def parts(values: int, count: int) -> int:
        return math.comb(values - 1, count - 1)

    more, fewer = (runs + 1) // 2, runs // 2
    ways = parts(k, more) * parts(n - k, fewer) + parts(k, fewer) * parts(n - k, more)
    return ways / math.comb(n, k)


@lru_cache(maxsize=4096)
def _of_chain(n: int, k: int) -> float:
    """The largest probability that a chain of two states changes once, k steps or more from either end."""
    share, stay = _SHARES, _stays()
    leave = 1.0 - stay
    enter = leave * share / (1.0 - share)
    first = np.arange(k, n - k + 1)[:, None]
    paths = 2.0 * share * stay ** (first - 1) * leave * (1.0 - enter) ** (n - first - 1)
    return float(paths.sum(axis=0).max())


@lru_cache(maxsize=1)
def _stays() -> FloatArray:
    """For each share of the rarer state the probability that the next value is in it, too."""
    border = -ndtri(_SHARES)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x = border[:, None] + (nodes + 1.0) / 2.0 * (_FAR - border[:, None])
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * weights * (_FAR - border[:, None]) / 2.0
    above = ndtr((_DEPENDENT * x - border[:, None]) / math.sqrt(1.0 - _DEPENDENT**2))
    return np.asarray((density * above).sum(axis=1) / _SHARES)
