"""The ratio of two medians by counting pairs, with SciPy's normal distribution and every order listed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from speedproof.stats import ratio_medians
from speedproof.stats.rank_nulls import rank_sum_tail
from speedproof.stats.ranks import rank_sum
from speedproof.stats.ratio_medians import (
    _extreme_ratios,
    _pairs_greater,
    _two_of_many,
    _without_ties_across,
    ratio_of_medians,
    ratio_of_medians_test,
)

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


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_counts(n: int, m: int) -> None:
    x, y = rows(n, m)
    pairs = [[int(sum(a > b for a in one for b in other)) for other in y.tolist()] for one in x.tolist()]
    assert _pairs_greater(x, y).tolist() == [pairs[k][k] for k in range(8)]
    assert _pairs_greater(x[:, None], y).tolist() == pairs
    assert _pairs_greater(x[0], y[0]).shape == ()
    sd = [spread_of(a, b) for a, b in zip(x, y, strict=True)]
    assert _without_ties_across(x, y).tolist() == pytest.approx(sd, rel=1e-12, abs=1e-7)


def ratios_of(x: FloatArray, y: FloatArray) -> list[float]:
    """In order; that of two zeros is 1."""
    return sorted(a / b if b else math.inf if a else 1.0 for a in x.tolist() for b in y.tolist())


@pytest.mark.parametrize("searched", [False, True])
@pytest.mark.parametrize(("n", "m"), SIZES[:5])
def test_the_outermost_ratios(n: int, m: int, searched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rank-th largest and smallest; 0 and infinity where there are fewer."""
    if searched:
        monkeypatch.setattr(ratio_medians, "_MOST_RATIOS", 0)
    x, y = rows(n, m)
    known = [ratios_of(a, b) for a, b in zip(x, y, strict=True)]
    for rank in {*range(n * m + 2)} if n * m < 9 else {0, 1, 2, n * m // 2, n * m - 1, n * m, n * m + 1}:
        low, high = _extreme_ratios(x, y, np.full(8, rank))
        for row, own in enumerate(known):
            least, most = len(own) - rank, rank - 1
            expected = [0.0 if at < 0 else math.inf if at >= len(own) else own[at] for at in (least, most)]
            assert [low[row], high[row]] == pytest.approx(expected, rel=1e-12)
            if searched:
                told = _two_of_many(x[row], y[row], (least, most))
                assert told == pytest.approx(expected, rel=1e-12)
    cached = _extreme_ratios(x, y, np.arange(1, 9))
    monkeypatch.setattr(ratio_medians, "_CACHED", 1)
    again = _extreme_ratios(x[:, None], y[:, None], np.arange(1, 9)[:, None])
    assert [end.tolist() for end in cached] == [end[:, 0].tolist() for end in again]


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
