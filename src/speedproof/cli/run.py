"""``speedproof run``: measure versions in random order until the comparison is proven; ``speedproof bisect``."""

import os
import platform
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec.structs import asdict, replace

from speedproof.cli.command import Command
from speedproof.cli.console import INTERRUPTED, QUIET, UNDECIDED, Console
from speedproof.declaring import LATEST, Argument, Excludes, Needs, Taken, Title
from speedproof.errors import UsageError
from speedproof.measuring_options import DECIDES, MeasuredOutput, Measuring
from speedproof.options import (
    SETTINGS,
    Choosing,
    CommandOptions,
    Config,
    Explained,
    FailOn,
    Gating,
    Resume,
    UndecidedIs,
    handed,
    read_settings,
)
from speedproof.reporting.names import enumerate_names

_RESULTS = (".json", ".jsonl", ".csv")
MEASURES_ON = {"Linux": "Linux", "Darwin": "macOS"}
"""The platforms on which processes can be started and measured."""


class RunOptions(CommandOptions, frozen=True, kw_only=True):
    """Run versions of a program in random order until it is proven which is faster, and by at least how much.

    Every block runs each version once. The stated risk holds however often you look.

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
            "COMMAND...", "quoted commands, the reference first; or '-- PROGRAM ARG ...' for the last of them"
        ),
    ] = ()
    words: tuple[str, ...] = ()  # after --
    choosing: Annotated[Choosing, Taken("choosing", take="only skip")] = Choosing()
    measuring: Measuring
    resume: Resume = None
    review: Annotated[
        str | None,
        "[FILE]",
        "measure nothing: show the verdict on the last session of this file (default: @last, the latest)",
        Excludes("resume"),
    ] = None
    fail_on: FailOn = ()
    undecided: UndecidedIs = None
    config: Config = None
    why: Explained = False
    output: MeasuredOutput


OF_FILES = "only for files: what is measured ends when typical runs decide, at equal shares of the risk"


def settings_of(config: str | None, given: Gating, console: Console) -> tuple[str | None, Gating]:
    """The file of settings, if there is one, and what counts: what is given, else what the file says."""
    config = SETTINGS if config is None and Path(SETTINGS).is_file() else config
    settings = Gating() if config is None else read_settings(config)
    said = {name: v for name, v in asdict(given).items() if v not in (None, ())}
    if {"protocol", "quantile"} & said.keys():
        said = {"protocol": None, "quantile": None, **said}
    sets = [name for name, v in asdict(settings).items() if v not in (None, ()) and name not in said]
    if sets:
        console.remark(f"{config} sets {enumerate_names(sets)}")
    return config, replace(settings, **said)


def refuse_files(words: tuple[str, ...], *, json: bool) -> None:
    """Refuse result files in the place of commands: ``compare`` reads results."""
    for word in words:
        if word.endswith(_RESULTS) and " " not in word and not os.access(word, os.X_OK):
            meant = "files: speedproof compare"
            meant = f"JSON goes to standard output (--json > {word})" if json else meant
            raise UsageError(f"{word} was taken for a command; {meant}")


def refuse_elsewhere() -> None:
    """Refuse to measure where processes cannot be started and measured."""
    if platform.system() not in MEASURES_ON:
        raise UsageError(
            f"speedproof measures on {' and '.join(MEASURES_ON.values())}; elsewhere measure with another tool, "
            "and give its files to 'speedproof compare'"
        )


def run(asked: RunOptions, console: Console) -> int:
    """Carry the command out where it can be: what starts and measures processes is of POSIX."""
    refuse_elsewhere()
    from speedproof.cli.run_session import carry_out

    return carry_out(asked, console)


class BisectOptions(CommandOptions, frozen=True, kw_only=True):
    """Find the commit that made a program slower or faster.

    It may say that nothing changed; what it blames is proven to differ from its parent. Commits that do not build
    are left out.

        speedproof bisect v1.2..main --build 'make' './bench'
        speedproof bisect --good v1.2 --bad HEAD --build make -- ./bench input
        speedproof bisect v1.2..main --min-change 2% './bench.py'
        speedproof bisect --resume                        go on with the latest

      exit codes: 0 a commit is found, or nothing changed; 3 undecided;
                  2 error; 130 interrupted
    """

    what: Annotated[
        tuple[str, ...],
        Argument(
            "[A..B] [COMMAND]",
            "the range, along first parents, and the benchmark, which runs in each commit's own tree",
            is_file=False,
        ),
    ] = ()
    words: tuple[str, ...] = ()  # after --
    good: Annotated[str | None, "REV", "the older end, instead of A..B", Title("what is bisected")] = None
    bad: Annotated[str | None, "REV", "the newer end (default: HEAD)", Needs("good")] = None
    shell: Annotated[bool, "run the benchmark in sh"] = False
    measuring: Annotated[
        Measuring,
        Taken(
            take="build build_env runs seed timeout metric decide_by ignore_failure save",
            runs="runs of each fresh build, whose median counts (default: 5)",
            build="command that builds a commit, in a working tree of its own; with {seed}, every pair has fresh "
            "builds",
            seed="of the random order and of fresh builds (default: a fresh one)",
            timeout="a run that takes longer than S seconds counts as failed",
            save="where every run is kept (default: with the sessions of 'run')",
            decide_by=DECIDES,
            ignore_failure="tolerate failed runs; give a commit up only after three in a row",
        ),
    ]
    min_change: Annotated[
        float,
        "SHARE",
        "stop when both ends are proven to differ by less (default: 1%)",
        Title("stopping"),
    ] = 0.01
    confidence: Annotated[float, "LEVEL", "of the proofs, and of the set of commits (default: 0.95)"] = 0.95
    max_time: Annotated[float, "S", "seconds, builds not counted (default: 600)"] = 600.0
    resume: Annotated[Resume, Title("results")] = None
    json: Annotated[bool, "the result as JSON"] = False


def _bisect(asked: BisectOptions, console: Console) -> int:
    """Carry the command out."""
    refuse_elsewhere()
    from speedproof.api import bisections
    from speedproof.api.bisections import BisectionFinding, BisectRequest, bisect_revisions
    from speedproof.api.run_plan import new_session
    from speedproof.cli.run_session import ends_as_ctrl_c
    from speedproof.reporting.bisection import progress_line

    if asked.resume is not None:
        kept = ("resume", "max_time", "json")
        given = [*asked.what, *asked.words, *(o for name, o in asked.given.items() if name not in kept)]
        if given:
            raise UsageError(
                f"--resume takes everything but --max-time and --json from the file; leave out {' '.join(given)}"
            )
        request, path = BisectRequest.stored(Path(asked.resume)), Path(asked.resume)
    else:
        names, command = _asked(asked)
        chosen = handed(BisectRequest, asked.measuring, asked)
        chosen |= {"shell": "sh" if asked.shell else "", "decide_by": asked.measuring.decide_by or "time"}
        request = BisectRequest.of(Path.cwd(), names, command, **chosen)
        path = Path(saved) if (saved := asked.measuring.save) else new_session("bisect", datetime.now())
    shown, warned = time.monotonic(), set[str]()

    def watch(stage: str, finding: Callable[[], BisectionFinding]) -> None:
        nonlocal shown
        # Search and confirmation take turns: each is named when it begins, then the time rules.
        if stage not in warned or time.monotonic() - shown >= QUIET:
            console.remark(progress_line(stage, finding()))
            shown = time.monotonic()
            warned.add(stage)

    with ends_as_ctrl_c():
        result = bisect_revisions(request, path, max_time=asked.max_time, tell=console.remark, watch=watch)
    console.remark(f"every run is in {path}")
    console.answer(
        result.to_json,
        replace(result, file=asked.resume or asked.measuring.save or LATEST).reports,
        json=asked.json,
    )
    if result.reason == bisections.INTERRUPTED:
        return INTERRUPTED
    return UNDECIDED if result.finding.open else 0


def _asked(asked: BisectOptions) -> tuple[list[str], str | list[str]]:
    """The ends and the command."""
    what = list(asked.what)
    if asked.good is None:
        if not what or ".." not in what[0]:
            raise UsageError("give the range A..B first, as v1.2..main, or --good REV [--bad REV]")
        names = what.pop(0)
    else:
        names = f"{asked.good}..{asked.bad or 'HEAD'}"
    commands: list[str | list[str]] = [*what, *([list(asked.words)] if asked.words else [])]
    if len(commands) != 1:
        refuse_files(asked.what, json=asked.json)
        given = f"not {len(commands)}: quote it, or put it after --" if commands else "quoted, or after --"
        raise UsageError(f"give one benchmark command, {given}")
    return [names], commands[0]


COMMANDS = {
    "run": partial(Command, RunOptions, run),
    "bisect": partial(Command, BisectOptions, _bisect),
}
