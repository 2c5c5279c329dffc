"""``speedproof cache``: the builds that ``run --revisions`` keeps."""

from datetime import datetime
from typing import Annotated

from speedproof.cli.asked import CommandOptions
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.declaring import Excludes
from speedproof.reporting.model import Cell, Column, Report, Table, Text
from speedproof.reporting.numbers import plural

_SIZE = 1e6


def _megabytes(text: str) -> float:
    """A size: finite and not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"{text!r} is no size in MB")
    return value


class CacheOptions(CommandOptions, frozen=True, kw_only=True):
    """List the builds that 'speedproof run --revisions' and 'speedproof bisect' keep, or remove them.

    The longest unused comes first. Builds in use by a session stay.

        speedproof cache
        speedproof cache --limit 500
        speedproof cache --clear
    """

    limit: Annotated[float | None, "MB", "remove the longest unused until it is no larger", _megabytes] = None
    clear: Annotated[bool, "remove all", Excludes("limit")] = False


def run(asked: CacheOptions, console: Console) -> int:
    """Carry the command out."""
    from speedproof.api.run_plan import BuildCache

    cache = BuildCache()
    if asked.clear or asked.limit is not None:
        gone = cache.trim(0 if asked.clear or asked.limit is None else int(asked.limit * _SIZE))
        freed = sum(build.size for build in gone) / _SIZE
        console.write(Report("", (Text(f"{plural(len(gone), 'build')} removed, {freed:.1f} MB"),)))
        return 0
    builds = cache.builds()
    if not builds:
        console.write(Report("", (Text("No build is kept. 'speedproof run --revisions' makes some."),)))
        return 0
    rows = (
        (
            Cell(build.name),
            Cell(f"{build.size / _SIZE:.1f} MB"),
            Cell(f"{datetime.fromtimestamp(build.used):%Y-%m-%d %H:%M}"),
            Cell(str(build.folder)),
        )
        for build in builds
    )
    columns = (
        Column("revision", names=True),
        Column("size", right=True),
        Column("last used"),
        Column("folder"),
    )
    total = sum(build.size for build in builds) / _SIZE
    count = Text(f"{plural(len(builds), 'build')}, {total:.1f} MB")
    console.write(Report("", (count,), (Table.of(columns, rows),)))
    return 0


COMMAND = Command(CacheOptions, run)
