"""sightglass: the raw measurements of ``sightglass-cli benchmark``, as JSON or CSV.

https://github.com/bytecodealliance/sightglass, crates/data: a measurement is one ``count`` of one ``event`` in one
``phase`` (compilation, instantiation, execution) of one Wasm program under one engine, with the id of its process
and the iteration inside it, in run order. Old versions print an array for every process, one a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
from msgspec import Struct

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import metric_of, parse_unit
from speedproof.formats.jsontext import as_fields, each, members
from speedproof.formats.reading import is_json, rows_of
from speedproof.formats.source import ReadOptions, Source

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


_MEMBERS = ("engine", "wasm", "process", "iteration", "phase", "event", "count")
_JSON = members(*_MEMBERS)


def sniff(head: bytes) -> bool:
    """Whether the members, or the columns, are those of raw measurements."""
    if is_json(head):
        return _JSON(head)
    line = re.search(rb"\S.*", head)
    columns = line[0].strip().decode(errors="replace").split(",") if line else ()
    return set(_MEMBERS).issubset(columns)


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read every program's phases and events, with the process of each count."""
    groups: dict[tuple[str, str, str, str, str | None, str | None], list[tuple[str, int, float]]] = {}

    def take(place: Record, m: _Measurement) -> tuple[()]:
        key = (m.wasm, m.phase, m.event, m.engine, m.engine_flags, m.arch)
        groups.setdefault(key, []).append((place.where, m.process, m.count))
        return ()

    yield from _from_json(source, take) if is_json(source.begin) else _from_csv(source, take)
    several = len({(engine, flags) for _, _, _, engine, flags, _ in groups}) > 1
    for (wasm, phase, event, engine, flags, arch), group in groups.items():
        unit = parse_unit(_UNITS.get(event, ""))
        yield source.frame(group[0][0], f"{wasm}:{phase.lower()}").holding(
            np.array([count for _, _, count in group]),
            unit,
            metric=metric_of(unit.base) if event in _UNITS else event,
            version=" ".join(filter(None, (engine, flags))) if several else None,
            processes=np.unique([process for _, process, _ in group], return_inverse=True)[1],
            fields=as_fields({"engine": engine, "engine_flags": flags or None, "arch": arch, "wasm": wasm}),
            traits=frozenset({Trait.ORDER_KNOWN}),
        )


_Take = Callable[[Record, _Measurement], tuple[()]]


def _from_json(source: Source, take: _Take) -> Iterator[Record | Skipped]:
    lines = [line for line in source.lines if line.strip()]
    if len(lines) == 1 or not all(line[0] == "[" and line.rstrip()[-1] == "]" for line in lines):
        yield from each(source, source.content, _Measurement, take)
    else:
        for number, line in enumerate(lines, start=1):
            yield from each(source, line.encode(), _Measurement, take, f"line {number}")


def _from_csv(source: Source, take: _Take) -> Iterator[Record | Skipped]:
    for where, row in rows_of(source):
        try:
            take(source.frame(where, ""), msgspec.convert(row, _Measurement, strict=False))
        except msgspec.ValidationError as error:
            yield source.skip(where, "", f"no measurement ({error}); was the row cut?")
