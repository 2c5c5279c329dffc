"""How many builds and runs a comparison needs, from a pilot: Kalibera and Jones' optimal allocation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.errors import DataError
from speedproof.stats.allocation import repetitions, variance_components
from speedproof.stats.fixed_pairs import blocks_needed

_SPEEDUPS = (1.05, 1.02, 1.01, 1.005)
# Fewer builds than these know too little of what builds differ by.
_LEAST, _MOST = 10, 1 << 20
# The variance of a median of normal values, in that of their mean.
_MEDIAN = math.pi / 2


class PlannedSize(Struct, frozen=True):
    """What a proof of one speedup takes."""

    speedup: float  # proven by about 8 of 10 sessions of this size, if it is the true one
    builds: int  # of each version; 0 where more than a million would be needed
    # Seconds, of all versions together
    building: float
    measuring: float


class RunPlan(Struct, frozen=True):
    """How to measure, by a pilot."""

    # Of the pilot: builds of each version, and runs of each build
    builds: int
    runs: int
    # Standard deviations as shares: what builds add to a value, and what runs of one build vary by
    between: float
    within: float
    # What one more of each costs
    build_seconds: float
    run_seconds: float
    runs_per_build: int  # the cheapest for whatever precision
    sizes: tuple[PlannedSize, ...]  # for several speedups
    # Of the proofs
    alpha: float  # of the proofs


def plan_runs(
    pilot: Sequence[FloatArray], build_seconds: float, run_seconds: float, *, alpha: float
) -> RunPlan:
    """Plan a comparison."""
    if any(min(values.shape) < 2 for values in pilot):
        raise DataError("a plan needs a pilot of two builds of each version and two runs of each, or more")
    components = np.mean([variance_components(np.log(values)) for values in pilot], axis=0)
    between, within = float(components[0]), float(components[1])
    (runs,) = repetitions((between, within), (build_seconds, run_seconds))
    # Of the difference of two fresh builds, each the median of its runs.
    spread = math.sqrt(2.0 * (between + (_MEDIAN if runs > 2 else 1.0) * within / runs))
    sizes = []
    for speedup in _SPEEDUPS:
        needed = blocks_needed(math.log(speedup) / spread, alpha=alpha) if spread else float(_LEAST)
        builds = 0 if needed > _MOST else max(math.ceil(needed), _LEAST)
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
        alpha,
    )
