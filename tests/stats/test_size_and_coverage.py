"""The simulation study of studies/ on its telling cells, and the document that holds its tables."""

import importlib
from math import comb
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

ROOT = Path(__file__).parents[2]
REPETITIONS = 8_000


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return importlib.import_module("studies.size_and_coverage")


def shape(study: ModuleType, name: str) -> Any:
    return next(s for s in study.SHAPES if s.name == name)


def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def assert_exact(errors: Any, level: float) -> None:
    """Both directions err as often as `level` says: within binomial limits of 1e-5 on either side."""
    low, high = scipy_stats.binom.ppf([1e-5, 1 - 1e-5], errors.trials, level)
    assert errors.trials == REPETITIONS
    assert all(low <= count <= high for count in errors.counts), (errors.counts, low, high)


def rank_sum_level(n: int, m: int, alpha: float) -> float:
    """The largest attainable level up to alpha: P[W >= w] by the generating function of W, in whole numbers."""
    counts = [1]
    for i in range(1, n + 1):  # the Gaussian binomial: times 1 - q^(m + i), divided by 1 - q^i
        counts = [a - b for a, b in zip(counts + [0] * (m + i), [0] * (m + i) + counts, strict=True)]
        for k in range(i, len(counts)):
            counts[k] += counts[k - i]
        counts = counts[: m * i + 1]
    assert sum(counts) == comb(n + m, n)
    tail = np.cumsum([count / comb(n + m, n) for count in counts])
    return float(tail[tail <= alpha][-1])


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(5, 40), (10, 10)])
def test_student_and_fieller_are_exact_for_normal_samples(study: ModuleType, sizes: tuple[int, int]) -> None:
    normal = shape(study, "normal")
    assert_exact(study.mean_size(rng(), normal, sizes, 1.0, REPETITIONS)["Student"], 0.05)
    assert_exact(study.mean_coverage(rng(), normal, sizes, 1.0, REPETITIONS)["shifted, pooled"], 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal", "log-normal 1", "bimodal"])
@pytest.mark.parametrize("sizes", [(5, 40), (10, 10)])
def test_rank_sum_and_its_bound_are_exact_under_scaling(
    study: ModuleType, name: str, sizes: tuple[int, int]
) -> None:
    """Whatever the distribution, test and bound err exactly as often as the null distribution of W says."""
    level = rank_sum_level(*sizes, 0.05)
    assert_exact(study.median_size(rng(), shape(study, name), sizes, 1.0, REPETITIONS)["rank-sum"], level)
    coverage = study.median_coverage(rng(), shape(study, name), sizes, REPETITIONS)
    assert_exact(coverage["scaled, all"], level)


@pytest.mark.parametrize("sizes", [(5, 30), (8, 31)])
def test_the_pretest_on_variances_costs_the_level(study: ModuleType, sizes: tuple[int, int]) -> None:
    """The smaller sample is wider: Student errs twice as often as stated, figure 1 too often, Welch does not."""
    runs = 20_000
    cells = study.mean_size(rng(), shape(study, "normal"), sizes, 1.5, runs)
    assert min(cells["Student"].counts) > 0.09 * runs
    assert min(cells["figure 1, all"].counts) > 0.06 * runs
    assert not cells["always Welch, all"].excessive()
    assert max(cells["always Welch, concluded"].counts) < 0.056 * cells["always Welch, concluded"].trials


@pytest.mark.slow
def test_document_has_the_tables_of_the_study(study: ModuleType) -> None:
    """Titles, head lines and the first row of each table, made anew at the document's repetitions and seed."""
    document = (ROOT / "studies" / "size_and_coverage.md").read_text(encoding="utf-8")
    for title, labels, rows in study.TABLES:
        first = next(rows(study.REPETITIONS, study.SEED))
        head, _, line = study.table(labels, [first]).splitlines()
        assert f"## {title}\n\n{head}\n" in document
        assert f"\n{line}\n" in document
    manual = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert study.condensed(document) in manual
