"""The null distribution of the test of levels: quantiles by size, the worst over three strengths of dependence.

``python -m studies.levels_null`` writes src/speedproof/stats/levels_null.json (about 20 minutes).
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from studies.change_points import autoregressive

from speedproof.stats.levels import levels_statistic

# From 30, 52 and 65 on more steps are cheap.
SIZES = (
    *(12, 13, 14, 16, 18, 20, 23, 27, 29, 30, 34, 40, 51, 52, 64, 65, 80),
    *(100, 150, 200, 300, 500, 1000, 2000),
)
LEVELS = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001)
DEPENDENCE = (0.0, 0.3, 0.6)
TARGET = Path(__file__).parent.parent / "src/speedproof/stats/levels_null.json"


def quantiles(n: int, values: int) -> list[float]:
    """Quantiles of the statistic for series of n values, at LEVELS from above."""
    rows = max(6_000, min(100_000, values // n))
    worst = np.full(len(LEVELS), -np.inf)
    for i, rho in enumerate(DEPENDENCE):
        rng = np.random.default_rng([n, i])
        parts = np.array_split(np.arange(rows), max(1, rows * n // 400_000))
        drawn = [levels_statistic(autoregressive(rng, (part.size, n), rho))[0] for part in parts]
        worst = np.maximum(worst, np.quantile(np.concatenate(drawn), 1.0 - np.array(LEVELS)))
    return [round(float(q), 3) for q in worst]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=4_000_000, help="simulated a size and strength")
    values = parser.parse_args().values
    rows = []
    with Pool() as pool:
        for n, row in zip(SIZES, pool.imap(partial(quantiles, values=values), SIZES), strict=True):
            rows.append(row)
            print(n, row, flush=True)
    table = {"sizes": SIZES, "levels": LEVELS, "quantiles": rows}
    TARGET.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
