"""From options to a suite, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence

from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.data.remarks import remarks
from speedproof.data.suite import Suite
from speedproof.errors import UsageError
from speedproof.formats import ROLES, read_suite

__all__ = [
    "load",
    "report_leftovers",
    "select",
]


def load(paths: Sequence[str], args: Args) -> Suite:
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


def select(suite: Suite, args: Args, console: Console) -> Suite:
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
