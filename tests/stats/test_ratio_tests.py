"""Tests at a ratio other than 1 and certified bounds, zeros too: against SciPy, counting and each other."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy import stats as scipy_stats

from speedproof.arrays import FloatArray
from speedproof.stats.estimate import OneSided
from speedproof.stats.paired_ratio import paired_ratio, paired_ratio_test
from speedproof.stats.ranks import rank_sum, rank_sum_normal, rank_sum_sd, rank_sum_tail
from speedproof.stats.ratio import edges, ratio_of_means, ratio_of_means_test, student, welch
from speedproof.stats.ratio_medians import ratio_of_medians, ratio_of_medians_test, ratio_order_statistics
from speedproof.stats.special import decreasing_roots
from speedproof.stats.superiority import typical_ratio, typical_ratio_test

GAMMAS = (0.8, 1 / 1.02, 1.0, 1.02, 1.3, 2.0)


def draw(seed: int, n: int, m: int, ratio: float = 1.0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return ratio * rng.lognormal(2.0, 0.1, n), rng.lognormal(2.0, 0.2, m)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize(("n", "m"), [(5, 9), (40, 33), (2, 60), (31, 2)])
def test_welch_against_scipy(gamma: float, n: int, m: int) -> None:
    """The test of X against gamma Y is Welch's on the scaled sample, where it does not contradict gamma = 1."""
    x, y = draw(n, n, m, 1.1)
    found = ratio_of_means_test(x, y, gamma, False)
    above, below = (
        [stats.ttest_ind(x, g * y, equal_var=False, alternative=side).pvalue for g in (gamma, 1.0)]
        for side in ("greater", "less")
    )
    keep_above = min if gamma < 1 else max
    keep_below = max if gamma < 1 else min
    assert float(found.pvalue) == pytest.approx(keep_above(above), rel=1e-9, abs=1e-14)
    assert float(found.pvalue_less) == pytest.approx(keep_below(below), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 1), (1, 3), (7, 1), (2, 2), (5, 9)])
