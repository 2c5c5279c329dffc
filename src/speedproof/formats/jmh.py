"""JMH: the JSON of ``-rf json``.

https://github.com/openjdk/jmh, JSONResultFormat: a list of results; ``primaryMetric.rawData`` holds forks
(processes) of measured iterations, in run order and in ``scoreUnit``; secondary metrics have the same shape.
Warm-up iterations are not in the file. Sample mode keeps a histogram in place of ``rawData``. NaN is a string.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.record import Record, Skipped, finite
from speedproof.data.sample import Trait
from speedproof.data.units import Direction, parse_unit
from speedproof.formats.jsontext import WHOLE, as_fields, by_process, decode, each, members
from speedproof.formats.source import ReadOptions, Source

TITLE = "JMH"
DESCRIPTION = "JSON of -rf json: iterations by fork, secondary metrics"
sniff = members("benchmark", some=("jmhVersion", "primaryMetric"))

_METRICS = {"thrpt": "throughput", "avgt": "time", "sample": "time", "ss": "single-shot time"}


class _Metric(msgspec.Struct, rename="camel"):
    score_unit: str
    raw_data: msgspec.Raw = msgspec.Raw()
    raw_data_histogram: object = None


class _Result(msgspec.Struct, rename="camel"):
    benchmark: str
    mode: str
    primary_metric: _Metric
    secondary_metrics: dict[str, _Metric] = {}
    params: dict[str, object] = {}
    threads: int | None = None
    warmup_iterations: int = 0
    jvm: str | None = None
    jvm_args: list[str] = []
    jdk_version: str | None = None
    vm_name: str | None = None
    vm_version: str | None = None


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read the iterations of every benchmark, with the fork of each."""
    small = len(source.content) <= WHOLE
    text = source.content if small else decode(source.content, msgspec.Raw, source)
    return each(source, text, _Result, lambda place, result: _result(source, place, result))


def _result(source: Source, place: Record, result: _Result) -> Iterator[Record | Skipped]:
    params = ",".join(f"{name}={value}" for name, value in result.params.items())
    primary = result.primary_metric
    name = _METRICS.get(result.mode, result.mode)
    better = Direction.HIGHER if result.mode == "thrpt" else Direction.LOWER
    note = ""
    if better is Direction.HIGHER and parse_unit(primary.score_unit).base == "s":
        name, better = "time", Direction.LOWER
        # JMH itself writes operations in a time for this mode.
        note = f"mode thrpt, but {primary.score_unit} is a time: lower is taken as better"
    frame = replace(
        place,
        benchmark=f"{result.benchmark}:{params}" if params else result.benchmark,
        metric=name,
        direction=better,
        where=f"{place.where}.primaryMetric",
        fields=as_fields({
            "mode": result.mode, "threads": result.threads,
            "jvm": result.jvm, "jvmArgs": " ".join(result.jvm_args) or None, "jdkVersion": result.jdk_version,
            "vmName": result.vm_name, "vmVersion": result.vm_version,
        }),
        traits=frozenset({Trait.ORDER_KNOWN, *[Trait.WARMUP_REMOVED] * (result.warmup_iterations > 0)}),
        notes=(note,) if note else (),
    )  # fmt: skip
    metrics = [(frame, primary)]
    for secondary, metric in result.secondary_metrics.items():
        # A metric in the unit of the score is the score of one method of a group; the others come from
        # profilers, which count costs.
        frame_of = replace(
            frame,
            metric=secondary.lstrip("·"),
            direction=better if metric.score_unit == primary.score_unit else Direction.LOWER,
            where=f"{place.where}.secondaryMetrics.{secondary}",
            notes=(),
        )
        metrics.append((frame_of, metric))
    values_of = [by_process(of.raw_data, source, f"{one.where}.rawData") for one, of in metrics]
    for (one, of), (values, processes) in zip(metrics, values_of, strict=True):
        yield from _metric(one, of, values, processes)


def _metric(
    frame: Record, metric: _Metric, values: FloatArray, processes: IntArray
) -> Iterator[Record | Skipped]:
    if not values.size:
        reason = (
            "sample mode keeps a histogram, not single values in run order; measure with -bm avgt or thrpt"
            if metric.raw_data_histogram is not None
            else "the result has no raw data; run JMH with -rf json"
        )
        yield frame.left_out(reason)
        return
    record = frame.holding(values, parse_unit(metric.score_unit), processes=processes)
    # Profilers write NaN for what did not happen (no collection, no churn).
    yield from finite(record, frame.metric, "iteration", expected=".secondaryMetrics." in frame.where)
