"""The signed-rank test, fixed blocks and locations: all sign changes counted, SciPy, published values."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from speedproof.arrays import FloatArray
from speedproof.stats.location import hodges_lehmann, median_interval, symmetry
from speedproof.stats.sequential import FixedPairs, PairedSequence, SequentialResult, blocks_needed
from speedproof.stats.signed_rank import signed_rank, squares_of_runs, table_pvalue, tail_bounds


@pytest.mark.parametrize("n", [1, 2, 7, 24, 40, 60])
@pytest.mark.parametrize("rule", ["conditional", "table"])
def test_against_scipy_without_ties_and_zeros(n: int, rule: str) -> None:
    d = np.random.default_rng(n).normal(0.4, 1, n)
    if rule == "table" and n >= 25:
        expected = [
            stats.wilcoxon(d, alternative=a, method="asymptotic", correction=False).pvalue
            for a in ("greater", "less")
        ]
    else:
        expected = [stats.wilcoxon(d, alternative=a, method="exact").pvalue for a in ("greater", "less")]
    test = signed_rank(d, rule="conditional" if rule == "conditional" else "table")
    assert [test.pvalue_positive, test.pvalue_negative] == pytest.approx(expected, rel=1e-12)


# One-sided 5 % critical values of the smaller rank sum, as printed in every table of Wilcoxon's test.
PUBLISHED = {
    5: 0, 6: 2, 7: 3, 8: 5, 9: 8, 10: 10, 11: 13, 12: 17, 13: 21, 14: 25,
    15: 30, 16: 35, 17: 41, 18: 47, 19: 53, 20: 60, 21: 67, 22: 75, 23: 83, 24: 91,
}  # fmt: skip


@pytest.mark.parametrize(("n", "critical"), PUBLISHED.items())
def test_against_published_critical_values(n: int, critical: int) -> None:
    most = n * (n + 1) / 2
    assert table_pvalue(most - critical, n) <= 0.05 < table_pvalue(most - critical - 1, n)


def test_half_integers_are_read_against_significance() -> None:
    """Tables list whole rank sums; a half is rounded away from the claim on either side."""
    test = signed_rank([1, 1, -1, 2], rule="table")
    assert (test.positive, test.negative) == (8.0, 2.0)
    zero = signed_rank([0, 1, 2], rule="table")
    assert (zero.positive, zero.negative) == (5.5, 0.5)
    assert zero.pvalue_positive == table_pvalue(5.0, 3) == 2 / 8
    assert zero.pvalue_negative == table_pvalue(0.0, 3) == 1.0


@pytest.mark.parametrize("d", [[], [0.0], [0.0] * 30])
def test_nothing_differs(d: list[float]) -> None:
    test = signed_rank(d)
    assert (test.pvalue_positive, test.pvalue_negative) == (1.0, 1.0)
    with pytest.raises(ValueError, match="NaN"):
        signed_rank([*d, math.nan])


def test_where_the_methods_change() -> None:
    """The table's at 25 differences; the conditional one's at 1000 that are not zero: of one size, a sign test."""
    d = np.random.default_rng(3).choice([-1.0, 0.0, 1.0], 1600, p=[0.32, 0.35, 0.33])
    assert signed_rank(d[:24], rule="table").method == "exact table"
    assert signed_rank(d[:25], rule="table").method == "normal"
    moving = np.flatnonzero(d != 0.0)
    for count in (999, 1000):
        part = d[: moving[count - 1] + 1]
        found, ups, zeros = signed_rank(part), int((part > 0).sum()), int((part == 0).sum())
        ranks = stats.rankdata(np.abs(part))
        each = ranks.max()
        sd = each * math.sqrt(count) / 2
        kind = "exact" if count == 999 else "normal"
        if kind == "exact":
            expected = [stats.binom.sf(k - 1, count, 0.5) for k in (ups, count - ups)]
        else:
            expected = [stats.norm.sf((each * (k - count / 2) - 0.5) / sd) for k in (ups, count - ups)]
        assert found.method == f"{kind}, conditional on ties and zeros"
        assert [found.pvalue_positive, found.pvalue_negative] == pytest.approx(expected, rel=1e-9)
        assert found.positive == ups * each + zeros * ranks.min() / 2
        assert found.ranks.tolist() == ranks.tolist()
    for rule in ("table", "conditional"):
        plus, minus = signed_rank([3.0, -1, 2, 0, 5], rule=rule), signed_rank([-3.0, 1, -2, 0, -5], rule=rule)
        assert (plus.positive, plus.negative) == (minus.negative, minus.positive) == (12.5, 2.5)
        assert plus.pvalue_positive == minus.pvalue_negative < minus.pvalue_positive == plus.pvalue_negative
    assert signed_rank(d[:40]).method == signed_rank(d[:40], rule="conditional").method


def closed(x: np.ndarray, y: np.ndarray, alpha: float = 0.05, resolution: float = 0.0) -> FixedPairs:
    pairs = FixedPairs(alpha=alpha)
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        pairs.add(a, b, resolution=resolution)
    pairs.close()
    return pairs


@pytest.mark.parametrize("read", [0.0, 0.005])
@pytest.mark.parametrize("n", [4, 5, 7, 10, 25])
def test_against_scipy(n: int, read: float) -> None:
    """The p-values are the exact test's, and the bounds where it begins to reject what was perhaps read."""
    rng = np.random.default_rng(n)
    for gain in (1.0, 1.02, 0.98, 1.2):
        x, y = gain * np.exp(rng.normal(0, 0.02, n)), np.exp(rng.normal(0, 0.02, n))
        found = closed(x, y, resolution=read).result()

        def p(shift: float, side: int, x: np.ndarray = x, y: np.ndarray = y, half: float = read / 2) -> float:
            d = np.log((x - side * half) / (y + side * half)) - shift
            return float(stats.wilcoxon(side * d, alternative="greater", method="exact").pvalue)

        assert found.pvalue_faster == pytest.approx(p(0, 1, half=0))
        assert found.pvalue_slower == pytest.approx(p(0, -1, half=0))
        assert (found.low >= 1, found.high <= 1) == (found.faster, found.slower)
        for bound, side in ((found.low, 1), (found.high, -1)):
            if n == 4:  # 1/16 is the smallest p-value
                assert bound == (0.0 if side == 1 else math.inf)
                continue
            outside, inside = math.log(bound) - side * 1e-9, math.log(bound) + side * 1e-9
            assert p(outside, side) <= 0.05 or (bound == 1 and read)
            assert p(inside, side) > 0.05 or bound == 1


