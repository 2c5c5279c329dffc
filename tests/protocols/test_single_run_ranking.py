"""Rankings by single runs: brute force, the verdicts of single pairs, simulated error rates."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from speedproof.data.sample import Sample, Trait
from speedproof.data.units import Direction
from speedproof.protocols.compare import Rules, compare_single_runs
from speedproof.protocols.results import Verdict
from speedproof.protocols.single_run_ranking import Separation, separate
from speedproof.protocols.version_ranking import places

ORDERED = frozenset({Trait.ORDER_KNOWN})


def undecided(found: Separation) -> set[frozenset[str]]:
    return {frozenset((d.reference, d.candidate)) for d in found.duels if d.verdict is Verdict.UNDECIDED}


def random_versions(rng: np.random.Generator) -> dict[str, Sample]:
    return {
        name: Sample(rng.normal(10 + 0.2 * rng.integers(0, 8), 0.2, rng.integers(4, 30)), unit="s")
        for name in "abcdef"[: rng.integers(2, 7)]
    }


def test_ranks_against_brute_force() -> None:
    """A version's ranks are its places in all orders that no verdict forbids, when the verdicts are an order."""
    rng = np.random.default_rng(1)
    seen_ties = 0
    for _ in range(60):
        samples = random_versions(rng)
        found = separate(samples)
        ahead = {
            (d.candidate, d.reference) if d.verdict is Verdict.FASTER else (d.reference, d.candidate)
            for d in found.duels
            if d.verdict is not Verdict.UNDECIDED
        }
        allowed = [
            order
            for order in permutations(samples)
            if all(order.index(first) < order.index(second) for first, second in ahead)
        ]
        for place in found.places:
            ranks = {1 + order.index(place.version) for order in allowed}
            assert place.best_rank <= min(ranks)
            assert max(ranks) <= place.worst_rank
            beaten_by = sum(second == place.version for _, second in ahead)
            assert place.best_rank == 1 + beaten_by
        seen_ties += bool(found.groups)
    assert seen_ties > 10


def test_groups_against_brute_force() -> None:
    """The groups are the maximal stretches of the order in which every two are undecided."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        samples = random_versions(rng)
        found, names = separate(samples), list(samples)
        loose = undecided(found)
        stretches = [
            tuple(names[i:j])
            for i, j in combinations(range(len(names) + 1), 2)
            if j - i > 1 and all(frozenset(p) in loose for p in combinations(names[i:j], 2))
        ]
        maximal = [s for s in stretches if not any(set(s) < set(other) for other in stretches)]
        assert sorted(found.groups) == sorted(maximal)
        neighbours = {
            v for i in range(len(names) - 1) for v in names[i : i + 2] if frozenset(names[i : i + 2]) in loose
        }
        assert {p.version for p in found.places if p.tied} == neighbours


@pytest.mark.parametrize("unit", ["s", "1/s"])
def test_two_versions_agree_with_the_single_run_protocol(unit: str) -> None:
    """Holm doubles the smaller of two p-values: the verdict is that of the pair at half the risk."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        x, y = (Sample(10 + rng.normal(0, 1, 15) + rng.integers(0, 3), unit) for _ in range(2))
        (duel,) = separate({"x": x, "y": y}).duels
        single = compare_single_runs(x, y, Rules(alpha=0.05))
        assert duel.chance.value == single.speedup.value
        smaller = min(single.pvalue, single.pvalue_slower)
        assert (duel.verdict is not Verdict.UNDECIDED) == (2 * smaller <= 0.05)
        if duel.verdict is not Verdict.UNDECIDED:
            assert duel.verdict is single.verdict
    assert (Sample(np.ones(2), unit).direction is Direction.HIGHER) == (unit != "s")


def test_equal_versions_are_rarely_told_apart() -> None:
    """Five equal versions of 12 runs: any verdict at all in at most 5 % of the rankings."""
    rng = np.random.default_rng(4)
    trials = 600
    wrong = sum(
        len(undecided(separate({v: Sample(rng.lognormal(0, 0.3, 12)) for v in "abcde"}))) < 10
        for _ in range(trials)
    )
    assert wrong <= stats.binom.ppf(0.999, trials, 0.05)


@pytest.mark.parametrize("versions", [2, 3, 5, 9])
def test_the_least_number_of_runs_is_the_least(versions: int) -> None:
    """Samples that do not overlap are all told apart from that number of runs on, none with one run fewer."""
    needed = separate({f"v{i}": Sample(np.linspace(1, 2, 3) + 10 * i) for i in range(versions)}).least_runs
    for runs, expected in ((needed - 1, versions * (versions - 1) // 2), (needed, 0)):
        found = separate({f"v{i}": Sample(np.linspace(1, 2, runs) + 10 * i) for i in range(versions)})
        assert len(undecided(found)) == expected
        assert found.enough_runs == (runs == needed)


def test_doubts_are_those_of_a_comparison() -> None:
    """What undermines a comparison of two versions undermines their ranking, and on the same sides."""
    rng = np.random.default_rng(5)
    samples = {
        "steady": Sample(rng.normal(10, 1, 40), traits=ORDERED),
        "drifting": Sample(np.linspace(10, 12, 40) + rng.normal(0, 0.1, 40), traits=ORDERED),
        "failing": Sample(rng.normal(9, 1, 40), traits=frozenset({Trait.FAILED_RUNS})),
    }
    found = {p.version: {c.kind.value for c in p.doubts} for p in separate(samples).places}
    assert found == {"steady": set(), "drifting": {"run order", "drift"}, "failing": {"successful runs"}}
    for x, y in combinations(samples, 2):
        kinds = {c.kind.value for c in compare_single_runs(samples[x], samples[y]).doubts}
        assert kinds == found[x] | found[y]


def test_nested_values_and_copies_are_doubted() -> None:
    """Intervals take nested values as independent; a file given twice is no second measurement."""
    rng = np.random.default_rng(6)
    nested = Sample(rng.normal(10, 1, 40), processes=np.repeat(np.arange(10), 4))
    lone = Sample(rng.normal(10, 1, 40))
    found = {p.version: [c.kind.value for c in p.doubts] for p in separate({"a": nested, "b": lone}).places}
    assert found == {"a": ["nesting"], "b": ["nesting"]}
    twice = separate({"a": lone, "b": Sample(lone.values), "c": Sample(lone.values + 1)})
    assert [[c.kind.value for c in p.doubts] for p in twice.places] == [["two measurements"]] * 2 + [[]]


def test_nested_values_are_tested_by_process() -> None:
    """Ten processes of equal values tell no more apart than ten runs of those values."""
    rng = np.random.default_rng(7)
    x, y = rng.normal(10, 1, 10), rng.normal(11, 1, 10)
    nested = {
        n: Sample(np.repeat(v, 5), processes=np.repeat(np.arange(10), 5)) for n, v in (("x", x), ("y", y))
    }
    single = separate({"x": Sample(x), "y": Sample(y)})
    assert separate(nested).duels == single.duels


def test_places_of_a_cycle() -> None:
    """Verdicts that contradict an order leave no version a place that they do not name."""
    beaten = [("a", "b", Verdict.FASTER), ("b", "c", Verdict.FASTER), ("c", "a", Verdict.FASTER)]
    assert places("abc", beaten) == {"a": (2, 2), "b": (2, 2), "c": (2, 2)}
