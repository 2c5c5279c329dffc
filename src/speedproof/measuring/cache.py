"""What is kept between sessions, in the user's cache folder; all of it may be deleted at any time."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path


def cache_folder() -> Path:
    """Where it is: ``$XDG_CACHE_HOME/speedproof``, by default ``~/.cache/speedproof``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "speedproof"


def untold(notes: Sequence[str], *, today: date | None = None) -> tuple[str, ...]:
    """Those of the notes that were not told today yet; they count as told from now on."""
    day = (today or date.today()).isoformat()
    path = cache_folder() / "told.json"
    told: dict[str, str] = {}
    with suppress(OSError, ValueError, AttributeError):
        told = {
            note: when for note, when in json.loads(path.read_text(encoding="utf-8")).items() if when == day
        }
    fresh = tuple(note for note in notes if note not in told)
    if fresh:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(told | dict.fromkeys(fresh, day)), encoding="utf-8")
    return fresh
