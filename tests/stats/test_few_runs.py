"""Fewer than five runs against five or more: the ranks and Welch's test together, against SciPy and theory."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from tests.stats.test_superiority import naive_pvalue

from speedproof.stats.few_runs import _gaps, _means, too_few
from speedproof.stats.rank_states import pairs_of
from speedproof.stats.ratio import edges
from speedproof.stats.superiority import typical_ratio, typical_ratio_test
from speedproof.stats.ttests import welch

FloatArray = npt.NDArray[np.float64]


def naive_pvalues(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """By enumeration and SciPy: the larger of both tests' p-values, three quarters of Welch's counting."""
    logs = np.log(x), np.log(y)
    welch = [
        0.75 * stats.ttest_ind(*logs, equal_var=False, alternative=a).pvalue for a in ("greater", "less")
    ]
    if min(len(x), len(y)) >= 4:
        welch = [0.0 if x.min() > y.max() else welch[0], 0.0 if x.max() < y.min() else welch[1]]
    return max(naive_pvalue(x, y), welch[0]), max(naive_pvalue(y, x), welch[1])


@pytest.mark.parametrize(("n", "m"), [(3, 5), (6, 3), (4, 5), (2, 6)])
def test_pvalues_at_every_ratio_against_enumeration(n: int, m: int) -> None:
    rng = np.random.default_rng([n, m])
    for _ in range(3):
        x, y = rng.lognormal(0.4, 0.4, n), rng.lognormal(0.0, 0.2, m)
        for gamma in (0.6, 0.9, 1.0, 1.1, 1.5, 2.3):
            found = typical_ratio_test(x, y, gamma)
            assert (float(found.above), float(found.below)) == pytest.approx(
                naive_pvalues(x, gamma * y), rel=1e-9
            )


@pytest.mark.parametrize(("n", "m"), [(3, 5), (8, 4), (3, 40), (100, 2)])
@pytest.mark.parametrize("step", [0.0, 0.02])
def test_bounds_are_where_the_pvalues_pass_alpha(n: int, m: int, step: float) -> None:
    rng = np.random.default_rng([n, m, 1])
    for alpha in (0.8, 0.2, 0.05, 0.01):
        x, y, steps = rng.lognormal(0.4, 0.3, n), rng.lognormal(0.0, 0.2, m), (step, step)
        found = typical_ratio(x, y, alpha, steps=steps)
        low, high = float(found.low), float(found.high)
        for gamma in (low * 0.999999, low * 1.000001, high * 0.999999, high * 1.000001, 1.0):
            if 0.0 < gamma < math.inf:
                test = typical_ratio_test(x, y, gamma, steps=steps)
                assert (test.above <= alpha) == (low > gamma)
                assert (test.below <= alpha) == (high < gamma)


def test_three_scattered_runs_beyond_a_narrow_side_prove_nothing() -> None:
    """Three runs of a wide distribution around a narrow one all exceed it in 1 of 8 cases."""
    y = np.linspace(0.99, 1.01, 20)
    assert typical_ratio([1.02, 1.1, 1.6], y, 0.05).pvalue > 0.05
    assert typical_ratio([1.02, 1.1, 1.6, 1.3], y, 0.05).pvalue <= 0.05  # four of them do
    assert typical_ratio([1.55, 1.6, 1.62], y, 0.05).pvalue <= 0.05  # and three that are alike


@pytest.mark.parametrize(("n", "expected"), [(3, 0.05 / 0.75), (4, 0.075)])
def test_the_risk_of_normal_runs_against_a_point(n: int, expected: float) -> None:
    """By theory Student's test errs in 6.7 % there; four runs lie apart in 6.3 %, either in at most 7.5."""
    rng = np.random.default_rng(n)
    x = 100.0 + rng.normal(0.0, 1.0, (4000, n))
    y = 100.0 + np.broadcast_to(np.linspace(-1e-6, 1e-6, 30), (4000, 30))
    found = typical_ratio_test(x, y, 1.0)
    assert (
        max(np.mean(found.above <= 0.05), np.mean(found.below <= 0.05))
        <= float(stats.binom.isf(1e-5, 4000, expected)) / 4000
    )


@pytest.mark.parametrize("m", [5, 6, 12, 60])
def test_six_scattered_runs_against_a_point_hold_the_risk(m: int) -> None:
    """Five of six lie on one side of it in 7 of 64 cases: ranks alone would err in 10.9 %."""
    rng = np.random.default_rng([6, m])
    x = 100.0 + rng.normal(0.0, 1.0, (4000, 6))
    y = 100.0 + np.broadcast_to(np.linspace(-1e-6, 1e-6, m), (4000, m))
    for sides in ((x, y), (y, x)):
        found = typical_ratio_test(*sides, 1.0)
        assert max(np.mean(found.above <= 0.05), np.mean(found.below <= 0.05)) <= 0.07


