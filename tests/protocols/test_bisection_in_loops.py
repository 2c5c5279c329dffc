"""Bisections in loops, by what their docstrings say, looked at after every pair."""

from __future__ import annotations

import itertools
import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import asdict, replace
from scipy import stats

from speedproof.protocols import bisection
from speedproof.protocols.bisection import Bisection, BisectionFinding, BisectionOutcome, Stage
from speedproof.protocols.bisection_outlook import (
    BisectionOutlook,
    noise_of,
    outlook_of_ends,
    outlook_of_search,
    residuals_of,
)
from speedproof.stats.culprit import StepPosterior, step_posterior
from speedproof.stats.ratio_medians import ratio_of_medians
from speedproof.stats.resolution import Resolution, last_place
from speedproof.stats.sequential import PairedSequence

Row = tuple[int, int, float, float]
UNPROVEN = math.nan, 0.0, math.inf


def told(struct: Any) -> list[tuple[str, Any]]:
    """Fields as texts, numbers to ten digits: NaN is itself."""
    found = []
    for name, value in asdict(struct).items():
        if isinstance(value, BisectionOutlook):
            found += told(value)
        else:
            found.append((name, f"{value:.10g}" if isinstance(value, float) else str(value)))
    return found


class NaiveBisection:
    """All is computed anew from the pairs, the order of the suspects and the steps of the times apart."""

    def __init__(self, count: int, alpha: float, least: float) -> None:
        self.last, self.alpha, self.least = count - 1, alpha, least
        self.rows: list[Row] = []
        self.skipped: set[int] = set()
        self.suspects: list[tuple[int, int]] = []
        self.pairs: dict[tuple[int, int], PairedSequence] = {}
        self.times = Resolution()

    def add(self, *row: Any) -> None:
        before, after, x, y = row
        self.rows.append(row)
        self.times.add(x)
        self.times.add(y)
        pair = before, after
        self.pairs.setdefault(pair, PairedSequence(alpha=self.alpha / 2)).add(x, y, resolution=self.step())
        if pair not in self.suspects and self.skipped >= set(range(before + 1, after)):
            self.suspects.append(pair)

    def step(self) -> float:
        values: dict[int, set[float]] = {}
        for before, after, x, y in self.rows:
            values.setdefault(before, set()).add(x)
            values.setdefault(after, set()).add(y)
        if any(len(own) > 1 for own in values.values()):
            return self.times.seen
        return min(self.times.seen, *(last_place(value) for own in values.values() for value in own))

    def posterior(self) -> tuple[list[tuple[int, int]], list[float], float]:
        kept = [i for i in range(self.last + 1) if i not in self.skipped]
        before, after = (np.array([row[k] for row in self.rows]) for k in (0, 1))
        differences = np.array([math.log(y) - math.log(x) for *_, x, y in self.rows])
        found = step_posterior(before, after, differences, np.array(kept))
        masses = (found.first / found.first.sum()).tolist()
        return list(itertools.pairwise(kept)), masses, found.second

    def look(self) -> tuple[Stage, tuple[int, int] | None, BisectionFinding]:
        whole, step = 0, (0, self.last)
        ends = self.pairs.get(step)
        result = None if ends is None else ends.result()
        residuals = residuals_of(pair.differences for pair in self.pairs.values())
        outlook = BisectionOutlook(noise_of(residuals))
        tick = self.step() / min(min(row[2:]) for row in self.rows) if self.rows else 0.0
        nothing = SimpleNamespace(credible=(), probability=math.nan, step=(None, None), second=0.0)
        rest = math.nan, math.nan
        if ends is None or result is None or ends.blocks < 6 or not (
            result.faster or result.slower or result.equivalent(self.least)
        ):  # fmt: skip
            if ends is not None:
                outlook = outlook_of_ends(ends, noise_of(residuals), self.least, self.alpha / 2)
            stage, following, outcome, found = Stage.ENDS, step, BisectionOutcome.UNPROVEN, nothing
            own: Any = UNPROVEN
        elif result.equivalent(self.least):
            stage, following, outcome, found = Stage.DONE, None, BisectionOutcome.NOTHING, nothing
            own = UNPROVEN
        else:
            steps, masses, second = self.posterior()
            ranked = sorted(range(len(steps)), key=lambda k: -masses[k])
            whole = ranked[0]
            best = steps[whole]
            confirmed = False
            if best in self.suspects:
                turn, part = self.suspects.index(best) + 1, self.pairs[best]
                p = part.result().pvalue_faster if result.faster else part.result().pvalue_slower
                share = self.alpha * (1 / turn - 1 / (turn + 1))  # adds up to alpha over all turns
                confirmed = part.blocks >= 6 and not part.result().contradictory and p <= share
            chosen = [whole]
            while not confirmed and sum(masses[k] for k in chosen) < 1 - self.alpha:
                chosen.append(ranked[len(chosen)])
            chosen.sort()
            credible = tuple(i for k in chosen for i in range(steps[k][0] + 1, steps[k][1] + 1))
            found = SimpleNamespace(
                credible=credible, probability=sum(masses[k] for k in chosen), step=best, second=second
            )
            part_ = self.pairs.get(best)
            if confirmed:
                stage, following, outcome = Stage.DONE, None, BisectionOutcome.CULPRIT
            else:
                outcome = BisectionOutcome.OPEN
                going = None
                if masses[whole] >= (0.25 if best in self.suspects else 0.5):
                    stage, following, going = Stage.CONFIRM, best, part_
                else:
                    stage, following = Stage.SEARCH, self.probe(steps, masses)
                outlook = outlook_of_search(
                    ends, going, len(credible), len(self.rows), residuals, self.alpha / 2
                )
            own = UNPROVEN if part_ is None else bounds(part_)
            if part_ is not None and best != step and min(ends.blocks, part_.blocks) >= 3:
                gain = ratio_of_medians(np.exp(-ends.differences), np.exp(-part_.differences), self.alpha / 2)
                rest = float(gain.low), float(gain.high)
        fields: list[Any] = [
            outcome, self.alpha, found.credible, found.probability, *found.step,
            *(UNPROVEN if ends is None else bounds(ends)), *own, *rest, found.second, len(self.rows),
            tuple(sorted(self.skipped)), tick, outlook,
        ]  # fmt: skip
        return stage, following, BisectionFinding(*fields)

    def probe(self, steps: list[tuple[int, int]], masses: list[float]) -> tuple[int, int]:
        """A commit that was measured last, while the step may be on either side of it; else the middle one."""
        inner = [after for _, after in steps[:-1]]
        below = {i: sum(masses[: k + 1]) for k, i in enumerate(inner)}
        lately = [i for i in self.rows[-1][:2] if i in below]
        middle = min(inner, key=lambda i: abs(below[i] - 0.5))
        if lately and 0.3 < below[lately[0]] < 1 - 0.3:
            middle = lately[0]
        return (0, middle) if len(self.rows) % 2 == 1 else (middle, self.last)


