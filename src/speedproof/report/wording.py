"""Numbers and verdicts as people read them; every report uses the same words."""

from __future__ import annotations

import math
from collections.abc import Callable

from speedproof.protocols.results import Verdict
from speedproof.report.blocks import Style
from speedproof.stats.estimate import Estimate

__all__ = [
    "MARKS",
    "STYLES",
    "bounds",
    "chance",
    "level",
    "lower",
    "percent",
    "plural",
    "pvalue",
    "ratio",
    "upper",
]

STYLES: dict[Verdict, Style] = {
    Verdict.FASTER: "good",
    Verdict.SLOWER: "bad",
    Verdict.EQUIVALENT: "",
    Verdict.UNDECIDED: "doubt",
}
MARKS = {Verdict.FASTER: "+", Verdict.SLOWER: "-", Verdict.EQUIVALENT: "=", Verdict.UNDECIDED: "?"}


def ratio(value: float) -> str:
    """A speedup or one of its bounds: three decimals around one, significant digits far from it.

    Examples
    --------
    >>> ratio(1.0312), ratio(0.04321), ratio(123.4), ratio(float("inf")), ratio(float("nan"))
    ('1.031', '0.0432', '123', 'inf', '-')
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf"
    if 0.1 <= abs(value) < 10 or value == 0:
        return f"{value:.3f}"
    if 10 <= abs(value) < 1e6:
        return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return f"{value:.3g}"


def bounds(estimate: Estimate) -> str:
    """A value with its certified bounds, rounded away from the claim so that printing never adds to it.

    A bound on the far side of 1 is given as many digits as it takes to see that.

    Examples
    --------
    >>> bounds(Estimate(1.12345, 1.1006, 1.1504, 0.95)), bounds(Estimate(1.0021, 1.00012, 1.004, 0.95))
    ('1.123 [1.100, 1.151]', '1.002 [1.0001, 1.004]')
    """
    if math.isnan(estimate.low):
        return ratio(estimate.value)
    # At a confidence below one half a lower bound exceeds the upper one.
    low, high = sorted((estimate.low, estimate.high))
    return f"{ratio(estimate.value)} [{lower(low)}, {upper(high)}]"


def lower(bound: float) -> str:
    """A lower bound of a speedup, rounded down.

    Examples
    --------
    >>> lower(1.13097), lower(float("inf"))
    ('1.130', 'inf')
    """
    return _bound(bound, math.floor)


def upper(bound: float) -> str:
    """An upper bound of a speedup, rounded up.

    Examples
    --------
    >>> upper(0.98702), upper(float("inf"))
    ('0.988', 'inf')
    """
    return _bound(bound, math.ceil)


def _bound(value: float, towards: Callable[[float], int], at: float = 1.0, least: int = 3) -> str:
    """A bound rounded down or up, with more digits where it would seem to reach ``at``."""
    if not math.isfinite(value) or not 1e-99 < abs(value) < 1e99:
        return ratio(value)
    digits = least
    if at == 1.0 and value and not 0.1 <= abs(value) < 10:  # a speedup far from one: significant digits
        digits = least - 1 - math.floor(math.log10(abs(value)))
    # The slack keeps a bound that is a short decimal from being moved by its binary representation.
    slack = -1e-9 if towards is math.ceil else 1e-9
    while True:
        rounded = towards(value * 10.0**digits + slack) / 10.0**digits
        if (rounded > at) == (value > at) and (rounded < at) == (value < at):
            return f"{rounded:.{max(digits, 0)}f}"
        if digits >= 6:
            return f">{at:g}" if value > at else f"<{at:g}"
        digits += 1


def chance(estimate: Estimate) -> str:
    """A probability with its bounds, in two decimals rounded away from the claim.

    Examples
    --------
    >>> chance(Estimate(0.7431, 0.6382, 0.8479, 0.95)), chance(Estimate(1.0, 0.5004, 1.0, 0.95))
    ('0.74 [0.63, 0.85]', '1.00 [0.5004, 1.00]')
    """
    low, high = (
        _bound(value, towards, at=0.5, least=2)
        for value, towards in ((estimate.low, math.floor), (estimate.high, math.ceil))
    )
    return f"{estimate.value:.2f} [{low}, {high}]"


def level(confidence: float) -> str:
    """A confidence level in percent, rounded down: never more than it is, never 100 %.

    Examples
    --------
    >>> level(0.95), level(0.9999), level(1.0), level(0.98996)
    ('95 %', '99.99 %', '99.9999 %', '98.9 %')
    """
    confidence = min(confidence, 1 - 1e-9)  # 1 minus a p-value below 1e-16 is 1 in binary
    for digits in range(1, 5):
        floored = math.floor(confidence * 10 ** (digits + 2) + 1e-9) / 10 ** (digits + 2)
        if digits == 4 or (floored < 1 and confidence - floored < (1 - confidence) / 2):
            break
    return f"{100 * floored:.{digits}f}".rstrip("0").rstrip(".") + " %"


def percent(share: float, digits: int = 3) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.05), percent(0.978)
    ('5 %', '97.8 %')
    """
    return f"{100 * share:.{digits}g} %" if math.isfinite(share) else "-"


def pvalue(p: float) -> str:
    """A p-value; never "0".

    Examples
    --------
    >>> pvalue(0.0123456), pvalue(3e-9), pvalue(1e-320)
    ('0.0123', '3e-09', '<1e-300')
    """
    if math.isnan(p):
        return "-"
    if p < 1e-300:
        return "<1e-300"
    return f"{p:.3g}"


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    Examples
    --------
    >>> plural(1, "benchmark"), plural(2, "benchmark")
    ('1 benchmark', '2 benchmarks')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
