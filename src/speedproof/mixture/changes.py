"""What changed between two versions with several modes, and how a sample moves among its own.

A *state* is a mode with the values between its valleys. Two versions can share their states and fall into
them with other weights (the slow state is hit more often), or the states themselves can move (the code got
faster); a mean tells neither from the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, copysign, inf, ldexp, log
from typing import Literal

import numpy as np
import numpy.typing as npt

from speedproof.mixture.model import MixtureModel, Modes
from speedproof.stats.estimate import Estimate
from speedproof.stats.special import ndtr

__all__ = ["MatchedState", "ModeChanges", "StateOrder", "compare_modes", "state_order", "states"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

DIP = log(1.25)
"""Modes are told apart by a valley a fifth below the lower peak; shallower ones come and go by chance."""


FEW_RUNS = 5
"""Fewer runs than these are outliers rather than a state: where they lie says nothing of the next ones."""

MANY_RUNS = 2000
"""From so many on the normal distribution stands for the permutations of a sample."""


def states(model: MixtureModel) -> Modes:
    """Modes of a mixture that are told apart by a clear valley."""
    return model.modes().deeper_than(DIP)


@dataclass(frozen=True, slots=True)
class MatchedState:
    """A state that both versions have.

    Attributes
    ----------
    reference, candidate : float
        Where its mode lies in each version.
    ratio : Estimate
        Mean of its values in the reference over that in the candidate: above 1 the state got smaller.
    reference_share, candidate_share : float
        Share of the runs that fall into it.
    share_change : Estimate
        Candidate's share minus reference's.
    runs : int
        Runs in the state on the side that has fewer; with fewer than five its place is not compared.
    """

    reference: float
    candidate: float
    ratio: Estimate
    reference_share: float
    candidate_share: float
    share_change: Estimate
    runs: int

    @property
    def moved(self) -> bool:
        """Whether the interval of the ratio excludes 1, for a state of several runs."""
        return self.runs >= FEW_RUNS and not self.ratio.low <= 1.0 <= self.ratio.high

    @property
    def reweighted(self) -> bool:
        """Whether the interval of the change in share excludes 0."""
        return not self.share_change.low <= 0.0 <= self.share_change.high


@dataclass(frozen=True, slots=True)
class ModeChanges:
    """States of two versions, matched.

    Attributes
    ----------
    matched : tuple of MatchedState
        In order of place.
    vanished, appeared : tuple of float
        Modes of five runs or more that only the reference, only the candidate has.
    confidence : float
        Of all intervals together (Bonferroni).
    """

    matched: tuple[MatchedState, ...]
    vanished: tuple[float, ...]
    appeared: tuple[float, ...]
    confidence: float

    @property
    def moved(self) -> bool:
        """Whether some state moved."""
        return any(s.moved for s in self.matched)

    @property
    def reweighted(self) -> bool:
        """Whether some state is entered more or less often."""
        return any(s.reweighted for s in self.matched)

    def shifted(self, power: int) -> ModeChanges:
        """The same of values in another unit: places times two to the power."""
        return replace(
            self,
            matched=tuple(
                replace(s, reference=ldexp(s.reference, power), candidate=ldexp(s.candidate, power))
                for s in self.matched
            ),
            vanished=tuple(ldexp(place, power) for place in self.vanished),
            appeared=tuple(ldexp(place, power) for place in self.appeared),
        )

    @property
    def conclusion(self) -> str:
        """One sentence in plain words."""
        if self.vanished or self.appeared:
            counts = {"vanished": len(self.vanished), "appeared": len(self.appeared)}
            parts = [f"{n} state{'s' if n > 1 else ''} {what}" for what, n in counts.items() if n]
            return "the states differ: " + ", ".join(parts)
        if self.moved and self.reweighted:
            return "states moved, and runs fall into them with other weights"
        if self.moved:
            return "states moved: runs in the same state take another time"
        if self.reweighted:
            return "same states, other weights: runs fall into them more or less often"
        return "no change of the states is shown"


def compare_modes(
    reference: npt.ArrayLike,
    candidate: npt.ArrayLike,
    models: tuple[MixtureModel, MixtureModel],
    *,
    resamples: int = 400,
    seed: int = 0,
    confidence: float = 0.95,
) -> ModeChanges:
    """Match the states of two versions and say what changed.

    Equal numbers of states are matched in order; else the smaller set goes to those of the larger that lie
    nearest in place and share. Intervals resample the observations; valleys stay where they are.

    Parameters
    ----------
    reference, candidate : array_like
        The samples.
    models : pair of MixtureModel
        The mixtures fitted to them.
    resamples : int
        Bootstrap samples.
    seed : int
        The same seed gives the same intervals.
    confidence : float
        Of all intervals together.

    Returns
    -------
    ModeChanges
        Matched states, and those that only one version has.

    Examples
    --------
    >>> m = MixtureModel([0.5, 0.5], [10.0, 20.0], [0.5, 0.5]), MixtureModel([0.9, 0.1], [10.0, 20.0], [0.5, 0.5])
    >>> x, y = m[0].rvs(200, seed=1), m[1].rvs(200, seed=2)
    >>> compare_modes(x, y, m).conclusion
    'same states, other weights: runs fall into them more or less often'
    """
    samples = tuple(np.asarray(s, dtype=np.float64) for s in (reference, candidate))
    modes = tuple(states(m) for m in models)
    shares, means = zip(*(_shares_and_means(s, m) for s, m in zip(samples, modes, strict=True)), strict=True)
    pairs = _match(modes, shares)
    alpha = (1.0 - confidence) / (2 * len(pairs))
    draws = np.empty((resamples, 2, len(pairs)))
    for i, child in enumerate(np.random.SeedSequence(seed).spawn(resamples)):
        rng = np.random.default_rng(child)
        again = [s[rng.integers(0, s.size, s.size)] for s in samples]
        (p, a), (q, b) = (_shares_and_means(s, m) for s, m in zip(again, modes, strict=True))
        draws[i] = [[_over(a[j], b[k]) for j, k in pairs], [q[k] - p[j] for j, k in pairs]]
    with np.errstate(invalid="ignore"):  # between infinite ratios
        low, high = np.nanquantile(draws, [alpha / 2, 1 - alpha / 2], axis=0)
    matched = tuple(
        MatchedState(
            float(modes[0].places[j]),
            float(modes[1].places[k]),
            Estimate(_over(means[0][j], means[1][k]), float(low[0, i]), float(high[0, i]), 1 - alpha),
            float(shares[0][j]),
            float(shares[1][k]),
            Estimate(float(shares[1][k] - shares[0][j]), float(low[1, i]), float(high[1, i]), 1 - alpha),
            min(round(shares[0][j] * samples[0].size), round(shares[1][k] * samples[1].size)),
        )
        for i, (j, k) in enumerate(pairs)
    )
    used = tuple({pair[side] for pair in pairs} for side in (0, 1))
    lone = [
        tuple(
            float(p)
            for j, p in enumerate(m.places)
            if j not in u and round(share[j] * sample.size) >= FEW_RUNS
        )
        for m, u, share, sample in zip(modes, used, shares, samples, strict=True)
    ]
    return ModeChanges(matched, lone[0], lone[1], confidence)


def _over(reference: float, candidate: float) -> float:
    """The ratio of two means: 1 of two zeros, which did not move, infinite over a zero."""
    if candidate == 0.0:
        return 1.0 if reference == 0.0 else copysign(inf, reference)
    return float(reference) / float(candidate)


def _shares_and_means(values: Floats, modes: Modes) -> tuple[Floats, Floats]:
    """Share and mean of the values of each state; NaN for the mean of none."""
    label = np.searchsorted(modes.valleys, values)
    counts = np.bincount(label, minlength=modes.count)
    sums = np.bincount(label, weights=values, minlength=modes.count)
    means = np.divide(sums, counts, out=np.full(modes.count, np.nan), where=counts > 0)
    return counts / values.size, means


def _match(modes: Sequence[Modes], shares: Sequence[Floats]) -> list[tuple[int, int]]:
    """Pairs of states, in order, at the least sum of differences in place and in share."""
    few, many = (0, 1) if modes[0].count <= modes[1].count else (1, 0)
    span = max(float(np.ptp(np.concatenate([m.places for m in modes]))), np.finfo(float).tiny)

    def cost(chosen: tuple[int, ...]) -> float:
        picked = list(chosen)
        places = np.abs(modes[few].places - modes[many].places[picked]).sum() / span
        return float(places + np.abs(shares[few] - shares[many][picked]).sum())

    best = min(combinations(range(modes[many].count), modes[few].count), key=cost)
    return [(i, j) if few == 0 else (j, i) for i, j in enumerate(best)]


@dataclass(frozen=True, slots=True)
class StateOrder:
    """How a sample moves among its states, in run order.

    Attributes
    ----------
    kind : {"one state", "mixed", "blocks", "alternating", "warm-up"}
        ``mixed``: in no order that chance does not explain; ``blocks``: the same state stays longer than by
        chance (drift, frequency, neighbours); ``alternating``: it changes more often; ``warm-up``: one
        state is seen at the beginning only.
    stretches : int
        Maximal stretches of one state.
    expected : float
        Their number by chance.
    pvalue : float
        Of the stretches by permutation, both sides; of the warm-up that no later run falls into its state.
    """

    kind: Literal["one state", "mixed", "blocks", "alternating", "warm-up"]
    stretches: int
    expected: float
    pvalue: float


def state_order(
    values: npt.ArrayLike, model: MixtureModel, *, alpha: float = 0.01, permutations: int = 999, seed: int = 0
) -> StateOrder:
    """Tell whether the states of a sample alternate, come in blocks, or are a warm-up.

    Parameters
    ----------
    values : array_like, shape (n,)
        The sample in run order.
    model : MixtureModel
        Its mixture.
    alpha : float
        Risk of each statement.
    permutations : int
        Shuffles behind the p-value of the stretches.
    seed : int
        The same seed gives the same p-value.

    Returns
    -------
    StateOrder
        What the order looks like.

    Examples
    --------
    >>> m = MixtureModel([0.5, 0.5], [1.0, 2.0], [0.1, 0.1])
    >>> state_order([1.0, 2.0] * 20, m).kind, state_order([1.0] * 20 + [2.0] * 20, m).kind
    ('alternating', 'blocks')
    >>> state_order([2.0] * 4 + [1.0] * 36, m).kind
    'warm-up'
    """
    modes = states(model)
    label = np.searchsorted(modes.valleys, np.asarray(values, dtype=np.float64))
    n = label.size
    counts = np.bincount(label, minlength=modes.count)
    stretches = _stretches(label)
    # By chance neighbours differ with probability 1 - sum of c (c - 1) / n (n - 1).
    expected = 1.0 + (n - 1) * (1.0 - float((counts * (counts - 1)).sum()) / (n * (n - 1))) if n > 1 else 1.0
    if (counts > 0).sum() < 2:
        return StateOrder("one state", stretches, expected, 1.0)
    first = int(label[0])
    seen = int(counts[first])
    until = int(np.flatnonzero(label == first)[-1]) + 1
    if until <= n // 4:
        chance = comb(until, seen) / comb(n, seen)
        if chance <= alpha:
            return StateOrder("warm-up", stretches, expected, chance)
    if n > MANY_RUNS:
        z = (stretches - expected) / _stretches_sd(counts)
        fewer, more = (float(ndtr(side)) for side in (z, -z))
    else:
        rng = np.random.default_rng(seed)
        shuffled = np.array([_stretches(rng.permutation(label)) for _ in range(permutations)])
        fewer, more = (
            (int(as_extreme.sum()) + 1) / (permutations + 1)
            for as_extreme in (shuffled <= stretches, shuffled >= stretches)
        )
    pvalue = min(1.0, 2.0 * min(fewer, more))
    if pvalue > alpha:
        return StateOrder("mixed", stretches, expected, pvalue)
    return StateOrder("blocks" if fewer < more else "alternating", stretches, expected, pvalue)


def _stretches_sd(counts: Integers) -> float:
    """Standard deviation of the number of stretches in a random order (Barton and David 1957)."""
    c = counts.astype(np.float64)
    n, squares, cubes = c.sum(), (c**2).sum(), (c**3).sum()
    return float(np.sqrt((squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1))))


def _stretches(label: Integers) -> int:
    return 1 + int(np.count_nonzero(label[1:] != label[:-1]))