def bounds(sequence: PairedSequence) -> tuple[float, float, float]:
    result = sequence.result()
    low = 1 / result.high if result.high < math.inf else 0.0
    return 1 / sequence.estimate(), low, 1 / result.low if result.low else math.inf


HISTORIES: list[tuple[list[float], float, int | None, float, float]] = [
    ([1.0] * 9 + [1.04] * 8, 0.02, None, 0.05, 0.01),
    ([1.0] * 4 + [0.8] * 5, 0.1, 1, 0.3, 0.01),
    ([1.0] * 5 + [1.1] * 4 + [1.2] * 5, 0.03, 2, 0.3, 0.01),
    ([1.0] * 2 + [1.5], 0.0, 2, 0.5, 0.01),
    ([1.0] * 7, 0.01, None, 0.5, 1.0),
    ([1.0] * 7, 0.0, 1, 0.05, 0.01),
    ([1.0, 1.0, 0.9, 0.9], 0.0, 3, 0.05, 0.01),
    ([2.0] * 6 + [3.0] * 5, 0.3, 1, 0.6, 0.01),
    ([1.0] * 12 + [0.97, 0.96, 0.95, 0.93], 0.03, None, 0.2, 0.02),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(HISTORIES)))
def test_a_bisection_in_loops(case: int) -> None:
    """Stage, next pair and finding after every pair; commits that do not build are left out when they are met."""
    level, noise, digits, alpha, least = HISTORIES[case]
    rng = np.random.default_rng(case)
    unbuildable = {k for k in range(1, len(level) - 1) if rng.random() < 0.2}
    search, naive = (
        Bisection(len(level), alpha=alpha, min_change=least),
        NaiveBisection(len(level), alpha, least),
    )
    met = set()
    for k in range(48):
        stage, following, finding = naive.look()
        assert (search.stage(), search.next(), search.pairs) == (stage, following, len(naive.rows))
        assert told(search.finding()) == told(finding)
        met.add(stage)
        pair = following or ((0, len(level) - 1) if k % 2 else (len(level) - 2, len(level) - 1))
        if lost := unbuildable.intersection(pair):
            for one in (search, naive.skipped):
                one.skip(min(lost)) if isinstance(one, Bisection) else one.add(min(lost))
            continue
        times = [level[i] * math.exp(noise * rng.normal()) for i in pair]
        x, y = times if digits is None else [round(value, digits) for value in times]
        search.add(*pair, x, y)
        naive.add(*pair, x, y)
    assert Stage.ENDS in met


def drawn_posterior(before: Any, after: Any, differences: Any, positions: Any) -> StepPosterior:
    """Eighths or twentieths, other ones after every pair: so that masses meet every threshold."""
    rng = np.random.default_rng([before.size, positions.size, int(before.sum() + after.sum())])
    whole = int(rng.choice([8, 20]))
    steps = positions.size - 1
    masses = rng.multinomial(whole, rng.dirichlet(np.full(steps, 0.7))) / whole
    return StepPosterior(masses * 0.75, 0.25, float(rng.random()))


