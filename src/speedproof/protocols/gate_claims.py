"""What may be claimed of a speedup at a gate, and the decision from the p-values of the claims.

How the decision holds its risk is told in :mod:`speedproof.protocols.gate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.options import Location, Multiplicity, Policy
from speedproof.protocols.aggregates import MeanLogRatio
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Comparison
from speedproof.stats.multiplicity import benjamini_hochberg, holm

MULTIPLICITIES: dict[Multiplicity, Callable[[npt.ArrayLike], FloatArray]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": lambda pvalues: np.asarray(pvalues, dtype=np.float64),
}
"""From the p-values of a family to the p-values that are compared with alpha."""


class Outcome(StrEnum):
    """Of one benchmark, and of the gate."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"


class Demand(Struct, frozen=True):
    """What one benchmark must prove."""

    policy: Policy = Policy.NO_REGRESSION  # the kind of proof
    # Positive: the speedup may fall to c = 1 / (1 + margin), or lie between c and 1 / c. A proven improvement
    # is one over 1, whatever the margin
    margin: float = 0.02

    def __post_init__(self) -> None:
        if not 0 < self.margin < math.inf:
            raise ValueError(f"the margin must be positive, not {self.margin:g}")

    @property
    def edges(self) -> tuple[float, ...]:
        """Where the speedups end that it asks for."""
        low, high = 1 / (1 + self.margin), 1 + self.margin
        return {"no-regression": (low,), "proven-improvement": (1.0,), "equivalence": (low, high)}[
            self.policy
        ]


class GateRules(Struct, frozen=True):
    """How the gate decides."""

    # The risk of a false pass, and (corrected) of a false fail, in the range that
    # :class:`speedproof.protocols.pair.Rules` allows; of one look, where there are several
    alpha: float = 0.05
    multiplicity: Multiplicity = "holm"  # how p-values are corrected where one claim among many is enough
    protocol: Location = "typical"  # whose test decides; by default that of the headline of ``compare``
    # How many benchmarks there are, where some were decided at an earlier look and are not among those here
    family: int = 0
    # Which look this is, and how many there will be
    look: int = 1
    looks: int = 1

    def __post_init__(self) -> None:
        Rules(alpha=self.alpha)  # refuses a risk out of range


_SAYS = {
    "not_worse": "speedup > {low}",
    "regression": "speedup < {low}",
    "improvement": "speedup > 1",
    "slowdown": "speedup < 1",
    "equivalence": "{low} < speedup < {high}",
    "difference": "speedup < {low} or speedup > {high}",
}


def evidence(comparison: Comparison) -> dict[str, float]:
    """P-values against the nulls of what may be claimed of a speedup, from one comparison at a margin."""
    at = comparison.at_margin
    if at is None:
        raise ValueError("a gate needs comparisons that were made with a margin")
    pvalues = (
        at.not_worse,
        at.worse,
        comparison.pvalue,
        comparison.pvalue_slower,
        at.equivalent,
        at.different,
    )
    return dict(zip(_SAYS, pvalues, strict=True))


def evidence_of_mean(mean: MeanLogRatio, margin: float) -> dict[str, float]:
    """P-values against the nulls of what contradicts a policy, from the logarithm of a ratio of means."""
    edge = math.log1p(margin)
    worse, better = mean.pvalue(-edge, less=True), mean.pvalue(edge)
    either = min(1.0, 2 * min(worse, better))
    return {"regression": worse, "slowdown": mean.pvalue(less=True), "difference": either}


def judge(required: npt.ArrayLike, contradicted: npt.ArrayLike, alpha: float) -> Outcome:
    """The gate's answer from the p-values of all benchmarks."""
    if (np.asarray(contradicted) <= alpha).any():
        return Outcome.FAIL
    return Outcome.PASS if (np.asarray(required) <= alpha).all() else Outcome.UNDECIDED


class Hypothesis(Struct, frozen=True):
    """One statement on a benchmark's speedup and whether it is proven."""

    name: str  # a key of :func:`evidence` in words: ``"not worse"``, ``"regression"``, ...
    hypothesis: str  # what it says of the speedup
    pvalue: float  # of the test of its opposite; NaN where the protocol stopped before a test
    # What is compared with alpha: corrected over all benchmarks, or the p-value itself for a requirement
    adjusted: float
    proven: bool  # whether ``adjusted`` is at most alpha


ASKS = {
    Policy.NO_REGRESSION: ("not_worse", "regression"),
    Policy.PROVEN_IMPROVEMENT: ("improvement", "slowdown"),
    Policy.EQUIVALENCE: ("equivalence", "difference"),
}
"""What each policy asks, and what contradicts it: keys of :func:`evidence`."""

CLAIMED = ("not_worse", "regression", "improvement", "equivalence")
"""The claims that are made of every benchmark, whatever the policy."""


def claim(name: str, margin: float, pvalue: float, adjusted: float, alpha: float) -> Hypothesis:
    """A claim by its key of :func:`evidence`."""
    text = _SAYS[name].format(low=f"{1 / (1 + margin):.4g}", high=f"{1 + margin:.4g}")
    return Hypothesis(name.replace("_", " "), text, pvalue, adjusted, bool(adjusted <= alpha))
