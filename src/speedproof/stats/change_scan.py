"""Did the level of a series change? A scan of normal scores that stays valid when neighbours depend on each other.

At every split k the mean normal score before it is compared with the mean after it; the statistic is the largest
of these contrasts, each in units of its own deviation. Ranks make its distribution without a change the same for
every continuous distribution of independent values. Equal values share the mean of their scores, which can only
bring the statistic down, and no p-value is below the chance of such an order. Dependence is taken out by a
first-order autoregression of the scores, whose coefficient is estimated after the best single step was removed
(so that a step is not taken for dependence) and raised by the bias of that estimate. P-values come from simulated
null distributions, the worst of those without dependence and of normal autoregressions with coefficients .3 and
.6 (``studies/change_scan_null.py`` makes the table): dependent noise that is skewed or keeps to one of two modes
alarms more often (``studies/lasting_noise.py``).
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from importlib import import_module, resources
from types import ModuleType

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.special import ndtri

LEAST = 8
"""Fewest values of a series that can show a change."""
_MARGIN = 3  # fewest values on each side of a split
_MOST_DEPENDENT = 0.95
_PATIENCE = 10  # splits refused in a row before the walk away from the best one ends


class ChangeScan(Struct, frozen=True):
    """Evidence for a change of level in each of several series."""

    # Largest standardised contrast of mean scores over all splits, shape of the leading axes
    statistic: FloatArray
    split: IntArray  # number of values before the best split of the scores themselves
    dependence: FloatArray  # lag-1 coefficient that was taken out
    pvalue: FloatArray  # probability of such a statistic in a series without a change


def _load_compiled() -> ModuleType | None:
    try:
        return import_module("speedproof.stats._scan")
    except ImportError:  # installed without a compiler
        return None


COMPILED = _load_compiled()


@lru_cache(maxsize=1024)
def _score_table(n: int) -> FloatArray:
    """Normal scores of the ranks 1, 1.5, 2, ... n; the upper half mirrors the lower."""
    lower = ndtri((np.arange(2, n + 2) / 2.0 - 0.5) / n)
    return np.concatenate([lower, -lower[-2::-1]])


@lru_cache(maxsize=1024)
def _weights(n: int) -> FloatArray:
    """Of every split with three values on each side 1 over the deviation of a sum of scores of mean square 1/n."""
    before = np.arange(_MARGIN, n - _MARGIN + 1)
    weights: FloatArray = 1.0 / np.sqrt(before * (n - before) / (n * (n - 1.0)))
    return weights


def normal_scores(x: FloatArray) -> FloatArray:
    """Normal scores of the ranks along the last axis; equal values share the mean of theirs."""
    if COMPILED is None:
        return _scores(x)
    found = np.empty(x.shape)
    COMPILED.scores(np.ascontiguousarray(x), x.shape[-1], _score_table(x.shape[-1]), found)
    return found


def _scores(x: FloatArray) -> FloatArray:
    n = x.shape[-1]
    rows = np.ascontiguousarray(x).reshape(-1, n)
    order = rows.argsort(axis=1)
    order += np.arange(0, rows.size, n)[:, None]
    ordered = rows.ravel()[order]
    same = ordered[:, 1:] == ordered[:, :-1]
    scores, table = np.empty(rows.size), _score_table(n)
    if not same.any():
        scores[order] = table[::2]
        return scores.reshape(x.shape)
    place = np.arange(n + 1)
    edge = np.ones((len(rows), 1), dtype=np.bool_)
    first = np.maximum.accumulate(np.where(np.hstack([edge, ~same]), place[:n], 0), axis=1)
    upto = np.minimum.accumulate(np.where(np.hstack([~same, edge]), place[1:], n)[:, ::-1], axis=1)[:, ::-1]
    sums = np.concatenate([[0.0], table[::2].cumsum()])
    scores[order] = np.where(upto - first > 1, (sums[upto] - sums[first]) / (upto - first), table[2 * first])
    return scores.reshape(x.shape)


@lru_cache(maxsize=1024)
def power(n: int) -> float:
    """Sum of the squared scores of n values of which none are equal."""
    return float(np.square(_score_table(n)[::2]).cumsum()[-1])


def _contrasts(scores: FloatArray) -> FloatArray:
    """Contrast of every split with three values on each side, by the deviation of scores of which none are equal.

    With equal values this is the mean over all ways to order them, so it never exceeds what the null table holds.
    """
    n = scores.shape[-1]
    sums = np.abs(scores.cumsum(axis=-1)[..., _MARGIN - 1 : n - _MARGIN]) * _weights(n)
    contrasts: FloatArray = sums / math.sqrt(power(n))
    return contrasts


def _largest_contrast(scores: FloatArray, rho: FloatArray) -> tuple[FloatArray, IntArray]:
    """Of what remains of scores when a dependence is taken out; and the split of the largest one of the scores."""
    if COMPILED is not None:
        n = scores.shape[-1]
        found, split = np.empty(scores.shape[:-1]), np.empty(scores.shape[:-1], dtype=np.int64)
        COMPILED.largest(
            scores, n, _score_table(n), _weights(n), _MARGIN, np.ascontiguousarray(rho), found, split
        )
        return found, split
    innovations = scores.copy()
    innovations[..., 1:] -= rho[..., None] * scores[..., :-1]
    innovations[..., 0] -= rho * scores[..., 0]  # as if the value before the first had been equal to it
    return _contrasts(_scores(innovations)).max(axis=-1), _contrasts(scores).argmax(axis=-1) + _MARGIN


def step_dependence(scores: FloatArray, splits: IntArray) -> FloatArray:
    """Lag-1 coefficient of what remains when the steps at `splits` are removed, raised by the bias of that."""
    n, steps = scores.shape[-1], splits.shape[-1]
    segment = (np.arange(n) >= splits[..., None]).sum(axis=-2)
    rest = scores.copy()
    for k in range(steps + 1):
        here = segment == k
        count = np.maximum(here.sum(axis=-1, keepdims=True), 1)
        rest -= np.where(here, np.where(here, scores, 0.0).sum(axis=-1, keepdims=True) / count, 0.0)
    power = np.square(rest).sum(axis=-1)
    products = (rest[..., 1:] * rest[..., :-1]).sum(axis=-1)
    raw = np.divide(products, power, out=np.zeros_like(power), where=power > 0.0)
    raised = (raw + (2.0 + 5.0 * steps) / n) / max(1.0 - 10.0 * steps / n, 0.4)
    limit = difference_dependence(scores) + 3.0 / np.sqrt(n)
    clipped: FloatArray = np.clip(np.minimum(raised, limit), 0.0, _MOST_DEPENDENT)
    return clipped


def difference_dependence(scores: FloatArray) -> FloatArray:
    """Lag-1 coefficient from differences over one and two places, which a few steps hardly touch.

    For an autoregression Var(x[t+2] - x[t]) = (1 + rho) Var(x[t+1] - x[t]); the estimate has a deviation of about
    1.5 / sqrt(n).
    """
    near = np.square(np.diff(scores, axis=-1)).mean(axis=-1)
    far = np.square(scores[..., 2:] - scores[..., :-2]).mean(axis=-1)
    ratio: FloatArray = np.divide(far, near, out=np.ones_like(far), where=near > 0.0)
    return ratio - 1.0


def scan_statistic(x: FloatArray, dependence: float | None = None) -> tuple[FloatArray, IntArray, FloatArray]:
    """Statistic, split and dependence of series along the last axis; see :func:`change_scan`."""
    scores = normal_scores(x)
    rho = np.full(x.shape[:-1], 0.0 if dependence is None else dependence)
    if dependence is None:
        rho = step_dependence(scores, _largest_contrast(scores, rho)[1][..., None])
    return *_largest_contrast(scores, rho), rho


def change_scan(x: npt.ArrayLike, *, dependence: float | None = None) -> ChangeScan:
    """Test each of several series of equal length for a change of level (A. N. Pettitt, Applied Statistics 28).

    The null hypothesis is a series of independent values, or one whose normal scores follow a first-order
    autoregression with normal innovations and a coefficient up to about .6.
    """
    series = np.asarray(x, dtype=np.float64)
    n = series.shape[-1]
    shape = series.shape[:-1]
    if n < LEAST:
        return ChangeScan(np.zeros(shape), np.full(shape, n), np.zeros(shape), np.ones(shape))
    statistic, split, rho = scan_statistic(series, dependence)
    least = _least_pvalues(n)[np.minimum(split, n - split)]
    return ChangeScan(statistic, split, rho, np.maximum(scan_pvalue(statistic, n), least))


@lru_cache(maxsize=1024)
def _least_pvalues(n: int) -> FloatArray:
    """By the smaller side k of a split: 2 / C(n, k), the chance that the k least or the k largest come first."""
    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n // 2 + 1)]
    least: FloatArray = 2.0 * np.exp(-np.array(logs))
    return least


@lru_cache(maxsize=1)
def _null_table() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sizes, levels and quantiles (sizes x levels) of the statistic without a change."""
    table = json.loads(resources.files(__package__).joinpath("change_scan_null.json").read_text("utf-8"))
    sizes, levels, quantiles = (np.array(table[name], float) for name in ("sizes", "levels", "quantiles"))
    return sizes, levels, quantiles


