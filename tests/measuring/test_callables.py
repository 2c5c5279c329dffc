"""How often functions are called in a run, by a clock that they move themselves."""

import gc
import math
from collections.abc import Callable

import pytest

from speedproof.data.session_file import PlannedVersion
from speedproof.errors import UsageError
from speedproof.measuring.drivers import CallableExecutor, calls_needed


class Lap:
    """Goes on by what the functions take, and keeps who was called."""

    def __init__(self) -> None:
        self.now = 0.0
        self.called: list[str] = []

    def __call__(self) -> float:
        return self.now

    def takes(self, name: str, *seconds: float) -> Callable[[], None]:
        """A function that takes so long at each call, the last time from then on."""
        left = list(seconds)

        def function() -> None:
            self.called.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return function


@pytest.mark.parametrize("seconds", [1e-6, 3e-6, 2.5e-4, 9.99e-4, 1e-3, 2e-3, 0.05, 1.0, 5000.0])
def test_a_run_is_as_many_calls_as_fill_a_millisecond(seconds: float) -> None:
    """And no call more for the rounding of a quotient."""
    clock = Lap()
    assert calls_needed({"f": clock.takes("f", seconds)}, clock=clock) == {
        "f": max(1, math.ceil(round(1e-3 / seconds, 6)))
    }


@pytest.mark.parametrize(("seconds", "calls"), [
    (1.0, 1 + 8),  # then eight rounds
    (0.25, 1 + 2 + 4 + 8 * 4),  # doubled until it is long enough, to the least
    (0.26, 1 + 2 + 4 + 8 * 4), (99.0, 1 + 8),
    (100.0, 1),  # so slow that what interrupts is no matter
])  # fmt: skip
def test_calls_that_are_spent_to_learn_it(seconds: float, calls: int) -> None:
    clock = Lap()
    calls_needed({"f": clock.takes("f", 2.0 * seconds)}, least=2.0, clock=clock)
    assert len(clock.called) == calls


def test_functions_that_do_not_differ_several_times_have_one_number() -> None:
    """Up to four times the fastest of their like; in the order given."""
    clock = Lap()
    costs = {"nine": 9.0, "one": 1.0, "three": 3.0, "four": 4.0, "thirty-six": 36.0, "more": 36.5}
    found = calls_needed({n: clock.takes(n, c) for n, c in costs.items()}, least=100.0, clock=clock)
    assert found == {"nine": 12, "one": 100, "three": 100, "four": 100, "thirty-six": 12, "more": 3}
    assert list(found) == list(costs)


def test_what_is_interrupted_is_tried_again_in_turns() -> None:
    """The least of all tries counts, and no function has all of its tries at one moment."""
    clock = Lap()
    unlucky, other = clock.takes("a", 64.0, 64.0, 64.0, 64.0, 1.0), clock.takes("b", 1.0)
    assert calls_needed({"a": unlucky, "b": other}, least=1.0, clock=clock) == {"a": 1, "b": 1}
    assert clock.called == ["a", "b"] * 9
    clock = Lap()
    late = clock.takes("a", 3.0, 3.0, 2.0)
    assert calls_needed({"a": late, "b": clock.takes("b", 9.0)}, least=8.0, clock=clock) == {"a": 4, "b": 1}
    # Slow in all 1 + 2 + 4 calls that are made at first, and in turns as fast as it can be.
    assert calls_needed({"a": clock.takes("a", *[2.0] * 7, 1.0)}, least=8.0, clock=clock) == {"a": 8}


@pytest.mark.parametrize(("ticks", "calls"), [([0.0], 127), ([0.05, 0.05, 0.05, 0.0], 4)])
def test_a_clock_that_stands_still_is_an_error(
    ticks: list[float], calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a second that it did not see, or a run that is none; a call is 0.02 s here."""
    clock = Lap()
    monkeypatch.setattr("speedproof.measuring.drivers.monotonic", lambda: 0.02 * len(clock.called))
    with pytest.raises(UsageError, match=r"the clock saw no time pass in \d+ calls"):
        calls_needed({"f": clock.takes("f", *ticks)}, clock=clock)
    assert len(clock.called) == calls


@pytest.mark.parametrize("collecting", [True, False])
def test_a_run_is_the_mean_of_its_calls_without_collecting(collecting: bool) -> None:
    """The collector is as it was before afterwards, also when the function fails."""
    clock, seen = Lap(), list[bool]()
    takes = clock.takes("f", 5.0, 1.0)

    def function() -> None:
        takes()
        seen.append(gc.isenabled())
        if len(seen) > 4:
            raise ZeroDivisionError

    executor = CallableExecutor({"f": function}, {"f": 4}, clock=clock)
    version = PlannedVersion("f", ("f",), "f")
    collected: list[int] = []
    gc.callbacks.append(lambda phase, info: collected.append(info["generation"]))
    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        assert executor.measure(version).metrics == {"time": 2.0}
        assert 0 in collected  # what was left over, before the run
        assert gc.isenabled() is collecting
        with pytest.raises(ZeroDivisionError):
            executor.measure(version)
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()
        gc.callbacks.pop()
    assert seen == [False] * 5
