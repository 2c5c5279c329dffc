"""Normal scores against ranks by counting and SciPy's quantiles, compiled and in NumPy."""

import math

import numpy as np
import pytest
from scipy import stats

from speedproof.stats import normal_scores as module
from speedproof.stats.normal_scores import normal_scores


def scores_of(x: list[float]) -> list[float]:
    """The mean of the normal scores (r - 1/2) / n of all ranks that a value shares."""
    n = len(x)
    table = [float(stats.norm.ppf((rank - 0.5) / n)) for rank in range(1, n + 1)]
    found = []
    for value in x:
        below, equal = sum(v < value for v in x), sum(v == value for v in x)
        found.append(math.fsum(table[below : below + equal]) / equal)
    return found


@pytest.fixture(params=["compiled", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(module, "COMPILED", None)
    elif module.COMPILED is None:
        pytest.skip("built without a compiler")
    return str(request.param)


@pytest.mark.parametrize("n", [8, 9, 15, 16, 30, 61, 300])
def test_scores_by_counting(n: int, way: str) -> None:
    """Of values that differ, of equal ones, of steps; in any increasing unit."""
    x = np.random.default_rng(n).standard_normal((6, n))
    x[1] = np.round(x[1])
    x[2] = x[2].cumsum()
    x[3] = np.arange(n) >= n - 3
    x[4] = 1.0
    found = normal_scores(x)
    assert found == pytest.approx(np.array([scores_of(row) for row in x.tolist()]), rel=1e-12, abs=1e-14)
    assert normal_scores(x.reshape(2, 3, n)).tolist() == found.reshape(2, 3, n).tolist()
    assert normal_scores(np.exp(1e-3 * x)).tolist() == found.tolist()
    squares = math.fsum(stats.norm.ppf((k + 0.5) / n) ** 2 for k in range(n))
    assert module.power(n) == pytest.approx(squares)


def test_the_kernel_refuses_sizes_that_differ() -> None:
    """A table or answers of another length than the rows need are no memory to read."""
    if module.COMPILED is None:
        pytest.skip("built without a compiler")
    x, table = np.ones(8), np.ones(15)
    module.COMPILED.scores(x, 8, table, np.ones(8))
    for n in (-1, 0, 1, 3, 7, 9):
        with pytest.raises(ValueError, match="sizes"):
            module.COMPILED.scores(x, n, table, np.ones(8))
    with pytest.raises(ValueError, match="sizes"):
        module.COMPILED.scores(x, 8, table, np.ones(7))
