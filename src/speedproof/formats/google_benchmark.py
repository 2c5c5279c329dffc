"""google-benchmark: the JSON of ``--benchmark_out`` or ``--benchmark_format=json``.

https://github.com/google/benchmark, src/json_reporter.cc: ``benchmarks`` holds one entry a repetition
(``run_type`` "iteration") and, with several repetitions, aggregates of them. Times are per iteration, in
``time_unit``. Every other number of an entry is a counter. Entries before version 1.4.1 have neither
``run_type`` nor ``run_name``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np
from msgspec.structs import replace

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import Unit, parse_unit
from speedproof.errors import FormatError
from speedproof.formats.jsontext import as_fields, decode, number
from speedproof.formats.moments import epoch, span_of
from speedproof.formats.notes import plural
from speedproof.formats.options import ReadOptions
from speedproof.formats.sniff import has_members
from speedproof.formats.source import Source

NAME = "google-benchmark"
TITLE = "google-benchmark"
DESCRIPTION = "JSON of --benchmark_out: repetitions, real and CPU time, counters"

# What the reporter writes of an entry besides the user's counters.
_NO_COUNTER = {
    "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
    "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit", "label",
    "error_occurred", "error_message", "skipped", "skip_message", "aggregate_name", "aggregate_unit",
    "cpu_coefficient", "real_coefficient", "big_o", "rms",
}  # fmt: skip
_HOST = (
    "host_name",
    "num_cpus",
    "mhz_per_cpu",
    "cpu_scaling_enabled",
    "library_build_type",
    "library_version",
)
_OLD_AGGREGATES = ("_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS")
_RATES = {"items_per_second": Unit("items/s"), "bytes_per_second": Unit("B/s")}
_REMEDY = "run again with --benchmark_repetitions=20 and without --benchmark_report_aggregates_only"


class _File(msgspec.Struct):
    benchmarks: list[msgspec.Raw]
    context: dict[str, object] = {}


class _Head(msgspec.Struct):
    """What tells the kind of an entry."""

    name: str
    run_name: str | None = None
    run_type: str | None = None
    aggregate_name: str | None = None
    time_unit: str = "ns"
    threads: int | None = None
    label: str | None = None
    error_occurred: bool = False
    error_message: str = ""
    skipped: bool | str = False
    skip_message: str = ""


class _Entry:
    """An entry: what tells its kind, all its members, and its place."""

    def __init__(self, where: str, head: _Head, members: dict[str, object]) -> None:
        self.where = where
        self.head = head
        self.members = members

    @property
    def benchmark(self) -> str:
        return self.head.run_name or self.head.name


def sniff(head: bytes) -> bool:
    """Whether the members are those of google-benchmark's JSON."""
    return has_members(head, ("benchmarks",), ("real_time", "run_type", "library_build_type"))


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the repetitions of every benchmark."""
    file = decode(source.data, _File, source)
    host = as_fields({key: file.context[key] for key in _HOST if key in file.context})
    span = span_of([epoch(file.context.get("date"))])
    entries: list[_Entry] = []
    for index, part in enumerate(file.benchmarks):
        where = f"benchmarks[{index}]"
        try:
            head = decode(part, _Head, source, where)
            entries.append(_Entry(where, head, decode(part, dict[str, object], source, where)))
        except FormatError as error:
            yield Skipped(source.name, error.where, "", error.message)
    names = {entry.head.name for entry in entries}
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[_Entry]] = {}
    aggregates: dict[str, list[_Entry]] = {}
    failures: dict[str, list[_Entry]] = {}
    for entry in entries:
        head = entry.head
        if head.error_occurred or head.skipped:
            failures.setdefault(entry.benchmark, []).append(entry)
        elif _is_aggregate(head, names):
            aggregates.setdefault(entry.benchmark, []).append(entry)
        else:
            own = as_fields({"threads": head.threads, "label": head.label or None})
            groups.setdefault((entry.benchmark, head.time_unit, host + own), []).append(entry)
    for (benchmark, time_unit, fields), members in groups.items():
        for item in _records(source, benchmark, time_unit, fields, members):
            yield replace(item, span=span) if isinstance(item, Record) else item
    yield from _failures(source, failures)
    yield from _summaries(source, aggregates, {benchmark for benchmark, _, _ in groups})


def _is_aggregate(head: _Head, names: set[str]) -> bool:
    if head.run_type is not None:
        return head.run_type == "aggregate"
    # Old files: known by the name of what they aggregate.
    return head.aggregate_name is not None or any(
        head.name.endswith(suffix)
        and (suffix in ("_BigO", "_RMS") or head.name.removesuffix(suffix) in names)
        for suffix in _OLD_AGGREGATES
    )


def _records(
    source: Source, benchmark: str, time_unit: str, fields: tuple[tuple[str, str], ...], entries: list[_Entry]
) -> Iterator[Record | Skipped]:
    time = parse_unit(time_unit)
    metrics: dict[str, tuple[str, Unit]] = {"real_time": ("time", time), "cpu_time": ("cpu time", time)}
    for entry in entries:
        for member, value in entry.members.items():
            if member not in _NO_COUNTER and isinstance(value, (int, float, str)):
                metrics.setdefault(member, (member, _RATES.get(member, Unit(""))))
    found = False
    for member, (metric, unit) in metrics.items():
        values = [number(entry.members[member]) for entry in entries if member in entry.members]
        finite = [value for value in values if math.isfinite(value)]
        where = entries[0].where
        if lost := len(values) - len(finite):
            reason = f"{member} is not a number in {lost} of {plural(len(values), 'run')}"
            yield Skipped(source.name, where, benchmark, reason)
        if not finite:
            continue
        found = True
        yield Record(
            benchmark,
            unit.to_base(np.array(finite)),
            unit.base,
            metric=metric,
            path=source.name,
            where=where,
            fields=fields,
            traits=frozenset({Trait.ORDER_KNOWN, Trait.ONE_PROCESS}),
        )
    if not found:
        yield Skipped(source.name, entries[0].where, benchmark, "the entry holds no measured value")


def _failures(source: Source, failures: dict[str, list[_Entry]]) -> Iterator[Skipped]:
    for benchmark, entries in failures.items():
        head = entries[0].head
        message = head.error_message or head.skip_message or "it gave no message"
        reason = f"{plural(len(entries), 'run')} reported an error and left no time: {message}"
        yield Skipped(source.name, entries[0].where, benchmark, reason)


def _summaries(
    source: Source, aggregates: dict[str, list[_Entry]], read_names: set[str]
) -> Iterator[Skipped]:
    left_out = 0
    for benchmark, entries in aggregates.items():
        kinds = {entry.head.aggregate_name or entry.head.name.rpartition("_")[2] for entry in entries}
        # "sum_mean" without its repetitions is a summary of "sum"; with them it is merely redundant, and so
        # is the complexity fitted to a family of benchmarks.
        bases = {benchmark, *(benchmark.removesuffix(suffix) for suffix in _OLD_AGGREGATES)}
        if bases.isdisjoint(read_names) and not kinds <= {"BigO", "RMS"}:
            yield Skipped(
                source.name, entries[0].where, benchmark, f"only aggregates of it are here; {_REMEDY}"
            )
        else:
            left_out += len(entries)
    if left_out:
        reason = f"{plural(left_out, 'aggregate')} of repetitions left out"
        yield Skipped(source.name, "", "", reason, expected=True)
