"""Regressions of the sizes that asv publishes, in the noise of real asv series: a table of docs/tables.md.

    python -m studies.asv_regressions FOLDER [--series 400]

FOLDER holds graphs that ``asv publish`` wrote, ``[[revision, value], ...]``; those of the table are two of
``graphs/summary`` of https://github.com/MDAnalysis/benchmarks (time_parse_GRO_file, time_bbox_no_pbc), 252 commits
with .5 and .6 % of noise. Noise is how far a series lies from the median of seven neighbours, in blocks of five
commits, as it is and scaled. Series have 40 to 80 commits and one or two steps of 5 to 50 %, five commits or more
from the ends and ten from each other. Columns: noise, shares of the steps that are found within five commits, by
size, and of all, changes that are none a series, series without a step that show one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from studies.history_labels import otava

from speedproof.arrays import FloatArray
from speedproof.stats.change_points import find_changes

LEAST, AROUND, BLOCK, NEAR, RISK = 30, 7, 5, 5, 0.05
TIMES, SIZES = (1.0, 2.0, 4.0), (0.05, 0.1, 0.2, 0.5)


def residuals(folder: str) -> list[FloatArray]:
    """Of every long series."""
    found = []
    for file in sorted(Path(folder).glob("*.json")):
        values = [value for _, value in json.loads(file.read_text(encoding="utf-8")) if value]
        if len(values) >= LEAST:
            level = np.log(values)
            padded = np.pad(level, AROUND // 2, mode="reflect")
            windows = np.lib.stride_tricks.sliding_window_view(padded, AROUND)
            found.append(level - np.median(windows, axis=1))
    return found


def drawn(rng: np.random.Generator, known: list[FloatArray], n: int) -> FloatArray:
    """Noise of n commits like that of one of the series."""
    one = known[rng.integers(len(known))]
    starts = rng.integers(one.size - BLOCK + 1, size=n // BLOCK + 1)
    return np.concatenate([one[start : start + BLOCK] for start in starts])[:n]


def stepped(rng: np.random.Generator, n: int) -> dict[int, float]:
    """One or two steps, up or down: their places and logarithms."""
    first = int(rng.integers(NEAR, n - NEAR))
    second = int(rng.integers(NEAR, n - NEAR))
    places = [first, second] if rng.random() < 0.5 and abs(first - second) >= 2 * NEAR else [first]
    sizes = np.exp(rng.uniform(np.log(SIZES[0]), np.log(SIZES[-1]), len(places)))
    return {at: float(rng.choice([-1, 1]) * np.log1p(size)) for at, size in zip(places, sizes, strict=True)}


def main() -> None:
    """Print a row a tool and noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--series", type=int, default=400)
    asked = parser.parse_args()
    known = residuals(asked.folder)
    tools: dict[str, Callable[[FloatArray], list[int]]] = {
        "speedproof": lambda x: [change.split for change in find_changes(x, RISK)]
    }
    if (other := otava()) is not None:
        tools["Otava, p = .001"] = other
    print(
        f"{len(known)} series\n\n| tool | noise | 5 to 10 % | 10 to 20 % | 20 to 50 % | all | invented | none |"
    )
    print("|---" * 8 + "|")
    for times in TIMES:
        rng = np.random.default_rng(29)
        plain = [times * drawn(rng, known, int(rng.integers(40, 81))) for _ in range(asked.series)]
        steps = [stepped(rng, x.size) for x in plain]
        changed = [
            x + sum(size * (np.arange(x.size) >= at) for at, size in own.items())
            for x, own in zip(plain, steps, strict=True)
        ]
        for name, tool in tools.items():
            sizes: list[tuple[float, bool]] = []
            invented = 0
            for x, own in zip(changed, steps, strict=True):
                places = tool(x)
                sizes += [
                    (abs(np.expm1(abs(size))), any(abs(k - at) <= NEAR for k in places))
                    for at, size in own.items()
                ]
                invented += sum(all(abs(k - at) > NEAR for at in own) for k in places)
            shares = [
                np.mean([hit for size, hit in sizes if low <= size <= high])
                for low, high in [*pairwise(SIZES), (0.0, 1.0)]
            ]
            alarmed = np.mean([bool(tool(x)) for x in plain])
            cells = [f"{100 * share:.0f} %" for share in shares]
            print(
                f"| {name} | {times:g} times | {' | '.join(cells)} | {invented / asked.series:.2f} "
                f"| {100 * alarmed:.1f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
