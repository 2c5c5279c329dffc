"""``speedproof rank``: which version to run, by the chance that a single run beats all others."""

from typing import Annotated

import speedproof as sp
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.cli.files import check_outputs, load_chosen, outputs_wanted, report_leftovers, write_answer
from speedproof.declaring import Title
from speedproof.options import (
    Choosing,
    CommandOptions,
    Modelling,
    Output,
    Reading,
    ResultFiles,
    answer,
    handed,
)


class RankOptions(CommandOptions, frozen=True, kw_only=True):
    """Rank versions by the chance that one run beats one run of every other, benchmark by benchmark.

    The chance is counted in the samples, and by their mixtures, with bootstrap intervals. Beside it: which
    versions are undecided (?) and whose runs are not what the tests assume (!); which version to run often or
    rarely; for two versions, what happened to their modes.

        speedproof rank gcc.json clang.json icc.json
        speedproof rank results/ --only 'json_*' --details --jobs 2
        speedproof rank old.txt new.txt --unit ms --json
    """

    files: ResultFiles
    choosing: Choosing
    modelling: Modelling
    resamples: Annotated[
        int, "N", "bootstrap samples behind the intervals of mixtures (default: 200)", Title("intervals")
    ] = 200
    confidence: Annotated[
        float, "LEVEL", "of each interval, and of all claims on a benchmark together (default: 0.95)"
    ] = 0.95
    output: Annotated[
        Output,
        answer(
            all="every benchmark, not only the clearest",
            details="each benchmark's modes, mixtures and warnings",
            json="write the ranking as JSON",
        ),
    ]
    reading: Reading


def run(asked: RankOptions, console: Console) -> int:
    """Carry the command out."""
    output = asked.output
    check_outputs(output, *asked.files)
    mixtures = output.details or output.json or outputs_wanted(output)
    if not mixtures:
        shown = "only --details, --json and pages show mixtures"
        asked.refuse("resamples", "max_components", "seed", "jobs", because=shown)
    suite, reference = load_chosen(asked.files, asked.reading, asked.choosing, console)
    with console.progress("ranking", len(suite.benchmarks)) as ticker:
        result = sp.rank(
            suite,
            reference=reference,
            metric="all",
            mixtures=mixtures,
            **handed(sp.rank, asked, asked.modelling),
            done=ticker.advance,
        )
    for problem in result.problems:
        console.remark(problem)
    report_leftovers(suite, console)
    write_answer(asked, output, console, result.reports, result.to_json)
    return 0


COMMAND = Command(RankOptions, run)
