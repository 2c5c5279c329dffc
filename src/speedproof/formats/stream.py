"""Reading what a user names: files of any format, standard input, folders and archives, one after the other.

Of many files one is held at a time, and a part of a large one; a bad one is named and stops nothing.
"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from speedproof.data.names import natural
from speedproof.data.record import FileResults, Record, Skipped
from speedproof.errors import FormatError
from speedproof.formats.registry import COMPANIONS, Format, detect_source, format_named
from speedproof.formats.source import STDIN, ReadOptions, Source, is_corpus, open_source, source_of

# Files that lie beside results and are none: left out of a folder without a complaint.
_BESIDE = {
    ".md", ".rst", ".html", ".htm", ".svg", ".png", ".pdf", ".css", ".js", ".py", ".sh", ".c", ".cc", ".cpp",
    ".h", ".rs", ".go", ".java", ".toml", ".yml", ".yaml",
}  # fmt: skip
_BESIDE_NAMES = ("license", "licence", "copying", "readme", "unlicense", "notice", "changelog", "summary")
# Reasons shown of a folder of which nothing could be read.
_SHOWN = 3
_ARCHIVES = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".zip")
_DEFAULTS = ReadOptions()
PART_ITEMS, PART_VALUES = 1 << 13, 1 << 20  # of a part


def detect(path: str | Path) -> Format:
    """Tell the format of a file by its content."""
    if _is_folder(path):
        if next(Path(path).rglob("sample.json"), None) is not None:
            return format_named("criterion")
        raise FormatError(str(path), "", "a folder has no format of its own; its files are read one by one")
    return detect_source(open_source(path))


def read(
    path: str | Path, *, format: str | None = None, options: ReadOptions | None = None
) -> Iterator[Record | Skipped]:
    r"""Read the results that a path names.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "sort.txt")
    ...     _ = path.write_text("1.5\n1.6\n")
    ...     [(r.benchmark, r.values.tolist()) for r in read(path)]
    [('sort', [1.5, 1.6])]
    """
    options = options or _DEFAULTS
    chosen = None if format is None else format_named(format)
    if is_corpus(str(path)):
        from speedproof.corpus.read import read_records

        return read_records(str(path), options.where)
    if _is_folder(path):
        return _of_folder(Path(path), chosen, options)
    items = _of_source(open_source(path), None, chosen, options)
    return chain([next(items)], items)


def read_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    options: ReadOptions = _DEFAULTS,
    skip: Callable[[str], bool] = lambda path: False,
) -> Iterator[FileResults]:
    r"""Read many files, folders and archives, holding one file at a time, and a part of a large one."""
    chosen = None if format is None else format_named(format)
    for opened in _sources(paths, skip):
        if isinstance(opened, FormatError):
            yield FileResults(opened.path, reject=opened)
            continue
        try:
            yield from _parts(*opened, chosen, options)
        except FormatError as error:
            yield FileResults(opened[0].name, reject=error)


def _parts(
    source: Source, version: str | None, format: Format | None, options: ReadOptions
) -> Iterator[FileResults]:
    records: list[Record] = []
    skipped: list[Skipped] = []
    measured, first, values = False, "", 0
    for item in _of_source(source, version, format, options):
        if isinstance(item, Record):
            records.append(item)
            measured, values = True, values + item.values.size
        else:
            skipped.append(item)
            first = first or str(item)
        if values >= PART_VALUES or len(records) + len(skipped) >= PART_ITEMS:
            yield FileResults(source.name, tuple(records), tuple(skipped), more=True)
            records, skipped, values = [], [], 0
    reject = None if measured else source.error("", first)
    yield FileResults(source.name, tuple(records), tuple(skipped), reject)


def _is_folder(path: str | Path) -> bool:
    try:
        return str(path) != STDIN and Path(path).is_dir()
    except OSError:  # not allowed to look, or no possible name: opening the file says which
        return False


def _of_source(
    source: Source, version: str | None, format: Format | None, options: ReadOptions
) -> Iterator[Record | Skipped]:
    empty = True
    try:
        for item in (format or detect_source(source)).read(source, options):
            yield replace(item, version=version) if version and isinstance(item, Record) else item
            empty = False
    except (MemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            raise
        raise MemoryError(f"for {source.name}") from None
    if empty:
        raise source.error("", "the file holds no results; did the benchmark run end before it measured?")


def _of_folder(folder: Path, format: Format | None, options: ReadOptions) -> Iterator[Record | Skipped]:
    try:
        next(folder.iterdir(), None)
    except PermissionError:
        raise FormatError(str(folder), "", "permission to list the folder is denied") from None
    items: list[Record | Skipped] = []
    for path, version in result_files(folder, criterion=format is None or format.name == "criterion"):
        try:
            items += _of_source(open_source(path), version, format, options)
        except FormatError as error:
            beside = error.message in COMPANIONS
            items.append(Skipped(error.path, error.where, "", error.message, expected=beside))
    beside_results = filter(_is_beside, _files(folder))
    items += (Skipped(str(path), "", "", "not a result file", expected=True) for path in beside_results)
    if any(isinstance(item, Record) for item in items):
        return iter(items)
    # The first reasons why nothing could be read, a line each, those that a user should look at first.
    skipped = (item for item in items if isinstance(item, Skipped))
    reasons = [f"\n  {item}" for item in sorted(skipped, key=lambda item: item.expected)]
    more = f"\n  and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    why = ":" + "".join(reasons[:_SHOWN]) + more if reasons else "; it has no files"
    raise FormatError(str(folder), "", f"the folder holds no results that can be read{why}")


_Opened = tuple[Source, str | None] | FormatError


def _sources(paths: Iterable[str | os.PathLike[str]], skip: Callable[[str], bool]) -> Iterator[_Opened]:
    """Every file, opened when its turn comes, with the version that its folder names."""
    for name in paths:
        path = os.fspath(name)
        if path != STDIN and not Path(path).exists() and glob.has_magic(path):
            files = sorted(glob.glob(path, recursive=True), key=natural)  # noqa: PTH207 (an absolute pattern)
            if not files:
                yield FormatError(path, "", "no file has a name of this pattern")
            yield from _sources(files, skip)
        elif _is_folder(path):
            for file, version in result_files(Path(path)):
                if not skip(str(file)):
                    yield _opened(partial(open_source, file), version)
        elif path.lower().endswith(_ARCHIVES):
            yield from _members(path, skip)
        elif not skip(path):
            yield _opened(partial(open_source, path))


def _opened(open_it: Callable[[], Source], version: str | None = None) -> _Opened:
    try:
        return open_it(), version
    except FormatError as error:
        return error


def _members(path: str, skip: Callable[[str], bool]) -> Iterator[_Opened]:
    """The files of an archive, unpacked one by one."""
    import tarfile
    import zipfile
    import zlib

    try:
        from lzma import LZMAError
    except ImportError:  # a Python without it cannot unpack what it would raise this of
        LZMAError = EOFError  # type: ignore[assignment, misc]
    damages = (
        OSError, EOFError, RuntimeError, ValueError, tarfile.TarError, zipfile.BadZipFile, zlib.error, LZMAError,
    )  # fmt: skip
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
                    name = f"{path}/{member.name}"
                    content = members.extractfile(member) if member.isfile() and not skip(name) else None
                    if content is not None:
                        yield _opened(partial(source_of, name, content.read))
    except FileNotFoundError:
        yield FormatError(path, "", "no such file")
    except damages as error:
        yield FormatError(path, "", f"the archive is damaged, cut short or locked: {error}")


def result_files(folder: Path, *, criterion: bool = True) -> Iterator[tuple[Path, str | None]]:
    """The files of a folder that may hold results, in natural order, with the version that their folder names.

    Of criterion's folders these are the samples alone; the folders of single runs name versions.
    """
    runs = _criterion_runs(folder) if criterion else []
    owned = frozenset(run.parent for run in runs)
    for run in runs:
        yield run / "sample.json", run.name
    for path in _files(folder):
        if owned.isdisjoint(path.parents) and not _is_beside(path):
            yield path, None


def _files(folder: Path) -> list[Path]:
    """Every file that is not hidden."""
    files = (
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    return sorted(files, key=lambda path: natural(str(path)))


def _is_beside(path: Path) -> bool:
    return path.suffix.lower() in _BESIDE or any(name in path.name.lower() for name in _BESIDE_NAMES)


def _criterion_runs(folder: Path) -> list[Path]:
    """The folders of criterion's single runs (``.../new``, ``.../base``), in sorted order."""
    return sorted(
        sample.parent
        for sample in folder.rglob("sample.json")
        if (sample.parent / "benchmark.json").exists() or (sample.parent / "estimates.json").exists()
    )
