"""A whole suite as the Speedup-Test and the 2009 protocol report it: overall gain and accelerated benchmarks.

Sections 4 and 5 of the 2013 article. Equation (1) there prints W(C) on both lines; meant is the weight of each
benchmark, as used here: S = sum(w f(X)) / sum(w f(Y)) and G = 1 - 1/S, for f = min, mean or median.

S.-A.-A. Touati: "Towards a statistical methodology to evaluate program speedups and their optimisation
techniques", 2009, sections 3 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.stats.estimate import Estimate
from speedproof.stats.proportions import benchmarks_needed, clopper_pearson, prop_test, validity_2013, wilson
from speedproof.stats.scaling import exponent, mean, median, usual

Location = Literal["min", "mean", "median"]
Weighting = Literal["custom", "equal", "fraction"]

LOCATIONS: tuple[Location, ...] = ("min", "mean", "median")
PRECISION = 0.05
"""Half width within which the proportion of accelerated benchmarks is wanted."""

RANDOM_SELECTION = (
    "The interval speaks of benchmarks at large only if those measured were selected at random among them."
)
_VALID_ABOVE = 5
_VALID_FROM_2009 = 10


class OverallGain(Struct, frozen=True):
    """The speedup of the weighted total of a suite."""

    speedup: float  # S = sum(w f(X)) / sum(w f(Y))
    gain: float  # G = 1 - 1/S: the share of the reference's total that the candidate saves


class Accelerated(Struct, frozen=True):
    """How many benchmarks are accelerated, and what that says of benchmarks at large."""

    # The counts a and b
    accelerated: int
    benchmarks: int
    # C = a / b with the interval of the two-sided proportion test with continuity correction
    proportion: Estimate
    # The same with Wilson's interval, which is close to its level on average, and with that of Clopper and
    # Pearson, which never covers less than it says
    wilson: Estimate
    clopper_pearson: Estimate
    validity: float  # a - a**2 / b, which the article asks to exceed 5
    valid: bool  # whether it does
    precision: float  # the half width r asked for
    benchmarks_needed: int  # benchmarks needed to know C to within r at the same confidence


def locate(values: FloatArray, location: Location) -> float:
    """The minimum, mean or median of a sample."""
    if location == "min":
        return float(values.min())
    return mean(values) if location == "mean" else median(values)


def overall_gain(
    reference: Sequence[float], candidate: Sequence[float], weights: Sequence[float]
) -> OverallGain:
    """Equation (1) of the 2013 article."""
    w = usual(weights)
    shift = exponent(reference, candidate)
    before, after = (
        float(w @ np.ldexp(np.asarray(t, dtype=np.float64), shift)) for t in (reference, candidate)
    )
    if not (before > 0 and after > 0):
        return OverallGain(math.nan, math.nan)
    return OverallGain(before / after, 1 - after / before)


def weigh(
    weighting: Weighting, reference: Sequence[float], custom: Sequence[float | None]
) -> tuple[tuple[float, ...], str]:
    """The weights of benchmarks."""
    equal = (1.0,) * len(reference)
    if weighting == "equal":
        return equal, ""
    if weighting == "fraction":
        return tuple(float(t) for t in reference), ""
    given = [w for w in custom if w is not None]
    if any(not (math.isfinite(w) and w >= 0) for w in given):
        problem = "a weight is negative or not a number"
    elif len(given) < len(custom):
        problem = "a weight is missing" if given else "no weights are given"
    elif not any(given):
        problem = "all weights are zero"
    else:
        return tuple(given), ""
    return equal, f"{problem}; all benchmarks weigh the same"


def accelerated(count: int, benchmarks: int, alpha: float, precision: float) -> Accelerated:
    """Section 4 of the 2013 article."""
    validity = validity_2013(count, benchmarks)
    return Accelerated(
        accelerated=count,
        benchmarks=benchmarks,
        proportion=prop_test(count, benchmarks, alpha),
        wilson=wilson(count, benchmarks, alpha),
        clopper_pearson=clopper_pearson(count, benchmarks, alpha),
        validity=validity,
        valid=validity > _VALID_ABOVE,
        precision=precision,
        benchmarks_needed=benchmarks_needed(count, benchmarks, precision, alpha),
    )


def accelerated_2009(count: int, benchmarks: int, alpha: float, precision: float) -> Accelerated:
    """The proportion of accelerated programs in the 2009 protocol, its section 4: valid from n C >= 10."""
    proportion = accelerated(count, benchmarks, alpha, precision)
    return replace(proportion, validity=float(count), valid=count >= _VALID_FROM_2009)


class Gain2009(Struct, frozen=True):
    """The weighted overall gain of the 2009 protocol, its section 3."""

    weights: tuple[float, ...]  # one a program, adding up to 1: in proportion to the initial times
    weighted_gains: tuple[float, ...]  # weight times saved time, in base units
    gain: float  # their sum over the sum of weight times initial time
    confidence: float  # the smallest confidence of any program's own speedup


def gain_2009(before: Sequence[float], after: Sequence[float], confidences: Sequence[float]) -> Gain2009:
    """Weigh the gains of programs, all of them or the accelerated ones (the caller chooses which to pass)."""
    t, u = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if not t.size == u.size == len(confidences):
        raise ValueError("times and confidences must be as many as there are programs")
    if t.size == 0:
        return Gain2009((), (), math.nan, math.nan)
    if not ((t > 0).all() and (u > 0).all()):
        raise ValueError("times must be positive")
    w = usual(t)
    w = w / w.sum()
    gains = w * (t - u)
    shift = exponent(t, u)  # sums of times of usual size
    t, u = np.ldexp(t, shift), np.ldexp(u, shift)
    total = float(w @ t)  # 0 where the times after are so large that those before vanish beside them
    gain = float((w * (t - u)).sum()) / total if total > 0 else -math.inf
    return Gain2009(tuple(w.tolist()), tuple(gains.tolist()), gain, float(min(confidences)))
