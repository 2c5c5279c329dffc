"""The null distribution of the two levels of short series: quantiles by size, the worst of dependent noises.

``python studies/two_levels_null.py`` writes src/speedproof/stats/two_levels_null.json (about 5 minutes).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from studies.change_scan_null import autoregression

from speedproof.arrays import FloatArray
from speedproof.stats.two_levels import separation

SIZES = (8, 9, 10, 12, 15, 20, 30, 50)
LEVELS = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002)
DEPENDENCE = (0.0, 0.3, 0.6)
GRIDS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)  # of rounded noise, in its deviations
SERIES, PART = 400_000, 20_000
TARGET = Path(__file__).parent.parent / "src/speedproof/stats/two_levels_null.json"


def distances(n: int, rho: float, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of normal and log-normal series; shares of rounded ones, grid by grid, that lie on two levels."""
    rng = np.random.default_rng([n, seed])
    normal, skewed, rounded = [], [], []
    for _ in range(SERIES // PART):
        x = autoregression(rng, (PART, n), rho)
        normal.append(separation(x)[0])
        skewed.append(separation(np.exp(x))[0])
        offset = rng.random((PART, 1))
        rounded.append([(separation(np.round(x / grid + offset))[0] > 5.0).mean() for grid in GRIDS])
    return np.concatenate(normal), np.concatenate(skewed), np.mean(rounded, axis=0)


def main() -> None:
    """Write the table."""
    quantiles, tied = [], []
    for n in SIZES:
        found = [distances(n, rho, i) for i, rho in enumerate(DEPENDENCE)]
        rows = [np.quantile(x, 1.0 - np.array(LEVELS)) for *both, _ in found for x in both]
        quantiles.append([round(max(float(q), 1.0), 3) for q in np.max(rows, axis=0)])
        tied.append(round(float(np.max([shares for *_, shares in found])), 5))
        print(n, quantiles[-1], tied[-1], flush=True)
        table = {"sizes": SIZES[: len(tied)], "levels": LEVELS, "quantiles": quantiles, "tied": tied}
        TARGET.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
