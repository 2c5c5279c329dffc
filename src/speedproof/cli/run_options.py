"""The options of ``speedproof run``."""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from speedproof.cli.arguments import (
    FAILING,
    confidence,
    positive_seconds,
    positive_share,
    risk,
    seconds,
    whole,
)
from speedproof.cli.outputs import add_page_arguments
from speedproof.cli.parser import Parser

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

__all__ = ["add_command"]


_SHELL = "--shell"
_SHELLS = frozenset(["ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"])


class _Parser(Parser):
    """Takes commands anywhere among the options, and all words after ``--`` as one command.

    argparse drops the dashes, and knows only the first group of positional arguments. ``given`` tells which
    options were given, by their names in the namespace: a default says nothing of what the user wants.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        words = list(args or [])
        rest: list[str] = []
        if "--" in words:
            at = words.index("--")
            words, rest = words[:at], words[at + 1 :]
        words = self._with_a_shell(words)
        namespace, extra = argparse.ArgumentParser.parse_known_args(self, words, namespace)
        self.refuse([word for word in extra if word.startswith("-")])
        options = {action.dest: action.option_strings for action in self._actions if action.option_strings}
        bare = argparse.Namespace(**dict.fromkeys(options))
        found = vars(argparse.ArgumentParser.parse_known_args(self, words, bare)[0])
        namespace.given = {name: texts[0] for name, texts in options.items() if found[name] is not None}
        namespace.words = rest
        namespace.commands += extra
        return namespace, []

    def _with_a_shell(self, words: Sequence[str]) -> list[str]:
        """``--shell`` alone means sh: argparse would take the next word, a command, for the shell's name."""
        named = []
        for word, following in itertools.pairwise([*words, ""]):
            alone = len(word) > len("--s") and _SHELL.startswith(word)
            if alone and PurePath(following).name in _SHELLS:
                self.error(f"{_SHELL} {following}: write {_SHELL}={following}, for {_SHELL} alone means sh")
            named.append(f"{_SHELL}=sh" if alone else word)
        return named


