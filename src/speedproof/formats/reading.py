"""What readers share: values by group and process, what is left out of them, moments."""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import IO, Any

import numpy as np
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.record import Record, Skipped
from speedproof.formats.source import room_on_disk

SORTED = "the values are sorted, so their run order is not known"
IN_MEMORY = 1 << 21  # gathered values in memory

Column = np.ndarray[tuple[int], np.dtype[Any]]


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


def finite(record: Record, name: str, noun: str, *, expected: bool = False) -> Iterator[Record | Skipped]:
    """The values that are numbers, if there are any; what is to be said of the others goes before.

    That there are none may be ``expected``.
    """
    good = np.isfinite(record.values)
    if lost := int(good.size - np.count_nonzero(good)):
        reason = f"{name} is not a number in {lost} of {plural(good.size, noun)}"
        yield record.left_out(reason, expected=expected and lost == good.size)
    if lost < good.size:
        processes = None if record.processes is None else record.processes[good]
        yield replace(record, values=record.values[good], processes=processes) if lost else record


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
    given = list(moments)
    present = [moment for moment in given if moment is not None]
    return (min(present), max(present)) if present and len(present) == len(given) else None


class Gathered:
    """Columns of numbers of some kinds, as the module array calls them, and the group of each row.

    Readers append to ``groups`` and ``columns`` row by row, or many rows at once, and call :meth:`make_room` from
    time to time. After :meth:`sort` rows are asked for by group, in the order in which they came. Groups are
    numbered by whoever has numbers, or else by :meth:`number`.

    What memory cannot hold goes to disk in chunks, each of them sorted by group.
    """

    def __init__(self, *kinds: str) -> None:
        self.keys: dict[Any, int] = {}
        self.places = array("q")  # where each key was seen first
        self.groups = array("i")
        self.columns: tuple[array[Any], ...] = tuple(array(kind) for kind in kinds)
        self._files: list[IO[bytes]] = []
        self._parts: list[IntArray] = []  # of each chunk: its groups, where each begins, how many rows it has
        self._rows = 0  # of all chunks
        self._sorted: list[Column] = []

    def number(self, key: Hashable, place: int) -> int:
        """The number of the group with that key, which may be new at this place."""
        number = self.keys.setdefault(key, len(self.places))
        if number == len(self.places):
            self.places.append(place)
        return number

    def extend(self, groups: int | IntArray, *columns: Column) -> None:
        """Take rows, of one group or each of its own."""
        self.groups.frombytes(np.broadcast_to(groups, columns[0].shape).astype(np.int32).tobytes())
        for column, new in zip(self.columns, columns, strict=True):
            column.frombytes(new.astype(column.typecode).tobytes())

    def make_room(self) -> None:
        """Keep memory bounded."""
        if len(self.groups) >= IN_MEMORY:
            self._write()

    def sort(self) -> None:
        """Put all groups in order; nothing is appended afterwards."""
        if self._files:
            self._write()
            files = zip(self._files, self.columns, strict=True)
            self._sorted = [np.asarray(np.memmap(file, column.typecode, "r")) for file, column in files]
        else:
            self._sorted = self._chunk()
        parts = np.concatenate(self._parts, axis=1)
        groups, starts, sizes = parts[:, np.argsort(parts[0], kind="stable")]
        self._cuts = [slice(at, at + size) for at, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
        self._first = np.searchsorted(groups, np.arange(groups.max(initial=-1) + 2)).tolist()

    def of(self, group: int) -> Sequence[Column]:
        """The columns of a group."""
        cuts = self._cuts[self._first[group] : self._first[group + 1]]
        if len(cuts) == 1:
            return [column[cuts[0]] for column in self._sorted]
        return [np.concatenate([column[cut] for cut in cuts]) for column in self._sorted]

    def _chunk(self) -> list[Column]:
        """The rows since the last chunk, sorted by group."""
        groups = np.frombuffer(self.groups, np.int32)
        order = np.argsort(groups, kind="stable")
        numbers, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
        self._parts.append(np.array([numbers, self._rows + starts, sizes], np.int64))
        self._rows += groups.size
        return [np.frombuffer(column, column.typecode)[order] for column in self.columns]

    def _write(self) -> None:
        with room_on_disk() as new_file, ExitStack() as stack:
            if not self._files:
                self._files = [stack.enter_context(new_file()) for _ in self.columns]
                weakref.finalize(self, stack.pop_all().close)
            for file, column in zip(self._files, self._chunk(), strict=True):
                file.write(column.tobytes())
                file.flush()
        for rows in (self.groups, *self.columns):
            del rows[:]
