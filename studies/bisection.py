"""How often a bisection is right, and how many runs it takes: the table of docs/tables.md.

Histories of 64 commits with 1 % noise a run; the place of the change is drawn. Columns: right (the culprit, or
"nothing" where nothing changed), wrong, still open after 400 runs; runs; commits built; "another change may
remain"; of the open ones where something changed, the share whose set of commits holds a change.

    python -m studies.bisection [--histories 1000] [--noise NAME] [--cell 0] [--pairs 200]
    python -m studies.bisection --fewest    what a search that knew the distribution of the noise would take
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from speedproof.protocols.bisection import Bisection, BisectionOutcome

COMMITS = 64
NOISE = 0.01
MOST_PAIRS = 200
_DRAWN = 200_000
Noise = Callable[[], float]


def _normal(rng: np.random.Generator) -> Noise:
    return lambda: float(rng.normal())


def _heavy(rng: np.random.Generator) -> Noise:
    """Student's t with 3 degrees of freedom, of standard deviation 1."""
    return lambda: float(rng.standard_t(3)) / 3.0**0.5


def _spiky(rng: np.random.Generator) -> Noise:
    """One run in ten is up to 10 % slower."""
    return lambda: float(rng.normal() + (rng.random() < 0.1) * rng.uniform(0, 10))


def _related(rng: np.random.Generator) -> Noise:
    """AR(1) with .6, of standard deviation 1."""
    state = float(rng.normal())

    def drawn() -> float:
        nonlocal state
        state = 0.6 * state + 0.8 * float(rng.normal())
        return state

    return drawn


def _fresh(rng: np.random.Generator) -> Noise:
    """Every run has a build of its own, whose layout adds as much as the run's own noise."""
    return lambda: float(rng.normal()) * 2.0**0.5


# The change, the share that does not build, a second change.
CELLS = ((0.0, 0.0, 0.0), (0.02, 0, 0), (0.05, 0, 0), (0.02, 0.2, 0), (0.05, 0.2, 0), (0.03, 0, 0.03))
NOISES = {"normal": _normal, "t(3)": _heavy, "spikes": _spiky, "AR .6": _related}
# Builds of one commit differ by 1 %, too: one build of each commit is measured, or a fresh one in every run.
ONE_BUILD, FRESH_BUILDS = "layout, one build of each", "layout, fresh builds"
LAYOUTS = {ONE_BUILD: _normal, FRESH_BUILDS: _fresh}


class History(NamedTuple):
    """What became of one: right and wrong exclude each other, and neither is open."""

    right: bool
    wrong: bool
    runs: int
    built: int
    more: bool
    held: float


def bisected(
    seed: int, noise: str, change: float, broken: float = 0.0, second: float = 0.0, most: int = MOST_PAIRS
) -> History:
    """Bisect one history; changes are relative, the seed is of their places and of the noise."""
    rng = np.random.default_rng(np.random.SeedSequence(20, spawn_key=(seed,)))
    level = np.zeros(COMMITS)
    places = rng.choice(np.arange(1, COMMITS), 2, replace=False)
    level[places[0] :] += np.log1p(change)
    level[places[1] :] += np.log1p(second)
    unbuildable = set(np.flatnonzero(rng.random(COMMITS) < broken).tolist()) - {0, COMMITS - 1}
    if noise == ONE_BUILD:
        level += NOISE * rng.normal(size=COMMITS)
    draw = (NOISES | LAYOUTS)[noise](rng)
    search = Bisection(COMMITS, min_change=0.01)
    built: set[int] = set()
    while (pair := search.next()) is not None and search.pairs < most:
        if failing := [i for i in pair if i in unbuildable]:
            search.skip(failing[0])
            continue
        built |= set(pair)
        order = [pair[i] for i in rng.permutation(2).tolist()]
        times = {i: float(np.exp(level[i] + NOISE * draw())) for i in order}
        search.add(*pair, times[pair[0]], times[pair[1]])
    found = search.finding()
    claimed = found.outcome is BisectionOutcome.CULPRIT
    changed = set(places[: (change > 0) + (second > 0)].tolist())
    undecided = found.outcome is BisectionOutcome.OPEN
    held = float(bool(changed & set(found.credible))) if undecided and changed else np.nan
    blamed = range((found.parent or 0) + 1, (found.culprit or 0) + 1)
    true = changed & set(blamed)
    nothing = not change and found.outcome in (BisectionOutcome.NOTHING, BisectionOutcome.UNPROVEN)
    wrong = (claimed and not true) or (not change and not nothing)
    return History(nothing or (claimed and bool(true)), wrong, 2 * search.pairs, len(built), found.more, held)


