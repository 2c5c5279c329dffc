"""The studentised rank test at every ratio: SciPy, enumeration, the definition of its bounds, few runs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats
from tests.stats.test_permutation import deviate, naive, scored, sums_of

from speedproof.arrays import FloatArray
from speedproof.stats.permutation import null_distribution, one_order, tied_pvalue
from speedproof.stats.superiority import typical_ratio, typical_ratio_test


def tied_share(x: FloatArray, y: FloatArray) -> Fraction:
    counts = np.unique(np.concatenate([x, y]), return_counts=True)[1].tolist()
    return Fraction(sum(c**3 - c for c in counts), sum(counts) ** 3 - sum(counts))


def naive_pvalue(x: FloatArray, y: FloatArray) -> float:
    """The share of all ways to divide the pooled values, or as many without ties, that have a score as large.

    The larger of both; of fewer than four runs nothing counts but separation.
    """
    n, m = len(x), len(y)
    pool = [*x.tolist(), *y.tolist()]
    ways = [
        ([pool[i] for i in way], [pool[i] for i in range(n + m) if i not in way])
        for way in itertools.combinations(range(n + m), n)
    ]
    found = scored([sums_of(*way) for way in ways], n, m, tied_share(x, y))  # the first way is x itself
    if min(n, m) < 4 and not (x.min() > y.max() or x.max() < y.min()):
        return 0.5
    share = float(np.mean((found >= found[0] - 1e-9) | (found == found[0])))
    ranks = [*range(n + m)]
    untied = [(list(way), [i for i in ranks if i not in way]) for way in itertools.combinations(ranks, n)]
    plain = scored([sums_of(*way) for way in untied], n, m, Fraction(0))
    below = plain[plain <= found[0] + 1e-9].max(initial=-np.inf)  # a score between two counts as the lower
    return max(share, float(np.mean(plain >= below - 1e-9)))


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
    """Both p-values where dependence divides the sizes."""
    n, m = len(x), len(y)
    exact = Fraction(factors[0]), Fraction(factors[1])
    t, _, df, most = naive(sums_of(x.tolist(), y.tolist()), n, m, exact, tied_share(x, y))
    score = deviate(t, df, most, min(n / factors[0], m / factors[1]))
    few = min(n, m) / max(factors) < min(max(min(n, m) / 5, 3), 4)
    effective = n / factors[0], m / factors[1]
    unlike = 0.8 * 0.5 ** min(effective) if min(effective) >= 4 else 0.0
    least = 0.5 if few else max(1 / special.binom(sum(effective), effective[0]), unlike)
    return max(stats.norm.sf(score), least), max(stats.norm.cdf(score), least)


@pytest.mark.parametrize("factors", [(1.6, 1.0), (1.0, 2.5), (2.2, 3.0), (4.0, 1.5)])
@pytest.mark.parametrize(("n", "m"), [(9, 14), (14, 9), (25, 30)])
def test_dependent_runs_count_for_fewer(n: int, m: int, factors: tuple[float, float]) -> None:
    """Both sides have factors, and ties lessen the floor."""
    rng = np.random.default_rng([n, m])
    for shift, digits in itertools.product((0.0, 0.3, -0.3, 0.5), (1, 9)):
        x, y = np.round(rng.normal(3.0 + shift, 0.3, n), digits), np.round(rng.normal(3.0, 0.5, m), digits)
        found, expected = typical_ratio_test(x, y, 1.0, inflation=factors), naive_inflated(x, y, factors)
        assert (float(found.pvalue), float(found.pvalue_less)) == pytest.approx(expected, rel=1e-9)
        for gamma in (0.95, 1.05) if digits == 9 else ():
            # No less than the test of X and gamma Y, as of all smaller ratios.
            test = typical_ratio_test(x, y, gamma, inflation=factors)
            above, below = naive_inflated(x, gamma * y, factors)
            of = (min, max) if gamma < 1.0 else (max, min)
            assert float(test.pvalue) >= 0.999 * of[0](above, float(found.pvalue))
            assert float(test.pvalue_less) >= 0.999 * of[1](below, float(found.pvalue_less))


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


@pytest.mark.parametrize(("n", "m"), [(4, 4), (15, 5), (6, 60), (40, 40)])
def test_separation_is_no_surer_than_of_a_version_in_the_middle_of_a_scattered_one(n: int, m: int) -> None:
    """All k runs of the scattered one lie on one side with probability 2^-k: four fifths of it, tied or not."""
    for x, y in ((2.0 + np.arange(n), 1.0 + 0.01 * np.arange(m)), (np.full(n, 2.0), np.full(m, 1.0))):
        sides = [typical_ratio(x, y, 0.05).pvalue, typical_ratio(y, x, 0.05).pvalue_less]
        sides += [typical_ratio_test(x, y, gamma).pvalue for gamma in (0.9, 1.0, 1.1)]
        assert [float(p) for p in sides] == [0.8 * 0.5 ** min(n, m)] * 5


@pytest.mark.parametrize(("n", "m"), [(4, 4), (4, 9), (5, 6), (12, 12)])
def test_what_proves_the_ratio_proves_the_chance(n: int, m: int) -> None:
    """A typical ratio is above 1 where the chance of X > Y is above one half: one null hypothesis, one answer."""
    rng = np.random.default_rng([3, n, m])
    x, y = rng.normal(11.0, 1.0, (500, n)), rng.normal(10.0, 1.0, (500, m))
    for alpha in (0.1, 0.05, 0.02):
        for found in (typical_ratio(x, y, alpha), typical_ratio(y, x, alpha)):
            faster, slower = found.pvalue <= alpha, found.pvalue_less <= alpha
            assert (faster | slower).any() == (alpha >= 0.8 * 0.5 ** min(n, m))
            assert ((found.chance_low > 0.5) == faster).all()
            assert ((found.chance_high < 0.5) == slower).all()


@pytest.mark.parametrize("factors", [(1.0, 1.0), (2.0, 1.5)])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 5), (9, 14)])
def test_bounds_of_the_chance_by_log_odds(n: int, m: int, factors: tuple[float, float]) -> None:
    """With the quantile of the test, on its side of 1/2; never beyond the bound of complete separation."""
    rng = np.random.default_rng([n, m])
    draws = [(rng.integers(0, k, n).tolist(), rng.integers(0, k, m).tolist()) for k in (3, 6, 40) * 2]
    draws += [([9] * n, [0] * m), ([0] * n, [9] * m)]
    x, y = (np.array(side) + 1.0 for side in zip(*draws, strict=True))
    exactly, smaller = (Fraction(factors[0]), Fraction(factors[1])), min(n / factors[0], m / factors[1])
    null = null_distribution(n, m, factors == (1.0, 1.0))
    for alpha in (0.3, 0.05, 0.01):
        found = typical_ratio(x, y, alpha, inflation=factors)
        turned = typical_ratio(y, x, alpha, inflation=factors[::-1])
        np.testing.assert_allclose(found.chance_high, 1 - turned.chance_low, rtol=1e-9)
        for row, (a, b) in enumerate(draws):
            sums = sums_of(a, b)
            _, se, df, _ = naive(sums, n, m, exactly, Fraction(0))
            chance, most = float(sums[0]) / (n * m), alpha ** (1 / smaller)
            low = most if chance == 1 else 0.0
            if se > 0:
                width = null.quantile(alpha, np.array([df]), smaller)[0] * se / (chance * (1 - chance))
                low = min(special.expit(special.logit(chance) - width), most)
            proven = found.pvalue[row] <= alpha and 0.5 ** min(n, m) <= max(alpha, 0.5**4)
            assert found.chance[row] == chance
            assert found.chance_low[row] == pytest.approx(
                max(low, 0.5) if proven else min(low, 0.5), rel=1e-9
            )


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


def test_ties_of_unlike_versions_prove_no_more_than_stated() -> None:
    """Of two values each and P[X > Y] = 1/2, all samples of 5 + 30 runs, by their binomial chances."""
    few, many = (a.ravel() for a in np.meshgrid(np.arange(6), np.arange(31), indexing="ij"))
    x = np.where(np.arange(5) < few[:, None], 135.0, 118.0)
    y = np.where(np.arange(30) < many[:, None], 120.0, 101.0)
    found = typical_ratio_test(x, y, 1.0)
    chances = stats.binom.pmf(few, 5, 7 / 16) * stats.binom.pmf(many, 30, 8 / 9)
    assert chances[found.pvalue <= 0.05].sum() < 0.073
    assert chances[found.pvalue_less <= 0.05].sum() < 0.073
