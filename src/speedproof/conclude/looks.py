"""The comparisons of one benchmark, looked at after every block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.conclude.claims import Outcome, StopRules
from speedproof.data.notes import Note
from speedproof.data.sample import above_zero, clock_of, written_unit
from speedproof.errors import DataError
from speedproof.protocols.aggregates import MeanLogRatio
from speedproof.protocols.in_blocks import (
    block_checks,
    blocks_to_differ,
    blocks_to_same,
    pvalue_at,
    verdict_on,
)
from speedproof.protocols.results import Verdict
from speedproof.stats.estimate import Estimate
from speedproof.stats.scaling import Resolution
from speedproof.stats.sequential import (
    FORECAST_FROM,
    FixedPairs,
    PairedSequence,
    QuantileSequence,
    SequentialResult,
)

PROVEN = "proven"
"""Why measuring a candidate ended when there was a verdict."""
ALL_MEASURED = "all of its blocks were measured"
"""Why a session of builds ended, which is tested once, then."""
WORSE_ON_AVERAGE = "on average it misses its limit"
"""Why a policy is not met by what is proven of typical runs."""
# How much of the observed effect the bound is to hold; in logarithms, so that directions are alike.
_SHARE = 0.5


class CandidateResult(Struct, frozen=True):
    """What a benchmark says of one candidate so far."""

    # What was compared
    benchmark: str
    reference: str
    candidate: str
    verdict: Verdict  # jointly for all candidates at the risk of the rules, per side
    result: SequentialResult  # evidence and certified bounds, at the candidate's share of the risk
    estimate: float  # the speedup X / Y, inside the certified bounds; NaN when they contradict each other
    reason: str  # why measuring this candidate ended; empty while it goes on
    # About how many blocks until it is decided: a guess at the order of magnitude. NaN when it is too early
    # for one (fewer than 10 blocks, or a precision of which one bound is still missing), infinity when no end
    # is in sight
    blocks_to_go: float
    metric: str = "time"  # what was compared
    # What the risk does not cover, in sentences: runs that failed, a program that was replaced, block ratios
    # that are skewed
    warnings: tuple[Note, ...] = ()
    outcome: Outcome | None = None  # what a policy says of it, where there is one

    @property
    def certified(self) -> Estimate:
        """The speedup with its bounds."""
        return Estimate(self.estimate, self.result.low, self.result.high, 1 - self.result.alpha)


class SequentialComparison:
    """The comparisons of one benchmark: each candidate with the reference.

    Several candidates share the risk: each comparison gets an equal part, so that all bounds, and the verdicts
    that they show, hold together. A candidate that is decided leaves the race; its evidence stays.
    """

    def __init__(
        self,
        benchmark: str,
        versions: Sequence[str],
        rules: StopRules,
        *,
        metric: str = "time",
        higher_is_better: bool = False,
    ) -> None:
        self.benchmark = benchmark
        self.metric = metric
        self.reference = versions[0]
        self.candidates = tuple(versions[1:])
        self._rules = rules
        self._swap = higher_is_better
        # A quantile of rates is that of the time that one takes.
        self._turned = higher_is_better and rules.quantile is not None
        self._sequences = {
            name: _sequence_of(rules, rules.alpha / len(self.candidates)) for name in self.candidates
        }
        self._reasons: dict[str, str] = {}
        self._effects: dict[str, float] = {}  # of what is proven, when it was last looked at
        self._unit = written_unit(clock_of(metric))
        self._resolutions = {name: Resolution() for name in self.candidates}
        self.blocks = 0
        self._next_look = rules.min_blocks

    @property
    def runners(self) -> tuple[str, ...]:
        """The versions of the next block: the reference and every candidate that is open."""
        return (self.reference, *self.open())

    @property
    def certain(self) -> float:
        """How many blocks there will be before one that may end it for what it shows."""
        return max(self._next_look - self.blocks, 1) if self.candidates else math.inf

    def add(self, block: Mapping[str, float]) -> None:
        """Add a block."""
        self.blocks += 1
        block = {name: above_zero(value, self._unit) for name, value in block.items()}
        if self.reference in block:
            self._pair(block)
        if self._rules.fixed and self.blocks == self._rules.max_blocks:
            for sequence in self._sequences.values():
                if isinstance(sequence, FixedPairs):
                    sequence.close()
        self._decide()

    def _pair(self, block: Mapping[str, float]) -> None:
        for name in self.candidates:
            if name in block:
                x, y = block[self.reference], block[name]
                resolution = self._resolutions[name]
                resolution.add(x, self.reference)
                resolution.add(y, name)
                try:
                    x, y = (1.0 / x, 1.0 / y) if self._turned else (y, x) if self._swap else (x, y)
                    self._sequences[name].add(x, y, resolution=resolution.step)
                except DataError as error:
                    raise DataError(
                        f"{self.benchmark}, {name} against {self.reference}, {self.metric}: {error}; decide by a "
                        "metric that is never 0, or let the programs do more"
                    ) from None

    def _decide(self) -> None:
        # Work between blocks leaves cold caches to the next run: nothing is looked at before it can end.
        if self.blocks < self._next_look:
            return
        if self._rules.max_blocks is not None and self.blocks >= self._rules.max_blocks:
            # It ends here whatever was found: where both numbers are the same, the size was fixed beforehand.
            if self._rules.fixed:
                self._reasons = {name: self._reasons.get(name, ALL_MEASURED) for name in self.candidates}
            return
        for name in self.open():
            if reason := self._finished(name):
                self._reasons[name] = reason
        self._next_look = self.blocks + min(map(self._quiet, self.open()), default=1)

    def _quiet(self, name: str) -> int:
        """After how many blocks, at least, a candidate may be finished."""
        rules, sequence = self._rules, self._sequences[name]
        if rules.precision is not None:
            return 1
        edge, *_ = (1.0,) if rules.demand is None else rules.demand.edges
        blocks = min(sequence.blocks_before(edge, side=side, risk=rules.alpha) for side in (1, -1))
        if (m := rules.within) is not None:
            same = (sequence.blocks_before((1 + m) ** -side, side=side, risk=rules.alpha) for side in (1, -1))
            blocks = min(blocks, max(same))
        return blocks

    def _finished(self, name: str) -> str:
        rules, sequence = self._rules, self._sequences[name]
        # Bounds take many passes over the blocks: what one pass says comes first.
        if rules.demand is not None:
            outcome = self._held(name)
            return (
                ""
                if outcome is Outcome.UNDECIDED
                else f"it {outcome}{'es' if outcome is Outcome.PASS else 's'}"
            )
        if rules.precision is not None:
            if sequence.blocks % (1 + sequence.blocks // 100):
                return ""
            return "the precision is reached" if sequence.result().precision <= rules.precision else ""
        m = rules.within
        same = m is not None and sequence.rejects(1 / (1 + m), side=1) and sequence.rejects(1 + m, side=-1)
        sides = [side for side in (1, -1) if sequence.proves(side)]
        if not (same or any(rules.stop_at_proof or self._shown(name, side) for side in sides)):
            return ""
        return PROVEN if self._verdict(sequence.result()) is not Verdict.UNDECIDED else ""

    def _held(self, name: str) -> Outcome | None:
        """What the policy says of a candidate so far."""
        rules, sequence = self._rules, self._sequences[name]
        if rules.demand is None:
            return None
        (edge, *_), shares = rules.demand.edges, (len(self.candidates), rules.family)
        meets, misses = (
            pvalue_at(sequence, edge, side) * share <= rules.alpha
            for side, share in zip((1, -1), shares, strict=True)
        )
        if not (meets or misses):
            return Outcome.UNDECIDED
        # Bounds take many passes over the blocks: what one pass says comes first.
        result = sequence.result()
        meets = result.low > edge
        if meets == misses or result.contradictory or self._worse_on_average(name, result):
            return Outcome.UNDECIDED
        return Outcome.PASS if meets else Outcome.FAIL

    def _worse_on_average(self, name: str, result: SequentialResult) -> bool:
        """Whether typical runs meet the policy, and the mean of as many blocks would prove the margin lost."""
        if self._rules.demand is None:
            return False
        edge, *_ = self._rules.demand.edges
        mean = mean_of_blocks(self._sequences[name].differences)
        return result.low > edge and mean.pvalue(math.log(edge), less=True) <= result.alpha

    def _shown(self, name: str, side: int) -> bool:
        """Whether the bound holds half of the effect, in logarithms, or as much as it ever may."""
        sequence = self._sequences[name]
        effect = side * math.log(sequence.middle())
        before, self._effects[name] = self._effects.get(name, 0.0), effect
        # A block that lowers the estimate ends nothing: a bound must not look good for want of an effect.
        if effect < max(before, 0.0):
            return False
        if sequence.rejects(math.exp(side * _SHARE * effect), side=side):
            # The estimate that is printed costs more, and is looked at where the cheap one will do.
            effect = max(effect, side * math.log(sequence.centre()))
        # Values in coarse steps may be half a step off, however many there are; without steps bounds can pass
        # the median, where ratios are skewed.
        near = sequence.stepped and side * math.log(sequence.attainable(side)) <= _SHARE * effect
        return near or sequence.rejects(math.exp(side * _SHARE * effect), side=side)

    def _verdict(self, result: SequentialResult) -> Verdict:
        return verdict_on(result, self._rules.margin, self._rules.within)

    def stopped(self) -> tuple[str, ...]:
        """The candidates that left because of what their values showed.

        A precision is reached whoever is ahead, and a candidate without a block left for none of its values.
        """
        if self._rules.fixed or self._rules.precision is not None:
            return ()
        return tuple(name for name in self._reasons if self._sequences[name].blocks)

    @property
    def left(self) -> int | None:
        """Blocks up to a number that was fixed beforehand, and is tested once; None where a look may end it."""
        rules = self._rules
        return rules.max_blocks - self.blocks if rules.max_blocks == rules.min_blocks else None

    def open(self) -> tuple[str, ...]:
        """The candidates that are still measured."""
        return tuple(name for name in self.candidates if name not in self._reasons)

    def drop(self, candidate: str, reason: str) -> None:
        """Let a candidate leave the race for a reason that is none of its values."""
        self._reasons[candidate] = reason

    def warnings(self, candidate: str) -> tuple[Note, ...]:
        """Whether the blocks are what the comparison assumes; in sentences, and costly for long sessions."""
        if self._rules.quantile is not None:
            return ()  # nothing is assumed of the ratios within blocks
        return block_checks(self._sequences[candidate].differences, candidate)

    def findings(self) -> tuple[CandidateResult, ...]:
        """What is known of every candidate."""
        results = []
        for name, sequence in self._sequences.items():
            result = sequence.result()
            results.append(
                CandidateResult(
                    self.benchmark,
                    self.reference,
                    name,
                    self._verdict(result),
                    result,
                    sequence.estimate(),
                    WORSE_ON_AVERAGE if self._worse_on_average(name, result) else self._reasons.get(name, ""),
                    self._blocks_to_go(name, sequence, result),
                    self.metric,
                    (),
                    self._held(name),
                )
            )
        return tuple(results)

    def _blocks_to_go(self, name: str, sequence: PairedSequence, result: SequentialResult) -> float:
        rules = self._rules
        verdict = self._verdict(result)
        if name in self._reasons and not (rules.fixed and verdict is Verdict.UNDECIDED):
            return 0.0
        if rules.precision is not None:
            if result.precision <= rules.precision:
                return 0.0
            if result.blocks < FORECAST_FROM or math.isinf(result.precision):
                return math.nan
            # The width shrinks with the square root of the number of blocks.
            return result.blocks * ((result.precision / rules.precision) ** 2 - 1)
        if rules.demand is not None:
            edge, *_ = rules.demand.edges
            ways = [sequence.blocks_to_go(gamma=edge, side=side) for side in (1, -1)]
            return float(np.fmin.reduce(ways))
        if verdict in (Verdict.FASTER, Verdict.SLOWER) and not rules.stop_at_proof:
            side = 1 if verdict is Verdict.FASTER else -1
            return sequence.blocks_to_go(gamma=sequence.middle() ** _SHARE, side=side)
        ways = [blocks_to_differ(sequence)]
        if rules.within is not None:
            ways.append(blocks_to_same(sequence, rules.within))
        # What is proven already is known, even where the other ways are not.
        return float(np.fmin.reduce(ways))


def _sequence_of(rules: StopRules, alpha: float) -> PairedSequence:
    if rules.quantile is not None:
        return QuantileSequence(rules.quantile, alpha=alpha)
    return FixedPairs(alpha=alpha) if rules.fixed else PairedSequence(alpha=alpha)


def mean_of_blocks(differences: FloatArray) -> MeanLogRatio:
    """The mean of the logarithms of the block ratios, for Student's t test; no looks are allowed for."""
    n = differences.size
    mean = float(differences.mean()) if n else math.nan
    error = float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return MeanLogRatio(mean, mean, error, n - 1.0)
