"""From the files that a user names to a suite of versions.

What a path stands for:

* two paths or more: each is a version; a folder is all its result files together;
* one folder: each result file in it is a version, unless the files name versions themselves;
* one file: the versions that it names itself (a CSV column, criterion's base and new). If it names none, its
  benchmarks are the versions of one thing: that is how hyperfine compares commands.

``NAME=PATH`` gives a version a name of one's own.
"""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Sequence
from dataclasses import replace

from speedproof.cli.console import Console
from speedproof.cli.versions import (
    EXPERIMENT,
    enumerate_names,
    experiments_apart,
    holds_commands,
    labels_of,
    name_and_path,
    one_thing,
    versions_by_field,
    versions_of_one,
    versions_of_several,
)
from speedproof.data.conditions import different_conditions
from speedproof.data.suite import Record, Skipped, Suite
from speedproof.errors import UsageError
from speedproof.formats import FORMATS, ReadOptions, read

__all__ = [
    "add_choice_arguments",
    "add_input_arguments",
    "add_selection_arguments",
    "commands_are_versions",
    "load",
    "load_files",
    "order_versions",
    "report_leftovers",
    "select",
    "wanted",
]

DEFAULT_OPTIONS = ReadOptions()
_COLUMNS = ("benchmark", "version", "value", "unit", "process", "metric", "run")


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say how files are read."""
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--format",
        choices=[f.name for f in FORMATS],
        metavar="NAME",
        help="read every file as this format instead of detecting it (see 'speedproof formats')",
    )
    group.add_argument("--unit", metavar="UNIT", help="unit of numbers whose file names none, for example ms")
    group.add_argument(
        "--wide",
        choices=["version", "benchmark"],
        default="version",
        help="what the columns of a wide CSV file are",
    )
    group.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="ROLE=NAME",
        help=f"the column of a CSV file that plays a role ({', '.join(_COLUMNS)}); may be repeated",
    )


def add_selection_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that choose benchmarks, metrics and the reference."""
    group = parser.add_argument_group("choosing")
    group.add_argument(
        "--reference", metavar="VERSION", help="the version to compare against (default: the first)"
    )
    group.add_argument("--by", metavar="FIELD", help="tell versions apart by a field that the files record")
    add_choice_arguments(group)


