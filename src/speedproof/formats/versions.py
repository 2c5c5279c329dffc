"""Which version a record belongs to: by path, by what the file says of itself, or by a dimension.

A dimension is a field of a record or a parameter inside its benchmark's name: JMH ``f:lib=ACM``, Go
``F/format=json``, pytest ``f[x-1]``. It can be projected onto versions or onto benchmarks, as benchstat's ``-col``
and ``-row`` do.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.data.names import enumerate_names, is_url, joined, natural, version_given, version_of
from speedproof.data.record import Record, Skipped
from speedproof.errors import Parameter, UsageError
from speedproof.formats.reading import changed, records_of

_Matching = Callable[[Sequence[list[Record | Skipped]]], list[list[Record | Skipped]]]
_SUFFIXES = (".gz", ".json", ".txt", ".csv", ".tsv", ".bench", ".log", ".dat", ".jsonl")
_COMMAND = "command"  # the benchmark, where commands are the versions of it
_TELLING = 3  # different values that two files do not share by chance


def _names(items: Iterable[Record | Skipped]) -> list[str]:
    """Benchmarks in order of appearance."""
    return list(dict.fromkeys(record.benchmark for record in records_of(items)))


class Named(Struct, frozen=True):
    """The name, paths and version of one argument."""

    name: str  # the name given to it; empty when none is
    paths: tuple[str, ...]  # one path, or those of several sessions
    version: str = ""  # which of its versions; empty for all


def named(argument: str | os.PathLike[str]) -> Named:
    """Split ``NAME=PATH:VERSION`` or ``NAME=PATH,PATH``; a file or folder of that whole name goes before."""
    text = os.fspath(argument)
    if not text:
        raise UsageError('the path "" is empty: is a variable not set? "." is this folder')
    path, version = _with_version(text)
    if version:
        return Named("", (path,), version)
    name, equals, path = text.partition("=")
    if not (equals and name and path) or is_url(name) or _exists(text):
        name, path = "", text
    path, version = _with_version(path)
    parts = tuple(part for part in path.split(",") if part)
    return Named(name, (path,) if _exists(path) or len(parts) < 2 else parts, version)


def each_named_once(arguments: Iterable[Named]) -> None:
    """Refuse a name that several arguments have."""
    for name, count in Counter(argument.name for argument in arguments).items():
        if name and count > 1:
            raise UsageError(
                f"{count} versions are named {name}; the files of one version stand together: {name}=FILE,FILE"
            )


def _with_version(text: str) -> tuple[str, str]:
    """``PATH:VERSION`` taken apart: the shortest path that there is, or a URL up to its last colon."""
    if is_url(text):
        match = re.fullmatch(r"(\w+://[^/]*/.+):([^:/&=?]+)", text)
        port = match and "?" in text and match[2].isdigit()
        return (match[1], match[2]) if match and not port else (text, "")
    ends = [at for at, letter in enumerate(text) if letter == ":"]
    for at in ends if ends and not _exists(text) else ():
        if text[:at] and _exists(text[:at]):
            return text[:at], text[at + 1 :]
    return text, ""


def of_version(
    argument: Named, records: Sequence[Record | Skipped], *, alone: bool
) -> tuple[Named, list[Record | Skipped]]:
    """The version that an argument asks for, as one of that name, with its records and all that was left out.

    Its name is the version's where it is ``alone`` the file that versions are asked of. Of hyperfine it is a
    command, which the records still have for their benchmark.
    """
    path = argument.paths[0]
    labelled = versions_of_one(stem_of(path), path, records)
    if {(of, r.tool) for of, r in labelled if isinstance(r, Record)} == {(stem_of(path), "hyperfine")}:
        labelled = [(r.benchmark if isinstance(r, Record) else of, r) for of, r in labelled]
    else:
        labelled, _ = of_benchmarks(labelled, argument.version, alone=True)
    there = list(dict.fromkeys(label for label, record in labelled if isinstance(record, Record)))
    version = version_given(argument.version, there, path)
    name = argument.name or (version if alone else "")
    kept = [
        item
        for label, item in labelled
        if label == version or (isinstance(item, Skipped) and item.version is None)
    ]
    return Named(name, argument.paths, version), kept


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # no possible name: opening the file says why
        return False


def stem_of(path: str) -> str:
    """Name of a file without what says how it is written; of a folder its own."""
    if path == "-":
        return "stdin"
    name = PurePath(path).name or Path(path).resolve().name
    if Path(path).is_dir():
        return name
    for _ in range(2):  # .json.gz
        if PurePath(name).suffix.lower() in _SUFFIXES:
            name = PurePath(name).stem
    return name


def labels_of(arguments: Sequence[Named]) -> list[str]:
    """Names of versions: stems of paths, with as many parent folders as tell them apart."""
    parents = [PurePath(argument.paths[0]).parts[:-1] for argument in arguments]
    stems = [",".join(map(stem_of, argument.paths)) for argument in arguments]
    labels: list[str] = []
    for depth in range(max(map(len, parents), default=0) + 1):
        near = (
            [f for f in folders[max(len(folders) - depth, 0) :] if f not in (".", "/")] for folders in parents
        )
        paths = ("/".join((*folders, stem)) for folders, stem in zip(near, stems, strict=True))
        labels = [
            a.name or (f"{path}:{a.version}" if a.version else path)
            for a, path in zip(arguments, paths, strict=True)
        ]
        if len(set(labels)) >= len(set(arguments)):
            break
    seen = Counter[str]()
    for i, label in enumerate(labels):  # the same file twice: an A/A comparison of one's own
        seen[label] += 1
        if seen[label] > 1:
            labels[i] = f"{label} ({seen[label]})"
    return labels


def counted_once(read_all: Sequence[Sequence[Record | Skipped]]) -> list[Record | Skipped]:
    """The records of one version without files that repeat another file's measurements.

    The same benchmarks with the same three or more different values at the same moments are one measurement.
    """
    files: dict[tuple[int, str], list[Record]] = {}
    for k, records in enumerate(read_all):
        for record in records_of(records):
            files.setdefault((k, record.path), []).append(record)
    first: dict[object, tuple[int, str]] = {}
    again: dict[tuple[int, str], str] = {}
    for file, measured in files.items():
        if len(files) > 1 and np.unique(np.concatenate([r.values for r in measured])).size >= _TELLING:
            content = tuple((r.benchmark, r.metric, r.version, r.span, r.values.tobytes()) for r in measured)
            if first.setdefault(content, file) != file:
                again[file] = first[content][1]
    kept = [r for k, records in enumerate(read_all) for r in records if (k, r.path) not in again]
    repeated = [
        Skipped(path, "", "", f"the same measurements as in {other}: counted once")
        for (_, path), other in again.items()
    ]
    return [*kept, *repeated]


def versions_of_several(
    label: str, records: Sequence[Record | Skipped]
) -> Iterator[tuple[str, Record | Skipped]]:
    """The versions of one path among several: the path's, or those that it names if there are more."""
    versions = {record.version for record in records_of(records)} - {None}
    for record in records:
        version = record.version
        yield (f"{label}:{version}" if version is not None and len(versions) > 1 else label), record


