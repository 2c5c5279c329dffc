"""What a user hands in, in Python or on the command line, checked once: shares, choices, suites, functions."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, SupportsFloat

from speedproof.errors import UsageError
from speedproof.stats.estimate import alpha_at


def proportion(given: object) -> float:
    """A number between 0 and 1, or a percentage; neither end is allowed, and ValueError says what is wrong."""
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
        hint = (
            f"; do you mean {Decimal(number).normalize():f}%?" if 1 <= value < 100 and number == text else ""
        )
        raise ValueError(f"{given!r} does not lie between 0 and 1{hint}")
    return value


def proportion_given(name: str, given: object, example: str = '0.02 or "2%"') -> float:
    """What an argument of this name says as a share; UsageError says what is wrong."""
    try:
        return proportion(given)
    except (ValueError, TypeError) as error:
        remedy = "" if str(error).endswith("?") else f"; give {example}"
        raise UsageError(f"{name}={error}{remedy}") from None


def margin_given(margin: object) -> float | None:
    """The margin that somebody gave: 0.02, "2%" or None."""
    return None if margin is None else proportion_given("margin", margin)


def alpha_of(confidence: object) -> float:
    """The risk that a confidence leaves."""
    return alpha_at(proportion_given("confidence", confidence, '0.95 or "95%"'))


def suite_given(given: Any) -> None:
    """Refuse what is no suite, with the call that makes one of it."""
    from speedproof.data.suite import Suite

    if not isinstance(given, Suite):
        made = f"sp.read({given!r})" if isinstance(given, str) else "sp.read(...), sp.Suite.from_frame(...)"
        raise UsageError(
            f"expected a suite, not a {type(given).__name__}: make one with {made}"
            + ("" if isinstance(given, str) else " or sp.Suite.of_samples(...)")
        )


def callable_given(given: Any) -> None:
    """Refuse what cannot be called."""
    if not callable(given):
        raise UsageError(
            f"a race is between functions, not {given!r}: sp.race(old, new); commands are sp.measure's"
        )
