"""Python functions as versions: called in a loop that is long enough for the clock, in this process."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Mapping
from itertools import repeat
from time import monotonic, perf_counter

from speedproof.data.session_file import PlannedVersion
from speedproof.errors import UsageError
from speedproof.measuring.execute import Run

_TRIES = 3
_ROUNDING = 1e-6
_SLOW = 100  # times the shortest run: what interrupts is hardly ever as long
_ROUNDS = 8
_STILL_SECONDS = 1.0  # of a run that a clock must have seen
_ALIKE = 4.0  # functions whose costs differ by less have the same number of calls


def _once(function: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    """Seconds that so many calls take, with the loop's own work, which is the same a call for all."""
    counter = repeat(None, calls)
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = clock()
        for _ in counter:
            function()
        return clock() - start
    finally:
        if collecting:
            gc.enable()


def calls_needed(
    functions: Mapping[str, Callable[[], object]],
    *,
    least: float = 1e-3,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, int]:
    """Find how many calls of each function make one run.

    What interrupts a program meets a longer run more often, so functions that do not differ several times have
    the same number, and the cost of each is its least in several tries, made in turns: one that was interrupted
    would be called too seldom.
    """
    costs = {name: _cost(function, least, clock) for name, function in functions.items()}
    for _ in range(_ROUNDS):
        for name, function in functions.items():
            if costs[name] < _SLOW * least:
                n = math.ceil(least / costs[name])
                costs[name] = min(costs[name], _once(function, n, clock) / n)
                if costs[name] <= 0:
                    raise _still(n)
    calls: dict[str, int] = {}
    fastest = 0.0
    for name, cost in sorted(costs.items(), key=lambda item: item[1]):
        if cost > _ALIKE * fastest:
            fastest = cost
        calls[name] = max(1, math.ceil(least / fastest - _ROUNDING))
    return {name: calls[name] for name in functions}


def _cost(function: Callable[[], object], least: float, clock: Callable[[], float]) -> float:
    """Seconds of a call, by a loop that fills the time in each of several tries; of slow ones one is enough."""
    calls, tries = 1, 0
    best = math.inf
    while tries == 0 or (tries < _TRIES and best < _SLOW * least):
        began = monotonic()
        taken = _once(function, calls, clock)
        if taken <= 0 and monotonic() - began >= _STILL_SECONDS:
            raise _still(calls)
        if taken < least:
            calls, tries, best = 2 * calls, 0, math.inf
        else:
            tries, best = tries + 1, min(best, taken)
    return best / calls


def _still(calls: int) -> UsageError:
    return UsageError(
        f"the clock saw no time pass in {calls} calls: it stands still, or its steps are too coarse; give one "
        "like time.perf_counter"
    )


class CallableExecutor:
    """Executes functions; an exception of theirs ends the session."""

    def __init__(
        self,
        functions: Mapping[str, Callable[[], object]],
        calls: Mapping[str, int],
        *,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._functions, self._calls, self._clock = functions, calls, clock

    def begin(self, version: PlannedVersion) -> None:
        """Nothing to set up."""

    def finish(self, version: PlannedVersion) -> None:
        """Nothing to clean up."""

    def measure(self, version: PlannedVersion) -> Run:
        """Call so often, the garbage of before collected."""
        gc.collect(0)
        calls = self._calls[version.name]
        return Run({"time": _once(self._functions[version.name], calls, self._clock) / calls})

    def explain(self, run: Run, metric: str) -> str:
        """Nothing more is known."""
        return ""
