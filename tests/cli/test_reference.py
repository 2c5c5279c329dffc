"""The pages of commands are current, and every command and option has help."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from speedproof.cli.command import Argument, Option
from speedproof.cli.main import COMMANDS, command

DOCS = Path(__file__).parents[2] / "docs"


def test_the_pages_of_commands_are_current() -> None:
    """docs/cli.md and the man page are what docs/cli_reference.py writes now."""
    for path, write in runpy.run_path(str(DOCS / "cli_reference.py"))["PAGES"].items():
        assert path.read_text(encoding="utf-8") == write(), "run python docs/cli_reference.py"


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="needs mandoc")
def test_the_man_page_is_one() -> None:
    """Mandoc finds no error in it."""
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", DOCS / "speedproof.1"], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_lacks_help(name: str) -> None:
    """Every command has a description and examples, every option and argument a help text."""
    found = command(name)
    assert found.help
    assert "examples:" in (found.epilog or "")
    for parameter in found.params:
        assert isinstance(parameter, Option | Argument)
        assert parameter.help if isinstance(parameter, Option) else parameter.explained, parameter.name


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_terminal(name: str) -> None:
    """No line is longer than 80 columns, but for the examples, which are as they are typed."""
    found = command(name)
    context = click.Context(
        found, info_name=name, parent=click.Context(click.Group("speedproof"), info_name="speedproof")
    )
    shown = found.get_help(context).partition("examples:")[0]
    assert max(map(len, shown.splitlines())) <= 80
