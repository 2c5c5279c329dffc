"""Samples as they were read, in words; with comparisons as one JSON document, and back: what ``report`` reads.

JSON has no number for infinity or "not a number": both are written as ``null``. Reading takes a ``null`` for "not
a number", except for the upper end of an interval whose lower end is known, which is infinite.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct, field, inspect
from msgspec.structs import replace

from speedproof import __version__
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Residue, Skipped, Suite
from speedproof.data.units import Direction, scale_of
from speedproof.errors import DataError, FormatError
from speedproof.protocols.results import SuiteRanking
from speedproof.protocols.suite import SuiteComparison
from speedproof.protocols.units import summarise
from speedproof.reporting.model import (
    SCHEMA_VERSION,
    Cell,
    Column,
    Report,
    Row,
    Style,
    Table,
    Text,
    hint_of_all,
    right,
)
from speedproof.reporting.names import benchmark_column, called, plural, values
from speedproof.reporting.words import spread
from speedproof.stats.estimate import Estimate
from speedproof.stats.scaling import NORMAL_DEVIATION, with_headroom

_FAR = 5.0
_MANY, _SHOWN = 24, 16
_NEGLIGIBLE = 1e-4
_TRAITS = {
    Trait.TRIMMED: "trimmed",
    Trait.SORTED: "sorted",
    Trait.SUMMARY_ONLY: "summary only",
    Trait.ONE_PROCESS: "one process",
}


def report(suite: Suite, *, everything: bool = False) -> Report:
    """A row a sample; of many those with something odd first. Then what was left out, and why."""
    commands, several = suite.commands, len(suite.metrics) > 1
    count = plural(len(suite.versions), "command" if commands else "version")
    count += " of one file" if commands else ""
    versions, names = called(suite.versions), suite.benchmarks
    column, named = benchmark_column(names, "benchmark")
    if commands:
        column, named = benchmark_column(suite.versions, "command")
    odd = [_oddities(sample) for sample in suite.samples.values()]
    alike = [word for word in odd[0] if all(word in words for words in odd)] if len(odd) > 1 else []
    rows = []
    for ((key, version), sample), words in zip(suite.samples.items(), odd, strict=True):
        cells = _cells(sample, [word for word in words if word not in alike])
        names_of = named(version if commands else key.benchmark), version if commands else versions[version]
        kind = "odd" if cells[-1].text else "samples"
        name = f"{key.benchmark} ({version}): {key.metric}"
        rows.append(Row.of(*names_of, key.metric, *cells, name=name, kind=kind))
    many = sum(row.kind == "odd" for row in rows)
    if len(rows) > _MANY and not everything:
        rows.sort(key=lambda row: row.kind != "odd")
        rows = [
            replace(r, kind="with something odd" if r.kind == "odd" else "samples", folded=i >= _SHOWN)
            for i, r in enumerate(rows)
        ]
    columns = (
        column,
        Column("version", names=True),
        Column("metric", names=True),
        *right("median"),
        *right("mean", drop=-2),
        *right("min", drop=1),
        *right("max", drop=2),
        *right("runs"),
        Column("odd" if many else "", drop=-1),
    )
    # What all rows have in common stands above them, but for one thing that names a row.
    version_alone, metric_alone = commands or len(suite.versions) == 1, not several
    benchmark_alone = len(names) == 1 and not commands and not (version_alone and metric_alone)
    alone = (benchmark_alone, version_alone, metric_alone)
    table = Table.of(columns, rows)
    table = table.of_columns([i for i in range(len(table.columns)) if not (i < 3 and alone[i])])
    of = f"{names[0]}: {count}" if benchmark_alone else f"{plural(len(names), 'benchmark')} of {count}"
    of = f"{count if commands else of}{f', {len(suite.metrics)} metrics' if several else ''}"
    noted = f"; {plural(many, 'sample') if several else many} with something odd" if many else ""
    return Report(
        "What was read",
        (Text(f"{of}{noted}", "strong"),),
        (table,) if rows else (),
        (
            *([Text(f"Of every sample: {', '.join(alike)}.", "warning")] if alike else []),
            *_notes(suite, everything=everything),
        ),
        hint_of_all("sample", table),
        command="show",
        data=suite,
    )


def _cells(sample: Sample, odd: list[str]) -> list[Cell]:
    """Median, mean with its spread, ends, runs, and what is odd."""
    side = summarise(sample)
    measured = [side.median, side.mean, float(sample.values.min()), float(sample.values.max())]
    median, mean, least, most = (_alike(value, measured, sample.unit) for value in measured)
    n, whole = str(sample.n), f"{mean}{spread(side)}"
    return [
        Cell(median),
        Cell(whole, shorter=(whole, mean)),
        Cell(least),
        Cell(most),
        Cell(f"{n} in {sample.process_count}" if sample.nested else n, shorter=(n,)),
        Cell(", ".join(odd), "warning", (f"{odd[0]}, …",) if len(odd) > 1 else ()),
    ]


def _alike(value: float, row: list[float], unit: str) -> str:
    """A value in the scale of its row, and with as many digits as every other row's."""
    sizes = [abs(v) for v in row if math.isfinite(v)]
    even = bool(sizes) and min(sizes) > max(sizes) * _NEGLIGIBLE
    return values([value], unit, scale=scale_of(max(sizes), unit) if even else None)[0]


