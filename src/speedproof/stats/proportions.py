"""Proportions: intervals, the condition for them, and how many benchmarks a precision needs."""

from __future__ import annotations

import math

from speedproof.errors import UsageError
from speedproof.stats.estimate import Estimate
from speedproof.stats.special import beta_ppf, normal_quantile


def _check(a: int, b: int, confidence: float) -> None:
    if b < 1 or not 0 <= a <= b:
        raise UsageError(f"a proportion of {a} out of {b}: needs 0 <= a <= b and b >= 1")
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"a confidence of {confidence:g}: give one between 0 and 1, such as 0.95")


def _score_bound(shifted: float, b: int, z: float) -> float:
    """End of the score interval (Wilson) on the side of z's sign, for a proportion already shifted."""
    square = z * z / b
    root = z * math.sqrt(shifted * (1.0 - shifted) / b + square / (4.0 * b))
    return (shifted + 0.5 * square + root) / (1.0 + square)


def _score_interval(a: int, b: int, confidence: float, correction: float) -> Estimate:
    z = normal_quantile(0.5 + 0.5 * confidence)
    below, above = (a - correction) / b, (a + correction) / b
    low = _score_bound(below, b, -z) if below > 0.0 else 0.0
    high = _score_bound(above, b, z) if above < 1.0 else 1.0
    return Estimate(a / b, max(low, 0.0), min(high, 1.0), confidence)


def prop_test(a: int, b: int, confidence: float = 0.95) -> Estimate:
    """Score interval with continuity correction: what R's prop.test and the Speedup-Test article give.

    R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998,
    method 4.
    """
    _check(a, b, confidence)
    return _score_interval(a, b, confidence, min(0.5, abs(a - 0.5 * b)))


def wilson(a: int, b: int, confidence: float = 0.95) -> Estimate:
    """Wilson's score interval: `prop_test` without the continuity correction."""
    _check(a, b, confidence)
    return _score_interval(a, b, confidence, 0.0)


def clopper_pearson(a: int, b: int, confidence: float = 0.95) -> Estimate:
    """Interval of Clopper and Pearson, which never covers less than it says."""
    _check(a, b, confidence)
    alpha = 0.5 - 0.5 * confidence
    low = beta_ppf(alpha, a, b - a + 1) if a > 0 else 0.0
    high = 1.0 - beta_ppf(alpha, b - a, a + 1) if a < b else 1.0
    return Estimate(a / b, low, high, confidence)


def validity_2013(a: int, b: int) -> float:
    """Value of a - a^2 / b, which the Speedup-Test article wants above 5 for the normal approximation."""
    _check(a, b, 0.5)
    return a - a * a / b


def benchmarks_needed(a: int, b: int, precision: float, confidence: float = 0.95) -> int:
    """Benchmarks needed to know a proportion like a out of b within +- `precision`.

    The ceiling of z^2 C (1 - C) / precision^2; 0 when C is 0 or 1.
    """
    _check(a, b, confidence)
    if not 0.0 < precision < 1.0:
        raise UsageError(f"a precision of {precision:g}: give one between 0 and 1, such as 0.05")
    share = a / b
    needed = (normal_quantile(0.5 + 0.5 * confidence) / precision) ** 2 * share * (1.0 - share)
    return math.ceil(needed)
