"""The search of large pairs part by part against counting, and whole against what sorting finds, to the bit."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from speedproof.stats.permutation import Spread
from speedproof.stats.rank_scores import Pairs, Score, Search, _crossed, _Side, pairs_of, scores_of
from speedproof.stats.superiority import both_states

FloatArray = npt.NDArray[np.float64]


def samples(n: int, digits: int) -> FloatArray:
    """Rows with as many distinct values as there are, with fewer, with one; zeros at the start of some."""
    rng = np.random.default_rng([n, digits])
    x = np.round(rng.lognormal(0.2, 0.4, (5, n)), digits)
    x[1], x[2, : n // 3] = np.round(x[1]), 0.0
    x[3] = 2.0
    return x


@pytest.mark.parametrize("digits", [0, 9])
@pytest.mark.parametrize("n", [2, 3, 7, 12])
def test_a_side_counts_its_values(n: int, digits: int) -> None:
    """Each distinct value once where at most half are distinct; what is filled up weighs nothing."""
    x = samples(n, digits)[1:4] if digits == 0 else samples(n, digits)
    side = _Side(x)
    distinct = max(np.unique(row).size for row in x)
    assert (side.upto is None) == (distinct > n / 2)
    assert side.values.shape == (len(x), n if side.upto is None else distinct)
    places = np.arange(side.values.shape[1] + 1)
    rng = np.random.default_rng(n)
    counts = rng.integers(0, 9, side.values.shape).astype(float)
    totals, squares = side.sums(counts)
    for row, own in enumerate(np.sort(x, axis=1)):
        values = side.values[row].tolist()
        told = side.counts(places, row)
        assert told.tolist() == side.counts(np.tile(places, (len(x), 1)))[row].tolist()
        assert [told[0], told[-1]] == [0.0, n]
        weights = np.diff(told)
        assert sorted(np.repeat(values, weights.astype(int)).tolist()) == own.tolist()
        assert values == sorted(values)
        if side.upto is not None:
            assert set(weights.tolist()) == {*np.unique(own, return_counts=True)[1].tolist()} | (
                {0.0} if np.unique(own).size < distinct else set()
            )
        assert totals[row] == pytest.approx(sum(weights * counts[row]), rel=1e-14)
        assert squares[row] == pytest.approx(sum(weights * counts[row] ** 2), rel=1e-14)
        for share in (0.0, 0.3, 0.5, 0.9, 1.0):
            assert side.quantile(share)[row] == own[int(share * (n - 1))]


def drawn(n: int, m: int, digits: int, stepped: bool) -> Pairs:
    rng = np.random.default_rng([n, m, digits])
    x, y = (
        np.round(rng.lognormal(0.2, 0.5, (6, n)), digits),
        np.round(rng.lognormal(0.0, 0.4, (6, m)), digits),
    )
    x, y = np.maximum(x, 0.1), np.maximum(y, 0.1)
    x[1, 0], y[2, :2] = 0.0, 0.0
    steps = np.array([[0.0, 0.0], [0.2, 0.1], [0.0, 0.3]] * 2) if stepped else np.zeros((6, 2))
    return pairs_of(x, y, steps, (1.0, 1.0))


def only(pairs: Pairs) -> Score:
    ((rows, score),) = scores_of(pairs)
    assert rows.all()
    return score


def counted(pairs: Pairs, gamma: float, sign: float) -> Spread:
    """Of the least x and the greatest y for a sign of -1, ties against X; for +1 the other way round."""
    sums = []
    for x, y, step in zip(pairs.x, pairs.y, pairs.step, strict=True):
        of_x = np.maximum(x + sign * step[0] / 2, 0.0)
        of_y = gamma * np.maximum(y - sign * step[1] / 2, 0.0)
        wins = np.array([[a > b or (sign > 0 and a == b) for b in of_y] for a in of_x], dtype=float)
        sums.append([wins.sum(), (wins.sum(axis=1) ** 2).sum(), ((1 - wins).sum(axis=0) ** 2).sum()])
    return Spread(*np.array(sums).T)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("stepped", [False, True])
@pytest.mark.parametrize(("n", "m", "digits"), [(4, 6, 9), (7, 3, 1), (9, 8, 0), (3, 12, 0), (12, 3, 0)])
def test_a_score_is_that_of_all_pairs(n: int, m: int, digits: int, stepped: bool, sign: float) -> None:
    pairs = drawn(n, m, digits, stepped)
    score = only(pairs)
    search = Search(pairs, score)
    for gamma in (0.25, 0.5, 1.0, 1.3, 2.0, 4.0):
        found, expected = search._spread(search._places(np.full(6, gamma), sign)), counted(pairs, gamma, sign)
        np.testing.assert_allclose(found.won, expected.won, rtol=1e-14)
        np.testing.assert_allclose(found.square_x, expected.square_x, rtol=1e-13)
        np.testing.assert_allclose(found.square_y, expected.square_y, rtol=1e-13)
        scores = search.score(np.full(6, gamma), sign)
        np.testing.assert_allclose(scores, score.of(expected), rtol=1e-9)


def test_what_crosses_between_two_gammas() -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        upto, downto = rng.integers(0, 6, (2, 5))
        i, j = _crossed(upto, downto)
        expected = [(a, b) for a in range(5) for b in range(downto[a], upto[a])]
        assert list(zip(i.tolist(), j.tolist(), strict=True)) == expected


@pytest.mark.parametrize("many", [64, 0])
@pytest.mark.parametrize("stepped", [False, True])
@pytest.mark.parametrize(("n", "m", "digits"), [(4, 6, 9), (9, 8, 0), (13, 11, 1), (12, 14, 9)])
def test_bounds_are_the_sorted_ones(
    n: int, m: int, digits: int, stepped: bool, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit where the ratios near a bound are listed; nearly so where they are too many."""
    pairs = drawn(n, m, digits, stepped)
    score = only(pairs)
    below, above = both_states(pairs, score)
    monkeypatch.setattr("speedproof.stats.rank_scores._TOO_MANY", many)
    for listed, alpha in itertools.product((1, 1 << 10) if many else (1,), (0.6, 0.1, 0.02)):
        monkeypatch.setattr("speedproof.stats.rank_scores._LISTED", listed)
        low, high = Search(pairs, score).bounds(alpha)
        possible = score.least <= alpha
        expected = (
            below.low(score.rejects(below.scores, alpha)),
            above.high(score.rejects(-above.scores, alpha)),
        )
        for found, wanted in (
            (low[possible], expected[0][possible]),
            (high[possible], expected[1][possible]),
        ):
            if many:
                assert found.tolist() == wanted.tolist()
            else:
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-300)


