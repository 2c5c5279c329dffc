"""asv (airspeed velocity): the result files ``results/MACHINE/COMMIT-ENVIRONMENT.json``, of version 1 and 2.

https://asv.readthedocs.io, "Developer docs", Results: a file holds the benchmarks of one commit in one
environment. Version 2 keeps a list a benchmark, with its columns named in ``result_columns``; version 1 keeps a
number or an object. ``result`` has one value for each combination of the parameters: of a timing the median,
and its samples are there only after ``asv run --record-samples``. ``null`` is a failure, NaN a combination that
the benchmark skips. ``results/benchmarks.json`` lists units and rounds; without it the unit follows the name, as
in asv itself (``time_``, ``mem_``, ``peakmem_``, ``track_``). A round is a process, but samples do not say
theirs: it is known only where all rounds are full.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from msgspec.structs import replace

from speedproof.arrays import IntArray
from speedproof.data.record import Item, Key, Record, RecordTable, Row, Skipped
from speedproof.data.sample import Trait, written_in
from speedproof.data.units import Direction, Unit, direction_of, parse_unit
from speedproof.errors import FormatError
from speedproof.formats.jsontext import OBJECT, Number, as_fields, decode, each, members, number
from speedproof.formats.reading import plural
from speedproof.formats.source import ReadOptions, Source, open_source

TITLE = "asv"
DESCRIPTION = "result JSON: the samples of --record-samples, otherwise medians, said to be such"
sniff = members("commit_hash", "results", some=("result_columns", "requirements"))

_Known = tuple[IntArray | None, frozenset[Trait], tuple[str, ...]]  # processes, traits and notes of values
_ONE_PROCESS = (
    "asv runs a benchmark in several processes (rounds) and does not record which sample came from which; "
    "all count as from one"
)
_SUMMARY, _ORDERED = frozenset({Trait.SUMMARY_ONLY}), frozenset({Trait.ORDER_KNOWN})
_NESTED = _ORDERED | {Trait.ONE_PROCESS}
_PLAIN: _Known = (None, frozenset(), ())
_MEDIAN: _Known = (
    None, _SUMMARY, ("asv kept the median of a timing only; run it with asv run --record-samples",),
)  # fmt: skip
_TOGETHER = 1 << 13  # rows of a table
_METRICS = {"s": "time", "B": "memory"}
_OF_PREFIX = {"time": "seconds", "timeraw": "seconds", "mem": "bytes", "peakmem": "bytes"}


class _File(msgspec.Struct):
    results: msgspec.Raw
    result_columns: list[str] | None = None
    commit_hash: str | None = None
    date: object = None  # of the commit
    env_name: str | None = None
    python: str | None = None
    params: dict[str, object] = {}
    requirements: dict[str, object] = {}


class _Entry(msgspec.Struct):
    """A benchmark of either version of the format."""

    result: list[Number | None] | Number | None
    params: list[list[object]] | None = None
    samples: list[list[Number] | Number | None] | None = None
    version: str | None = None
    started_at: object = None
    duration: object = None


class _Listed(msgspec.Struct):
    """A benchmark of ``benchmarks.json``; ``processes`` is what old versions call the rounds."""

    unit: str | None = None
    type: str | None = None
    version: str | None = None
    repeat: object = None
    rounds: int | None = None
    processes: int | None = None


_UNLISTED = _Listed()


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """Read the samples of every benchmark and parameter combination, or its one value."""
    file = decode(source.content, _File, source)
    listed: dict[str, _Listed] = {}
    try:
        listed = _list_beside(source)
    except FormatError as error:
        yield Skipped(error.path, error.where, "", f"{error.message}; units follow the benchmarks' names")
    conditions: dict[str, object] = {
        "commit": file.commit_hash,
        "commit_date": _moment(file.date),
        "environment": file.env_name,
    }
    conditions |= file.params | {"python": file.python} | file.requirements
    fields = as_fields({name: value for name, value in conditions.items() if value != ""})

    rows: list[Row] = []

    def benchmark(place: Record, part: _Entry | msgspec.Raw) -> Iterator[RecordTable | Skipped]:
        entry = _entry(source, place.where, part) if isinstance(part, msgspec.Raw) else part
        listing = listed.get(place.benchmark, _UNLISTED)
        if entry.version is not None and listing.version not in (None, entry.version):
            listing = _UNLISTED  # it was changed since it was run
        yield from _read_into(rows, source, replace(place, fields=fields, span=_span(entry)), entry, listing)
        if len(rows) >= _TOGETHER:
            yield RecordTable.of(rows)
            rows.clear()

    columns = file.result_columns
    if columns is not None and "result" not in columns:
        raise source.error("result_columns", "has no 'result'; the file is not as its tool writes it")
    kind = msgspec.Raw if columns is None else _row(tuple(columns))
    yield from each(source, file.results, kind, benchmark, "results", of=OBJECT)
    if rows:
        yield RecordTable.of(rows)


def _entry(source: Source, where: str, part: msgspec.Raw) -> _Entry:
    """A benchmark of version 1, a number or an object."""
    if bytes(part).lstrip()[:1] != b"{":
        part = msgspec.Raw(b'{"result": ' + bytes(part) + b"}")
    return decode(part, _Entry, source, where)


@lru_cache(maxsize=8)
def _row(columns: tuple[str, ...]) -> type[_Entry]:
    """A benchmark of version 2: a list of such columns, maybe without the last ones."""
    kinds = {field.name: field.type for field in msgspec.structs.fields(_Entry)}
    last = {column: i for i, column in enumerate(columns)}
    members: list[Any] = []
    for i, column in enumerate([*columns, *(name for name in kinds if name not in last)]):
        typed = column in kinds and last.get(column, i) == i
        member = (column, kinds[column]) if typed else (f"column_{i}", msgspec.Raw)
        members.append(member if i <= last["result"] else (*member, None))
    return cast(type[_Entry], msgspec.defstruct("Row", members, array_like=True))


def _list_beside(source: Source) -> dict[str, _Listed]:
    """The content of ``benchmarks.json`` beside the machine's folder; empty if it is missing."""
    for name in ("benchmarks.json", "../benchmarks.json"):
        if (path := source.beside(name)) and path.is_file() and path != source.path:
            return _listed(path, path.stat().st_mtime_ns)
    return {}


