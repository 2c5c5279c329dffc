"""What the store gives: series, measurements reduced to their locations, what people decided."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct, field

from speedproof.arrays import BoolArray, FloatArray, IntArray
from speedproof.data.suite import Key
from speedproof.history.commits import Commit

State = Literal["blessed", "invalid", "fixed"]


class Added(Struct, frozen=True):
    """What became of a file."""

    path: str  # the file
    samples: int  # samples that are new in the store; 0 for a file that was there already
    commits: tuple[str, ...]  # names of the commits they belong to
    known: bool  # whether the same file had been added before
    problems: tuple[str, ...] = ()  # of another tool's history, why parts of it could not be added
    benchmarks: tuple[str, ...] = ()  # those of the new samples


class StoredSeries(Struct, frozen=True):
    """A benchmark's metric as the store knows it."""

    id: int
    key: Key
    unit: str
    higher_is_better: bool


class Triage(Struct, frozen=True):
    """What somebody decided about a change at a commit."""

    commit: str  # the first commit after the change
    benchmark: str  # empty for every benchmark
    state: State  # accepted as the new level; noise; undone since
    # Why, by whom, when (ISO 8601, UTC)
    reason: str
    who: str
    at: str


class MeasuredCommit(NamedTuple):
    """A sample of a commit in a session: its median over processes with bounds, in base units."""

    series: int
    session: int
    machine: int
    commit: Commit
    anchor: bool
    location: float
    sample: int
    low: float = float("nan")
    high: float = float("nan")


class Measurements(Struct, frozen=True, eq=False):
    """Many measurements, a column each: of a million, objects would be too many.

    ``commit`` holds places in ``commits``; ``low`` and ``high`` are NaN where values are too few for an interval.
    """

    series: IntArray
    session: IntArray
    machine: IntArray
    commit: IntArray
    anchor: BoolArray
    location: FloatArray
    low: FloatArray
    high: FloatArray
    sample: IntArray
    commits: tuple[Commit, ...] = field(default=())

    @classmethod
    def of(cls, rows: Iterable[MeasuredCommit]) -> Measurements:
        """From single ones."""
        found = list(rows)
        commits = tuple(dict.fromkeys(m.commit for m in found))
        place = {commit: i for i, commit in enumerate(commits)}

        def whole(values: Iterable[int]) -> IntArray:
            return np.fromiter(values, np.int64, len(found))

        def real(values: Iterable[float]) -> FloatArray:
            return np.fromiter(values, np.float64, len(found))

        return cls(
            whole(m.series for m in found),
            whole(m.session for m in found),
            whole(m.machine for m in found),
            whole(place[m.commit] for m in found),
            np.array([m.anchor for m in found], dtype=np.bool_),
            real(m.location for m in found),
            real(m.low for m in found),
            real(m.high for m in found),
            whole(m.sample for m in found),
            commits,
        )

    def __len__(self) -> int:
        return int(self.series.size)

    def where(self, chosen: BoolArray | IntArray) -> Measurements:
        """Some of them."""
        return Measurements(
            self.series[chosen],
            self.session[chosen],
            self.machine[chosen],
            self.commit[chosen],
            self.anchor[chosen],
            self.location[chosen],
            self.low[chosen],
            self.high[chosen],
            self.sample[chosen],
            self.commits,
        )


class QueriedSample(Struct, frozen=True):
    """A sample of the store without its values; ``median``, ``low`` and ``high`` are in the base unit ``unit``."""

    commit: str
    date: str
    subject: str
    benchmark: str
    metric: str
    unit: str
    n: int
    median: float
    low: float | None
    high: float | None
    anchor: bool
    machine: str
    session: str
    started: str
    file: str
