"""The studentised rank test of one large pair: made where it is asked, its bounds searched.

Of :mod:`speedproof.stats.superiority`, which see.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from speedproof.stats.pair_ratios import ratio_order_statistics
from speedproof.stats.permutation import Spread
from speedproof.stats.rank_states import ROUNDING, Pairs, Score
from speedproof.stats.root import decreasing_root

__all__ = ["Search"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_LISTED = 1 << 10  # ratios that are listed near a bound
_LARGEST = math.log(1.7e308)


class Search:
    """One pair of samples with too many ratios to sort: the test is made where it is asked."""

    def __init__(self, pairs: Pairs, score: Score | None) -> None:
        self.x, self.y = np.sort(pairs.x[0]), np.sort(pairs.y[0])
        self.step = pairs.step[0]
        self.scorer = score

    def _read(self, sign: float) -> tuple[FloatArray, FloatArray]:
        """The values that the steps leave possible: the least x and greatest y (sign -1), or the reverse (+1)."""
        x = np.maximum(self.x + sign * 0.5 * self.step[0], 0.0)
        return x, np.maximum(self.y - sign * 0.5 * self.step[1], 0.0)

    def _below(self, gamma: float, sign: float) -> IntArray:
        """How many gamma y are below each x; ties count against X (sign -1) or for it (+1)."""
        x, y = self._read(sign)
        return np.asarray(np.searchsorted(gamma * y, x, side="left" if sign < 0 else "right"), dtype=np.int64)

    def _spread(self, below: IntArray) -> tuple[float, float, float]:
        n, m = self.x.size, self.y.size
        below_x = below.astype(np.float64)
        # The j-th y has below it every x that has at most j of the y below.
        below_y = np.cumsum(np.bincount(below, minlength=m + 1))[:m].astype(np.float64)
        # Sums of squares around the mean, so that nothing cancels when nearly all pairs are won.
        won = below_x.sum()
        square_x = ((below_x - won / n) ** 2).sum() + won**2 / n
        square_y = ((below_y - below_y.mean()) ** 2).sum() + below_y.sum() ** 2 / m
        return float(won), float(square_x), float(square_y)

    def score(self, gamma: float, sign: float) -> FloatArray:
        """The score at gamma; ties count against X (sign -1) or for it (+1)."""
        if self.scorer is None:
            raise AssertionError
        return self.scorer.of(Spread(*(np.array([v]) for v in self._spread(self._below(gamma, sign)))))

    def estimate(self) -> float:
        """The median of the ratios: of two in the middle their geometric mean; 0 / 0 is none."""
        known = self.x.size * self.y.size - int((self.x == 0.0).sum()) * int((self.y == 0.0).sum())
        if not known:
            return math.nan
        lower, upper = ratio_order_statistics(self.x, self.y, ((known - 1) // 2, known // 2))
        return lower if lower == upper else math.sqrt(lower) * math.sqrt(upper)

    def bounds(self, alpha: float) -> tuple[float, float]:
        """The last gamma that is rejected as too small, and the first that is rejected as too large."""
        if self.scorer is None:
            raise AssertionError
        critical = self.scorer.null.critical(alpha)

        def above(log_gamma: float) -> float:
            return _finite(float(self.score(math.exp(log_gamma), -1.0)[0]) - critical)

        def below(log_gamma: float) -> float:
            return _finite(float(self.score(math.exp(log_gamma), 1.0)[0]) + critical)

        # The score falls nearly evenly between two quantiles of the ratios: start next to where it passes.
        start, end = self._range()
        steep = (above(end) - above(start)) / (end - start)
        few = _LISTED * (end - start) / (0.1 * self.x.size * self.y.size)
        found = []
        for side, sign in ((above, -1.0), (below, 1.0)):
            at = start - side(start) / steep if steep < 0.0 else start
            near = max(0.02 * abs(at - 0.5 * (start + end)), few)
            found.append(self._crossing(side, sign, critical, (at - near, at + near), few))
        return found[0], found[1]

    def _crossing(
        self,
        side: Callable[[float], float],
        sign: float,
        critical: float,
        probably: tuple[float, float],
        few: float,
    ) -> float:
        """The bound: first a narrow interval, then a walk through the ratios in it, as in `_states`."""
        start, end = decreasing_root(side, *probably, narrow=few)
        low, high = math.exp(start), math.exp(end) if end < _LARGEST else math.inf
        if not 0.0 < low < high < math.inf or self.scorer is None:
            return low if sign < 0 else high
        upto, downto = self._below(low, sign), self._below(high, sign)
        crossed = np.maximum(upto - downto, 0)
        count = int(crossed.sum())
        if count > 64 * _LISTED:
            precise = decreasing_root(side, start, end)
            return math.exp(precise[0] if sign < 0 else precise[1])
        i = np.repeat(np.arange(self.x.size), crossed)
        j = np.arange(count) - np.repeat(np.cumsum(crossed) - crossed, crossed) + downto[i]
        x, y = self._read(sign)
        ratios = x[i] / y[j]
        order = np.argsort(ratios, kind="stable")
        won, square_x, square_y = self._spread(upto)
        states = Spread(
            won - np.arange(count + 1.0)[None],
            square_x + np.concatenate([[0.0], np.cumsum(-1.0 - 2.0 * j[order])])[None],
            square_y + np.concatenate([[0.0], np.cumsum(1.0 + 2.0 * i[order])])[None],
        )
        rejected = -sign * self.scorer.of(states)[0] >= critical
        ends = np.concatenate([[low], ratios[order], [high]])
        kept = np.flatnonzero((ends[1:] > ends[:-1] * (1.0 + ROUNDING)) & ~rejected)
        if not kept.size:
            return high if sign < 0 else low
        return float(ends[kept[0]] if sign < 0 else ends[kept[-1] + 1])

    def _range(self) -> tuple[float, float]:
        """Logarithms of ratios between which the typical one probably lies, from quantiles."""
        x, y = self.x[self.x > 0.0], self.y[self.y > 0.0]
        if not x.size or not y.size:
            return 0.0, 1.0
        low, high = (math.log(np.quantile(x, p)) - math.log(np.quantile(y, 1.0 - p)) for p in (0.45, 0.55))
        return low - 1e-9, high + 1e-9


def _finite(value: float) -> float:
    return max(min(value, 1e9), -1e9)
