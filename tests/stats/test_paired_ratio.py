"""The signed-rank test of ratios within sessions, against SciPy, the definition of its bounds and its null."""

import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.paired_ratio import paired_ratio, paired_ratio_test, runs_needed_pairs

EXACT = np.zeros((1, 2))


@pytest.mark.parametrize("n", [5, 8, 15, 30])
def test_pvalues_against_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = 1.02 * rng.lognormal(0, 0.05, (1, n)), rng.lognormal(0, 0.05, (1, n))
    for gamma in (0.9, 0.99, 1.0, 1.01, 1.1):
        found = paired_ratio_test(x, y, gamma, steps=EXACT)
        d = np.log(x[0] / y[0] / gamma)
        for pvalue, alternative in ((found.above, "greater"), (found.below, "less")):
            expected = stats.wilcoxon(d, alternative=alternative, method="exact").pvalue
            assert pvalue[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [5, 6, 12, 40])
@pytest.mark.parametrize("step", [0.0, 0.01])
def test_bounds_are_where_the_pvalues_pass_alpha(n: int, step: float) -> None:
    rng = np.random.default_rng([n, 1])
    x, y, steps = 1.05 * rng.lognormal(0, 0.05, (1, n)), rng.lognormal(0, 0.05, (1, n)), np.full((1, 2), step)
    for alpha in (0.2, 0.05, 0.01):
        found = paired_ratio(x, y, alpha, steps=steps)
        low, high = float(found.low[0]), float(found.high[0])
        assert low < found.estimate[0] < high
        for gamma in (low * 0.999999, low * 1.000001, high * 0.999999, high * 1.000001, 1.0):
            if 0.0 < gamma < math.inf:
                test = paired_ratio_test(x, y, gamma, steps=steps)
                assert bool(test.above[0] <= alpha) == (low > gamma)
                assert bool(test.below[0] <= alpha) == (high < gamma)


def test_what_a_session_adds_to_both_sides_does_not_matter() -> None:
    """Sessions that differ by a factor of three hide nothing of a gain of 3 % with noise of 1 %."""
    rng = np.random.default_rng(4)
    sessions = rng.lognormal(0, 1, (300, 8))
    x, y = 1.03 * sessions * rng.lognormal(0, 0.01, (300, 8)), sessions * rng.lognormal(0, 0.01, (300, 8))
    found = paired_ratio(x, y, 0.05, steps=np.zeros((300, 2)))
    assert np.mean(found.pvalue <= 0.05) > 0.98
    assert np.mean(found.low > 1.03) <= stats.binom.isf(1e-5, 300, 0.05) / 300
    same = paired_ratio(y, y[:, ::-1], 0.05, steps=np.zeros((300, 2)))
    assert np.mean(same.pvalue <= 0.05) <= stats.binom.isf(1e-5, 300, 0.05) / 300


def test_equal_negative_and_zero_values() -> None:
    ones = np.ones((1, 6))
    equal = paired_ratio(ones, ones, 0.05, steps=EXACT)
    assert [float(v[0]) for v in (equal.estimate, equal.low, equal.high, equal.chance)] == [1, 1, 1, 0.5]
    assert equal.pvalue[0] == equal.pvalue_less[0] == 1.0
    for x in (np.array([[1, 2, 3, 4, 5, 0.0]]), np.array([[1, 2, 3, 4, 5, -1.0]])):
        found = paired_ratio(x + 0.0, x - 2.0, 0.05, steps=EXACT)
        assert found.pvalue[0] == 1 / 64
        assert math.isnan(found.low[0])


def test_sessions_needed() -> None:
    """At an effect of one deviation 6.2 sessions for a power of 80 % (Cohen 1988), ranks 5 % more."""
    d = np.array([[0.0, 2.0, 1.0, 1.0 + math.sqrt(1.5), 1.0 - math.sqrt(1.5)]])
    d = 1.0 + (d - 1.0) / d.std(ddof=1)
    need = runs_needed_pairs(np.exp(d), np.ones((1, 5)), 0.05)
    assert 6 <= need.x[0] <= 8
