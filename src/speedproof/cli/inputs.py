"""The options that say which files are read and how, and what is said of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from speedproof.cli.console import Console
from speedproof.data.remarks import remarks
from speedproof.data.suite import Suite
from speedproof.errors import UsageError
from speedproof.formats import FORMATS, ROLES, read_suite

__all__ = [
    "add_choice_arguments",
    "add_input_arguments",
    "add_selection_arguments",
    "load",
    "report_leftovers",
    "select",
]


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
        help=f"the column of a CSV file that plays a role ({', '.join(ROLES)}); may be repeated",
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


def load(paths: Sequence[str], args: argparse.Namespace) -> Suite:
    """Read all files of a command into one suite.

    Raises
    ------
    FormatError, UsageError
        As :func:`~speedproof.formats.read_suite`; a ``--column`` that is not ROLE=NAME with a known role.
    """
    columns: dict[str, str] = {}
    for item in args.column:
        role, equals, name = item.partition("=")
        if not equals or role not in ROLES:
            raise UsageError(f"--column {item}: say ROLE=NAME, where ROLE is one of {', '.join(ROLES)}")
        columns[role] = name
    return read_suite(
        *paths,
        format=args.format,
        unit=args.unit,
        columns=columns,
        wide=args.wide,
        by=getattr(args, "by", None),
        reference=getattr(args, "reference", None),
    )


def select(suite: Suite, args: argparse.Namespace, console: Console) -> Suite:
    """Keep the benchmarks and the metric asked for; say which other metrics there are."""
    chosen = suite.select(args.only, args.skip, "all")
    if args.metric is None and (others := [m for m in chosen.metrics if m != chosen.main_metric]):
        console.remark(
            f"compared is {chosen.main_metric}; also measured: {', '.join(others)} "
            "(--metric NAME or --metric all)"
        )
    return chosen.select(metric=args.metric)


def report_leftovers(suite: Suite, console: Console) -> None:
    """Write what is to be known of a suite."""
    for line in remarks(suite):
        console.remark(line)
