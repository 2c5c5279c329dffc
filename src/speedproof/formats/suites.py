"""From the files that a user names to a suite of versions.

What a path stands for:

* two paths or more: each is a version; a folder is all its result files together;
* several paths joined by commas: the sessions of one version;
* one folder: each result file in it is a version, unless the files name versions themselves;
* one file: the versions that it names itself (a CSV column, criterion's base and new). If it names none, its
  benchmarks are the versions of one thing: that is how hyperfine compares commands.

``NAME=PATH`` gives a version a name of one's own; ``PATH:VERSION`` takes one version of those of a path.

Of many files one is held at a time, and a part of a large one; a bad one is named and stops nothing.
"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from speedproof.data.checked import checked
from speedproof.data.names import natural, nearest_of, version_given
from speedproof.data.record import FileResults, Item, Record, RecordTable, Skipped, each_record, why_left_out
from speedproof.data.suite import Suite
from speedproof.data.units import Direction
from speedproof.errors import FormatError, Parameter, UnknownFormatError, UsageError
from speedproof.formats import versions
from speedproof.formats.registry import Format, detect_source, format_named, is_companion
from speedproof.formats.source import STDIN, ReadOptions, Source, is_corpus, open_source, source_of


@checked("files")
def read(
    *files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None = None,
    unit: str | None = None,
    columns: Mapping[str, str] | None = None,
    wide: Literal["version", "benchmark"] | None = None,
    by: str | Sequence[str] = (),
    rows: str | Sequence[str] = (),
    match: Literal["name", "position"] = "name",
    reference: str | None = None,
    only: str | Sequence[str] = (),
    skip: str | Sequence[str] = (),
    metric: str | None = "all",
    where: str | None = None,
    higher_is_better: str | Sequence[str] = (),
    first: int | None = None,
) -> Suite:
    """Read result files of any known tool, as the command line does.

    Parameters
    ----------
    *files : str or Path
        Files or folders, one by one or as a list. Of several each is a version, and ``"NAME=PATH"`` names it; a
        single one names its versions itself. ``"PATH:VERSION"`` is one of them.
    format : str, optional
        Read every file as this format instead of detecting it.
    unit : str, optional
        Of numbers whose file names none.
    columns : mapping of str to str, optional
        From a role (``"benchmark"``, ``"version"``, ``"value"``, ...) to the column of a CSV file.
    wide : {"version", "benchmark"}, optional
        What the columns of a wide CSV file are; by default versions, or the numbered runs of a benchmark.
    by, rows : str or sequence of str, optional
        Tell versions apart by fields of the files or parts of the benchmarks' names (``lib`` of ``f:lib=ACM``);
        name benchmarks by such fields only.
    match : {"name", "position"}
        How the benchmarks of versions are matched.
    reference : str, optional
        The version that the others are compared with, the first of the suite. One of the benchmarks of a single
        file makes versions of them, to compare them with each other.
    only, skip, metric
        As in :meth:`~speedproof.data.suite.Suite.select`; everything by default.
    where : str, optional
        An SQL condition on the rows of a corpus, such as ``"version = 'main'"``.
    higher_is_better : str or sequence of str, optional
        Metrics of which more is better, though neither their unit nor their name says so.
    first : int, optional
        Take so many runs of each sample, in run order; where values are nested, so many processes.

    Returns
    -------
    Suite
        Benchmarks x versions -> samples.

    Raises
    ------
    SpeedproofError
        Naming the file, the place in it and the remedy.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> suite.versions, len(suite.keys)
    (('O2', 'O3'), 6)
    """
    options = ReadOptions(unit=unit, columns=columns or {}, wide=wide, where=where)
    arguments = []
    for path in (p for file in files for p in (file if isinstance(file, list | tuple) else [file])):
        if not isinstance(path, str | os.PathLike):
            raise UsageError(f"expected the path of a file or folder, not {path!r}")
        arguments.append(versions.named(path))
    if not arguments:
        raise UsageError("name at least one file")
    versions.each_named_once(arguments)
    paths = [path for argument in arguments for path in argument.paths]
    if where and not any(map(is_corpus, paths)):
        raise UsageError(Parameter("where"), " chooses rows of a corpus, and no file named is one")
    if (columns or wide is not None) and format != "csv":
        _one_is_csv(paths)
    items = {path: _measured(path, format, options) for path in dict.fromkeys(paths)}
    asked = {argument.paths for argument in arguments if argument.version}
    more = names_given(higher_is_better)
    plain = len(paths) == len(arguments) and match == "name" and not (asked or rows or by or more)
    if plain and not (reference and len(paths) == 1) and all(map(_in_tables, items.values())):
        named = zip(versions.labels_of(arguments), paths, strict=True)
        suite = _usable([(name, item) for name, path in named for item in items[path]], commands=False)
        return _chosen(suite, reference, only, skip, metric, first)
    once = {path: list(each_record(of)) for path, of in items.items()}
    read_all = [once[path] for path in paths]
    for i, argument in enumerate(arguments if asked else ()):
        if argument.version:
            at = sum(len(before.paths) for before in arguments[:i])
            arguments[i], read_all[at] = versions.of_version(argument, read_all[at], alone=len(asked) == 1)
    if several := len(paths) > 1:
        arguments, of_one = versions.of_commands(arguments, read_all)
        each = iter(of_one)
        read_all = [versions.counted_once([next(each) for _ in argument.paths]) for argument in arguments]
    if rows:
        read_all = [versions.onto_benchmarks(records, names_given(rows)) for records in read_all]
    labelled: list[tuple[str, Record | Skipped]] = []
    for argument, label, records in zip(arguments, versions.labels_of(arguments), read_all, strict=True):
        if by:
            labelled += versions.onto_versions(label, records, names_given(by))
        elif several:
            labelled += versions.versions_of_several(label, records)
        else:
            name, path = argument.name or label, argument.paths[0]
            named_in = versions.versions_of_one(name, path, records)
            labelled = versions.across_versions(named_in, versions.one_thing)
    labelled, commands = versions.of_benchmarks(labelled, reference, alone=not (by or several))
    if match == "position":
        labelled = versions.across_versions(labelled, versions.by_position)
    if more:
        all_there(more, (record.metric for _, record in labelled if isinstance(record, Record)))
        labelled = [(of, turned(item, more) if isinstance(item, Record) else item) for of, item in labelled]
    return _chosen(_usable(labelled, commands=commands), reference, only, skip, metric, first)


def _chosen(
    suite: Suite,
    reference: str | None,
    only: str | Sequence[str],
    skip: str | Sequence[str],
    metric: str | None,
    first: int | None,
) -> Suite:
    chosen = suite.select(only, skip, metric)
    if reference is not None:
        more = suite.benchmarks if len(suite.versions) == 1 else ()
        head = version_given(reference, (*chosen.versions, *more))
        chosen = replace(chosen, versions=tuple(sorted(chosen.versions, key=head.__ne__)))
    if first is None:
        return chosen
    samples, others = (
        {place: s.first(first) for place, s in of.items()} for of in (chosen.samples, chosen.not_chosen)
    )
    return replace(chosen, samples=samples, not_chosen=others)


def _one_is_csv(paths: Sequence[str]) -> None:
    """Refuse CSV options when all paths are files and none of them is CSV."""
    if all(Path(path).is_file() and detect(path).name != "csv" for path in paths):
        both = Parameter("columns", None, "column"), " and ", Parameter("wide")
        raise UsageError(*both, " say how to read CSV, and no file named is CSV; leave them out")


def all_there(metrics: Sequence[str], present: Iterable[str]) -> None:
    """Refuse ``higher_is_better`` for metrics that were not measured."""
    measured = list(dict.fromkeys(present))
    for metric in metrics:
        if metric not in measured:
            asked = Parameter("higher_is_better", metric)
            raise UsageError(asked, f": there is no such metric; {nearest_of(metric, measured)}")


def turned(record: Record, metrics: Sequence[str]) -> Record:
    """The record, with higher values better if its metric is one of these."""
    return replace(record, direction=Direction.HIGHER) if record.metric in metrics else record


def names_given(given: str | Sequence[str]) -> list[str]:
    """Split names that are given singly or joined by commas."""
    return given.split(",") if isinstance(given, str) else list(given)


def _measured(path: str, format: str | None, options: ReadOptions) -> list[Item]:
    records = list(_items(path, format, options))
    if not any(isinstance(r, Record | RecordTable) for r in records):
        reasons = "".join(
            f"\n  {line}" for line in why_left_out(r for r in records if isinstance(r, Skipped))
        )
        raise UsageError(
            f"{path}: no measured values{' where ' + options.where if options.where else reasons}"
        )
    return records


def _in_tables(items: Sequence[Item]) -> bool:
    """Whether all items are tables of records, and there is at least one."""
    return any(isinstance(item, RecordTable) for item in items) and not any(
        isinstance(item, Record) for item in items
    )


def _usable(labelled: Sequence[tuple[str, Item]], *, commands: bool) -> Suite:
    """A suite; a version of which values were read, but none can be used, is refused, unless it is a command."""
    suite = Suite.from_records(labelled, commands=commands)
    usable = {version for _, version in suite.samples}
    if commands and usable:
        return suite
    for version in dict.fromkeys(label for label, item in labelled if not isinstance(item, Skipped)):
        if version not in usable:
            reasons = "".join(f"\n  {line}" for line in why_left_out(suite.skipped))
            raise UsageError(f"no measurement of {version} can be used:{reasons}")
    return suite


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


def read_records(
    path: str | Path, *, format: str | None = None, options: ReadOptions | None = None
) -> Iterator[Record | Skipped]:
    r"""Read the results that a path names.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "sort.txt")
    ...     _ = path.write_text("1.5\n1.6\n")
    ...     [(r.benchmark, r.values.tolist()) for r in read_records(path)]
    [('sort', [1.5, 1.6])]
    """
    return each_record(_items(path, format, options or _DEFAULTS))


def _items(path: str | Path, format: str | None, options: ReadOptions) -> Iterator[Item]:
    chosen = None if format is None else format_named(format)
    if is_corpus(str(path)):
        from speedproof.corpus.read import read_records as read_corpus

        return read_corpus(str(path), options.where)
    if _is_folder(path):
        return _of_folder(Path(path), chosen, options)
    items = _of_source(open_source(path), chosen, options)
    return chain([next(items)], items)


def read_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    options: ReadOptions = _DEFAULTS,
    skip: Callable[[str], bool] = lambda path: False,
    whole: bool = False,
) -> Iterator[FileResults]:
    r"""Read many files, folders and archives, holding one at a time, and of a large one a part or the whole."""
    chosen = None if format is None else format_named(format)
    for opened in _sources(paths, skip):
        if isinstance(opened, FormatError):
            yield FileResults(opened.path, reject=opened)
            continue
        try:
            yield from _parts(opened, chosen, options, whole)
        except FormatError as error:
            yield FileResults(opened.name, reject=error)


def _parts(source: Source, format: Format | None, options: ReadOptions, whole: bool) -> Iterator[FileResults]:
    records: list[Record] = []
    skipped: list[Skipped] = []
    measured, first, values = False, "", 0
    for item in each_record(_of_source(source, format, options)):
        if isinstance(item, Record):
            records.append(item)
            measured, values = True, values + item.values.size
        else:
            skipped.append(item)
            first = first or str(replace(item, path=""))
        if not whole and (values >= PART_VALUES or len(records) + len(skipped) >= PART_ITEMS):
            yield FileResults(source.name, tuple(records), tuple(skipped), more=True)
            records, skipped, values = [], [], 0
    reject = None if measured else source.error("", first)
    yield FileResults(source.name, tuple(records), tuple(skipped), reject)


def _is_folder(path: str | Path) -> bool:
    try:
        return str(path) != STDIN and Path(path).is_dir()
    except OSError:  # not allowed to look, or no possible name: opening the file says which
        return False


def _of_source(source: Source, format: Format | None, options: ReadOptions) -> Iterator[Item]:
    try:
        items = (format or detect_source(source)).read(source, options)
        for first in items:
            yield first
            yield from items
            return
    except (MemoryError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            raise
        raise MemoryError(f"for {source.name}") from None
    raise source.error(
        "", "the file holds no results; is it a header only, or did the run end before it measured?"
    )


def _of_folder(folder: Path, format: Format | None, options: ReadOptions) -> Iterator[Item]:
    try:
        next(folder.iterdir(), None)
    except PermissionError:
        raise FormatError(str(folder), "", "permission to list the folder is denied") from None
    items: list[Record | Skipped] = []
    for path, version in result_files(folder, criterion=format is None or format.name == "criterion"):
        try:
            items += each_record(_of_source(open_source(path, version), format, options))
        except FormatError as error:
            beside, known = is_companion(error.message), not isinstance(error, UnknownFormatError)
            items.append(Skipped(error.path, error.where, "", error.message, beside, unread=known))
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


_Opened = Source | FormatError


def _sources(paths: Iterable[str | os.PathLike[str]], skip: Callable[[str], bool]) -> Iterator[_Opened]:
    """Every file, opened when its turn comes."""
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
                    yield _opened(open_source, file, version)
        elif path.lower().endswith(_ARCHIVES):
            yield from _members(path, skip)
        elif not skip(path):
            yield _opened(open_source, path)


def _opened(opening: Callable[..., Source], *place: Any) -> _Opened:
    try:
        return opening(*place)
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
                            yield _opened(source_of, name, packed.read)
        else:
            with tarfile.open(path, "r|*") as members:
                for member in members:
                    name = f"{path}/{member.name}"
                    content = members.extractfile(member) if member.isfile() and not skip(name) else None
                    if content is not None:
                        yield _opened(source_of, name, content.read)
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
