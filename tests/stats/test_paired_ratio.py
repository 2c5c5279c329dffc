"""The signed-rank test of ratios within sessions, against SciPy, the definition of its bounds and its null."""

import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats.paired_ratio import paired_ratio, paired_ratio_test, runs_needed_pairs

EXACT = np.zeros((1, 2))


@pytest.mark.parametrize("n", [4, 5, 8, 15, 30])
def test_pvalues_against_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = 1.02 * rng.lognormal(0, 0.05, (1, n)), rng.lognormal(0, 0.05, (1, n))
    for gamma in (0.9, 0.99, 1.0, 1.01, 1.1):
        found = paired_ratio_test(x, y, gamma, steps=EXACT)
        d = np.log(x[0] / y[0] / gamma)
        for pvalue, alternative in ((found.above, "greater"), (found.below, "less")):
            expected = stats.wilcoxon(d, alternative=alternative, method="exact").pvalue
            if expected == 0.5**n:  # all on one side
                student = stats.ttest_1samp(d, 0.0, alternative=alternative).pvalue
                expected = min(expected, max(student, 1 / math.comb(2 * n, n)))
            assert pvalue[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [4, 5, 6, 12, 40])
@pytest.mark.parametrize("step", [0.0, 0.01])
def test_bounds_are_where_the_pvalues_pass_alpha(n: int, step: float) -> None:
    rng = np.random.default_rng([n, 1])
    x, y, steps = 1.05 * rng.lognormal(0, 0.05, (1, n)), rng.lognormal(0, 0.05, (1, n)), np.full((1, 2), step)
    for alpha in (0.2, 0.05, 0.02, 0.005):
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
        assert found.pvalue[0] == 1 / 924  # C(12, 6)
        assert math.isnan(found.low[0])


def test_sessions_needed() -> None:
    """At an effect of one deviation 6.2 sessions for a power of 80 % (Cohen 1988), ranks 5 % more."""
    d = np.array([[0.0, 2.0, 1.0, 1.0 + math.sqrt(1.5), 1.0 - math.sqrt(1.5)]])
    d = 1.0 + (d - 1.0) / d.std(ddof=1)
    need = runs_needed_pairs(np.exp(d), np.ones((1, 5)), 0.05)
    assert 6 <= need.x[0] <= 8


def test_sessions_needed_at_a_small_risk() -> None:
    """A p-value of 0.05 / 4 takes five sessions, 1 / C(10, 5), however clear; and the number is about enough."""
    x = np.array([1.3, 1.31, 1.29, 1.3])
    assert runs_needed_pairs(x, np.ones(4), 0.05 / 4).x == 5
    rng = np.random.default_rng(2)
    z = rng.standard_normal(20)
    z = (z - z.mean()) / z.std(ddof=1)
    for effect, alpha in ((1.0, 0.05), (1.5, 0.01), (0.7, 0.005)):
        n = int(runs_needed_pairs(np.exp(z + effect), np.ones(20), alpha).x)
        drawn = np.exp(rng.standard_normal((4000, n)) + effect)
        found = paired_ratio_test(drawn, np.ones((4000, n)), 1.0, steps=np.zeros((4000, 2)))
        assert 0.72 < np.mean(found.above <= alpha) < 0.92


@pytest.mark.parametrize("n", [4, 5, 7])
def test_risk_with_few_sessions(n: int) -> None:
    """Normal ratios: within the risk, also below 2^-n. Whatever is symmetric: 2^-n or the risk, the larger."""
    rng = np.random.default_rng(n)
    trials = 20_000
    shapes = {
        "normal": rng.standard_normal((trials, n)),
        "two states": rng.choice([-1.0, 1.0], (trials, n)) + 0.01 * rng.standard_normal((trials, n)),
        "heavy": rng.standard_t(2, (trials, n)),
    }
    for name, d in shapes.items():
        found = paired_ratio_test(np.exp(0.05 * d), np.ones((trials, n)), 1.0, steps=np.zeros((trials, 2)))
        for alpha in (0.05, 0.0125):
            most = alpha if name == "normal" else max(alpha, 0.5**n)
            assert np.mean(found.above <= alpha) <= stats.binom.isf(1e-5, trials, most) / trials


