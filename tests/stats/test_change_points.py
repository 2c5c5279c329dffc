"""Change points and rises against loops, SciPy and simulation."""

import itertools

import numpy as np
import pytest
from scipy.optimize import least_squares
from tests.stats.series import autoregressive

from speedproof.stats.change_points import all_changes, change_pvalues, find_changes, fitted_rise


@pytest.mark.parametrize("x", [[], [1.0], [1.0, 2.0, 3.0], [2.0] * 50])
def test_short_and_constant_series_show_nothing(x: list[float]) -> None:
    """Fewer than eight values and a constant show no change."""
    assert find_changes(np.array(x), 0.05) == ()


@pytest.mark.parametrize(("one", "other"), [(6, 6), (7, 6), (10, 3), (17, 4)])
def test_equal_values_against_all_orders(one: int, other: int) -> None:
    """Of all orders of two values no more show such a p-value than it says, down to the least one."""
    ways = itertools.combinations(range(one + other), other)
    x = np.array([np.isin(np.arange(one + other), way) for way in ways]) * 1.0
    ordered = np.sort(change_pvalues(x))
    exact = np.searchsorted(ordered, ordered * (1 + 1e-9), side="right") / len(x)
    assert (exact <= ordered * (1 + 1e-9)).all()


@pytest.mark.parametrize(("n", "benchmarks"), [(40, 50), (60, 10_000), (100, 100_000)])
def test_a_large_step_of_rounded_values_shows_in_many_benchmarks(n: int, benchmarks: int) -> None:
    """The least p-values leave room for Holm's correction, whether values are equal or not."""
    noise = np.random.default_rng(n).standard_normal(n)
    step = 10_000.0 * (np.arange(n) >= n // 2)
    for x in (step + noise, step + np.round(2 * noise)):
        assert float(change_pvalues(x[None])[0]) <= 0.05 / benchmarks


@pytest.mark.parametrize(
    ("n", "share"),
    [(12, 0.3), (13, 0.15), (15, 0.3), (20, 0.15), pytest.param(40, 0.1, marks=pytest.mark.slow)],
)
def test_suites_of_two_valued_benchmarks_keep_the_risk(n: int, share: float) -> None:
    """After Holm's correction at most 5 % of suites of 100 show a change that is none (4 standard errors)."""
    suites, benchmarks = 100, 100
    x = (np.random.default_rng([n, 9]).random((suites * benchmarks, n)) < share) * 1.0
    least = np.asarray(change_pvalues(x)).reshape(suites, benchmarks).min(axis=1)
    assert (least <= 0.05 / benchmarks).mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / suites)


def test_so_many_benchmarks_of_twelve_commits_can_show_at_once() -> None:
    """docs/tables.md says 21: Holm's least level must still be above the least p-value, and is not for 22."""
    x = np.random.default_rng(1).standard_normal((1, 12)) + 10_000.0 * (np.arange(12) >= 6)
    assert 0.05 / 22 < float(change_pvalues(x)[0]) <= 0.05 / 21


def test_several_changes_are_found_and_none_is_invented() -> None:
    """Of three clear changes nearly all are found, in intervals that hold them, and at most 5 % of series have one
    too many (4 standard errors)."""
    truth = np.array([50, 90, 140])
    level = np.repeat([0.0, 2.0, 0.5, 3.0], [50, 40, 50, 60])
    held, found, extra = 0, 0, 0
    for seed in range(40):
        changes = find_changes(level + np.random.default_rng(seed).normal(0, 0.7, 200), 0.05)
        extra += len(changes) > 3
        found += len(changes)
        held += sum(bool(((truth >= c.low) & (truth <= c.high)).any()) for c in changes)
    assert extra <= 40 * 0.05 + 4 * np.sqrt(40 * 0.05 * 0.95)
    assert found >= 108  # 90 % of 120
    assert held >= 0.9 * found


