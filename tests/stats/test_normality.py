"""Normality: Lilliefors' published values and polynomials, Shapiro and Wilk's at its edges."""

import math
from typing import Any

import numpy as np
import pytest

from speedproof.stats.normality import critical_distance, lilliefors, lilliefors_pvalue, shapiro_wilk


@pytest.mark.parametrize(
    ("n", "critical"),
    [  # Dallal and Wilkinson (1986), table 1: simulated, three digits
        (5, {0.10: 0.319, 0.05: 0.343}),
        (10, {0.10: 0.241, 0.05: 0.262, 0.01: 0.304}),
        (20, {0.10: 0.176, 0.05: 0.192, 0.01: 0.223}),
        (30, {0.05: 0.159, 0.01: 0.185}),
    ],
)
def test_against_the_published_table(n: int, critical: dict[float, float]) -> None:
    for alpha, distance in critical.items():
        assert critical_distance(n, alpha) == pytest.approx(distance, abs=4e-3)


def test_distance_against_every_step() -> None:
    """The supremum over both sides of each jump, by definition, with the normal distribution from SciPy."""
    norm = pytest.importorskip("scipy.stats").norm
    rng = np.random.default_rng(1)
    for n in (4, 7, 30, 200):
        x = np.round(rng.exponential(size=n), 1)
        fitted = norm(x.mean(), x.std(ddof=1))
        steps = np.concatenate([x, np.nextafter(x, -np.inf)])
        expected = np.abs((x[None, :] <= steps[:, None]).mean(axis=1) - fitted.cdf(steps)).max()
        assert float(lilliefors(x).statistic) == pytest.approx(expected, abs=1e-12)


STEPHENS = [
    (0.302, (1.0,)),
    (0.5, (2.76773, -19.828315, 80.709644, -138.55152, 81.218052)),
    (0.9, (-4.901232, 40.662806, -97.490286, 94.029866, -32.355711)),
]


@pytest.mark.parametrize("n", [4, 5, 6, 20, 100, 400])
def test_the_published_polynomials(n: int) -> None:
    """Written out for D sqrt n and its corrections, up to their limits, where the other formula exceeds 0.1."""
    by_root = math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n)
    distances = [float(d) for d in np.linspace(0.01, 0.9, 300) / by_root]
    for at in (0.302 / by_root, 0.5 / by_root):  # the very distances at the limits, and their neighbours
        distances += [math.nextafter(at, 1), at, math.nextafter(at, 0)]
    for d, found in zip(distances, lilliefors_pvalue(np.array(distances), n).tolist(), strict=True):
        expected = published(d, n)
        if expected > 0.1:
            tail = next(tail for limit, tail in STEPHENS if by_root * d <= limit)
            expected = math.fsum(c * (by_root * d) ** k for k, c in enumerate(tail))
        assert found == pytest.approx(expected, rel=1e-9)


def published(d: float, n: int) -> float:
    """Dallal and Wilkinson's formula, as R's nortest extends it beyond 100 values."""
    own, size = (d, n) if n <= 100 else (d * (n / 100) ** 0.49, 100)
    exponent = -7.01256 * own**2 * (size + 2.78019) + 2.99587 * own * math.sqrt(size + 2.78019) - 0.122119
    return math.exp(exponent + 0.974598 / math.sqrt(size) + 1.67997 / size)


@pytest.mark.parametrize("n", [4, 50, 100, 101, 150, 1000])
def test_the_critical_distance_inverts_the_published_formula(n: int) -> None:
    """Around p = 0.1, too."""
    for p in (0.09, 0.03, 1e-3, 1e-6):
        assert published(critical_distance(n, p), n) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("test", [shapiro_wilk, lilliefors])
def test_normality_is_undefined_for_few_values_of_any_shape(test: Any) -> None:
    for n in range(1, 4):
        for leading in ((), (2,), (2, 3)):
            found = test(np.arange(float(math.prod(leading) * n)).reshape(*leading, n))
            defined = test is shapiro_wilk and n == 3
            for part in (found.statistic, found.pvalue):
                assert np.shape(part) == leading
                assert np.isnan(part).all() != defined
