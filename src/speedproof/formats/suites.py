"""From the files that a user names to a suite of versions.

What a path stands for:

* two paths or more: each is a version; a folder is all its result files together;
* several paths joined by commas: the sessions of one version;
* one folder: each result file in it is a version, unless the files name versions themselves;
* one file: the versions that it names itself (a CSV column, criterion's base and new). If it names none, its
  benchmarks are the versions of one thing: that is how hyperfine compares commands.

``NAME=PATH`` gives a version a name of one's own; ``PATH:VERSION`` takes one version of those of a path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from speedproof.data.checked import checked
from speedproof.data.names import nearest_of
from speedproof.data.record import Record, Skipped, why_left_out
from speedproof.data.suite import Suite
from speedproof.data.units import Direction
from speedproof.errors import Parameter, UsageError
from speedproof.formats import versions
from speedproof.formats.source import ReadOptions, is_corpus
from speedproof.formats.stream import detect
from speedproof.formats.stream import read as read_records


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
        How the benchmarks of several files are matched.
    reference : str, optional
        One of the benchmarks of a single file, to compare them with each other.
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
    paths = [path for argument in arguments for path in argument.paths]
    if where and not any(map(is_corpus, paths)):
        raise UsageError(Parameter("where"), " chooses rows of a corpus, and no file named is one")
    if (columns or wide is not None) and format != "csv":
        _one_is_csv(paths)
    once = {path: _records(path, format, options) for path in paths}
    read_all = [once[path] for path in paths]
    asked = {argument.paths for argument in arguments if argument.version}
    for i, argument in enumerate(arguments if asked else ()):
        if argument.version:
            at = sum(len(before.paths) for before in arguments[:i])
            arguments[i], read_all[at] = versions.of_version(argument, read_all[at], alone=len(asked) == 1)
    if several := len(paths) > 1:
        each = iter(versions.one_thing(read_all))
        read_all = [versions.counted_once([next(each) for _ in argument.paths]) for argument in arguments]
    if rows:
        read_all = [versions.onto_benchmarks(records, names_given(rows)) for records in read_all]
    if match == "position":
        read_all = versions.by_position(arguments, read_all)
    labelled: list[tuple[str, Record | Skipped]] = []
    commands = False
    for argument, label, records in zip(arguments, versions.labels_of(arguments), read_all, strict=True):
        if by:
            labelled += versions.onto_versions(label, records, names_given(by))
        elif several:
            labelled += versions.versions_of_several(label, records)
        else:
            name, path = argument.name or label, argument.paths[0]
            labelled, commands = versions.versions_of_one(name, path, records, reference)
    if more := names_given(higher_is_better):
        all_there(more, (record.metric for _, record in labelled if isinstance(record, Record)))
        labelled = [(of, turned(item, more) if isinstance(item, Record) else item) for of, item in labelled]
    suite = Suite.from_records(labelled, commands=commands)
    _all_usable(suite, labelled)
    chosen = suite.select(only, skip, metric)
    if first is None:
        return chosen
    samples, others = (
        {place: s.first(first) for place, s in of.items()} for of in (chosen.samples, chosen.not_chosen)
    )
    return replace(chosen, samples=samples, not_chosen=others)


def _one_is_csv(paths: Sequence[str]) -> None:
    """Refuse what says how to read CSV where it cannot matter: all are files, and none is CSV."""
    if all(Path(path).is_file() and detect(path).name != "csv" for path in paths):
        both = Parameter("columns", None, "column"), " and ", Parameter("wide")
        raise UsageError(*both, " say how to read CSV, and no file named is CSV; leave them out")


def all_there(metrics: Sequence[str], present: Iterable[str]) -> None:
    """Refuse metrics, of which more is said to be better, that were not measured."""
    known = list(dict.fromkeys(present))
    for metric in metrics:
        if metric not in known:
            asked = Parameter("higher_is_better", metric)
            raise UsageError(asked, f": there is no such metric; {nearest_of(metric, known)}")


def turned(record: Record, metrics: Sequence[str]) -> Record:
    """The same, more of some metrics being better."""
    return replace(record, direction=Direction.HIGHER) if record.metric in metrics else record


def names_given(given: str | Sequence[str]) -> list[str]:
    """Names, one by one or joined by commas."""
    return given.split(",") if isinstance(given, str) else list(given)


def _records(path: str, format: str | None, options: ReadOptions) -> list[Record | Skipped]:
    records = list(read_records(path, format=format, options=options))
    if not any(isinstance(r, Record) for r in records):
        reasons = "".join(
            f"\n  {line}" for line in why_left_out(r for r in records if isinstance(r, Skipped))
        )
        raise UsageError(
            f"{path}: no measured values{' where ' + options.where if options.where else reasons}"
        )
    return records


def _all_usable(suite: Suite, labelled: Sequence[tuple[str, Record | Skipped]]) -> None:
    """Refuse a version of which values were read, but none can be used."""
    usable = {version for _, version in suite.samples}
    for version in dict.fromkeys(label for label, record in labelled if isinstance(record, Record)):
        if version not in usable:
            reasons = "".join(f"\n  {line}" for line in why_left_out(suite.skipped))
            raise UsageError(f"no measurement of {version} can be used:{reasons}")
