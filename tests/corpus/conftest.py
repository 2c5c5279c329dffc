"""A corpus of many leaves."""

import pytest

from speedproof.corpus import build as building


@pytest.fixture
def small_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree of files from some dozens of rows on."""
    monkeypatch.setattr(building, "ROWS", 40)
