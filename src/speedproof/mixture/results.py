"""What is known of a sample's mixture, and what was asked of it: plain numbers, without the means to fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from speedproof.data.sample import Sample
from speedproof.data.suite import Key

ALPHA = 0.05
"""Risk of the test."""

FEW_RUNS = 5
"""Fewer runs than these are outliers rather than a mode: where they lie says nothing of the next ones."""


def too_few(n: int, components: int) -> bool:
    """Whether there are so few values that components may be due to chance."""
    return components > 1 and n < FEW_RUNS * components


class ModeOrder(Struct, frozen=True):
    """How a sample moves among its modes, in run order."""

    # ``mixed``: in no order that chance does not explain; ``blocks``: the same mode stays longer than by
    # chance (drift, frequency, neighbours); ``alternating``: it changes more often; ``warm-up``: one mode is
    # seen at the beginning only
    kind: Literal["one mode", "mixed", "blocks", "alternating", "warm-up"]
    stretches: int  # maximal stretches of one mode
    expected: float  # their number by chance
    # Of the stretches by permutation, both sides; of the warm-up that no later run falls into its mode
    pvalue: float


class Component(Struct, frozen=True):
    """One normal distribution of the mixture, in the unit of the sample."""

    weight: float
    mean: float
    sd: float


class Mode(Struct, frozen=True):
    """A peak of five runs or more: its place, the share of the runs between its valleys, its depth.

    The place is the peak, or the median of the runs where a minority of them makes it.

    ``dip`` is the share by which the shallower neighbouring valley lies below the lower peak; None for a
    single mode.
    """

    place: float
    share: float
    dip: float | None


class FitTest(Struct, frozen=True):
    """The bootstrap test: distance, p-value, and how it was made."""

    distance: float
    pvalue: float
    critical: float | None
    bootstraps: int
    size: int
    fast: bool
    """Whether fits of bootstrap samples stopped adding components early; of the mixture itself see ``note``."""
    drawn: int | None = None
    """Of a sample of more than 4,000 values so many were drawn at random, fitted and tested."""


class Family(Struct, frozen=True):
    """A family with two parameters, fitted to a sample."""

    name: str
    parameters: tuple[tuple[str, float], ...]  # by name, sizes in the unit of the sample
    # BIC is the larger the better, as that of the mixture
    loglik: float
    bic: float
    pvalue: float | None  # of the bootstrap test of the fit; None without one


class Analysis(Struct, frozen=True):
    """What the mixture says of a sample."""

    n: int  # observations
    kind: str  # ``"E"`` common variance, ``"V"`` variances of their own, ``"X"`` one component
    components: tuple[Component, ...]  # by ascending mean
    modes: tuple[Mode, ...]  # that the runs show; fewer than five runs make none; VARCORE's are all peaks
    # BIC is the larger the better
    loglik: float
    bic: float
    converged: bool  # whether EM converged
    resolution: float | None  # step of the grid of the values, when fit and test know of the rounding
    test: FitTest | None  # none when no bootstrap was asked for
    order: ModeOrder  # how the runs move among the modes
    note: str = ""  # what was done with values nested in processes, or with many where fast; empty otherwise
    compatible: bool = False  # whether VARCORE's rules were followed
    at_limit: bool = False  # whether the mixture has the largest number of components that was tried
    families: tuple[Family, ...] = ()  # others that were fitted, the largest BIC first; none unless asked for


Models = Sequence[tuple[Key, str, Sample, Analysis]]


class Questions(Struct, frozen=True):
    """What is asked of every mixture."""

    quantiles: tuple[float, ...] = ()  # probabilities
    below: tuple[tuple[float, str], ...] = ()  # values with their base unit
    metrics: bool = False  # whether the versions of a benchmark are compared by I1 to I4
    delta: tuple[float, str] = (0.0, "")  # head start in I2
    observations: bool = False  # whether the values of each component are listed


class Versus(Struct, frozen=True):
    """I1 = E|X - Y| and I2 = P[X < Y + delta] against another version: of the samples, of the mixtures."""

    other: str
    gap: tuple[float, float]
    below: tuple[float, float]


class Indices(Struct, frozen=True):
    """I1 and I2 against each other version, I3 = P[X < all others] in both forms, I4 = peaks of the mixture."""

    versus: tuple[Versus, ...]
    least: tuple[float, float]
    peaks: int


LIMITS_RISK = 0.05
"""Of each limit of a quantile."""


class Answered(Struct, frozen=True):
    """Of one sample: pairs of probability and quantile, of value and P[X <= value], the values of components."""

    quantiles: list[tuple[float, float]]
    # Of each quantile by the values alone, whatever their distribution: two limits, each of risk 5 %; of nested
    # values one a process counts
    limits: list[tuple[float, float]]
    below: list[tuple[float, float]]
    observations: list[list[float]] | None
