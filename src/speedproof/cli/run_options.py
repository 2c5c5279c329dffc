"""The options of ``speedproof run``."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import PurePath

import click

from speedproof.api.given import proportion
from speedproof.cli.command import Argument, Command, Option, in_group
from speedproof.cli.options import FAILING, pages, positive_seconds, risk_options, seconds, whole

DRIVERS = ["criterion", "go", "google-benchmark", "hyperfine", "jmh", "pyperf", "pytest-benchmark"]
_SHELL = "--shell"
_REVISIONS = "--revisions"
_SHELLS = frozenset(["ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"])


class _Run(Command):
    """Takes all words after ``--`` as one command: ``args.words``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split the words at the dashes."""
        at = args.index("--") if "--" in args else len(args)
        left = super().parse_args(ctx, _each_revision(self._with_a_shell(ctx, args[:at])))
        ctx.params["words"] = args[at + 1 :]
        return left

    def _with_a_shell(self, ctx: click.Context, words: Sequence[str]) -> list[str]:
        """``--shell`` alone means sh: the next word is a command, not the shell's name."""
        named = []
        for word, following in itertools.pairwise([*words, ""]):
            if word == _SHELL and PurePath(following).name in _SHELLS:
                text = f"{_SHELL} {following}: write {_SHELL}={following}, for {_SHELL} alone means sh"
                raise click.UsageError(text, ctx)
            named.append(f"{_SHELL}=sh" if word == _SHELL else word)
        return named


def _each_revision(words: Sequence[str]) -> list[str]:
    """``--revisions A B`` means both: all words up to the next option are revisions."""
    named: list[str] = []
    inside = False
    for word in words:
        if word == _REVISIONS or (inside and not word.startswith("-")):
            named += [] if word == _REVISIONS else [f"{_REVISIONS}={word}"]
            inside = True
        else:
            named.append(word)
            inside = False
    return named


