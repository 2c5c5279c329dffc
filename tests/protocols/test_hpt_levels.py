"""One speedup, exactly: numbers as they print, ranks with ties against SciPy, what counts as a tie."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from speedproof.protocols import hpt_levels
from speedproof.protocols.hpt_levels import (
    HptRule,
    across_benchmarks,
    cost_duel,
    decimal,
    score_duel,
    within_benchmark,
)

RULES: tuple[HptRule, HptRule] = ("paper", "exact")


def exact_median(values: list[Fraction]) -> Fraction:
    return Fraction(statistics.median(values))


@pytest.mark.parametrize("span", [1, 12, 100, 200])
def test_duels_of_small_samples_in_rational_numbers(span: int) -> None:
    """Sizes, medians of scores and of costs, ties, the order of values; doubles where they can tell them apart."""
    rng = np.random.default_rng(span)
    for n, m in [(k % 5 + 1, k // 5 + 1) for k in range(30)]:
        a, b = (10.0 ** rng.uniform(-span, span, size) for size in (n, m))
        if span == 1:
            a, b = np.round(a, 1) + 0.1, np.round(b, 1) + 0.1
        a[: n // 2], b[0] = a[-1], a[-1]
        x, y = ([decimal(v) for v in side.tolist()] for side in (a, b))
        for relative in (False, True):
            duel = score_duel(a, b, level=0.2, relative=relative)
            unit = exact_median(y) if relative else 1
            assert (duel.a, duel.b) == (exact_median(x) / unit, exact_median(y) / unit)
        costs = cost_duel(a, b)
        assert (costs.a, costs.b) == tuple(
            exact_median([exact_median(y) / v for v in side]) for side in (x, y)
        )
        level = None if math.comb(n + m, n) < 10 else 0.05 if min(n, m) >= 5 else 0.10
        assert costs.level == score_duel(a, b).level == level
        assert (duel.level, cost_duel(a, b, level=0.2).level) == (
            (None, None) if level is None else (0.2, 0.2)
        )
        for found, top, bottom in ((duel, x, y), (costs, y, x)):
            scale = None
            for side, values in ((found.upper, top), (found.lower, bottom)):
                distinct = sorted(set(values))
                scale = scale or side.values[0] / distinct[0]
                assert [k / scale for k in side.values.tolist()] == distinct
                assert side.counts.tolist() == [values.count(v) for v in distinct]
                assert side.below.tolist() == [sum(w < v for w in values) for v in distinct] + [len(values)]
                assert (side.n, side.ties) == (len(values), sum(c**3 - c for c in side.counts.tolist()))
                assert side.median == exact_median([v * scale for v in values])
            pooled = sorted({*top, *bottom})
            doubles = np.concatenate([found.upper.rounded, found.lower.rounded])
            if pooled[-1] / pooled[0] < 10**249:
                shares = doubles / doubles.max()
                ratios = [float(v / pooled[-1]) for v in [*sorted(set(top)), *sorted(set(bottom))]]
                assert shares.tolist() == pytest.approx(ratios, rel=1e-15)


@pytest.mark.parametrize("power", [-6, -3, 0, 3, 6])
def test_products_beyond_64_bits(power: int) -> None:
    """Of whole numbers of 15 digits with a speedup's: those that nearly tie are told apart in whole numbers."""
    a = np.array([999999999999999.0, 123456789e6, 1e9, 5e3, 1.0])
    for speedup in (Fraction(10) ** power, Fraction(10) ** power + Fraction(1, 10**9)):
        for shift in (-2e-15, 0.0, 2e-15):
            b = np.concatenate([a / float(speedup) * (1 + shift), a[:2]])
            x, y = ([decimal(v) for v in side.tolist()] for side in (a, b))
            twice = sum(2 * (u > speedup * v) + (u == speedup * v) for u in x for v in y)
            assert hpt_levels.pairs_won(score_duel(a, b), speedup)[0] == twice


