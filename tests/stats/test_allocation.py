"""The optimal numbers of builds, processes and runs, against every other plan and against simulated pilots."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from speedproof.stats.allocation import repetitions, variance_components


def variance_and_cost(
    variances: tuple[float, ...], costs: tuple[float, ...], counts: tuple[int, ...]
) -> tuple[float, float]:
    """Of the grand mean of one unit of the highest level, written out."""
    variance = cost = 0.0
    units = 1
    for s, c, n in zip(variances, costs, (1, *counts), strict=True):
        units *= n
        variance += s / units
        cost += c * units
    return variance, cost


@pytest.mark.parametrize(
    ("variances", "costs"),
    [
        ((1.0, 1.0), (10.0, 0.1)),
        ((1.0, 4.0), (30.0, 1.0)),
        ((4.0, 1.0), (1.0, 1.0)),
        ((0.5, 2.0, 9.0), (60.0, 2.0, 0.1)),
        ((2.0, 0.0), (5.0, 1.0)),
        ((1e-6, 3e-6, 1e-5), (20.0, 0.5, 0.01)),
    ],
)
def test_no_other_plan_is_cheaper_at_the_same_precision(
    variances: tuple[float, ...], costs: tuple[float, ...]
) -> None:
    """Variance times cost, which is the cost of a given precision, is the least of all plans of up to 60 each."""

    def price(counts: tuple[int, ...]) -> float:
        return math.prod(variance_and_cost(variances, costs, counts))

    best = min(price(c) for c in itertools.product(range(1, 61), repeat=len(variances) - 1))
    assert price(repetitions(variances, costs)) <= best * (1 + (0.02 if len(variances) > 2 else 1e-12))


def test_levels_that_add_nothing() -> None:
    assert repetitions((1.0, 0.0), (1.0, 1.0)) == (1,)
    assert repetitions((0.0, 1.0), (1.0, 1.0)) == (1000,)
    assert repetitions((0.0, 0.0), (1.0, 1.0)) == (1,)


def test_components_by_the_analysis_of_variance() -> None:
    """Mean squares of a nested design, level by level; what would be negative is nothing."""
    rng = np.random.default_rng(7)
    for scale in (0.0, 1.0, 3.0):
        x = rng.standard_normal((4, 3, 5)) + scale * rng.standard_normal((4, 3, 1)) * (scale > 2.0)
        x += scale * rng.standard_normal((4, 1, 1))
        of_process, of_build = x.mean(axis=2), x.mean(axis=(1, 2))
        error = ((x - of_process[..., None]) ** 2).sum() / (4 * 3 * 4)
        process = 5 * ((of_process - of_build[:, None]) ** 2).sum() / (4 * 2)
        build = 15 * ((of_build - x.mean()) ** 2).sum() / 3
        expected = (max((build - process) / 15, 0.0), max((process - error) / 5, 0.0), error)
        assert variance_components(x) == pytest.approx(expected, rel=1e-12)
        assert min(expected) >= 0.0
