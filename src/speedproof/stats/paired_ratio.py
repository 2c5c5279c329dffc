"""By how much X typically exceeds Y, both measured in the same sessions: the signed-rank test, inverted.

What a session adds to both sides is not in the ratio x / y of the session. The logarithms of these ratios are
compared with that of gamma by Wilcoxon's signed-rank test: its statistic is the number of Walsh averages above it
(Tukey 1949), so that an average of a certain rank is the bound, and their median (Hodges and Lehmann 1963) the
estimate. Identical programs have ratios that are symmetric about 1, and the test then is exact. An average that
equals gamma speaks for nothing.

By signs and ranks alone n sessions cannot prove more than 2^-n. So where all ratios lie on one side, Student's
test of their logarithms may make the p-value smaller: at a risk below 2^-n both have to agree. Symmetric ratios
then never err in more than 2^-n of all cases, normal ones not in more than the risk. No tail is believed further
than that of runs that are not paired, to four fifths of 2^-n.
"""

from __future__ import annotations

import itertools

import numpy as np

from speedproof.arrays import ArrayLike, ArrayPair, BoolArray, FloatArray
from speedproof.stats.estimate import OneSided
from speedproof.stats.permutation import least_pvalue
from speedproof.stats.ratio import LogErrors, edges, hold, monotone
from speedproof.stats.scaling import unbounded
from speedproof.stats.signed_rank import untied_tail, walsh_averages
from speedproof.stats.special import normal_quantile, t_quantile, t_sf
from speedproof.stats.superiority import TypicalRatio

_EFFICIENCY = 3.0 / np.pi  # of the signed-rank test beside Student's, for normal values


def paired_ratio(x: FloatArray, y: FloatArray, alpha: float, *, steps: FloatArray) -> TypicalRatio:
    """The pseudo-median of the ratios within pairs (x_i, y_i), in rows, with the bounds and p-values of one test.

    Pairs say nothing of the chance that one run beats another: it is NaN.
    """
    n = x.shape[1]
    tail = untied_tail(n)
    at_one = paired_ratio_test(x, y, 1.0, steps=steps)
    rejecting = np.flatnonzero(tail <= alpha)
    centres, least, most = (_walsh(x, y, steps, sign) for sign in (0.0, -1.0, 1.0))
    centres = np.where(np.isnan(centres[:, -1:]), np.nan, centres)
    estimate = unbounded(np.exp, np.median(centres, axis=1))
    low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    if rejecting.size:
        low, high = least[:, least.shape[1] - rejecting[0]], most[:, rejecting[0] - 1]
    elif least_pvalue(n, n) <= alpha:
        low = np.minimum(least[:, 0], _student_bound(_logs(x, y, steps, -1.0), alpha))
        high = -np.minimum(-most[:, -1], _student_bound(-_logs(x, y, steps, 1.0), alpha))
    faster, slower = at_one.pvalue <= alpha, at_one.pvalue_less <= alpha
    bounds = hold(unbounded(np.exp, low), unbounded(np.exp, high), faster, slower)
    meant = _meant(x, y)
    estimate, low, high = (np.where(meant, part, np.nan) for part in (estimate, bounds.low, bounds.high))
    no_chance = np.full((3, len(x)), np.nan)
    return TypicalRatio(at_one.pvalue, at_one.pvalue_less, estimate, low, high, *no_chance)


def paired_ratio_test(x: FloatArray, y: FloatArray, gamma: float, *, steps: FloatArray) -> OneSided:
    """Test the ratio within pairs against gamma: the p-values that the bounds of `paired_ratio` invert.

    At 1 readings count as they are, and values that are not positive have a verdict, too: by their differences.
    """
    if gamma == 1.0:
        positive = np.minimum(x, y).min(axis=1, keepdims=True) > 0.0
        d = np.where(positive, _logs(x, y, steps, 0.0), np.ldexp(x, -2) - np.ldexp(y, -2))
        return OneSided(_pvalues(d, 0.0), _pvalues(-d, 0.0))
    below, above = np.log(edges(gamma))
    pvalues = (
        _pvalues(_logs(x, y, steps, -1.0), float(above)),
        _pvalues(-_logs(x, y, steps, 1.0), -float(below)),
    )
    return monotone(gamma, OneSided(*pvalues), paired_ratio_test(x, y, 1.0, steps=steps), _meant(x, y))


