"""Values of many groups as they come, and group by group afterwards; on disk where they are many."""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from speedproof.arrays import IntArray

if TYPE_CHECKING:
    from speedproof.formats.scratch import Scratch

_MOST = 1 << 21  # values in memory
_PIECE = 1 << 22  # values of a group that come at once, where they are more
_STRETCH = 1 << 25  # bytes of a mapped file that memory holds

Column = np.ndarray[tuple[int], np.dtype[Any]]


class Gathered:
    """Columns of numbers of some kinds, as the module array calls them, and the group of each row.

    Readers append to ``groups`` and ``columns`` row by row, or many rows at once, and call :meth:`made_room` from
    time to time. After :meth:`sorted` rows are asked for by group, in the order in which they came. Groups are
    numbered by whoever has numbers, or else by :meth:`number`.
    """

    def __init__(self, *kinds: str) -> None:
        self.keys: dict[Any, int] = {}
        self.places = array("q")  # where each key was seen first
        self.groups = array("i")
        self.columns: tuple[array[Any], ...] = tuple(array(kind) for kind in kinds)
        self._files: tuple[Scratch, ...] = ()
        self._starts: IntArray = np.zeros(1, np.int64)
        self._found: tuple[Column, ...] = ()

    def number(self, key: Hashable, place: int) -> int:
        """The number of the group with that key, which may be new at this place."""
        number = self.keys.setdefault(key, len(self.places))
        if number == len(self.places):
            self.places.append(place)
        return number

    def extend(self, groups: int | IntArray, *columns: Column) -> None:
        """Take rows, of one group or each of its own."""
        self.groups.frombytes(np.broadcast_to(groups, columns[0].shape).astype(np.int32).tobytes())
        for own, new in zip(self.columns, columns, strict=True):
            own.frombytes(new.astype(own.typecode).tobytes())

    def made_room(self) -> None:
        """Keep memory bounded."""
        if len(self.groups) >= _MOST:
            self._write()

    def sorted(self, count: int | None = None) -> None:
        """Put so many groups in order, or all that have keys; nothing is appended afterwards."""
        count = len(self.keys) if count is None else count
        if self._files:
            self._write()
            self._sort_on_disk(count)
            return
        if not self.groups:
            self._starts = np.zeros(count + 1, np.int64)
            return
        groups = np.frombuffer(self.groups, np.int32)
        self._found = tuple(np.frombuffer(column, column.typecode) for column in self.columns)
        self._starts = _starts(np.bincount(groups, minlength=count))
        if (groups[1:] < groups[:-1]).any():
            order = np.argsort(groups, kind="stable")
            self._found = tuple(column[order] for column in self._found)

    def size(self, group: int) -> int:
        """How many rows a group has."""
        return int(self._starts[group + 1] - self._starts[group])

    def of(self, group: int, start: int = 0, stop: int | None = None) -> tuple[Column, ...]:
        """The columns of a group, or a part of them."""
        first = int(self._starts[group])
        end = int(self._starts[group + 1]) if stop is None else first + min(stop, self.size(group))
        first += start
        if self._found:
            return tuple(column[first:end] for column in self._found)
        files = zip(self._files[1:], self.columns, strict=True)
        return tuple(
            np.frombuffer(file.read(own.itemsize * first, own.itemsize * (end - first)), own.typecode)
            for file, own in files
        )

    def pieces(self, group: int, keep: int | None = None) -> Iterator[tuple[int, int]]:
        """Begin and end of parts of a group that memory can hold; equal numbers of a column stay together."""
        start, size = 0, self.size(group)
        if size > _PIECE and keep is not None and not self._rises(group, keep):
            yield 0, size
            return
        while size - start > _PIECE:
            stop = start + _PIECE
            while keep is not None and stop < size:
                told = self.of(group, start, stop + 1)[keep]
                if (changes := np.flatnonzero(told[1:] != told[:-1])).size:
                    stop = start + int(changes[-1]) + 1
                    break
                stop = min(stop + _PIECE, size)
            yield start, stop
            start = stop
        if start < size:
            yield start, size

    def _rises(self, group: int, column: int) -> bool:
        """Whether no number of a column comes again after others."""
        return all(
            bool((told[1:] >= told[:-1]).all())
            for start in range(0, self.size(group), _PIECE)
            for told in [self.of(group, start, start + _PIECE + 1)[column]]
        )

    def _write(self) -> None:
        from speedproof.formats.scratch import Scratch

        own = (self.groups, *self.columns)
        self._files = self._files or tuple(Scratch() for _ in own)
        for file, column in zip(self._files, own, strict=True):
            file.write(memoryview(column))
            del column[:]

    def _sort_on_disk(self, count: int) -> None:
        """Every chunk of rows goes to the places of its groups, which their sizes tell."""
        groups, rows = self._files[0], self._files[0].size // 4
        sizes = np.zeros(count, np.int64)
        for start in range(0, rows, _MOST):
            sizes += np.bincount(self._numbers(groups, start), minlength=count)
        self._starts = _starts(sizes)
        places = self._starts[:-1].copy()
        from speedproof.formats.scratch import Scratch

        outs = [(own, out := Scratch(), out.mapped(rows * own.itemsize)) for own in self.columns]
        for start in range(0, rows, _MOST):
            numbers = self._numbers(groups, start)
            order = np.argsort(numbers, kind="stable")
            numbers = numbers[order]
            sizes = np.bincount(numbers, minlength=count)
            at = np.arange(numbers.size) + np.repeat(places - _starts(sizes)[:-1], sizes)
            places += sizes
            for file, (own, _, mapped) in zip(self._files[1:], outs, strict=True):
                new = np.frombuffer(
                    file.read(start * own.itemsize, numbers.size * own.itemsize), own.typecode
                )[order]
                step = _STRETCH // own.itemsize
                to = np.frombuffer(mapped, own.typecode)
                for cut in range(int(at[0]) // step * step, int(at[-1]) + 1, step):
                    a, b = np.searchsorted(at, (cut, cut + step)).tolist()
                    if a < b:
                        to[at[a:b]] = new[a:b]
                        mapped.madvise(mmap.MADV_DONTNEED)
                del to
        for _, _, mapped in outs:
            mapped.close()
        self._files = (groups, *(out for _, out, _ in outs))

    def _numbers(self, file: Scratch, start: int) -> IntArray:
        return np.frombuffer(file.read(4 * start, 4 * _MOST), np.int32).astype(np.int64)


def _starts(sizes: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
