"""criterion.rs: ``sample.json``, ``raw.csv``, and whole ``target/criterion`` folders.

https://bheisler.github.io/criterion.rs/book/user_guide/csv_output.html: a benchmark's folder holds ``new``
(the latest run), ``base`` (the one before) and other saved baselines; each holds ``sample.json`` with the
iterations and the total time (nanoseconds) of every sample, ``benchmark.json`` with the name, and in some
versions ``raw.csv``. Both files hold totals: a value is the time divided by the iterations. ``sample.json``
was a pair of lists before version 0.3.4; ``raw.csv`` had the column ``sample_time_nanos`` before 0.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import Unit, metric_of, parse_unit
from speedproof.formats.jsontext import as_fields, decode, members
from speedproof.formats.reading import is_json, rows_of
from speedproof.formats.source import ReadOptions, Source, open_source

TITLE = "criterion.rs"
DESCRIPTION = "sample.json, raw.csv, or a target/criterion folder: time per iteration"

_TRAITS = frozenset({Trait.ORDER_KNOWN, Trait.WARMUP_REMOVED, Trait.ONE_PROCESS})
_NANOSECONDS = parse_unit("ns")


class _Sample(Struct):
    iters: list[float]
    times: list[float]
    sampling_mode: str | None = None


class _Identity(Struct):
    full_id: str
    throughput: dict[str, object] | None = None


_OLD = re.compile(rb"\s*\[\s*\[\s*(\d+)(?:\.0)?\s*(?:\]|,\s*(\d+)(?:\.0)?\s*[,\]])")
_JSON = members("iters", "times")
_CSV = re.compile(rb"\s*group,function,value,(sample_time_nanos|throughput_num)\b")


def sniff(head: bytes) -> bool:
    """Whether a file begins as one of criterion's three forms of a sample."""
    # The counts of a pair of lists are d, 2 d, 3 d and so on; other lists are anybody's values.
    pair = _OLD.match(head)
    counted = pair is not None and int(pair[2] or 2 * int(pair[1])) == 2 * int(pair[1])
    return _JSON(head) or counted or _CSV.match(head) is not None


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read a ``sample.json`` or a ``raw.csv``."""
    return iter([_from_json(source)]) if is_json(source.begin) else _from_csv(source)


def _from_json(source: Source) -> Record | Skipped:
    if _OLD.match(source.content):
        sample = _Sample(*decode(source.content, tuple[list[float], list[float]], source))
    else:
        sample = decode(source.content, _Sample, source)
    identity = _identity(source)
    benchmark, fields = identity or (source.stem, ())
    fields += as_fields({"sampling_mode": sample.sampling_mode})
    frame = replace(source.frame("", benchmark), fields=fields, named=identity is not None)
    return _per_iteration(sample, frame)


def _per_iteration(sample: _Sample, frame: Record, unit: Unit = _NANOSECONDS) -> Record | Skipped:
    """The record of times divided by iterations, or why that cannot be."""
    iters, times = sample.iters, sample.times
    reason = ""
    if len(iters) != len(times):
        reason = f"{len(iters)} iteration counts but {len(times)} times"
    elif not iters:
        reason = "the file holds no samples"
    elif min(iters) <= 0:
        reason = "an iteration count is not positive"
    if reason:
        return frame.left_out(reason)
    values = np.array([time / n for time, n in zip(times, iters, strict=True)])
    return frame.holding(values, unit, metric=metric_of(unit.base), traits=_TRAITS)


def _identity(source: Source) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """The benchmark's name and its throughput setting, from ``benchmark.json`` or folders of criterion's."""
    if path := source.beside("benchmark.json"):
        file = open_source(path)
        identity = decode(file.content, _Identity, file)
        return identity.full_id, as_fields(identity.throughput or {}, "throughput.")
    folders = source.path.parent
    name = folders.parent.name or folders.name
    return (name, ()) if name and source.stem == "sample" else None


def _from_csv(source: Source) -> Iterator[Record | Skipped]:
    groups: dict[tuple[str, str], tuple[str, _Sample]] = {}
    for where, row in rows_of(source):
        names = (row.get(key) for key in ("group", "function", "value"))
        benchmark = "/".join(name for name in names if name)
        unit = "ns" if "sample_time_nanos" in row else row.get("unit") or "ns"
        measured = row.get("sample_time_nanos") or row.get("sample_measured_value")
        try:
            time, iters = float(measured or ""), float(row.get("iteration_count") or "")
        except ValueError:
            reason = "the row lacks a time or an iteration count; was it cut?"
            yield source.skip(where, benchmark, reason)
            continue
        _, sample = groups.setdefault((benchmark, unit), (where, _Sample([], [])))
        sample.iters.append(iters)
        sample.times.append(time)
    for (benchmark, unit), (where, sample) in groups.items():
        yield _per_iteration(sample, source.frame(where, benchmark), parse_unit(unit))
