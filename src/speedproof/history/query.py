"""Measurements as rows: what was measured of which commit, when, where, with its median and interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from speedproof.data.names import wanted
from speedproof.errors import UsageError
from speedproof.history import schema
from speedproof.history.rows import QueriedSample
from speedproof.history.store import HistoryStore


def query(store: HistoryStore, last: int | None, *which: Any) -> list[QueriedSample]:
    """Samples by date; all or the last. For ``which`` see :func:`_chosen`."""
    if last is not None and last < 1:
        raise UsageError(f"last={last}: expected how many samples to give, at least 1")
    s, c, r = schema.samples.c, schema.commits.c, schema.series.c
    order = (c.date, c.sha, r.benchmark, r.metric, s.id)
    columns = (
        c.sha, c.date, c.subject, r.benchmark, r.metric, r.unit, s.n, s.location, s.low, s.high, s.anchor,
        schema.machines.c.label, schema.sessions.c.key, schema.sessions.c.started, schema.sources.c.path,
    )  # fmt: skip
    with store.transaction() as connection:
        newest = _chosen(store, connection, columns, *which).order_by(*(column.desc() for column in order))
        rows = connection.execute(newest.limit(last)).all()[::-1]
    return [QueriedSample(*row) for row in rows]


def count(store: HistoryStore, *which: Any) -> int:
    """How many :func:`query` would find."""
    with store.transaction() as connection:
        return int(connection.execute(_chosen(store, connection, (func.count(),), *which)).scalar_one())


def _chosen(
    store: HistoryStore,
    connection: Connection,
    columns: Sequence[Any],
    patterns: Sequence[str],
    metric: str | None,
    commit: str | None,
    machine: str | None,
) -> Any:
    """Of samples by benchmark and machine (patterns take * and ?), metric and commit."""
    c, r, m = schema.commits.c, schema.series.c, schema.machines.c
    chosen = (
        select(*columns)
        .select_from(schema.samples)
        .join(schema.commits).join(schema.series).join(schema.sessions).join(schema.sources)
        .join(schema.machines, schema.sessions.c.machine == m.id)
    )  # fmt: skip
    if metric is not None:
        chosen = chosen.where(r.metric == metric)
    if commit is not None:
        chosen = chosen.where(c.sha == commit)
    if machine is not None:
        labels = list(connection.execute(select(m.label).distinct()).scalars())
        here = [label for label in labels if wanted(label, [machine], ())]
        if not here:
            raise UsageError(f"{store.where}: holds no machine {machine}; it has {'; '.join(sorted(labels))}")
        chosen = chosen.where(m.label.in_(here))
    if patterns:
        every = connection.execute(select(r.benchmark).distinct()).scalars()
        names = [name for name in every if wanted(name, patterns, ())]
        chosen = chosen.where(r.benchmark.in_(names))
    return chosen
