"""Which version a record belongs to: by path, by what the file says of itself, or by a field."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.corpus import is_url
from speedproof.data.names import natural
from speedproof.data.record import Record, Skipped
from speedproof.errors import UsageError
from speedproof.formats.reading import changed, records_of

_SUFFIXES = (".gz", ".json", ".txt", ".csv", ".tsv", ".bench", ".log", ".dat", ".jsonl")
_TELLING = 3  # different values that two files do not share by chance


def _names(items: Iterable[Record | Skipped]) -> list[str]:
    """Benchmarks in order of appearance."""
    return list(dict.fromkeys(record.benchmark for record in records_of(items)))


class Named(Struct, frozen=True):
    """What one argument names."""

    name: str  # the name given to it; empty when none is
    paths: tuple[str, ...]  # one path, or those of several sessions


def named(argument: str | os.PathLike[str]) -> Named:
    """Split ``NAME=PATH,PATH``; a file or folder of that whole name goes before."""
    text = os.fspath(argument)
    if not text:
        raise UsageError('the path "" is empty: is a variable not set? "." is this folder')
    name, equals, path = text.partition("=")
    if not (equals and name and path) or is_url(name) or _exists(text):
        name, path = "", text
    parts = tuple(part for part in path.split(",") if part)
    return Named(name, (path,) if _exists(path) or len(parts) < 2 else parts)


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
    labels: list[str] = []
    for depth in range(max(map(len, parents), default=0) + 1):
        labels = []
        for argument, folders in zip(arguments, parents, strict=True):
            near = [
                part for part in folders[len(folders) - min(depth, len(folders)) :] if part not in (".", "/")
            ]
            labels.append(argument.name or "/".join((*near, ",".join(map(stem_of, argument.paths)))))
        if len(set(labels)) >= len(set(arguments)):
            break
    seen = Counter[str]()
    for i, label in enumerate(labels):  # the same file twice: an A/A comparison of one's own
        seen[label] += 1
        if seen[label] > 1:
            labels[i] = f"{label} ({seen[label]})"
    return labels


def counted_once(read_all: Sequence[Sequence[Record | Skipped]]) -> list[Record | Skipped]:
    """What the paths of one version hold, less the files that hold what another one does: they are no sessions.

    The same benchmarks with the same three or more different values at the same moments are one measurement.
    """
    files: dict[tuple[int, str], list[Record]] = {}
    for k, records in enumerate(read_all):
        for record in records_of(records):
            files.setdefault((k, record.path), []).append(record)
    first: dict[object, tuple[int, str]] = {}
    again: dict[tuple[int, str], str] = {}
    for file, own in files.items():
        if len(files) > 1 and np.unique(np.concatenate([r.values for r in own])).size >= _TELLING:
            content = tuple((r.benchmark, r.metric, r.version, r.span, r.values.tobytes()) for r in own)
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
    own = {record.version for record in records_of(records)} - {None}
    for record in records:
        version = record.version if isinstance(record, Record) else None
        yield (f"{label}:{version}" if version is not None and len(own) > 1 else label), record


def versions_of_one(
    label: str, path: str, records: Sequence[Record | Skipped], reference: str | None
) -> tuple[list[tuple[str, Record | Skipped]], bool]:
    """The versions of the only path: those that it names, its files, or commands that were compared in it.

    Also says whether it is the last.
    """
    found = records_of(records)
    if any(r.version is not None for r in found):
        return [(r.version or label if isinstance(r, Record) else label, r) for r in records], False
    files = list(dict.fromkeys(r.path for r in found))
    is_folder = Path(path).is_dir()
    if is_folder and len(files) > 1:
        names = dict(zip(files, labels_of([Named("", (f,)) for f in files]), strict=True))
        labelled = [(names.get(r.path, label), r) for r in records]
        return sorted(labelled, key=lambda one: natural(one[0])), False
    benchmarks = {r.benchmark for r in found}
    hyperfine = not is_folder and found[0].tool == "hyperfine"
    if len(benchmarks) > 1 and (reference in benchmarks or hyperfine):
        return [
            (r.benchmark, replace(r, benchmark=label)) if isinstance(r, Record) else (label, r)
            for r in records
        ], True
    return [(label, r) for r in records], False


def by_position(
    arguments: Sequence[Named], found: Sequence[Sequence[Record | Skipped]]
) -> list[list[Record | Skipped]]:
    """Match the benchmarks of several arguments by their place, with the names of the first argument."""
    names = [_names(records) for records in found]
    for argument, own in zip(arguments, names, strict=True):
        if len(own) != len(names[0]):
            raise UsageError(
                f"{','.join(argument.paths)} has {len(own)} benchmarks and {','.join(arguments[0].paths)} has "
                f"{len(names[0])}: they cannot be matched by position"
            )

    def matched(first: Mapping[str, str], record: Record) -> Record:
        if (name := first[record.benchmark]) == record.benchmark:
            return record
        note = f"{record.benchmark!r} is compared as {name!r}, by its position"
        return replace(record, benchmark=name, notes=(*record.notes, note))

    return [
        changed(records, partial(matched, dict(zip(own, names[0], strict=True))))
        for own, records in zip(names, found, strict=True)
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
    common = names[0][0] if tools == {"hyperfine"} else "values"
    commands = ", ".join(repr(n[0]) for n in names)
    note = (f"the commands {commands} were compared",) if "hyperfine" in tools else ()
    return [
        changed(records, lambda r: replace(r, benchmark=common, notes=(*r.notes, *note)))
        for records in read_all
    ]
