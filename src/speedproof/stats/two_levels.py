"""Do the values of a short series lie on two levels, one after the other? A test for large steps in few commits.

A scan of ranks cannot tell a step from neighbours that depend on each other before there are some 20 values,
however large the step. How far the two groups lie apart can: the values are parted into the two groups of least
variance, whatever their order; if then the one group precedes the other, the distance of their means in pooled
standard deviations is the statistic.

The grouping knows nothing of the order, so for exchangeable values of any distribution the probability that k of n
come first or last is 2 / C(n, k), once for all splits together: the p-value is never below it. For values that
depend on each other it is the tail of the statistic in simulated autoregressions (``studies/two_levels_null.py``).
Where many values are equal their distance says nothing: there it is the chance of such a run in a chain of two
states, a normal autoregression of coefficient .6 above or below a border.
"""

from __future__ import annotations

import json
import math
from functools import cache, lru_cache
from importlib import resources

import numpy as np
from msgspec import Struct

from speedproof.arrays import BoolArray, FloatArray, IntArray, extension
from speedproof.stats.scaling import usual
from speedproof.stats.special import ndtr, ndtri

COMPILED = extension("stats._levels")
_MARGIN = 3  # fewest values on each level
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


def two_levels(x: FloatArray) -> Levels:
    """Test each of several series of equal length, shape (rows, n), for two levels that follow each other."""
    rows, n = x.shape
    if n < LEAST:
        return Levels(np.zeros(rows), np.full(rows, n), np.ones(rows))
    distance, split, coarse = separation(usual(x))
    apart = np.flatnonzero(distance > 0.0)
    pvalues = np.ones(rows)
    dependent = _tail(distance[apart], n)
    fewer = np.minimum(split, n - split)[apart].tolist()
    chance = np.array([_of_order(n, k) for k in fewer])
    of_chain = np.array(
        [_of_chain(n, k) if few else 0.0 for k, few in zip(fewer, coarse[apart], strict=True)]
    )
    pvalues[apart] = np.maximum(np.maximum(chance, dependent), of_chain)
    return Levels(distance, split, pvalues)


def separation(x: FloatArray) -> tuple[FloatArray, IntArray, BoolArray]:
    """Distance of the levels, split, and whether fewer than half of the values differ; a row a series."""
    n = x.shape[-1]
    centred = x - x.mean(axis=1, keepdims=True)
    ordered = np.sort(centred, axis=1)
    coarse = 2 * (1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)) < n
    if COMPILED is not None:
        distance, split = np.empty(len(x)), np.empty(len(x), dtype=np.int64)
        COMPILED.apart(centred, ordered, n, _MARGIN, distance, split)
        return distance, split, coarse
    sizes = np.arange(_MARGIN, n - _MARGIN + 1)
    sums = ordered.cumsum(axis=1)[:, _MARGIN - 1 : n - _MARGIN]
    lower = _MARGIN + (np.square(sums) / (sizes * (n - sizes))).argmax(axis=1)  # what lies between is largest
    border = np.take_along_axis(ordered, lower[:, None] - 1, axis=1)
    low = centred <= border
    one_border = (low[:, 1:] != low[:, :-1]).sum(axis=1) == 1
    few = low.sum(axis=1)
    split = np.where(low[:, 0], few, n - few)
    kept = one_border & (split >= _MARGIN) & (split <= n - _MARGIN)
    distance, rows = np.zeros(len(x)), np.flatnonzero(kept)
    values, first = centred[rows], np.arange(n) < split[rows, None]
    sizes = np.stack([split[rows], n - split[rows]])
    means = np.stack([np.where(side, values, 0.0).sum(axis=1) for side in (first, ~first)]) / sizes
    apart = np.where(first, means[0, :, None], means[1, :, None])
    gap, spread = abs(means[1] - means[0]), np.sqrt(np.square(values - apart).sum(axis=1) / (n - 2))
    distance[rows] = np.divide(gap, spread, out=np.full(rows.size, math.inf), where=spread > 0.0)
    return distance, split, coarse


@cache
def null_table(name: str) -> dict[str, FloatArray]:
    """Sizes, levels, quantiles (sizes x levels) of a statistic where there is no step, by simulation."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return {name: np.array(values, float) for name, values in json.loads(text).items()}


def upper_tail(at: FloatArray, quantiles: FloatArray, log_p: FloatArray, back: int) -> FloatArray:
    """Between the quantiles log p is linear, and beyond as it was over so many of the last ones."""
    slope = (log_p[-1] - log_p[-back]) / (quantiles[-1] - quantiles[-back])
    beyond = log_p[-1] + slope * (at - quantiles[-1])
    return np.asarray(np.exp(np.where(at > quantiles[-1], beyond, np.interp(at, quantiles, log_p, left=0.0))))


def _tail(distance: FloatArray, n: int) -> FloatArray:
    """Probability of such a distance or a larger one: between the levels log p is linear in log distance."""
    table = null_table("two_levels_null.json")
    # Of the next shorter series, which are worse.
    row = int(np.searchsorted(table["sizes"], n, side="right")) - 1
    quantiles, log_p = np.log(table["quantiles"][row]), np.log(table["levels"])
    with np.errstate(divide="ignore"):
        return upper_tail(np.log(distance), quantiles, log_p, 3)


@lru_cache(maxsize=4096)
def _of_order(n: int, k: int) -> float:
    """The probability that k of n exchangeable values come first or last."""
    return 2.0 / math.comb(n, k)


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
    """By the share of the rarer state: the probability that the next value is in it, too."""
    border = -ndtri(_SHARES)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x = border[:, None] + (nodes + 1.0) / 2.0 * (_FAR - border[:, None])
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * weights * (_FAR - border[:, None]) / 2.0
    above = ndtr((_DEPENDENT * x - border[:, None]) / math.sqrt(1.0 - _DEPENDENT**2))
    return np.asarray((density * above).sum(axis=1) / _SHARES)
