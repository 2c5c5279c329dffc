"""Processes that run at one of two speeds in most benchmarks: the machine's doing, not the program's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from speedproof.data.sample import FloatArray
from speedproof.data.suite import Pair

__all__ = ["MachineSpeeds", "machine_speeds"]

_LEAST_PROCESSES = 5
_LEAST_BENCHMARKS = 3
_APART = (
    6.0  # distance of the two groups in units of the deviation within them; halves of one normal sample: 2.7
)
_ALIKE = 0.1  # largest difference of a benchmark's log factor from the common one, relative to it


@dataclass(frozen=True, slots=True)
class MachineSpeeds:
    """Two speeds that most benchmarks of both versions share.

    Attributes
    ----------
    factor : float
        Slow over fast.
    benchmarks, of : int
        How many benchmarks ran at these two speeds in both versions, of how many.
    speedup : float
        Geometric mean over them of the speedup between processes of the same speed.
    """

    factor: float
    benchmarks: int
    of: int
    speedup: float


def machine_speeds(pairs: Sequence[Pair]) -> MachineSpeeds | None:
    """Find two speeds that more than half of the benchmarks of a metric have in common, in both versions.

    None unless at least three benchmarks, and more than half of all, have processes of two speeds whose factors
    agree within a tenth of their logarithm. It is a description, no test: a common factor in many benchmarks is
    not to be had by chance.
    """
    found: list[tuple[float, float, float]] = []
    for pair in pairs:
        reference, candidate = (
            _two_speeds(s.per_process("median").values) for s in (pair.reference, pair.candidate)
        )
        if reference is not None and candidate is not None:
            (slow, fast), (slow_now, fast_now) = reference, candidate
            within = ((slow - slow_now) + (fast - fast_now)) / 2.0
            found.append(
                (slow - fast, slow_now - fast_now, -within if pair.reference.higher_is_better else within)
            )
    if not found:
        return None
    middle = float(np.median([factor for row in found for factor in row[:2]]))
    alike = [within for *factors, within in found if max(abs(f - middle) for f in factors) <= _ALIKE * middle]
    if len(alike) < _LEAST_BENCHMARKS or 2 * len(alike) <= len(pairs):
        return None
    return MachineSpeeds(exp(middle), len(alike), len(pairs), exp(sum(alike) / len(alike)))


def _two_speeds(values: FloatArray) -> tuple[float, float] | None:
    """Mean logarithms of the larger and the smaller values, where they fall into two groups far apart."""
    if values.size < _LEAST_PROCESSES or not values.min() > 0:
        return None
    logs = np.log(np.sort(values))
    # Only the widest gap can separate two groups that are far apart; each has two values or more.
    gaps = np.diff(logs)[1:-1]
    if not gaps.size:
        return None
    low, high = np.split(logs, [int(gaps.argmax()) + 2])
    distance = float(high.mean() - low.mean())
    within = float(np.square(low - low.mean()).sum() + np.square(high - high.mean()).sum())
    if distance <= log(1.05) or distance**2 * (logs.size - 2) <= _APART**2 * within:
        return None
    return float(high.mean()), float(low.mean())
