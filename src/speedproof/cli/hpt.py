"""``speedproof hpt``: does the candidate outperform the reference over the whole suite."""

from typing import Annotated, Literal

import speedproof as sp
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.cli.files import check_outputs, load_chosen, report_leftovers, write_answer
from speedproof.declaring import Title
from speedproof.errors import UsageError
from speedproof.options import Choosing, CommandOptions, Output, Reading, ReferenceFirst, answer, handed
from speedproof.reporting.model import to_json
from speedproof.values import proportion


class HptOptions(CommandOptions, frozen=True, kw_only=True):
    """Ask whether the candidate outperforms the reference over a whole suite.

    This is Hierarchical Performance Testing: rank tests within and across benchmarks, which need no normality, and
    the speedup that holds with a given confidence.

        speedproof hpt old.json new.json                every benchmark counts alike
        speedproof hpt old.json new.json --r 0.999      speedup at this confidence
        speedproof hpt old.json new.json --speedup 1.5  how sure is a factor of 1.5?
        speedproof hpt a.csv b.csv --scores given       scores, higher is better
    """

    files: ReferenceFirst
    choosing: Choosing
    r: Annotated[
        tuple[float, ...],
        "LEVEL",
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
        "relative to the reference's median, so that every benchmark counts alike (default), or the values as "
        "they are: scores, higher is better",
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
    speedup: Annotated[
        tuple[float, ...],
        "FACTOR",
        "say with which confidence the winner is more than this much faster; may be repeated",
    ] = ()
    output: Annotated[
        Output,
        answer(
            all="every benchmark, not only the clearest",
            details="the bounds of the speedups, and what others would claim",
        ),
    ]
    reading: Reading


def run(asked: HptOptions, console: Console) -> int:
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
            confidences=asked.r,
            speedups=asked.speedup,
            **handed(sp.hpt, asked),
        )
        for problem in result.problems:
            console.remark(problem)
        results.append(result)
    write_answer(
        asked,
        asked.output,
        console,
        lambda **shown: (report for result in results for report in result.reports(**shown)),
        lambda: to_json("hpt", [result.as_record() for result in results]),
    )
    return 0


COMMAND = Command(HptOptions, run)
