"""``speedproof completion``: scripts that complete commands and options in a shell."""

from typing import Annotated, Literal

from speedproof.cli.asked import CommandOptions
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.declaring import Argument


class CompletionOptions(CommandOptions, frozen=True, kw_only=True):
    """Print a script for a shell.

    It completes speedproof's commands, options and files.

        eval "$(speedproof completion bash)"       in ~/.bashrc
        eval "$(speedproof completion zsh)"        in ~/.zshrc
        speedproof completion fish > ~/.config/fish/completions/speedproof.fish
    """

    shell: Annotated[Literal["bash", "zsh", "fish"], Argument("", "the shell to write for")]


def run(asked: CompletionOptions, console: Console) -> int:
    """Carry the command out."""
    from click.shell_completion import ShellComplete, get_completion_class

    from speedproof.cli.main import PROGRAM

    kind = get_completion_class(asked.shell)
    assert kind is not None
    # The shell's own check of its version would start the shell.
    script = ShellComplete.source(kind(PROGRAM, {}, "speedproof", "_SPEEDPROOF_COMPLETE"))
    console.out.write(script + "\n")
    return 0


COMMAND = Command(CompletionOptions, run)
