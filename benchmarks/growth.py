"""CPU time of the commands on 10^3 to 10^6 values, and how it grows.

    python benchmarks/growth.py [--plot PICTURE] [COMMAND ...]

Half of the values are each version's: one benchmark in files of a number a line; and benchmarks of 30 runs a side
in the format of Go. Every command is a process of its own; its least time counts as start-up. The exponent is the
slope of the last tenfold, on logarithmic scales, of the time above that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SIZES = (60, 1_000, 10_000, 100_000, 1_000_000)
RUNS = 30
LONG = 60.0  # seconds; what takes so long is not asked of ten times as many values
ONE: dict[str, str] = {
    "show": "show {old} {new}",
    "compare": "compare {old} {new}",
    "compare --details": "compare --details {old} {new}",
    "gate": "gate --margin 1% --baseline {old} --candidate {new}",
    "hpt": "hpt {old} {new}",
    "rank": "rank {old} {new}",
    "model": "model {old} {new}",
    "plot": "plot {old} {new} -o {folder}/plot.png",
    "suite": "suite {folder}/config.csv",
}
MANY: dict[str, str] = {
    "show, many": "show {old} {new}",
    "compare, many": "compare {old} {new}",
    "compare --details, many": "compare --details {old} {new}",
    "gate, many": "gate --margin 1% --baseline {old} --candidate {new}",
    "hpt, many": "hpt {old} {new}",
    "rank, many": "rank {old} {new}",
    "compare --html, many": "compare {old} {new} --html {folder}/report.html",
    "corpus build, many": "corpus build old={old} new={new} -o {folder}/corpus",
    "corpus compare, many": "corpus compare {folder}/corpus --reference old --candidate new --workers 1",
    "corpus compare --details, many": "corpus compare --details {folder}/corpus --reference old --candidate new "
    "--workers 1",
    "history add, many": "history add v1={old} v2={new} --store {folder}/history.db",
}


def write_one(folder: Path, values: int) -> None:
    """Two files of numbers, and the configuration of a suite."""
    rng = np.random.default_rng(values)
    for name, location in (("old", 1.0), ("new", 0.98)):
        x = location * rng.lognormal(0.0, 0.05, values // 2)
        (folder / f"{name}.txt").write_text("".join(f"{value:.15g}\n" for value in x.tolist()))
    (folder / "config.csv").write_text("Name,Sample1,Sample2\nB,old.txt,new.txt\n")


def write_many(folder: Path, values: int) -> None:
    """Two files of Go's benchmarks, of which the new version wins about three in four."""
    rng = np.random.default_rng(values)
    count = max(values // (2 * RUNS), 1)
    gains = np.exp(rng.normal(0.01, 0.015, (count, 1)))
    for name, gain in (("old", gains), ("new", np.ones_like(gains))):
        rows = 1e6 * gain * rng.lognormal(0.0, 0.03, (count, RUNS))
        lines = [
            f"BenchmarkB{i}-8 1 {value:.1f} ns/op\n" for i, row in enumerate(rows.tolist()) for value in row
        ]
        (folder / f"{name}.txt").write_text("".join(["goos: linux\n", "pkg: example\n", *lines]))


def seconds(folder: Path, command: str) -> float:
    """Of CPU, by a command and its children."""
    for kept in ("corpus",) if command.startswith("corpus build") else ():
        shutil.rmtree(folder / kept, ignore_errors=True)
    places = {"old": folder / "old.txt", "new": folder / "new.txt", "folder": folder}
    words = [word.format(**places) for word in command.split()]
    before = os.times()
    done = subprocess.run([sys.executable, "-m", "speedproof", *words], capture_output=True, check=False)
    after = os.times()
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{command}: {done.stderr.decode()[-500:]}")
    return after.children_user + after.children_system - before.children_user - before.children_system


def slope(times: list[float]) -> float:
    """Of the last tenfold, on logarithmic scales, above the start-up; NaN where that is all."""
    before, last = (own - min(times) for own in times[-2:])
    return float(np.log10(last / before)) if before > 0.1 * min(times) else float("nan")


def drawn(path: str, times: dict[str, list[float]]) -> None:
    """On logarithmic scales, one benchmark beside many."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams.update({"svg.hashsalt": "speedproof", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True, layout="constrained")
    for axes, part, title in zip(
        both, (ONE, MANY), ("one benchmark", f"benchmarks of {RUNS} runs a side"), strict=True
    ):
        axes.set_prop_cycle(color=[mpl.colormaps["tab20"](k) for k in range(20)])
        for name in filter(times.get, part):
            axes.loglog(
                SIZES[1 : len(times[name])], times[name][1:], "o-", ms=3, label=name.removesuffix(", many")
            )
        axes.loglog(SIZES[1:], [1e-4 * size for size in SIZES[1:]], ":", color="#8c8c8c", label="slope 1")
        axes.set(xlabel="values", title=title)
        axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    both[0].set(ylabel="s of CPU")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print a line a command."""
    chosen = sys.argv[1:]
    picture = ""
    if chosen[:1] == ["--plot"]:
        picture, chosen = chosen[1], chosen[2:]
    times: dict[str, list[float]] = {}
    for commands, write in ((ONE, write_one), (MANY, write_many)):
        for size in SIZES:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                write(folder, size)
                for name, command in commands.items():
                    own = times.setdefault(name, [])
                    if (not chosen or name in chosen) and max(own, default=0.0) < LONG:
                        own.append(seconds(folder, command))
                        print(f"{size} {name}: {own[-1]:.2f} s", file=sys.stderr)
    print("| command | start-up | " + " | ".join(f"{size:,}" for size in SIZES[1:]) + " | exponent |")
    print("|---" * (len(SIZES) + 2) + "|")
    for name, own in ((name, own) for name, own in times.items() if own):
        cells = [f"{t:.2f}" for t in own] + [""] * (len(SIZES) - len(own))
        print(f"| {name} | {' | '.join(cells)} | {slope(own):.2f} |")
    if picture:
        drawn(picture, times)


if __name__ == "__main__":
    main()
