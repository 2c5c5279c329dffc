"""Write docs/cli.md and the man page from the commands: the command line documents itself.

Run ``python docs/cli_reference.py`` after a change of options; a test fails while a page is out of date.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from speedproof import __version__
from speedproof.cli.command import Command
from speedproof.cli.main import COMMANDS, PROGRAM, command, every_command

HERE = Path(__file__).parent
CONTEXT = click.Context(PROGRAM, info_name="speedproof")


def groups(found: Command[Any]) -> dict[str, list[tuple[str, str]]]:
    """Arguments and options by the title of their group: how each is written and what it does."""
    titled: dict[str, list[tuple[str, str]]] = {}
    for p in found.params:
        record = p.get_help_record(CONTEXT)
        if record is not None and p.name not in ("help", "help_all", "color"):
            titled.setdefault(getattr(p, "group", "arguments"), []).append(record)
    return titled


def _help(found: Command[Any]) -> str:
    """What a command is for, in lines that an editor shows whole."""
    lines = (found.help or "").split("\n")
    return "\n".join(fill(line, 150, break_long_words=False, break_on_hyphens=False) for line in lines)


def page() -> str:
    """The page of the manual."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "Written by `docs/cli_reference.py` from the program itself. Every command has `--help` and `--color`."
    for name in COMMANDS:
        found = command(name)
        yield from ("", f"## speedproof {name}", "", _help(found))
        for own, action in every_command().items():
            if own.partition(" ")[0] == name:
                yield from _tables(own, action)
        yield from ("", "```text", found.epilog or "", "```")


def _tables(name: str, found: Command[Any]) -> Iterator[str]:
    if " " in name:
        yield from ("", f"### speedproof {name}", "", _help(found))
    for title, records in groups(found).items():
        yield from ("", f"**{title[:1].upper()}{title[1:]}**", "", "| | |", "|---|---|")
        for usage, text in records:
            yield f"| `{_cell(usage)}` | {_cell(text)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def manual() -> str:
    """The man page, in the language of man(7)."""
    return "\n".join(_roff()) + "\n"


def _roff() -> Iterator[str]:
    yield f'.TH SPEEDPROOF 1 "" "speedproof {__version__}" "User Commands"'
    yield from (".SH NAME", "speedproof \\- prove speedups, with a stated risk")
    yield from (".SH SYNOPSIS", ".B speedproof", "\\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...")
    yield from (".SH DESCRIPTION", _escape(PROGRAM.help or ""))
    yield ".SH COMMANDS"
    for name in COMMANDS:
        found = command(name)
        yield from (f".SS speedproof {_escape(name)}", _escape(found.help or ""))
        for own, action in every_command().items():
            if own.partition(" ")[0] == name:
                if " " in own:
                    yield from (".PP", f"\\fB{_escape(own)}\\fR: {_escape(action.help or '')}")
                for title, records in groups(action).items():
                    yield from (".PP", f"{_escape(title[:1].upper() + title[1:])}:")
                    for usage, text in records:
                        yield from (".TP", f"\\fB{_escape(usage)}\\fR", _escape(text))
        yield from (".PP", ".nf", *(_escape(line) for line in (found.epilog or "").split("\n")), ".fi")
    yield ".SH EXIT STATUS"
    for line in (PROGRAM.epilog or "").partition("exit codes: ")[2].split("\n"):
        yield _escape(line.strip())
    yield ".SH ENVIRONMENT"
    yield from (".TP", "NO_COLOR", "no colour, even on a terminal")
    yield from (".TP", "FORCE_COLOR", "colour, even in a pipe")


def _escape(text: str) -> str:
    shown = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{shown}" if shown.startswith((".", "\\(aq")) else shown


PAGES = {HERE / "cli.md": page, HERE / "speedproof.1": manual}

if __name__ == "__main__":
    for path, write in PAGES.items():
        path.write_text(write(), encoding="utf-8")
