"""Noise in words and plans of builds and runs, by the formulas of variance components."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from tests.protocols.asking import plan_runs

from speedproof.errors import DataError
from speedproof.protocols import planning
from speedproof.protocols.planning import calibrate
from speedproof.stats.allocation import variance_components
from speedproof.stats.betting import smallest_provable
from speedproof.stats.dependence import drift, lag1
from speedproof.stats.fixed_pairs import blocks_needed


def test_noise_written_out() -> None:
    """Four blocks are enough; spreads by the median absolute deviation; what is provable in 10, 60, 600 s."""
    rng = np.random.default_rng(1)
    for count in (4, 15):
        blocks = np.exp(0.1 * rng.standard_normal((count, 2)) + np.linspace(0, 0.3, count)[:, None])
        times = np.append(blocks.ravel(), [1.7, 1.1])
        found = calibrate([(x, y) for x, y in blocks.tolist()], times.tolist(), 33.0)

        def spread(v: npt.NDArray[np.float64]) -> float:
            return math.expm1(float(stats.median_abs_deviation(v)) * 1.4826)

        d = np.log(blocks[:, 0]) - np.log(blocks[:, 1])
        cost = 33.0 / count
        assert (found.runs, found.median, found.block_seconds) == (times.size, np.median(times), cost)
        assert (found.noise, found.block_noise) == pytest.approx((spread(np.log(times)), spread(d)))
        assert found.drift == pytest.approx(stats.spearmanr(times, np.arange(times.size)).statistic)
        assert (found.drift_pvalue, found.autocorrelation_pvalue) == (
            float(drift(times).pvalue),
            float(lag1(times).pvalue),
        )
        assert found.provable == tuple(
            (b, b / cost, smallest_provable(d, b / cost, alpha=0.05)) for b in (10.0, 60.0, 600.0)
        )
        (row,) = calibrate(
            [(x, y) for x, y in blocks.tolist()], times.tolist(), 33.0, [90.0], alpha=0.2
        ).provable
        assert row == (90.0, 90.0 / cost, smallest_provable(d, 90.0 / cost, alpha=0.2))


@pytest.mark.parametrize(("cost", "runs"), [(0.01, 1), (1.0, 2), (2.0, 3), (4.0, 4)])
def test_a_plan_of_few_runs(cost: float, runs: int) -> None:
    """A median of one or two runs is their mean; of three on its variance is that of normal values."""
    rng = np.random.default_rng(2)
    pilot = [
        np.exp(0.02 * rng.standard_normal((40, 1)) + 0.03 * rng.standard_normal((40, 8))) for _ in range(3)
    ]
    plan = plan_runs(pilot, cost, 1.0)
    assert plan.runs_per_build == runs
    parts = np.mean([variance_components(np.log(v)) for v in pilot], axis=0)
    spread = math.sqrt(2 * (parts[0] + (math.pi / 2 if runs >= 3 else 1.0) * parts[1] / runs))
    for size in plan.sizes:
        needed = blocks_needed(math.log(size.speedup) / spread, alpha=0.05)
        assert size.builds == max(math.ceil(needed), 10)
        assert (size.building, size.measuring) == (3 * size.builds * cost, 3 * size.builds * runs)


def test_plans_of_ten_to_a_million_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = [np.exp([[0.0, 0.1], [0.2, 0.4]])] * 2
    most = 2.0**20
    for needed, builds in ((1.0, 10), (10.0, 10), (10.1, 11), (most, 1 << 20), (most + 1, 0), (math.inf, 0)):
        monkeypatch.setattr(planning, "blocks_needed", lambda *_, at=needed, **__: at)
        assert {size.builds for size in plan_runs(pilot, 1.0, 1.0).sizes} == {builds}


def test_a_plan_written_out() -> None:
    """Two versions, 12 builds of 4 runs: spreads in logarithms, costs of both versions, medians of the runs."""
    rng = np.random.default_rng(7)
    pilot = [
        np.exp(0.02 * rng.standard_normal((12, 1)) + 0.03 * rng.standard_normal((12, 4))) for _ in range(2)
    ]
    plan = plan_runs(pilot, 30.0, 0.5, alpha=0.01)
    parts = np.mean([variance_components(np.log(v)) for v in pilot], axis=0)
    assert (plan.between, plan.within) == pytest.approx(tuple(np.sqrt(parts)))
    assert (plan.builds, plan.runs, plan.build_seconds, plan.run_seconds, plan.alpha) == (
        12,
        4,
        30.0,
        0.5,
        0.01,
    )
    assert plan.runs_per_build > 2
    spread = math.sqrt(2 * (parts[0] + math.pi / 2 * parts[1] / plan.runs_per_build))
    assert [size.speedup for size in plan.sizes] == [1.05, 1.02, 1.01, 1.005]
    for size in plan.sizes:
        builds = max(math.ceil(blocks_needed(math.log(size.speedup) / spread, alpha=0.01)), 10)
        assert size.builds == builds
        assert size.building == 2 * builds * 30.0
        assert size.measuring == 2 * builds * plan.runs_per_build * 0.5
    still = plan_runs([np.ones((3, 2)), np.ones((2, 5))], 1.0, 1.0)
    assert (still.builds, still.runs, [size.builds for size in still.sizes]) == (2, 2, [10] * 4)


@pytest.mark.parametrize("short", [(1, 4), (4, 1)])
@pytest.mark.parametrize("side", [0, 1])
def test_a_plan_needs_two_of_everything(short: tuple[int, int], side: int) -> None:
    """Of either side."""
    pilot = [np.ones((4, 4)), np.ones((4, 4))]
    pilot[side] = np.ones(short)
    with pytest.raises(DataError, match="two builds of each version and two runs of each"):
        plan_runs(pilot, 1.0, 1.0)
