"""A gate with little time on a noisy machine: how many equal suites pass, and how many regressions are caught.

Suites of 10 benchmarks at a margin of 5 %, measured for ten minutes at most: nothing changed; one benchmark takes
10 % longer; one takes exactly the margin longer, which must not pass. Times are drawn and added up as a clock
would; benchmarks take turns in rounds of 10, 20, 40, ... pairs, as the gate measures, and share the time that is
left. Noise is of logarithms: normal, or skewed (exponential) with the same deviation.

Run ``python studies/gate_budget.py [SUITES]``.
"""

from __future__ import annotations

import sys

import numpy as np

from speedproof.conclude.claims import Demand, StopRules, overall
from speedproof.conclude.looks import SequentialComparison

BENCHMARKS, MARGIN, BUDGET, FIRST_ROUND = 10, 0.05, 600.0, 10


def drawn(rng: np.random.Generator, noise: float, skewed: bool) -> tuple[float, float]:
    """Relative times of a pair of runs."""
    x, y = rng.standard_exponential(2) - 1 if skewed else rng.standard_normal(2)
    return float(np.exp(noise * x)), float(np.exp(noise * y))


def outcome(run: float, loss: float, noise: float, skewed: bool, seed: int) -> tuple[str, float]:
    """What the gate says of a suite whose runs take ``run`` seconds, and the seconds that it measured."""
    rules = StopRules(0.05, demand=Demand(margin=MARGIN), family=BENCHMARKS, max_time=BUDGET)
    suite = [SequentialComparison(f"b{b}", ["X", "Y"], rules) for b in range(BENCHMARKS)]
    draws = [np.random.default_rng([seed, b]) for b in range(BENCHMARKS)]
    clock, blocks = 0.0, FIRST_ROUND
    open_ = list(range(BENCHMARKS))
    while open_ and clock < BUDGET:
        for place, b in enumerate(open_):
            start, share = clock, (BUDGET - clock) / (len(open_) - place)
            most = blocks if len(open_) > 1 else np.inf
            while suite[b].blocks < most and suite[b].open() and clock - start < share:
                x, y = drawn(draws[b], noise, skewed)
                y *= loss if b == 0 else 1.0
                clock += run * (x + y)
                suite[b].add({"X": x, "Y": y})
        open_ = [b for b in open_ if suite[b].open()]
        blocks *= 2
    return overall([f.outcome for c in suite for f in c.findings() if f.outcome]), clock


def main() -> None:
    """Print the table."""
    suites = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print("| noise | a run takes | equal: pass | minutes | 10 % slower: fail | minutes | 5 % slower: pass |")
    print("|---|---|---|---|---|---|---|")
    for noise, skewed, run in (
        (0.05, False, 0.5),
        (0.1, False, 0.1),
        (0.1, False, 0.2),
        (0.1, False, 0.5),
        (0.1, True, 0.5),
    ):
        cells = []
        for loss, wanted in ((1.0, "pass"), (1.1, "fail"), (1 + MARGIN, "pass")):
            answers = [outcome(run, loss, noise, skewed, seed) for seed in range(suites)]
            cells.append(f"{sum(said == wanted for said, _ in answers) / suites:.0%}")
            cells.append(f"{sum(seconds for _, seconds in answers) / suites / 60:.1f}")
        kind = "skewed" if skewed else "normal"
        print(f"| {noise:.0%}, {kind} | {run} s | {' | '.join(cells[:5])} |", flush=True)


if __name__ == "__main__":
    main()
