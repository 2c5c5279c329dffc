"""``speedproof report``: the reports of comparisons that were made before."""

from __future__ import annotations

import sys
from pathlib import Path

from speedproof.cli.command import Args, Argument, Command
from speedproof.cli.console import Console
from speedproof.cli.options import outputs
from speedproof.cli.outputs import Reported, check_outputs, write_outputs
from speedproof.report.blocks import Text
from speedproof.report.comparisons import suite_blocks
from speedproof.report.ranking import ranking_blocks
from speedproof.report.stored import read_document

__all__ = ["COMMAND", "run"]


COMMAND = Command(
    (
        "Report comparisons that 'speedproof compare --json' wrote, without computing them again. "
        "With the samples in it (--with-samples) the HTML report draws them, too."
    ),
    (
        "  speedproof compare old.json new.json --json --with-samples > results.json\n"
        "  speedproof report results.json                        the tables again\n"
        "  speedproof report results.json --html report.html\n"
        "  speedproof report results.json --markdown - --junit tests.xml"
    ),
    [
        Argument(
            "results", metavar="RESULTS.json", help="output of 'compare --json'; - reads standard input"
        ),
        *outputs(),
    ],
)


def run(args: Args, console: Console) -> int:
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
