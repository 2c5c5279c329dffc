"""What a history reads of its store: series, measurements, commits in order, tracks."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from speedproof.data.names import enumerate_names, nearest_of, wanted
from speedproof.errors import UsageError
from speedproof.history.commits import Commit, ordered, short_name

ALL = "all"
"""The name of every metric."""

if TYPE_CHECKING:
    from collections.abc import Iterable

    from speedproof.history.rows import Measurements, StoredSeries
    from speedproof.history.store import HistoryStore
    from speedproof.history.tracks import Track


def tracks_in(
    store: HistoryStore,
    repository: str,
    metric: str | None,
    benchmark: str | None,
    branch: str,
    machine: str | None = None,
    *,
    apart: bool = False,
) -> tuple[dict[int, StoredSeries], Measurements, list[Commit], tuple[Track, ...]]:
    """Series, measurements, commits in order and tracks."""
    from speedproof.history.tracks import tracks_of

    series, measured = measured_in(store, metric, benchmark, apart=apart)
    commits = ordered(store.commits(), branch, repository, store.branches())
    machines = store.machines()
    if machine is not None:
        here = [number for number, label in machines.items() if wanted(label, [machine], ())]
        if not here:
            there = "; ".join(sorted(set(machines.values())))
            raise UsageError(f"{store.where}: holds no machine {machine}; it has {there}")
        measured = measured.where(np.isin(measured.machine, here))
    tracks = tracks_of(measured, commits, machines)
    if not commits and (stored := [commit.sha for commit in store.commits()]):
        names = enumerate_names(map(short_name, stored), 3)
        raise UsageError(f"{store.where}: none of its commits ({names}) is on {branch} in this repository")
    if not tracks:
        raise UsageError(f"{store.where}: nothing to show; fill it with 'speedproof history add FILE'")
    return series, measured, commits, tracks


def deciding(series: Iterable[StoredSeries]) -> dict[int, StoredSeries]:
    """Of every benchmark its time, or else its first metric."""
    first: dict[str, StoredSeries] = {}
    for s in sorted(series, key=lambda s: (s.key.metric != "time", s.id)):
        first.setdefault(s.key.benchmark, s)
    return {s.id: s for s in sorted(first.values(), key=lambda s: s.key.benchmark)}


def measured_in(
    store: HistoryStore, metric: str | None, benchmark: str | None, *, apart: bool = False
) -> tuple[dict[int, StoredSeries], Measurements]:
    """Series and measurements of a metric, all, or those that decide; without what somebody called noise.

    ``apart`` takes those that do not decide instead.
    """
    every = store.all_series(metric=None if metric == ALL else metric)
    series = {s.id: s for s in every if benchmark in (None, s.key.benchmark)}
    if metric is None:
        first = deciding(series.values())
        series = {number: s for number, s in series.items() if (number in first) != apart}
    if benchmark is not None and not series:
        names = list(dict.fromkeys(s.key.benchmark for s in every))
        suggestion = f"; {nearest_of(benchmark, names)}" if names else ""
        raise UsageError(f"{store.where}: holds no benchmark {benchmark}{suggestion}")
    noise = {(d.commit, d.benchmark) for d in store.decisions() if d.state == "invalid"}
    measured = store.measurements(None if metric in (None, ALL) and len(series) == len(every) else series)
    numbers = {commit.sha: i for i, commit in enumerate(measured.commits)}
    for sha, name in noise:
        of = [number for number, s in series.items() if name in ("", s.key.benchmark)]
        out = (measured.commit == numbers.get(sha, -1)) & np.isin(measured.series, of)
        measured = measured.where(~out)
    return series, measured


def no_store(where: str) -> UsageError:
    """A store that is to be read, but is not there."""
    return UsageError(
        f"{where}: no such store; make one with: speedproof history add FILE --store {quote(where)}"
    )


def opened(where: str) -> HistoryStore:
    """The store at a place, made where there is none."""
    from speedproof.history.store import HistoryStore

    return HistoryStore(where)


def user() -> str:
    """Who decides."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
