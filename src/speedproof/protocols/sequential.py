"""The comparisons of one benchmark, looked at after every block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.data.sample import clock_of, written_unit
from speedproof.errors import DataError
from speedproof.protocols.assumptions import Assumption
from speedproof.protocols.results import Check, Verdict
from speedproof.protocols.stopping import StopRules
from speedproof.stats.dependence import drift
from speedproof.stats.estimate import Estimate
from speedproof.stats.fixed_pairs import FixedPairs
from speedproof.stats.forecast import FORECAST_FROM
from speedproof.stats.multiplicity import closed_test
from speedproof.stats.resolution import Resolution
from speedproof.stats.scaling import middle
from speedproof.stats.sequential import PairedSequence, SequentialResult
from speedproof.stats.special import t_sf
from speedproof.stats.symmetry import symmetry

PROVEN = "proven"
"""Why measuring a candidate ended when there was a verdict."""
ALL_MEASURED = "all of its blocks were measured"
"""Why a session of builds ended, which is tested once, then."""
WORSE_ON_AVERAGE = "on average it is worse by more than the margin"
"""Why a gate does not pass what is proven of typical runs."""
# How much of the observed effect the bound is to hold; in logarithms, so that directions are alike.
_SHARE = 0.5
# The rounding of a sum of logarithms is far below this.
_ROUNDING = 1e-9
# A skew that changes no answer is told when it is beyond doubt, one that does as soon as it shows.
_SKEW_LEVEL_AGREED = 0.01
_SKEW_LEVEL = 0.05
_DRIFT_LEVEL = 0.01


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
    warnings: tuple[Check, ...] = ()
    # What a gate says of it; empty where there is none, and of what cannot differ, which no gate judges
    gate: Literal["", "pass", "fail", "undecided"] = ""

    @property
    def certified(self) -> Estimate:
        """The speedup with its bounds."""
        return Estimate(self.estimate, self.result.low, self.result.high, 1 - self.result.alpha)


class SequentialComparison:
    """The comparisons of one benchmark: each candidate with the reference.

    Several candidates share the risk. Certified bounds: each comparison gets an equal part, so all bounds
    hold together. Verdicts: the closed test on the e-values of the open question "speedup of 1?", which
    rejects whatever equal parts reject, and usually more. A candidate that is decided leaves the race; its
    evidence stays.
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
        share = rules.alpha / max(len(self.candidates), 1)
        kind = FixedPairs if rules.fixed else PairedSequence
        self._sequences: dict[str, PairedSequence] = {name: kind(alpha=share) for name in self.candidates}
        self._proven: dict[int, set[str]] = {1: set(), -1: set()}
        self._reasons: dict[str, str] = {}
        self._fails: set[str] = set()
        self._effects: dict[str, float] = {}  # of what is proven, when it was last looked at
        self._resolution = Resolution(written_unit(clock_of(metric)))
        self.blocks = 0

    @property
    def runners(self) -> tuple[str, ...]:
        """The versions of the next block: the reference and every candidate that is open."""
        return (self.reference, *self.open())

    def add(self, block: Mapping[str, float]) -> None:
        """Add a block."""
        self.blocks += 1
        for name, value in block.items():
            self._resolution.add(value, name)
        if self.reference in block:
            self._pair(block)
        if self._rules.fixed and self.blocks == self._rules.max_blocks:
            for sequence in self._sequences.values():
                if isinstance(sequence, FixedPairs):
                    sequence.close()
        self._decide()

    def _pair(self, block: Mapping[str, float]) -> None:
        step = self._resolution.step
        for name in self.candidates:
            if name in block:
                x, y = block[self.reference], block[name]
                try:
                    self._sequences[name].add(*((y, x) if self._swap else (x, y)), resolution=step)
                except DataError as error:
                    raise DataError(
                        f"{self.benchmark}, {name} against {self.reference}, {self.metric}: {error}; decide by a "
                        "metric that is never 0, or let the programs do more"
                    ) from None

    def _decide(self) -> None:
        if not self.candidates:
            return
        # Nothing changes for who left; of the others, what all blocks do not prove any more is not proven.
        open_ = set(self.open())
        for side, proven in self._proven.items():
            evidence = [self._sequences[name].evidence(side) for name in self.candidates]
            proven -= open_
            # Where none is rejected even alone: work between blocks leaves cold caches to the next run.
            if max(evidence) >= -math.log(self._rules.alpha):
                rejected = closed_test(evidence, alpha=self._rules.alpha)
                proven |= open_ & {n for n, r in zip(self.candidates, rejected, strict=True) if r}
        if (gate := self._rules.gate) is not None:
            threshold = math.log(gate.family / self._rules.alpha) + _ROUNDING
            lost = {n for n in open_ if self._sequences[n].log_evidence(gate.edge, side=-1) >= threshold}
            self._fails = self._fails - open_ | lost
        if self.blocks < self._rules.min_blocks:
            return
        if self._rules.max_blocks is not None and self.blocks >= self._rules.max_blocks:
            # It ends here whatever was found: where both numbers are the same, the size was fixed beforehand.
            if self._rules.fixed:
                self._reasons = {name: self._reasons.get(name, ALL_MEASURED) for name in self.candidates}
            return
        for name in self.open():
            if reason := self._finished(name):
                self._reasons[name] = reason

    def _finished(self, name: str) -> str:
        rules, sequence = self._rules, self._sequences[name]
        # Bounds take many passes over the blocks: what one pass says comes first.
        if rules.gate is not None:
            if name not in self._fails and not sequence.rejects(rules.gate.edge, side=1):
                return ""
            return {"pass": "it passes", "fail": "it fails"}.get(self._at_gate(name, sequence.result()), "")
        if rules.precision is not None:
            if sequence.blocks % (1 + sequence.blocks // 100):
                return ""
            return "the precision is reached" if sequence.result().precision <= rules.precision else ""
        m = rules.margin
        same = m is not None and sequence.rejects(1 / (1 + m), side=1) and sequence.rejects(1 + m, side=-1)
        sides = [side for side, proven in self._proven.items() if name in proven]
        if not (same or any(rules.stop_at_proof or self._shown(name, side) for side in sides)):
            return ""
        return PROVEN if self._verdict(name, sequence.result()) is not Verdict.UNDECIDED else ""

    def _at_gate(self, name: str, result: SequentialResult) -> Literal["", "pass", "fail", "undecided"]:
        gate = self._rules.gate
        if gate is None:
            return ""
        passes, fails = result.low > gate.edge, name in self._fails
        if passes == fails or result.contradictory or self._worse_on_average(name, result):
            return "undecided"
        return "pass" if passes else "fail"

    def _worse_on_average(self, name: str, result: SequentialResult) -> bool:
        """Whether typical runs pass the gate, and the mean of as many blocks would prove the margin lost."""
        gate = self._rules.gate
        if gate is None or not result.low > gate.edge:
            return False
        return mean_below(self._sequences[name].differences, math.log(gate.edge)) <= result.alpha

    def _shown(self, name: str, side: int) -> bool:
        """Whether the bound holds half of the effect, in logarithms, or as much as it ever may."""
        sequence = self._sequences[name]
        middle = sequence.middle()
        effect = side * math.log(middle) if 0.0 < middle < math.inf else -math.inf
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

    def _verdict(self, name: str, result: SequentialResult) -> Verdict:
        faster, slower = (name in self._proven[side] for side in (1, -1))
        if result.contradictory or (faster and slower):
            return Verdict.UNDECIDED
        if self._rules.margin is not None and result.equivalent(self._rules.margin):
            return Verdict.EQUIVALENT
        return Verdict.FASTER if faster else Verdict.SLOWER if slower else Verdict.UNDECIDED

    def stopped(self) -> tuple[str, ...]:
        """The candidates that left because of what their values showed.

        A precision is reached whoever is ahead, and a candidate without a block left for none of its values.
        """
        if self._rules.fixed or self._rules.precision is not None:
            return ()
        return tuple(name for name in self._reasons if self._sequences[name].blocks)

    def open(self) -> tuple[str, ...]:
        """The candidates that are still measured."""
        return tuple(name for name in self.candidates if name not in self._reasons)

    def drop(self, candidate: str, reason: str) -> None:
        """Let a candidate leave the race for a reason that is none of its values."""
        self._reasons[candidate] = reason

    def warnings(self, candidate: str) -> tuple[Check, ...]:
        """Whether the blocks are what the comparison assumes; in sentences, and costly for long sessions."""
        return block_checks(self._sequences[candidate].differences, candidate)

    def findings(self) -> tuple[CandidateResult, ...]:
        """What is known of every candidate."""
        found = []
        for name, sequence in self._sequences.items():
            result = sequence.result()
            found.append(
                CandidateResult(
                    self.benchmark,
                    self.reference,
                    name,
                    self._verdict(name, result),
                    result,
                    sequence.estimate(),
                    WORSE_ON_AVERAGE if self._worse_on_average(name, result) else self._reasons.get(name, ""),
                    self._blocks_to_go(name, sequence, result),
                    self.metric,
                    gate=self._at_gate(name, result),
                )
            )
        return tuple(found)

    def _blocks_to_go(self, name: str, sequence: PairedSequence, result: SequentialResult) -> float:
        rules = self._rules
        verdict = self._verdict(name, result)
        if name in self._reasons and not (rules.fixed and verdict is Verdict.UNDECIDED):
            return 0.0
        if rules.precision is not None:
            if result.precision <= rules.precision:
                return 0.0
            if result.blocks < FORECAST_FROM or math.isinf(result.precision):
                return math.nan
            # The width shrinks with the square root of the number of blocks.
            return result.blocks * ((result.precision / rules.precision) ** 2 - 1)
        if rules.gate is not None:
            ways = [sequence.blocks_to_go(gamma=rules.gate.edge, side=side) for side in (1, -1)]
            return float(np.fmin.reduce(ways))
        if verdict in (Verdict.FASTER, Verdict.SLOWER) and not rules.stop_at_proof:
            side = 1 if verdict is Verdict.FASTER else -1
            return sequence.blocks_to_go(gamma=sequence.middle() ** _SHARE, side=side)
        return blocks_needed(sequence, rules.margin)


def blocks_needed(sequence: PairedSequence, margin: float | None) -> float:
    """About how many more blocks until there is a verdict; NaN when it is too early to say, infinity for never."""
    ways = [sequence.blocks_to_go(side=side) for side in (1, -1)]
    if margin is not None:
        above = sequence.blocks_to_go(gamma=1 / (1 + margin), side=1)
        below = sequence.blocks_to_go(gamma=1 + margin, side=-1)
        ways.append(float(np.maximum(above, below)))
    # What is proven already is known, even where the other ways are not.
    return float(np.fmin.reduce(ways))


def mean_below(differences: FloatArray, edge: float) -> float:
    """The p-value of a mean below an edge, by Student's t test of blocks; 1 of fewer than two."""
    n, lost = differences.size, edge - float(differences.mean()) if differences.size else 0.0
    error = float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    if error == 0.0:
        return 0.0 if lost > 0.0 else 1.0
    return float(t_sf(np.asarray(lost / error), n - 1.0)) if n > 1 else 1.0


def block_checks(differences: FloatArray, candidate: str = "") -> tuple[Check, ...]:
    """Whether the blocks are what the comparison assumes; in sentences, and costly for long sessions."""
    found = []
    if differences.size:
        signs = np.sign([differences.mean(), middle(differences), np.sign(differences).sum()])
        agreed = bool(np.all(signs == 1.0) or np.all(signs == -1.0))
        skewed = symmetry(differences)
        if skewed.pvalue <= (_SKEW_LEVEL_AGREED if agreed else _SKEW_LEVEL):
            told = f"the ratios of the blocks are skewed (p {skewed.pvalue:.2g}): " + (
                "mean, median and most blocks agree on who is faster; the bounds are approximate"
                if agreed
                else "who is faster depends on what is asked, mean, median or a single run"
            )
            found.append(Check.warning(Assumption.BLOCK_SYMMETRY, candidate, told, pvalue=skewed.pvalue))
        changing = float(drift(differences).pvalue)
        if changing <= _DRIFT_LEVEL:
            told = f"the speedup changed while it was measured (p {changing:.2g})"
            found.append(Check.warning(Assumption.STEADY_SPEEDUP, candidate, told, pvalue=changing))
    return tuple(found)
