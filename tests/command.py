"""The command line, called in the process of the tests."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from speedproof.cli.command import Group
from speedproof.cli.console import Console
from speedproof.cli.main import PROGRAM, command, main


def speedproof(*argv: str | Path) -> tuple[int, str, str]:
    """Exit code, output and remarks of a command."""
    out, err = io.StringIO(), io.StringIO()
    code = main([*map(str, argv)], Console(out, err))
    return code, out.getvalue(), err.getvalue()


def parse(argv: Sequence[str]) -> Any:
    """What the function of a command is given for these words; raises click.UsageError."""
    asked, words = command(argv[0]), list(argv[1:])
    parent = click.Context(PROGRAM, info_name="speedproof")
    if isinstance(asked, Group):
        parent = click.Context(asked, parent, info_name=argv[0])
        asked, words = asked.actions[words[0]], words[1:]
    return asked.asked_of(asked.make_context(asked.name, words, parent=parent))
