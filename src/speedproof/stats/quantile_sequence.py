"""Anytime-valid comparison of one quantile of two versions: bets on how many runs lie beyond it.

Let F hold that the quantile of share q of x is at most c: a run lies above c with a probability of at most 1 - q.
Let G hold that that of y is at least d: a run lies below d with a probability of at most q. Against a probability
of at most p the mixture over larger ones of the likelihood ratio,

    E(k, n) = sum over p' > p of B(p') (p'/p)^k ((1 - p')/(1 - p))^(n - k),

with k of n runs and weights B of a beta distribution around p, is a nonnegative supermartingale (H. Robbins,
Ann. Math. Statist. 41, 1970), whatever the distribution of the runs. If the ratio of the quantiles is
at most gamma, both F and G hold for some c with d = c / gamma; so the least product of the two E over all c never
exceeds that of two supermartingales, which reaches 1 / alpha with a probability of at most alpha (J. Ville 1939).
Runs of a block that are slow together make the product smaller still.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from speedproof.arrays import ArrayPair, FloatArray
from speedproof.stats.betting import FORECAST_FROM
from speedproof.stats.quantile_ratio import Quantiles
from speedproof.stats.sequential import PairedSequence, bounds_of
from speedproof.stats.special import halved

# Runs that the beta distribution is worth: as many as what is to be found soon takes. It cannot harm validity.
_WORTH = 15.0
# Logarithms of the ratio of the odds at which it is taken: close to 0, too, as bounds go on to shrink.
_APART: FloatArray = np.geomspace(0.01, 8.0, 48)


class QuantileSequence(PairedSequence):
    """Blocks are added as to a :class:`PairedSequence`; what is proven is of the ratio of two quantiles.

    Valid where a run lies beyond its version's quantile with the same probability, whatever runs were before.

    Examples
    --------
    >>> sequence = QuantileSequence(0.9)
    >>> for i in range(200):
    ...     sequence.add(2.0 + i * 7 % 10, 1.0 + i * 3 % 10 / 4)
    >>> round(sequence.result().low, 2), round(sequence.estimate(), 2)
    (3.08, 3.37)
    """

    def __init__(self, q: float, *, alpha: float = 0.05) -> None:
        super().__init__(alpha=alpha)
        self._q = q
        self._logs: tuple[list[float], list[float]] = ([], [])
        self._tables: ArrayPair | None = None
        self._at: dict[int, float] = {}

    def add(self, reference: float, candidate: float, *, resolution: float = 0.0) -> None:
        """Add a block; a resolution changes nothing, as ties count on neither side."""
        super().add(reference, candidate)
        for logs, value in zip(self._logs, (reference, candidate), strict=True):
            logs.append(math.log(value))
        self._tables, self._at = None, {}

    def log_evidence(self, gamma: float, *, side: int) -> float:
        """Logarithm of the present e-value against "the ratio of the quantiles is at most gamma"."""
        return self._log_evidence(side * math.log(gamma), side)

    def evidence(self, side: int) -> float:
        """The same at a ratio of 1."""
        if side not in self._at:
            self._at[side] = self._log_evidence(0.0, side)
        return self._at[side]

    def blocks_before(self, gamma: float, *, side: int, risk: float) -> int:
        """The next one may do."""
        return 1

    def _log_evidence(self, shift: float, side: int) -> float:
        """Against the ratio of the slow side's quantile to the fast side's, in logarithms."""
        n = len(self._logs[0])
        if not n:
            return 0.0
        if self._tables is None:
            self._tables = _log_evidence_of_counts(n, 1.0 - self._q), _log_evidence_of_counts(n, self._q)
        slow, fast = (np.sort(logs) for logs in self._logs[::side])
        # The product is least where the first factor has just fallen: below all, or at a run of the slow side.
        above = n - np.concatenate([[0], np.searchsorted(slow, slow, side="right")])
        below = np.concatenate([[0], np.searchsorted(fast + shift, slow, side="left")])
        return float((self._tables[0][above] + self._tables[1][below]).min())

    def _bounds(self) -> tuple[float, float]:
        """The furthest ratios that are rejected."""
        if not self._n:
            return 0.0, math.inf
        ends = []
        for side in (1, -1):
            slow, fast = self._logs[::side]
            least, most = min(slow) - max(fast) - 1.0, max(slow) - min(fast) + 1.0
            if self._falls_short(side, least):
                ends.append(-math.inf)
                continue
            first = halved(partial(self._falls_short, side), least, most)
            ends.append(math.nextafter(first, -math.inf))
        return bounds_of(ends[0], -ends[1])

    def _falls_short(self, side: int, shift: float) -> bool:
        return self._log_evidence(shift, side) < self._threshold

    def centre(self) -> float:
        """The ratio of the quantiles, as observed; NaN without blocks."""
        if not self._n:
            return math.nan
        x, y = (np.exp(logs)[None] for logs in self._logs)
        return float(Quantiles.of(x, y, self._q).ratio[0])

    def middle(self) -> float:
        """The same."""
        return self.centre()

    def blocks_to_go(self, *, gamma: float = 1.0, side: int) -> float:
        """About how many more blocks reject gamma, if evidence goes on to grow as it did."""
        if self._n < FORECAST_FROM:
            return math.nan
        evidence = self.log_evidence(gamma, side=side)
        missing = self._threshold - evidence
        if missing <= 0.0:
            return 0.0
        return missing * self._n / evidence if evidence > 0.0 else math.inf


@lru_cache(maxsize=512)
def _log_evidence_of_counts(n: int, p: float) -> FloatArray:
    """Logarithms of E for all counts from 0 to n."""
    odds = p / (1.0 - p) * np.exp(_APART)
    larger = odds / (1.0 + odds)
    weights = _APART * larger ** (_WORTH * p) * (1.0 - larger) ** (_WORTH * (1.0 - p))
    hit, miss = np.log(larger / p), np.log((1.0 - larger) / (1.0 - p))
    k = np.arange(n + 1.0)[:, None]
    logs = k * hit + (n - k) * miss + np.log(weights / weights.sum())
    most = logs.max(axis=1)
    return np.asarray(most + np.log(np.exp(logs - most[:, None]).sum(axis=1)))
