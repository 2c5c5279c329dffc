"""Measurements as rows: what was measured of which commit, when, where, with its median and interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from sqlalchemy import select

from speedproof.data.names import wanted
from speedproof.history import schema
from speedproof.history.rows import QueriedSample
from speedproof.history.store import HistoryStore


def query(
    store: HistoryStore, patterns: Sequence[str] = (), *, metric: str | None = None, commit: str | None = None
) -> list[QueriedSample]:
    """Samples by benchmark (patterns take * and ?), metric and commit, in the order of dates."""
    s, c, r = schema.samples.c, schema.commits.c, schema.series.c
    chosen = (
        select(
            c.sha, c.date, c.subject, r.benchmark, r.metric, r.unit, s.n, s.location, s.low, s.high, s.anchor,
            schema.machines.c.label, schema.sessions.c.key, schema.sessions.c.started, schema.sources.c.path,
        )
        .select_from(schema.samples)
        .join(schema.commits).join(schema.series).join(schema.sessions).join(schema.sources)
        .join(schema.machines, schema.sessions.c.machine == schema.machines.c.id)
        .order_by(c.date, c.sha, r.benchmark, r.metric, s.id)
    )  # fmt: skip
    if metric is not None:
        chosen = chosen.where(r.metric == metric)
    if commit is not None:
        chosen = chosen.where(c.sha == commit)
    with store.transaction() as connection:
        names = [
            n for n in connection.execute(select(r.benchmark).distinct()).scalars() if wanted(n, patterns, ())
        ]
        if patterns and len(names) <= 500:
            chosen = chosen.where(r.benchmark.in_(names))
        kept, names_of = set(names), [field.name for field in fields(QueriedSample)]
        return [
            QueriedSample(**dict(zip(names_of, row, strict=True)))
            for row in connection.execute(chosen)
            if row.benchmark in kept
        ]
