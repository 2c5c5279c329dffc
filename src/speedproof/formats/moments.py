"""Moments as tools write them: when something was measured."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime


def epoch(text: object) -> float | None:
    """Seconds since 1970 of an ISO 8601 date and time; None for anything else.

    A time without a zone counts as UTC: it is compared with those of the same tool only.
    """
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def span_of(moments: Iterable[float | None]) -> tuple[float, float] | None:
    """The first and the last of some moments; None when one of them is not known, or there is none."""
    known = list(moments)
    found = [moment for moment in known if moment is not None]
    return (min(found), max(found)) if found and len(found) == len(known) else None
