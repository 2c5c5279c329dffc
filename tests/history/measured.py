"""Measurements as rows, for tests; the store gives them as columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from speedproof.history.commits import Commit
from speedproof.history.rows import Measurements


class MeasuredCommit(NamedTuple):
    """A sample of a commit in a session."""

    series: int
    session: int
    machine: int
    commit: Commit
    anchor: bool
    location: float
    sample: int
    low: float = math.nan
    high: float = math.nan


def measurements(rows: Iterable[MeasuredCommit]) -> Measurements:
    """The columns of some rows."""
    found = list(rows)
    commits = tuple(dict.fromkeys(row.commit for row in found))
    series, session, machine, sample = (
        np.array([getattr(row, name) for row in found], dtype=np.int64)
        for name in ("series", "session", "machine", "sample")
    )
    location, low, high = (
        np.array([getattr(row, name) for row in found], dtype=np.float64)
        for name in ("location", "low", "high")
    )
    place = np.array([commits.index(row.commit) for row in found], dtype=np.int64)
    anchor = np.array([row.anchor for row in found], dtype=np.bool_)
    return Measurements(series, session, machine, place, anchor, location, low, high, sample, commits)
