"""Procedures on arrays against the same written out in loops, with SciPy's parts where there are any."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from tests.stats.test_cusum import alarms_of_sums

from speedproof.stats import cusum
from speedproof.stats.betting import log_factors, scale_of
from speedproof.stats.dependence import drift_within, drifting, midranks, variance_inflation
from speedproof.stats.forecast import blocks_until, growth
from speedproof.stats.normality import _TAILS as TAILS
from speedproof.stats.normality import _lilliefors_pvalue as pvalue_of_distance
from speedproof.stats.normality import lilliefors
from speedproof.stats.resolution import coarse_step, coarse_steps
from speedproof.stats.symmetry import symmetry
from speedproof.stats.two_levels import places_of_step, separation, two_levels

FloatArray = npt.NDArray[np.float64]


def walk(rng: np.random.Generator, rows: int, n: int, rho: float) -> FloatArray:
    x = rng.standard_normal((rows, n))
    for t in range(1, n):
        x[:, t] += rho * x[:, t - 1]
    return x


def naive_inflation(x: FloatArray, y: FloatArray) -> float:
    n, m = x.size, y.size
    if min(n, m) < 8:
        return 1.0
    total = 0.0
    for own in (x, y):
        ranks = stats.rankdata(own)
        centred = ranks - ranks.mean()
        if (squares := float(centred @ centred)) > 0:
            r = float(centred[1:] @ centred[:-1]) / squares
            total += own.size * (r + (1 + 4 * r) / own.size)
    r = total / (n + m)
    stands_out = 0.5 * max(1.0, (40 / (n + m)) ** (4 / 3)) / math.sqrt(n + m)
    r = min(r, 0.999) if r > stands_out else 0.0
    return min((1 + r) / (1 - r), min(n, m) / 2)


@pytest.mark.parametrize(("n", "m"), [(7, 30), (8, 8), (9, 12), (20, 20), (21, 60), (60, 8)])
@pytest.mark.parametrize("rho", [0.0, 0.4, 0.9, 1.0])
def test_variance_inflation(n: int, m: int, rho: float) -> None:
    rng = np.random.default_rng([n, m, int(10 * rho)])
    x, y = walk(rng, 60, n, rho), walk(rng, 60, m, rho)
    x[0], y[1] = np.round(x[0]), 5.0
    x[2], y[2] = np.arange(n), np.arange(m)
    found = variance_inflation(x, y)
    assert found.tolist() == pytest.approx([naive_inflation(*pair) for pair in zip(x, y, strict=True)])
    assert variance_inflation(x[3], y[3]) == pytest.approx(found[3])  # one pair without a row
    assert variance_inflation(x, y, (midranks(x), midranks(y))).tolist() == found.tolist()


def test_what_may_be_a_random_walk() -> None:
    """An effective size below 4, below 3 up to 15 runs, a fifth of the smaller size between."""
    for n, m in itertools.product((8, 12, 15, 16, 18, 20, 21, 40), repeat=2):
        smaller = min(n, m)
        least = 3.0 if smaller <= 15 else 4.0 if smaller >= 20 else smaller / 5
        sizes = least * np.array([0.5, 0.999, 1.001, 2.0])
        assert drifting(n, m, smaller / sizes).tolist() == [True, True, False, False]
    assert drifting(2, 30, [1.0, 1.01]).tolist() == [False, True]  # no dependence, no walk
    assert not any(drifting(n, 99, n / least) for n, least in ((12, 3.0), (18, 3.6), (20, 4.0), (64, 4.0)))


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("sizes", [(4, 4, 4, 4, 4), (1, 2, 3, 4, 5, 6, 2), (9, 3, 3, 1, 4, 4), (2, 2, 2, 2)])
def test_drift_within_processes(sizes: tuple[int, ...], shuffled: bool) -> None:
    """Slopes by least squares, a t test of their mean, the mean of the correlations."""
    rng = np.random.default_rng(len(sizes))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    x = np.concatenate([0.3 * np.arange(k) + rng.standard_normal(k) for k in sizes])
    parts = [x[labels == k] for k in range(len(sizes)) if sizes[k] > 1]
    order = interleaved(rng, labels) if shuffled else np.arange(labels.size)
    found = drift_within(x[order], labels[order])
    if len(parts) < 5:
        assert np.isnan([float(found.correlation), float(found.pvalue)]).all()
        return
    slopes = [float(np.polyfit(np.arange(part.size), part, 1)[0]) for part in parts]
    assert float(found.pvalue) == pytest.approx(stats.ttest_1samp(slopes, 0.0).pvalue, rel=1e-9)
    correlations = [np.corrcoef(np.arange(part.size), part)[0, 1] for part in parts]
    assert float(found.correlation) == pytest.approx(np.mean(correlations), rel=1e-9)
    one, many = drift_within(x[order], labels[order]), drift_within(np.stack([x[order]] * 3), labels[order])
    assert many.pvalue.tolist() == pytest.approx([float(one.pvalue)] * 3)


def interleaved(rng: np.random.Generator, labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """An order that mixes the processes and keeps that of each."""
    mixed = rng.permutation(labels)
    places = {k: iter(np.flatnonzero(labels == k).tolist()) for k in set(labels.tolist())}
    return np.array([next(places[k]) for k in mixed.tolist()])


def naive_alarms(values: list[float], mean: float) -> list[tuple[int, int, bool]]:
    """The sums of both directions value by value, begun anew where a new level began."""
    limit, start = cusum.run_limit(mean), 0
    found: list[tuple[int, int, bool]] = []
    while True:
        scores = []
        for k in range(start, len(values)):
            seen = values[start : k + 1]
            rank = sum(v < values[k] for v in seen) + 0.5 * sum(v == values[k] for v in seen)
            scores.append(float(stats.norm.ppf(rank / len(seen))))
        up = down = 0.0
        since = {True: start + 10, False: start + 10}
        raised = None
        for k, score in enumerate(scores):
            before = scores[k - 1] if k else 0.0
            pairs = list(itertools.pairwise(scores[:k]))
            squares = sum(a * a for a, _ in pairs)
            likeness = sum(a * b for a, b in pairs) / squares if squares > 0 else 0.0
            rho = min(max(likeness + 2 / (k + 1), 0.0), 0.9)
            fresh = (score - rho * before) / math.sqrt(1 - rho * rho)
            if k < 10:
                continue
            sums = {}
            up, down = max(up + fresh - 0.5, 0.0), max(down - fresh - 0.5, 0.0)
            sums = {True: up, False: down}
            for direction in (True, False):
                if sums[direction] > limit:
                    raised = raised or (start + k, since[direction], direction)
                elif sums[direction] <= 1e-12:
                    since[direction] = start + k + 1
            if raised:
                break
        if raised is None:
            return found
        found.append(raised)
        start = raised[1]


@pytest.mark.parametrize("seed", range(4))
def test_alarms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = walk(rng, 1, 120, 0.3 * (seed % 2))[0] + 3.0 * (np.arange(120) >= 40) - 5.0 * (np.arange(120) >= 80)
    x = np.round(x, 1) if seed > 1 else x
    found = [(a.raised, a.since, a.up) for a in alarms_of_sums(x, 300.0)]
    assert found == naive_alarms(x.tolist(), 300.0)
    assert len(found) > 1


def naive_levels(x: list[float]) -> tuple[float, int]:
    """Two groups of least variance by value, each of three or more; their distance if one follows the other."""
    n, ordered = len(x), sorted(x)

    def squares(part: list[float]) -> float:
        return sum((v - sum(part) / len(part)) ** 2 for v in part)

    low = min(range(3, n - 2), key=lambda k: squares(ordered[:k]) + squares(ordered[k:]))
    first = [v <= ordered[low - 1] for v in x]
    changes = [k for k in range(1, n) if first[k] != first[k - 1]]
    if len(changes) != 1 or not 3 <= changes[0] <= n - 3:
        return 0.0, changes[0] if changes else n
    one, two = x[: changes[0]], x[changes[0] :]
    gap = abs(sum(one) / len(one) - sum(two) / len(two))
    return gap / math.sqrt((squares(one) + squares(two)) / (n - 2)), changes[0]


@pytest.mark.parametrize("n", [8, 9, 12, 25])
@pytest.mark.parametrize("digits", [None, 0])
def test_two_levels(n: int, digits: int | None) -> None:
    rng = np.random.default_rng(n)
    steps = rng.integers(2, n - 1, 40)
    x = rng.standard_normal((40, n)) + np.where(np.arange(n) >= steps[:, None], 4.0, 0.0) * rng.choice(
        [-1, 1], (40, 1)
    )
    x = x if digits is None else np.round(x)
    distance, split, coarse = separation(x)
    assert (distance > 0).sum() > 5
    for row, series in enumerate(x.tolist()):
        expected, at = naive_levels(series)
        assert distance[row] == pytest.approx(expected, rel=1e-9)
        assert distance[row] == 0.0 or split[row] == at
        assert coarse[row] == (len(set(series)) < n / 2)
    whole = two_levels(x)
    assert whole.distance.tolist() == distance.tolist()
    assert ((whole.pvalue < 1.0) <= (distance > 0.0)).all()


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_places_of_a_step(alpha: float) -> None:
    """Hansen's (2000) region: the splits whose squares are within a multiple of the least mean square."""
    rng = np.random.default_rng(4)
    limit = -2 * math.log(1 - math.sqrt(1 - alpha))
    for size in (0.5, 2.0, 6.0):
        x = rng.standard_normal(14) + size * (np.arange(14) >= 5)
        squares = {k: x[:k].var() * k + x[k:].var() * (14 - k) for k in range(1, 14)}
        kept = [k for k, s in squares.items() if (s - squares[5]) / (squares[5] / 12) <= limit]
        assert places_of_step(x, 5, alpha) == (min(5, *kept), max(5, *kept))


