"""``speedproof formats``: the kinds of files that are read."""

from __future__ import annotations

import speedproof as sp
from speedproof.cli.command import Args, Command
from speedproof.cli.console import Console
from speedproof.reporting.model import Cell, Column, Report, Table, Text

COMMAND = Command(
    (
        "List the result files that are read. A file's format is found by its content; "
        "--format NAME overrides that."
    ),
    ("  speedproof formats\n  speedproof show results.txt --format raw --unit ms"),
    [],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    rows = ((Cell(f.name, "strong"), Cell(f.title), Cell(f.description)) for f in sp.formats.FORMATS)
    columns = (Column("--format"), Column("tool"), Column("what is read"))
    note = Text("Each may be compressed with gzip; - reads standard input.")
    console.write(Report("", (), (Table.of(columns, rows),), (note,)))
    return 0
