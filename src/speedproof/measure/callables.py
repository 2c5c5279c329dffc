"""Python functions as versions: called in a loop that is long enough for the clock, in this process."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from itertools import repeat
from time import perf_counter

from speedproof.data.session_file import PlannedVersion
from speedproof.measure.execute import Run

_MOST_CALLS = 2**40


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
    function: Callable[[], object], *, least: float = 1e-3, clock: Callable[[], float] = perf_counter
) -> int:
    """Find how many calls make one run: the loop's own work a call does not depend on it."""
    calls = 1
    while calls < _MOST_CALLS and _once(function, calls, clock) < least:
        calls *= 2
    return calls


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
        return "the clock saw no time pass" if metric == "time" else ""
