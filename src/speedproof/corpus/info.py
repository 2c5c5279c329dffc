"""What a corpus holds, in counts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from speedproof.corpus.read import database, of_corpus
from speedproof.corpus.schema import opened

_NAMED = 5

_COUNTS = """
SELECT count(DISTINCT benchmark), count(DISTINCT version), count(DISTINCT machine), count(DISTINCT session),
       min(n), median(n), max(n) FROM corpus
"""
_METRICS = "SELECT metric, count(*) FROM corpus GROUP BY metric ORDER BY count(*) DESC, metric"
_MIXED = """
SELECT benchmark, metric, string_agg(DISTINCT unit, ', ' ORDER BY unit) FROM corpus
GROUP BY benchmark, metric HAVING count(DISTINCT unit) > 1 ORDER BY benchmark, metric
"""
_TAGS = "SELECT DISTINCT unnest(map_keys(tags)) AS tag FROM corpus ORDER BY tag"
_REJECTS = 'SELECT file, place, reason FROM rejects ORDER BY file, "place" LIMIT ?'


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """What a corpus holds.

    Attributes
    ----------
    name : str
        The folder or URL.
    schema : int
        Of its columns.
    complete : bool
        False after a build that was cut short, which the same command goes on with.
    rows, values, files, bytes, inputs : int
        Samples, measured values, Parquet files, their size, and files read.
    benchmarks, machines, sessions : int
        How many different ones.
    least, middle, most : float
        Values a row: minimum, median and maximum.
    versions : tuple of (str, int)
        Each with its rows, in order of first appearance.
    metrics : tuple of (str, int)
        Each with its rows, the most frequent first.
    mixed : tuple of (str, str, str)
        Benchmark, metric and units where there are several: such rows are never compared with each other.
    tags : tuple of str
        The keys of ``tags``.
    rejects : int
        Files, or parts of files, that could not be read.
    rejected : tuple of (str, str, str)
        The first of them: file, place and reason.
    """

    name: str
    schema: int
    complete: bool
    rows: int
    values: int
    files: int
    bytes: int
    inputs: int
    benchmarks: int
    machines: int
    sessions: int
    least: float
    middle: float
    most: float
    versions: tuple[tuple[str, int], ...]
    metrics: tuple[tuple[str, int], ...]
    mixed: tuple[tuple[str, str, str], ...]
    tags: tuple[str, ...]
    rejects: int
    rejected: tuple[tuple[str, str, str], ...]


def info(name: str | os.PathLike[str]) -> CorpusInfo:
    """Count what a corpus holds."""
    place, manifest = opened(name)
    with database() as connection:
        of_corpus(connection, place, manifest)

        def rows(sql: str, *values: Any) -> tuple[tuple[Any, ...], ...]:
            return tuple(map(tuple, connection.execute(sql, values).fetchall()))

        ((benchmarks, _, machines, sessions, least, middle, most),) = rows(_COUNTS)
        return CorpusInfo(
            name=place.name,
            schema=manifest.schema,
            complete=manifest.complete,
            rows=manifest.rows,
            values=manifest.values,
            files=len(manifest.files),
            bytes=sum(file.bytes for file in manifest.files),
            inputs=manifest.inputs,
            benchmarks=benchmarks,
            machines=machines,
            sessions=sessions,
            least=least or 0,
            middle=middle or 0,
            most=most or 0,
            versions=tuple(manifest.versions.items()),
            metrics=rows(_METRICS),
            mixed=rows(_MIXED),
            tags=tuple(tag for (tag,) in rows(_TAGS)),
            rejects=manifest.rejects,
            rejected=rows(_REJECTS, _NAMED),
        )
