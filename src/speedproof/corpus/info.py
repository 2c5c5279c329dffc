"""What a corpus holds, in counts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from speedproof.corpus.read import database, fetched, of_corpus
from speedproof.corpus.schema import COMMITS, MACHINES, opened

_NAMED = 3

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
_POOLED = """
WITH several AS (SELECT benchmark, metric, version, count(*) AS k FROM corpus GROUP BY ALL HAVING k > 1),
one AS (SELECT version, arg_max({'benchmark': benchmark, 'metric': metric}, k) AS most FROM several GROUP BY 1)
SELECT DISTINCT version, map_keys(tags), map_values(tags) FROM corpus JOIN one USING (version)
WHERE corpus.benchmark = most.benchmark AND corpus.metric = most.metric
"""
_KNOWN = "SELECT count(*) FROM corpus WHERE list_contains(map_keys(tags), ?)"
_REJECTS = 'SELECT file, place, reason FROM rejects ORDER BY file, "place" LIMIT ?'


class CorpusInfo(Struct, frozen=True):
    """What a corpus holds."""

    name: str  # the folder or URL
    schema: int  # of its columns
    complete: bool  # false after a build that was cut short, which the same command goes on with
    # Samples, measured values, Parquet files, their size, and files read
    rows: int
    values: int
    files: int
    bytes: int
    inputs: int
    # How many different ones
    benchmarks: int
    machines: int
    sessions: int
    # Values a row: minimum, median and maximum
    least: float
    middle: float
    most: float
    versions: tuple[tuple[str, int], ...]  # each with its rows, in order of first appearance
    metrics: tuple[tuple[str, int], ...]  # each with its rows, the most frequent first
    # Benchmark, metric and units where there are several: such rows are never compared with each other
    mixed: tuple[tuple[str, str, str], ...]
    tags: tuple[str, ...]  # the keys of ``tags``
    # Versions with rows of one benchmark that differ in their tags, by the benchmark with the most rows
    pooled: tuple[str, ...]
    apart: tuple[str, ...]  # the tags that tell these rows apart
    everywhere: bool  # whether every row has these tags, so that ``--by`` takes them
    rejects: int  # files, or parts of files, that could not be read
    rejected: tuple[tuple[str, str, str], ...]  # the first of them: file, place and reason


def info(name: str | os.PathLike[str]) -> CorpusInfo:
    """Count what a corpus holds."""
    place, manifest = opened(name)
    with database(place) as connection:
        of_corpus(connection, place, manifest)
        rows = partial(fetched, connection)
        ((benchmarks, _, machines, sessions, least, middle, most),) = rows(_COUNTS)
        pooled, apart = _pooled(rows(_POOLED), tuple(manifest.versions))
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
            metrics=tuple(rows(_METRICS)),
            mixed=tuple(rows(_MIXED)),
            tags=tuple(tag for (tag,) in rows(_TAGS)),
            pooled=pooled,
            apart=apart,
            everywhere=bool(apart) and all(rows(_KNOWN, tag) == [(manifest.rows,)] for tag in apart),
            rejects=manifest.rejects,
            rejected=tuple(rows(_REJECTS, _NAMED)),
        )


def _pooled(rows: Iterable[tuple[Any, ...]], order: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which versions pool rows of different tags, and the fewest tags that tell these apart, commits first."""
    kinds: dict[str, list[Mapping[str, str]]] = {}
    for version, names, texts in rows:
        kinds.setdefault(version, []).append(dict(zip(names, texts, strict=True)))
    values: dict[str, int] = {}  # by tags that differ within a version, how many there are at most
    pooled: dict[str, list[Mapping[str, str]]] = {}
    for version, of_version in kinds.items():
        for name in set().union(*of_version) - {"session"}:
            known = {tags.get(name) for tags in of_version}
            if len(known - {None}) > 1:
                pooled[version] = of_version
                values[name] = max(len(known), values.get(name, 0))

    def groups(names: Sequence[str]) -> int:
        return sum(len({tuple(map(tags.get, names)) for tags in of_one}) for of_one in pooled.values())

    first = [*COMMITS, *MACHINES]
    chosen: list[str] = []
    for name in sorted(values, key=lambda n: (first.index(n) if n in first else len(first), values[n], n)):
        if groups([*chosen, name]) > groups(chosen):
            chosen.append(name)
    return tuple(v for v in order if v in pooled), tuple(chosen)
