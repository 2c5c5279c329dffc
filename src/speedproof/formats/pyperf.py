"""pyperf and pyperformance: the JSON of ``-o``, of every age.

https://pyperf.readthedocs.io, "pyperf data model": a file holds benchmarks, a benchmark runs, a run (one
process) values and warm-ups. Values are already divided by the loops and the inner loops. Runs without
values calibrated the number of loops. Metadata that all runs share stand once, at the benchmark or the file.

Until 2017 the format had other names: ``samples`` for ``values``, ``common_metadata`` for ``metadata``
(formats 3 to 5), benchmarks keyed by name, and ``raw_samples`` that are not divided and begin with the
warm-ups (format 3); format 1 held one benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain

import msgspec
import numpy as np
from msgspec.structs import replace

from speedproof.data.names import plural
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import metric_of, parse_unit
from speedproof.errors import FormatError
from speedproof.formats.jsontext import LIST, OBJECT, absent, as_fields, at_once, decode, each, members
from speedproof.formats.reading import epoch, span_of
from speedproof.formats.source import ReadOptions, Source

TITLE = "pyperf, pyperformance"
DESCRIPTION = "JSON, also compressed: values by process; warm-ups and calibration left out"

_OF_RUNS = members("runs", some=("warmups", "values", "samples", "raw_samples", "perf_version"))
_OF_BENCHMARKS = members(some=("benchmarks", "benchmark"))
# Metadata of the single run or moment, or that the record holds otherwise: never a reason to tell samples
# apart.
_OWN_TO_RUN = {
    "name", "unit", "loops", "date", "duration", "uptime", "boot_time", "load_avg_1min", "runnable_threads",
    "cpu_freq", "cpu_temp", "mem_max_rss", "mem_peak_pagefile_usage", "command_max_rss", "calibrate_loops",
    "recalibrate_loops", "calibrate_warmups", "recalibrate_warmups",
}  # fmt: skip

_COLD = frozenset({Trait.ORDER_KNOWN})
_WARM = _COLD | {Trait.WARMUP_REMOVED}


class _Moment(msgspec.Struct):
    """When a run began, and the seconds that it took."""

    date: object = None
    duration: object = None


class _Run(msgspec.Struct):
    values: list[float] | None = None
    samples: list[float] | None = None
    raw_samples: list[float] | None = None
    warmups: list[msgspec.Raw] | int | None = None
    loops: int | None = None
    metadata: _Moment | None = None


class _Benchmark(msgspec.Struct):
    runs: list[_Run]
    name: str | None = None
    metadata: dict[str, object] | None = None
    common_metadata: dict[str, object] | None = None


class _First(msgspec.Struct):
    """The benchmark of format 1: a run is a list, its warm-ups first."""

    runs: list[list[float]]
    name: str | None = None
    loops: int = 1
    inner_loops: int = 1
    warmups: int = 0
    metadata: dict[str, object] | None = None


class _Whole(msgspec.Struct):
    """A file of which nothing is amiss."""

    benchmarks: list[_Benchmark] | dict[str, _Benchmark]
    metadata: dict[str, object] | None = None


class _File(msgspec.Struct):
    benchmarks: msgspec.Raw = msgspec.Raw()
    benchmark: msgspec.Raw = msgspec.Raw()
    metadata: dict[str, object] | None = None


def sniff(head: bytes) -> bool:
    """Whether the members are those of a pyperf file of any version."""
    return _OF_RUNS(head) and _OF_BENCHMARKS(head)


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read every benchmark's values with the process of each."""
    file = at_once(source.content, _Whole) or decode(source.content, _File, source)
    common = file.metadata or {}
    of_all = _fields(common)
    calibrations = warmups = 0

    def record(place: Record, benchmark: _Benchmark) -> Iterator[Record | Skipped]:
        nonlocal calibrations, warmups
        proper = {**(benchmark.common_metadata or {}), **(benchmark.metadata or {})}
        metadata = {**common, **proper}
        fields = of_all + _fields(proper) if common.keys().isdisjoint(proper) else _fields(metadata)
        name = str(benchmark.name or metadata.get("name") or place.benchmark or source.stem)
        runs = [(run, values) for run in benchmark.runs if (values := _values(run, metadata))]
        calibrations += len(benchmark.runs) - len(runs)
        given = [run.warmups for run in benchmark.runs if run.warmups]
        warmups += sum(one if isinstance(one, int) else len(one) for one in given)
        yield _record(replace(place, benchmark=name), runs, metadata, fields, warm=bool(given))

    if isinstance(file, _Whole) or not absent(file.benchmarks):
        yield from each(source, file.benchmarks, _Benchmark, record, "benchmarks", of=LIST | OBJECT)
    elif not absent(file.benchmark):
        try:
            yield from record(source.frame("benchmark", ""), _first_format(file.benchmark, source))
        except FormatError as error:
            yield source.skip(error.where, "", error.message)
    else:
        raise source.error("", "the file lacks benchmarks; it is not as pyperf writes it")
    if calibrations or warmups:
        reason = f"{plural(calibrations, 'calibration run')} and {plural(warmups, 'warm-up value')} left out"
        yield source.skip("", "", reason, expected=True)


