"""The studentised rank test at every ratio: SciPy, enumeration, the definition of its bounds, few runs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special, stats
from tests.stats.test_permutation import naive, scored, sums_of

from speedproof.arrays import FloatArray
from speedproof.stats.permutation import Studentised, null_distribution, one_order, tied_pvalue
from speedproof.stats.superiority import chance_bounds, typical_ratio, typical_ratio_test

FLOOR = 0.85


def naive_pvalue(x: FloatArray, y: FloatArray) -> float:
    """The share of all ways to divide the pooled values that have a score at least as large.

    Of fewer than four runs nothing counts but separation.
    """
    n, m = len(x), len(y)
    pool = [*x.tolist(), *y.tolist()]
    ways = [
        ([pool[i] for i in way], [pool[i] for i in range(n + m) if i not in way])
        for way in itertools.combinations(range(n + m), n)
    ]
    counts = [pool.count(value) for value in {*pool}]
    tied = Fraction(sum(c**3 - c for c in counts), (n + m) ** 3 - (n + m))
    found = scored([sums_of(*way) for way in ways], n, m, tied)  # the first way is x itself
    if min(n, m) < 4 and not (x.min() > y.max() or x.max() < y.min()):
        return 0.5
    return float(np.mean((found >= found[0] - 1e-9) | (found == found[0])))


def values(rng: np.random.Generator, n: int, digits: int | None) -> FloatArray:
    v = rng.lognormal(0.0, 0.3, n)
    return v if digits is None else np.round(v, digits)


@pytest.mark.slow
@pytest.mark.parametrize("digits", [None, 1, 0])
@pytest.mark.parametrize(("n", "m"), [(2, 4), (3, 3), (4, 4), (4, 3), (5, 5)])
def test_pvalues_at_one_against_enumeration(n: int, m: int, digits: int | None) -> None:
    rng = np.random.default_rng([n, m, digits or 7])
    for _ in range(4):
        x, y = values(rng, n, digits) * 1.1, values(rng, m, digits) * 1.1
        found = typical_ratio(x, y, 0.05)
        assert found.pvalue == pytest.approx(naive_pvalue(x, y), rel=1e-12)
        assert found.pvalue_less == pytest.approx(naive_pvalue(y, x), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(12, 15), (20, 20), (40, 30), (200, 150)])
def test_against_scipy_in_the_middle_of_the_distribution(n: int, m: int) -> None:
    """From about ten runs on, the permutation p-value near 0.05 is that of Student's distribution."""
    rng = np.random.default_rng(n)
    compared = 0
    for _ in range(60):
        shift = 4.0 / math.sqrt(n + m)
        x, y = rng.normal(10.0 + shift, 1.0, n), rng.normal(10.0, 1.0, m)
        expected = stats.brunnermunzel(y, x, alternative="less").pvalue
        if 0.04 < expected < 0.5:
            compared += 1
            assert typical_ratio(x, y, 0.05).pvalue == pytest.approx(expected, rel=0.06)
    assert compared > 3


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(8, 30), (11, 11), (15, 40), (30, 30)])
def test_approximation_against_random_permutations(n: int, m: int) -> None:
    """Tails to p = 0.003; the share among 100,000 permutations has a standard error of 6 % there."""
    rng = np.random.default_rng(1)
    labels = rng.permuted(np.tile(np.arange(n + m) < n, (100_000, 1)), axis=1)
    x_upto = np.cumsum(labels, axis=1)
    y_upto = np.arange(1, n + m + 1) - x_upto
    below_x, below_y = np.where(labels, y_upto, 0) / m, np.where(labels, 0, x_upto) / n
    chance = below_x.sum(axis=1) / n
    of_x = (below_x**2).sum(axis=1) - n * chance**2
    of_y = (below_y**2).sum(axis=1) - m * (1 - chance) ** 2
    shares = of_x / (n * (n - 1)), of_y / (m * (m - 1))
    variance = shares[0] + shares[1]
    df = variance**2 / (shares[0] ** 2 / max(0.57 * (n - 1), 1) + shares[1] ** 2 / max(0.57 * (m - 1), 1))
    most = np.abs(chance - 0.5) / math.sqrt(FLOOR * (n + m + 1) / (12 * n * m))
    null = null_distribution(n, m, True)
    assert not null.exact
    found = Studentised((chance - 0.5) / np.sqrt(variance), np.sqrt(variance), df, most)
    pvalues = null.pvalue(null.score(found))
    for level in (0.2, 0.1, 0.05, 0.025, 0.01, 0.003):
        share = np.mean(pvalues <= level)
        error = 4 * math.sqrt(level / 100_000)
        assert 0.85 * level - error < share < 1.06 * level + error


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (100, 2), (10, 7), (25, 30), (400, 500)])
@pytest.mark.parametrize("digits", [None, 1])
def test_pvalue_at_gamma_is_what_the_bounds_invert(sizes: tuple[int, int], digits: int | None) -> None:
    rng = np.random.default_rng(sizes)
    x, y = values(rng, sizes[0], digits) + 1.1, values(rng, sizes[1], digits) + 1.0
    for alpha in (0.2, 0.05, 0.01):
        found = typical_ratio(x, y, alpha)
        ends = float(found.low) * 0.999999, float(found.high) * 1.000001
        for gamma in (0.5, 0.97, 1.0, 1.03, 1.2, 3.0, *(end for end in ends if 0 < end < math.inf)):
            test = typical_ratio_test(x, y, gamma)
            assert (test.pvalue <= alpha) == (found.low > gamma)
            assert (test.pvalue_less <= alpha) == (found.high < gamma)


