"""``speedproof help``: the help of the program or of a command."""

from typing import Annotated

import click

from speedproof.cli.asked import CommandOptions
from speedproof.cli.command import Command, unknown_command
from speedproof.cli.console import Console
from speedproof.declaring import Argument


class HelpOptions(CommandOptions, frozen=True, kw_only=True):
    """Show the help of a command, or of the program.

    It is what the command shows with --help.

        speedproof help
        speedproof help compare
    """

    command: Annotated[str | None, Argument("[COMMAND]", "the command", is_file=False)] = None


def run(asked: HelpOptions, console: Console) -> int:
    """Carry the command out."""
    from speedproof.cli.main import COMMANDS, PROGRAM

    program = click.Context(PROGRAM, info_name="speedproof", obj=console)
    context = program
    if asked.command is not None:
        command = PROGRAM.get_command(program, asked.command)
        if command is None:
            raise unknown_command(asked.command, list(COMMANDS), program)
        context = click.Context(command, info_name=asked.command, parent=program)
    console.out.write(context.get_help() + "\n")
    return 0


COMMAND = Command(HelpOptions, run)
