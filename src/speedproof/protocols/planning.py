"""What a pilot tells: how many builds and runs a comparison needs, and what a machine can resolve.

The allocation is that of Kalibera and Jones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.errors import DataError
from speedproof.stats.allocation import repetitions, variance_components
from speedproof.stats.betting import smallest_provable
from speedproof.stats.dependence import drift, lag1
from speedproof.stats.fixed_pairs import blocks_needed
from speedproof.stats.scaling import NORMAL_DEVIATION

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
    """Plan a comparison; builds vary by no less than the error with which a pilot knows it."""
    if any(min(values.shape) < 2 for values in pilot):
        raise DataError("a plan needs a pilot of two builds of each version and two runs of each, or more")
    components = np.mean([variance_components(np.log(values)) for values in pilot], axis=0)
    between, within = float(components[0]), float(components[1])
    degrees, fewest = sum(values.shape[0] - 1 for values in pilot), min(values.shape[1] for values in pilot)
    possible = max(between, within / fewest * math.sqrt(2.0 / degrees))  # the deviation of a variance
    (runs,) = repetitions((possible, within), (build_seconds, run_seconds))
    # Of the difference of two fresh builds, each the median of its runs.
    spread = math.sqrt(2.0 * (possible + (_MEDIAN if runs > 2 else 1.0) * within / runs))
    sizes = []
    for speedup in _SPEEDUPS:
        needed = blocks_needed(math.log(speedup) / spread, alpha=alpha) if spread else float(_LEAST)
        builds = 0 if needed > _MOST else max(math.ceil(needed), _LEAST)
        cost = len(pilot) * builds
        sizes.append(PlannedSize(speedup, builds, cost * build_seconds, cost * runs * run_seconds))
    return RunPlan(
        min(values.shape[0] for values in pilot),
        fewest,
        float(np.sqrt(between)),
        float(np.sqrt(within)),
        build_seconds,
        run_seconds,
        runs,
        tuple(sizes),
        alpha,
    )


class Calibration(Struct, frozen=True):
    """Noise floor of a machine for one command."""

    runs: int  # runs that it rests on
    median: float  # seconds of a run
    # Relative spread of single runs: 1.4826 times the median absolute deviation of their logarithms
    noise: float
    block_noise: float  # the same of the ratio of the two runs of a block, which is what a comparison sees
    # Rank correlation of neighbouring runs: 1 - v / 2, v being von Neumann's ratio of the ranks; the two-
    # sided p-value of independence is that ratio's. NaN for constant times
    autocorrelation: float
    autocorrelation_pvalue: float
    # Spearman's correlation of time and order; p-value of no trend
    drift: float
    drift_pvalue: float
    block_seconds: float  # what a block costs, hooks and the runner's own work included
    # Seconds of measuring, the number of blocks that they allow, and the smallest speedup that about half of
    # such sessions prove; infinity when none
    provable: tuple[tuple[float, float, float], ...]


def calibrate(
    blocks: Sequence[tuple[float, float]],
    in_order: Sequence[float],
    seconds: float,
    budgets: Sequence[float] = (10.0, 60.0, 600.0),
    *,
    alpha: float = 0.05,
) -> Calibration:
    """Describe a machine's noise from a command that was measured against itself."""
    if len(blocks) < 4:
        raise DataError(f"{len(blocks)} blocks are too few to describe noise; allow more time or runs")
    pairs, times = np.log(np.array(blocks)), np.array(in_order)
    differences = pairs[:, 0] - pairs[:, 1]
    dependence, trend = lag1(times), drift(times)
    cost = seconds / len(blocks)
    return Calibration(
        times.size,
        float(np.median(times)),
        _spread(np.log(times)),
        _spread(differences),
        # Not the correlation of the times: one outlier hides it, and the p-value is not about it.
        float(1 - dependence.statistic / 2),
        float(dependence.pvalue),
        float(trend.statistic),
        float(trend.pvalue),
        cost,
        tuple((b, b / cost, smallest_provable(differences, b / cost, alpha=alpha)) for b in budgets),
    )


def _spread(logarithms: np.typing.NDArray[np.float64]) -> float:
    return float(np.expm1(NORMAL_DEVIATION * np.median(np.abs(logarithms - np.median(logarithms)))))
