"""Time Hierarchical Performance Testing: the article's table III, a suite of 120 benchmarks, and growth with size.

The r-speedup of table III has to come in less than 5 ms, that of 120 benchmarks x 60 runs in less than 2 s, and
the CPU time of large suites must not grow faster than their size.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.data.units import Direction
from speedproof.protocols.hpt import entries_of_pairs, hpt
from speedproof.protocols.hpt_levels import HptRule
from speedproof.protocols.results import Hpt

DATA = Path(__file__).parents[1] / "tests" / "data" / "oracle_hpt"


def best(call: Callable[[], object], repeats: int) -> float:
    """Least wall time of a call in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def table_3(side: str) -> list[Sample]:
    """Scores of one machine."""
    with (DATA / f"{side}.csv").open() as lines:
        scores = [[float(v) for v in row[1:]] for row in list(csv.reader(lines))[1:]]
    return [Sample(np.array(row), "", Direction.HIGHER) for row in scores]


def suite(benchmarks: int, runs: int, decimals: int | None, spread: float = 0.3) -> list[Pair]:
    """Random times over six orders of magnitude, gains of about 20 %, rounded so that they tie or not."""
    rng = np.random.default_rng(1)
    pairs = []
    for i in range(benchmarks):
        scale, gain = 10 ** rng.uniform(-3, 3), rng.normal(1.2, spread)
        x, y = rng.lognormal(0, 0.05, runs), rng.lognormal(0, 0.05, runs) / gain
        if decimals is not None:
            x, y = np.round(x, decimals), np.round(y, decimals)
        pairs.append(Pair(Key(str(i)), Sample(x * scale), Sample(y * scale)))
    return pairs


def whole(pairs: list[Pair], rule: HptRule = "exact", *, given: bool = False) -> Hpt:
    """From values to the answer."""
    return hpt(entries_of_pairs(pairs, given=given), [0.95, 0.99], rule=rule)


def main() -> None:
    """Print one line a workload."""
    sides = zip(table_3("table3_reduced_B"), table_3("table3_x176_A"), strict=True)
    table = [Pair(Key(str(i)), *pair) for i, pair in enumerate(sides)]
    rules: tuple[HptRule, HptRule] = ("paper", "exact")
    for rule in rules:
        seconds = best(partial(whole, table, rule=rule, given=True), 50)
        print(f"table III, {rule}: {1e3 * seconds:.2f} ms")
    for runs in (1, 5, 20, 60):
        for decimals in (None, 2):
            pairs = suite(120, runs, decimals)
            seconds = best(partial(whole, pairs), 2)
            kind = "" if decimals is None else f", {decimals} decimals"
            print(f"120 benchmarks x {runs} runs{kind}: {seconds:.3f} s")
    for benchmarks, decimals in ((1000, None), (1000, 2), (2000, None), (4000, None)):
        pairs = suite(benchmarks, 30, decimals, 0.1)
        start = time.process_time()
        whole(pairs)
        kind = "" if decimals is None else f", {decimals} decimals"
        print(f"{benchmarks} benchmarks x 30 runs{kind}: {time.process_time() - start:.2f} s of CPU time")


if __name__ == "__main__":
    main()
