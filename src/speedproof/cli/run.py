"""``speedproof run``: measure versions in random order and stop the moment the comparison is proven."""

from __future__ import annotations

import argparse
import platform
from typing import TYPE_CHECKING

from speedproof.cli.console import Console
from speedproof.cli.run_options import add_command
from speedproof.errors import UsageError

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

__all__ = ["register", "run"]


def register(subparsers: Subparsers) -> None:
    """Declare the command."""
    add_command(subparsers).set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry the command out where it can be: what starts and measures processes is Linux's."""
    if platform.system() != "Linux":
        raise UsageError(
            f"'speedproof run' measures on Linux only, and this is {platform.system() or 'unknown'}; measure with "
            "hyperfine --export-json, for example, and give its files to 'speedproof compare'"
        )
    from speedproof.cli.run_session import carry_out

    return carry_out(args, console)
