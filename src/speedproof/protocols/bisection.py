"""Which commit changed the speed: a search that may say "nothing changed", and proves what it blames.

1. The ends are compared, in pairs of runs, until a difference is likely, or until it is proven to be smaller
   than what matters.
2. The commit in the middle of the posterior of the first step is paired with one of the ends, again and again.
3. When one commit holds most of it, the commit is paired with its parent until it is proven that they differ.

Both proofs are those of the runner (:mod:`speedproof.stats.sequential`) and rest on no model; the posterior only
chooses what is measured next, and says how sure the place is. A commit is blamed for a difference to its parent,
so that is proven: a proof that the ends differ would add runs, and nothing to the claim.

Why it stays open, how much runs scatter and how many more would decide, are forecasts, which have no part in a
proof.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.culprit import step_posterior
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.scaling import Resolution
from speedproof.stats.sequential import PairedSequence, blocks_for_proof, scale_of, smallest_provable

# A step that holds this much of the posterior is put to the proof, and stays there until it holds less than that.
_CONFIRM_FROM = 0.5
_CONFIRM_TO = 0.25
# A commit is measured until the step lies to one side of it with this probability of error.
_TOLD = 0.3
_LEAST_PAIRS = 6
# The search begins after so many pairs of the ends, where equal ends hold less than this of the posterior.
_LEAST_ENDS = 4
_EQUAL = 0.02
# The first suspect's share of the risk; the t-th of the others has 1 / (t (t - 1)) of the rest.
_FIRST = 2 / 3
_LEAST_FOR_REST = 3
_LIKELY = 0.5


# Pairs of a search for each halving of what is left, in pairs that prove the ends: studies.bisection.
_PER_HALVING = 0.4


class Stage(enum.Enum):
    """The purpose of the next pair."""

    ENDS = "the ends"
    SEARCH = "the search"
    CONFIRM = "the confirmation"
    DONE = "nothing"


class BisectionOutcome(enum.Enum):
    """What was found.

    ``CULPRIT``: one step, confirmed against its parent. ``NOTHING``: the ends are proven to differ by less than
    what matters. ``UNPROVEN``: no difference of the ends is likely. ``OPEN``: it is, but no place is confirmed.
    """

    CULPRIT = "culprit"
    NOTHING = "nothing changed"
    UNPROVEN = "no change proven"
    OPEN = "not found"


class BisectionFinding(Struct, frozen=True):
    """What a bisection has found so far. Positions count from the oldest commit, 0."""

    outcome: BisectionOutcome  # what can be said
    alpha: float  # the risk of the confirmation, and of the proof that nothing changed
    # Where the step may be, oldest first: once it is confirmed its own positions, several when those between
    # could not be measured; until then the fewest that hold it with a posterior probability of at least 1 -
    # alpha
    credible: tuple[int, ...]
    probability: float  # theirs by the posterior, given that something changed
    # The step that is most likely: the last position before it and the first from it on that can be measured
    parent: int | None
    culprit: int | None
    change: float  # time at the newest end over time at the oldest; NaN before the first pair
    # Its certified bounds, each with risk alpha / 2
    change_low: float
    change_high: float
    # The same of the culprit against its parent; NaN, 0 and infinity before the first pair
    step: float
    step_low: float
    step_high: float
    # Interval, with confidence 1 - alpha, of the factor that the step leaves unexplained; NaN while unknown
    rest_low: float
    rest_high: float
    second: float  # posterior probability of a second step that way; 0 while the ends may be equal
    pairs: int  # pairs of runs so far
    skipped: tuple[int, ...]  # positions that could not be measured
    tick: float  # the step in which times were read, relative to the shortest; 0 when they tell none
    outlook: BisectionOutlook  # how much runs scatter and, when the bisection is open, what would end it

    @property
    def open(self) -> bool:
        """Whether further runs could resolve more."""
        return self.outcome in (BisectionOutcome.OPEN, BisectionOutcome.UNPROVEN)

    @property
    def more(self) -> bool:
        """Whether another change may remain beside the culprit."""
        return self.outcome is BisectionOutcome.CULPRIT and (self.unexplained or self.second > _LIKELY)

    @property
    def unexplained(self) -> bool:
        """Whether the interval of what the step leaves of the ends' difference lies to one side of none."""
        return not (self.rest_low <= 1 <= self.rest_high) and not math.isnan(self.rest_low)


