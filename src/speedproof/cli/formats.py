"""``speedproof formats``: the kinds of files that are read."""

import speedproof as sp
from speedproof.cli.asked import CommandOptions
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.reporting.model import Cell, Column, Report, Table, Text


class FormatsOptions(CommandOptions, frozen=True, kw_only=True):
    """List the result files that are read.

    A file's format is found by its content; --format NAME overrides that.

        speedproof formats
        speedproof show results.txt --format raw --unit ms
    """


def run(asked: FormatsOptions, console: Console) -> int:
    """Carry the command out."""
    rows = ((Cell(f.name, "strong"), Cell(f.title), Cell(f.description)) for f in sp.formats.FORMATS)
    columns = (Column("--format"), Column("tool"), Column("what is read"))
    note = Text("Each may be compressed with gzip; - reads standard input.")
    console.write(Report("", (), (Table.of(columns, rows),), (note,)))
    return 0


COMMAND = Command(FormatsOptions, run)