def versions_of_one(
    label: str, path: str, records: Sequence[Record | Skipped]
) -> list[tuple[str, Record | Skipped]]:
    """The versions of the only path: those that it names, or its files."""
    measured = records_of(records)
    if any(r.version is not None for r in measured):
        return [(r.version or label, r) for r in records]
    files = list(dict.fromkeys(r.path for r in measured))
    if Path(path).is_dir() and len(files) > 1:
        names = dict(zip(files, labels_of([Named("", (f,)) for f in files]), strict=True))
        labelled = [(names.get(r.path, label), r) for r in records]
        return sorted(labelled, key=lambda one: natural(one[0]))
    return [(label, r) for r in records]


def of_benchmarks(
    labelled: list[tuple[str, Record | Skipped]], reference: str | None, *, alone: bool
) -> tuple[list[tuple[str, Record | Skipped]], bool]:
    """The benchmarks of the only version as versions of one thing, and whether they are.

    They are where the reference is one of them, and the commands of a hyperfine file that stands ``alone``.
    """
    labels, measured = {of for of, r in labelled if isinstance(r, Record)}, records_of(r for _, r in labelled)
    benchmarks = {r.benchmark for r in measured}
    hyperfine = alone and {(r.path, r.tool) for r in measured} == {(measured[0].path, "hyperfine")}
    among = reference is not None and version_of(reference, list(benchmarks)) in benchmarks
    if len(labels) > 1 or len(benchmarks) < 2 or not (among or hyperfine):
        return labelled, False
    return [
        (r.benchmark, replace(r, benchmark=of)) if isinstance(r, Record) else (of, r) for of, r in labelled
    ], True


