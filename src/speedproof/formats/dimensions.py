"""Parameters inside names as dimensions: JMH ``f:lib=ACM``, Go ``F/format=json``, pytest ``f[x-1]``.

A dimension is a field of a record or a part of its benchmark's name. It can be projected onto versions or onto
benchmarks, as benchstat's ``-col`` and ``-row`` do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.names import enumerate_names, joined
from speedproof.data.record import Record, Skipped
from speedproof.errors import Parameter, UsageError
from speedproof.formats.reading import changed, records_of

_PAIR = re.compile(r"(?P<key>[A-Za-z_][\w.]*) ?[=:] ?(?P<value>.+)", re.DOTALL)
_NAMED = re.compile(r"[A-Za-z_][\w.]*=.+", re.DOTALL)
_ASSIGNED = r"[\w.]+=[^,\s]+"
# Parameters stand behind a colon (JMH, ReBench) or a blank (the runner), in brackets at the end (pytest, asv,
# BenchmarkDotNet), behind slashes (Go, google-benchmark, criterion), or a dash (PARSEC's inputs).
_STYLES = (
    (re.compile(rf"(?P<base>[^:]+)(?P<opening>:)(?P<inner>{_ASSIGNED}(,{_ASSIGNED})*)(?P<closing>)"), r","),
    (re.compile(rf"(?P<base>[^=]+?)(?P<opening> )(?P<inner>{_ASSIGNED}( {_ASSIGNED})*)(?P<closing>)"), r" "),
    (re.compile(r"(?P<base>[^\[]+)(?P<opening>\[)(?P<inner>.+)(?P<closing>\])"), r"-"),
    (re.compile(r"(?P<base>[^(]+)(?P<opening>\()(?P<inner>.+)(?P<closing>\))"), r", "),
    (re.compile(r"(?P<base>[^/]+)(?P<opening>/)(?P<inner>.+)(?P<closing>)"), r"/"),
    (
        re.compile(r"(?P<base>[\w.]+)(?P<opening>-)(?P<inner>(test|native|sim[a-z]+)(-\d+)?)(?P<closing>)"),
        r"-",
    ),
)


class _Name(Struct, frozen=True):
    """A benchmark's name, taken apart."""

    base: str
    parts: tuple[tuple[str, str, str], ...] = ()  # dimension, value, and how they are written
    opening: str = ""
    delimiter: str = ""
    closing: str = ""

    @classmethod
    def of(cls, text: str) -> _Name:
        for pattern, delimiter in _STYLES:
            if match := pattern.fullmatch(text):
                base, opening, inner = match["base"], match["opening"], match["inner"]
                if opening == "/" and _NAMED.fullmatch(base):  # of several columns: all of it is parameters
                    base, opening, inner = "", "", text
                parts = []
                for place, part in enumerate(inner.split(delimiter), start=1):
                    pair = _PAIR.fullmatch(part)
                    parts.append((pair["key"], pair["value"], part) if pair else (f"/{place}", part, part))
                return cls(base, tuple(parts), opening, delimiter, match["closing"])
        return cls(text)


def dimensions(record: Record) -> dict[str, str]:
    """Everything that a record can be projected on: its whole name, parts of it, its fields."""
    name = _Name.of(record.benchmark)
    found = {"benchmark": record.benchmark} | ({"name": name.base} if name.base else {})
    for dimension, value, _ in name.parts:
        found.setdefault(dimension, value)
    return found | {key: value for key, value in record.fields if key not in found}


def without(text: str, shown: Mapping[str, str], *, bare: bool) -> str:
    """A name without the parts that show some dimensions; itself when none does."""
    name = _Name.of(text)
    left = list(name.parts)
    for dimension, value in shown.items():
        found = [part for part in left if part[:2] == (dimension, value)]
        if not found and bare:
            found = [part for part in left if part[2] == value]
            found = found if len(found) == 1 else []
        if found:
            left.remove(found[0])
    inner = name.delimiter.join(written for _, _, written in left)
    return name.base + (name.opening + inner + name.closing if left else "") or "values"


def onto_benchmarks(records: Sequence[Record | Skipped], rows: Sequence[str]) -> list[Record | Skipped]:
    """Name benchmarks by some dimensions; what differs otherwise is pooled, and the suite says so."""
    _known(records, [Parameter("rows", row) for row in rows])

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
    """Make versions of some dimensions, and take them out of the benchmarks' names.

    What was left out comes last: it has no dimension, and its name must not be the first, which is the reference.
    """
    _known(records, [Parameter("by", dimension) for dimension in by])
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
        own = dimensions(record)
        shown = {dimension: own[dimension] for dimension in by if dimension in own}
        names[record.benchmark] = without(record.benchmark, shown, bare=bare)
    if bare and len(where) > 1:
        names |= _templates([r for r in records_of(records) if r.tool == "hyperfine"], by)
    own_versions: dict[tuple[str, str], set[str]] = {}
    for version, r in zip(versions, records, strict=True):
        if isinstance(r, Record) and r.version is not None:
            own_versions.setdefault((version, names[r.benchmark]), set()).add(r.version)
    pooled = any(len(found) > 1 for found in own_versions.values())

    def renamed(record: Record) -> Record:
        name = names[record.benchmark]
        # Versions that the files name themselves, and that the field does not tell apart, must not be pooled.
        return replace(record, benchmark=f"{name}, {record.version}" if pooled and record.version else name)

    labelled = zip(versions, changed(records, renamed), strict=True)
    return sorted(labelled, key=lambda one: isinstance(one[1], Skipped))


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


def _known(records: Iterable[Record | Skipped], wanted: Sequence[Parameter]) -> None:
    """Refuse a dimension that no record has."""
    known = dict.fromkeys(name for record in records_of(records) for name in dimensions(record))
    for asked in wanted:
        if asked.value not in known:
            there = enumerate_names((name for name in known if name not in ("benchmark", "name")), 12)
            raise UsageError(asked, f": the fields of these results are {there or 'none'}")
