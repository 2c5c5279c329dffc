"""Anytime-valid comparison of two versions from paired blocks: a betting martingale on signs.

If the true speedup is ``gamma``, the sign of ``d - c`` of a block is a fair coin. By Ville's inequality (1939) the
wealth of whoever bets on it ever reaches ``1 / alpha`` with a probability of at most ``alpha``: however often one
looks, drift between blocks, outliers and modes cannot break it. A proof is of all blocks so far: later ones that
speak against it end it.
The wealth falls as ``gamma`` grows, so the speedups that are rejected form an interval, whose end is the certified
speedup. ``docs/tables.md`` has the proofs.

Whoever looks once needs no bet: of a number of blocks that was fixed beforehand, given ``|d - c|`` all signs of
``d - c`` are equally likely at the true ``c``; Wilcoxon's signed-rank test counts them at the end, and its
inversion is the bound. Ten blocks that prove a change in 35 % of sessions by the bets prove it in 75 % by it.

Sources: F. Wilcoxon, Biometrics Bulletin 1, 1945; J. L. Hodges, E. L. Lehmann, Ann. Math. Statist. 34, 1963.

The bets behind the sequential comparison: stakes on the signs of paired differences.

Write ``d = log x - log y`` for the times of a block, in which each version runs once, in random order, and ``c =
log gamma`` for a speedup under trial. If the true speedup is ``gamma``, the two runs can be exchanged after X was
divided by it: the sign of ``d - c`` is a fair coin whatever ``|d - c|`` and all earlier blocks were. A stake may
depend on those, never on the sign. Here it is ``tanh(min(slope r, top))`` with ``r = |d - c| / S``, S being the
median absolute deviation of the *earlier* differences from their median, in standard deviations.

Up to ``top`` this is the likelihood ratio of a shift of ``slope`` standard deviations in the normal model. A spike
is beyond it and costs what any block may cost; as S is a median, it does not make the stakes on the others small.
An infinite slope gives the sign test. S is free of ``gamma``, so every factor of the wealth falls as ``gamma``
grows.

Forecasts, how many more blocks and what a planned session can prove, carry the noise seen so far
into the future and have no part in any proof.

Anytime-valid comparison of one quantile of two versions: bets on how many runs lie beyond it.

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
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayLike, ArrayPair, FloatArray
from speedproof.errors import DataError, UsageError
from speedproof.stats.location import hodges_lehmann
from speedproof.stats.quantile_ratio import Quantiles
from speedproof.stats.scaling import NORMAL_DEVIATION, middle
from speedproof.stats.signed_rank import COUNTS_BELOW, signed_rank, untied_tail, walsh_averages
from speedproof.stats.special import decreasing_roots, halved, ndtri

# The rounding of a sum of logarithms is far below this; it is held back from every rejection.
_ROUNDING = 1e-9
_TOLERANCE = 1e-10
# exp(700) is the edge of double precision: no finite bound is looked for beyond it.
_LOG_SPEEDUP_MAX = 700.0


class SequentialResult(Struct, frozen=True):
    """The state of the proof after the blocks so far, valid at any time one looks.

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
        """Whether no test was made yet: a fixed number of blocks is tested at its end."""
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


def _speedup(logarithm: float) -> float:
    """At most the largest there is in double precision, either way."""
    return math.exp(min(max(logarithm, -_LOG_SPEEDUP_MAX), _LOG_SPEEDUP_MAX))