def test_ratios_that_are_equal_but_for_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multiples of a tenth: 0.3 / 0.1, 0.6 / 0.2 and 0.9 / 0.3 are three doubles, and one ratio."""
    monkeypatch.setattr("speedproof.stats.rank_scores._LISTED", 1 << 10)
    rng = np.random.default_rng(4)
    x, y = 0.1 * rng.integers(1, 14, (40, 12)), 0.1 * rng.integers(1, 12, (40, 11))
    pairs = pairs_of(x, y, (0.0, 0.0), (1.0, 1.0))
    score = only(pairs)
    below, above = both_states(pairs, score)
    for alpha in (0.4, 0.2, 0.1, 0.05, 0.01):
        low, high = Search(pairs, score).bounds(alpha)
        assert low.tolist() == below.low(score.rejects(below.scores, alpha)).tolist()
        assert high.tolist() == above.high(score.rejects(-above.scores, alpha)).tolist()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_where_everything_on_the_way_is_rejected(sign: float) -> None:
    """The bound is the end from which on nothing is known to be rejected."""
    pairs = drawn(5, 7, 9, False)
    search = Search(pairs, only(pairs))
    between = np.array([0.9, 1.4])
    upto, downto = (search._places(np.full(6, gamma), sign) for gamma in between)
    spread = search._spread(upto)
    begin = Spread(*(sums[0] for sums in (spread.won, spread.square_x, spread.square_y)))
    crossed = _crossed(upto[0][0], downto[0][0])
    ends = (float(between[0]), float(between[1]))
    ratios = np.sort((pairs.x[0][:, None] / pairs.y[0]).ravel())
    inside = ratios[(ratios > 0.9) & (ratios < 1.4)]
    assert crossed[0].size == inside.size > 2
    assert search._walk(0, sign, -1e9, ends, crossed, begin) == (1.4 if sign < 0 else 0.9)
    assert search._walk(0, sign, 1e9, ends, crossed, begin) == (0.9 if sign < 0 else 1.4)


def test_ratios_next_to_the_largest_double() -> None:
    rng = np.random.default_rng(7)
    x, y = 1.3e308 * rng.uniform(1.0, 1.1, (4, 12)), rng.uniform(0.95, 1.05, (4, 13))
    for unit_x, unit_y in ((1.0, 1.0), (1e-307, 1e308)):
        pairs = pairs_of(x * unit_x, y * unit_y, (0.0, 0.0), (1.0, 1.0))
        score = only(pairs)
        below, above = both_states(pairs, score)
        low, high = Search(pairs, score).bounds(0.05)
        assert low.tolist() == below.low(score.rejects(below.scores, 0.05)).tolist()
        assert high.tolist() == above.high(score.rejects(-above.scores, 0.05)).tolist()


@pytest.mark.parametrize(
    ("n", "m", "shift"), [(1000, 900, 0.05), (900, 1000, -0.05), (9000, 90, 0.0), (90, 9000, 0.0)]
)
def test_a_bound_is_one_of_the_ratios(n: int, m: int, shift: float) -> None:
    """However wide the interval was at the beginning, and whatever the sizes: bisecting would only come near."""
    rng = np.random.default_rng([n, m])
    x, y = rng.lognormal(shift, 0.1, (1, n)), rng.lognormal(0.0, 0.1, (1, m))
    pairs = pairs_of(x, y, (0.0, 0.0), (1.0, 1.0))
    search = Search(pairs, only(pairs))
    for alpha in (0.05, 0.001):
        for bound in search.bounds(alpha):
            assert (x[0][:, None] / y[0] == bound).any()
