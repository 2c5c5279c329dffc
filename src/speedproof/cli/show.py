"""``speedproof show``: what was read from files; ``speedproof report``: the reports of comparisons made before."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.cli.files import check_outputs, load, write_answer
from speedproof.declaring import Argument, Taken
from speedproof.options import Choosing, CommandOptions, Output, Reading, ResultFiles
from speedproof.reporting.model import to_json


class ShowOptions(CommandOptions, frozen=True, kw_only=True):
    """Show what was read from result files.

    What was left out is shown, too, and why.

        speedproof show results.json
        speedproof show old.txt new.txt --unit ms
        speedproof show target/criterion --json
    """

    files: ResultFiles
    output: Annotated[
        Output,
        Taken(
            take="all json",
            all="every sample, not only the first",
            json="write the samples with all values as JSON",
        ),
    ]
    choosing: Annotated[Choosing, Taken(take="metric only skip", metric="the metric to show (default: all)")]
    reading: Reading


def _show(asked: ShowOptions, console: Console) -> int:
    choosing = asked.choosing
    suite = load(asked.files, asked.reading).select(choosing.only, choosing.skip, choosing.metric or "all")
    if asked.output.json:
        from speedproof.reporting.samples import store

        console.out.write(to_json("show", [store(suite)]))
    else:
        from speedproof.reporting.samples import report

        console.write(report(suite, everything=asked.output.all))
    return 0


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


def _report(asked: ReportOptions, console: Console) -> int:
    from speedproof.reporting.samples import read_document
    from speedproof.reporting.sheet import reports

    check_outputs(asked.output, asked.results)
    stdin = asked.results == "-"
    text = sys.stdin.buffer.read() if stdin else Path(asked.results).read_bytes()
    document, suite = read_document(text, "stdin" if stdin else asked.results)
    made = partial(reports, document.results, document.rankings)
    known = {"suite": suite, "context": document.context, "results": document.results}
    write_answer(asked, asked.output, console, made, str, **known)
    return 0


COMMANDS: dict[str, Command[Any]] = {
    "show": Command(ShowOptions, _show),
    "report": Command(ReportOptions, _report),
}
