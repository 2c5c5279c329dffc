"""Reading what a user names: a file of any format, standard input, or a folder of results."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from speedproof.corpus import is_corpus
from speedproof.data.names import natural
from speedproof.data.record import Record, Skipped
from speedproof.errors import FormatError
from speedproof.formats.options import ReadOptions
from speedproof.formats.registry import Format, detect_source, format_named
from speedproof.formats.source import STDIN, open_source

# Files that lie beside results and are none: left out of a folder without a complaint.
_BESIDE = {
    ".md", ".rst", ".html", ".htm", ".svg", ".png", ".pdf", ".css", ".js", ".py", ".sh", ".c", ".cc", ".cpp",
    ".h", ".rs", ".go", ".java", ".toml", ".yml", ".yaml",
}  # fmt: skip
_BESIDE_NAMES = ("license", "licence", "copying", "readme", "unlicense", "notice", "changelog", "summary")
# Reasons shown of a folder of which nothing could be read.
_SHOWN = 3


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
    chosen = ReadOptions() if options is None else options
    known = None if format is None else format_named(format)
    if is_corpus(str(path)):
        from speedproof.corpus.read import read_records

        return read_records(str(path), chosen.where)
    if _is_folder(path):
        return _read_folder(Path(path), known, chosen)
    return _read_file(path, known, chosen)


def _is_folder(path: str | Path) -> bool:
    try:
        return str(path) != STDIN and Path(path).is_dir()
    except OSError:  # not allowed to look, or no possible name: opening the file says which
        return False


def _read_file(path: str | Path, known: Format | None, options: ReadOptions) -> Iterator[Record | Skipped]:
    source = open_source(path)
    items = (known or detect_source(source)).read(source, options)
    first = next(items, None)
    if first is None:
        raise source.error("", "the file holds no results; did the benchmark run end before it measured?")
    return chain([first], items)


def _read_folder(folder: Path, known: Format | None, options: ReadOptions) -> Iterator[Record | Skipped]:
    items = list(_folder_items(folder, known, options))
    if any(isinstance(item, Record) for item in items):
        return iter(items)
    # The first reasons why nothing could be read, a line each, those that a user should look at first.
    skipped = (item for item in items if isinstance(item, Skipped))
    reasons = [f"\n  {item}" for item in sorted(skipped, key=lambda item: item.expected)]
    more = f"\n  and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    told = ":" + "".join(reasons[:_SHOWN]) + more if reasons else "; it has no files"
    raise FormatError(str(folder), "", f"the folder holds no results that can be read{told}")


def _folder_items(folder: Path, known: Format | None, options: ReadOptions) -> Iterator[Record | Skipped]:
    try:
        next(folder.iterdir(), None)
    except PermissionError:
        raise FormatError(str(folder), "", "permission to list the folder is denied") from None
    criterion = known is None or known.name == "criterion"
    for path, version in result_files(folder, criterion=criterion):
        try:
            for item in _read_file(path, known, options):
                yield replace(item, version=version) if version and isinstance(item, Record) else item
        except FormatError as error:
            from speedproof.formats.refused import COMPANIONS

            beside = error.message in COMPANIONS
            yield Skipped(error.path, error.where, "", error.message, expected=beside)
    for path in _files(folder):
        if _is_beside(path):
            yield Skipped(str(path), "", "", "not a result file", expected=True)


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
