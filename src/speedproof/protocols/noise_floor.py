"""Sides that were measured in few sessions each, judged against how much sessions of identical code differ.

What runs of one session scatter says nothing of another session. Where a store of earlier measurements tells how
much sessions of one version differ, a verdict has to hold against that, too: each p-value is the larger of the
protocol's own and that of a t statistic whose error has the sessions in it, and the bounds are the wider ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.record import Order, order_of_measuring
from speedproof.data.suite import Key, Pair
from speedproof.protocols.figures import verdict_of
from speedproof.protocols.results import AtMargin, Comparison, Needed, SessionFloor, State, Verdict
from speedproof.protocols.units import LEAST_SESSIONS
from speedproof.stats.estimate import Estimate
from speedproof.stats.session_spread import SessionSpread, Widened, widened

_LARGEST_LOG = 709.0  # of a double
_NO_RATIO = (
    "these values have no ratio to hold against how much sessions of the same code differ: measure both in turns, "
    "with 'speedproof run'"
)
IN_TURNS = "sessions of the same code differ that much: measure both in turns, with 'speedproof run'"


class NoiseFloor(Struct, frozen=True, eq=False):
    """How much sessions of identical code differ, of every benchmark on a metric."""

    store: str  # where that was seen
    # Of the benchmarks that were measured in several sessions of one version
    spreads: Mapping[Key, SessionSpread] = field(default_factory=dict)
    # By metric, what those tell of a benchmark that was not
    others: Mapping[str, SessionSpread] = field(default_factory=dict)

    def of(self, key: Key) -> SessionSpread | None:
        """The spread for a benchmark, or None if it is unknown."""
        return self.spreads.get(key) or self.others.get(key.metric)


def counted_in(pair: Pair, floor: NoiseFloor | None) -> SessionSpread | None:
    """What a comparison of a pair has to be held against.

    None for sides whose runs were mixed in one session, and for those of so many sessions that the session is
    the unit already.
    """
    x, y = pair.reference, pair.candidate
    if floor is None or min(x.session_count, y.session_count) >= LEAST_SESSIONS:
        return None
    return None if order_of_measuring(x, y) is Order.MIXED else floor.of(pair.key)


def between_sessions(pair: Pair, floor: NoiseFloor | None) -> tuple[float, float] | None:
    """What sessions add to the error of the logarithm of a pair's ratio, and the degrees of freedom behind it."""
    spread = counted_in(pair, floor)
    if spread is None or not spread.variance > 0.0:
        return None
    share = 1.0 / pair.reference.session_count + 1.0 / pair.candidate.session_count
    return math.sqrt(share * spread.variance), spread.degrees


def over_the_floor(
    comparisons: list[Comparison], pairs: Sequence[Pair], floor: NoiseFloor | None
) -> list[Comparison]:
    """Comparisons of pairs, each held against the floor where that applies."""
    if floor is None:
        return comparisons
    return [
        c if spread is None else _held_against(c, pair, spread, between_sessions(pair, floor))
        for c, pair in zip(comparisons, pairs, strict=True)
        for spread in [counted_in(pair, floor)]
    ]


def hides(floor: SessionFloor, speedup: float, edge: float = 1.0) -> bool:
    """Whether the speedup is within the noise floor of an edge, so that more runs cannot help."""
    return speedup > 0.0 and abs(math.log(speedup / edge)) <= math.log1p(floor.reach)


def _held_against(
    c: Comparison, pair: Pair, spread: SessionSpread, error: tuple[float, float] | None
) -> Comparison:
    if c.log is not None:
        c = replace(c, log=replace(c.log, sessions=error))
    x, y = pair.reference, pair.candidate
    ratio, low, high = c.speedup.value, c.speedup.low, c.speedup.high
    if c.quantity == "probability":  # of the ratio it tells nothing: that of the medians, its error unknown
        old, new = (c.reference.median, c.candidate.median)[:: -1 if x.higher_is_better else 1]
        ratio = low = high = old / new if new > 0.0 else math.nan
    if math.isnan(c.pvalue):
        return c
    sound = 0.0 < ratio < math.inf  # else any session may differ by any factor
    at = math.log(ratio) if sound else 0.0
    sessions = (x.session_count, y.session_count)

    sizes = (c.reference.n, c.candidate.n)
    ends = math.log(low) if low > 0.0 else -math.inf, math.log(high) if high > 0.0 else math.inf
    down, up, alone = (
        widened(width, c.alpha, sizes, spread, sessions)
        for width in (*(abs(end - at) if sound else math.inf for end in ends), 0.0)
    )
    away = alone.reach(c.alpha)
    reach = math.expm1(away) if away < _LARGEST_LOG else math.inf
    session_floor = SessionFloor(math.sqrt(spread.variance), spread.degrees, spread.sessions, reach)
    pvalue, slower = max(c.pvalue, down.pvalue(at)), max(c.pvalue_slower, up.pvalue(-at))
    margin = _at_margin(c.at_margin, at, down, up)
    verdict = verdict_of(pvalue, slower, margin, c.alpha)
    speedup, chance = c.speedup, c.chance
    if c.quantity == "speedup":
        speedup = replace(
            speedup,
            low=min(low, math.exp(at - down.reach(c.alpha))),
            high=max(high, math.exp(top) if (top := at + up.reach(c.alpha)) < _LARGEST_LOG else math.inf),
        )
    faster, loses = pvalue <= c.alpha, slower <= c.alpha

    def even(estimate: Estimate) -> Estimate:
        """A probability whose bounds hold one half unless the verdict does."""
        return replace(
            estimate,
            low=estimate.low if faster else min(estimate.low, 0.5),
            high=estimate.high if loses else max(estimate.high, 0.5),
        )

    by = "by any factor" if math.isinf(reach) else f"by up to {100 * reach:.2g} %"
    why = IN_TURNS.replace("that much", by) if sound else _NO_RATIO
    lost = verdict is Verdict.UNDECIDED and (c.verdict is not verdict or hides(session_floor, ratio))
    return replace(
        c,
        pvalue=pvalue,
        pvalue_slower=slower,
        verdict=verdict,
        state=State.NOT_SIGNIFICANT if c.state is State.SIGNIFICANT and not (faster or loses) else c.state,
        speedup=even(speedup) if c.quantity == "probability" else speedup,
        chance=None if chance is None else even(chance),
        needed=Needed(None, None, why) if lost else c.needed,
        at_margin=margin,
        floor=session_floor,
    )


def _at_margin(claim: AtMargin | None, at: float, down: Widened, up: Widened) -> AtMargin | None:
    """The p-values at the edges of a margin, raised to what the noise floor allows."""
    if claim is None:
        return None
    edge = math.log1p(claim.margin)
    not_worse, worse = max(claim.not_worse, down.pvalue(at + edge)), max(claim.worse, up.pvalue(-at - edge))
    not_better, better = (
        max(claim.not_better, up.pvalue(edge - at)),
        max(claim.better, down.pvalue(at - edge)),
    )
    equivalent = claim.equivalent if math.isnan(claim.equivalent) else max(not_worse, not_better)
    return AtMargin(claim.margin, not_worse, worse, not_better, better, equivalent)
