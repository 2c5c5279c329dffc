"""A small git repository with a planted slowdown, for the manual's pictures and their test.

``python docs/demo_repository.py FOLDER`` makes it: a C program that counts words, in eleven commits from v1.2 to
main, of which one makes it a third slower.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CULPRIT = "Fold case before counting"
_SUBJECTS = (
    "Count words", "Document the format", "Rename a variable", "Add a license", "Split the reader", CULPRIT,
    "Fix a typo", "Handle empty input", "Update the notes", "Tidy up", "Add a test",
)  # fmt: skip
_MAKEFILE = "words: words.c\n\t$(CC) -O1 words.c -o words\n"
_PROGRAM = """\
/* {subject} */
int main(void) {{
  static unsigned char text[4096];
  unsigned words = 0, seed = 1;
  for (int i = 0; i < 4096; i++) text[i] = (seed = seed * 1103515245 + 12345) >> 24;
  for (int round = 0; round < {rounds}; round++)
    for (int i = 1; i < 4096; i++) words += (text[i] ^ round) > 96 && (text[i - 1] ^ round) <= 96;
  return words == 42;
}}
"""
ROUNDS = {False: 1500, True: 2000}
"""How much the program does, before and after the culprit."""


def _git(folder: Path, *words: str) -> None:
    identity = (
        "-c",
        "user.name=A. Programmer",
        "-c",
        "user.email=a@example.org",
        "-c",
        "core.hooksPath=/dev/null",
    )
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def make(folder: Path) -> Path:
    """Make the repository in a folder that is not there yet."""
    folder.mkdir(parents=True)
    _git(folder, "init", "-q", "-b", "main", ".")
    (folder / "Makefile").write_text(_MAKEFILE, encoding="utf-8")
    (folder / ".gitignore").write_text("words\n*.jsonl\n", encoding="utf-8")
    slow = False
    for number, subject in enumerate(_SUBJECTS):
        slow |= subject == CULPRIT
        text = _PROGRAM.format(subject=subject, rounds=ROUNDS[slow])
        (folder / "words.c").write_text(text, encoding="utf-8")
        _git(folder, "add", "-A")
        _git(folder, "commit", "-q", "-m", subject)
        if number == 0:
            _git(folder, "tag", "v1.2")
    return folder


if __name__ == "__main__":
    make(Path(sys.argv[1]))
