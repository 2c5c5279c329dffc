"""The Kolmogorov-Smirnov test: the limiting series by SciPy, up to which size paths are counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from speedproof.stats.smirnov import kolmogorov_sf, ks_location


def test_the_limiting_tail() -> None:
    """To the last digits on either side of where the two expansions meet, and at both ends."""
    x = np.concatenate([np.linspace(0.15, 3.0, 400), 1.0 + np.linspace(-1e-6, 1e-6, 5), [5.0, 10.0, 18.0]])
    np.testing.assert_allclose(kolmogorov_sf(x), special.kolmogorov(x), rtol=2e-14)
    assert kolmogorov_sf([-3.0, 0.0, 1e-9, 0.02]).tolist() == [1.0] * 4
    assert kolmogorov_sf([40.0, 1e9]).tolist() == [0.0, 0.0]


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
