"""The tests of one and two samples against R, SciPy, published values and brute force, and at their edges."""

import itertools
import math
import statistics
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from speedproof.stats.normality import lilliefors, lilliefors_pvalue, shapiro_wilk
from speedproof.stats.ranks import brunner_munzel, pooled_order, rank_sum
from speedproof.stats.ratio import Moments, student, variance_ratio, welch
from speedproof.stats.smirnov import ks_location
from speedproof.stats.special import t_ppf

SMALL = st.integers(1, 5).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(0, 5).map(float)))


def test_shapiro_wilk_beyond_5000(oracle: Any) -> None:
    """R refuses the sample of 5001; SciPy computes it with a warning about the p-value, and so do we."""
    case = next(c for c in oracle("pairs_edges")["cases"] if c["n"] > 5000)
    with pytest.warns(UserWarning, match="may not be accurate"):
        expected = stats.shapiro(case["x"])
    result = shapiro_wilk(case["x"])
    assert float(result.statistic) == pytest.approx(expected.statistic, abs=1e-8)
    assert float(result.pvalue) == pytest.approx(expected.pvalue, rel=1e-5)


def test_shapiro_wilk_of_three_is_exact() -> None:
    """W of three values has a closed distribution function: 6 / pi (asin sqrt W - asin sqrt 3/4)."""
    result = shapiro_wilk([0.0, 0.0, 1.0])  # the least normal three values
    assert float(result.statistic) == pytest.approx(0.75, abs=1e-15)
    assert float(result.pvalue) == pytest.approx(0.0, abs=1e-7)
    assert float(shapiro_wilk([1.0, 2.0, 3.0]).pvalue) == pytest.approx(1.0, abs=1e-7)


def smirnov_by_arrangements(u: Any, v: Any) -> tuple[float, float]:
    """D and its conditional p-value from every way to deal the pooled values to X and Y."""
    pool, n, m = np.concatenate([u, v]), u.size, v.size
    points = np.unique(pool)

    def distance(chosen: Any) -> int:
        inside = np.isin(np.arange(n + m), chosen)
        of_x = (pool[inside][:, None] <= points).sum(axis=0)
        return int(np.abs(m * of_x - n * (pool[~inside][:, None] <= points).sum(axis=0)).max())

    observed = distance(np.arange(n))
    every = [distance(c) >= observed for c in itertools.combinations(range(n + m), n)]
    return observed / (n * m), float(np.mean(every))


@given(x=SMALL, y=SMALL)
def test_kolmogorov_smirnov_against_brute_force(x: Any, y: Any) -> None:
    """Whole numbers tie heavily; the exact p-value given the ties is a share of the arrangements."""
    result = ks_location(x, y, rule="r422")
    statistic, pvalue = smirnov_by_arrangements(x - np.median(x), y - np.median(y))
    assert float(result.statistic) == pytest.approx(statistic, abs=1e-15)
    assert float(result.pvalue) == pytest.approx(pvalue, abs=1e-13)
    assert bool(result.exact)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("x_from", "y_from", "step"),
    [
        ("0", "1000", "0.1"),  # the rounding of large tenths exceeds that of small ones
        ("0", "1020.37", "1"),  # one side has whole numbers, the other not
        ("1000000000000", "1000000000000", "0.0009765625"),  # doubles: what differs is no noise
    ],
)
def test_kolmogorov_smirnov_against_rational_numbers(
    x_from: str, y_from: str, step: str, swapped: bool
) -> None:
    """The largest distance of two distributions of decimal numbers, centred without rounding."""
    rng = np.random.default_rng(8)
    for n, m in ((9, 11), (10, 12), (7, 8), (20, 30)):
        sides = [
            [Fraction(start) + int(k) * Fraction(step) for k in rng.integers(0, 12, size)]
            for start, size in ((x_from, n), (y_from, m))
        ][:: -1 if swapped else 1]
        u, v = ([value - statistics.median(side) for value in side] for side in sides)
        pool = set(u) | set(v)
        shares = [[Fraction(sum(w <= at for w in side), len(side)) for at in pool] for side in (u, v)]
        x, y = (np.array([float(value) for value in side]) for side in sides)
        result = ks_location(x, y)
        assert float(result.statistic) == pytest.approx(
            float(max(abs(a - b) for a, b in zip(*shares, strict=True))), abs=1e-15
        )
        assert bool(result.ties) == (len(pool) < n + m)


