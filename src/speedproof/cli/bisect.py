"""``speedproof bisect``: which commit changed the speed, or that none did."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from speedproof.cli.command import Args, Argument, CommandOfWords, Option
from speedproof.cli.console import Console
from speedproof.cli.values import place, positive_seconds
from speedproof.errors import UsageError
from speedproof.reporting.json import to_json

NOT_FOUND = 3
CTRL_C = 130
_QUIET_SECONDS = 10.0


COMMAND = CommandOfWords(
    "Find the commit that made a program slower or faster. The ends must be proven to differ first, so it "
    "may say that nothing changed; what it blames is proven against its parent. Commits that do not build "
    "are left out.",
    "  speedproof bisect v1.2..main --build 'make' './bench'\n"
    "  speedproof bisect --good v1.2 --bad HEAD --build make -- ./bench input\n"
    "  speedproof bisect v1.2..main --min-change 2% './bench.py'\n"
    "  speedproof bisect --resume bisect-20261122-101500.jsonl\n"
    "\n"
    "exit codes: 0 a commit is found, or nothing changed; 3 undecided;\n"
    "            2 error; 130 interrupted",
    [
        Argument(
            "what",
            "[A..B] [COMMAND]",
            "the range, by first parents, and the benchmark, which runs in each commit's own tree",
            many=True,
            required=False,
            type=str,
        ),
        "what is bisected",
        Option("--good REV", "the older end, instead of A..B"),
        Option("--bad REV", "the newer end (default: HEAD)"),
        Option(
            "--build CMD",
            "builds a commit, in a tree of its own; with {seed} in it every pair has fresh builds",
            default="",
        ),
        Option("--build-env NAME", "a variable that builds depend on, as CFLAGS", many=True),
        Option("--shell", "let sh carry out the benchmark"),
        Option("--timeout S", "a run that takes longer has failed", parse=positive_seconds),
        Option("--runs N", "runs of each fresh build, whose median counts (default: 5)"),
        Option("--seed N", "of the random order and of fresh builds (default: a fresh one)"),
        "when it ends",
        Option(
            "--min-change SHARE",
            "end when the ends are proven to differ by less",
            default="1%",
            show_default=True,
        ),
        Option(
            "--confidence LEVEL",
            "of the proofs, and of the set of commits",
            default="0.95",
            show_default=True,
        ),
        Option(
            "--max-time S",
            "seconds of measuring, builds not counted; 0 for no limit",
            default="600",
            show_default=True,
        ),
        "files",
        Option("--save FILE", "where every run is kept (default: a fresh name)", parse=place),
        Option("--resume FILE", "go on with a bisection"),
        Option("--json", "the result as JSON"),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    if platform.system() != "Linux":
        raise UsageError("'speedproof bisect' measures on Linux only")
    from speedproof.api.bisections import INTERRUPTED, BisectionFinding, BisectRequest, bisect_revisions
    from speedproof.cli.run_session import ends_as_ctrl_c, fresh_name
    from speedproof.reporting.bisection import progress_line

    if args.resume is not None:
        kept = ("resume", "max_time", "json")
        if args.what or args.words or any(name not in kept for name in args.given):
            raise UsageError(
                "--resume takes everything but --max-time and --json from the file; leave it out"
            )
        request, path = BisectRequest.stored(Path(args.resume)), Path(args.resume)
    else:
        names, command = _asked(args)
        request = BisectRequest.of(
            Path.cwd(),
            names,
            command,
            build_env=tuple(args.build_env),
            shell="sh" if args.shell else "",
            **args.take("build", "confidence", "min_change", "timeout", "seed", "runs"),
        )
        path = Path(args.save or fresh_name("bisect", datetime.now()))
    shown, told = time.monotonic(), set[str]()

    def watch(stage: str, finding: Callable[[], BisectionFinding]) -> None:
        nonlocal shown
        # Search and confirmation take turns: each is named when it begins, then the time rules.
        if stage not in told or time.monotonic() - shown >= _QUIET_SECONDS:
            console.remark(progress_line(stage, finding()))
            shown = time.monotonic()
            told.add(stage)

    with ends_as_ctrl_c():
        result = bisect_revisions(
            request, path, max_seconds=args.max_time or None, tell=console.remark, watch=watch
        )
    console.remark(f"every run is in {path}")
    if args.json:
        console.out.write(to_json("bisect", [report.data for report in result.reports()]))
    else:
        console.write(*result.reports())
    if result.reason == INTERRUPTED:
        return CTRL_C
    return NOT_FOUND if result.finding.open else 0


def _asked(args: Args) -> tuple[list[str], str | list[str]]:
    """The ends and the command."""
    what = list(args.what)
    if args.good is None and args.bad is None:
        if not what or ".." not in what[0]:
            raise UsageError("give the range A..B first, as v1.2..main, or --good REV [--bad REV]")
        names = what.pop(0)
    elif args.good is None:
        raise UsageError("--bad needs --good, the end from before the change")
    else:
        names = f"{args.good}..{args.bad or 'HEAD'}"
    commands: list[str | list[str]] = [*what, *([args.words] if args.words else [])]
    if len(commands) != 1:
        args.refuse_file_of_json(what)
        given = f"not {len(commands)}: quote it, or put it after --" if commands else "quoted, or after --"
        raise UsageError(f"give one benchmark command, {given}")
    return [names], commands[0]
