"""The clear modes of a mixture, and how a sample moves among them in run order."""

from __future__ import annotations

from itertools import pairwise
from math import comb, log

import numpy as np
import numpy.typing as npt

from speedproof.arrays import FloatArray, IntArray
from speedproof.mixture.fitting import MixtureFit
from speedproof.mixture.grid import without_ties
from speedproof.mixture.model import Modes
from speedproof.mixture.one_mode import of_one_width, several
from speedproof.mixture.results import FEW_RUNS, ModeOrder
from speedproof.mixture.starts import condensed
from speedproof.stats.special import ndtr

DIP = log(1.25)
"""Modes are told apart by a valley a fifth below the lower peak; shallower ones come and go by chance."""

MANY_RUNS = 2000
"""From so many on the normal distribution stands for permutations of a sample, quantiles for its values."""


def clear_modes(fitted: MixtureFit) -> Modes:
    """The modes that a sample shows: peaks, with valleys between them that no law with one mode explains.

    Neighbouring peaks of five runs or more are one mode unless :func:`speedproof.mixture.one_mode.several` tells
    that their runs have more. What lies apart with fewer runs are outliers, of which nothing is claimed.
    """
    found = fitted.model.modes().deeper_than(DIP)
    if fitted.components == 1:
        return found
    x = condensed(without_ties(np.sort(fitted.values), fitted.resolution), MANY_RUNS)
    joined: Modes | None = found
    while joined is not None:
        found = joined
        held = np.flatnonzero(runs_in(found, x) >= FEW_RUNS).tolist()
        edges = np.concatenate([[-np.inf], found.valleys, [np.inf]])
        joined = None
        for first, last in sorted(pairwise(held), key=lambda pair: found.dips[pair[0] : pair[1]].max()):
            low, high = edges[first], edges[last + 1]
            if not several(x[(x > low) & (x <= high)], fitted, low, high):
                joined = found.joined(first, last)
                break
    if len(held) != 1:
        return found
    k = held[0]
    two = of_one_width(x[(x > edges[k]) & (x <= edges[k + 1])])
    return found if two is None else found.parted(k, two)


def runs_in(modes: Modes, values: FloatArray) -> IntArray:
    """How many values each mode holds."""
    return np.bincount(np.searchsorted(modes.valleys, values), minlength=modes.count)


def number_of_modes(fitted: MixtureFit) -> int:
    """How many modes of five runs or more a sample shows."""
    return int((runs_in(clear_modes(fitted), fitted.values) >= FEW_RUNS).sum())


def mode_order(
    values: npt.ArrayLike, modes: Modes, *, alpha: float = 0.01, permutations: int = 999, seed: int = 0
) -> ModeOrder:
    """Tell whether the modes of a sample alternate, come in blocks, or are a warm-up."""
    x = np.asarray(values, dtype=np.float64)
    label, counts, n = np.searchsorted(modes.valleys, x), runs_in(modes, x), x.size
    stretches = int(count_stretches(label))
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
        z = (stretches - expected) / stretches_sd(counts)
        fewer, more = (float(ndtr(side)) for side in (z, -z))
    else:
        orders = np.broadcast_to(label, (permutations, n))
        shuffled = count_stretches(np.random.default_rng(seed).permuted(orders, axis=1))
        fewer, more = (
            (int(as_extreme.sum()) + 1) / (permutations + 1)
            for as_extreme in (shuffled <= stretches, shuffled >= stretches)
        )
    pvalue = min(1.0, 2.0 * min(fewer, more))
    if pvalue > alpha:
        return ModeOrder("mixed", stretches, expected, pvalue)
    return ModeOrder("blocks" if fewer < more else "alternating", stretches, expected, pvalue)


def stretches_sd(counts: IntArray) -> float:
    """Standard deviation of the number of stretches in a random order (Barton and David 1957)."""
    c = counts.astype(np.float64)
    n, squares, cubes = c.sum(), (c**2).sum(), (c**3).sum()
    return float(np.sqrt((squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1))))


def count_stretches(label: IntArray) -> IntArray:
    """How many runs of equal labels follow each other."""
    return 1 + np.asarray((label[..., 1:] != label[..., :-1]).sum(axis=-1))