@pytest.mark.parametrize("means", [(1.0, 0.25), (0.25, 1.0), (-1.0, 0.0), (0.0, -1.0)])
@pytest.mark.parametrize("test", [student, welch])
def test_the_least_error_that_is_resolved(means: tuple[float, float], test: Any) -> None:
    """R's t.test: no test where the standard error is below 10 eps times the larger mean, of either sign."""
    least = 10.0 * 2.0**-52
    for error, defined in (
        (least, True), (least * (1 - 1e-15), False), (least * 1.1, True), (least * 0.9, False),
    ):  # fmt: skip
        found = test(*(Moments(2, np.array(mean), np.array(error**2)) for mean in means))
        assert math.sqrt(error**2) == error
        assert bool(np.isnan(found.statistic)) != defined
        assert bool(np.isnan(found.df)) != defined
        assert not defined or float(found.statistic) == pytest.approx((means[0] - means[1]) / error)
    for sides in (([0.0, 0.0], [0.0, 0.0]), ([5.0, 5.0], [0.0, 0.0, 0.0])):
        assert np.isnan([student(*sides).pvalue, welch(*sides).pvalue]).all()


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (3, 1), (2, 2), (2, 5), (4, 3), (6, 6)])
def test_brunner_munzel_against_scipy(n: int, m: int) -> None:
    """With ties; of samples that are apart p is that of one order of signs, and of one run there is none."""
    rng = np.random.default_rng([n, m])
    x, y = (rng.integers(0, rng.choice([1, 2, 3, 5, 20], (60, 1)), (60, size)) for size in (n, m))
    x[:2], y[:2] = [[9], [1]], [[1], [9]]
    found, tied = brunner_munzel(x, y), pooled_order(x, y).tied_share
    for row, (a, b) in enumerate(zip(x, y, strict=True)):
        won = 0.5 + 0.5 * np.sign(np.subtract.outer(a, b))
        chance, se = won.mean(), math.nan
        if min(n, m) > 1:
            se = math.sqrt(won.mean(axis=1).var(ddof=1) / n + won.mean(axis=0).var(ddof=1) / m)
        assert tied[row] == pytest.approx((won == 0.5).mean())
        assert found.estimate[row] == pytest.approx(chance, rel=1e-15)
        assert found.se[row] == pytest.approx(se, rel=1e-12, abs=1e-9, nan_ok=True)
        if chance in (0.0, 1.0):
            expected = [0.5 ** min(n, m), 1.0][:: 1 if chance else -1]
        elif se > 0:
            expected = [stats.brunnermunzel(b, a, alternative=side).pvalue for side in ("less", "greater")]
        else:
            expected = [1.0 if se == 0 else math.nan] * 2
        assert [found.pvalue[row], found.pvalue_less[row]] == pytest.approx(expected, rel=1e-9, nan_ok=True)


Oracle = Callable[[str], Any]
FILES = ("pairs", "pairs_edges")


def cases(oracle: Oracle, name: str) -> Iterator[tuple[dict[str, Any], Any, Any, float]]:
    """Record, X, Y and the absolute tolerance of its README: 1e-8, 1e-6 for a spread below 1e-6."""
    for case in oracle(name)["cases"]:
        x, y = np.array(case["x"], dtype=float), np.array(case["y"], dtype=float)
        relative = min(np.ptp(v) / abs(np.median(v)) for v in (x, y))
        yield case, x, y, 1e-8 if relative >= 1e-6 else 1e-6


