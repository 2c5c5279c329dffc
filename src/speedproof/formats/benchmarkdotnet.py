"""BenchmarkDotNet: the JSON of its exporters, with and without measurements.

https://benchmarkdotnet.org, "Exporters": ``Measurements`` (of ``JsonExporter.Full``) hold every iteration of
every launch (a process) in run order: jitting, pilots, warm-up, the overhead of the empty loop, the actual
workload, and the result. A result is the actual time less the median overhead, and what BenchmarkDotNet takes
for an outlier has none: unless the user says otherwise, the slow iterations. The brief export has the results
only, in ``Statistics.OriginalValues``, and the first versions had nothing but statistics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.names import plural
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import Direction, parse_unit
from speedproof.formats.jsontext import Number, as_fields, decode, each, glances, members, numbers
from speedproof.formats.reading import epoch, nested, span_of
from speedproof.formats.source import ReadOptions, Source

TITLE = "BenchmarkDotNet"
DESCRIPTION = "JSON of JsonExporter.Full: workload iterations by launch, memory; warm-up left out"
sniff = members("HostEnvironmentInfo", "Benchmarks")

_REMEDY = "export with [JsonExporterAttribute.Full]"
_TRIMMED = (
    "the file has no measurements, only the values that BenchmarkDotNet kept: it removes slow iterations "
    f"as outliers; {_REMEDY}"
)
_SUMMARY = f"the file has the mean only; {_REMEDY}"
_KEPT = frozenset({Trait.ORDER_KNOWN, Trait.ONE_PROCESS, Trait.TRIMMED})
_NANOSECONDS = parse_unit("ns")
# The names of what is needed since version 0.11 (mode and stage) and before.
_ACTUAL = {("Workload", "Actual"), ("MainTarget", "")}
_RESULT = {("Workload", "Result"), ("Result", "")}
_OVERHEAD = {("Overhead", "Actual"), ("IdleTarget", "")}
_WARMUP = {("Workload", "Warmup"), ("MainWarmup", "")}


class _Measurement(msgspec.Struct, rename="pascal"):
    iteration_mode: str
    operations: float
    nanoseconds: float
    iteration_stage: str = ""
    launch_index: int = 1

    @property
    def kind(self) -> tuple[str, str]:
        return self.iteration_mode, self.iteration_stage


class _Statistics(msgspec.Struct, rename="pascal"):
    original_values: list[Number] | None = None
    mean: Number | None = None


class _Descriptor(msgspec.Struct, rename="pascal"):
    id: str
    unit: str = ""
    the_greater_the_better: bool = False


class _Metric(msgspec.Struct, rename="pascal"):
    value: Number
    descriptor: _Descriptor


def _job(shown: str | None, parameters: str | None) -> str:
    """The job, ``.NET 8.0(Runtime=.NET 8.0)``, of a text like ``Type.Method: job [N=10]``."""
    text = (shown or "").partition(": ")[2]
    return text.rpartition(" [")[0] if parameters and text.endswith("]") else text


class _Benchmark(msgspec.Struct, rename="pascal"):
    method: str
    display_info: str | None = None
    parameters: str | None = None
    namespace: str | None = None
    type: str | None = None
    full_name: str | None = None
    statistics: _Statistics | None = None
    measurements: list[_Measurement] = []
    metrics: list[_Metric] = []

    @property
    def name(self) -> str:
        parts = ".".join(part for part in (self.namespace, self.type, self.method) if part)
        return self.full_name or (f"{parts}({self.parameters})" if self.parameters else parts)


class _File(msgspec.Struct, rename="pascal"):
    benchmarks: msgspec.Raw
    host_environment_info: dict[str, object] = {}
    title: object = None


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the workload iterations of every benchmark, with the launch of each."""
    file = decode(source.content, _File, source)
    host = _host(file.host_environment_info)
    jobs = {_job(*texts) for texts in glances(source, file.benchmarks, "DisplayInfo", "Parameters")}
    several = len(jobs - {""}) > 1
    warmups = 0

    def benchmark(place: Record, entry: _Benchmark) -> Iterator[Record | Skipped]:
        nonlocal warmups
        job = _job(entry.display_info, entry.parameters) or None
        frame = replace(
            place,
            benchmark=entry.name,
            version=job if several else None,
            fields=host + as_fields({"job": job, "parameters": entry.parameters or None}),
            span=span_of([_started(file.title)]),
        )
        warmups += sum(m.kind in _WARMUP for m in entry.measurements)
        yield _times(frame, entry)
        yield from _metrics(frame, entry.metrics)

    yield from each(source, file.benchmarks, _Benchmark, benchmark, "Benchmarks")
    if warmups:
        reason = f"{plural(warmups, 'warm-up iteration')} left out, and pilots, jitting and overhead"
        yield source.skip("", "", reason, expected=True)


