"""Remarks that several readers make on what they have read."""

from __future__ import annotations

__all__ = ["SORTED", "plural"]

SORTED = "the values are sorted, so their run order is not known"


def plural(number: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> plural(1, "run"), plural(3, "run")
    ('1 run', '3 runs')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
