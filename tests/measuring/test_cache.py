"""What is remembered between sessions, and what happens when it cannot be."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from speedproof.measuring.cache import cache_folder, untold


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_a_note_is_told_once_a_day() -> None:
    monday, tuesday = date(2026, 1, 5), date(2026, 1, 6)
    assert untold(["a", "b"], today=monday) == ("a", "b")
    assert untold(["a", "c"], today=monday) == ("c",)
    assert untold(["a"], today=tuesday) == ("a",)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}'])
def test_a_damaged_memory_tells_again(text: str) -> None:
    cache_folder().mkdir()
    (cache_folder() / "told.json").write_text(text)
    assert untold(["a"]) == ("a",)
    assert untold(["a"]) == ()


def test_without_a_place_everything_is_told(tmp_path: Path) -> None:
    (tmp_path / "speedproof").write_text("no folder")
    assert untold(["a"]) == untold(["a"]) == ("a",)
