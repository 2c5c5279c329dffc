"""``speedproof help``: the help of the program or of a command."""

from __future__ import annotations

import click

from speedproof.cli.command import Args, Argument, Command
from speedproof.cli.console import Console

COMMAND = Command(
    "Show the help of a command, or of the program.",
    "  speedproof help\n  speedproof help compare",
    [Argument("command", "[COMMAND]", "the command", required=False, type=str)],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    from speedproof.cli.command import unknown_command
    from speedproof.cli.main import COMMANDS, PROGRAM

    program = click.Context(PROGRAM, info_name="speedproof", obj=console)
    context = program
    if args.command is not None:
        command = PROGRAM.get_command(program, args.command)
        if command is None:
            raise unknown_command(args.command, list(COMMANDS), program)
        context = click.Context(command, info_name=args.command, parent=program)
    console.out.write(context.get_help() + "\n")
    return 0