def agree(got: Any, expected: float | None, tolerance: float, where: str) -> None:
    expected = np.nan if expected is None else expected
    if np.isfinite(expected):
        tolerance *= max(1.0, abs(expected))
    np.testing.assert_allclose(float(got), expected, rtol=0, atol=tolerance, err_msg=where)


def standard_error(x: Any, y: Any, field: str) -> float:
    """Of the difference of the means, by the textbook's formula."""
    n, m = x.size, y.size
    if field == "t_welch":
        return float(np.sqrt(x.var(ddof=1) / n + y.var(ddof=1) / m))
    pooled = ((n - 1) * x.var(ddof=1) + (m - 1) * y.var(ddof=1)) / (n + m - 2)
    return float(np.sqrt(pooled * (1 / n + 1 / m)))


@pytest.mark.parametrize("name", FILES)
def test_shapiro_wilk_against_r(oracle: Oracle, name: str) -> None:
    for case, x, y, tolerance in cases(oracle, name):
        for side, sample in (("shapiro_x", x), ("shapiro_y", y)):
            record = case[side].get("centred", case[side])
            if sample.size > 5000:
                assert record["W"] is None  # R refuses; test_shapiro_wilk_beyond_5000 has this one
                continue
            result = shapiro_wilk(sample)
            agree(result.statistic, record["W"], tolerance, f"{case['id']} {side}")
            agree(result.pvalue, record["p"], tolerance, f"{case['id']} {side}")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("field", "test", "letter"), [
    ("t_student", student, "t"), ("t_welch", welch, "t"), ("var_test", variance_ratio, "F"),
])  # fmt: skip
def test_t_and_f_against_r(
    oracle: Oracle, name: str, field: str, test: Callable[..., Any], letter: str
) -> None:
    for case, x, y, tolerance in cases(oracle, name):
        result, record = test(x, y), case[field]
        agree(result.statistic, record[letter], tolerance, case["id"])
        agree(result.pvalue, record["p"], tolerance, case["id"])
        if letter == "t":
            agree(result.df, record["df"], tolerance, case["id"])
        if "lower" in record:  # R's one-sided bound of the difference of means
            difference, error = x.mean() - y.mean(), standard_error(x, y, field)
            for confidence, lower in record["lower"].items():
                bound = difference - float(t_ppf(float(confidence), result.df)) * error
                agree(bound, lower, tolerance, case["id"])


@pytest.mark.parametrize("name", FILES)
def test_rank_sum_against_r(oracle: Oracle, name: str) -> None:
    for case, x, y, _ in cases(oracle, name):
        result, record = rank_sum(x, y), case["wilcoxon"]
        assert float(result.statistic) == record["W"], case["id"]
        agree(result.pvalue, record["p"], 1e-10, case["id"])
        agree(result.statistic / (x.size * y.size), record["x_greater_than_y"], 1e-14, case["id"])
        assert bool(result.exact) == (record["method"] == "exact"), case["id"]
        assert bool(result.ties) == record["ties"], case["id"]
        # the other direction is the same test of the exchanged samples
        agree(result.pvalue_less, float(rank_sum(y, x).pvalue), 1e-13, case["id"])


@pytest.mark.parametrize("name", FILES)
def test_kolmogorov_smirnov_against_r(oracle: Oracle, name: str) -> None:
    merged = 0
    for case, x, y, _ in cases(oracle, name):
        legacy, new, record = ks_location(x, y), ks_location(x, y, rule="r422"), case["ks"]
        assert bool(legacy.merged) == record["near_ties"], case["id"]
        merged += record["near_ties"]
        values = record["snapped"] if record["near_ties"] else record
        agree(legacy.statistic, values["D"], 1e-10, case["id"])
        assert bool(legacy.ties) == values["ties"], case["id"]
        assert bool(legacy.exact) == (values["legacy_method"] == "exact"), case["id"]
        assert bool(new.exact) == (record["nm"] < 10000), case["id"]
        # R sums the limiting series to 5e-5 only; the full sum is recorded next to it
        agree(legacy.pvalue, values["p_legacy"], 1e-10 if legacy.exact else 5e-5, case["id"])
        agree(new.pvalue, values["p_r422"], 1e-10 if new.exact else 5e-5, case["id"])
        if not record["near_ties"] and not legacy.exact:
            agree(legacy.pvalue, record["p_asymptotic_full"], 1e-10, case["id"])
    assert merged > 0 or name != "pairs"


