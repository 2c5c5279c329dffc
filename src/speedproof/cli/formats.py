"""``speedproof formats``: the kinds of files that are read."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from speedproof.cli.console import Console
from speedproof.formats import FORMATS
from speedproof.report.blocks import Cell, Column, Table, Text

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

__all__ = ["register", "run"]


def register(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "formats",
        help="list the result files that are read",
        description="List the result files that are read. A file's format is found by its content; "
        "--format NAME overrides that.",
        epilog="examples:\n  speedproof formats\n  speedproof show results.txt --format raw --unit ms",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry the command out."""
    rows = tuple((Cell(f.name, "strong"), Cell(f.title), Cell(f.description)) for f in FORMATS)
    console.show([Table((Column("--format"), Column("tool"), Column("what is read")), rows), Text("")])
    console.show([Text("Each may be compressed with gzip; - reads standard input.")])
    return 0