@lru_cache(maxsize=1)
def _listed(path: Path, changed: int) -> dict[str, _Listed]:
    """A list of benchmarks, kept while the result files of a folder are read."""
    file = open_source(path)
    listed: dict[str, _Listed] = {}
    for name, part in decode(file.content, dict[str, msgspec.Raw], file).items():
        with suppress(msgspec.DecodeError):
            listed[name] = msgspec.json.decode(part, type=_Listed)
    return listed


def _read_into(
    rows: list[Row], source: Source, frame: Record, entry: _Entry, listing: _Listed
) -> Iterator[Skipped]:
    """Add a row for each parameter set of a benchmark that has values; tell what is left out."""
    name, where = frame.benchmark, frame.where
    params = entry.params or ()
    count = math.prod(map(len, params))
    results = entry.result if isinstance(entry.result, list) else [entry.result]
    if entry.result is None:
        results = [None] * count
    samples = entry.samples or [None] * count
    if count == 1 and not isinstance(samples[0], list):
        samples = [[value for value in samples if isinstance(value, (int, float, str))] or None]
    for what, items in (("results", results), ("lists of samples", samples)):
        if len(items) != count:
            raise source.error(where, f"{len(items)} {what} for {plural(count, 'parameter set')}")
    names = [name]
    if params:
        sets = product(*([*map(str, values)] for values in params))
        names = [f"{name}({', '.join(one)})" for one in sets]
    prefix = name.rpartition(".")[2].partition("_")[0].lower()
    unit, metric, direction, small, single = _unit(prefix, listing.unit, listing.type)
    repeat = listing.repeat if isinstance(listing.repeat, int) else None
    rounds = listing.rounds or listing.processes or 0
    values = _in_base(unit, _doubles(results))
    like, last = frame, None
    for shown, taken, value in zip(names, samples, values, strict=True):
        if isinstance(taken, list) and taken:
            usable = [*filter(math.isfinite, _doubles(taken))]
            if not usable:
                continue
            if lost := len(taken) - len(usable):
                yield source.skip(where, shown, f"{lost} of {len(taken)} samples are no numbers")
            rounds_of, usable = _of_rounds(len(usable), rounds, repeat, not lost), _in_base(unit, usable)
        elif math.isfinite(value):
            rounds_of, usable = single, [value]
        else:
            continue
        if rounds_of is not last:
            last, (processes, traits, notes) = rounds_of, rounds_of
            like = replace(
                frame, unit=unit.base, metric=metric, direction=direction, processes=processes,
                traits=traits | small, notes=notes,
            )  # fmt: skip
        rows.append((Key(shown, metric), usable, like))
    if all(map(math.isfinite, values)):
        return
    if failed := results.count(None):
        what = f"{failed} of {count} parameter sets" if params else "the benchmark"
        yield source.skip(where, name, f"{what} failed; asv run --show-stderr says why")
    if skipped := sum(isinstance(value, str) for value in results):
        reason = f"{plural(skipped, 'parameter set')} that the benchmark itself skips"
        yield source.skip(where, name, reason, expected=True)


