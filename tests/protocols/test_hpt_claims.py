"""One speedup, exactly, and what HPT thinks of others: SciPy, ranks with ties, the article's tables."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from studies.scores import entries_of_scores
from tests.protocols.asking import claims, hpt_of_scores

from speedproof.errors import DataError
from speedproof.protocols import hpt_levels
from speedproof.protocols.hpt import paired_t, relative
from speedproof.protocols.hpt_levels import score_duel, within_benchmark

TABLES = Path(__file__).parents[1] / "data" / "oracle_hpt"


def scores(name: str) -> list[list[float]]:
    lines = (TABLES / f"{name}.csv").read_text(encoding="utf-8").splitlines()[1:]
    return [[float(v) for v in line.split(",")[1:]] for line in lines]


def test_paired_t_against_scipy() -> None:
    """The confidence is SciPy's; the speedup is where SciPy's p-value meets the risk."""
    rng = np.random.default_rng(1)
    none = 0
    for _ in range(200):
        n = int(rng.integers(2, 20))
        b = rng.lognormal(0, 0.5, n)
        a = b * rng.lognormal(0.2, 0.3, n)
        confidence, speedup = paired_t(a, b, 0.05)
        assert confidence == pytest.approx(1 - stats.ttest_rel(a, b, alternative="greater").pvalue, abs=1e-9)
        if speedup is None:
            none += 1
            assert confidence < 0.95
        else:
            assert stats.ttest_rel(a, speedup * b, alternative="greater").pvalue == pytest.approx(
                0.05, abs=1e-6
            )
    assert 20 < none < 180


def test_paired_t_at_the_edges() -> None:
    assert paired_t([2.0, 2.0], [1.0, 1.0], 0.05) == (1.0, np.nextafter(2.0, 0.0))
    assert paired_t([1.0, 1.0], [1.0, 1.0], 0.05) == (0.5, None)
    assert paired_t([1.0, 1.0], [2.0, 2.0], 0.05) == (0.0, None)
    alone, none = paired_t([2.0], [1.0], 0.05)
    assert math.isnan(alone)
    assert none is None


def test_the_certified_speedup_has_no_loss_and_no_error() -> None:
    """Table III: at 44/25 the confidence is .9547, at the next hundredth below .95."""
    entries = entries_of_scores(scores("table3_reduced_B"), scores("table3_x176_A"))
    found = claims(
        entries_of_scores(scores("table3_reduced_B"), scores("table3_x176_A")),
        speedups=[1.0, 1.76, 1.77, 3.0],
        rule="paper",
    )
    assert found.candidate_wins
    assert found.certified == pytest.approx(1.76)
    _, _, *asked = found.claims
    assert asked[1].confidence == pytest.approx(0.9547, abs=5e-5)
    assert asked[1].error == pytest.approx(0.0)
    assert asked[1].loss > 0 > asked[2].loss
    assert [c.confidence for c in asked] == sorted((c.confidence for c in asked), reverse=True)
    whole = hpt_of_scores(scores("table3_reduced_B"), scores("table3_x176_A"), rule="paper")
    assert asked[0].confidence == whole.confidence
    geometric = found.claims[0]
    a, b = (np.median(scores(f"table3_{name}"), axis=1) for name in ("x176_A", "reduced_B"))
    assert geometric.speedup is not None
    assert geometric.speedup == pytest.approx(stats.gmean(a / b))
    assert geometric.loss == pytest.approx(geometric.confidence / 0.95 - 1)
    assert geometric.error == pytest.approx(geometric.speedup / 1.76 - 1)
    pvalue = stats.ttest_rel(a, 1.76 * b, alternative="greater").pvalue
    assert found.t_certified == pytest.approx(1 - pvalue)
    assert len(entries) == 14


def test_the_articles_loss() -> None:
    """A confidence of .18 where .95 is asked for is a loss of -81.1 %, as the article prints it."""
    assert f"{relative(0.18, 0.95):.1%}" == "-81.1%"


def test_what_cannot_be_claimed() -> None:
    with pytest.raises(DataError, match="no benchmark"):
        claims([])
    undecided = claims(entries_of_scores([[1.0], [1.0]], [[2.0], [0.4]]))
    assert undecided.certified is None
    assert math.isnan(undecided.t_certified)
    assert math.isnan(undecided.claims[0].error)
    assert undecided.claims[1].speedup is None


@pytest.mark.parametrize(("count", "confidences", "expected"), [
    (5, (1 - 2.0**-5,), ""),
    (5, (0.99,), "with 5 benchmarks the confidence cannot exceed 0.9688; 0.99 takes at least 7"),
    (5, (1 - 2.0**-6, 0.99), "0.984375 takes at least 6"),
    (1, (0.95,), "with 1 benchmark the confidence cannot exceed 0.5; 0.95 takes at least 5"),
    (4, (0.99, 0.5, 0.95), "with 4 benchmarks the confidence cannot exceed 0.9375; 0.95 takes at least 5"),
])  # fmt: skip
def test_confidences_out_of_reach(count: int, confidences: tuple[float, ...], expected: str) -> None:
    """n benchmarks reach 1 - 2^-n, and at that confidence itself nothing is noted."""
    a, b = [[4.0, 5.0, 6.0]] * count, [[1.0, 2.0, 3.0]] * count
    found = hpt_of_scores(b, a, confidences=confidences)
    assert (expected in " ".join(found.notes)) if expected else not found.notes
    with pytest.raises(DataError, match="a confidence of 1e-17 leaves every risk"):
        hpt_of_scores(b, a, confidences=[1e-17])


@pytest.mark.parametrize(("runs", "rule", "expected"), [
    ((1, 1), "exact", "not used"), ((3, 3), "exact", "exact, conditional on ties"),
    ((40, 40), "exact", "normal, corrected for ties and continuity"), ((3, 3), "paper", "exact table"),
    ((3, 12), "paper", "normal"), ((3, 11), "paper", "exact table"),
])  # fmt: skip
def test_the_first_levels_method(runs: tuple[int, int], rule: Any, expected: str) -> None:
    a, b = (np.arange(float(n)) + 1 for n in runs)
    assert hpt_of_scores([a], [b], rule=rule).method.split("; ")[0] == f"rank-sum: {expected}"
    if expected != "not used":
        few = np.arange(3.0) + 1
        both = hpt_of_scores([a, few, [1.0]], [b, few, [1.0]], rule=rule).method.split("; ")[0]
        first = "exact, conditional on ties" if rule == "exact" else "exact table"
        assert both == f"rank-sum: {expected}" + (f" or {first}" if expected != first else "")


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_claims_of_medians_of_any_size(size: float) -> None:
    """Rivals by SciPy, in any unit; of equal versions the candidate is the winner, by a factor of 1 at most."""
    rng = np.random.default_rng(4)
    a, b = 1.4 * rng.lognormal(0, 0.1, (7, 1)), rng.lognormal(0, 0.1, (7, 1))
    found = claims(
        entries_of_scores((b * size).tolist(), (a * size).tolist()), confidence=0.9, speedups=[1.1]
    )
    expected = stats.ttest_rel(a[:, 0], b[:, 0], alternative="greater").pvalue
    assert found.t_confidence == pytest.approx(1 - expected)
    assert found.confidence == 0.9
    mean, t, asked = found.claims
    assert [c.method for c in found.claims] == ["geometric mean", "paired t", "asked"]
    assert mean.speedup == pytest.approx(stats.gmean(a[:, 0] / b[:, 0]))
    assert t.speedup is not None
    assert stats.ttest_rel(a[:, 0], t.speedup * b[:, 0], alternative="greater").pvalue == pytest.approx(0.1)
    assert found.certified is not None
    assert asked.error == pytest.approx(1.1 / found.certified - 1)
    assert asked.loss == pytest.approx(asked.confidence / 0.9 - 1)
    same = claims(entries_of_scores([[1.0]] * 3, [[1.0]] * 3))
    assert (same.candidate_wins, same.certified) == (True, None)


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
        z = (stats.mannwhitneyu(a, y).statistic - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
        plain = hpt_levels.tested_state(duel, speedup, "paper")
        assert plain[1:] == pytest.approx((stats.norm.sf(z), stats.norm.cdf(z)), rel=1e-9)
        for state, p, q in (found, plain):
            assert state == (1 if p <= 0.05 else -1 if q <= 0.05 else 0)


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e-6, 1e6])
def test_what_a_benchmark_says(size: float, literal: bool) -> None:
    """The difference of medians where the test says so; none for a tie, or where they contradict each other."""
    low, high = [1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0], [2.0, 2.0, 2.0, 2.0, 6.0, 6.0, 6.0]
    cases = (
        ([3.0, 4.0, 5.0], [1.0, 1.5, 2.0], 1, 2.5, False),
        ([1.0, 1.5, 2.0], [3.0, 4.0, 5.0], -1, -2.5, False),
        ([1.0, 4.0, 6.0], [1.5, 3.0, 5.0], 0, 0.0, False), (high, low, 1, -3.0 if literal else 0.0, True),
        (low, high, -1, 3.0 if literal else 0.0, True), ([2.0], [1.5], 1, 0.5, False),
        ([1.5], [2.0], -1, -0.5, False), ([2.0], [2.0], 0, 0.0, False),
    )  # fmt: skip
    for a, b, state, difference, conflict in cases:
        level = 0.35 if conflict else None
        duel = score_duel(np.array(a) * size, np.array(b) * size, level=level)
        found = within_benchmark(duel, Fraction(1), "exact", literal=literal)
        assert (found.state, found.conflict) == (state, conflict)
        assert float(found.d) == pytest.approx(difference * size, rel=1e-12)
