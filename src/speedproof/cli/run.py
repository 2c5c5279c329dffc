"""``speedproof run``: measure versions in random order and stop the moment the comparison is proven."""

from __future__ import annotations

import itertools
import os
import platform
from pathlib import PurePath

import click

from speedproof.cli.command import Args, Argument, CommandOfWords, Option
from speedproof.cli.console import Console
from speedproof.cli.options import FAILING, pages, risk_options
from speedproof.cli.values import place, positive_seconds
from speedproof.errors import UsageError

DRIVERS = ["criterion", "go", "google-benchmark", "hyperfine", "jmh", "pyperf", "pytest-benchmark"]
_SHELL = "--shell"
_REVISIONS = "--revisions"
_SHELLS = frozenset(["ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"])


class _Run(CommandOfWords):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """``--shell`` alone means sh, for a command follows; ``--revisions`` takes all words up to an option."""
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


COMMAND = _Run(
    "Run versions of a program in random order, block by block, until it is proven which is faster "
    "and by how much at least, at a risk that holds however often one looks.",
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
            "COMMAND...",
            "quoted commands, the reference first; or '-- PROGRAM ARG ...' for the last of them",
            many=True,
            required=False,
        ),
        "what is measured",
        Option("--name, -n NAME", "name of the next version; may be repeated", many=True),
        Option("--benchmark NAME", "what the commands have in common", default="command"),
        Option(
            "-L, --parameter-list NAME VALUES",
            "comma-separated values for {NAME} in the commands: a benchmark each; with a single command "
            "the first list makes the versions",
            many=True,
        ),
        Option(
            "--parameter-scan, -P NAME FROM TO", "the numbers from FROM to TO as values for {NAME}", many=True
        ),
        Option("--parameter-step-size, -D STEP", "of --parameter-scan (default: 1)", needs="parameter_scan"),
        Option("--suite FILE", "TOML file of benchmarks x versions"),
        Option(
            "--revisions REVISION...",
            "git revisions of the repository here, the reference first; A..B for all between, WORKTREE for"
            " the files as they are",
            many=True,
        ),
        Option("--build CMD", "builds a revision, in a tree of its own", default=""),
        Option("--build-env NAME", "a variable that builds depend on, as CFLAGS", many=True),
        Option(
            "--builds K",
            "build each revision K times, {seed} in --build being another number every time, and give "
            "every block builds of its own: what is proven is then of the code; --runs are those of one "
            "build (default: 5)",
        ),
        Option(
            "--plan",
            "measure a pilot only (3 builds of each, 5 runs a build), and say how many builds and runs a "
            "proof needs, and what they cost",
        ),
        Option(
            "--control",
            "build the reference once more and measure that, too: verdicts no larger than what two builds "
            "of one source differ by are withheld",
        ),
        Option(
            "--driver",
            "each command is this tool's: its benchmarks are compared one by one, from short invocations "
            "in random order, and those that are decided are measured no longer",
            choices=DRIVERS,
        ),
        Option(
            "--unaffected NAME",
            "a benchmark that the change cannot touch: when it differs, verdicts no larger are withheld",
            many=True,
        ),
        Option("--reference NAME", "the version to compare against (default: the first)"),
        Option("--calibrate", "measure one command against itself"),
        Option("--seed N", "seed of the random order (default: a fresh one)"),
        "around the runs",
        Option(
            "--warmup, -w N",
            "runs of each version that do not count, before those that do (default: 1), or 'auto'",
            default="1",
            parse=str,
        ),
        Option("--setup CMD", "once for each version before its runs", default=""),
        Option("--prepare CMD", "before each run, not measured", default=""),
        Option("--conclude CMD", "after each run, not measured", default=""),
        Option("--cleanup CMD", "once for each version after its runs", default=""),
        Option("--input FILE", "standard input of each run", default=os.devnull),
        Option(
            "--output [null|capture]",
            "discard standard output (default), or keep it for error messages",
            default="null",
        ),
        Option(
            "--shell [=SHELL]",
            "run the commands in a shell: --shell for sh, --shell=bash for another; its start-up is measured, too",
            default="",
        ),
        Option("--env [VERSION:]KEY=VALUE", "add to the environment of every version or of one", many=True),
        Option("--cwd DIR", "working directory of the commands", default=""),
        Option(
            "--timeout S",
            "end a run, or a command around it, after this",
            parse=positive_seconds,
        ),
        Option("--no-shell, -N", "start the commands directly (the default)"),
        Option(
            "--ignore-failure, -i", "leave runs out that fail or lack the deciding metric instead of stopping"
        ),
        Option("--cpu LIST", "pin to these CPUs, for example 2 or 2,3"),
        "metrics",
        Option(
            "--metric NAME[:UNIT][:DIRECTION]=REGEX",
            "a number in the program's output; DIRECTION is 'lower' or 'higher'",
            many=True,
        ),
        Option("--decide-by METRIC", "the metric that decides (default: time)"),
        Option("--perf EVENTS", "counters of 'perf stat', for example instructions"),
        Option("--energy", "energy of the processor packages (RAPL)"),
        "stopping",
        *risk_options(),
        Option(
            "--gate",
            "hold every benchmark to --margin (default: 2%): stop when it is proven lost or kept; exit "
            "with 0 (pass), 1 (fail) or 3 (undecided)",
        ),
        Option("--margin SHARE", "stop also when proven equal within this, for example 1%"),
        Option("--precision SHARE", "stop when the bounds are this close, for example 0.5%"),
        Option("--min-runs N", "no fewer runs of each version (default: 10)"),
        Option("--max-runs N", "no more runs of each version"),
        Option("--runs, -r N", "exactly N runs of each version"),
        Option(
            "--max-time S",
            "seconds (or 2m, 1h) for each benchmark (default: 60); with --gate for all together",
            default=60.0,
        ),
        Option(
            "--stop-at-proof",
            "stop at the first verdict; by default measuring goes on until the bound holds at least half "
            "of the observed difference",
        ),
        "results",
        Option("--save FILE", "results file to append to (default: a new one)", parse=place),
        Option("--resume FILE", "go on with the last session's plan of this file"),
        Option("--review FILE", "measure nothing: the verdict on the last session of this file"),
        Option(
            "--fail-on",
            "exit with code 1 when this is the verdict on some candidate; may be repeated",
            choices=list(FAILING),
            many=True,
        ),
        Option("--export-hyperfine, --export-json FILE", "also write hyperfine's JSON", parse=place),
        Option("--json", "write the findings as JSON"),
        *pages("a page with what is proven, charts and checks"),
        Option(
            "--junit FILE",
            "write JUnit XML: a slowdown, or a fail with --gate, is a failure; - is standard output",
        ),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out where it can be: what starts and measures processes is Linux's."""
    if platform.system() != "Linux":
        raise UsageError(
            f"'speedproof run' measures on Linux only, and this is {platform.system() or 'unknown'}; measure with "
            "hyperfine --export-json, for example, and give its files to 'speedproof compare'"
        )
    from speedproof.cli.run_session import carry_out

    return carry_out(args, console)
