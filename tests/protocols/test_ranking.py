"""Rankings by single runs: brute force, the verdicts of single pairs, simulated error rates."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import trapezoid
from tests.protocols.asking import rank_runs

from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Suite
from speedproof.data.units import Direction
from speedproof.errors import DataError
from speedproof.mixture.metrics import probability_below, sample_intervals
from speedproof.mixture.model import MixtureModel
from speedproof.protocols.pair import Rules
from speedproof.protocols.ranking import RunRanking, places, rank_benchmark
from speedproof.protocols.results import PairVerdict, Verdict
from speedproof.stats.estimate import Estimate


def undecided(found: RunRanking) -> set[frozenset[str]]:
    return {frozenset((d.reference, d.candidate)) for d in found.pairs if d.verdict is Verdict.UNDECIDED}


def random_versions(rng: np.random.Generator) -> dict[str, Sample]:
    return {
        name: Sample(rng.normal(10 + 0.2 * rng.integers(0, 8), 0.2, rng.integers(4, 30)), unit="s")
        for name in "abcdef"[: rng.integers(2, 7)]
    }


def test_ranks_against_brute_force() -> None:
    """A version's ranks are its places in all orders that no verdict forbids, when the verdicts are an order."""
    rng = np.random.default_rng(1)
    seen_ties = 0
    for _ in range(12):
        samples = random_versions(rng)
        found = rank_runs(samples, resamples=0)
        ahead = {
            (d.candidate, d.reference) if d.verdict is Verdict.FASTER else (d.reference, d.candidate)
            for d in found.pairs
            if d.verdict is not Verdict.UNDECIDED
        }
        allowed = [
            order
            for order in permutations(samples)
            if all(order.index(first) < order.index(second) for first, second in ahead)
        ]
        winners = [v for v in samples if all((v, other) in ahead for other in samples if other != v)]
        assert [found.winner] == (winners or [""])
        for place in found.versions:
            ranks = {1 + order.index(place.version) for order in allowed}
            assert place.best_rank <= min(ranks)
            assert max(ranks) <= place.worst_rank
            assert place.best_rank == 1 + sum(second == place.version for _, second in ahead)
        seen_ties += bool(undecided(found))
    assert seen_ties > 2


