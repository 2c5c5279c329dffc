"""The null distribution of the two levels of short series: quantiles by size, the worst of dependent noises.

``python -m studies.two_levels_null`` writes src/speedproof/stats/two_levels_null.json (about 2 minutes).
"""

from __future__ import annotations

import json
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from studies.change_points import autoregressive

from speedproof.arrays import FloatArray
from speedproof.stats.two_levels import separation

SIZES = (*range(8, 17), 18, 20, 22, 25, 30, 35, 50, 100, 300)
LEVELS = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002)
DEPENDENCE = (0.0, 0.3, 0.6)
SERIES, FEWEST, VALUES, PART = 400_000, 100_000, 12_000_000, 400_000
TARGET = Path(__file__).parent.parent / "src/speedproof/stats/two_levels_null.json"


def distances(n: int, rho: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Of normal and log-normal series."""
    rng = np.random.default_rng([n, seed])
    normal, skewed = [], []
    for _ in range(max(FEWEST, min(SERIES, VALUES // n)) // (PART // n)):
        x = autoregressive(rng, (PART // n, n), rho)
        normal.append(separation(x)[0])
        skewed.append(separation(np.exp(x))[0])
    return np.concatenate(normal), np.concatenate(skewed)


def quantiles(n: int) -> list[float]:
    """Those of the worst noise, at LEVELS from above."""
    found = [distances(n, rho, i) for i, rho in enumerate(DEPENDENCE)]
    rows = [np.quantile(x, 1.0 - np.array(LEVELS)) for both in found for x in both]
    return [round(max(float(q), 1.0), 3) for q in np.max(rows, axis=0)]


def main() -> None:
    """Write the table."""
    rows = []
    with Pool() as pool:
        for n, row in zip(SIZES, pool.imap(quantiles, SIZES), strict=True):
            rows.append(row)
            print(n, row, flush=True)
    table = {"sizes": SIZES, "levels": LEVELS, "quantiles": rows}
    TARGET.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
