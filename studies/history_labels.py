"""Labelled histories: how many true changes are found, where, and how many are invented, beside Apache Otava.

    python studies/history_labels.py [--series 300]

Series of 200 commits with the noise of real machines: skewed, neighbours alike (AR .3), 2 % outliers, some days
of another level for three commits. Up to three changes of 1 to 30 % a series, for the worse and the better, some
undone later. A change counts as found within three commits of its label.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from speedproof.arrays import FloatArray
from speedproof.stats.change_points import find_changes

N, NEAR, APART = 200, 3, 15


def labelled(rng: np.random.Generator) -> tuple[FloatArray, dict[int, float]]:
    """Logarithms of a series, and the steps by their commit."""
    noise = rng.standard_normal(N)
    for t in range(1, N):
        noise[t] = 0.3 * noise[t - 1] + np.sqrt(1 - 0.09) * noise[t]
    noise = np.where(rng.random() < 0.5, noise, np.expm1(0.5 * noise) / 0.6)
    noise += (rng.random(N) < 0.02) * rng.exponential(8.0, N)
    if rng.random() < 0.2:
        day = int(rng.integers(N - 3))
        noise[day : day + 3] += rng.normal(0, 4)
    series = 0.01 * noise
    steps: dict[int, float] = {}
    places = sorted(rng.choice(np.arange(10, N - 10), int(rng.integers(4)), replace=False).tolist())
    for i, place in enumerate(places):
        if i and place - places[i - 1] < APART:
            continue
        before = list(steps.values())
        undone = bool(before) and rng.random() < 0.3
        size = -before[-1] if undone else drawn(rng)
        steps[place] = size
        series[place:] += size
    return series, steps


def drawn(rng: np.random.Generator) -> float:
    """A step of 1 to 30 %, up or down."""
    return float(rng.choice([-1, 1]) * np.exp(rng.uniform(np.log(0.01), np.log(0.3))))


def otava() -> Callable[[FloatArray], list[int]] | None:
    """Its change points, where it is installed."""
    try:
        from otava.analysis import compute_change_points  # type: ignore[import-not-found]
    except ImportError:
        return None
    return lambda x: [point.index for point in compute_change_points(np.exp(x).tolist(), max_pvalue=0.001)[0]]


def main() -> None:
    """Print a row a tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=300)
    many = parser.parse_args().series
    rng = np.random.default_rng(7)
    data = [labelled(rng) for _ in range(many)]
    tools: dict[str, Callable[[FloatArray], list[int]]] = {
        "speedproof": lambda x: [change.split for change in find_changes(x, 0.05)]
    }
    if (other := otava()) is not None:
        tools["Otava, p = .001"] = other
    print("| | 1 to 2 % | 2 to 5 % | 5 to 30 % | at the commit | invented a series | where nothing changed |")
    print("|---|---|---|---|---|---|---|")
    for name, tool in tools.items():
        sizes: list[tuple[float, bool]] = []
        exact = invented = quiet = alarmed = 0
        for series, steps in data:
            found = tool(series)
            hits = {place: [f for f in found if abs(f - place) <= NEAR] for place in steps}
            sizes += [(abs(step), bool(hits[place])) for place, step in steps.items()]
            exact += sum(place in near for place, near in hits.items())
            invented += sum(all(abs(f - place) > NEAR for place in steps) for f in found)
            quiet += not steps
            alarmed += not steps and bool(found)
        told = sum(hit for _, hit in sizes)
        shares = [
            f"{100 * np.mean([hit for size, hit in sizes if low <= size < high]):.0f} %"
            for low, high in ((0.01, 0.02), (0.02, 0.05), (0.05, 0.3001))
        ]
        row = [
            *shares,
            f"{100 * exact / told:.0f} %",
            f"{invented / many:.2f}",
            f"{100 * alarmed / quiet:.0f} %",
        ]
        print(f"| {name} | {' | '.join(row)} |")


if __name__ == "__main__":
    main()