def fewest(noise: str, change: float, alpha: float = 0.05, ends: int = 4) -> float:
    """Runs on average that no search can do without, where independent noise is known and the ends take 4 pairs.

    A pair tells no more of the place than the mutual information of its difference and the side of the step, and a
    proof against all symmetric differences takes log(1 / alpha) over the divergence from the nearest of these
    (A. Wald, Sequential Analysis, 1947).
    """
    rng = np.random.default_rng(20)
    draw = NOISES[noise](rng)
    runs = np.array([draw() for _ in range(2 * _DRAWN)])
    difference = runs[::2] - runs[1::2]
    edges = np.linspace(-30.0, 30.0, 601)
    same, apart = (
        np.convolve(np.histogram(difference + shift, edges)[0] / _DRAWN, np.ones(5) / 5, "same") + 1e-12
        for shift in (0.0, np.log1p(change) / NOISE)
    )
    middle, symmetric = 0.5 * (same + apart), 0.5 * (apart + apart[::-1])
    bits = sum(0.5 * float(part @ np.log2(part / middle)) for part in (same, apart))
    growth = float(apart @ np.log(apart / symmetric))
    return 2.0 * (ends + math.log2(COMMITS - 1) / bits + math.log(1.0 / alpha) / growth)


def _main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--noise", choices=[*NOISES, *LAYOUTS], action="append")
    parser.add_argument(
        "--cell", type=int, choices=range(len(CELLS)), action="append", help="a row of a noise"
    )
    parser.add_argument("--pairs", type=int, default=MOST_PAIRS, help="of runs, at most")
    parser.add_argument("--fewest", action="store_true")
    asked = parser.parse_args()
    if asked.fewest:
        for noise in ("normal", "t(3)", "spikes"):
            print(f"{noise}: at 2 % {fewest(noise, 0.02):.0f} runs, at 5 % {fewest(noise, 0.05):.0f}")
        return
    rows_of = dict.fromkeys(NOISES, CELLS) | dict.fromkeys(LAYOUTS, CELLS[:3])
    print(
        "| noise | histories | change | broken | right | wrong | open | runs | median | 90 % | built | more "
        "| held |"
    )
    print("|---" * 13 + "|")
    for noise in asked.noise or rows_of:
        cells = rows_of[noise]
        for change, broken, second in [cells[i] for i in asked.cell or range(len(cells)) if i < len(cells)]:
            rows = [
                bisected(seed, noise, change, broken, second, asked.pairs) for seed in range(asked.histories)
            ]
            right, wrong, runs, built, more, held = np.array(rows, dtype=float).T
            left = held[~np.isnan(held)]
            shown = f"{change:.0%} and {second:.0%}" if second else f"{change:.0%}"
            print(
                f"| {noise} | {asked.histories:,} | {shown} | {broken:.0%} "
                f"| {right.mean():.1%} | {wrong.mean():.1%} | {1 - right.mean() - wrong.mean():.1%} "
                f"| {runs.mean():.0f} | {np.median(runs):.0f} | {np.quantile(runs, 0.9):.0f} "
                f"| {built.mean():.1f} | {more.mean():.0%} "
                f"| {f'{left.mean():.1%}' if left.size else '-'} |",
                flush=True,
            )


if __name__ == "__main__":
    _main()
