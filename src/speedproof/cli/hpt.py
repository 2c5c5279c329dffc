"""``speedproof hpt``: does the candidate outperform the reference over the whole suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import speedproof as sp
from speedproof.api.shares import proportion
from speedproof.cli.command import Args, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.inputs import load, report_leftovers, select
from speedproof.cli.options import files, folding, pages, reading, selecting
from speedproof.cli.outputs import check_outputs, write_answer
from speedproof.errors import UsageError
from speedproof.reporting.model import Report

COMMAND = Command(
    "Ask whether the candidate outperforms the reference over a whole suite, by Hierarchical "
    "Performance Testing: rank tests within and across benchmarks, which need no normality, and the "
    "speedup that holds with a given confidence.",
    "  speedproof hpt old.json new.json                every benchmark counts alike\n"
    "  speedproof hpt old.json new.json --r 0.999      speedup at this confidence\n"
    "  speedproof hpt old.json new.json --speedup 1.5  how sure is a factor of 1.5?\n"
    "  speedproof hpt a.csv b.csv --scores given       scores, higher is better",
    [
        files("result files or folders, the reference first"),
        *selecting(),
        "deciding",
        Option(
            "--r LEVEL",
            "confidence of the speedup; may be repeated (default: 0.95 and 0.99)",
            many=True,
            parse=proportion,
        ),
        Option(
            "--alpha-benchmark RISK",
            "risk of the test within a benchmark, below 0.5 (default: 0.05 from 5 runs, 0.10 below)",
            parse=proportion,
        ),
        Option(
            "--scores [relative|given]",
            "relative to the reference's median, so that every benchmark counts alike (default), or the "
            "values as they are: scores, higher is better",
            default="relative",
        ),
        Option(
            "--rule [exact|paper]",
            "null distributions: exact given the ties (default), or the article's tables and normal "
            "approximations",
            default="exact",
        ),
        Option(
            "--literal-signs",
            "keep a difference of medians that contradicts the test within the benchmark, as the article "
            "does",
        ),
        Option(
            "--speedup FACTOR",
            "say with which confidence the winner is more than this much faster; may be repeated",
            many=True,
        ),
        "output",
        *folding("the bounds of the speedups, and what others would claim"),
        Option("--json", "write everything as JSON"),
        *pages(),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    check_outputs(args)
    if args.metric == "all":
        raise UsageError("--metric all: scores of different metrics do not make a suite; name one metric")
    suite = select(load(args.files, args), args, console)
    reference, candidates = suite.sides(args.reference)
    report_leftovers(suite, console)
    results = []
    for candidate in candidates:
        result = sp.hpt(
            suite,
            reference=reference,
            candidate=candidate,
            confidences=args.r,
            speedups=args.speedup,
            **args.take("scores", "alpha_benchmark", "rule", "literal_signs"),
        )
        for problem in result.problems:
            console.remark(problem)
        results.append(result)
    write_answer(args, console, partial(_reports, results), partial(_json, results))
    return 0


def _json(results: Sequence[sp.HptResult]) -> str:
    from speedproof.reporting.json import to_json

    return to_json("hpt", [result.as_record() for result in results])


def _reports(results: Sequence[sp.HptResult], **asked: bool) -> Iterable[Report]:
    return (report for result in results for report in result.reports(**asked))