def test_values_that_are_not_positive() -> None:
    """There are no logarithms: the verdict at 1 is of the values themselves, and its bound says no more."""
    y = np.array([0.9, 1.0, 1.1, 1.05, 0.95])
    found = typical_ratio(np.array([5.0, 5.1, 0.0]), y, 0.05)
    assert found.pvalue > 0.05
    zero = typical_ratio(np.array([5.0, 5.1, 4.9]), np.append(y, 0.0), 0.05)
    assert zero.pvalue <= 0.05
    assert 1.0 < zero.low < 1.001
    negative = typical_ratio(np.array([5.0, 5.1, 4.9]), np.append(y, -1.0), 0.05)
    assert negative.pvalue <= 0.05
    assert math.isnan(float(negative.low))


@pytest.mark.parametrize("swapped", [False, True])
def test_without_logarithms_no_ratio_but_one_is_tested(swapped: bool) -> None:
    """Ranks alone would bound the ratio; where a zero forbids Welch's test at every other ratio, nothing does."""
    sides = np.array([1.02, 1.1, 1.6]), np.append(np.linspace(0.99, 1.01, 20), 0.0)
    x, y = sides[::-1] if swapped else sides
    found = typical_ratio(x, y, 0.05)
    assert (float(found.low), float(found.high)) == (0.0, math.inf)
    for gamma in (0.2, 0.9, 1.2, 5.0):
        test = typical_ratio_test(x, y, gamma)
        assert min(float(test.above), float(test.below)) > 0.05


@pytest.mark.parametrize("swapped", [False, True])
def test_equal_means_speak_for_neither_side(swapped: bool) -> None:
    """Each of Welch's p-values is one half then, as SciPy's, and three quarters of it count."""
    sides = np.array([-6.0, 3.0, 3.0]), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    x, y = sides[::-1] if swapped else sides
    assert stats.ttest_ind(x, y, equal_var=False, alternative="greater").pvalue == 0.5
    found, ranks = typical_ratio_test(x, y, 1.0), (naive_pvalue(x, y), naive_pvalue(y, x))
    assert min(ranks) < 0.375 < max(ranks)
    assert (float(found.above), float(found.below)) == pytest.approx([max(p, 0.375) for p in ranks])


@pytest.mark.parametrize("unit", [1e-290, 1e-9, 1e290])
def test_the_unit_does_not_matter(unit: float) -> None:
    x, y = np.array([1.2, 1.3, 1.25]), np.array([1.0, 1.05, 0.95, 1.02, 0.99])
    one, other = typical_ratio(x, y, 0.05), typical_ratio(unit * x, unit * y, 0.05)
    assert other.low == pytest.approx(float(one.low), rel=1e-9)
    assert other.pvalue == pytest.approx(float(one.pvalue), rel=1e-9)


def test_a_pair_gets_the_same_bits_beside_any_other() -> None:
    """Nanoseconds beside a benchmark at 1e150: its unit is its own, in Welch's test of few runs and of means."""
    rng = np.random.default_rng(9)
    x, y = 1e-9 * rng.normal(10.3, 0.1, (20, 3)), 1e-9 * rng.normal(10.0, 0.1, (20, 8))
    y[::2, 0] = 0.0  # so that the values themselves are taken, and no logarithms
    near = np.ones((20, 1))
    near[-1] = 1e159
    alone, beside = typical_ratio(x, y, 0.05), typical_ratio(near * x, near * y, 0.05)
    for name in ("pvalue", "pvalue_less", "low", "high"):
        np.testing.assert_array_equal(getattr(beside, name)[:-1], getattr(alone, name)[:-1])
    means, others = welch(x, y), welch(near * x, near * y)
    np.testing.assert_array_equal(others.pvalue[:-1], means.pvalue[:-1])
    np.testing.assert_allclose(others.pvalue[-1], means.pvalue[-1], rtol=1e-9)


def test_constant_sides() -> None:
    for of_x, expected in ((2.0, True), (1.0, False)):
        found = typical_ratio(np.full(3, of_x), np.full(6, 1.0), 0.05)
        assert bool(found.pvalue <= 0.05) is expected
        assert 0.0 < found.pvalue <= 1.0
    assert typical_ratio(np.full(3, 2.0), np.array([1.0, 1.1, 0.9, 1.0, 1.2]), 0.05).low > 1.0


@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 8), (6, 2)])
def test_welchs_tails_count_by_three_quarters(n: int, m: int) -> None:
    """Against SciPy's test of X less a difference, on both sides; without any spread the difference decides."""
    rng = np.random.default_rng([n, m, 5])
    x, y = rng.normal(1.0, 1.0, (9, n)), rng.normal(0.0, 3.0, (9, m))
    x[8], y[8] = 4.0, 3.0
    for difference in (-2.0, 0.0, 0.5, 1.0, 3.0):
        above, below = _means(x, y).tails(difference)
        for found, side in ((above, "greater"), (below, "less")):
            expected = stats.ttest_ind(
                x[:8] - difference, y[:8], axis=1, equal_var=False, alternative=side
            ).pvalue
            np.testing.assert_allclose(found[:8], 0.75 * expected, rtol=1e-9)
        assert (above[8], below[8]) == {True: (0.0, 0.75), False: (0.75, 0.0)}.get(difference < 1.0) or (
            difference == 1.0 and above[8] == below[8] == 0.375
        )


