"""Quantiles, once and in sequence: the binomial distribution, naive twins, brute force, simulation."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from speedproof.arrays import FloatArray
from speedproof.stats.quantile_ratio import (
    Quantiles,
    least_of_each,
    least_pvalue,
    least_runs,
    runs_needed_quantiles,
    shift_function,
)
from speedproof.stats.sequential import QuantileSequence


def naive_estimate(values: np.ndarray, q: float) -> float:
    """The logarithm of what lies above the quantile as often as below, by SciPy's binomial."""
    deviates = stats.norm.isf(stats.binom.sf(np.arange(values.size), values.size, q))
    return float(np.interp(0.0, deviates, np.log(np.sort(values))))


def naive_pvalue(x: np.ndarray, y: np.ndarray, q: float) -> float:
    """By its definition: the least evidence over all places, held against all pairs of counts."""
    counts = [(x.size, 1 - q), (y.size, q)]
    of_x, of_y = (-stats.binom.logsf(np.arange(n + 1) - 1, n, p) for n, p in counts)
    of_x[-1] = of_y[-1] = np.inf
    values = np.sort(np.concatenate([x, y, [0.0, np.inf]]))
    places = [*values, *(0.5 * (values[1:] + values[:-1]))]
    least = min(of_x[(x > t).sum()] + of_y[(y < t).sum()] for t in places)
    chances = np.outer(*(stats.binom.pmf(np.arange(n + 1), n, p) for n, p in counts))
    return float(chances[np.add.outer(of_x, of_y) >= least - 1e-6].sum())


def is_bound(low: float, x: np.ndarray, y: np.ndarray, q: float, alpha: float) -> bool:
    """The p-value passes alpha there."""
    below, above = (naive_pvalue(x, low * edge * y, q) for edge in (1 - 1e-9, 1 + 1e-9))
    return below <= alpha < above


@pytest.mark.parametrize(
    ("n", "m", "q"), [(40, 60, 0.9), (100, 80, 0.95), (320, 300, 0.99), (30, 30, 0.5), (90, 300, 0.3)]
)
def test_bounds_of_a_naive_twin(n: int, m: int, q: float) -> None:
    rng = np.random.default_rng([n, m])
    x, y = rng.lognormal(0.1, 0.3, (2, n)).round(2), rng.lognormal(0.0, 0.2, (2, m))
    pair = Quantiles.of(x, y, q)
    at_one = pair.test()
    for alpha, i in ((0.05, 0), (0.2, 1)):
        bounds = pair.bounds(alpha)
        low, high, ratio = bounds.low[i], bounds.high[i], pair.log_ratio[i]
        assert ratio == pytest.approx(naive_estimate(x[i], q) - naive_estimate(y[i], q), abs=1e-9)
        assert is_bound(low, x[i], y[i], q, alpha)
        assert is_bound(1 / high, y[i], x[i], q, alpha)
        assert at_one.pvalue[i] == pytest.approx(naive_pvalue(x[i], y[i], q), rel=1e-6)
        assert at_one.pvalue_less[i] == pytest.approx(naive_pvalue(y[i], x[i], q), rel=1e-6)
        z, end = stats.norm.isf(alpha), math.log(low if ratio > 0 else high)
        times = ((ratio - end) / z * (z + stats.norm.ppf(0.8)) / ratio) ** 2
        needed = runs_needed_quantiles(x[i][None], y[i][None], alpha, q=q)
        assert (needed[0][0], needed[1][0]) == tuple(
            max(math.ceil(times * k), least_runs(q, alpha)) for k in (n, m)
        )


@pytest.mark.parametrize(("n", "m", "q"), [(40, 40, 0.9), (30, 90, 0.9), (60, 60, 0.95), (30, 30, 0.5)])
def test_gaps_do_not_raise_the_risk(n: int, m: int, q: float) -> None:
    """By the binomial chances of all pairs of counts: of a reference with P90 in front of its slow mode.

    The candidate is 0.8 % slower there: its P90 begins its own slow mode, or it has none.
    """
    i, j = (grid.ravel()[:, None] for grid in np.mgrid[: n + 1, : m + 1])
    chances = (stats.binom.pmf(i, n, 1 - q) * stats.binom.pmf(j, m, 1 - q))[:, 0]
    x = np.where(np.arange(n) < i, 12.0, 10.0)
    for y in (np.where(np.arange(m) < j, 10.08, 8.4), np.full((i.size, m), 10.08)):
        for pair in (Quantiles.of(x, y, q), Quantiles.of(1 / y, 1 / x, 1 - q)):
            for alpha in (0.05, 0.2):
                assert chances[pair.test().pvalue <= alpha].sum() <= alpha


