"""CPU time and memory of the commands on large input: a million runs a side, and a thousand benchmarks.

    python benchmarks/large.py [runs|suite|everything] [COMMAND ...]

``runs`` writes three files of a million values each, one a line, distinct and again rounded to four digits (many
ties), of which "versions" takes all and the others two; ``suite`` writes two of 1,000 benchmarks x 1,000 runs in
the format of Go. Every command is a process of its own. Its CPU time is also given as a ratio to that of a script
that only turns the files' lines into floats.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

MILLION = 1_000_000
BENCHMARKS, RUNS = 1_000, 1_000
READ = """
import sys
for name in sys.argv[1:]:
    for line in open(name):
        if line[0] != "g" and line[0] != "p":
            float(line.split()[-2:][0])
"""
ON_RUNS: dict[str, tuple[str, ...]] = {
    "compare": ("compare",),
    "compare --details": ("compare", "--details"),
    "gate": ("gate", "--margin", "1%"),
    "hpt": ("hpt",),
    "rank": ("rank",),
    "model": ("model",),
    "show": ("show",),
    "plot": ("plot", "-o", "{out}.png"),
    "html": ("compare", "--html", "{out}.html"),
    "versions": ("compare", "{third}"),
    "suite": ("suite",),
}
ON_A_SUITE: dict[str, tuple[str, ...]] = {
    "compare": ("compare",),
    "compare --details": ("compare", "--details"),
    "compare --json": ("compare", "--json"),
    "compare --html": ("compare", "--html", "{out}.html"),
    "gate": ("gate", "--margin", "1%"),
    "hpt": ("hpt",),
    "show": ("show",),
}


def write_runs(path: Path, values: np.ndarray, digits: int) -> None:
    """A file of one value a line."""
    path.write_text("".join(f"{value:.{digits}g}\n" for value in values.tolist()), encoding="utf-8")


def write_suite(path: Path, benchmarks: Sequence[str], values: np.ndarray, digits: int) -> None:
    """A file of Go's benchmarks: one row of values a benchmark, in nanoseconds."""
    with path.open("w", encoding="utf-8") as out:
        out.write("goos: linux\ngoarch: amd64\npkg: example\n")
        for name, row in zip(benchmarks, values, strict=True):
            out.writelines(f"Benchmark{name}-8 1 {value:.{digits}g} ns/op\n" for value in row.tolist())


def measured(command: Sequence[str]) -> tuple[float, float, float, int]:
    """CPU and wall-clock seconds, memory in GB, exit code."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        error = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == 2:
        print(error.decode()[-2000:])
    return used.ru_utime + used.ru_stime, used.ru_utime, used.ru_maxrss * 1024 / 1e9, process.returncode


def table(
    title: str, files: Sequence[Path], commands: dict[str, tuple[str, ...]], chosen: Sequence[str]
) -> None:
    """One line a command."""
    reading = measured([sys.executable, "-c", READ, *map(str, files[:2])])[0]
    print(f"{title}: reading alone {reading:.2f} s of CPU")
    with tempfile.TemporaryDirectory() as folder:
        for name, words in commands.items():
            if chosen and name not in chosen:
                continue
            out = f"{folder}/{name.replace(' ', '')}"
            options = [word.format(out=out, third=files[-1]) for word in words]
            command = [sys.executable, "-m", "speedproof", options[0]]
            if options[0] == "gate":
                command += ["--baseline", str(files[0]), "--candidate", str(files[1])]
            elif options[0] == "suite":
                config = files[0].with_name("config.csv")
                config.write_text(
                    f"Name,Sample1,Sample2\nB,{files[0].name},{files[1].name}\n", encoding="utf-8"
                )
                command.append(str(config))
            else:
                command += map(str, files[:2])
            cpu, _, memory, code = measured([*command, *options[1:]])
            sizes = "".join(f", writes {p.stat().st_size / 1e6:.2f} MB" for p in Path(folder).glob("*"))
            for written in Path(folder).glob("*"):
                written.unlink()
            print(f"  {name:18} {cpu:7.2f} s {cpu / reading:6.1f} x {memory:6.2f} GB  exit {code}{sizes}")


def main() -> None:
    """Print the tables asked for."""
    what, *chosen = sys.argv[1:] or ["everything"]
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        if what in ("runs", "everything"):
            for digits in (15, 4):
                files = [Path(folder) / f"{side}{digits}.txt" for side in ("old", "new", "newer")]
                for path, location in zip(files, (1.0, 0.98, 0.97), strict=True):
                    write_runs(path, location * rng.lognormal(0.0, 0.05, MILLION), digits)
                table(f"1 benchmark x 10^6 runs, {digits} digits", files, ON_RUNS, chosen)
        if what in ("suite", "everything"):
            names = [f"B{i}" for i in range(BENCHMARKS)]
            gains = np.exp(rng.normal(0.0, 0.02, (BENCHMARKS, 1)))
            files = [Path(folder) / f"{side}.txt" for side in ("old", "new")]
            for path, gain in zip(files, (gains, np.ones_like(gains)), strict=True):
                write_suite(path, names, 1e9 * gain * rng.lognormal(0.0, 0.03, (BENCHMARKS, RUNS)), 8)
            table(f"{BENCHMARKS:,} benchmarks x {RUNS:,} runs", files, ON_A_SUITE, chosen)


if __name__ == "__main__":
    main()
