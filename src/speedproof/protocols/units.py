"""What repeats independently on both sides of a pair: sessions, processes, or the runs of one process."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from speedproof.data.sample import Sample
from speedproof.data.suite import Pair

__all__ = ["LEAST_SESSIONS", "independent_units", "typical_units"]

LEAST_SESSIONS = 4
"""So many sessions a side, and the session is the unit: with fewer no test could decide."""


def independent_units(pair: Pair, location: Literal["mean", "median"]) -> tuple[Sample, Sample]:
    """Both samples with one value for each unit.

    A mean or median a session where both sides have :data:`LEAST_SESSIONS` or more; else one a process.

    Examples
    --------
    >>> from speedproof.data.suite import Key
    >>> one = Sample(np.array([1.0, 2.0, 3.0]))
    >>> two = Sample(np.array([1.0, 2.0, 3.0, 5.0]), processes=np.array([0, 0, 1, 1]))
    >>> [sample.values.tolist() for sample in independent_units(Pair(Key("b"), one, two), "median")]
    [[1.0, 2.0, 3.0], [1.5, 4.0]]
    """
    x, y = pair.reference, pair.candidate
    if min(x.session_count, y.session_count) >= LEAST_SESSIONS:
        return x.per_session(location), y.per_session(location)
    return x.per_process(location), y.per_process(location)


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
    if min(pair.reference.session_count, pair.candidate.session_count) >= LEAST_SESSIONS:
        return independent_units(pair, "median")
    used = _last_values(pair) if warming else pair
    x, y = used.reference, used.candidate
    units = independent_units(used, "median")
    return x if x.process_count == 1 else units[0], y if y.process_count == 1 else units[1]


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
