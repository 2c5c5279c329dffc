"""``speedproof rank``: which version to run, by the chance that a single run beats all others."""

from __future__ import annotations

import speedproof as sp
from speedproof.cli.command import Args, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.inputs import load, report_leftovers, select
from speedproof.cli.options import files, folding, mixture, pages, reading, selecting
from speedproof.cli.outputs import check_outputs, outputs_wanted, write_answer

COMMAND = Command(
    "For each benchmark: the chance that one run of a version beats one run of every other "
    "(counted in the samples, and by their mixtures), with bootstrap intervals; which "
    "versions are not told "
    "apart (?) and whose runs are not what the tests assume (!); which version to run often "
    "or rarely; for "
    "two versions, what happened to their modes.",
    "  speedproof rank gcc.json clang.json icc.json\n"
    "  speedproof rank results/ --only 'json_*' --details --jobs 2\n"
    "  speedproof rank old.txt new.txt --unit ms --json",
    [
        files(),
        *selecting(),
        *mixture(),
        "intervals",
        Option(
            "--resamples N", "bootstrap samples behind the intervals of mixtures (default: 200)", default=200
        ),
        Option(
            "--confidence LEVEL",
            "of each interval, and of all claims on a benchmark together (default: 0.95)",
            default=0.95,
        ),
        "options",
        *folding("each benchmark's modes, mixtures and warnings"),
        Option("--json", "write the ranking as JSON"),
        *pages(),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    check_outputs(args)
    mixtures = args.details or args.json or outputs_wanted(args)
    if not mixtures:
        args.refuse(
            "resamples",
            "max_components",
            "seed",
            "jobs",
            because="only --details, --json and pages show mixtures",
        )
    suite = select(load(args.files, args), args, console)
    with console.progress("ranking", len(suite.benchmarks)) as ticker:
        result = sp.rank(
            suite,
            metric="all",
            mixtures=mixtures,
            done=ticker.advance,
            **args.take("reference", "confidence", "resamples", "max_components", "seed", "jobs"),
        )
    for problem in result.problems:
        console.remark(problem)
    report_leftovers(suite, console)
    write_answer(args, console, result.reports, result.to_json)
    return 0
