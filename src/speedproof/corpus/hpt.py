"""Hierarchical Performance Testing over a corpus: its first level in the parts, its second over all of them.

A part leaves of each benchmark what the second level needs at any speedup: the medians of both scores, and the
speedups at which the rank-sum test of its runs changes its answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from speedproof.data.suite import Pair
from speedproof.errors import DataError
from speedproof.protocols.results import RSpeedup, Winner
from speedproof.stats.signed_rank import signed_rank

if TYPE_CHECKING:
    import duckdb

    from speedproof.protocols.hpt_levels import Duel
    from speedproof.protocols.hpt_steps import Steps


COLUMNS = ("hpt", "hpt_candidate", "hpt_reference", "hpt_wins", "hpt_loses")
"""Of an answer: the difference at a speedup of 1, 0 for a tie; both medians; up to and from which speedup the
candidate wins and loses."""

_LEAST = 5
_NEAR = 1e-6  # relative; how near the r-speedup is approached
_DIGITS = 10**6


class OverBenchmarks(Struct, frozen=True):
    """The second level of Hierarchical Performance Testing."""

    benchmarks: int  # how many have a score
    # One-sided, for either side being better over all of them
    pvalue_candidate: float
    pvalue_reference: float
    method: str  # the null distribution
    winner: Winner  # the side with the smaller p-value
    confidence: float  # 1 - p-value of the winner
    speedups: tuple[RSpeedup, ...]  # of the winner; it passes at ``certified`` and fails just above


def first_level(pairs: Sequence[Pair]) -> list[tuple[float, ...] | None]:
    """The columns of each pair; None where a zero or a negative value leaves it without a score."""
    from speedproof.protocols.hpt import entries_of_pairs
    from speedproof.protocols.hpt_levels import within_benchmark

    bounds: list[tuple[float, ...] | None] = []
    for pair in pairs:
        try:
            (entry,) = entries_of_pairs([pair])
        except DataError:
            bounds.append(None)
            continue
        duel = entry.duel
        at_one = within_benchmark(duel, Fraction(1), "exact").d
        bounds.append((float(at_one), float(duel.a), float(duel.b), *_changes(duel)))
    return bounds


def _changes(duel: Duel) -> tuple[float, float]:
    """Up to which speedup A wins, and from which on it loses; NaN where the medians decide without a test."""
    from speedproof.protocols.hpt_steps import FREE, level1_steps

    (ahead,) = level1_steps([duel], "exact")
    if ahead.start == FREE:
        return math.nan, math.nan
    wins, loses = _ends(ahead)
    if wins is None or loses is None:
        # What happens below 1 is what the other side does above; between both lies 1 itself.
        won, lost = _ends(level1_steps([duel.reversed()], "exact")[0])
        wins = wins if wins is not None else 1 / lost if lost is not None else 1.0
        loses = loses if loses is not None else 1 / won if won is not None else 1.0
    return wins, loses


def _ends(steps: Steps) -> tuple[float | None, float | None]:
    """Up to which speedup A wins, and from which on it loses; None for what lies below 1."""
    states = list(zip([1.0, *steps.points.tolist()], [steps.start, *steps.after.tolist()], strict=True))
    won = next((at for at, state in states if state != 1), math.inf)
    lost = next((at for at, state in states if state == -1), math.inf)
    return won if steps.start == 1 else None, lost if steps.start != -1 else None


def second_level(connection: duckdb.DuckDBPyConnection) -> OverBenchmarks | None:
    """Weigh the benchmarks of all answers; None for less than five.

    For each confidence a speedup is found that passes, while one a millionth larger fails, by halving.
    """
    query = f"SELECT {', '.join(COLUMNS)} FROM answers WHERE hpt IS NOT NULL"
    table: Any = connection.execute(query).fetchnumpy()
    at_one, a, b, wins, loses = (np.asarray(table[name], dtype=np.float64) for name in COLUMNS)
    if at_one.size < _LEAST:
        return None
    from speedproof.protocols.hpt import CONFIDENCES
    from speedproof.protocols.hpt_levels import decimal

    test = signed_rank(at_one)
    p, q = test.pvalue_positive, test.pvalue_negative
    winner = Winner.CANDIDATE if p < q else Winner.REFERENCE if q < p else Winner.TIE
    if winner is Winner.REFERENCE:
        with np.errstate(divide="ignore"):
            a, b, wins, loses = b, a, 1 / loses, 1 / wins
    tested = ~np.isnan(wins)

    def pvalue(speedup: float) -> float:
        d = a - speedup * b
        state = np.where(speedup < wins, 1, np.where(speedup > loses, -1, 0))
        return signed_rank(np.where(tested & (state * d <= 0), 0.0, d)).pvalue_positive

    speedups = []
    beyond = float((a / b).max()) * (1 + _NEAR)  # no difference is positive there
    for r in CONFIDENCES:  # ascending: what fails at one fails at the next
        alpha = float(1 - decimal(r))
        if min(p, q) > alpha:
            speedups.append(RSpeedup(r))
            continue
        low, high = 1.0, beyond
        while high > low * (1 + _NEAR):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if pvalue(middle) <= alpha else (low, middle)
        beyond = high
        hundredth = math.floor(100 * high) / 100
        if hundredth > low and pvalue(hundredth) > alpha:
            hundredth -= 0.01
        exact = str(Fraction(math.floor(low * _DIGITS), _DIGITS))
        speedups.append(RSpeedup(r, low, True, exact, round(hundredth, 2), low, True, exact))
    return OverBenchmarks(at_one.size, p, q, test.method, winner, 1 - min(p, q), tuple(speedups))