def _doubles(values: Sequence[Number | None]) -> list[float]:
    """Values as numbers, NaN what is none."""
    try:
        sum(cast("list[float]", values))
    except TypeError:
        return [*map(number, values)]
    return cast("list[float]", values)


def _in_base(unit: Unit, values: list[float]) -> list[float]:
    if unit.numerator == unit.denominator:
        return values
    return cast("list[float]", unit.to_base(np.array(values)).tolist())


@lru_cache(maxsize=256)
def _of_rounds(size: int, rounds: int, repeat: int | None, whole: bool, /) -> _Known:
    """What is known of samples: the round of each when all rounds were full, which their number tells."""
    if whole and repeat is not None and rounds >= 1 and size == rounds * repeat:
        return np.repeat(np.arange(rounds), repeat), _ORDERED, ()
    return None, _ORDERED if size == 1 else _NESTED, () if rounds == 1 or size == 1 else (_ONE_PROCESS,)


def _moment(milliseconds: object) -> str | None:
    """A date of asv's, in ISO 8601; None for what is none."""
    try:
        at = datetime.fromtimestamp(number(milliseconds) / 1000, UTC)
    except (OSError, OverflowError, ValueError):
        return None
    return at.isoformat(timespec="seconds")


def _span(entry: _Entry) -> tuple[float, float] | None:
    """When it was measured: asv writes milliseconds since 1970, and the seconds that it took."""
    if not isinstance(entry.started_at, (int, float)):
        return None
    start = number(entry.started_at) / 1000
    took = number(entry.duration)
    return (start, start + took if took >= 0 else start) if math.isfinite(start) else None


@lru_cache(maxsize=256)
def _unit(
    prefix: str, unit: str | None, kind: str | None
) -> tuple[Unit, str, Direction, frozenset[Trait], _Known]:
    """What a benchmark by its name's prefix and the list measures; what is known of a result without samples."""
    named = unit or _OF_PREFIX.get(prefix, "")
    of = parse_unit("" if named == "unit" else named)
    metric = _METRICS.get(of.base, "value")
    single = _MEDIAN if (kind or prefix) in ("time", "timeraw") else _PLAIN
    return of, metric, direction_of(of.base, metric), written_in(of), single