def across_versions(
    labelled: Sequence[tuple[str, Record | Skipped]], match: _Matching
) -> list[tuple[str, Record | Skipped]]:
    """Match the benchmarks of versions; all stays in its place."""
    if len({version for version, item in labelled if isinstance(item, Record)}) < 2:
        return list(labelled)  # nothing to match with
    held: dict[str, list[Record | Skipped]] = {}
    for version, item in labelled:
        if isinstance(item, Record):
            held.setdefault(version, []).append(item)
    matched = {version: iter(items) for version, items in zip(held, match([*held.values()]), strict=True)}
    return [(v, next(matched[v]) if isinstance(item, Record) else item) for v, item in labelled]


def by_position(read_all: Sequence[list[Record | Skipped]]) -> list[list[Record | Skipped]]:
    """Match benchmarks by their place, with the names of the first version."""
    names = [_names(records) for records in read_all]
    for records, benchmarks in zip(read_all, names, strict=True):
        if len(benchmarks) != len(names[0]):
            path, first = (records_of(of)[0].path for of in (records, read_all[0]))
            raise UsageError(
                f"{path} has {len(benchmarks)} benchmarks and {first} has {len(names[0])}: "
                "they cannot be matched by position"
            )

    def matched(first: Mapping[str, str], record: Record) -> Record:
        if (name := first[record.benchmark]) == record.benchmark:
            return record
        note = f"{record.benchmark!r} is compared as {name!r}, by its position"
        return replace(record, benchmark=name, notes=(*record.notes, note))

    return [
        changed(records, partial(matched, dict(zip(benchmarks, names[0], strict=True))))
        for benchmarks, records in zip(names, read_all, strict=True)
    ]


def one_thing(read_all: Sequence[list[Record | Skipped]]) -> list[list[Record | Skipped]]:
    """Give one name to what has none or is only called differently.

    Raw text and CSV without names are called after their files, and a hyperfine command by its path and
    arguments: where every file holds one of these, they are the versions of one thing. Names that a tool gave to
    benchmarks are believed.
    """
    names = [_names(records) for records in read_all]
    if any(len(n) != 1 for n in names) or len({n[0] for n in names}) == 1:
        return list(read_all)
    tools = {r.tool if r.named else "raw" for records in read_all for r in records_of(records)}
    if not tools <= {"raw", "hyperfine"}:
        return list(read_all)
    common = _COMMAND if tools == {"hyperfine"} else "values"
    commands = ", ".join(repr(n[0]) for n in names)
    note = (f"the commands {commands} were compared",) if "hyperfine" in tools else ()
    return [
        changed(records, lambda r: replace(r, benchmark=common, notes=(*r.notes, *note)))
        for records in read_all
    ]


