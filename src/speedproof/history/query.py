"""Measurements as rows: what was measured of which commit, when, where, with its median and interval."""

from __future__ import annotations

from collections.abc import Sequence

from speedproof.data.names import nearest_of, wanted
from speedproof.errors import UsageError
from speedproof.history.database import places
from speedproof.history.rows import QueriedSample
from speedproof.history.store import HistoryStore

_COLUMNS = """c.sha, c.date, c.subject, r.benchmark, r.metric, r.unit, s.n, s.location, s.low, s.high, s.anchor,
m.label, t.key, t.started, f.path"""
_ORDER = "c.date DESC, c.sha DESC, r.benchmark DESC, r.metric DESC, s.id DESC"


def query(
    store: HistoryStore,
    last: int | None,
    patterns: Sequence[str],
    metric: str | None,
    commit: str | None,
    machine: str | None,
) -> list[QueriedSample]:
    """Samples by benchmark (patterns, or a part), machine (pattern), metric, commit; all, or the last by date."""
    chosen: dict[str, Sequence[str]] = {}
    if metric is not None:
        chosen["r.metric"] = [metric]
    if commit is not None:
        chosen["c.sha"] = [commit]
    if machine is not None:
        chosen["m.label"] = [*store.machines(machine).values()]
    if patterns:
        names = list(dict.fromkeys(series.key.benchmark for series in store.all_series()))
        meant = set[str]()
        for pattern in patterns:
            of = [name for name in names if wanted(name, [pattern], ())] or [n for n in names if pattern in n]
            if not of:
                raise UsageError(f"{store.where}: holds no benchmark {pattern}; {nearest_of(pattern, names)}")
            meant.update(of)
        chosen["r.benchmark"] = sorted(meant)
    conditions = [f"{column} IN ({places(len(values))})" for column, values in chosen.items()]
    which = " WHERE " * bool(conditions) + " AND ".join(conditions)
    limit = "" if last is None else f" LIMIT {last}"
    statement = f"""SELECT {_COLUMNS} FROM sample s JOIN "commit" c ON c.id = s."commit"
        JOIN series r ON r.id = s.series JOIN session t ON t.id = s.session JOIN source f ON f.id = s.source
        JOIN machine m ON m.id = t.machine{which} ORDER BY {_ORDER}{limit}"""
    with store.transaction() as connection:
        newest_first = connection.rows(statement, *(value for values in chosen.values() for value in values))
    truth = QueriedSample.__struct_fields__.index("anchor")  # which SQLite keeps as a number
    rows = [*map(list, reversed(newest_first))]
    for values in rows:
        values[truth] = bool(values[truth])
    return [QueriedSample(*values) for values in rows]
