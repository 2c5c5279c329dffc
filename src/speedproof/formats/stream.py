"""Any number of result files, one after the other, in bounded memory; a bad one is named and stops nothing."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from speedproof.data.names import natural
from speedproof.data.record import FileResults, Record, Skipped
from speedproof.errors import FormatError
from speedproof.formats.folder import result_files
from speedproof.formats.options import ReadOptions
from speedproof.formats.registry import Format, detect_source, format_named
from speedproof.formats.source import STDIN, Source, open_source, source_of

__all__ = ["FileResults", "read_files"]

_ARCHIVES = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".zip")
_DEFAULTS = ReadOptions()
_ITEMS, _VALUES = 1 << 13, 1 << 20  # of a part


def read_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    options: ReadOptions = _DEFAULTS,
    skip: Callable[[str], bool] = lambda path: False,
) -> Iterator[FileResults]:
    r"""Read many files, folders and archives, holding one file at a time, and a part of a large one."""
    known = None if format is None else format_named(format)
    for opened in _sources(paths, skip):
        if isinstance(opened, FormatError):
            yield FileResults(opened.path, reject=opened)
            continue
        source, version = opened
        try:
            yield from _parts(source, version, known, options)
        except FormatError as error:
            yield FileResults(source.name, reject=error)


def _parts(
    source: Source, version: str | None, known: Format | None, options: ReadOptions
) -> Iterator[FileResults]:
    records: list[Record] = []
    skipped: list[Skipped] = []
    measured, first, values = False, "", 0
    for item in (known or detect_source(source)).read(source, options):
        if isinstance(item, Record):
            records.append(item if version is None else replace(item, version=version))
            measured, values = True, values + item.values.size
        else:
            skipped.append(item)
            first = first or str(item)
        if values >= _VALUES or len(records) + len(skipped) >= _ITEMS:
            yield FileResults(source.name, tuple(records), tuple(skipped), more=True)
            records, skipped, values = [], [], 0
    reject = None if measured else FormatError(source.name, "", first or "the file holds no results")
    yield FileResults(source.name, tuple(records), tuple(skipped), reject)


_Opened = tuple[Source, str | None] | FormatError


def _sources(paths: Iterable[str | os.PathLike[str]], skip: Callable[[str], bool]) -> Iterator[_Opened]:
    """Every file, opened when its turn comes, with the version that its folder names."""
    for name in paths:
        path = os.fspath(name)
        if path != STDIN and not Path(path).exists() and glob.has_magic(path):
            found = sorted(glob.glob(path, recursive=True), key=natural)  # noqa: PTH207 (an absolute pattern)
            if not found:
                yield FormatError(path, "", "no file has a name of this pattern")
            yield from _sources(found, skip)
        elif path != STDIN and Path(path).is_dir():
            for file, version in result_files(Path(path)):
                if not skip(str(file)):
                    yield _opened(partial(open_source, file), version)
        elif path.lower().endswith(_ARCHIVES):
            yield from _members(path, skip)
        elif not skip(path):
            yield _opened(partial(open_source, path))


def _opened(really: Callable[[], Source], version: str | None = None) -> _Opened:
    try:
        return really(), version
    except FormatError as error:
        return error


def _members(path: str, skip: Callable[[str], bool]) -> Iterator[_Opened]:
    """The files of an archive, unpacked one by one."""
    import tarfile
    import zipfile

    try:
        if path.lower().endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    if not info.is_dir() and not skip(name := f"{path}/{info.filename}"):
                        with archive.open(info) as packed:
                            yield _opened(partial(source_of, name, packed.read))
        else:
            with tarfile.open(path, "r|*") as members:
                for member in members:
                    known = not member.isfile() or skip(f"{path}/{member.name}")
                    if not known and (content := members.extractfile(member)) is not None:
                        yield _opened(partial(source_of, f"{path}/{member.name}", content.read))
    except FileNotFoundError:
        yield FormatError(path, "", "no such file")
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, RuntimeError) as error:
        yield FormatError(path, "", f"the archive is damaged, cut short or locked: {error}")