def of_commands(
    arguments: Sequence[Named], read_all: Sequence[list[Record | Skipped]]
) -> tuple[list[Named], list[list[Record | Skipped]]]:
    """The versions of one thing; hyperfine files of one command each and no name are called by their commands."""
    names = [_names(records) for records in read_all]
    tools = {r.tool for records in read_all for r in records_of(records)}
    commands = {n[0] for n in names if len(n) == 1}
    named = len(arguments) < len(read_all) or any(a.name not in ("", a.version) for a in arguments)
    if named or tools != {"hyperfine"} or len(commands) < len(read_all):
        return list(arguments), one_thing(read_all)
    return (
        [replace(argument, name=n[0]) for argument, n in zip(arguments, names, strict=True)],
        [changed(records, lambda r: replace(r, benchmark=_COMMAND)) for records in read_all],
    )


_PAIR = r"(?s)(?P<key>[A-Za-z_][\w.]*) ?[=:] ?(?P<value>.+)"
_NAMED = r"(?s)[A-Za-z_][\w.]*=.+"
_ASSIGNED = r"[\w.]+=[^,\s]+"
# Parameters stand behind a colon (JMH, ReBench) or a blank (the runner), in brackets at the end (pytest, asv,
# BenchmarkDotNet), behind slashes (Go, google-benchmark, criterion), or a dash (PARSEC's inputs).
_STYLES = (
    (rf"(?P<base>[^:]+)(?P<opening>:)(?P<inner>{_ASSIGNED}(,{_ASSIGNED})*)(?P<closing>)", ","),
    (rf"(?P<base>[^=]+?)(?P<opening> )(?P<inner>{_ASSIGNED}( {_ASSIGNED})*)(?P<closing>)", " "),
    (r"(?P<base>[^\[]+)(?P<opening>\[)(?P<inner>.+)(?P<closing>\])", "-"),
    (r"(?P<base>[^(]+)(?P<opening>\()(?P<inner>.+)(?P<closing>\))", ", "),
    (r"(?P<base>[^/]+)(?P<opening>/)(?P<inner>.+)(?P<closing>)", "/"),
    (r"(?P<base>[\w.]+)(?P<opening>-)(?P<inner>(test|native|sim[a-z]+)(-\d+)?)(?P<closing>)", "-"),
)


def _taken_apart(text: str) -> tuple[str, list[tuple[str, str, str]], str, str, str]:
    """Split a benchmark's name into its base, its parameters and the text around them."""
    for pattern, delimiter in _STYLES:
        if match := re.fullmatch(pattern, text):
            base, opening, inner = match["base"], match["opening"], match["inner"]
            # Of several columns: all of it is parameters
            if opening == "/" and re.fullmatch(_NAMED, base):
                base, opening, inner = "", "", text
            parts = []
            for place, part in enumerate(inner.split(delimiter), start=1):
                pair = re.fullmatch(_PAIR, part)
                parts.append((pair["key"], pair["value"], part) if pair else (f"/{place}", part, part))
            return base, parts, opening, delimiter, match["closing"]
    return text, [], "", "", ""


