"""The page of commands is current, and every command and option has help."""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path

from speedproof.cli.main import COMMANDS, build_parser

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_commands_is_current() -> None:
    """docs/cli.md is what docs/cli_reference.py writes now."""
    page = runpy.run_path(str(DOCS / "cli_reference.py"))["page"]
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == page(), "run python docs/cli_reference.py"


def test_nothing_lacks_help() -> None:
    """Every command has a description and examples, every option and argument a help text."""
    (commands,) = (a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert tuple(commands.choices) == COMMANDS
    for name, parser in commands.choices.items():
        assert parser.description, name
        assert parser.epilog, name
        assert "examples:" in parser.epilog, name
        for action in parser._actions:
            assert action.help, f"{name} {action.dest}"
