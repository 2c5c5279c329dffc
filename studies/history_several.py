"""Several changes, one undone, or a rise in short histories: tables of docs/tables.md.

    python -m studies.history_several [--series 1000] [--rises 300] [--null 1000]

Shares of the changes that are found within two commits, of rises that show a change, and that are called a drift,
and of series without a change that show one, in %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from studies.change_points import autoregressive

from speedproof.arrays import FloatArray
from speedproof.stats.change_points import change_pvalues, find_changes

NEAR, RISK = 2, 0.05
SIZES = (20, 50, 100, 300)
Steps = dict[int, float]  # the factor of the level by its first commit

CHANGES: dict[str, tuple[int, Steps, float, float]] = {  # commits, changes, noise, its autoregression
    "60 commits, +5 % at 20, undone at 40": (60, {20: 1.05, 40: 1 / 1.05}, 0.01, 0.0),
    "100 commits, +5 % at 40, undone at 60": (100, {40: 1.05, 60: 1 / 1.05}, 0.01, 0.0),
    "40 commits, +10 % at 13, undone at 26": (40, {13: 1.10, 26: 1 / 1.10}, 0.01, 0.0),
    "36 commits, +10 % at 12, undone at 24": (36, {12: 1.10, 24: 1 / 1.10}, 0.01, 0.0),
    "30 commits, +10 % at 10, undone at 20": (30, {10: 1.10, 20: 1 / 1.10}, 0.01, 0.0),
    "20 commits, +10 % at 7, undone at 12": (20, {7: 1.10, 12: 1 / 1.10}, 0.01, 0.0),
    "40 commits, +20 % at 14, undone at 24": (40, {14: 1.20, 24: 1 / 1.20}, 0.01, 0.0),
    "the same, the second 2.5 times as slow": (40, {14: 1.20, 24: 1 / 1.20}, 0.01, 0.0),
    "the same, the second and the 19th": (40, {14: 1.20, 24: 1 / 1.20}, 0.01, 0.0),
    "60 commits, +9, -5, +6 %, .7 % noise": (60, {15: 1.09, 30: 0.95, 45: 1.06}, 0.007, 0.0),
    "55 commits, +9, -5, +6 %, .7 % noise": (55, {15: 1.09, 30: 0.95, 45: 1.06}, 0.007, 0.0),
    "45 commits, +10 %, undone and again": (45, {11: 1.10, 22: 1 / 1.10, 34: 1.10}, 0.01, 0.0),
    "70 commits, +9, -5, +6, -7, +8 %, .7 % noise": (
        70,
        {12: 1.09, 24: 0.95, 36: 1.06, 48: 0.93, 60: 1.08},
        0.007,
        0.0,
    ),
    "50 commits, +3 % twice": (50, {17: 1.03, 33: 1.03}, 0.01, 0.0),
    "50 commits, +3 % twice, AR .3": (50, {17: 1.03, 33: 1.03}, 0.01, 0.3),
    "50 commits, +3 % and undone": (50, {17: 1.03, 33: 1 / 1.03}, 0.01, 0.0),
    "100 commits, +3 % and undone": (100, {33: 1.03, 67: 1 / 1.03}, 0.01, 0.0),
    "20 commits, +2 % 8 before the end": (20, {12: 1.02}, 0.01, 0.0),
    "50 commits, +2 % 8 before the end": (50, {42: 1.02}, 0.01, 0.0),
    "50 commits, +2 %": (50, {25: 1.02}, 0.01, 0.0),
    "50 commits, +5 %": (50, {25: 1.05}, 0.01, 0.0),
    "100 commits, +2 %": (100, {50: 1.02}, 0.01, 0.0),
    "100 commits, +5 %": (100, {50: 1.05}, 0.01, 0.0),
}

OUTLIERS = {"the same, the second 2.5 times as slow": [1], "the same, the second and the 19th": [1, 18]}

DEVIATIONS = (3, 5, 10, 20)
RISES = {  # commits, first and last of the rise, autoregression
    "15 commits, all": (15, 0, 15, 0.0),
    "20 commits, all": (20, 0, 20, 0.0),
    "20 commits, last half": (20, 10, 20, 0.0),
    "30 commits, all": (30, 0, 30, 0.0),
    "30 commits, last half": (30, 15, 30, 0.0),
    "50 commits, all": (50, 0, 50, 0.0),
    "50 commits, all, AR .6": (50, 0, 50, 0.6),
    "50 commits, last half": (50, 25, 50, 0.0),
    "100 commits, all": (100, 0, 100, 0.0),
    "100 commits, 25 to 75": (100, 25, 75, 0.0),
    "200 commits, 50 to 150": (200, 50, 150, 0.0),
    "200 commits, 50 to 150, AR .3": (200, 50, 150, 0.3),
}

NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], FloatArray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "log-normal": lambda rng, shape: np.exp(rng.standard_normal(shape)),
    "AR .3": lambda rng, shape: autoregressive(rng, shape, 0.3),
    "AR .6": lambda rng, shape: autoregressive(rng, shape, 0.6),
    "bimodal": lambda rng, shape: (rng.random(shape) < 0.3) * 2.1 + 0.2 * rng.standard_normal(shape),
    "rounded": lambda rng, shape: np.round(rng.standard_normal(shape)),
    "outliers": lambda rng, shape: (
        rng.standard_normal(shape) + (rng.random(shape) < 0.05) * rng.exponential(10.0, shape)
    ),
}


def found(name: str, series: int) -> tuple[float, float]:
    """Share of the changes that are found, and changes a series that are none."""
    n, steps, noise, rho = CHANGES[name]
    level = np.ones(n)
    for place, factor in steps.items():
        level[place:] *= factor
    level[OUTLIERS.get(name, [])] *= 2.5
    rng = np.random.default_rng([n, len(name)])
    hits = extra = 0
    for row in level * (1.0 + noise * autoregressive(rng, (series, n), rho)):
        places = [change.split for change in find_changes(row, RISK)]
        hits += sum(any(abs(place - at) <= NEAR for place in places) for at in steps)
        extra += sum(all(abs(place - at) > NEAR for at in steps) for place in places)
    return hits / (series * len(steps)), extra / series


def rises(name: str, series: int) -> list[str]:
    """Shares of rises by several deviations that show a change, and a drift, in %."""
    n, start, end, rho = RISES[name]
    shares = []
    for size in DEVIATIONS:
        rng = np.random.default_rng([n, end, size])
        rise = size * np.clip((np.arange(n) - start) / (end - start), 0.0, 1.0)
        changes = [find_changes(row, RISK) for row in rise + autoregressive(rng, (series, n), rho)]
        shown, drift = (
            np.mean([any(map(which, found)) for found in changes])
            for which in (lambda change: True, lambda change: change.drift)
        )
        shares.append(f"{100 * shown:.0f}, {100 * drift:.0f}")
    return shares


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--rises", type=int, default=300)
    parser.add_argument("--null", type=int, default=1000)
    args = parser.parse_args()
    print("| | found | invented a series |\n|---|---|---|")
    for name in CHANGES:
        share, extra = found(name, args.series)
        print(f"| {name} | {100 * share:.0f} | {extra:.2f} |", flush=True)
    print(f"\n| rise by | {' | '.join(f'{d} deviations' for d in DEVIATIONS)} |\n|---|---|---|---|---|")
    for name in RISES:
        print(f"| {name} | {' | '.join(rises(name, args.rises))} |", flush=True)
    print(f"\n| no change | {' | '.join(f'{n} commits' for n in SIZES)} |\n|---|---|---|---|---|")
    for kind, draw in NOISES.items():
        shares = [
            100.0
            * float((change_pvalues(draw(np.random.default_rng([n, 3]), (args.null, n))) <= RISK).mean())
            for n in SIZES
        ]
        print(f"| {kind} | {' | '.join(f'{share:.1f}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