def dimensions(benchmark: str, fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Everything that a record can be projected on: its whole name, parts of it, its fields."""
    base, named, *_ = _taken_apart(benchmark)
    parts = {"benchmark": benchmark} | ({"name": base} if base else {})
    for dimension, value, _ in named:
        parts.setdefault(dimension, value)
    return parts | {key: value for key, value in fields if key not in parts}


def without(text: str, shown: Mapping[str, str], *, bare: bool) -> str:
    """A name without the parts that show some dimensions; itself when none does."""
    base, left, opening, delimiter, closing = _taken_apart(text)
    for dimension, value in shown.items():
        shown_by = [part for part in left if part[:2] == (dimension, value)]
        if not shown_by and bare:
            shown_by = [part for part in left if part[2] == value]
            shown_by = shown_by if len(shown_by) == 1 else []
        if shown_by:
            left.remove(shown_by[0])
    inner = delimiter.join(written for _, _, written in left)
    return base + (opening + inner + closing if left else "") or "values"


def onto_benchmarks(records: Sequence[Record | Skipped], rows: Sequence[str]) -> list[Record | Skipped]:
    """Name benchmarks by some dimensions; what differs otherwise is pooled, and the suite says so."""
    _known(records, [Parameter("rows", row) for row in rows])

    def named(record: Record) -> Record:
        parts = dimensions(record.benchmark, record.fields)
        there = [row for row in rows if row in parts]
        others = [(k, v) for k, v in parts.items() if k not in {"benchmark", *dict(record.fields)}]
        name = joined(there, [parts[row] for row in there])
        return replace(record, benchmark=name, fields=(*record.fields, *others))

    return changed(records, named)


def onto_versions(
    label: str, records: Sequence[Record | Skipped], by: Sequence[str]
) -> list[tuple[str, Record | Skipped]]:
    """Make versions of some dimensions, and take them out of the benchmarks' names.

    What was left out comes last: it has no dimension, and its name must not be the first, which is the reference.
    """
    _known(records, [Parameter("by", dimension) for dimension in by])
    measured = records_of(records)
    parts = [dimensions(record.benchmark, record.fields) for record in measured]
    labels = [joined(by, [p[d] for d in by]) if p.keys() >= set(by) else label for p in parts]
    # Names that several versions have in common do not show the dimension.
    benchmarks = {record.benchmark for record in measured}
    pairs = {(record.benchmark, version) for record, version in zip(measured, labels, strict=True)}
    bare = len(pairs) == len(benchmarks)
    names = {
        record.benchmark: without(record.benchmark, {d: p[d] for d in by if d in p}, bare=bare)
        for record, p in zip(measured, parts, strict=True)
    }
    if bare and len(benchmarks) > 1:
        names |= _templates([record for record in measured if record.tool == "hyperfine"], by)
    # Versions that the files name themselves, and that the field does not tell apart, must not be pooled.
    places = [(version, names[r.benchmark], r.version) for version, r in zip(labels, measured, strict=True)]
    in_files = {place for place in places if place[2] is not None}
    pooled = len({place[:2] for place in in_files}) < len(in_files)
    labelled: list[tuple[str, Record | Skipped]] = [
        (version, replace(record, benchmark=f"{name}, {of_file}" if pooled and of_file else name))
        for record, (version, name, of_file) in zip(measured, places, strict=True)
    ]
    return labelled + [(label, item) for item in records if isinstance(item, Skipped)]


def _templates(commands: Sequence[Record], by: Sequence[str]) -> dict[str, str]:
    """Commands with the parameters' names in place of their values: what most commands have in common."""
    possible: dict[str, list[str]] = {}
    for record in commands:
        templates = [record.benchmark]
        for dimension in by:
            value = dict(record.fields).get(dimension, "")
            if value:
                templates = [t for text in templates for t in _filled_in(text, value, f"{{{dimension}}}")]
        possible[record.benchmark] = templates
    shared = Counter(template for templates in possible.values() for template in dict.fromkeys(templates))
    return {
        name: max(templates, key=lambda template: shared[template]) for name, templates in possible.items()
    }


def _filled_in(text: str, value: str, name: str) -> Iterator[str]:
    """A text with one occurrence of a value replaced by a name, or all of them, or none."""
    places = [match.start() for match in re.finditer(re.escape(value), text)]
    if len(places) != 1:
        yield text.replace(value, name)
    for place in places:
        yield text[:place] + name + text[place + len(value) :]


def _known(records: Iterable[Record | Skipped], wanted: Sequence[Parameter]) -> None:
    """Refuse a dimension that occurs in no record."""
    names = dict.fromkeys(
        name for record in records_of(records) for name in dimensions(record.benchmark, record.fields)
    )
    for asked in wanted:
        if asked.value not in names:
            there = enumerate_names((name for name in names if name not in ("benchmark", "name")), 12)
            known = f"the fields of these results are {there}" if there else "these results have no fields"
            raise UsageError(asked, f": {known}")
