"""Corners of several procedures: naive twins and theorems at thresholds, of ties, where nothing is known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.stats.test_superiority import naive_pvalue

from speedproof.stats import location, normality
from speedproof.stats.normality import shapiro_wilk
from speedproof.stats.rank_nulls import rank_sum_normal, rank_sum_sd
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.sequential import PairedSequence
from speedproof.stats.session_spread import session_spreads
from speedproof.stats.superiority import typical_ratio_test


@pytest.mark.parametrize("n", [4, 5, 7, 8, 12])
def test_hodges_lehmann_without_a_list(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """Of an even number of means the two middle ones are met from either side; of an odd one one is."""
    monkeypatch.setattr(location, "_FEW", 0)
    rng = np.random.default_rng(n)
    for _ in range(20):
        x = np.sort(rng.normal(size=n))
        means = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(x.tolist(), 2)]
        assert location.hodges_lehmann(x) == pytest.approx(float(np.median(means)), abs=1e-13)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 11, 12, 50])
def test_the_weights_themselves_are_as_normal_as_can_be(n: int) -> None:
    """By the inequality of Cauchy and Schwarz W is at most 1, and 1 for the weights alone."""
    for unit in (1.0, 3e-9, 7e40):
        found = shapiro_wilk(5.0 * unit + unit * normality._weights(n))
        assert float(found.statistic) == pytest.approx(1.0, abs=1e-12)
        assert 0.999 < float(found.pvalue) <= 1.0
    assert float(shapiro_wilk(normality._weights(n)).pvalue) > 0.999


@pytest.mark.parametrize(("n", "m"), [(60, 55), (50, 8)])
def test_how_many_ratios_a_risk_needs(n: int, m: int) -> None:
    """The first count with a p-value of at most alpha, also where alpha is such a p-value or next to it."""
    rng = np.random.default_rng(n)
    x, y = rng.lognormal(0.5, 0.2, n), rng.lognormal(0.0, 0.2, m)
    ratios, sd = np.sort((x[:, None] / y).ravel()), rank_sum_sd(n, m, np.zeros(()))
    pvalues = rank_sum_normal(np.arange(n * m + 1.0) - 0.5 * n * m, sd)
    for count in range(n * m // 2 + n, n * m - n, 37):
        p = float(pvalues[count])
        for alpha in (p, np.nextafter(p, 0.0), np.nextafter(p, 1.0), p * (1 - 1e-12)):
            needed = int(np.argmax(pvalues <= alpha))
            bounds = ratio_of_medians(x, y, float(alpha))
            low, high = ratios[n * m - needed], ratios[needed - 1]
            assert (float(bounds.low), float(bounds.high)) == (low, max(high, 1.0))


def test_two_series_that_never_vary_tell_of_a_third() -> None:
    """Nothing varies between their sessions, so nothing is expected to; one series alone tells nothing."""
    two = np.array([0, 0, 1, 1])
    zero = np.zeros(4)
    found, other = session_spreads(two, 10 + two, np.array([0, 1, 0, 1]), zero, zero)
    assert sorted(found) == [0, 1]
    assert other is not None
    assert other.variance == 0.0
    _, none = session_spreads(two[:2], two[:2], np.array([0, 1]), np.array([0.0, 0.1]), zero[:2])
    assert none is None


@pytest.mark.parametrize(("n", "m", "steps"), [(4, 5, (0.06, 0.2)), (5, 4, (0.2, 0.0))])
def test_steps_of_few_runs_count_at_their_own_side(n: int, m: int, steps: tuple[float, float]) -> None:
    """Values may lie anywhere within their step: what is proven holds for the worst, side by side."""
    rng = np.random.default_rng([n, m])
    half_x, half_y = steps[0] / 2, steps[1] / 2
    for centre in (0.8, 1.6):
        x, y = centre + 0.1 * rng.random(n), 1.2 + 0.1 * rng.random(m)
        one = [float(p) for p in (lambda t: (t.above, t.below))(typical_ratio_test(x, y, 1.0))]
        for gamma in (0.6, 0.68, 1.2, 1.35):
            above = naive_pvalue(x - half_x, gamma * (y + half_y))
            below = naive_pvalue(gamma * (y - half_y), x + half_x)
            larger, smaller = (min, max) if gamma < 1 else (max, min)
            found = typical_ratio_test(x, y, gamma, steps=steps)
            assert float(found.above) == pytest.approx(larger(above, one[0]), rel=1e-9)
            assert float(found.below) == pytest.approx(smaller(below, one[1]), rel=1e-9)


def test_no_blocks_have_no_middle() -> None:
    empty = PairedSequence()
    assert all(math.isnan(value) for value in (empty.estimate(), empty.middle(), empty.centre()))
