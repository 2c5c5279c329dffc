"""Hierarchical Performance Testing and its claims: the article's tables, exact results, a brute-force twin."""

import csv
import json
import math
from fractions import Fraction
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from studies.scores import entries_of_scores
from tests.protocols.asking import claims, hpt_of_pairs, hpt_of_scores

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.errors import DataError
from speedproof.protocols import hpt_levels, hpt_speedup, hpt_steps
from speedproof.protocols.hpt import paired_t, relative
from speedproof.protocols.hpt_levels import Duel, HptRule, duel_of, within_benchmark
from speedproof.protocols.hpt_speedup import confidence_at, r_speedup
from speedproof.protocols.results import Hpt, RSpeedup, Winner

ORACLE = Path(__file__).parents[1] / "data" / "oracle_hpt"
CASES: list[dict[str, Any]] = json.loads((ORACLE / "expected.json").read_text())["cases"]
RULES: tuple[HptRule, HptRule] = ("paper", "exact")
STATES = {Winner.CANDIDATE: 1, Winner.REFERENCE: -1, Winner.TIE: 0}


def scores(name: str, side: str) -> list[list[float]]:
    with (ORACLE / f"{name}_{side}.csv").open() as lines:
        return [[float(v) for v in row[1:]] for row in list(csv.reader(lines))[1:]]


def oracle_hpt(name: str, rule: HptRule, confidences: tuple[float, ...] = (0.95, 0.9)) -> Hpt:
    """Machine A of the reference results is the candidate."""
    return hpt_of_scores(scores(name, "B"), scores(name, "A"), rule=rule, confidences=confidences)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_against_exact_reference_results(case: dict[str, Any], rule: HptRule) -> None:
    expected = case["variants"][rule]
    found = oracle_hpt(case["case"], rule)
    states = [None if row.level is None else STATES[row.winner] for row in found.benchmarks]
    assert (states, [row.difference for row in found.benchmarks]) == (expected["states"], expected["d"])
    assert (found.rank_sum_candidate, found.rank_sum_reference) == (expected["RA"], expected["RB"])
    assert found.pvalue_candidate == pytest.approx(expected["p_A"], rel=1e-12)
    assert found.pvalue_reference == pytest.approx(expected["p_B"], rel=1e-12)
    assert found.winner is {"A": Winner.CANDIDATE, "B": Winner.REFERENCE}[expected["winner"]]
    assert found.confidence == pytest.approx(expected["confidence_of_winner"], rel=1e-12)
    for speedup in found.speedups:
        reference = expected["speedup_of_winner"][f"{speedup.confidence:g}"]
        if reference["sup"] is None:
            assert (speedup.certified, speedup.supremum, speedup.hundredth) == (None, None, None)
            continue
        assert speedup.supremum_exact == reference["sup_frac"]
        assert speedup.supremum_attained == reference["sup_attained"]
        assert speedup.certified_exact == reference["first_fail_frac"]
        assert (speedup.supremum, speedup.certified) == (reference["sup"], reference["first_fail"])


@pytest.mark.parametrize("higher", [False, True])
def test_ratios_against_scipy(higher: bool) -> None:
    """Of one run a side the signed-rank test of the logarithms of ratios, whichever version is the candidate."""
    rng = np.random.default_rng(11)
    x, y = rng.lognormal(0, 1, 14), rng.lognormal(-0.4, 1, 14)
    x[:8] = y[:8] * rng.lognormal(0.5, 0.2, 8)
    sides = [[Sample(np.array([v if not higher else 1 / v]), "", Direction.HIGHER if higher else Direction.LOWER)
              for v in values] for values in (x, y)]  # fmt: skip
    pairs = [Pair(Key(str(i)), *both) for i, both in enumerate(zip(*sides, strict=True))]
    turned = [Pair(pair.key, pair.candidate, pair.reference) for pair in pairs]
    found, other = (hpt_of_pairs(some, confidences=[0.8, 0.95]) for some in (pairs, turned))

    def of_scipy(g: float, alternative: str = "greater") -> float:
        return float(stats.wilcoxon(np.log(x / y) - math.log(g), alternative=alternative).pvalue)

    assert (found.pvalue_candidate, found.pvalue_reference) == pytest.approx(
        (of_scipy(1), of_scipy(1, "less"))
    )
    assert (other.pvalue_candidate, other.pvalue_reference) == (
        found.pvalue_reference,
        found.pvalue_candidate,
    )
    assert other.speedups == found.speedups
    assert [b.rank for b in other.benchmarks] == [b.rank for b in found.benchmarks]
    for speedup in found.speedups:
        assert speedup.certified is not None
        at = [of_scipy(speedup.certified * (1 + side)) <= 1 - speedup.confidence for side in (-1e-9, 1e-9)]
        assert at == [True, False]


