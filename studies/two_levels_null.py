"""The null distribution of the two levels of short series: quantiles by size, the worst of dependent noises.

``python -m studies.two_levels_null`` writes src/speedproof/stats/two_levels_null.json (about 5 minutes).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from studies.change_points import autoregressive

from speedproof.arrays import FloatArray
from speedproof.stats.two_levels import separation

SIZES = (8, 9, 10, 12, 15, 20, 30, 50)
LEVELS = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002)
DEPENDENCE = (0.0, 0.3, 0.6)
SERIES, PART = 400_000, 20_000
TARGET = Path(__file__).parent.parent / "src/speedproof/stats/two_levels_null.json"


def distances(n: int, rho: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Of normal and log-normal series."""
    rng = np.random.default_rng([n, seed])
    normal, skewed = [], []
    for _ in range(SERIES // PART):
        x = autoregressive(rng, (PART, n), rho)
        normal.append(separation(x)[0])
        skewed.append(separation(np.exp(x))[0])
    return np.concatenate(normal), np.concatenate(skewed)


def main() -> None:
    """Write the table."""
    quantiles: list[list[float]] = []
    for n in SIZES:
        found = [distances(n, rho, i) for i, rho in enumerate(DEPENDENCE)]
        rows = [np.quantile(x, 1.0 - np.array(LEVELS)) for both in found for x in both]
        quantiles.append([round(max(float(q), 1.0), 3) for q in np.max(rows, axis=0)])
        print(n, quantiles[-1], flush=True)
        table = {"sizes": SIZES[: len(quantiles)], "levels": LEVELS, "quantiles": quantiles}
        TARGET.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
