"""Reading a pyperf file against `json.load` of it, and against pyperf's own loader where that is installed.

    python benchmarks/reading.py [FILE ...]

The largest of the files is read; without any, the largest pyperf file of the tests. All run in turn in one
process, the medians are compared.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from speedproof.formats import read

FIXTURES = Path(__file__).parents[1] / "tests" / "data" / "formats"
ROUNDS = 21


def with_json(path: Path) -> None:
    """What any reader in Python has to do at least."""
    with path.open(encoding="utf-8") as stream:
        json.load(stream)


def with_speedproof(path: Path) -> None:
    """The records of the file."""
    list(read(path, format="pyperf"))


def with_pyperf(path: Path) -> None:
    """Every value, as pyperf's own commands get them."""
    # no dependency of this project, not even of its development
    pyperf = import_module("pyperf")
    for benchmark in pyperf.BenchmarkSuite.load(str(path)):
        benchmark.get_values()


def main() -> None:
    """Print the medians and their ratios to `json.load`."""
    paths = [Path(name) for name in sys.argv[1:]] or list(FIXTURES.glob("pyperf*.json"))
    path = max(paths, key=lambda p: p.stat().st_size)
    readers: dict[str, Callable[[Path], None]] = {"json.load": with_json, "speedproof": with_speedproof}
    if find_spec("pyperf") is not None:
        readers["pyperf"] = with_pyperf
    times: dict[str, list[float]] = {name: [] for name in readers}
    for round_ in range(ROUNDS + 1):
        for name, reader in readers.items():
            start = time.perf_counter()
            reader(path)
            if round_ > 0:  # the first round imports the readers
                times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"{path}, {path.stat().st_size / 1e6:.2f} MB")
    for name, median in medians.items():
        print(f"{name:12} {1000 * median:8.2f} ms   {median / medians['json.load']:6.2f} of json.load")


if __name__ == "__main__":
    main()
