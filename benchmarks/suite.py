"""Time of whole suites: ``speedproof compare`` as a process, beside benchstat and a loop over scipy.stats.

Run it with the development environment: ``python benchmarks/suite.py [folder folder]``. The folders are of
pyperf's files, for example ``../shared/data/pyperf-jit-pairs/bm-...`` and its ``-JIT``; without them that part is
left out. A synthetic suite is written in the format of Go, which benchstat (golang.org/x/perf) reads, too:
it is run where it is on the path. Times are the least of three, and ratios are of one run on one machine.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import stats

from speedproof.conclude.suite import compare_suite
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Pairing
from speedproof.options import ASKED, DETAILS, QuestionName
from speedproof.protocols.pair import Rules

SIZES = ((122, 20), (1000, 30), (1000, 1000))


def seconds(*command: str, repeats: int = 3) -> float:
    """The least wall-clock time of a command."""
    least = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        least = min(least, time.perf_counter() - start)
    return float(least)


def pairs_of(benchmarks: int, runs: int) -> list[Pair]:
    """A suite whose versions differ by a percent or two."""
    rng = np.random.default_rng(benchmarks)
    found = []
    for i in range(benchmarks):
        gain = np.exp(rng.normal(0.0, 0.02))
        x, y = (scale * rng.lognormal(0.0, 0.03, runs) for scale in (gain, 1.0))
        found.append(Pair(Key(f"b{i}"), Sample(x), Sample(y)))
    return found


def scipy_loop(pairs: list[Pair]) -> None:
    """What a script would do: normality, variances, Welch, Mann-Whitney and Brunner-Munzel, pair by pair."""
    for pair in pairs:
        x, y = pair.reference.values, pair.candidate.values
        stats.shapiro(x)
        stats.shapiro(y)
        stats.ttest_ind(x, y, equal_var=False)
        stats.mannwhitneyu(x, y)
        stats.brunnermunzel(x, y)


def in_process(pairs: list[Pair], questions: tuple[QuestionName, ...]) -> float:
    """Seconds of the comparison alone."""
    start = time.perf_counter()
    compare_suite(Pairing(tuple(pairs), (), (), ()), ("old", "new"), "time", Rules(), questions)
    return time.perf_counter() - start


def go_files(folder: Path, pairs: list[Pair]) -> list[str]:
    """The pairs in the format of Go's benchmarks."""
    paths = []
    for side in ("reference", "candidate"):
        lines = ["goos: linux", "goarch: amd64", "pkg: example"]
        for pair in pairs:
            values = getattr(pair, side).values
            lines += [
                f"Benchmark{pair.key.benchmark.upper()}-8 1 {1e9 * value:.1f} ns/op" for value in values
            ]
        path = folder / f"{side}.txt"
        path.write_text("\n".join(lines) + "\nPASS\n", encoding="utf-8")
        paths.append(str(path))
    return paths


def main() -> None:
    """Print all times and ratios."""
    speedproof = str(Path(sys.executable).with_name("speedproof"))
    if len(sys.argv) > 2:
        print(
            f"{seconds(speedproof, 'compare', *sys.argv[1:3]):8.2f} s   speedproof compare {sys.argv[1]} ..."
        )
    benchstat = shutil.which("benchstat")
    for benchmarks, runs in SIZES:
        pairs = pairs_of(benchmarks, runs)
        asked, everything = (in_process(pairs, questions) for questions in (ASKED, DETAILS))
        few = pairs[: min(len(pairs), 100)]
        start = time.perf_counter()
        scipy_loop(few)
        loop = (time.perf_counter() - start) * len(pairs) / len(few)
        print(
            f"{benchmarks} benchmarks x {runs} runs: {asked:.2f} s for the sheet, {everything:.2f} s for "
            f"everything; a loop over SciPy {loop:.2f} s ({loop / asked:.1f} times as long)"
        )
        with tempfile.TemporaryDirectory() as folder:
            files = go_files(Path(folder), pairs)
            own = seconds(speedproof, "compare", *files, repeats=1 if runs > 100 else 3)
            line = f"  as a process {own:.2f} s"
            if benchstat:
                other = seconds(benchstat, *files)
                line += f"; benchstat {other:.2f} s ({own / other:.1f} times as long)"
            print(line + ("" if benchstat else "; benchstat is not installed"))


if __name__ == "__main__":
    main()
