"""Comparisons of samples: directions, bounds, nesting, what is needed, and every degenerate input."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.protocols.asking import compare_means, compare_medians, compare_samples, compare_single_runs

from speedproof.data.notes import Assumption
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.protocols.median import median_tests, medians
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.results import Comparison, State, Verdict
from speedproof.reporting import words

Oracle = Callable[[str], Any]


def sample(values: object, **more: object) -> Sample:
    return Sample(np.asarray(values, dtype=float), **more)  # type: ignore[arg-type]


def normal(mean: float, n: int, seed: int, deviation: float = 1.0) -> Sample:
    return sample(np.random.default_rng(seed).normal(mean, deviation, n))


times = st.lists(
    st.one_of(st.integers(1, 12).map(float), st.floats(0.5, 50, allow_nan=False)), min_size=1, max_size=45
)


@pytest.mark.slow
@given(x=times, y=times, alpha=st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=150, deadline=None)
def test_bounds_say_what_the_verdict_says(x: list[float], y: list[float], alpha: float) -> None:
    """The certified speedup exceeds 1 exactly when the verdict is faster, and is below 1 when it is slower."""
    rules = Rules(alpha)
    for result in compare_samples(sample(x), sample(y), rules, protocols=("mean", "median")):
        low, high = result.speedup.low, result.speedup.high
        assert (low > 1) == (result.verdict is Verdict.FASTER)
        assert (high < 1) == (result.verdict is Verdict.SLOWER)
        if not math.isnan(low):
            assert low <= high
        assert (result.state is State.SIGNIFICANT) == (result.verdict in (Verdict.FASTER, Verdict.SLOWER))


@pytest.mark.slow
@given(x=times, y=times, alpha=st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=150, deadline=None)
def test_single_run_p_value_is_that_of_its_verdict(x: list[float], y: list[float], alpha: float) -> None:
    """p <= alpha exactly when the bound passes one half, which is when the verdict is given."""
    result = compare_single_runs(sample(x), sample(y), Rules(alpha))
    if math.isnan(result.pvalue):
        assert result.verdict is Verdict.UNDECIDED
        return
    assert (result.pvalue <= alpha) == (result.verdict is Verdict.FASTER)
    assert (result.pvalue_slower <= alpha) == (result.verdict is Verdict.SLOWER)


@pytest.mark.slow
def test_false_alarms_on_nested_values() -> None:
    """A/A with a between/within ratio of 2: process means keep the stated risk, pooling is far above it."""
    rng = np.random.default_rng(8)
    trials, alarms, pooled_alarms = 300, 0, 0
    processes = np.repeat(np.arange(10), 6)
    for _ in range(trials):
        x, y = (
            sample(np.repeat(rng.normal(100, 2, 10), 6) + rng.normal(0, 1, 60), processes=processes)
            for _ in "xy"
        )
        alarms += compare_means(x, y).verdict in (Verdict.FASTER, Verdict.SLOWER)
        pooled_alarms += compare_means(x, y, Rules(nested="pool")).verdict in (Verdict.FASTER, Verdict.SLOWER)
    # 0.10 for both sides together; three binomial standard deviations above it.
    assert alarms / trials <= 0.10 + 3 * math.sqrt(0.1 * 0.9 / trials)
    assert pooled_alarms / trials > 0.3


def test_runs_needed_decide() -> None:
    """The numbers of runs named by an undecided comparison find the observed difference with power 0.8."""
    rng = np.random.default_rng(11)
    x, y = rng.normal(100, 3, 31), rng.normal(99, 3, 31)
    x, y = x - x.mean() + 100, y - y.mean() + 99
    needed = compare_means(sample(x), sample(y)).needed
    assert needed is not None
    assert needed.reference is not None
    n = needed.reference
    found = sum(
        compare_means(
            sample(rng.normal(100, x.std(ddof=1), n)), sample(rng.normal(99, y.std(ddof=1), n))
        ).verdict
        is Verdict.FASTER
        for _ in range(200)
    )
    assert 0.8 - 4 * math.sqrt(0.16 / 200) <= found / 200 <= 0.8 + 4 * math.sqrt(0.16 / 200)


def check_names(result: Comparison) -> set[str]:
    return {check.name for check in result.failed_checks}


@pytest.mark.parametrize("n", [1, 2, 31, 60])
def test_constant_samples(n: int) -> None:
    """Constants have no spread to test a mean with; ranks may decide when there are enough of them."""
    x, y = sample([5.0] * n), sample([4.0] * n)
    mean = compare_means(x, y)
    assert mean.verdict is Verdict.UNDECIDED
    assert {"normality of X", "normality of Y"} <= check_names(mean)
    assert math.isnan(mean.speedup.low)
    assert mean.speedup.value == 1.25
    median = compare_medians(x, y)
    assert (median.verdict is Verdict.FASTER) == (n > 2)
    assert mean.needed is not None
    assert mean.needed.reference != n + 1  # no number of equal values decides
    single = compare_single_runs(x, y)
    assert single.speedup.value == 1.0
    # All min(n, m) independent pairs won: the bound is alpha ** (1 / n), a theorem for complete separation.
    assert single.speedup.low == pytest.approx(0.05 ** (1 / n), abs=1e-9)


def test_equal_constants_are_not_called_equal() -> None:
    """The same constant on both sides is no proof of anything without a test."""
    for result in compare_samples(sample([3.0] * 40), sample([3.0] * 40)):
        assert result.verdict is Verdict.UNDECIDED


def test_zeros_are_named() -> None:
    """Counts may be zero, and a time may be below the clock: never a crash, always a check that did not hold."""
    some, none = [0.0] * 20 + [2.0] * 20, [0.0] * 40
    for unit in ("allocs", "s"):
        for x, y in ((some, none), (none, some), (none, none)):
            for result in compare_samples(sample(x, unit=unit), sample(y, unit=unit)):
                assert any(name.startswith("positive values") for name in check_names(result))
    mean = compare_means(sample(some, unit="s"), sample(none, unit="s"))
    assert math.isnan(mean.speedup.value)
    assert any("clock" in check.message for check in mean.failed_checks)


ORDERED = frozenset({Trait.ORDER_KNOWN})


@pytest.mark.slow
def test_order_checks_rarely_fail_by_chance() -> None:
    """Four checks at a level of 0.01: at most 4 % of independent comparisons are marked."""
    rng, trials, marked = np.random.default_rng(18), 500, 0
    for _ in range(trials):
        x, y = (sample(rng.normal(100, 3, 40), traits=ORDERED) for _ in "xy")
        marked += bool(compare_means(x, y).undermining)
    assert marked / trials <= 0.04 + 3 * math.sqrt(0.04 * 0.96 / trials)


def test_no_equivalence_of_medians_when_the_model_fails() -> None:
    """Bounds that are not those of the medians prove no equivalence, whatever the margin."""
    rng = np.random.default_rng(27)
    x = np.concatenate([rng.normal(9.9, 0.01, 60), rng.normal(10.1, 0.01, 60)])
    y = rng.normal(10, 0.01, 120)
    result = compare_medians(sample(x), sample(y), Rules(margin=0.2))
    assert "location shift" in check_names(result)
    assert result.verdict is not Verdict.EQUIVALENT


def test_tainted_values_are_reported() -> None:
    """Trimmed or sorted values are a check that did not hold."""
    trimmed = sample(np.linspace(1, 2, 40), traits=frozenset({Trait.TRIMMED}))
    assert "untouched values of X" in check_names(compare_means(trimmed, normal(1, 40, 14, 0.1)))


def draw(family: str, rng: np.random.Generator) -> Sample:
    if family == "normal":
        return sample(rng.normal(100, 3, 31))
    if family == "lognormal":
        return sample(rng.lognormal(4, 0.1, 31))
    return sample(rng.normal(100, 1, 31) + 8 * (rng.random(31) < 0.3))


@pytest.mark.slow
@pytest.mark.parametrize(("family", "seed"), [("normal", 15), ("lognormal", 16), ("bimodal", 17)])
def test_false_alarms_of_both_protocols(family: str, seed: int) -> None:
    """Under H0 each protocol says "faster" at most as often as its risk, within binomial bounds."""
    rng = np.random.default_rng(seed)
    trials, alarms = 400, {"typical": 0, "mean": 0, "median": 0, "single run": 0}
    for _ in range(trials):
        for result in compare_samples(draw(family, rng), draw(family, rng)):
            alarms[result.protocol] += result.verdict is Verdict.FASTER
    limit = 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / trials)
    assert {name: count / trials <= limit for name, count in alarms.items()} == dict.fromkeys(alarms, True)


def test_medians_that_differ_by_more_than_a_shift_have_no_bounds_to_show() -> None:
    """Two shapes: the rank-sum test says who tends to be larger, and its inversion bounds no ratio of medians."""
    rng = np.random.default_rng(3)
    narrow, wide = Sample(2 + 0.01 * rng.random(60)), Sample(1.2 + rng.exponential(0.5, 60))
    shifted = Sample(narrow.values - 0.5)
    apart = compare_medians(narrow, wide, rules=Rules())
    assert [check.held for check in apart.checks if check.kind.value == "location shift"] == [False]
    assert math.isnan(apart.certified.low)
    assert math.isnan(apart.certified.high)
    assert apart.certified.value == apart.speedup.value
    alike = compare_medians(narrow, shifted, rules=Rules())
    assert alike.certified == alike.speedup


def test_values_that_rounding_made_equal_are_marked() -> None:
    """True scores of 3.4 and 2.6 that are both read as 3; and ones that are read in hundredths."""
    rng = np.random.default_rng(4)
    x, y = 3.4 + 0.02 * rng.random(40), 2.6 + 0.02 * rng.random(40)

    def doubted(a: np.ndarray, b: np.ndarray) -> bool:
        result = compare_medians(Sample(a, unit=""), Sample(b, unit=""), rules=Rules(margin=0.02))
        return "resolution" in {check.kind.value for check in result.undermining}

    assert doubted(np.round(x), np.round(y))
    assert not doubted(np.round(x, 2), np.round(y, 2))
    assert not doubted(x, y)
    # A counter that never changes is exact to its last place, which is small beside it.
    assert not doubted(np.full(40, 1380.0), np.full(40, 1204.0))
    assert not doubted(np.zeros(40), np.zeros(40))


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_no_bound_excludes_its_own_estimate(seed: int) -> None:
    """Skewed against symmetric, wide against narrow: estimates lie within their bounds, where the verdict says."""
    rng = np.random.default_rng(seed)
    x = rng.exponential(1.0, int(rng.integers(31, 60))) + 0.2
    y = rng.normal(1.0, 0.05, int(rng.integers(31, 60)))
    for result in compare_samples(
        sample(x), sample(y), protocols=("typical", "mean", "median", "single run")
    ):
        estimate = result.speedup
        if math.isnan(estimate.low):
            continue
        assert estimate.low <= estimate.value <= estimate.high
        centre = 0.5 if result.quantity == "probability" else 1.0
        assert (estimate.value > centre) or result.verdict is not Verdict.FASTER
        assert (estimate.value < centre) or result.verdict is not Verdict.SLOWER


def test_the_estimate_of_medians_is_that_of_the_article(oracle: Oracle) -> None:
    """R's ratio of the medians at every confidence, also where the test proves the opposite of it."""
    for case in oracle("pairs")["cases"]:
        if (expected := case["observed"]["speedup_median"]) is None or not min(case["x"] + case["y"]) > 0:
            continue
        for alpha in (0.01, 0.05, 0.2):
            found = compare_medians(sample(case["x"]), sample(case["y"]), Rules(alpha=alpha))
            assert found.speedup.value == pytest.approx(expected, rel=1e-12), case["id"]
    # The median of X is the larger one, yet a run of X takes less time in three of four cases.
    x = np.r_[np.full(31, 1.0), np.full(32, 2.0)] + np.arange(63) / 1e4
    y = np.r_[np.full(32, 1.9), np.full(31, 3.0)] + np.arange(63) / 1.1e4
    found = compare_medians(sample(x), sample(y))
    assert found.speedup.value == pytest.approx(np.median(x) / np.median(y))
    assert (found.verdict, words.change(found)) == (Verdict.SLOWER, "slower")


