"""How rare the false alarms of ``history watch`` are, and how many commits a true one takes: docs/tables.md.

    python -m studies.history_alarms

First the mean number of commits between false alarms where 1,000 are stated, and between those of the newest
commits where 50 are, for one benchmark and ten together; between all unconfirmed ones of one benchmark, then the
confirmed ones of the watch in 1,000 commits, the share of steps of d deviations that are confirmed within two,
three and ten commits, and at their commit; last that of steps that one or two commits make unconfirmed alarms.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from studies.history_several import NOISES

from speedproof.arrays import FloatArray
from speedproof.data.suite import Key
from speedproof.history.alarms import ASKED, LAST, find_alarms
from speedproof.history.commits import Commit
from speedproof.history.rows import StoredSeries
from speedproof.history.tracks import Track
from speedproof.stats.alarms import alarms, newest_jump

SERIES, COMMITS, EVERY = 100, 300, 1000.0
STORES, SHORT = 40, 100
SHOWN, PLACED = 200, 5
HISTORIES, FEW = 400, 10  # the first commits raise no alarm


def newest(many: int, row: FloatArray) -> int:
    """The levels that alarms of the newest commits begin, commit by commit."""
    raised = {newest_jump(row[:n], EVERY / ASKED * many) for n in range(1, row.size + 1)}
    return len(raised - {None})


def seen(series: FloatArray, last: int, *, confirmed: bool) -> dict[tuple[int, str], int]:
    """Commits of benchmarks that looks after each commit accuse, and how many commits there were at the first."""
    commits = [Commit(f"{i:040x}") for i in range(series.shape[1])]
    known = {k: StoredSeries(k, Key(str(k)), "s", False) for k in range(len(series))}
    raised: dict[tuple[int, str], int] = {}
    for n in range(1, series.shape[1] + 1):
        at, none, no_bound = np.arange(n), np.zeros(n, np.int64), np.full(n, np.nan)
        tracks = [
            Track(k, "", False, commits[:n], at, series[k, :n], no_bound, no_bound, at, none) for k in known
        ]
        found = find_alarms(tracks, known, (), every=EVERY, last=last)
        of = [(alarm.track.series, alarm.bad.sha) for alarm in found if alarm.confirmed == confirmed]
        raised = dict.fromkeys(of, n) | raised
    return raised


def watched(draw: Callable[[np.random.Generator, tuple[int, int]], FloatArray], many: int) -> str:
    """Confirmed false alarms in 1,000 commits: the first of a history, and every commit that is accused."""
    rng = np.random.default_rng([15, many])
    every = [seen(draw(rng, (many, SHORT)), LAST, confirmed=True) for _ in range(HISTORIES)]
    until = sum(min(raised.values(), default=SHORT) - FEW for raised in every)
    first, accused = sum(map(bool, every)), sum(map(len, every))
    return f"{1000 * first / until:.2f} | {1000 * accused / (HISTORIES * (SHORT - FEW)):.2f}"


def confirmed_steps(kind: str, before: int, step: float) -> str:
    """Share of steps of so many deviations that the watch confirms within two, three and ten commits, in %."""
    draw, rng, late = NOISES[kind], np.random.default_rng([before, int(step)]), []
    deviation = draw(np.random.default_rng(0), (SERIES, 1000)).std()
    for _ in range(SHOWN):
        x = draw(rng, (1, before + 10)) / deviation
        x[:, before:] += step
        raised = seen(0.01 * x, LAST, confirmed=True)
        near = [n - before for (_, sha), n in raised.items() if abs(int(sha, 16) - before) <= PLACED]
        late.append(min((n for n in near if n > 0), default=COMMITS))
    return ", ".join(f"{100 * np.mean([n <= most for n in late]):.0f}" for most in (2, 3, 10))


def main() -> None:
    """Print the tables."""
    print(
        "| noise | 1 benchmark | 10 benchmarks | newest, 1 | 10 | unconfirmed, 1 |\n|---|---|---|---|---|---|"
    )
    for kind, draw in NOISES.items():
        cells, early = [], []
        for many in (1, 10):
            series = draw(np.random.default_rng([12, many]), (SERIES * min(many, 3), COMMITS))
            count = sum(len(alarms(row, EVERY * many)) for row in series)
            cells.append(f"{series.size / max(count, 1) / many:,.0f}")
            asked = sum(newest(many, row) for row in series[:SERIES])
            early.append(f"{SERIES * COMMITS / max(asked, 1) / many:,.0f}")
        stores = draw(np.random.default_rng([12, 1]), (SERIES, COMMITS))[:STORES, :SHORT]
        asked = sum(len(seen(row[None], 1, confirmed=False)) for row in stores)
        early.append(f"{stores.size / max(asked, 1):,.0f}")
        cells += early
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)
    print("\n| noise | 1 benchmark, first | all | 5 benchmarks, first | all |\n|---|---|---|---|---|")
    for kind in ("AR .3", "AR .6", "log-normal", "outliers"):
        print(f"| {kind} | {watched(NOISES[kind], 1)} | {watched(NOISES[kind], 5)} |", flush=True)
    print("\n| commits before, benchmarks | d = 2 | 5 | 10 |\n|---|---|---|---|")
    for before, many in ((20, 1), (40, 1), (40, 10)):
        cells = []
        for step in (2.0, 5.0, 10.0):
            x = np.random.default_rng([before, int(step)]).standard_normal((SERIES, before + 30))
            x[:, before:] += step
            first = [next((a for a in alarms(row, EVERY * many) if a.raised >= before), None) for row in x]
            late = np.array([a.raised - before + 1 if a else COMMITS for a in first])
            shares = [100 * float((late <= most).mean()) for most in (2, 3, 10)]
            exact = 100 * np.mean([a.since == before for a in first if a])
            cells.append(f"{', '.join(f'{share:.0f}' for share in shares)}; {exact:.0f}")
        print(f"| {before}, {many} | {' | '.join(cells)} |", flush=True)
    print("\n| noise, commits before | d = 5 | 10, by the watch |\n|---|---|---|")
    for kind, before in (*((kind, 40) for kind in NOISES), ("normal", 20)):
        both = confirmed_steps(kind, before, 5.0), confirmed_steps(kind, before, 10.0)
        print(f"| {kind}, {before} | {' | '.join(both)} |", flush=True)
    print("\n| commits before, benchmarks | d = 3 | 5 | 10, after one commit, two |\n|---|---|---|---|")
    for before, many in ((20, 1), (40, 1), (40, 10)):
        cells = []
        for step in (3.0, 5.0, 10.0):
            x = np.random.default_rng([before, int(step)]).standard_normal((SERIES, before + 2))
            x[:, before:] += step
            told = [
                [newest_jump(row[:n], EVERY / ASKED * many) == before for n in (before + 1, before + 2)]
                for row in x
            ]
            after = 100 * np.logical_or.accumulate(told, axis=1).mean(axis=0)
            cells.append(", ".join(f"{share:.0f}" for share in after))
        print(f"| {before}, {many} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
