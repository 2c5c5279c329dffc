"""CPU time of reading Go benchmark text against benchstat, or against a bare loop where that is not installed.

    python benchmarks/go.py

Each reads the same files of some benchmarks x runs, as whole processes for benchstat.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from speedproof.formats import read

SIZES = ((122, 20), (1000, 300), (10_000, 30))


def written(path: Path, benchmarks: int, runs: int, seed: int) -> Path:
    """A file as ``go test -bench . -benchmem -count N`` prints it."""
    rng = np.random.default_rng(seed)
    lines = [
        f"BenchmarkThing{i}-8   \t  100000\t{x:10.1f} ns/op\t      64 B/op\t       2 allocs/op"
        for i in range(benchmarks)
        for x in rng.lognormal(4, 0.05, runs)
    ]
    path.write_text("\n".join(["goos: linux", "goarch: amd64", "pkg: x", *lines, "PASS", ""]))
    return path


def bare(path: Path) -> None:
    """The values by name, of lines that are all right."""
    found: dict[str, list[float]] = {}
    for line in path.read_text().split("\n"):
        if line.startswith("Benchmark"):
            words = line.split()
            found.setdefault(words[0], []).extend(map(float, words[2::2]))


def children(command: list[str]) -> float:
    """User and system time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line a size."""
    benchstat = shutil.which("benchstat")
    if benchstat is None:
        print("benchstat is not installed: its times are left out")
    for benchmarks, runs in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            old, new = (written(Path(folder) / f"{i}.txt", benchmarks, runs, i) for i in range(2))
            spent = []
            for call in (bare, lambda path: list(read(path, format="go"))):
                start = time.process_time()
                call(old)
                spent.append(time.process_time() - start)
            line = f"{benchmarks} x {runs}: bare loop {spent[0]:.2f} s, reader {spent[1]:.2f} s"
            if benchstat is not None:
                ours = children([sys.executable, "-m", "speedproof", "compare", str(old), str(new)])
                theirs = children([benchstat, str(old), str(new)])
                line += f"; compare {ours:.2f} s, benchstat {theirs:.2f} s, ratio {ours / theirs:.1f}"
            print(line)


if __name__ == "__main__":
    main()
