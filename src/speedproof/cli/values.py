"""The kinds of values that options take: from what was typed to what is meant; a ValueError says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from speedproof.api.shares import level, proportion, risk, share

_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}


def positive(text: str) -> float:
    """A factor: positive and finite."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if not 0 < value < float("inf"):
        raise ValueError(f"{text!r} is not a positive number")
    return value


def seconds(text: str) -> float:
    """A time to wait: seconds, or with a unit as in 2m, finite and not negative."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip().removeprefix(number)
    try:
        value = float(number) * _SECONDS[unit or "s"]
    except (ValueError, KeyError):
        raise ValueError(f"{text!r} is not a time; give seconds, or a unit as in 90s, 2m or 1h") from None
    if not 0 <= value < float("inf"):
        raise ValueError(f"{text!r} is not a waiting time; give seconds, 0 or more")
    return value


def positive_seconds(text: str) -> float:
    """A time that something may take, in seconds: finite and above 0."""
    value = seconds(text)
    if value == 0:
        raise ValueError(f"{text!r} leaves no time; give more than 0 seconds")
    return value


def place(text: str) -> str:
    """A file or folder that is written beside standard output."""
    if text == "-":
        raise ValueError("- is standard output; name a file or folder")
    return text


def whole(text: str) -> int:
    """A whole number that is not negative."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def count(text: str) -> int:
    """A positive whole number."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text} is not a positive number")
    return int(text)


# By what stands for a value in the help of an option.
KINDS: dict[str, Callable[[str], Any] | click.ParamType[Any]] = {
    **dict.fromkeys(["SHARE", "P", "R"], proportion),
    "C": share,
    **dict.fromkeys(["K", "N", "SEED", "THREADS"], whole),
    **dict.fromkeys(["DIR", "FILE", "PATH"], click.Path(allow_dash=True)),
    "FACTOR": positive,
    "LEVEL": level,
    "RISK": risk,
    "S": seconds,
}
