"""How many builds and runs a comparison needs, from a pilot: Kalibera and Jones' optimal allocation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from speedproof.data.sample import FloatArray
from speedproof.errors import DataError
from speedproof.stats.allocation import repetitions, variance_components
from speedproof.stats.forecast import smallest_provable
from speedproof.stats.special import ndtri

__all__ = ["PlannedSize", "RunPlan", "plan_runs"]

_SPEEDUPS = (1.05, 1.02, 1.01, 1.005)
_QUANTILES = 199
_LEAST, _MOST = 10, 1 << 20


@dataclass(frozen=True, slots=True)
class PlannedSize:
    """What a proof of one speedup takes.

    Attributes
    ----------
    speedup : float
        Proven by about half of all sessions of this size, if it is the true one.
    builds : int
        Of each version; 0 where more than a million would be needed.
    building, measuring : float
        Seconds, of all versions together.
    """

    speedup: float
    builds: int
    building: float
    measuring: float


@dataclass(frozen=True, slots=True)
class RunPlan:
    """How to measure, by a pilot.

    Attributes
    ----------
    builds, runs : int
        Of the pilot: builds of each version, and runs of each build.
    between, within : float
        Standard deviations as shares: what builds add to a value, and what runs of one build vary by.
    build_seconds, run_seconds : float
        What one more of each costs.
    runs_per_build : int
        The cheapest for whatever precision.
    sizes : tuple of PlannedSize
        For several speedups.
    risk : float
        Of the proofs.
    """

    builds: int
    runs: int
    between: float
    within: float
    build_seconds: float
    run_seconds: float
    runs_per_build: int
    sizes: tuple[PlannedSize, ...]
    risk: float


def plan_runs(
    pilot: Sequence[FloatArray], build_seconds: float, run_seconds: float, *, risk: float = 0.05
) -> RunPlan:
    """Plan a comparison."""
    if any(min(values.shape) < 2 for values in pilot):
        raise DataError("a plan needs a pilot of two builds of each version and two runs of each, or more")
    components = np.mean([variance_components(np.log(values)) for values in pilot], axis=0)
    between, within = float(components[0]), float(components[1])
    (runs,) = repetitions((between, within), (build_seconds, run_seconds))
    # The difference of two fresh builds with their runs, as normal noise.
    spread = np.sqrt(2.0 * (between + within / runs))
    noise = spread * ndtri((np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    sizes = []
    for speedup in _SPEEDUPS:
        builds = _builds_for(speedup, noise, risk)
        cost = len(pilot) * builds
        sizes.append(PlannedSize(speedup, builds, cost * build_seconds, cost * runs * run_seconds))
    return RunPlan(
        min(values.shape[0] for values in pilot),
        min(values.shape[1] for values in pilot),
        float(np.sqrt(between)),
        float(np.sqrt(within)),
        build_seconds,
        run_seconds,
        runs,
        tuple(sizes),
        risk,
    )


def _builds_for(speedup: float, noise: FloatArray, risk: float) -> int:
    """The fewest pairs of builds by which half of all sessions prove a speedup; 0 for more than anybody makes."""

    def proves(builds: int) -> bool:
        return smallest_provable(noise, builds, risk=risk) <= speedup

    high = _LEAST
    while not proves(high):
        high *= 2
        if high > _MOST:
            return 0
    low = max(high // 2, _LEAST - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if proves(middle) else (middle, high)
    return high