def test_few_runs_of_one_variance(n: int, m: int) -> None:
    """Down to one degree of freedom: Fieller's statistic, and its bounds where that is the quantile."""
    for seed in range(8):
        x, y = draw(seed, n, m, 1.2)
        df = n + m - 2
        pooled = (((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum()) / df

        def statistic(gamma: float, x: FloatArray = x, y: FloatArray = y, pooled: float = pooled) -> float:
            return float((x.mean() - gamma * y.mean()) / np.sqrt(pooled * (1 / n + gamma**2 / m)))

        for gamma in (1.0, 0.5, 1.3):
            found = ratio_of_means_test(x, y, gamma, True)
            tails = [stats.t.sf(statistic(g), df) for g in (gamma, 1.0)]
            keep = min if gamma < 1 else max
            assert float(found.pvalue) == pytest.approx(keep(tails), rel=1e-9)
            keep = max if gamma < 1 else min
            assert float(found.pvalue_less) == pytest.approx(keep(1 - t for t in tails), rel=1e-9)
        for alpha in (0.05, 0.3, 0.5):
            bounds, quantile = ratio_of_means(x, y, alpha, True), stats.t.isf(alpha, df)
            assert bounds.low >= 0
            if bounds.low > 0:
                assert statistic(float(bounds.low)) == pytest.approx(quantile, rel=1e-9, abs=1e-9)
            if bounds.high < np.inf:
                assert statistic(float(bounds.high)) == pytest.approx(-quantile, rel=1e-9, abs=1e-9)
            assert (bounds.low > 0) == (x.mean() > quantile * np.sqrt(pooled / n))
            assert (bounds.high < np.inf) == (y.mean() > quantile * np.sqrt(pooled / m))


ROUNDING = Fraction(16, 2**52)


@pytest.mark.parametrize("gamma", [1e-300, 0.5, 0.98, 1 / 1.02, 1.02, 2.0, 7e200])
def test_edges_are_sixteen_units_of_the_last_place_away(gamma: float) -> None:
    """To the rounding of one product; but what equals gamma is never on the other side of 1."""
    below, above = edges(gamma)
    assert abs(Fraction(below) / (Fraction(gamma) * (1 - ROUNDING)) - 1) <= Fraction(1, 2**52)
    assert abs(Fraction(above) / (Fraction(gamma) * (1 + ROUNDING)) - 1) <= Fraction(1, 2**52)


def test_edges_next_to_one() -> None:
    assert edges(1.0) == (1.0, 1.0)
    rounding = float(ROUNDING)
    for units in (1, 8, 15, 17):
        low, high = 1 - units * 2.0**-53, 1 + units * 2.0**-52
        assert edges(low) == (low * (1 - rounding), 1.0)
        assert edges(high) == (1.0 if units < 17 else high * (1 - rounding), high * (1 + rounding))
    assert edges(1 - 64 * 2.0**-53)[1] < 1.0 < edges(1 + 64 * 2.0**-52)[0]


@pytest.mark.parametrize("gamma", [0.0, -0.5, math.inf, -math.inf, math.nan])
def test_a_gamma_is_positive_and_finite(gamma: float) -> None:
    pair = [1.0, 2.0], [1.0, 2.0]
    for test in (
        edges, lambda one: typical_ratio_test(*pair, one), lambda one: ratio_of_medians_test(*pair, one),
        lambda one: ratio_of_means_test(*pair, one, True),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^a ratio is tested against a positive gamma, not {gamma:g}$"):
            test(gamma)


SIZES = [(1, 1), (1, 4), (3, 2), (5, 5), (4, 9), (51, 3), (2, 52)]


def rows(n: int, m: int) -> tuple[FloatArray, FloatArray]:
    """Pairs without ties, with ties inside, across, with zeros of one side and of both, and all equal."""
    rng = np.random.default_rng([n, m])
    x, y = rng.lognormal(0.3, 0.4, (8, n)), rng.lognormal(0.0, 0.4, (8, m))
    x[1], y[2] = np.round(x[1], 1), np.round(y[2], 1)
    x[3], y[3] = np.round(x[3]), np.round(y[3])
    x[4, : n // 2], x[5, : n // 2 + 1], y[5, : m // 2 + 1] = 0.0, 0.0, 0.0
    x[6], y[6] = 3.0, 3.0
    x[7], y[7] = 0.0, 0.0
    return x, y


def spread_of(x: FloatArray, y: FloatArray) -> float:
    """The deviation of the rank sum when nothing ties across the samples."""
    n, m = x.size, y.size
    runs = [int(c) for side in (x, y) for c in np.unique(side, return_counts=True)[1]]
    size = n + m
    variance = n * m / 12 * (size + 1 - sum(c**3 - c for c in runs) / (size * (size - 1)))
    return math.sqrt(max(variance, 0.0))


def ratios_of(x: FloatArray, y: FloatArray) -> list[float]:
    """In order; that of two zeros is 1."""
    return sorted(a / b if b else math.inf if a else 1.0 for a in x.tolist() for b in y.tolist())


def shifted(x: FloatArray, y: FloatArray, gamma: float, exact: bool) -> tuple[float, float]:
    """Both p-values at a gamma that no ratio equals."""
    n, m = x.size, y.size
    sd, ratios = spread_of(x, y), ratios_of(x, y)
    found = []
    for won in (sum(r > gamma for r in ratios), sum(r < gamma for r in ratios)):
        if exact:
            found.append(float(rank_sum_tail(n, m)[won]))
        else:
            centred = won - 0.5 * n * m
            found.append(float(stats.norm.sf((centred - 0.5) / sd)) if sd > 1e-6 else float(centred < 0.5))
    return found[0], found[1]


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_pvalues_at_every_gamma(n: int, m: int) -> None:
    """Of many pairs at once, and what is known of gamma = 1 may be handed on."""
    x, y = rows(n, m)
    test = rank_sum(x, y)
    for gamma in (0.31, 0.8573, 1.1717, 3.7):
        found = ratio_of_medians_test(x, y, gamma)
        again = ratio_of_medians_test(x, y, gamma, at_one=test)
        np.testing.assert_array_equal([found.pvalue, found.pvalue_less], [again.pvalue, again.pvalue_less])
        larger, smaller = (min, max) if gamma < 1 else (max, min)
        for row in range(8):
            above, below = shifted(x[row], y[row], gamma, bool(test.exact[row]))
            assert found.pvalue[row] == pytest.approx(larger(above, float(test.pvalue[row])), rel=1e-9)
            assert found.pvalue_less[row] == pytest.approx(
                smaller(below, float(test.pvalue_less[row])), rel=1e-9
            )
    at_one = ratio_of_medians_test(x, y, 1.0)
    np.testing.assert_array_equal([at_one.pvalue, at_one.pvalue_less], [test.pvalue, test.pvalue_less])


@pytest.mark.parametrize("alpha", [1e-9, 0.02, 0.3, 0.7])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_bounds_are_where_a_scan_stops(n: int, m: int, alpha: float) -> None:
    """Between neighbouring ratios the test above, up to the first gamma that it does not reject, held at 1."""
    x, y = rows(n, m)
    test = rank_sum(x, y)
    found = ratio_of_medians(x, y, alpha)
    again = ratio_of_medians(x, y, alpha, at_one=test)
    np.testing.assert_array_equal([found.low, found.high], [again.low, again.high])
    for row in range(8):
        ratios = np.unique(ratios_of(x[row], y[row]))
        inner = ratios[np.isfinite(ratios) & (ratios > 0.0)].tolist()
        marks = [0.0, *inner, math.inf]
        middles = [math.sqrt(a * b) for a, b in itertools.pairwise(inner)]
        gammas = [inner[0] / 2, *middles, inner[-1] * 2] if inner else [1.0]
        rejects = [[p <= alpha for p in shifted(x[row], y[row], g, bool(test.exact[row]))] for g in gammas]
        k = next((k for k, (above, _) in enumerate(rejects) if not above), len(gammas))
        low = marks[k]
        k = next((k for k, (_, below) in enumerate(rejects[::-1]) if not below), len(gammas))
        high = marks[::-1][k]
        faster, slower = bool(test.pvalue[row] <= alpha), bool(test.pvalue_less[row] <= alpha)
        low = max(low, math.nextafter(1.0, 2.0)) if faster else min(low, 1.0)
        high = min(high, math.nextafter(1.0, 0.0)) if slower else max(high, 1.0)
        assert [found.low[row], found.high[row]] == pytest.approx([low, high], rel=1e-12)


@pytest.mark.parametrize(("n", "m"), [(60, 55), (50, 8), (180, 130), (700, 400)])
def test_how_many_ratios_a_risk_needs(n: int, m: int) -> None:
    """The first count with a p-value of at most alpha, also where alpha is such a p-value or next to it."""
    rng = np.random.default_rng(n)
    x, y = rng.lognormal(0.5, 0.2, n), rng.lognormal(0.0, 0.2, m)
    ratios, sd = np.sort((x[:, None] / y).ravel()), rank_sum_sd(n, m, np.zeros(()))
    pvalues = rank_sum_normal(np.arange(n * m + 1.0) - 0.5 * n * m, sd)
    for count in range(n * m // 2 + n, n * m - n, max(37, n * m // 60)):
        p = float(pvalues[count])
        for alpha in (p, np.nextafter(p, 0.0), np.nextafter(p, 1.0), p * (1 - 1e-12)):
            needed = int(np.argmax(pvalues <= alpha))
            bounds = ratio_of_medians(x, y, float(alpha))
            low, high = ratios[n * m - needed], ratios[needed - 1]
            assert (float(bounds.low), float(bounds.high)) == (low, max(high, 1.0))


EDGES = (0.3, 0.98, 1.02, 2.5)


def ratio(a: float, b: float) -> float:
    return 1.0 if a == b == 0.0 else math.inf if b == 0.0 else a / b


def samples() -> list[tuple[FloatArray, FloatArray]]:
    """Few distinct values with zeros, and many; none, some and all of either side are zeros."""
    rng = np.random.default_rng(3)
    found = []
    for case in range(60):
        n, m = rng.integers(2, 13, 2)
        x, y = rng.integers(0, 4, n) * (1.0, 0.37)[case % 2], rng.integers(0, 4, m) * 1.0
        if case % 3 == 0:
            x, y = x * rng.lognormal(0.0, 0.3, n), y * rng.lognormal(0.0, 0.3, m)
        found.append((x * (case % 5 > 0), y * (case % 7 > 0)))
    return found


def test_order_statistics_and_medians_are_those_of_all_ratios() -> None:
    """Sorted by hand, with two zeros at 1 among the others."""
    for x, y in samples():
        ratios = sorted(ratio(a, b) for a in x for b in y)
        assert ratio_order_statistics(x, y, range(len(ratios))) == pytest.approx(ratios, rel=1e-12)
        lower, upper = ratios[(len(ratios) - 1) // 2], ratios[len(ratios) // 2]
        middle = lower if lower == upper else math.sqrt(lower) * math.sqrt(upper)
        assert typical_ratio(x, y, 0.05).estimate == pytest.approx(middle, nan_ok=True)


@pytest.mark.parametrize("n", [4, 6, 10, 400])
def test_against_zero_every_margin_is_decided(n: int) -> None:
    """0 against 1 lies below every gamma, 1 against 0 above, 0 against 0 at 1: as surely as there can be."""
    zero, one, steps = np.zeros((1, n)), np.ones((1, n)), np.zeros((1, 2))
    least = typical_ratio_test(2.0 * one, one, 1.0).pvalue
    for x, y, expected in (
        (zero, one, 0.0), (one, zero, math.inf), (zero, zero, 1.0), (3 * one, 3 * one, 1.0),
    ):  # fmt: skip
        asked: list[tuple[Any, float, list[OneSided]]] = [
            (typical_ratio(x, y, 0.05), 0.05, [typical_ratio_test(x, y, g) for g in EDGES]),
            (ratio_of_medians(x, y, 0.05), 0.05, [ratio_of_medians_test(x, y, g) for g in EDGES]),
        ]
        if n < 400:
            tests = [paired_ratio_test(x, y, g, steps=steps) for g in EDGES]
            asked += [(paired_ratio(x, y, 0.1, steps=steps), 0.1, tests)]
        for found, alpha, tests in asked:
            assert [found.low[0], found.high[0]] == [expected] * 2
            assert getattr(found, "estimate", found.low)[0] == expected
            for gamma, test in zip(EDGES, tests, strict=True):
                verdicts = (test.pvalue[0] <= alpha, test.pvalue_less[0] <= alpha)
                assert verdicts == (gamma < expected, gamma > expected)
        for test in asked[0][2]:
            assert min(test.pvalue, test.pvalue_less) == pytest.approx(least)


@pytest.mark.parametrize("side", [0, 1])
def test_one_value_below_zero_leaves_no_ratio(side: int) -> None:
    both = np.ones((2, 1, 5)) + np.arange(5) / 10
    both[side, 0, 2] = -1.0
    for gamma in (0.9, 1.1):
        test = typical_ratio_test(both[0], both[1], gamma)
        assert np.isnan([test.pvalue, test.pvalue_less]).all()
    assert np.isnan(typical_ratio(both[0], both[1], 0.05).estimate).all()


ALPHAS = (1e-3, 0.05, 0.45)


@pytest.mark.parametrize("gain", [0.7, 1.0, 1.3])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 9), (3, 5), (7, 7), (31, 12), (60, 55)])
def test_bounds_of_means_are_where_welchs_test_has_the_risk(n: int, m: int, gain: float) -> None:
    """At no gamma is it as small where there is no bound; those at 1 are held there by the verdict."""
    rng = np.random.default_rng([n, m])
    x, y = gain * rng.lognormal(0.0, 0.1, (40, n)), rng.lognormal(0.0, 0.15, (40, m))

    def pvalues(gamma: FloatArray, side: str) -> FloatArray:
        found = scipy_stats.ttest_ind(x, gamma[:, None] * y, axis=1, equal_var=False, alternative=side)
        return np.asarray(found.pvalue)

    for alpha in ALPHAS:
        found = ratio_of_means(x, y, alpha, False)
        for bound, side, none in ((found.low, "greater", 0.0), (found.high, "less", np.inf)):
            at = pvalues(np.clip(bound, 1e-9, 1e9), side)
            free = (bound != none) & (np.abs(bound - 1.0) > 1e-9)
            assert at[free] == pytest.approx(np.full(free.sum(), alpha), rel=1e-6)
            assert (at[bound == none] > alpha).all()


COUNTS = st.integers(1, 12).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(0, 6).map(float)))
RISKS = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.8])
# Values on a coarse grid: ties inside and across samples, zeros, constants.
TIMES = st.integers(2, 12).flatmap(
    lambda n: arrays(np.float64, n, elements=st.floats(1e-3, 1e3, allow_subnormal=False))
)


