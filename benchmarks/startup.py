"""`speedproof suite` as a whole process against `import scipy.stats` and `import numpy`, in one run.

The original R tool needed 0.33 s for this configuration of 16 benchmarks on a machine where importing
scipy.stats took 0.75 s: a ratio of 0.44. Each command runs in turn, the medians are compared.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

CONFIG = Path(__file__).parents[1] / "tests" / "data" / "speedup_test_tool" / "plain.csv"
COMMANDS = {
    "import scipy.stats": [sys.executable, "-c", "import scipy.stats"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "speedproof suite": [sys.executable, "-m", "speedproof", "suite", str(CONFIG)],
}
ROUNDS = 11


def main() -> None:
    """Print the medians and the ratios."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for round_ in range(ROUNDS + 1):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            if round_ > 0:  # the first round fills the caches
                times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, median in medians.items():
        print(f"{name:20} {1000 * median:6.0f} ms")
    ratio = medians["speedproof suite"] / medians["import scipy.stats"]
    print(f"ratio to scipy.stats {ratio:6.2f}   (the R tool: 0.44; wanted: at most 0.45)")


if __name__ == "__main__":
    main()
