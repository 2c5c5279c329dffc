"""Where the tests of commands run."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the test's own: settings are read from there, and files need no path."""
    monkeypatch.chdir(tmp_path)
