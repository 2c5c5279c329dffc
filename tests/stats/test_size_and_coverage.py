"""The simulation study of sizes and coverage, and the document that holds its tables."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_document_has_the_tables_of_the_study() -> None:
    """Titles, head lines and the first row of each table, made anew at the document's repetitions and seed."""
    study = importlib.import_module("studies.size_and_coverage")
    document = (ROOT / "studies" / "size_and_coverage.md").read_text(encoding="utf-8")
    for title, labels, rows in study.TABLES:
        first = next(rows(study.REPETITIONS, study.SEED))
        head, _, line = study.table(labels, [first]).splitlines()
        assert f"## {title}\n\n{head}\n" in document
        assert f"\n{line}\n" in document
    manual = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert study.condensed(document) in manual
