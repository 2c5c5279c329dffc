"""Short commands as whole processes against `import click`, `suite` against `import scipy.stats`, in one run.

The original R tool needed 0.33 s for this configuration of 16 benchmarks on a machine where importing
scipy.stats took 0.75 s: a ratio of 0.44. Each command runs in turn, the medians are compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

CONFIG = Path(__file__).parents[1] / "tests" / "data" / "speedup_test_tool" / "plain.csv"
PROGRAM = ("-m", "speedproof")
COMPLETE = {
    "_SPEEDPROOF_COMPLETE": "bash_complete",
    "COMP_WORDS": "speedproof compare --",
    "COMP_CWORD": "2",
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "import click": ("-c", "import click"),
    "import numpy": ("-c", "import numpy"),
    "import scipy.stats": ("-c", "import scipy.stats"),
    "--version": (*PROGRAM, "--version"),
    "compare --help": (*PROGRAM, "compare", "--help"),
    "completion": PROGRAM,
    "suite": (*PROGRAM, "suite", str(CONFIG)),
}
ROUNDS = 11


def once(name: str) -> tuple[float, float]:
    """Seconds of wall and CPU time."""
    env = os.environ | (COMPLETE if name == "completion" else {})
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    before, start = os.times(), time.perf_counter()
    command = [sys.executable, *COMMANDS[name]]
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


def main() -> None:
    """Print the medians and the ratios."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for round_ in range(ROUNDS + 1):
        for name in COMMANDS:
            spent = once(name)
            if round_ > 0:  # the first round fills the caches
                times[name].append(spent)
    medians = {n: [statistics.median(kind) for kind in zip(*v, strict=True)] for n, v in times.items()}
    print("| command | wall | CPU | wall, of click's | wall, of scipy.stats' |\n|---|---|---|---|---|")
    click, scipy = medians["import click"][0], medians["import scipy.stats"][0]
    for name, (wall, cpu) in medians.items():
        print(
            f"| {name} | {1e3 * wall:.0f} ms | {1e3 * cpu:.0f} ms | {wall / click:.2f} | {wall / scipy:.3f} |"
        )


if __name__ == "__main__":
    main()
