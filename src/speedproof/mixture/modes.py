"""The clear modes of a mixture, and how a sample moves among them in run order."""

from __future__ import annotations

from math import comb, log

import numpy as np
import numpy.typing as npt

from speedproof.arrays import IntArray
from speedproof.mixture.model import MixtureModel, Modes
from speedproof.mixture.results import ModeOrder
from speedproof.stats.special import ndtr

DIP = log(1.25)
"""Modes are told apart by a valley a fifth below the lower peak; shallower ones come and go by chance."""


MANY_RUNS = 2000
"""From so many on the normal distribution stands for the permutations of a sample."""


def clear_modes(model: MixtureModel) -> Modes:
    """Modes of a mixture that are told apart by a clear valley."""
    return model.modes().deeper_than(DIP)


def mode_order(
    values: npt.ArrayLike, modes: Modes, *, alpha: float = 0.01, permutations: int = 999, seed: int = 0
) -> ModeOrder:
    """Tell whether the modes of a sample alternate, come in blocks, or are a warm-up."""
    label = np.searchsorted(modes.valleys, np.asarray(values, dtype=np.float64))
    n = label.size
    counts = np.bincount(label, minlength=modes.count)
    stretches = int(_stretches(label))
    # By chance neighbours differ with probability 1 - sum of c (c - 1) / n (n - 1).
    expected = 1.0 + (n - 1) * (1.0 - float((counts * (counts - 1)).sum()) / (n * (n - 1))) if n > 1 else 1.0
    if (counts > 0).sum() < 2:
        return ModeOrder("one mode", stretches, expected, 1.0)
    first = int(label[0])
    seen = int(counts[first])
    until = int(np.flatnonzero(label == first)[-1]) + 1
    if until <= n // 4:
        chance = comb(until, seen) / comb(n, seen)
        if chance <= alpha:
            return ModeOrder("warm-up", stretches, expected, chance)
    if n > MANY_RUNS:
        z = (stretches - expected) / _stretches_sd(counts)
        fewer, more = (float(ndtr(side)) for side in (z, -z))
    else:
        orders = np.broadcast_to(label, (permutations, n))
        shuffled = _stretches(np.random.default_rng(seed).permuted(orders, axis=1))
        fewer, more = (
            (int(as_extreme.sum()) + 1) / (permutations + 1)
            for as_extreme in (shuffled <= stretches, shuffled >= stretches)
        )
    pvalue = min(1.0, 2.0 * min(fewer, more))
    if pvalue > alpha:
        return ModeOrder("mixed", stretches, expected, pvalue)
    return ModeOrder("blocks" if fewer < more else "alternating", stretches, expected, pvalue)


def _stretches_sd(counts: IntArray) -> float:
    """Standard deviation of the number of stretches in a random order (Barton and David 1957)."""
    c = counts.astype(np.float64)
    n, squares, cubes = c.sum(), (c**2).sum(), (c**3).sum()
    return float(np.sqrt((squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1))))


def _stretches(label: IntArray) -> IntArray:
    return 1 + np.asarray((label[..., 1:] != label[..., :-1]).sum(axis=-1))
