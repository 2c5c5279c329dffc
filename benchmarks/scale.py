"""`corpus compare` on Dask with one worker and two, with more by simulation, and what 10^10 runs take and cost.

    python benchmarks/scale.py [--comparisons N] [--runs N] [--workers N ...] [--vcpu-hour USD] ...

Two versions of N benchmarks of 30 runs are built and compared on a local cluster. All times are of CPU, for
busy machines: what the client spent, and a worker on average. The times of tasks come from one process;
simulated workers take them in order, each when it is free. What no worker does is the same command again when
all parts are answered, at two sizes. Prices are those that the manual states; give your own.
"""

from __future__ import annotations

import argparse
import heapq
import math
import tempfile
import time
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import speedproof as sp
from speedproof.corpus.build import ROWS, Builder, build
from speedproof.corpus.place import Place
from speedproof.corpus.read import parts_of
from speedproof.corpus.schema import File

distributed: Any = import_module("distributed")
corpus: Any = import_module("corpus")  # beside this file
growth: Any = import_module("growth")
N = corpus.N
BUILT = 300_000  # values in files whose reading is timed


def alone(folder: Path, out: Path) -> list[float]:
    """CPU seconds of one process: the start, each task, and the conclusion."""
    times = [time.process_time()]

    def note(*_: object) -> None:
        times.append(time.process_time())

    sp.Corpus(folder).compare("old", "new", out=out, workers=1, started=note, done=note)
    note()
    return [after - before for before, after in pairwise(times)]


def on_cluster(few: Path, folder: Path, out: Path, workers: int) -> tuple[float, float]:
    """CPU seconds of the client, and of a worker on average, after a few comparisons."""
    with (
        distributed.LocalCluster(
            workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        sp.Corpus(few).compare("old", "new", out=f"{out}-few", dask=cluster.scheduler_address)
        before, start = client.run(time.process_time), time.process_time()
        sp.Corpus(folder).compare("old", "new", out=out, dask=cluster.scheduler_address)
        spent = time.process_time() - start
        after = client.run(time.process_time)
    return spent, sum(after[name] - before[name] for name in before) / workers


def makespan(tasks: list[float], workers: int) -> float:
    """When the last of them ends, if each worker takes the next when it is free."""
    free = [0.0] * workers
    for task in tasks:
        heapq.heapreplace(free, free[0] + task)
    return max(free)


def size(folder: Path) -> int:
    """Bytes on disk."""
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def building(top: Path) -> float:
    """CPU seconds to read a value of Go's benchmarks into a corpus, beyond the start."""
    spent = []
    for values in (BUILT // 10, BUILT):
        growth.write_many(top, values)
        spent.append(float(growth.seconds(top, growth.MANY["corpus build, many"])))
    return (spent[1] - spent[0]) / (0.9 * BUILT)


def prices() -> argparse.Namespace:
    """What is asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--comparisons", type=int, default=5_000)
    parser.add_argument("--runs", type=float, default=1e10)
    parser.add_argument("--workers", type=int, nargs="*", default=[64, 256, 1000])
    parser.add_argument("--vcpu-hour", type=float, default=0.0408)
    parser.add_argument("--gb-month", type=float, default=0.023)
    parser.add_argument("--put", type=float, default=0.005, help="a thousand")
    parser.add_argument("--get", type=float, default=0.0004, help="a thousand")
    return parser.parse_args()


def tasks_of(comparisons: int, tasks: list[float], pair: float) -> list[float]:
    """Seconds of the tasks of so many comparisons, as uneven as those measured."""
    files = [
        File(f"data/{k:06x}/0.parquet", ROWS // 2, ROWS // 2 * N, 0)
        for k in range(math.ceil(4 * comparisons / ROWS))
    ]
    count = len(parts_of(files))
    scale = pair * comparisons / count / (sum(tasks) / len(tasks))
    return [scale * tasks[k % len(tasks)] for k in range(count)]


def main() -> None:
    """Print the figures of the manual's page."""
    asked = prices()
    n, vcpu = asked.comparisons, asked.vcpu_hour
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        to_build = building(top)
        ends = []
        for count in (n // 10, n):
            folder, out = top / str(count), top / f"{count}-0"
            rows = corpus.made_up(count)

            def found(builder: Builder, rows: Any = rows) -> Any:
                return rows

            build(Place.of(folder), found)
            _, *tasks, _ = alone(folder, out)
            ends.append(sum(alone(folder, out)))
        spent = [
            on_cluster(top / str(n // 10), folder, top / f"{n}-{workers}", workers) for workers in (1, 2)
        ]
        for part in out.glob("part*"):
            same = [
                (top / f"{n}-{workers}" / part.name).read_bytes() == part.read_bytes() for workers in (1, 2)
            ]
            assert all(same), "numbers of workers differ"
        a_run, a_row = size(folder) / (2 * N * n), size(out) / n
    a_pair, to_end = sum(tasks) / n, (ends[1] - ends[0]) / (0.9 * n)
    print("| comparisons, workers | client, s | a worker, s | times faster |\n|---|---|---|---|")
    for workers, (client, worker) in enumerate(spent, 1):
        print(f"| {n}, {workers} | {client:.1f} | {worker:.1f} | {sum(spent[0]) / (client + worker):.1f} |")
    million = tasks_of(1_000_000, tasks, a_pair)
    client = ends[1] + to_end * (1_000_000 - n)
    for workers in (1, 2, 64):
        worker = makespan(million, workers)
        print(
            f"| 1000000, {workers}, simulated | {client:.1f} | {worker:.1f} | "
            f"{(client + sum(million)) / (client + worker):.1f} |"
        )
    print(
        f"a run: build {1e6 * to_build:.1f} us, {a_run:.2f} bytes; a comparison: {1e3 * a_pair:.2f} ms, "
        f"conclusion {1e6 * to_end:.0f} us, {a_row:.0f} bytes"
    )
    whole = int(asked.runs / N) // 2
    many = tasks_of(whole, tasks, a_pair)
    gb = (a_run * asked.runs / 1e9, a_row * whole / 1e9)
    build_h, end_h = to_build * asked.runs / 3600, to_end * whole / 3600
    files = math.ceil(4 * whole / ROWS)
    requests = (files + len(many)) / 1000 * asked.put + 2 * files / 1000 * asked.get
    print(
        f"{asked.runs:.0e} runs, {whole:.2e} pairs: {gb[0]:.0f} GB in {files} files, answers {gb[1]:.0f} GB; "
        f"{len(many)} tasks of {sum(many) / len(many):.0f} s;\n"
        f"hours of CPU: build {build_h:.0f}, tasks {sum(many) / 3600:.0f}, conclusion {end_h:.1f}; "
        f"USD: storage {sum(gb) * asked.gb_month:.2f} a month, requests {requests:.2f}, "
        f"build {build_h * vcpu:.2f}, conclusion {end_h * vcpu:.2f}"
    )
    print("| workers | hours | USD |\n|---|---|---|")
    for workers in asked.workers:
        hours = makespan(many, workers) / 3600
        print(f"| {workers} | {hours:.2f} | {hours * workers * vcpu:.2f} |")


if __name__ == "__main__":
    main()
