"""``speedproof completion``: scripts that complete commands and options in a shell."""

from __future__ import annotations

import click

from speedproof.cli.command import Args, Argument, Command
from speedproof.cli.console import Console

COMMAND = Command(
    "Print a script that completes speedproof's commands, options and files.",
    '  eval "$(speedproof completion bash)"       in ~/.bashrc\n'
    '  eval "$(speedproof completion zsh)"        in ~/.zshrc\n'
    "  speedproof completion fish > ~/.config/fish/completions/speedproof.fish",
    [Argument("shell", None, "the shell to write for", type=click.Choice(["bash", "zsh", "fish"]))],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    from click.shell_completion import ShellComplete, get_completion_class

    from speedproof.cli.main import PROGRAM

    kind = get_completion_class(args.shell)
    assert kind is not None
    # The shell's own check of its version would start the shell.
    script = ShellComplete.source(kind(PROGRAM, {}, "speedproof", "_SPEEDPROOF_COMPLETE"))
    console.out.write(script + "\n")
    return 0
