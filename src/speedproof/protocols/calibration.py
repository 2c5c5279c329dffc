"""What a command measured against itself tells about the machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from speedproof.errors import DataError
from speedproof.stats.dependence import drift, lag1
from speedproof.stats.forecast import smallest_provable


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
        float(trend.correlation),
        float(trend.pvalue),
        cost,
        tuple((b, b / cost, smallest_provable(differences, b / cost, alpha=alpha)) for b in budgets),
    )


def _spread(logarithms: np.typing.NDArray[np.float64]) -> float:
    return float(np.expm1(1.4826 * np.median(np.abs(logarithms - np.median(logarithms)))))