def _notes(suite: Suite, *, everything: bool) -> Iterator[Text]:
    """What was done to the values, what told pooled ones apart, what was left out; the first few of each."""
    nested = next((s for s in suite.samples.values() if s.nested and s.process_count > 1), None)
    if nested is not None:
        values_of = f"Of {nested.n} values from {nested.process_count} processes"
        yield Text(f"{values_of} only the processes are independent: compare takes one value of each.", "dim")
    groups: list[tuple[str, Style, list[str]]] = [
        ("Note", "dim", [note for sample in suite.samples.values() for note in sample.notes]),
        ("Note", "warning", [str(residue) for residue in suite.residue]),
        ("Left out", "warning", [str(s) for s in suite.skipped if not s.expected]),
    ]
    expected = [str(s) for s in suite.skipped if s.expected]
    if everything:
        groups.append(("Left out as usual", "dim", expected))
    elif expected:
        count = plural(len(expected), "part")
        yield Text(f"Left out as usual (warm-up, totals, other files): {count} (--all)", "dim")
    for title, style, lines in groups:
        different = list(dict.fromkeys(lines))
        shown = different if everything or len(different) <= 3 else different[:2]
        yield from (Text(f"{title}: {line}", style) for line in shown)
        if len(different) > len(shown):
            yield Text(f"{title}: {len(different) - len(shown)} more (--all)", "dim")


def _oddities(sample: Sample) -> list[str]:
    v = sample.values
    odd = [word for trait, word in _TRAITS.items() if trait in sample.traits]
    if sample.session_count > 1:
        odd.insert(0, plural(sample.session_count, "session"))
    if sample.n == 1:
        return ["one value", *odd]
    distinct = int(np.unique(v).size)
    if distinct == 1:
        odd.append("constant")
    elif 2 * distinct <= sample.n:
        odd.append(f"{distinct} distinct values")
    if v.min() <= 0:
        odd.append("zeros" if v.min() == 0 else "negative values")
    (u,) = with_headroom(v)
    distances = np.abs(u - np.median(u))
    deviation = float(np.median(distances))
    far = int(np.sum(distances / _FAR > NORMAL_DEVIATION * deviation)) if deviation > 0 else 0
    return [*odd, f"{plural(far, 'value')} far out"] if far else odd


class Context(Struct, frozen=True):
    """How results were made, for whoever wants to make them again."""

    command: str  # the command line, quoted for a shell
    versions: dict[str, str]  # of speedproof and what it computes with

    @classmethod
    def of(cls, command: str) -> Context:
        """Of this process."""
        libraries = {"speedproof": __version__, "Python": platform.python_version(), "NumPy": np.__version__}
        return cls(command, libraries)


class StoredSample(Struct, frozen=True):
    """A sample with its names: see :class:`speedproof.data.sample.Sample`."""

    # What was measured
    benchmark: str
    metric: str
    version: str
    unit: str  # the base unit of the values
    direction: Direction  # whether lower or higher values are better
    values: tuple[float, ...]  # in run order
    processes: tuple[int, ...] | None  # the process of each value
    traits: tuple[Trait, ...]  # what is known of the sample
    source: str  # file and place
    notes: tuple[str, ...]  # remarks made while reading
    sessions: tuple[int, ...] | None = None  # the sitting of each value
    session_names: tuple[str, ...] = ()  # the name of each sitting
    span: tuple[float, float] | None = None  # the first and last known moment of measuring
    tool: str = ""  # the format that it was read from
    position: int = 0  # the place in its file


_SHARED = StoredSample.__struct_fields__[3:]


