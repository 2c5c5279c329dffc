"""What a corpus holds: the columns of a row, the manifest, and the way from records to rows and back.

A row is what one file says of one benchmark, one metric and one version. Rows of the same three are pooled when
they are analysed, as the records of files are; so a corpus answers as its files do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from speedproof import __version__
from speedproof.arrays import IntArray, from_zero
from speedproof.corpus.place import Place, arrays, arrow, filled, known, numbers
from speedproof.data.names import MANIFEST
from speedproof.data.record import Record
from speedproof.data.sample import Trait
from speedproof.data.suite import Suite
from speedproof.data.units import Direction, direction_of
from speedproof.errors import SpeedproofError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = 4
"""Raised with every change of the columns."""

COMMITS = ("commit", "commit_id", "commit_hash", "git_commit", "revision", "sha")
MACHINES = ("machine", "host", "hostname", "host_name", "node", "nodename")


class File(msgspec.Struct, frozen=True):
    """A Parquet file of a corpus; the folder is the beginning of the hash that its benchmarks share."""

    path: str
    rows: int
    values: int
    bytes: int

    @property
    def prefix(self) -> str:
        """What the hashes of its benchmarks begin with."""
        return "".join(self.path.split("/")[1:-1])


class Manifest(msgspec.Struct):
    """What a corpus says of itself, in ``corpus.json``.

    ``serial`` numbers files and states, ``complete`` is false while a build goes on, ``versions`` and
    ``metrics`` count rows.
    """

    schema: int = SCHEMA
    speedproof: str = __version__
    complete: bool = False
    serial: int = 0
    rows: int = 0
    values: int = 0
    inputs: int = 0
    rejects: int = 0
    versions: dict[str, int] = {}
    metrics: dict[str, int] = {}
    files: list[File] = []

    @classmethod
    def of(cls, place: Place) -> Manifest | None:
        """The manifest of a corpus; None where there is none."""
        if not place.has(MANIFEST):
            return None
        name = f"{place.name}/{MANIFEST}"
        try:
            content = json.loads(place.read(MANIFEST))
            schema = content.get("schema")
            if isinstance(schema, int) and schema != SCHEMA:
                remedy = "install a newer one" if schema > SCHEMA else "build it anew"
                raise UsageError(
                    f"{name}: the corpus has schema {schema}, written by speedproof {content.get('speedproof')}; "
                    f"this is {__version__}, which reads {SCHEMA}: {remedy}"
                )
            return msgspec.convert(content, cls)
        except (AttributeError, RecursionError, ValueError, msgspec.ValidationError) as error:
            raise SpeedproofError(f"{name}: the manifest is damaged: {error}") from None

    def write(self, place: Place) -> None:
        """Make this the state of the corpus, at once."""
        place.write(MANIFEST, msgspec.json.format(msgspec.json.encode(self)))


def opened(name: str | os.PathLike[str]) -> tuple[Place, Manifest]:
    """A corpus for reading."""
    place = Place.of(name)
    manifest = Manifest.of(place)
    if manifest is None:
        raise UsageError(
            f"{place.name}: there is no corpus; make one with 'speedproof corpus build FILES -o DIR'"
        )
    return place, manifest


def finished(name: str | os.PathLike[str]) -> tuple[Place, Manifest]:
    """A corpus for questions, which is complete."""
    place, manifest = opened(name)
    if not manifest.complete:
        raise UsageError(
            f"{place.name}: the build was cut short; finish it with the same 'corpus build' command"
        )
    return place, manifest


_NESTED = ("processes", "blocks")
_UNKNOWN = (*_NESTED, "machine", "commit", "began", "ended")
"""Columns that may be null."""


@cache
def columns() -> pa.Schema:
    """The columns of a row."""
    pa = arrow()
    text, texts = pa.string(), pa.list_(pa.string())
    schema = pa.schema(
        [
            ("row", pa.int64()), ("benchmark", text), ("metric", text), ("version", text), ("unit", text),
            ("direction", text), ("n", pa.int32()), ("values", pa.list_(pa.float64())),
            ("processes", pa.list_(pa.int32())), ("blocks", pa.list_(pa.int64())),
            ("machine", text), ("session", text), ("commit", text),
            ("began", pa.float64()), ("ended", pa.float64()), ("tool", text), ("file", text), ("place", text),
            ("position", pa.int32()), ("traits", texts), ("notes", texts), ("tags", pa.map_(text, text)),
        ]
    )  # fmt: skip
    return pa.schema([field.with_nullable(field.name in _UNKNOWN) for field in schema])


@cache
def reject_columns() -> pa.Schema:
    """The columns of what could not be read."""
    pa = arrow()
    # The version of a session that was not measured, and whether it lacks the benchmark; empty of all others;
    # whether it is a whole file of results
    names = ("file", "place", "benchmark", "reason", "version", "lacks", "unread")
    return pa.schema([pa.field(name, pa.string(), nullable=False) for name in names])


def digest(benchmark: str) -> str:
    """The hash of a benchmark by which rows are shared out: that of ``b2sum -l 32``."""
    return blake2b(benchmark.encode("utf-8", "replace"), digest_size=4).hexdigest()


def merged(records: Sequence[Record]) -> list[Record]:
    """Join records of one file that differ in their values only, as Go's lines do: pooling gives the same."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for i, r in enumerate(records):
        alike: tuple[Any, ...] = (i,)
        if r.processes is None and r.blocks is None and r.span is None:
            alike = (r.benchmark, r.metric, r.unit, r.direction, r.version, r.path, r.fields, r.traits, r.notes,
                     r.session)  # fmt: skip
        groups.setdefault(alike, []).append(r)
    return [
        group[0] if len(group) == 1 else replace(group[0], values=np.concatenate([r.values for r in group]))
        for group in groups.values()
    ]


