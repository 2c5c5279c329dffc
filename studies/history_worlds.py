"""False alarms of ``history watch`` with machines, anchors or many benchmarks: a table of docs/tables.md.

    python -m studies.history_worlds [--histories 400]

Histories of 100 commits without a change, with a look after each of the commits 11 to 100. Columns: the first
confirmed false alarm of a history in 1,000 commits, with its 95 % interval, and all commits that are accused.
Machines differ by .3 in the logarithm, and sessions by .05; an anchor has as much noise as a commit.
"""

from __future__ import annotations

import argparse

import numpy as np
from msgspec import Struct
from scipy import stats
from studies.history_several import NOISES

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.suite import Key
from speedproof.history.alarms import EVERY, LAST, find_alarms
from speedproof.history.commits import Commit
from speedproof.history.rows import Measurements, StoredSeries
from speedproof.history.tracks import tracks_of

COMMITS, FEW, NOISE, MACHINE, DAY, KEPT = 100, 10, 0.01, 0.3, 0.05, 0.6
BOTH = 6  # sessions that measure an anchor and the one before
ORDER = tuple(Commit(f"{i:040x}") for i in range(COMMITS))
ANCHORS = tuple(Commit(f"v{i}") for i in range(3))


def lasting(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """Two modes, the slower one in 30 %, that last for several commits (``studies/lasting_noise.py``)."""
    slow, kept = rng.random(shape) < 0.3, rng.random(shape) < KEPT
    for t in range(1, shape[1]):
        slow[:, t] = np.where(kept[:, t], slow[:, t - 1], slow[:, t])
    return 2.1 * slow + 0.2 * rng.standard_normal(shape)


class World(Struct, frozen=True):
    """What is measured: benchmarks, on how many machines, each commit on all or on one, with how many anchors."""

    noise: str
    benchmarks: int = 1
    machines: int = 1
    anchors: int = 0
    together: int = 1  # commits that a session measures


WORLDS = {
    "bimodal": World("bimodal"),
    "rounded": World("rounded"),
    "modes that last": World("modes that last"),
    **{f"20 benchmarks, {kind}": World(kind, 20) for kind in NOISES if kind != "normal"},
    "3 machines, AR .6": World("AR .6", machines=3),
    "an anchor, AR .6": World("AR .6", machines=3, anchors=1),
    "an anchor, log-normal": World("log-normal", machines=3, anchors=1),
    "an anchor, 3 commits a session": World("normal", machines=3, anchors=1, together=3),
    "an anchor, 10 commits a session": World("normal", machines=3, anchors=1, together=10),
    "3 anchors, AR .6": World("AR .6", machines=3, anchors=3),
}


def measured(world: World, rng: np.random.Generator) -> tuple[Measurements, IntArray]:
    """A history, and with which commit each of its rows came in."""
    draw = {**NOISES, "modes that last": lasting}[world.noise]
    rows: list[tuple[int, int, int, int, bool, float, int]] = []
    for host in range(1 if world.anchors else world.machines):  # else any of them measures a session
        noise = NOISE * draw(rng, (world.benchmarks, COMMITS))
        for first in range(0, COMMITS, world.together):
            of = range(first, min(first + world.together, COMMITS))
            machine = int(rng.integers(world.machines)) if world.anchors else host
            session, anchor = COMMITS * host + first, first * world.anchors // COMMITS
            fresh = first - anchor * COMMITS // max(world.anchors, 1) < BOTH
            beside = [anchor] * bool(world.anchors) + [anchor - 1] * (anchor > 0 and fresh)
            speed = MACHINE * machine + DAY * float(rng.standard_normal()) * bool(world.anchors)
            for k in range(world.benchmarks):
                rows += [(k, session, machine, c, False, speed + noise[k, c], of[-1]) for c in of]
                for a in beside:
                    level = speed + 0.1 * a + NOISE * float(rng.standard_normal())
                    rows.append((k, session, machine, COMMITS + a, a == anchor, level, of[-1]))
    rows.sort()
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    none, sample = np.full(len(rows), np.nan), np.arange(len(rows))
    values = (*columns[:5], np.exp(columns[5]), none, none, sample, (*ORDER, *ANCHORS))
    return Measurements(*values), columns[6]


def first_and_all(world: World, rng: np.random.Generator) -> tuple[int, int]:
    """With how many commits the first confirmed alarm comes, one more than all without any; how many come."""
    known = {k: StoredSeries(k, Key(str(k)), "s", False) for k in range(world.benchmarks)}
    every, when = measured(world, rng)
    raised: dict[tuple[int, str, str], int] = {}
    for n in range(FEW + 1, COMMITS + 1):
        tracks = tracks_of(
            every.where(when < n), ORDER[:n], {i: f"machine {i}" for i in range(world.machines)}
        )
        found = find_alarms(tracks, known, (), every=EVERY, last=LAST)
        for alarm in found:
            if alarm.confirmed:
                raised.setdefault((alarm.track.series, alarm.track.basis, alarm.bad.sha), n)
    return min(raised.values(), default=COMMITS + 1), len(raised)


def row(name: str, histories: int) -> str:
    """Of the table."""
    rng = np.random.default_rng([31, *map(ord, name)])
    first, accused = np.array([first_and_all(WORLDS[name], rng) for _ in range(histories)]).T
    alarms, until = int((first <= COMMITS).sum()), float((np.minimum(first, COMMITS) - FEW).sum())
    low, high = stats.gamma.ppf(0.025, max(alarms, 1e-9)), stats.gamma.ppf(0.975, alarms + 1)
    rates = [f"{1000 * count / until:.2f}" for count in (alarms, low, high)]
    return (
        f"| {name} | {rates[0]} ({rates[1]} to {rates[2]}) | {1000 * accused.mean() / (COMMITS - FEW):.2f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=400)
    histories = parser.parse_args().histories
    print("| | first | all |\n|---|---|---|")
    for name in WORLDS:
        print(row(name, histories), flush=True)


if __name__ == "__main__":
    main()
