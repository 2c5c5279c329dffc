"""The simulation study of studies/ on its telling cells, and the document that holds its tables."""

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def study() -> ModuleType:
    return importlib.import_module("studies.size_and_coverage")


@pytest.mark.parametrize("sizes", [(5, 30), (8, 31)])
def test_the_pretest_on_variances_costs_the_level(study: ModuleType, sizes: tuple[int, int]) -> None:
    """The smaller sample is wider: Student errs twice as often as stated, figure 1 too often, Welch does not."""
    runs = 20_000
    normal = next(shape for shape in study.SHAPES if shape.name == "normal")
    cells = study.mean_size(np.random.default_rng(20), normal, sizes, 1.5, runs)
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