@pytest.mark.parametrize("unit", ["s", "B/s"])
@pytest.mark.parametrize("small", ["X", "Y", "both"])
def test_states_name_the_users_samples(unit: str, small: str) -> None:
    """Figure 1 asks for runs of the sample at fault, whichever side is the slow one; of both, it names X first."""
    rng = np.random.default_rng(8)
    skewed, normal_ = rng.exponential(1, 12) ** 2 + 1, rng.normal(10, 1, 12)
    x = skewed if small != "Y" else normal_
    y = skewed[::-1] * 1.1 if small != "X" else normal_
    found = compare_means(sample(x, unit=unit), sample(y, unit=unit))
    assert found.state is (State.MORE_RUNS_Y if small == "Y" else State.MORE_RUNS_X)
    assert found.needed is not None
    wanted = {"X": (31, None), "Y": (None, 31), "both": (31, 31)}[small]
    assert (found.needed.reference, found.needed.candidate) == wanted


def test_p_equal_to_alpha_rejects() -> None:
    """At a risk of exactly the p-value every protocol says so, at the next smaller double none does."""
    rng = np.random.default_rng(12)
    x, y = sample(rng.normal(10.4, 0.5, 12)), sample(rng.normal(10, 0.5, 12))
    for compare in (compare_means, compare_medians, compare_single_runs):
        pvalue = compare(x, y).pvalue
        assert 1e-6 < pvalue < 0.3
        assert compare(x, y, Rules(pvalue)).verdict is Verdict.FASTER
        assert compare(x, y, Rules(float(np.nextafter(pvalue, 0)))).verdict is Verdict.UNDECIDED
        assert compare(y, x, Rules(pvalue)).verdict is Verdict.SLOWER


