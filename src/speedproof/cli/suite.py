"""``speedproof suite``: the Speedup-Test of a configuration, with the original tool's files."""

from __future__ import annotations

import speedproof as sp
from speedproof.api.shares import any_level
from speedproof.cli.command import Args, Argument, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.options import folding, pages
from speedproof.cli.outputs import check_outputs, write_answer
from speedproof.cli.values import place
from speedproof.reporting.cells import visible_lines

COMMAND = Command(
    "Run the Speedup-Test on a configuration of the original tool, a CSV file with the columns "
    "Name,Sample1,Sample2,ConfLevel,Coef. Sample files are found beside the configuration, then in the "
    "working directory.",
    "  speedproof suite config.csv                       print the report\n"
    "  speedproof suite config.csv --confidence 0.95 -o results\n"
    "                                                    four files, results.*\n"
    "  speedproof suite config.csv --weight fraction     weigh benchmarks by time\n"
    "  speedproof suite config.csv --original            as the tool of 2010",
    [
        Argument("config", "CONFIG.csv", "the configuration; - reads standard input"),
        Option(
            "--confidence, --conf-level LEVEL",
            "confidence level of every benchmark; without it each row's ConfLevel, else the highest level "
            "at which the speedup is significant",
            parse=any_level,
        ),
        Option(
            "--weight [custom|equal|fraction]",
            "weights in the overall gain: the Coef column (default), all equal, or the reference's times",
            default="custom",
        ),
        Option(
            "--precision R", "half width for the number of benchmarks needed (default: 0.05)", default=0.05
        ),
        Option(
            "-o, --output PREFIX",
            "write PREFIX.report, .out, .warning and .error; --original writes CONFIG.report, ... without it",
            parse=place,
        ),
        Option("--original", "follow the tool of 2010 instead of the article"),
        Option("--always-welch", "mean: never pool variances after an F test"),
        Option("--ks-rule [legacy|r422]", "median: see 'compare --help'", default="legacy"),
        Option("--unit UNIT", "unit of numbers whose file names none"),
        *folding("the warnings on every benchmark"),
        Option("--json", "write everything as JSON"),
        *pages(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    check_outputs(args)
    result = sp.speedup_test(
        args.config,
        weighting=args.weight,
        **args.take("confidence", "precision", "original", "always_welch", "ks_rule", "unit"),
    )
    prefix = args.output
    if prefix is None and args.original and not args.json and args.config != "-":
        prefix = args.config.removesuffix(".csv")  # the tool always wrote its files
    if prefix is not None:
        console.remark(f"wrote {', '.join(str(path) for path in result.write(prefix))}")
    write_answer(args, console, result.reports, result.to_json)
    for line in result.warnings:
        console.err.write(f"{visible_lines(line)}\n")
    for note in result.notes:
        console.remark(f"note: {note}")
    return 0
