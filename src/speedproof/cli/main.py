"""The program: find the command, run it, turn every outcome into an exit code.

Exit codes: 0 done; 1 a condition asked for with ``--fail-on`` or a gate that fails; 2 an error;
3 a gate that is undecided; 130 interrupted; 141 the reader of the output went before there was a verdict.
"""

from __future__ import annotations

import atexit
import errno
import io
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec
from itertools import pairwise
from types import ModuleType, TracebackType
from typing import Any, NoReturn, TextIO

import click

from speedproof import __version__
from speedproof.cli.command import Command, Group, common, eager, said, unknown_command
from speedproof.cli.console import ERROR, INTERRUPTED, Console, give_up
from speedproof.declaring import Option
from speedproof.errors import FormatError, SpeedproofError, cause

CLOSED_PIPE = 141
_THREADS = "OPENBLAS_NUM_THREADS"
_KEPT_MEMORY = (
    (-3, 1 << 26),
    (-1, 1 << 28),
)  # bytes of a block from which it is M_MMAPped, and M_TRIMmed at the top

# The modules of several commands; any other command has a module of its name.
_HOME = {
    **dict.fromkeys(["run", "bisect"], "run"),
    **dict.fromkeys(["suite", "hpt", "rank"], "suites"),
    **dict.fromkeys(["show", "report", "plot", "model"], "show"),
    **dict.fromkeys(["cache", "formats", "completion", "help"], "about"),
}
COMMANDS = {
    "run": "measure versions in random order until the comparison is proven",
    "bisect": "find the commit that changed the speed, or learn that none did",
    "compare": "compare versions: which is faster, by at least how much",
    "suite": "the Speedup-Test of a configuration file, with the original tool's four files",
    "history": "keep measurements of commits; what changed, when and by how much",
    "corpus": "millions of samples in Parquet: build, query, compare on all cores or a cluster",
    "hpt": "Hierarchical Performance Testing: one verdict over a whole suite",
    "gate": "pass or fail a candidate in a pipeline, each with a stated risk",
    "model": "model samples as Gaussian mixtures: modes, weights, a test of the fit",
    "rank": "rank versions by the chance of the best single run, with advice",
    "plot": "draw samples and their mixtures as SVG, PNG, PDF or HTML",
    "show": "show what files hold: samples, units, nesting, oddities",
    "report": "pages, tables, JUnit from the JSON of compare, gate, run or corpus compare",
    "cache": "list or remove the builds that 'run --revisions' and 'bisect' keep",
    "formats": "list the result files that are read",
    "completion": "print a completion script for bash, zsh or fish",
    "help": "show the help of a command",
}


