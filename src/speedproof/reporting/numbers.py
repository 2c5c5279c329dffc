"""How numbers are written: with enough digits to tell, bounds rounded away from the claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import cache

from speedproof.data.names import plural as plural
from speedproof.data.units import format_value, scale_of

ONE = 1 + 1e-9
"""Ratios up to it have no digit that tells them from 1: finer ones are rounding."""
_NEGLIGIBLE = 1e-4
_SLACK = 1e-9
"""Keeps a bound that is a short decimal from being moved by its binary representation."""


def factor(ratio: float, towards: int = 0, most: int = 9) -> str:
    """A ratio as a factor, with the digits that tell it from 1."""
    if not math.isfinite(ratio):
        return "∞" if ratio > 0 else "-"
    if ratio == 0:
        return "0x"
    if 1 / ONE <= ratio <= ONE:
        return "1.00x"
    exact = Decimal(repr(ratio))  # the shortest decimal that is this number: a bound of 1.1 stays 1.1
    apart = abs(exact - 1)
    if not 0.1 <= abs(ratio) < 10:
        digits = 2 - exact.adjusted() if abs(ratio) >= 1e6 else max(2 - exact.adjusted(), 0)
    else:
        digits = min(max(2, -apart.adjusted()), most)
    rounding = {-1: ROUND_FLOOR, 0: ROUND_HALF_EVEN, 1: ROUND_CEILING}[towards]
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding)
    while digits > 2 and not rounded.as_tuple().digits[-1]:  # rounded up to fewer digits
        digits -= 1
        rounded = rounded.quantize(Decimal(1).scaleb(-digits))
    return f"{rounded:f}x" if 1e-4 < abs(ratio) < 1e6 else f"{rounded:.3g}x"


def value_of(value: float, unit: str) -> str:
    """A value of any metric in three digits; of counts that are large, or whole, whole ones."""
    if unit:
        return format_value(value, unit, 3)
    return f"{value:,.0f}" if abs(value) >= 100.0 or value == round(value) else f"{value:.3g}"


def percent(share: float, digits: int = 3) -> str:
    """A share in percent."""
    return f"{float(f'{100 * share:.{digits}g}'):g} %" if math.isfinite(share) else "-"


@cache
def share(value: float) -> str:
    """A share that was asked for, in percent with all its digits: ``"2 %"``, ``"0.5 %"``."""
    return f"{float(f'{100 * value:.10g}'):g} %"


def case_share(share: float, towards: int = 0) -> str:
    """A chance in whole percent, down (-1), up (1) or to the nearest, which is 0 or 100 % of no other chance."""
    if not 0 <= share <= 1:
        return "-"
    digits = 0 if 0.01 <= share <= 0.99 else 1
    scaled = 100 * share * 10**digits
    nearest = min(max(round(scaled), share > 0), 1000 - (share < 1))
    whole = {-1: math.floor(scaled + _SLACK), 0: nearest, 1: math.ceil(scaled - _SLACK)}[towards]
    return f"{whole / 10**digits:.{digits if whole % 10**digits else 0}f} %"


def level(confidence: float) -> str:
    """A confidence level in percent, rounded down: never more than it is, never 100 %."""
    confidence = min(confidence, 1 - 1e-9)  # 1 minus a p-value below 1e-16 is 1 in binary
    for digits in range(1, 5):
        floored = math.floor(confidence * 10 ** (digits + 2) + 1e-9) / 10 ** (digits + 2)
        if digits == 4 or (floored < 1 and confidence - floored < (1 - confidence) / 2):
            break
    return f"{100 * floored:.{digits}f}".rstrip("0").rstrip(".") + " %"


def pvalue(p: float) -> str:
    """A p-value; never "0"."""
    if math.isnan(p):
        return "-"
    if p < 1e-300:
        return "<1e-300"
    return f"{p:.3g}"


def p_is(p: float, least: float = 1e-300) -> str:
    """A p-value with its sign: ``"p = 0.03"``; what is less than can be told is below that."""
    return f"p < {least:g}" if p < least else f"p = {pvalue(p)}"


def rough(count: int, digits: int = 2) -> str:
    """A forecast, rounded up to the digits that it is good for: ``"1,300"``."""
    step = int(10 ** max(0, len(str(count)) - digits))
    return f"{-(-count // step) * step:,}"


def values(
    measured: Sequence[float], unit: str, digits: int = 4, scale: tuple[float, str] | None = None
) -> list[str]:
    """Measured values in one scale, with as many digits each; more where two that differ would look the same.

    Those that would be a string of zeros in it have scales of their own.
    """
    finite = [abs(v) for v in measured if math.isfinite(v)]
    if scale is None and 0 < min(finite, default=0.0) < max(finite) * _NEGLIGIBLE:
        return [text for v in measured for text in values([v], unit, digits)]
    divisor, symbol = scale or scale_of(max(finite, default=1.0), unit, digits)
    for more in range(3):
        texts = [_digits(v / divisor, digits + more) for v in measured]
        if len(set(texts)) == len(set(measured)):
            break
    else:
        texts = [_digits(v / divisor, digits) for v in measured]
    return [f"{text} {symbol}".rstrip() if text != "-" else text for text in texts]


def _digits(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    places = digits - 1 - int(f"{value:.{digits - 1}e}".partition("e")[2])  # of what is shown, so rounded
    if abs(value) >= 1e9 or places > 9:
        return f"{value:.{digits}g}"
    return f"{value:.{max(places, 0)}f}"


_SPARK = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Values as a line of bars, averaged to a width."""
    if not values:
        return ""
    groups = min(width, len(values))
    parts = [values[i * len(values) // groups : (i + 1) * len(values) // groups] for i in range(groups)]
    means = [math.fsum(part) / len(part) for part in parts]
    low, span = min(means), max(means) - min(means)
    return "".join(_SPARK[round((mean - low) / span * (len(_SPARK) - 1)) if span else 0] for mean in means)
