"""Real sessions of a program against itself: how often ``speedproof run`` says "faster" or "slower".

Each session is the command itself, up to 100 blocks, looked at after each and ended at the first proof, at a
risk of 5 % in each direction. The programs take about a millisecond.

    python studies/equal_programs.py [SESSIONS] [FIRST SEED]
"""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = ("true", "sort words.txt", "gzip -c words.txt", "awk '{n+=NF} END {print n}' words.txt")


def verdict(program: str, folder: str, seed: int) -> str:
    """What one session says."""
    done = subprocess.run(
        [sys.executable, "-m", "speedproof", "run", program, program, "--name", "one", "--name", "other",
         "--stop-at-proof", "--max-runs", "100", "--max-time", "600", "--seed", str(seed),
         "--save", f"{seed}.jsonl", "--json"],
        cwd=folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    Path(folder, f"{seed}.jsonl").unlink()
    (comparison,) = json.loads(done.stdout)["results"]
    return str(comparison["verdict"])


def main() -> None:
    """Print the table."""
    given = [int(text) for text in sys.argv[1:]]
    sessions, first = (given + [500, 0][len(given) :])[:2]
    print("| program | sessions | faster | slower | undecided |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "words.txt").write_text("\n".join(f"word {7919 * i % 1000}" for i in range(1000)))
        for number, program in enumerate(PROGRAMS):
            seeds = range(first + number, first + sessions, len(PROGRAMS))
            found = collections.Counter(verdict(program, folder, seed) for seed in seeds)
            counts = " | ".join(str(found[v]) for v in ("faster", "slower", "undecided"))
            print(f"| `{program}` | {len(seeds)} | {counts} |", flush=True)


if __name__ == "__main__":
    main()
