"""Many records as columns: what nobody looks at one by one is never made a record or a sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.record import Key, Record, Skipped

Row = tuple[Key, Sequence[float], Record]  # with one value or more


class RecordTable(Struct, frozen=True, eq=False):
    """Records of one file, a row each; rows that differ in name and values only share what else is known."""

    keys: list[Key]
    values: list[FloatArray]  # of each row, in base units, read-only
    # What else is known of each; the direction always is, and processes count from 0
    known: list[Record]
    lines: Sequence[int] = ()  # of each in its file, where that is not known of them
    tool: str = ""
    first: int = 0  # the position of the first row in its file

    @classmethod
    def of(cls, rows: Sequence[Row]) -> RecordTable:
        """A table of rows, one or more."""
        keys, values, known = map(list, zip(*rows, strict=True))
        flat = np.fromiter(chain.from_iterable(values), np.float64)
        flat.flags.writeable = False  # so that nobody need copy a part
        cuts = pairwise(accumulate(map(len, values), initial=0))
        return cls(keys, [flat[begin:end] for begin, end in cuts], known)

    def __len__(self) -> int:
        return len(self.keys)

    def where(self, row: int) -> str:
        """The place of a row in its file."""
        return f"line {self.lines[row]}" if self.lines else self.known[row].where

    def record(self, row: int) -> Record:
        """A row as a record."""
        known, values, position = self.known[row], self.values[row], self.first + row
        where, name = self.where(row), self.keys[row].benchmark
        return replace(known, benchmark=name, values=values, where=where, tool=self.tool, position=position)

    def fits(self) -> bool:
        """Whether every row has values that a sample may have."""
        values = np.concatenate(self.values)
        if values.min() >= 0.0:  # of NaN it is not
            return bool(values.max() < np.inf)
        return bool(np.isfinite(values).all()) and not any(
            of.min() < 0.0
            for of, known, key in zip(self.values, self.known, self.keys, strict=True)
            if known.unit == "s" or key.metric == "time"
        )


Item = Record | Skipped | RecordTable


def each_record(items: Iterable[Item]) -> Iterator[Record | Skipped]:
    """The same without tables."""
    for item in items:
        if isinstance(item, RecordTable):
            yield from map(item.record, range(len(item)))
        else:
            yield item


def fit(tables: Sequence[RecordTable]) -> bool:
    """Whether every row of what one version holds is a sample of its own, as it is."""
    keys = [*chain.from_iterable(table.keys for table in tables)]
    return len(set(keys)) == len(keys) and all(table.fits() for table in tables)
