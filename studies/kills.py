"""The user's repository, bit for bit, after a session that was killed at a random moment.

A small repository of C (``docs/demo_repository.py``) with changes in its tree, its index and its stash is measured
by ``run --revisions`` and by ``bisect``; after a random part of the time that the command takes to its end it is
killed with -9. Compared are the names, contents, modes and times of all files, ``.git`` included. Half of the
sessions find an empty cache of builds, the others what a killed one left; so does the last, which is not killed.

    python -m studies.kills [KILLS] [SEED]
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from docs.demo_repository import make

_IDENTITY = ("-c", "user.name=n", "-c", "user.email=n@e")
COMMANDS = {
    "run --revisions": (
        "run",
        "--revisions",
        "v1.2",
        "WORKTREE",
        "--build",
        "make",
        "--runs",
        "5",
        "--",
        "./words",
    ),
    "bisect": ("bisect", "v1.2..main", "--build", "make", "--max-time", "1", "./words"),
    "bisect, fresh builds": (
        "bisect",
        "v1.2..main",
        "--build",
        "make # {seed}",
        "--max-time",
        "0.5",
        "./words",
    ),
}


def state(folder: Path) -> str:
    """All there is to say of a folder's files; a folder's time tells of files that came and went."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        known = path.lstat()
        digest.update(f"{path} {known.st_mode} {known.st_mtime_ns}".encode())
        if path.is_symlink():
            digest.update(os.fsencode(path.readlink()))
        elif path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def repository(folder: Path) -> Path:
    """One in which something is changed, staged, new and stashed."""
    top = make(folder)

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(top), *_IDENTITY, *words], check=True, capture_output=True)

    (top / "notes").write_text("put away")
    git("add", "notes")
    git("stash")
    (top / "staged").write_text("staged")
    git("add", "staged")
    (top / "new").write_text("new")
    with (top / "words.c").open("a", encoding="utf-8") as file:
        file.write("/* changed */\n")
    return top


def ended(command: tuple[str, ...], top: Path, home: Path, after: float) -> int | None:
    """Run a command, and kill it after so many seconds; its exit code, None when it was killed."""
    session = home / "session.jsonl"
    session.unlink(missing_ok=True)
    words = [sys.executable, "-m", "speedproof", command[0], "--save", str(session), *command[1:]]
    with subprocess.Popen(
        words,
        cwd=top,
        env=os.environ | {"XDG_CACHE_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    ) as process:
        try:
            return process.wait(after)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
    return None


def main() -> None:
    """Print the table."""
    kills, seed = ([int(text) for text in sys.argv[1:]] + [50, 1][len(sys.argv) - 1 :])[:2]
    rng = np.random.default_rng(seed)
    print(
        "| command | kills | while it ran | repository changed | then ends with exit code |\n|---|---|---|---|---|"
    )
    for name, command in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            top, home = repository(Path(folder) / "repository"), Path(folder) / "cache"
            home.mkdir()
            before, begun = state(top), time.monotonic()
            assert ended(command, top, home, 600.0) in (0, 3)
            whole = time.monotonic() - begun
            running = changed = 0
            for _ in range(kills):
                if rng.random() < 0.5:  # the other half finds what the one before left
                    shutil.rmtree(home)
                    home.mkdir()
                running += ended(command, top, home, float(rng.uniform(0, whole))) is None
                changed += state(top) != before
            code = ended(command, top, home, 600.0)
            changed += state(top) != before
            print(f"| `{name}` | {kills} | {running} | {changed} | {code} |", flush=True)


if __name__ == "__main__":
    main()
