"""Parameters inside names as dimensions: JMH ``f:lib=ACM``, Go ``F/format=json``, pytest ``f[x-1]``.

A dimension is a field of a record or a part of its benchmark's name. It can be projected onto versions or onto
benchmarks, as benchstat's ``-col`` and ``-row`` do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.names import enumerate_names, joined
from speedproof.data.record import Record, Skipped
from speedproof.errors import Parameter, UsageError
from speedproof.formats.reading import changed, records_of

_PAIR = re.compile(r"(?P<key>[A-Za-z_][\w.]*) ?[=:] ?(?P<value>.+)", re.DOTALL)
_ASSIGNED = r"[\w.]+=[^,\s]+"
# Parameters stand behind a colon (JMH, ReBench) or a blank (the runner), in brackets at the end (pytest, asv,
# BenchmarkDotNet), or behind slashes (Go, google-benchmark, criterion).
_STYLES = (
    (re.compile(rf"(?P<base>[^:]+)(?P<opening>:)(?P<inner>{_ASSIGNED}(,{_ASSIGNED})*)(?P<closing>)"), r","),
    (re.compile(rf"(?P<base>[^=]+?)(?P<opening> )(?P<inner>{_ASSIGNED}( {_ASSIGNED})*)(?P<closing>)"), r" "),
    (re.compile(r"(?P<base>[^\[]+)(?P<opening>\[)(?P<inner>.+)(?P<closing>\])"), r"-"),
    (re.compile(r"(?P<base>[^(]+)(?P<opening>\()(?P<inner>.+)(?P<closing>\))"), r", "),
    (re.compile(r"(?P<base>[^/]+)(?P<opening>/)(?P<inner>.+)(?P<closing>)"), r"/"),
)


class _Name(Struct, frozen=True):
    """A benchmark's name, taken apart."""

    base: str
    parts: tuple[str, ...] = ()
    opening: str = ""
    delimiter: str = ""
    closing: str = ""

    @classmethod
    def of(cls, text: str) -> _Name:
        for pattern, delimiter in _STYLES:
            if match := pattern.fullmatch(text):
                parts = tuple(match["inner"].split(delimiter))
                return cls(match["base"], parts, match["opening"], delimiter, match["closing"])
        return cls(text)

    def lacking(self, place: int) -> str:
        """The name without a part."""
        left = [part for k, part in enumerate(self.parts) if k != place]
        return self.base + (self.opening + self.delimiter.join(left) + self.closing if left else "")


def dimensions(record: Record) -> dict[str, str]:
    """Everything that a record can be projected on: its whole name, parts of it, its fields."""
    name = _Name.of(record.benchmark)
    found = {"benchmark": record.benchmark, "name": name.base}
    for place, part in enumerate(name.parts, start=1):
        if match := _PAIR.fullmatch(part):
            found.setdefault(match["key"], match["value"])
        else:
            found[f"/{place}"] = part
    return found | {key: value for key, value in record.fields if key not in found}


def without(text: str, dimension: str, value: str, *, bare: bool = True) -> str:
    """A name without the part that shows a dimension; itself when none does."""
    name = _Name.of(text)
    for place, part in enumerate(name.parts):
        match = _PAIR.fullmatch(part)
        if match is not None and (match["key"], match["value"]) == (dimension, value):
            return name.lacking(place)
    if dimension.startswith("/") and dimension[1:].isdecimal() and int(dimension[1:]) <= len(name.parts):
        return name.lacking(int(dimension[1:]) - 1)
    if bare and name.parts.count(value) == 1:
        return name.lacking(name.parts.index(value))
    return text


def onto_benchmarks(records: Sequence[Record | Skipped], rows: Sequence[str]) -> list[Record | Skipped]:
    """Name benchmarks by some dimensions; what differs otherwise is pooled, and the suite says so."""
    _known(records, rows)

    def named(record: Record) -> Record:
        own = dimensions(record)
        there = [row for row in rows if row in own]
        others = [(k, v) for k, v in own.items() if k not in {"benchmark", *dict(record.fields)}]
        name = joined(there, [own[row] for row in there])
        return replace(record, benchmark=name, fields=(*record.fields, *others))

    return changed(records, named)


def onto_versions(
    label: str, records: Sequence[Record | Skipped], by: Sequence[str]
) -> list[tuple[str, Record | Skipped]]:
    """Make versions of some dimensions, and take them out of the benchmarks' names."""
    _known(records, by)
    where: dict[str, set[str]] = {}

    def version_of(item: Record | Skipped) -> str:
        own = dimensions(item) if isinstance(item, Record) else {}
        return joined(by, [own[dimension] for dimension in by]) if own.keys() >= set(by) else label

    versions = list(map(version_of, records))
    for version, record in zip(versions, records, strict=True):
        if isinstance(record, Record):
            where.setdefault(record.benchmark, set()).add(version)
    # Names that several versions have in common do not show the dimension.
    bare = all(len(of_name) == 1 for of_name in where.values())
    names = {}
    for record in records_of(records):
        name, own = record.benchmark, dimensions(record)
        for dimension in by:
            name = without(name, dimension, own.get(dimension, ""), bare=bare)
        names[record.benchmark] = name
    if bare and len(where) > 1:
        names |= _templates([r for r in records_of(records) if r.tool == "hyperfine"], by)
    renamed = changed(records, lambda record: replace(record, benchmark=names[record.benchmark]))
    return list(zip(versions, renamed, strict=True))


def _templates(commands: Sequence[Record], by: Sequence[str]) -> dict[str, str]:
    """Commands with the parameters' names in place of their values: what most commands have in common."""
    possible: dict[str, list[str]] = {}
    for record in commands:
        found = [record.benchmark]
        for dimension in by:
            value = dict(record.fields).get(dimension, "")
            if value:
                found = [t for text in found for t in _filled_in(text, value, f"{{{dimension}}}")]
        possible[record.benchmark] = found
    shared = Counter(template for found in possible.values() for template in dict.fromkeys(found))
    return {name: max(found, key=lambda template: shared[template]) for name, found in possible.items()}


def _filled_in(text: str, value: str, name: str) -> Iterator[str]:
    """A text with one occurrence of a value replaced by a name, or all of them, or none."""
    places = [match.start() for match in re.finditer(re.escape(value), text)]
    if len(places) != 1:
        yield text.replace(value, name)
    for place in places:
        yield text[:place] + name + text[place + len(value) :]


def _known(records: Iterable[Record | Skipped], wanted: Sequence[str]) -> None:
    """Refuse a dimension that no record has."""
    known = dict.fromkeys(name for record in records_of(records) for name in dimensions(record))
    for dimension in wanted:
        if dimension not in known:
            there = enumerate_names((name for name in known if name not in ("benchmark", "name")), 12)
            told = f": the fields of these results are {there or 'none'}"
            raise UsageError(Parameter("by", dimension), told)
