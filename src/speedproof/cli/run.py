"""``speedproof run``: measure versions in random order and stop the moment the comparison is proven."""

from __future__ import annotations

import platform

from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.cli.run_options import COMMAND
from speedproof.errors import UsageError

__all__ = ["COMMAND", "run"]


def run(args: Args, console: Console) -> int:
    """Carry the command out where it can be: what starts and measures processes is Linux's."""
    if platform.system() != "Linux":
        raise UsageError(
            f"'speedproof run' measures on Linux only, and this is {platform.system() or 'unknown'}; measure with "
            "hyperfine --export-json, for example, and give its files to 'speedproof compare'"
        )
    from speedproof.cli.run_session import carry_out

    return carry_out(args, console)