def paired_error(x: FloatArray, y: FloatArray) -> LogErrors:
    """The standard error of the log ratio within pairs, row by row; NaN for a single pair."""
    x, y = (np.log(np.where(side > 0.0, side, np.nan)) for side in (x, y))
    _, error = _mean_and_error(x - y)
    n = np.full(len(x), x.shape[1])
    return LogErrors(error / np.sqrt(_EFFICIENCY), np.maximum(n - 1.0, 1.0), 0.0 * n)


def runs_needed_pairs(x: ArrayLike, y: ArrayLike, alpha: float, power: float = 0.8) -> ArrayPair:
    """Sessions after which the test would find the observed ratio; infinity where a ratio means nothing.

    Guenther's formula (see `runs_needed_means`) by the efficiency of ranks, never fewer than can reject.
    """
    z = normal_quantile(1.0 - alpha)
    x, y = (np.asarray(side, dtype=np.float64) for side in (x, y))
    x, y = (np.log(np.where(side > 0.0, side, np.nan)) for side in (x, y))
    squared, variance = (x - y).mean(axis=-1) ** 2, (x - y).var(axis=-1, ddof=1)
    effect = np.divide(squared, variance, out=np.full_like(squared, np.inf), where=variance != 0.0)
    effect = np.where(squared > 0.0, effect, np.nan)
    runs = (z + normal_quantile(power)) ** 2 / effect / _EFFICIENCY + 0.5 * z * z
    fewest = next(n for n in itertools.count(2) if least_pvalue(n, n) <= alpha)
    needed = np.where(np.isnan(runs), np.inf, np.maximum(np.ceil(runs), fewest))
    return needed, needed


def _pvalues(d: FloatArray, edge: float) -> FloatArray:
    """Against "around the edge or below it", of rows of values."""
    n = d.shape[1]
    ranks: FloatArray = untied_tail(n)[(walsh_averages(d) > edge).sum(axis=1)]
    if n < 2:
        return ranks
    off = d - edge
    beyond: BoolArray = np.all((off > 0.0) & np.isfinite(off), axis=1)
    off = np.where(beyond[:, None], off, 1.0)
    mean, error = _mean_and_error(off / off.max(axis=1, keepdims=True))
    t = np.divide(mean, error, out=np.full_like(mean, np.inf), where=error > 0.0)
    student = np.maximum(t_sf(t, n - 1.0), least_pvalue(n, n))
    return np.where(beyond, np.minimum(student, ranks), ranks)


def _student_bound(d: FloatArray, alpha: float) -> FloatArray:
    """The edge at which Student's test of the mean has a p-value of alpha."""
    mean, error = _mean_and_error(np.where(np.isfinite(d), d, np.nan))
    return np.nan_to_num(mean - t_quantile(1.0 - alpha, d.shape[1] - 1.0) * error, nan=-np.inf)


def _mean_and_error(d: FloatArray) -> ArrayPair:
    if d.shape[1] == 1:
        return d[:, 0], np.full(len(d), np.nan)
    return d.mean(axis=1), d.std(axis=1, ddof=1) / np.sqrt(d.shape[1])


def _meant(x: FloatArray, y: FloatArray) -> BoolArray:
    return np.asarray((x >= 0.0).all(axis=1) & (y >= 0.0).all(axis=1))


def _walsh(x: FloatArray, y: FloatArray, steps: FloatArray, sign: float) -> FloatArray:
    """The averages of `_logs`, in ascending order; that of two infinite ones may be anything."""
    averages = walsh_averages(_logs(x, y, steps, sign))
    return np.sort(np.where(np.isnan(averages), sign * np.inf, averages), axis=1) if sign else averages


def _logs(x: FloatArray, y: FloatArray, steps: FloatArray, sign: float) -> FloatArray:
    """The least (sign -1) or greatest (+1) log ratios that the steps leave, or (0) those of the readings.

    The ratio of two zeros is 1.
    """
    least, most = x + sign * 0.5 * steps[:, :1], y - sign * 0.5 * steps[:, 1:]
    least, most = (unbounded(np.log, np.maximum(side, 0.0)) for side in (least, most))
    d = unbounded(np.subtract, least, most)
    return np.where(np.isnan(d), 0.0, d)