@pytest.mark.parametrize("speedup", [Fraction(1), Fraction(2), Fraction(3, 2)])
@pytest.mark.parametrize(("n", "m"), [(30, 6), (7, 33), (40, 35)])
def test_many_runs_against_scipy(n: int, m: int, speedup: Fraction) -> None:
    """The normal distribution with ties within and across sides, corrected for continuity; the paper's without."""
    rng = np.random.default_rng([n, m])
    for gain in (0, 1, 3):
        a, b = rng.integers(4 + gain, 9 + gain, n) * 6.0, rng.integers(4, 8, m) * 6.0
        duel, y = score_duel(a, b), float(speedup) * b
        found = hpt_levels.tested_state(duel, speedup, "exact")
        for p, alternative in zip(found[1:], ("greater", "less"), strict=True):
            expected = stats.mannwhitneyu(a, y, alternative=alternative, method="asymptotic").pvalue
            assert p == pytest.approx(expected, rel=1e-9)
        won = stats.mannwhitneyu(a, y).statistic
        z = (won - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
        plain = hpt_levels.tested_state(duel, speedup, "paper")
        assert plain[1:] == pytest.approx((stats.norm.sf(z), stats.norm.cdf(z)), rel=1e-9)
        for state, p, q in (found, plain):
            assert state == (1 if p <= 0.05 else -1 if q <= 0.05 else 0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("n", "m"), [(3, 4), (5, 5), (11, 8), (4, 11)])
def test_few_runs_against_counts_of_splits(n: int, m: int, rule: HptRule) -> None:
    """Exact: permutations of what was measured; the paper: untied ranks, half a pair against proof."""
    rng = np.random.default_rng([n, m])
    for _ in range(5):
        a, b = rng.integers(2, 9, n) * 1.0, rng.integers(1, 8, m) * 1.0
        _, *found = hpt_levels.tested_state(score_duel(a, b), Fraction(1), rule)
        won = stats.mannwhitneyu(a, b).statistic
        if rule == "exact" and n + m < 16:
            ranks = stats.rankdata([*a, *b])
            sums = np.array([ranks[list(some)].sum() for some in combinations(range(n + m), n)])
            expected = [np.mean(sums >= ranks[:n].sum()), np.mean(sums <= ranks[:n].sum())]
            assert found == pytest.approx(expected, rel=1e-9)
        elif rule == "paper":
            expected = [
                stats.mannwhitneyu(
                    *untied(n, m, math.floor(pairs)), alternative="greater", method="exact"
                ).pvalue
                for pairs in (won, n * m - won)
            ]
            assert found == pytest.approx(expected, rel=1e-9)


def untied(n: int, m: int, won: int) -> tuple[list[float], list[float]]:
    """Samples without ties of which the first wins so many pairs."""
    a = [m + 1.5 + k if k < won // m else -1.0 - k for k in range(n)]
    if won % m:
        a[won // m] = won % m + 0.5
    return a, [k + 1.0 for k in range(m)]


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e-6, 1e6])
def test_what_a_benchmark_says(size: float, literal: bool) -> None:
    """The difference of medians where the test says so; none for a tie, or where they contradict each other."""
    low, high = [1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0], [2.0, 2.0, 2.0, 2.0, 6.0, 6.0, 6.0]
    cases = (
        ([3.0, 4.0, 5.0], [1.0, 1.5, 2.0], 1, 2.5, False),
        ([1.0, 1.5, 2.0], [3.0, 4.0, 5.0], -1, -2.5, False),
        ([1.0, 4.0, 6.0], [1.5, 3.0, 5.0], 0, 0.0, False),
        (high, low, 1, -3.0 if literal else 0.0, True),
        (low, high, -1, 3.0 if literal else 0.0, True),
        ([2.0], [1.5], 1, 0.5, False),
        ([1.5], [2.0], -1, -0.5, False),
        ([2.0], [2.0], 0, 0.0, False),
    )
    for a, b, state, difference, conflict in cases:
        level = 0.35 if conflict else None
        duel = score_duel(np.array(a) * size, np.array(b) * size, level=level)
        found = within_benchmark(duel, Fraction(1), "exact", literal=literal)
        assert (found.state, found.conflict) == (state, conflict)
        assert float(found.d) == pytest.approx(difference * size, rel=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_differences_across_benchmarks_against_counts_of_signs(seed: int, rule: HptRule) -> None:
    """Ties share their ranks, zeros are ranked and their ranks halved; every assignment of signs counts."""
    rng = np.random.default_rng(seed)
    for n in range(1, 9):
        differences = [Fraction(int(k), 7) for k in rng.integers(-3, 5, n)]
        found = across_benchmarks(differences, rule)
        ranks = stats.rankdata([float(abs(d)) for d in differences])
        assert found.ranks.tolist() == ranks.tolist()
        signs = np.sign([float(d) for d in differences])
        positive = ranks[signs > 0].sum() + ranks[signs == 0].sum() / 2
        assert (found.positive, found.negative) == (positive, n * (n + 1) / 2 - positive)
        if rule == "exact":
            own, shared = ranks[signs != 0], ranks[signs == 0].sum() / 2
            sums = [
                shared + own[[bool(k >> i & 1) for i in range(own.size)]].sum() for k in range(2**own.size)
            ]
            assert found.pvalue_positive == pytest.approx(np.mean([s >= positive for s in sums]))
            assert found.pvalue_negative == pytest.approx(np.mean([s <= positive for s in sums]))


def test_whole_numbers_at_the_end_of_64_bits() -> None:
    """Below 2^63 they are 64-bit, from there on Python's own; so are products with a speedup, which are exact."""
    for digits, exact in ((562949953421311.0, True), (562949953421312.0, False)):
        for duel in (score_duel([digits * 1e14], [5.0**14]), cost_duel([5.0**14], [digits * 1e14])):
            assert (duel.upper.values.dtype == np.int64) is exact
            assert duel.upper.values.tolist() == [int(digits) << 14]
            assert duel.lower.values.tolist() == [1]
    duel = score_duel([4.0], [1.0, 4.0])
    assert duel.lower.values.dtype == np.int64
    for product in (2**61 - 1, 2**61, 2**61 + 1, 2**62):  # four times this, against the largest of 64 bits
        for other, won in ((product - 1, 2), (product + 1, 4)):
            assert hpt_levels.pairs_won(duel, Fraction(product, other))[0] == won
