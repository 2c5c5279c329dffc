"""A corpus of samples: build it, look into it, analyse it on all cores or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from speedproof.corpus.build import Builder, build
from speedproof.corpus.info import CorpusInfo, info
from speedproof.corpus.place import Place
from speedproof.corpus.read import opened, query
from speedproof.data.record import FileResults, Record
from speedproof.data.suite import Suite
from speedproof.errors import UsageError
from speedproof.formats import read_suite
from speedproof.formats.options import ReadOptions
from speedproof.formats.stream import read_files
from speedproof.formats.versions import named, stem_of, versions_by_field

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Corpus", "CorpusInfo"]


def _no_step() -> None:
    return


class Corpus:
    r"""Any number of samples in Parquet files.

    Parameters
    ----------
    place : str or path
        A folder, or a URL of an object store such as ``s3://bucket/corpus``.

    Raises
    ------
    SpeedproofError
        No corpus there, or one that a newer speedproof wrote.

    Examples
    --------
    >>> import tempfile
    >>> import speedproof as sp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     corpus = sp.Corpus.build(["examples/gcc/O2.json", "examples/gcc/O3.json"], folder)
    ...     corpus.query("SELECT version, count(*) AS samples FROM corpus GROUP BY ALL ORDER BY ALL").to_pylist()
    [{'version': 'O2', 'samples': 6}, {'version': 'O3', 'samples': 6}]
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = os.fspath(place)
        opened(place)

    @classmethod
    def build(
        cls,
        files: Iterable[str | os.PathLike[str]],
        place: str | os.PathLike[str],
        *,
        append: bool = False,
        by: Sequence[str] = (),
        format: str | None = None,
        unit: str | None = None,
        columns: Mapping[str, str] | None = None,
        wide: Literal["version", "benchmark"] = "version",
        done: Callable[[], None] = _no_step,
    ) -> Corpus:
        """Make a corpus of result files, or go on with one that was cut short.

        Parameters
        ----------
        files : iterable of str or path
            Files, folders, archives, patterns with ``*``. The version of what names none is NAME of ``NAME=PATH``,
            else its file, or the folder where several arguments are given.
        place : str or path
            A folder that does not exist yet or is empty, or a URL.
        append : bool
            Add to a complete corpus. Files that are in it already and have not changed are left out.
        by : sequence of str
            Tell versions apart by these fields of the files.
        format, unit, columns, wide
            As :func:`speedproof.read` takes them.
        done : callable
            Called after each file.

        Returns
        -------
        Corpus
            Memory stays below some 500 MB, however much is read. What cannot be read is in the table ``rejects``.

        Raises
        ------
        SpeedproofError
            A complete corpus, other files in the folder, a full disk.
        """
        how = ReadOptions(unit=unit, columns=columns or {}, wide=wide)

        def found(builder: Builder) -> Iterator[tuple[str, FileResults]]:
            for version, results in _labelled(files, format, how, tuple(by), builder.has):
                yield version, results
                done()

        build(Place.of(place), found, append=append)
        return cls(place)

    def info(self) -> CorpusInfo:
        """What is in it, in counts."""
        return info(self.place)

    def query(self, sql: str) -> pa.Table:
        """What SQL says of the tables ``corpus`` and ``rejects``, as an Arrow table."""
        return query(self.place, sql)

    def read(self, where: str | None = None) -> Suite:
        """The rows that a condition lets through, in memory, as :func:`speedproof.read` gives them."""
        return read_suite(self.place, where=where)

    def __repr__(self) -> str:
        return f"<Corpus: {self.place}>"


def _labelled(
    files: Iterable[str | os.PathLike[str]],
    format: str | None,
    options: ReadOptions,
    by: tuple[str, ...],
    known: Callable[[str], bool],
) -> Iterator[tuple[str, FileResults]]:
    """What each file holds, with the version of records that name none."""
    waiting = iter(files)
    first = list(islice(waiting, 2))
    several = len(first) > 1
    for argument in chain(first, waiting):
        own = named(argument)
        for path in own.paths:
            for results in read_files([path], format=format, options=options, skip=known):
                label = own.name or _label(path, results.path, several)
                yield label, _versioned(results, own.name, label, by)


def _label(argument: str, path: str, several: bool) -> str:
    """A folder is one version among several arguments; of one alone, and of an archive, the files are."""
    if several and Path(argument).is_dir():
        return stem_of(argument)
    stem = stem_of(path)
    inside = PurePath(path).parent.parts[len(PurePath(argument).parts) :]
    return "/".join((*inside, stem))


def _versioned(results: FileResults, name: str, label: str, by: tuple[str, ...]) -> FileResults:
    if by:
        found = versions_by_field(label, results.records, by)
        return replace(
            results, records=tuple(replace(r, version=v) for v, r in found if isinstance(r, Record))
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
