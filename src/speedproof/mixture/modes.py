"""The clear modes of a mixture, and how a sample moves among them in run order.

Several modes are a claim: that no law with one mode explains the runs as well. The laws with one mode are of any
skew, from a cusp to a flat top, with the normal in their midst. Their density falls from the mode m as
exp(-((m - x) / a)^b) on the left and exp(-((x - m) / c)^b) on the right. Given m and b the likelihood has its
maximum in closed form. b = 1 has the exponential and Laplace's law, b = 2 the normal, large b the uniform; b below
1 has heavy tails.

The bars were set by ``studies/modes.py``. Of fewer than 200 values no rule both sees modes four deviations apart
and never takes a skewed law for two; so two modes of one width are shown there as soon as no normal and no flat
law explains them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import comb, lgamma, log

import numpy as np

from speedproof.arrays import ArrayLike, FloatArray, IntArray
from speedproof.mixture import em
from speedproof.mixture.em import condensed
from speedproof.mixture.fitting import MixtureFit, standardise
from speedproof.mixture.grid import without_ties
from speedproof.mixture.model import MixtureModel, Modes
from speedproof.mixture.results import FEW_RUNS, ModeOrder
from speedproof.mixture.search import table
from speedproof.stats.ranks import ascending
from speedproof.stats.special import ndtr

DIP = log(1.25)
"""Modes are told apart by a valley a fifth below the lower peak; shallower ones come and go by chance."""

MANY_RUNS = 2000
"""From so many on the normal distribution stands for permutations of a sample, quantiles for its values."""

MARGIN = 12.0
"""Of BIC, by which a mixture must beat every law with one mode."""

_SHAPES = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 64.0)
_PLACES = 41


def clear_modes(fitted: MixtureFit) -> Modes:
    """The modes that a sample shows: peaks, with valleys between them that no law with one mode explains.

    Neighbouring peaks of five runs or more are one mode unless `several` tells that
    their runs have more. What lies apart with fewer runs are outliers, of which nothing is claimed.
    """
    modes = fitted.model.modes().deeper_than(DIP)
    if fitted.components == 1:
        return modes
    x = condensed(without_ties(ascending(fitted.values), fitted.resolution), MANY_RUNS)
    joined: Modes | None = modes
    interval: tuple[float, float] | None = None  # where one mode is
    while joined is not None:
        modes = joined
        held = np.flatnonzero(runs_in(modes, x) >= FEW_RUNS).tolist()
        edges = np.concatenate([[-np.inf], modes.valleys, [np.inf]])
        joined = None
        for first, last in sorted(pairwise(held), key=lambda pair: modes.dips[pair[0] : pair[1]].max()):
            low, high = edges[first], edges[last + 1]
            if not several(x[(x > low) & (x <= high)], fitted, low, high):
                joined, interval = modes.joined(first, last), (low, high)
                break
    if len(held) != 1 or interval == (low := edges[held[0]], high := edges[held[0] + 1]):
        return modes
    two = of_one_width(x[(x > low) & (x <= high)])
    return modes if two is None else modes.parted(held[0], two)


def runs_in(modes: Modes, values: FloatArray) -> IntArray:
    """The number of values in each mode."""
    return np.bincount(np.searchsorted(modes.valleys, values), minlength=modes.count)


def number_of_modes(fitted: MixtureFit) -> int:
    """How many modes of five runs or more a sample shows."""
    return int((runs_in(clear_modes(fitted), fitted.values) >= FEW_RUNS).sum())


def mode_order(
    values: ArrayLike, modes: Modes, *, alpha: float = 0.01, permutations: int = 999, seed: int = 0
) -> ModeOrder:
    """Tell whether the modes of a sample alternate, come in blocks, or are a warm-up."""
    x = np.asarray(values, dtype=np.float64)
    label, n = np.searchsorted(modes.valleys, x), x.size
    counts = np.bincount(label, minlength=modes.count)
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
    """The number of stretches of equal labels."""
    return 1 + np.asarray((label[..., 1:] != label[..., :-1]).sum(axis=-1))


def one_mode(x: FloatArray) -> tuple[float, float]:
    """Log-likelihoods of the likeliest laws with one mode, of sorted values that are not all equal.

    First of the symmetric, no more peaked than the normal, with three parameters; then of any shape, with four.
    """
    n, span = x.size, float(x[-1] - x[0])
    quantiles = np.interp(np.linspace(0.0, n - 1.0, _PLACES), np.arange(n), x)
    modes = np.append(quantiles, [x.mean(), 0.5 * (x[0] + x[-1])])
    off = x - modes[:, None]
    np.abs(np.divide(off, span, out=off), out=off)
    below = np.searchsorted(x, modes)  # so many, which come first
    parts = np.ravel(np.arange(modes.size) * n + np.array([np.zeros_like(below), below]), order="F")
    symmetric, skewed = [], []
    for b, far in zip(_SHAPES, _powers(off), strict=True):
        left, right = np.add.reduceat(far.ravel(), parts).reshape(-1, 2).T
        left = np.where(below > 0, left, 0.0)  # the sum of nothing
        width = left ** (1.0 / (b + 1.0)) + right ** (1.0 / (b + 1.0))
        constant = -lgamma(1.0 + 1.0 / b) - 1.0 / b - np.log(span)
        skewed.append((constant - np.log(width) - np.log(b * width / n) / b).max())
        if b >= 2.0:
            symmetric.append((constant - np.log(2.0) - np.log(b * (left + right) / n) / b).max())
    return n * float(max(symmetric)), n * float(max(skewed))


def _powers(off: FloatArray) -> Iterator[FloatArray]:
    """Numbers to the power of each shape, by products but for one."""
    far, square = np.empty((2, *off.shape))  # no new memory for each
    yield np.sqrt(off, out=far)
    yield np.power(off, 0.7, out=square)
    yield off
    yield np.multiply(far, off, out=far)
    yield np.multiply(off, off, out=square)
    yield np.multiply(square, off, out=far)
    for times in (1, 1, 1, 2):  # 4, 8, 16, 64
        for _ in range(times):
            np.multiply(square, square, out=square)
        yield square


def several(x: FloatArray, fitted: MixtureFit, low: float, high: float) -> bool:
    """Whether sorted values between two places have more modes than one, as the fitted mixture has."""
    model, n = fitted.model, x.size
    K = int(((model.means > low) & (model.means <= high)).sum())
    parameters = em.free_parameters(K, em.V if fitted.kind == "V" else em.E)
    inside = float(model.cdf(high) - model.cdf(low))
    laws = one_mode(x)
    gain = 2.0 * (model.loglik(x) - n * log(inside) - laws[1])
    return gain - (parameters - 4) * log(n) > MARGIN or of_one_width(x, laws) is not None


def of_one_width(x: FloatArray, laws: tuple[float, float] | None = None) -> Modes | None:
    """Two modes of one width, where sorted values have them: of few values it takes less to believe in these.

    ``laws`` are what :func:`one_mode` tells of x, where it was asked.
    """
    if x.size < 2 * FEW_RUNS or x[0] == x[-1]:
        return None
    u, centre, scale = standardise(x)
    mixtures = table(u, 2, 0.0, every=True)
    normal, two = mixtures.loglik[:, em.E].tolist()
    if not 2.0 * (two - normal) > 6.5:
        return None
    symmetric, skewed = (law + x.size * log(scale) for law in laws or one_mode(x))
    bar = min(MARGIN, max(-5.0, 0.1 * x.size - 10.0))
    if not (2.0 * (two - symmetric) > 70.0 / x.size and 2.0 * (two - skewed) > bar):
        return None
    w, mu, v = mixtures.mixtures[1, em.E]
    modes = MixtureModel(w, centre + scale * mu, scale * np.sqrt(v)).modes()
    few = np.bincount(np.searchsorted(modes.valleys, x)).min() < FEW_RUNS
    return None if modes.count < 2 or few else modes