def add_command(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the command with all its options."""
    parser = subparsers.add_parser(
        "run",
        help="measure versions in random order until the comparison is proven",
        description="Run versions of a program in random order, block by block, and stop the moment one is "
        "proven faster, at a risk that holds however often one looks.",
        epilog="examples:\n"
        "  speedproof run './old -x' './new -x'                two versions, the reference first\n"
        "  speedproof run --name old './a' --name new './b'    with names\n"
        "  speedproof run './sort-{v} {n}' -L v old,new -L n 10,1000\n"
        "                                                      one command, its parameters\n"
        "  speedproof run --margin 1% './old' './new'          also stop when they are proven equal\n"
        "  speedproof run --precision 0.5% './old' './new'     stop when the bounds are that close\n"
        "  speedproof run './old' './new' --fail-on slower     exit 1 when a slowdown is proven\n"
        "  speedproof run --suite bench.toml                   benchmarks x versions\n"
        "  speedproof run --calibrate ./old                    what this machine can prove\n"
        "  speedproof run --resume speedproof-1.jsonl          go on where it stopped\n"
        "  speedproof run --review speedproof-1.jsonl          its verdict again, nothing is run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.__class__ = _Parser
    _add_what(parser)
    _add_around(parser)
    _add_metrics(parser)
    _add_stopping(parser)
    output = parser.add_argument_group("results")
    output.add_argument("--save", metavar="FILE", help="results file to append to (default: a new one)")
    output.add_argument("--resume", metavar="FILE", help="go on with the last session's plan of this file")
    output.add_argument(
        "--review", metavar="FILE", help="measure nothing: the verdict on the last session of this file"
    )
    output.add_argument(
        "--fail-on",
        choices=list(FAILING),
        action="append",
        default=[],
        help="exit with code 1 when this is the verdict on some candidate; may be repeated",
    )
    output.add_argument("--export-hyperfine", metavar="FILE", help="also write hyperfine's JSON")
    output.add_argument("--json", action="store_true", help="write the findings as JSON")
    add_page_arguments(output, "a page with what is proven, charts and checks")
    return parser


def _add_what(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "commands",
        nargs="*",
        metavar="COMMAND",
        help="quoted commands, the reference first; or '-- PROGRAM ARG ...' for the last of them",
    )
    group = parser.add_argument_group("what is measured")
    group.add_argument("--name", action="append", default=[], metavar="NAME", help="of the next version")
    group.add_argument(
        "--benchmark", default="command", metavar="NAME", help="what the commands have in common"
    )
    group.add_argument(
        "-L",
        "--parameter-list",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUES"),
        help="comma-separated values for {NAME} in the commands: a benchmark each; with a single command the "
        "first list makes the versions",
    )
    group.add_argument("--suite", metavar="FILE", help="TOML file of benchmarks x versions")
    group.add_argument(
        "--reference", metavar="NAME", help="the version to compare against (default: the first)"
    )
    group.add_argument("--calibrate", action="store_true", help="measure one command against itself")
    group.add_argument("--seed", type=whole, metavar="N", help="of the random order (default: a fresh one)")


def _add_around(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("around the runs")
    group.add_argument(
        "--warmup", default="1", metavar="N", help="runs of each before those that count, or 'auto'"
    )
    group.add_argument("--setup", default="", metavar="CMD", help="once for each version before its runs")
    group.add_argument("--prepare", default="", metavar="CMD", help="before each run, not measured")
    group.add_argument("--conclude", default="", metavar="CMD", help="after each run, not measured")
    group.add_argument("--cleanup", default="", metavar="CMD", help="once for each version after its runs")
    group.add_argument("--input", default=os.devnull, metavar="FILE", help="standard input of each run")
    group.add_argument(
        "--output",
        choices=["null", "capture"],
        default="null",
        help="discard standard output (default), or keep it for error messages",
    )
    group.add_argument(
        _SHELL,
        default="",
        metavar="[=SHELL]",
        help="let a shell carry out the commands: --shell for sh, --shell=bash for another; its own start is "
        "measured with them",
    )
    group.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="[VERSION:]KEY=VALUE",
        help="add to the environment of every version or of one",
    )
    group.add_argument("--cwd", default="", metavar="DIR", help="working directory of the commands")
    group.add_argument(
        "--timeout", type=positive_seconds, metavar="S", help="end a run's whole process group after this"
    )
    group.add_argument(
        "--ignore-failure",
        action="store_true",
        help="leave runs out that fail or lack the deciding metric instead of stopping",
    )
    group.add_argument("--cpu", metavar="LIST", help="pin to these CPUs, for example 2 or 2,3")


def _add_metrics(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("metrics")
    group.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME[:UNIT][:DIRECTION]=REGEX",
        help="a number in the program's output; DIRECTION is 'lower' or 'higher'",
    )
    group.add_argument("--decide-by", metavar="METRIC", help="the metric that decides (default: time)")
    group.add_argument("--perf", metavar="EVENTS", help="counters of 'perf stat', for example instructions")
    group.add_argument("--energy", action="store_true", help="energy of the processor packages (RAPL)")


def _add_stopping(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("stopping")
    either = group.add_mutually_exclusive_group()
    either.add_argument("--alpha", type=risk, metavar="RISK", help="of each side (default: 0.05)")
    either.add_argument("--confidence", type=confidence, metavar="LEVEL", help="1 - alpha")
    group.add_argument("--margin", type=positive_share, metavar="SHARE", help="stop when proven this equal")
    group.add_argument(
        "--precision", type=positive_share, metavar="SHARE", help="stop when the bounds are this close"
    )
    group.add_argument("--min-runs", type=int, metavar="N", help="of each version (default: 10)")
    group.add_argument("--max-runs", type=int, metavar="N", help="of each version")
    group.add_argument(
        "--max-time", type=seconds, default=60.0, metavar="S", help="for each benchmark (default: 60)"
    )
