"""``speedproof report``: the reports of comparisons that were made before."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

from speedproof.cli.asked import CommandOptions
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.cli.outputs import check_outputs, write_answer
from speedproof.declaring import Argument, Taken
from speedproof.options import Output


class ReportOptions(CommandOptions, frozen=True, kw_only=True):
    """Report comparisons that 'speedproof compare --json' wrote, without computing them again.

    With the samples in it (--with-samples) the HTML report draws them, too.

        speedproof compare old.json new.json --json --with-samples > results.json
        speedproof report results.json                        the answer again
        speedproof report results.json --html report.html
        speedproof report results.json --markdown - --junit tests.xml
    """

    results: Annotated[str, Argument("RESULTS.json", "output of 'compare --json'; - reads standard input")]
    output: Annotated[Output, Taken(leave="json")]


def run(asked: ReportOptions, console: Console) -> int:
    """Carry the command out."""
    from speedproof.reporting.stored import read_document
    from speedproof.reporting.versions import reports

    check_outputs(asked.output, asked.results)
    stdin = asked.results == "-"
    text = sys.stdin.buffer.read() if stdin else Path(asked.results).read_bytes()
    document, suite = read_document(text, "stdin" if stdin else asked.results)
    made = partial(reports, document.results, document.rankings)
    known = {"suite": suite, "context": document.context, "results": document.results}
    write_answer(asked, asked.output, console, made, str, **known)
    return 0


COMMAND = Command(ReportOptions, run)
