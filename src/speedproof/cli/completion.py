"""``speedproof completion``: scripts that complete commands and options in a shell."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from speedproof.cli.console import Console

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

__all__ = ["register", "run"]


def register(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "completion",
        help="print a completion script for bash, zsh or tcsh",
        description="Print a script that completes speedproof's commands and options.",
        epilog="examples:\n"
        "  speedproof completion bash > ~/.local/share/bash-completion/completions/speedproof\n"
        "  speedproof completion zsh > ~/.zfunc/_speedproof",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=["bash", "zsh", "tcsh"], help="the shell to write for")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry the command out."""
    import shtab

    from speedproof.cli.main import build_parser

    console.out.write(shtab.complete(build_parser(), shell=args.shell))
    return 0