def test_growth_and_what_is_missing() -> None:
    """Evidence comes in as fast as by the luckiest bet of constant scale; a forecast divides by that."""
    d = 0.01 + 0.02 * np.random.default_rng(3).standard_normal(30)
    factors = log_factors(d, np.full(30, scale_of(np.sort(d))), 0.0)
    assert growth(d, 0.0) == pytest.approx(max(factors.mean(axis=0)))
    assert growth(d + 0.5, -0.5) == pytest.approx(growth(d, 0.0))
    assert blocks_until(d, 4.0, 0.0) == pytest.approx(4.0 / growth(d, 0.0))
    assert blocks_until(d, 4.0, 0.005) == pytest.approx(4.0 / growth(d - 0.005, 0.0))
    assert blocks_until(d[:10], 4.0, 0.0) > 0
    assert math.isnan(blocks_until(d[:9], 4.0, 0.0))
    assert blocks_until(d[:9], 0.0, 0.0) == 0.0
    assert blocks_until(d, 0.4, 0.0) == pytest.approx(0.4 / growth(d, 0.0))
    assert blocks_until(d, 4.0, 1.0) == math.inf
    assert blocks_until(np.zeros(12), 4.0, 0.0) == math.inf  # ties bet nothing


def test_symmetry_against_all_signs() -> None:
    """Drawn signs are within binomial bounds of the share of all 2^n signs with a statistic as large."""
    rng = np.random.default_rng(5)
    for x in (rng.standard_normal(9), rng.exponential(size=9), np.array([0.0, 0, 0, 0, 1, 2, 9])):
        found = symmetry(x)
        centre = np.median(x)
        spread = np.abs(x - centre).mean()
        assert found.statistic == pytest.approx((x.mean() - centre) / spread)
        walsh = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(x.tolist(), 2)]
        away = np.abs(x - np.median(walsh))
        flipped = np.array(list(itertools.product([-1.0, 1.0], repeat=x.size))) * away
        middles = np.median(flipped, axis=1)
        spreads = np.abs(flipped - middles[:, None]).mean(axis=1)
        share = np.mean(np.abs(flipped.mean(axis=1) - middles) / spreads >= abs(found.statistic) - 1e-9)
        assert abs(found.pvalue - share) < 4.5 * math.sqrt(share * (1 - share) / 999) + 2e-3
    assert symmetry(np.ones(5)) == symmetry(np.full(8, 7.0))
    assert symmetry(np.ones(5)).pvalue == 1.0


