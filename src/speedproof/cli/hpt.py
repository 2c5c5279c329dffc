"""``speedproof hpt``: does the candidate outperform the reference over the whole suite."""

from __future__ import annotations

from speedproof.cli.command import Args, Argument, Command, Option, in_group
from speedproof.cli.console import Console
from speedproof.cli.inputs import (
    load,
    report_leftovers,
    select,
)
from speedproof.cli.options import open_unit_interval, pages, positive, reading, selecting
from speedproof.cli.outputs import check_outputs, write_pages
from speedproof.data.suite import Pairing
from speedproof.errors import UsageError
from speedproof.protocols.hpt import (
    CONFIDENCES,
    Hpt,
    entries_of_pairs,
    entries_of_scores,
    hpt,
    hpt_of_scores,
)
from speedproof.protocols.hpt_claims import HptClaims, claims
from speedproof.report.blocks import Block, Text
from speedproof.report.hpt import claims_blocks, hpt_blocks

__all__ = ["COMMAND", "run"]


COMMAND = Command(
    (
        "Ask whether the candidate outperforms the reference over a whole suite, by Hierarchical "
        "Performance Testing: rank tests within and across benchmarks, which need no normality, and the "
        "speedup that holds with a given confidence."
    ),
    (
        "  speedproof hpt old.json new.json                    every benchmark counts alike\n"
        "  speedproof hpt old.json new.json --r 0.9 --r 0.999  speedups at these confidences\n"
        "  speedproof hpt old.json new.json --speedup 1.5      how sure is a factor of 1.5?\n"
        "  speedproof hpt a.csv b.csv --scores given           the values are scores, higher is better"
    ),
    [
        Argument("files", metavar="FILE...", help="result files or folders, the reference first", many=True),
        *selecting(),
        *in_group(
            "deciding",
            Option(
                "--r",
                many=True,
                parse=open_unit_interval,
                metavar="LEVEL",
                help="confidence of the speedup; may be repeated (default: 0.95 and 0.99)",
            ),
            Option(
                "--alpha-benchmark",
                parse=open_unit_interval,
                metavar="RISK",
                help="risk of the test within a benchmark, below 0.5 (default: 0.05 from 5 runs, 0.10 below)",
            ),
            Option(
                "--scores",
                choices=["relative", "given"],
                default="relative",
                help="relative to the reference's median, so that every benchmark counts alike (default), or "
                "the values as they are: scores, higher is better",
            ),
            Option(
                "--rule",
                choices=["exact", "paper"],
                default="exact",
                help="null distributions: exact given the ties (default), or the article's tables and normal "
                "approximations",
            ),
            Option(
                "--literal-signs",
                flag=True,
                help="keep a difference of medians that contradicts the test within the benchmark, as the "
                "article does",
            ),
            Option(
                "--speedup",
                many=True,
                parse=positive,
                metavar="FACTOR",
                help="say with which confidence the winner is more than this much faster; may be repeated",
            ),
        ),
        *in_group("output", Option("--json", flag=True, help="write everything as JSON")),
        *pages(),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    check_outputs(args)
    if args.alpha_benchmark is not None and args.alpha_benchmark >= 0.5:
        raise UsageError(f"--alpha-benchmark {args.alpha_benchmark:g}: the risk must lie below 0.5")
    if args.metric == "all":
        raise UsageError("--metric all: scores of different metrics make no suite; name one metric")
    suite = select(load(args.files, args), args, console)
    reference, candidates = suite.sides(args.reference)
    report_leftovers(suite, console)
    results = []
    blocks: list[Block] = []
    for candidate in candidates:
        pairing = suite.pair(reference, candidate)
        _report_partners(pairing, reference, candidate, console)
        result = _test(pairing, args)
        found = _claims(pairing, args)
        results.append({"reference": reference, "candidate": candidate, "hpt": result, "claims": found})
        blocks += [*([Text("")] if blocks else []), *hpt_blocks(result, reference, candidate)]
        blocks += [Text(""), *claims_blocks(found, reference, candidate)]
    taken = write_pages(args, blocks, console)
    if args.json:
        from speedproof.report.json import to_json

        console.out.write(to_json("hpt", results))
    elif not taken:
        console.show(blocks)
    return 0


def _test(pairing: Pairing, args: Args) -> Hpt:
    confidences = tuple(dict.fromkeys(args.r)) or CONFIDENCES
    if args.scores == "relative":
        return hpt(
            pairing.pairs,
            confidences=confidences,
            level=args.alpha_benchmark,
            rule=args.rule,
            literal_signs=args.literal_signs,
        )
    return hpt_of_scores(
        [pair.reference.per_process("median").values for pair in pairing.pairs],
        [pair.candidate.per_process("median").values for pair in pairing.pairs],
        names=[pair.key.benchmark for pair in pairing.pairs],
        confidences=confidences,
        level=args.alpha_benchmark,
        rule=args.rule,
        literal_signs=args.literal_signs,
    )


def _claims(pairing: Pairing, args: Args) -> HptClaims:
    """The geometric mean, the t test and what --speedup asks, at the first confidence."""
    entries = (
        entries_of_pairs(pairing.pairs, args.alpha_benchmark)
        if args.scores == "relative"
        else entries_of_scores(
            [pair.reference.per_process("median").values for pair in pairing.pairs],
            [pair.candidate.per_process("median").values for pair in pairing.pairs],
            level=args.alpha_benchmark,
        )
    )
    return claims(
        entries,
        confidence=(*args.r, *CONFIDENCES)[0],
        speedups=args.speedup,
        rule=args.rule,
        literal_signs=args.literal_signs,
    )


def _report_partners(pairing: Pairing, reference: str, candidate: str, console: Console) -> None:
    for version, keys in ((reference, pairing.only_reference), (candidate, pairing.only_candidate)):
        if keys:
            names = ", ".join(key.benchmark for key in keys[:5]) + (", ..." if len(keys) > 5 else "")
            console.remark(f"only {version} has {len(keys)} of the benchmarks, left out: {names}")
    for problem in pairing.problems:
        console.remark(f"left out: {problem}")
