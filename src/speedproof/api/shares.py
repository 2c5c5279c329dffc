"""Shares of one as people write them, in Python or on the command line; importing this takes no time."""

from __future__ import annotations

from typing import SupportsFloat

_LEAST_RISK, _MOST_RISK = 1e-9, 0.5


def proportion(given: object, least: float = 0.01, most: float = 1.0) -> float:
    """A number between 0 and 1, or a percentage; neither end is allowed, and ValueError says what is wrong."""
    from decimal import Decimal, InvalidOperation

    text = ""
    if isinstance(given, str):
        text = given.strip()
    elif isinstance(given, SupportsFloat) and not isinstance(given, bool):
        text = repr(float(given))
    number = text.removesuffix("%").rstrip()
    try:
        value = float(Decimal(number).scaleb(-2 if text.endswith("%") else 0))
    except InvalidOperation:
        raise ValueError(f"{given!r} is not a number") from None
    if not 0 < value < 1:
        percent = (
            least <= value / 100 < most and number == text and not (isinstance(given, float) and value == 1)
        )
        hint = f"; do you mean {Decimal(number).normalize():f}%?" if percent else ""
        raise ValueError(f"{given!r} does not lie between 0 and 1{hint}")
    return value


def share(given: object) -> float:
    """A proportion, or all of it: 1 or 100%."""
    return 1.0 if str(given).strip() in ("1", "1.0", "100%") and given is not True else proportion(given)


def risk(given: object) -> float:
    """A risk that the tests support; beyond one half a bound would fail more often than it holds."""
    value = proportion(given, most=_MOST_RISK)
    if value > _MOST_RISK:
        raise ValueError(f"{given!r} is no risk but a confidence; do you mean {_rest(value):g}?")
    if value < _LEAST_RISK:
        raise ValueError(f"{given!r} is a risk below {_LEAST_RISK:g}, the smallest that the tests support")
    return value


def level(given: object) -> float:
    """A confidence, one minus such a risk."""
    value = any_level(given)
    if value < 1 - _MOST_RISK:
        raise ValueError(f"{given!r} is a risk; do you mean a confidence of {_rest(value):g}?")
    return value


def any_level(given: object) -> float:
    """A confidence that may lie below one half, as in the papers' examples."""
    value = proportion(given, 1 - _MOST_RISK)
    if min(value, 1 - value) < 0.999999 * _LEAST_RISK:
        what = "lies" if value < 0.5 else "leaves a risk"
        raise ValueError(f"{given!r} {what} below {_LEAST_RISK:g}, the smallest that the tests support")
    return value


def _rest(share: float) -> float:
    from speedproof.stats.estimate import alpha_at

    return alpha_at(share)
