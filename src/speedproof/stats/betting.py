"""The gambler behind the sequential comparison: stakes on the signs of paired differences.

Write ``d = log x - log y`` for a block's times and ``c = log gamma`` for a speedup under trial. If the true
speedup is ``gamma``, the sign of ``d - c`` is a fair coin whatever ``|d - c|`` and all earlier blocks were,
and a gambler who bets on it gains nothing in the long run. His stake may depend on ``|d - c|`` and on
everything earlier, never on the sign itself. Here it is ``tanh(delta z)`` with
``z = k |d - c| / (S + |d - c|)``: the likelihood ratio of a shift of ``delta`` standard deviations in the
normal model, S being the sum of the absolute deviations of the *earlier* differences from their median. S is
free of ``gamma`` and ``z`` grows with ``|d - c|``, so every factor of the wealth falls as ``gamma`` grows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["LOG_WEIGHTS", "Gambler", "growth", "log_factors", "mix"]

FloatArray = npt.NDArray[np.float64]

# The gambler's prior over effects, in standard deviations of a block's difference. Most of it is where a
# decision takes 10 to 50 blocks; the small ones keep the bounds shrinking in long sessions. Tuned for the
# median number of blocks on normal noise (studies/sequential.py); no choice of these can harm validity.
_EFFECTS = (0.01, 0.05, 0.2, 0.55, 1.3)
_WEIGHTS = (0.03, 0.05, 0.12, 0.57, 0.23)
_EFFECT_ARRAY = np.array(_EFFECTS)
LOG_WEIGHTS: FloatArray = np.log(_WEIGHTS)
# Mean absolute deviation of a standard normal variable: brings the scale to standard deviations.
_NORMAL_DEVIATION = math.sqrt(2 / math.pi)
# Above this |z| evidence no longer grows: keeps every stake below 1, so that no single block ruins a gambler.
_Z_MAX = 4.0


def log_factors(differences: FloatArray, spreads: FloatArray, counts: FloatArray, shift: float) -> FloatArray:
    """Logarithms of the factors ``1 + sign(d - c) tanh(delta z)`` of every block and effect.

    Parameters
    ----------
    differences : ndarray, shape (n,)
        ``d`` of each block.
    spreads : ndarray, shape (n,)
        ``S`` of each block: of the differences before it.
    counts : ndarray, shape (n,)
        Number of differences that S is made of, at least 1.
    shift : float
        ``c``, finite.

    Returns
    -------
    ndarray, shape (n, 5)
        To be summed over blocks.
    """
    v = differences - shift
    size = np.abs(v)
    # Divided by |v|, so that an infinite shift needs no case of its own.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        z = np.minimum(_NORMAL_DEVIATION * counts / (spreads / size + 1.0), _Z_MAX)
    # A tie (v = 0) bets nothing; 0/0 above made its z meaningless.
    signed = np.where(size > 0, np.copysign(z, v), 0.0)
    # 1 + tanh(u) = 2 / (1 + exp(-2u)); |u| is small enough for any of the two forms.
    return np.asarray(-np.log(0.5 + 0.5 * np.exp(signed[:, None] * (-2.0 * _EFFECT_ARRAY))))


def mix(log_wealths: Sequence[float]) -> float:
    """Logarithm of the sum of wealths given by their logarithms.

    Examples
    --------
    >>> round(mix([math.log(2.0), math.log(3.0)]) - math.log(5.0), 12)
    0.0
    """
    top = max(log_wealths)
    return top + math.log(sum(math.exp(w - top) for w in log_wealths))


class Gambler:
    """The wealth of the mixture at one speedup, kept up to date block by block.

    Parameters
    ----------
    side : {1, -1}
        The sign that is bet on.
    shift : float
        ``c``; may be infinite.
    log_wealths : sequence of float, shape (5,), optional
        Logarithm of the wealth of each effect; the prior by default.
    """

    __slots__ = ("_log_wealths", "shift", "side")

    def __init__(self, side: int, shift: float, log_wealths: Sequence[float] | None = None) -> None:
        self.side = side
        self.shift = shift
        self._log_wealths = LOG_WEIGHTS.tolist() if log_wealths is None else list(log_wealths)

    def bet(self, difference: float, spread: float, count: float) -> None:
        """Bet on one block; the arguments are those of :func:`log_factors`."""
        v = self.side * (difference - self.shift)
        if v == 0.0:
            return
        z = math.copysign(min(_NORMAL_DEVIATION * count / (spread / abs(v) + 1.0), _Z_MAX), v)
        for k, effect in enumerate(_EFFECTS):
            self._log_wealths[k] += math.log(2.0 / (1.0 + math.exp(-2.0 * effect * z)))

    @property
    def log_wealth(self) -> float:
        """Logarithm of the e-value."""
        return mix(self._log_wealths)


def growth(differences: FloatArray, shift: float) -> float:
    """Mean gain of log-wealth per block of the luckiest gambler: how fast evidence comes in.

    Parameters
    ----------
    differences : ndarray, shape (n,)
        ``d`` of blocks like those to come; at least one.
    shift : float
        Added to each of them.

    Returns
    -------
    float
        Not positive when nothing is to be won.
    """
    n = differences.size
    spread = float(np.abs(differences - np.median(differences)).sum())
    factors = log_factors(differences, np.full(n, spread), np.full(n, float(n)), -shift)
    return float(factors.mean(axis=0).max())
