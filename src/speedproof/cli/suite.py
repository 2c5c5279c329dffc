"""``speedproof suite``: the Speedup-Test of a configuration, with the original tool's files."""

from typing import Annotated, Literal

import speedproof as sp
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.cli.files import check_outputs, write_answer
from speedproof.declaring import Argument, Taken
from speedproof.options import CommandOptions, Output, Reading, answer, handed
from speedproof.reporting.names import visible_lines
from speedproof.values import any_level, place

UNREADABLE = 2


class SuiteOptions(CommandOptions, frozen=True, kw_only=True):
    """Run the Speedup-Test on a configuration of the original tool.

    That is a CSV file with the columns Name,Sample1,Sample2,ConfLevel,Coef. Sample files are found beside the
    configuration, then in the working directory.

        speedproof suite config.csv                       print the report
        speedproof suite config.csv --confidence 0.95 -o results
                                                          four files, results.*
        speedproof suite config.csv --weight fraction     weigh benchmarks by time
        speedproof suite config.csv --original            as the tool of 2010

      exit codes: 0, or 2 when a benchmark cannot be read; the others are reported
    """

    config: Annotated[str, Argument("CONFIG.csv", "the configuration; - reads standard input")]
    confidence: Annotated[
        float | None,
        "--confidence, --conf-level LEVEL",
        "confidence level of every benchmark; without it each row's ConfLevel, else the highest level at "
        "which the speedup is significant",
        any_level,
    ] = None
    weight: Annotated[
        Literal["custom", "equal", "fraction"],
        "weights in the overall gain: the Coef column (default), all equal, or the reference's times",
    ] = "custom"
    precision: Annotated[float, "R", "half width for the number of benchmarks needed (default: 0.05)"] = 0.05
    save: Annotated[
        str | None,
        "-o, --output PREFIX",
        "write PREFIX.report, .out, .warning and .error; --original writes CONFIG.report, ... without it",
        place,
    ] = None
    original: Annotated[bool, "follow the tool of 2010 instead of the article"] = False
    always_welch: Annotated[bool, "mean: never pool variances after an F test"] = False
    ks_rule: Annotated[Literal["legacy", "r422"], "median: see 'compare --help'"] = "legacy"
    reading: Annotated[Reading, Taken("how files are read", take="unit higher_is_better")]
    output: Annotated[
        Output,
        answer(
            all="every benchmark, not only the clearest",
            details="the warnings on every benchmark",
        ),
    ]


def run(asked: SuiteOptions, console: Console) -> int:
    """Carry the command out; 2 after the report when some benchmark could not be read."""
    check_outputs(asked.output, asked.config)
    result = sp.speedup_test(weighting=asked.weight, **handed(sp.speedup_test, asked, asked.reading))
    prefix = asked.save
    if prefix is None and asked.original and not asked.output.json and asked.config != "-":
        prefix = asked.config.removesuffix(".csv")  # the tool always wrote its files
    if prefix is not None:
        console.remark(f"wrote {', '.join(str(path) for path in result.write(prefix))}")
    write_answer(asked, asked.output, console, result.reports, result.to_json)
    for problem in result.problems:
        console.err.write(f"left out: {visible_lines(problem)}\n")
    for note in result.notes:
        console.remark(f"note: {note}")
    return UNREADABLE if result.lost else 0


COMMAND = Command(SuiteOptions, run)
