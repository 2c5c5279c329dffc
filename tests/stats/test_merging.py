"""Merged samples against counting, compiled and in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from speedproof.stats import merging as module
from speedproof.stats.merging import merged_places


@pytest.fixture(params=["compiled", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(module, "COMPILED", None)
    elif module.COMPILED is None:
        pytest.skip("built without a compiler")
    return str(request.param)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 7), (8, 3), (40, 40)])
@pytest.mark.parametrize("high", [1, 3, 1000])
def test_by_counting(n: int, m: int, high: int, way: str) -> None:
    """Of values that differ, of many that are equal, of all that are, and infinite ones."""
    rng = np.random.default_rng([n, m, high])
    x, y = (np.sort(rng.integers(0, high, (5, size)) / 8, axis=1) for size in (n, m))
    x[-1, -1] = y[-1, -1] = math.inf
    for x_first in (True, False):
        of_x, of_y = merged_places(x, y, x_first)
        for row in range(5):
            for value, count in zip(x[row], of_x[row], strict=True):
                assert count == sum(v < value or (v == value and not x_first) for v in y[row])
            for value, count in zip(y[row], of_y[row], strict=True):
                assert count == sum(v < value or (v == value and x_first) for v in x[row])


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 5), (31, 31), (60, 7)])
@pytest.mark.parametrize(("spread", "digits"), [(0.1, 15), (0.1, 2), (100.0, 15)])
def test_ratios_of_two_samples_in_order(n: int, m: int, spread: float, digits: int) -> None:
    """Of near values, of many equal ones and of such that differ by many orders of magnitude."""
    if module.COMPILED is None:
        pytest.skip("built without a compiler")
    rng = np.random.default_rng([n, m, digits])
    x, y = (np.sort(rng.lognormal(0, spread, (20, size)).round(digits) + 0.01, axis=1) for size in (n, m))
    x[0], y[1] = 2.0, 3.0
    places, found = rng.integers(0, n * m, (20, 2)), np.empty((20, 2))
    places[:4] = [0, n * m - 1]
    module.COMPILED.ratios(x, n, y, m, places, found)
    for row in range(20):
        ratios = sorted(a / b for a in x[row].tolist() for b in y[row].tolist())
        assert found[row].tolist() == [ratios[k] for k in places[row].tolist()]


def test_ratios_below_all_usual_doubles() -> None:
    """Where products round to neighbours, too."""
    if module.COMPILED is None:
        pytest.skip("built without a compiler")
    rng = np.random.default_rng(4)
    x, y = np.sort(1e-160 * rng.lognormal(0, 1, (50, 20))), np.sort(1e160 * rng.lognormal(0, 1, (50, 20)))
    places, found = rng.integers(0, 400, (50, 2)), np.empty((50, 2))
    module.COMPILED.ratios(x, 20, y, 20, places, found)
    for row in range(50):
        ratios = sorted(a / b for a in x[row].tolist() for b in y[row].tolist())
        assert found[row].tolist() == [ratios[k] for k in places[row].tolist()]


def test_sizes_that_differ() -> None:
    """The compiled one refuses arrays that are too small for what it writes."""
    if module.COMPILED is None:
        pytest.skip("built without a compiler")
    x, count = np.arange(4.0), np.empty(3, dtype=np.int64)
    for n, m, of_x in ((4, 4, count), (3, 4, x), (2, 4, x), (0, 4, x), (4, 0, x)):
        with pytest.raises(ValueError, match="sizes differ"):
            module.COMPILED.merged(x, n, x, m, True, of_x, x.copy())
    places, found = np.zeros((1, 2), dtype=np.int64), np.empty((1, 2))
    for n, m, at in ((4, 4, 16), (4, 4, -1), (2, 4, 0), (0, 4, 0), (4, 0, 0), (-4, -4, 0)):
        places[:] = at
        with pytest.raises(ValueError, match="sizes differ"):
            module.COMPILED.ratios(x, n, x, m, places, found)