def test_up_to_how_many_orders_of_two_runs_are_enumerated() -> None:
    """C(100, 2) + 1 in all, and of C(101, 2) + 1 none."""
    for count, many in ((99, False), (100, True)):
        sizes = (2,) + (1,) * count
        assert [math.isnan(tied_pvalue(sizes, n, 1.0)) for n in (2, count)] == [many, many]


def naive_inflated(x: FloatArray, y: FloatArray, factors: tuple[float, float]) -> tuple[float, float]:
    """Both p-values where dependence divides the sizes: the module's formulas with SciPy's distributions."""
    sizes, found = (len(x) / factors[0], len(y) / factors[1]), []
    pooled = np.unique(np.concatenate([x, y]), return_counts=True)[1]
    total = len(x) + len(y)
    tied = 1 - (pooled**3 - pooled).sum() / (total**3 - total)
    equal = (len(y) * factors[0] + len(x) * factors[1] + 1) / (12 * len(x) * len(y)) * tied
    smaller, alike = min(sizes), min(len(x), len(y)) / max(factors)
    least = (
        0.5 if alike < min(max(min(len(x), len(y)) / 5, 3), 4) else 1 / special.binom(sum(sizes), sizes[0])
    )
    for a, b, (p, q) in ((x, y, sizes), (y, x, sizes[::-1])):
        won = 0.5 + 0.5 * np.sign(np.subtract.outer(a, b))
        shares = won.mean(axis=1).var(ddof=1) / p, won.mean(axis=0).var(ddof=1) / q
        df = sum(shares) ** 2 / (
            shares[0] ** 2 / max(0.57 * (p - 1), 1) + shares[1] ** 2 / max(0.57 * (q - 1), 1)
        )
        effect = won.mean() - 0.5
        z = stats.norm.isf(stats.t.sf(abs(effect) / math.sqrt(sum(shares)), df))
        z /= math.sqrt(max(1 + 2 * 0.13 / smaller * (z**2 - 5.0), 0.1))
        z = min(z, abs(effect) / math.sqrt(FLOOR * equal))
        found.append(max(stats.norm.sf(math.copysign(z, effect)), least))
    return found[0], found[1]


