"""What is remembered between sessions, and what happens when it cannot be."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from speedproof.measuring.store import cache_folder, untold


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


@pytest.mark.parametrize("base", [None, "", "relative"])
def test_the_folder_is_in_the_home_by_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, base: str | None
) -> None:
    """A path that is not absolute is to be ignored, by the XDG specification."""
    monkeypatch.delenv("XDG_CACHE_HOME") if base is None else monkeypatch.setenv("XDG_CACHE_HOME", base)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "speedproof"
    assert untold(["a"]) == ("a",)
    assert json.loads((cache_folder() / "told.json").read_text()) == {"a": date.today().isoformat()}
    assert untold(["a"]) == ()


def test_yesterdays_notes_are_forgotten(tmp_path: Path) -> None:
    monday, tuesday = date(2026, 1, 5), date(2026, 1, 6)
    for notes, day in ((["a"], monday), (["b"], tuesday), (["b"], tuesday), (["c", "b"], tuesday)):
        untold(notes, today=day)
    told = json.loads((tmp_path / "speedproof" / "told.json").read_text())
    assert told == {"b": "2026-01-06", "c": "2026-01-06"}
