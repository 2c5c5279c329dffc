"""What may be claimed of a speedup, what a policy asks, what the proven claims say, when enough is measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.errors import Parameter, UsageError
from speedproof.options import WORTH_KNOWING, BenchmarkSettings, Multiplicity, Policy, Undecided
from speedproof.stats.multiplicity import benjamini_hochberg, holm

if TYPE_CHECKING:
    from speedproof.protocols.results import Comparison


MULTIPLICITIES: dict[Multiplicity, Callable[[ArrayLike], FloatArray]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": lambda pvalues: np.asarray(pvalues, dtype=np.float64),
}
"""From the p-values of a family to the p-values that are compared with alpha."""


class Outcome(StrEnum):
    """The decision of a policy on one benchmark, or on all."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"

    def exit_code(self, undecided: Undecided | None = None) -> int:
        """The exit code of a command with this outcome; an undecided one may be mapped to another."""
        meant = undecided if self is Outcome.UNDECIDED else self
        return {"pass": 0, "fail": 1}.get(str(meant), 3)


class Demand(Struct, frozen=True, dict=True):
    """The policy and margin of one benchmark."""

    policy: Policy = Policy.NO_REGRESSION  # the kind of proof
    # Positive: the speedup may fall to c = 1 / (1 + margin), or lie between c and 1 / c. A proven improvement
    # is one over 1, whatever the margin
    margin: float = 0.02

    def __post_init__(self) -> None:
        if not 0 < self.margin < math.inf:
            raise ValueError(f"the margin must be positive, not {self.margin:g}")

    def of(self, benchmark: str, settings: Iterable[BenchmarkSettings]) -> Demand | None:
        """The demand on a benchmark after all matching settings, later ones first."""
        policy, margin, ignored = self.policy, self.margin, False
        for one in settings:
            if one.matches(benchmark):
                policy, margin = one.policy or policy, one.margin or margin
                ignored = ignored if one.ignore is None else one.ignore
        return None if ignored else Demand(policy, margin)

    @property
    def terms(self) -> PolicyTerms:
        """What the policy means."""
        return POLICIES[self.policy]

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """Where the speedups end that it asks for."""
        return self.terms.edges(self.margin)


class Statement(Struct, frozen=True):
    """What may be claimed of a speedup: between low = 1 / (1 + margin) and high = 1 + margin, or beyond."""

    hypothesis: str
    text: str  # as a report words it
    evidence: Callable[[Comparison], float]  # the p-value against its null, of a comparison at the margin


STATEMENTS = {
    "not worse": Statement(
        "speedup > {low}", "not {worse} by more than {margin}", attrgetter("at_margin.not_worse")
    ),
    "regression": Statement(
        "speedup < {low}", "{worse} by more than {margin}", attrgetter("at_margin.worse")
    ),
    "improvement": Statement("speedup > 1", "{better}", attrgetter("pvalue")),
    "slowdown": Statement("speedup < 1", "{worse}", attrgetter("pvalue_slower")),
    "equivalence": Statement(
        "{low} < speedup < {high}", "the same within {margin}", attrgetter("at_margin.equivalent")
    ),
    "difference": Statement(
        "speedup < {low} or speedup > {high}",
        "different by more than {margin}",
        attrgetter("at_margin.different"),
    ),
}


class PolicyTerms(Struct, frozen=True):
    """What a policy means."""

    asks: str  # the claim that meets it: a key of :data:`STATEMENTS`
    denies: str  # the claim that contradicts it
    edges: Callable[[float], tuple[float, ...]]  # by the margin, where the speedups end that it asks for
    limit: str  # in a column
    may: str  # what an undecided benchmark may do, in a sentence


POLICIES = {
    Policy.NO_REGRESSION: PolicyTerms(
        "not worse",
        "regression",
        lambda margin: (1 / (1 + margin),),
        "+{margin}",
        "may be over {margin} {worse}",
    ),
    Policy.PROVEN_IMPROVEMENT: PolicyTerms(
        "improvement", "slowdown", lambda margin: (1.0,), "{better}", "may not be {better}"
    ),
    Policy.EQUIVALENCE: PolicyTerms(
        "equivalence",
        "difference",
        lambda margin: (1 / (1 + margin), 1 + margin),
        "±{margin}",
        "may differ by over {margin}",
    ),
}
LENIENT = POLICIES[Policy.NO_REGRESSION]
"""What meets any other policy meets this, and what fails it fails any other."""
ASKS = {policy: (terms.asks, terms.denies) for policy, terms in POLICIES.items()}
"""For each policy the claim that meets it and the claim that contradicts it."""