@pytest.mark.parametrize("factors", [(1.6, 1.0), (1.0, 2.5), (2.2, 3.0), (4.0, 1.5)])
@pytest.mark.parametrize(("n", "m"), [(9, 14), (14, 9), (25, 30)])
def test_dependent_runs_count_for_fewer(n: int, m: int, factors: tuple[float, float]) -> None:
    """Hill's deviate, below three degrees to 4 % of p; both sides have factors, and ties lessen the floor."""
    rng = np.random.default_rng([n, m])
    for shift, digits in itertools.product((0.0, 0.3, -0.3, 0.5), (1, 9)):
        x, y = np.round(rng.normal(3.0 + shift, 0.3, n), digits), np.round(rng.normal(3.0, 0.5, m), digits)
        found, expected = typical_ratio_test(x, y, 1.0, inflation=factors), naive_inflated(x, y, factors)
        assert (float(found.pvalue), float(found.pvalue_less)) == pytest.approx(expected, rel=0.04)
        if digits == 1:
            continue
        for gamma in (0.95, 1.05):  # no less than the test of X and gamma Y, as of all smaller ratios
            test = typical_ratio_test(x, y, gamma, inflation=factors)
            above, below = naive_inflated(x, gamma * y, factors)
            of = (min, max) if gamma < 1.0 else (max, min)
            assert float(test.pvalue) >= 0.96 * of[0](above, float(found.pvalue))
            assert float(test.pvalue_less) >= 0.96 * of[1](below, float(found.pvalue_less))


def test_two_values_are_counted_up_to_a_size() -> None:
    """Only how many of the larger value are in X matters: Fisher's exact test, come near beyond it."""
    rng = np.random.default_rng(2)
    for n, exact in ((300, True), (400, False)):
        x, y = 1.0 + (rng.random(n) < 0.5), 1.0 + (rng.random(n) < 0.42)
        large = int((x > 1).sum())
        expected = stats.hypergeom(2 * n, large + int((y > 1).sum()), n)
        found = typical_ratio(x, y, 0.05)
        again = typical_ratio_test(x, y, 1.0)
        for upper, lower in ((found.pvalue, found.pvalue_less), (again.pvalue, again.pvalue_less)):
            assert (upper == pytest.approx(expected.sf(large - 1), rel=1e-9)) == exact
            assert (lower == pytest.approx(expected.cdf(large), rel=1e-9)) == exact
            assert upper == pytest.approx(expected.sf(large - 1), rel=0.5)
        assert typical_ratio_test(x, y, 1.5).pvalue <= 1.0


@pytest.mark.parametrize(("n", "m"), [(4, 4), (4, 9), (5, 6), (12, 12)])
def test_what_proves_the_ratio_proves_the_chance(n: int, m: int) -> None:
    """A typical ratio is above 1 where the chance of X > Y is above one half: one null hypothesis, one answer."""
    rng = np.random.default_rng([3, n, m])
    x, y = rng.normal(11.0, 1.0, (500, n)), rng.normal(10.0, 1.0, (500, m))
    for alpha in (0.1, 0.05, 0.02):
        for found in (typical_ratio(x, y, alpha), typical_ratio(y, x, alpha)):
            faster, slower = found.pvalue <= alpha, found.pvalue_less <= alpha
            assert (faster | slower).any()
            assert ((found.chance_low > 0.5) == faster).all()
            assert ((found.chance_high < 0.5) == slower).all()


@pytest.mark.slow
@pytest.mark.parametrize("factors", [(1.0, 1.0), (2.0, 1.5), (1.0, 3.0)])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 5), (4, 8), (9, 14), (11, 12)])
def test_the_chance_takes_the_quantile_of_the_test(n: int, m: int, factors: tuple[float, float]) -> None:
    rng = np.random.default_rng([n, m])
    draws = [(rng.integers(0, k, n).tolist(), rng.integers(0, k, m).tolist()) for k in (3, 6, 40) * 3]
    draws += [([9] * n, [0] * m), ([0] * n, [9] * m)]
    x, y = np.array([one for one, _ in draws]) + 1.0, np.array([one for _, one in draws]) + 1.0
    exactly = (Fraction(factors[0]), Fraction(factors[1]))
    smaller = min(n / factors[0], m / factors[1])
    null = null_distribution(n, m, factors == (1.0, 1.0))
    for alpha in (0.3, 0.5 ** min(n, m), 0.05, 0.01):
        found = typical_ratio(x, y, alpha, inflation=factors)
        for row, (a, b) in enumerate(draws):
            sums = sums_of(a, b)
            _, se, df, _ = naive(sums, n, m, exactly, Fraction(0))
            chance, enough = float(sums[0]) / (n * m), min(n, m) >= 4 or 0.5 ** min(n, m) <= alpha
            verdicts = [
                np.array([bool(p[row] <= alpha) and enough]) for p in (found.pvalue, found.pvalue_less)
            ]
            quantile = null.quantile(alpha, np.array([df]), smaller)
            expected = chance_bounds(
                np.array([chance]), np.array([se]), quantile, alpha ** (1 / smaller), verdicts[0], verdicts[1]
            )
            assert found.chance[row] == chance
            assert found.chance_low[row] == pytest.approx(expected.low[0], rel=1e-9)
            assert found.chance_high[row] == pytest.approx(expected.high[0], rel=1e-9)


