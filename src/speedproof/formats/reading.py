"""What readers share: remarks, moments, and the values of several processes one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

import numpy as np
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.record import Record, Skipped

SORTED = "the values are sorted, so their run order is not known"


def records_of(items: Iterable[Record | Skipped]) -> list[Record]:
    """What was measured, without what was left out."""
    return [item for item in items if isinstance(item, Record)]


def changed(items: Iterable[Record | Skipped], change: Callable[[Record], Record]) -> list[Record | Skipped]:
    """The same with other records."""
    return [change(item) if isinstance(item, Record) else item for item in items]


def plural(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def nested(parts: Sequence[FloatArray]) -> tuple[FloatArray, IntArray]:
    """The values of several processes, with the number of each one's process."""
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [part.size for part in parts])


def finite(record: Record, name: str, noun: str) -> Iterator[Record | Skipped]:
    """The values that are numbers, if there are any; what is to be said of the others goes before."""
    good = np.isfinite(record.values)
    if lost := int(good.size - good.sum()):
        yield record.left_out(f"{name} is not a number in {lost} of {plural(good.size, noun)}")
    if good.any():
        processes = None if record.processes is None else record.processes[good]
        yield replace(record, values=record.values[good], processes=processes)


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
