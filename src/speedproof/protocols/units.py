"""What repeats independently on both sides of a pair: sessions, processes, or the runs of one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from speedproof.data.sample import IntArray, Sample
from speedproof.data.suite import Pair

__all__ = ["LEAST_SESSIONS", "clusters_of", "independent_units", "sessions_are_units", "typical_units"]

LEAST_SESSIONS = 4
"""So many sessions of every version, and the session is the unit: with fewer no test could decide."""


def sessions_are_units(samples: Sequence[Sample]) -> bool:
    """Whether all of them have :data:`LEAST_SESSIONS` or more."""
    return min(sample.session_count for sample in samples) >= LEAST_SESSIONS


def independent_units(samples: Sequence[Sample], location: Literal["mean", "median"]) -> list[Sample]:
    """All samples with one value for each unit: a mean or median a session where sessions are, else a process.

    Examples
    --------
    >>> one = Sample(np.array([1.0, 2.0, 3.0]))
    >>> two = Sample(np.array([1.0, 2.0, 3.0, 5.0]), processes=np.array([0, 0, 1, 1]))
    >>> [sample.values.tolist() for sample in independent_units([one, two], "median")]
    [[1.0, 2.0, 3.0], [1.5, 4.0]]
    """
    if sessions_are_units(samples):
        return [sample.per_session(location) for sample in samples]
    return [sample.per_process(location) for sample in samples]


def clusters_of(samples: Sequence[Sample]) -> list[IntArray | None]:
    """The number of the unit of every value; None where each is its own."""
    if sessions_are_units(samples):
        return [sample.sessions for sample in samples]
    return [sample.processes if sample.nested else None for sample in samples]


def typical_units(pair: Pair, *, warming: bool) -> tuple[Sample, Sample]:
    """The same for the typical run: of a side that is one process its values, of processes that warm up the last.

    Examples
    --------
    >>> from speedproof.data.suite import Key
    >>> one = Sample(np.array([1.0, 2.0, 3.0]), processes=np.array([0, 0, 0]))
    >>> two = Sample(np.array([1.0, 2.0, 3.0, 5.0]), processes=np.array([0, 0, 1, 1]))
    >>> [sample.values.tolist() for sample in typical_units(Pair(Key("b"), one, two), warming=False)]
    [[1.0, 2.0, 3.0], [1.5, 4.0]]
    """
    sides = (pair.reference, pair.candidate)
    if sessions_are_units(sides):
        x, y = independent_units(sides, "median")
        return x, y
    used = _last_values(pair) if warming else pair
    x, y = (s if s.process_count == 1 else s.per_process("median") for s in (used.reference, used.candidate))
    return x, y


def _last_values(pair: Pair) -> Pair:
    """Of processes that give different numbers of values the last ones that every process has."""
    x, y = pair.reference, pair.candidate
    if not (x.nested and y.nested and min(x.process_count, y.process_count) > 1):
        return pair
    sizes = [np.unique(np.asarray(side.processes), return_counts=True)[1] for side in (x, y)]
    few = int(min(sizes[0].min(), sizes[1].min()))
    if all(size.max() == few for size in sizes):
        return pair
    return Pair(pair.key, _last(x, few), _last(y, few))


def _last(sample: Sample, count: int) -> Sample:
    """The last `count` values of each process."""
    processes = np.asarray(sample.processes)
    sizes = np.unique(processes, return_counts=True)[1]
    from_end = np.repeat(np.cumsum(sizes), sizes) - np.arange(processes.size)
    kept = np.sort(np.argsort(processes, kind="stable")[from_end <= count])
    sessions = None if sample.sessions is None else sample.sessions[kept]
    return replace(sample, values=sample.values[kept], processes=processes[kept], sessions=sessions)