@pytest.mark.parametrize(
    ("n", "critical"),
    [  # Dallal and Wilkinson (1986), table 1: simulated, three digits
        (5, {0.10: 0.319, 0.05: 0.343}),
        (10, {0.10: 0.241, 0.05: 0.262, 0.01: 0.304}),
        (20, {0.10: 0.176, 0.05: 0.192, 0.01: 0.223}),
        (30, {0.05: 0.159, 0.01: 0.185}),
    ],
)
def test_against_the_published_table(n: int, critical: dict[float, float]) -> None:
    for alpha, distance in critical.items():
        near = np.array([distance - 4e-3, distance + 4e-3])
        assert lilliefors_pvalue(near, n)[0] > alpha > lilliefors_pvalue(near, n)[1]


def test_distance_against_every_step() -> None:
    """The supremum over both sides of each jump, by definition, with the normal distribution from SciPy."""
    rng = np.random.default_rng(1)
    for n in (4, 7, 30, 200):
        x = np.round(rng.exponential(size=n), 1)
        fitted = stats.norm(x.mean(), x.std(ddof=1))
        steps = np.concatenate([x, np.nextafter(x, -np.inf)])
        expected = np.abs((x[None, :] <= steps[:, None]).mean(axis=1) - fitted.cdf(steps)).max()
        assert float(lilliefors(x).statistic) == pytest.approx(expected, abs=1e-12)


STEPHENS = [
    (0.302, (1.0,)),
    (0.5, (2.76773, -19.828315, 80.709644, -138.55152, 81.218052)),
    (0.9, (-4.901232, 40.662806, -97.490286, 94.029866, -32.355711)),
]


@pytest.mark.parametrize("n", [4, 5, 6, 20, 100, 101, 400, 1000])
def test_pvalues_against_the_published_formulas(n: int) -> None:
    """Where one exceeds 0.1 the polynomials, written out for D sqrt n and its corrections, to their limits."""
    by_root = math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n)
    distances = [float(d) for d in np.linspace(0.01, 0.9, 300) / by_root]
    for at in (0.302 / by_root, 0.5 / by_root):  # the very distances at the limits, and their neighbours
        distances += [math.nextafter(at, 1), at, math.nextafter(at, 0)]
    for d, found in zip(distances, lilliefors_pvalue(np.array(distances), n).tolist(), strict=True):
        expected = published(d, n)
        if expected > 0.1:
            tail = next(tail for limit, tail in STEPHENS if by_root * d <= limit)
            expected = math.fsum(c * (by_root * d) ** k for k, c in enumerate(tail))
        assert found == pytest.approx(expected, rel=1e-9)


def published(d: float, n: int) -> float:
    """Dallal and Wilkinson's formula, as R's nortest extends it beyond 100 values."""
    own, size = (d, n) if n <= 100 else (d * (n / 100) ** 0.49, 100)
    exponent = -7.01256 * own**2 * (size + 2.78019) + 2.99587 * own * math.sqrt(size + 2.78019) - 0.122119
    return math.exp(exponent + 0.974598 / math.sqrt(size) + 1.67997 / size)


@pytest.mark.parametrize("test", [shapiro_wilk, lilliefors])
def test_normality_is_undefined_for_few_values_of_any_shape(test: Any) -> None:
    for n in range(1, 4):
        for leading in ((), (2,), (2, 3)):
            found = test(np.arange(float(math.prod(leading) * n)).reshape(*leading, n))
            defined = test is shapiro_wilk and n == 3
            for part in (found.statistic, found.pvalue):
                assert np.shape(part) == leading
                assert np.isnan(part).all() != defined