def table(rows: Sequence[tuple[int, str, Record]]) -> pa.Table:
    """Numbered records, each with its version, as rows."""
    cells_of: dict[str, list[Any]] = {name: [] for name in columns().names}
    for number, version, r in rows:
        fields = dict(r.fields)
        cells = (
            number, r.benchmark, r.metric, version, r.unit, (r.direction or direction_of(r.unit, r.metric)).value,
            r.values.size, r.values, None if r.processes is None else from_zero(r.processes), r.blocks,
            _first(fields, MACHINES), r.session or r.path, _first(fields, COMMITS),
            *(r.span or (None, None)), r.tool, r.path, r.where, r.position,
            sorted(r.traits), list(r.notes), list(fields.items()),
        )  # fmt: skip
        for of_column, value in zip(cells_of.values(), cells, strict=True):
            of_column.append(value)
    try:
        return filled(arrays(cells_of, columns()), columns())
    except UnicodeEncodeError:  # as of a file whose name is not UTF-8
        texts = {name: clean(values) for name, values in cells_of.items()}
        return filled(arrays(texts, columns()), columns())


def _first(fields: dict[str, str], names: Sequence[str]) -> str | None:
    return next((fields[name] for name in names if fields.get(name)), None)


def clean(value: Any) -> Any:
    """Texts without what UTF-8 cannot hold, as of names of files that are not in it."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return type(value)(clean(v) for v in value)
    return value


def suite_of(rows: pa.Table) -> Suite:
    """The samples that rows make together, in the order of benchmark, metric and version."""
    read = sorted(records(rows), key=lambda one: (one[1].benchmark, one[1].metric, one[1].version, one[0]))
    return Suite.from_records((record.version or "", record) for _, record in read)


_OF_RECORD = ("row", "benchmark", "unit", "metric", "version", "tool", "position", "session", "direction", "file",
              "place", "tags", "traits", "notes", "began", "ended")  # fmt: skip
_DIRECTIONS = {direction.value: direction for direction in Direction}
_NO_TRAIT = frozenset[Trait]()
_TRAITS = {trait.value: trait for trait in Trait}


@lru_cache(256)
def _traits(names: tuple[str, ...]) -> frozenset[Trait]:
    return frozenset(_TRAITS[name] for name in names if name in _TRAITS)


def records(rows: pa.Table) -> Iterator[tuple[int, Record]]:
    """Rows as numbered records, each with its version."""
    for batch in rows.to_batches():
        values = batch.column("values")
        flat, ends = numbers(values.values), numbers(values.offsets).tolist()
        levels: list[list[IntArray | None]] = []
        for units in map(batch.column, _NESTED):
            of_row: list[IntArray | None] = [None] * len(batch)
            if (there := known(units)).any():
                every, stops = numbers(units.values), numbers(units.offsets).tolist()
                for i in np.flatnonzero(there).tolist():
                    of_row[i] = every[stops[i] : stops[i + 1]].astype(np.int64)
            levels.append(of_row)
        columns_of = (batch.column(name).to_pylist() for name in _OF_RECORD)
        for cells in zip(*columns_of, *levels, ends[:-1], ends[1:], strict=True):
            (row, benchmark, unit, metric, version, tool, position, session, direction, path, where, tags, traits,
             notes, began, ended, processes, blocks, start, end) = cells  # fmt: skip
            yield (
                row,
                Record(
                    benchmark,
                    flat[start:end],
                    unit,
                    metric,
                    _DIRECTIONS[direction],
                    version,
                    processes,
                    path,
                    where,
                    tuple(tags),
                    _traits(tuple(traits)) if traits else _NO_TRAIT,
                    tuple(notes),
                    tool,
                    position,
                    session,
                    None if began is None else (began, ended),
                    blocks,
                ),
            )
