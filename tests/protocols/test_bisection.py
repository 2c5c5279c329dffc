"""The search for the commit that changed the speed, on histories whose truth is known."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from studies.bisection import bisected

from speedproof.protocols import bisection
from speedproof.protocols.bisection import (
    Bisection,
    BisectionFinding,
    BisectionOutcome,
    Stage,
    noise_of,
    outlook_of_ends,
    outlook_of_search,
    residuals_of,
)
from speedproof.stats.sequential import PairedSequence, blocks_for_proof, smallest_provable


def searched(
    level: list[float],
    noise: float = 0.0,
    unbuildable: frozenset[int] = frozenset(),
    most: int = 200,
    seed: int = 1,
) -> BisectionFinding:
    rng = np.random.default_rng(seed)
    search = Bisection(len(level))
    while (pair := search.next()) is not None and search.pairs < most:
        if failing := [i for i in pair if i in unbuildable]:
            search.skip(failing[0])
            continue
        search.add(*pair, *(level[i] * math.exp(noise * rng.normal()) for i in pair))
    return search.finding()


@pytest.mark.parametrize("culprit", [1, 2, 5, 8])
@pytest.mark.parametrize("factor", [1.2, 0.8])
def test_a_clean_step_is_found_wherever_it_is(culprit: int, factor: float) -> None:
    """Slower or faster; at the first commit after the old end, and at the new end itself."""
    found = searched([1.0] * culprit + [factor] * (9 - culprit), 0.001)
    assert found.outcome is BisectionOutcome.CULPRIT
    assert (found.parent, found.culprit, found.credible) == (culprit - 1, culprit, (culprit,))
    assert found.step_low < factor < found.step_high
    assert not found.more


@pytest.mark.parametrize("alpha", [0.4, 0.05, 0.01])
def test_a_proof_takes_six_pairs_and_two_thirds_of_the_risk(alpha: float) -> None:
    search, alone, proven = Bisection(2, alpha=alpha), PairedSequence(alpha=2 / 3 * alpha), []
    while search.stage() is not Stage.DONE:
        pair = 1.0 + 1e-3 * search.pairs, 1.5
        search.add(0, 1, *pair)
        alone.add(*pair)
        proven.append(alone.result().slower)
    assert search.pairs == max(6, 1 + proven.index(True))
    assert search.finding().outcome is BisectionOutcome.CULPRIT


@pytest.mark.parametrize("noise", [0.0005, 0.0])
def test_less_than_what_matters_is_nothing(noise: float) -> None:
    """Though it is proven to differ from nothing; of times that never vary by one step, whatever that is."""
    found = searched([1.0] * 6 + [1.003] * 6, noise)
    assert found.outcome is BisectionOutcome.NOTHING
    assert 1 + (noise and 1e-12) <= found.change_low < 1.003 * (1 + 1e-9)
    assert found.change_high < 1.01


@pytest.mark.slow
def test_an_open_answer_holds_the_change_as_often_as_it_says() -> None:
    """After 25 pairs, of 64 commits and 2 %: the credible set holds the step in 95 % or more."""
    held = []
    for seed in range(60):
        rng = np.random.default_rng([9, seed])
        place = int(rng.integers(1, 64))
        found = searched([1.0] * place + [1.02] * (64 - place), 0.01, most=25, seed=seed)
        if found.outcome is BisectionOutcome.OPEN:
            held.append(place in found.credible)
    assert len(held) > 40
    assert stats.binomtest(sum(held), len(held), 0.95).pvalue > 0.01


def test_commits_that_do_not_build_end_as_a_set() -> None:
    """The step is between 3 and 6; nothing tells 4, 5 and 6 apart."""
    found = searched([1.0] * 5 + [1.2] * 5, 0.001, frozenset({4, 5}))
    assert found.outcome is BisectionOutcome.CULPRIT
    assert (found.parent, found.culprit, found.credible, set(found.skipped)) == (3, 6, (4, 5, 6), {4, 5})


def test_a_proof_leaves_no_other_commit() -> None:
    """Once a commit is confirmed, it alone is named, though the model holds others possible."""
    found = searched([1.0] * 8 + [1.3] * 4, 0.15, seed=6)
    assert found.outcome is BisectionOutcome.CULPRIT
    assert found.probability < 0.95
    assert (found.culprit, found.credible) == (8, (8,))


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_what_a_step_leaves_against_scipy(alpha: float) -> None:
    """The rank-sum test of the ends' changes against those of the step has half of the risk at each bound."""
    rng, search = np.random.default_rng(2), Bisection(9, alpha=alpha)
    whole, part = 1.3 * np.exp(0.02 * rng.standard_normal(12)), 1.2 * np.exp(0.02 * rng.standard_normal(10))
    for pair, ratios in (((0, 8), whole), ((4, 5), part)):
        for ratio in ratios.tolist():
            search.add(*pair, 1.0, ratio)
    found = search.finding()
    assert (found.parent, found.culprit, found.unexplained) == (4, 5, True)
    for bound, side in ((found.rest_low, "greater"), (found.rest_high, "less")):
        near = [
            stats.mannwhitneyu(whole, bound * factor * part, alternative=side, method="exact").pvalue
            for factor in (1 - 1e-9, 1 + 1e-9)
        ]
        assert min(near) <= alpha / 2 < max(near)