@pytest.mark.parametrize("versions", [2, 3, 5, 9])
def test_the_least_number_of_runs_is_the_least(versions: int) -> None:
    """Samples that do not overlap are all told apart from that number of runs on, none with one run fewer."""
    needed = rank_runs(
        {f"v{i}": Sample(np.linspace(1, 2, 3) + 10 * i) for i in range(versions)}, resamples=0
    ).least_runs
    for runs, expected in ((needed - 1, versions * (versions - 1) // 2), (needed, 0)):
        found = rank_runs(
            {f"v{i}": Sample(np.linspace(1, 2, runs) + 10 * i) for i in range(versions)}, resamples=0
        )
        assert len(undecided(found)) == expected
        assert found.enough_runs == (runs == needed)
    lone = {f"v{i}": Sample(np.linspace(1, 2, 3 if i else needed) + 10 * i) for i in range(versions)}
    assert not rank_runs(lone, resamples=0).enough_runs


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(("n", "bound"), [(5, 0.02), (10, 0.015), (30, 0.01)])
def test_the_best_chance_is_on_average_what_it_says(n: int, bound: float, spread: float) -> None:
    """Of three to five versions, equal or far apart, within a point or two and three errors of the simulation.

    Counted, the best of three equal ones with 10 runs says 0.13 more than is true: it is the best by chance.
    """
    rng, off = np.random.default_rng(26), []
    grid = np.linspace(-16.0, 16.0, 801)
    for i in range(180):
        means = rng.normal(0.0, spread, 3 + i % 3)
        said = [e.value for e in sample_intervals([*rng.normal(means, 1.0, (n, means.size)).T], ranked=True)]
        best = int(np.argmax(said))
        others = stats.norm.sf(grid[:, None] - np.delete(means, best)).prod(axis=1)
        off.append(said[best] - float(trapezoid(stats.norm.pdf(grid - means[best]) * others, grid)))
    assert abs(np.mean(off)) < bound + 3 * np.std(off) / len(off) ** 0.5


@pytest.mark.parametrize("versions", ["ab", "abcd"])
def test_a_ranking_of_rates_is_that_of_their_times(versions: str) -> None:
    """Where more is better; of equal chances the smaller median time comes first. One process gives its runs."""
    rng = np.random.default_rng(5)
    times = {v: Sample(rng.lognormal(0.1 * k, 0.2, 20)) for k, v in enumerate(versions)}
    for given in (times, {"a": Sample(np.array([2.0, 3, 5, 6])), "b": Sample(np.array([1.0, 3.5, 3.6, 30]))}):
        rates = {v: Sample(1 / s.values, "op/s", Direction.HIGHER) for v, s in given.items()}
        one = {v: Sample(s.values, processes=np.zeros(s.n, int)) for v, s in given.items()}
        found, *others = (rank_runs(some, resamples=0) for some in (given, rates, one))
        for other in others:
            assert [(v.version, v.best_rank, v.worst_rank, v.chance) for v in found.versions] == [
                (v.version, v.best_rank, v.worst_rank, v.chance) for v in other.versions
            ]
    assert [v.version for v in found.versions] == ["b", "a"]


def test_places_of_a_cycle() -> None:
    """Verdicts that contradict an order leave no version a place that they do not name."""
    chance = Estimate(0.9, 0.6, 1.0, 0.95)
    beaten = [
        PairVerdict(x, y, chance, Verdict.FASTER, 0.01) for x, y in (("a", "b"), ("b", "c"), ("c", "a"))
    ]
    assert places("abc", beaten) == {"a": (2, 2), "b": (2, 2), "c": (2, 2)}


FAST = MixtureModel([0.8, 0.2], [10.0, 20.0], [1.0, 1.0])
STEADY = MixtureModel([1.0], [11.0], [0.5])


def test_ranking_orders_by_the_single_run() -> None:
    samples = {"steady": Sample(STEADY.rvs(80, 1)), "fast": Sample(FAST.rvs(80, 2))}
    found = rank_runs(samples, resamples=50, seed=3)
    first, second = found.versions
    assert (first.version, second.version, first.modes, second.modes) == ("fast", "steady", 2, 1)
    below = probability_below(samples["fast"].values, samples["steady"].values)
    assert first.chance.value == pytest.approx(below)
    assert first.mixture_chance is not None
    assert first.mixture_chance.low <= first.mixture_chance.value <= first.mixture_chance.high
    assert found.error < 1e-9
    assert (found.best_in_mean, found.best_in_median) == ("steady", "fast")


def test_a_constant_version_is_ranked_without_mixtures() -> None:
    rng = np.random.default_rng(9)
    found = rank_runs({"noisy": Sample(rng.normal(10, 1, 20)), "flat": Sample(np.full(20, 3.0))})
    assert [(v.version, v.modes, v.mixture_chance) for v in found.versions] == [
        ("flat", None, None),
        ("noisy", 1, None),
    ]
    assert (found.versions[0].best_rank, found.error) == (1, 0.0)


def test_who_wins_a_ranking() -> None:
    """The one that leads alone; where two lead nobody does. One that is doubted makes all doubtful."""
    apart = {v: Sample(np.linspace(0.0, 1.0, 12) + at) for v, at in zip("abc", (5.0, 1.0, 9.0), strict=True)}
    for names, winner in (("abc", "b"), ("ac", "a"), ("cb", "b")):
        found = rank_runs({v: apart[v] for v in names}, resamples=0)
        assert (found.leading, found.winner, found.undermined) == ([winner], winner, False)
    found = rank_runs({**apart, "d": Sample(np.linspace(0.01, 1.01, 12) + 1.0)}, resamples=0)
    assert (set(found.leading), found.winner) == ({"b", "d"}, "")
    failing = {**apart, "c": Sample(apart["c"].values, traits=frozenset({Trait.FAILED_RUNS}))}
    assert rank_runs(failing, resamples=0).undermined


def test_how_far_apart_versions_may_be_in_size() -> None:
    """A factor of 1e100 and no more; zeros are so in any unit."""
    one = Sample(np.array([0.5, 0.75, 1.0]))
    for factor, kept in ((1e100, True), (2e100, False), (1e-100, True), (0.5e-100, False), (0.0, True)):
        samples = {"a": one, "b": Sample(factor * one.values)}
        if kept:
            assert len(rank_runs(samples, resamples=0).pairs) == 1
        else:
            with pytest.raises(DataError, match="differ so much in size"):
                rank_runs(samples, resamples=0)
    with pytest.raises(DataError, match="only a has it; a ranking takes two"):
        rank_runs({"a": one}, resamples=0)
    for other in (Sample(one.values, "B"), Sample(one.values, "s", Direction.HIGHER)):
        with pytest.raises(DataError, match="different units or directions"):
            rank_runs({"a": one, "b": other}, resamples=0)


@pytest.mark.parametrize("drifting", ["a", "b", "c"])
def test_a_version_that_undermines_its_rank(drifting: str) -> None:
    """It and all that were compared with it are marked, and with stationary runs nobody is."""
    rng = np.random.default_rng(3)
    key = Key("sort")
    samples = {
        (key, v): Sample(at + 0.01 * rng.standard_normal(12))
        for v, at in zip("abc", (3.0, 2.0, 1.0), strict=True)
    }
    still = rank_benchmark(Suite(("a", "b", "c"), samples), key, "abc", Rules())
    assert not any(v.undermined for v in still.versions)
    assert [v.version for v in still.versions] == ["c", "b", "a"]
    assert still.versions[-1].speedup == Estimate(1.0, 1.0, 1.0, 0.95)
    assert [(p.reference, p.candidate, p.verdict) for p in still.pairs] == [
        (*pair, Verdict.FASTER) for pair in ("ab", "ac", "bc")
    ]
    samples[key, drifting] = Sample(samples[key, drifting].values, traits=frozenset({Trait.FAILED_RUNS}))
    found = rank_benchmark(Suite(("a", "b", "c"), samples), key, "abc", Rules())
    assert all(v.undermined == ("sort",) for v in found.versions)
    two = rank_benchmark(Suite(("a", "b", "c"), samples), key, [v for v in "abc" if v != drifting], Rules())
    assert not any(v.undermined for v in two.versions)
    with pytest.raises(DataError, match="sort was not measured in all of a, d"):
        rank_benchmark(Suite(("a", "b", "c"), samples), key, "ad", Rules())
