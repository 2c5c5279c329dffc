"""Standard errors of logarithms of typical ratios: a twin in loops, what must not matter, theory, simulation."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from speedproof.stats.paired_ratio import paired_error
from speedproof.stats.ratio_means import log_ratio_of_means
from speedproof.stats.typical_error import typical_error


def error_of(x: np.ndarray, y: np.ndarray, inflation: float = 1.0, steps: tuple[float, float] = (0.0, 0.0)):  # type: ignore[no-untyped-def]
    found = typical_error(x[None], y[None], np.array([inflation]), np.array([steps]))
    return tuple(float(part[0]) for part in (found.error, found.df, found.bias))


def naive_error(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """As the module says: Brunner and Munzel's error of the share, the quantiles there, what they and it bend."""
    n, m = len(x), len(y)
    logs = sorted(math.log(a / b) for a in x for b in y)
    middle = float(np.median(logs))

    def parts_at(place: float) -> list[float]:
        wins = np.array([[0.5 + 0.5 * np.sign(round(math.log(a / b) - place, 13)) for b in y] for a in x])
        return [float(np.var(wins.mean(axis=1), ddof=1) / n), float(np.var(wins.mean(axis=0), ddof=1) / m)]

    parts = parts_at(middle)
    s = math.sqrt(sum(parts) * (n + m) / (n + m + 2))
    middles = (np.arange(n * m) + 0.5) / (n * m)
    ends = np.interp([0.5 - s, 0.5 + s], middles, logs)
    noise = ((ends[1] - ends[0]) / 2) ** 2 / (1 + (1 / n + 1 / m) / 2)
    df = sum(parts) ** 2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
    slope = (ends[1] - ends[0]) / 2  # of a quantile, times s; what V changes over twice that, over V
    grown = (sum(parts_at(ends[1])) - sum(parts_at(ends[0]))) / sum(parts)
    bias = (ends[0] - 2 * middle + ends[1]) / 2 + slope * grown / 4
    own = 1.5 * bias**2
    return math.sqrt(noise + own), (noise + own) ** 2 / (noise**2 / df), bias


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (5, 5), (6, 8), (13, 11)])
def test_against_a_twin_in_loops(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sizes[0])
    for noise in (0.01, 0.5):
        x, y = (np.exp(noise * rng.normal(size=n)) for n in sizes)
        assert error_of(x, y) == pytest.approx(naive_error(x, y), rel=1e-9, abs=1e-15)


def test_what_must_not_matter() -> None:
    """The unit, and which side is called X, but for the sign of the bias; their order."""
    rng = np.random.default_rng(2)
    x, y = 1 + 0.1 * rng.exponential(size=6), 1 + 0.1 * rng.exponential(size=30)
    error, df, bias = error_of(x, y)
    assert bias != 0.0
    assert error_of(y, x) == pytest.approx((error, df, -bias), rel=1e-9)
    assert error_of(x[::-1] * 3e-9, y * 3e-9) == pytest.approx((error, df, bias), rel=1e-6)
    assert error_of(x, y * 7.0) == pytest.approx((error, df, bias), rel=1e-6)


def test_what_has_no_error_and_what_readings_add() -> None:
    """One run tells none; constant sides have none but that of their steps, uniform within each: s^2 / 12."""
    one, many = np.array([2.0]), np.array([2.0, 2.1, 2.2])
    assert math.isnan(error_of(one, many)[0])
    assert math.isnan(error_of(many, one)[0])
    flat = np.full(4, 2.0)
    assert error_of(flat, 2 * flat)[:2] == (0.0, math.inf)
    expected = math.sqrt((0.1 / 2) ** 2 / 12 + (0.2 / 4) ** 2 / 12)
    assert error_of(flat, 2 * flat, steps=(0.1, 0.2)) == pytest.approx((expected, math.inf, 0.0))
    zeros = np.array([0.0, 0.0, 0.0])
    assert not error_of(zeros, many)[0] < math.inf


def test_dependence_counts_as_fewer_runs() -> None:
    """Inflated four times the error is twice as large, where log ratios are as good as uniform around."""
    rng = np.random.default_rng(3)
    x, y = np.exp(0.01 * rng.uniform(-1, 1, (2, 400)))
    error, df, _ = error_of(x, y)
    inflated, fewer, _ = error_of(x, y, 4.0)
    assert inflated == pytest.approx(2 * error, rel=0.05)
    assert fewer == pytest.approx(df / 4, rel=0.05)


