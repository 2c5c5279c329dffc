"""Write the output of every command in the manual anew, where it has changed: ``python docs/samples.py``.

An output that fits a screen is shown whole; ``...`` on a line of its own stands for the rest of a longer one.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import sys
from pathlib import Path

from speedproof.cli.console import Console
from speedproof.cli.main import main

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MOST = 30


def run(command: str) -> str:
    """What a command prints."""
    out = io.StringIO()
    main(shlex.split(command, comments=True)[1:], Console(out, out))
    return out.getvalue()


def renewed(match: re.Match[str]) -> str:
    """A block with outputs that are true; those that are stay as they are."""
    parts = re.split(r"^\$ ", match[1], flags=re.MULTILINE)[1:]
    made = []
    for part in parts:
        command, _, shown = part.partition("\n")
        found = run(command)
        if not doctest.OutputChecker().check_output(shown, found, FLAGS):
            lines = found.rstrip("\n").split("\n")
            shown = "\n".join([*lines[:MOST], *(["..."] if len(lines) > MOST else [])]) + "\n"
        made.append(f"$ {command}\n{shown}")
    return "```console\n" + "".join(made) + "```"


if __name__ == "__main__":
    os.chdir(ROOT)
    os.environ["COLUMNS"] = "80"
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = page.read_text(encoding="utf-8")
        new = BLOCK.sub(renewed, text)
        if new != text:
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(ROOT)} has new samples\n")