@pytest.mark.parametrize("case", range(12))
def test_whatever_the_posterior_says(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pairs that are chosen and the answer of an adequate search, at and beside each threshold."""
    for module in (bisection, sys.modules[__name__]):
        monkeypatch.setattr(module, "step_posterior", drawn_posterior)
    rng = np.random.default_rng(case)
    count, alpha, noise = int(rng.integers(3, 10)), float(rng.choice([0.05, 0.25, 0.4])), 0.001
    level = np.where(np.arange(count) >= rng.integers(1, count), float(rng.choice([0.9, 1.2])), 1.0)
    search, naive = Bisection(count, alpha=alpha), NaiveBisection(count, alpha, 0.01)
    met = set()
    for _ in range(40):
        stage, following, finding = naive.look()
        assert (search.stage(), search.next()) == (stage, following)
        assert told(search.finding()) == told(finding)
        met.add(stage)
        pair = following or (0, count - 1)
        if len(naive.rows) > 9 and count > 4 and rng.random() < 0.1 and pair[0] not in (0, count - 1):
            search.skip(pair[0])
            naive.skipped.add(pair[0])
            continue
        x, y = (float(level[i] * math.exp(noise * rng.normal())) for i in pair)
        search.add(*pair, x, y)
        naive.add(*pair, x, y)
    assert met >= {Stage.ENDS, Stage.CONFIRM}


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2, 0.3, 0.5])
def test_what_a_step_leaves_of_the_ends(alpha: float) -> None:
    """From three pairs of both on; half of the risk on each side; of the ends alone nothing is left."""
    rng = np.random.default_rng(7)
    search = Bisection(5, alpha=alpha)
    ends, part = list[float](), list[float]()
    for k in range(11):
        x, y, z = (math.exp(0.02 * rng.normal()) for _ in range(3))
        search.add(0, 4, x, 1.2 * y)
        search.add(1, 2, 1.0, 1.1 * z)
        ends.append(1.2 * y / x)
        part.append(1.1 * z)
        found = search._rest((1, 2))
        if k < 2:
            assert np.isnan(found).all()
            continue
        ratios = np.sort(np.divide.outer(ends, part).ravel())
        p = [
            stats.mannwhitneyu(np.array(ends) / r, part, alternative="greater", method="exact").pvalue
            for r in (found[0] * (1 - 1e-9), found[0] * (1 + 1e-9))
            if found[0] > 0
        ]
        assert not p or (p[0] <= alpha / 2 < p[1])
        assert (found[0] == 0) == (ratios.size < 9 or 1 / math.comb(2 * k + 2, k + 1) > alpha / 2)
        assert np.isnan(search._rest((0, 4))).all()
        assert np.isnan(search._rest((2, 3))).all()


@pytest.mark.parametrize(("low", "high", "beside"), [
    (1.0, 1.2, False), (0.8, 1.0, False), (1.0, 1.0, False), (0.8, 0.99, True), (1.01, 1.2, True),
    (math.nan, math.nan, False),
])  # fmt: skip
def test_more_than_one_change(low: float, high: float, beside: bool) -> None:
    """An interval that holds 1, its ends too, leaves nothing unexplained; a second step is told beyond a half."""
    found = replace(Bisection(3).finding(), rest_low=low, rest_high=high, outcome=BisectionOutcome.CULPRIT)
    for second, likely in ((0.0, False), (0.5, False), (0.5001, True)):
        now = replace(found, second=second)
        assert now.unexplained is beside
        assert now.more is (beside or likely)
        for outcome in BisectionOutcome:
            other = replace(now, outcome=outcome)
            assert other.more is (outcome is BisectionOutcome.CULPRIT and (beside or likely))
            assert other.open is (outcome in (BisectionOutcome.OPEN, BisectionOutcome.UNPROVEN))


def test_residuals_are_of_two_pairs_or_more() -> None:
    """One pair is its own median, which says nothing of the noise."""
    assert residuals_of([]).tolist() == residuals_of([np.array([3.0])]).tolist() == []
    groups = [np.array([3.0]), np.array([1.0, 2.0]), np.array([]), np.array([9.0])]
    assert residuals_of(groups).tolist() == [-0.5, 0.5]
    for few, many in ((0, 1), (1, 1)):
        assert math.isnan(noise_of(np.arange(float(few)))) is bool(many)


def test_a_posterior_that_holds_nothing_else_than_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ends are proven to differ, and no place is likely: all of them are possible."""
    search = Bisection(5)
    for k in range(12):
        search.add(0, 4, 1.0 + 1e-3 * (k % 3), 1.2 + 1e-3 * (k % 2))
    nothing = StepPosterior(np.zeros(4), 1.0, 0.0)
    monkeypatch.setattr(bisection, "step_posterior", lambda *_: nothing)
    found = search.finding()
    assert (found.outcome, found.credible, found.probability) == (BisectionOutcome.OPEN, (1, 2, 3, 4), 0.0)
    assert (found.parent, found.culprit) == (0, 1)