def _record(
    frame: Record,
    runs: list[tuple[_Run, list[float]]],
    metadata: Mapping[str, object],
    fields: tuple[tuple[str, str], ...],
    *,
    warm: bool,
) -> Record | Skipped:
    if not runs:
        return frame.left_out("no run has values, only calibration or warm-ups; run it again to its end")
    unit = parse_unit(str(metadata.get("unit", "second")))
    return frame.holding(
        np.array(list(chain.from_iterable(values for _, values in runs))),
        unit,
        metric=metric_of(unit.base) if unit.base else "value",
        processes=np.repeat(np.arange(len(runs)), [len(values) for _, values in runs]),
        fields=fields,
        traits=_WARM if warm else _COLD,
        span=_span([run for run, _ in runs], metadata),
    )


def _fields(metadata: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return as_fields({key: value for key, value in metadata.items() if key not in _OWN_TO_RUN})


def _span(runs: list[_Run], metadata: Mapping[str, object]) -> tuple[float, float] | None:
    """From the start of the first run to the end of the last."""
    if isinstance(common := metadata.get("date"), str):
        return span_of([epoch(common)])
    moments = [run.metadata for run in runs if run.metadata is not None]
    dates = [moment.date for moment in moments if isinstance(moment.date, str)]
    if len(dates) < len(runs):
        return None
    last = max(dates)  # dates of one tool sort as texts do
    end, took = epoch(last), moments[dates.index(last)].duration
    return span_of([epoch(min(dates)), end + took if end is not None and isinstance(took, float) else end])


def _values(run: _Run, metadata: Mapping[str, object]) -> list[float]:
    """The values of a run, per iteration."""
    if run.raw_samples is None:
        return run.values or run.samples or []
    skip = max(run.warmups, 0) if isinstance(run.warmups, int) else 0
    divisor = _count(run.loops or metadata.get("loops")) * _count(metadata.get("inner_loops"))
    return [value / divisor for value in run.raw_samples[skip:]]


def _first_format(part: msgspec.Raw, source: Source) -> _Benchmark:
    first = decode(part, _First, source, "benchmark")
    metadata = {**(first.metadata or {}), "loops": first.loops, "inner_loops": first.inner_loops}
    runs = [_Run(raw_samples=values, warmups=first.warmups) for values in first.runs]
    return _Benchmark(runs, first.name, metadata)


def _count(value: object) -> float:
    """A number of loops; "not a number" for one that nothing can have made."""
    if not isinstance(value, int) or value <= 0:
        return 1.0
    return float(value) if value < 1 << 63 else math.nan
