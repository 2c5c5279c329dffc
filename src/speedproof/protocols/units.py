"""What repeats independently on both sides of a pair: sessions, processes, or the runs of one process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from speedproof.data.sample import Sample
from speedproof.data.suite import Pair
from speedproof.protocols.pair import Rules

__all__ = ["LEAST_SESSIONS", "independent_units"]

LEAST_SESSIONS = 4
"""So many sessions a side, and the session is the unit: with fewer no test could decide."""


def independent_units(pair: Pair, rules: Rules, *, warming: bool = False) -> tuple[Sample, Sample]:
    """Both samples with one value for each unit.

    Parameters
    ----------
    pair : Pair
        As measured.
    rules : Rules
        Whether values of one process are pooled.
    warming : bool
        Whether a warm-up was seen inside the processes of a side.

    Returns
    -------
    tuple of Sample
        A median a session where both sides have :data:`LEAST_SESSIONS` or more; else a median a process; where a
        side has one process only, its values: what is said then is about that process. Where the processes of both
        sides give different numbers of values and warm up, the last values that every process has.

    Examples
    --------
    >>> from speedproof.data.suite import Key
    >>> one = Sample(np.array([1.0, 2.0, 3.0]), processes=np.array([0, 0, 0]))
    >>> two = Sample(np.array([1.0, 2.0, 3.0, 5.0]), processes=np.array([0, 0, 1, 1]))
    >>> [sample.values.tolist() for sample in independent_units(Pair(Key("b"), one, two), Rules())]
    [[1.0, 2.0, 3.0], [1.5, 4.0]]
    """
    x, y = pair.reference, pair.candidate
    if rules.nested == "pool":
        return x, y
    if min(x.session_count, y.session_count) >= LEAST_SESSIONS:
        return x.per_session("median"), y.per_session("median")
    if warming and x.nested and y.nested and min(x.process_count, y.process_count) > 1:
        sizes = [np.unique(np.asarray(side.processes), return_counts=True)[1] for side in (x, y)]
        few = int(min(sizes[0].min(), sizes[1].min()))
        if any(size.max() > few for size in sizes):
            x, y = _last(x, few), _last(y, few)
    return _per_process(x), _per_process(y)


def _per_process(sample: Sample) -> Sample:
    return sample if sample.process_count == 1 else sample.per_process("median")


def _last(sample: Sample, count: int) -> Sample:
    """The last `count` values of each process."""
    processes = np.asarray(sample.processes)
    sizes = np.unique(processes, return_counts=True)[1]
    from_end = np.repeat(np.cumsum(sizes), sizes) - np.arange(processes.size)
    kept = np.sort(np.argsort(processes, kind="stable")[from_end <= count])
    sessions = None if sample.sessions is None else sample.sessions[kept]
    return replace(sample, values=sample.values[kept], processes=processes[kept], sessions=sessions)
