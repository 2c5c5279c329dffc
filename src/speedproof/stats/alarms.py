"""Alarms while values come in: a cumulative sum of ranks for small changes, how far values lie for large ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from speedproof.stats.change_points import place_of_step
from speedproof.stats.cusum import Alarm, first_alarm, run_limit
from speedproof.stats.jumps import first_jump


def alarms(x: npt.ArrayLike, mean: float) -> tuple[Alarm, ...]:
    """All alarms that a series raises as its values come in, false ones as rare as one in so many values.

    Each new level is watched from its first value on.
    """
    values = np.asarray(x, dtype=np.float64)
    found: list[Alarm] = []
    limit, start = run_limit(2.0 * mean), 0
    while True:
        level = values[start:]
        raised = [
            alarm for alarm in (first_jump(level, 2.0 * mean), first_alarm(level, limit)) if alarm is not None
        ]
        if not raised:
            return tuple(found)
        alarm = min(raised, key=lambda alarm: alarm.raised)
        part = level[: alarm.raised + 1]
        since = start + place_of_step(part, 1, part.size - 1, part[: alarm.since], part[alarm.since :])
        found.append(replace(alarm, raised=start + alarm.raised, since=since))
        start = since
