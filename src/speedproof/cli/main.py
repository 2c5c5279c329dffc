"""The program: find the command, run it, turn every outcome into an exit code.

Exit codes: 0 done; 1 a condition asked for with ``--fail-on`` or a gate that fails; 2 an error;
3 a gate that is undecided; 130 interrupted; 141 the reader of the output went before there was a verdict.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from types import TracebackType

from speedproof import __version__
from speedproof.cli.console import Console
from speedproof.cli.parser import Parser
from speedproof.errors import SpeedproofError

__all__ = ["build_parser", "entry", "main"]

ERROR = 2
INTERRUPTED = 130
CLOSED_PIPE = 141

# A command is a module of this package with ``register(subparsers)`` and ``run(args, console) -> int``.
COMMANDS = (
    "run",
    "compare",
    "suite",
    "hpt",
    "gate",
    "model",
    "rank",
    "plot",
    "show",
    "report",
    "formats",
    "completion",
)


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Make the parser of the whole program, or of one command when that is known (which imports less).

    Parameters
    ----------
    only : str, optional
        A command's name.

    Returns
    -------
    argparse.ArgumentParser
        ``parse_args`` gives a namespace with ``run``, the command's function.

    Examples
    --------
    >>> build_parser("formats").parse_args(["formats"]).command
    'formats'
    """
    parser = Parser(
        prog="speedproof",
        description="Prove speedups: is the candidate faster, by at least how much, at which risk?",
        epilog="examples:\n"
        "  speedproof run './old -x' './new -x'       measure until it is proven\n"
        "  speedproof compare old.json new.json       two result files of any known tool\n"
        "  speedproof compare results.json            several commands or versions in one file\n"
        "  speedproof suite config.csv -o report      a Speedup-Test configuration\n"
        "  speedproof show old.json                   what a file holds\n\n"
        "exit codes: 0 done, 1 a --fail-on condition or a failed gate, 2 error,\n"
        "            3 undecided gate, 130 interrupted, 141 closed pipe",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"speedproof {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS if only is None else (only,):
        import_module(f"speedproof.cli.{name}").register(subparsers)
    return parser


def main(argv: Sequence[str] | None = None, console: Console | None = None) -> int:
    """Run the program.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.
    console : Console, optional
        Where to write; the standard streams by default.

    Returns
    -------
    int
        The exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    console = Console() if console is None else console
    code = CLOSED_PIPE
    only = arguments[0] if arguments and arguments[0] in COMMANDS else None
    try:
        args = build_parser(only).parse_args(arguments)
        args.argv = arguments
        code = int(args.run(args, console))
        console.out.flush()
    except BrokenPipeError:
        # The reader has gone. Python would complain again while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code
    except SpeedproofError as error:
        console.remark(f"error: {error}")
        return ERROR
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        console.remark(f"error: {place}{error.strerror or error}")
        return ERROR
    except KeyboardInterrupt:
        console.remark("interrupted; nothing more was done")
        return INTERRUPTED
    return code


def entry() -> None:
    """Run the program as a process; a defect of ours ends it with exit code 2, which no verdict uses."""
    sys.excepthook = _crash
    sys.exit(main())


def _crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    traceback.print_exception(kind, error, trace)
    sys.stderr.write("speedproof: this is a defect of speedproof; please report it with the lines above\n")
    sys.stderr.flush()
    os._exit(ERROR)