_AT_THE_END = re.compile(r".*-(\d{8})-(\d{6})")


def _started(title: object) -> float | None:
    """When the run began: its title ends with date and time, ``Demo.Sorts-20260131-184501``."""
    match = _AT_THE_END.fullmatch(title) if isinstance(title, str) else None
    return epoch(f"{match[1]}T{match[2]}") if match else None


def _times(frame: Record, entry: _Benchmark) -> Record | Skipped:
    launches: dict[int, list[_Measurement]] = {}
    for measurement in entry.measurements:
        launches.setdefault(measurement.launch_index, []).append(measurement)
    workloads = [(values, count) for values, count in map(_workload, launches.values()) if values.size]
    if workloads:
        values, processes = nested([values for values, _ in workloads])
        traits = {Trait.ORDER_KNOWN}
        traits |= {Trait.WARMUP_REMOVED} if any(m.kind in _WARMUP for m in entry.measurements) else set()
        traits |= {Trait.ONE_PROCESS} if len(launches) == 1 else set()
        removed = sum(count for _, count in workloads)
        several = "values that BenchmarkDotNet removed as outliers are"
        verb = "value that BenchmarkDotNet removed as an outlier is" if removed == 1 else several
        return frame.holding(
            values,
            _NANOSECONDS,
            processes=processes if len(launches) > 1 else None,
            where=f"{frame.where}.Measurements",
            traits=frozenset(traits),
            notes=(f"{removed} {verb} among the values",) if removed else (),
        )
    statistics = entry.statistics or _Statistics()
    for values, place, kept_traits, note in (
        (numbers(statistics.original_values or []), "OriginalValues", _KEPT, _TRIMMED),
        (numbers([statistics.mean]), "Mean", frozenset({Trait.SUMMARY_ONLY}), _SUMMARY),
    ):
        if (finite := values[np.isfinite(values)]).size:
            where = f"{frame.where}.Statistics.{place}"
            return frame.holding(finite, _NANOSECONDS, where=where, traits=kept_traits, notes=(note,))
    return frame.left_out("it has no result; BenchmarkDotNet's log says why it failed")


def _workload(measurements: Sequence[_Measurement]) -> tuple[FloatArray, int]:
    """Nanoseconds an operation of one launch, and how many of them are outliers that the results lack.

    The overhead is not in the file, but it is that which makes every result of an actual time.
    """
    actual = [m for m in measurements if m.kind in _ACTUAL and m.operations > 0]
    results = [m for m in measurements if m.kind in _RESULT and m.operations > 0]
    chosen, overhead = actual or results, 0.0
    if len(results) >= len(actual):
        chosen = results
    elif results:
        idle = [m.nanoseconds for m in measurements if m.kind in _OVERHEAD]
        candidates = [float(np.median(idle)), float(np.mean(idle)), 0.0] if idle else [0.0]
        whole = np.array([m.nanoseconds for m in actual])
        overhead = min(candidates, key=lambda guess: _distance(whole - guess, results))
    values = np.array([max(m.nanoseconds - overhead, 0.0) / m.operations for m in chosen], dtype=np.float64)
    return values, len(chosen) - len(results) if results else 0


def _distance(values: FloatArray, results: Sequence[_Measurement]) -> float:
    """How far the results are from the nearest of some values."""
    return float(sum(np.abs(values - m.nanoseconds).min() for m in results))


def _metrics(frame: Record, metrics: Sequence[_Metric]) -> Iterator[Record]:
    for metric in metrics:
        descriptor = metric.descriptor
        values = numbers([metric.value])
        if not np.isfinite(values).all():
            continue
        allocated = descriptor.id == "Allocated Memory"
        unit = parse_unit(f"{descriptor.unit}/op" if allocated else descriptor.unit.replace("Count", ""))
        yield frame.holding(
            values,
            unit,
            metric="memory" if allocated else descriptor.id,
            direction=Direction.HIGHER if descriptor.the_greater_the_better else Direction.LOWER,
            where=f"{frame.where}.Metrics",
            traits=frozenset({Trait.SUMMARY_ONLY}),
        )


def _host(info: dict[str, object]) -> tuple[tuple[str, str], ...]:
    processor = info.get("ProcessorName")
    name = processor.get("Value") if isinstance(processor, dict) else processor
    runtime = info.get("RuntimeVersion", info.get("ClrVersion"))
    names = ("OsVersion", "Architecture", "Configuration", "BenchmarkDotNetVersion")
    return as_fields({"cpu": name, "runtime": runtime, **{key: info.get(key) for key in names}})
