"""``speedproof hpt``: does the candidate outperform the reference over the whole suite."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from speedproof.cli.arguments import open_unit_interval
from speedproof.cli.console import Console
from speedproof.cli.inputs import (
    add_input_arguments,
    add_selection_arguments,
    load,
    report_leftovers,
    select,
)
from speedproof.cli.outputs import add_page_arguments, check_outputs, write_pages
from speedproof.data.suite import Pairing
from speedproof.errors import UsageError
from speedproof.protocols.hpt import CONFIDENCES, Hpt, hpt, hpt_of_scores
from speedproof.report.blocks import Block, Text
from speedproof.report.hpt import hpt_blocks

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

__all__ = ["register", "run"]


def register(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "hpt",
        help="Hierarchical Performance Testing: one verdict over a whole suite",
        description="Ask whether the candidate outperforms the reference over a whole suite, by Hierarchical "
        "Performance Testing: rank tests within and across benchmarks, which need no normality, and the "
        "speedup that holds with a given confidence.",
        epilog="examples:\n"
        "  speedproof hpt old.json new.json                    every benchmark counts alike\n"
        "  speedproof hpt old.json new.json --r 0.9 --r 0.999  speedups at these confidences\n"
        "  speedproof hpt a.csv b.csv --scores given           the values are scores, higher is better",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="result files or folders, the reference first"
    )
    add_selection_arguments(parser)
    group = parser.add_argument_group("deciding")
    group.add_argument(
        "--r",
        action="append",
        type=open_unit_interval,
        metavar="LEVEL",
        help="confidence of the speedup; may be repeated (default: 0.95 and 0.99)",
    )
    group.add_argument(
        "--alpha-benchmark",
        type=open_unit_interval,
        metavar="RISK",
        help="risk of the test within a benchmark, below 0.5 (default: 0.05 from 5 runs, 0.10 below)",
    )
    group.add_argument(
        "--scores",
        choices=["relative", "given"],
        default="relative",
        help="relative to the reference's median, so that every benchmark counts alike (default), or the values "
        "as they are: scores, higher is better",
    )
    group.add_argument(
        "--rule",
        choices=["exact", "paper"],
        default="exact",
        help="null distributions: exact given the ties (default), or the article's tables and normal "
        "approximations",
    )
    group.add_argument(
        "--literal-signs",
        action="store_true",
        help="keep a difference of medians that contradicts the test within the benchmark, as the article does",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="write everything as JSON")
    add_page_arguments(output)
    add_input_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry the command out."""
    check_outputs(args)
    if args.alpha_benchmark is not None and args.alpha_benchmark >= 0.5:
        raise UsageError(f"--alpha-benchmark {args.alpha_benchmark:g}: the risk must lie below 0.5")
    if args.metric == "all":
        raise UsageError("--metric all: scores of different metrics make no suite; name one metric")
    suite = select(load(args.files, args), args, console)
    reference, candidates = suite.sides(args.reference)
    report_leftovers(suite, console)
    results = []
    blocks: list[Block] = []
    for candidate in candidates:
        pairing = suite.pair(reference, candidate)
        _report_partners(pairing, reference, candidate, console)
        result = _test(pairing, args)
        results.append({"reference": reference, "candidate": candidate, "hpt": result})
        blocks += [*([Text("")] if blocks else []), *hpt_blocks(result, reference, candidate)]
    taken = write_pages(args, blocks, console)
    if args.json:
        from speedproof.report.json import to_json

        console.out.write(to_json("hpt", results))
    elif not taken:
        console.show(blocks)
    return 0


def _test(pairing: Pairing, args: argparse.Namespace) -> Hpt:
    confidences = CONFIDENCES if args.r is None else tuple(dict.fromkeys(args.r))
    if args.scores == "relative":
        return hpt(
            pairing.pairs,
            confidences=confidences,
            level=args.alpha_benchmark,
            rule=args.rule,
            literal_signs=args.literal_signs,
        )
    return hpt_of_scores(
        [pair.reference.per_process("median").values for pair in pairing.pairs],
        [pair.candidate.per_process("median").values for pair in pairing.pairs],
        names=[pair.key.benchmark for pair in pairing.pairs],
        confidences=confidences,
        level=args.alpha_benchmark,
        rule=args.rule,
        literal_signs=args.literal_signs,
    )


def _report_partners(pairing: Pairing, reference: str, candidate: str, console: Console) -> None:
    for version, keys in ((reference, pairing.only_reference), (candidate, pairing.only_candidate)):
        if keys:
            names = ", ".join(key.benchmark for key in keys[:5]) + (", ..." if len(keys) > 5 else "")
            console.remark(f"only {version} has {len(keys)} of the benchmarks, left out: {names}")
    for problem in pairing.problems:
        console.remark(f"left out: {problem}")
