"""The pages of commands are current, and every command and option has help."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from speedproof.cli.command import ClickArgument, ClickOption
from speedproof.cli.main import COMMANDS, command, every_command, main

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
def test_every_command_has_examples(name: str) -> None:
    assert "examples:" in (command(name).epilog or "")


@pytest.mark.parametrize("name", every_command())
def test_nothing_lacks_help(name: str) -> None:
    """Every command and action has a description, every option and argument a help text."""
    found = every_command()[name]
    assert found.help
    for parameter in found.params:
        assert isinstance(parameter, ClickOption | ClickArgument)
        assert parameter.help if isinstance(parameter, ClickOption) else parameter.explained, parameter.name


@pytest.mark.parametrize("name", [*COMMANDS, *every_command()])
def test_help_fits_a_terminal(name: str) -> None:
    """No line is longer than 80 columns, the examples not either."""
    found = command(name)
    context = click.Context(
        found, info_name=name, parent=click.Context(click.Group("speedproof"), info_name="speedproof")
    )
    assert [line for line in found.get_help(context).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    "name", ["compare", "model", "rank", "hpt", "plot", "show", "suite", "report", "corpus info"]
)
def test_a_command_without_its_files_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The argument is named before any option that lacks, too."""
    assert main(name.split()) == 2
    assert "missing argument '" in capsys.readouterr().err


def test_help_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    """Bare, --help and 'help' print the same, on standard output, within 80 columns."""
    shown = []
    for arguments in ([], ["--help"], ["help"]):
        assert main(arguments) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] == shown[2]
    assert max(map(len, shown[0].splitlines())) <= 80
    assert main(["help", "gate"]) == main(["gate", "--help"]) == 0
    first, second = capsys.readouterr().out.split("Usage:")[1:]
    assert first == second


@pytest.mark.parametrize("name", every_command())
def test_a_short_help_has_what_is_marked_and_the_whole_one_everything(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a command with more than 40 options and arguments; others have one help."""
    options = [p for p in every_command()[name].params if isinstance(p, ClickOption)]
    assert main([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out.partition("\nexamples:")[0]
    many = any(p.name == "help_all" for p in options)
    assert many == (len(every_command()[name].params) > 41)
    for p in options:
        listed = re.search(rf"(?:^  |, )(?:{'|'.join(p.opts)})(?: |,|$)", shown, re.MULTILINE)
        assert (listed is not None) == (p.first or not many), p.long
    if many:
        assert 8 <= sum(p.first for p in options) <= 20
        assert main([*name.split(), "--help-all"]) == 0
        whole = capsys.readouterr().out
        assert [p.long for p in options if p.long not in whole] == []
