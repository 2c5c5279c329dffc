"""Values as people write them, in Python, in settings or on the command line; a ValueError says what is wrong."""

from __future__ import annotations

from typing import Literal, SupportsFloat

_LEAST_RISK, _MOST_RISK = 1e-9, 0.5
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}


def proportion(given: object, least: float = 0.01, within: tuple[float, float] = (0.0, 1.0)) -> float:
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
    if not (0 < value < 1 and within[0] <= value <= within[1]):
        percent = (
            least <= value / 100 < within[1]
            and number == text
            and not (isinstance(given, float) and value == 1)
        )
        hint = f"; do you mean {Decimal(number).normalize():f}%?" if percent else ""
        raise ValueError(f"{given!r} does not lie between {within[0]:g} and {within[1]:g}{hint}")
    return value


def tolerance(given: object) -> float:
    """What may be lost; to allow nothing at all is another question."""
    if not str(given).strip("0.% "):
        raise ValueError(
            f"{given!r} is no margin; the policy proven-improvement asks for any gain that is proven"
        )
    return proportion(given)


def quantile(given: object) -> float:
    """The share of a quantile whose limits are told: from the median to where one run in 10,000 lies."""
    return proportion(given, 0.5, within=(0.5, 0.9999))


def share(given: object) -> float:
    """A proportion, or all of it: 1 or 100%."""
    return 1.0 if str(given).strip() in ("1", "1.0", "100%") and given is not True else proportion(given)


def risk(given: object) -> float:
    """A risk that the tests support; beyond one half a bound would fail more often than it holds."""
    return proportion(given, within=(_LEAST_RISK, _MOST_RISK))


def level(given: object) -> float:
    """A confidence, one minus such a risk."""
    value = any_level(given)
    if value < 1 - _MOST_RISK:
        raise ValueError(f"{given!r} is a risk and no confidence, which is {_MOST_RISK:g} or more")
    return value


def any_level(given: object) -> float:
    """A confidence that may lie below one half, as in the papers' examples."""
    value = proportion(given, 1 - _MOST_RISK)
    if min(value, 1 - value) < 0.999999 * _LEAST_RISK:
        raise ValueError(f"{given!r} implies a risk below {_LEAST_RISK:g}, the smallest that is supported")
    return value


def rest(share: float) -> float:
    """One minus a share, in decimals: 1 - 0.95 is not 0.05 in binary."""
    from decimal import Decimal

    return float(1 - Decimal(repr(share)))


def positive(text: str) -> float:
    """A factor: positive and finite."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if not 0 < value < float("inf"):
        raise ValueError(f"{text!r} is not a positive number")
    return value


def seconds(given: object) -> float:
    """A time that something may take: seconds, or with a unit as in 2m, finite and above 0."""
    text = str(given)
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip().removeprefix(number)
    try:
        value = float(number) * _SECONDS[unit or "s"]
    except (ValueError, KeyError):
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"{text!r} is not a time; give seconds, or a unit as in 90s, 2m or 1h")
    if value == 0:
        raise ValueError(f"{given!r} leaves no time; give more than 0 seconds")
    return value


def place(text: str) -> str:
    """A path of an output file or folder."""
    if text == "-":
        raise ValueError("- is standard output; name a file or folder")
    return text


def part(text: str) -> str:
    """Which of how many: 2/3."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and int(number)):
        raise ValueError(f"{text!r} is not the number of this look and the total, for example 2/3")
    if int(number) > int(of):
        raise ValueError(f"{text}: {number} exceeds {of}, the number of looks")
    return text


def filled(text: str) -> str:
    """A name that is not empty."""
    if not text.strip():
        raise ValueError(f"{text!r} is no name")
    return text


def pair(text: str) -> tuple[str, str]:
    """A name and a value, with = between them."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} lacks a = between name and value")
    return name, value


def whole(given: object) -> int:
    """A whole number that is not negative."""
    text = str(given)
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def count(given: object) -> int:
    """A positive whole number."""
    text = str(given)
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text} is not a positive number")
    return int(text)


def runs_or_auto(text: str) -> int | Literal["auto"]:
    """A number of runs, or "auto"."""
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise ValueError(f"{text!r} is neither a number nor 'auto'")
    return int(text)
