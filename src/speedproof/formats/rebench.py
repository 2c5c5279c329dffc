"""ReBench: its data file.

https://rebench.readthedocs.io, persistence.py and measurement.py of ReBench 1: tab-separated rows under a
header, which old versions left out; a row is one value of one criterion in one iteration of one invocation (a
process). ``total`` is what was timed, other criteria come beside it. Comments hold what the run knew:
``# Execution Start``, ``# Environment`` and ``# Source`` of the rows that follow, ``# benchmark`` with the number
of warm-up iterations, and ``# run_id``, to which the last column refers. Warm-up iterations are among the rows.
Runs append to the file.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, field

from speedproof.data.names import plural
from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import metric_of, parse_unit
from speedproof.errors import FormatError
from speedproof.formats.jsontext import as_fields, decode
from speedproof.formats.reading import Gathered, epoch
from speedproof.formats.source import ReadOptions, Source

TITLE = "ReBench"
DESCRIPTION = "data file: every criterion by invocation; warm-up left out"

_NEEDED = ("invocation", "iteration", "value", "unit", "criterion", "benchmark")
# Fields that distinguish the runs of one benchmark, besides the executor.
_PARAMETERS = ("suite", "extraArgs", "cores", "inputSize", "varValue", "tag", "machine")
_HOST = ("hostName", "osType", "cpu", "clockSpeed", "memory")
# As the adapter of /usr/bin/time writes the largest resident set, which time gives in KiB.
_UNITS = {"kb": "KiB"}
_NO_WARMUP = "the file does not say which iterations are warm-up, so none was left out"


_Fields = tuple[tuple[str, str], ...]


class _Details(Struct):
    warmup: int | None = None


class _Benchmark(Struct, rename="camel"):
    run_details: _Details = field(default_factory=_Details)


class _RunId(Struct):
    benchmark_id: int


class _Content(Struct):
    """The records of a file, and what its comments stated so far."""

    # Values, each with its invocation and when its run began; by benchmark, criterion, unit and all other cells
    rows: Gathered = field(default_factory=lambda: Gathered("d", "q", "d"))
    unsure: set[int] = field(default_factory=set)  # groups with unknown warm-up
    warm: Counter[str] = field(default_factory=Counter)  # warm-up iterations by benchmark
    host: _Fields = ()
    commit: _Fields = ()
    started: float = math.nan
    benchmarks: dict[int, int] = field(default_factory=dict)
    warmups: dict[str, int] = field(default_factory=dict)


# The columns of old versions, which wrote no header.
_WITHOUT_HEADER = (*_NEEDED, "executor", "suite", "extraArgs", "cores", "inputSize", "varValue", "machine")
_HEADER = re.compile(
    rb"^invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\b"
    rb"|^\d+\t\d+\t[0-9.eE+-]+\t[^\t\n]*\t[^\t\n]+\t[^\t\n]+\t[^\t\n]+\t[^\t\n]+\t",
    re.MULTILINE,
)


def sniff(head: bytes) -> bool:
    """Whether there is a header line of ReBench's, or a row of an old file without one."""
    return b"\t" in head and _HEADER.search(head) is not None


def read(source: Source, options: ReadOptions) -> Iterator[Record | Skipped]:
    r"""Read every benchmark and criterion, with the invocation of each value."""
    content = _Content()
    yield from _scan(source, content)
    rows, warm = content.rows, content.warm
    rows.sort()
    several = len({dict(fields).get("executor", "") for *_, fields in rows.keys}) > 1
    names = _names([(benchmark, dict(fields)) for benchmark, *_, fields in rows.keys])
    for name, ((benchmark, criterion, written, fields), group) in zip(names, rows.keys.items(), strict=True):
        unit = parse_unit(_UNITS.get(written, written))
        values, invocations, began = rows.of(group)
        yield source.frame(f"line {rows.places[group]}", name).holding(
            values,
            unit,
            metric=metric_of(unit.base) if criterion == "total" else criterion,
            version=dict(fields).get("executor", "") if several else None,
            processes=np.unique(invocations, return_inverse=True)[1],
            fields=fields,
            traits=frozenset({Trait.ORDER_KNOWN, *[Trait.WARMUP_REMOVED] * bool(warm[benchmark])}),
            notes=(_NO_WARMUP,) if group in content.unsure else (),
            span=None if np.isnan(began).any() else (float(began.min()), float(began.max())),
        )
    if total := warm.total():
        reason = f"{plural(total, 'warm-up iteration')} of {plural(len(warm), 'benchmark')} left out"
        yield source.skip("", "", reason, expected=True)


