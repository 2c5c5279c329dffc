"""The typical run keeps its risk: simulations with binomial bounds, seeded."""

import numpy as np
import pytest
from scipy.stats import binom, norm
from studies.typical import FAMILIES, LEVEL, UNLIKE, typical_difference

from speedproof.stats.superiority import typical_ratio, typical_ratio_test


@pytest.fixture
def pairs(full: bool) -> int:
    return 2000 if full else 400


def most(risk: float, pairs: int) -> float:
    """The share that a true risk of that size exceeds with probability 1e-5."""
    return float(binom.isf(1e-5, pairs, risk)) / pairs


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"rounded", "coarse"}))
@pytest.mark.parametrize(
    ("n", "m"), [(3, 3), (5, 8), (8, 8), (10, 10), (5, 30), (20, 20), (10, 100), (100, 100)]
)
def test_equal_distributions(family: str, n: int, m: int, pairs: int) -> None:
    rng = np.random.default_rng([1, n, m])
    x, y = (LEVEL + FAMILIES[family](rng, (pairs, size)) for size in (n, m))
    found = typical_ratio_test(x, y, 1.0)
    assert np.mean(found.pvalue <= 0.05) <= most(0.05, pairs)
    assert np.mean(found.pvalue_less <= 0.05) <= most(0.05, pairs)


@pytest.mark.parametrize("family", ["rounded", "coarse"])
@pytest.mark.parametrize(("n", "m"), [(4, 4), (8, 8), (12, 10), (20, 20), (30, 100)])
def test_equal_distributions_in_steps(family: str, n: int, m: int, pairs: int) -> None:
    rng = np.random.default_rng([2, n, m])
    x, y = (LEVEL + FAMILIES[family](rng, (pairs // 4, size)) for size in (n, m))
    assert np.mean(typical_ratio_test(x, y, 1.0).pvalue <= 0.05) <= most(0.05, pairs // 4)


@pytest.mark.parametrize("name", sorted(UNLIKE))
@pytest.mark.parametrize(("n", "m", "risk"), [
    (3, 5, 0.07), (10, 3, 0.07), (3, 100, 0.07), (4, 10, 0.09), (4, 100, 0.09), (20, 5, 0.07), (5, 100, 0.07),
    (100, 10, 0.07), (20, 100, 0.06), (5, 5, 0.07), (10, 10, 0.07), (20, 20, 0.06), (30, 30, 0.06),
    (100, 100, 0.06),
])  # fmt: skip
def test_unlike_distributions(name: str, n: int, m: int, risk: float, pairs: int) -> None:
    """Other shapes and spreads on the two sides, typical ratio 1."""
    of_x, of_y = UNLIKE[name]
    rng = np.random.default_rng([6, n, m])
    x = LEVEL + of_x(rng, (pairs, n)) - typical_difference(of_x, of_y, 1)
    found = typical_ratio_test(x, LEVEL + of_y(rng, (pairs, m)), 1.0)
    assert np.mean(found.pvalue <= 0.05) <= most(risk, pairs)
    assert np.mean(found.pvalue_less <= 0.05) <= most(risk, pairs)


@pytest.mark.parametrize("n", [5, 10, 20, 60])
def test_bounds_cover(n: int, pairs: int) -> None:
    """A true ratio of 1.3 between log-normal versions lies beyond each bound in 5 % of pairs."""
    rng = np.random.default_rng([4, n])
    x, y = 1.3 * rng.lognormal(0.0, 0.3, (pairs, n)), rng.lognormal(0.0, 0.3, (pairs, n))
    found = typical_ratio(x, y, 0.05)
    assert np.mean(found.low >= 1.3) <= most(0.05, pairs)
    assert np.mean(found.high <= 1.3) <= most(0.05, pairs)
    assert np.mean(found.low >= 1.3) > 0.02


@pytest.mark.parametrize("chance", [0.6, 0.8, 0.95])
def test_bounds_of_the_chance_cover(chance: float, pairs: int) -> None:
    """P[X > Y] of two normal distributions; the delta method on log odds is not exact near 1."""
    rng = np.random.default_rng(5)
    shift = np.sqrt(2.0) * float(norm.ppf(chance))
    x, y = 50.0 + shift + rng.normal(size=(pairs, 20)), 50.0 + rng.normal(size=(pairs, 20))
    found = typical_ratio(x, y, 0.05)
    assert np.mean(found.chance_low > chance) <= most(0.06, pairs)
    assert np.mean(found.chance_high < chance) <= most(0.06, pairs)