COMMAND = _Run(
    (
        "Run versions of a program in random order, block by block, until it is proven which is faster "
        "and by how much at least, at a risk that holds however often one looks."
    ),
    "  speedproof run './old -x' './new -x'              the reference first\n"
    "  speedproof run --name old './a' --name new './b'  with names\n"
    "  speedproof run './sort-{v} {n}' -L v old,new -L n 10,1000\n"
    "                                                    one command, its parameters\n"
    "  speedproof run --margin 1% './old' './new'        also stop when proven equal\n"
    "  speedproof run --precision 0.5% './old' './new'   stop at bounds that close\n"
    "  speedproof run './old' './new' --fail-on slower   exit 1 at a proven slowdown\n"
    "  speedproof run --revisions main HEAD --build 'make -j2' -- ./bench input.txt\n"
    "                                                    what a change of code did\n"
    "  speedproof run --driver go --revisions main HEAD -- go test -bench=. ./sort\n"
    "                                                    another tool's benchmarks\n"
    "  speedproof run --suite bench.toml                 benchmarks x versions\n"
    "  speedproof run --calibrate ./old                  what this machine can prove\n"
    "  speedproof run --resume speedproof-1.jsonl        go on where it stopped\n"
    "  speedproof run --review speedproof-1.jsonl        its verdict again",
    [
        Argument(
            "commands",
            metavar="COMMAND...",
            help="quoted commands, the reference first; or '-- PROGRAM ARG ...' for the last of them",
            many=True,
            required=False,
        ),
        *in_group(
            "what is measured",
            Option(
                "--name", "-n", many=True, metavar="NAME", help="name of the next version; may be repeated"
            ),
            Option("--benchmark", default="command", metavar="NAME", help="what the commands have in common"),
            Option(
                "-L",
                "--parameter-list",
                nargs=2,
                many=True,
                metavar="NAME VALUES",
                help="comma-separated values for {NAME} in the commands: a benchmark each; with a single "
                "command the first list makes the versions",
            ),
            Option(
                "--parameter-scan",
                "-P",
                nargs=3,
                many=True,
                metavar="NAME FROM TO",
                help="the numbers from FROM to TO as values for {NAME}",
            ),
            Option(
                "--parameter-step-size",
                "-D",
                metavar="STEP",
                needs="parameter_scan",
                help="of --parameter-scan (default: 1)",
            ),
            Option("--suite", metavar="FILE", help="TOML file of benchmarks x versions"),
            Option(
                "--revisions",
                many=True,
                metavar="REVISION...",
                help="git revisions of the repository here, the reference first; A..B for all between, "
                "WORKTREE for the files as they are",
            ),
            Option("--build", default="", metavar="CMD", help="builds a revision, in a tree of its own"),
            Option(
                "--build-env",
                many=True,
                metavar="NAME",
                help="a variable that builds depend on, as CFLAGS",
            ),
            Option(
                "--builds",
                parse=whole,
                metavar="K",
                help="build each revision K times, {seed} in --build being another number every time, and give "
                "every block builds of its own: what is proven is then of the code; --runs are those of one build "
                "(default: 5)",
            ),
            Option(
                "--plan",
                flag=True,
                help="measure a pilot only (3 builds of each, 5 runs a build), and say how many builds and runs "
                "a proof needs, and what they cost",
            ),
            Option(
                "--control",
                flag=True,
                help="build the reference once more and measure that, too: verdicts no larger than what two "
                "builds of one source differ by are withheld",
            ),
            Option(
                "--driver",
                choices=DRIVERS,
                help="each command is this tool's: its benchmarks are compared one by one, from short "
                "invocations in random order, and those that are decided are measured no longer",
            ),
            Option(
                "--unaffected",
                many=True,
                metavar="NAME",
                help="a benchmark that the change cannot touch: when it differs, verdicts no larger are withheld",
            ),
            Option("--reference", metavar="NAME", help="the version to compare against (default: the first)"),
            Option("--calibrate", flag=True, help="measure one command against itself"),
            Option(
                "--seed", parse=whole, metavar="N", help="seed of the random order (default: a fresh one)"
            ),
        ),
        *in_group(
            "around the runs",
            Option(
                "--warmup",
                "-w",
                default="1",
                metavar="N",
                help="runs of each version that do not count, before those that do (default: 1), or 'auto'",
            ),
            Option("--setup", default="", metavar="CMD", help="once for each version before its runs"),
            Option("--prepare", default="", metavar="CMD", help="before each run, not measured"),
            Option("--conclude", default="", metavar="CMD", help="after each run, not measured"),
            Option("--cleanup", default="", metavar="CMD", help="once for each version after its runs"),
            Option("--input", default=os.devnull, metavar="FILE", help="standard input of each run"),
            Option(
                "--output",
                choices=["null", "capture"],
                default="null",
                help="discard standard output (default), or keep it for error messages",
            ),
            Option(
                _SHELL,
                default="",
                metavar="[=SHELL]",
                help="run the commands in a shell: --shell for sh, --shell=bash for another; its start-up is "
                "measured, too",
            ),
            Option(
                "--env",
                many=True,
                metavar="[VERSION:]KEY=VALUE",
                help="add to the environment of every version or of one",
            ),
            Option("--cwd", default="", metavar="DIR", help="working directory of the commands"),
            Option(
                "--timeout",
                parse=positive_seconds,
                metavar="S",
                help="end a run's whole process group after this",
            ),
            Option("--no-shell", "-N", flag=True, help="start the commands directly (the default)"),
            Option(
                "--ignore-failure",
                "-i",
                flag=True,
                help="leave runs out that fail or lack the deciding metric instead of stopping",
            ),
            Option("--cpu", metavar="LIST", help="pin to these CPUs, for example 2 or 2,3"),
        ),
        *in_group(
            "metrics",
            Option(
                "--metric",
                many=True,
                metavar="NAME[:UNIT][:DIRECTION]=REGEX",
                help="a number in the program's output; DIRECTION is 'lower' or 'higher'",
            ),
            Option("--decide-by", metavar="METRIC", help="the metric that decides (default: time)"),
            Option("--perf", metavar="EVENTS", help="counters of 'perf stat', for example instructions"),
            Option("--energy", flag=True, help="energy of the processor packages (RAPL)"),
        ),
        *in_group(
            "stopping",
            *risk_options(),
            Option(
                "--gate",
                flag=True,
                help="hold every benchmark to --margin (default: 2%): stop when it is proven lost or kept; exit "
                "with 0 (pass), 1 (fail) or 3 (undecided)",
            ),
            Option(
                "--margin",
                parse=proportion,
                metavar="SHARE",
                help="stop also when proven equal within this, for example 1%",
            ),
            Option(
                "--precision",
                parse=proportion,
                metavar="SHARE",
                help="stop when the bounds are this close, for example 0.5%",
            ),
            Option(
                "--min-runs", parse=whole, metavar="N", help="no fewer runs of each version (default: 10)"
            ),
            Option("--max-runs", parse=whole, metavar="N", help="no more runs of each version"),
            Option("--runs", "-r", parse=whole, metavar="N", help="exactly N runs of each version"),
            Option(
                "--max-time",
                parse=seconds,
                default=60.0,
                metavar="S",
                help="seconds (or 2m, 1h) for each benchmark (default: 60); with --gate for all together",
            ),
            Option(
                "--stop-at-proof",
                flag=True,
                help="stop at the first verdict; by default measuring goes on until the bound holds at least half "
                "of the observed difference",
            ),
        ),
        *in_group(
            "results",
            Option("--save", metavar="FILE", help="results file to append to (default: a new one)"),
            Option("--resume", metavar="FILE", help="go on with the last session's plan of this file"),
            Option(
                "--review",
                metavar="FILE",
                help="measure nothing: the verdict on the last session of this file",
            ),
            Option(
                "--fail-on",
                choices=list(FAILING),
                many=True,
                help="exit with code 1 when this is the verdict on some candidate; may be repeated",
            ),
            Option("--export-hyperfine", "--export-json", metavar="FILE", help="also write hyperfine's JSON"),
            Option("--json", flag=True, help="write the findings as JSON"),
        ),
        *pages("a page with what is proven, charts and checks"),
        *in_group(
            "output",
            Option(
                "--junit",
                metavar="FILE",
                help="write JUnit XML: a slowdown, or a fail with --gate, is a failure; - is standard output",
            ),
        ),
    ],
)
