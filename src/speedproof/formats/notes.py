"""Remarks that several readers make on what they have read."""

from __future__ import annotations

SORTED = "the values are sorted, so their run order is not known"


def plural(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
