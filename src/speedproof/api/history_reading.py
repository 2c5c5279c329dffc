"""What a history reads of its store: series, measurements, commits in order, tracks."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from speedproof.data.names import nearest_of
from speedproof.errors import UsageError
from speedproof.history.commits import Commit, ordered

if TYPE_CHECKING:
    from speedproof.history.rows import Measurements, StoredSeries
    from speedproof.history.store import HistoryStore
    from speedproof.history.tracks import Track


def tracks_in(
    store: HistoryStore, repository: str, metric: str | None, benchmark: str | None, branch: str
) -> tuple[dict[int, StoredSeries], Measurements, list[Commit], tuple[Track, ...]]:
    """Series, measurements, commits in order and tracks."""
    from speedproof.history.tracks import tracks_of

    series, measured = measured_in(store, metric, benchmark)
    commits = ordered(store.commits(), branch, repository, store.branches())
    tracks = tracks_of(measured, commits, store.machines())
    if not tracks:
        raise UsageError(f"{store.where}: nothing to show; fill it with 'speedproof history add FILE'")
    return series, measured, commits, tracks


def measured_in(
    store: HistoryStore, metric: str | None, benchmark: str | None
) -> tuple[dict[int, StoredSeries], Measurements]:
    """Series and measurements, without what somebody called noise."""
    series = {s.id: s for s in store.all_series(metric=metric) if benchmark in (None, s.key.benchmark)}
    if benchmark is not None and not series:
        names = list(dict.fromkeys(s.key.benchmark for s in store.all_series(metric=metric)))
        told = f"; {nearest_of(benchmark, names)}" if names else ""
        raise UsageError(f"{store.where}: holds no benchmark {benchmark}{told}")
    noise = {(d.commit, d.benchmark) for d in store.decisions() if d.state == "invalid"}
    measured = store.measurements(None if metric is benchmark is None else series)
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
