"""The command line, called in the process of the tests."""

import io
from pathlib import Path

from speedproof.cli.console import Console
from speedproof.cli.main import main


def speedproof(*argv: str | Path) -> tuple[int, str, str]:
    """Exit code, output and remarks of a command."""
    out, err = io.StringIO(), io.StringIO()
    code = main([*map(str, argv)], Console(out, err))
    return code, out.getvalue(), err.getvalue()