Cell = tuple[Fraction, Fraction, float]


def naive_line(duels: list[Duel], rule: HptRule, literal: bool) -> list[Cell]:
    """Every possible breakpoint and the gap after it, with the confidence there, all in rational numbers."""
    points = {Fraction(1)}
    for x in duels:
        points |= {
            Fraction(u, v) ** x.power for u in x.upper.values.tolist() for v in x.lower.values.tolist()
        }
        for y in duels:
            for sign in (-1, 1):
                if bottom := x.b + sign * y.b:
                    points.add((x.a + sign * y.a) / bottom)
    line = sorted(p for p in points if p >= 1)
    cells = [(line[0], line[0], line[0])]
    for left, right in zip(line, [*line[1:], 2 * line[-1]], strict=True):
        cells += [(left, right, (left + right) / 2), (right, right, right)]
    return [(left, right, confidence_at(duels, g, rule, literal=literal)) for left, right, g in cells]


def naive_r_speedup(cells: list[Cell], r: float) -> tuple[Fraction | None, bool, Fraction | None, bool]:
    passed = [confidence >= r - 1e-12 for *_, confidence in cells]
    if not passed[0]:
        return None, False, None, False
    first = cells[passed.index(False)]
    last = cells[len(passed) - 1 - passed[::-1].index(True)]
    return first[0], first[0] < first[1], last[1], last[0] == last[1]