def evidence_of_mean(pvalue: Callable[..., float], denies: str, margin: float, alpha: float) -> float:
    """The p-value against the null of what contradicts a policy, by one of those of a :class:`MeanLogRatio`.

    Of some over alpha, 1.
    """
    edge = 0.0 if denies == "slowdown" else math.log1p(margin)
    worse = pvalue(-edge, less=True, most=alpha)
    return min(1.0, 2 * min(worse, pvalue(edge, most=alpha))) if denies == "difference" else worse


def overall(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome over all benchmarks, those that the candidate lacks among them."""
    seen = set(outcomes)
    if Outcome.FAIL in seen:
        return Outcome.FAIL
    return Outcome.PASS if seen == {Outcome.PASS} else Outcome.UNDECIDED


class Claim(Struct, frozen=True):
    """One statement on a benchmark's speedup and whether it is proven."""

    name: str  # a key of :data:`STATEMENTS`
    hypothesis: str  # what it says of the speedup
    pvalue: float  # of the test of its opposite; NaN where the protocol stopped before a test
    # What is compared with alpha: corrected over all benchmarks, or the p-value itself for a requirement
    adjusted: float
    proven: bool  # whether ``adjusted`` is at most alpha, and nothing withholds it


def judge(required: Claim, contradicted: Claim) -> Outcome:
    """The outcome of one benchmark, from the required and the contradicting claim."""
    if contradicted.proven:
        return Outcome.FAIL
    return Outcome.PASS if required.proven else Outcome.UNDECIDED


def claim(
    name: str, margin: float, pvalue: float, adjusted: float, alpha: float, *, withheld: bool = False
) -> Claim:
    """A claim by its key of :data:`STATEMENTS`."""
    return Claim(name, _hypothesis(name, margin), pvalue, adjusted, adjusted <= alpha and not withheld)


@lru_cache
def _hypothesis(name: str, margin: float) -> str:
    return STATEMENTS[name].hypothesis.format(low=f"{1 / (1 + margin):.4g}", high=f"{1 + margin:.4g}")


class StopRules(Struct, frozen=True):
    """The rules by which a benchmark stops."""

    alpha: float  # of each side, for all candidates together
    # What was asked for: the speedup is proven to lie within ``[1/(1 + margin), 1 + margin]``; see ``within``
    margin: float | None = None
    # Do not stop for a verdict, but when both bounds are this close: ``sqrt(high / low) - 1``
    precision: float | None = None
    min_blocks: int = 10  # blocks before any verdict may end the benchmark
    max_blocks: int | None = None  # blocks after which it ends
    max_time: float | None = None  # seconds of one session, for all its benchmarks
    # Stop when there is a verdict; otherwise only when its bound holds at least half of the observed effect,
    # as "at least 1.001x" is of little use to somebody who sees 1.05x
    stop_at_proof: bool = False
    # Stop when what a policy asks is proven, or its opposite: that nothing was lost beyond its margin
    demand: Demand | None = None
    # There will be ``max_blocks`` blocks, whatever they show: they are tested once, at the end
    fixed: bool = False
    # How many comparisons are held to the demand. To pass wrongly, all tests must reject, also that of a benchmark
    # that lost too much, so a pass needs no correction; one false fail is enough, so a fail has the risk over
    # their number
    family: int = 1
    # What is compared is the quantile of this share, in place of the typical run
    quantile: float | None = None

    def __post_init__(self) -> None:
        if self.min_blocks < 1:
            raise UsageError(Parameter("min_runs", self.min_blocks), ": at least 1")
        if self.max_blocks is not None and self.max_blocks < self.min_blocks:
            both = Parameter("min_runs", self.min_blocks), " and ", Parameter("max_runs", self.max_blocks)
            raise UsageError(*both, " leave nothing to measure")

    @property
    def within(self) -> float | None:
        """How close two versions are the same, asked for or not; None where a policy or a fixed number ends it."""
        if self.margin is not None or self.demand is not None or self.fixed:
            return self.margin
        return WORTH_KNOWING


class SessionQuestion(Struct, frozen=True):
    """The question that the runs of a session answer."""

    rules: StopRules
    metric: str = "time"  # which decides, and whether more of it is better
    higher_is_better: bool = False
    control: bool = False  # whether the second candidate is the reference, built again
    unaffected: Sequence[str] = ()  # benchmarks that the change cannot touch
    repeats: int = 1  # runs of each build
    benchmark: tuple[BenchmarkSettings, ...] = ()  # what a policy asks else of some

    def rules_of(self, benchmark: str) -> StopRules:
        """The stopping rules of a benchmark."""
        demand = self.rules.demand
        return (
            self.rules if demand is None else replace(self.rules, demand=demand.of(benchmark, self.benchmark))
        )