def bounds_of(low: float, high: float) -> tuple[float, float]:
    """Bounds from their logarithms; beyond double precision the largest speedup there is, 0 and infinity."""
    return (
        _speedup(low) if low > -_LOG_SPEEDUP_MAX else 0.0,
        _speedup(high) if high < _LOG_SPEEDUP_MAX else math.inf,
    )


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
        self._step = 0.0  # in which values are read
        # Grown by doubling: differences and the scales before them in block order; the differences sorted; the
        # values of the reference and of the candidate.
        self._rows = np.empty((5, 64))
        self._worst: dict[int, FloatArray] = {}
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
        """Add a block; what is known by now of the step in which values are read holds for all blocks."""
        for name, value in (("reference", reference), ("candidate", candidate)):
            if not (value > 0 and math.isfinite(value)):
                raise DataError(
                    f"block {self._n + 1}: the {name} is {value:g}; a speedup is a ratio and needs "
                    "positive values"
                )
        difference = math.log(reference) - math.log(candidate) if reference != candidate else 0.0
        n = self._n
        if n == self._rows.shape[1]:
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)], axis=1)
        self._rows[0, n], self._rows[3:, n] = difference, (reference, candidate)
        self._step = resolution
        self._n += 1
        self._ties += difference == 0.0
        self._result = None
        self._worst.clear()

    @property
    def stepped(self) -> bool:
        """Whether values are read in steps."""
        return self._step > 0.0

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

    def _against(self, side: int, shift: float) -> FloatArray:
        """The differences that a bet at this shift is about: as read, or the least (side -1: most) they may be."""
        if shift == 0.0 or not self.stepped:
            return self._rows[0, : self._n]
        if side not in self._worst:
            above, below = self._rows[3:, : self._n][::side]
            above, below = above - 0.5 * self._step, below + 0.5 * self._step
            ratios = np.log(np.where(above > 0.0, above, 1.0)) - np.log(below)
            # The smallest there is for a value that may have been 0.
            self._worst[side] = side * np.where(above > 0.0, ratios, -_LOG_SPEEDUP_MAX)
        return self._worst[side]

    def log_evidence(self, gamma: float, *, side: int) -> float:
        """Logarithm of the present e-value against "the speedup is at most gamma"."""
        return mix(self._log_wealths(side, math.log(gamma)))

    def evidence(self, side: int) -> float:
        """The same at a speedup of 1, without another pass."""
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
        """The result after the blocks so far."""
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
        worst = float(middle(self._against(side, math.inf)))
        return _speedup(worst)

    def centre(self) -> float:
        """The Hodges-Lehmann estimate of the blocks itself, wherever the bounds are; NaN without blocks."""
        return _speedup(hodges_lehmann(self._ordered())) if self._n else math.nan

    def blocks_to_go(self, *, gamma: float = 1.0, side: int) -> float:
        """About how many more blocks reject gamma; see :func:`~speedproof.stats.sequential.blocks_until`."""
        missing = self._threshold - self.log_evidence(gamma, side=side)
        shift = math.log(gamma)
        differences = self._against(side, shift)
        return blocks_until(side * differences, missing, side * shift)

    def _log_wealths(self, side: int, shift: float) -> list[float]:
        self._ordered()
        scales = self._rows[1, : self._n]
        differences = self._against(side, shift)
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
        """The evidence of each side beyond what a proof takes."""
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
    # Guenther's correction for the unknown variance; no rank test rejects with fewer than the last.
    blocks = ((reach / effect) ** 2 + 0.5 * level**2) / _NORMAL_EFFICIENCY if effect > 0 else math.inf
    return max(blocks, math.log2(1 / alpha))


