"""More of the protocols written out: modes that are matched, speeds of a machine, means of logarithms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from tests.protocols.asking import compare_means, geometric_means, log_ratios

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.protocols.aggregates import LogRatios, MeanLogRatio, with_sessions
from speedproof.protocols.confidence import highest_confidences
from speedproof.protocols.machine_speeds import common_speeds, two_speeds_of
from speedproof.protocols.modes import _aligned, _alignment, _one_distribution, _Side
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.stats.session_spread import SessionSpread

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
APART = math.log(1.1)


def side(places: list[float], counts: list[int]) -> _Side:
    at = np.array(places)
    ends = np.concatenate([[-np.inf], 0.5 * (at[1:] + at[:-1]), [np.inf]])
    return _Side(np.repeat(at, counts), at, ends, tuple(counts))


def naive_alignment(a: _Side, b: _Side, shift: float) -> float:
    """The cheapest way to match modes in order: shares of those alone, shares times the distance of pairs."""
    shares = [np.array(s.counts) / sum(s.counts) for s in (a, b)]
    best = math.inf
    n, m = a.places.size, b.places.size
    for size in range(min(n, m) + 1):
        for own, other in itertools.product(
            itertools.combinations(range(n), size), itertools.combinations(range(m), size)
        ):
            off = [
                abs(b.places[k] - a.places[j] - shift) / (2 * APART) for j, k in zip(own, other, strict=True)
            ]
            if any(o > 1 for o in off):
                continue
            cost = sum(o * (shares[0][j] + shares[1][k]) for o, j, k in zip(off, own, other, strict=True))
            cost += sum(shares[0][j] for j in range(n) if j not in own) + sum(
                shares[1][k] for k in range(m) if k not in other
            )
            best = min(best, cost)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_modes_are_matched_at_the_least_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(6):
        a, b = (
            side(np.sort(rng.uniform(0, 1, k)).tolist(), rng.integers(5, 60, k).tolist())
            for k in rng.integers(1, 5, 2).tolist()
        )
        for shift in (0.0, 0.1, -0.3):
            cost, matched = _alignment(a, b, shift)
            assert cost == pytest.approx(naive_alignment(a, b, shift))
            assert all(x < y and v < w for (x, v), (y, w) in itertools.pairwise(matched))
        shifts = [0.0, *(float(q - p) for p in a.places for q in b.places)]

        def price(shift: float, a: _Side = a, b: _Side = b) -> float:
            return naive_alignment(a, b, shift) + 0.5 * (abs(shift) > 0.25 * APART) + 0.01 * abs(shift)

        found, shift = _aligned(a, b)
        assert price(shift) == pytest.approx(min(map(price, shifts)))
        assert _alignment(a, b, shift)[1] == found


def test_one_distribution_against_scipy() -> None:
    """The limiting distribution of Kolmogorov and Smirnov's distance, with ties."""
    rng = np.random.default_rng(2)
    for n, m, digits in ((20, 30, 9), (15, 15, 1), (40, 200, 1)):
        x, y = np.round(rng.standard_normal(n), digits), np.round(0.4 + rng.standard_normal(m), digits)
        distance = stats.ks_2samp(x, y).statistic
        expected = stats.kstwobign.sf(distance * math.sqrt(n * m / (n + m)))
        assert _one_distribution(x, y) == pytest.approx(expected, rel=1e-9)