def test_what_is_equivalent_is_so_though_it_is_faster_as_well() -> None:
    """1 % is proven by Student's test, and by two one-sided ones that it is less than 5 %: the margin decides."""
    rng = np.random.default_rng(12)
    x, y = rng.normal(101, 0.3, 40), rng.normal(100, 0.3, 40)
    assert stats.ttest_ind(x, y, alternative="greater").pvalue < 1e-6
    assert stats.ttest_ind(x, 1.05 * y, alternative="less").pvalue < 1e-6
    for result in compare_samples(
        sample(x), sample(y), Rules(margin=0.05), protocols=("typical", "mean", "median")
    ):
        assert result.verdict is Verdict.EQUIVALENT, result.protocol
        assert result.speedup.low > 1


def test_the_end_of_a_margin_is_one_over_one_plus_it() -> None:
    """100 ms against 110 ms is exactly 1 / 1.1, so within 10 % neither way; 100 against 109 is."""
    rng = np.random.default_rng(3)
    noise = np.exp(1e-4 * rng.standard_normal(40))
    for slow, verdict in ((110.5, Verdict.SLOWER), (109.0, Verdict.EQUIVALENT)):
        for result in compare_samples(
            sample(100 * noise), sample(slow * noise[::-1]), Rules(margin=0.1), protocols=("mean", "median")
        ):
            assert result.verdict is verdict, (slow, result.protocol)