class Bisection:
    """The state of a search; ask :meth:`next`, measure that pair, :meth:`add` it."""

    def __init__(self, count: int, *, alpha: float = 0.05, min_change: float = 0.01) -> None:
        self._last = count - 1
        self._alpha = alpha
        self._min_change = min_change
        self._sequences: dict[tuple[int, int], PairedSequence] = {}
        # A step and the sign of what it is to explain, with the pairs since it was suspected
        self._suspects: dict[tuple[tuple[int, int], int], PairedSequence] = {}
        self._rows: list[tuple[int, int, float]] = []
        self._skipped: set[int] = set()
        self._resolution = Resolution()
        self._shortest = math.inf
        self._masses: FloatArray | None = None
        self._none, self._second = 1.0, 0.0
        self._measurable: IntArray | None = None

    @property
    def pairs(self) -> int:
        """Number of pairs so far."""
        return len(self._rows)

    def add(self, before: int, after: int, time_before: float, time_after: float) -> None:
        """Add a pair of runs, measured in random order, of two positions; for higher-is-better swap the values."""
        suspect = (before, after), self._sign()  # which the pair itself has no part in
        if suspect not in self._suspects and all(i in self._skipped for i in range(before + 1, after)):
            turn = len(self._suspects) + 1
            share = _FIRST if turn == 1 else (1 - _FIRST) / (turn * (turn - 1))
            self._suspects[suspect] = PairedSequence(alpha=self._alpha * share)
        for position, value in ((before, time_before), (after, time_after)):
            self._resolution.add(value, position)
            self._shortest = min(self._shortest, value)
        ordinary = self._sequences.setdefault((before, after), PairedSequence(alpha=self._alpha / 2))
        for sequence in (
            ordinary,
            *(s for (step, _), s in self._suspects.items() if step == (before, after)),
        ):
            sequence.add(time_before, time_after, resolution=self._resolution.step)
        self._rows.append((before, after, math.log(time_after) - math.log(time_before)))
        self._masses = self._measurable = None

    def skip(self, position: int) -> None:
        """Exclude a position that cannot be built or run; the ends cannot be excluded."""
        self._skipped.add(position)
        self._masses = self._measurable = None

    def stage(self) -> Stage:
        """What the next pair is for."""
        if not self._likely():
            return Stage.DONE if self._nothing() else Stage.ENDS
        masses = self._posterior()
        best = int(np.argmax(masses))
        step = self._step(best)
        if self._confirmed(step):
            return Stage.DONE
        least = _CONFIRM_TO if (step, self._sign()) in self._suspects else _CONFIRM_FROM
        return Stage.CONFIRM if masses[best] >= least else Stage.SEARCH

    def next(self) -> tuple[int, int] | None:
        """The pair to measure next; None when all is proven."""
        stage = self.stage()
        if stage is Stage.DONE:
            return None
        if stage is Stage.ENDS:
            return 0, self._last
        masses = self._posterior()
        return self._step(int(np.argmax(masses))) if stage is Stage.CONFIRM else self._probe(masses)

    def _probe(self, masses: FloatArray) -> tuple[int, int]:
        """A commit with one of the ends in turn: the same until it has told its side, then the middle."""
        positions = self._positions()
        low, high = int(positions[0]), int(positions[-1])
        inner = positions[1:-1]
        before = np.cumsum(masses)[: inner.size]  # the probability of a step up to there
        lately = [k for k, i in enumerate(inner.tolist()) if i in self._rows[-1][:2]]
        settled = not lately or not _TOLD < before[lately[0]] < 1 - _TOLD
        middle = int(inner[np.argmin(np.abs(before - 0.5)) if settled else lately[0]])
        return (low, middle) if len(self._rows) % 2 else (middle, high)

    def _positions(self) -> IntArray:
        """The positions that can be measured."""
        if self._measurable is None:
            kept = [i for i in range(self._last + 1) if i not in self._skipped]
            self._measurable = np.array(kept, dtype=np.int64)
        return self._measurable

    def _step(self, number: int) -> tuple[int, int]:
        positions = self._positions()
        return int(positions[number]), int(positions[number + 1])

    def _posterior(self) -> FloatArray:
        """Of the first step between positions that can be measured, given that there is one."""
        if self._masses is None:
            positions = self._positions()
            before, after, differences = zip(*self._rows, strict=True)
            pairs = np.array(before), np.array(after), np.array(differences)
            first, self._none, self._second = step_posterior(*pairs, positions)
            self._masses = first / max(float(first.sum()), 1e-300)
        return self._masses

    def _ends(self) -> PairedSequence | None:
        return self._sequences.get((0, self._last))

    def _likely(self) -> bool:
        """Whether the ends seem to differ by what matters, by all pairs so far."""
        ends = self._ends()
        if ends is None or ends.blocks < _LEAST_ENDS or self._nothing():
            return False
        if abs(math.log(ends.middle())) < math.log1p(self._min_change):
            return self._differ()
        self._posterior()
        return self._none < _EQUAL or self._differ()

    def _sign(self) -> int:
        """1 if the newest end seems slower, else -1."""
        ends = self._ends()
        return 1 if ends is None or ends.middle() < 1.0 else -1

    def _differ(self) -> bool:
        """Proven by the pairs of the ends alone, with alpha / 2 for each direction, and not to be too little."""
        ends = self._ends()
        if ends is None or ends.blocks < _LEAST_PAIRS or self._nothing():
            return False
        result = ends.result()
        return result.faster or result.slower

    def _nothing(self) -> bool:
        ends = self._ends()
        return ends is not None and ends.blocks >= _LEAST_PAIRS and ends.result().equivalent(self._min_change)

    def _confirmed(self, step: tuple[int, int]) -> bool:
        """Proven to differ in the direction of the ends; suspects share the risk."""
        sequence = self._suspects.get((step, self._sign()))
        if sequence is None or sequence.blocks < _LEAST_PAIRS:
            return False
        result = sequence.result()
        return result.slower if self._sign() > 0 else result.faster

    def finding(self) -> BisectionFinding:
        """The findings so far."""
        ends = self._ends()
        outcome = BisectionOutcome.NOTHING if self._nothing() else BisectionOutcome.UNPROVEN
        step: tuple[int, int] | None = None
        credible: tuple[int, ...] = ()
        probability, second = math.nan, 0.0
        proven = outcome is not BisectionOutcome.NOTHING and self.stage() is Stage.DONE
        if ends is not None and (proven or self._likely()):
            outcome = BisectionOutcome.CULPRIT if proven else BisectionOutcome.OPEN
            masses = self._posterior()
            order = np.argsort(-masses, kind="stable")
            # A proof overrules what the model still holds possible.
            confirmed = outcome is BisectionOutcome.CULPRIT
            count = 1 if confirmed else int(np.searchsorted(np.cumsum(masses[order]), 1 - self._alpha)) + 1
            chosen = sorted(order[:count].tolist())
            credible = tuple(i for n in chosen for i in range(self._step(n)[0] + 1, self._step(n)[1] + 1))
            step, probability, second = self._step(int(order[0])), float(masses[chosen].sum()), self._second
        parent, culprit = step or (None, None)
        pair = self._suspects.get((step, self._sign()), self._sequences.get(step)) if step else None
        rest = self._rest(step) if step else (math.nan, math.nan)
        return BisectionFinding(
            outcome, self._alpha, credible, probability, parent, culprit, *_bounds(ends), *_bounds(pair), *rest,
            second, self.pairs, tuple(sorted(self._skipped)), self._resolution.step / self._shortest,
            self._outlook(outcome, credible),
        )  # fmt: skip

    def _outlook(self, outcome: BisectionOutcome, credible: tuple[int, ...]) -> BisectionOutlook:
        residuals = residuals_of(sequence.differences for sequence in self._sequences.values())
        ends = self._ends()
        if ends is not None and outcome is BisectionOutcome.UNPROVEN:
            return outlook_of_ends(ends, noise_of(residuals), self._min_change, self._alpha / 2)
        if ends is not None and outcome is BisectionOutcome.OPEN:
            pair = self.next() if self.stage() is Stage.CONFIRM else None
            step = self._sequences.get(pair) if pair else None
            return outlook_of_search(ends, step, len(credible), self.pairs, residuals, self._alpha / 2)
        return BisectionOutlook(noise_of(residuals))

    def _rest(self, step: tuple[int, int]) -> tuple[float, float]:
        """The inverted rank-sum test of the ends' changes against the step's."""
        samples = [self._sequences.get(pair) for pair in ((0, self._last), step)]
        if step == (0, self._last) or any(s is None or s.blocks < _LEAST_FOR_REST for s in samples):
            return math.nan, math.nan
        whole, part = (np.exp(-s.differences) for s in samples if s is not None)
        bounds = ratio_of_medians(whole, part, self._alpha / 2)
        return float(bounds.low), float(bounds.high)


