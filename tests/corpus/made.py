"""Small corpora of many benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from speedproof.corpus.build import Builder, build
from speedproof.corpus.place import Place
from speedproof.data.record import FileResults, Record
from speedproof.data.sample import Trait

Results = list[tuple[str, FileResults]]


def made_up(benchmarks: int, versions: int = 2, *, files: int = 4, n: int = 6, seed: int = 1) -> Results:
    """Files that hold records of every kind: nested, of several sessions, of two metrics, with tags and times."""
    rng = np.random.default_rng(seed)
    found = []
    for f in range(files):
        records = []
        for b in range(f, benchmarks, files):
            for v in range(versions):
                size = n if b % 3 else n + 2
                values = rng.normal(10 + b % 7, 1, size) * (1 if b % 5 or v == 0 else 0.8)
                records.append(Record(
                    f"bench/{b:05d}", values, metric="time" if b % 11 else "memory",
                    unit="s" if b % 11 else "B", version=f"v{v}",
                    processes=np.repeat(np.arange(size // 2), 2) if b % 4 == 0 else None,
                    path=f"file{f}.json", where=f"results[{b}]",
                    fields=(("cpu", "x"), ("host", f"ant{b % 2}")), traits=frozenset({Trait.ORDER_KNOWN}),
                    session=f"s{f}{v}" if b % 2 else "", span=(1.0 + v, 2.5 + v) if b % 2 else None,
                    tool="pyperf", position=b,
                ))  # fmt: skip
        found.append(("", FileResults(f"file{f}.json", tuple(records))))
    return found


def put(results: Results, folder: Path) -> Path:
    """A corpus of some results; like files that are there already, results given before are left out."""

    def found(builder: Builder) -> Iterator[tuple[str, FileResults]]:
        return (one for one in results if not builder.has(one[1].path))

    build(Place.of(folder), found)
    return folder
