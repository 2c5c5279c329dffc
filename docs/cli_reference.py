"""Write docs/cli.md from the parsers: the command line documents itself.

Run ``python docs/cli_reference.py`` after a change of options; a test fails while the page is out of date.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from speedproof.cli.main import build_parser

PAGE = Path(__file__).with_name("cli.md")


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    parser = build_parser()
    yield "# Commands"
    yield ""
    yield "Written by `docs/cli_reference.py` from the program itself."
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield from _command(name, command)


def _command(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield ""
    yield f"## speedproof {name}"
    yield ""
    yield parser.description or ""
    for group in parser._action_groups:
        actions = [a for a in group._group_actions if not isinstance(a, argparse._HelpAction)]
        if not actions:
            continue
        title = group.title or ""
        yield ""
        yield f"**{title[:1].upper()}{title[1:]}**"
        yield ""
        yield "| | |"
        yield "|---|---|"
        for a in actions:
            yield f"| {_usage(a)} | {_help(a)} |"
    if parser.epilog:
        yield ""
        yield "```text"
        yield parser.epilog
        yield "```"


def _usage(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or '|'.join(map(str, action.choices or [action.dest]))}`".replace(
            "|", "\\|"
        )
    value = ""
    if action.nargs != 0:
        value = " " + str(action.metavar or "|".join(map(str, action.choices or [action.dest.upper()])))
    return ", ".join(f"`{option}{value}`" for option in action.option_strings).replace("|", "\\|")


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