@lru_cache(maxsize=4096)
def _null_row(n: int) -> tuple[FloatArray, FloatArray]:
    """Squared quantiles for series of n values, ascending, and the logarithms of their levels."""
    sizes, levels, quantiles = _null_table()
    k = int(np.clip(np.searchsorted(sizes, n), 1, sizes.size - 1))
    share = float(np.clip(math.log(n / sizes[k - 1]) / math.log(sizes[k] / sizes[k - 1]), 0.0, 1.0))
    here = quantiles[k - 1] + share * (quantiles[k] - quantiles[k - 1])
    # Few values have few statistics: of the levels that share a quantile the largest counts.
    known, first = np.unique(np.square(here), return_index=True)
    return known, np.log(levels[first])


def scan_pvalue(statistic: npt.ArrayLike, n: int) -> FloatArray:
    """Probability that a series of n values without a change shows such a statistic or a larger one."""
    return tail_pvalue(np.square(np.asarray(statistic, dtype=np.float64)), *_null_row(n))


def tail_pvalue(statistic: FloatArray, known: FloatArray, log_p: FloatArray) -> FloatArray:
    """From quantiles, ascending, and the logarithms of their levels: between and beyond them on lines."""
    slope = (log_p[-1] - log_p[-2]) / (known[-1] - known[-2])
    beyond = log_p[-1] + slope * (statistic - known[-1])
    inside = np.interp(statistic, known, log_p, left=0.0)
    pvalue: FloatArray = np.exp(np.where(statistic > known[-1], beyond, inside))
    return pvalue


def confidence_set(
    x: npt.ArrayLike, alpha: float, *, dependence: float | None = None, best: int | None = None
) -> IntArray:
    """The splits of one series with a single change of which neither side shows a change at risk alpha / 2.

    The inversion of the scan: the set holds the true place with a confidence of at least 1 - alpha.
    """
    series = np.asarray(x, dtype=np.float64)

    def unchanged(part: FloatArray) -> bool:
        if part.size < LEAST:
            return True
        return bool(scan_pvalue(scan_statistic(part, dependence)[0], part.size) > alpha / 2)

    if best is None:
        best = int(change_scan(series, dependence=dependence).split)
    kept = [best]
    for step in (-1, 1):
        split, refused = best + step, 0
        while 0 < split < series.size and refused < _PATIENCE:
            parts = series[:split], series[split:]
            # First the side that got values from beyond the best split: it is the one to show a change.
            if all(unchanged(part) for part in parts[::step]):
                kept.append(split)
                refused = 0
            else:
                refused += 1
            split += step
    return np.array(sorted(kept), dtype=np.int64)
