"""The optimal numbers of builds, processes and runs, against every other plan and against simulated pilots."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

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


def test_the_continuous_optimum_is_the_papers() -> None:
    """Two levels: r = sqrt(c2 / c1) sqrt(s1 / s2), found here by a minimiser that knows no calculus of ours."""
    s, c = (0.3, 2.7), (40.0, 0.1)
    found = optimize.minimize_scalar(
        lambda r: (s[0] + s[1] / r) * (c[0] + c[1] * r), bounds=(1, 1e4), method="bounded"
    )
    assert repetitions(s, c)[0] == pytest.approx(found.x, abs=1)


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


def test_components_are_unbiased() -> None:
    """Pilots of 4 builds, 3 processes and 5 iterations: the mean estimate is the truth within its own error."""
    rng = np.random.default_rng(3)
    truth = (4.0, 1.0, 9.0)
    n = 2000
    values = (
        2.0 * rng.standard_normal((n, 4, 1, 1))
        + 1.0 * rng.standard_normal((n, 4, 3, 1))
        + 3.0 * rng.standard_normal((n, 4, 3, 5))
    )
    found = np.array([variance_components(v) for v in values])
    # Only the middle level's estimates are often cut at 0, which moves their mean up.
    for i in (0, 2):
        error = found[:, i].std() / math.sqrt(n)
        assert abs(found[:, i].mean() - truth[i]) < 5 * error + (0.3 if i == 0 else 0)


def test_the_plan_of_a_pilot_reaches_its_precision_at_its_cost() -> None:
    """Simulated: the grand means of the planned measurements vary as the plan says, and cheaper ones vary more."""
    rng = np.random.default_rng(8)
    s, c = (1.0, 6.0), (12.0, 0.5)
    (runs,) = repetitions(s, c)
    budget = 600.0

    def spread(r: int) -> float:
        builds = int(budget / (c[0] + c[1] * r))
        values = rng.standard_normal((6000, builds, 1)) + math.sqrt(6.0) * rng.standard_normal(
            (6000, builds, r)
        )
        return float(values.mean(axis=(1, 2)).std())

    best = spread(runs)
    expected = math.sqrt((s[0] + s[1] / runs) / int(budget / (c[0] + c[1] * runs)))
    assert best == pytest.approx(expected, rel=0.04)
    assert all(best < spread(r) for r in (1, 3 * runs, 6 * runs))
