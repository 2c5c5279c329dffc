"""Processes that run at one of two speeds in most benchmarks: the machine's doing, not the program's."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, nan, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.suite import Pair
from speedproof.stats.estimate import Estimate
from speedproof.stats.scaling import middle
from speedproof.stats.special import t_quantile

_LEAST_PROCESSES = 5
_LEAST_BENCHMARKS = 3
_LEAST_ALONE = 10
"""Benchmarks that one version needs to have them, where the other says nothing of the machine."""
_APART = (
    6.0  # distance of the two groups in units of the deviation within them; halves of one normal sample: 2.7
)
_ALIKE = 0.1  # largest difference of a benchmark's log factor from the common one, relative to it


Sides = Literal["both", "reference", "candidate"]


class MachineSpeeds(Struct, frozen=True):
    """Two speeds that most benchmarks share, of both versions or of one."""

    factor: float  # slow over fast
    # How many benchmarks ran at these two speeds, of how many
    benchmarks: int
    of: int
    # Geometric mean over them of the speedup between processes of the same speed, with one-sided bounds for
    # benchmarks like these; NaN for one version
    speedup: Estimate
    sides: Sides = "both"  # which versions ran at two speeds


def machine_speeds(pairs: Sequence[Pair], alpha: float = 0.05) -> MachineSpeeds | None:
    """Find two speeds that more than half of the benchmarks of a metric share, in both versions or in one.

    None unless at least three benchmarks (ten where one version has them alone), and more than half of all, have
    processes of two speeds whose factors agree within a tenth of their logarithm. It is a description, no test: a
    common factor in many benchmarks is not to be had by chance.
    """
    return common_speeds(two_speeds_of(pairs), len(pairs), alpha)


def common_speeds(found: FloatArray, of: int, alpha: float = 0.05) -> MachineSpeeds | None:
    """The two speeds that rows of :func:`two_speeds_of` have in common; ``of`` counts those without, too."""
    for sides, columns, least in _PLACES:
        factors = found[:, columns]
        known = factors[~np.isnan(factors).any(axis=1)]
        if not known.size:
            continue
        common = float(middle(known.ravel()))
        alike = np.abs(factors - common).max(axis=1) <= _ALIKE * common
        count = int(alike.sum())
        if count >= least and 2 * count > of:
            logs = np.sort(found[alike, 2]) if sides == "both" else np.full(2, nan)
            reach = t_quantile(1.0 - alpha, logs.size - 1) * float(logs.std(ddof=1)) / sqrt(logs.size)
            value, low, high = (exp(float(logs.mean()) + side * reach) for side in (0, -1, 1))
            return MachineSpeeds(exp(common), count, of, Estimate(value, low, high, 1.0 - alpha), sides)
    return None


_PLACES: tuple[tuple[Sides, slice, int], ...] = (
    ("both", slice(0, 2), _LEAST_BENCHMARKS),
    ("reference", slice(0, 1), _LEAST_ALONE),
    ("candidate", slice(1, 2), _LEAST_ALONE),
)


def slower_processes(pair: Pair, machine: MachineSpeeds) -> tuple[IntArray, IntArray] | None:
    """Of each process of both versions 1 where it ran at the slower speed, else 0.

    None of other speeds, and where fewer than five processes of a version ran at one of them.
    """
    states = []
    for sample in (pair.reference, pair.candidate):
        values = sample.per_process("median").values
        if values.size < 2 * _LEAST_PROCESSES:
            return None
        larger, smaller, below = _two_speeds(values[None])[0].tolist()
        common = log(machine.factor)
        alike = abs(larger - smaller - common) <= _ALIKE * common
        if not (alike and _LEAST_PROCESSES <= below <= values.size - _LEAST_PROCESSES):
            return None
        upper = values.argsort().argsort() >= below
        states.append((upper != sample.higher_is_better).astype(np.int64))
    return states[0], states[1]


def two_speeds_of(pairs: Sequence[Pair]) -> FloatArray:
    """Of each pair the logarithms of slow over fast in either version and of the speedup at one speed, or NaN."""
    measured = [s.per_process("median").values for pair in pairs for s in (pair.reference, pair.candidate)]
    speeds = np.full((len(measured), 3), np.nan)
    sizes = np.array([values.size for values in measured])
    for size in sorted({size for size in sizes.tolist() if size >= _LEAST_PROCESSES}):
        at = np.flatnonzero(sizes == size)
        speeds[at] = _two_speeds(np.stack([measured[i] for i in at.tolist()]))
    before, after = speeds[::2], speeds[1::2]
    within = (before - after)[:, :2].mean(axis=1)
    within[[pair.reference.higher_is_better for pair in pairs]] *= -1.0
    return np.column_stack((before[:, 0] - before[:, 1], after[:, 0] - after[:, 1], within))


def _two_speeds(values: FloatArray) -> FloatArray:
    """Of each row, if its values are two groups far apart: their mean logarithms, the larger ones' first.

    Third, how many are the smaller ones.
    """
    n = values.shape[1]
    usable = values.min(axis=1) > 0
    logs = np.log(np.sort(np.where(usable[:, None], values, 1.0), axis=1))
    centre = logs.mean(axis=1, keepdims=True)
    logs -= centre
    # Only the widest gap can separate two groups that are far apart; each has two values or more.
    below = np.diff(logs, axis=1)[:, 1:-1].argmax(axis=1) + 2
    low = np.arange(n) < below[:, None]
    slow, fast = (
        np.where(low, 0.0, logs).sum(axis=1) / (n - below),
        np.where(low, logs, 0.0).sum(axis=1) / below,
    )
    within = np.square(logs - np.where(low, fast[:, None], slow[:, None])).sum(axis=1)
    apart = slow - fast
    far = (apart > log(1.05)) & (np.square(apart) * (n - 2) > _APART**2 * within)
    speeds = np.column_stack((slow + centre[:, 0], fast + centre[:, 0], below))
    return np.where((usable & far)[:, None], speeds, np.nan)
