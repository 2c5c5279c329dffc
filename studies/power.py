"""How good a plan from a pilot is: the table of docs/tables.md.

    python -m studies.power [--pilots 24] [--seed 1]

Pilots of two equal versions plan for a speedup of 1.03: log-normal runs (deviation .05), or runs in two modes 1.1x
apart (half of them each, deviation .01). "planned" is the middle half of the numbers of runs that they give for a
power of 80 %, "reached" the power that comparisons of the median number have, "held" the share of pilots whose
interval holds the number that has a power of 80 %, in %.
"""

from __future__ import annotations

import argparse

import numpy as np

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols.pair import PreparedPairs
from speedproof.protocols.planning import plan_power
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Verdict

EFFECT, DEVIATION = 0.03, 0.05
ONE, TWO = "log-normal", "two modes"
CASES = (
    ("mean", ONE, 10),
    ("mean", ONE, 30),
    ("mean", ONE, 100),
    ("typical", ONE, 5),
    ("typical", ONE, 10),
    ("typical", ONE, 30),
    ("typical", TWO, 5),
    ("typical", TWO, 10),
    ("typical", TWO, 30),
    ("median", ONE, 30),
    ("p90", ONE, 100),
)


def drawn(shape: str, n: int, rng: np.random.Generator) -> FloatArray:
    """Runs of one version."""
    if shape == ONE:
        return rng.lognormal(0.0, DEVIATION, n)
    return np.asarray(rng.lognormal(0.0, 0.01, n) * np.where(rng.random(n) < 0.5, 1.1, 1.0))


def power(protocol: str, shape: str, n: int, draws: int, rng: np.random.Generator) -> float:
    """The share of comparisons of so many runs that find the effect."""
    pairs = [
        Pair(
            Key("f"),
            Sample((1.0 + EFFECT) * drawn(shape, n, rng)),
            Sample(drawn(shape, n, rng)),
        )
        for _ in range(draws)
    ]
    found = QUESTIONS[protocol].ask(PreparedPairs(pairs))
    return float(np.mean([c.verdict is Verdict.FASTER for c in found]))


def true_runs(protocol: str, shape: str, rng: np.random.Generator) -> int:
    """The number that has a power of 80 %, by bisection on simulations."""
    low, high = 5, 1000
    while high - low > max(low // 20, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if power(protocol, shape, middle, 600, rng) >= 0.8 else (middle, high)
    return high


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pilots", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| test | runs | pilot | needed | planned | reached | held |\n|---|---|---|---|---|---|---|")
    for protocol, shape, n in CASES:
        rng = np.random.default_rng([args.seed, n])
        needed, sizes = true_runs(protocol, shape, rng), []
        for pilot in range(args.pilots):
            sides = (Sample(drawn(shape, n, rng)) for _ in range(2))
            sizes.append(plan_power(Pair(Key("f"), *sides), EFFECT, protocol, seed=pilot).sizes[0])
        runs = np.array([size.runs or 10**6 for size in sizes])
        low, middle, high = np.quantile(runs, (0.25, 0.5, 0.75)).round().astype(int).tolist()
        held = 100.0 * np.mean([size.low <= needed <= size.high for size in sizes])
        reached = 100.0 * power(protocol, shape, middle, 600, rng)
        planned = f"{low} to {high}"
        print(
            f"| {protocol} | {shape} | {n} | {needed} | {planned} | {reached:.0f} | {held:.0f} |", flush=True
        )


if __name__ == "__main__":
    main()
