"""The test of symmetry keeps its level for any symmetric shape, and finds what makes mean and median differ."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from speedproof.stats.location import hodges_lehmann
from speedproof.stats.symmetry import symmetry

FloatArray = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], FloatArray]

SYMMETRIC: dict[str, Draw] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "of exponentials": lambda rng, n: rng.exponential(1, n) - rng.exponential(1, n),
    "heavy tails": lambda rng, n: rng.standard_t(1.5, n),
    "three modes": lambda rng, n: rng.choice([-3, 0, 3], n, p=[0.1, 0.8, 0.1]) + 0.1 * rng.standard_normal(n),
    "coarse clock": lambda rng, n: np.round(rng.standard_normal(n)),
}


def slow_mode(rng: np.random.Generator, n: int) -> FloatArray:
    """Wins four runs of five and is twice as slow in the fifth."""
    candidate = np.where(rng.random(n) < 0.2, 20.0, 9.0)
    noise = np.exp(0.02 * rng.standard_normal((2, n)))
    ratios: FloatArray = np.log(10.0 * noise[0]) - np.log(candidate * noise[1])
    return ratios


@pytest.mark.slow
@pytest.mark.parametrize("shape", SYMMETRIC)
def test_level(shape: str) -> None:
    """At most 5 % of symmetric samples are called skewed, whatever their shape (binomial)."""
    rng = np.random.default_rng(11)
    found = sum(symmetry(SYMMETRIC[shape](rng, 40)).pvalue <= 0.05 for _ in range(300))
    assert stats.binomtest(found, 300, 0.05, alternative="greater").pvalue > 1e-3


def test_power_against_a_slow_mode() -> None:
    rng = np.random.default_rng(12)
    assert sum(symmetry(slow_mode(rng, 60)).pvalue <= 0.05 for _ in range(100)) > 90


def test_statistic_and_all_signs_by_brute_force() -> None:
    """The p-value against the share of all 2^10 sign patterns, within the error of 999 random ones."""
    x = np.sort(slow_mode(np.random.default_rng(5), 10))
    centre = hodges_lehmann(x)

    def statistic(values: FloatArray) -> float:
        median = float(np.median(values))
        return (float(np.mean(values)) - median) / float(np.mean(np.abs(values - median)))

    found = symmetry(x)
    assert found.statistic == pytest.approx(statistic(x))
    all_signs = [np.array(signs) * np.abs(x - centre) for signs in itertools.product((-1, 1), repeat=10)]
    share = np.mean([abs(statistic(values)) >= abs(found.statistic) - 1e-9 for values in all_signs])
    assert found.pvalue == pytest.approx(float(share), abs=4 * np.sqrt(share * (1 - share) / 999) + 2e-3)


def test_mirrored_and_scaled_samples_have_the_same_answer() -> None:
    x = slow_mode(np.random.default_rng(6), 50)
    assert symmetry(-x).statistic == pytest.approx(-symmetry(x).statistic)
    assert symmetry(8.0 * x).pvalue == symmetry(x).pvalue


def test_edges() -> None:
    assert symmetry([2.0]).pvalue == 1.0
    assert symmetry([2.0] * 30) == symmetry([7.0] * 30)
    assert symmetry([2.0] * 30).pvalue == 1.0
    assert symmetry(np.r_[np.zeros(30_000), np.ones(100)]).pvalue < 0.05
