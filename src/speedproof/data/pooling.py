"""From records to a sample: which of them belong together, and what told them apart although they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from speedproof.arrays import IntArray
from speedproof.data.groups import from_zero, numbered
from speedproof.data.names import enumerate_names
from speedproof.data.record import Record
from speedproof.data.sample import Sample, Trait
from speedproof.data.units import Direction, direction_of

if TYPE_CHECKING:
    from speedproof.data.suite import Key


class Residue(Struct, frozen=True):
    """A field that differed among values that were pooled into one sample."""

    field: str  # what differed: ``"file"``, ``"cpu"``, ``"pkg"``, ...
    values: tuple[str, ...]  # the different values, in order of appearance
    benchmarks: tuple[str, ...]  # the benchmarks concerned

    @property
    def remedy(self) -> str:
        """How to tell the values apart, to follow what the residue says."""
        return f"; tell them apart by {self.field!r}"

    def __str__(self) -> str:
        shown = enumerate_names(self.values, 3, 50)
        count = f"{len(self.benchmarks)} benchmark{'s' if len(self.benchmarks) != 1 else ''}"
        return f"pooled over {self.field} ({shown}) in {count}"


def misfit(group: list[Record], record: Record) -> str:
    """Why a record cannot join its group; empty when it can."""
    if not group:
        return ""
    first = group[0]
    if record.unit != first.unit:
        return f"its unit is {record.unit!r} where {first.path} {first.where} has {first.unit!r}"
    if _better(record) is not _better(first):
        return f"its direction differs from that of {first.path} {first.where}"
    return ""


def _better(record: Record) -> Direction:
    """Which of its values are better, said or not."""
    return record.direction or direction_of(record.unit, record.metric)


def negative_time(record: Record) -> str:
    """Why a record of plain numbers is no record of times; empty when it may be one."""
    if record.metric != "time" or not record.values.size or not record.values.min() < 0:
        return ""
    return f"it holds {record.values.min():g}, and a time is never negative: correct or remove that value"


# A disadvantage of one part taints the whole; an advantage must be that of every part.
_ADVANTAGES = {Trait.ORDER_KNOWN, Trait.WARMUP_REMOVED, Trait.ONE_PROCESS, Trait.BUILDS, Trait.RANDOM_ORDER,
               Trait.IN_TURN, Trait.MILLI, Trait.MICRO, Trait.NANO}  # fmt: skip


def pool(group: list[Record], version: str) -> Sample:
    """Join records to one sample; processes of different records stay apart, and so do sessions.

    Records that come from one process each, from several files, are the processes of the sample.
    """
    traits = frozenset.intersection(*(record.traits for record in group))
    sittings = list(dict.fromkeys(record.session or record.path for record in group))
    processes: IntArray | None = None
    sessions: IntArray | None = None
    if len(group) > 1:
        traits -= {Trait.IN_TURN}  # other rows may be between those of two
        sizes = [record.values.size for record in group]
        files, paths = numbered([record.path for record in group])
        if Trait.ONE_PROCESS in traits and len(paths) > 1:
            processes = np.repeat(files, sizes)
            traits -= {Trait.ONE_PROCESS}
        if len(sittings) > 1:
            sessions = np.repeat(numbered([record.session or record.path for record in group])[0], sizes)
    if any(record.processes is not None for record in group):
        parts: list[IntArray] = []
        start = 0
        for record in group:
            own = np.arange(record.values.size) if record.processes is None else from_zero(record.processes)
            parts.append(own + start)
            start += int(own.max(initial=-1)) + 1
        processes = np.concatenate(parts)
    spans = [record.span for record in group if record.span is not None]
    blocks = [record.blocks for record in group if record.blocks is not None]
    first = group[0]
    return Sample(
        first.values if len(group) == 1 else np.concatenate([record.values for record in group]),
        first.unit,
        _better(first),
        processes,
        version,
        " ".join(part for part in (first.path, first.where) if part),
        traits | frozenset(t for record in group for t in record.traits if t not in _ADVANTAGES),
        tuple(dict.fromkeys(note for record in group for note in record.notes)),
        sessions=sessions,
        session_names=tuple(sittings),
        span=(min(a for a, _ in spans), max(b for _, b in spans)) if len(spans) == len(group) else None,
        tool=first.tool if all(record.tool == first.tool for record in group) else "",
        position=first.position,
        blocks=np.concatenate(blocks) if len(blocks) == len(group) else None,
        fields=tuple(f for f in first.fields if all(f in record.fields for record in group[1:])),
    )


def residue(groups: Mapping[tuple[Key, str], list[Record]]) -> tuple[Residue, ...]:
    """What differed among records that were pooled."""
    seen: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for (key, _), group in groups.items():
        if len(group) < 2:
            continue
        columns: dict[str, dict[str, None]] = {}
        for record in group:
            for name, value in record.fields:
                if name != "session":  # the level of nesting above the process, not something overlooked
                    columns.setdefault(name, {}).setdefault(value)
        for name, values in columns.items():
            if len(values) > 1:
                known, benchmarks = seen.setdefault(name, ({}, {}))
                known.update(values)
                benchmarks.setdefault(key.benchmark)
    return tuple(
        Residue(name, tuple(values), tuple(benchmarks)) for name, (values, benchmarks) in seen.items()
    )


def fields(groups: Mapping[tuple[Key, str], list[Record]]) -> dict[str, dict[str, tuple[str, ...]]]:
    """By version, the values of every field of its records."""
    seen: dict[str, dict[str, dict[str, None]]] = {}
    for (_, version), group in groups.items():
        for record in group:
            for name, value in record.fields:
                seen.setdefault(version, {}).setdefault(name, {}).setdefault(value)
    return {
        version: {name: tuple(values) for name, values in fields.items()} for version, fields in seen.items()
    }
