"""A gate on files that is asked three times, 10, 20 and 40 fresh runs a side: its risk over all looks.

Suites of ten benchmarks, margin 2 %, mean protocol, a third of the risk of 5 % for each look (`--look K/3`). What
passes is measured no more, a fail ends the gate, the rest goes on. Shares of gates that end in a pass, a fail, or
undecided after the last look; runs are those of each side of a benchmark, on average.

    python -m studies.gate_looks [GATES]
"""

from __future__ import annotations

import sys

import numpy as np
from studies.gate import ALPHA, BENCHMARKS, MARGIN, evidence_of

from speedproof.conclude.claims import MULTIPLICITIES

LOOKS = (10, 20, 40)
EDGE = 1 / (1 + MARGIN)
# The speedups of the benchmarks: of the first, and of the others.
SITUATIONS = {
    "nothing": (1.0, 1.0),
    "one lost 5 %": (1 / 1.05, 1.0),
    "one lost the margin, the others nothing": (EDGE, 1.0),
    "all lost just the margin": (EDGE, EDGE),
}


def outcomes(
    gates: int, noise: float, speedups: tuple[float, float], seed: int
) -> tuple[float, float, float]:
    """Shares of passes and of fails, and runs a side of a benchmark."""
    rng = np.random.default_rng(seed)
    level = np.full(BENCHMARKS, speedups[1])
    level[0] = speedups[0]
    correct = MULTIPLICITIES["holm"]
    is_open = np.ones((gates, BENCHMARKS), dtype=bool)
    failed = np.zeros(gates, dtype=bool)
    runs = 0.0
    for n in LOOKS:
        going = is_open.any(axis=1) & ~failed
        runs += n * float((is_open & going[:, None]).mean())
        x = level[:, None] * np.exp(noise * rng.standard_normal((gates, BENCHMARKS, n)))
        y = np.exp(noise * rng.standard_normal((gates, BENCHMARKS, n)))
        alpha = ALPHA / len(LOOKS)
        found = evidence_of(x, y, MARGIN, alpha, "mean")
        # Those that passed stay in the family, as if nothing spoke against them.
        against = np.where(is_open, found["regression"], 1.0)
        corrected = np.array([correct(row) for row in against])
        failed |= going & (corrected <= alpha).any(axis=1)
        is_open &= ~((found["not worse"] <= alpha) & going[:, None])
    passed = ~is_open.any(axis=1) & ~failed
    return float(passed.mean()), float(failed.mean()), runs


def main() -> None:
    """Print the table."""
    gates = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| noise of a run | changed | pass | fail | undecided | runs, mean |\n|---|---|---|---|---|---|")
    for noise in (0.01, 0.02, 0.05):
        for seed, (name, speedups) in enumerate(SITUATIONS.items()):
            passed, failed, runs = outcomes(gates, noise, speedups, seed)
            shares = " | ".join(f"{share:.1%}" for share in (passed, failed, 1 - passed - failed))
            print(f"| {noise:.0%} | {name} | {shares} | {runs:.0f} |", flush=True)


if __name__ == "__main__":
    main()
