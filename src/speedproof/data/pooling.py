"""From records to a sample: which of them belong together, and what told them apart although they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from speedproof.data.record import Record
from speedproof.data.sample import IntArray, Sample, Trait

if TYPE_CHECKING:
    from speedproof.data.suite import Key

__all__ = ["Residue", "fields", "misfit", "negative_time", "pool", "residue"]


@dataclass(frozen=True, slots=True)
class Residue:
    """A field that differed among values that were pooled into one sample.

    Attributes
    ----------
    field : str
        What differed: ``"file"``, ``"cpu"``, ``"pkg"``, ...
    values : tuple of str
        The different values, in order of appearance.
    benchmarks : tuple of str
        The benchmarks concerned.
    """

    field: str
    values: tuple[str, ...]
    benchmarks: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.values[:3]) + (", ..." if len(self.values) > 3 else "")
        count = f"{len(self.benchmarks)} benchmark{'s' if len(self.benchmarks) != 1 else ''}"
        return f"pooled over {self.field} ({len(self.values)} values: {shown}) in {count}"


def misfit(group: list[Record], record: Record) -> str:
    """Why a record cannot join its group; empty when it can."""
    if not group:
        return ""
    first = group[0]
    if record.unit != first.unit:
        return f"its unit is {record.unit!r} where {first.path} {first.where} has {first.unit!r}; left out"
    if record.direction is not first.direction:
        return f"its direction differs from that of {first.path} {first.where}; left out"
    return ""


def negative_time(record: Record) -> str:
    """Why a record of plain numbers is no record of times; empty when it may be one."""
    if record.metric != "time" or not record.values.size or not record.values.min() < 0:
        return ""
    return f"it holds {record.values.min():g}, and a time is never negative; left out"


def pool(group: list[Record], version: str) -> Sample:
    """Join records to one sample; processes of different records stay apart.

    Records that come from one process each, from several files, are the processes of the sample.
    """
    traits = frozenset.intersection(*(record.traits for record in group))
    processes: IntArray | None = None
    if Trait.ONE_PROCESS in traits and len({record.path for record in group}) > 1:
        files = {record.path: i for i, record in enumerate(group)}
        processes = np.concatenate([np.full(record.values.size, files[record.path]) for record in group])
        traits -= {Trait.ONE_PROCESS}
    if any(record.processes is not None for record in group):
        parts: list[IntArray] = []
        start = 0
        for record in group:
            own = np.arange(record.values.size) if record.processes is None else record.processes
            parts.append(np.unique(own, return_inverse=True)[1] + start)
            start += int(np.unique(own).size)
        processes = np.concatenate(parts)
    first = group[0]
    notes = tuple(dict.fromkeys(note for record in group for note in record.notes))
    values = np.concatenate([record.values for record in group])
    source = " ".join(part for part in (first.path, first.where) if part)
    # A disadvantage of one part taints the whole, so these are joined rather than intersected.
    tainting = {
        Trait.SUMMARY_ONLY,
        Trait.TRIMMED,
        Trait.SORTED,
        Trait.FAILED_RUNS,
        Trait.FAILED_LEFT_OUT,
        Trait.STOPPED_ON_RESULT,
        Trait.TWO_PROGRAMS,
    }
    tainted = frozenset(trait for record in group for trait in record.traits) & tainting
    return Sample(values, first.unit, first.direction, processes, version, source, traits | tainted, notes)


def residue(groups: Mapping[tuple[Key, str], list[Record]]) -> tuple[Residue, ...]:
    """What differed among records that were pooled."""
    seen: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for (key, _), group in groups.items():
        if len(group) < 2:
            continue
        columns: dict[str, dict[str, None]] = {}
        for record in group:
            for name, value in (("file", record.path), *record.fields):
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