def _scan(source: Source, content: _Content) -> Iterator[Skipped]:
    header: list[str] | None = None
    for number, line in enumerate(source.lines, start=1):
        if line.startswith("#"):
            try:
                _comment(source, number, line, content)
            except FormatError as error:
                yield source.skip(error.where, "", error.message)
            continue
        cells = line.split("\t")
        if "invocation" in cells and "value" in cells:
            if missing := [column for column in _NEEDED if column not in cells]:
                raise source.error(f"line {number}", f"the header lacks the column {missing[0]}")
            header = cells
        elif line.strip():
            if header is None:
                if not len(_NEEDED) < len(cells) <= len(_WITHOUT_HEADER):
                    raise source.error(
                        f"line {number}",
                        "values before the header line (invocation, iteration, value, ...); give them as CSV",
                    )
                header = list(_WITHOUT_HEADER[: len(cells)])
            row = dict(zip(header, cells, strict=False))
            reason = (
                f"{plural(len(cells), 'cell')} where the header has {len(header)}; was the run interrupted?"
                if len(cells) != len(header)
                else _take(content, number, row)
            )
            if reason:
                yield source.skip(f"line {number}", row.get("benchmark", ""), reason)
    if header is None:
        raise source.error("", "the file has no header line (invocation, iteration, value, ...)")


def _take(content: _Content, number: int, row: dict[str, str]) -> str:
    """Take a row, or say why not."""
    try:
        value = float(row["value"])
        invocation, iteration = int(row["invocation"]), int(row["iteration"])
    except ValueError as error:
        return f"not a number: {error}"
    if not math.isfinite(value):
        return f"the value is {row['value']}"
    leading = content.warmups.get(row.get("runId", ""))
    if leading is not None and iteration <= leading:
        content.warm[row["benchmark"]] += row["criterion"] == "total"
        return ""
    parameters = tuple((name, row[name]) for name in ("executor", *_PARAMETERS) if row.get(name))
    key = (row["benchmark"], row["criterion"], row["unit"], parameters + content.host + content.commit)
    group = content.rows.number(key, number)
    if leading is None and content.rows.places[group] == number:
        content.unsure.add(group)
    content.rows.groups.append(group)
    for column, cell in zip(content.rows.columns, (value, invocation, content.started), strict=True):
        column.append(cell)
    return ""


def _comment(source: Source, number: int, line: str, content: _Content) -> None:
    """Take what a comment line says into the content."""
    where = f"line {number}"
    kind, colon, text = line.removeprefix("#").strip().partition(":")
    index, equals, body = text.strip().partition("=")
    if not colon:
        return
    if kind == "Execution Start":
        content.started = math.nan if (moment := epoch(text.strip())) is None else moment
    elif kind == "Environment":
        host = decode(text.encode(), dict[str, object], source, where)
        content.host = as_fields({name: host[name] for name in _HOST if name in host})
    elif kind == "Source":
        commit = decode(text.encode(), dict[str, object], source, where)
        named = {"commit": commit.get("commitId"), "branch": commit.get("branchOrTag")}
        content.commit = as_fields({name: value or None for name, value in named.items()})
    elif kind == "benchmark" and equals and index.isdecimal():
        details = decode(body.encode(), _Benchmark, source, where).run_details
        content.benchmarks[int(index)] = details.warmup or 0
    elif kind == "run_id" and equals and index.isdecimal():
        run = decode(body.encode(), _RunId, source, where)
        if run.benchmark_id in content.benchmarks:
            content.warmups[index] = content.benchmarks[run.benchmark_id]


def _names(runs: Sequence[tuple[str, dict[str, str]]]) -> list[str]:
    """Benchmarks with the parameters that differ among the runs of one benchmark and executor."""
    seen: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for benchmark, fields in runs:
        for parameter in _PARAMETERS:
            seen[benchmark, fields.get("executor", ""), parameter].add(fields.get(parameter, ""))
    differing = {(benchmark, p) for (benchmark, _, p), values in seen.items() if len(values) > 1}
    names = []
    for benchmark, fields in runs:
        shown = ",".join(f"{p}={fields.get(p, '')}" for p in _PARAMETERS if (benchmark, p) in differing)
        names.append(":".join(filter(None, (benchmark, shown))))
    return names
