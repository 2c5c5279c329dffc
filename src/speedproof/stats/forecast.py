"""Forecasts of the sequential comparison: how many more blocks, and what a planned session can prove.

Both carry the noise seen so far into the future. Neither has a part in any proof.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray
from speedproof.errors import DataError
from speedproof.stats.betting import LOG_WEIGHTS, log_factors, scale_of

# From 3 blocks half of the forecasts are off by a factor of more than 2.6 to 5.8, from 10 by more than 1.7 to 3.7.
# More blocks hardly improve that: sessions that still go on are those whose blocks mislead (sequential.md).
FORECAST_FROM = 10
"""Blocks below which nothing is forecast."""

# exp(700) is the edge of double precision.
_LOG_SPEEDUP_MAX = 700.0


def growth(differences: FloatArray, shift: float) -> float:
    """Mean gain of log-wealth per block of the luckiest bet: how fast evidence comes in."""
    scale = scale_of(np.sort(differences))
    factors = log_factors(differences, np.full(differences.size, scale), -shift)
    return float(factors.mean(axis=0).max())


def blocks_until(differences: FloatArray, missing: float, shift: float) -> float:
    """About how many more blocks bring the evidence that is missing, if the future is like the past.

    0 when nothing is missing, NaN below 10 blocks, infinity when the blocks speak against it.
    """
    if missing <= 0:
        return 0.0
    if differences.size < FORECAST_FROM:
        return math.nan
    rate = growth(differences, -shift)
    return missing / rate if rate > 0 else math.inf


def blocks_for_proof(differences: FloatArray, alpha: float) -> float:
    """About how many blocks like these a proof takes from its beginning; as :func:`blocks_until`."""
    return blocks_until(differences, _missing(alpha), 0.0)


def _missing(alpha: float) -> float:
    """Logarithm of the evidence that a proof takes, and about what the mixture costs against its luckiest bet."""
    return -math.log(alpha) - float(LOG_WEIGHTS.max())


def smallest_provable(differences: npt.ArrayLike, blocks: float, *, alpha: float) -> float:
    """The smallest speedup that about half of all sessions of so many blocks would prove; infinity for too few."""
    d = np.asarray(differences, dtype=np.float64)
    if d.size < 2:
        raise DataError("the noise of a machine needs at least two blocks")
    # Of one program against itself a difference is as likely as its negative.
    d = np.concatenate([d, -d])
    scale = float(np.abs(d).mean())
    missing = _missing(alpha)
    if scale == 0.0:
        return 1.0 if blocks * math.log(2) >= missing else math.inf
    low, high = 0.0, scale
    while growth(d, high) * blocks < missing:
        high *= 2.0
        if high > _LOG_SPEEDUP_MAX:
            return math.inf
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if growth(d, middle) * blocks >= missing else (middle, high)
    return math.exp(high)