def test_more_confidence_never_claims_more() -> None:
    """The bounds widen with the confidence, also past 2^-n."""
    rng = np.random.default_rng(6)
    for n in (4, 5, 7):
        x, y, steps = rng.lognormal(0.05, 0.05, (50, n)), rng.lognormal(0, 0.02, (50, n)), np.zeros((50, 2))
        found = [paired_ratio(x, y, alpha, steps=steps) for alpha in (0.2, 0.1, 0.05, 0.02, 0.01, 0.001)]
        for wide, narrow in zip(found[1:], found, strict=False):
            assert (wide.low <= narrow.low * (1 + 1e-12)).all()
            assert (wide.high >= narrow.high * (1 - 1e-12)).all()


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
def test_units_do_not_matter(unit: float) -> None:
    x, y = np.array([[1.1, 2.3, 3.3, 4.8, 5.5]]), np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])
    for shift in (0.0, 6.0):  # without logarithms below zero
        one = paired_ratio_test(x - shift, y - shift, 1.0, steps=EXACT).above[0]
        other = paired_ratio_test(unit * (x - shift), unit * (y - shift), 1.0, steps=EXACT).above[0]
        assert other == pytest.approx(one)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_without_positive_values_there_is_no_ratio(side: int, value: float) -> None:
    """On either side; the difference is judged all the same."""
    both = np.array([[3.0, 3.5, 4.0, 4.5, 5.0]]), np.array([[1.0, 1.2, 1.1, 1.3, 1.4]])
    both[side][0, 2] = value
    found = paired_ratio(*both, 0.2, steps=EXACT)
    assert np.isnan([found.estimate, found.low, found.high]).all()
    assert np.isfinite([found.pvalue, found.pvalue_less]).all()
    at = paired_ratio_test(*both, 1.1, steps=EXACT)
    assert np.isnan([at.above, at.below]).all()


@pytest.mark.parametrize("worst", [2.5, 0.0, -1.0])
def test_swapped_sides_give_the_mirrored_answer(worst: float) -> None:
    """Of ratios that mean something and of values that are not positive on one side, alone and together.

    Those are judged by SciPy's test of their differences, and have no ratio.
    """
    x = np.array([[1.1, 2.3, 3.9, 4.8, 5.2, 6.7, 7.1], [1.1, 2.3, 3.9, 4.8, 5.2, 6.7, 7.1]])
    y = np.array([[1.0, 2.6, 3.7, 4.4, 5.7, 6.1, 6.4], [worst, 2.6, 3.7, 4.4, 5.7, 6.1, 6.4]])
    steps = np.zeros((2, 2))
    for alpha in (0.05, 0.3):
        found, mirrored = paired_ratio(x, y, alpha, steps=steps), paired_ratio(y, x, alpha, steps=steps)
        for one, other in (("estimate", "estimate"), ("low", "high"), ("high", "low")):
            np.testing.assert_allclose(getattr(found, one), 1 / getattr(mirrored, other), rtol=1e-12)
            assert np.isnan(getattr(found, one)).tolist() == [False, worst <= 0.0]
        for one, other in (
            ("chance", "chance"),
            ("chance_low", "chance_high"),
            ("chance_high", "chance_low"),
        ):
            np.testing.assert_allclose(getattr(found, one), 1 - getattr(mirrored, other), rtol=1e-12)
        assert found.pvalue.tolist() == mirrored.pvalue_less.tolist()
        assert found.pvalue_less.tolist() == mirrored.pvalue.tolist()
        assert paired_ratio(x[:1], y[:1], alpha, steps=steps[:1]).low[0] == found.low[0]
        d = np.log(x[1] / y[1]) if worst > 0.0 else x[1] - y[1]
        for pvalue, side in ((found.pvalue, "greater"), (found.pvalue_less, "less")):
            assert pvalue[1] == pytest.approx(stats.wilcoxon(d, alternative=side, method="exact").pvalue)
