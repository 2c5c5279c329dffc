"""How many runs would decide: either direction, both ends of a margin, what never can."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.protocols.figures import forecasts, no_spread_of
from speedproof.protocols.pair import Rules
from speedproof.stats.power import RunsNeeded

FloatArray = npt.NDArray[np.float64]


def side_of(n: int, m: int) -> Any:
    return SimpleNamespace(x=SimpleNamespace(n=n, unit="s"), y=SimpleNamespace(n=m), turned=False)


def test_what_a_forecast_asks_for() -> None:
    """Both ends of the margin with a power of 0.9, strictly inside, and where the reference needs fewer runs."""
    slow, fast = np.arange(6.0) + 1, np.arange(5.0) + 1
    asked: list[tuple[float, float, float]] = []

    def told(speedup: float, plain: tuple[float, float], ends: tuple[float, float]) -> tuple[Any, Any, str]:
        def runs_needed(x: Any, y: Any, alpha: float, power: float = 0.8) -> RunsNeeded:
            asked.append((float(np.asarray(y)[0, 0] / fast[0]), alpha, power))
            own = plain if len(asked) == 1 else ends
            return RunsNeeded(np.array([own[0]]), np.array([own[1]]))

        asked.clear()
        rules = Rules(0.1, margin=0.25)
        found = forecasts([side_of(6, 5)], slow[None], fast[None], rules, [0], runs_needed, [speedup])[0]
        return found.reference, found.candidate, found.reason

    for speedup in (0.8, 1.25, 0.7, 1.3):
        assert told(speedup, (300.0, 310.0), (20.0, 30.0))[:2] == (300, 310)
    for speedup in (0.80001, 1.24999):
        assert told(speedup, (300.0, 310.0), (20.0, 30.0))[:2] == (20, 30)
    assert asked == [(1.0, 0.1, 0.8), (0.8, 0.1, 0.9), (1.25, 0.1, 0.9)]
    assert told(1.0, (100.0, 310.0), (100.0, 30.0))[:2] == (100, 310)
    assert told(1.0, (100.0, 310.0), (101.0, 30.0))[:2] == (100, 310)
    assert told(1.0, (100.0, 31.0), (99.0, 600.0))[:2] == (99, 600)


def test_a_forecast_of_values_that_do_not_spread() -> None:
    """Only where neither side does, whatever the range of the other is."""
    flat, one, two = np.ones(4), np.array([1.0, 2.0, 1.0, 2.0]), np.arange(4.0)

    def needed(x: FloatArray, y: FloatArray, alpha: float, power: float = 0.8) -> RunsNeeded:
        return RunsNeeded(np.full(len(x), 50.0), np.full(len(x), 60.0))

    for x, y in itertools.product((flat, one, two), repeat=2):
        rows = np.stack([two, x]), np.stack([two, y])
        told = forecasts([side_of(4, 4)] * 2, *rows, Rules(), [1], needed)
        assert (told[1].reason == no_spread_of("s")) == (x is y is flat)
        assert told[1].reference == (None if x is y is flat else 50)
        assert forecasts([side_of(4, 4)] * 2, *rows, Rules(), [], needed) == {}


def fake_sides(n: int, m: int, turned: bool = False) -> Any:
    x, y = (m, n) if turned else (n, m)
    return SimpleNamespace(x=SimpleNamespace(n=x), y=SimpleNamespace(n=y), turned=turned)


@pytest.mark.parametrize("turned", [False, True])
def test_forecasts(turned: bool) -> None:
    """Of both sides by their own names, one more than there is at least, none beyond 100,000, none of two runs."""
    slow, fast = np.arange(5.0) + 1, np.arange(4.0) + 1

    def told(x: float, y: float, n: int = 5, m: int = 4) -> Any:
        found = forecasts(
            [fake_sides(n, m, turned)], slow[None, :n], fast[None, :m], Rules(), [0],
            lambda *_, **__: RunsNeeded(np.array([x]), np.array([y])),
        )[0]  # fmt: skip
        never = min(n, m) > 2 and not (math.isfinite(x) and math.isfinite(y))
        assert (found.reason == "no difference was observed, so no number of runs can be named") == never
        return (found.candidate, found.reference) if turned else (found.reference, found.candidate)

    assert told(30.0, 40.0) == (30, 40)
    assert told(2.0, 40.0) == (6, 40)
    assert told(30.0, 3.0) == (30, 5)
    assert told(100_000.0, 7.0) == (100_000, 7)
    assert told(100_001.0, 7.0) == (None, None)
    assert told(7.0, 100_001.0) == (None, None)
    assert told(math.inf, math.inf) == (None, None)
    assert told(math.nan, 40.0) == told(30.0, math.nan) == (None, None)
    assert told(30.0, 40.0, 3, 3) == (30, 40)
    assert told(30.0, 40.0, 2, 3) == (None, None)
    assert told(30.0, 40.0, 3, 2) == (None, None)


def test_a_forecast_of_equivalence_is_the_larger_of_two_tests() -> None:
    """Where the observed speedup is inside, and only if it is less than the difference takes."""
    slow, fast = np.arange(6.0) + 1, np.arange(5.0) + 1

    def runs_needed(x: Any, y: Any, alpha: float, power: float = 0.8) -> RunsNeeded:
        times = float(np.asarray(y)[0, 0] / fast[0])
        if power == 0.8:
            return RunsNeeded(np.array([300.0]), np.array([310.0]))
        return RunsNeeded(np.array([100 * times]), np.array([50 / times]))

    for speedup, expected in ((1.0, (125, 63)), (1.24, (125, 63)), (1.26, (300, 310)), (0.79, (300, 310))):
        rules = Rules(margin=0.25)
        found = forecasts([fake_sides(6, 5)], slow[None], fast[None], rules, [0], runs_needed, [speedup])[0]
        assert (found.reference, found.candidate) == expected
        assert ("prove equivalence" in found.reason) == (expected[0] == 125)