class StoredSuite(Struct, frozen=True):
    """All samples of a suite: see :class:`speedproof.data.suite.Suite`."""

    versions: tuple[str, ...]  # in order of first appearance
    samples: tuple[StoredSample, ...]  # one for each benchmark, metric and version
    residue: tuple[Residue, ...] = ()  # what told pooled values apart
    skipped: tuple[Skipped, ...] = ()  # what was left out while reading
    # By version, the fields of its files
    fields: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    commands: bool = False  # whether the versions are commands of one file


class Document(Struct, frozen=True):
    """What ``speedproof compare --json`` writes."""

    speedproof: str  # the version that wrote it
    schema: int  # the version of the format
    command: str  # ``"compare"``
    results: tuple[SuiteComparison, ...]  # one for each candidate and metric
    # By metric, when there are three versions or more
    rankings: dict[str, SuiteRanking] = field(default_factory=dict)
    suite: StoredSuite | None = None  # with ``--with-samples``
    context: Context | None = None  # with ``--with-samples``


def store(suite: Suite) -> StoredSuite:
    """A suite as plain data."""
    return StoredSuite(
        versions=suite.versions,
        samples=tuple(
            StoredSample(
                key.benchmark, key.metric, version, **{name: _plain(getattr(s, name)) for name in _SHARED}
            )
            for (key, version), s in suite.samples.items()
        ),
        residue=suite.residue,
        skipped=suite.skipped,
        fields=suite.fields,
        commands=suite.commands,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    return tuple(sorted(value)) if isinstance(value, frozenset) else value


def restore(stored: StoredSuite) -> Suite:
    """The suite that was stored."""
    samples = {}
    for s in stored.samples:
        fields = {name: getattr(s, name) for name in _SHARED}
        sample = Sample(**{**fields, "traits": frozenset(s.traits)}, label=s.version)
        samples[Key(s.benchmark, s.metric), s.version] = sample
    return Suite(stored.versions, samples, stored.residue, stored.skipped, stored.fields, stored.commands)


def read_document(text: bytes, path: str) -> tuple[Document, Suite]:
    """Read what ``speedproof compare --json`` wrote."""
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(path, "", f"is not JSON ({error}); give the output of 'compare --json'") from None
    if not isinstance(raw, dict) or "results" not in raw or "schema" not in raw:
        raise FormatError(path, "", "holds no results of speedproof; give the output of 'compare --json'")
    if raw.get("command") != "compare":
        raise FormatError(
            path, "command", f"holds results of {raw.get('command')!r}; give the output of 'compare --json'"
        )
    schema = raw["schema"]
    if isinstance(schema, int) and schema != SCHEMA_VERSION:
        newer = schema > SCHEMA_VERSION
        how, cure = ("newer", "use a newer speedproof") if newer else ("older", "compare the files again")
        raise FormatError(path, "schema", f"{schema} is {how} than {SCHEMA_VERSION}; {cure}")
    try:
        document = msgspec.convert(_with_numbers(raw, inspect.type_info(Document)), Document)
        suite = Suite((), {}) if document.suite is None else restore(document.suite)
    except (msgspec.ValidationError, DataError) as error:
        raise FormatError(path, "", str(error)) from None
    return document, suite


def _with_numbers(value: Any, kind: inspect.Type) -> Any:
    """Put numbers in the place of every ``null`` that stands for one."""
    if isinstance(kind, inspect.FloatType):
        return math.nan if value is None else value
    if isinstance(kind, inspect.UnionType):
        if value is None:
            return None
        return _with_numbers(value, next(t for t in kind.types if not isinstance(t, inspect.NoneType)))
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        names = {f.encode_name: f.type for f in kind.fields}
        numbers = {name: _with_numbers(v, names[name]) for name, v in value.items() if name in names}
        if kind.cls is Estimate and value.get("high") is None and value.get("low") is not None:
            numbers["high"] = math.inf
        return numbers
    if isinstance(kind, inspect.DictType) and isinstance(value, dict):
        return {key: _with_numbers(item, kind.value_type) for key, item in value.items()}
    if isinstance(kind, inspect.VarTupleType) and isinstance(value, list):
        if isinstance(kind.item_type, inspect.StrType | inspect.IntType):
            return value
        return [_with_numbers(item, kind.item_type) for item in value]
    if isinstance(kind, inspect.TupleType) and isinstance(value, list):
        if len(value) != len(kind.item_types):
            return value  # the conversion names the place
        return [_with_numbers(item, t) for item, t in zip(value, kind.item_types, strict=True)]
    return value
