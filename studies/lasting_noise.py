"""False alarms of change points where dependent noise is not normal: a table of docs/tables.md.

    python studies/lasting_noise.py

Shares of series without a change, in %, that are said to change at a risk of 5 %. The lag-1 correlation is .6.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from speedproof.arrays import FloatArray
from speedproof.stats.change_points import change_pvalues

SERIES, RISK, RHO, WARM_UP = 3000, 0.05, 0.6, 100
SIZES = (20, 40, 100, 200, 500)


def autoregression(
    rng: np.random.Generator, n: int, draw: Callable[[tuple[int, int]], FloatArray]
) -> FloatArray:
    """Rows of n values, each RHO times the one before and an innovation."""
    x = draw((SERIES, n + WARM_UP))
    for t in range(1, n + WARM_UP):
        x[:, t] += RHO * x[:, t - 1]
    return x[:, WARM_UP:]


def modes(rng: np.random.Generator, n: int) -> FloatArray:
    """Two modes, the slower one in 30 %; the next commit keeps its own with a probability of RHO, else draws."""
    slow = rng.random((SERIES, n)) < 0.3
    kept = rng.random((SERIES, n)) < RHO
    for t in range(1, n):
        slow[:, t] = np.where(kept[:, t], slow[:, t - 1], slow[:, t])
    return 2.1 * slow + 0.2 * rng.standard_normal((SERIES, n))


KINDS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda rng, n: autoregression(rng, n, rng.standard_normal),
    "normal, rounded to 2 deviations": lambda rng, n: np.round(
        autoregression(rng, n, rng.standard_normal) / 2.5
    ),
    "exponential innovations": lambda rng, n: autoregression(rng, n, rng.standard_exponential),
    "modes that last": modes,
}


def main() -> None:
    """Print the table."""
    print("| noise | " + " | ".join(f"{n} commits" for n in SIZES) + " |\n|---" + "|---" * len(SIZES) + "|")
    for kind, draw in KINDS.items():
        shares = [
            100.0 * float((change_pvalues(draw(np.random.default_rng([n, 7]), n)) <= RISK).mean())
            for n in SIZES
        ]
        print(f"| {kind} | " + " | ".join(f"{share:.1f}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
