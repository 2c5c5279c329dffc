"""Each pair of a batch gets the answer that it gets alone, in whatever order and unit its values come."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from msgspec import Struct, structs

from speedproof.stats.change_points import change_pvalues
from speedproof.stats.dependence import drift, hurst_factor, lag1, variance_inflation
from speedproof.stats.normality import lilliefors, shapiro_wilk
from speedproof.stats.ranks import brunner_munzel, rank_sum
from speedproof.stats.ratio import ratio_of_means, ratio_of_means_test, student, variance_ratio, welch
from speedproof.stats.ratio_medians import ratio_of_medians, ratio_of_medians_test
from speedproof.stats.smirnov import ks_location
from speedproof.stats.superiority import typical_ratio, typical_ratio_test

Array = np.ndarray[Any, np.dtype[np.float64]]

OF_TWO: dict[str, Callable[..., Any]] = {
    "rank sum": rank_sum, "Brunner-Munzel": brunner_munzel, "Welch": welch, "Student": student,
    "variances": variance_ratio, "Kolmogorov-Smirnov": ks_location,
    "Kolmogorov-Smirnov, exact": partial(ks_location, rule="r422"),
    "pooled": lambda x, y: ratio_of_means(x, y, 0.05, True),
    "means": lambda x, y: ratio_of_means(x, y, 0.05, False),
    "means at": lambda x, y: ratio_of_means_test(x, y, 1.1, False),
    "medians": lambda x, y: ratio_of_medians(x, y, 0.05),
    "medians at": lambda x, y: ratio_of_medians_test(x, y, 0.9),
    "typical": lambda x, y: typical_ratio(x, y, 0.05),
    "typical at": lambda x, y: typical_ratio_test(x, y, 1.1),
    "typical at 1": lambda x, y: typical_ratio_test(x, y, 1.0),
}  # fmt: skip
OF_ONE: dict[str, Callable[..., Any]] = {"Shapiro-Wilk": shapiro_wilk, "Lilliefors": lilliefors}
IN_ORDER: dict[str, Callable[..., Any]] = {
    "lag 1": lag1, "drift": drift, "Hurst": hurst_factor,
    "changes": lambda x: change_pvalues(np.reshape(x, (-1, np.shape(x)[-1]))).reshape(np.shape(x)[:-1]),
}  # fmt: skip


def rows(rng: np.random.Generator, n: int, level: float) -> Array:
    """Samples of many kinds: continuous, of few values, with zeros, constant, the same number, far out."""
    x = level + rng.normal(0.0, 0.3, (8, n))
    x[1], x[2] = x[1].round(1), x[2].round(0)
    x[3, : n // 3] = 0.0
    x[4] = 2.0
    x[5, 0] = 100.0
    x[6] = np.ldexp(x[6], 40)
    x[7] = np.arange(n) + level
    return x


def parts(result: Any) -> list[Array]:
    return [
        np.asarray(part) for part in (structs.astuple(result) if isinstance(result, Struct) else (result,))
    ]


def agree(together: Any, alone: list[Any]) -> None:
    for at, one in enumerate(alone):
        for many, single in zip(parts(together), parts(one), strict=True):
            own = many if many.ndim == single.ndim else many[at]  # degrees of freedom are of all
            np.testing.assert_allclose(own * 1.0, single * 1.0, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", OF_TWO)
@pytest.mark.parametrize(("n", "m"), [(1, 9), (5, 4), (12, 9)])
def test_pairs(name: str, n: int, m: int) -> None:
    """One by one, in another order, and every x with every y, in the shape of the leading axes."""
    rng = np.random.default_rng([n, m])
    x, y, of = rows(rng, n, 3.2), rows(rng, m, 3.0), OF_TWO[name]
    crossed = [np.repeat(x, 8, axis=0), np.tile(y, (8, 1))]
    alone = [of(*pair) for pair in zip(*crossed, strict=True)]
    flat = of(*(rng.permuted(side, axis=1) for side in crossed))
    agree(flat, alone)
    for many, single in zip(parts(of(x[:, None], y)), parts(flat), strict=True):
        assert many.shape == (single.shape and (8, 8)) or many.shape == single.shape
        np.testing.assert_allclose(many.reshape(single.shape) * 1.0, single * 1.0, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [*OF_ONE, *IN_ORDER])
@pytest.mark.parametrize("n", [3, 5, 12, 40])
def test_samples(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    x = rows(rng, n, 3.2)
    of = (OF_ONE | IN_ORDER)[name]
    alone = [of(one) for one in x]
    agree(of(x), alone)
    for many, cube in zip(parts(of(x)), parts(of(x.reshape(2, 4, n))), strict=True):
        np.testing.assert_array_equal(cube, many.reshape(cube.shape))
    if name in OF_ONE:
        agree(of(rng.permuted(x, axis=1)), alone)


def test_dependence_of_pairs() -> None:
    rng = np.random.default_rng(5)
    x, y = rows(rng, 24, 3.2).cumsum(axis=1), rows(rng, 20, 3.0)
    agree(variance_inflation(x, y), [variance_inflation(a, b) for a, b in zip(x, y, strict=True)])


@pytest.mark.parametrize("name", [*OF_TWO, *OF_ONE, *IN_ORDER])
@pytest.mark.parametrize("power", [-950, -300, 300, 950])
def test_units(name: str, power: int) -> None:
    """Times a power of two, which is exact: from 1e-286 to 1e286 squares would leave the range of doubles."""
    if "Smirnov" in name:
        return  # whole numbers have no noise of rounding, and are whole in one unit only
    rng = np.random.default_rng(9)
    x, y = np.delete(rows(rng, 12, 3.2), 6, axis=0), np.delete(rows(rng, 9, 3.0), 6, axis=0)
    samples = (x, y) if name in OF_TWO else (x,)
    of = (OF_TWO | OF_ONE | IN_ORDER)[name]
    found, usual = of(*(np.ldexp(sample, power) for sample in samples)), of(*samples)
    for one, other in zip(parts(found), parts(usual), strict=True):
        np.testing.assert_allclose(one * 1.0, other * 1.0, rtol=1e-9, atol=1e-12)
