"""The bets of the sequential comparison against their definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.betting import BettingMartingale, log_factors, mix, scale_of


def test_bets_one_by_one_and_all_at_once() -> None:
    """Against the definition 1 + sign(d - c) tanh(min(slope |d - c| / S, top))."""
    rng = np.random.default_rng(2)
    d = np.round(0.1 * rng.standard_normal(40), 2)
    bets = ((math.inf, math.atanh(0.5), 0.15), (0.03, 0.09, 0.03), (0.15, 0.45, 0.09), (0.5, 0.75, 0.2),
            (0.9, 0.63, 0.42), (1.5, 3.0, 0.11))  # fmt: skip
    assert math.fsum(share for *_, share in bets) == pytest.approx(1.0)
    scales = [scale_of(np.sort(d[:k])) for k in range(40)]
    for k in range(2, 40):
        assert scales[k] == pytest.approx(1.4826 * stats.median_abs_deviation(d[:k]))
    assert scales[:2] == [0.0, 0.0]
    for shift, side in itertools.product((0.0, 0.02, -0.07), (1, -1)):
        one_by_one = BettingMartingale(side, shift)
        expected = [math.log(share) for *_, share in bets]
        for value, scale in zip(d.tolist(), scales, strict=True):
            one_by_one.bet(value, scale)
            v = side * (value - shift)
            for b, (slope, top, _) in enumerate(bets):
                stake = min(slope * (abs(v) / scale if scale > 0 else 1.0), top) if abs(v) > 1e-12 else 0.0
                expected[b] += math.log1p(math.copysign(math.tanh(stake), v))
        total = math.log(sum(map(math.exp, expected)))
        assert one_by_one.log_wealth == pytest.approx(total, abs=1e-9)
        factors = log_factors(side * d, np.array(scales), side * shift).sum(axis=0)
        shares = [math.log(share) for *_, share in bets]
        assert mix((factors + shares).tolist()) == pytest.approx(total, abs=1e-9)