def _bounds(sequence: PairedSequence | None) -> tuple[float, float, float]:
    """Time after over time before: estimate and bounds."""
    if sequence is None:
        return math.nan, 0.0, math.inf
    result = sequence.result()
    return 1 / sequence.estimate(), 1 / result.high, 1 / result.low if result.low > 0 else math.inf


class BisectionOutlook(Struct, frozen=True):
    """A forecast of what the bisection needs."""

    noise: float
    """Standard deviation of a run, relative; robust. NaN before the second pair."""
    more_runs: float = 0.0
    """About how many more decide; 0 when nothing is open, NaN below 10 pairs, infinite where runs never do."""
    enough_noise: float = math.nan
    """The noise at which the runs so far would have decided; NaN where that is not known."""
    visible: float = math.nan
    """The smallest change that as many pairs of the ends show in half of all bisections; NaN when decided."""


def residuals_of(groups: Iterable[FloatArray]) -> FloatArray:
    """The differences of pairs about the median of their kind."""
    return np.concatenate([np.empty(0), *(group - np.median(group) for group in groups if group.size > 1)])


def noise_of(residuals: FloatArray) -> float:
    """The noise of one run; a pair has twice its variance."""
    return scale_of(np.sort(residuals)) / math.sqrt(2) if residuals.size > 1 else math.nan


