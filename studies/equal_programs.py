"""Real sessions of a program against itself: how often ``speedproof run`` says "faster" or "slower".

Each session is the command itself, up to 50 blocks, looked at after each and ended at the first proof, at a
risk of 5 % in each direction. The programs take some milliseconds; of the last every second start in a row is a
third faster.

    python studies/equal_programs.py [SESSIONS [FIRST SEED [PROGRAM ...]]]
"""

from __future__ import annotations

import collections
import io
import json
import os
import sys
import tempfile
from pathlib import Path

from speedproof.cli.console import Console
from speedproof.cli.main import main as speedproof

BLOCKS = 50
PROGRAMS = (
    "true",
    "sort words.txt",
    "gzip -c words.txt",
    "awk '{n+=NF} END {print n}' words.txt",
    "sh trap.sh",
)
TRAP = "if [ -e again ]; then rm again; sleep 0.002; else touch again; sleep 0.003; fi"


def verdict(program: str, seed: int) -> str:
    """What one session says."""
    out = io.StringIO()
    code = speedproof(
        ["run", program, program, "--name", "one", "--name", "other", "--stop-at-proof", "--max-runs", str(BLOCKS),
         "--max-time", "600", "--seed", str(seed), "--save", f"{seed}.jsonl", "--json"],
        Console(out, io.StringIO()),
    )  # fmt: skip
    assert code == 0
    Path(f"{seed}.jsonl").unlink()
    (result,) = json.loads(out.getvalue())["results"]
    return str(result["comparisons"][0]["verdict"])


def main() -> None:
    """Print the table."""
    given = [int(text) for text in sys.argv[1:]]
    sessions, first = (given + [500, 0][len(given) :])[:2]
    programs = [PROGRAMS[number] for number in given[2:]] or PROGRAMS
    print("| program | sessions | faster | slower | undecided |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("words.txt").write_text("\n".join(f"word {7919 * i % 1000}" for i in range(1000)))
        Path("trap.sh").write_text(TRAP)
        for number, program in enumerate(programs):
            seeds = range(first + number, first + sessions, len(programs))
            found = collections.Counter(verdict(program, seed) for seed in seeds)
            counts = " | ".join(str(found[v]) for v in ("faster", "slower", "undecided"))
            print(f"| `{program}` | {len(seeds)} | {counts} |", flush=True)


if __name__ == "__main__":
    main()
