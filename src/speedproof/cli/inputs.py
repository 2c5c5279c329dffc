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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from speedproof.cli.console import Console
from speedproof.data.conditions import different_conditions
from speedproof.data.suite import Record, Skipped, Suite
from speedproof.errors import UsageError
from speedproof.formats import FORMATS, ReadOptions, detect, read

__all__ = [
    "add_choice_arguments",
    "add_input_arguments",
    "add_selection_arguments",
    "commands_are_versions",
    "load",
    "order_versions",
    "report_leftovers",
    "select",
    "wanted",
]

_EXPERIMENT = "session"
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
    """Read all files of a command into one suite.

    Parameters
    ----------
    paths : sequence of str
        As the user gave them.
    args : argparse.Namespace
        With the options of :func:`add_input_arguments`, and ``reference`` where the command has it.

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
    options = read_options(args)
    by: str | None = getattr(args, "by", None)
    named = [_name_and_path(path) for path in paths]
    read_all: list[list[Record | Skipped]] = []
    for _, path in named:
        records = list(read(path, format=args.format, options=options))
        if not any(isinstance(r, Record) for r in records):
            raise _nothing_in(path, records)
        read_all.append(records)
    if len(named) > 1:
        read_all = _one_thing(read_all, [path for _, path in named], args.format)
    labelled: list[tuple[str, Record | Skipped]] = []
    for (name, path), label, records in zip(named, _labels(named), read_all, strict=True):
        if by is not None:
            labelled += _versions_by_field(label, records, by)
        elif len(named) > 1:
            labelled += _versions_of_several(label, records)
        else:
            labelled += _versions_of_one(name or label, path, records, getattr(args, "reference", None))
    suite = Suite.from_records(labelled if by == _EXPERIMENT else _experiments_apart(labelled))
    usable = {version for _, version in suite.samples}
    for version in dict.fromkeys(label for label, record in labelled if isinstance(record, Record)):
        if version not in usable:
            reasons = "".join(f"\n  {s}" for s in suite.skipped if not s.expected)
            raise UsageError(f"no measurement of {version} can be used:{reasons}")
    return suite


def _one_thing(
    read_all: Sequence[list[Record | Skipped]], paths: Sequence[str], format: str | None
) -> list[list[Record | Skipped]]:
    """Give one name to what has none or is only called differently.

    Raw text is named after its file, and a hyperfine command by its path and arguments: where every file
    holds one of these, they are the versions of one thing. Names that a tool gave to benchmarks are believed.
    """
    names = [
        list(dict.fromkeys(r.benchmark for r in records if isinstance(r, Record))) for records in read_all
    ]
    if any(len(n) != 1 for n in names) or len({n[0] for n in names}) == 1:
        return list(read_all)
    kinds = {format or (detect(path).name if Path(path).is_file() else "") for path in paths}
    if not kinds <= {"raw", "hyperfine"}:
        return list(read_all)
    common = names[0][0] if kinds == {"hyperfine"} else "values"
    note = (
        (f"the commands {', '.join(repr(n[0]) for n in names)} were compared",)
        if "hyperfine" in kinds
        else ()
    )
    return [
        [
            replace(r, benchmark=common, notes=(*r.notes, *note)) if isinstance(r, Record) else r
            for r in records
        ]
        for records in read_all
    ]


def _nothing_in(path: str, records: Sequence[Record | Skipped]) -> UsageError:
    reasons = "".join(f"\n  {r}" for r in records if isinstance(r, Skipped) and not r.expected)
    return UsageError(f"{path}: no measured values{reasons}")


def _versions_by_field(
    label: str, records: Sequence[Record | Skipped], by: str
) -> list[tuple[str, Record | Skipped]]:
    """Versions told apart by a field of the files: a configuration line, a parameter, a CSV column."""
    fields = [dict(r.fields) for r in records if isinstance(r, Record)]
    if not any(by in f for f in fields):
        known = dict.fromkeys(name for f in fields for name in f)
        raise UsageError(f"--by {by}: the fields of these results are {_enumerate(known) or 'none'}")
    labelled = [(dict(r.fields).get(by, label) if isinstance(r, Record) else label, r) for r in records]
    own: dict[tuple[str, str], dict[str, None]] = {}
    for name, r in labelled:
        if isinstance(r, Record) and r.version is not None:
            own.setdefault((name, r.benchmark), {}).setdefault(r.version)
    if all(len(versions) < 2 for versions in own.values()):
        return labelled
    # Versions that the files name themselves, and that the field does not tell apart, must not be pooled.
    return [
        (
            name,
            replace(r, benchmark=f"{r.benchmark}, {r.version}") if isinstance(r, Record) and r.version else r,
        )
        for name, r in labelled
    ]


def _experiments_apart(
    labelled: Sequence[tuple[str, Record | Skipped]],
) -> list[tuple[str, Record | Skipped]]:
    """Benchmarks that were measured in several experiments of the runner, each as a benchmark of its own.

    What two days or machines share is not the benchmark's: pooled, their values would not be independent.
    """
    experiments: dict[tuple[str, str], dict[str, None]] = {}
    for version, record in labelled:
        if isinstance(record, Record) and (experiment := dict(record.fields).get(_EXPERIMENT)):
            experiments.setdefault((version, record.benchmark), {}).setdefault(experiment)
    several = {benchmark for (_, benchmark), names in experiments.items() if len(names) > 1}
    return [
        (
            version,
            replace(record, benchmark=f"{record.benchmark}, session {experiment}")
            if isinstance(record, Record)
            and record.benchmark in several
            and (experiment := dict(record.fields).get(_EXPERIMENT))
            else record,
        )
        for version, record in labelled
    ]


def select(suite: Suite, args: argparse.Namespace, console: Console) -> Suite:
    """Keep the benchmarks and the metric asked for; say which other metrics there are.

    Raises
    ------
    UsageError
        Patterns or a metric that match nothing.
    """
    if commands_are_versions(suite, args):  # what the file names is what the patterns choose from
        named = tuple(v for v in suite.versions if wanted(v, args.only, args.skip))
        what, names = "command", _enumerate(suite.versions)
        suite = replace(
            suite, versions=named, samples={k: s for k, s in suite.samples.items() if k[1] in named}
        )
        keys = list(suite.keys)
    else:
        keys = [k for k in suite.keys if wanted(k.benchmark, args.only, args.skip)]
        what, names = "benchmark", _enumerate(dict.fromkeys(k.benchmark for k in suite.keys))
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
        raise UsageError(f"--reference {reference}: the versions are {_enumerate(suite.versions)}")
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
        console.remark(f"note: {_enumerate(where, 3)}: {note}")


def _name_and_path(argument: str) -> tuple[str, str]:
    name, equals, path = argument.partition("=")
    if equals and name and path and not Path(argument).exists():
        return name, path
    return "", argument


def _stem(path: str) -> str:
    if path == "-":
        return "stdin"
    pure = PurePath(path)
    name = pure.name or str(Path(path).resolve().name)
    if Path(path).is_dir():
        return name
    for _ in range(2):  # .json.gz
        pure = PurePath(name)
        if pure.suffix.lower() in (
            ".gz",
            ".json",
            ".txt",
            ".csv",
            ".tsv",
            ".bench",
            ".log",
            ".dat",
            ".jsonl",
        ):
            name = pure.stem
    return name


def _labels(named: Sequence[tuple[str, str]]) -> list[str]:
    """Names of versions: stems of paths, with as many parent folders as tell them apart."""
    labels = [name or _stem(path) for name, path in named]
    parents = [PurePath(path).parts[:-1] for _, path in named]
    depth = 0
    different = len(set(named))
    while len(set(labels)) < different and any(len(p) > depth for p in parents):
        depth += 1
        labels = [
            name or "/".join((*(part for part in p[-depth:] if part not in (".", "/")), _stem(path)))
            for (name, path), p in zip(named, parents, strict=True)
        ]
    seen: dict[str, int] = {}
    for i, label in enumerate(labels):  # the same file twice: an A/A comparison of one's own
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            labels[i] = f"{label} ({seen[label]})"
    return labels


def _versions_of_several(
    label: str, records: Sequence[Record | Skipped]
) -> Iterator[tuple[str, Record | Skipped]]:
    own = dict.fromkeys(r.version for r in records if isinstance(r, Record) and r.version is not None)
    for record in records:
        version = record.version if isinstance(record, Record) else None
        yield (f"{label}:{version}" if version is not None and len(own) > 1 else label), record


def _versions_of_one(
    label: str, path: str, records: Sequence[Record | Skipped], reference: str | None
) -> list[tuple[str, Record | Skipped]]:
    found = [r for r in records if isinstance(r, Record)]
    if any(r.version is not None for r in found):
        return [(r.version or label if isinstance(r, Record) else label, r) for r in records]
    files = list(dict.fromkeys(r.path for r in found))
    if Path(path).is_dir() and len(files) > 1:
        names = dict(zip(files, _labels([("", f) for f in files]), strict=True))
        return [(names.get(r.path, label), r) for r in records]
    benchmarks = {r.benchmark for r in found}
    if len(benchmarks) > 1 and (reference in benchmarks or _holds_commands(path)):
        return [
            (r.benchmark, replace(r, benchmark=label)) if isinstance(r, Record) else (label, r)
            for r in records
        ]
    return [(label, r) for r in records]


def _holds_commands(path: str) -> bool:
    """Whether a file's benchmarks are commands that were measured to be compared with each other."""
    return Path(path).is_file() and detect(path).name == "hyperfine"


def commands_are_versions(suite: Suite, args: argparse.Namespace) -> bool:
    """Whether the versions of a suite are the commands of one file, taken as versions of one thing."""
    files: list[str] = getattr(args, "files", [])
    if len(files) != 1 or getattr(args, "by", None) is not None or len(suite.versions) < 2:
        return False
    if args.format not in (None, "hyperfine"):
        return False
    return _holds_commands(_name_and_path(files[0])[1])


def wanted(benchmark: str, only: Sequence[str], skip: Sequence[str]) -> bool:
    """Whether the patterns of ``--only`` and ``--skip`` let a benchmark through."""

    def matches(pattern: str) -> bool:
        return fnmatch.fnmatchcase(benchmark, pattern) or benchmark == pattern

    return (not only or any(map(matches, only))) and not any(map(matches, skip))


def _enumerate(names: Iterable[str], limit: int = 8) -> str:
    names = list(names)
    shown = ", ".join(names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