def power_of(exact: str, power: int) -> Fraction | None:
    """The power of a speedup that is written as a fraction or as the root of one."""
    if not exact:
        return None
    return Fraction(exact[5:-1]) if exact.startswith("sqrt(") else Fraction(exact) ** power


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", [*range(8), *range(20, 26), 28, 34])
def test_r_speedup_against_brute_force(
    seed: int, rule: HptRule, literal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small whole numbers tie everywhere: within runs, across versions, between benchmarks.

    From seed 20 on each is in a unit that is no short decimal, so that ratios nearly tie; at last none tie, then
    there are many. Each is asked as it is, and as too large to list what is far from changes.
    """
    rng = np.random.default_rng(seed)
    given = seed % 2 == 0
    duels = []
    many, high = {0: (2, 12), 1: (2, 12), 28: (2, 999), 34: (4, 7)}.get(seed, (9 if seed % 3 == 0 else 6, 12))
    for _ in range({0: 5, 1: 5, 28: 7, 34: 18}.get(seed) or rng.integers(1, 6)):
        n, m = rng.integers(1, many, 2)
        unit = rng.uniform(0.1, 10) if 20 <= seed < 28 else 1.0
        a, b = (rng.integers(3, high, n) + high // 3 * (seed % 3)) * unit, rng.integers(3, high, m) * unit
        duels.append(duel_of(a.tolist(), b.tolist(), given=given))
    cells = naive_line(duels, rule, literal)
    # Each confidence there is, or of many a few; they are read as decimals.
    own = sorted({cell[2] for cell in cells} - {0.0})
    own = [r - 1e-11 * (seed > 28) for r in own[:: 1 + len(own) // 45]]
    for r, large in product((0.5, 0.8, 0.9, *own), (False, True)):
        for module, listed in ((hpt_steps, 1 << 16), (hpt_speedup, 1 << 21)):
            monkeypatch.setattr(module, "LISTED", 0 if large else listed)
        (found,) = r_speedup(duels, [r], rule, literal=literal)
        certified, attained, supremum, supremum_attained = naive_r_speedup(cells, r)
        exact = (power_of(text, duels[0].power) for text in (found.certified_exact, found.supremum_exact))
        assert tuple(exact) == (certified, supremum)
        assert (found.certified_attained, found.supremum_attained) == (attained, supremum_attained)
        if certified is not None:
            upto = next(k for k in count(100) if not Fraction(k + 1, 100) ** duels[0].power <= certified)
            upto -= not attained and Fraction(upto, 100) ** duels[0].power == certified
            assert found.hundredth == upto / 100
            assert found.certified == pytest.approx(float(certified) ** (1 / duels[0].power), rel=1e-15)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("listed", [0, 1 << 16])
def test_steps_of_the_first_level_against_every_ratio(
    listed: int, rule: HptRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each ratio of two runs and between them; of few runs and many, of few values and many."""
    monkeypatch.setattr(hpt_steps, "LISTED", listed)
    rng = np.random.default_rng(3)
    duels: list[Duel] = []
    for few, a, b in product((3, 30, 12) * 2, (1, 2, 5, 40), (1, 2, 5, 40)):
        if a * b < 400:
            x, y = (rng.integers(0, most, rng.integers(few, few + 10)) for most in (a, b))
            duels.append(duel_of(1 + x * (8 / a), 1.3 + y * (4 / b), given=len(duels) % 2 == 0))
    for duel, steps in zip(duels, hpt_steps.level1_steps(duels, rule), strict=True):
        values = duel.upper.values.tolist(), duel.lower.values.tolist()
        ratios = {Fraction(u, v) ** duel.power for u, v in product(*values)}
        line, state = [Fraction(1), *sorted(ratio for ratio in ratios if ratio > 1)], steps.start
        for left, right in zip(line, [*line[1:], 2 * line[-1]], strict=True):
            changes = np.abs(steps.points / float(left) - 1) < 1e-14
            if changes.any():
                assert steps.at[changes][0] in (hpt_steps.OPEN, hpt_levels.tested_state(duel, left, rule)[0])
                state = steps.after[changes][-1]
            elif left > 1:
                assert state == hpt_levels.tested_state(duel, left, rule)[0]
            assert state == hpt_levels.tested_state(duel, (left + right) / 2, rule)[0]


A = [1.3] * 7 + [2.0] * 8
B = [1.0] * 8 + [1.9] * 7


def test_a_conflict_is_a_tie_with_a_note() -> None:
    candidate = [v / 1.5 for v in A]
    found = hpt_of_scores([B] * 5, [candidate] * 5)
    assert all(row.conflict and row.difference == 0 for row in found.benchmarks)
    assert found.winner is Winner.TIE
    assert any("contradict" in note for note in found.notes)
    literal = hpt_of_scores([B] * 5, [candidate] * 5, literal_signs=True)
    assert literal.winner is Winner.CANDIDATE
    assert any("kept all the same" in note for note in literal.notes)


def test_the_two_definitions_are_told_apart() -> None:
    """Literally the largest passing speedup lies beyond a gap of failures; only the first part counts."""
    found = hpt_of_scores([B] * 5, [A] * 5, literal_signs=True, confidences=[0.95])
    (speedup,) = found.speedups
    assert speedup.certified is not None
    assert speedup.supremum is not None
    assert speedup.certified < 1.2 < 1.5 < speedup.supremum
    assert any("only the former is certified" in note for note in found.notes)


@pytest.mark.parametrize(("candidate", "message"), [
    (Sample(np.array([1.0, 0.0]), label="new"), r"sort, new: value 2 of 2 is 0.*skip='sort'.*finer unit"),
    (Sample(np.array([1.0]), "B"), "sort: the samples have two units"),
])  # fmt: skip
def test_what_has_no_ratio(candidate: Sample, message: str) -> None:
    with pytest.raises(DataError, match=message):
        hpt_of_pairs([Pair(Key("sort"), Sample(np.array([1.0])), candidate)])


@pytest.mark.parametrize("size", [1e99, 1e101, 1e200, 1e300])
def test_versions_of_other_sizes(size: float) -> None:
    """Speedups of up to 1e100 are found; beyond, even of one run, doubles would not hold their products."""
    of_x, of_y = ([v * by for v in (1.0, 1.1, 1.2, 1.05)] for by in (size, 1.0))
    for x, y in ((of_x, of_y), (of_y, of_x)):
        pairs = [Pair(Key(name), Sample(np.array(x)), Sample(np.array(y))) for name in "abcdef"]
        if size > 1e100:
            one = Pair(Key("a"), Sample(np.array(y)), Sample(np.array([*y[1:], x[0]])))
            for beyond in (pairs, [one]):
                with pytest.raises(DataError, match="a: its values differ so much in size"):
                    hpt_of_pairs(beyond)
            continue
        found = hpt_of_pairs(pairs)
        assert found.winner is (Winner.CANDIDATE if x is of_x else Winner.REFERENCE)
        assert found.speedups[0].certified == pytest.approx(size, rel=0.3)


def test_what_is_certified_in_words() -> None:
    for hundredth, told in ((1.0, "less than 1.01x"), (1.01, "at least 1.01x"), (2.5, "at least 2.50x")):
        assert (
            str(RSpeedup(0.95, 1.5, hundredth=hundredth)) == f"the winner is {told} faster, 95 % confidence"
        )
    for found in (RSpeedup(0.95, None, hundredth=1.5), RSpeedup(0.95, 1.5)):
        assert str(found) == "no speedup of the winner holds with 95 % confidence"


@pytest.mark.parametrize(("seed", "benchmarks"), [(9, 85), (45, 116), (1, 1001)])
def test_the_answers_own_confidence(seed: int, benchmarks: int) -> None:
    """But for its last digits it holds from 1 to a breakpoint, by definition; counts beyond 2^53 are rounded."""
    rng = np.random.default_rng(seed)
    rng.integers(60, 121)
    duels = [
        duel_of([b], [a])
        for a, b in ((rng.lognormal(0, 0.08), rng.lognormal(0.02, 0.08)) for _ in range(benchmarks))
    ]
    own = confidence_at(duels, Fraction(1), "exact", literal=False)
    step = Fraction(1, 10**9)
    for nearby in (own - 1e-12, own - 1e-9) if benchmarks < 1000 else (own - 1e-9, own - 1e-3):
        (found,) = r_speedup(duels, [nearby], "exact", literal=False)
        for exact in (found.certified_exact, found.supremum_exact):
            at = power_of(exact, 2)
            assert at is not None
            assert at > 1
            assert confidence_at(duels, at - step, "exact", literal=False) >= nearby
            assert confidence_at(duels, at + step, "exact", literal=False) < nearby


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
    sides = scores("table3_reduced", "B"), scores("table3_x176", "A")
    found = claims(entries_of_scores(*sides), speedups=[1.0, 1.76, 1.77, 3.0], rule="paper")
    assert found.candidate_wins
    assert found.certified == pytest.approx(1.76)
    _, _, *asked = found.claims
    assert asked[1].confidence == pytest.approx(0.9547, abs=5e-5)
    assert asked[1].error == pytest.approx(0.0)
    assert asked[1].loss > 0 > asked[2].loss
    assert [c.confidence for c in asked] == sorted((c.confidence for c in asked), reverse=True)
    assert asked[0].confidence == hpt_of_scores(*sides, rule="paper").confidence
    b, a = (np.median(side, axis=1) for side in sides)
    pvalue = stats.ttest_rel(a, 1.76 * b, alternative="greater").pvalue
    assert found.t_certified == pytest.approx(1 - pvalue)
    assert f"{relative(0.18, 0.95):.1%}" == "-81.1%"  # as the article prints the loss


def test_what_cannot_be_claimed() -> None:
    for ask in (claims, hpt_of_pairs):
        with pytest.raises(DataError, match="no benchmark"):
            ask([])
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
    with pytest.raises(DataError, match="a confidence of 1e-17 is too close to 0"):
        hpt_of_scores(b, a, confidences=[1e-17])


def test_the_first_level_is_left_out_where_no_order_of_runs_is_rare_enough() -> None:
    """One of so many orders is less likely than 10 %, or not; the article's risk is 5 % from five runs on."""
    for n, m in product(range(1, 13), repeat=2):
        risk = 0.05 if min(n, m) >= 5 else 0.1
        duel = duel_of(np.arange(n) + 1.0, np.arange(m) + 1.0)
        assert duel.level == (risk if math.comb(n + m, n) >= 10 else None)


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
        duel, y = duel_of(a, b, given=True), float(speedup) * b
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
        duel = duel_of(np.array(a) * size, np.array(b) * size, level=level, given=True)
        found = within_benchmark(duel, Fraction(1), "exact", literal=literal)
        assert (found.state, found.conflict) == (state, conflict)
        assert float(found.d) == pytest.approx(difference * size, rel=1e-12)
