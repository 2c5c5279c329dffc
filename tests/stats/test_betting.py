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
        one_by_one = BettingMartingale(side)
        expected = [math.log(share) for *_, share in bets]
        for value, scale in zip(d.tolist(), scales, strict=True):
            one_by_one.bet(value, scale)
            v = side * (value - shift)
            for b, (slope, top, _) in enumerate(bets):
                stake = min(slope * (abs(v) / scale if scale > 0 else 1.0), top) if abs(v) > 1e-12 else 0.0
                expected[b] += math.log1p(math.copysign(math.tanh(stake), v))
        total = math.log(sum(map(math.exp, expected)))
        if shift == 0.0:
            assert one_by_one.log_wealth == pytest.approx(total, abs=1e-9)
        factors = log_factors(side * d, np.array(scales), side * shift).sum(axis=0)
        shares = [math.log(share) for *_, share in bets]
        assert mix((factors + shares).tolist()) == pytest.approx(total, abs=1e-9)


def test_bets_at_the_tolerance_of_ties() -> None:
    """What is as close as logarithms of equal ratios are bets nothing; a scale as small is none: one deviation."""
    tie = 1e-12
    bets = ((math.inf, math.atanh(0.5)), (0.03, 0.09), (0.15, 0.45), (0.5, 0.75), (0.9, 0.63), (1.5, 3.0))
    shares = [0.15, 0.03, 0.09, 0.20, 0.42, 0.11]
    for d, scale, size in (
        (tie, 1.0, None), (-tie, 1.0, None), (0.0, 0.0, None), (2 * tie, tie, 1.0), (-2 * tie, tie, 1.0),
        (3.0, 0.0, 1.0), (6 * tie, 2 * tie, 3.0), (-6 * tie, 2 * tie, 3.0), (1e300, 1e-10, math.inf),
    ):  # fmt: skip
        expected = [
            0.0 if size is None else math.log1p(math.copysign(math.tanh(min(slope * size, top)), d))
            for slope, top in bets
        ]
        assert log_factors(np.array([d]), np.array([scale]), 0.0)[0].tolist() == pytest.approx(expected)
        for side in (1, -1):
            bet = BettingMartingale(side)
            bet.bet(side * d, scale)
            wealth = math.fsum(share * math.exp(gain) for share, gain in zip(shares, expected, strict=True))
            assert bet.log_wealth == pytest.approx(math.log(wealth), abs=1e-12)


@pytest.mark.parametrize("n", [41, 64, 100, 253, 500, 1000])
def test_scales_of_many(n: int) -> None:
    rng = np.random.default_rng(n)
    for x in (rng.standard_normal(n), rng.exponential(size=n), np.round(rng.standard_normal(n), 1)):
        assert scale_of(np.sort(x)) == pytest.approx(1.4826 * stats.median_abs_deviation(x))


def test_sums_of_wealths_beyond_doubles() -> None:
    for logs in ([0.0, 2000.0], [-2000.0, 0.0, math.log(2.0)], [-5000.0] * 4, [900.0, 901.0, -900.0]):
        assert mix(logs) == pytest.approx(float(np.logaddexp.reduce(logs)))