def test_coarse_readings_tie_in_a_quarter_of_pairs() -> None:
    """By definition, on both sides of the quarter: 4 and 3 equal ones of 9 are 18 of 72 pairs."""
    for counts, coarse in (
        ((4, 3, 1, 1), True),
        ((4, 2, 2, 1), False),
        ((4, 2, 1, 1), True),
        ((3, 3, 1, 1), False),
        ((2,), True),
        ((1,), False),
    ):
        values = np.repeat(np.arange(len(counts)) * 0.25 + 3.0, counts)
        n = values.size
        ties = sum(a == b for a, b in itertools.permutations(values.tolist(), 2))
        assert coarse == (n > 1 and ties >= 0.25 * n * (n - 1))
        step = 0.25 if len(counts) > 1 else 1.0
        assert coarse_step(values) == (step if coarse else 0.0)
    steps = coarse_steps(
        [[1.0, 1.0, 1.5, 2.0], [1.0, 1.25, 1.5, 2.0]], [[0.5, 0.5, 0.5, 0.5], [1.0, 2.0, 3.0, 4.0]]
    )
    assert steps.tolist() == [[0.0, 0.5], [0.0, 0.0]]
    assert coarse_steps([2.5, 2.5], [0.25, 0.25]).tolist() == [[0.01, 0.01]]
    assert coarse_steps([2.0, 2.0, 2.0], [2.0, 2.5, 2.0]).tolist() == [[0.5, 0.5]]


def test_lilliefors_tail_is_in_one_piece() -> None:
    """It falls, by no more at a time where polynomials and formulas take turns than they are exact."""
    for n in (10, 30, 100, 400):
        scale = math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n)
        tail = pvalue_of_distance(np.linspace(1e-3, 2.5 / scale, 40_000), n)
        assert tail[0] == tail.max() == 1.0
        assert tail[-1] < 1e-9
        assert np.diff(tail).max() < 1.5e-3
        assert np.diff(tail).min() > -9e-3
    for (limit, here), (_, following) in itertools.pairwise(TAILS):
        values = (np.polynomial.polynomial.polyval(limit, c) for c in (here, following))
        assert abs(np.diff(list(values))[0]) < 1.5e-3
    assert np.isnan(lilliefors(np.array([[1.0, 1, 1, 1], [1, 2, 3, 5]])).pvalue).tolist() == [True, False]
