"""Alarms while values come in: a cumulative sum of ranks for small changes, how far values lie for large ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.stats.change_points import place_of_step
from speedproof.stats.cusum import Alarm, first_alarms, run_limit
from speedproof.stats.jumps import first_jump

_ROWS = 256  # series at a time


def alarms(x: npt.ArrayLike, mean: float) -> tuple[Alarm, ...]:
    """All alarms that a series raises as its values come in, false ones as rare as one in so many values.

    Each new level is watched from its first value on.
    """
    return all_alarms([np.asarray(x, dtype=np.float64)], mean)[0]


def all_alarms(series: Sequence[FloatArray], mean: float) -> list[tuple[Alarm, ...]]:
    """The same of several series."""
    found: list[tuple[Alarm, ...]] = [()] * len(series)
    limit, starts = run_limit(2.0 * mean), dict.fromkeys(range(len(series)), 0)
    while starts:
        sizes: dict[int, list[int]] = {}
        for i, start in starts.items():
            sizes.setdefault(series[i].size - start, []).append(i)
        again: dict[int, int] = {}
        for part in (rows[k : k + _ROWS] for rows in sizes.values() for k in range(0, len(rows), _ROWS)):
            levels = [series[i][starts[i] :] for i in part]
            for i, level, small in zip(part, levels, first_alarms(np.array(levels), limit), strict=True):
                raised = [alarm for alarm in (first_jump(level, 2.0 * mean), small) if alarm is not None]
                if not raised:
                    continue
                alarm = min(raised, key=lambda alarm: alarm.raised)
                values = level[: alarm.raised + 1]
                old, new = values[: alarm.since], values[alarm.since :]
                again[i] = starts[i] + place_of_step(values, 1, values.size - 1, old, new)
                found[i] = (*found[i], replace(alarm, raised=starts[i] + alarm.raised, since=again[i]))
        starts = again
    return found
