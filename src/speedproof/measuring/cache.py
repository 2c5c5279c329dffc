"""What is kept between sessions, in the user's folders for a cache and for state; all of it may be deleted."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import chain, count
from pathlib import Path

from speedproof.errors import UsageError

_KEPT_SESSIONS = 100


def cache_folder() -> Path:
    """Where it is: ``$XDG_CACHE_HOME/speedproof``, by default ``~/.cache/speedproof``."""
    return _of_user("XDG_CACHE_HOME", ".cache")


def sessions_folder() -> Path:
    """Where sessions are: ``$XDG_STATE_HOME/speedproof/sessions``, by default in ``~/.local/state``."""
    return _of_user("XDG_STATE_HOME", ".local/state") / "sessions"


def _of_user(variable: str, usual: str) -> Path:
    base = os.environ.get(variable, "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / usual) / "speedproof"


def new_session(what: str, started: datetime) -> Path:
    """A file that is not there yet, though another session may have begun in the same second.

    Of those that are there the latest are kept.
    """
    folder = sessions_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.jsonl"), key=_changed)[: 1 - _KEPT_SESSIONS]:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: no session can be kept there: {error.strerror}; give --save FILE"
        ) from None
    stem = f"{what}-{started:%Y%m%d-%H%M%S}"
    names = (folder / f"{stem}{suffix}.jsonl" for suffix in chain([""], map("-{}".format, count(2))))
    return next(name for name in names if not name.exists())


def latest_session(what: str) -> Path:
    """The file of the session of a command that was measured last."""
    folder = sessions_folder()
    if not (found := [*folder.glob(f"{what}-*.jsonl")]):
        raise UsageError(f"@last: no session is in {folder}, where 'speedproof {what}' keeps the latest")
    return max(found, key=_changed)


def _changed(path: Path) -> tuple[float, str]:
    with suppress(OSError):
        return path.stat().st_mtime, path.name
    return 0.0, path.name


def untold(notes: Sequence[str], *, today: date | None = None) -> tuple[str, ...]:
    """Those of the notes that were not told today yet; they count as told from now on."""
    day = (today or date.today()).isoformat()
    path = cache_folder() / "told.json"
    shown: dict[str, str] = {}
    with suppress(OSError, ValueError, AttributeError):
        shown = {
            note: when for note, when in json.loads(path.read_text(encoding="utf-8")).items() if when == day
        }
    fresh = tuple(note for note in notes if note not in shown)
    if fresh:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(shown | dict.fromkeys(fresh, day)), encoding="utf-8")
    return fresh
