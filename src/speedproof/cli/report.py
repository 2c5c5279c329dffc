"""``speedproof report``: the reports of comparisons that were made before."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from speedproof.cli.command import Args, Argument, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.options import outputs
from speedproof.cli.outputs import check_outputs, write_answer

COMMAND = Command(
    "Report comparisons that 'speedproof compare --json' wrote, without computing them again. "
    "With the samples in it (--with-samples) the HTML report draws them, too.",
    "  speedproof compare old.json new.json --json --with-samples > results.json\n"
    "  speedproof report results.json                        the answer again\n"
    "  speedproof report results.json --html report.html\n"
    "  speedproof report results.json --markdown - --junit tests.xml",
    [
        Argument("results", "RESULTS.json", "output of 'compare --json'; - reads standard input"),
        Option("--all", "every benchmark, not only those that changed most"),
        Option("--details", "the other protocols, corrections and numbers of the whole suite"),
        Option("--explain", "every check, test and rule behind each verdict"),
        *outputs(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    from speedproof.reporting.stored import read_document
    from speedproof.reporting.versions import reports

    check_outputs(args)
    text = sys.stdin.buffer.read() if args.results == "-" else Path(args.results).read_bytes()
    document, suite = read_document(text, "stdin" if args.results == "-" else args.results)
    made = partial(reports, document.results, document.rankings)
    known = {"suite": suite, "context": document.context, "results": document.results}
    write_answer(args, console, made, str, **known)
    return 0