def test_the_same_pairs_give_the_same_answer() -> None:
    """A search that is gone on with after a kill knows only the pairs."""
    rng = np.random.default_rng(3)
    level = [1.0] * 20 + [1.03] * 12
    first, rows = Bisection(len(level)), []
    while (pair := first.next()) is not None:
        x, y = (level[i] * math.exp(0.01 * rng.normal()) for i in pair)
        rows.append((*pair, x, y))
        first.add(*pair, x, y)
    second = Bisection(len(level))
    for before, after, x, y in rows:
        second.add(before, after, x, y)
    assert second.finding() == first.finding()


@pytest.mark.slow
def test_right_in_most_histories() -> None:
    """64 commits, 1 % noise, 5 %: the study's 95 %, and 5 % blamed where nothing changed, of 40 histories each."""
    rows = [bisected(seed, "normal", 0.05, broken=0.2) for seed in range(40)]
    assert stats.binomtest(sum(row.right for row in rows), 40, 0.95).pvalue > 0.001
    assert np.mean([row.runs for row in rows]) <= 1.3 * 59
    wrong = sum(bisected(seed, "normal", 0.0).wrong for seed in range(40))
    assert stats.binomtest(wrong, 40, 0.05, alternative="greater").pvalue > 0.001


def test_what_a_bisection_would_need() -> None:
    """The formulas of the outlook: a pair has two runs, runs grow with the square of the noise."""
    rng = np.random.default_rng(4)
    groups = [0.02 * rng.standard_normal(k) + 0.1 * k for k in (5, 1, 8)]
    residuals = residuals_of(groups)
    assert residuals.tolist() == pytest.approx(
        [v - np.median(g) for g in groups if g.size > 1 for v in g.tolist()]
    )
    noise = noise_of(residuals)
    assert noise == pytest.approx(1.4826 * stats.median_abs_deviation(residuals) / math.sqrt(2))
    assert math.isnan(noise_of(residuals[:1]))
    for shift in (0.0, 0.01, -0.03):
        ends = PairedSequence(alpha=0.01)
        for value in (shift + 0.03 * rng.standard_normal(24)).tolist():
            ends.add(math.exp(value), 1.0)
        pairs = min(
            ends.blocks_to_go(side=1),
            ends.blocks_to_go(side=-1),
            max(ends.blocks_to_go(gamma=1 / 1.02, side=1), ends.blocks_to_go(gamma=1.02, side=-1)),
        )
        found = outlook_of_ends(ends, noise, 0.02, 0.01)
        enough = noise * math.sqrt(24 / (24 + pairs)) if math.isfinite(pairs) else math.nan
        centred = ends.differences - np.median(ends.differences)
        assert (found.noise, found.more_runs) == (noise, 2 * pairs)
        assert found.enough_noise == pytest.approx(enough, nan_ok=True)
        assert found.visible == pytest.approx(smallest_provable(centred, 24, alpha=0.01) - 1)
        change = float(np.median(ends.differences))
        for step, left in itertools.product((None, ends), (1, 40)):
            proof = blocks_for_proof(abs(change) + residuals, 0.01)
            missing = proof if step is None else step.blocks_to_go(side=1 if change > 0 else -1)
            missing = missing if math.isfinite(missing) else proof
            more = missing + 0.4 * math.log2(left) * proof
            search = outlook_of_search(ends, step, left, 30, residuals, 0.01)
            assert search.more_runs == pytest.approx(2 * more)
            assert search.enough_noise == pytest.approx(noise * math.sqrt(30 / (30 + more)), nan_ok=True)


def test_a_posterior_that_holds_nothing_else_than_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ends are proven to differ, and no place is likely: all of them are possible."""
    search = Bisection(5)
    for k in range(12):
        search.add(0, 4, 1.0 + 1e-3 * (k % 3), 1.2 + 1e-3 * (k % 2))
    nothing = np.zeros(4), 1.0, 0.0
    monkeypatch.setattr(bisection, "step_posterior", lambda *_: nothing)
    found = search.finding()
    assert (found.outcome, found.credible, found.probability) == (BisectionOutcome.OPEN, (1, 2, 3, 4), 0.0)
    assert (found.parent, found.culprit) == (0, 1)


def test_a_search_asks_both_ends_in_turn() -> None:
    """So that neither end is measured twice as often; every pair of the search holds one of them."""
    search, level, asked = Bisection(9), [1.0] * 6 + [1.2] * 3, []
    while (pair := search.next()) is not None:
        asked.append((search.stage(), pair))
        search.add(*pair, *(level[i] for i in pair))
    for (stage, (low, high)), (stage_after, (low_after, high_after)) in itertools.pairwise(asked):
        if stage == stage_after == Stage.SEARCH:
            assert (low == 0) != (high == 8)
            assert (low == 0) != (low_after == 0)
            assert (high == 8) != (high_after == 8)
    assert {stage for stage, _ in asked} == {Stage.ENDS, Stage.SEARCH, Stage.CONFIRM}
