"""The bets behind the sequential comparison: stakes on the signs of paired differences.

Write ``d = log x - log y`` for the times of a block, in which each version runs once, in random order, and ``c =
log gamma`` for a speedup under trial. If the true speedup is ``gamma``, the two runs can be exchanged after X was
divided by it: the sign of ``d - c`` is a fair coin whatever ``|d - c|`` and all earlier blocks were. A stake may
depend on those, never on the sign. Here it is ``tanh(min(slope r, top))`` with ``r = |d - c| / S``, S being the
median absolute deviation of the *earlier* differences from their median, in standard deviations.

Up to ``top`` this is the likelihood ratio of a shift of ``slope`` standard deviations in the normal model. A spike
is beyond it and costs what any block may cost; as S is a median, it does not make the stakes on the others small.
An infinite slope gives the sign test. S is free of ``gamma``, so every factor of the wealth falls as ``gamma``
grows.

The forecasts at the end, how many more blocks and what a planned session can prove, carry the noise seen so far
into the future and have no part in any proof.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.errors import DataError
from speedproof.stats.scaling import NORMAL_DEVIATION

# Slope, top and share of the initial wealth. Most of it is where a decision takes 10 to 50 blocks; small slopes
# keep the bounds shrinking in long sessions. Tuned on normal noise with and without spikes, by sessions that no
# published table uses (studies/sequential.py); no choice can harm validity.
_BETS = (
    (math.inf, math.atanh(0.5), 0.15),
    (0.03, 0.09, 0.03),
    (0.15, 0.45, 0.09),
    (0.5, 0.75, 0.20),
    (0.9, 0.63, 0.42),
    (1.5, 3.0, 0.11),
)
_SLOPES, _TOPS, _WEIGHTS = (np.array(column) for column in zip(*_BETS, strict=True))
_PAIRS = [(slope, top) for slope, top, _ in _BETS]
LOG_WEIGHTS: FloatArray = np.log(_WEIGHTS)
# What a block adds to the logarithm of a wealth at most.
_MOST: list[float] = np.log1p(np.tanh(_TOPS)).tolist()
# A ratio this close to the one under trial is a tie: logarithms of equal ratios differ by their rounding.
_TIE = 1e-12


# From 3 blocks half of the forecasts are off by a factor of more than 2.6 to 5.8, from 10 by more than 1.7 to 3.7.
# More blocks hardly improve that: sessions that still go on are those whose blocks mislead (sequential.md).
FORECAST_FROM = 10
"""Blocks below which nothing is forecast."""
# exp(700) is the edge of double precision.
_LOG_SPEEDUP_MAX = 700.0


def scale_of(ordered: FloatArray) -> float:
    """Median absolute deviation from the median of sorted values, in standard deviations; 0 below two."""
    n = ordered.size
    if n < 2:
        return 0.0
    values, k = ordered.item, n // 2
    centre = 0.5 * (values((n - 1) // 2) + values(k))
    # Those nearest to it are neighbours, and the furthest of them are at their ends.
    at = bisect_left(range(n - k - 1), True, key=lambda i: centre - values(i) <= values(i + k + 1) - centre)
    furthest = sorted(abs(values(i) - centre) for i in {at, at + 1, at + k - 1, at + k})
    return NORMAL_DEVIATION * float(furthest[-1] if n % 2 else 0.5 * (furthest[-2] + furthest[-1]))


def log_factors(differences: FloatArray, scales: FloatArray, shift: float) -> FloatArray:
    """Logarithms of the factors ``1 + sign(d - c) tanh(min(slope r, top))`` of every block and bet."""
    v = differences - shift
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        r = np.where(scales > _TIE, np.abs(v) / scales, 1.0)
        stakes = np.minimum(r[:, None] * _SLOPES, _TOPS)
    # A tie bets nothing; 0 times infinity above made its stake meaningless.
    signed = np.where(np.abs(v)[:, None] > _TIE, np.copysign(stakes, v[:, None]), 0.0)
    # 1 + tanh(u) = 2 / (1 + exp(-2u)); |u| is small enough for any of the two forms.
    return np.asarray(-np.log(0.5 + 0.5 * np.exp(-2.0 * signed)))


def mix(log_wealths: Sequence[float]) -> float:
    """Logarithm of the sum of wealths given by their logarithms."""
    top = max(log_wealths)
    return top + math.log(sum(math.exp(w - top) for w in log_wealths))


def bet(log_wealths: list[float], difference: float, scale: float) -> None:
    """Add to the wealths what a block gains at a speedup of 1; the arguments are those of :func:`log_factors`."""
    if abs(difference) <= _TIE:
        return
    r = abs(difference) / scale if scale > _TIE else 1.0
    for k, (slope, top) in enumerate(_PAIRS):
        stake = math.copysign(min(slope * r, top), difference)
        log_wealths[k] += math.log(2.0 / (1.0 + math.exp(-2.0 * stake)))


def blocks_before(log_wealths: Sequence[float], level: float) -> int:
    """How many blocks it takes at least to bring the wealths together to a level, up to a hundred; from 1."""

    def at_most(blocks: int) -> float:
        return mix([w + blocks * most for w, most in zip(log_wealths, _MOST, strict=True)])

    return max(bisect_left(range(100), level, key=at_most), 1)


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


def smallest_provable(differences: ArrayLike, blocks: float, *, alpha: float) -> float:
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
