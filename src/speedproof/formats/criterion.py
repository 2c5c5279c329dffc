"""criterion.rs: ``sample.json``, ``raw.csv``, and whole ``target/criterion`` folders.

https://bheisler.github.io/criterion.rs/book/user_guide/csv_output.html: a benchmark's folder holds ``new``
(the latest run), ``base`` (the one before) and other saved baselines; each holds ``sample.json`` with the
iterations and the total time (nanoseconds) of every sample, ``benchmark.json`` with the name, and in some
versions ``raw.csv``. Both files hold totals: a value is the time divided by the iterations. ``sample.json``
was a pair of lists before version 0.3.4; ``raw.csv`` had the column ``sample_time_nanos`` before 0.3.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import Unit, metric_of, parse_unit
from speedproof.formats.jsontext import as_fields, decode
from speedproof.formats.options import ReadOptions
from speedproof.formats.sniff import has_members
from speedproof.formats.source import STDIN, Source, open_source

NAME = "criterion"
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


_OLD = re.compile(rb"\s*\[\s*\[\s*[0-9.eE+-]+\s*[,\]]")
_CSV = re.compile(rb"\s*group,function,value,(sample_time_nanos|throughput_num)\b")


def sniff(head: bytes) -> bool:
    """Whether a file begins as one of criterion's three forms of a sample."""
    known = has_members(head, ("iters", "times"))
    return known or _OLD.match(head) is not None or _CSV.match(head) is not None


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    """Read a ``sample.json`` or a ``raw.csv``."""
    if source.read(0, 64).lstrip()[:1] in (b"{", b"["):
        yield _from_json(source)
    else:
        yield from _from_csv(source)


def run_folders(folder: Path) -> list[Path]:
    """The folders of single runs (``.../new``, ``.../base``) under a folder, in sorted order."""
    return sorted(
        sample.parent
        for sample in folder.rglob("sample.json")
        if (sample.parent / "benchmark.json").exists() or (sample.parent / "estimates.json").exists()
    )


def _from_json(source: Source) -> Record | Skipped:
    if source.data.lstrip().startswith(b"["):
        iters, times = decode(source.data, tuple[list[float], list[float]], source)
        mode = None
    else:
        sample = decode(source.data, _Sample, source)
        iters, times, mode = sample.iters, sample.times, sample.sampling_mode
    benchmark, fields = _identity(source)
    if mode is not None:
        fields += (("sampling_mode", mode),)
    values = _per_iteration(iters, times)
    if isinstance(values, str):
        return Skipped(source.name, "", benchmark, values)
    return _record(source, "", benchmark, values, _NANOSECONDS, fields)


def _per_iteration(iters: Sequence[float], times: Sequence[float]) -> FloatArray | str:
    """Times divided by iterations, or why that cannot be."""
    if len(iters) != len(times):
        return f"{len(iters)} iteration counts but {len(times)} times"
    if not iters:
        return "the file holds no samples"
    if min(iters) <= 0:
        return "an iteration count is not positive"
    with np.errstate(over="ignore"):  # infinity is refused where the sample is made
        return np.array(times, dtype=np.float64) / np.array(iters, dtype=np.float64)


def _record(
    source: Source,
    where: str,
    benchmark: str,
    values: FloatArray,
    unit: Unit,
    fields: tuple[tuple[str, str], ...],
) -> Record:
    return Record(
        benchmark,
        unit.to_base(values),
        unit.base,
        metric=metric_of(unit.base),
        path=source.name,
        where=where,
        fields=fields,
        traits=_TRAITS,
    )


def _identity(source: Source) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The benchmark's name and its throughput setting, from ``benchmark.json`` or the folders' names."""
    beside = source.path.parent / "benchmark.json"
    if str(source.path) != STDIN and beside.exists():
        known = open_source(beside)
        identity = decode(known.data, _Identity, known)
        return identity.full_id, as_fields(identity.throughput or {}, "throughput.")
    folders = source.path.parent
    return folders.parent.name or folders.name or source.stem, ()


def _from_csv(source: Source) -> Iterator[Record | Skipped]:
    rows = csv.DictReader(source.lines, strict=True)
    groups: dict[tuple[str, str], tuple[str, list[float], list[float]]] = {}
    try:
        for row in rows:
            where = f"line {rows.line_num}"
            names = (row.get(key) for key in ("group", "function", "value"))
            benchmark = "/".join(name for name in names if name)
            unit = "ns" if "sample_time_nanos" in row else row.get("unit") or "ns"
            measured = row.get("sample_time_nanos") or row.get("sample_measured_value")
            try:
                time, iters = float(measured or ""), float(row.get("iteration_count") or "")
            except ValueError:
                yield Skipped(
                    source.name, where, benchmark, "the row lacks a time or an iteration count; was it cut?"
                )
                continue
            group = groups.setdefault((benchmark, unit), (where, [], []))
            group[1].append(iters)
            group[2].append(time)
    except csv.Error as error:
        raise source.error(f"line {rows.line_num}", f"not CSV: {error}") from None
    for (benchmark, unit), (where, all_iters, times) in groups.items():
        values = _per_iteration(all_iters, times)
        if isinstance(values, str):
            yield Skipped(source.name, where, benchmark, values)
        else:
            yield _record(source, where, benchmark, values, parse_unit(unit), ())
