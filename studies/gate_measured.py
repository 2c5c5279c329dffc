"""A gate that measures: how many suites pass that did not change, and how many regressions are found.

Suites of 20 benchmarks at a margin of 2 %: nothing changed; one benchmark lost 5 %; one lost exactly the margin,
which must not pass. Every benchmark is measured in pairs until its margin is proven lost or kept, up to a number
of pairs.

Run ``python studies/gate_measured.py [SUITES]``.
"""

from __future__ import annotations

import sys

import numpy as np

from speedproof.conclude.claims import Demand, StopRules, overall
from speedproof.conclude.looks import SequentialComparison

BENCHMARKS, MARGIN = 20, 0.02


def outcome(loss: float, noise: float, most: int, seed: int) -> tuple[str, float]:
    """What the gate says of a suite, and the pairs that it took for each benchmark."""
    found, pairs = [], 0
    for b in range(BENCHMARKS):
        rng = np.random.default_rng([seed, b])
        rules = StopRules(
            0.05, demand=Demand(margin=MARGIN), family=BENCHMARKS, max_blocks=most, max_time=None
        )
        comparison = SequentialComparison("b", ["X", "Y"], rules)
        while comparison.open() and comparison.blocks < most:
            x, y = np.exp(noise * rng.standard_normal(2))
            comparison.add({"X": float(x), "Y": float(y * (loss if b == 0 else 1.0))})
        found += [f.outcome for f in comparison.findings() if f.outcome]
        pairs += comparison.blocks
    return overall(found), pairs / BENCHMARKS


def main() -> None:
    """Print the table."""
    suites = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    print("| noise of a run | pairs at most | changed | pass | fail | undecided | pairs, mean |")
    print("|---|---|---|---|---|---|---|")
    for noise, most in ((0.01, 40), (0.02, 100)):
        for title, loss in (("nothing", 1.0), ("one lost 5 %", 1.05), ("one lost the margin", 1 + MARGIN)):
            answers = [outcome(loss, noise, most, seed) for seed in range(suites)]
            shares = " | ".join(
                f"{sum(a == kind for a, _ in answers) / suites:.0%}" for kind in ("pass", "fail", "undecided")
            )
            pairs = sum(p for _, p in answers) / suites
            print(f"| {noise:.0%} | {most} | {title} | {shares} | {pairs:.0f} |", flush=True)


if __name__ == "__main__":
    main()
