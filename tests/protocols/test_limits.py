"""What the parts of a verdict are given: the risk of a proof, sessions of either side, values as measured."""

from __future__ import annotations

import itertools
import math
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.protocols.asking import rank_suite

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Suite
from speedproof.data.units import Direction
from speedproof.protocols.bisection import Bisection, BisectionOutcome, Stage, residuals_of
from speedproof.protocols.pair import PreparedPairs
from speedproof.protocols.results import LogSpeedup
from speedproof.protocols.speedup_test import significant_risks
from speedproof.stats.betting import blocks_for_proof, smallest_provable


@pytest.mark.parametrize("version", "abc")
def test_what_is_nested_and_reduced_undermines_no_rank(version: str) -> None:
    """A value a process is used; values of unknown processes beside them, or of one process, cannot be trusted."""
    rng = np.random.default_rng(2)
    key, processes = Key("sort"), np.repeat(np.arange(8), 3)
    values = {v: rng.normal(at, 0.01, 24) for v, at in zip("abc", (3.0, 2.0, 1.0), strict=True)}
    samples = {(key, v): Sample(own, processes=processes) for v, own in values.items()}
    for own, undermined in (
        (samples[key, version], set()),
        (Sample(values[version]), {version}),
        (Sample(values[version], processes=np.zeros(24, dtype=np.int64)), {version}),
    ):
        found = rank_suite(Suite(tuple("abc"), {**samples, (key, version): own}), question="mean")
        assert {v.version for v in found.versions if v.undermined} == undermined


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("change", [1.0, 1.04, 0.96])
def test_a_bisection_is_forecast_at_the_risk_of_its_proofs(alpha: float, change: float) -> None:
    """Each side has half of it: of the ends what that many pairs show, of the search what the proofs take."""
    rng = np.random.default_rng(4)
    level = [1.0] * 20 + [change] * 12
    search, differences = Bisection(len(level), alpha=alpha), dict[tuple[int, int], list[float]]()
    seen = set()
    for _ in range(100):
        pair = search.next()
        if pair is None or search.stage() is Stage.CONFIRM:
            break
        times = [level[i] * math.exp(0.05 * rng.normal()) for i in pair]
        search.add(*pair, *times)
        differences.setdefault(pair, []).append(math.log(times[0] / times[1]))
        ends = np.array(differences[0, 31])
        if ends.size < 2 or search.stage() not in (Stage.ENDS, Stage.SEARCH):
            continue
        found, centred = search.finding(), ends - np.median(ends)
        if found.outcome is BisectionOutcome.UNPROVEN:
            visible = smallest_provable(centred, ends.size, alpha=alpha / 2) - 1
            assert found.outlook.visible == pytest.approx(visible, nan_ok=True)
        else:
            residuals = residuals_of(map(np.array, differences.values()))
            proof = blocks_for_proof(abs(float(np.median(ends))) + residuals, alpha / 2)
            more = 2 * proof * (1 + 0.4 * math.log2(len(found.credible)))
            assert found.outlook.more_runs == pytest.approx(more, nan_ok=True)
        seen.add(found.outcome)
    assert (BisectionOutcome.UNPROVEN if change == 1.0 else BisectionOutcome.OPEN) in seen


KEY = Key("b")


def test_pairs_of_two_directions_are_refused() -> None:
    """Whichever side it is; the same unit may be good either way."""
    sides = [Sample(np.ones(2), "u", direction) for direction in (Direction.LOWER, Direction.HIGHER)]
    other = Sample(np.ones(2), "v", Direction.LOWER)
    for x, y in ((sides[0], sides[1]), (sides[1], sides[0]), (sides[0], other), (other, sides[0])):
        with pytest.raises(ValueError, match="two units or directions"):
            PreparedPairs([Pair(KEY, x, x), Pair(KEY, x, y)])
    for side in sides:
        assert len(PreparedPairs([Pair(KEY, side, side)]).pairs) == 1


@pytest.mark.parametrize("direction", [Direction.LOWER, Direction.HIGHER])
@pytest.mark.parametrize("place", range(4))
def test_values_whose_sum_is_beyond_doubles(place: int, direction: Direction) -> None:
    """One value of 1.5e308, or as far below 0, of either side: both are taken in one smaller unit."""
    rng = np.random.default_rng(place)
    x, y = 1e300 * rng.random(9), 1e300 * rng.random(9)
    (x, y)[place % 2][4] = 1.5e308 * (1 if place < 2 else -1)
    (side,) = PreparedPairs([Pair(KEY, Sample(x, "B", direction), Sample(y, "B", direction))]).sides("mean")
    slow, fast = (y, x) if direction is Direction.HIGHER else (x, y)
    assert (side.slow.tolist(), side.fast.tolist()) == ((slow / 16).tolist(), (fast / 16).tolist())
    assert (side.x.values.tolist(), side.y.values.tolist()) == (x.tolist(), y.tolist())
    usual = Sample(np.minimum(np.abs(x), 9e306), "B", direction)
    (side,) = PreparedPairs([Pair(KEY, usual, usual)]).sides("mean")
    assert side.slow is usual.values


FloatArray = npt.NDArray[np.float64]


BoolArray = npt.NDArray[np.bool_]


def test_highest_confidence_against_every_risk() -> None:
    """Of a figure that says yes, no and yes again: at each of its p-values and between each two of them."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        pvalues = np.round(rng.random(4), 2)

        def says(alpha: FloatArray, pvalues: FloatArray = pvalues) -> BoolArray:
            at = np.atleast_1d(np.asarray(alpha))
            return np.asarray((pvalues[0] <= at) & ((pvalues[1] > at) | (pvalues[2] <= at)), dtype=np.bool_)

        def figure(alpha: FloatArray, says: Any = says) -> Any:
            return SimpleNamespace(pvalue=np.where(says(alpha), 0.0, 2.0))

        (found,) = significant_risks(figure, list(pvalues[:, None]))
        points = sorted({0.0, 1.0, *pvalues.tolist()})
        risks = [*points[1:-1], *(0.5 * (a + b) for a, b in itertools.pairwise(points))]
        for alpha in risks:
            if not 0 < alpha < 1:
                continue
            inside = any(
                low < alpha < high or (alpha == low and low_in) or (alpha == high and high_in)
                for low, high, low_in, high_in in found
            )
            assert inside == bool(says(np.array([alpha]))[0])


@pytest.mark.parametrize(
    ("error", "df", "refused"), [(-0.1, 3.0, True), (0.1, 0.49, True), (0.0, 0.5, False)]
)
def test_errors_of_logarithms_that_cannot_be(error: float, df: float, refused: bool) -> None:
    with pytest.raises(ValueError, match="no error of a logarithm") if refused else nullcontext():
        LogSpeedup(0.0, error, df)
