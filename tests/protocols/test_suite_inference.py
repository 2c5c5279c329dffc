"""The simulation study of suites in studies/, in a version of seconds, with binomial bounds."""

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats

from speedproof.protocols.hpt_levels import HptRule


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return importlib.import_module("studies.suite_inference")


def at_most(share: float, repeats: int) -> float:
    """A count that an event of that probability exceeds once in a thousand studies."""
    return float(stats.binom.ppf(0.999, repeats, share))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmarks", "runs", "options"),
    [
        (4, (3, 5), {}),
        (12, (8, 8), {"noise": "two modes"}),
        (6, (6, 6), {"nested": 8}),
        pytest.param(122, (30, 5), {"noise": "exponential"}, id="uneven and skewed"),
    ],
)
def test_coverage_of_both_geometric_means(
    study: ModuleType, benchmarks: int, runs: tuple[int, int], options: dict[str, Any]
) -> None:
    """Each interval holds its own truth in 95 % of suites; the bias of skewed runs does not add up."""
    repeats = 250 if benchmarks < 100 else 60
    for share in study.coverage((benchmarks,), runs, repeats, 1, drawn=3000, **options)[benchmarks]:
        assert share.repeats - share.count <= at_most(0.05, share.repeats)


def test_the_interval_is_no_wider_than_it_must_be(study: ModuleType) -> None:
    """With 5 + 5 runs it misses in 3 % at least: a mean over 6 benchmarks is not told as less than it is."""
    these, _ = study.coverage((6,), (5, 5), 500, 3, drawn=3000)[6]
    assert these.repeats - these.count >= stats.binom.ppf(0.001, 500, 0.03)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_error_rates_of_a_null_suite(study: ModuleType, shared: float) -> None:
    """Nothing has changed: Holm makes any claim in at most 5 % of suites, plain verdicts in many."""
    rates = study.error_rates(10, 0, shared, 120, 10)
    assert rates.holm.count <= at_most(0.05, 120)
    assert rates.plain.count > at_most(0.05, 120)
    assert np.count_nonzero(rates.discoveries) <= at_most(0.05, 120)


@pytest.mark.slow
def test_false_discoveries_among_true_ones(study: ModuleType) -> None:
    """Half of the benchmarks gain: of the claims at most 2.5 % are false, wrong directions counted in."""
    rates = study.error_rates(10, 5, 0.3, 120, 11)
    error = rates.discoveries.std(ddof=1) / np.sqrt(120)
    assert rates.discoveries.mean() <= 0.025 + 3 * error
    assert rates.holm.count <= at_most(0.05, 120)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_false_alarms_on_nested_values(study: ModuleType, ratio: float) -> None:
    """One value a process keeps the risk of 5 %; values pooled as if independent make 9 to 25 % and more."""
    by_process, pooled = study.false_alarms(ratio, 300, 5)
    assert by_process.count <= at_most(0.05, 300)
    assert pooled.count > at_most(0.05, 300)
    assert 0.09 <= pooled.count / 300 <= 0.35


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["exact", "paper"])
@pytest.mark.parametrize(("benchmarks", "runs"), [(10, 1), (10, 3), (12, 5)])
def test_size_of_hpt(study: ModuleType, benchmarks: int, runs: int, rule: HptRule) -> None:
    """Nothing has changed: both levels together name a winner in at most 5 % of suites."""
    for decimals in (1, 6):
        share = study.hpt_size(benchmarks, runs, rule, decimals, 200, 3)
        assert share.count <= at_most(0.05, 200)
