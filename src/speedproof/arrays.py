"""The arrays that functions take and give, and what belongs together in them: groups of equal numbers, batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:  # which takes a twentieth of a short command
    from numpy.typing import ArrayLike as ArrayLike
else:
    ArrayLike = Any

_Scalar = TypeVar("_Scalar", bound=np.generic)
NDArray = np.ndarray[Any, np.dtype[_Scalar]]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
ArrayPair = tuple[FloatArray, FloatArray]
BoolArray = NDArray[np.bool_]
StateArray = NDArray[np.int8]


_LARGE = 1e290
_TOGETHER = 1 << 17  # values that are worked on at once: they fit a core's cache
_REMEMBERED = 1 << 17  # bytes of an array of numbers


def extension(name: str) -> ModuleType | None:
    """A compiled module of this package, or None if it was installed without a compiler."""
    try:
        return import_module(f"speedproof.{name}")
    except ImportError:
        return None


def numbered(values: Sequence[Any]) -> tuple[IntArray, list[Any]]:
    """Codes from 0 in order of first appearance, and the value of each code."""
    names: dict[Any, int] = {}
    codes = np.fromiter((names.setdefault(v, len(names)) for v in values), dtype=np.int64, count=len(values))
    return codes, list(names)


def from_zero(numbers: IntArray) -> IntArray:
    """Renumber groups, such as processes, from 0 in ascending order."""
    steps = numbers[1:] - numbers[:-1]
    counted = not numbers.size or (numbers[0] in (0, 1) and ((steps == 0) | (steps == 1)).all())
    return numbers if counted else np.unique(numbers, return_inverse=True)[1]


class Groups(Struct, frozen=True, eq=False):
    """Groups of the places of n values, in order of first appearance."""

    first: IntArray  # the first place of each group
    sizes: IntArray  # how many places each has
    # Groups of one size, and their places, shape (groups, size); small ones first
    parts: tuple[tuple[IntArray, IntArray], ...]

    @property
    def extent(self) -> tuple[int, int]:
        """The sizes of the smallest and the largest group."""
        return self.parts[0][1].shape[1], self.parts[-1][1].shape[1]

    def between(self, begin: int, end: int) -> IntArray:
        """The positions of each group's elements from ``begin`` to ``end``, in ascending order."""
        return np.sort(np.concatenate([places[:, begin:end].ravel() for _, places in self.parts]))

    def locations(self, values: FloatArray, location: Literal["mean", "median"]) -> FloatArray:
        """The mean or the median of every group, shape (rows, groups), of values of shape (rows, n)."""
        # A sum may exceed the largest double where its mean does not.
        large = np.abs(values).max(axis=1, keepdims=True) >= _LARGE
        scale = np.where(large, 0.5 ** values.shape[1].bit_length(), 1.0) if large.any() else None
        scaled = values if scale is None else values * scale
        reduced = np.empty((values.shape[0], self.sizes.size))
        for members, places in self.parts:
            rows = np.take(scaled, places, axis=1)
            if location == "median":
                size = places.shape[1]
                rows = np.sort(rows, axis=2)[:, :, (size - 1) // 2 : size // 2 + 1]
            reduced[:, members] = rows.mean(axis=2)
        return reduced if scale is None else reduced / scale


def groups_of(numbers: IntArray) -> Groups:
    """The groups of equal numbers; a suite has the same over and over, which are found once."""
    return _known(numbers.tobytes()) if numbers.nbytes <= _REMEMBERED else _found(numbers)


@lru_cache(maxsize=128)
def _known(numbers: bytes) -> Groups:
    return _found(np.frombuffer(numbers, dtype=np.int64))


def _found(numbers: IntArray) -> Groups:
    steps = np.diff(numbers)
    ascending = not (steps < 0).any()  # as the numbers of files mostly do
    by_group = np.arange(numbers.size) if ascending else np.argsort(numbers, kind="stable")
    if not ascending:
        steps = np.diff(numbers[by_group])
    starts = np.append(0, np.flatnonzero(steps) + 1)
    sizes = np.diff(starts, append=numbers.size)
    if not ascending:
        order = np.argsort(by_group[starts])
        starts, sizes = starts[order], sizes[order]
    parts = []
    for size in sorted(set(sizes.tolist())):
        members = np.flatnonzero(sizes == size)
        parts.append((members, by_group[starts[members, None] + np.arange(size)]))
    return Groups(by_group[starts], sizes, tuple(parts))


def stacked(rows: Sequence[FloatArray]) -> FloatArray:
    """Stack rows of equal length into an array; a single row is not copied."""
    return rows[0][None] if len(rows) == 1 else np.concatenate(rows).reshape(len(rows), -1)


def batches(shapes: Iterable[tuple[int, ...] | None]) -> Iterator[list[int]]:
    """The places of equal shapes, of which the first number counts values, some at a time; None is left out."""
    alike: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for i, shape in enumerate(shapes):
        if shape is not None:
            alike[shape].append(i)
    for shape, places in alike.items():
        few = max(1, _TOGETHER // shape[0])
        yield from (places[at : at + few] for at in range(0, len(places), few))