def test_shift_function_of_a_naive_twin() -> None:
    """Nine deciles share the risk of each side; few values bound the middle alone."""
    rng = np.random.default_rng(9)
    x, y = rng.lognormal(0.1, 0.3, 60), rng.lognormal(0.0, 0.2, 70)
    for k, (ratio, low, high) in enumerate(shift_function(x, y, 0.05), 1):
        assert is_bound(low, x, y, k / 10, 0.05 / 9)
        assert is_bound(1 / high, y, x, k / 10, 0.05 / 9)
        assert low <= ratio <= high
    few = shift_function(x[:20], y[:20], 0.05)
    assert (few[[0, 8], 1] == 0).all()
    assert np.isinf(few[[0, 8], 2]).all()
    assert 0 < few[4, 1] < few[4, 2] < math.inf


@pytest.mark.parametrize("q", [0.5, 0.9, 0.95])
def test_verdict_and_bound_agree(q: float) -> None:
    """A p-value is at most alpha exactly where the bound of risk alpha clears gamma."""
    rng = np.random.default_rng(5)
    pair = Quantiles.of(rng.lognormal(0.0, 0.3, (60, 90)), rng.lognormal(0.0, 0.3, (60, 100)), q)
    for alpha, gamma in itertools.product((0.01, 0.05, 0.3), (0.8, 1.0, 1.1)):
        bounds, test = pair.bounds(alpha), pair.test(gamma)
        assert ((test.pvalue <= alpha) == (bounds.low > gamma)).all()
        assert ((test.pvalue_less <= alpha) == (bounds.high < gamma)).all()
        both = test.pvalue, test.pvalue_less
        assert (np.maximum(*both) >= 0.5).all()
        assert (np.maximum(*both) <= 1.0).all()


def test_the_least_numbers_of_runs() -> None:
    """S. S. Wilks, Annals of Mathematical Statistics 12, 1941: 1 - q^n reaches 95 %."""
    for q, least in ((0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995), (0.1, 29)):
        assert least_runs(q, 0.05) == least
        assert max(q, 1 - q) ** least <= 0.05 < max(q, 1 - q) ** (least - 1)
    assert least_of_each(0.5, 0.05) == 6  # both sides alike: 2 / 2**6 - 1 / 2**12
    x = np.arange(1.0, 30.0)
    for n, proves in ((28, False), (29, True)):
        pair = Quantiles.of(1000.0 + x[None, :n], x[None, :n], 0.9)
        assert (pair.bounds(0.05).low[0] > 1.0) is np.bool_(proves)
        assert pair.test().pvalue[0] == pytest.approx(least_pvalue(0.9, n, n), rel=1e-9)


@pytest.mark.parametrize(
    ("n", "q", "deviation", "found"), [(100, 0.9, 0.3, 0.44), (300, 0.95, 0.3, 0.79), (1000, 0.99, 0.3, 0.76)]
)
def test_risk_and_power(n: int, q: float, deviation: float, found: float) -> None:
    """Of 600 log-normal pairs: false within the binomial reach of 5 %, a true 1.2x found as often as wanted."""
    rng = np.random.default_rng(n)
    x, y = rng.lognormal(0.0, deviation, (600, n)), rng.lognormal(0.0, deviation, (600, n))
    equal, faster = Quantiles.of(x, y, q).test(), Quantiles.of(1.2 * x, y, q).test()
    most = stats.binom.ppf(0.999, 600, 0.05)
    assert (equal.pvalue <= 0.05).sum() <= most
    assert (equal.pvalue_less <= 0.05).sum() <= most
    assert (faster.pvalue <= 0.05).mean() >= found


def test_what_means_no_ratio() -> None:
    """Negative values and two quantiles of 0 have none; of 0 below it is infinite; one run has no limit."""
    rows = np.ones((1, 40))
    for x, y in ((-rows, rows), (0 * rows, 0 * rows)):
        test = Quantiles.of(x, y, 0.9).test()
        assert np.isnan(test.pvalue).all()
        assert np.isnan(test.pvalue_less).all()
    assert Quantiles.of(rows, 0 * rows, 0.9).ratio == np.inf
    one = Quantiles.of(rows[:, :1], 2 * rows[:, :1], 0.9)
    assert one.ratio == 0.5
    assert (one.bounds(0.05).low.tolist(), one.bounds(0.05).high.tolist()) == ([0.0], [np.inf])
    with pytest.raises(ValueError, match="between 0 and 1"):
        Quantiles.of(rows, rows, 1.0)