def add_choice_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options that choose benchmarks and metrics."""
    group.add_argument("--metric", metavar="NAME", help="the metric to compare, or 'all' (default: time)")
    group.add_argument("--only", action="append", default=[], metavar="PATTERN", help="benchmarks to compare")
    group.add_argument(
        "--skip", action="append", default=[], metavar="PATTERN", help="benchmarks to leave out"
    )


def read_options(args: argparse.Namespace) -> ReadOptions:
    """The reading options of parsed arguments.

    Raises
    ------
    UsageError
        A ``--column`` that is not ROLE=NAME with a known role.
    """
    columns: dict[str, str] = {}
    for item in args.column:
        role, equals, name = item.partition("=")
        if not equals or role not in _COLUMNS:
            raise UsageError(f"--column {item}: say ROLE=NAME, where ROLE is one of {', '.join(_COLUMNS)}")
        columns[role] = name
    return ReadOptions(unit=args.unit, columns=columns, wide=args.wide)


def load(paths: Sequence[str], args: argparse.Namespace) -> Suite:
    """Read all files of a command into one suite, with the options of :func:`add_input_arguments`."""
    return load_files(
        paths,
        format=args.format,
        options=read_options(args),
        by=getattr(args, "by", None),
        reference=getattr(args, "reference", None),
    )


def load_files(
    paths: Sequence[str],
    *,
    format: str | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
    by: str | None = None,
    reference: str | None = None,
) -> Suite:
    """Read files into one suite of at least one version.

    Parameters
    ----------
    paths : sequence of str
        As the user gave them.
    format : str, optional
        Of every file.
    options : ReadOptions
        For raw text and CSV.
    by, reference : str, optional
        A field that tells versions apart; one of the benchmarks of a single file.

    Returns
    -------
    Suite
        At least one version.

    Raises
    ------
    FormatError
        A file that cannot be read at all.
    UsageError
        No benchmark in any file, or one file whose versions cannot be told.
    """
    named = [name_and_path(path) for path in paths]
    read_all: list[list[Record | Skipped]] = []
    for _, path in named:
        records = list(read(path, format=format, options=options))
        if not any(isinstance(r, Record) for r in records):
            raise _nothing_in(path, records)
        read_all.append(records)
    if len(named) > 1:
        read_all = one_thing(read_all, [path for _, path in named], format)
    labelled: list[tuple[str, Record | Skipped]] = []
    for (name, path), label, records in zip(named, labels_of(named), read_all, strict=True):
        if by is not None:
            labelled += versions_by_field(label, records, by)
        elif len(named) > 1:
            labelled += versions_of_several(label, records)
        else:
            labelled += versions_of_one(name or label, path, records, reference)
    suite = Suite.from_records(labelled if by == EXPERIMENT else experiments_apart(labelled))
    usable = {version for _, version in suite.samples}
    for version in dict.fromkeys(label for label, record in labelled if isinstance(record, Record)):
        if version not in usable:
            reasons = "".join(f"\n  {s}" for s in suite.skipped if not s.expected)
            raise UsageError(f"no measurement of {version} can be used:{reasons}")
    return suite


def _nothing_in(path: str, records: Sequence[Record | Skipped]) -> UsageError:
    reasons = "".join(f"\n  {r}" for r in records if isinstance(r, Skipped) and not r.expected)
    return UsageError(f"{path}: no measured values{reasons}")


def select(suite: Suite, args: argparse.Namespace, console: Console) -> Suite:
    """Keep the benchmarks and the metric asked for; say which other metrics there are.

    Raises
    ------
    UsageError
        Patterns or a metric that match nothing.
    """
    if commands_are_versions(suite, args):  # what the file names is what the patterns choose from
        named = tuple(v for v in suite.versions if wanted(v, args.only, args.skip))
        what, names = "command", enumerate_names(suite.versions)
        suite = replace(
            suite, versions=named, samples={k: s for k, s in suite.samples.items() if k[1] in named}
        )
        keys = list(suite.keys)
    else:
        keys = [k for k in suite.keys if wanted(k.benchmark, args.only, args.skip)]
        what, names = "benchmark", enumerate_names(dict.fromkeys(k.benchmark for k in suite.keys))
    if not keys:
        raise UsageError(f"no {what} matches (patterns take * and ?); there are {names}")
    metrics = list(dict.fromkeys(k.metric for k in keys))
    if args.metric is None:
        chosen = ["time"] if "time" in metrics else metrics[:1]
        if others := [m for m in metrics if m not in chosen]:
            console.remark(
                f"compared is {chosen[0]}; also measured: {', '.join(others)} (--metric NAME or --metric all)"
            )
    elif args.metric == "all":
        chosen = metrics
    elif args.metric in metrics:
        chosen = [args.metric]
    else:
        raise UsageError(f"--metric {args.metric}: there are {', '.join(metrics)}")
    kept = {k for k in keys if k.metric in chosen}
    return replace(suite, samples={(k, v): s for (k, v), s in suite.samples.items() if k in kept})


def order_versions(suite: Suite, reference: str | None) -> tuple[str, tuple[str, ...]]:
    """The reference and the candidates.

    Raises
    ------
    UsageError
        An unknown reference, or one version only.
    """
    if reference is not None and reference not in suite.versions:
        raise UsageError(f"--reference {reference}: the versions are {enumerate_names(suite.versions)}")
    if len(suite.versions) < 2:
        raise UsageError(
            f"there is one version only ({suite.versions[0]}); name the file of a second one, "
            "or name one of the benchmarks of this file with --reference to compare them with each other"
        )
    first = suite.versions[0] if reference is None else reference
    return first, tuple(v for v in suite.versions if v != first)


def report_leftovers(suite: Suite, console: Console) -> None:
    """Write what was left out or pooled, where conditions differed, and what readers remarked of which samples."""
    for skipped in suite.skipped:
        if not skipped.expected:
            console.remark(f"left out: {skipped}")
    for residue in suite.residue:
        console.remark(f"note: {residue}")
    if differences := different_conditions(suite):
        what = ", ".join(map(str, differences))
        console.remark(
            f"note: the versions were measured under different conditions, which count as speedup: {what}"
        )
    samples: dict[str, dict[str, None]] = {}
    for (key, version), sample in suite.samples.items():
        for note in sample.notes:
            samples.setdefault(note, {}).setdefault(
                f"{version}, {key.benchmark}" if version else key.benchmark
            )
    for note, where in samples.items():
        console.remark(f"note: {enumerate_names(where, 3)}: {note}")


def commands_are_versions(suite: Suite, args: argparse.Namespace) -> bool:
    """Whether the versions of a suite are the commands of one file, taken as versions of one thing."""
    files: list[str] = getattr(args, "files", [])
    if len(files) != 1 or getattr(args, "by", None) is not None or len(suite.versions) < 2:
        return False
    if args.format not in (None, "hyperfine"):
        return False
    return holds_commands(name_and_path(files[0])[1])


def wanted(benchmark: str, only: Sequence[str], skip: Sequence[str]) -> bool:
    """Whether the patterns of ``--only`` and ``--skip`` let a benchmark through."""

    def matches(pattern: str) -> bool:
        return fnmatch.fnmatchcase(benchmark, pattern) or benchmark == pattern

    return (not only or any(map(matches, only))) and not any(map(matches, skip))
