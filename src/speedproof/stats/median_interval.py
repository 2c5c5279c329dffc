"""The confidence interval of a median by order statistics: no assumption on the distribution."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_EXACT = 1000


def median_interval(x: npt.ArrayLike, alpha: float = 0.05) -> tuple[float, float]:
    """Bounds of the median of the distribution that independent values come from.

    The r-th smallest and the r-th largest value, r the largest with 2 P[Binomial(n, 1/2) < r] <= alpha; NaN
    where there is none, as for n < 6 at 5 %.

    Source: W. J. Conover, "Practical Nonparametric Statistics", section 3.2, 1999.
    """
    values = np.sort(np.asarray(x, dtype=np.float64))
    rank = _rank(values.size, alpha)
    return (float(values[rank - 1]), float(values[-rank])) if rank else (math.nan, math.nan)


@lru_cache(maxsize=256)
def _rank(n: int, alpha: float) -> int:
    if n > _EXACT:  # the normal approximation with continuity correction, rounded outwards
        from speedproof.stats.special import ndtri

        return max(0, math.floor((n - math.sqrt(n) * -float(ndtri(np.array(alpha / 2)))) / 2.0))
    below, rank = 1, 0  # the number of subsets of fewer than rank + 1 values, exactly
    while 2 * below <= alpha * 2**n:
        rank += 1
        below += math.comb(n, rank)
    return rank
