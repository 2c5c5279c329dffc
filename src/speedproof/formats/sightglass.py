"""sightglass: the raw measurements of ``sightglass-cli benchmark``, as JSON or CSV.

https://github.com/bytecodealliance/sightglass, crates/data: a measurement is one ``count`` of one ``event`` in one
``phase`` (compilation, instantiation, execution) of one Wasm program under one engine, with the id of its process
and the iteration inside it, in run order. Old versions print an array for every process, one a line.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import metric_of, parse_unit
from speedproof.errors import FormatError
from speedproof.formats.jsontext import as_fields, decode
from speedproof.formats.options import ReadOptions
from speedproof.formats.sniff import has_members
from speedproof.formats.source import Source

NAME = "sightglass"
TITLE = "sightglass"
DESCRIPTION = "JSON or CSV of raw measurements: phases and events by process"

# Events that are quantities with a unit; all others are counts.
_UNITS = {"nanoseconds": "ns", "cycles": "cycles", "cpu-cycles": "cycles"}


class _Measurement(Struct):
    engine: str
    wasm: str
    process: int
    phase: str
    event: str
    count: float
    arch: str | None = None
    engine_flags: str | None = None


class _Group(Struct):
    where: str
    processes: list[int] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)


_MEMBERS = ("engine", "wasm", "process", "iteration", "phase", "event", "count")


def sniff(head: bytes) -> bool:
    """Whether the members, or the columns, are those of raw measurements."""
    columns = head.lstrip().partition(b"\n")[0].strip().decode(errors="replace").split(",")
    return has_members(head, _MEMBERS) or set(_MEMBERS).issubset(columns)


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read every program's phases and events, with the process of each count."""
    is_json = source.data.lstrip()[:1] == b"["
    groups: dict[tuple[str, str, str, str, str | None, str | None], _Group] = {}
    for where, found in _from_json(source) if is_json else _from_csv(source):
        if isinstance(found, FormatError):
            yield Skipped(source.name, found.where, "", found.message)
            continue
        key = (found.wasm, found.phase, found.event, found.engine, found.engine_flags, found.arch)
        group = groups.setdefault(key, _Group(where))
        group.processes.append(found.process)
        group.counts.append(found.count)
    several = len({(engine, flags) for _, _, _, engine, flags, _ in groups}) > 1
    for (wasm, phase, event, engine, flags, arch), group in groups.items():
        unit = parse_unit(_UNITS.get(event, ""))
        yield Record(
            f"{wasm}:{phase.lower()}",
            unit.to_base(np.array(group.counts)),
            unit.base,
            metric=metric_of(unit.base) if event in _UNITS else event,
            version=" ".join(filter(None, (engine, flags))) if several else None,
            processes=np.unique(group.processes, return_inverse=True)[1],
            path=source.name,
            where=group.where,
            fields=as_fields({"engine": engine, "engine_flags": flags or None, "arch": arch, "wasm": wasm}),
            traits=frozenset({Trait.ORDER_KNOWN}),
        )


_Found = Iterator[tuple[str, _Measurement | FormatError]]


def _from_json(source: Source) -> _Found:
    import msgspec

    lines = [line for line in source.data.splitlines() if line.strip()]
    by_line = len(lines) > 1 and all(line[:1] == b"[" and line.rstrip()[-1:] == b"]" for line in lines)
    for number, data in enumerate(lines if by_line else [source.data], start=1):
        begin = f"line {number}" if by_line else ""
        for index, part in enumerate(decode(data, list[msgspec.Raw], source, begin)):
            where = f"{begin}[{index}]"
            try:
                yield where, decode(part, _Measurement, source, where)
            except FormatError as error:
                yield where, error


def _from_csv(source: Source) -> _Found:
    import msgspec

    rows = csv.DictReader(source.lines, strict=True)
    try:
        for row in rows:
            where = f"line {rows.line_num}"
            try:
                yield where, msgspec.convert(row, _Measurement, strict=False)
            except msgspec.ValidationError as error:
                yield where, source.error(where, f"no measurement ({error}); was the row cut?")
    except csv.Error as error:
        raise source.error(f"line {rows.line_num}", f"not CSV: {error}") from None
