"""By how much X typically exceeds Y, both measured in the same sessions: the signed-rank test, inverted.

What a session adds to both sides is not in the ratio x / y of the session. The logarithms of these ratios are
compared with that of gamma by Wilcoxon's signed-rank test: its statistic is the number of Walsh averages above it
(Tukey 1949), so that an average of a certain rank is the bound, and their median (Hodges and Lehmann 1963) the
estimate. Identical programs have ratios that are symmetric about 1, whatever the sessions do, and the test then is
exact. An average that equals gamma speaks for nothing. Sessions that were paired without having anything in common
cost power, not risk.

References
----------
.. [1] F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.
.. [2] J. L. Hodges, E. L. Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics
   34, 1963.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from speedproof.stats.power import RunsNeeded
from speedproof.stats.ratio import RatioTest, edges, hold
from speedproof.stats.signed_rank import upper_tail
from speedproof.stats.special import beta_ppf, normal_quantile
from speedproof.stats.superiority import TypicalRatio

__all__ = ["paired_ratio", "paired_ratio_test", "runs_needed_pairs"]

FloatArray = npt.NDArray[np.float64]
_EFFICIENCY = 3.0 / np.pi  # of the signed-rank test beside Student's, for normal values


def paired_ratio(x: FloatArray, y: FloatArray, alpha: float, *, steps: FloatArray) -> TypicalRatio:
    """The typical ratio within pairs (x_i, y_i), in rows, with the bounds and p-values of one test.

    Examples
    --------
    >>> x, y = np.array([[1.1, 2.3, 3.3, 4.8, 5.5]]), np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])
    >>> found = paired_ratio(x, y, 0.05, steps=np.zeros((1, 2)))
    >>> float(found.estimate.round(4)[0]), float(found.low.round(4)[0]), float(found.pvalue[0])
    (1.1247, 1.1, 0.03125)
    """
    tail = _tail(x.shape[1])
    at_one = paired_ratio_test(x, y, 1.0, steps=steps)
    rejecting = np.flatnonzero(tail <= alpha)
    with np.errstate(invalid="ignore"):
        estimate = np.exp(np.median(_walsh(x, y, 0.0 * steps, 0.0), axis=1))
        least, most = np.exp(_walsh(x, y, steps, -1.0)), np.exp(_walsh(x, y, steps, 1.0))
    low, high = np.zeros(len(x)), np.full(len(x), np.inf)
    if rejecting.size:
        low, high = least[:, least.shape[1] - rejecting[0]], most[:, rejecting[0] - 1]
    faster, slower = at_one.above <= alpha, at_one.below <= alpha
    bounds = hold(low, high, faster, slower)
    meant = _meant(x, y)
    won, tied, n = (x > y).sum(axis=1), (x == y).sum(axis=1), x.shape[1]
    chance_low = np.array([beta_ppf(alpha, k, n - k + 1.0) if k else 0.0 for k in won.tolist()])
    lost = (n - won - tied).tolist()
    chance_high = 1.0 - np.array([beta_ppf(alpha, k, n - k + 1.0) if k else 0.0 for k in lost])
    chances = hold(chance_low, chance_high, faster, slower, equal=0.5)
    return TypicalRatio(
        np.where(meant, estimate, np.nan),
        np.where(meant, bounds.low, np.nan),
        np.where(meant, bounds.high, np.nan),
        at_one.above,
        at_one.below,
        (won + 0.5 * tied) / n,
        chances.low,
        chances.high,
    )


def paired_ratio_test(x: FloatArray, y: FloatArray, gamma: float, *, steps: FloatArray) -> RatioTest:
    """Test the ratio within pairs against gamma: the p-values that the bounds of `paired_ratio` invert.

    At 1 readings count as they are, and values that are not positive have a verdict, too: by their differences.
    """
    tail, meant = _tail(x.shape[1]), _meant(x, y)
    if gamma == 1.0:
        logs = _walsh(x, y, 0.0 * steps, 0.0)
        walsh = np.where(meant[:, None], logs, _averages(np.ldexp(x, -2) - np.ldexp(y, -2)))
        return RatioTest(tail[(walsh > 0.0).sum(axis=1)], tail[(walsh < 0.0).sum(axis=1)])
    below, above = np.log(edges(gamma))
    found = (
        tail[(_walsh(x, y, steps, -1.0) > above).sum(axis=1)],
        tail[(_walsh(x, y, steps, 1.0) < below).sum(axis=1)],
    )
    at_one = paired_ratio_test(x, y, 1.0, steps=steps)
    # what is proven above 1 is proven above every smaller gamma, also where rounding widens the bounds
    upper = np.minimum(found[0], at_one.above) if gamma < 1.0 else np.maximum(found[0], at_one.above)
    lower = np.maximum(found[1], at_one.below) if gamma < 1.0 else np.minimum(found[1], at_one.below)
    return RatioTest(np.where(meant, upper, np.nan), np.where(meant, lower, np.nan))


def runs_needed_pairs(x: FloatArray, y: FloatArray, alpha: float, power: float = 0.8) -> RunsNeeded:
    """Sessions after which the test would find the observed ratio; infinity where a ratio means nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        d = np.log(x) - np.log(y)
        effect = d.mean(axis=1) ** 2 / d.var(axis=1, ddof=1)
        count = (normal_quantile(1.0 - alpha) + normal_quantile(power)) ** 2 / effect / _EFFICIENCY
    fewest = np.ceil(-np.log2(alpha))
    count = np.where(np.isnan(count), np.inf, np.maximum(np.ceil(count), fewest))
    return RunsNeeded(count, count)


def _tail(n: int) -> FloatArray:
    """P[T >= t] for t = 0, 1, ...: of the positive Walsh averages of n values that are symmetric about 0."""
    return upper_tail(tuple(range(2, 2 * n + 1, 2)))[::2]


def _meant(x: FloatArray, y: FloatArray) -> npt.NDArray[np.bool_]:
    return np.asarray((x > 0.0).all(axis=1) & (y > 0.0).all(axis=1))


def _averages(d: FloatArray) -> FloatArray:
    i, j = np.triu_indices(d.shape[1])
    return np.sort(0.5 * (d[:, i] + d[:, j]), axis=1)


def _walsh(x: FloatArray, y: FloatArray, steps: FloatArray, sign: float) -> FloatArray:
    """Of the least (sign -1) or greatest (+1) log ratios that the steps leave, in ascending order."""
    with np.errstate(divide="ignore", invalid="ignore"):
        d = np.log(np.maximum(x + sign * 0.5 * steps[:, :1], 0.0)) - np.log(
            np.maximum(y - sign * 0.5 * steps[:, 1:], 0.0)
        )
    return _averages(np.where(np.isnan(d), sign * np.inf if sign else 0.0, d))
