"""Which metrics go with time, and a line through estimates: SciPy, all orders, Berkey's published values."""

from itertools import permutations

import numpy as np
import pytest
from scipy import optimize, stats

from speedproof.stats.association import associations, trend


def drawn(seed: int, n: int = 40, metrics: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A time in two states, counts of which the first goes with it, and the states."""
    rng = np.random.default_rng(seed)
    slow = rng.random(n) < 0.4
    counts = rng.poisson(3.0, (n, metrics)).astype(float)
    counts[:, 0] += 4.0 * slow
    return slow + rng.normal(10.0, 0.2, n), counts, slow.astype(int)


@pytest.mark.parametrize("seed", range(5))
def test_against_scipy(seed: int) -> None:
    """Spearman's correlation, and Kruskal and Wallis' statistic over n - 1: both with ties."""
    time, counts, states = drawn(seed)
    found = associations(time, counts, states=states, permutations=9)
    for k, column in enumerate(counts.T):
        assert found[0][k] == pytest.approx(stats.spearmanr(time, column)[0], abs=1e-12)
        h = stats.kruskal(column[states == 0], column[states == 1])[0]
        assert found[1][k] == pytest.approx(h / (len(time) - 1), abs=1e-12)


def step_down(observed: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Westfall and Young's adjusted p-values as their algorithm 2.8 is written, over all orders."""
    order = np.argsort(-observed)
    adjusted, before = np.empty(observed.size), 0.0
    for place, k in enumerate(order):
        before = max(before, float((drawn[:, order[place:]].max(axis=1) >= observed[k] - 1e-12).mean()))
        adjusted[k] = before
    return adjusted


def test_against_every_order() -> None:
    """P-values are those of all 120 orders of five runs, up to the error of drawing some of them."""
    time = np.array([1.0, 1.4, 1.1, 2.0, 2.3])
    counts = np.array([[0, 3, 1, 5, 5], [7, 1, 3, 2, 6], [2, 2, 2, 2, 9]]).T.astype(float)
    states = np.array([0, 0, 0, 1, 1])

    def statistics(order: list[int]) -> list[float]:
        shares = [stats.spearmanr(time[order], column)[0] ** 2 for column in counts.T]
        own = states[order]
        between = [stats.kruskal(c[own == 0], c[own == 1])[0] / 4 for c in counts.T]
        return [max(pair) for pair in zip(shares, between, strict=True)]

    every = np.array([statistics(list(order)) for order in permutations(range(5))])
    exact = step_down(every[0], every)
    draws = 20_000
    found = associations(time, counts, states=states, permutations=draws, seed=3)[2]
    assert np.abs(found - exact).max() < 5.0 * np.sqrt(0.25 / draws)


def test_against_every_shift() -> None:
    """Held against shifts in run order, the p-value is the share of all of them that reach as far."""
    rng = np.random.default_rng(5)
    time, count = np.cumsum(rng.normal(size=12)), np.cumsum(rng.normal(size=12))
    every = [stats.spearmanr(np.roll(time, k), count)[0] ** 2 for k in range(12)]
    exact = np.mean(np.array(every) >= every[0] - 1e-12)
    draws = 20_000
    found = associations(time, count[:, None], circular=True, permutations=draws, seed=1)
    assert found[2][0] == pytest.approx(exact, abs=5.0 * np.sqrt(0.25 / draws))


def test_what_differs_between_strata_counts_for_nothing() -> None:
    """A version that is slower, and has more of a count, changes no correlation within versions."""
    time, counts, states = drawn(1)
    strata = np.arange(40) % 2
    plain = associations(time, counts, states=states, strata=strata)
    apart = associations(time + 7.0 * strata, counts + 100.0 * strata[:, None], states=states, strata=strata)
    np.testing.assert_allclose(apart[0], plain[0], atol=1e-12)
    np.testing.assert_array_equal(apart[2], plain[2])
    assert (associations(7.0 * strata + time, counts + 100.0 * strata[:, None])[0][1:] > 0.5).all()


def test_constant_metrics_have_no_answer() -> None:
    """Neither have counts that vary between strata only; the others are as without them; nor a constant time."""
    time, counts, states = drawn(4)
    strata = np.repeat([0, 1], 20)
    wide = np.column_stack((np.full(40, 7.0), counts, 5.0 * strata))
    found = associations(time, wide, states=states, strata=strata)
    assert np.isnan(np.array(found)[:, [0, -1]]).all()
    plain = associations(time, counts, states=states, strata=strata)
    np.testing.assert_array_equal(found[2][1:-1], plain[2])
    assert np.isnan(associations(np.ones(40), counts)[2]).all()
    assert associations([1.0, 2.0, 3.0], np.empty((3, 0)))[2].size == 0


# dat.bcg of R's metafor: vaccinated with and without tuberculosis, the same of the others, latitude.
BCG = np.array(
    [
        (4, 119, 11, 128, 44), (6, 300, 29, 274, 55), (3, 228, 11, 209, 42), (62, 13536, 248, 12619, 52),
        (33, 5036, 47, 5761, 13), (180, 1361, 372, 1079, 44), (8, 2537, 10, 619, 19),
        (505, 87886, 499, 87892, 13), (29, 7470, 45, 7232, 27), (17, 1699, 65, 1600, 42),
        (186, 50448, 141, 27197, 18), (5, 2493, 3, 2338, 33), (27, 16886, 29, 17825, 33),
    ],
    dtype=float,
).T  # fmt: skip


def test_against_berkey_1995() -> None:
    """C. S. Berkey et al., Statistics in Medicine 14, 1995, with their smoothed variances (metafor, method EB)."""
    a, b, c, d, latitude = BCG
    y = np.log(a / (a + b)) - np.log(c / (c + d))
    line = trend(latitude, y, np.sqrt((b / a).mean() / (a + b) + (d / c).mean() / (c + d)))
    assert round(line.between**2, 4) == 0.1572
    assert (round(line.slope, 4), round(line.slope_error, 4)) == (-0.0268, 0.0110)
    away = 33.46 - line.centre
    assert round(line.height + line.slope * away, 3) == -0.630
    assert round(float(np.hypot(line.height_error, line.slope_error * away)), 4) == 0.1591


@pytest.mark.parametrize("seed", range(5))
def test_against_scipy_where_nothing_is_known_of_the_errors(seed: int) -> None:
    """Then it is ordinary least squares with Student's interval."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=7), rng.normal(size=7)
    line, oracle = trend(x, y, np.full(7, np.nan)), stats.linregress(x, y)
    assert line.slope == pytest.approx(oracle.slope)
    assert line.slope_error == pytest.approx(oracle.stderr)
    half = stats.t.ppf(0.975, 5) * oracle.stderr
    assert line.slope_interval(0.05) == pytest.approx((oracle.slope - half, oracle.slope + half))
    assert line.height - line.slope * line.centre == pytest.approx(oracle.intercept)


@pytest.mark.parametrize("seed", range(5))
def test_against_a_root_of_the_weighted_squares(seed: int) -> None:
    """Paule and Mandel's variance, by brentq on the squares of NumPy's least squares."""
    rng = np.random.default_rng(seed)
    x, errors = rng.normal(size=6), rng.uniform(0.1, 0.5, 6)
    y = 0.3 * x + rng.normal(size=6)

    def excess(between: float) -> float:
        root = (errors**2 + between) ** -0.5
        return float(np.linalg.lstsq(np.stack([root, root * x], 1), root * y, rcond=None)[1][0]) - 4

    assert trend(x, y, errors).between ** 2 == pytest.approx(optimize.brentq(excess, 0.0, 100.0))


def test_points_on_a_line_without_errors_have_none() -> None:
    """Counts that are the same in every run."""
    line = trend([0, 1, 3], [1.0, 3.0, 7.0], [0.0] * 3)
    assert line.slope == pytest.approx(2.0)
    assert line.slope_error < 1e-9
    found = line.crossing(0.05)
    assert found is not None
    assert found[0] == pytest.approx(-0.5)
    assert trend([0, 1, 2], [1.0, 1.1, 1.0], [0.1] * 3).crossing(0.05) is None


@pytest.mark.parametrize(("x", "y"), [([0, 1], [0, 1]), ([2, 2, 2], [0, 1, 2])])
def test_what_is_no_line_is_refused(x: list[float], y: list[float]) -> None:
    """Two points, or one place."""
    with pytest.raises(ValueError, match="three points"):
        trend(x, y, [0.1] * len(x))


@pytest.mark.parametrize("seed", range(6))
def test_where_a_line_crosses_zero(seed: int) -> None:
    """Fieller: its height is 0 there, and at the bounds as many of its own errors as Student's quantile says."""
    rng, sign = np.random.default_rng(seed), (-1) ** seed
    y = sign * (np.arange(7) - rng.uniform(-1, 9)) + 0.3 * rng.normal(size=7)
    line = trend(np.arange(7), y, rng.uniform(0.1, 0.5, 7))
    found = line.crossing(0.05)
    assert found is not None
    away = np.array(found) - line.centre
    errors = np.hypot(line.height_error, line.slope_error * away)
    quantile = sign * stats.t.ppf(0.975, 5)
    assert (line.height + line.slope * away) / errors == pytest.approx([0.0, -quantile, quantile], abs=1e-9)
