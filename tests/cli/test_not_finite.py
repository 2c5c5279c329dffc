"""Where there is no number none is shown: neither "nan" nor "inf", in no format; null in JSON."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import main

SAMPLES = {
    "plain": [1.0, 1.1, 1.2, 1.05, 1.07, 1.12],
    "constant": [1.0] * 6,
    "zeros": [0.0] * 6,
    "onezero": [0.0, 1.0, 1.1, 1.2, 1.3, 1.1],
    "negative": [-1.0, -2.0, -1.5, -1.2, -1.1, -1.3],
    "signs": [-1.0, 2.0, 1.5, -1.2, 1.1, 1.3],
    "single": [1.0],
    "least": [5e-324] * 6,
    "most": [1.7e308, 1.6e308, 1.5e308, 1.7e308, 1.65e308, 1.2e308],
    "endless": [1.0, float("inf"), 1.1, 1.2],
    "unknown": [1.0, float("nan"), 1.1, 1.2],
    "empty": [],
}
COMMANDS = (
    ("compare", "--details", "--margin", "2%"),
    ("compare", "--explain"),
    ("compare", "--json"),
    ("compare", "--csv", "-"),
    ("compare", "--markdown", "-"),
    ("compare", "--html", "-"),
    ("compare", "--latex", "-"),
    ("gate",),
    ("gate", "--json"),
    ("hpt",),
    ("hpt", "--json"),
    ("rank", "--resamples", "10"),
    ("rank", "--resamples", "10", "--json"),
    ("model", "--bootstrap", "5"),
    ("model", "--bootstrap", "5", "--json"),
    ("show",),
    ("show", "--json"),
)
NO_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:nan|inf(?:inity)?)(?![\w.])", re.IGNORECASE)
SCRIPT = re.compile(r"<script.*?</script>", re.DOTALL)


def refuse(word: str) -> None:
    raise AssertionError(f"{word} in JSON")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_display_shows_what_is_no_number(command: tuple[str, ...], tmp_path: Path) -> None:
    """Every sample against a plain one, either way, and against itself."""
    for name, values in SAMPLES.items():
        text = "".join(f"{value!r}\n" for value in values)
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    answered = 0
    for name in SAMPLES:
        for old, new in {("plain", name), (name, "plain"), (name, name)}:
            if command[0] in ("model", "show") and old != "plain":
                continue
            files = [str(tmp_path / f"{side}.txt") for side in (old, new)]
            if command[0] == "gate":
                files = ["--baseline", files[0], "--candidate", files[1]]
            out, err = io.StringIO(), io.StringIO()
            code = main((command[0], *files, *command[1:]), Console(out, err))
            assert code in (0, 1, 2, 3), (old, new, err.getvalue())
            if code == 2:
                continue
            answered += 1
            shown = SCRIPT.sub("", out.getvalue())
            assert NO_NUMBER.search(shown) is None, (old, new, shown)
            if "--json" in command:
                json.loads(shown, parse_constant=refuse)
    assert answered > 3
