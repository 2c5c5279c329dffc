"""The ratio of two medians by counting pairs, with SciPy's normal distribution and every order listed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from speedproof.stats.rank_nulls import rank_sum_normal, rank_sum_sd, rank_sum_tail
from speedproof.stats.ranks import rank_sum
from speedproof.stats.ratio_medians import ratio_of_medians, ratio_of_medians_test

FloatArray = npt.NDArray[np.float64]
SIZES = [(1, 1), (1, 4), (3, 2), (5, 5), (4, 9), (51, 3), (2, 52)]


def rows(n: int, m: int) -> tuple[FloatArray, FloatArray]:
    """Pairs without ties, with ties inside, across, with zeros of one side and of both, and all equal."""
    rng = np.random.default_rng([n, m])
    x, y = rng.lognormal(0.3, 0.4, (8, n)), rng.lognormal(0.0, 0.4, (8, m))
    x[1], y[2] = np.round(x[1], 1), np.round(y[2], 1)
    x[3], y[3] = np.round(x[3]), np.round(y[3])
    x[4, : n // 2], x[5, : n // 2 + 1], y[5, : m // 2 + 1] = 0.0, 0.0, 0.0
    x[6], y[6] = 3.0, 3.0
    x[7], y[7] = 0.0, 0.0
    return x, y


def spread_of(x: FloatArray, y: FloatArray) -> float:
    """The deviation of the rank sum when nothing ties across the samples."""
    n, m = x.size, y.size
    runs = [int(c) for side in (x, y) for c in np.unique(side, return_counts=True)[1]]
    size = n + m
    variance = n * m / 12 * (size + 1 - sum(c**3 - c for c in runs) / (size * (size - 1)))
    return math.sqrt(max(variance, 0.0))


def ratios_of(x: FloatArray, y: FloatArray) -> list[float]:
    """In order; that of two zeros is 1."""
    return sorted(a / b if b else math.inf if a else 1.0 for a in x.tolist() for b in y.tolist())


def shifted(x: FloatArray, y: FloatArray, gamma: float, exact: bool) -> tuple[float, float]:
    """Both p-values at a gamma that no ratio equals."""
    n, m = x.size, y.size
    sd, ratios = spread_of(x, y), ratios_of(x, y)
    found = []
    for won in (sum(r > gamma for r in ratios), sum(r < gamma for r in ratios)):
        if exact:
            found.append(float(rank_sum_tail(n, m)[won]))
        else:
            centred = won - 0.5 * n * m
            found.append(float(stats.norm.sf((centred - 0.5) / sd)) if sd > 1e-6 else float(centred < 0.5))
    return found[0], found[1]


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_pvalues_at_every_gamma(n: int, m: int) -> None:
    """Of many pairs at once, and what is known of gamma = 1 may be handed on."""
    x, y = rows(n, m)
    test = rank_sum(x, y)
    for gamma in (0.31, 0.8573, 1.1717, 3.7):
        found = ratio_of_medians_test(x, y, gamma)
        again = ratio_of_medians_test(x, y, gamma, at_one=test)
        np.testing.assert_array_equal([found.above, found.below], [again.above, again.below])
        larger, smaller = (min, max) if gamma < 1 else (max, min)
        for row in range(8):
            above, below = shifted(x[row], y[row], gamma, bool(test.exact[row]))
            assert found.above[row] == pytest.approx(larger(above, float(test.pvalue[row])), rel=1e-9)
            assert found.below[row] == pytest.approx(smaller(below, float(test.pvalue_less[row])), rel=1e-9)
    at_one = ratio_of_medians_test(x, y, 1.0)
    np.testing.assert_array_equal([at_one.above, at_one.below], [test.pvalue, test.pvalue_less])


@pytest.mark.parametrize("alpha", [1e-9, 0.02, 0.3, 0.7])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_bounds_are_where_a_scan_stops(n: int, m: int, alpha: float) -> None:
    """Between neighbouring ratios the test above, up to the first gamma that it does not reject, held at 1."""
    x, y = rows(n, m)
    test = rank_sum(x, y)
    found = ratio_of_medians(x, y, alpha)
    again = ratio_of_medians(x, y, alpha, at_one=test)
    np.testing.assert_array_equal([found.low, found.high], [again.low, again.high])
    for row in range(8):
        ratios = np.unique(ratios_of(x[row], y[row]))
        inner = ratios[np.isfinite(ratios) & (ratios > 0.0)].tolist()
        marks = [0.0, *inner, math.inf]
        middles = [math.sqrt(a * b) for a, b in itertools.pairwise(inner)]
        gammas = [inner[0] / 2, *middles, inner[-1] * 2] if inner else [1.0]
        rejects = [[p <= alpha for p in shifted(x[row], y[row], g, bool(test.exact[row]))] for g in gammas]
        k = next((k for k, (above, _) in enumerate(rejects) if not above), len(gammas))
        low = marks[k]
        k = next((k for k, (_, below) in enumerate(rejects[::-1]) if not below), len(gammas))
        high = marks[::-1][k]
        faster, slower = bool(test.pvalue[row] <= alpha), bool(test.pvalue_less[row] <= alpha)
        low = max(low, math.nextafter(1.0, 2.0)) if faster else min(low, 1.0)
        high = min(high, math.nextafter(1.0, 0.0)) if slower else max(high, 1.0)
        assert [found.low[row], found.high[row]] == pytest.approx([low, high], rel=1e-12)


@pytest.mark.parametrize(("n", "m"), [(60, 55), (50, 8), (180, 130), (700, 400)])
def test_how_many_ratios_a_risk_needs(n: int, m: int) -> None:
    """The first count with a p-value of at most alpha, also where alpha is such a p-value or next to it."""
    rng = np.random.default_rng(n)
    x, y = rng.lognormal(0.5, 0.2, n), rng.lognormal(0.0, 0.2, m)
    ratios, sd = np.sort((x[:, None] / y).ravel()), rank_sum_sd(n, m, np.zeros(()))
    pvalues = rank_sum_normal(np.arange(n * m + 1.0) - 0.5 * n * m, sd)
    for count in range(n * m // 2 + n, n * m - n, max(37, n * m // 60)):
        p = float(pvalues[count])
        for alpha in (p, np.nextafter(p, 0.0), np.nextafter(p, 1.0), p * (1 - 1e-12)):
            needed = int(np.argmax(pvalues <= alpha))
            bounds = ratio_of_medians(x, y, float(alpha))
            low, high = ratios[n * m - needed], ratios[needed - 1]
            assert (float(bounds.low), float(bounds.high)) == (low, max(high, 1.0))
