"""Values at the ends of the range of doubles: rational arithmetic, and units that no answer depends on."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from speedproof.arrays import FloatArray
from speedproof.stats.dependence import drift, drift_within, hurst_factor, lag1
from speedproof.stats.normality import shapiro_wilk
from speedproof.stats.scaling import (
    exponent,
    location_ratio,
    location_ratios,
    mean,
    median,
    usual,
    with_headroom,
)
from speedproof.stats.smirnov import ks_location
from speedproof.stats.ttests import variance_ratio, welch

LARGEST = float(np.finfo(np.float64).max)
POWERS = (-1060, -900, -540, 500, 540, 1013)


def random_sample(rng: np.random.Generator) -> np.ndarray:
    """Values of one size, of all sizes, or of a few sizes, with ties and zeros."""
    sizes = rng.choice(
        [0.0, 5e-324, 1e-320, 1e-308, 1e-160, 1e-100, 1.0, 1e100, 1e154, 1e300, LARGEST / 1.2], 3
    )
    return rng.choice(sizes, rng.integers(1, 12)) * (1 + 0.1 * rng.random() * rng.integers(0, 2))


def test_locations_against_rational_numbers() -> None:
    """Mean and median to rounding; subnormal ones to the smallest step there is."""
    rng = np.random.default_rng(1)
    for _ in range(600):
        x = random_sample(rng)
        exact = sorted(map(Fraction, x.tolist()))
        middle = (exact[(x.size - 1) // 2] + exact[x.size // 2]) / 2
        assert median(x) == pytest.approx(float(middle), rel=1e-15, abs=1e-322)
        assert mean(x) == pytest.approx(float(sum(exact) / x.size), rel=1e-14, abs=2e-323)


def test_ratios_against_rational_numbers() -> None:
    """To rounding, also where the locations have a few bits only; infinite beyond the largest double."""
    rng = np.random.default_rng(5)
    seen = {"inf": 0, "subnormal": 0}
    for _ in range(2000):
        power = int(rng.integers(-1074, 1000))
        other = power + int(rng.integers(0, 13)) if rng.random() < 0.5 else int(rng.integers(-1074, 1013))
        x, y = (np.ldexp(rng.integers(1, 1024, rng.integers(1, 9)), p) for p in (power, other))
        first, second = (sorted(map(Fraction, s.tolist())) for s in (x, y))
        of_means = (sum(first) / x.size) / (sum(second) / y.size)
        of_medians = (first[(x.size - 1) // 2] + first[x.size // 2]) / (
            second[(y.size - 1) // 2] + second[y.size // 2]
        )
        for location, expected in ((mean, of_means), (median, of_medians)):
            found = location_ratio(location, x, y)
            if expected > Fraction(LARGEST):
                assert found == np.inf
                seen["inf"] += 1
            else:
                assert found == pytest.approx(float(expected), rel=1e-13, abs=5e-324)
                seen["subnormal"] += bool(max(x.max(), y.max()) < 1e-307)
    assert min(seen.values()) > 5
    assert np.isnan(location_ratio(mean, [1.0], [0.0]))
    assert np.isnan(location_ratio(median, [-1.0], [2.0]))


@pytest.mark.parametrize("location", [mean, median])
def test_ratios_of_rows_are_those_of_samples(location: Callable[[FloatArray], float]) -> None:
    """To the bit: rows of usual, very large and very small values, with negative locations among them."""
    rng = np.random.default_rng(6)
    powers = rng.choice([0, -30, 60, 300, 1000, -1000], (2, 200, 1))
    x, y = np.ldexp(rng.normal(rng.choice([0, 5], (200, 1)), 1, (2, 200, 7)), powers)
    with np.errstate(over="ignore"):
        one_by_one = [location_ratio(location, *rows) for rows in zip(x, y, strict=True)]
    assert np.isnan(one_by_one).any()
    np.testing.assert_array_equal(location_ratios(location, x, y), one_by_one)


def test_shifts_lose_nothing() -> None:
    """Multiplied back, a sample of one size is the same; shifted values can be added."""
    rng = np.random.default_rng(2)
    for power in POWERS:
        x = np.ldexp(np.round(1 + rng.random(20), 2), power)
        shift = exponent(x)
        np.testing.assert_array_equal(np.ldexp(np.ldexp(x, shift), -shift), x)
        assert 0.4 < np.abs(usual(x)).max() <= 1
        (near,) = with_headroom(x)
        assert np.isfinite(near.sum())
    x = rng.normal(size=(3, 5))
    assert usual(x) is x
    assert with_headroom(x)[0] is x


def test_rows_are_scaled_by_themselves() -> None:
    x = np.array([[1e308, 1e300], [1.0, 3.0], [5e-324, 0.0], [0.0, 0.0]])
    assert np.abs(usual(x)).max(axis=1).tolist() == [float(np.ldexp(1e308, -1024)), 3.0, 0.5, 0.0]


def test_whatever_the_sizes_nothing_warns() -> None:
    """Mixed sizes have no digits to compare; the statistics are numbers or NaN, without a warning."""
    rng = np.random.default_rng(4)
    for _ in range(150):
        x, y = random_sample(rng), random_sample(rng)
        for test in (
            shapiro_wilk(x),
            lag1(x),
            drift(x),
            welch(x, y),
            ks_location(x, y),
            variance_ratio(x, y),
        ):
            p = float(test.pvalue)
            assert np.isnan(p) or 0 <= p <= 1 + 1e-12
        drift_within(np.resize(x, 15), np.arange(15) // 3)
        hurst_factor(x)