def test_bounds_from_other_ranks_hold_the_chance_of_all_signs() -> None:
    """Zeros stand first; of the same ranks both bounds are the chance itself."""
    rng = np.random.default_rng(5)
    tight = 0
    for _ in range(60):
        ranks, others = (np.sort(rng.integers(0, 9, 8)) for _ in range(2))
        kept = [
            sum(itertools.compress(ranks.tolist(), signs)) for signs in itertools.product((0, 1), repeat=8)
        ]
        for total in range(int(ranks.sum()) + 1):
            chance = sum(k >= total for k in kept) / 2**8
            least, most = tail_bounds(ranks, total, others)
            assert least <= chance <= most
            tight += most - least < 0.2
            assert tail_bounds(ranks, total, ranks) == (chance, chance)
    assert tight > 100


@pytest.mark.parametrize("seed", range(4))
def test_squares_of_runs_against_all_rows(seed: int) -> None:
    """Of groups of neighbours that marks join: all, and those in which some stand apart."""
    marks, apart = np.random.default_rng(seed).random((2, 40, 9)) < [[[0.6]], [[0.3]]]
    for row, (every, some) in enumerate(
        zip(squares_of_runs(marks), squares_of_runs(marks, apart), strict=True)
    ):
        runs = [
            [at for at, _ in group]
            for on, group in itertools.groupby(enumerate(marks[row].tolist()), lambda one: one[1])
            if on
        ]
        assert every == sum((len(run) + 1) ** 2 for run in runs)
        assert some == sum((len(run) + 1) ** 2 for run in runs if apart[row][run].any())


def naive_pvalue(d: list[float], tie: float = 1e-12) -> float:
    """All signs of the differences that are not zero, given their mid-ranks; zeros keep theirs."""
    size = [0.0 if abs(v) <= tie else abs(v) for v in d]
    doubled = [sum(2 * (u < v) + (u == v) for u in size) + 1 for v in size]
    ways = {0: 1}
    for rank in (r for r, v in zip(doubled, size, strict=True) if v):
        ways = {s: ways.get(s, 0) + ways.get(s - rank, 0) for s in {*ways, *(known + rank for known in ways)}}
    seen = sum(r for r, v, own in zip(doubled, d, size, strict=True) if own and v > 0)
    return sum(count for s, count in ways.items() if s >= seen) / sum(ways.values())


