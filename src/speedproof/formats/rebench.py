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
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field

from speedproof.data.record import Record, Skipped
from speedproof.data.sample import Trait
from speedproof.data.units import metric_of, parse_unit
from speedproof.errors import FormatError
from speedproof.formats.jsontext import as_fields, decode
from speedproof.formats.moments import epoch, span_of
from speedproof.formats.notes import plural
from speedproof.formats.options import ReadOptions
from speedproof.formats.source import Source

NAME = "rebench"
TITLE = "ReBench"
DESCRIPTION = "data file: every criterion by invocation; warm-up left out"

_NEEDED = ("invocation", "iteration", "value", "unit", "criterion", "benchmark")
# What tells the runs of one benchmark apart, besides the executor.
_PARAMETERS = ("suite", "extraArgs", "cores", "inputSize", "varValue", "tag", "machine")
_HOST = ("hostName", "osType", "cpu", "clockSpeed", "memory")
# As the adapter of /usr/bin/time writes the largest resident set, which time gives in KiB.
_UNITS = {"kb": "KiB"}
_NO_WARMUP = "the file does not say which iterations are warm-up, so none was left out"


class _Details(Struct):
    warmup: int | None = None


class _Benchmark(Struct):
    runDetails: _Details = field(default_factory=_Details)  # noqa: N815


class _RunId(Struct):
    benchmark_id: int


class _Commit(Struct):
    commitId: str | None = None  # noqa: N815
    branchOrTag: str | None = None  # noqa: N815


class _Context(Struct):
    """What the comments said so far."""

    host: tuple[tuple[str, str], ...] = ()
    commit: tuple[tuple[str, str], ...] = ()
    started: float | None = None
    benchmarks: dict[int, int] = field(default_factory=dict)
    warmups: dict[str, int] = field(default_factory=dict)


class _Row(Struct, frozen=True):
    """One value, and everything that tells its run."""

    number: int
    cells: dict[str, str]
    value: float
    invocation: int
    warmup: bool | None
    fields: tuple[tuple[str, str], ...]
    started: float | None

    def get(self, column: str) -> str:
        return self.cells.get(column, "")


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
    rows: list[_Row] = []
    warm: dict[str, int] = defaultdict(int)
    for item in _rows(source):
        if isinstance(item, Skipped):
            yield item
        elif item.warmup:
            warm[item.get("benchmark")] += item.get("criterion") == "total"
        else:
            rows.append(item)
    names = _names(rows)
    several = len({row.get("executor") for row in rows}) > 1
    groups: dict[tuple[str, str, str, str, tuple[tuple[str, str], ...]], list[_Row]] = {}
    for row in rows:
        key = (names[row.number], row.get("executor"), row.get("criterion"), row.get("unit"), row.fields)
        groups.setdefault(key, []).append(row)
    for (name, executor, criterion, written, fields), group in groups.items():
        unit = parse_unit(_UNITS.get(written, written))
        removed = {Trait.WARMUP_REMOVED} if warm[group[0].get("benchmark")] else set()
        yield Record(
            name,
            unit.to_base(np.array([row.value for row in group])),
            unit.base,
            metric=metric_of(unit.base) if criterion == "total" else criterion,
            version=executor if several else None,
            processes=np.unique([row.invocation for row in group], return_inverse=True)[1],
            path=source.name,
            where=f"line {group[0].number}",
            fields=fields,
            traits=frozenset({Trait.ORDER_KNOWN} | removed),
            notes=(_NO_WARMUP,) if group[0].warmup is None else (),
            span=span_of(row.started for row in group),
        )
    if total := sum(warm.values()):
        reason = f"{plural(total, 'warm-up iteration')} of {plural(len(warm), 'benchmark')} left out"
        yield Skipped(source.name, "", "", reason, expected=True)


def _rows(source: Source) -> Iterator[_Row | Skipped]:
    header: list[str] | None = None
    context = _Context()
    for number, line in enumerate(source.lines, start=1):
        if line.startswith("#"):
            try:
                _comment(source, number, line, context)
            except FormatError as error:
                yield Skipped(source.name, error.where, "", error.message)
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
            yield _row(source, number, cells, header, context)
    if header is None:
        raise source.error("", "the file has no header line (invocation, iteration, value, ...)")


def _row(
    source: Source, number: int, cells: list[str], header: list[str], context: _Context
) -> _Row | Skipped:
    found = dict(zip(header, cells, strict=False))
    where = f"line {number}"
    if len(cells) != len(header):
        reason = f"{plural(len(cells), 'cell')} where the header has {len(header)}; was the run interrupted?"
        return Skipped(source.name, where, found.get("benchmark", ""), reason)
    try:
        value = float(found["value"])
        invocation, iteration = int(found["invocation"]), int(found["iteration"])
    except ValueError as error:
        return Skipped(source.name, where, found["benchmark"], f"not a number: {error}")
    if not math.isfinite(value):
        return Skipped(source.name, where, found["benchmark"], f"the value is {found['value']}")
    leading = context.warmups.get(found.get("runId", ""))
    own = tuple((name, found[name]) for name in ("executor", *_PARAMETERS) if found.get(name))
    warmup = None if leading is None else iteration <= leading
    return _Row(
        number, found, value, invocation, warmup, own + context.host + context.commit, context.started
    )


def _comment(source: Source, number: int, line: str, context: _Context) -> None:
    """Take what a comment line says into the context."""
    where = f"line {number}"
    kind, colon, text = line.removeprefix("#").strip().partition(":")
    index, equals, body = text.strip().partition("=")
    if not colon:
        return
    if kind == "Execution Start":
        context.started = epoch(text.strip())
    elif kind == "Environment":
        known = decode(text.encode(), dict[str, object], source, where)
        context.host = as_fields({name: known[name] for name in _HOST if name in known})
    elif kind == "Source":
        commit = decode(text.encode(), _Commit, source, where)
        context.commit = as_fields({"commit": commit.commitId or None, "branch": commit.branchOrTag or None})
    elif kind == "benchmark" and equals and index.isdecimal():
        details = decode(body.encode(), _Benchmark, source, where).runDetails
        context.benchmarks[int(index)] = details.warmup or 0
    elif kind == "run_id" and equals and index.isdecimal():
        run = decode(body.encode(), _RunId, source, where)
        if run.benchmark_id in context.benchmarks:
            context.warmups[index] = context.benchmarks[run.benchmark_id]


def _names(rows: list[_Row]) -> dict[int, str]:
    """The benchmark of each row, with the parameters that differ among the runs of one benchmark and executor."""
    seen: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for row in rows:
        for parameter in _PARAMETERS:
            seen[row.get("benchmark"), row.get("executor"), parameter].add(row.get(parameter))
    differing: dict[str, dict[str, None]] = defaultdict(dict)
    for (benchmark, _, parameter), values in seen.items():
        if len(values) > 1:
            differing[benchmark].setdefault(parameter)
    names: dict[int, str] = {}
    for row in rows:
        shown = [f"{p}={row.get(p)}" for p in _PARAMETERS if p in differing[row.get("benchmark")]]
        names[row.number] = ":".join(filter(None, (row.get("benchmark"), ",".join(shown))))
    return names
