"""From options to a suite, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import speedproof as sp
from speedproof.api.given import version_given
from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.errors import UsageError
from speedproof.reporting.names import enumerate_names


def load(paths: Sequence[str], args: Args) -> sp.Suite:
    """Read all files of a command into one suite."""
    how, asked = vars(args), ("by", "rows", "match", "reference", "higher_is_better")
    chosen = {name: how[name] for name in asked if how.get(name)}
    suite = sp.read(
        *paths, columns=columns_of(args), **args.take("format", "unit", "wide", "where", "first"), **chosen
    )
    if "reference" in chosen and len(suite.versions) > 1:
        args.reference = version_given(args.reference, suite.versions)
    return suite


def columns_of(args: Args) -> dict[str, str]:
    """What ``--column`` and its kin say: from roles to columns."""
    columns: dict[str, str] = {}
    for item in args.column:
        role, equals, name = item.partition("=")
        if not equals or role not in sp.formats.ROLES:
            raise UsageError(
                f"--column {item}: say ROLE=NAME, where ROLE is one of {', '.join(sp.formats.ROLES)}"
            )
        columns[role] = name
    chosen = {"benchmark": args.benchmark_columns, "version": args.version_column}
    return columns | {role: name for role, name in chosen.items() if name}


def select(suite: sp.Suite, args: Args, console: Console) -> sp.Suite:
    """Keep the benchmarks and the metric asked for; say which other metrics there are."""
    chosen = suite.select(args.only, args.skip, "all")
    if args.metric is None and (others := [m for m in chosen.metrics if m != chosen.main_metric]):
        console.remark(
            f"{chosen.main_metric} is compared; others with --metric: {enumerate_names(others, 2)}, or all"
        )
    return chosen.select(metric=args.metric)


def report_leftovers(suite: sp.Suite, console: Console) -> None:
    """Write what is to be known of a suite."""
    for line in sp.remarks(suite):
        console.remark(line)


def report_no_floor(store: str | None, keys: Iterable[Any], console: Console, *, counted: bool) -> None:
    """Say that a store knows nothing of these benchmarks' sessions, unless it was counted in."""
    floor = None if store is None or counted else sp.History(store).floor()
    if floor is not None and all(floor.of(key) is None for key in keys):
        console.remark(
            f"note: {store} has no commit with two sessions of these benchmarks: sessions are not counted in"
        )
