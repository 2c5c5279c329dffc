"""``speedproof show``: what was read from files, before anything is concluded from it."""

from typing import Annotated

from speedproof.cli.asked import CommandOptions
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.cli.inputs import load
from speedproof.declaring import Taken
from speedproof.options import Choosing, Output, Reading, ResultFiles


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


def run(asked: ShowOptions, console: Console) -> int:
    """Carry the command out."""
    choosing = asked.choosing
    suite = load(asked.files, asked.reading).select(choosing.only, choosing.skip, choosing.metric or "all")
    if asked.output.json:
        from speedproof.reporting.json import to_json
        from speedproof.reporting.stored import store

        console.out.write(to_json("show", [store(suite)]))
    else:
        from speedproof.reporting.samples import report

        console.write(report(suite, everything=asked.output.all))
    return 0


COMMAND = Command(ShowOptions, run)
