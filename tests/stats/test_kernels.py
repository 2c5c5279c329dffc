"""The compiled kernels of the statistics find what NumPy does, and touch no memory that is not theirs."""

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from msgspec import Struct, structs

from speedproof.stats import (
    alarms,
    change_points,
    levels,
    normal_scores,
    permutation,
    power,
    ranks,
    special,
    superiority,
    two_levels,
)
from speedproof.stats.quantile_ratio import Quantiles
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.superiority import typical_ratio, typical_ratio_tests

if ranks.COMPILED is None:
    pytest.skip("built without a compiler", allow_module_level=True)

MODULES = (
    alarms, change_points, levels, normal_scores, permutation, power, ranks, special, superiority, two_levels,
)  # fmt: skip


def steps(rows: int, n: int) -> np.ndarray:
    """Rows with a step or a rise and without, of values that differ and of equal ones."""
    x = np.random.default_rng(n).standard_normal((rows, n))
    x[::2] += 2.0 * (np.arange(n) >= n // 2)
    x[1::4] += 8.0 * np.clip((np.arange(n) - n // 8) / max(n // 2, 1), 0.0, 1.0)
    x[::3] = np.round(x[::3])
    return x


def pair(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two samples: without ties, with ties within and across, with zeros."""
    rng = np.random.default_rng([n, m])
    x, y = np.exp(rng.normal(0.1, 0.4, (36, n))), np.exp(rng.normal(0.0, 0.2, (36, m)))
    x[:12], y[:12] = x[:12].round(1), y[:12].round(1)
    x[12:15], y[12:14] = 3.0, 3.0
    x[:3, 0] = 0.0
    return x, y


def of_levels(n: int) -> Iterator[Any]:
    x = steps(6, n)
    yield levels.levels(x)
    yield levels.best_levels(x)
    yield [ways[:2] for ways in levels.best_levels(x)] == levels.best_levels(x, 2)
    yield two_levels.two_levels(x)
    for row, split, rho in product(x, (1, n // 3, n - 1), (0.0, 0.4)):
        yield levels.places_of_step(row, split, rho, 0.05)


def of_alarms(rows: int, n: int) -> Iterator[Any]:
    """Of few rows, and of many that share their scores."""
    x = steps(rows, n)
    yield (found := alarms.first_alarms(x, 5.0))
    assert found[:40] == [alarms.first_alarms(row[None], 5.0)[0] for row in x[:40]]
    yield alarms.first_jumps(x, 100.0)


def of_ratios(n: int, m: int) -> Iterator[Any]:
    """At every risk and ratio, of ties, zeros, coarse steps and dependent runs."""
    x, y = pair(n, m)
    read = np.where(np.arange(36) % 4 == 0, 0.1, 0.0)[:, None] * [1.0, 0.5]
    factors = np.where(np.arange(36) % 3 == 0, 1.0, 1.0 + np.arange(36) / 18)[:, None] * [1.0, 1.0]
    kinds: list[dict[str, Any]] = [{}, {"steps": read}, {"inflation": factors}]
    for kind in kinds:
        yield from (typical_ratio(x, y, alpha, **kind) for alpha in (1e-9, 0.001, 0.05, 0.3, 0.7))
        for gammas in ((0.02, 0.8, 0.98), (1.02, 1.1, 30.0), (float(x[9, 0] / y[9, 0]), 1.5, 2.0)):
            yield from typical_ratio_tests(x, y, gammas, **kind)
    yield power.typical_error(x, y, factors[:, 0], read)
    yield from (ratio_of_medians(x, y, alpha) for alpha in (1e-9, 0.05, 0.7))


def of_pools(n: int, m: int) -> Iterator[Any]:
    x, y = pair(n, m)
    x[20, -1] = y[20, -1] = math.inf
    yield from (ranks.pooled_order(x[:20], y[:20], t) for t in (None, np.zeros(20), np.full(20, 0.3)))
    yield from (ranks.merged_places(np.sort(x), np.sort(y), first) for first in (True, False))
    for some in (np.where(x < 0.5, -0.0, x), x[0], x.reshape(4, 9, n)):
        yield from (ranks.ranked(some), normal_scores.normal_scores(some))
    yield Quantiles.of(x[:20], y[:20], 0.8).bounds(0.3)


def of_tails() -> Iterator[Any]:
    """Of arrays all fractions go on until none moves, and what is no number stops nobody."""
    rng = np.random.default_rng(3)
    t, df = rng.standard_t(3, 400) * 10.0 ** rng.uniform(-3, 3, 400), 10.0 ** rng.uniform(-0.5, 4, 400)
    t[:4] = 0.0, np.nan, np.inf, 1e200
    yield from (special.t_sf_pdf(t, df), special.f_tails(np.abs(t), df, 7.0))


def numbers(found: Any) -> Iterator[Any]:
    if isinstance(found, Struct | tuple | list):
        for part in structs.astuple(found) if isinstance(found, Struct) else found:
            yield from numbers(part)
    else:
        yield np.asarray(math.nan if found is None else found)


@pytest.mark.parametrize(("what", "sizes", "error"), [
    *((of_levels, (n,), 1e-9) for n in (12, 40, 61, 200)),
    *((of_alarms, sizes, 0.0) for sizes in ((3, 60), (40, 60), (40, 9), (300, 511), (3, 1300))),
    *((of_ratios, sizes, 1e-10) for sizes in ((2, 9), (4, 4), (7, 30), (30, 20), (40, 41))),
    *((of_pools, sizes, 0.0) for sizes in ((1, 1), (1, 7), (8, 3), (40, 40))),
    *((lambda n: map(change_points.find_changes, steps(12, n), [0.3] * 12), (n,), 1e-9) for n in (20, 60, 150)),
    (of_tails, (), 0.0),
])  # fmt: skip
def test_against_numpy(
    what: Callable[..., Iterator[Any]], sizes: tuple[int, ...], error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = [*numbers([*what(*sizes)])]
    for module in MODULES:
        monkeypatch.setattr(module, "COMPILED", None)
    for one, other in zip(compiled, numbers([*what(*sizes)]), strict=True):
        np.testing.assert_allclose(one, other, rtol=error, atol=error * 1e-3)


def int64(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


X, ONE, NONE = np.arange(4.0), np.empty(1), np.zeros(16, dtype=np.bool_)
EIGHT, TWO = np.ones(8), np.ones((2, 2))
# The arguments of a call, and by place what makes their sizes differ.
CALLS: dict[str, tuple[Any, tuple[Any, ...], list[dict[int, Any]]]] = {
    "merged": (ranks, (X, 4, X, 4, True, int64(*range(4)), int64(*range(4))),
               [{5: int64(1, 2, 3)}, {1: 3}, {1: 2}, {1: 0}, {3: 0}]),
    "pooled": (ranks, (X, 4, X, 4, ONE, EIGHT.copy(), EIGHT.copy(), NONE[:8].copy(), NONE[:1].copy()),
               [{5: np.empty(7), 6: np.empty(7)}, {5: ONE, 6: ONE}, {1: 3}, {1: 0}]),
    "ranked": (ranks, (X, 4, X.copy(), X.copy(), np.empty(16)),
               [{2: np.empty(3)}, {4: np.empty(15)}, {1: 3}, {1: 0}, {1: -4}]),
    "ratios": (ranks, (X + 1, 4, X + 1, 4, int64(0, 0)[None], np.empty((1, 2))),
               [{4: int64(16, 16)[None]}, {4: int64(-1, -1)[None]}, {1: 2}, {1: 0}, {3: 0}, {1: -4, 3: -4}]),
    "bounded": (ranks, (X[:2] + 1, 2, X[:2] + 1, 2, np.ones((1, 9)), ONE, 1.0, np.empty(4)),
                [{7: np.empty((1, 2))}, {3: 5}, {0: X[:1], 1: 1, 2: X, 3: 4}, {1: -2, 3: -2}]),
    "differences": (ranks, (X, 4, X, 4, int64(0), np.empty(2)),
                    [{4: int64(15)}, {4: int64(-1)}, {1: 2}, {1: 0}, {1: -4, 3: -4}]),
    "walks": (alarms, (np.zeros(16), 8, 10, 0.5, 0.9, 5.0, np.zeros((2, 3), np.int64)),
              [{1: n} for n in (-8, 0, 5, 16, 17)]),
    "beyond": (alarms, (np.zeros(16), 8, 2, np.zeros(9, np.int64), NONE.copy()),
               [{1: -8}, {1: 0}, {1: 5}, {2: 0}, {4: NONE[:15].copy()}]),
    "levels": (levels, (EIGHT, 8, int64(3, 4, 5), np.zeros(2), 1, 3, TWO.copy(), np.ones((2, 2, 1), np.int64)),
               [{1: 7}, {1: 0}, {1: -8}, {1: 16}, {4: 0}, {4: 9}, {5: 0}, {4: 2}]
               + [{2: int64(*at)} for at in ((3, 5, 4), (0, 4, 5), (3, 4, 8), (3, 3, 5), range(8))]),
    "places": (levels, (EIGHT, 8, 3, int64(1, 1)),
               [{1: 7}, {1: 0}, {1: -8}, {2: 0}, {2: 5, 3: int64(1)}, {3: int64(1, 1, 1, 1)}, {3: int64()}]),
    "scores": (normal_scores, (EIGHT, 8, np.ones(15), np.ones(8)),
               [{3: np.ones(7)}, *({1: n} for n in (-1, 0, 1, 3, 7, 9))]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_sizes_that_differ_are_refused(name: str) -> None:
    """Places out of order, rows that are no whole ones and answers of another length are no memory to read."""
    module, given, faults = CALLS[name]
    kernel = getattr(module.COMPILED, name)
    kernel(*given)
    for fault in faults:
        with pytest.raises(ValueError, match="sizes"):
            kernel(*(fault.get(place, value) for place, value in enumerate(given)))