def test_complete_separation_by_its_least_and_greatest_ratios() -> None:
    """Of four runs a side and more: the least x over the greatest y, and so on, at the worst of the steps."""
    rng = np.random.default_rng(6)
    x, y = rng.lognormal(0.5, 0.2, (5, 4)), rng.lognormal(0.0, 0.2, (5, 6))
    steps = np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.3], [9.0, 9.0], [0.0, 0.0]])
    x[4], y[4] = 0.0, 0.0
    low, high = _gaps(pairs_of(x, y, steps, (1.0, 1.0)))
    for k in range(5):
        of_x, of_y = steps[k] / 2
        least, most = max(x[k].min() - of_x, 0.0), max(y[k].min() - of_y, 0.0)
        below, above = y[k].max() + of_y, x[k].max() + of_x
        assert low[k] == (least / below if below > 0.0 else 1.0)  # of zeros alone
        assert high[k] == (above / most if most > 0.0 else math.inf if above > 0.0 else 1.0)
    few = _gaps(pairs_of(x[:, :3], y, steps, (1.0, 1.0)))
    assert (few[0].tolist(), few[1].tolist()) == ([0.0] * 5, [math.inf] * 5)


@pytest.mark.parametrize("swapped", [False, True])
def test_sides_that_touch_are_not_apart(swapped: bool) -> None:
    """The largest of one is the least of the other: Welch's test has to agree, as it would not have to beyond."""
    sides = np.array([0.01, 1.499, 1.5, 1.5]), np.array([1.5, 1.501, 1.502, 1.503, 1.504])
    x, y = sides[::-1] if swapped else sides
    found, expected = typical_ratio_test(x, y, 1.0), naive_pvalues(x, y)
    assert (float(found.above), float(found.below)) == pytest.approx(expected, rel=1e-9)
    assert min(expected) > 0.05 > min(naive_pvalue(x, y), naive_pvalue(y, x))


def test_which_sizes_are_too_few() -> None:
    """Fewer than five against five or more, and six against five or more."""
    for n in range(1, 12):
        for m in range(1, 12):
            few = (n < 5 <= m) or (m < 5 <= n) or (n == 6 and m >= 5) or (m == 6 and n >= 5)
            assert too_few(n, m) == few


@pytest.mark.parametrize("swapped", [False, True])
def test_at_one_values_are_compared_as_they_are_read(swapped: bool) -> None:
    """Whatever the steps: the p-values at 1 are those without them, and with steps no other ratio has them."""
    rng = np.random.default_rng(8)
    for n in (1, 2, 3, 4):
        sides = rng.lognormal(0.3, 0.2, n) + 1.0, rng.lognormal(0.0, 0.1, 8)
        x, y = sides[::-1] if swapped else sides
        plain, coarse = (typical_ratio_test(x, y, 1.0, steps=steps) for steps in ((0.0, 0.0), (0.3, 0.1)))
        assert (plain.above, plain.below) == (coarse.above, coarse.below)
        if n > 1:
            assert (float(plain.above), float(plain.below)) == pytest.approx(naive_pvalues(x, y), rel=1e-9)
        near = [typical_ratio_test(x, y, g, steps=(0.3, 0.1)) for g in (1 - 1e-9, 1 + 1e-9)]
        assert float(near[0].below) >= float(plain.below)
        assert float(near[1].above) >= float(plain.above)


@pytest.mark.parametrize("swapped", [False, True])
def test_apart_by_more_than_the_ratio_and_its_rounding(swapped: bool) -> None:
    """Complete separation at gamma itself, or within its rounding, is none: Welch's test has to agree."""
    gamma = 1.25
    _, above = edges(gamma)
    y = np.array([0.96, 0.97, 0.98, 0.99, 1.0])
    for least, apart in ((gamma, False), (above, False), (np.nextafter(above, 9.0), True), (1.3, True)):
        x = least * np.array([1.0, 2.0, 30.0, 900.0])
        found = typical_ratio_test(y, x, 1 / gamma) if swapped else typical_ratio_test(x, y, gamma)
        if swapped and least != 1.3:
            continue  # the inverse is rounded anew
        p = float(found.below if swapped else found.above)
        assert (p == pytest.approx(1 / math.comb(9, 4))) is apart


def test_from_which_risk_on_the_ranks_bound_alone() -> None:
    """From three quarters on Welch's test is never asked, of values without any spread, too."""
    for x, y in (
        (np.full(3, 2.0), np.full(6, 1.5)),
        (np.array([1.0, 1.2, 1.1]), np.array([1.0, 0.9, 1.05, 0.97, 1.1])),
    ):
        for alpha in (0.74, 0.75, 0.76):
            found = typical_ratio(x, y, alpha)
            for gamma in (float(found.low) * (1 - 1e-6), float(found.low) * (1 + 1e-6)):
                if 0.0 < gamma < math.inf:
                    assert (typical_ratio_test(x, y, gamma).above <= alpha) == (found.low > gamma)
