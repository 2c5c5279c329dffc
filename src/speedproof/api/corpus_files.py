"""The files that a corpus is built of, each with the version of its records that name none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path, PurePath

from msgspec.structs import replace

from speedproof.corpus.compare import pairs_in_file as pairs_in_file
from speedproof.corpus.read import query as query
from speedproof.data.record import FileResults, Record
from speedproof.errors import UsageError
from speedproof.formats.source import ReadOptions
from speedproof.formats.stream import read_files
from speedproof.formats.versions import named, stem_of


def labelled(
    files: Iterable[str | os.PathLike[str]],
    format: str | None,
    options: ReadOptions,
    by: tuple[str, ...],
    known: Callable[[str], bool],
) -> Iterator[tuple[str, FileResults]]:
    """What each file holds, with the version of records that name none."""
    waiting = iter(files)
    first = list(islice(waiting, 2))
    if not first:
        raise UsageError("name result files, folders or archives; the list names none")
    several = len(first) > 1
    for argument in chain(first, waiting):
        given = named(argument)
        for path in given.paths:
            read = read_files([path], format=format, options=options, skip=known)
            for results in _whole(read) if by else read:
                label = given.name or _label(path, results.path, several)
                yield label, _versioned(results, given.name, label, by)


def _whole(found: Iterable[FileResults]) -> Iterator[FileResults]:
    """All parts of a file together: which field tells its versions apart depends on all of them."""
    parts: list[FileResults] = []
    for part in found:
        parts.append(part)
        if not part.more:
            yield replace(
                part,
                records=tuple(r for p in parts for r in p.records),
                skipped=tuple(s for p in parts for s in p.skipped),
            )
            parts = []


def _label(argument: str, path: str, several: bool) -> str:
    """A folder is one version among several arguments; of one alone, and of an archive, the files are."""
    if several and Path(argument).is_dir():
        return stem_of(argument)
    stem = stem_of(path)
    inside = PurePath(path).parent.parts[len(PurePath(argument).parts) :]
    return "/".join((*inside, stem))


def _versioned(results: FileResults, name: str, label: str, by: tuple[str, ...]) -> FileResults:
    if by:
        from speedproof.formats.versions import onto_versions

        versioned = onto_versions(label, results.records, by)
        return replace(
            results, records=tuple(replace(r, version=v) for v, r in versioned if isinstance(r, Record))
        )
    if not name:
        return results
    # The other versions of the same argument are not known yet: a name alone might pool them.
    return replace(
        results,
        records=tuple(
            replace(r, version=name if r.version is None else f"{name}:{r.version}") for r in results.records
        ),
    )


def listed(path: str) -> Iterator[str]:
    """The names of files in a list, one a line; ``-`` is standard input."""
    import sys

    try:
        with sys.stdin if path == "-" else Path(path).open(encoding="utf-8") as lines:
            yield from (name for line in lines if (name := line.strip("\r\n")))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