@given(counts=st.tuples(COUNTS, COUNTS), times=st.tuples(TIMES, TIMES), alpha=RISKS, equal=st.booleans())
def test_bounds_exceed_1_exactly_when_the_test_rejects(
    counts: Any, times: Any, alpha: float, equal: bool
) -> None:
    (x, y), (u, v) = counts, times
    means = ratio_of_means(u, v, alpha, equal), (student if equal else welch)(u, v)
    for bounds, test in ((ratio_of_medians(x, y, alpha), rank_sum(x, y)), means):
        assert (bounds.low > 1.0) == (test.pvalue <= alpha)
        assert (bounds.high < 1.0) == (test.pvalue_less <= alpha)


ROOTS = np.array([-40.0, -1.5, 0.0, 1e-7, 0.3, 2.0, 55.0])
SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "line": lambda d: -d, "cube": lambda d: -(d**3), "step": lambda d: np.where(d < 0.0, 1.0, -1e-12),
    "step the other way": lambda d: np.where(d < 0.0, 1e-12, -1.0),
    "stairs": lambda d: -np.floor(d / 1e-3) - 0.5, "even step": lambda d: np.where(d < 0.0, 1.0, -1.0),
    "ramp": lambda d: np.maximum(-d, 0.0), "bend": lambda d: np.where(d < 0.0, -1e-6 * d, -1e6 * d),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-60.0, 60.0), (3.0, 3.001), (-2.0, -1.999)])
def test_the_interval_holds_the_root_and_is_narrow(name: str, low: float, high: float) -> None:
    """Wherever the search begins: to the left of the root, to its right, or around it."""
    shape = SHAPES[name]
    first, last = decreasing_roots(
        lambda at: shape(at - ROOTS), np.full(ROOTS.size, low), np.full(ROOTS.size, high), 1e-9
    )
    assert (shape(first - ROOTS) > 0.0).all()
    assert (shape(last - ROOTS) <= 0.0).all()
    assert (first <= ROOTS).all()
    assert (last >= ROOTS).all()
    assert (last - first <= 1e-9 * np.maximum(1.0, np.abs(ROOTS))).all()
