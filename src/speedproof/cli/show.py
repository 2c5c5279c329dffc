"""``speedproof show``: what was read from files, before anything is concluded from it."""

from __future__ import annotations

from speedproof.cli.command import Args, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.inputs import load
from speedproof.cli.options import choosing, files, reading

COMMAND = Command(
    "Show what was read from result files, and what was left out and why.",
    "  speedproof show results.json\n"
    "  speedproof show old.txt new.txt --unit ms\n"
    "  speedproof show target/criterion --json",
    [
        files(),
        Option("--all", "every sample, not only the first"),
        Option("--json", "write the samples with all values as JSON"),
        *choosing("the metric to show (default: all)"),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    suite = load(args.files, args).select(args.only, args.skip, args.metric or "all")
    if args.json:
        from speedproof.reporting.json import to_json
        from speedproof.reporting.stored import store

        console.out.write(to_json("show", [store(suite)]))
    else:
        from speedproof.reporting.samples import report

        console.write(report(suite, everything=args.all))
    return 0