def test_p_equal_to_alpha_is_equivalent() -> None:
    x, y = normal(100.0, 40, 1), normal(100.5, 40, 2)
    for result in compare_samples(x, y, Rules(margin=0.01), protocols=("mean", "median")):
        assert result.at_margin is not None
        p = result.at_margin.equivalent
        assert 1e-6 < p < 0.5
        for alpha, same in ((p, True), (np.nextafter(p, 0.0), False)):
            rules = Rules(alpha=float(alpha), margin=0.01)
            (again,) = compare_samples(x, y, rules, protocols=(result.protocol,))
            assert (again.verdict is Verdict.EQUIVALENT) == same, result.protocol


@pytest.mark.parametrize("unit", ["s", "B/s"])
def test_each_side_has_its_own_test_of_normality(unit: str) -> None:
    """Against SciPy, whichever side is the slow one; variances are tested where both are normal."""
    rng = np.random.default_rng(12)
    x, y, z = rng.normal(10.0, 1.0, 40), rng.normal(12.0, 2.0, 50), 9.0 + rng.exponential(1.0, 45)
    for one, other in ((x, y), (y, x), (x, z), (z, x)):
        found = compare_means(sample(one, unit=unit), sample(other, unit=unit))
        checks = found.checks
        own = {check.versions[0]: check for check in checks if check.kind is Assumption.NORMALITY}
        for name, values in (("X", one), ("Y", other)):
            expected = stats.shapiro(values)
            assert own[name].statistic == pytest.approx(expected.statistic, abs=1e-7)
            assert own[name].pvalue == pytest.approx(expected.pvalue, rel=1e-3)
            assert own[name].held == (values is not z)
        variances = [check for check in checks if check.kind is Assumption.EQUAL_VARIANCES]
        assert len(variances) == (z is not one and z is not other)
        for check in variances:
            assert check.held == (check.pvalue > 0.05)
            ratio, sizes = one.var(ddof=1) / other.var(ddof=1), (one.size - 1, other.size - 1)
            tails = stats.f.sf(ratio, *sizes), stats.f.cdf(ratio, *sizes)
            assert check.pvalue == pytest.approx(2 * min(tails), rel=1e-6)
        pooled = bool(variances) and variances[0].held
        sides = (one, other) if unit == "s" else (other, one)
        expected = stats.ttest_ind(*sides, equal_var=pooled, alternative="greater")
        assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)