def naive_bound(d: list[float], alpha: float, tie: float = 1e-12) -> float:
    """From the average that the table without ties names, downwards to the first at which the test rejects."""
    n = len(d)
    if 0.5**n > alpha:
        return -math.inf
    averages = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(d, 2))
    ways = np.ones(1)
    for rank in range(1, n + 1):
        ways = np.append(ways, np.zeros(rank)) + np.append(np.zeros(rank), ways)
    least = min(s for s in range(ways.size) if ways[s:].sum() / 2**n <= alpha)
    for average in averages[len(averages) - least :: -1] if least <= len(averages) else []:
        if naive_pvalue([v - (average - 2 * tie) for v in d], tie) <= alpha:
            return average - 2 * tie
    return -math.inf


GRID = [
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.25] * 7,
    [0.5, 0.25, 0.25, 0.0, -0.25, 0.75, 1.0],
    [0.5, -0.5, 0.25, 0.25, 1.0, 1.0, 1.25, 0.5, 0.0],
    [0.5, 0.75, 1.0, 0.5, 1.75, 0.25],
    [-0.5, 0.75, 1.0, 0.5, 1.75, 2.25, 3.0, 2.5],
    [0.25, 0.5, 1.0, 2.0, 4.0],
    [2.0**-6, 0.5, 0.25, 1.0, 0.75, -0.5, -(2.0**-6)],
    [0.75], [0.5, 0.25], [], [0.25, 0.5, 1.0, 1.75],
]  # fmt: skip


@pytest.mark.parametrize("alpha", [0.5, 0.2, 0.05, 1 / 32, 0.02])
@pytest.mark.parametrize("d", GRID)
def test_pvalues_and_bounds_of_tied_differences(d: list[float], alpha: float) -> None:
    """p-values over all signs, and bounds by walking down the averages; at equality with the risk, too."""
    for sign in (1, -1):
        pairs = FixedPairs(alpha=alpha)
        for v in (sign * value for value in d):
            pairs.add(math.exp(max(v, 0.0)), math.exp(max(-v, 0.0)))
        pairs.close()
        found, own = pairs.result(), pairs.differences.tolist()
        assert own == pytest.approx([sign * value for value in d], abs=1e-15)
        log = [-math.inf, math.inf]
        for at, side in enumerate((1, -1)):
            p = naive_pvalue([side * v for v in own])
            assert (found.pvalue_faster, found.pvalue_slower)[at] == pytest.approx(p)
            bound = naive_bound([side * v for v in own], alpha)
            log[at] = side * (max(bound, 0.0) if p <= alpha else min(bound, 0.0))
        assert found.low == pytest.approx(math.exp(log[0]), rel=1e-11)
        assert found.high == pytest.approx(math.exp(log[1]), rel=1e-11)
        assert (found.blocks, found.alpha) == (len(d), alpha)


@pytest.mark.parametrize("n", [400, 1000, 1001])
@pytest.mark.parametrize("alpha", [0.05, 0.7])
def test_bounds_of_many_blocks(n: int, alpha: float) -> None:
    """The greatest of all averages at which SciPy's test rejects: at the next one it does not."""
    d = np.random.default_rng(n).normal(0.01, 0.02, n)
    pairs = closed(np.exp(d), np.ones(n), alpha)
    found = pairs.result()
    i, j = np.triu_indices(n)
    d = pairs.differences
    averages = np.sort(0.5 * (d[i] + d[j]))
    for side, bound in ((1, found.low), (-1, found.high)):
        at = int(np.argmin(np.abs(averages - math.log(bound))))
        assert averages[at] == pytest.approx(math.log(bound), abs=1e-11)
        inside = 0.5 * (averages[at] + averages[at + side])
        outside = 0.5 * (averages[at] + averages[at - side])
        method = "exact" if n < 1000 else "approx"
        p = [
            stats.wilcoxon(side * (d - c), alternative="greater", method=method, correction=True).pvalue
            for c in (outside, inside)
        ]
        if (alpha < 0.5) or 1.0 not in (found.low, found.high):
            assert p[0] <= alpha < p[1]


