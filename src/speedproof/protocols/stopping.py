"""When a benchmark has been measured enough."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from speedproof.errors import Parameter, UsageError
from speedproof.options import WORTH_KNOWING, BenchmarkSettings
from speedproof.protocols.claims import Demand


class StopRules(Struct, frozen=True):
    """When a benchmark has been measured enough."""

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
    quantile: float | None = (
        None  # what is compared is the quantile of this share, in place of the typical run
    )

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
    """What is asked of the runs of a session."""

    rules: StopRules
    metric: str = "time"  # which decides, and whether more of it is better
    higher_is_better: bool = False
    control: bool = False  # whether the second candidate is the reference, built again
    unaffected: Sequence[str] = ()  # benchmarks that the change cannot touch
    repeats: int = 1  # runs of each build
    benchmark: tuple[BenchmarkSettings, ...] = ()  # what a policy asks else of some

    def rules_of(self, benchmark: str) -> StopRules:
        """When a benchmark ends."""
        demand = self.rules.demand
        return (
            self.rules if demand is None else replace(self.rules, demand=demand.of(benchmark, self.benchmark))
        )