def checks_of(c: Comparison, kind: Assumption) -> list[Any]:
    return [("".join(check.versions), check.held, check.message) for check in c.checks if check.kind is kind]


def test_what_figure_two_says_of_each_pair() -> None:
    """Beside each other: a shift, a factor, neither with few runs and with many, values of 0, values that tie."""
    rng = np.random.default_rng(8)
    for n in (30, 31):
        x = rng.exponential(1.0, n)
        made = {
            "shift": (x + 5.0, x + 4.0),
            "factor": (8.0 * x + 0.1, x + 0.0125),
            "zero": (np.where(x == x.min(), 0.0, x), x + 0.5),
            "zero, the other": (x + 0.5, np.where(x == x.min(), 0.0, x)),
            "neither": (10 + 0.01 * x, 10 + 5 * rng.random(n) ** 4),
            "half": (np.repeat(np.arange(n // 2) + 1.0, 2), np.repeat(np.arange(n // 2) + 50.0, 2)),
            "fewer": (np.repeat(np.arange(n // 2) + 1.0, 2), np.repeat(np.arange(n // 2) + 1.5, 2)),
            "two values": (np.arange(n) % 2 + 1.0, np.arange(n) % 2 + 1.0),
        }
        made = {name: (a[: n - n % 2 * (a.size < n)], b) for name, (a, b) in made.items()}
        own = [Pair(Key(name), Sample(a, "u"), Sample(b, "u")) for name, (a, b) in made.items()]
        for alpha in (0.05, 0.3):
            rules = Rules(alpha, margin=0.5)
            for pair, found in zip(own, medians(PreparedPairs(own, rules)), strict=True):
                a, b = pair.reference.values, pair.candidate.values
                shift = float(median_tests(a, b).location.pvalue)
                ((_, held, message),) = checks_of(found, Assumption.SHIFT)
                assert held == (shift > alpha)
                few = min(a.size, b.size) <= 30
                assert ("by a shift only" in message) == held
                assert ("at most 30 runs: measure more" in message) == (not held and few)
                assert ("which tends to be larger" in message) == (not held and not few)
                assert math.isnan(found.pvalue) == (not held and few)
                assert found.at_margin is not None
                assert math.isnan(found.at_margin.equivalent) == (not held)
                assert math.isnan(found.at_margin.not_worse) == (not held and few)
                factors = checks_of(found, Assumption.FACTOR)
                assert len(factors) == (min(a.min(), b.min()) > 0)
                for _, common_factor, message in factors:
                    if pair.key.benchmark in ("factor", "neither"):
                        assert common_factor == (pair.key.benchmark == "factor")
                    assert ("by a factor only" in message) == common_factor
                    assert ("by more than a factor" in message) == (not common_factor)
                pooled = [*a.tolist(), *b.tolist()]
                distinct = len(set(pooled))
                ties = checks_of(found, Assumption.TIES)
                assert len(ties) == (distinct < len(pooled))
                for _, many, message in ties:
                    assert many == (distinct > len(pooled) / 2)
                    assert message.startswith(f"{distinct} distinct values among {len(pooled)}")
                    assert ("finer than the" in message) == (not many)
                for check in found.checks:
                    if check.kind is Assumption.TIES:
                        assert check.statistic == len(pooled) - distinct


@pytest.mark.parametrize("higher", [False, True])
def test_what_figure_one_says_of_variances(higher: bool) -> None:
    """Where both sides are normal, and by the side that the user calls X; the test is that of the words."""
    at = np.asarray(stats.norm.ppf((np.arange(40) + 0.5) / 40), dtype=np.float64)
    normal, wide, skewed = (
        np.asarray(v, dtype=np.float64) for v in (10 + 0.1 * at, 10 + 0.5 * at, 10 + np.exp(at))
    )
    direction = Direction.HIGHER if higher else Direction.LOWER
    for x, y in product((normal, wide, skewed), repeat=2):
        for welch in (False, True):
            rules = Rules(always_welch=welch)
            found = compare_means(Sample(x, "u", direction), Sample(y, "u", direction), rules)
            told = checks_of(found, Assumption.NORMALITY)
            assert [(side, held) for side, held, _ in told] == [
                ("X", x is not skewed),
                ("Y", y is not skewed),
            ]
            variances = checks_of(found, Assumption.EQUAL_VARIANCES)
            both = x is not skewed and y is not skewed
            pooled = both and x is y and not welch
            assert found.test == ("Student's t test" if pooled else "Welch's t test")
            assert [(held, message) for _, held, message in variances] == [
                (True, "equal variances are not rejected: pooled t test")
                if pooled
                else (False, "unequal variances: Welch's t test")
            ] * both
            assert found.speedup.confidence == 0.95


def test_a_single_run_at_the_risk_that_its_number_reaches() -> None:
    """n runs that are all won bound the chance by alpha^(1 / n), which has to exceed one half."""
    for alpha in (0.3, 0.25, 0.2, 0.125, 0.05, 0.01):
        least = next(n for n in range(1, 99) if alpha ** (1 / n) > 0.5 + 1e-12)
        for n, m in ((least - 1, 9), (9, least - 1), (least, 9), (9, least), (least, least)):
            x = Sample(np.linspace(51.0, 50.0 + n, n))
            y = Sample(np.linspace(51.0, 50.0 + m, m) + 0.5 * (n - m) + 0.001)
            found = compare_single_runs(x, y, Rules(alpha))
            assert found.speedup.confidence == 1 - alpha
            assert found.verdict is Verdict.UNDECIDED
            assert found.needed is not None
            assert found.needed.least == (min(n, m) < least)
            if found.needed.least:
                expected = tuple(least if size < least else None for size in (n, m))
                assert (found.needed.reference, found.needed.candidate) == expected
