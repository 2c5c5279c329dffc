"""Comparing a corpus: time and memory from 10^3 comparisons on, one core and two, beside a loop over SciPy.

``python benchmarks/corpus.py [LARGEST]``: 30 runs a side, the three protocols of the articles with bounds.

The ratio of wall times says what it should on an idle machine only. "of CPU" takes the CPU time of one process
over that of the parent of two, whose work is in series, and half of its workers'.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from speedproof.corpus.build import Builder, build
from speedproof.corpus.place import Place
from speedproof.data.record import FileResults, Record

FloatArray = npt.NDArray[np.float64]
N = 30
SCIPY_PAIRS = 20
CHUNK = 1000


def made_up(pairs: int) -> Iterator[tuple[str, FileResults]]:
    """Two versions of so many benchmarks, some thousand samples a file."""
    rng = np.random.default_rng(1)
    for at in range(0, pairs, CHUNK):
        path = f"{at}.json"
        records = []
        for k in range(at, min(at + CHUNK, pairs)):
            for v, mean in (("old", 10.0), ("new", 10.0 * (0.97 if k % 3 else 1.0))):
                values = np.exp(0.05 * rng.standard_normal(N)) * mean
                records.append(Record(f"bench/{k:07d}", values, version=v, path=path))
        yield "", FileResults(path, tuple(records))


def scipy_pair(x: FloatArray, y: FloatArray) -> None:
    """The tests of figures 1 and 2 and of a single run, with bounds by bisection of two of them."""
    from scipy import optimize, stats

    stats.shapiro(x)
    stats.shapiro(y)
    stats.f.sf(x.var(ddof=1) / y.var(ddof=1), N - 1, N - 1)
    stats.ks_2samp(x - np.median(x), y - np.median(y))
    for side in ("greater", "less"):
        stats.ttest_ind(x, y, alternative=side)
        stats.mannwhitneyu(x, y, alternative=side)
        stats.brunnermunzel(x, y, alternative=side)
        for test, more in ((stats.ttest_ind, {"equal_var": False}), (stats.mannwhitneyu, {})):

            def over(g: float, test: Any = test, side: str = side, more: Any = more) -> float:
                return float(test(x, g * y, alternative=side, **more).pvalue) - 0.05

            optimize.brentq(over, 0.5, 2.0, xtol=1e-6)


def scipy_loop(pairs: int) -> float:
    """CPU seconds a pair."""
    rng = np.random.default_rng(1)
    start = time.process_time()
    for _ in range(pairs):
        scipy_pair(*np.exp(0.05 * rng.standard_normal((2, N))))
    return (time.process_time() - start) / pairs


def one(folder: str, out: str, workers: int) -> None:
    """Compare, and say how long it took and how much memory each process had at most."""
    import speedproof as sp

    start = time.perf_counter()
    found = sp.Corpus(folder).compare(
        "old", "new", protocols=("mean", "median", "single run"), out=out, workers=workers
    )
    wall = time.perf_counter() - start
    if (
        workers > 1
    ):  # workers are children of the process that they were forked from, which must end to be counted
        forkserver._forkserver._stop()  # type: ignore[attr-defined]
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = [u.ru_utime + u.ru_stime for u in usage]
    memory = max(u.ru_maxrss for u in usage) / 1024
    print(found.conclusion.comparisons, wall, *cpu, memory, found.conclusion.parts)


def measured(*argv: str) -> list[float]:
    """What a fresh process prints."""
    done = subprocess.run([sys.executable, __file__, *argv], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main(largest: int) -> None:
    """Print the table."""
    scipy = scipy_loop(SCIPY_PAIRS)
    print(f"SciPy loop: {1e3 * scipy:.1f} ms CPU a pair")
    titles = (
        "comparisons",
        "build, s",
        "size, MB",
        "1 worker, s",
        "CPU, ms a pair",
        "2 workers, s",
        "ratio",
        "of CPU",
    )
    print(f"| {' | '.join((*titles, 'memory, MB', 'tasks'))} |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    pairs = 1000
    while pairs <= largest:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            rows = made_up(pairs)

            def found(builder: Builder, rows: Iterator[tuple[str, FileResults]] = rows) -> Iterator[Any]:
                return rows

            manifest = build(Place.of(f"{folder}/c"), found)
            built = time.perf_counter() - start
            size = sum(f.bytes for f in manifest.files) / 1e6
            _, wall, cpu, _, memory, parts = measured(f"{folder}/c", f"{folder}/1", "1")
            _, wall2, parent, workers, memory2, _ = measured(f"{folder}/c", f"{folder}/2", "2")
            same = all(
                Path(folder, "2", p.name).read_bytes() == p.read_bytes()
                for p in Path(folder, "1").glob("part*")
            )
            assert same, "one process and two differ"
            of_cpu = cpu / (parent + workers / 2)
            print(
                f"| {pairs} | {built:.1f} | {size:.1f} | {wall:.1f} | {1e3 * cpu / pairs:.2f} | {wall2:.1f} | "
                f"{wall / wall2:.2f} | {of_cpu:.2f} | {memory:.0f}, {memory2:.0f} | {parts:.0f} |",
                flush=True,
            )
            print(f"SciPy / speedproof, CPU: {scipy / (cpu / pairs):.0f}", flush=True)
        pairs *= 10


if __name__ == "__main__":
    if len(sys.argv) > 2:
        one(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000)
