"""The paired comparison of a number of blocks that was fixed beforehand: Wilcoxon's signed-rank test, exact.

Whoever looks once needs no bet. Under the assumption of :mod:`speedproof.stats.sequential`, given ``|d - c|`` all
signs of ``d - c`` are equally likely at the true ``c``; the test counts them at the end, and its inversion is the
bound. Ten blocks that prove a change in 35 % of sessions by the bets prove it in 75 % by this test.

Sources: F. Wilcoxon, Biometrics Bulletin 1, 1945; J. L. Hodges, E. L. Lehmann, Ann. Math. Statist. 34, 1963.
"""

from __future__ import annotations

import math

import numpy as np

from speedproof.arrays import FloatArray
from speedproof.stats.betting import FORECAST_FROM, scale_of
from speedproof.stats.sequential import PairedSequence, SequentialResult, bounds_of
from speedproof.stats.signed_rank import COUNTS_BELOW, signed_rank, upper_tail
from speedproof.stats.special import ndtri

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