def test_before_all_blocks_are_there() -> None:
    """Nothing is proven, tested or forecast; the blocks are counted."""
    pairs = FixedPairs(alpha=0.1)
    for a, b in ((2.0, 1.0), (1.0, 1.0), (3.0, 1.0)) * 4:
        pairs.add(a, b)
    assert pairs.result() == SequentialResult(12, 4, 0.1, 0.0, math.inf, 1.0, 1.0)
    assert pairs.log_evidence(1.0, side=1) == pairs.log_evidence(0.5, side=-1) == -math.inf
    assert math.isnan(pairs.blocks_to_go(side=1))


@pytest.mark.parametrize("n", [9, 10, 13])
def test_what_a_larger_session_takes(n: int) -> None:
    """From ten blocks on; by the scale of all but the last, infinite where none scatter or against the effect."""
    rng = np.random.default_rng(n)
    d = 0.02 + 0.05 * rng.standard_normal(n)
    pairs = closed(np.exp(d), np.ones(n))
    middle = np.median([(a + b) / 2 for a, b in itertools.combinations_with_replacement(d.tolist(), 2)])
    scale = 1.4826 * stats.median_abs_deviation(d[:-1])
    for gamma, side in itertools.product((0.9, 1.0, 1.01, 1.2), (1, -1)):
        found = pairs.blocks_to_go(gamma=gamma, side=side)
        effect = side * (middle - math.log(gamma))
        if n < 10:
            assert math.isnan(found)
        elif effect <= 0:
            assert found == math.inf
        else:
            whole = ((1.6448536 + 0.8416212) / (effect / scale)) ** 2 + 1.6448536**2 / 2
            assert found == pytest.approx(max(whole * math.pi / 3 - n, math.log2(20) - n, 1.0), rel=1e-6)
    still = closed(np.full(n, 2.0), np.ones(n)).blocks_to_go(side=1)
    assert math.isnan(still) if n < 10 else still == math.inf


@pytest.mark.parametrize(("x", "y", "low"), [(1e308, 1e-308, math.exp(700)), (1e300, 1.0, 1e300)])
def test_ratios_beyond_doubles(x: float, y: float, low: float) -> None:
    """What is proven is then the largest there is, as of any sequence."""
    for kind in (FixedPairs, PairedSequence):
        pairs = kind(alpha=0.05)
        for _ in range(8):
            pairs.add(x, y)
        if isinstance(pairs, FixedPairs):
            pairs.close()
        assert pairs.result().low == pytest.approx(low, rel=1e-9)
        assert pairs.result().high == (math.inf if low == math.exp(700) else pytest.approx(low, rel=1e-9))


def test_blocks_needed_by_the_normal_formula() -> None:
    """Guenther's (1981) correction, for ranks pi / 3 as many; 2^-n has to reach the risk."""
    for effect, alpha, power in itertools.product((0.2, 0.5, 1.0, 9.0), (0.05, 0.001), (0.8, 0.95)):
        z = stats.norm.ppf([1 - alpha, power])
        plain = (z.sum() / effect) ** 2 + z[0] ** 2 / 2
        expected = max(plain * math.pi / 3, math.log2(1 / alpha))
        assert blocks_needed(effect, alpha=alpha, power=power) == pytest.approx(expected, rel=1e-9)
    assert blocks_needed(0.3, alpha=0.05) == blocks_needed(0.3, alpha=0.05, power=0.8)
    assert blocks_needed(0.0, alpha=0.05) == blocks_needed(-1.0, alpha=0.05) == math.inf


def slow_mode(rng: np.random.Generator, n: int) -> FloatArray:
    """Wins four runs of five and is twice as slow in the fifth."""
    candidate = np.where(rng.random(n) < 0.2, 20.0, 9.0)
    noise = np.exp(0.02 * rng.standard_normal((2, n)))
    ratios: FloatArray = np.log(10.0 * noise[0]) - np.log(candidate * noise[1])
    return ratios


def test_statistic_and_all_signs_by_brute_force() -> None:
    """The p-value against the share of all 2^10 sign patterns, within the error of 999 random ones."""
    x = np.sort(slow_mode(np.random.default_rng(5), 10))
    centre = hodges_lehmann(x)

    def statistic(values: FloatArray) -> float:
        median = float(np.median(values))
        return (float(np.mean(values)) - median) / float(np.mean(np.abs(values - median)))

    found = symmetry(x)
    assert found.statistic == pytest.approx(statistic(x))
    all_signs = [np.array(signs) * np.abs(x - centre) for signs in itertools.product((-1, 1), repeat=10)]
    share = np.mean([abs(statistic(values)) >= abs(found.statistic) - 1e-9 for values in all_signs])
    assert found.pvalue == pytest.approx(float(share), abs=4 * np.sqrt(share * (1 - share) / 999) + 2e-3)