Draw = Callable[[np.random.Generator, int], FloatArray]


def of(x: FloatArray, y: FloatArray, q: float, alpha: float = 0.05) -> QuantileSequence:
    sequence = QuantileSequence(q, alpha=alpha)
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        sequence.add(a, b)
    return sequence


def evidence(k: int, n: int, p: float) -> float:
    """E(k, n) as its definition has it, term by term: beta weights worth 15 runs at 48 odds above those of p."""
    prior, total, found = stats.beta(15 * p, 15 * (1 - p)), 0.0, 0.0
    for apart in np.geomspace(0.01, 8.0, 48):
        odds = p / (1 - p) * math.exp(apart)
        t = odds / (1 + odds)
        weight = float(prior.pdf(t)) * t * (1 - t) * apart  # of steps that grow with the distance
        total += weight
        found += weight * (t / p) ** k * ((1 - t) / (1 - p)) ** (n - k)
    return found / total


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("q", "gamma"), [(0.5, 1.0), (0.9, 1.0), (0.9, 1.1)])
def test_against_the_least_product(seed: int, q: float, gamma: float) -> None:
    """At every place between the values, counted one by one."""
    rng = np.random.default_rng(seed)
    x, y = rng.lognormal(0.3, 0.3, 15).round(1), rng.lognormal(0.0, 0.3, 15).round(1)
    for side, (slow, fast, g) in {1: (x, y, gamma), -1: (y, x, 1 / gamma)}.items():
        places = np.unique(np.concatenate([slow, fast * g]))
        places = np.concatenate([[0.0], places, 0.5 * (places[1:] + places[:-1]), [99.0]])
        naive = min(
            evidence(int(sum(slow > c)), 15, 1 - q) * evidence(int(sum(fast * g < c * (1 - 1e-12))), 15, q)
            for c in places
        )
        assert of(x, y, q).log_evidence(gamma, side=side) == pytest.approx(math.log(naive), abs=1e-9)


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_bounds_are_the_ratios_that_are_rejected(q: float) -> None:
    """Evidence falls as the ratio grows; the bound is where it falls below a proof."""
    rng = np.random.default_rng(3)
    x, y = rng.lognormal(0.4, 0.2, 400), rng.lognormal(0.0, 0.2, 400)
    sequence = of(x, y, q)
    result = sequence.result()
    assert result.low <= sequence.estimate() <= result.high
    assert (result.low > 1.0) == result.faster
    for bound, side in ((result.low, 1), (result.high, -1)):
        if 0.0 < bound < math.inf:
            assert sequence.rejects(bound * (1 - side * 1e-9), side=side)
            assert not sequence.rejects(bound * (1 + side * 1e-9), side=side)
    ratios = np.exp(np.linspace(-1.0, 1.5, 60))
    assert np.all(np.diff([sequence.log_evidence(g, side=1) for g in ratios]) <= 0.0)


def test_nothing_is_proven_of_equal_or_no_values() -> None:
    """Ties count on neither side."""
    ones = np.ones(100)
    result = of(ones, ones, 0.9).result()
    assert not result.faster
    assert not result.slower
    assert result.low <= 1.0 <= result.high
    assert QuantileSequence(0.9).result().high == math.inf


def _with_slow_runs(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.lognormal(0.0, 0.1, n) * np.where(rng.random(n) < 0.12, 3.0, 1.0)


@pytest.mark.parametrize("draw", [
    lambda rng, n: rng.lognormal(0.0, 0.3, n), lambda rng, n: rng.exponential(1.0, n) + 0.1,
    lambda rng, n: np.maximum(rng.lognormal(1.0, 0.3, n).round(), 1.0), _with_slow_runs,
], ids=["log-normal", "exponential", "ticks", "slow runs"])  # fmt: skip
@pytest.mark.parametrize("shared", [0.0, pytest.param(0.5, marks=pytest.mark.slow)])
def test_the_risk_of_sessions_that_stop_when_they_like(draw: Draw, shared: float) -> None:
    """Looked at after every fourth of 200 blocks, 5 % of equal versions at most are ever said to be faster."""
    rng, draws, n = np.random.default_rng(5), 150, 200
    wrong = 0
    for _ in range(draws):
        load = rng.lognormal(0.0, shared, n)  # of a block, which slows both down
        x, y = draw(rng, n) * load, draw(rng, n) * load
        sequence = QuantileSequence(0.9)
        for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
            sequence.add(a, b)
            if i % 4 == 3 and sequence.rejects(1.0, side=1):
                wrong += 1
                break
    assert wrong <= stats.binom.ppf(0.999, draws, 0.05)
