"""Few runs of a side: how widely they may scatter, what separation proves, against enumeration and theory."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from speedproof.stats.permutation import one_order
from speedproof.stats.superiority import typical_ratio, typical_ratio_test

TYPICAL = 0.9707242190682612
"""A normal value of deviation 3 and this mean exceeds an exponential one as often as not (quadrature)."""


@pytest.mark.parametrize("m", [4, 5, 9, 12, 30, 100])
def test_scattered_runs_beside_a_narrow_side_hold_the_risk(m: int) -> None:
    """Each of n runs lies far above or below all of the other side, with 1/2 each: by the binomial distribution.

    From four runs on the risk of 5 % is at most 8 there: seven of nine on one side are no proof.
    """
    y = 100.0 + 1e-3 * np.arange(m)
    for n in range(4, 31):
        above = np.arange(n)[None, :] < np.arange(n + 1)[:, None]  # k of them, for every k
        x = np.where(above, 150.0, 80.0) + 1e-2 * np.arange(n)
        rejected = typical_ratio_test(x, np.broadcast_to(y, (n + 1, m)), 1.0).pvalue <= 0.05
        risk = sum(math.comb(n, int(k)) for k in np.flatnonzero(rejected)) / 2**n
        assert rejected[-1]  # n of n are separated
        assert risk <= 0.08


@pytest.mark.parametrize("m", [20, 30, 100])
def test_four_runs_that_scatter_more_than_many_others(m: int) -> None:
    """Normal runs beside exponential ones, of which one exceeds the other as often as not: in 8 % at most."""
    excess = integrate.quad(lambda u: np.exp(-u) * special.ndtr((TYPICAL - u) / 3.0), 0.0, 60.0)[0]
    assert excess == pytest.approx(0.5, abs=1e-9)
    rng, wrong, pairs = np.random.default_rng(m), 0, 20_000
    for _ in range(4):
        x = 100.0 + TYPICAL + rng.normal(0.0, 3.0, (pairs // 4, 4))
        y = 100.0 + rng.exponential(1.0, (pairs // 4, m))
        wrong += int(np.sum(typical_ratio_test(x, y, 1.0).pvalue <= 0.05))
    assert wrong <= stats.binom.isf(1e-3, pairs, 0.08)


@pytest.mark.parametrize(("n", "m"), [(2, 6), (3, 3), (3, 4), (3, 40), (90, 3)])
def test_below_four_runs_only_separation_is_proof(n: int, m: int) -> None:
    """Whatever the confidence: one pair lost, and nothing is proven; none lost, and all is, with its bound."""
    x, y = 2.0 + 0.01 * np.arange(n), 1.0 + 0.01 * np.arange(m)
    for sides, swapped in (((x, y), False), ((y, x), True)):
        for alpha in (0.05, 0.2):
            found = typical_ratio(*sides, alpha)
            pvalue, other = found.pvalue, found.pvalue_less
            bound = float(found.low)
            if swapped:
                pvalue, other, bound = other, pvalue, 1 / float(found.high)
            assert (float(pvalue), float(other)) == (one_order(n, m), 1.0)
            assert bound == pytest.approx(x.min() / y.max())
    touched = np.where(np.arange(n) == 0, 1.0 + 0.01 * (m - 1.5), x)
    for alpha in (0.05, 0.2, 0.4):
        found = typical_ratio(touched, y, alpha)
        assert (float(found.pvalue), float(found.pvalue_less)) == (0.5, 0.5)
        assert found.low < 1.0
    for gamma, expected in ((1.0, 0.5), (0.5, one_order(n, m)), (3.0, 1.0)):
        assert typical_ratio_test(touched, y, gamma).pvalue == expected