def outlook_of_ends(ends: PairedSequence, noise: float, least: float, alpha: float) -> BisectionOutlook:
    """Of a comparison that may end with a difference, or with one that is proven to be below the least."""
    equal = (ends.blocks_to_go(gamma=1 / (1 + least), side=1), ends.blocks_to_go(gamma=1 + least, side=-1))
    pairs = min(ends.blocks_to_go(side=1), ends.blocks_to_go(side=-1), max(equal))
    centred = ends.differences - np.median(ends.differences)
    visible = smallest_provable(centred, ends.blocks, alpha=alpha) - 1 if ends.blocks > 1 else math.nan
    return BisectionOutlook(noise, 2 * pairs, _enough(noise, ends.blocks, pairs), visible)


def outlook_of_search(
    ends: PairedSequence,
    step: PairedSequence | None,
    left: int,
    pairs: int,
    residuals: FloatArray,
    alpha: float,
) -> BisectionOutlook:
    """Of a search with so many commits left and pairs done; the step is that of the confirmation under way."""
    change = float(np.median(ends.differences))
    proof = blocks_for_proof(abs(change) + residuals, alpha)
    missing = math.nan if step is None else step.blocks_to_go(side=1 if change > 0 else -1)
    if not math.isfinite(missing):
        missing = proof
    more = missing + _PER_HALVING * math.log2(left) * proof
    noise = noise_of(residuals)
    return BisectionOutlook(noise, 2 * more, _enough(noise, pairs, more))


def _enough(noise: float, pairs: int, more: float) -> float:
    """Runs needed grow with the square of the noise."""
    return noise * math.sqrt(pairs / (pairs + more)) if math.isfinite(more) else math.nan
