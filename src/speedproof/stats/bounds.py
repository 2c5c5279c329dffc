"""P[X > Y] with certified bounds: they pass 1/2 exactly when the test that they invert rejects."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.stats.ranks import brunner_munzel
from speedproof.stats.ratio import hold
from speedproof.stats.special import t_ppf, t_sf


class SuperiorityBounds(Struct, frozen=True):
    """P[X > Y] + P[X = Y] / 2 with two one-sided bounds, each at confidence 1 - alpha."""

    estimate: FloatArray  # shape of the leading axes
    low: FloatArray
    high: FloatArray
    # The smallest alpha at which `low` exceeds 1/2, and at which `high` lies below 1/2: the p-values of the
    # test that the bounds invert. 1 where no alpha does; NaN when a size is 1 and the samples are not
    # separated, which leaves the spread unknown.
    pvalue: FloatArray
    pvalue_less: FloatArray


def probability_greater(x: npt.ArrayLike, y: npt.ArrayLike, alpha: float) -> SuperiorityBounds:
    """P[X > Y] + P[X = Y] / 2 with one-sided bounds that hold under unequal spread.

    Within [0, 1]; 0 and 1 where nothing is known, such as for a single value that is not separated.

    Brunner and Munzel's standard error and degrees of freedom, with Student's quantile, on the scale of log
    odds: on the scale of the probability the bound misses in up to 18 % of samples instead of 5 % when
    P[X > Y] is near 1. However the samples fall, the bound stays below alpha^(1 / min(n, m)), that of complete
    separation: then min(n, m) disjoint pairs all have x > y, which happens with probability at most
    P[X > Y]^min(n, m). So `pvalue` is the tail of Student's distribution at the log odds over their standard
    error, but at least 2^-min(n, m). `low` above 1/2 implies that `brunner_munzel` rejects at alpha. The
    simulated coverage is in docs/size-and-coverage.md.
    """
    r = brunner_munzel(x, y)
    fewer = min(np.shape(x)[-1], np.shape(y)[-1])
    known = r.se > 0.0
    p, df = np.where(known, r.estimate, 0.5), np.where(known, r.df, 1.0)
    odds = np.log(p / (1.0 - p))
    se = np.where(known, r.se, 1.0) / (p * (1.0 - p))  # of the log odds, by the delta method
    upper = np.maximum(t_sf(odds / se, df), 0.5**fewer)
    lower = np.maximum(t_sf(-odds / se, df), 0.5**fewer)
    pvalue, pvalue_less = np.where(known, upper, r.pvalue), np.where(known, lower, r.pvalue_less)
    width = t_ppf(1.0 - alpha, df) * se
    with np.errstate(over="ignore"):
        low, high = (1.0 / (1.0 + np.exp(shift - odds)) for shift in (width, -width))
    separation = alpha ** (1.0 / fewer)
    low = np.where(known, low, np.where(r.estimate == 1.0, separation, 0.0))
    high = np.where(known, high, np.where(r.estimate == 0.0, 1.0 - separation, 1.0))
    low, high = np.minimum(low, separation), np.maximum(high, 1.0 - separation)
    bounds = hold(low, high, pvalue <= alpha, pvalue_less <= alpha, equal=0.5)
    return SuperiorityBounds(r.estimate, bounds.low, bounds.high, pvalue, pvalue_less)