class FixedPairs(PairedSequence):
    """Blocks are added as to a :class:`PairedSequence`; nothing is proven before :meth:`close`."""

    _closed: SequentialResult | None = None

    def _ordered(self) -> FloatArray:
        """The differences sorted; there are no bets, as the blocks are tested once."""
        return np.sort(self._rows[0, : self._n])

    def close(self) -> None:
        """Test all blocks, once."""
        self._closed = self._tested()

    def result(self) -> SequentialResult:
        """The result of the test."""
        if self._closed is not None:
            return self._closed
        return SequentialResult(self._n, self._ties, self._alpha, 0.0, math.inf, 1.0, 1.0)

    def log_evidence(self, gamma: float, *, side: int) -> float:
        """Minus the logarithm of the p-value against "the speedup is at most gamma" (side -1: at least)."""
        if self._closed is None:
            return -math.inf
        return -math.log(self._pvalue(side * self._sided(side, gamma), side * math.log(gamma)))

    def blocks_to_go(self, *, gamma: float = 1.0, side: int) -> float:
        """How many more blocks a session would need for a proof in 8 of 10 such sessions."""
        if self._n < FORECAST_FROM or self._closed is None:
            return math.nan
        spread = scale_of(np.sort(self._rows[0, : self._n - 1]))
        if spread == 0.0:
            return math.inf
        effect = side * (math.log(self.centre()) - math.log(gamma))
        return max(blocks_needed(effect / spread, alpha=self._alpha) - self._n, 1.0)

    def _sided(self, side: int, gamma: float) -> FloatArray:
        return self._against(side, math.log(gamma))

    def _pvalue(self, differences: FloatArray, shift: float) -> float:
        centred = differences - shift
        return signed_rank(np.where(np.abs(centred) <= _TIE, 0.0, centred)).pvalue_positive

    def _tested(self) -> SequentialResult:
        p = {side: self._pvalue(side * self._sided(side, 1.0), 0.0) for side in (1, -1)}
        bounds = {}
        for side in (1, -1):
            bound = self._bound(np.sort(side * self._against(side, math.inf)))
            # The verdict looks at the differences as they were read, bounds at what they may have been.
            bounds[side] = side * (max(bound, 0.0) if p[side] <= self._alpha else min(bound, 0.0))
        ends = bounds_of(bounds[1], bounds[-1])
        return SequentialResult(self._n, self._ties, self._alpha, *ends, p[1], p[-1])

    def _bound(self, ordered: FloatArray) -> float:
        """The largest shift that is rejected, among the Walsh averages; minus infinity for too few blocks."""
        n = ordered.size
        if 2.0**-n > self._alpha:
            return -math.inf
        averages = walsh_averages(ordered)
        if n < COUNTS_BELOW:
            least = int(np.argmax(untied_tail(n) <= self._alpha))  # the smallest sum that rejects
        else:
            total = n * (n + 1)
            deviation = math.sqrt(total * (2 * n + 1) / 24)
            least = math.ceil(total / 4 - float(ndtri(self._alpha)) * deviation + 0.5)
        at = averages.size - least
        # Below an average the sum counts it; ties make the exact test coarser than its table.
        while at >= 0 and self._pvalue(ordered, float(averages[at]) - 2 * _TIE) > self._alpha:
            at -= 1
        return float(averages[at]) - 2 * _TIE if at >= 0 else -math.inf


# Slope, top and share of the initial wealth. Most of it is where a decision takes 10 to 50 blocks; small slopes
# keep the bounds shrinking in long sessions. Tuned on normal noise with and without spikes, by sessions that no
# published table uses (studies/sequential.py); no choice can harm validity.
_BETS = (
    (math.inf, math.atanh(0.5), 0.15),
    (0.03, 0.09, 0.03),
    (0.15, 0.45, 0.09),
    (0.5, 0.75, 0.20),
    (0.9, 0.63, 0.42),
    (1.5, 3.0, 0.11),
)
_SLOPES, _TOPS, _WEIGHTS = (np.array(column) for column in zip(*_BETS, strict=True))
_PAIRS = [(slope, top) for slope, top, _ in _BETS]
LOG_WEIGHTS: FloatArray = np.log(_WEIGHTS)
# What a block adds to the logarithm of a wealth at most.
_MOST: list[float] = np.log1p(np.tanh(_TOPS)).tolist()


# From 3 blocks half of the forecasts are off by a factor of more than 2.6 to 5.8, from 10 by more than 1.7 to 3.7.
# More blocks hardly improve that: sessions that still go on are those whose blocks mislead (sequential.md).
FORECAST_FROM = 10
"""Blocks below which nothing is forecast."""