@pytest.mark.parametrize(
    ("rho", "step"), [(0.0, 1.5), pytest.param(0.3, 2.5, marks=pytest.mark.slow), (0.6, 4.0)]
)
def test_the_places_cover_the_step(rho: float, step: float) -> None:
    """Those between the first and the last hold the true one in 95 % of 100 series (4 standard errors)."""
    covered, lengths = 0, []
    for seed in range(100):
        (noise,) = autoregressive(np.random.default_rng([9, seed]), 1, 80, rho)
        found = [c for c in find_changes(noise + step * (np.arange(80) >= 30), 0.05) if c.low <= 30 <= c.high]
        covered += bool(found)
        lengths += [c.high - c.low for c in found]
    assert covered >= 100 * (0.95 - 4 * np.sqrt(0.95 * 0.05 / 100))
    assert np.median(lengths) < 15


def test_a_rise_between_levels_is_a_drift_and_two_steps_are_none() -> None:
    """Of ten deviations over 100 of 200 commits; of three deviations each, twenty commits apart."""
    rng, time = np.random.default_rng(6), np.arange(200)
    rises = rng.normal(size=(40, 200)) + 10.0 * np.clip((time - 50) / 100, 0.0, 1.0)
    steps = rng.normal(size=(40, 200)) + 3.0 * (time >= 90) + 3.0 * (time >= 110)
    for series, least, most in ((rises, 36, 40), (steps, 0, 4)):
        every = all_changes(series, 0.05, change_pvalues(series))
        assert least <= sum(any(change.drift for change in changes) for changes in every) <= most


def ramp(n: int, begin: int, end: int) -> np.ndarray:
    """From 0 at one value to 1 at another."""
    return np.clip((np.arange(n) - begin) / (end - begin), 0.0, 1.0)


@pytest.mark.parametrize(("n", "begin", "end"), [(5, 1, 3), (30, 0, 30), (40, 10, 25), (160, 40, 120)])
def test_without_noise_the_rise_is_what_it_was_made_of(n: int, begin: int, end: int) -> None:
    """Also one that the values end in; an outlier moves it by what its neighbours differ."""
    for outlier, about in ((0.0, 0), (50.0, 1)):
        x = 3.0 - 2.0 * ramp(n, begin, end)
        x[n // 2] += outlier if n > 5 else 0.0
        found = fitted_rise(x, 0.05)
        last = min(end, n - 1)
        assert (found.begin, found.end) == pytest.approx((begin, last), abs=about)
        expected = 3.0, 3.0 - 2.0 * (last - begin) / (end - begin)
        assert found.levels == pytest.approx(expected, abs=0.03 * about + 1e-9)


def test_the_best_rise_against_scipy() -> None:
    """At its places SciPy finds the same levels, no others are nearer, but for what outliers are drawn by."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        x = rng.uniform(-0.5, 0.5, 40) + 2.0 * ramp(40, 10, 28)
        found = fitted_rise(x, 0.05)

        def left(at: tuple[int, int], x: np.ndarray = x) -> tuple[float, np.ndarray]:
            fit = least_squares(lambda p: p[0] + p[1] * ramp(40, *at) - x, [0.0, 1.0])
            return float(fit.cost), fit.x

        cost, (before, size) = left((found.begin, found.end))
        assert found.end < 39
        assert found.levels == pytest.approx((before, before + size), abs=0.03)
        assert all(left((a, b))[0] >= cost - 0.03 for a in range(8, 13) for b in range(26, 31))


@pytest.mark.parametrize("rho", [pytest.param(0.0, marks=pytest.mark.slow), 0.5])
def test_its_bounds_hold(rho: float) -> None:
    """Each errs in 5 % of series, give or take three standard errors and what a correlation's estimate costs."""
    rng, misses = np.random.default_rng(5), np.zeros(2)
    for x in autoregressive(rng, 400, 100, rho):
        found = fitted_rise(x + 12.0 * ramp(100, 30, 80), 0.05)
        misses += [found.low > 12.0, found.high < 12.0]
        assert found.high - found.low < 6.0  # bounds that say nothing never err
    assert (misses <= 400 * (0.083 if rho == 0.0 else 0.12)).all(), misses
