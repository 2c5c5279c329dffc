"""Anytime-valid comparison of two versions from paired blocks: a betting martingale on signs.

If the true speedup is ``gamma``, the sign of ``d - c`` of a block is a fair coin
(:mod:`speedproof.stats.betting`). By Ville's inequality (1939) the wealth of whoever bets on it ever reaches ``1 /
alpha`` with a probability of at most ``alpha``: looking after every block costs nothing, and drift between blocks,
outliers and modes cannot break it. A proof is of all blocks so far: later ones that speak against it end it.
The wealth falls as ``gamma`` grows, so the speedups that are rejected form an interval, whose end is the certified
speedup. ``docs/tables.md`` has the proofs.

Whoever looks once needs no bet: of a number of blocks that was fixed beforehand, given ``|d - c|`` all signs of
``d - c`` are equally likely at the true ``c``; Wilcoxon's signed-rank test counts them at the end, and its
inversion is the bound. Ten blocks that prove a change in 35 % of sessions by the bets prove it in 75 % by it.

Sources: F. Wilcoxon, Biometrics Bulletin 1, 1945; J. L. Hodges, E. L. Lehmann, Ann. Math. Statist. 34, 1963.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.errors import DataError, UsageError
from speedproof.stats.betting import (
    FORECAST_FROM,
    LOG_WEIGHTS,
    bet,
    blocks_before,
    blocks_until,
    log_factors,
    mix,
    scale_of,
)
from speedproof.stats.location import hodges_lehmann
from speedproof.stats.scaling import middle
from speedproof.stats.signed_rank import COUNTS_BELOW, signed_rank, upper_tail
from speedproof.stats.special import decreasing_roots, ndtri

# The rounding of a sum of logarithms is far below this; it is held back from every rejection.
_ROUNDING = 1e-9
_TOLERANCE = 1e-10
# exp(700) is the edge of double precision: no finite bound is looked for beyond it.
_LOG_SPEEDUP_MAX = 700.0


class SequentialResult(Struct, frozen=True):
    """What the blocks so far prove, at any moment that one chooses to look.

    ``low > high`` has a probability of at most ``2 alpha`` if one speedup holds for all blocks; seen, it says that
    none does.
    """

    blocks: int  # number of blocks
    ties: int  # blocks whose two values were equal; they bet nothing at a speedup of 1
    # The risk of each side: that ``low`` errs in any block of the session has a probability of at most ``alpha``,
    # and so has it of ``high``; both together of at most twice that
    alpha: float
    # Certified bounds of the speedup: all blocks together reject everything below ``low`` and above ``high``.
    # 0 and infinity while nothing is
    low: float
    high: float
    # Anytime p-values against "the speedup is 1 or less" and "1 or more": one over the e-value, at most 1
    pvalue_faster: float
    pvalue_slower: float

    @property
    def untested(self) -> bool:
        """Whether nothing was tested yet: what is tested once waits for its last block."""
        return self.pvalue_faster == self.pvalue_slower == 1.0

    @property
    def faster(self) -> bool:
        """Whether the candidate is proven faster."""
        return self.pvalue_faster <= self.alpha and not self.contradictory

    @property
    def slower(self) -> bool:
        """Whether the candidate is proven slower."""
        return self.pvalue_slower <= self.alpha and not self.contradictory

    @property
    def contradictory(self) -> bool:
        """Whether no single speedup is left."""
        return self.low > self.high

    @property
    def precision(self) -> float:
        """Half the width of the certified interval, relative: sqrt(high / low) - 1; infinite without one."""
        return math.sqrt(self.high / self.low) - 1.0 if 0.0 < self.low <= self.high else math.inf

    def equivalent(self, margin: float) -> bool:
        """Whether the speedup is proven to lie strictly between ``1 / (1 + margin)`` and ``1 + margin``.

        Two one-sided tests: at most one of them can err, so the risk is ``alpha``.
        """
        return not self.contradictory and self.low > 1 / (1 + margin) and self.high < 1 + margin


def _log_ratio(above: float, below: float) -> float:
    """Logarithm of a ratio; the smallest there is for a value that may have been 0."""
    return math.log(above) - math.log(below) if above > 0.0 else -_LOG_SPEEDUP_MAX


def _speedup(logarithm: float) -> float:
    """Infinite beyond double precision."""
    return math.exp(logarithm) if logarithm < _LOG_SPEEDUP_MAX else math.inf


def bounds_of(low: float, high: float) -> tuple[float, float]:
    """Bounds from their logarithms; beyond double precision the largest speedup there is, and infinity."""
    return math.exp(min(low, _LOG_SPEEDUP_MAX)), _speedup(high)


class PairedSequence:
    """The running comparison of two versions; add blocks, look whenever you like.

    Exact if, with the true speedup divided out, a block's two runs can be exchanged, as in random order. Adding a
    block costs little, the bets on it wait for a look; bounds cost about 20 passes over the blocks.
    """

    def __init__(self, *, alpha: float = 0.05) -> None:
        if not 0 < alpha < 1:
            raise UsageError(f"the risk must lie between 0 and 1, not {alpha}")
        self._alpha = alpha
        self._threshold = -math.log(alpha) + _ROUNDING
        self._n = self._placed = 0
        self._ties = 0
        self.stepped = False  # whether some values were read in steps
        # Grown by doubling: differences and the scales before them in block order; the differences sorted; the
        # least and the most that the differences may have been before they were read.
        self._rows = np.empty((5, 64))
        self._at_one: dict[int, list[float]] = {side: LOG_WEIGHTS.tolist() for side in (1, -1)}
        self._result: SequentialResult | None = None

    @property
    def blocks(self) -> int:
        """Number of blocks so far."""
        return self._n

    @property
    def differences(self) -> FloatArray:
        """``log x - log y`` of the blocks so far, in order; shape (n,)."""
        return self._rows[0, : self._n].copy()

    def add(self, reference: float, candidate: float, *, resolution: float = 0.0) -> None:
        """Add a block."""
        for name, value in (("reference", reference), ("candidate", candidate)):
            if not (value > 0 and math.isfinite(value)):
                raise DataError(
                    f"block {self._n + 1}: the {name} is {value:g}; a speedup is a ratio and needs "
                    "positive values"
                )
        difference = math.log(reference) - math.log(candidate) if reference != candidate else 0.0
        n, half = self._n, 0.5 * resolution
        if n == self._rows.shape[1]:
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)], axis=1)
        self._rows[0, n] = self._rows[3, n] = self._rows[4, n] = difference
        if half > 0.0:
            self.stepped = True
            self._rows[3, n] = _log_ratio(reference - half, candidate + half)
            self._rows[4, n] = -_log_ratio(candidate - half, reference + half)
        self._n += 1
        self._ties += difference == 0.0
        self._result = None

    def _ordered(self) -> FloatArray:
        """The differences sorted; those that were added since the last look find their places and bets."""
        ordered: FloatArray = self._rows[2]
        for n in range(self._placed, self._n):
            difference, scale = self._rows.item(0, n), scale_of(ordered[:n])
            self._rows[1, n] = scale
            at = int(ordered[:n].searchsorted(difference))
            ordered[at + 1 : n + 1] = ordered[at:n].copy()
            ordered[at] = difference
            self._bet(difference, scale)
            self._placed = n + 1
        return ordered[: self._n]

    def _bet(self, difference: float, scale: float) -> None:
        """Bet on the next block."""
        for side, log_wealths in self._at_one.items():
            bet(log_wealths, side * difference, scale)

    @staticmethod
    def _row(side: int, shift: float) -> int:
        """The row of differences that a bet at this shift is about."""
        return 0 if shift == 0.0 else 3 if side == 1 else 4

    def log_evidence(self, gamma: float, *, side: int) -> float:
        """Logarithm of the present e-value against "the speedup is at most gamma"."""
        return mix(self._log_wealths(side, math.log(gamma)))

    def evidence(self, side: int) -> float:
        """The same at a speedup of 1, which is at hand."""
        self._ordered()
        return mix(self._at_one[side])

    def proves(self, side: int) -> bool:
        """Whether the bound of a side is beyond a speedup of 1."""
        return self.evidence(side) >= self._threshold

    def rejects(self, gamma: float, *, side: int) -> bool:
        """Whether the bound of a side is beyond a speedup: one pass over the blocks."""
        return self.log_evidence(gamma, side=side) >= self._threshold

    def blocks_before(self, gamma: float, *, side: int, risk: float) -> int:
        """How many more blocks it takes at least until one over the e-value may be at most the risk."""
        self._ordered()
        wealths = self._at_one[side] if gamma == 1.0 else self._log_wealths(side, math.log(gamma))
        return blocks_before(wealths, -math.log(risk) - _ROUNDING)

    def result(self) -> SequentialResult:
        """What the blocks so far prove."""
        if self._result is None:
            pvalues = (math.exp(-max(self.evidence(side) - _ROUNDING, 0.0)) for side in (1, -1))
            self._result = SequentialResult(self._n, self._ties, self._alpha, *self._bounds(), *pvalues)
        return self._result

    def estimate(self) -> float:
        """The speedup X / Y: the Hodges-Lehmann estimate of the blocks, kept inside the certified bounds.

        NaN without blocks or when the bounds contradict each other. The logarithms of block ratios scatter
        symmetrically about the true one, and both this and the bounds speak of that centre.
        """
        result = self.result()
        if self._n == 0 or result.contradictory:
            return math.nan
        return min(max(self.centre(), result.low), result.high)

    def middle(self) -> float:
        """The median of the block ratios: a cheap centre, for a look after every block; NaN without blocks."""
        if not self._n:
            return math.nan
        ordered = self._ordered()
        return _speedup(0.5 * float(ordered[(self._n - 1) // 2] + ordered[self._n // 2]))

    def attainable(self, side: int) -> float:
        """The median where the step of the values made it worst: about as far as a bound comes, however many."""
        worst = float(middle(self._rows[3 if side == 1 else 4, : self._n]))
        return math.exp(min(worst, _LOG_SPEEDUP_MAX))

    def centre(self) -> float:
        """The Hodges-Lehmann estimate of the blocks itself, wherever the bounds are; NaN without blocks."""
        return _speedup(hodges_lehmann(self._ordered())) if self._n else math.nan

    def blocks_to_go(self, *, gamma: float = 1.0, side: int) -> float:
        """About how many more blocks reject gamma; see :func:`~speedproof.stats.betting.blocks_until`."""
        missing = self._threshold - self.log_evidence(gamma, side=side)
        shift = math.log(gamma)
        differences = self._rows[self._row(side, shift), : self._n]
        return blocks_until(side * differences, missing, side * shift)

    def _log_wealths(self, side: int, shift: float) -> list[float]:
        self._ordered()
        scales = self._rows[1, : self._n]
        differences = self._rows[self._row(side, shift), : self._n]
        factors = log_factors(side * differences, scales, side * shift)
        return list((LOG_WEIGHTS + factors.sum(axis=0)).tolist())

    def _bounds(self) -> tuple[float, float]:
        """The furthest speedups that are rejected."""
        if not self._n:
            return 0.0, math.inf
        n, ordered = self._n, self._ordered()
        # Bounds move by about one n-th of the noise; a hundredth of that is left to the safe side.
        step = float(ordered[n - n // 2 :].sum() - ordered[: n // 2].sum()) / n**2
        # Side -1 is looked at in a mirror, where its bound rises, too; no bet wins at the largest difference.
        most = np.array([ordered[-1], -ordered[0]])
        ends, _ = decreasing_roots(
            self._beyond, most - max(step, _TOLERANCE), most, max(0.01 * step, _TOLERANCE)
        )
        # The verdict looks at the values as they were read, bounds at what they may have been.
        low, high = (
            max(end, 0.0) if self.proves(side) else min(end, -_TOLERANCE)
            for side, end in zip((1, -1), ends.tolist(), strict=True)
        )
        return bounds_of(low, -high)

    def _beyond(self, mirrored_shifts: FloatArray) -> FloatArray:
        """By how much the evidence of each side exceeds what a proof takes."""
        trials = zip((1, -1), mirrored_shifts.tolist(), strict=True)
        return np.array([mix(self._log_wealths(side, side * at)) - self._threshold for side, at in trials])


# Signed ranks need this many blocks for what a t-test of normal values does with one: pi / 3 of them.
_NORMAL_EFFICIENCY = 3 / math.pi
# A difference this close to the one under trial is a tie: logarithms of equal ratios differ by their rounding.
_TIE = 1e-12


def blocks_needed(effect: float, *, alpha: float, power: float = 0.8) -> float:
    """About how many blocks find a shift of so many standard deviations of a block, in a share of sessions."""
    level = float(-ndtri(alpha))
    reach = level + float(ndtri(power))
    # Guenther's correction for the variance that is not known; no rank test rejects with fewer than the last.
    blocks = ((reach / effect) ** 2 + 0.5 * level**2) / _NORMAL_EFFICIENCY if effect > 0 else math.inf
    return max(blocks, math.log2(1 / alpha))


class FixedPairs(PairedSequence):
    """Blocks are added as to a :class:`PairedSequence`; nothing is proven before :meth:`close`."""

    _closed: SequentialResult | None = None

    def _ordered(self) -> FloatArray:
        """The differences sorted; there are no bets, as the blocks are tested once."""
        return np.sort(self._rows[0, : self._n])

    def close(self) -> None:
        """All blocks are there: test them, once."""
        self._closed = self._tested()

    def result(self) -> SequentialResult:
        """What is proven."""
        if self._closed is not None:
            return self._closed
        return SequentialResult(self._n, self._ties, self._alpha, 0.0, math.inf, 1.0, 1.0)

    def log_evidence(self, gamma: float, *, side: int) -> float:
        """Minus the logarithm of the p-value against "the speedup is at most gamma" (side -1: at least)."""
        if self._closed is None:
            return -math.inf
        return -math.log(self._pvalue(side * self._sided(side, gamma), side * math.log(gamma)))

    def blocks_to_go(self, *, gamma: float = 1.0, side: int) -> float:
        """By how many more blocks a session had to be larger to prove it, in 8 of 10 such sessions."""
        if self._n < FORECAST_FROM or self._closed is None:
            return math.nan
        spread = scale_of(np.sort(self._rows[0, : self._n - 1]))
        if spread == 0.0:
            return math.inf
        effect = side * (math.log(self.centre()) - math.log(gamma))
        return max(blocks_needed(effect / spread, alpha=self._alpha) - self._n, 1.0)

    def _sided(self, side: int, gamma: float) -> FloatArray:
        return self._rows[self._row(side, math.log(gamma)), : self._n]

    def _pvalue(self, differences: FloatArray, shift: float) -> float:
        centred = differences - shift
        return signed_rank(np.where(np.abs(centred) <= _TIE, 0.0, centred)).pvalue_positive

    def _tested(self) -> SequentialResult:
        p = {side: self._pvalue(side * self._sided(side, 1.0), 0.0) for side in (1, -1)}
        bounds = {}
        for side in (1, -1):
            bound = self._bound(np.sort(side * self._rows[3 if side == 1 else 4, : self._n]))
            # The verdict looks at the differences as they were read, bounds at what they may have been.
            bounds[side] = side * (max(bound, 0.0) if p[side] <= self._alpha else min(bound, 0.0))
        ends = bounds_of(bounds[1], bounds[-1])
        return SequentialResult(self._n, self._ties, self._alpha, *ends, p[1], p[-1])

    def _bound(self, ordered: FloatArray) -> float:
        """The largest shift that is rejected, among the Walsh averages; minus infinity for too few blocks."""
        n = ordered.size
        if 2.0**-n > self._alpha:
            return -math.inf
        rows, columns = np.triu_indices(n)
        averages = np.sort(0.5 * (ordered[rows] + ordered[columns]))
        if n < COUNTS_BELOW:
            tail = upper_tail(tuple(range(2, 2 * n + 1, 2)))[::2]  # of no ties
            least = int(np.argmax(tail <= self._alpha))  # the smallest sum that rejects
        else:
            total = n * (n + 1)
            deviation = math.sqrt(total * (2 * n + 1) / 24)
            least = math.ceil(total / 4 - float(ndtri(self._alpha)) * deviation + 0.5)
        at = averages.size - least
        # Below an average the sum counts it; ties make the exact test coarser than its table.
        while at >= 0 and self._pvalue(ordered, float(averages[at]) - 2 * _TIE) > self._alpha:
            at -= 1
        return float(averages[at]) - 2 * _TIE if at >= 0 else -math.inf
