"""A whole suite by the 2009 protocol: weighted overall gain and proportion of accelerated programs.

S.-A.-A. Touati: "Towards a statistical methodology to evaluate program speedups and their optimisation
techniques", 2009, sections 3 and 4.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from speedproof.protocols.suites import Accelerated, accelerated
from speedproof.stats.scaling import exponent, usual

_VALID_FROM = 10


class Gain2009(Struct, frozen=True):
    """The weighted overall gain of section 3."""

    # One a program, adding up to 1: in proportion to the initial times unless given
    weights: tuple[float, ...]
    weighted_gains: tuple[float, ...]  # weight times saved time, in base units
    gain: float  # their sum over the sum of weight times initial time
    confidence: float  # the smallest confidence of any program's own speedup


def gain_2009(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    confidences: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> Gain2009:
    """Weigh the gains of programs, all of them or the accelerated ones (the caller chooses which to pass)."""
    t, u = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    w = t if weights is None else np.asarray(weights, dtype=np.float64)
    levels = np.asarray(confidences, dtype=np.float64)
    if not t.shape == u.shape == w.shape == levels.shape:
        raise ValueError("times, weights and confidences must be as many as there are programs")
    if t.size == 0:
        return Gain2009((), (), math.nan, math.nan)
    if not ((t > 0).all() and (u > 0).all()):
        raise ValueError("times must be positive")
    if not ((w >= 0).all() and np.isfinite(w).all() and w.any()):
        raise ValueError("weights must be finite, not negative and not all zero")
    w = usual(w)
    w = w / w.sum()
    gains = w * (t - u)
    shift = exponent(t, u)  # sums of times of usual size
    t, u = np.ldexp(t, shift), np.ldexp(u, shift)
    total = float(w @ t)
    gain = float((w * (t - u)).sum()) / total if total > 0 else -math.inf
    return Gain2009(tuple(w.tolist()), tuple(gains.tolist()), gain, float(levels.min()))


def accelerated_2009(count: int, benchmarks: int, confidence: float, precision: float) -> Accelerated:
    """The proportion of accelerated programs, section 4: valid from n C >= 10."""
    found = accelerated(count, benchmarks, confidence, precision)
    return replace(found, validity=float(count), valid=count >= _VALID_FROM)
