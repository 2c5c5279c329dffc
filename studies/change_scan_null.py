"""The null distribution of the change scan: quantiles by size, the worst over three strengths of dependence.

``python studies/change_scan_null.py`` writes src/speedproof/stats/change_scan_null.json (about 15 minutes).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from speedproof.arrays import FloatArray
from speedproof.stats.change_scan import scan_statistic

SIZES = (8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300, 500, 1000, 2000, 4000)
LEVELS = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002)
DEPENDENCE = (0.0, 0.3, 0.6)
VALUES = 24_000_000  # simulated a size and strength
TARGET = Path(__file__).parent.parent / "src/speedproof/stats/change_scan_null.json"


def autoregression(rng: np.random.Generator, shape: tuple[int, int], rho: float) -> FloatArray:
    """Stationary normal series of variance 1 along the last axis."""
    x = rng.standard_normal(shape)
    x[:, 1:] *= np.sqrt(1.0 - rho**2)
    for t in range(1, shape[1] if rho else 0):
        x[:, t] += rho * x[:, t - 1]
    return x


def quantiles(n: int) -> list[float]:
    """Quantiles of the statistic for series of n values, at LEVELS from above."""
    rows = max(20_000, min(200_000, VALUES // n))
    worst = np.zeros(len(LEVELS))
    for i, rho in enumerate(DEPENDENCE):
        rng = np.random.default_rng([n, i])
        drawn: list[FloatArray] = []
        left = rows
        while left > 0:
            part = min(left, max(1, 400_000 // n))
            drawn.append(scan_statistic(autoregression(rng, (part, n), rho))[0])
            left -= part
        worst = np.maximum(worst, np.quantile(np.concatenate(drawn), 1.0 - np.array(LEVELS)))
    return [round(float(q), 4) for q in worst]


def main() -> None:
    """Write the table."""
    rows = []
    for n in SIZES:
        rows.append(quantiles(n))
        print(n, rows[-1], flush=True)
        table = {"sizes": SIZES[: len(rows)], "levels": LEVELS, "quantiles": rows}
        TARGET.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
