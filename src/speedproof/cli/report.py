"""``speedproof report``: the reports of comparisons that were made before."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from speedproof.cli.console import Console
from speedproof.cli.outputs import Reported, add_output_arguments, check_outputs, write_outputs
from speedproof.report.blocks import Text
from speedproof.report.comparisons import suite_blocks
from speedproof.report.ranking import ranking_blocks
from speedproof.report.stored import read_document

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

__all__ = ["register", "run"]


def register(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "report",
        help="HTML, Markdown, CSV, LaTeX or JUnit from the JSON of 'compare'",
        description="Report comparisons that 'speedproof compare --json' wrote, without computing them again. "
        "With the samples in it (--with-samples) the HTML report draws them, too.",
        epilog="examples:\n"
        "  speedproof compare old.json new.json --json --with-samples > results.json\n"
        "  speedproof report results.json                        the tables again\n"
        "  speedproof report results.json --html report.html\n"
        "  speedproof report results.json --markdown - --junit tests.xml",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "results", metavar="RESULTS.json", help="output of 'compare --json'; - reads standard input"
    )
    add_output_arguments(parser.add_argument_group("output"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry the command out."""
    check_outputs(args)
    text = sys.stdin.buffer.read() if args.results == "-" else Path(args.results).read_bytes()
    document, suite = read_document(text, "stdin" if args.results == "-" else args.results)
    rankings = [tuple(ranking_blocks(ranking, metric)) for metric, ranking in document.rankings.items()]
    reported = Reported(document.results, suite, document.context, rankings)
    if write_outputs(args, reported, console):
        return 0
    for i, result in enumerate(document.results):
        if i:
            console.show([Text("")])
        console.show(suite_blocks(result))
    for blocks in rankings:
        console.show([Text(""), *blocks])
    return 0