class Program(click.Group):
    """The commands; the module of one is imported when it is asked for."""

    def __init__(self) -> None:
        super().__init__(
            "speedproof",
            help="Prove speedups: is the candidate faster, by at least how much, at which risk?",
            epilog="examples:\n"
            "  speedproof run './old -x' './new -x'    measure until it is proven\n"
            "  speedproof compare old.json new.json    two result files of any known tool\n"
            "  speedproof compare results.json         several commands in one file\n"
            "  speedproof suite config.csv -o report   a Speedup-Test configuration\n"
            "  speedproof show old.json                what a file holds\n\n"
            "exit codes: 0 done, 1 a --fail-on condition, a failed gate, an alarm or change\n"
            "            of a history, 2 error, 3 undecided gate or bisection,\n"
            "            130 interrupted, 141 closed pipe",
            params=[eager("version", Option("show the version"), _show_version), *common()],
            invoke_without_command=True,
            callback=_no_command,
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"speedproof.cli.{_HOME.get(cmd_name, cmd_name)}")
        command: Command[Any] | Group = module.COMMANDS[cmd_name]() if cmd_name in _HOME else module.COMMAND
        command.name = cmd_name
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A command by its name; a name that there is not gets the nearest one suggested."""
        if args and args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise unknown_command(args[0], list(COMMANDS), ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, for reports that say how they were made."""
        ctx.meta["argv"] = list(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, of which none is imported for that, then the options."""
        with formatter.section("commands"):
            formatter.write_dl(list(COMMANDS.items()))
        with formatter.section("options"):
            formatter.write_dl([r for p in self.params if (r := p.get_help_record(ctx)) is not None])

    format_epilog = Command.format_epilog


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.obj.out.write(f"speedproof {__version__}\n")
        ctx.exit()


@click.pass_context
def _no_command(ctx: click.Context) -> int:
    if ctx.invoked_subcommand is None:
        ctx.obj.out.write(ctx.get_help() + "\n")
    return 0


PROGRAM = Program()


def main(argv: Sequence[str] | None = None, console: Console | None = None) -> int:
    """Run the program."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    console = Console() if console is None else console
    code = CLOSED_PIPE
    try:
        code = _carry_out(arguments, console)
        console.out.flush()
    except BrokenPipeError:
        give_up(sys.stdout)  # the reader has gone
        return code
    except click.UsageError as error:
        console.remark(f"error: {said(error)}")
        return ERROR
    except SpeedproofError as error:
        meant = isinstance(error, FormatError) and ("--json", error.path) in pairwise(arguments)
        console.remark(f"error: {error.on_command_line()}{'; --json writes to standard output' * meant}")
        return ERROR
    except OSError as error:
        full = not error.filename and error.errno == errno.ENOSPC and _is_full(console.out)
        place = "standard output" if full else error.filename or ""
        console.remark(f"error: {place}{': ' * bool(place)}{cause(error)}")
        return ERROR
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        remedy = "give fewer files or values at once, or allow more (ulimit -v)"
        console.remark(f"error: there is not enough memory{detail}; {remedy}")
        return ERROR
    except KeyboardInterrupt:
        console.remark("interrupted; nothing more was done")
        return INTERRUPTED
    return code


def _is_full(out: TextIO) -> bool:
    """Whether a stream refuses even an empty line; pending output is then discarded."""
    try:
        out.flush()
        os.write(out.fileno(), b"\n")
    except io.UnsupportedOperation:  # no file of the system
        return False
    except OSError:
        give_up(out)
        return True
    return False


def command(name: str) -> Command[Any] | Group:
    """A command by its name, or an action as ``history add``, for whoever documents or tests it."""
    first, _, action = name.partition(" ")
    one = PROGRAM.get_command(click.Context(PROGRAM, info_name="speedproof"), first)
    if isinstance(one, Group) and action:
        one = one.actions[action]
    assert isinstance(one, Command | Group)
    return one


def every_command() -> dict[str, Command[Any]]:
    """All commands by their names; of one with actions these."""
    commands: dict[str, Command[Any]] = {}
    for name in COMMANDS:
        one = command(name)
        commands |= (
            {f"{name} {verb}": action for verb, action in one.actions.items()}
            if isinstance(one, Group)
            else {name: one}
        )
    return commands


def _carry_out(arguments: list[str], console: Console) -> int:
    try:
        width = max(min(console.width, 80) - 2, 50)  # as click would find it
        with PROGRAM.make_context("speedproof", arguments, obj=console, terminal_width=width) as context:
            code: int = PROGRAM.invoke(context)
            return code
    except click.exceptions.Exit as end:  # --help, --version
        return end.exit_code


class _Numpy:
    """Let NumPy start no threads for linear algebra: they spin for a while, a tenth of a short command's CPU time.

    The variable is set only while NumPy is imported, so that no program that is measured inherits it. And let
    arrays use again what others left, rather than pages that the system clears: a tenth of a large command's.
    Its docstrings and annotations, which nobody reads here, are left out: a tenth of a short command's.
    """

    def __init__(self) -> None:
        self.threads_given = _THREADS in os.environ

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Look on, and let others find the module; of one that only documents others make an empty package."""
        if name.endswith(("._add_newdocs", "._add_newdocs_scalars")):
            return ModuleSpec(name, None, is_package=True)
        if name == "numpy":
            os.environ.setdefault(_THREADS, "1")
        elif name == "numpy.linalg":  # the library is loaded, as is ctypes
            sys.modules.setdefault("numpy._typing", _Annotations("numpy._typing"))
            if not self.threads_given:
                del os.environ[_THREADS]
            sys.meta_path.remove(self)
            import ctypes

            if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):  # not so musl
                for option, size in _KEPT_MEMORY:
                    libc.mallopt(option, size)
        return None


class _Annotations(ModuleType):
    """A module of which `numpy.linalg` wants the type of an array; whoever wants more gets all of it."""

    def __getattr__(self, name: str) -> Any:
        if name == "NDArray":
            return sys.modules["numpy"].ndarray
        if name.startswith("__"):
            raise AttributeError(name)
        del sys.modules[self.__name__]
        self.__dict__.update(import_module(self.__name__).__dict__)
        return getattr(self, name)


def entry() -> None:
    """Run the program as a process; a defect of ours ends it with exit code 2, which no verdict uses."""
    sys.meta_path.insert(0, _Numpy())
    sys.excepthook = _crash
    if instruction := os.environ.get("_SPEEDPROOF_COMPLETE"):
        from click.shell_completion import shell_complete

        code: int = shell_complete(PROGRAM, {}, "speedproof", "_SPEEDPROOF_COMPLETE", instruction)
    else:
        code = main()
    if code == INTERRUPTED:
        import signal

        # A second Ctrl-C would be a traceback of Python's own end
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End the process without the interpreter's clean-up, which would take a while.

    Not before its threads have ended, nor where a profiler or a debugger looks on.
    """
    watched: list[object] = [sys.gettrace(), sys.getprofile()]
    if monitoring := getattr(sys, "monitoring", None):  # where Python 3.12 and later have their profilers
        watched += map(monitoring.get_tool, range(6))
    if threading.active_count() == 1 and not any(watched):
        atexit._run_exitfuncs()
        with suppress(OSError):  # else Python complains about the streams
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            os._exit(code)
    sys.exit(code)


def _crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.__excepthook__(kind, error, trace)
    sys.stderr.write("speedproof: this is a defect of speedproof; please report it with the lines above\n")
    sys.stderr.flush()
    os._exit(ERROR)