@pytest.mark.parametrize("n", [5, 20, 300])
def test_the_variance_of_normal_runs_is_right(n: int) -> None:
    """Over many samples the squared error is the variance of the logarithm without its bias, to a tenth."""
    rng = np.random.default_rng(n)
    rows = 3000 if n < 100 else 150
    x, y = np.exp(0.02 * rng.normal(size=(2, rows, n)))
    found = typical_error(x, y, np.ones(rows), np.zeros((rows, 2)))
    logs = [np.median(np.log(a[:, None] / b)) for a, b in zip(x, y, strict=True)]
    ratio = float(np.mean(found.error**2) / np.var(logs - found.bias, ddof=1))
    assert abs(ratio - 1) < 0.1 + 3 * math.sqrt(2 / rows)


def test_bias_of_skewed_runs() -> None:
    """With 4 runs against 40 the median of ratios of exponential runs is too large; what is left is a tenth."""
    rng = np.random.default_rng(5)
    x, y = np.exp(0.05 * rng.exponential(size=(4000, 4))), np.exp(0.05 * rng.exponential(size=(4000, 40)))
    found = typical_error(x, y, np.ones(4000), np.zeros((4000, 2)))
    logs = np.array([np.median(np.log(a[:, None] / b)) for a, b in zip(x, y, strict=True)])
    error = logs.std() / math.sqrt(4000)
    assert logs.mean() > 8 * error
    assert abs((logs - found.bias).mean()) < 4 * error


def test_paired_and_means_against_scipy() -> None:
    """Of session ratios the error of a mean by the efficiency 3 / pi; of means what Welch's test has."""
    rng = np.random.default_rng(6)
    x, y = 2 + 0.01 * rng.normal(size=(2, 1, 7))
    paired = paired_error(x, y)
    assert paired.error[0] == pytest.approx(stats.sem(np.log(x / y)[0]) / math.sqrt(3 / math.pi))
    assert (paired.df[0], paired.bias[0]) == (6.0, 0.0)
    found = log_ratio_of_means(x, y[:, :5])
    welch = stats.ttest_ind(x[0] / x.mean(), y[0, :5] / y[0, :5].mean(), equal_var=False)
    assert found.df[0] == pytest.approx(welch.df)
    parts = [stats.sem(side) ** 2 / side.mean() ** 2 for side in (x[0], y[0, :5])]
    assert found.error[0] == pytest.approx(math.sqrt(sum(parts)))
    assert found.bias[0] == pytest.approx((parts[1] - parts[0]) / 2)
    assert math.isnan(log_ratio_of_means(x[:, :1], y).error[0])


def test_a_mean_over_unlike_shapes_covers() -> None:
    """Of 122 benchmarks, five normal runs against five exponential ones: the interval misses in at most 6.5 %."""

    def above(ratio: float) -> float:
        chance = integrate.quad(
            lambda e: math.exp(-e) * stats.norm.sf((ratio * (1 + 0.05 * e) - 1) / 0.02), 0, np.inf
        )
        return float(chance[0]) - 0.5

    truth = math.log(optimize.brentq(above, 0.8, 1.2, xtol=1e-9))
    rng = np.random.default_rng(7)
    suites, benchmarks = 150, 122
    rows = suites * benchmarks
    x, y = 1 + 0.02 * rng.normal(size=(rows, 5)), 1 + 0.05 * rng.exponential(size=(rows, 5))
    found = typical_error(x, y, np.ones(rows), np.zeros((rows, 2)))
    logs = np.median((np.log(x)[:, :, None] - np.log(y)[:, None, :]).reshape(rows, -1), axis=1)
    centre = (logs - found.bias).reshape(suites, -1).mean(axis=1)
    squares = (found.error**2).reshape(suites, -1)
    df = squares.sum(axis=1) ** 2 / (squares**2 / found.df.reshape(suites, -1)).sum(axis=1)
    half = stats.t.ppf(0.975, df) * np.sqrt(squares.sum(axis=1)) / benchmarks
    assert np.sum(np.abs(centre - truth) > half) <= stats.binom.ppf(0.999, suites, 0.065)
    half_plain = half * np.std(logs) / np.sqrt(np.mean(squares))  # what the estimate without correction has
    assert np.mean(np.abs(logs.reshape(suites, -1).mean(axis=1) - truth) > half_plain) > 0.2