def scale_of(ordered: FloatArray) -> float:
    """Median absolute deviation from the median of sorted values, in standard deviations; 0 below two."""
    n = ordered.size
    if n < 2:
        return 0.0
    values, k = ordered.item, n // 2
    centre = 0.5 * (values((n - 1) // 2) + values(k))
    # Those nearest to it are neighbours, and the furthest of them are at their ends.
    at = bisect_left(range(n - k - 1), True, key=lambda i: centre - values(i) <= values(i + k + 1) - centre)
    furthest = sorted(abs(values(i) - centre) for i in {at, at + 1, at + k - 1, at + k})
    return NORMAL_DEVIATION * float(furthest[-1] if n % 2 else 0.5 * (furthest[-2] + furthest[-1]))


def log_factors(differences: FloatArray, scales: FloatArray, shift: float) -> FloatArray:
    """Logarithms of the factors ``1 + sign(d - c) tanh(min(slope r, top))`` of every block and bet."""
    v = differences - shift
    size = np.abs(v)
    bets = size > _TIE
    r = np.divide(size, scales, out=np.ones_like(v), where=bets & (scales > _TIE))
    stakes = np.minimum(r[:, None] * _SLOPES, _TOPS)
    signed = np.where(bets[:, None], np.copysign(stakes, v[:, None]), 0.0)
    # 1 + tanh(u) = 2 / (1 + exp(-2u)); |u| is small enough for any of the two forms.
    return np.asarray(-np.log(0.5 + 0.5 * np.exp(-2.0 * signed)))


def mix(log_wealths: Sequence[float]) -> float:
    """Logarithm of the sum of wealths given by their logarithms."""
    top = max(log_wealths)
    return top + math.log(sum(math.exp(w - top) for w in log_wealths))


def bet(log_wealths: list[float], difference: float, scale: float) -> None:
    """Add to the wealths what a block gains at a speedup of 1; the arguments are those of :func:`log_factors`."""
    if abs(difference) <= _TIE:
        return
    r = abs(difference) / scale if scale > _TIE else 1.0
    for k, (slope, top) in enumerate(_PAIRS):
        stake = math.copysign(min(slope * r, top), difference)
        log_wealths[k] += math.log(2.0 / (1.0 + math.exp(-2.0 * stake)))


def blocks_before(log_wealths: Sequence[float], level: float) -> int:
    """How many blocks it takes at least to bring the wealths together to a level, up to a hundred; from 1."""

    def at_most(blocks: int) -> float:
        return mix([w + blocks * most for w, most in zip(log_wealths, _MOST, strict=True)])

    return max(bisect_left(range(100), level, key=at_most), 1)


def growth(differences: FloatArray, shift: float) -> float:
    """Mean gain of log-wealth per block of the luckiest bet: how fast evidence comes in."""
    scale = scale_of(np.sort(differences))
    factors = log_factors(differences, np.full(differences.size, scale), -shift)
    return float(factors.mean(axis=0).max())


def blocks_until(differences: FloatArray, missing: float, shift: float) -> float:
    """About how many more blocks bring the evidence that is missing, if the future is like the past.

    0 when nothing is missing, NaN below 10 blocks, infinity when the blocks speak against it.
    """
    if missing <= 0:
        return 0.0
    if differences.size < FORECAST_FROM:
        return math.nan
    rate = growth(differences, -shift)
    return missing / rate if rate > 0 else math.inf


def blocks_for_proof(differences: FloatArray, alpha: float) -> float:
    """About how many blocks like these a proof takes from its beginning; as :func:`blocks_until`."""
    return blocks_until(differences, _missing(alpha), 0.0)


def _missing(alpha: float) -> float:
    """Logarithm of the evidence that a proof takes, and about what the mixture costs against its luckiest bet."""
    return -math.log(alpha) - float(LOG_WEIGHTS.max())


def smallest_provable(differences: ArrayLike, blocks: float, *, alpha: float) -> float:
    """The smallest speedup that about half of all sessions of so many blocks would prove; infinity for too few."""
    d = np.asarray(differences, dtype=np.float64)
    if d.size < 2:
        raise DataError("the noise of a machine needs at least two blocks")
    # Of one program against itself a difference is as likely as its negative.
    d = np.concatenate([d, -d])
    scale = float(np.abs(d).mean())
    missing = _missing(alpha)
    if scale == 0.0:
        return 1.0 if blocks * math.log(2) >= missing else math.inf
    low, high = 0.0, scale
    while growth(d, high) * blocks < missing:
        high *= 2.0
        if high > _LOG_SPEEDUP_MAX:
            return math.inf
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if growth(d, middle) * blocks >= missing else (middle, high)
    return math.exp(high)


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
        return min(max(float(Quantiles.of(x, y, self._q).ratio[0]), _speedup(-math.inf)), _speedup(math.inf))

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
