"""The commands that judge a whole suite: ``suite`` by the Speedup-Test, ``hpt``, and ``rank`` by single runs."""

from functools import partial
from typing import Annotated, Literal

import speedproof as sp
from speedproof import options
from speedproof.cli.command import Command
from speedproof.cli.console import ERROR, Console
from speedproof.cli.files import (
    check_outputs,
    load_chosen,
    outputs_wanted,
    remark_folded,
    report_leftovers,
    write_answer,
)
from speedproof.declaring import Argument, Taken, Title
from speedproof.errors import UsageError
from speedproof.reporting.model import to_json
from speedproof.values import any_level, place, proportion


class SuiteOptions(options.CommandOptions, frozen=True, kw_only=True):
    """Run the Speedup-Test on a configuration of the original tool.

    That is a CSV file with the columns Name,Sample1,Sample2,ConfLevel,Coef. Sample files are found beside the
    configuration, then in the working directory. 'speedproof compare' reads result files themselves.

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
    weighting: Annotated[
        Literal["custom", "equal", "fraction"],
        "--weight",
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
    reading: Annotated[options.Reading, Taken("how files are read", take="unit higher_is_better")]
    output: Annotated[options.Output, options.answer(details="the warnings on every benchmark")]


def _suite(asked: SuiteOptions, console: Console) -> int:
    """Carry the command out; 2 after the report when some benchmark could not be read."""
    check_outputs(asked.output, asked.config)
    result = sp.speedup_test(**options.handed(sp.speedup_test, asked, asked.reading))
    prefix = asked.save
    if prefix is None and asked.original and not asked.output.json and asked.config != "-":
        prefix = asked.config.removesuffix(".csv")  # the tool always wrote its files
    if prefix is not None:
        console.remark(f"wrote {', '.join(str(path) for path in result.write(prefix))}")
    write_answer(asked, asked.output, console, result.reports, result.to_json)
    lost = [f"left out: {problem}" for problem in result.problems]
    remark_folded([*lost, *(f"note: {note}" for note in result.notes)], console)
    return ERROR if result.lost else 0


class HptOptions(options.CommandOptions, frozen=True, kw_only=True):
    """Ask whether the candidate outperforms the reference over a whole suite.

    This is Hierarchical Performance Testing: rank tests within and across benchmarks, which need no normality, and
    the speedup that holds with a given confidence.

        speedproof hpt old.json new.json                every benchmark counts alike
        speedproof hpt old.json new.json --r 0.999      speedup at this confidence
        speedproof hpt old.json new.json --speedup 1.5  how sure is a factor of 1.5?
        speedproof hpt a.csv b.csv --scores given       scores, higher is better
    """

    files: options.ReferenceFirst
    choosing: Annotated[
        options.Choosing, Taken(metric="the metric to test (default: time, or what decided the session)")
    ]
    confidences: Annotated[
        tuple[float, ...],
        "--r LEVEL",
        "confidence of the speedup; may be repeated (default: 0.95 and 0.99)",
        proportion,
        Title("deciding"),
    ] = ()
    alpha_benchmark: Annotated[
        float | None,
        "RISK",
        "risk of the test within a benchmark, below 0.5 (default: 0.05 from 5 runs, 0.10 below)",
        proportion,
    ] = None
    scores: Annotated[
        Literal["relative", "given"],
        "ratios of both versions, so that every benchmark and both directions count alike (default), or the "
        "values as they are: scores, higher is better",
    ] = "relative"
    rule: Annotated[
        Literal["exact", "paper"],
        "null distributions: exact given the ties (default), or the article's tables and normal "
        "approximations",
    ] = "exact"
    literal_signs: Annotated[
        bool,
        "keep a difference of medians that contradicts the test within the benchmark, as the article does",
    ] = False
    speedups: Annotated[
        tuple[float, ...],
        "--speedup FACTOR",
        "say with which confidence the winner is more than this much faster; may be repeated",
    ] = ()
    output: Annotated[
        options.Output,
        options.answer(details="the bounds of the speedups, and what others would claim"),
    ]
    reading: options.Reading


def _hpt(asked: HptOptions, console: Console) -> int:
    """Carry the command out."""
    check_outputs(asked.output, *asked.files)
    if asked.choosing.metric == "all":
        raise UsageError("--metric all: scores of different metrics do not make a suite; name one metric")
    suite, reference = load_chosen(asked.files, asked.reading, asked.choosing, console)
    reference, candidates = suite.sides(reference)
    report_leftovers(suite, console)
    results = []
    for candidate in candidates:
        result = sp.hpt(
            suite,
            reference=reference,
            candidate=candidate,
            **options.handed(sp.hpt, asked),
        )
        console.remark(*result.problems)
        results.append(result)
    write_answer(
        asked,
        asked.output,
        console,
        lambda **shown: (report for result in results for report in result.reports(**shown)),
        lambda: to_json("hpt", [result.exported() for result in results]),
    )
    return 0


class RankOptions(options.CommandOptions, frozen=True, kw_only=True):
    """Rank versions by the chance that one run beats one run of every other, benchmark by benchmark.

    The chance is counted in the samples, and by their mixtures, with bootstrap intervals. Beside it: which
    versions are undecided (?) and whose runs are not what the tests assume (!); which version to run often or
    rarely; for two versions, what happened to their modes. Controls of a session (run --control, --unaffected)
    withhold nothing here, unlike in compare.

        speedproof rank gcc.json clang.json icc.json
        speedproof rank results/ --only 'json_*' --details --jobs 2
        speedproof rank old.txt new.txt --unit ms --json
    """

    files: options.ResultFiles
    choosing: options.Choosing
    modelling: options.Modelling
    resamples: Annotated[
        int, "N", "bootstrap samples behind the intervals of mixtures (default: 200)", Title("intervals")
    ] = 200
    confidence: Annotated[
        float, "LEVEL", "of each interval, and of all claims on a benchmark together (default: 0.95)"
    ] = 0.95
    output: Annotated[
        options.Output,
        options.answer(
            details="each benchmark's modes, mixtures and warnings", json="write the ranking as JSON"
        ),
    ]
    reading: options.Reading


def _rank(asked: RankOptions, console: Console) -> int:
    """Carry the command out."""
    output = asked.output
    check_outputs(output, *asked.files)
    mixtures = output.details or output.json or outputs_wanted(output)
    suite, reference = load_chosen(asked.files, asked.reading, asked.choosing, console)
    with console.progress("ranking", len(suite.benchmarks)) as ticker:
        result = sp.rank(
            suite,
            reference=reference,
            metric="all",
            mixtures=mixtures,
            **options.handed(sp.rank, asked, asked.modelling),
            done=ticker.advance,
        )
    console.remark(*result.problems)
    report_leftovers(suite, console)
    write_answer(asked, output, console, result.reports, result.to_json)
    return 0


COMMANDS = {
    "suite": partial(Command, SuiteOptions, _suite),
    "hpt": partial(Command, HptOptions, _hpt),
    "rank": partial(Command, RankOptions, _rank),
}
