"""google-benchmark: the JSON of ``--benchmark_out`` or ``--benchmark_format=json``.

https://github.com/google/benchmark, src/json_reporter.cc: ``benchmarks`` holds one entry a repetition
(``run_type`` "iteration") and, with several repetitions, aggregates of them. Times are per iteration, in
``time_unit``. Every other number of an entry is a counter. Entries before version 1.4.1 have neither
``run_type`` nor ``run_name``.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from speedproof.data.names import plural
from speedproof.data.record import Record, Skipped, finite
from speedproof.data.sample import Trait
from speedproof.data.units import Unit, parse_unit
from speedproof.formats.jsontext import as_fields, decode, each, glances, members, number
from speedproof.formats.reading import Gathered, epoch, span_of
from speedproof.formats.source import ReadOptions, Source

TITLE = "google-benchmark"
DESCRIPTION = "JSON of --benchmark_out: repetitions, real and CPU time, counters"
sniff = members("benchmarks", some=("real_time", "run_type", "library_build_type"))

# What the reporter writes of an entry besides the user's counters.
_NO_COUNTER = {
    "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
    "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit", "label",
    "error_occurred", "error_message", "skipped", "skip_message", "aggregate_name", "aggregate_unit",
    "cpu_coefficient", "real_coefficient", "big_o", "rms",
}  # fmt: skip
_HOST = (
    "host_name", "num_cpus", "mhz_per_cpu", "cpu_scaling_enabled", "library_build_type", "library_version",
)  # fmt: skip
_OLD_AGGREGATES = ("_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS")
_TIMES = {"real_time": "time", "cpu_time": "cpu time"}
_RATES = {"items_per_second": Unit("items/s"), "bytes_per_second": Unit("B/s")}
_REMEDY = "run again with --benchmark_repetitions=20 and without --benchmark_report_aggregates_only"


class _File(msgspec.Struct):
    benchmarks: msgspec.Raw
    context: dict[str, object] = {}


class _Head(msgspec.Struct):
    """The members that determine the kind of an entry."""

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


class _Group(msgspec.Struct):
    """Entries of one benchmark."""

    where: str
    head: _Head
    count: int = 0
    kinds: set[str] = msgspec.field(default_factory=set)  # of aggregates
    metrics: dict[str, int] = msgspec.field(default_factory=dict)  # the groups of their values


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the repetitions of every benchmark."""
    file = decode(source.content, _File, source)
    host = as_fields({key: file.context[key] for key in _HOST if key in file.context})
    names: set[str | None] | None = None
    rows = Gathered("d")
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...]], _Group] = {}
    aggregates: dict[str, _Group] = {}
    failures: dict[str, _Group] = {}

    def entry(place: Record, part: msgspec.Raw) -> tuple[()]:
        nonlocal names
        head = decode(part, _Head, source, place.where)
        benchmark = head.run_name or head.name
        if head.run_type is None and names is None:
            names = {name for (name,) in glances(source, file.benchmarks, "name")}
        if head.error_occurred or head.skipped:
            group = failures.setdefault(benchmark, _Group(place.where, head))
        elif _is_aggregate(head, names or set()):
            group = aggregates.setdefault(benchmark, _Group(place.where, head))
            group.kinds.add(head.aggregate_name or head.name.rpartition("_")[2])
        else:
            fields = host + as_fields({"threads": head.threads, "label": head.label or None})
            group = groups.setdefault((benchmark, head.time_unit, fields), _Group(place.where, head))
            for member, value in decode(part, dict[str, object], source, place.where).items():
                counted = member in group.metrics or isinstance(value, (int, float, str))
                if member in _TIMES or (counted and member not in _NO_COUNTER):
                    if member not in group.metrics:
                        group.metrics[member] = rows.number((group.where, member), 0)
                    rows.groups.append(group.metrics[member])
                    rows.columns[0].append(number(value))
            rows.make_room()
        group.count += 1
        return ()

    yield from each(source, file.benchmarks, msgspec.Raw, entry, "benchmarks")
    rows.sort()
    for (benchmark, time_unit, fields), group in groups.items():
        frame = replace(
            source.frame(group.where, benchmark),
            fields=fields,
            traits=frozenset({Trait.ORDER_KNOWN, Trait.ONE_PROCESS}),
            span=span_of([epoch(file.context.get("date"))]),
        )
        yield from _records(frame, parse_unit(time_unit), group, rows)
    yield from _failures(source, failures)
    yield from _summaries(source, aggregates, {benchmark for benchmark, _, _ in groups})


def _is_aggregate(head: _Head, names: set[str | None]) -> bool:
    if head.run_type is not None:
        return head.run_type == "aggregate"
    # Old files: known by the name of what they aggregate.
    return head.aggregate_name is not None or any(
        head.name.endswith(suffix)
        and (suffix in ("_BigO", "_RMS") or head.name.removesuffix(suffix) in names)
        for suffix in _OLD_AGGREGATES
    )


def _records(frame: Record, time: Unit, group: _Group, rows: Gathered) -> Iterator[Record | Skipped]:
    measured = False
    for member in dict.fromkeys([*_TIMES, *group.metrics]):
        if member in group.metrics:
            unit = time if member in _TIMES else _RATES.get(member, Unit(""))
            values = rows.of(group.metrics[member])[0]
            record = frame.holding(values, unit, metric=_TIMES.get(member, member))
            for item in finite(record, member, "run"):
                measured = measured or isinstance(item, Record)
                yield item
    if not measured:
        yield frame.left_out("the entry holds no measured value")


def _failures(source: Source, failures: dict[str, _Group]) -> Iterator[Skipped]:
    for benchmark, group in failures.items():
        head = group.head
        message = head.error_message or head.skip_message or "it gave no message"
        reason = f"{plural(group.count, 'run')} reported an error and left no time: {message}"
        yield source.skip(group.where, benchmark, reason)


def _summaries(source: Source, aggregates: dict[str, _Group], read_names: set[str]) -> Iterator[Skipped]:
    left_out = 0
    for benchmark, group in aggregates.items():
        # "sum_mean" without its repetitions is a summary of "sum"; with them it is merely redundant, and so
        # is the complexity fitted to a family of benchmarks.
        bases = {benchmark, *(benchmark.removesuffix(suffix) for suffix in _OLD_AGGREGATES)}
        if bases.isdisjoint(read_names) and not group.kinds <= {"BigO", "RMS"}:
            yield source.skip(group.where, benchmark, f"only aggregates of it are here; {_REMEDY}")
        else:
            left_out += group.count
    if left_out:
        reason = f"{plural(left_out, 'aggregate')} of repetitions left out"
        yield source.skip("", "", reason, expected=True)
