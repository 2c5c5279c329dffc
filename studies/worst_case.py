"""Why no worst case is told: how often the limits of a generalised Pareto tail hold it.

    python -m studies.worst_case [--draws 100] [--seed 1]

The value that one run in a million exceeds, of 1,000 runs: the largest tenth is taken for a generalised Pareto
tail, and limits (95 %) are those of its profile likelihood. "covered" is the share of draws, in %, whose limits
hold the true value, "low" that in which it lies above both; "slow state" has .2 % of runs at twice the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

FloatArray = npt.NDArray[np.float64]

RUNS, TAIL, CHANCE = 1000, 100, 1e-6
SHAPES = np.linspace(-0.51, 0.79, 66)  # none is 0
FAMILIES = {
    "normal": stats.norm(10.0, 1.0),
    "log-normal": stats.lognorm(0.3),
    "exponential": stats.expon(),
    "gamma": stats.gamma(2.0),
    "Weibull": stats.weibull_min(1.5),
    "logistic": stats.logistic(10.0, 1.0),
}


def limits(runs: FloatArray) -> tuple[float, float]:
    """The profile-likelihood limits of the value that is exceeded with the chance."""
    ascending = np.sort(runs)
    threshold = float(ascending[-TAIL - 1])
    excess = ascending[-TAIL:] - threshold
    beyond = TAIL / runs.size / CHANCE
    growth = (beyond**SHAPES - 1.0) / SHAPES
    far = float(excess.max()) * np.geomspace(0.6, 60.0, 400)

    scale = far[:, None] / growth
    inside = 1.0 + SHAPES[:, None] * excess / scale[:, :, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.where(inside > 0.0, np.log(inside), np.inf)
        height = -TAIL * np.log(scale) - (1.0 + 1.0 / SHAPES) * logs.sum(axis=2)
    height[~(inside > 0.0).all(axis=2)] = -np.inf
    profile = height.max(axis=1)
    held = far[profile >= profile.max() - 0.5 * stats.chi2.ppf(0.95, 1)]
    return threshold + float(held[0]), threshold + float(held[-1])


def drawn(family: Any, rng: np.random.Generator) -> FloatArray:
    """Runs of a family."""
    return np.asarray(family.rvs(RUNS, random_state=rng))


def slow_state(rng: np.random.Generator) -> FloatArray:
    """Runs of which .2 % take twice as long."""
    return np.where(rng.random(RUNS) < 0.002, 2.0, 1.0) * rng.normal(10.0, 0.2, RUNS)


def row(
    draw: Callable[[np.random.Generator], FloatArray], true: float, draws: int, seed: int
) -> tuple[float, float]:
    """Covered, low."""
    rng = np.random.default_rng(seed)
    found = np.array([limits(draw(rng)) for _ in range(draws)])
    covered = (found[:, 0] <= true) & (true <= found[:, 1])
    return 100.0 * float(covered.mean()), 100.0 * float((found[:, 1] < true).mean())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| runs | covered | low |\n|---|---|---|")
    for name, family in FAMILIES.items():
        covered, low = row(partial(drawn, family), family.isf(CHANCE), args.draws, args.seed)
        print(f"| {name} | {covered:.0f} | {low:.0f} |", flush=True)
    true = optimize.brentq(
        lambda v: 0.002 * stats.norm.sf(v, 20.0, 0.4) + 0.998 * stats.norm.sf(v, 10.0, 0.2) - CHANCE,
        11.0,
        30.0,
    )
    covered, low = row(slow_state, float(true), args.draws, args.seed)
    print(f"| slow state | {covered:.0f} | {low:.0f} |")


if __name__ == "__main__":
    main()