def naive_speeds(values: FloatArray) -> tuple[float, float]:
    """The widest gap parts two groups of two or more; they count where they lie six deviations apart and 5 %."""
    n = values.size
    if n < 5 or values.min() <= 0:
        return math.nan, math.nan
    logs = sorted(np.log(values).tolist())
    cut = max(range(2, n - 1), key=lambda k: logs[k] - logs[k - 1])
    low, high = np.array(logs[:cut]), np.array(logs[cut:])
    within = ((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum()
    apart = high.mean() - low.mean()
    if apart <= math.log(1.05) or apart**2 * (n - 2) <= 36 * within:
        return math.nan, math.nan
    return float(high.mean()), float(low.mean())


@pytest.mark.parametrize("higher", [False, True])
def test_two_speeds_in_loops(higher: bool) -> None:
    rng = np.random.default_rng(3)
    direction = Direction.HIGHER if higher else Direction.LOWER
    pairs, expected = [], []
    for k in range(40):
        sizes = rng.integers(3, 14, 2).tolist()
        gap = float(rng.choice([0.03, 0.06, 0.2, 0.5]))
        sides = [
            np.exp(gap * (rng.random(n) < 0.5) + rng.choice([0.005, 0.05]) * rng.standard_normal(n))
            for n in sizes
        ]
        if k == 7:
            sides[0][0] = 0.0
        pairs.append(Pair(Key(str(k)), *(Sample(v, unit="op/s", direction=direction) for v in sides)))
        x, y = naive_speeds(sides[0]), naive_speeds(sides[1])
        within = ((x[0] - y[0]) + (x[1] - y[1])) / 2
        expected.append((x[0] - x[1], y[0] - y[1], -within if higher else within))
    found = two_speeds_of(pairs)
    np.testing.assert_allclose(found, np.array(expected), rtol=1e-9)
    assert (~np.isnan(found[:, 0])).sum() > 5


@pytest.mark.parametrize(
    ("both", "alone", "of", "sides"),
    [
        (3, 0, 5, "both"),
        (2, 0, 3, None),
        (3, 0, 6, None),
        (0, 10, 19, "reference"),
        (0, 9, 12, None),
        (0, 10, 20, None),
    ],
)
def test_speeds_that_most_benchmarks_share(both: int, alone: int, of: int, sides: str | None) -> None:
    """Three of both versions, ten of one alone, and more than half of all."""
    rows = [(0.2, 0.2, 0.05)] * both + [(0.2, math.nan, math.nan)] * alone
    found = common_speeds(np.array(rows), of)
    if sides is None:
        assert found is None
        return
    assert found is not None
    assert (found.sides, found.benchmarks, found.of) == (sides, both or alone, of)
    assert found.factor == pytest.approx(math.exp(0.2))
    assert found.speedup == pytest.approx(math.exp(0.05) if both else math.nan, nan_ok=True)
    assert (
        common_speeds(np.array(rows)[:, [1, 0, 2]], of)
        == (found if both else type(found)(found.factor, found.benchmarks, of, math.nan, "candidate"))
        or both == 0
    )


def test_speeds_within_a_tenth_are_one() -> None:
    rows = np.array([(0.2, 0.2, 0.0)] * 3 + [(0.2, 0.2195, 0.0), (0.2, 0.2205, 0.0), (0.1795, 0.2, 0.0)])
    found = common_speeds(rows, 6)
    assert found is not None
    assert found.benchmarks == 4


def test_a_mean_of_logarithms_against_scipy() -> None:
    """These benchmarks: Satterthwaite; benchmarks like these: a t test of their logarithms, freed of the bias."""
    rng = np.random.default_rng(4)
    pairs = [
        Pair(Key(f"b{k}"), Sample(rng.normal(10 + k, 1, 8)), Sample(rng.normal(10, 1, 5))) for k in range(6)
    ]
    observed, values = [], []
    parts: list[tuple[float, int]] = []
    for pair in pairs:
        x, y = pair.reference.values, pair.candidate.values
        of = [v.var(ddof=1) / v.size / v.mean() ** 2 for v in (x, y)]
        log = compare_means(pair.reference, pair.candidate).log
        assert log is not None
        observed.append(math.log(x.mean() / y.mean()))
        values.append(observed[-1] - (of[1] - of[0]) / 2)
        assert (log.centre, log.error) == pytest.approx((values[-1], math.sqrt(sum(of))))
        parts += zip(of, (7, 4), strict=True)
    like = log_ratios(pairs).mean(like_these=True)
    for margin in (0.0, 0.1):
        for alternative, less in (("greater", False), ("less", True)):
            expected = stats.ttest_1samp(values, margin, alternative=alternative).pvalue
            assert like.pvalue(margin, less=less) == pytest.approx(expected, rel=1e-9)
    interval = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    told = like.estimate(0.1)
    assert (told.low, told.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    these = log_ratios(pairs).mean(like_these=False)
    total = sum(v for v, _ in parts)
    assert these.error == pytest.approx(math.sqrt(total) / 6)
    assert these.df == pytest.approx(total**2 / sum(v * v / d for v, d in parts))
    assert (these.value, these.centre) == pytest.approx((np.mean(observed), np.mean(values)))
    with_floor = with_sessions(these, 0.03, 5.0)
    assert (with_floor.error, with_floor.df) == pytest.approx((math.hypot(these.error, 0.03), 5.0))
    assert with_sessions(these, 0.03, 500.0).df == these.df
    assert with_sessions(these, 0.0, 5.0) == these
    floor = NoiseFloor("", {}, {Key("").metric: SessionSpread(2e-4, 7.0, 0.0, 2)})
    held = log_ratios(pairs[:1], floor)
    assert (held.sessions, held.degrees) == pytest.approx((math.sqrt(2 * 2e-4), 7.0))
    whole = geometric_means(pairs, 0.1)
    assert whole.like_these == like.estimate(0.1)
    assert (whole.benchmarks, whole.left_out) == (6, ())
    single = LogRatios(1, 0.1, 0.1, single=1)
    assert math.isnan(single.mean(like_these=True).pvalue())
    assert math.isnan(single.mean(like_these=False).pvalue())
    exact = LogRatios(1, 0.1, 0.1).mean(like_these=False)
    assert (exact.pvalue(), exact.pvalue(0.1), exact.pvalue(less=True)) == (0.0, 1.0, 1.0)
    # Where runs do not scatter, what is left is the sessions'; without an error nothing is.
    alone = with_sessions(exact, 0.03, 5.0)
    assert (alone.error, alone.df, alone.pvalue()) == pytest.approx((0.03, 5.0, stats.t.sf(0.1 / 0.03, 5)))
    for alpha in (1e-9, 0.5, 0.999):
        assert (exact.estimate(alpha).low, exact.estimate(alpha).high) == (math.exp(0.1), math.exp(0.1))
        half = stats.t.isf(alpha / 2, like.df) * like.error
        of_t = like.estimate(alpha)
        assert (of_t.low, of_t.high) == pytest.approx(
            (math.exp(like.centre - half), math.exp(like.centre + half))
        )
        assert (of_t.value, of_t.confidence) == (math.exp(like.value), 1 - alpha)
    huge = math.log(1.7e308)
    assert MeanLogRatio(huge, huge - 1e-9, 0.0, 1.0).estimate(0.1).value == math.inf
    assert MeanLogRatio(huge, huge - 1e-9, 0.0, 1.0).estimate(0.1).high == pytest.approx(1.7e308)


def test_highest_confidence_against_every_risk() -> None:
    """Of a figure that says yes, no and yes again: at each of its p-values and between each two of them."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        pvalues = np.round(rng.random(4), 2)

        def says(alpha: FloatArray, pvalues: FloatArray = pvalues) -> BoolArray:
            at = np.atleast_1d(np.asarray(alpha))
            return np.asarray((pvalues[0] <= at) & ((pvalues[1] > at) | (pvalues[2] <= at)), dtype=np.bool_)

        (found,) = highest_confidences(pvalues[None], lambda alpha: says(np.asarray(alpha)))
        points = sorted({0.0, 1.0, *pvalues.tolist()})
        risks = [*points[1:-1], *(0.5 * (a + b) for a, b in itertools.pairwise(points))]
        for alpha in risks:
            if not 0 < alpha < 1:
                continue
            inside = any(
                low < alpha < high or (alpha == low and low_in) or (alpha == high and high_in)
                for low, high, low_in, high_in in found.intervals
            )
            assert inside == bool(says(np.array([alpha]))[0])
        answers = [bool(says(np.array([alpha]))[0]) for alpha in sorted(risks) if 0 < alpha < 1]
        assert found.upward_closed == (answers == sorted(answers))  # by definition, of none at all, too
        if found.intervals:
            assert found.value == pytest.approx(1 - found.intervals[0][0])
            assert found.attained == found.intervals[0][2]
        else:
            assert math.isnan(found.value)
    (none,) = highest_confidences(np.array([[0.3]]), lambda alpha: np.zeros_like(alpha, dtype=np.bool_))
    assert (none.intervals, none.attained, none.upward_closed) == ((), False, True)
