"""Which position in a block is faster, and why: pieces of the runner's work switched off and moved.

One binary against itself, in blocks of two runs. What the runner does between two runs can make the next one
slower: because time passes, because the processor idles, or because the work leaves cold caches behind. Each
arrangement takes some of that work, before the first or before the second run of every block, and is judged by
the ratio of the second run's time to the first's; a sign test says whether one position is faster. All
arrangements take turns, so that all see the same machine.

    python benchmarks/positions.py
    taskset -c 1 python benchmarks/positions.py

Pinned to one CPU, the runner and the program share all of its caches.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

from speedproof.conclude.claims import StopRules
from speedproof.conclude.looks import SequentialComparison
from speedproof.data.session_file import RunLine
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.plan import Hooks, plan_commands
from speedproof.measuring.runs import block_order
from speedproof.measuring.store import ResultsFile

ROUNDS = 30
BLOCKS = 100
NAMES = ("one", "other")
(BENCHMARK,) = plan_commands(["/bin/true", "/bin/true"], list(NAMES), {}, Hooks())
ORDERS = [block_order((0, 1), seed=1, benchmark=0, block=block) for block in range(ROUNDS * BLOCKS)]
# What is compared was drawn beforehand, so that the comparison has the same work in all arrangements.
NOISE = np.exp(0.02 * np.random.default_rng(1).standard_normal((ROUNDS * BLOCKS, 2))).tolist()


class Arrangement:
    """Blocks with some work before the first and some before the second run.

    Parameters
    ----------
    store : ResultsFile or None
        Every run is appended to it, right after it.
    first, second : callable
        Given the arrangement, the work.
    """

    def __init__(
        self,
        store: ResultsFile | None,
        first: Callable[[Arrangement], object],
        second: Callable[[Arrangement], object],
    ) -> None:
        self.store = store
        self.work = (first, second)
        self.race = SequentialComparison("b", NAMES, StopRules(0.05, min_blocks=10**9))
        self.times: list[list[float]] = []
        self.gaps: list[list[float]] = []

    def measure(self, executor: CommandExecutor) -> None:
        """Measure some blocks."""
        for _ in range(BLOCKS):
            block, times, gaps = len(self.times), [], []
            ended = time.perf_counter()
            for position, index in enumerate(ORDERS[block]):
                self.work[position](self)
                gaps.append(time.perf_counter() - ended)
                run = executor.measure(BENCHMARK.versions[index])
                ended = time.perf_counter()
                times.append(run.metrics["time"])
                if self.store is not None:
                    self.store.append(RunLine("s", "b", NAMES[index], block, position, 1.0, run.metrics))
            self.times.append(times)
            self.gaps.append(gaps)


def nothing(arrangement: Arrangement) -> None:
    """No work."""


def draw(arrangement: Arrangement) -> None:
    """Draw the order of a block."""
    block_order(NAMES, seed=1, benchmark=0, block=len(arrangement.times))


def compare(arrangement: Arrangement) -> None:
    """Add a block to the comparison."""
    arrangement.race.add(dict(zip(NAMES, NOISE[len(arrangement.times)], strict=True)))


def both(arrangement: Arrangement) -> None:
    """Compare, then draw."""
    compare(arrangement)
    draw(arrangement)


def wait(arrangement: Arrangement) -> None:
    """Look at the clock for 0.3 ms: time passes, caches stay."""
    end = time.perf_counter_ns() + 300_000
    while time.perf_counter_ns() < end:
        pass


def sleep(arrangement: Arrangement) -> None:
    """Let the processor idle for 0.3 ms."""
    time.sleep(300e-6)


def reading(mebibytes: int) -> Callable[[Arrangement], object]:
    """Read so much memory, which throws everything else out of caches of that size."""
    memory = np.ones(mebibytes << 17)
    return lambda arrangement: memory.sum()


def main() -> None:
    """Print the table."""
    executor = CommandExecutor()
    with tempfile.TemporaryDirectory() as folder, ResultsFile(Path(folder) / "runs.jsonl") as store:
        arrangements = {
            "nothing": Arrangement(None, nothing, nothing),
            "the results file, after every run": Arrangement(store, nothing, nothing),
            "the same; the order drawn before the first": Arrangement(store, draw, nothing),
            "the same; order and comparison before the first": Arrangement(store, both, nothing),
            "the same; order and comparison before the second": Arrangement(store, nothing, both),
            "the same; comparison before the first, order before the second": Arrangement(
                store, compare, draw
            ),
            "waiting 0.3 ms before the first": Arrangement(None, wait, nothing),
            "sleeping 0.3 ms before the first": Arrangement(None, sleep, nothing),
            "reading 8 MiB before the first": Arrangement(None, reading(8), nothing),
            "reading 8 MiB before the second": Arrangement(None, nothing, reading(8)),
            "reading 40 MiB before the first": Arrangement(None, reading(40), nothing),
        }
        for _ in range(ROUNDS):
            for arrangement in arrangements.values():
                arrangement.measure(executor)
    print("| between runs | before first, second | second / first | second faster | sign test |")
    print("|---|---|---|---|---|")
    for name, arrangement in arrangements.items():
        first, second = np.array(arrangement.times).T
        gaps = 1e6 * np.median(arrangement.gaps, axis=0)
        faster, n = int(np.sum(second < first)), first.size
        print(
            f"| {name} | {gaps[0]:.0f}, {gaps[1]:.0f} µs | {np.median(second / first):.4f} | "
            f"{100 * faster / n:.1f} % | p = {stats.binomtest(faster, n).pvalue:.2g} |"
        )


if __name__ == "__main__":
    main()
