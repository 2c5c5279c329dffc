"""The Kolmogorov-Smirnov test part by part: the limiting series, paths counted one by one, how close is equal."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats

from speedproof.stats.smirnov import _completions, _exact, _tolerance, kolmogorov_sf, ks_location

FloatArray = npt.NDArray[np.float64]


def test_the_limiting_tail() -> None:
    """To the last digits on either side of where the two expansions meet, and at both ends."""
    x = np.concatenate([np.linspace(0.15, 3.0, 400), 1.0 + np.linspace(-1e-6, 1e-6, 5), [5.0, 10.0, 18.0]])
    np.testing.assert_allclose(kolmogorov_sf(x), special.kolmogorov(x), rtol=2e-14)
    assert kolmogorov_sf([-3.0, 0.0, 1e-9, 0.02]).tolist() == [1.0] * 4
    assert kolmogorov_sf([40.0, 1e9]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (3, 3), (2, 5), (4, 6)])
def test_paths_to_the_end(n: int, m: int) -> None:
    """From (i, k - i) there are as many as orders of what is left."""
    paths = _completions(n, m)
    assert paths.shape == (n + m + 1, n + 1)
    for k, i in itertools.product(range(n + m + 1), range(n + 1)):
        if (j := k - i) >= 0:
            assert paths[k, i] == (math.comb(n - i + m - j, n - i) if j <= m else 0)
    assert not paths.flags.writeable


def patterns(total: int) -> list[list[bool]]:
    return [[*ends, True] for ends in itertools.product((False, True), repeat=total - 1)]


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 3), (3, 1), (2, 3), (3, 2), (4, 2), (3, 3)])
def test_the_share_of_orders_at_every_distance(n: int, m: int) -> None:
    """Of every pattern of ties: the largest distance is looked for where a distinct value ends."""
    for ends in [None, *patterns(n + m)]:
        found = []
        for chosen in itertools.combinations(range(n + m), n):
            i, largest = 0, 0
            for k in range(n + m):
                i += k in chosen
                if ends is None or ends[k]:
                    largest = max(largest, abs(m * i - n * (k + 1 - i)))
            found.append(largest)
        levels = np.arange(1, n * m + 2)
        told = None if ends is None else np.tile(np.array(ends), (levels.size, 1))
        expected = [sum(d >= level for d in found) / len(found) for level in levels.tolist()]
        assert _exact(n, m, levels, told).tolist() == pytest.approx(expected, rel=1e-14)
        if ends is None:
            assert _exact(n, m, np.array([0]), None).tolist() == [1.0]


@pytest.mark.parametrize(
    ("n", "m", "exact"), [(99, 101, True), (100, 100, False), (101, 100, False), (3, 3333, True)]
)
def test_up_to_which_product_paths_are_counted(n: int, m: int, exact: bool) -> None:
    rng = np.random.default_rng([n, m])
    x, y = rng.normal(0.0, 1.0, n), rng.normal(0.0, 2.0, m)
    found, legacy = ks_location(x, y, rule="r422"), ks_location(x, y)
    assert bool(found.exact) == exact
    assert bool(legacy.exact) == (exact and not legacy.ties)
    assert bool(legacy.ties) == (n % 2 == m % 2 == 1)
    d = float(stats.ks_2samp(x - np.median(x), y - np.median(y)).statistic)
    assert float(found.statistic) == pytest.approx(d, rel=1e-12)
    limit = special.kolmogorov(math.sqrt(n * m / (n + m)) * d)
    assert float(found.pvalue) == pytest.approx(limit, rel=0.3 if exact else 1e-9)


def test_several_pairs_keep_their_own_answers() -> None:
    """Of one distance and of several, tied and not, in any order."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(0.0, 1.0, (12, 6)), rng.normal(0.0, 3.0, (12, 8))
    x[::3], y[::3] = np.round(x[::3]), np.round(y[::3])
    x[4], y[4] = x[5], y[5]
    for rule in ("legacy", "r422"):
        found = ks_location(x, y, rule=rule)
        assert found.ties.tolist() == [
            np.unique(np.concatenate([a - np.median(a), b - np.median(b)])).size < 14
            for a, b in zip(x, y, strict=True)
        ]
        assert found.exact.tolist() == [rule == "r422" or not tie for tie in found.ties.tolist()]
        for row in range(12):
            alone = ks_location(x[row], y[row], rule=rule)
            assert (found.statistic[row], found.pvalue[row]) == (alone.statistic, alone.pvalue)
            if found.exact[row] and not found.ties[row]:
                u, v = x[row] - np.median(x[row]), y[row] - np.median(y[row])
                assert found.pvalue[row] == pytest.approx(
                    stats.ks_2samp(u, v, method="exact").pvalue, rel=1e-9
                )
            if not found.exact[row]:
                limit = special.kolmogorov(math.sqrt(48 / 14) * found.statistic[row])
                assert found.pvalue[row] == pytest.approx(limit, rel=1e-9)


def tolerance(x: list[float], y: list[float]) -> float:
    """Eight units of the last place of the largest value; none of whole numbers, or beside so small a range."""
    u, v = ([value - float(np.median(side)) for value in side] for side in (x, y))
    noise = 8 * 2.0**-52 * max(map(abs, [*x, *y]))
    if all(value == round(value) for value in [*x, *y]) or noise >= 1e-3 * (max([*u, *v]) - min([*u, *v])):
        return 0.0
    return noise


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([0.5, 1.5, 4.0], [1.0, 2.0, 3.0, 9.0]), ([1.0, 2.0, 4.0], [1.0, 2.5]), ([1.0, 2.0, 4.0], [1.0, 7.0]),
        ([-3.5, 0.0], [1.0, 2.0]), ([1.0, 2.0], [-30.5, 2.0]), ([0.25] * 3, [7.75] * 2),
        ([0.5, 1.0], [1e12, 2e12]),
        ([1e15 + 0.5, 1e15], [1e15, 1e15 + 2.5]), ([1e12, 1e12 + 0.5], [1e12, 1e12 + 3.0]), ([0.1], [0.2]),
        ([1e12, 1e12 + 1.5], [0.5, 9.5]), ([0.0, 0.1, 9.7], [5.0, 5.1]), ([5.0, 5.1], [0.0, 0.1, 9.7]),
        ([1e11, 1e11 + 0.125], [1e11, 1e11 + 0.25]), ([1e11, 1e11 + 0.125], [1e11 - 0.25, 1e11 + 0.125]),
    ],
)  # fmt: skip
def test_how_close_values_count_as_equal(x: list[float], y: list[float]) -> None:
    for one, other in ((x, y), (y, x), ([-v for v in x], [-v for v in y])):
        a, b = np.array([one]), np.array([other])
        u, v = a - np.median(a), b - np.median(b)
        assert _tolerance(a, b, u, v).tolist() == [tolerance(one, other)]


@pytest.mark.parametrize("factor", [0.98, 1.02])
@pytest.mark.parametrize("side", [0, 1])
def test_from_which_range_on_noise_is_too_large(factor: float, side: int) -> None:
    """A thousandth of the range on either side of the limit."""
    largest = 1.0
    width = 1e3 * 8 * 2.0**-52 * largest * factor
    sides = np.array([[largest, largest - width, largest - width]]), np.array([[largest, largest]])
    x, y = sides if side == 0 else sides[::-1]
    u, v = x - np.median(x), y - np.median(y)
    assert (_tolerance(x, y, u, v)[0] > 0.0) == (factor > 1.0)
