"""Alarms while values come in: a cumulative sum of ranks for small changes, how far values lie for large ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.stats.change_points import place_of_step
from speedproof.stats.cusum import Alarm, first_alarms, run_limit
from speedproof.stats.jumps import first_jumps

_ROWS = 256  # series at a time


def alarms(x: npt.ArrayLike, mean: float) -> tuple[Alarm, ...]:
    """All alarms that a series raises as its values come in, false ones as rare as one in so many values.

    Each new level is watched from its first value on.
    """
    return all_alarms([np.asarray(x, dtype=np.float64)], mean)[0]


def all_alarms(series: Sequence[FloatArray], mean: float) -> list[tuple[Alarm, ...]]:
    """The same of several series."""
    alarms: list[tuple[Alarm, ...]] = [()] * len(series)
    limit, starts = run_limit(2.0 * mean), dict.fromkeys(range(len(series)), 0)
    while starts:
        waiting = sorted(starts, key=lambda i: series[i].size - starts[i])
        again: dict[int, int] = {}
        for part in (waiting[k : k + _ROWS] for k in range(0, len(waiting), _ROWS)):
            levels = [series[i][starts[i] :] for i in part]
            values = np.zeros((len(part), levels[-1].size))
            for row, level in zip(values, levels, strict=True):
                row[: level.size] = level
            first = zip(first_jumps(values, 2.0 * mean), first_alarms(values, limit), strict=True)
            for i, level, both in zip(part, levels, first, strict=True):
                raised = [alarm for alarm in both if alarm is not None and alarm.raised < level.size]
                if not raised:
                    continue
                alarm = min(raised, key=lambda alarm: alarm.raised)
                upto = level[: alarm.raised + 1]
                old, new = upto[: alarm.since], upto[alarm.since :]
                again[i] = starts[i] + place_of_step(upto, 1, upto.size - 1, old, new)
                alarms[i] = (*alarms[i], replace(alarm, raised=starts[i] + alarm.raised, since=again[i]))
        starts = again
    return alarms