def test_edges() -> None:
    assert symmetry([2.0]).pvalue == 1.0
    assert symmetry([2.0] * 30) == symmetry([7.0] * 30)
    assert symmetry([2.0] * 30).pvalue == 1.0
    assert symmetry(np.r_[np.zeros(12_000), np.ones(40)]).pvalue < 0.05


def naive(values: np.typing.NDArray[np.float64]) -> float:
    """The median of all n (n + 1) / 2 Walsh averages."""
    i, j = np.triu_indices(values.size)
    return float(np.median(0.5 * (values[i] + values[j])))


@pytest.mark.parametrize(
    "kind", ["normal", "Cauchy", "few values", "one value", "far modes", "lopsided modes", "whole numbers"]
)
@pytest.mark.parametrize("n", [1, 2, 3, 40, 255, 256, 257, 1000, 1999])
def test_against_brute_force(kind: str, n: int) -> None:
    """More averages than are listed, with ties, outliers, and a gap where the median lies."""
    rng = np.random.default_rng([n, len(kind)])
    values = {
        "normal": rng.standard_normal(n),
        "Cauchy": 1e3 * rng.standard_cauchy(n),
        "few values": 0.1 * rng.integers(0, 3, n),
        "one value": np.full(n, 0.3),
        "far modes": np.arange(n) % 2 + 1e-9 * rng.standard_normal(n),
        "lopsided modes": (np.arange(n) % 7 < 2) + 1e-9 * rng.standard_normal(n),
        "whole numbers": np.round(10 * rng.standard_normal(n)),
    }[kind]
    ordered = np.sort(values)
    assert hodges_lehmann(ordered) == pytest.approx(naive(ordered), rel=1e-12, abs=1e-12)


def test_against_hollander_and_wolfe() -> None:
    """Nonparametric Statistical Methods, depression scale factors: the estimate of the paired differences is
    -0.46; R's wilcox.test prints the same."""
    before = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
    after = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
    assert hodges_lehmann(np.sort(after - before)) == pytest.approx(-0.46, abs=1e-9)


@pytest.mark.parametrize("values", [[-1, 0, 1], [-3, -1, 0, 0, 1, 2], [-7, -3, 0, 0, 0, 1, 5]])
def test_no_difference_is_no_difference_to_the_last_bit(values: list[float]) -> None:
    assert hodges_lehmann(np.array(values, dtype=np.float64)) == 0.0


@pytest.mark.parametrize(
    ("n", "rank"), [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18)]
)
def test_ranks_of_the_published_table(n: int, rank: int) -> None:
    """Ranks at 95 % of the tables for the sign test (Dixon and Mood, 1946)."""
    assert [*median_interval(np.arange(1.0, n + 1))] == [rank, n + 1 - rank]


@pytest.mark.parametrize("n", [5, 7, 33, 100, 999, 1000, 1001, 5000])
def test_ranks_against_the_binomial_distribution(n: int) -> None:
    """The largest rank whose risk is at most alpha; of many values the approximation is one rank off at most."""
    exact = int(stats.binom.ppf(0.025, n, 0.5))
    while 2 * stats.binom.cdf(exact - 1, n, 0.5) > 0.05:
        exact -= 1
    low, _ = median_interval(np.arange(1.0, n + 1))
    assert math.isnan(low) if exact == 0 else abs(low - exact) <= (n > 1000)


@pytest.mark.parametrize(("n", "rank"), [(6, 1), (9, 2), (20, 5)])
def test_a_risk_that_is_met_exactly_is_kept(n: int, rank: int) -> None:
    """The sign test's risk is a fraction of 2^n; at that very risk the rank holds, below it the next one does."""
    risk = 2 * sum(math.comb(n, k) for k in range(rank)) / 2**n
    values = np.arange(1.0, n + 1)
    assert [*median_interval(values, risk)] == [rank, n + 1 - rank]
    assert median_interval(values, risk * (1 - 1e-9))[0] == (
        rank - 1 if rank > 1 else pytest.approx(math.nan, nan_ok=True)
    )
