"""Several modes are a claim: that no law with one mode explains the runs as well.

The laws with one mode are of any skew, from a cusp to a flat top, with the normal in their midst. Their density
falls from the mode m as exp(-((m - x) / a)^b) on the left and exp(-((x - m) / c)^b) on the right. Given m and b
the likelihood has its maximum in closed form. b = 1 has the exponential and Laplace's law, b = 2 the normal, large
b the uniform; b below 1 has heavy tails.

The bars were set by ``studies/modes.py``. Of fewer than 200 values no rule both sees modes four deviations apart
and never takes a skewed law for two; so two modes of one width are shown there as soon as no normal and no flat
law explains them.
"""

from __future__ import annotations

from math import lgamma, log

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.mixture import em
from speedproof.mixture.fitting import MixtureFit, standardise
from speedproof.mixture.model import MixtureModel, Modes
from speedproof.mixture.results import FEW_RUNS
from speedproof.mixture.search import table

MARGIN = 12.0
"""Of BIC, by which a mixture must beat every law with one mode."""

_SHAPES = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 64.0)
_PLACES = 41


class OneMode(Struct, frozen=True):
    """Log-likelihoods of the best law of either kind."""

    symmetric: float  # no more peaked than the normal, three parameters
    skewed: float  # any shape, four parameters


def one_mode(x: FloatArray) -> OneMode:
    """The likeliest laws with one mode, of sorted values that are not all equal."""
    n, span = x.size, float(x[-1] - x[0])
    modes = np.concatenate([np.quantile(x, np.linspace(0.0, 1.0, _PLACES)), [x.mean(), 0.5 * (x[0] + x[-1])]])
    off = (x - modes[:, None]) / span
    below = off < 0.0
    off = np.abs(off)
    symmetric, skewed = [], []
    for b in _SHAPES:
        far = off**b
        left, right = (np.where(side, far, 0.0).sum(axis=1) for side in (below, ~below))
        width = left ** (1.0 / (b + 1.0)) + right ** (1.0 / (b + 1.0))
        constant = -lgamma(1.0 + 1.0 / b) - 1.0 / b - np.log(span)
        skewed.append((constant - np.log(width) - np.log(b * width / n) / b).max())
        if b >= 2.0:
            symmetric.append((constant - np.log(2.0) - np.log(b * (left + right) / n) / b).max())
    return OneMode(n * float(max(symmetric)), n * float(max(skewed)))


def several(x: FloatArray, fitted: MixtureFit, low: float, high: float) -> bool:
    """Whether sorted values between two places have more modes than one, as the fitted mixture has."""
    model, n = fitted.model, x.size
    K = int(((model.means > low) & (model.means <= high)).sum())
    parameters = em.free_parameters(K, em.V if fitted.kind == "V" else em.E)
    inside = float(model.cdf(high) - model.cdf(low))
    gain = 2.0 * (model.loglik(x) - n * log(inside) - one_mode(x).skewed)
    return gain - (parameters - 4) * log(n) > MARGIN or of_one_width(x) is not None


def of_one_width(x: FloatArray) -> Modes | None:
    """Two modes of one width, where sorted values have them: of few values it takes less to believe in these."""
    if x.size < 2 * FEW_RUNS or x[0] == x[-1]:
        return None
    u, centre, scale = standardise(x)
    found = table(u, 2, 0.0)
    normal, two = found.loglik[:, em.E].tolist()
    one = one_mode(u)
    gains = 2.0 * (two - normal), 2.0 * (two - one.symmetric), 2.0 * (two - one.skewed)
    bars = 6.5, 70.0 / x.size, min(MARGIN, max(-5.0, 0.1 * x.size - 10.0))
    if not all(gain > bar for gain, bar in zip(gains, bars, strict=True)):
        return None
    w, mu, v = found.mixtures[1, em.E]
    modes = MixtureModel(w, centre + scale * mu, scale * np.sqrt(v)).modes()
    few = np.bincount(np.searchsorted(modes.valleys, x)).min() < FEW_RUNS
    return None if modes.count < 2 or few else modes
