"""How often parts of one real sample are told apart, with the noise floor and without.

    python studies/session_floor_files.py FOLDER...

Every sample of 24 values or more is cut into six consecutive parts, the sessions of one commit as it were: of each
two neighbours one is the reference, one the candidate, and the other four are what a store would hold. Printed
are the shares of verdicts in either direction, of which 10 % are stated, by folder.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

import speedproof as sp
from speedproof.stats.location import median_interval
from speedproof.stats.session_spread import session_spreads, widened
from speedproof.stats.superiority import typical_ratio

PARTS, ALPHA = 6, 0.05
FloatArray = npt.NDArray[np.float64]


def parts_of(suite: sp.Suite) -> list[list[FloatArray]]:
    """The parts of every sample that is long enough, of processes where it has as many."""
    found = []
    for sample in suite.samples.values():
        for values in (sample.per_process("median").values, sample.values):
            if values.size >= 4 * PARTS and values.min() > 0.0 and np.ptp(values) > 0.0:
                found.append(np.split(values[: values.size // PARTS * PARTS], PARTS))
                break
    return found


def verdicts(samples: list[list[FloatArray]], k: int) -> tuple[int, int]:
    """Of parts k and k + 1 of all samples of a file: false verdicts with the floor and without."""
    rest = [j for j in range(PARTS) if j not in (k, k + 1)]
    sessions = np.tile(rest, len(samples))
    locations, inside = [], []
    for parts in samples:
        for j in rest:
            low, high = (math.log(v) for v in median_interval(parts[j]))
            locations.append(math.log(float(np.median(parts[j]))))
            inside.append(((high - low) / 3.92) ** 2)
    series = np.repeat(np.arange(len(samples)), len(rest))
    spreads, _ = session_spreads(series, 0 * series, sessions, np.array(locations), np.array(inside))
    held = plain = 0
    for i, parts in enumerate(samples):
        found = typical_ratio(parts[k], parts[k + 1], ALPHA)
        at, runs = math.log(float(found.estimate)), (parts[k].size, parts[k + 1].size)
        for sign, p, end in ((1, found.pvalue, found.low), (-1, found.pvalue_less, found.high)):
            if p <= ALPHA:
                plain += 1
                width = abs(math.log(float(end)) - at)
                held += widened(width, ALPHA, runs, spreads[i], (1, 1)).pvalue(sign * at) <= ALPHA
    return held, plain


def main() -> None:
    """Print a row a folder."""
    print("| files | samples | without | with the floor |\n|---|---|---|---|")
    for folder in map(Path, sys.argv[1:]):
        count, told = 0, np.zeros(2)
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            try:
                samples = parts_of(sp.read(file))
            except sp.SpeedproofError:
                continue
            for k in range(PARTS - 1) if samples else ():
                told += verdicts(samples, k)
            count += len(samples)
        if count:
            held, plain = 100.0 * told / (count * (PARTS - 1))
            print(f"| {folder.name} | {count} | {plain:.0f} % | {held:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
