"""``speedproof run``: measure versions in random order and stop the moment the comparison is proven."""

import itertools
import platform
from collections.abc import Callable
from pathlib import PurePath
from typing import Annotated, Literal

import click

from speedproof.cli.command import A, Command
from speedproof.cli.console import Console
from speedproof.declaring import Argument, Needs, Taken
from speedproof.errors import UsageError
from speedproof.options import CommandOptions, Explained, Measuring, Output, Undecided

_SHELL = "--shell"
_REVISIONS = "--revisions"
MEASURES_ON = {"Linux": "Linux", "Darwin": "macOS"}
"""Where processes are started and measured."""

_SHELLS = frozenset(["ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"])


class RunOptions(CommandOptions, frozen=True, kw_only=True):
    """Run versions of a program in random order until it is proven which is faster and by how much at least.

    They run block by block, and the risk holds however often one looks.

        speedproof run './old -x' './new -x'              the reference first
        speedproof run --name old './a' --name new './b'  with names
        speedproof run './sort-{v} {n}' -L v old,new -L n 10,1000
                                                          one command, its parameters
        speedproof run --margin 1% './old' './new'        also stop when proven equal
        speedproof run --precision 0.5% './old' './new'   stop at bounds that close
        speedproof run './old' './new' --fail-on slower   exit 1 at a proven slowdown
        speedproof run --revisions main HEAD --build 'make -j2' -- ./bench input.txt
                                                          what a change of code did
        speedproof run --driver go --revisions main HEAD -- go test -bench=. ./sort
                                                          another tool's benchmarks
        speedproof run --suite bench.toml                 benchmarks x versions
        speedproof run --calibrate ./old                  what this machine can prove
        speedproof run --resume                           go on with the latest
        speedproof run --review                           its verdict again
        speedproof compare @last                          its runs in all detail
    """

    commands: Annotated[
        tuple[str, ...],
        Argument(
            "COMMAND...",
            "quoted commands, the reference first; or '-- PROGRAM ARG ...' for the last of them",
        ),
    ] = ()
    words: tuple[str, ...] = ()  # after --
    wants: Callable[[str], bool] = bool  # which benchmarks are measured
    measuring: Measuring
    resume: Annotated[
        str | None, "[FILE]", "go on with the last session of this file (default: @last, the latest)"
    ] = None
    review: Annotated[
        str | None,
        "[FILE]",
        "measure nothing: the verdict on the last session of this file (default: @last, the latest)",
    ] = None
    fail_on: Annotated[
        tuple[Literal["slower", "undecided", "not-faster"], ...],
        "exit with code 1 when this is the verdict on some candidate; what is shown, not proven counts as "
        "undecided; may be repeated",
    ] = ()
    undecided: Annotated[
        Undecided | None,
        "with --gate, exit code of an undecided one: report it as 3 (default), fail with 1, or pass with 0",
        Needs("gate"),
    ] = None
    why: Explained = False
    output: Annotated[
        Output,
        Taken(
            "results",
            take="json html markdown junit github_summary",
            json="write the findings as JSON",
            html="a page with what is proven, charts and checks",
            markdown="Markdown",
            junit="JUnit XML: a slowdown, or a fail with --gate, is a failure",
        ),
    ]

    @property
    def named(self) -> list[str | list[str]]:
        """The commands: texts, and the program with its arguments after ``--``."""
        return [*self.commands, *([list(self.words)] if self.words else [])]


class MeasuringCommand(Command[A]):
    """A command that measures: ``--shell`` alone means sh, ``--revisions`` takes all words up to an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write both as click reads them."""
        at = args.index("--") if "--" in args else len(args)
        named: list[str] = []
        inside = False
        for word, following in itertools.pairwise([*args[:at], ""]):
            if word == _SHELL and PurePath(following).name in _SHELLS:
                text = f"{_SHELL} {following}: write {_SHELL}={following}, for {_SHELL} alone means sh"
                raise click.UsageError(text, ctx)
            inside = word == _REVISIONS or (inside and not word.startswith("-"))
            if not inside:
                named.append(f"{_SHELL}=sh" if word == _SHELL else word)
            elif word != _REVISIONS:
                named.append(f"{_REVISIONS}={word}")
        return super().parse_args(ctx, named + args[at:])


def refuse_file_of_json(words: tuple[str, ...], *, json: bool) -> None:
    """Say that ``--json`` takes no file, which would be measured as a command."""
    last = words[-1] if words else ""
    if json and last.endswith(".json") and " " not in last:
        raise UsageError(f"{last} was taken for a command; JSON goes to standard output (--json > {last})")


def run(asked: RunOptions, console: Console) -> int:
    """Carry the command out where it can be: what starts and measures processes is of POSIX."""
    if platform.system() not in MEASURES_ON:
        raise UsageError(
            f"'speedproof run' measures on {' and '.join(MEASURES_ON.values())}, and this is "
            f"{platform.system() or 'unknown'}; measure with hyperfine --export-json, for example, and give its "
            "files to 'speedproof compare'"
        )
    from speedproof.cli.run_session import carry_out

    return carry_out(asked, console)


COMMAND = MeasuringCommand(RunOptions, run)