TYPICAL = 0.9707242190682612
"""A normal value of deviation 3 and this mean exceeds an exponential one as often as not (quadrature)."""


@pytest.mark.parametrize("m", [4, 5, 9, 12, 30, 100])
def test_scattered_runs_beside_a_narrow_side_hold_the_risk(m: int) -> None:
    """Each of n runs lies far above or below all of the other side, with 1/2 each: by the binomial distribution.

    From four runs on the risk of 5 % is at most 8 there: seven of nine on one side are no proof.
    """
    y = 100.0 + 1e-3 * np.arange(m)
    for n in range(4, 31):
        above = np.arange(n)[None, :] < np.arange(n + 1)[:, None]  # k of them, for every k
        x = np.where(above, 150.0, 80.0) + 1e-2 * np.arange(n)
        rejected = typical_ratio_test(x, np.broadcast_to(y, (n + 1, m)), 1.0).pvalue <= 0.05
        risk = sum(math.comb(n, int(k)) for k in np.flatnonzero(rejected)) / 2**n
        assert rejected[-1]  # n of n are separated
        assert risk <= 0.08


@pytest.mark.parametrize("m", [20, 30, 100])
def test_four_runs_that_scatter_more_than_many_others(m: int) -> None:
    """Normal runs beside exponential ones, of which one exceeds the other as often as not: in 8 % at most."""
    excess = integrate.quad(lambda u: np.exp(-u) * special.ndtr((TYPICAL - u) / 3.0), 0.0, 60.0)[0]
    assert excess == pytest.approx(0.5, abs=1e-9)
    rng, wrong, pairs = np.random.default_rng(m), 0, 20_000
    for _ in range(4):
        x = 100.0 + TYPICAL + rng.normal(0.0, 3.0, (pairs // 4, 4))
        y = 100.0 + rng.exponential(1.0, (pairs // 4, m))
        wrong += int(np.sum(typical_ratio_test(x, y, 1.0).pvalue <= 0.05))
    assert wrong <= stats.binom.isf(1e-3, pairs, 0.08)


@pytest.mark.parametrize(("n", "m"), [(2, 6), (3, 3), (3, 4), (3, 40), (90, 3)])
def test_below_four_runs_only_separation_is_proof(n: int, m: int) -> None:
    """Whatever the confidence: one pair lost, and nothing is proven; none lost, and all is, with its bound."""
    x, y = 2.0 + 0.01 * np.arange(n), 1.0 + 0.01 * np.arange(m)
    for sides, swapped in (((x, y), False), ((y, x), True)):
        for alpha in (0.05, 0.2):
            found = typical_ratio(*sides, alpha)
            pvalue, other = found.pvalue, found.pvalue_less
            bound = float(found.low)
            if swapped:
                pvalue, other, bound = other, pvalue, 1 / float(found.high)
            assert (float(pvalue), float(other)) == (one_order(n, m), 1.0)
            assert bound == pytest.approx(x.min() / y.max())
    touched = np.where(np.arange(n) == 0, 1.0 + 0.01 * (m - 1.5), x)
    for alpha in (0.05, 0.2, 0.4):
        found = typical_ratio(touched, y, alpha)
        assert (float(found.pvalue), float(found.pvalue_less)) == (0.5, 0.5)
        assert found.low < 1.0
    for gamma, expected in ((1.0, 0.5), (0.5, one_order(n, m)), (3.0, 1.0)):
        assert typical_ratio_test(touched, y, gamma).pvalue == expected
